"""Kernels that reduce, as C: the totals of a whole run of results are made together.

The loop along which results lie side by side goes inside the reduction, so that each step of the
sum is one pass over memory; tests that depend on it become ends of that loop.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import product as combinations
from math import prod

from cvmgen.emit.c_like import MACHINE_TYPES, indent
from cvmgen.ir import nodes as i
from cvmgen.ir.uses import names_in
from cvmgen.ir.visit import substitute, walk
from cvmgen.known.constant_loops import straight, tidied
from cvmgen.known.known_types import known_types
from cvmgen.known.linear import Linear, at_least_zero, decided, linear
from cvmgen.known.partial import arithmetic
from cvmgen.model.kernels import Kernel, Loops
from cvmgen.model.products import innermost, loop_ranges
from cvmgen.model.schedules import Decisions
from cvmgen.model.storage import Storage, located
from cvmgen.model.text import (
    Lines,
    ModelPrinter,
    Names,
    apart,
    block_of,
    leading,
    loop_head,
    loop_lines,
)

LEAST_RUN, MOST_RUN = 4, 4096  # of totals


@dataclass(frozen=True, slots=True)
class Reduction:
    """A kernel in parts: the start of the total, the reduction around `run`, what follows."""

    start: i.Let
    nest: tuple[i.Stmt, ...]
    after: tuple[i.Stmt, ...]
    run: tuple[str, int]

    @property
    def summed(self) -> tuple[str, ...]:
        """The loops of the reduction."""
        found = (each.index for each in walk(self.nest) if isinstance(each, i.Loop))
        return tuple(index for index in found if index != self.run[0])


def reduction(kernel: Kernel) -> Reduction | None:
    """The kernel with its last loop inside its reduction; None where it has none."""
    if not kernel.loops or not LEAST_RUN <= kernel.loops[-1][1] <= MOST_RUN:
        return None
    match kernel.body:
        case (
            i.Let(value=i.Const() | i.Call(function="lowest" | "highest")) as start,
            nest,
            *after,
        ):
            pass
        case _:
            return None
    if not isinstance(nest, (i.Loop, i.If)):
        return None
    if not all(isinstance(each, (i.Let, i.Store)) for each in after):
        return None
    inside = pushed((nest,), kernel.loops[-1], i.Const(0), i.Const(kernel.loops[-1][1]), start.name)
    return None if inside is None else Reduction(start, inside, tuple(after), kernel.loops[-1])


def pushed(
    body: tuple[i.Stmt, ...], run: tuple[str, int], low: i.Expr, high: i.Expr, total: str
) -> tuple[i.Stmt, ...] | None:
    """The statements with the loop `run` around what accumulates."""
    index = run[0]
    match body:
        case (i.Loop(low=first, high=last, body=inner) as loop,) if index not in names_in(
            (first, last)
        ):
            done = pushed(inner, run, low, high, total)
            return None if done is None else (replace(loop, body=done),)
        case (i.If(condition=condition, then=then, otherwise=()) as choice,):
            return pushed_choice(choice, condition, then, run, low, high, total)
        case (i.Accumulate(name=name) as add,) if name == total:
            return (i.Loop(index, low, high, (add,), 0, add.span),)
        case _:
            return None


def pushed_choice(
    choice: i.If,
    condition: i.Expr,
    then: tuple[i.Stmt, ...],
    run: tuple[str, int],
    low: i.Expr,
    high: i.Expr,
    total: str,
) -> tuple[i.Stmt, ...] | None:
    """A test on the loop's index makes its ends; others stay."""
    both = isinstance(condition, i.Logic) and condition.op == "and"
    tests = condition.operands if isinstance(condition, i.Logic) and both else (condition,)
    kept = []
    for test in tests:
        if run[0] not in names_in(test):
            kept.append(test)
            continue
        end = end_of_loop(test, run[0])
        if end is None:
            return None
        if end[0] == "low":
            low = i.Call("max", (low, end[1]))
        else:
            high = i.Call("min", (high, end[1]))
    done = pushed(then, run, low, high, total)
    if done is None or not kept:
        return done
    left = kept[0] if len(kept) == 1 else i.Logic("and", tuple(kept))
    return (replace(choice, condition=left, then=done),)


def end_of_loop(test: i.Expr, index: str) -> tuple[str, i.Expr] | None:
    """The first index for which a test holds, or the first behind those for which it does."""
    least = at_least_zero(test)
    if least is None:
        return None
    factors = dict(least.factors)
    factor = factors.pop(i.Var(index), 0)
    rest = Linear(least.constant, factors)
    if factor == 0 or not all(isinstance(term, i.Var) for term in factors):
        return None
    if factor > 0:  # index >= -rest / factor, rounded up
        up = rest.scaled(-1).plus(Linear(factor - 1))
        return "low", arithmetic("floordiv", up.expr(), i.Const(factor))
    down = arithmetic("floordiv", rest.expr(), i.Const(-factor))
    return "high", linear(down, {}).plus(Linear(1)).expr()


class RowPrinter(ModelPrinter):
    """Prints a total as an entry of an array."""

    def __init__(self, body: tuple[i.Stmt, ...], total: str, entry: str) -> None:
        super().__init__(body)
        self.total, self.entry = total, entry

    def leveled(self, expr: i.Expr) -> tuple[str, int]:
        if expr == i.Var(self.total):
            return super().leveled(i.Var(self.entry))
        return super().leveled(expr)

    def accumulate(self, statement: i.Accumulate) -> str:
        if statement.name != self.total:
            return super().accumulate(statement)
        self.accumulators = {**self.accumulators, self.entry: self.accumulators[self.total]}
        return super().accumulate(replace(statement, name=self.entry))


def row_lines(
    kernel: Kernel,
    made: Reduction,
    short: WrittenOut | None,
    storage: Storage,
    names: Names,
    decisions: Decisions,
) -> Lines:
    """The kernel by runs of results; a short reduction is written out where all of it counts."""
    loops = names.loops(kernel.loops)
    outer = leading(kernel.loops[:-1], decisions.shared)
    front = apart(kernel, decisions) if outer else ()
    lines = run_lines(kernel, made, storage, names, front)
    if short is not None:
        whole = located(replace(kernel, body=short.body), storage).body
        body = known_types(kernel.operator, dict(loops), names.within(whole), storage.elements).body
        inside = loop_lines(loops[-1:], ModelPrinter(body).block(body), front)
        if short.tests:
            test = " && ".join(ModelPrinter().expr(names.within(each)) for each in short.tests)
            lines = [f"if ({test}) {{", *indent(inside), "} else {", *indent(lines), "}"]
        else:
            lines = inside
    return Lines(loops[:-1], lines, outer)


@dataclass(frozen=True, slots=True)
class WrittenOut:
    """A reduction as one expression, for the results for which all `tests` hold."""

    body: tuple[i.Stmt, ...]
    tests: tuple[i.Expr, ...]
    terms: int


def told_of(short: WrittenOut | None) -> tuple[str, ...]:
    """What is written out, for people."""
    if short is None:
        return ("changes nothing",)
    where = "for results that count them all" if short.tests else "for all results"
    return (f"{short.terms} terms are one expression {where}",)


def written_out(kernel: Kernel, most_terms: int) -> WrittenOut | None:
    """The kernel without its reduction's loops; None where there are more terms, or where tests
    depend on the run or on elements."""
    start, nest, *after = kernel.body
    found = innermost(nest)
    if found is None:
        return None
    loops, tests, add = found
    run = kernel.loops[-1][0]
    count = prod(extent for _, extent in loops)
    if count > most_terms or run in names_in(tests):
        return None
    always: list[i.Expr] = []
    for test in tests:
        one = everywhere(test, loops, dict(kernel.loops))
        if one is None:
            return None
        if one != i.Const(True) and one not in always:
            always.append(one)
    terms = [
        substitute(add, dict(zip((name for name, _ in loops), map(i.Const, place), strict=True)))
        for place in combinations(*(range(extent) for _, extent in loops))
    ]
    body = tidied(straight((start, *terms, *after)), loop_ranges(kernel.loops))
    return WrittenOut(body, tuple(always), count)


def everywhere(test: i.Expr, loops: Loops, outer: dict[str, int]) -> i.Expr | None:
    """The test for all indices of these loops at once."""
    least = at_least_zero(test)
    if least is None:
        return None
    factors = dict(least.factors)
    constant = least.constant
    for name, extent in loops:
        constant += min(factors.pop(i.Var(name), 0) * (extent - 1), 0)
    if not all(isinstance(term, i.Var) and term.name in outer for term in factors):
        return None
    match list(factors.items()):
        case [(term, factor)] if factor < 0:
            whole = i.Compare("<=", Linear(0, {term: -factor}).expr(), i.Const(constant))
        case _:
            whole = i.Compare(">=", Linear(0, factors).expr(), i.Const(-constant))
    return decided(whole, loop_ranges(tuple(outer.items())))


def run_lines(
    kernel: Kernel, made: Reduction, storage: Storage, names: Names, front: Sequence[str]
) -> list[str]:
    """The totals of a run, step by step of the reduction."""
    whole = located(kernel, storage)
    loops = names.loops(kernel.loops)
    found = known_types(kernel.operator, dict(loops), names.within(whole.body), storage.elements)
    parts = (made.start, *made.nest, *made.after)
    body = names.within(located(replace(kernel, body=parts), storage).body)
    typed = known_types(
        kernel.operator, dict(loops), body, storage.elements, totals=found.totals
    ).body
    start, nest, after = typed[0], typed[1 : 1 + len(made.nest)], typed[1 + len(made.nest) :]
    assert isinstance(start, i.Let)
    (index, extent) = loops[-1]
    array = names.of(f"{start.name}s.0")
    printer = RowPrinter(typed, start.name, f"{array}[{index}]")
    every = loop_head(index, str(extent))
    return [
        f"{MACHINE_TYPES[start.type]} {array}[{extent}];",
        f"{every} {array}[{index}] = {printer.expr(start.value)};",
        *printer.block(nest),
        *front,
        *block_of(every, printer.block(after)),
    ]
