"""Data outside the contract: wrapped alike everywhere, or named exactly where the caller asks."""

from __future__ import annotations

from dataclasses import replace
from random import Random
from typing import Any

import numpy as np
import pytest

from cvmgen.api import Operators
from cvmgen.errors import OperatorError
from tests.conformance.calls import Call, Conformance, declared, mapped
from tests.conformance.random_calls import DRAW, call
from tests.conformance.wild import UNBOUNDED, wild
from tests.operators import sample, sampled
from tests.targets import TARGETS

LOWEST, HIGHEST = -(2**31), 2**31 - 1


@pytest.mark.parametrize("name", sorted(DRAW.keys() - UNBOUNDED))
def test_wild_data_wrap_alike(conformance: Conformance, name: str) -> None:
    """The declared precisions hold for other data: results are the exact values, wrapped."""
    random = Random(name)
    for _ in range(12 if name in sample() else 4):
        drawn = call(name, random)
        precisions = tuple(declared(conformance.libraries[TARGETS[0]][name], drawn.inputs))
        inputs = tuple(mapped(lambda one: wild(random, one), drawn.inputs))
        conformance.check(replace(drawn, inputs=inputs, precisions=precisions))


# Large enough to be made by tiles, which read as int8 what is declared to fit it.
BY_TILES = [
    ("cvm.dense", [(17, 15), (33, 15)], {}),
    ("cvm.conv2d", [(1, 3, 6, 6), (8, 3, 3, 3)], {"padding": (1, 1)}),
    ("extra.scaled_product", [(17, 15), (15, 33)], {"shift": 3}),
]


@pytest.mark.parametrize(("name", "shapes", "attributes"), BY_TILES, ids=lambda each: None)
def test_wild_data_wrap_alike_where_they_are_declared_to_fit_int8(
    conformance: Conformance, name: str, shapes: list[Any], attributes: dict[str, Any]
) -> None:
    random = Random(name)
    honest = [np.full(shape, 127, np.int32) for shape in shapes]
    for at, given in enumerate(honest):
        one, all_of_them = given.copy(), wild(random, given)
        one.flat[random.randrange(one.size)] = 128
        for each in (one, all_of_them):
            inputs = [*honest[:at], each, *honest[at + 1 :]]
            operands = (*inputs, None)[: len(conformance.references[name].operator.inputs)]
            precisions = (8, 8, None)[: len(operands)]
            conformance.check(Call(name, operands, attributes, precisions))


# Operator, inputs, attributes, declared precisions, and what two's complement makes of them.
WRAPPED: list[tuple[str, list[Any], dict[str, Any], tuple[Any, ...], Any, str]] = [
    ("abs", [[LOWEST]], {}, (32,), [LOWEST], "2^31 wraps"),
    ("negative", [[LOWEST]], {}, (32,), [LOWEST], "2^31 wraps"),
    ("cvm_precision", [[LOWEST, LOWEST + 1]], {}, (32,), [32, 31], "2^31 + 1 takes 32 bits"),
    ("elemwise_add", [[HIGHEST], [1]], {}, (8, 8), [LOWEST], "2^31 wraps"),
    ("elemwise_sub", [[LOWEST], [1]], {}, (8, 8), [HIGHEST], "-2^31 - 1 wraps"),
    ("broadcast_div", [[LOWEST], [-1]], {}, (32, 32), [LOWEST], "2^31 wraps, and traps nowhere"),
    ("broadcast_mul", [[LOWEST], [LOWEST]], {}, (8, 8), [0], "2^62 wraps"),
    ("broadcast_max", [[LOWEST], [LOWEST]], {}, (8, 8), [LOWEST], "nothing to wrap"),
    ("broadcast_greater", [[HIGHEST], [LOWEST]], {}, (8, 8), [1], "no difference is taken"),
    ("sum", [[LOWEST, LOWEST, -1]], {}, (8,), [-1], "-2^32 - 1 wraps"),
    ("max", [[LOWEST]], {}, (8,), [LOWEST], "the maximum of one element"),
    ("relu", [[LOWEST, HIGHEST]], {}, (8,), [0, HIGHEST], "nothing to wrap"),
    ("clip", [[LOWEST, HIGHEST]], {"a_min": -3, "a_max": 5}, (8,), [-3, 5], "cut"),
    ("cvm_clip", [[LOWEST]], {"precision": 32}, (32,), [-HIGHEST], "cut"),
    (
        "cvm_right_shift",
        [[LOWEST, HIGHEST]],
        {"precision": 32, "shift_bit": 32},
        (32,),
        [0, 0],
        "-1/2 and 1/2 - 2^-32: halves go up",
    ),
    (
        "cvm_left_shift",
        [[LOWEST, HIGHEST]],
        {"precision": 32, "shift_bit": 31},
        (1,),
        [-HIGHEST, HIGHEST],
        "cut, after 62 bits",
    ),
    ("dense", [[[LOWEST, LOWEST]], [[LOWEST, 1]]], {}, (8, 8), [[LOWEST]], "2^62 - 2^31 wraps"),
]


@pytest.mark.parametrize(
    ("name", "inputs", "attributes", "declared", "result", "why"), WRAPPED, ids=lambda each: None
)
def test_wrapped_values(
    conformance: Conformance,
    name: str,
    inputs: list[Any],
    attributes: dict[str, Any],
    declared: tuple[Any, ...],
    result: Any,
    why: str,
) -> None:
    operands = tuple(np.array(each, np.int32) for each in inputs)
    call = Call(f"cvm.{name}", operands, attributes, declared)
    assert conformance.check(call).refusal == "", why
    for operators in conformance.libraries.values():
        found = operators[f"cvm.{name}"](*operands, precisions=declared, **attributes)
        assert found.tolist() == result, why


@pytest.mark.parametrize("target", TARGETS)
def test_int8_results_wrap_to_int8(libraries: dict[str, Operators], target: str) -> None:
    cvm = libraries[target].cvm
    X = np.array([-128, 127], np.int8)
    assert cvm.abs(X, precisions={"X": 8}, dtype=np.int8).tolist() == [-128, 127]
    assert cvm.elemwise_add(X, X, precisions=(7, 7), dtype=np.int8).tolist() == [0, -2]
    wide = np.array([[300, -129]], np.int32)
    assert cvm.flatten(wide, precisions=(8,), dtype=np.int8).tolist() == [44, 127]


# ---------------------------------------------------------------- check="values"

# Operator, inputs, declared precisions, the refusal.
OFFENDING: list[tuple[str, list[Any], tuple[Any, ...], str]] = [
    ("abs", [[1, 2, 8, 9]], (4,), "cvm.abs: X = 8 at (2,): precision 4 holds [-7, 7]"),
    ("abs", [[[0, 0], [-8, 9]]], (4,), "cvm.abs: X = -8 at (1, 0): precision 4 holds [-7, 7]"),
    (
        "abs",
        [[LOWEST]],
        (32,),
        f"cvm.abs: X = {LOWEST} at (0,): precision 32 holds [{-HIGHEST}, {HIGHEST}]",
    ),
    ("abs", [[0, 1]], (1,), "cvm.abs: X = 1 at (1,): precision 1 holds [0, 0]"),
    (
        "elemwise_add",
        [[3], [-4]],
        (3, 3),
        "cvm.elemwise_add: B = -4 at (0,): precision 3 holds [-3, 3]",
    ),
    (
        "elemwise_add",
        [[4], [-4]],
        (3, 3),
        "cvm.elemwise_add: A = 4 at (0,): precision 3 holds [-3, 3]",
    ),
    (
        "dense",
        [[[1]], [[1]], [200]],
        (2, 2, 8),
        "cvm.dense: B = 200 at (0,): precision 8 holds [-127, 127]",
    ),
    (
        "conv2d",
        [np.zeros((1, 1, 1, 2), int), [[[[1]]]], None],
        (1, 1, None),
        "cvm.conv2d: W = 1 at (0, 0, 0, 0): precision 1 holds [0, 0]",
    ),
    (
        "max",
        [np.arange(16).reshape((2, 1) * 4 + (1,) * 8)],
        (4,),
        f"cvm.max: X = 8 at (1, {', '.join('0' * 15)}): precision 4 holds [-7, 7]",
    ),
]


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize(
    ("name", "inputs", "declared", "message"), OFFENDING, ids=lambda each: None
)
def test_the_first_offending_element(
    libraries: dict[str, Operators],
    target: str,
    name: str,
    inputs: list[Any],
    declared: tuple[Any, ...],
    message: str,
) -> None:
    operator = libraries[target][f"cvm.{name}"]
    operands = [None if each is None else np.array(each, np.int32) for each in inputs]
    with pytest.raises(OperatorError) as caught:
        operator(*operands, precisions=declared, check="values")
    assert str(caught.value) == message
    operator(*operands, precisions=declared)


@pytest.mark.parametrize("target", TARGETS)
def test_an_int8_element_beyond_the_precision(libraries: dict[str, Operators], target: str) -> None:
    with pytest.raises(OperatorError, match=r"X = -128 at \(1,\): precision 8 holds \[-127, 127\]"):
        libraries[target].cvm.abs(np.array([0, -128], np.int8), precisions=(8,), check="values")


@pytest.mark.parametrize("name", sampled(DRAW))
def test_data_within_the_contract_pass(conformance: Conformance, name: str) -> None:
    random = Random(name)
    for _ in range(3):
        drawn = call(name, random)
        if not conformance.expected(drawn).refusal:
            for operators in conformance.libraries.values():
                operators[name](*drawn.inputs, check="values", **drawn.attributes)


@pytest.mark.parametrize("target", TARGETS)
def test_bound_calls_check_the_values_each_time(
    libraries: dict[str, Operators], target: str
) -> None:
    X = np.array([7, -7], np.int32)
    bound = libraries[target].cvm.abs.bind(X, precisions={"X": 4}, check="values")
    assert bound().tolist() == [7, 7]
    X[1] = -8
    with pytest.raises(OperatorError, match=r"X = -8 at \(1,\): precision 4 holds \[-7, 7\]"):
        bound()


# ---------------------------------------------------------------- measuring


@pytest.mark.parametrize("target", TARGETS)
def test_precisions_are_measured(libraries: dict[str, Operators], target: str) -> None:
    """The smallest precision that holds the data decides what is accepted."""
    cvm = libraries[target].cvm
    for bits in range(1, 33):
        most = (1 << (bits - 1)) - 1
        X = np.array([-most, 0], np.int32)
        bound = cvm.negative.bind(X)
        assert bound.inferred.precisions == (bits,)


@pytest.mark.parametrize("target", TARGETS)
def test_int32_min_has_no_precision(libraries: dict[str, Operators], target: str) -> None:
    X = np.array([1, LOWEST], np.int32)
    with pytest.raises(OperatorError) as caught:
        libraries[target].cvm.abs(X)
    assert str(caught.value) == f"cvm.abs: X = {LOWEST}: no precision up to 32 holds this value"


@pytest.mark.parametrize("target", TARGETS)
def test_minus_128_takes_9_bits(libraries: dict[str, Operators], target: str) -> None:
    X = np.array([-128], np.int8)
    assert libraries[target].cvm.negative.bind(X).inferred.precisions == (9,)
