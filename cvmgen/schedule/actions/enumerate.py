"""`enumerate`: copies of loops for a few iterations of a loop in them, one after the other."""

from __future__ import annotations

from dataclasses import replace

from cvmgen.algebra import simplify
from cvmgen.ir import nodes as i
from cvmgen.ir.visit import fresh, names_in, substitute
from cvmgen.lower.guards import assigned
from cvmgen.schedule.actions.unroll import passes
from cvmgen.schedule.forms import Use
from cvmgen.schedule.guards import ZERO
from cvmgen.schedule.rewriting import Block, placed, rewritten
from cvmgen.schedule.subject import Subject


def enumerated(subject: Subject, use: Use) -> Subject:
    """Copies of the outer loops for each number of iterations from 2 up to the one given.

    What such a copy accumulates stays in a register, and its loop is a single one. Legal for every
    loop: a copy runs where there are so many iterations, and in their order.
    """
    names, most, over = set(use.loops(subject, 0)), use.copies(1), set(use.loops(subject, 2))
    used, role = subject.taken, use.roles(3)[0]
    made: dict[str, None] = {}

    def change(statement: i.Stmt) -> Block | None:
        if not isinstance(statement, i.Loop) or statement.index not in over:
            return None
        inner = [each for each in statement.body if isinstance(each, i.Loop)]
        if len(inner) != 1 or inner[0].index not in names or inner[0].low is None:
            return None
        loop, low = inner[0], inner[0].low
        if names_in((low, loop.high)) & assigned((statement,)):
            return None
        if any(isinstance(each, i.Loop) for each in loop.body):
            return None
        index = fresh(f"{statement.index}_{role}", used)
        made[index] = None
        count = loop.high if low == ZERO else i.Binary("-", loop.high, low)
        result: i.Stmt = statement
        for number in range(2, most + 1):
            copy = with_iterations(statement, loop, low, number, used)
            body: Block = substitute(copy, {statement.index: i.Var(index)})
            test = i.Compare("==", count, i.Const(number))
            few = replace(statement, index=index, body=body)
            result = i.If(test, (few,), (result,), statement.span)
        return (result,)

    return subject.with_body(rewritten(subject.body, change)).with_roles({role: tuple(made)})


def with_iterations(outer: i.Loop, loop: i.Loop, low: i.Expr, number: int, used: set[str]) -> Block:
    """The body of the outer loop with so many iterations of the inner one in its place."""
    places = [simplify(i.Binary("+", low, i.Const(ahead))) for ahead in range(number)]
    done: list[i.Stmt] = []
    for each in outer.body:
        done += passes(loop, places, used) if each is loop else (each,)
    return placed(tuple(done))
