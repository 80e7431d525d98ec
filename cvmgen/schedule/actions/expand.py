"""`expand`: accumulators of a loop as arrays, one element for each iteration."""

from __future__ import annotations

from dataclasses import replace

from cvmgen.errors import InternalError
from cvmgen.ir import nodes as i
from cvmgen.ir.visit import rebuild
from cvmgen.lower.guards import changed
from cvmgen.schedule.actions.split import most_iterations
from cvmgen.schedule.forms import Use
from cvmgen.schedule.rewriting import Block, loops, rewritten
from cvmgen.schedule.subject import Subject


def expand(subject: Subject, use: Use) -> Subject:
    """Locals that each iteration begins anew get an element for each: iterations share nothing.

    Legal where the loop declares the local itself and has at most a known number of iterations.
    """
    accumulators, over = set(use.loops(subject, 0)), set(use.loops(subject, 1))

    def change(statement: i.Stmt) -> Block | None:
        if not isinstance(statement, i.Loop) or statement.index not in over:
            return None
        most = most_iterations(subject.body, statement)
        if most is None:
            use.refuse(
                f"nothing limits how often the loop {statement.index} runs: an array has a size",
                "split it, and expand over the inner loop",
            )
        own = [
            each
            for each in statement.body
            if isinstance(each, i.Let) and each.name in accumulators & changed(statement.body)
        ]
        if not own and any(True for _ in loops(statement.body, over)):
            return None
        arrays = tuple(i.Array(each.name, each.type, most, each.span) for each in own)
        names = {each.name: each.type for each in own}
        body = in_array(statement.body, names, i.Var(statement.index))
        return (*arrays, replace(statement, body=body))

    return subject.with_body(rewritten(subject.body, change))


def in_array(body: Block, types: dict[str, str], at: i.Expr) -> Block:
    """The statements with an element at a place for each of the locals."""

    def change(node: object) -> object:
        match node:
            case i.Var(name=name) if name in types:
                return i.Load(name, None, at)
            case i.Let(name=name, value=value) | i.Assign(name=name, value=value) if name in types:
                return i.Store(i.Load(name, None, at), value, node.span)
            case i.Accumulate(name=name, op=op, value=value) if name in types:
                place = i.Load(name, None, at)
                return i.Store(place, combined(op, types[name], place, value), node.span)
            case _:
                return node

    result: Block = rebuild(body, change)
    return result


def combined(op: str, type_name: str, left: i.Expr, right: i.Expr) -> i.Expr:
    """What an accumulator becomes."""
    match op:
        case "+" | "*":
            return i.Binary(op, left, right)
        case "max" | "min":
            return i.Call(f"{op}_{type_name}", (left, right))
        case "and" | "or":
            return i.Logic(op, (left, right))
        case _:
            raise InternalError(f"expand: no form for the accumulation '{op}'")
