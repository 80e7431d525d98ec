"""Branches that only set a local, as values that are chosen; loops that are written out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from cvmgen.ir import nodes as i
from cvmgen.ir.logic import combination, conjuncts
from cvmgen.ir.rewrite import with_blocks
from cvmgen.ir.uses import names_in
from cvmgen.ir.visit import rebuild, substitute, walk
from cvmgen.typing.decided_tests import simpler


def one_after_another(rounds: Sequence[i.Block]) -> i.Block:
    """The iterations of a loop as statements, of which a `break` leaves those behind it out."""
    done: i.Block = ()
    for each in reversed(rounds):
        done = before(each, done)
    return done


def before(block: i.Block, rest: i.Block) -> i.Block:
    """A block, and then the rest, of which a `break` leaves out all that is behind it."""
    for at, each in enumerate(block):
        match each:
            case i.Break():
                return block[:at]
            case i.If(then=then, otherwise=otherwise) if breaks((each,)):
                behind = before(block[at + 1 :], rest)
                both = before(then, behind), before(otherwise, behind)
                return (*block[:at], replace(each, then=both[0], otherwise=both[1]))
            case _:
                pass
    return (*block, *rest)


def breaks(block: i.Block) -> bool:
    """Whether a block leaves the loop around it."""
    return any(
        isinstance(each, i.Break)
        or (isinstance(each, i.If) and (breaks(each.then) or breaks(each.otherwise)))
        for each in block
    )


def with_choices(statements: i.Block) -> i.Block:
    """Statements without branches that only set a local: its value is chosen instead, which
    computes no more than the branches did."""
    done: list[i.Stmt] = []
    for each in statements:
        each = with_blocks(each, with_choices)
        found = _chosen(each) if isinstance(each, i.If) else None
        start = done[-1] if done else None
        if found is None:
            done.append(each)
        elif isinstance(start, i.Let) and start.name == found.name:
            value = substitute(found.value, {start.name: start.value})
            done[-1] = replace(start, value=rebuild(value, simpler))
        else:
            done.append(found)
    return tuple(done)


def _chosen(branch: i.If) -> i.Assign | None:
    """A branch as one assignment, if it is no more than that."""
    sides = [set_alone(each) for each in (branch.then, branch.otherwise) if each]
    names = {each.name for each in sides if each is not None}
    if None in sides or len(names) != 1:
        return None
    (name,) = names
    if name in names_in(branch.condition):
        return None
    values = [
        i.Var(name) if found is None else found.value
        for found in (set_alone(branch.then), set_alone(branch.otherwise))
    ]
    return i.Assign(name, selected(branch.condition, *values), branch.span)


def set_alone(block: i.Block) -> i.Assign | None:
    """The one assignment that a block makes, with the locals before it in their places, each read
    once at most."""
    *lets, last = block or (None,)
    if not isinstance(last, i.Assign):
        return None
    value = last.value
    for let in reversed(lets):
        if not isinstance(let, i.Let) or let.name == last.name:
            return None
        if sum(each == i.Var(let.name) for each in walk(value)) > 1:
            return None
        value = substitute(value, {let.name: let.value})
    return replace(last, value=value)


def selected(test: i.Expr, then: i.Expr, otherwise: i.Expr) -> i.Expr:
    """One of two values; of conditions by `and` and `or`."""
    match then, otherwise:
        case i.Const(value=False), _:
            return combination("and", (*conjuncts(simpler(i.Not(test))), *conjuncts(otherwise)))
        case i.Const(value=True), _:
            return combination("or", (test, otherwise))
        case _, i.Const(value=False):
            return combination("and", (*conjuncts(test), *conjuncts(then)))
        case _:
            return i.Select(test, then, otherwise)
