"""Which loops are reductions that threads can share, and how far apart elements are."""

from __future__ import annotations

import pytest

from cvmgen.analysis.reductions import NestReduction, find_reduction, neighbour_steps
from cvmgen.ir import nodes as i
from tests.emit.cuda_texts import NAMES, operators

SPAN = operators()[NAMES[0]].span
ZERO, ONE, TRUE, FALSE = i.Const(0), i.Const(1), i.Const(True), i.Const(False)
N, M, K, T, R = (i.Var(name) for name in ("N", "M", "K", "t", "r"))
ROW_AT, J, L = (i.Var(name) for name in ("i", "j", "l"))


def loop(index: str, high: i.Expr, *body: i.Stmt, low: i.Expr | None = ZERO) -> i.Loop:
    return i.Loop(index, low, high, body, 0, SPAN)


def let(name: str, value: i.Expr, type_name: str = "u32") -> i.Let:
    return i.Let(name, type_name, value, SPAN)


def add(value: i.Expr, name: str = "t", op: str = "+") -> i.Accumulate:
    return i.Accumulate(name, op, value, SPAN)


def x(offset: i.Expr, tensor: str = "X") -> i.Load:
    return i.Load(tensor, None, offset)


def when(condition: i.Expr, *then: i.Stmt) -> i.If:
    return i.If(condition, then, (), SPAN)


def plus(left: i.Expr, right: i.Expr) -> i.Expr:
    return i.Binary("+", left, right)


def times(left: i.Expr, right: i.Expr) -> i.Expr:
    return i.Binary("*", left, right)


def store(value: i.Expr) -> i.Store:
    return i.Store(i.Load("Y", None, ROW_AT), value, SPAN)


ROW = x(plus(times(ROW_AT, K), L))
SUM = loop("l", K, add(ROW))
GREATER = i.Compare(">", ROW, ZERO)
FOUND = (i.Assign("t", TRUE, SPAN), i.Break(SPAN))
INSIDE = i.Compare("<", plus(ROW_AT, L), N)

# The results' indices, what is done for one of them, whether threads can share it ("parts": and
# blocks too), why.
SHAPES = [
    ("i", (let("t", ZERO), SUM, store(T)), "parts", "a sum modulo 2^32"),
    ("", (let("t", ZERO), SUM, store(T)), "parts", "one sum"),
    ("i", (let("t", ZERO, "f64"), SUM, store(T)), "", "a sum of real numbers has an order"),
    ("i", (let("t", ZERO, "i32"), SUM, store(T)), "", "a sum that a part may exceed"),
    (
        "i",
        (let("t", ZERO, "i64"), loop("l", K, when(GREATER, add(ONE))), store(T)),
        "parts",
        "a count",
    ),
    ("i", (let("t", M), SUM, store(T)), "", "a sum that begins with a value"),
    ("i", (let("t", M, "f64"), loop("l", K, add(ROW, op="max")), store(T)), "parts", "a maximum"),
    ("i", (let("t", ONE), loop("l", K, add(ROW, op="*")), store(T)), "parts", "a product"),
    ("i", (let("t", ZERO), loop("l", K, add(plus(T, ROW))), store(T)), "", "a recurrence"),
    ("i", (let("t", ZERO), loop("l", K, add(ROW), store(T))), "", "a running sum"),
    (
        "i",
        (let("t", ZERO), loop("l", ROW_AT, add(ROW)), store(T)),
        "",
        "as long as the result says",
    ),
    ("i", (let("t", ZERO), loop("l", K, add(ROW), low=None), store(T)), "", "over a list"),
    ("i", (let("t", ZERO), loop("l", i.Const(9), add(ROW)), store(T)), "", "always short"),
    ("i", (let("t", ZERO), loop("l", K, when(INSIDE, add(ROW))), store(T)), "", "a window"),
    (
        "i",
        (let("t", FALSE, "bool"), loop("l", K, when(GREATER, *FOUND)), store(T)),
        "parts",
        "a decision",
    ),
    (
        "i",
        (let("t", FALSE, "bool"), loop("l", K, when(GREATER, FOUND[0])), store(T)),
        "parts",
        "a decision without an early end",
    ),
    (
        "i",
        (let("t", ZERO), loop("l", K, when(GREATER, add(ONE), FOUND[1])), store(T)),
        "",
        "a sum that ends early",
    ),
    (
        "i j",
        (
            let("t", ZERO),
            loop("l", K, add(times(ROW, x(plus(times(J, K), L), "W")))),
            store(T),
        ),
        "",
        "a product of matrices",
    ),
    (
        "i",
        (let("t", ZERO), loop("l", K, add(times(ROW, x(L, "W")))), store(T)),
        "parts",
        "a product with a vector",
    ),
    (
        "i",
        (let("t", ZERO), loop("j", M, let("r", times(J, N)), loop("l", K, add(x(plus(R, L)))))),
        "parts",
        "rows",
    ),
    (
        "i",
        (
            let("r", ZERO),
            when(i.Compare("==", M, ONE), let("t", ZERO), SUM, i.Assign("r", T, SPAN)),
            store(R),
        ),
        "parts",
        "if the call says so",
    ),
    (
        "i",
        (
            let("r", ZERO),
            when(i.Compare("==", ROW_AT, ONE), let("t", ZERO), SUM, i.Assign("r", T, SPAN)),
            store(R),
        ),
        "threads",
        "if the result says so",
    ),
    (
        "i",
        (
            let("r", ZERO),
            when(i.Compare("==", M, ONE), let("t", ZERO), SUM, i.Assign("r", x(T), SPAN)),
            store(R),
        ),
        "threads",
        "a part of the sum is no place",
    ),
    (
        "i",
        (let("t", ZERO), SUM, let("r", ZERO), loop("l", K, add(times(ROW, T), "r")), store(R)),
        "threads",
        "a sum needs the one before",
    ),
]


def kind(found: NestReduction | None) -> str:
    if found is None:
        return ""
    return "parts" if found.splits else "threads"


@pytest.mark.parametrize(
    ("indices", "body", "expected", "why"),
    SHAPES,
    ids=[row[-1].replace(" ", "-") for row in SHAPES],
)
def test_shapes(indices: str, body: tuple[i.Stmt, ...], expected: str, why: str) -> None:
    assert kind(find_reduction(indices.split(), body)) == expected, why


def test_locals_that_are_only_stored_are_the_last_threads() -> None:
    place, start = let("r", times(ROW_AT, M), "i64"), let("t", ZERO)
    found = find_reduction(["i"], (place, start, SUM, store(plus(T, R))))
    assert found is not None
    assert found.head == (start, SUM)
    assert found.tail == (place, store(plus(T, R)))


STEPS = [
    (plus(times(ROW_AT, K), L), (K, ONE), "rows"),
    (plus(times(L, N), ROW_AT), (ONE, N), "columns"),
    (plus(R, times(L, N)), (M, N), "by a local of the result"),
    (L, (ZERO, ONE), "all results read the same"),
    (times(ROW_AT, L), None, "no steps"),
    (ROW_AT, None, "the sweep reads one element"),
]


@pytest.mark.parametrize(("offset", "expected", "why"), STEPS, ids=[row[-1] for row in STEPS])
def test_steps(offset: i.Expr, expected: tuple[i.Expr, i.Expr] | None, why: str) -> None:
    body = (
        let("r", times(ROW_AT, M), "i64"),
        let("t", ZERO),
        loop("l", K, add(x(offset))),
        store(T),
    )
    found = find_reduction(["i"], body)
    assert found is not None
    assert neighbour_steps(found, body, "i") == expected, why
