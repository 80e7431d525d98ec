"""Which nests are streams: the run, what is read along it, and where loops are joined."""

from __future__ import annotations

import pytest

from cvmgen.analysis.streams import Stream, stream
from cvmgen.ir import nodes as i
from cvmgen.ir.text import block_lines, text
from tests.emit.cuda_texts import NAMES, operators

SPAN = operators()[NAMES[0]].span
N, M, S, C, D, R, ZERO, ONE = (
    *map(i.Var, ("N", "M", "S", "c", "d", "r")),
    i.Const(0),
    i.Const(1),
)


def plus(left: i.Expr, right: i.Expr) -> i.Expr:
    return i.Binary("+", left, right)


def times(left: i.Expr, right: i.Expr) -> i.Expr:
    return i.Binary("*", left, right)


def load(tensor: str, offset: i.Expr) -> i.Load:
    return i.Load(tensor, None, offset)


def store(offset: i.Expr, value: i.Expr) -> i.Store:
    return i.Store(load("Y", offset), value, SPAN)


def let(name: str, value: i.Expr, kind: str = "i64") -> i.Let:
    return i.Let(name, kind, value, SPAN)


def loops(*extents: tuple[str, i.Expr]) -> tuple[i.Loop, ...]:
    return tuple(i.Loop(index, ZERO, high, (), 0, SPAN) for index, high in extents)


def shown(found: Stream | None) -> str:
    """The loops, the reads with their steps, and the store."""
    if found is None:
        return "none"
    indices = " ".join(f"{each.index}<{text(each.high)}" for each in (*found.loops, found.run))
    reads = [
        f"{text(each.place)} by {text(each.step)}"
        + ("" if each.guard is None else f" if {text(each.guard)}")
        for each in found.reads
    ]
    by = "" if found.step == ONE else f" by {text(found.step)}"
    return "; ".join([indices, *reads, f"{text(found.target)}{by}"])


ROWS, FLAT = loops(("r", N), ("d", M)), loops(("d", N))
AT = plus(times(R, M), D)
X, Z = load("X", D), load("Z", D)
IS_SET, VARIES = i.Compare("!=", load("C", R), ZERO), i.Compare("!=", D, ZERO)
NOTED = i.If(
    i.Compare("<", i.Var("v"), N), (store(D, i.Var("v")),), (i.Overflow("Y", D, SPAN),), SPAN
)

STEPS = frozenset({"S"})

STREAMS = [
    (FLAT, (store(D, X),), "d<N; X@[d] by 1; Y@[d]", "a flat loop"),
    (FLAT, (store(D, plus(X, X)),), "d<N; X@[d] by 1; Y@[d]", "an element read twice"),
    (FLAT, (store(times(D, S), X),), "d<N; X@[d] by 1; Y@[d * S] by S", "a step of the call"),
    (FLAT, (store(times(D, N), X),), "none", "an extent is no step that may be 1"),
    (FLAT, (store(D, load("X", times(D, N))),), "d<N; X@[d * N] by N; Y@[d]", "far apart"),
    (FLAT, (store(times(D, i.Const(2)), X),), "none", "stores are never neighbors"),
    (FLAT, (store(ZERO, X),), "none", "one element"),
    (FLAT, (store(D, load("X", load("I", D))),), "d<N; I@[d] by 1; Y@[d]", "a gather"),
    (FLAT, (store(D, load("X", S)),), "d<N; Y@[d]", "the same element for all"),
    (FLAT, (store(D, load("Y", S)),), "none", "the result is read"),
    (FLAT, (store(D, i.Select(VARIES, X, Z)),), "d<N; Y@[d]", "read where a condition holds"),
    (FLAT, (let("v", X), NOTED), "d<N; X@[d] by 1; Y@[d]", "what does not fit is noted"),
    (FLAT, (i.If(VARIES, (store(D, X),), (), SPAN),), "none", "some elements are not stored"),
    (
        FLAT,
        (i.Accumulate("v", "+", X, SPAN), store(D, i.Var("v"))),
        "none",
        "a running sum",
    ),
    (
        FLAT,
        (let("place", plus(D, S)), store(D, load("X", i.Var("place")))),
        "d<N; X@[d + S] by 1; Y@[d]",
        "a place with a name",
    ),
    (
        FLAT,
        (let("p", times(D, S), "i32"), store(D, load("X", i.Var("p")))),
        "d<N; Y@[d]",
        "a place of 32 bits may wrap elsewhere",
    ),
    (ROWS, (store(AT, load("X", AT)),), "d<N * M; X@[d] by 1; Y@[d]", "walked whole: one run"),
    (
        ROWS,
        (store(AT, load("X", plus(times(R, S), D))),),
        "r<N d<M; X@[r * S + d] by 1; Y@[r * M + d]",
        "rows apart",
    ),
    (
        ROWS,
        (store(AT, i.Select(IS_SET, load("X", AT), ONE)),),
        "r<N d<M; X@[r * M + d] by 1 if C@[r] != 0; Y@[r * M + d]",
        "a condition that a row fixes",
    ),
    (
        ROWS,
        (store(AT, i.Select(IS_SET, load("X", AT), plus(load("X", AT), ONE))),),
        "r<N d<M; X@[r * M + d] by 1 if C@[r] != 0 or C@[r] == 0; Y@[r * M + d]",
        "read on both ways",
    ),
    (ROWS, (store(AT, load("X", R)),), "d<N * M; Y@[d]", "elements that are repeated"),
    (
        loops(("r", N), ("d", ONE)),
        (store(plus(R, D), load("X", R)),),
        "r<N; X@[r] by 1; Y@[r]",
        "a loop of one iteration",
    ),
    ((), (store(ZERO, X),), "none", "no loop"),
]


@pytest.mark.parametrize(
    ("around", "body", "expected", "why"), STREAMS, ids=[row[-1] for row in STREAMS]
)
def test_streams(
    around: tuple[i.Loop, ...], body: tuple[i.Stmt, ...], expected: str, why: str
) -> None:
    assert shown(stream(around, body, STEPS)) == expected, why


def test_comparisons_of_order_are_not_turned_around() -> None:
    less = i.Compare("<", load("C", R), ONE)
    body = (store(AT, i.Select(less, ZERO, load("X", AT))),)
    assert "by 1 if not C@[r] < 1;" in shown(stream(ROWS, body, STEPS))


def test_what_a_row_fixes_is_apart() -> None:
    body = (let("a", times(R, S)), let("b", X), store(AT, plus(i.Var("a"), i.Var("b"))))
    found = stream(ROWS, body, STEPS)
    assert found is not None
    assert block_lines(found.fixed) == ["let a: i64 = r * S"]
    assert len(found.body) == 2


def test_repeated_elements_have_an_index_of_their_own() -> None:
    found = stream(ROWS, (store(AT, load("X", R)),), STEPS)
    assert found is not None
    assert block_lines(found.body)[0] == "let r: i64 = quotient(d, M)"
    assert found.extents == (N, M)
