"""Reductions that do not depend on the loop around them, in front of it: made once for all."""

from __future__ import annotations

from dataclasses import replace
from itertools import chain, takewhile

from cvmgen.ir import nodes as i
from cvmgen.ir.rewrite import blocks, with_blocks
from cvmgen.ir.uses import assigned, carried, changed, names_in, read_tensors, stored_tensors
from cvmgen.spec.formula import Operator


def reductions_ahead(program: i.Program) -> i.Program:
    """Reductions that do not depend on a loop stand in front of it.

    Legal in front of loops that run at least once: their first iteration makes it anyway. It reads
    the same elements there, since a loop that stores what it reads keeps it.
    """
    running = extents_from_1(program.operator)
    nests = tuple(replace(nest, body=ahead(nest.body, running)) for nest in program.nests)
    return replace(program, nests=nests)


def reductions_ahead_in_threads(program: i.Program) -> i.Program:
    """Reductions that do not depend on a loop stand in front of it.

    The same inside of the outermost loops, each iteration of which has threads of its own: in
    front of them one thread would make what the others wait for.
    """
    running = extents_from_1(program.operator)

    def within_loop(body: i.Block) -> i.Block:
        return ahead(body, running)

    def within(statement: i.Stmt) -> i.Stmt:
        looped = isinstance(statement, (i.Loop, i.PackLoop))
        return with_blocks(statement, within_loop) if looped else statement

    nests = (replace(nest, body=tuple(map(within, nest.body))) for nest in program.nests)
    return replace(program, nests=tuple(nests))


def extents_from_1(operator: Operator) -> frozenset[str]:
    """The names of extents that every call gives and that are never 0."""
    inputs = (
        each for each in operator.inputs if not (each.empty or each.optional or each.variadic)
    )
    extents = (each for item in inputs for each in item.extents)
    return frozenset(each.new for each in extents if each.new)


def ahead(body: i.Block, running: frozenset[str]) -> i.Block:
    """Statements, those in loops first: what leaves one may leave the one around it too."""
    done: list[i.Stmt] = []
    for each in body:
        each = with_blocks(each, lambda inner: ahead(inner, running))
        done += divided(each, running) if isinstance(each, (i.Loop, i.PackLoop)) else (each,)
    return tuple(done)


def divided(loop: i.Loop | i.PackLoop, running: frozenset[str]) -> i.Block:
    """What leaves a loop, and the loop with the rest."""
    match loop:
        case i.Loop(index=index, low=i.Const(value=0), high=i.Var(name=name)) if name in running:
            pass
        case i.PackLoop(pack=index, extents=i.Var(name=name)) if name in running:
            pass
        case _:
            return (loop,)
    leaving = fixed(tuple(takewhile(sums_only, loop.body)), index, loop.body)
    if not changed(leaving):  # elements alone are loaded where they are wanted
        return (loop,)
    return (*leaving, replace(loop, body=without(loop.body, leaving)))


def fixed(first: i.Block, index: str, body: i.Block) -> i.Block:
    """Those of the first statements of a loop that are the same in each iteration: they read
    nothing that varies, and change only what they make."""
    rest = without(body, first)
    varying = {index} | assigned(rest) | stored_tensors(rest)
    made = {each.name for each in first if isinstance(each, i.Let)}
    same = tuple(each for each in first if not touched(each) & varying and carried(each) <= made)
    return same if same == first else fixed(same, index, body)


def without(body: i.Block, some: i.Block) -> i.Block:
    return tuple(each for each in body if all(each is not other for other in some))


def sums_only(statement: i.Stmt) -> bool:
    """Whether a statement does nothing but give values to locals of its own and to totals."""
    match statement:
        case i.Let() | i.Accumulate():
            return True
        case i.Loop() | i.PackLoop() | i.If():
            return all(map(sums_only, chain(*blocks(statement))))
        case _:
            return False


def touched(statement: i.Stmt) -> frozenset[str]:
    """The names that a statement makes for those behind it, changes or reads, and the tensors."""
    names = names_in(statement) | changed((statement,)) | read_tensors(statement)
    match statement:
        case i.Let(name=name):
            return names | {name}
        case _:
            return names - (assigned((statement,)) - carried(statement))
