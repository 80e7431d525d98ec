"""Machine types: each intermediate in the narrowest type that holds every value it can take.

The ranges hold for any stored element, whether or not it keeps its declared precision, so
no accepted call overflows. Only where a value flows into a store through + - * alone is it
computed modulo 2^32 (type u32): the store keeps the same bits, and for data within their
precision the value is exact. On the host a value that leaves int64 saturates; such shapes
and precisions are refused by the checks that follow.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

from cvmgen.dtypes import CVM, FLOAT64, INT32, MAX_INPUTS, MAX_SIZE, DType
from cvmgen.ir import nodes as i
from cvmgen.ir.rewrite import without_dead
from cvmgen.ir.uses import nodes_in
from cvmgen.ranges import Range
from cvmgen.source import SpecError
from cvmgen.typing.accumulators import accumulated_locals, counting_locals, modular_accumulators
from cvmgen.typing.decided_tests import without_known_tests
from cvmgen.typing.machine_types import kept_type
from cvmgen.typing.required import required_ranges
from cvmgen.typing.typed_statements import LONG_BITS, WIDE_BITS, Typer

STEADY_BITS = (8, 16, 32, 48, 63, 64, WIDE_BITS)  # of ranges that a recurrence may keep within
TOO_FAR = "it is not known how large it gets"
CUT = "cut what it keeps: clip(..., low, high)"


def type_prepare(program: i.Program) -> i.Program:
    """The host code with machine types."""
    typer = Typer(program.operator, {}, host=True)
    prepare = typer.block(program.prepare)
    nests = []
    for nest in program.nests:
        inner = Typer(program.operator, {}, host=True)
        inner.ranges = dict(typer.ranges)
        if nest.each is not None:
            inner.ranges[nest.each[0]] = Range(0, MAX_INPUTS)
        nests.append(replace(nest, prologue=inner.block(nest.prologue)))
    return replace(program, prepare=prepare, nests=tuple(nests))


def host_before(program: i.Program, nest: i.Nest) -> Typer:
    """What the host has done in front of a nest."""
    host = Typer(program.operator, {}, host=True)
    host.block(program.prepare)
    if nest.each is not None:
        host.ranges[nest.each[0]] = Range(0, MAX_INPUTS)
    host.block(nest.prologue)
    return host


def type_nest(program: i.Program, nest: i.Nest, dtypes: Mapping[str, DType]) -> i.Nest:
    """A nest with machine types for tensors of the given storage types."""
    host = host_before(program, nest)
    memory = kept_before(program, nest, dtypes, host)
    typed = nest_with_types(program, nest, dtypes, host, memory)[0]
    if program.operator.has_reals and len(program.operator.types.rows) > 1:
        return replace(typed, body=without_known_tests(typed.body))
    return replace(typed, body=without_dead(typed.body))


@dataclass(frozen=True, slots=True)
class MemoryRanges:
    """The ranges of what lies in memory of the call, and the storage types of the elements of
    lets."""

    ranges: Mapping[str, Range | None]
    dtypes: Mapping[str, DType]


def memory_types(
    program: i.Program, nest: i.Nest, dtypes: Mapping[str, DType]
) -> Mapping[str, DType]:
    """The storage types of the lets in memory that a nest reads or fills."""
    if not program.lets:
        return {}
    host = Typer(program.operator, {}, host=True)
    host.block(program.prepare)
    kept = kept_before(program, nest, dtypes, host)
    if nest.tensor in program.lets:
        kept = nest_with_types(program, nest, dtypes, host, kept)[1]
    return kept.dtypes


def nest_with_types(
    program: i.Program, nest: i.Nest, dtypes: Mapping[str, DType], host: Typer, kept: MemoryRanges
) -> tuple[i.Nest, MemoryRanges]:
    """The nest with types, and what lies in memory behind it."""
    memory = program.lets.get(nest.tensor)
    if memory is None or memory.axis is None:
        return typed_statements(program, nest, dtypes, host, kept)
    name = memory.name

    def typed(earlier: Range | None) -> tuple[i.Nest, MemoryRanges]:
        """By a range of the elements that it reads of itself."""
        kind = FLOAT64 if earlier is None else kept_type(earlier)
        own = MemoryRanges({**kept.ranges, name: earlier}, {**kept.dtypes, name: kind})
        return typed_statements(program, nest, dtypes, host, own)

    found = None
    if memory.kind != "real":
        found = elements_of(memory, lambda earlier: typed(earlier)[1].ranges[name])
        if found is None:
            typed(Range(0, 0))  # may say that what it adds is too large by itself
            raise SpecError(nest.span, f"'{name}' is defined by itself, and {TOO_FAR}", CUT)
    made, behind = typed(found)
    return made, replace(behind, ranges={**behind.ranges, name: found})


def elements_of(memory: i.Scratch, following: Callable[[Range], Range | None]) -> Range | None:
    """A range that holds all elements of a recurrence; `following` is that of an element behind
    such of a range. None where none is found.

    Where each step adds no more than the first one does, there are as many of these as steps, sums
    of int32 terms less than 2^31 (as everywhere). Else a range will do in which the next element is
    if those before it are: one of a type, or what a step makes of such, as a clip does.
    """
    if memory.adds_up:
        first = following(Range(0, 0))
        assert first is not None
        most = first.size * MAX_SIZE
        most = min(most, 1 << LONG_BITS) if first.fits(32) else most
        return Range(-most, most) if most < 1 << WIDE_BITS else None
    for bits in STEADY_BITS:
        guess = Range(-(1 << (bits - 1)), (1 << (bits - 1)) - 1)
        found = following_or_none(following, guess)
        for each, behind in ((guess, found), (found, None)):
            if each is None or each.size > 1 << WIDE_BITS:
                continue
            behind = behind or following_or_none(following, each)
            if behind is not None and each.low <= behind.low and behind.high <= each.high:
                return each
    return None


def following_or_none(following: Callable[[Range], Range | None], guess: Range) -> Range | None:
    """The range of an element behind such of a range; None where it would be too large."""
    try:
        return following(guess)
    except SpecError:
        return None


def typed_statements(
    program: i.Program, nest: i.Nest, dtypes: Mapping[str, DType], host: Typer, kept: MemoryRanges
) -> tuple[i.Nest, MemoryRanges]:
    """The nest with types, and what lies in memory behind it."""
    wide: set[str] = set()
    real: set[str] = set()
    truths: set[str] = set()
    assigned = {each.name: "i32" for each in nodes_in(nest.body, i.Assign)}
    sums = frozenset(accumulated_locals(nest.body, "+", "*"))
    reach: Mapping[str, Range | None] = {}
    dtypes = {**dtypes, **kept.dtypes}
    scratch = kept.ranges
    required = required_ranges(program.operator, nest)
    while True:
        typer = Typer(program.operator, dtypes, host=False)
        typer.lets = program.lets.keys()
        typer.partial = [each.name for each in program.scratch if each.partial]
        typer.ranges = dict(host.ranges)
        typer.of_call = frozenset(host.ranges)
        typer.scratch = dict(scratch)
        typer.required = required
        typer.tests = nest.guarded is not None
        typer.counters = counting_locals(nest.body)
        typer.types = dict.fromkeys(host.ranges, "i64") | dict(host.types)
        typer.modular = modular_accumulators(nest.body, {*scratch, *typer.exact}) - real
        typer.real, typer.truths = set(real), set(truths)
        typer.sums = sums
        typer.wide = set(wide)
        typer.assigned = dict(assigned)
        typer.reach_of_all = reach
        before = (wide, assigned, real, truths)
        try:
            body = typer.block(nest.body)
        except SpecError:
            # What is too large may be a real number that is not known as one yet.
            if (typer.real, typer.truths) == (real, truths):
                raise
        else:
            made = {name: typer.reach[name] for name in typer.reach if name in scratch}
            settled = not made or typer.reach == reach
            if settled and (typer.wide, typer.assigned, typer.real, typer.truths) == before:
                behind = MemoryRanges({**scratch, **made}, {**kept.dtypes, **typer.kept})
                return replace(nest, body=body), behind
        # A local turned out to need another type than its declaration has: once more.
        wide, assigned, real, truths = typer.wide, typer.assigned, typer.real, typer.truths
        reach = typer.reach


def kept_before(
    program: i.Program, nest: i.Nest, dtypes: Mapping[str, DType], host: Typer
) -> MemoryRanges:
    """What the nests before this one keep in memory.

    A selected list has the same ranges for all types, since every kernel reads it as int64; what
    reads a `let` is made for the types that this was made for (`choices.inputs_behind`).
    """
    kept = MemoryRanges({each.name: None for each in program.scratch}, {})
    if not program.scratch:
        return kept
    widest = {item.name: INT32 for item in program.operator.inputs if item.dtype == CVM}
    for each in program.nests:
        if each is nest:
            break
        if each.tensor in program.lets:
            kept = nest_with_types(program, each, dtypes, host, kept)[1]
        elif program.scratch_of(each.tensor):
            kept = nest_with_types(program, each, {**dtypes, **widest}, host, kept)[1]
    return kept
