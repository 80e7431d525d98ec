"""What each construct of the language means: a small operator, arguments, the result, why."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import pytest

from cvmgen.reference import FormulaError, Reference, Tensor
from tests.reference.calls import run, tensor, written


@dataclass(frozen=True, slots=True)
class Row:
    why: str
    block: str
    inputs: tuple[Any, ...]
    expected: Any
    attributes: dict[str, Any] = field(default_factory=dict)
    before: str = ""


def several(*values: Any) -> list[Tensor]:
    return [Tensor.of(value) for value in values]


VECTOR = "input X : cvm[N]\n output Y : cvm[N] precision 32\n "
ANY = "input X : cvm[n...]\n output Y : cvm[n...] precision 32\n "
ONE = "input X : cvm[n...]\n output Y : cvm[1] precision 32\n "

ROWS = [
    # ------------------------------------------------------------ arithmetic
    Row("div rounds down", VECTOR + "Y[i] = X[i] div 2", ([-3, 3],), [-2, 1]),
    Row("div by a negative number", VECTOR + "Y[i] = X[i] div (-2)", ([-3, 3],), [1, -2]),
    Row("tdiv rounds toward zero", VECTOR + "Y[i] = X[i] tdiv 2", ([-3, 3],), [-1, 1]),
    Row("mod is the floor remainder", VECTOR + "Y[i] = X[i] mod 3", ([-4, 4],), [2, 1]),
    Row("mod has the divisor's sign", VECTOR + "Y[i] = X[i] mod (-3)", ([-4, 4],), [-1, -2]),
    Row("a power binds closer than a sign", VECTOR + "Y[i] = -X[i]^2", ([3],), [-9]),
    Row("a power groups to the right", VECTOR + "Y[i] = 2^X[i]^2", ([3],), [512]),
    Row("products before sums", VECTOR + "Y[i] = 1 + 2*X[i] - 3", ([5],), [8]),
    Row("from the left", VECTOR + "Y[i] = X[i] - 1 - 2", ([5],), [2]),
    Row("from the left, with div", VECTOR + "Y[i] = X[i] div 2 * 2", ([5],), [4]),
    Row("integers without end", VECTOR + "Y[i] = X[i]^100 div X[i]^99", ([7],), [7]),
    # ------------------------------------------------------------ conditions
    Row("a chain of relations", VECTOR + "Y[i] = 1 if 0 <= X[i] < 3 else 0", ([-1, 0, 2, 3],),
        [0, 1, 1, 0]),
    Row("and, or, not", VECTOR + "Y[i] = 1 if not X[i] == 0 and X[i] < 3 or X[i] == 9 else 0",
        ([0, 1, 3, 9],), [0, 1, 0, 1]),
    Row("the branch not taken has no value", VECTOR + "Y[i] = X[i - 1] if i > 0 else 7",
        ([1, 2],), [7, 1]),
    Row("what 'and' has decided is not looked at",
        VECTOR + "Y[i] = 1 if i > 0 and X[i - 1] > 0 else 0", ([1, 2],), [0, 1]),
    Row("what 'or' has decided is not looked at",
        VECTOR + "Y[i] = 1 if i == 0 or X[i - 1] > 0 else 0", ([1, 2],), [1, 1]),
    Row("'else' reaches to the end", VECTOR + "Y[i] = 1 if X[i] > 0 else 2 if X[i] < 0 else 3",
        ([5, -5, 0],), [1, 2, 3]),
    Row("conditions compare", VECTOR + "Y[i] = 1 if (X[i] > 0) == (i > 0) else 0", ([1, 1],),
        [0, 1]),
    Row("an element in a list", VECTOR + "Y[i] = 1 if X[i] in (2, 3) else 0", ([1, 2, 3],),
        [0, 1, 1]),
    Row("an element in a set", VECTOR + "Y[i] = 1 if i in {2*j for j < 5} else 0", ([0, 0, 0],),
        [1, 0, 1]),
    # ------------------------------------------------------------ reductions
    Row("sum", ONE + "Y[0] = sum[d... < n...](X[d...])", ([[1, 2], [3, 4]],), [10]),
    Row("a sum of nothing", VECTOR + "Y[i] = sum[j < i](X[j])", ([5, 6],), [0, 5]),
    Row("a product of nothing", VECTOR + "Y[i] = prod[j < i](X[j])", ([5, 6, 7],), [1, 5, 30]),
    Row("min and max", VECTOR + "Y[i] = max[j < N](X[j]) - min[j < N](X[j])", ([5, -6],), [11, 11]),
    Row("any of nothing", VECTOR + "Y[i] = 1 if any[j < i](X[j] > 0) else 0", ([0, 6, 0],),
        [0, 0, 1]),
    Row("all of nothing", VECTOR + "Y[i] = 1 if all[j < i](X[j] > 0) else 0", ([0, 6, 0],),
        [1, 0, 0]),
    Row("count", VECTOR + "Y[i] = count[j < N](X[j] > X[i])", ([3, 1, 2],), [0, 2, 1]),
    Row("a range with two ends", VECTOR + "Y[i] = sum[i <= j < N](X[j])", ([1, 2, 3],), [6, 5, 3]),
    Row("an inner range depends on the outer", ONE + "Y[0] = sum[i < n[0], j < i](j)", ([0] * 4,),
        [4]),
    Row("a filter", VECTOR + "Y[i] = sum[j < N if j != i](X[j])", ([1, 2, 3],), [5, 4, 3]),
    Row("over a list, in order", VECTOR + "Y[i] = sum[j in (2, 0, 2)](X[j])", ([1, 2, 3],),
        [7, 7, 7]),
    Row("over a set, each once", VECTOR + "Y[i] = sum[j in {k mod 2 for k < N}](X[j])",
        ([1, 2, 3],), [3, 3, 3]),
    Row("over some entries of a pack",
        "input X : cvm[n...]\n let R = {i for i < len(n) if i > 0}\n"
        "output Y : cvm[n[0]] precision 32\n"
        "Y[d[0]] = sum[d[j] < n[j] for j in R](X[d...]) forall d[i] < n[i] for i in {0 for i < 1}",
        ([[1, 2], [3, 4]],), [3, 7]),
    # ------------------------------------------------------------ lists, sets, packs
    Row("parts of a pack",
        "input X : cvm[n...]\n output Y : cvm[n[1:]..., n[:1]...] precision 32\n"
        "Y[i..., j] = X[j, i...]  forall i... < n[1:]..., j < n[0]",
        ([[1, 2, 3], [4, 5, 6]],), [[1, 4], [2, 5], [3, 6]]),
    Row("a comprehension keeps its order",
        "input X : cvm[n...]\n let N = len(n)\n"
        "output Y : cvm[(n[N - 1 - i] for i < N)...] precision 32\n"
        "Y[(d[N - 1 - i] for i < N)...] = X[d...]  forall d... < n...",
        ([[1, 2, 3], [4, 5, 6]],), [[1, 4], [2, 5], [3, 6]]),
    Row("len, size, count",
        ONE + "let S = {i mod 2 for i < 5}\n Y[0] = len(n)*100 + size(n)*10 + count(S)",
        ([[1, 2, 3]],), [232]),
    Row("a set less a set", ONE + "let S = {i for i < 5} - {2*i for i < 5}\n Y[0] = sum[i in S](i)",
        ([0],), [4]),
    Row("an entry of a set, ascending", ONE + "let S = {5 - i for i < 3}\n Y[0] = S[0]*10 + S[2]",
        ([0],), [35]),
    Row("a list of one entry", ONE + "let L = (7,)\n Y[0] = L[0] + len(L)", ([0],), [8]),
    Row("flatten_index and unflatten",
        "input X : cvm[n...]\n output Y : cvm[size(n)] precision 32\n"
        "Y[i] = X[unflatten(i, n...)...]*10 + flatten_index(unflatten(i, n...)..., n...)",
        ([[1, 2], [3, 4]],), [10, 21, 32, 43]),
    Row("an index into a let of lists",
        "input each i < M : X[i] : cvm[n[i]...]\n let first = (n[i][0] for i < M)\n"
        "output Y : cvm[M] precision 32\n Y[i] = first[i]", (several([1, 2], [3]),), [2, 1]),
    # ------------------------------------------------------------ functions
    Row("abs, min and max of several", VECTOR + "Y[i] = min(abs(X[i]), 3, 4) + max(X[i], 0)",
        ([-5, 2],), [3, 4]),
    Row("logarithms", VECTOR + "Y[i] = floor(log2(X[i]))*10 + ceil(log2(X[i]))", ([1, 5, 8],),
        [0, 23, 33]),
    Row("ceildiv rounds up", VECTOR + "Y[i] = ceildiv(X[i], 2)", ([-3, 3, 4],), [-1, 2, 2]),
    Row("bits of two's complements", VECTOR + "Y[i] = bitand(X[i], 12) + 100*bitor(X[i], 1) + "
        "10000*bitxor(X[i], 3) + 1000000*bitnot(X[i])", ([6, -6],), [-6949296, 4929508]),
    Row("square roots rounded down", VECTOR + "Y[i] = isqrt(X[i])", ([0, 15, 16],), [0, 3, 4]),
    Row("precisions", VECTOR + "Y[i] = p(X)", ([100, 1],), [8, 8]),
    # ------------------------------------------------------------ names for values
    Row("a let", VECTOR + "let M = N*N\n Y[i] = M", ([0, 0],), [4, 4]),
    Row("a let with indices", VECTOR + "let T[i] = X[i]*X[i]\n Y[i] = T[i] - T[N - 1 - i]",
        ([2, 3],), [-5, 5]),
    Row("a let with a pack", ANY + "let T[d...] = X[d...] + 1\n Y[d...] = T[d...]*2", ([[1], [2]],),
        [[4], [6]]),
    Row("a let of elements", VECTOR + "let most = max[i < N](X[i])\n Y[i] = most - X[i]", ([2, 5],),
        [3, 0]),
    Row("a let of lets of elements",
        VECTOR + "let most = max[i < N](X[i])\n let next = most + 1\n Y[i] = next", ([2, 5],),
        [6, 6]),
    Row("where", VECTOR + "Y[i] = x*x where x = X[i]", ([2, 3],), [4, 9]),
    Row("where with parameters", VECTOR + "Y[i] = at(i) + at(0) where at(j) = X[j]", ([2, 3],),
        [4, 5]),
    Row("where with a pack", ANY + "Y[d...] = at(d...) where at(e...) = X[e...] + 1", ([[2]],),
        [[3]]),
    Row("a where uses another", VECTOR + "Y[i] = b where a = X[i], b = a + a", ([2],), [4]),
    Row("a name of a where means what it means at its use",
        VECTOR + "Y[i] = sum[k < N](term) where term = X[k] * i", ([1, 2],), [0, 3]),
    Row("def", VECTOR + "Y[i] = square(X[i] + 1)", ([2],), [9], before="def square(x) = x * x"),
    Row("a def of lists", ONE + "Y[0] = last(n)", ([[1, 2, 3]],), [3],
        before="def last(l...) = l[len(l) - 1]"),
    Row("a def of conditions", VECTOR + "Y[i] = sign(X[i] > 0)", ([2, -2],), [1, -1],
        before="def sign(c) = 1 if c else -1"),
    Row("a def uses a def and a constant", VECTOR + "Y[i] = more(X[i])", ([2],), [9],
        before="const three = 3\n def square(x) = x * x\n def more(x) = square(min(x, three)) + 5"),
    Row("a constant", VECTOR + "Y[i] = X[i] * six", ([2],), [12],
        before="const two = 2\n const six = two^2 + two"),
    # ------------------------------------------------------------ operands
    Row("attributes with named entries",
        VECTOR + "attr pad (A, B) = (1, 2)\n Y[i] = A*10 + B + pad[0]",
        ([0],), [57], {"pad": (5, 2)}),
    Row("a default", VECTOR + "attr a = 3\n Y[i] = a", ([0],), [3]),
    Row("an optional attribute", VECTOR + "attr a : int optional\n Y[i] = a if present(a) else -1",
        ([0],), [-1]),
    Row("a list", VECTOR + "attr l : int list = ()\n Y[i] = sum[j < len(l)](l[j])", ([0],), [6],
        {"l": (1, 2, 3)}),
    Row("an optional input", "input X : cvm[N]\n input B : cvm[N] optional\n"
        "output Y : cvm[N] precision 32\n Y[i] = X[i] + (B[i] if present(B) else 100)",
        ([1, 2], None), [101, 102]),
    Row("extents that are numbers or formulas",
        "input X : cvm[N, 2]\n input Z : cvm[2*N]\n output Y : cvm[N] precision 32\n"
        "Y[i] = X[i, 1] + Z[2*i]", ([[1, 2]], [3, 4]), [5]),
    Row("several inputs",
        "input each i < M : X[i] : cvm[n[i]...]\n output Y : cvm[M] precision 32\n"
        "Y[i] = sum[d... < n[i]...](X[i][d...])", (several([1, 2], [[3], [4]]),), [3, 7]),
    Row("the precision of one of several inputs",
        "input each i < M : X[i] : cvm[n[i]...]\n"
        "output Y : cvm[M] precision max[i < M](p(X[i]))\n Y[i] = p(X[i])",
        (several([1], [100]),), [2, 8]),
    # ------------------------------------------------------------ equations
    Row("a scatter", VECTOR + "Y[N - 1 - i] = X[i]  forall i < N", ([1, 2, 3],), [3, 2, 1]),
    Row("a filter on the left", VECTOR + "Y[i] = X[i] forall i < N if i > 0\n Y[0] = 9", ([1, 2],),
        [9, 2]),
    Row("two equations for one output", VECTOR + "Y[2*i] = X[i] forall i < ceildiv(N, 2)\n"
        "Y[2*i + 1] = -1 forall i < N div 2", ([1, 2, 3],), [1, -1, 2]),
    Row("an element with a number", VECTOR + "Y[0] = 7 forall i < 1\n Y[i] = 8 forall 1 <= i < N",
        ([1, 2],), [7, 8]),
    Row("cases", VECTOR + "attr up : bool = true\n case up { Y[i] = X[i] + 1 }\n"
        "case not up { Y[i] = X[i] - 1 }", ([5],), [4], {"up": False}),
    Row("outputs, lets and requirements inside cases",
        "input X : cvm[N]\n case N > 1 { let a = N - 1\n require a < 5 : \"at most five\"\n"
        "output Y : cvm[a] precision 32\n Y[i] = X[i] }\n"
        "case N == 1 { output Y : cvm[2] precision 32\n Y[i] = 9 }", ([1, 2, 3],), [1, 2]),
    Row("within",
        "input X : cvm[B, N]\n output Y : cvm[B, N] precision 32\n"
        "within b < B { Y[b, i] = X[b, N - 1 - i] }", ([[1, 2], [3, 4]],), [[2, 1], [4, 3]]),
    Row("a let inside within has its index",
        "input X : cvm[B, N]\n output Y : cvm[B, N] precision 32\n within b < B {\n"
        "let total = sum[i < N](X[b, i])\n let rest[i] = total - X[b, i]\n"
        "Y[b, i] = rest[i] + total }", ([[1, 2], [3, 4]],), [[5, 4], [11, 10]]),
    Row("within two ranges",
        "input X : cvm[B, N]\n output Y : cvm[N, B] precision 32\n"
        "within b < B, i < N { let x = X[b, i]\n Y[i, b] = x * x }", ([[1, 2], [3, 4]],),
        [[1, 9], [4, 16]]),
    Row("within, with ranges of its own after the equation",
        "input X : cvm[B, N]\n output Y : cvm[B, N] precision 32\n"
        "within b < B { Y[b, N - 1 - i] = X[b, i] forall i < N }", ([[1, 2]],), [[2, 1]]),
    Row("an extent may use the name of an index",
        "input X : cvm[n...]\n output Y : cvm[n[:1]..., (1 for i < 2)..., n[1:]...] precision 32\n"
        "Y[i..., j..., k...] = X[i..., k...]", ([[1, 2]],), [[[[1, 2]]]]),
    # ------------------------------------------------------------ families
    Row("a family with a sign", "", ([1, 2],), [3, 4],
        before="family shift(OP) { " + VECTOR + "Y[i] = OP(X[i], 2) }\n operator g = shift(+)"),
    Row("a family with a function", "", ([1, -2],), [1, 2],
        before="family unary(OP) { " + VECTOR + "Y[i] = OP(X[i]) }\n operator g = unary(abs)"),
    Row("a family with a def", "", ([1, -2],), [2, -4],
        before="def twice(x) = 2*x\n family unary(OP) { " + VECTOR
        + "Y[i] = OP(X[i]) }\n operator g = unary(twice)"),
    Row("a family with a reduction", "", ([1, -2],), [-2],
        before="family fold(F) { " + ONE + "Y[0] = F[i < n[0]](X[i]) }\n operator g = fold(min)"),
    Row("a family with a number", "", ([1, 2],), [8, 9],
        before="family add(K) { " + VECTOR + "Y[i] = X[i] + K }\n operator g = add(7)"),
]  # fmt: skip


@pytest.mark.parametrize("row", [pytest.param(row, id=row.why) for row in ROWS])
def test_meaning(row: Row) -> None:
    block = f"operator f {{ {row.block} }}" if row.block else ""
    assert (
        run(written(f"{row.before}\n{block}"), *row.inputs, **row.attributes).tolist()
        == row.expected
    )


# ------------------------------------------------------------ where a formula has no value

VALUELESS = [
    ("Y[i] = X[i + 1]", "index 0 of X is 2, outside [0, 2)"),
    ("Y[i] = X[i - 1]", "index 0 of X is -1, outside [0, 2)"),
    ("Y[i] = X[i] div 0", "division by 0"),
    ("Y[i] = X[i] tdiv (N - 2)", "division by 0"),
    ("Y[i] = X[i] mod 0", "remainder by 0"),
    ("Y[i] = ceildiv(X[i], 0)", "division by 0"),
    ("Y[i] = 2^(-1)", "2^-1 is not an integer"),
    ("Y[i] = 2^(2^40)", "2^1099511627776 has too many digits"),
    ("Y[i] = floor(log2(0))", "log2(0) is not defined"),
    ("Y[i] = isqrt(1 - X[i])", "isqrt(-1) is not defined"),
    ("Y[i] = max[j < 0](X[j])", "the maximum or minimum of no element has no value"),
    ("let L = (1, 2)\n Y[i] = L[2]", "a list of 2 entries has no entry 2"),
    ("let L = (1, 2)\n Y[i] = len(L[1:])\n let M = L[:3]", "a list of 2 entries has no part [0:3]"),
    ("Y[0] = 1 forall i < N", "element (0,) of Y is written twice"),
    ("Y[i + 1] = 1 forall i < N - 1", "element (0,) of Y is never written"),
    ("Y[i + 1] = 1 forall i < N", "index 0 of Y is 2, outside [0, 2)"),
    ("case N > 5 { Y[i] = 1 }", "no case of the operator applies"),
    ("case N > 0 { Y[i] = 1 }\n case N > 1 { Y[i] = 2 }",
     "this case and the one in line 3 both apply"),
    ("attr a : int optional\n Y[i] = a", "'a' is read though it may be left away"),
    ("Y[i] = X[(i for j < 3)...]", "X has rank 1, 3 indices are given"),
]  # fmt: skip


@pytest.mark.parametrize(("block", "message"), VALUELESS, ids=[row[0] for row in VALUELESS])
def test_no_value(block: str, message: str) -> None:
    operator = written(f"operator f {{ {VECTOR} {block} }}")
    reference = Reference(operator)
    reference.tried_out = True
    with pytest.raises(FormulaError) as caught:
        reference.evaluate({"X": tensor([1, 2])})
    assert caught.value.message == message
