"""Machine types: each intermediate in the narrowest type that holds every value it can take.

The ranges hold for any stored element, whether or not it keeps its declared precision, so
no accepted call overflows. Only where a value flows into a store through + - * alone is it
computed modulo 2^32 (type u32): the store keeps the same bits, and for data within their
precision the value is exact. On the host a value that leaves int64 saturates; such shapes
and precisions are refused by the checks that follow.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from cvmgen.dtypes import CVM, INT32, MAX_INPUTS, DType
from cvmgen.ir import nodes as i
from cvmgen.ir.rewrite import without_dead
from cvmgen.ir.uses import nodes_in
from cvmgen.ranges import Range
from cvmgen.source import SpecError
from cvmgen.typing.accumulators import accumulated_locals, counting_locals, modular_accumulators
from cvmgen.typing.decided_tests import without_known_tests
from cvmgen.typing.typed_statements import Typer


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


def type_nest(program: i.Program, nest: i.Nest, dtypes: Mapping[str, DType]) -> i.Nest:
    """A nest with machine types for tensors of the given storage types."""
    host = Typer(program.operator, {}, host=True)
    host.block(program.prepare)
    if nest.each is not None:
        host.ranges[nest.each[0]] = Range(0, MAX_INPUTS)
    host.block(nest.prologue)
    typed = nest_with_types(program, nest, dtypes, host)[0]
    if program.operator.has_reals and len(program.operator.types.rows) > 1:
        return replace(typed, body=without_known_tests(typed.body))
    return replace(typed, body=without_dead(typed.body))


def nest_with_types(
    program: i.Program, nest: i.Nest, dtypes: Mapping[str, DType], host: Typer
) -> tuple[i.Nest, dict[str, Range | None]]:
    """The nest with types, and the ranges of what lies in the memory of selected lists."""
    wide: set[str] = set()
    real: set[str] = set()
    truths: set[str] = set()
    assigned = {each.name: "i32" for each in nodes_in(nest.body, i.Assign)}
    sums = frozenset(accumulated_locals(nest.body, "+", "*"))
    scratch = kept_ranges(program, nest, dtypes, host)
    while True:
        typer = Typer(program.operator, dtypes, host=False)
        typer.ranges = dict(host.ranges)
        typer.of_call = frozenset(host.ranges)
        typer.scratch = dict(scratch)
        typer.counters = counting_locals(nest.body)
        typer.types = dict.fromkeys(host.ranges, "i64") | dict(host.types)
        typer.modular = modular_accumulators(nest.body, {*scratch, *typer.exact}) - real
        typer.real, typer.truths = set(real), set(truths)
        typer.sums = sums
        typer.wide = set(wide)
        typer.assigned = dict(assigned)
        before = (wide, assigned, real, truths)
        try:
            body = typer.block(nest.body)
        except SpecError:
            # What is too large may be a real number that is not known as one yet.
            if (typer.real, typer.truths) == (real, truths):
                raise
        else:
            if (typer.wide, typer.assigned, typer.real, typer.truths) == before:
                return replace(nest, body=body), typer.scratch
        # A local turned out to need another type than its declaration has: once more.
        wide, assigned, real, truths = typer.wide, typer.assigned, typer.real, typer.truths


def kept_ranges(
    program: i.Program, nest: i.Nest, dtypes: Mapping[str, DType], host: Typer
) -> dict[str, Range | None]:
    """What the nests before this one can keep in the memory of each selected list."""
    ranges: dict[str, Range | None] = {each.name: None for each in program.scratch}
    if not program.scratch:
        return ranges
    widest = {item.name: INT32 for item in program.operator.inputs if item.dtype == CVM}
    dtypes = {**dtypes, **widest}
    for each in program.nests:
        if each is nest:
            break
        if program.scratch_of(each.tensor):
            ranges |= nest_with_types(program, each, dtypes, host)[1]
    return ranges
