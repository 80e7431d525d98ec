"""Machine types for tensors whose elements are known: rows of statements, types and ranges."""

from __future__ import annotations

import pytest

from cvmgen.ir import nodes as i
from cvmgen.ir.text import block_lines
from cvmgen.known.known_types import ElementStorage, KnownTypes, known_types
from cvmgen.ranges import Range
from tests.specs import operator

NOTHING = operator("input X : cvm[N]\noutput Y : cvm[N] precision 32\nY[i] = X[i]")
SPAN = NOTHING.span
AT = i.Var("i")
BYTE = ElementStorage(Range(-127, 127), "i8")
X, W = i.Load("X", None, AT), i.Load("W", None, AT)


def typed(body: tuple[i.Stmt, ...], **elements: ElementStorage) -> KnownTypes:
    known = {"X": BYTE, "W": BYTE, "Y": ElementStorage(Range(0, 0), "i32"), **elements}
    return known_types(NOTHING, {"i": 10}, body, known)


def lines(found: KnownTypes) -> list[str]:
    """The statements as text; an offset is marked by `@`, which is left out."""
    return [line.replace("@", "") for line in block_lines(found.body)]


def store(value: i.Expr) -> i.Store:
    return i.Store(i.Load("Y", None, AT), value, SPAN)


def call(function: str, *arguments: i.Expr | int) -> i.Call:
    given = (i.Const(each) if isinstance(each, int) else each for each in arguments)
    return i.Call(function, tuple(given))


VALUES = [
    (X, "X[i]", Range(-127, 127), "an element"),
    (i.Binary("*", X, W), "X[i] * W[i]", Range(-16129, 16129), "int32 is enough"),
    (
        i.Binary("*", i.Binary("*", X, W), i.Const(1 << 20)),
        "i32(i64(X[i] * W[i]) * 1048576)",
        Range(-16129 << 20, 16129 << 20),
        "exact in between, whatever the store keeps",
    ),
    (call("max", 0, X), "max_i32(0, X[i])", Range(0, 127), "a cut narrows the range"),
    (call("max", -127, X), "X[i]", Range(-127, 127), "a cut that changes nothing"),
    (call("min", 200, X), "X[i]", Range(-127, 127), "at the other end too"),
    (call("min", -200, X), "-200", Range(-200, -200), "one that leaves nothing"),
    (
        i.Binary("floordiv", X, i.Const(4)),
        "X[i] >> 2",
        Range(-32, 31),
        "a power of two shifts",
    ),
]


@pytest.mark.parametrize(("value", "expected", "found", "why"), VALUES)
def test_values(value: i.Expr, expected: str, found: Range, why: str) -> None:
    del why
    done = typed((store(value),))
    assert lines(done) == [f"Y[i] = {expected}"]
    assert done.stored["Y"] == found


def total(extent: int) -> tuple[i.Stmt, ...]:
    add = i.Accumulate("total", "+", i.Binary("*", X, W), SPAN)
    loop = i.Loop("k", i.Const(0), i.Const(extent), (add,), 0, SPAN)
    return (i.Let("total", "int", i.Const(0), SPAN), loop, store(i.Var("total")))


@pytest.mark.parametrize(("extent", "type_name"), [(1, "i32"), (133_000, "i32"), (134_000, "i64")])
def test_totals_have_room_for_all_their_terms(extent: int, type_name: str) -> None:
    done = typed(total(extent))
    let = done.body[0]
    assert isinstance(let, i.Let)
    assert let.type == type_name
    assert done.totals["total"] == Range(-16129 * extent, 16129 * extent)
    assert done.stored["Y"] == done.totals["total"]


def test_bytes_above_their_value() -> None:
    done = typed(
        (store(i.Binary("+", X, i.Const(1))),),
        X=ElementStorage(Range(-127, 127), "u8", 128),
        Y=ElementStorage(Range(0, 0), "u8", 128),
    )
    assert lines(done) == ["Y[i] = u8(X[i] - 128 + 1 + 128)"]
    assert done.stored["Y"] == Range(-126, 128)
