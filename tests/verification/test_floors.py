"""Arrays of extremes: where it is known that they are not below what they are of."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from cvmgen.ir import nodes as i
from cvmgen.ranges import Range
from cvmgen.source import Source, Span
from cvmgen.verification.reading import FormulaReader, PlaceScope
from cvmgen.verification.steps import StepWalk
from cvmgen.verification.symbols import Symbols

SPAN = Span(Source("a.cvm", "x"), 0, 1)
LEAST = -(1 << 31)
PLACE = i.Load("T", None, i.Var("c"))
VALUE = i.Load("X", None, i.Var("c"))
START = i.Store(PLACE, i.Const(LEAST), SPAN)
MORE = i.Store(PLACE, i.Call("max_i32", (PLACE, VALUE)), SPAN)
OTHER = i.Store(PLACE, i.Call("max_i32", (VALUE, i.Const(LEAST))), SPAN)


def loop(index: str, high: i.Expr | int, *body: i.Stmt) -> i.Loop:
    end = i.Const(high) if isinstance(high, int) else high
    return i.Loop(index, i.Const(0), end, body, 0, SPAN)


def guarded(*body: i.Stmt) -> i.If:
    return i.If(i.Compare("<", i.Var("y"), i.Const(3)), body, (), SPAN)


WHOLE = loop("c", 8, START)
DONE = loop("k", 5, loop("c", 8, MORE))


def cases() -> Iterator[tuple[str, i.Block, bool]]:
    yield "every element, in any case", (WHOLE, DONE), True
    yield "not before", (WHOLE,), False
    yield "not all elements", (WHOLE, loop("k", 5, loop("c", 7, MORE))), False
    yield "no iteration", (WHOLE, loop("k", 0, loop("c", 8, MORE))), False
    yield "perhaps no iteration", (WHOLE, loop("k", i.Var("n"), loop("c", 8, MORE))), False
    yield "where a test holds", (WHOLE, loop("k", 5, guarded(loop("c", 8, MORE)))), False
    yield "on one way", (WHOLE, guarded(DONE)), False
    yield "begun again", (WHOLE, DONE, WHOLE), False
    yield "another maximum", (WHOLE, loop("k", 5, loop("c", 8, OTHER))), False
    yield "in another loop, which may not run", (WHOLE, loop("m", i.Var("n"), DONE)), False
    again = loop("m", 5, guarded(WHOLE), DONE)
    yield "begun again in some iterations", (WHOLE, DONE, again, guarded(WHOLE)), False


@pytest.mark.parametrize(("why", "body", "known"), list(cases()))
def test_floors(why: str, body: i.Block, *, known: bool) -> None:
    reader = FormulaReader(Symbols(), {"X": "i8"})
    reader.known = {"X": Range(-5, 9), "T": Range(LEAST, 9)}
    walk = StepWalk(reader, {})
    walk.block((i.Array("T", "i32", 8, SPAN), *body), PlaceScope())
    assert (walk.known["T"].low == -5) == known, why


def test_before_what_begins_again_in_the_loop() -> None:
    """An element that is read first was set by the iteration before."""
    seen = []

    class Walk(StepWalk):
        def know_floor(self, each: i.Loop) -> None:
            if each.index == "read":
                seen.append(self.known["T"].low)
            super().know_floor(each)

    reader = FormulaReader(Symbols(), {"X": "i8"})
    reader.known = {"X": Range(-5, 9), "T": Range(LEAST, 9)}
    read = loop("read", 8, i.Let("v", "i32", i.Load("T", None, i.Var("read")), SPAN))
    body = (i.Array("T", "i32", 8, SPAN), WHOLE, DONE, read, loop("m", 5, read, WHOLE))
    Walk(reader, {}).block(body, PlaceScope())
    assert seen == [-5, LEAST]
