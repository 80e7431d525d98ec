"""Nests that only move the elements of a box: both walks as lists of steps."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TypeGuard

from cvmgen import algebra
from cvmgen.analysis.paths import path
from cvmgen.dtypes import CVM_TYPES, LIST_CAPACITY
from cvmgen.ir import nodes as i
from cvmgen.ir.rewrite import index_values
from cvmgen.ir.uses import names_in, read_tensors
from cvmgen.ir.visit import substitute
from cvmgen.schedule.copies import copy_runs
from cvmgen.schedule.subject import Subject
from cvmgen.typing.machine_types import unconverted


@dataclass(frozen=True, slots=True)
class BoxWalk:
    """Loops with nothing in them but the next one and, innermost, a store.

    `starts` are the offsets at which rows begin: by name, the steps that a row walks by.
    """

    loops: tuple[i.Loop, ...]
    starts: Mapping[str, i.Call]
    store: i.Store

    @property
    def indices(self) -> frozenset[str]:
        return frozenset((*self.starts, *(each.index for each in self.loops)))


def move_of(subject: Subject) -> tuple[BoxWalk, i.Move] | None:
    """What a nest is if it stores in each element of a box what it loads for it, unchanged."""
    found = walk_of(subject.body)
    if found is None or subject.memory:
        return None
    loaded = moved_element(subject, found.store)
    if loaded is None or is_run(subject, found.store, loaded):
        return None
    target = found.store.target
    assert isinstance(target, i.Load)
    both = (strided_walk(subject, found, target), strided_walk(subject, found, loaded))
    to, source = both
    if to is None or source is None:
        return None
    kind, loaded_kind = (subject.dtypes[each.tensor].machine for each in (target, loaded))
    return found, i.Move(kind, loaded_kind, *to, *source, box(found), found.store.span)


def walk_of(body: i.Block) -> BoxWalk | None:
    """The walk that a nest is, the places that its locals name written out."""
    match body:
        case (*lets, i.Loop() as outermost):
            way = path(outermost)
        case _:
            return None
    locals_ = (*lets, *way.lets)
    values = index_values(locals_)
    starts = {
        each.name: substitute(each.value, values)
        for each in locals_
        if isinstance(each, i.Let) and each.name not in values
    }
    store: i.Stmt = substitute(way.last, values)
    loops = tuple(replace(each, high=substitute(each.high, values)) for each in way.loops)
    calls = {name: each for name, each in starts.items() if is_start(each)}
    known = len(values) + len(calls) == len(locals_) and not way.tests
    if not (known and isinstance(store, i.Store)) or any(each.low != i.ZERO for each in loops):
        return None
    return BoxWalk(loops, calls, store)


def is_start(value: i.Expr) -> TypeGuard[i.Call]:
    return isinstance(value, i.Call) and value.function == "walk_offset"


def moved_element(subject: Subject, store: i.Store) -> i.Load | None:
    """The element that is stored as it is, in its own type or as an element of `cvm` in the other
    one that those have: a real number is not, it is brought to one form."""
    assert isinstance(store.target, i.Load)
    stored = subject.dtypes[store.target.tensor]
    if stored.kind != "int":
        return None
    value = unconverted(store.value, stored.bits)
    if not isinstance(value, i.Load):
        return None
    loaded = subject.dtypes.get(value.tensor)
    known = loaded == stored or (loaded in CVM_TYPES and stored in CVM_TYPES)
    return value if known else None


def is_run(subject: Subject, store: i.Store, loaded: i.Load) -> bool:
    """Whether the elements lie side by side on both sides: one loop over all is what it takes."""
    assert isinstance(store.target, i.Load)
    alike = {**subject.dtypes, loaded.tensor: subject.dtypes[store.target.tensor]}
    match copy_runs(subject.body, alike, subject.facts):
        case (i.Copy(step=i.Const(value=1), source_step=i.Const(value=1)),):
            return True
        case _:
            return False


def box(found: BoxWalk) -> i.Expr:
    for start in found.starts.values():
        return start.arguments[1]
    return i.ListOf(tuple((each.high, False) for each in found.loops))


def strided_walk(subject: Subject, found: BoxWalk, place: i.Load) -> tuple[i.Load, i.Expr] | None:
    """The place of the first element, and the steps of the walk from it."""
    unknowns = tuple(i.Var(name) for name in sorted(found.indices))
    result = algebra.linear(place.offset, unknowns, found.indices)
    if result is None or not found.loops or read_tensors(result):
        return None
    coefficients, first = result
    steps = by_rows(subject, found, coefficients) if found.starts else by_loops(found, coefficients)
    return None if steps is None else (i.Load(place.tensor, None, first), steps)


def by_loops(found: BoxWalk, coefficients: Mapping[i.Expr, i.Expr]) -> i.Expr | None:
    """The steps of loops of which each runs as often whatever the others do."""
    if len(found.loops) > LIST_CAPACITY:
        return None
    if any(names_in(each.high) & found.indices for each in found.loops):
        return None
    steps = (coefficients.get(i.Var(each.index), i.ZERO) for each in found.loops)
    return i.ListOf(tuple((step, False) for step in steps))


def by_rows(
    subject: Subject, found: BoxWalk, coefficients: Mapping[i.Expr, i.Expr]
) -> i.Expr | None:
    """The steps of a walk over rows and along each: a list, or those of positions in the box."""
    extents, lets = box(found), subject.facts.lets
    alike = all(start.arguments[1] == extents for start in found.starts.values())
    if len(found.loops) != 2 or not alike:
        return None
    row, run = (i.Var(each.index) for each in found.loops)
    length = found.loops[1].high
    if not is_call(lets, length, "last", extents):
        return None
    if not is_call(lets, found.loops[0].high, "rows", extents):
        return None
    for name, start in found.starts.items():
        _, _, steps = start.arguments
        last = coefficients.get(run, i.ZERO)
        if coefficients == {i.Var(name): i.ONE, run: last} and is_call(lets, last, "last", steps):
            return steps
    if algebra.equal(coefficients.get(row, i.ZERO), length) and coefficients.get(run) == i.ONE:
        return i.Call("strides", (extents,)) if len(coefficients) == 2 else None
    return None


def is_call(lets: Mapping[str, i.Expr], value: i.Expr, function: str, argument: i.Expr) -> bool:
    """Whether a name stands for a function of a list."""
    match value:
        case i.Var(name=name):
            return lets.get(name) == i.Call(function, (argument,))
        case _:
            return False
