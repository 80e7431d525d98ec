"""`vectorise`: innermost loops by vector instructions."""

from __future__ import annotations

from dataclasses import replace

from cvmgen.ir import nodes as i
from cvmgen.ir.visit import rebuild, walk
from cvmgen.schedule.dependences import Locals, conflict
from cvmgen.schedule.forms import Use
from cvmgen.schedule.rewriting import Block, rewritten
from cvmgen.schedule.subject import Subject

# What no vector instruction does.
SCALAR = (i.Loop, i.Copy, i.Fill, i.Break, i.Overflow)
# What AVX2 has no instruction for; most loops gain nothing from wider vectors.
ONLY_AVX512 = frozenset(
    {"min_i64", "max_i64", "abs_i64", "floor_log2", "ceil_log2", "to_int", "quotient_or_0"}
)


def vectorise(subject: Subject, use: Use) -> Subject:
    """The loops make several iterations at once, but for those around loops or calls.

    Legal where iterations share nothing but accumulators that come out the same in every order.
    """
    names = set(use.loops(subject, 0))
    locals_ = Locals.of(subject.body)

    def change(statement: i.Stmt) -> Block | None:
        if not isinstance(statement, i.Loop) or statement.index not in names:
            return None
        if any(isinstance(each, SCALAR) for each in walk(statement.body)):
            return None
        if why := conflict(statement, locals_):
            use.refuse(
                f"the loop {statement.index} {why}: its iterations cannot run side by side "
                f"({subject.place})",
                "expand what it carries, and vectorise another loop",
            )
        return (replace(statement, vector="avx512" if wide(statement.body) else "avx2"),)

    return subject.with_body(rewritten(subject.body, change))


def wide(body: Block) -> bool:
    """Whether values are computed in ways that AVX2 has not; places do not count."""
    values = (each.value for each in walk(body) if isinstance(each, (i.Let, i.Accumulate, i.Store)))
    return any(map(only_avx512, map(without_places, values)))


def without_places(value: i.Expr) -> i.Expr:
    def change(node: i.Expr) -> i.Expr:
        return replace(node, offset=i.Const(0)) if isinstance(node, i.Load) else node

    result: i.Expr = rebuild(value, change)
    return result


def only_avx512(value: i.Expr) -> bool:
    for each in walk(value):
        match each:
            case i.Call(function=function) if function in ONLY_AVX512:
                return True
            case i.Binary(op="shr" | "*", left=left) if any(
                isinstance(below, i.Convert) and below.type == "i64" for below in walk(left)
            ):
                return True
            case _:
                pass
    return False
