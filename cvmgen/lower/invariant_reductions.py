"""Reductions that do not depend on the loop around them, in front of it: made once for all."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from itertools import chain, takewhile

from cvmgen.analysis.facts import Facts
from cvmgen.ir import nodes as i
from cvmgen.ir.loops import bound_name
from cvmgen.ir.rewrite import inner_blocks, with_blocks, with_own_indices
from cvmgen.ir.uses import assigned, carried, names_in, read_tensors, reassigned, stored_tensors


def hoist_reductions(program: i.Program) -> i.Program:
    """Reductions that do not depend on a loop stand in front of it.

    Legal in front of loops that run at least once: their first iteration makes it anyway. It reads
    the same elements there, since a loop that stores what it reads keeps it.
    """

    def of(nest: i.Nest) -> i.Nest:
        body = with_hoisted_reductions(nest.body, Facts.of(program, nest))
        return replace(nest, body=with_own_indices(body))

    return replace(program, nests=tuple(map(of, program.nests)))


def hoist_reductions_in_threads(program: i.Program) -> i.Program:
    """Reductions that do not depend on a loop stand in front of it.

    The same inside of the outermost loops, each iteration of which has threads of its own: in
    front of them one thread would make what the others wait for.
    """

    def within(statement: i.Stmt, facts: Facts) -> i.Stmt:
        looped = isinstance(statement, (i.Loop, i.PackLoop))
        return (
            with_blocks(statement, partial(with_hoisted_reductions, facts=facts))
            if looped
            else statement
        )

    def of(nest: i.Nest) -> i.Nest:
        facts = Facts.of(program, nest)
        body = tuple(within(each, facts) for each in nest.body)
        return replace(nest, body=with_own_indices(body))

    return replace(program, nests=tuple(map(of, program.nests)))


def with_hoisted_reductions(body: i.Block, facts: Facts) -> i.Block:
    """Statements, those in loops first: what leaves one may leave the one around it too."""
    done: list[i.Stmt] = []
    for each in body:
        each = with_blocks(each, partial(with_hoisted_reductions, facts=facts))
        done += split_loop(each, facts) if isinstance(each, (i.Loop, i.PackLoop)) else (each,)
    return tuple(done)


def split_loop(loop: i.Loop | i.PackLoop, facts: Facts) -> i.Block:
    """What leaves a loop, and the loop with the rest."""
    if not runs(loop, facts):
        return (loop,)
    leaving = invariant_statements(
        tuple(takewhile(sums_only, loop.body)), bound_name(loop), loop.body
    )
    if not reassigned(leaving):  # elements alone are loaded where they are wanted
        return (loop,)
    return (*leaving, replace(loop, body=remainder_of(loop.body, leaving)))


def runs(loop: i.Loop | i.PackLoop, facts: Facts) -> bool:
    """Whether a loop is known to run at least once, and may run more often: where there is but one
    iteration, as of a single result, nothing is saved, and its threads would be lost."""
    if isinstance(loop, i.PackLoop):
        return facts.positive_list(loop.extents)
    return loop.low == i.ZERO and isinstance(loop.high, i.Var) and facts.positive(loop.high)


def invariant_statements(first: i.Block, index: str, body: i.Block) -> i.Block:
    """Those of the first statements of a loop that are the same in each iteration: they read
    nothing that varies, and change only what they make."""
    rest = remainder_of(body, first)
    varying = {index} | assigned(rest) | stored_tensors(rest)
    made = {each.name for each in first if isinstance(each, i.Let)}
    same = tuple(
        each for each in first if not names_touched(each) & varying and carried(each) <= made
    )
    return same if same == first else invariant_statements(same, index, body)


def remainder_of(body: i.Block, some: i.Block) -> i.Block:
    return tuple(each for each in body if all(each is not other for other in some))


def sums_only(statement: i.Stmt) -> bool:
    """Whether a statement does nothing but give values to locals of its own and to totals."""
    match statement:
        case i.Let() | i.Accumulate():
            return True
        case i.Loop() | i.PackLoop() | i.If():
            return all(map(sums_only, chain(*inner_blocks(statement))))
        case _:
            return False


def names_touched(statement: i.Stmt) -> frozenset[str]:
    """The names that a statement makes for those behind it, changes or reads, and the tensors."""
    names = names_in(statement) | reassigned((statement,)) | read_tensors(statement)
    match statement:
        case i.Let(name=name):
            return names | {name}
        case _:
            return names - (assigned((statement,)) - carried(statement))
