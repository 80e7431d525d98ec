"""Ranges of sums: what nests that add up can come to, and what changes of them must not be taken
for it. Invented nests are run, and whatever they compute lies in the range."""

from __future__ import annotations

from random import Random

import pytest

from cvmgen.ir import nodes as i
from cvmgen.ranges import Range
from cvmgen.source import Source, Span
from cvmgen.verification import terms as t
from cvmgen.verification.accumulated import know_sums
from cvmgen.verification.kernels import KernelWalk
from cvmgen.verification.reading import FormulaReader, PlaceScope
from cvmgen.verification.symbols import Symbols

SPAN = Span(Source("a.cvm", "x"), 0, 1)
X = i.Load("X", None, i.Var("k"))
BITS = "u64"
SUM, N, M = i.Var("sum"), i.Var("N"), i.Convert(BITS, i.Var("M"))


def loop(index: str, high: i.Expr | int, *body: i.Stmt, step: int = 1) -> i.Loop:
    end = i.Const(high) if isinstance(high, int) else high
    return i.Loop(index, i.ZERO, end, body, 0, SPAN, step=step)


def element(place: i.Expr) -> i.Load:
    return i.Load("sums", None, place)


def plus(left: i.Expr, right: i.Expr) -> i.Binary:
    return i.Binary("+", left, right)


def begin(kind: str = BITS) -> i.Let:
    return i.Let("sum", kind, i.ZERO, SPAN)


def add(value: i.Expr = X, kind: str = BITS) -> i.Accumulate:
    return i.Accumulate("sum", "+", i.Convert(kind, value), SPAN)


def add_at(place: i.Expr, value: i.Expr = X) -> i.Store:
    return i.Store(element(place), plus(element(place), i.Convert(BITS, value)), SPAN)


def zeros(high: i.Expr | int) -> tuple[i.Stmt, ...]:
    clear = i.Store(element(i.Var("c")), i.ZERO, SPAN)
    return i.Array("sums", BITS, 4096, SPAN), loop("c", high, clear)


def copied(place: i.Expr, back: i.Expr, *more: i.Stmt) -> i.Block:
    """A local goes on with an element, and is put back."""
    local = i.Let("sum", BITS, element(place), SPAN)
    return (local, *more, add(), i.Store(element(back), SUM, SPAN))


def read(value: i.Expr, kind: str = "i64") -> i.Let:
    return i.Let("found", "i64", i.Convert(kind, value), SPAN)


C, P, Q = i.Var("c"), i.Var("p"), i.Var("q")
AT_C, AT_0 = read(element(C)), read(element(i.ZERO))
WHOLE = {"i32": Range(-(1 << 31), (1 << 31) - 1), "i64": Range(-(1 << 63), (1 << 63) - 1)}
COPY = i.Copy(N, element(i.ZERO), i.ONE, i.Load("X", None, i.ZERO), i.ONE, BITS, SPAN)


def times(most: int, least: int | None = None) -> Range:
    return Range(-128 * (most if least is None else least), 127 * most)


# N is from 0 to 1000, M to 2^60; what is read in the end is the last local.
NESTS = [
    ("once in an iteration", (begin(), loop("k", N, add()), read(SUM)), times(1000)),
    ("in each other", (begin(), loop("j", N, loop("k", N, add())), read(SUM)), times(10**6)),
    ("twice", (begin(), loop("k", N, add(), add()), read(SUM)), times(2000)),
    ("every third", (begin(), loop("k", N, add(), step=3), read(SUM)), times(334)),
    ("in two loops", (begin(), loop("k", N, add()), loop("k", 5, add()), read(SUM)), times(1005)),
    ("begun anew", (loop("j", N, begin(), loop("k", N, add()), read(SUM)),), times(1000)),
    ("with a sign", (begin("i64"), loop("k", N, add(X, "i64")), read(SUM)), times(1000)),
    ("more than fits", (begin(), loop("k", i.Var("M"), add()), read(SUM)), WHOLE["i64"]),
    (
        "more than fits 32 bits",
        (begin("u32"), loop("j", N, loop("k", i.Const(1 << 20), add(X, "u32"))), read(SUM, "i32")),
        WHOLE["i32"],
    ),
    (
        "the end changes",
        (
            i.Let("end", "i64", N, SPAN), begin(),
            loop("k", i.Var("end"), add(), i.Accumulate("end", "+", i.ONE, SPAN)), read(SUM),
        ),
        WHOLE["i64"],
    ),
    (
        "set to what is not known",
        (begin(), loop("k", N, add(), i.Assign("sum", M, SPAN)), read(SUM)),
        Range(-128000, (1 << 60) + 127000),
    ),
    (
        "another operation",
        (begin(), loop("k", N, i.Accumulate("sum", "*", i.Convert(BITS, X), SPAN)), read(SUM)),
        WHOLE["i64"],
    ),
    ("each element once", (*zeros(N), loop("k", 9, loop("c", N, add_at(C), AT_C))), times(9)),
    ("one element", (*zeros(N), loop("k", 9, loop("c", N, add_at(i.ZERO), AT_0))), times(9000)),
    (
        "each of a block once",
        (*zeros(N), loop("k", 9, loop("p", N, loop("q", 64, add_at(plus(P, Q))), step=64)), AT_0),
        times(9),
    ),
    (
        "blocks that overlap",
        (*zeros(N), loop("k", 9, loop("p", N, loop("q", 65, add_at(plus(P, Q))), step=64)), AT_0),
        times(9 * (1000 + 63) * 65 // 64),
    ),
    ("a copy", (*zeros(N), loop("k", 9, loop("c", N, *copied(C, C), AT_C))), times(9)),
    (
        "a copy put elsewhere",
        (*zeros(N), loop("k", 9, loop("c", N, *copied(C, i.ZERO), AT_0))),
        WHOLE["i64"],
    ),
    (
        "a copy that is begun anew",
        (*zeros(N), loop("k", 9, loop("c", N, *copied(C, C, i.Assign("sum", SUM, SPAN)), AT_C))),
        WHOLE["i64"],
    ),
    ("moved there", (*zeros(N), COPY, loop("k", 9, add_at(i.ZERO)), AT_0), WHOLE["i64"]),
]  # fmt: skip


def found(body: i.Block) -> Range | None:
    """What is known of the last local that was read."""
    reader = FormulaReader(Symbols(), {"X": "i8"})
    names = {
        "N": reader.symbols.within("N", 0, 1000, ""),
        "M": reader.symbols.within("M", 0, 1 << 60, ""),
    }
    walk, seen = KernelWalk(reader), list[t.Term]()
    bind = walk.bind

    def watched(name: str, kind: str, value: i.Expr, scope: PlaceScope) -> None:
        bind(name, kind, value, scope)
        if name == "found":
            seen.append(reader.integer(value, scope))

    walk.bind = watched  # type: ignore[method-assign]
    walk.block(body, PlaceScope(dict(names)))
    know_sums(reader.symbols, walk.sums.all, ())
    reader.facts.contexts.begin_anew()
    return reader.facts.of(seen[-1], ())


@pytest.mark.parametrize(("why", "body", "right"), NESTS, ids=[why for why, *_ in NESTS])
def test_ranges_of_sums(why: str, body: i.Block, right: Range) -> None:
    assert found(body) == right, why


class Invented:
    """A nest of loops that adds to a sum and to an array, and what comes of it when it is run."""

    def __init__(self, seed: int) -> None:
        self.random = Random(seed)
        inner = self.body(self.random.randint(1, 3), ())
        self.nest: i.Block = (*zeros(8), begin(), *inner)

    def body(self, depth: int, indices: tuple[str, ...]) -> i.Block:
        return tuple(self.statement(depth, indices) for _ in range(self.random.randint(1, 2)))

    def statement(self, depth: int, indices: tuple[str, ...]) -> i.Stmt:
        if depth and self.random.random() < 0.7:
            index = f"i{len(indices)}"
            high = self.random.choice([i.Const(self.random.randint(0, 7)), *map(i.Var, indices)])
            step = self.random.choice([1, 1, 2, 3])
            return loop(index, high, *self.body(depth - 1, (*indices, index)), step=step)
        value = i.Const(self.random.choice([-7, -1, 1, 5]))
        place = self.random.choice([i.ZERO, *map(i.Var, indices)])
        if len(indices) > 1 and self.random.random() < 0.3:
            place = plus(i.Var(indices[-2]), i.Var(indices[-1]))
        return self.random.choice([add(value), add_at(place, value)])

    def run(self) -> tuple[list[int], list[int]]:
        """All values of the sum, and of elements, on the way."""
        self.sum, self.elements = [0], [0] * 64
        self.seen = [0]
        self.block(self.nest[3:], {})
        return self.sum, self.seen

    def block(self, body: i.Block, names: dict[str, int]) -> None:
        for each in body:
            match each:
                case i.Loop(index=index, high=high, body=inner, step=step):
                    for at in range(0, self.value(high, names), step):
                        self.block(inner, {**names, index: at})
                case i.Accumulate(value=i.Convert(operand=value)):
                    self.sum.append(self.sum[-1] + self.value(value, names))
                case i.Store(
                    target=i.Load(offset=place), value=i.Binary(right=i.Convert(operand=value))
                ):
                    at = self.value(place, names)
                    self.elements[at] += self.value(value, names)
                    self.seen.append(self.elements[at])

    def value(self, expr: i.Expr, names: dict[str, int]) -> int:
        match expr:
            case i.Const(value=value):
                return int(value)
            case i.Var(name=name):
                return names[name]
            case i.Binary(left=left, right=right):
                return self.value(left, names) + self.value(right, names)
        raise AssertionError(expr)


def test_invented_sums_lie_in_their_ranges() -> None:
    tight = 0
    for seed in range(150):
        one = Invented(seed)
        for values, last in zip(one.run(), (read(SUM), AT_0), strict=True):
            known = found((*one.nest, last))
            assert known is not None
            assert known.low <= min(values), seed
            assert max(values) <= known.high, seed
            tight += (known.low, known.high) == (min(values), max(values))
    assert tight > 30
