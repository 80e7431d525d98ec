"""What single constructs of the language come to, on operators made for it."""

from __future__ import annotations

from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pytest

from cvmgen.api import Operators
from cvmgen.errors import OperatorError
from cvmgen.source import Source
from cvmgen.spec.check import check_files
from cvmgen.spec.files import SpecFile
from tests.conformance.calls import Call, Conformance, data
from tests.conformance.together import together
from tests.targets import load_own

MOST = 2**31 - 1


def test_names_of_several_outputs(libraries: dict[str, Operators]) -> None:
    for operators in libraries.values():
        found = operators.extra.least(np.array([5, -2, -2], np.int32))
        assert found._fields == ("value", "place")
        assert (found.value.tolist(), found.place.tolist()) == ([-2], [1])


def test_sums_beyond_64_bits(conformance: Conformance) -> None:
    """Five products of 62 bits need more than 64 before the division brings them back."""
    A, B = np.full((1, 5), MOST, np.int32), np.full((5, 1), MOST, np.int32)
    for sign in (1, -1):
        for shift in (0, 31, 33, 62):
            call = Call("extra.scaled_product", (A * sign, B), {"shift": shift})
            assert conformance.check(call).refusal == ""


def test_products_of_124_bits(conformance: Conformance) -> None:
    X = np.array([MOST, -MOST, 215, -215, 216, 181, 0], np.int32)
    expected = conformance.check(Call("extra.fourth_power", (X,)))
    assert expected.outputs[0].values == [MOST, MOST, 2136750625, 2136750625, MOST, 1073283121, 0]


def test_many_tensors(conformance: Conformance) -> None:
    """As many tensors as an input takes, with element types in turn."""
    random = Random(1)
    tensors: list[Any] = [
        data(random, (2, random.randint(1, 3)), 8, (np.int8, np.int32)[at % 2]) for at in range(64)
    ]
    call = Call("cvm.concatenate", (tensors,), {"axis": -1})
    assert conformance.check(call).refusal == ""


def test_an_alias(libraries: dict[str, Operators]) -> None:
    X = np.arange(6, dtype=np.int32)
    for operators in libraries.values():
        assert operators.cvm.strided_slice(X, begin=(1,), strides=(2,)).tolist() == [1, 3, 5]


# Slices as numpy makes them: shape, begin, end, strides.
SLICES = [
    ((5,), (), (), ()),
    ((5,), (1,), (4,), ()),
    ((5,), (-2,), (), ()),
    ((5,), (), (-1,), ()),
    ((5,), (), (), (2,)),
    ((5,), (), (), (-1,)),
    ((5,), (3,), (0,), (-2,)),
    ((5,), (0,), (99,), (4,)),
    ((5,), (-99,), (3,), ()),
    ((4, 5), (1,), (3, 4), (1, 3)),
    ((4, 5), (3, 4), (-5, -6), (-1, -1)),
    ((4, 5), (), (2,), (1, -2)),
]


@pytest.mark.parametrize(("shape", "begin", "end", "strides"), SLICES)
def test_slices_as_numpy_makes_them(
    conformance: Conformance,
    shape: tuple[int, ...],
    begin: tuple[int, ...],
    end: tuple[int, ...],
    strides: tuple[int, ...],
) -> None:
    X = data(Random(3), shape, 8)
    attributes = {"begin": begin, "end": end, "strides": strides}
    expected = conformance.check(Call("cvm.slice", (X,), attributes))

    def entry(entries: tuple[int, ...], at: int) -> int | None:
        return entries[at] if at < len(entries) else None

    cut = tuple(
        slice(entry(begin, at), entry(end, at), entry(strides, at)) for at in range(len(shape))
    )
    assert expected.outputs[0].nested() == X[cut].tolist()


# ---------------------------------------------------------------- constructs one by one

# Body of an operator with an input X of shape [N], and what it is there for.
BODIES = [
    ("Y[i] = X[i] - sum[j in {a for a in axes}](j + 1)", "a reduction over a set, in a formula"),
    ("Y[i] = X[i] + sum[j < N](X[j]) - sum[j < N](X[j])", "one reduction twice"),
    ("Y[i] = max[j < N](X[j]) - min[j < N](X[j])", "two reductions in a formula"),
    ("Y[i] = sum[j < N](sum[k < j + 1](X[k]))", "a reduction in a reduction"),
    ("Y[i] = max[j < N, k < j + 1](X[k] * j)", "a range that ends at another index"),
    ("Y[i] = sum[j < N if X[j] > X[i]](1)", "a filter that reads data"),
    ("Y[i] = count[j < N](X[j] == X[i] and not j == i)", "conditions"),
    ("Y[i] = (X[i + 1] if i + 1 < N else X[0])", "a guarded access"),
    ("Y[i] = (1 if i in {a for a in axes} else 0)", "a test for membership"),
    ("Y[i] = X[(i + 1) mod N] div 3 + X[i] tdiv 3 + X[i] mod 3", "divisions"),
    ("Y[i] = X[clip(X[i], 0, N - 1)]", "an index from data"),
    ("Y[i] = min(X[i], 3, i) + max(X[i], -3, -i)", "several arguments"),
    ("Y[N - 1 - i] = X[i] forall i < N", "a scatter"),
    ("Y[(i + 1) mod N] = X[i] forall i < N", "a scatter around the end"),
    ("Y[i] = f(X[i]) where g(t) = t * 2, f(x) = g(x) + 1", "definitions of definitions"),
    ("Y[i] = 1 if all[j < i](X[j] <= X[i]) else 0", "all of none is true"),
    ("Y[i] = 1 if any[j < i](X[j] > X[i]) else 0", "any of none is false"),
    ("Y[i] = prod[j < 2](X[i] - j) + sum[j < i](1)", "a product"),
    ("Y[i] = 1 if i in {j for j < 9} - {a for a in axes} else 0", "one set without another"),
    ("Y[i] = 1 if i in {j for j < 3} + {2 * j for j < 4} else 0", "one set and another"),
    ("Y[i] = count({j for j < 4} - {j for j < min(i, 2)})", "how many one set has alone"),
    ("Y[i] = count({j for j < min(i, 3)} + {2 * j for j < 4})", "how many two sets have"),
    (
        "Y[i] = clip(third(X[i], clip(N, 0, 9)) * third(X[i], clip(X[i], 0, 9)), -99999, 99999)",
        "a parameter that is called as an extent",
    ),
    (
        "Y[i] = clip(third(X[i], clip(X[i], 0, 9)) * third(X[i], clip(N, 0, 9)), -99999, 99999)",
        "the same in the other order",
    ),
]

# Lets on selected lists, and what the operator gives of them.
LISTS = [
    ("let V = select[q < min(N, 4)](X[q] > 0)", "len((q for q in V)) + i", "a list copied"),
    ("let V = sort[q < min(N, 4)] by (-X[q])", "sum[r in (q for q in V)](r * X[r])", "a copy"),
    (
        "let V = sort[q < min(N, 4)] by (-X[q])\nlet W = (q for q in V)",
        "W[i mod len(W)]",
        "an entry of a copy",
    ),
    (
        "let V = sort[q < min(N, 4)] by (-X[q])\nlet W = {q for q in V}",
        "W[i mod count(W)]",
        "a set of a sorted list",
    ),
    (
        "let V = select[q < min(N, 4)](X[q] > 0)\nlet W = {j for j < 6} - {q for q in V}",
        "(1 if i in W else 0) + count(W)",
        "what a list leaves of a set",
    ),
    (
        "let U = {p for p < N if count[q in U if q < p](X[q] == X[p]) == 0}",
        "X[U[i mod count(U)]]",
        "the first of equal ones",
    ),
    (
        "let V = select[q < N](X[q] != 0)\n"
        "let U = {p for p in V if all[q in U if p > q](X[q] != X[p])}",
        "1 if i in U else count(U)",
        "a set of itself out of another list",
    ),
    (
        "let U = {p for p < N if all[q in U, r in U if q < p and r < p](X[p] != X[q] + X[r])}",
        "1 if i in U else 0",
        "no sums of two",
    ),
    ("let V = sort[N <= q < 5] by (X[q - N] if q < 2*N else 0)", "count(V)", "a range that ends"),
    ("let V = select[q < N](X[q] > 0)", "sum[q in V](1) + sum[a in axes](i)", "unread indices"),
    (
        "let U = {p for p < N if all[q in U if q < p](X[p] > 0)}",
        "count(U)",
        "a condition that does not read the element",
    ),
    ("let V = select[q in {a for a in axes}](q < N)", "count(V)", "a list out of a set"),
    ("let V = select[q in axes](q < N and X[min(q, N - 1)] > 0)", "count(V)", "out of a list"),
]


CONSTRUCTS = [*BODIES, *((f"{lets}\n  Y[i] = {value}", why) for lets, value, why in LISTS)]


@pytest.fixture(scope="module")
def constructs(tmp_path_factory: pytest.TempPathFactory) -> Conformance:
    """An operator for each row."""
    texts = (construct(at, *row) for at, row in enumerate(CONSTRUCTS))
    clip = "def clip(x, low, high) = max(low, min(x, high))"
    third = "def third(x, N) = x div 3 * N + N"
    return together(tmp_path_factory.mktemp("tried"), (clip, third, *texts))


def construct(at: int, body: str, why: str) -> str:
    return f"""
operator f{at} {{
  "{why}"
  input  X : cvm[N]
  attr   axes : int list = (0, 2) in [0, 16)
  output Y : cvm[N] precision 32
  {body}
}}
"""


@pytest.mark.parametrize("at", range(len(CONSTRUCTS)), ids=[why for _, why in CONSTRUCTS])
def test_constructs(constructs: Conformance, at: int) -> None:
    """An operator with these lets and equations gives the same on all targets."""
    _, why = CONSTRUCTS[at]
    random = Random(why)
    for extent in (1, 2, 3, 5, 17):
        for bits in (1, 3, 8):
            for axes in ((), (1,), (0, 2, 4, 15)):
                call = Call(f"tried.f{at}", (data(random, (extent,), bits),), {"axes": axes})
                assert constructs.check(call, dtype=np.int32).refusal == "", why


# A named list or set of k entries (16 at most), and the output with its equation.
LONG = [
    ("let s = (i for i < k)", "Y : cvm[N] precision 32 Y[i] = sum[j in s](j)"),
    ("let s = {i for i < k}", "Y : cvm[N] precision 32 Y[i] = sum[j in s](j)"),
    ("let s = {i mod 19 for i < 2*k}", "Y : cvm[N] precision 32 Y[i] = count(s)"),
    ("let s = ((i for i < k) if k > 3 else (1, 2, 3))", "Y : cvm[N] precision 32 Y[i] = s[0]"),
    ("let s = (i for i < k) let t = len(s)", "Y : cvm[N] precision 32 Y[i] = t"),
    ("let s = (1 for i < k)", "Y : cvm[s...] precision 32 Y[d...] = X[0]"),
    ("let s = (i for i < k)", "Y : cvm[N] precision 32 Y[i] = 0"),
]


@pytest.fixture(scope="module")
def long(tmp_path_factory: pytest.TempPathFactory) -> Conformance:
    """An operator for each row."""
    texts = (
        f"operator f{at} {{ input X : cvm[N] attr k in [3, 40] {named} output {output} }}"
        for at, (named, output) in enumerate(LONG)
    )
    return together(tmp_path_factory.mktemp("long"), texts)


@pytest.mark.parametrize("at", range(len(LONG)))
def test_long_lists(long: Conformance, at: int) -> None:
    for k, longer in ((3, False), (8, False), (17, True), (40, True)):
        call = Call(f"tried.f{at}", (np.ones(2, np.int32),), {"k": k})
        refusal = f"tried.f{at}: s has at most 16 entries (k = {k})" if longer else ""
        assert long.check(call, dtype=np.int32).refusal == refusal, k


WIDE = """
operator fifth {
  "More bits than the host computes with."
  input  X : cvm[N]
  output Y : cvm[N]
  Y[i] = X[i]*X[i]*X[i]*X[i]*X[i]
}
operator product {
  "As many factors as there are elements."
  input  X : cvm[N]
  output Y : cvm[1]
  Y[i] = prod[k < N](X[k])
}
operator terms {
  "A number of terms that may be negative."
  input  X : cvm[N]
  attr   a
  output Y : cvm[N]
  Y[i] = sum[k < a](X[i])
}
operator bits {
  "A logarithm of 93 bits."
  input  X : cvm[N]
  output Y : cvm[N]
  Y[i] = floor(log2(abs(X[i]*X[i]*X[i]) + 1))
}
operator places {
  "A position of more than 64 bits, on its way."
  input  X : cvm[N]
  output Y : cvm[N]
  Y[i] = flatten_index((X[i], X[i]^2), (7, 3000000000)) div 1000000000000000
}
operator thirds {
  "Powers beyond 64 bits, brought back."
  input  X : cvm[N]
  attr   a in [0, inf)
  output Y : cvm[N] precision 32
  Y[i] = ceildiv(X[i]^3, 9223372036854775807) + (a^4 div 2^62) mod 1000
}
operator seventh {
  "A number of the call of 217 bits, compared."
  input  X : cvm[N]
  attr   a in [0, inf)
  let    b = a*a*a*a*a*a*a
  output Y : cvm[N]
  Y[i] = X[i] if b > 5 else 0
}
"""


def test_numbers_of_many_bits_are_the_same_everywhere(tmp_path: Path) -> None:
    """And so is a refusal, of a precision however large."""
    found = check_files([SpecFile(Source("test.cvm", WIDE), "wide")])
    targets = load_own(found, tmp_path)
    data = [np.array([MOST, -5, 7, -MOST], np.int32), np.full(3000, 200, np.int32)]
    calls: list[tuple[str, dict[str, int]]] = [(name, {}) for name in ("fifth", "product")]
    calls += [("bits", {}), ("places", {}), ("thirds", {"a": MOST}), ("thirds", {"a": 3})]
    calls += [("terms", {"a": a}) for a in (-20, 0, 3, MOST)]
    calls += [("seventh", {"a": a}) for a in (1, 2, MOST)]
    for name, attributes in calls:
        for X in data:
            outcomes = {outcome(ops, name, X, attributes) for ops in targets.values()}
            assert len(outcomes) == 1, (name, attributes, outcomes)


def outcome(operators: Operators, name: str, X: Any, attributes: dict[str, int]) -> str:
    try:
        return str(getattr(operators.wide, name)(X, **attributes).tolist())
    except OperatorError as error:
        return str(error)
