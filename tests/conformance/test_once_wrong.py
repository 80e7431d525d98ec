"""Formulas on which a target once failed, or gave other results than the others."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from cvmgen.reference import Reference
from cvmgen.source import Source
from cvmgen.spec.check import check_files
from cvmgen.spec.files import SpecFile
from tests.conformance.calls import Array, Call, Conformance
from tests.targets import load_own


def int8s(*each: int) -> Array:
    return np.array(each, np.int8)


def int64s(*each: int) -> Array:
    return np.array(each, np.int64)


HALVED = "def halved(x, by) = (x + by) div 2 if x > by else x - by"
SQUARED = "def plus_square(x, s) = x + s * s"
# What an operator declares and computes, what a call gives it, and what went wrong.
ROWS = [
    (
        "input X : int64[N, M] output Y : int64[N, M]",
        "Y[i, k] = (0 if 0 <= 2*k + 1 < 3 else 1)"
        " - count({(0 if 0 <= 2*i - 2 + k < 3 else 0) mod -3 for j < N})",
        (np.zeros((2, 3), np.int64),),
        "two locals of one name, of which schedules of C were told that they stand for two things",
    ),
    (
        "input each i < Q : X[i] : cvm[n[i]...] output Y : cvm[n[0]...] precision 32",
        "Y[d...] = d[0]",
        ([int8s(3, 1, 2)],),
        "compilers of C took an index of no entries for one that is read",
    ),
    (
        "input X : cvm[N] output Y : cvm[N] precision 32 let V = select[i < N](X[i] > 0)"
        " let S = sort[i in V] by (X[i])",
        "Y[i] = X[S[i]] if i < count(S) else sum[k in V](1)",
        (int8s(3, 1, -2),),
        "CUDA looked up entries of which it only wants the number",
    ),
    (
        "input X : cvm[N] input B : cvm[N] optional input M : cvm[N]"
        " output Y : cvm[N] precision 32",
        "Y[i] = X[i] + M[i] + (B[i] if present(B) else 0)",
        (int8s(1, 2), None, int8s(3, 4)),
        "an optional input before a required one: no signature of Python",
    ),
    (
        "input X : cvm[N] output Y : int64[N]",
        "Y[i] = X[int(X[i] > 0) mod N]",
        (int8s(1, -2),),
        "python had no spelling for int in an index",
    ),
    (
        "input X : cvm[N] output Y : int64[N]",
        "Y[i] = (0 if true else (X[i - 1] if 0 <= i - 1 < N else 3))",
        (int8s(1, 2),),
        "names in C that only a branch never taken reads",
    ),
    (
        "input X : cvm[n...] output Y : int64[n...]",
        "Y[d...] = w where w = n[0] if true else d[0]",
        (int8s(1, 2),),
        "a multi-index in C that nothing reads",
    ),
    (
        "input X : cvm[N] or empty output Y : int64[1]",
        "Y[0] = min[j < N](2) if N > 0 else 7",
        (int8s(),),
        "the minimum of nothing, in front of the test that excludes it",
    ),
    (
        "input X : int64[N] output Y : int64[N]",
        "Y[i] = ceil(log2(abs(X[i]) + 1)) + floor(log2(abs(X[i]) + 1))",
        (int64s(5, -(2**63), 2**63 - 1),),
        "a logarithm of more than 64 bits was that of 64",
    ),
    (
        "input X : int64[N] output Y : bool[N]",
        "Y[i] = 2^max(0, min(X[i], 31)) - X[i] > int(0.5)",
        (int64s(-(2**63), 7),),
        "a power among real numbers had no range, and what it was part of wrapped",
    ),
    (
        "input X : int64[N] output Y : int64[N]",
        "Y[i] = X[(X[i] * (X[0] - N)) mod N]",
        (int64s(2**63 - 1, -3, 5),),
        "a product of elements below a remainder wrapped, as only places may",
    ),
    (
        "input X : cvm[N, n...] output Y : cvm[N] precision 32",
        "Y[i] = X[i, ((t + z) mod n[z] for z < len(n))...]"
        " where t = sum[j... < n...](X[i, j...] * X[i, j...])",
        (np.array([[-5, -7, 127], [4, 0, -6]], np.int8),),
        "a sum in the entries of a list kept its lowest bits only",
    ),
    (
        "input X : cvm[N] output Y : cvm[N] precision 32",
        "Y[i] = X[(sum[j < N, k < 3](X[i] * X[i])) mod N] + int(0.1)",
        (np.array([2**31 - 1, -5, 77], np.int32),),
        "numpy: what is made of elements in an index overflowed",
    ),
    (
        "input X : cvm[N] input W : cvm[N] optional output Y : cvm[N] precision 32",
        "Y[i] = W[i] if present(W) and X[i] > 0 else 1",
        (int8s(1, -2), None),
        "numpy: an input that is not there was read beside its test",
    ),
    (
        "input X : cvm[N] output Y : cvm[N] precision 32",
        "Y[i] = (X[i * 1099511627776] if i * 1099511627776 < N else 5)",
        (int8s(1, -2),),
        "numpy: a border as wide as an index reaches",
    ),
    (
        "input X : cvm[N] input B : cvm[N] optional output Y : int64[1]",
        "Y[0] = sum[j < 3](B[(X[2*j - 1] if 0 <= 2*j - 1 < N else 1) mod N] if present(B) else j)",
        (int8s(1, -2), int8s(5, 7)),
        "numpy: a border made between a test and its block",
    ),
    (
        "input X : cvm[N] input B : cvm[N] optional output Y : int64[1]",
        "Y[0] = sum[j < 3](B[2*j - 1] if present(B) and 0 <= 2*j - 1 < N else j)",
        (int8s(1, -2), None),
        "numpy: a border of an input that is not there, in front of its test",
    ),
    (
        "input X : int64[N] output Y : int64[1]",
        "Y[0] = ceil(log2(abs(X[0]^2) + 1)) + floor(log2(X[0]^2 + 1)) + (X[0]^2 mod 1000)",
        (int64s(-3513498990242721810),),
        "numpy: one integer beyond 64 bits, which its functions do not take",
    ),
    (
        "input X : cvm[n...] or empty output Y : int64[1]",
        "Y[0] = floor(log2(abs(X[(0 for k < len(n))...] if size(n) > 0 else 0) + 1))",
        (int8s(),),
        "numpy: a number of the call where elements were expected",
    ),
    (
        "input X : cvm[N] attr l : int list = () output Y : int64[N]",
        "Y[i] = X[i] + (l[0] if h > 0 else 3) where h = len(l)",
        (int8s(1, -2),),
        "the entry of a list without one, read in front of a test by another name",
    ),
    (
        "input X : cvm[N] attr l : int list = () output Y : int64[N]",
        "Y[i] = X[i] + (l[0] if X[i] > 0 and i < len(l) else 3) + sum[k < len(l)](l[0])",
        (int8s(1, -2),),
        "the entry of a list without one, read in front of a test of elements, or of no term",
    ),
    (
        "input X : int32[N] output Y : cvm[N]",
        "Y[i] = max(-127, min(127, ((2^62 + 2^62) * X[i] + X[i]) div 2^62))",
        (np.array([2**31 - 1, -5, 77], np.int32),),
        "a constant of C of more than 64 bits",
    ),
    (
        "input X : cvm[N] output Y : int64[1] let L = select[t < N](X[t] > 1)",
        "Y[0] = count[j in (0, 2, N + 1)]((X[L[j]] if j < count(L) else -1) > 0)",
        (int8s(1, 2),),
        "numpy: an entry beyond a list, read beside its test",
    ),
    (
        "input X : cvm[N] output Y : int64[N]",
        "Y[i] = h(2) + sum[j < 3](h(3) * h(2) + h(3)) + h(2) where h(x) = X[i] * x",
        (int8s(1, -2),),
        "a value under the name of another one inside",
    ),
    (
        "input X : cvm[N] output Y : int64[N]",
        "Y[i] = (0 if h(3) <= 0 else sum[j < 3](X[i] * X[i])) - h(2) where h(x) = X[i]",
        (int8s(1, -2),),
        "a sum of a value with two names, taken for one of the call",
    ),
    (
        "input X : cvm[N] let L = select[t < N](false) output Y : bool[N]",
        "Y[i] = 0 in L",
        (int8s(1, -2),),
        "memory in C for a list that nothing is appended to",
    ),
    (
        "input X : float32[K] input W : int64[N] output Y : float32[N]",
        "Y[i] = X[halved(W[i], 1) mod K]",
        (np.array([1, 2, 4], np.float32), int64s(2**63 - 1, -(2**63), 5)),
        "an element under another name wrapped below a remainder",
    ),
    (
        "input X : int64[N, n...] output Y : int64[N, n...]",
        "Y[i, d...] = X[i, unflatten((X[i, d...] + i) mod size(n), n)...]",
        (np.array([[1, -5, 3], [2**63 - 1, -(2**63), 7]]),),
        "numpy: a sum of an element below a multi-index wrapped",
    ),
    (
        "input X : cvm[N] output Y : float64[N]",
        "Y[i] = (0.0 * 0.0) - real(max[j < 1](i))",
        (int8s(1, 2),),
        "gcc: constants that come to 0, less an integer",
    ),
    (
        "input X : cvm[N] output Y : int64[N]",
        "Y[i] = X[i] * count({int(inf) mod 2 for j < 3})",
        (int8s(1, 2),),
        "how many a set of real numbers has was asked of the host",
    ),
    (
        "input X : int64[N] attr a = 9 output Y : int64[N]",
        "Y[i] = halved(int(a > 3), X[halved(a, i) mod N])",
        (int64s(-5, 7, 11),),
        "numpy: a parameter inside a parameter of the same name",
    ),
    (
        "input X : cvm[N] output Y : int64[N]",
        "Y[i] = X[(i + 1) div 2]"
        " + ((i mod 3)^2 mod N) + (i div 2) * 2^(i mod 7) + 16 div 2^(i mod 5)"
        " + int(int(0 <= i + 1 < 3) <= i - 1 < int(2 <= i + N < 9) + 5)",
        (int8s(1, -2, 7, 9),),
        "numpy: shifts and powers of an index, and a comparison in a comparison",
    ),
    (
        "input X : cvm[N] attr a = 0 output Y : int64[N]",
        "Y[i] = (N div a if X[i] > 100 else 7) + sum[j < N if X[j] > 100](N mod a)",
        (int8s(1, -2),),
        "numpy: a number of the call without a value, computed beside a test",
    ),
    (
        "input X : cvm[K] input W : cvm[N, 3] output Y : int64[N]",
        "Y[i] = sum[j < 3](X[max(0, min(j, K - 1))]"
        " * (W[max(0, min(j, N - 1)), j - 1 + i] if 0 <= j - 1 + i < 3 else 1))",
        (int8s(4), np.array([[1, 2, 3], [4, 5, -6]], np.int8)),
        "numpy: a border for places that are not affine in the index of a loop",
    ),
    (
        "input X : int64[N] output Y : int64[N]",
        "Y[i] = 8 div 2^max(0, min(ceildiv(X[i], 3), 20)) + ceildiv(X[i], 1 + i)",
        (int64s(-(2**63), -(2**63), 2**63 - 1, -7),),
        "a quotient rounded up of the least integer, which has no negative",
    ),
    (
        "input X : cvm[N] let L = {t for t < N if X[t] > 0} output Y : int64[N]",
        "Y[i] = X[i] if 0 in {0 for j in L} else 2",
        (int8s(1, -2),),
        "C: of a list of which only the length counts, threads were given the entries",
    ),
    (
        "input X : cvm[N] attr e = 0 in [0, 8) attr L : int list = (4, 2, 9)"
        " output Y : int64[min[k in L](max(1, min(5, L[e] if len(L) > 2 else k)))]",
        "Y[i] = 1 if (L[e] if len(L) > 2 else 3) in L else 0",
        (int8s(1, 2),),
        "a test that stands in front went through a range whose end is a minimum",
    ),
    (
        "input X : int8[N] attr s = 3 in [-31, 31) output Y : int32[N]",
        "Y[i] = plus_square(X[i] * s, s + 1)",
        (int8s(1, -2),),
        "a parameter was taken for the attribute of its name, which its arguments spoke of",
    ),
    (
        "input X : int8[N] attr by = 3 in [-31, 31) let s = by - 1 output Y : int32[N]",
        "Y[i] = plus_square(halved(X[i] * by, plus_square(s, by - s)), s + by)",
        (int8s(1, -2, 100),),
        "and the attribute for the parameter",
    ),
]


def test_once_wrong(tmp_path: Path) -> None:
    texts = [
        f'operator f{at} {{ "Once wrong." {declared} {equation} }}'
        for at, (declared, equation, _, _) in enumerate(ROWS)
    ]
    operators = check_files(
        [SpecFile(Source("f.cvm", "\n".join([HALVED, SQUARED, *texts])), "once")]
    )
    conformance = Conformance(
        {each.full_name: Reference(each) for each in operators}, load_own(operators, tmp_path)
    )
    for operator, (_, _, inputs, why) in zip(operators, ROWS, strict=True):
        dtype = np.int32 if operator.precise_outputs else None
        expected = conformance.check(Call(operator.full_name, inputs), dtype=dtype)
        assert not expected.refusal, why


def test_values_made_of_each_other_keep_their_names(tmp_path: Path) -> None:
    """Put where they are used they would double with each: numpy's text never came to an end."""
    steps = "".join(f"def s{at}(x) = s{at - 1}(x * x mod 1009 + x)\n" for at in range(1, 9))
    text = f"""
    def s0(x) = x
    {steps}
    operator table {{
      "Eight steps."
      input  X : cvm[N]
      output Y : int64[N]
      Y[i] = s8(i + 1)
    }}
    """
    operators = check_files([SpecFile(Source("f.cvm", text), "once")])
    conformance = Conformance(
        {each.full_name: Reference(each) for each in operators}, load_own(operators, tmp_path)
    )
    conformance.check(Call("once.table", (int8s(1, 2, 3),)))
