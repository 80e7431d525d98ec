"""TOSA's reductions against numpy, and against Arm's reference model where it is installed."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from itertools import combinations
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from cvmgen.api import Operators
from cvmgen.errors import OperatorError
from tests.conformance.calls import Call, Conformance
from tests.opsets.bits import Array, same_bits

NAN, INF = math.nan, math.inf
TINY = float(np.finfo(np.float32).smallest_subnormal)
LARGEST = float(np.finfo(np.float32).max)

TYPES = {
    "reduce_any": ["bool"],
    "reduce_all": ["bool"],
    "reduce_max": ["int8", "int16", "int32", "float32"],
    "reduce_min": ["int8", "int16", "int32", "float32"],
    "reduce_product": ["float32"],
    "reduce_sum": ["int32", "float32"],
}
EVERY_TYPE = ["bool", "int8", "int16", "int32", "int64", "float32", "float64"]
CHOICES = [(name, dtype) for name, dtypes in TYPES.items() for dtype in dtypes]
SHAPES = [(1,), (5,), (2, 3), (1, 4), (3, 1, 2), (2, 3, 4), (2, 1, 3, 2), (2, 2, 1, 2, 2)]
RANK_6 = (2, 1, 2, 3, 1, 2)


# ---------------------------------------------------------------- what numpy says


def extreme(values: list[float], greatest: bool) -> float:
    """The IEEE maximum or minimum: NaN where there is one, and +0 above -0."""
    if any(math.isnan(value) for value in values):
        return NAN
    choose = max if greatest else min
    return choose(values, key=lambda value: (value, math.copysign(1.0, value)))


def reduced(name: str, row: Array, mode: str = "PROPAGATE") -> Any:
    """One result, from the elements that it takes in their order."""
    match name:
        case "reduce_any":
            return bool(row.any())
        case "reduce_all":
            return bool(row.all())
        case "reduce_max" | "reduce_min":
            values = row.tolist()
            if row.dtype.kind == "i":
                return max(values) if name == "reduce_max" else min(values)
            numbers = [value for value in values if not math.isnan(value)]
            chosen = numbers if mode == "IGNORE" and numbers else values
            return extreme(chosen, name == "reduce_max")
        case "reduce_sum" if row.dtype.kind == "i":
            return sum(row.tolist())
        case _:
            # numpy's accumulate takes the elements one after the other, its sum does not.
            ufunc, start = (np.add, 0.0) if name == "reduce_sum" else (np.multiply, 1.0)
            with np.errstate(all="ignore"):
                steps = ufunc.accumulate(np.concatenate([[start], row.astype(np.float64)]))
                return steps[-1].astype(np.float32)


def oracle(
    name: str, x: Array, axes: Sequence[int], keep_dims: int = 1, mode: str = "PROPAGATE"
) -> Array:
    """The reduction of each kept index in turn; the reduced axes run in ascending order."""
    kept = [at for at in range(x.ndim) if at not in axes]
    rows = x.transpose(*kept, *sorted(axes)).reshape(*[x.shape[at] for at in kept], -1)
    result = np.empty(rows.shape[:-1], x.dtype)
    for index in np.ndindex(*rows.shape[:-1]):
        result[index] = reduced(name, rows[index], mode)
    if keep_dims:
        return result.reshape([1 if at in axes else x.shape[at] for at in range(x.ndim)])
    return result.reshape(result.shape or (1,))


def subsets(rank: int) -> Iterator[tuple[int, ...]]:
    """Every choice of axes."""
    for count in range(1, rank + 1):
        yield from combinations(range(rank), count)


def data(dtype: str, shape: Sequence[int], seed: int = 0) -> Array:
    """Elements of every size; of float32 also what only real numbers have, of int32 no large ones,
    whose sums do not fit."""
    random = np.random.default_rng(seed)
    if dtype == "bool":
        return random.random(tuple(shape)) < 0.5
    if dtype == "float32":
        x = random.standard_normal(tuple(shape)) * 10.0 ** random.integers(-12, 12, tuple(shape))
        return x.astype(np.float32)
    ends = np.iinfo(np.int16 if dtype == "int32" else dtype)
    return random.integers(ends.min, ends.max, tuple(shape), dtype=dtype, endpoint=True)


def with_specials(x: Array, seed: int = 1) -> Array:
    """The same with a third of the elements replaced by what only real numbers have."""
    random = np.random.default_rng(seed)
    special = np.array([NAN, INF, -INF, 0.0, -0.0, TINY, -TINY, LARGEST, -LARGEST], np.float32)
    return np.where(random.random(x.shape) < 0.35, random.choice(special, x.shape), x)


# ---------------------------------------------------------------- shapes and values


@pytest.mark.parametrize(("name", "dtype"), CHOICES)
def test_every_choice_of_axes(ops: Operators, name: str, dtype: str) -> None:
    for seed, shape in enumerate(SHAPES):
        x = data(dtype, shape, seed)
        for axes in subsets(x.ndim):
            for keep_dims in (0, 1):
                found = ops[f"tosa.{name}"](x, axes=axes, keep_dims=keep_dims)
                where = f"{name} of {dtype}{shape}, axes={axes}, keep_dims={keep_dims}"
                same_bits(found, oracle(name, x, axes, keep_dims), where)


@pytest.mark.parametrize(("name", "dtype"), CHOICES)
def test_six_dimensions(ops: Operators, name: str, dtype: str) -> None:
    x = data(dtype, RANK_6, 7)
    for axes in subsets(6):
        same_bits(ops[f"tosa.{name}"](x, axes=axes), oracle(name, x, axes), f"{name}, axes={axes}")


@pytest.mark.parametrize(("name", "dtype"), CHOICES)
def test_a_single_axis(ops: Operators, name: str, dtype: str) -> None:
    """As 1.0 has it: one axis, and the dimension stays unless the call says otherwise."""
    x = data(dtype, (2, 3, 4))
    for axis in range(3):
        found = ops[f"tosa.{name}"](x, axis=axis)
        assert found.shape == tuple(1 if at == axis else x.shape[at] for at in range(3))
        same_bits(found, ops[f"tosa.{name}"](x, axes=(axis,), keep_dims=1))
        same_bits(found, oracle(name, x, (axis,)))
        same_bits(ops[f"tosa.{name}"](x, axis=axis, keep_dims=0), oracle(name, x, (axis,), 0))


def test_the_order_of_the_axes_does_not_matter(ops: Operators) -> None:
    """A float sum goes through the elements as they lie in the input."""
    x = data("float32", (7, 5, 9), 3)
    same_bits(ops.tosa.reduce_sum(x, axes=(2, 0)), ops.tosa.reduce_sum(x, axes=(0, 2)))
    same_bits(ops.tosa.reduce_sum(x, axes=(2, 0, 1)), oracle("reduce_sum", x, (0, 1, 2)))


def test_everything_without_keep_dims_has_one_element(ops: Operators) -> None:
    for name, dtype in CHOICES:
        x = data(dtype, (2, 3))
        assert ops[f"tosa.{name}"](x, axes=(0, 1), keep_dims=0).shape == (1,)
        assert ops[f"tosa.{name}"](x[0], axis=0, keep_dims=0).shape == (1,)
        assert ops[f"tosa.{name}"](x, axes=(0, 1)).shape == (1, 1)


def test_inferred_shapes(ops: Operators) -> None:
    assert ops.tosa.reduce_sum.infer([(2, 3, 4)], axes=(0, 2)).shapes == ((1, 3, 1),)
    assert ops.tosa.reduce_max.infer([(2, 3, 4)], axis=1, keep_dims=0).shapes == ((2, 4),)


@pytest.mark.parametrize("name", ["reduce_max", "reduce_min"])
@pytest.mark.parametrize("dtype", ["int8", "int16", "int32"])
def test_the_ends_of_integers(ops: Operators, name: str, dtype: str) -> None:
    ends = np.iinfo(dtype)
    x = np.array([[ends.min, ends.max], [ends.min, ends.min], [ends.max, ends.max]], dtype)
    for mode in ("PROPAGATE", "IGNORE"):
        same_bits(ops[f"tosa.{name}"](x, axis=1, nan_mode=mode), oracle(name, x, (1,)))


# ---------------------------------------------------------------- real numbers


@pytest.mark.parametrize("name", ["reduce_max", "reduce_min"])
def test_zeros_have_an_order(ops: Operators, name: str) -> None:
    x = np.array([[0.0, -0.0], [-0.0, 0.0], [-0.0, -0.0], [0.0, 0.0]], np.float32)
    signs = [False, False, True, False] if name == "reduce_max" else [True, True, True, False]
    for mode in ("PROPAGATE", "IGNORE"):
        found = ops[f"tosa.{name}"](x, axis=1, keep_dims=0, nan_mode=mode)
        assert np.signbit(found).tolist() == signs


@pytest.mark.parametrize("name", ["reduce_max", "reduce_min"])
@pytest.mark.parametrize("mode", ["PROPAGATE", "IGNORE"])
def test_modes_for_nan(ops: Operators, name: str, mode: str) -> None:
    rows = [
        [1.0, NAN, 3.0],
        [NAN, NAN, NAN],
        [NAN, -INF, NAN],
        [INF, NAN, -INF],
        [NAN, TINY, -TINY],
        [-0.0, NAN, 0.0],
        [1.0, 2.0, 3.0],
    ]
    x = np.array(rows, np.float32)
    same_bits(ops[f"tosa.{name}"](x, axis=1, nan_mode=mode), oracle(name, x, (1,), 1, mode))
    for seed in range(5):
        x = with_specials(data("float32", (3, 4, 3), seed), seed)
        for axes in subsets(3):
            for keep_dims in (0, 1):
                found = ops[f"tosa.{name}"](x, axes=axes, keep_dims=keep_dims, nan_mode=mode)
                same_bits(found, oracle(name, x, axes, keep_dims, mode), f"axes={axes}")


def test_propagation_is_the_default(ops: Operators) -> None:
    x = np.array([1.0, NAN], np.float32)
    assert np.isnan(ops.tosa.reduce_max(x, axis=0)).all()
    assert np.isnan(ops.tosa.reduce_min(x, axis=0)).all()


def test_nan_is_stored_in_one_form(ops: Operators) -> None:
    """Whatever its sign and its payload are."""
    odd = np.array([0xFFC12345, 0x7F800001, 0x3F800000], np.uint32).view(np.float32)
    for name in ("reduce_max", "reduce_min", "reduce_sum", "reduce_product"):
        assert ops[f"tosa.{name}"](odd, axis=0).view(np.uint32).tolist() == [0x7FC00000]


@pytest.mark.parametrize("name", ["reduce_sum", "reduce_product"])
def test_sums_and_products_of_special_numbers(ops: Operators, name: str) -> None:
    rows = [
        [INF, -INF, 1.0],
        [INF, 0.0, 1.0],
        [-INF, 2.0, 3.0],
        [NAN, 1.0, 1.0],
        [-0.0, -0.0, -0.0],
        [TINY, TINY, TINY],
        [TINY, 0.5, 1.0],
        [LARGEST, LARGEST, -LARGEST],
        [LARGEST, 2.0, 0.5],
        [LARGEST, LARGEST, 0.0],
    ]
    x = np.array(rows, np.float32)
    same_bits(ops[f"tosa.{name}"](x, axis=1), oracle(name, x, (1,)))
    for seed in range(5):
        x = with_specials(data("float32", (4, 6), seed), seed)
        same_bits(ops[f"tosa.{name}"](x, axis=1), oracle(name, x, (1,)))


def test_a_sum_is_rounded_once(ops: Operators) -> None:
    """What float32 would lose at each step is there at the end."""
    x = np.array([[1e8, 1.0, -1e8], [LARGEST, LARGEST, -LARGEST]], np.float32)
    assert ops.tosa.reduce_sum(x, axis=1).ravel().tolist() == [1.0, LARGEST]
    halves = np.array([[2.0**24, 1.0], [2.0**24 + 2, 1.0]], np.float32)
    assert ops.tosa.reduce_sum(halves, axis=1).ravel().tolist() == [2.0**24, 2.0**24 + 4]
    just_above = np.array([[2.0**24, 1.0, 2.0**-20]], np.float32)
    assert ops.tosa.reduce_sum(just_above, axis=1).ravel().tolist() == [2.0**24 + 2]


def test_a_product_is_rounded_once(ops: Operators) -> None:
    x = np.array([[LARGEST, 4.0, 0.25], [TINY, 0.5, 2.0]], np.float32)
    assert ops.tosa.reduce_product(x, axis=1).ravel().tolist() == [LARGEST, TINY]
    halves = np.array([[TINY, 0.5], [TINY, 1.5], [LARGEST, 2.0]], np.float32)
    assert ops.tosa.reduce_product(halves, axis=1).ravel().tolist() == [0.0, 2 * TINY, INF]


def test_a_sum_starts_from_zero(ops: Operators) -> None:
    x = np.array([[-0.0, -0.0]], np.float32)
    assert not np.signbit(ops.tosa.reduce_sum(x, axis=1)).any()


def test_long_sums_keep_their_order(ops: Operators) -> None:
    x = data("float32", (4, 3000), 5)
    same_bits(ops.tosa.reduce_sum(x, axis=1), oracle("reduce_sum", x, (1,)))
    same_bits(ops.tosa.reduce_sum(x.T, axis=0), oracle("reduce_sum", x.T, (0,)))
    same_bits(ops.tosa.reduce_sum(x, axes=(0, 1)), oracle("reduce_sum", x, (0, 1)))


def test_the_reference_gives_the_same(conformance: Conformance) -> None:
    for name, dtype in CHOICES:
        x = data(dtype, (2, 3, 2), 11)
        x = with_specials(x) if dtype == "float32" else x
        conformance.check(Call(f"tosa.{name}", (x,), {"axes": (0, 2), "keep_dims": 0}))


# ---------------------------------------------------------------- refusals

ONES = np.ones((2, 3), np.int32)
MOST = np.iinfo(np.int32).max
LEAST = np.iinfo(np.int32).min

REFUSED: list[tuple[Array, dict[str, Any], str]] = [
    (ONES, {}, "give either axes or axis"),
    (ONES, {"axes": (0,), "axis": 0}, "give either axes or axis"),
    (ONES, {"axes": ()}, "axes must not be empty (axes = ())"),
    (ONES, {"axes": (0, 0)}, "axes must be different (axes = (0, 0))"),
    (ONES, {"axes": (0, 1, 0)}, "axes must be different (axes = (0, 1, 0))"),
    (ONES, {"axes": (-1,)}, "axes = (-1,): must be in [0, N) (N = 2)"),
    (ONES, {"axes": (0, 2)}, "axes = (0, 2): must be in [0, N) (N = 2)"),
    (ONES, {"axes": 0}, "axes = 0: a tuple of integers is needed"),
    (ONES, {"axis": -1}, "axis = -1: must be in [0, N) (N = 2)"),
    (ONES, {"axis": 2}, "axis = 2: must be in [0, N) (N = 2)"),
    (ONES, {"axis": (0,)}, "axis = (0,): an integer is needed"),
    (ONES, {"axis": 0, "keep_dims": 2}, "keep_dims = 2: must be in [0, 1]"),
    (ONES, {"axis": 0, "keep_dims": -1}, "keep_dims = -1: must be in [0, 1]"),
    (ONES, {"axis": 0, "keep_dims": True}, "keep_dims = True: an integer is needed"),
    (ONES.reshape(1, 1, 1, 1, 1, 2, 3), {"axis": 0}, "the rank must be at most 6 (N = 7)"),
    (ONES[0, 0], {"axis": 0}, "input1 = shape (): a tensor has 1 to 16 dimensions"),
    (ONES[:, :0], {"axis": 0}, "input1 = shape (2, 0): every extent must be at least 1"),
]


@pytest.mark.parametrize(("x", "attributes", "message"), REFUSED, ids=lambda each: None)
def test_refused_calls(ops: Operators, x: Any, attributes: dict[str, Any], message: str) -> None:
    for name, dtype in CHOICES:
        with pytest.raises(OperatorError) as caught:
            ops[f"tosa.{name}"](np.asarray(x).astype(dtype), **attributes)
        assert str(caught.value) == f"tosa.{name}: {message}"


@pytest.mark.parametrize("name", TYPES)
def test_other_types_are_refused(ops: Operators, name: str) -> None:
    """No sums of int8, no products of integers, no conditions but for any and all."""
    known = TYPES[name]
    rule = f"must be one of {', '.join(known)}" if len(known) > 1 else f"must be {known[0]}"
    for dtype in [*EVERY_TYPE, "uint8", "float16"]:
        if dtype not in known:
            with pytest.raises(OperatorError) as caught:
                ops[f"tosa.{name}"](np.ones((2, 2), dtype), axis=0)
            assert str(caught.value) == f"tosa.{name}: input1 = dtype {dtype}: {rule}"


@pytest.mark.parametrize("name", ["reduce_max", "reduce_min"])
def test_unknown_modes(ops: Operators, name: str) -> None:
    for mode in ("ignore", "", 1):
        with pytest.raises(OperatorError) as caught:
            ops[f"tosa.{name}"](ONES, axis=0, nan_mode=mode)
        wanted = f'nan_mode = {mode!r}: "PROPAGATE" or "IGNORE" is needed'
        assert str(caught.value) == f"tosa.{name}: {wanted}"


@pytest.mark.parametrize("name", ["reduce_any", "reduce_all", "reduce_product", "reduce_sum"])
def test_only_ordered_reductions_have_a_mode(ops: Operators, name: str) -> None:
    with pytest.raises(OperatorError, match="nan_mode = 'IGNORE': there is no such attribute"):
        ops[f"tosa.{name}"](ONES.astype(TYPES[name][0]), axis=0, nan_mode="IGNORE")


def test_sums_beyond_int32(ops: Operators) -> None:
    """The first element that does not fit is named; what a partial sum is does not matter."""
    fits = np.array([[MOST, 1, -1], [LEAST, -1, 1], [MOST, LEAST, 0]], np.int32)
    assert ops.tosa.reduce_sum(fits, axis=1).ravel().tolist() == [MOST, LEAST, -1]
    beyond = np.array([[1, 2], [LEAST, -1], [MOST, 1], [3, 4]], np.int32)
    for keep_dims, element in ((1, "(1, 0)"), (0, "(1,)")):
        with pytest.raises(OperatorError) as caught:
            ops.tosa.reduce_sum(beyond, axis=1, keep_dims=keep_dims)
        rule = f"element {element} does not fit int32"
        assert str(caught.value) == f"tosa.reduce_sum: output1: {rule}"
        assert caught.value.argument == "output1"


# ---------------------------------------------------------------- Arm's reference model


@pytest.fixture(scope="module")
def model() -> ModuleType:
    pytest.importorskip("tosa_serializer", reason="needs Arm's model: pip install tosa-tools")
    found: ModuleType = pytest.importorskip("tosa_reference_model")
    return found


def run_model(
    model: ModuleType, folder: Path, name: str, x: Array, axis: int, mode: str
) -> tuple[Array, bool]:
    """The result of Arm's model, and whether the specification says what it has to be."""
    import tosa_serializer as ts

    types = {
        "bool": ts.DType.BOOL,
        "int8": ts.DType.INT8,
        "int16": ts.DType.INT16,
        "int32": ts.DType.INT32,
        "float32": ts.DType.FP32,
    }
    dtype = types[x.dtype.name]
    shape = [1 if at == axis else extent for at, extent in enumerate(x.shape)]
    graph = ts.TosaSerializer(str(folder))
    graph.addInputTensor(ts.TosaSerializerTensor("input1", list(x.shape), dtype))
    output = graph.addOutput(shape, dtype)
    attribute = ts.TosaSerializerAttribute()
    make = getattr(attribute, "".join(map(str.capitalize, name.split("_"))) + "Attribute")
    if name in ("reduce_max", "reduce_min"):
        make(axis, getattr(ts.NanPropagationMode, mode))
    else:
        make(axis)
    operator = getattr(ts.Op, name.upper())
    graph.addOperator(operator, ["input1"], [output.name], attribute)
    (result,), status = model.run(graph.serialize(), [x], verbosity="NONE")
    return result, status == model.GraphStatus.TOSA_VALID


@pytest.mark.parametrize(("name", "dtype"), CHOICES)
@pytest.mark.parametrize("mode", ["PROPAGATE", "IGNORE"])
def test_arms_reference_model(
    ops: Operators, model: ModuleType, tmp_path: Path, name: str, dtype: str, mode: str
) -> None:
    """The same numbers. It adds up in float32 and takes either zero of -0 and 0, so sums and
    products here are exact ones, and zeros are compared as equal."""
    attributes = {"nan_mode": mode} if name in ("reduce_max", "reduce_min") else {}
    for seed, shape in enumerate([*SHAPES, RANK_6]):
        x = data(dtype, shape, seed)
        if dtype == "float32" and attributes:
            x = with_specials(x, seed)
        elif dtype == "float32":
            x = np.random.default_rng(seed).choice(np.array([-2, -0.5, 1, 4], np.float32), shape)
        for axis in range(x.ndim):
            expected, valid = run_model(model, tmp_path, name, x, axis, mode)
            assert valid
            found = ops[f"tosa.{name}"](x, axis=axis, **attributes)
            assert found.dtype == expected.dtype
            np.testing.assert_array_equal(found, expected, f"{name} of {shape}, axis={axis}")


def test_arms_reference_model_leaves_overflow_open(
    ops: Operators, model: ModuleType, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    x = np.array([[MOST, 1]], np.int32)
    _, valid = run_model(model, tmp_path, "reduce_sum", x, 1, "PROPAGATE")
    assert not valid
    with pytest.raises(OperatorError):
        ops.tosa.reduce_sum(x, axis=1)


def test_elements_of_48_bits_are_scaled_by_16_bits(conformance: Conformance) -> None:
    inputs = [np.full(2, 2**40), np.ones(1, np.int32), np.full(1, 20, np.int8)]
    zero = (np.zeros(1, np.int64), np.zeros(1, np.int32))
    found = conformance.check(Call("tosa.rescale", (*inputs, *zero), {"scale32": True}))
    assert "with scale32, elements have at most 32 bits" in found.refusal
