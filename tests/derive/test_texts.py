"""The texts of adjoints, and what is said where there is none."""

from __future__ import annotations

import pytest

from cvmgen.derive import adjoint
from cvmgen.source import Source, SpecError
from cvmgen.spec.check import check_files
from cvmgen.spec.files import SpecFile
from tests.derive.linear import operators, taken_apart

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
