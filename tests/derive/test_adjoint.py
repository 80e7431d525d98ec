"""Adjoints of operators: <A x, g> == <x, A* g> exactly, and the same on every target."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from functools import cache
from math import prod
from random import Random
from typing import Any

import numpy as np
import pytest

from cvmgen.api import Operators
from cvmgen.build import compile_cuda, cuda_compiler
from cvmgen.derive import adjoint
from cvmgen.driver import emitted
from cvmgen.dtypes import CVM, DTYPES
from cvmgen.emit import cuda_support
from cvmgen.errors import BuildError, OperatorError
from cvmgen.reference import FormulaError, Reference, Tensor
from cvmgen.reference.failures import Budget, WorkLimit
from cvmgen.reference.probe import check_operators
from cvmgen.reference.sampling import Sampler
from cvmgen.source import Source, SpecError
from cvmgen.spec.check import check_files
from cvmgen.spec.files import SpecFile
from cvmgen.spec.formula import Operator
from tests import specs
from tests.conformance.calls import wrapped_to
from tests.derive.linear import SHARED, operators, taken_apart
from tests.targets import TARGETS, load_own

SUPPORTED = (
    *("cvm.dense.X", "cvm.dense.W", "cvm.dense.B"),
    *("cvm.conv2d.X", "cvm.conv2d.W", "cvm.conv2d.B"),
    *("cvm.broadcast_add.A", "cvm.broadcast_add.B", "cvm.broadcast_sub.A", "cvm.broadcast_sub.B"),
    *("cvm.broadcast_mul.A", "cvm.broadcast_mul.B"),
    *("cvm.elemwise_add.A", "cvm.elemwise_add.B", "cvm.elemwise_sub.A", "cvm.elemwise_sub.B"),
    *("cvm.negative.X", "cvm.upsampling.X", "cvm.sum.X", "cvm.repeat.X", "cvm.tile.X"),
    *("cvm.flatten.X", "cvm.batch_flatten.X", "cvm.transpose.X", "cvm.slice.X"),
    *("cvm.slice_like.X", "cvm.take.X", "cvm.cvm_lut.table", "cvm.expand_dims.X"),
    *("cvm.reshape.X", "cvm.squeeze.X", "cvm.where.A", "cvm.where.B"),
    *("linear.window.X", "linear.window.W", "linear.differences.X", "linear.diagonal.X"),
    *("linear.running.X", "linear.prefixes.X", "linear.folded.X", "linear.folded.W"),
    *("linear.reversed.X", "linear.strided.X", "linear.halves.X", "linear.cyclic.X"),
    *("linear.blocks.X", "linear.blocks.S", "linear.some_columns.X", "linear.by_twos.X"),
    *("linear.mirrored.X", "linear.wrapped.X", "linear.crossed.X", "linear.gathered.X"),
    *("linear.affine.X", "linear.affine.B", "linear.moved.X"),
    *("linear.maybe_empty.X", "linear.maybe_empty.W"),
    *("linear.weighted.X", "linear.masked.X", "linear.masked.Z", "linear.widened.X"),
    *("linear.widened_sums.X", "linear.widened_sums.W", "linear.either_kind.X"),
    *("linear.whole_numbers.X", "linear.rows_joined.X", "linear.first_rows.X"),
    *(
        "linear.halved.X",
        "linear.first_rows.W",
        "linear.maybe_no_blocks.X",
        "linear.maybe_no_blocks.W",
    ),
    *("systemml.conv2d.x", "systemml.conv2d.w", "systemml.avg_pool.x", "systemml.bias_add.x"),
    *("systemml.bias_add.bias", "systemml.bias_multiply.x", "systemml.bias_multiply.bias"),
    *("systemml.mul.X", "systemml.mul.Y", "systemml.div.X", "systemml.add.X", "systemml.add.Y"),
    *("systemml.sub.X", "systemml.sub.Y", "systemml.neg.X", "systemml.rep.Z"),
    *("systemml.conv2d_backward_data.dout", "systemml.conv2d_backward_filter.x"),
    *("systemml.max_pool_backward.dout", "systemml.avg_pool_backward.dout"),
    "tosa.reduce_sum.input1",
)
DIVIDING = (
    "linear.halved.X",
    "linear.weighted.X",
    "systemml.avg_pool.x",
    "systemml.div.X",
    "systemml.avg_pool_backward.dout",
)
MULTIPLE = 5040  # of what the divisors are, the numbers up to 10: all quotients are exact
AdjointCall = tuple[dict[str, Any], dict[str, Any], dict[str, Any], Tensor]
CALLS = 6
ATTEMPTS = 18 * CALLS
STEPS = 20_000
LARGEST = 7
MOST_ELEMENTS = 300
MOST_WORK = 100_000


@cache
def derived(name: str) -> Operator:
    """The adjoint as the checker reads it from its text, among the files of its opset."""
    operator, wrt = taken_apart(name)
    text = adjoint(operator, wrt, f"adjoint_{operator.name}_{wrt}")
    file = SpecFile(Source("derived.cvm", text), operator.opset)
    others = [each for each in SHARED if not each.opset or each.opset == operator.opset]
    found = check_files([*others, file])
    (own,) = (each for each in found if each.span.source.name == "derived.cvm")
    return own


# What they compute is looked at of all; of these one of five is tried on calls of all kinds.
TRIED = [
    pytest.param(name, marks=pytest.mark.slow if at % 5 else ())
    for at, name in enumerate(SUPPORTED)
]


@pytest.mark.parametrize("name", TRIED)
def test_the_adjoint_is_sound(name: str) -> None:
    check_operators([derived(name)])


@pytest.mark.parametrize("name", SUPPORTED)
def test_inner_products_agree(name: str) -> None:
    operator, wrt = taken_apart(name)
    forward = Reference(operator)
    checked = 0
    for call, found in zip(calls(name), pulled_back(name), strict=True):
        inputs, attributes, given, value = call
        zero = {**inputs, wrt: zeros(inputs[wrt])}
        (offset,) = forward.evaluate(zero, attributes).outputs.values()
        gradient = next(each for key, each in given.items() if key not in inputs)
        image = [one - other for one, other in zip(value.values, offset.values, strict=True)]
        where = f"{[each and each.shape for each in inputs.values()]} {attributes}"
        assert found.shape == inputs[wrt].shape, where
        assert dot(image, gradient.values) == dot(inputs[wrt].values, found.values), where
        checked += 1
    assert checked >= CALLS // 2, "the calls are refused too often to say much"


WRITTEN = (
    ("systemml.conv2d.x", "systemml.conv2d_backward_data"),
    ("systemml.conv2d.w", "systemml.conv2d_backward_filter"),
    ("systemml.avg_pool.x", "systemml.avg_pool_backward"),
)


@pytest.mark.parametrize(("name", "written"), WRITTEN)
def test_the_adjoint_is_what_people_wrote(name: str, written: str) -> None:
    theirs = Reference(operators()[written])
    for (inputs, attributes, given, _), found in zip(calls(name), pulled_back(name), strict=True):
        gradient = next(each for key, each in given.items() if key not in inputs)
        (expected,) = theirs.evaluate({**inputs, "dout": gradient}, attributes).outputs.values()
        assert found == expected, attributes


@cache
def calls(name: str) -> tuple[AdjointCall, ...]:
    """Inputs and attributes that an operator accepts, the inputs of its adjoint, and the output."""
    return tuple(drawn_calls(name))


@cache
def pulled_back(name: str) -> tuple[Tensor, ...]:
    """What the adjoint makes of each call."""
    own = Reference(derived(name))
    results = (own.evaluate(given, attributes) for _, attributes, given, _ in calls(name))
    return tuple(each for result in results for each in result.outputs.values())


def drawn_calls(name: str) -> Iterator[AdjointCall]:
    operator, wrt = taken_apart(name)
    sampler, random = Sampler(operator), Random(name)
    wanted = [each.name for each in derived(name).inputs]
    found = 0
    for _ in range(ATTEMPTS):
        try:
            drawn = sampler.accepted(STEPS, compute=False)
        except (FormulaError, WorkLimit):
            continue
        if drawn is None or sampler.env["$inputs"][wrt] is None or found == CALLS:
            continue
        if any(each and prod(each.shape) > MOST_ELEMENTS for each in sizes(sampler)):
            continue
        divisors = name in DIVIDING
        inputs = {
            key: filled(
                each, random, multiple=divisors and key == wrt, zero=not divisors or key == wrt
            )
            for key, each in sampler.env["$inputs"].items()
        }
        attributes = dict(sampler.env["$attributes"])
        output = computed(operator, inputs, attributes)
        if output is None:
            continue
        gradient = filled(output, random, multiple=divisors)
        (own,) = (each for each in wanted if each not in inputs)
        given = {each: inputs.get(each) for each in wanted} | {own: gradient}
        if not of_known_types(derived(name), given):
            continue
        found += 1
        yield inputs, attributes, given, output


def computed(
    operator: Operator, inputs: dict[str, Any], attributes: dict[str, Any]
) -> Tensor | None:
    """The output, unless it is large or takes long, or a precision is one that no call had."""
    try:
        (output,) = Reference(operator).infer(inputs, attributes).outputs.values()
        if prod(output.shape) > MOST_ELEMENTS:
            return None
        result = Reference(operator, Budget(MOST_WORK)).evaluate(inputs, attributes)
    except (OperatorError, WorkLimit):
        return None
    (output,) = result.outputs.values()
    return output


def of_known_types(operator: Operator, given: dict[str, Any]) -> bool:
    try:
        Reference(operator).row(given, {})
    except OperatorError:
        return False
    return True


def sizes(sampler: Sampler) -> list[Tensor | None]:
    return list(sampler.env["$inputs"].values())


def filled(
    tensor: Tensor | None, random: Random, *, multiple: bool = False, zero: bool = True
) -> Tensor | None:
    """Small integers or multiples of MULTIPLE, as real numbers where the type asks for these."""
    if tensor is None:
        return None
    values = [random.randint(-LARGEST, LARGEST) for _ in range(prod(tensor.shape))]
    scale, least = MULTIPLE if multiple else 1, 0 if zero else 1
    return of_type(tensor, [value * scale or least for value in values])


def zeros(tensor: Tensor) -> Tensor:
    return of_type(tensor, [0] * tensor.size)


def of_type(tensor: Tensor, values: list[int]) -> Tensor:
    """A tensor like another one; those of type `cvm` have 4 bits."""
    if DTYPES[tensor.dtype].kind == "real":
        return replace(tensor, values=list(map(float, values)), precision=0)
    return replace(tensor, values=values, precision=4)


def dot(left: list[Any], right: list[Any]) -> Fraction:
    pairs = zip(left, right, strict=True)
    return sum((Fraction(one) * Fraction(other) for one, other in pairs), Fraction(0))


# ---------------------------------------------------------------- targets


# What all adjoints compute is looked at above. They are formulas like others, which conformance
# tries on every target: here one of three, and on what is compiled, which takes longest, one of
# six.
ON_TARGETS, IN_COMPILED = SUPPORTED[::3], SUPPORTED[::6]


@pytest.fixture(scope="module")
def targets(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Operators]:
    folder = tmp_path_factory.mktemp("adjoints")
    here = [each for each in TARGETS if each in ("python", "numpy")]
    others = [each for each in TARGETS if each not in here]
    found = load_own([derived(name) for name in ON_TARGETS], folder, here)
    return found | load_own([derived(name) for name in IN_COMPILED], folder / "compiled", others)


@pytest.mark.parametrize("name", ON_TARGETS)
def test_targets_agree_with_the_reference(targets: dict[str, Operators], name: str) -> None:
    own = derived(name)
    accepted = {each.name for each in own.attributes}
    precisions = [4 if each.dtype == CVM else None for each in own.inputs]
    for (_, attributes, given, _), expected in zip(calls(name), pulled_back(name), strict=True):
        kept = {key: each for key, each in attributes.items() if key in accepted}
        arrays = [array(given[each.name], each.dtype) for each in own.inputs]
        for target, loaded in targets.items():
            if name not in IN_COMPILED and target not in ("python", "numpy"):
                continue
            result = loaded[own.full_name](*arrays, precisions=precisions, **kept)
            wanted = expected.values
            if own.precise_outputs:
                wanted = [wrapped_to(value, result.dtype.name) for value in wanted]
            assert result.shape == expected.shape, target
            assert result.ravel().tolist() == wanted, f"{target}: {kept}"


# Most of what compilers can find in them is found on the CPU above.
COMPILED = [
    pytest.param(name, marks=pytest.mark.slow if at % 12 else ())
    for at, name in enumerate(SUPPORTED)
]


@pytest.mark.parametrize("name", COMPILED)
def test_kernels_compile_for_cuda(name: str) -> None:
    try:
        cuda_compiler()
    except BuildError as error:
        pytest.skip(str(error))
    source = emitted("cuda", derived(name))
    assert compile_cuda(source, architecture="sm_90", includes=cuda_support.emit_support())


def array(tensor: Tensor | None, declared: str) -> Any:
    if tensor is None:
        return None
    dtype = "int8" if declared == CVM else tensor.dtype
    return np.array(tensor.values, dtype).reshape(tensor.shape)


def test_a_recurrence_is_refused() -> None:
    found = specs.operator(
        "input X : int32[N]\noutput Y : int64[N]\n"
        "let S[i] = X[i] + (S[i - 1] if i > 0 else 0)\nY[i] = S[i]"
    )
    with pytest.raises(SpecError, match="the recurrence 'S' is not derived"):
        adjoint(found, "X")
