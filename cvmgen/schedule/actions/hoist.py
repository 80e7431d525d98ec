"""`hoist`, `quotients`: what is the same in every iteration is computed in front of a loop."""

from __future__ import annotations

from dataclasses import replace

from cvmgen.analysis.definedness import is_defined
from cvmgen.analysis.facts import Facts
from cvmgen.ir import nodes as i
from cvmgen.ir.rewrite import invariant, is_name_arithmetic
from cvmgen.ir.uses import assigned, names_in, nodes_in
from cvmgen.ir.visit import fresh, rebuild, walk
from cvmgen.schedule.forms import Use
from cvmgen.schedule.subject import Subject


def hoist(subject: Subject, use: Use) -> Subject:
    """Locals of sums, products and the like that do not vary in the loop go in front of it, and of
    loops in each other in front of them all.

    Legal for these: they have a value even where the loop has no iteration, for no divisor in them
    is 0 and no shift negative.
    """

    def change(loop: i.Loop) -> i.Block | None:
        before, kept = invariant(loop, simple)
        return (*before, replace(loop, body=kept))

    return subject.with_loops(use.loops(subject, 0), change, inner_first=True)


def quotients(subject: Subject, use: Use) -> Subject:
    """Divisions that vary with a loop, and with nothing in it, are made once in each iteration.

    Legal for all: what is now divided for places that are not read gives 0 for a divisor of 0.
    """
    used = subject.taken

    def change(loop: i.Loop) -> i.Block | None:
        inner = assigned(loop.body)
        found: dict[i.Binary, str] = {}
        for each in walk(loop.body):
            match each:
                case i.Binary(op="truncdiv", left=left, right=right) if (
                    is_name_arithmetic(left)
                    and is_name_arithmetic(right)
                    and loop.index in names_in(each)
                    and not names_in(each) & inner
                ):
                    found.setdefault(each, "")
                case _:
                    pass
        if not found:
            return None
        found = {each: fresh(f"{loop.index}_quotient", used) for each in found}
        lets = (
            i.Let(name, "i64", safe(each, subject.facts), loop.span) for each, name in found.items()
        )

        def named(node: object) -> object:
            name = found.get(node) if isinstance(node, i.Binary) else None
            return node if name is None else i.Var(name)

        return (replace(loop, body=(*lets, *rebuild(loop.body, named))),)

    return subject.with_loops(use.loops(subject, 0), change, inner_first=True)


def safe(quotient: i.Binary, facts: Facts) -> i.Expr:
    if facts.positive(quotient.right):
        return quotient
    zero = i.Const(0)
    return i.Select(i.Compare("!=", quotient.right, zero), quotient, zero)


def simple(value: i.Expr) -> bool:
    """Whether an expression is made of names and numbers alone, by operations that are defined
    for all of them."""
    calls = (each.function for each in nodes_in(value, i.Call))
    operations = (i.Var, i.Const, i.Binary, i.Call)
    known = all(isinstance(each, operations) for each in walk(value)) and is_defined(value)
    return known and {*calls} <= {"min_i64", "max_i64"}
