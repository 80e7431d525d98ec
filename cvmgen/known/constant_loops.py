"""Loops of known extents: plain indices, decided guards, divided indices split into digits."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise

from cvmgen.analysis.paths import path
from cvmgen.ir import nodes as i
from cvmgen.ir.logic import conjuncts
from cvmgen.ir.rewrite import with_blocks
from cvmgen.ir.uses import nodes_in
from cvmgen.ir.visit import rebuild, substitute, walk
from cvmgen.known.linear import Linear, Ranges, decided_comparison, linear_at_least_zero, tidy
from cvmgen.known.partial import arithmetic
from cvmgen.ranges import Range
from cvmgen.typing.decided_tests import simpler


def plain_loops(body: i.Block, *, reals: bool = False) -> i.Block:
    """The statements with plain indices; loops whose index is divided become several. With `reals`
    a total may be a real number, of which 0 + x is not x."""
    done = with_plain_indices(body, {})
    for loop in [*nodes_in(done, i.Loop)]:
        digits = split_points(done, loop)
        if digits:
            done = digit_loops(done, loop, digits)
    done = with_plain_indices(done, {})
    return done if reals else straight(done)


def straight(statements: Sequence[i.Stmt]) -> i.Block:
    """Without totals of a single term, as those of loops that run once are."""
    done: list[i.Stmt] = []
    for statement in statements:
        match statement:
            case i.Accumulate(name=name, op=op, value=value) if (
                done and (total := started(done[-1], name)) is not None
            ):
                done[-1] = replace(total, value=folded_once(op, total.value, value))
            case _:
                done.append(with_blocks(statement, straight))
    return tuple(done)


def started(statement: i.Stmt, name: str) -> i.Let | None:
    """The statement, if the total begins there."""
    return statement if isinstance(statement, i.Let) and statement.name == name else None


def folded_once(op: str, start: i.Expr, value: i.Expr) -> i.Expr:
    match op, start:
        case "+" | "*", _:
            return arithmetic(op, start, value)
        case _, i.Call(function="lowest" | "highest"):
            return value
        case "max" | "min", _:
            return i.Call(op, (start, value))
        case _:
            return i.Logic(op, (start, value))


def loop_range(loop: i.Loop) -> Range | None:
    match loop.low, loop.high:
        case i.Const(value=low), i.Const(value=high):
            return Range(int(low), int(high) - 1)
        case i.Const(value=low), i.Call(function="min" | "max", arguments=ends):
            most = [int(end.value) for end in ends if isinstance(end, i.Const)]
            return Range(int(low), max(most) - 1) if len(most) == len(ends) else None
        case _:
            return None


Loops = tuple[tuple[str, int], ...]  # indices, each from 0 to below its extent


def single_statement_nest(nest: i.Stmt) -> tuple[Loops, tuple[i.Expr, ...], i.Stmt] | None:
    """The loops from 0 and the guards around the single statement of a nest; None where locals
    stand between them, or the extent of a loop is not known."""
    way = path(nest)
    ranges = [loop_range(each) for each in way.loops if each.low == i.ZERO]
    known = [each for each in ranges if each is not None]
    if way.lets or len(known) < len(way.loops):
        return None
    loops = ((loop.index, each.high + 1) for loop, each in zip(way.loops, known, strict=True))
    return tuple(loops), tuple(test for each in way.tests for test in conjuncts(each)), way.last


def everywhere(tests: Sequence[i.Expr], loops: Loops, ranges: Ranges) -> list[i.Expr] | None:
    """Tests that the guards hold for all indices of loops at once, those left out that always do;
    None for guards that are not linear in indices of known `ranges`."""
    found: list[i.Expr] = []
    for test in tests:
        least = linear_at_least_zero(test)
        if least is None:
            return None
        factors = dict(least.factors)
        constant = least.constant
        for name, extent in loops:
            constant += min(factors.pop(i.Var(name), 0) * (extent - 1), 0)
        if not all(isinstance(term, i.Var) and term.name in ranges for term in factors):
            return None
        whole = decided_comparison(linear_test(Linear(constant, factors)), ranges)
        if whole != i.Const(True) and whole not in found:
            found.append(whole)
    return found


def linear_test(least: Linear) -> i.Compare:
    """The test that a sum is not negative, with the indices on one side."""
    match list(least.factors.items()):
        case [(term, factor)] if factor < 0:
            return i.Compare("<=", Linear(0, {term: -factor}).expr(), i.Const(least.constant))
        case _:
            return i.Compare(">=", Linear(0, least.factors).expr(), i.Const(-least.constant))


def with_plain_indices(statements: Sequence[i.Stmt], ranges: Ranges) -> i.Block:
    """Each index a plain sum, each comparison of indices decided where ranges allow it."""
    done: list[i.Stmt] = []
    for statement in statements:
        match statement:
            case i.Loop(index=index, low=low, high=high, body=body):
                known = loop_range(statement)
                inside = {**ranges, index: known} if known is not None else ranges
                ends = None if low is None else tidy(low, ranges), tidy(high, ranges)
                inner = with_plain_indices(body, inside)
                if inner:
                    done.append(replace(statement, low=ends[0], high=ends[1], body=inner))
            case i.If(condition=condition):
                done += decided_branch(statement, rebuild(tidy(condition, ranges), simpler), ranges)
            case i.Let(value=value) | i.Assign(value=value) | i.Accumulate(value=value):
                done.append(replace(statement, value=rebuild(tidy(value, ranges), simpler)))
            case i.Store(target=target, value=value):
                place = tidy(target, ranges)
                assert isinstance(place, i.Access)
                done.append(
                    replace(statement, target=place, value=rebuild(tidy(value, ranges), simpler))
                )
            case _:
                done.append(statement)
    return tuple(done)


def decided_branch(statement: i.If, test: i.Expr, ranges: Ranges) -> i.Block:
    """The branch that is taken, or both behind their test."""
    if isinstance(test, i.Const):
        return with_plain_indices(statement.then if test.value else statement.otherwise, ranges)
    both = (
        with_plain_indices(statement.then, ranges),
        with_plain_indices(statement.otherwise, ranges),
    )
    if not any(both):
        return ()
    return (i.If(test, *both, statement.span),)


# ---------------------------------------------------------------- digits


def split_points(body: Sequence[i.Stmt], loop: i.Loop) -> list[int]:
    """By what the loop's index is to be split, ascending; empty where it need not or cannot be.

    Each must divide the next, and the last the extent: then every digit has a loop of its own.
    """
    found: set[int] = set()
    index = i.Var(loop.index)
    for node in walk(tuple(body)):
        match node:
            case i.Binary(op="floordiv", left=left, right=i.Const(value=by)) if left == index:
                found.add(int(by))
            case i.Binary(op="mod", left=left, right=i.Const(value=by)) if left == index:
                found.add(int(by))
            case i.Binary(
                op="mod",
                left=i.Binary(op="floordiv", left=left, right=i.Const(value=inner)),
                right=i.Const(value=by),
            ) if left == index:
                found.add(int(inner) * int(by))
            case _:
                pass
    match loop.low, loop.high:
        case i.Const(value=0), i.Const(value=high):
            chain = sorted(found - {int(high)})
            fits = all(after % before == 0 for before, after in pairwise([*chain, int(high)]))
            return chain if fits else []
        case _:
            return []


def digit_loops(body: i.Block, loop: i.Loop, digits: Sequence[int]) -> i.Block:
    """The loop as one for each digit of its index, the last one fastest."""
    assert isinstance(loop.high, i.Const)
    ends = [*digits, int(loop.high.value)]
    names = [f"{loop.index}.{at}" for at in range(len(ends))]
    whole: i.Expr = i.Const(0)
    for name, weight in reversed(list(zip(names, [1, *digits], strict=True))):
        whole = arithmetic("+", whole, arithmetic("*", i.Const(weight), i.Var(name)))

    def change(node: object) -> object:
        if not isinstance(node, i.Loop) or node.index != loop.index:
            return node
        made: i.Block = substitute(node.body, {loop.index: whole})
        for name, below, end in zip(names, [1, *digits], ends, strict=True):
            made = (i.Loop(name, i.Const(0), i.Const(end // below), made, 0, loop.span),)
        return made[0]

    return rebuild(body, change)
