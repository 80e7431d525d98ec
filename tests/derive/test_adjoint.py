"""Adjoints of operators: <A x, g> == <x, A* g> exactly, and the same on every target."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from functools import cache
from math import prod
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pytest

from cvmgen import driver
from cvmgen.api import Operators
from cvmgen.build import compile_cuda, cuda_compiler
from cvmgen.derive import adjoint
from cvmgen.dtypes import CVM, DTYPES
from cvmgen.errors import BuildError, OperatorError
from cvmgen.reference import FormulaError, Reference, Tensor
from cvmgen.reference.failures import Budget, WorkLimit
from cvmgen.reference.operator import stored
from cvmgen.reference.probe import check_operators
from cvmgen.reference.sampling import Sampler
from cvmgen.source import Source, SpecError
from cvmgen.spec.check import SpecFile, check_files, read_folder
from cvmgen.spec.formula import Operator
from tests.conftest import ROOT, product
from tests.targets import load_own

SHARED = tuple(read_folder(ROOT / "spec"))
OWN = Path(__file__).with_name("linear.cvm")
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
CALLS = 25
ATTEMPTS = 12 * CALLS
STEPS = 20_000
LARGEST = 7
MOST_ELEMENTS = 300
MOST_WORK = 100_000


@cache
def operators() -> dict[str, Operator]:
    """Those of the project and those of linear.cvm, by their full names."""
    own = SpecFile(Source("linear.cvm", OWN.read_text(encoding="utf-8")), "linear")
    shared = [file for file in SHARED if not file.opset]
    return {each.full_name: each for each in (*product(), *check_files([*shared, own]))}


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


def taken_apart(name: str) -> tuple[Operator, str]:
    full_name, wrt = name.rsplit(".", 1)
    return operators()[full_name], wrt


@pytest.mark.parametrize("name", SUPPORTED)
def test_the_adjoint_is_sound(name: str) -> None:
    check_operators([derived(name)])


@pytest.mark.parametrize("name", SUPPORTED)
def test_inner_products_agree(name: str) -> None:
    operator, wrt = taken_apart(name)
    forward, backward = Reference(operator), Reference(derived(name))
    checked = 0
    for inputs, attributes, given in calls(name):
        zero = {**inputs, wrt: zeros(inputs[wrt])}
        results = [forward.evaluate(each, attributes).outputs.values() for each in (inputs, zero)]
        (value,), (offset,) = results
        (found,) = backward.evaluate(given, attributes).outputs.values()
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
    ours, theirs = Reference(derived(name)), Reference(operators()[written])
    for inputs, attributes, given in calls(name):
        gradient = next(each for key, each in given.items() if key not in inputs)
        (expected,) = theirs.evaluate({**inputs, "dout": gradient}, attributes).outputs.values()
        (found,) = ours.evaluate(given, attributes).outputs.values()
        assert found == expected, attributes


def calls(name: str) -> Iterator[tuple[dict[str, Any], dict[str, Any], dict[str, Any]]]:
    """Inputs and attributes that an operator accepts, and the inputs of its adjoint."""
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
        yield inputs, attributes, given


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
        Reference(operator).row(given)
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


@pytest.fixture(scope="module")
def targets(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Operators]:
    """All adjoints on every target that runs here; the others are written at least."""
    adjoints = [derived(name) for name in SUPPORTED]
    return load_own(adjoints, tmp_path_factory.mktemp("adjoints"))


@pytest.mark.parametrize("name", SUPPORTED)
def test_targets_agree_with_the_reference(targets: dict[str, Operators], name: str) -> None:
    own = derived(name)
    reference = Reference(own)
    accepted = {each.name for each in own.attributes}
    precisions = [4 if each.dtype == CVM else None for each in own.inputs]
    for _, attributes, given in calls(name):
        kept = {key: each for key, each in attributes.items() if key in accepted}
        (expected,) = reference.evaluate(given, kept).outputs.values()
        arrays = [array(given[each.name], each.dtype) for each in own.inputs]
        for target, loaded in targets.items():
            result = loaded[own.full_name](*arrays, precisions=precisions, **kept)
            wanted = expected.values
            if own.precise_outputs:
                wanted = [stored(value, result.dtype.name) for value in wanted]
            assert result.shape == expected.shape, target
            assert result.ravel().tolist() == wanted, f"{target}: {kept}"


@pytest.fixture(scope="module")
def cuda_files() -> dict[str, str]:
    return dict(driver.generate([derived(name) for name in SUPPORTED], ("cuda",)))


@pytest.mark.parametrize("name", SUPPORTED)
def test_kernels_compile_for_cuda(cuda_files: dict[str, str], name: str) -> None:
    try:
        cuda_compiler()
    except BuildError as error:
        pytest.skip(str(error))
    includes = {path.removeprefix("cuda/"): text for path, text in cuda_files.items()}
    source = cuda_files[f"cuda/{derived(name).opset}/{derived(name).name}.cu"]
    assert compile_cuda(source, architecture="sm_90", includes=includes)


def array(tensor: Tensor | None, declared: str) -> Any:
    if tensor is None:
        return None
    dtype = "int8" if declared == CVM else tensor.dtype
    return np.array(tensor.values, dtype).reshape(tensor.shape)


# ---------------------------------------------------------------- texts

DENSE = """\
operator dense_adjoint_X {
  "Adjoint of dense with respect to X: the gradient of Y, carried back to X."
  input  W : cvm[N, K]
  input  dY : cvm[M, N]
  output dX : cvm[M, K]
  dX[i, k] = sum[j < N](dY[i, j]*W[j, k])
}
"""
AT = " " * 31
CONV2D_DATA = f"""\
  output dx : float64[N, C*H*W]
  dx[n, (c*H + i)*W + j] = sum[f < F,
{AT}max(0, ceildiv(i + PH - R + 1, SH)) <= p < min(YH, (i + PH) div SH + 1),
{AT}max(0, ceildiv(j + PW - S + 1, SW)) <= q < min(YW, (j + PW) div SW + 1)](
                             dy[n, (f*YH + p)*YW + q]*w[f, (c*R + r)*S + s])
    forall n < N, c < C, i < H, j < W
    where r = i - p*SH + PH,
          s = j - q*SW + PW
}}
"""
CONV2D_FILTER = """\
  output dw : float64[F, C*R*S]
  dw[f, (c*R + r)*S + s] = sum[n < N, p < YH, q < YW if 0 <= i < H and 0 <= j < W](
                             dy[n, (f*YH + p)*YW + q]*x[n, (c*H + i)*W + j])
    forall f < F, c < C, r < R, s < S
    where i = p*SH - PH + r,
          j = q*SW - PW + s
}
"""
REDUCE_SUM = """\
  type   T in int32, float32
  # Of input1 only the shape counts.
  input  input1 : T[n...]
"""
EITHER_KIND = """\
  # Of the types of either_kind those for which it is linear.
  type   T in float32, float64
  # Of X only the type counts.
  input  X : T[n...]
  input  dY : float64[n...]
  output dX : T[n...]
"""
MAYBE_EMPTY = """\
operator maybe_empty_adjoint_X {
  "Adjoint of maybe_empty with respect to X: the gradient of Y, carried back to X."
  input  W : cvm[K] or empty
  input  dY : cvm[M, 2] or empty
  output dX : cvm[M, K] or empty
  dX[i, k] = sum[j < 2 if k >= j](dY[i, j]*W[k])
}
"""
CONV2D = """\
operator conv2d_adjoint_X {
  "Adjoint of conv2d with respect to X: the gradient of Y, carried back to X."
  # Of X only the shape counts.
  input  X : cvm[N, C, XH, XW]
  input  W : cvm[OC, IC, KH, KW]
  attr   padding  (PH, PW) = (0, 0) in [min_attr, max_attr)
  attr   stride   (SH, SW) = (1, 1) in [1, max_attr)
  attr   dilation (DH, DW) = (1, 1) in [1, max_attr)
  attr   groups = 1 in [1, C]
  require C == IC * groups and OC mod groups == 0 : "the channels must split into the groups"
  let    OPG = OC div groups
  let    YH = (XH + 2*PH - DH*(KH - 1) - 1) div SH + 1
  let    YW = (XW + 2*PW - DW*(KW - 1) - 1) div SW + 1
  input  dY : cvm[N, OC, YH, YW]
  require YH >= 1 and YW >= 1 : "the kernel is larger than the padded input"
  output dX : cvm[N, C, XH, XW]
  dX[n, c, h, w] = sum[i < OPG, ki < KH, kj < KW
                       if (h + PH - ki*DH) mod SH == 0 and 0 <= y < YH
                          and (w + PW - kj*DW) mod SW == 0 and 0 <= x < YW](
                     dY[n, oc, y, x]*W[oc, c mod IC, ki, kj])
    where y = (h + PH - ki*DH) div SH,
          x = (w + PW - kj*DW) div SW,
          oc = (c div IC)*OPG + i
}
"""


WHOLE = (
    ("cvm.dense", "X", DENSE),
    ("cvm.conv2d", "X", CONV2D),
    ("linear.maybe_empty", "X", MAYBE_EMPTY),
)


@pytest.mark.parametrize(("name", "wrt", "text"), WHOLE, ids=[name for name, *_ in WHOLE])
def test_whole_texts(name: str, wrt: str, text: str) -> None:
    assert adjoint(operators()[name], wrt) == text


FORMULAS = (
    ("cvm.dense.B", "dB[j] = sum[i < M](dY[i, j])", "shapes come from the gradient alone"),
    (
        "cvm.conv2d.B",
        "dB[oc] = sum[n < N, y < YH, x < YW](dY[n, oc, y, x])",
        "what the operator computes of others, its adjoint is given",
    ),
    (
        "cvm.upsampling.X",
        "dX[n, c, h, w] = sum[i < scale, j < scale](dY[n, c, h*scale + i, w*scale + j])",
        "a quotient is a range of its own",
    ),
    ("cvm.elemwise_sub.B", "dB[d...] = -dY[d...]", "the sign of a term"),
    ("cvm.transpose.X", "dX[d...] = dY[(d[R[i]] for i < N)...]", "a scatter becomes a gather"),
    ("cvm.tile.X", "dX[d...] = sum[r... < SR...](", "how often is a list with a name"),
    ("cvm.where.B", "dB[d...] = dY[d...] if Cond[d...] == 0 else 0", "the other branch"),
    ("linear.prefixes.X", "dX[j] = sum[j <= i < N](dY[i])", "the range of the other index"),
    ("linear.window.X", "sum[max(0, n - M + 1) <= k < min(K, n + 1)](", "tests become ranges"),
    ("systemml.conv2d.x", CONV2D_DATA, "like conv2d_backward_data"),
    ("systemml.conv2d.w", CONV2D_FILTER, "like conv2d_backward_filter"),
    (
        "systemml.avg_pool_backward.dout",
        "ddout[n, (c*YH + p)*YW + q] = sum[i < H, j < W\n",
        "an end that a definition gives is below one of those it is the least of",
    ),
    ("systemml.bias_add.bias", "dbias[c, 0] = sum[n < N, i < K div C](", "an extent of 1"),
    ("systemml.avg_pool.x", "dy[n, (c*YH + p)*YW + q] over real(R*S))", "each share by itself"),
    ("tosa.reduce_sum.input1", REDUCE_SUM, "types are carried over"),
    ("linear.either_kind.X", EITHER_KIND, "types of the other kind are left out"),
    ("linear.masked.Z", "dY[i]*3 if not A[i] < A[N - 1 - i] else 0", "nan is not in order"),
    ("linear.gathered.X", "sum[i < M if 0 <= P[i] < N and P[i] == n](dY[i])", "guards come first"),
    ("linear.mirrored.X", "dX[d...] = dY[(n[i] - d[i] - 1 for i < len(n))...]", "always inside"),
    ("linear.some_columns.X", "dX[i, c] = dY[i] if c in C else 0", "a member of a set"),
)


@pytest.mark.parametrize(("name", "formula", "why"), FORMULAS)
def test_formulas(name: str, formula: str, why: str) -> None:
    operator, wrt = taken_apart(name)
    assert formula in adjoint(operator, wrt), why


REFUSED = (
    ("cvm.relu.X", "this is not linear in 'X'", "max(0, X[d...])"),
    ("cvm.max.X", "this is not linear in 'X'", "FUNC[d[j] < n[j] for j in R](X[d...])"),
    ("cvm.abs.X", "this condition depends on elements of 'X'", "x >= 0"),
    ("cvm.where.Cond", "this condition depends on elements of 'Cond'", "Cond[d...] != 0"),
    ("cvm.take.indices", "the place of this element depends on elements of 'indices'", "X["),
    ("cvm.cvm_clip.X", "this is not linear in 'X'", "clip(X[d...], -alpha, alpha)"),
    ("cvm.concatenate.I", "'I' are several inputs; an adjoint is made for a single one", "input"),
    ("cvm.get_valid_count.X", "an operator of several outputs has no adjoint of its own", "output"),
    ("cvm.non_max_suppression.X", "this list depends on elements of 'X'", "U[b]"),
    ("mxnet.index_array.data", "the formula does not read 'data'", "idx[d..., j] = d[A[j]]"),
    ("systemml.max_pool.x", "this is not linear in 'x'", "max[r < R, s < S if"),
    ("systemml.pow.X", "this condition depends on elements of 'X'", "OP(X["),
    ("systemml.div.Y", "this divides by elements of 'Y'", "OP(X["),
    ("systemml.intdiv.X", "this rounds, so it is not linear in 'X'", "OP(X["),
    ("tosa.reduce_max.input1", "this condition depends on elements of 'input1'", "nan_mode =="),
    ("tosa.reduce_any.input1", "this is not linear in 'input1'", "any["),
    ("linear.widened_sums.F", "this range depends on elements of 'F'", "j < M if F[j] > 0.5"),
    ("cvm.slice_like.shape_like", "the formula does not read 'shape_like'", "Y[d...] = X[d...]"),
)


@pytest.mark.parametrize(("name", "message", "place"), REFUSED)
def test_refusals_show_what_prevents_it(name: str, message: str, place: str) -> None:
    operator, wrt = taken_apart(name)
    with pytest.raises(SpecError) as caught:
        adjoint(operator, wrt)
    assert caught.value.message == message
    assert caught.value.span.text.startswith(place)


def test_what_a_definition_does_is_quoted_from_it() -> None:
    operator, wrt = taken_apart("systemml.pow.X")
    with pytest.raises(SpecError) as caught:
        adjoint(operator, wrt)
    quoted = "this is 'x == 1 and (isnan(y) or abs(y) == inf)' in spec/systemml/elementwise.cvm:"
    assert caught.value.hint.startswith(quoted)


ONE = """
operator one {{
  "One equation."
  input  X : {given}[n...]
  input  S : float64[1]
  output Y : {result}[n...]
  Y[d...] = {value}
}}
"""
KINDS = (
    ("cvm", "float64", "real(X[d...]) * S[0]", "this makes real numbers", "real("),
    ("int8", "float32", "real(X[d...]) * S[0]", "elements of 'X' are integers", "real("),
    ("int8", "float32", "2.0 * real(3 * X[d...])", "the adjoint has no type", "real("),
    ("int32", "int32", "int(real(X[d...]) * S[0])", "this makes real numbers", "real("),
    ("float64", "int32", "int(X[d...])", "this rounds", "int("),
    ("float64", "float64", "float32(X[d...] * S[0])", "this rounds", "float32("),
    ("bool", "float64", "real(X[d...]) * S[0]", "elements of 'X' are conditions", "real("),
    ("bool", "bool", "X[d...]", "elements of 'X' are conditions, which have no sums", "input"),
    (
        "float64",
        "float64",
        "X[d...] if X[d...] > 0 else 0",
        "this condition depends",
        "X[d...] > 0",
    ),
    ("float64", "float64", "S[0] over X[d...]", "this divides by elements of 'X'", "S[0] over"),
    ("int32", "int32", "X[d...] * X[d...]", "multiplies elements of 'X' by each other", "X["),
    ("float64", "float64", "sqrt(X[d...])", "this is not linear in 'X'", "sqrt("),
)


@pytest.mark.parametrize(("given", "result", "value", "message", "place"), KINDS)
def test_kinds_of_elements_that_an_adjoint_cannot_keep(
    given: str, result: str, value: str, message: str, place: str
) -> None:
    source = Source("one.cvm", ONE.format(given=given, result=result, value=value))
    (operator,) = check_files([SpecFile(source, "")])
    with pytest.raises(SpecError) as caught:
        adjoint(operator, "X")
    assert message in caught.value.message
    assert caught.value.span.text.startswith(place)
