"""Lists that only say which rows an output begins with: the rows go there as they are found.

For C, on nests with offsets. A nest that makes a list of what passes a test, and the one nest of an
output that reads the list, entry by entry in front of its length, become one nest; the list itself
is not kept, its length is.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from cvmgen import algebra
from cvmgen.analysis.in_bounds import Inside
from cvmgen.analysis.regions import only_moves
from cvmgen.ir import nodes as i
from cvmgen.ir.uses import assigned, names_in, nodes_in, read_tensors
from cvmgen.ir.visit import replaced, substitute, walk

ENTRY = "entry of the list"  # a name that no formula has


def compact(program: i.Program) -> i.Program:
    """Lists that only tell which rows an output begins with are not kept."""
    for memory in program.scratch:
        if memory.owner == memory.name:
            program = compacted_program(program, memory) or program
    return program


def compacted_program(program: i.Program, memory: i.Scratch) -> i.Program | None:
    kept = [each for each in program.scratch_of(memory.name) if each.name != memory.name]
    makers = [each for each in program.nests if each.tensor == memory.name]
    others = (each for each in program.nests if each not in makers)
    readers = [each for each in others if memory.name in read_tensors(each.body)]
    if len(kept) != 1 or len(makers) != 1 or len(readers) != 1:
        return None
    (maker,), (reader,), (length,) = makers, readers, kept
    if reader.tensor not in program.operator.output_names or maker.case != reader.case:
        return None
    if [maker.each, reader.each, maker.prologue, reader.prologue] != [None, None, (), ()]:
        return None
    if sum(each.tensor == reader.tensor for each in program.nests) > 1:
        return None
    made = selected_rows(maker.body, memory.name, length.name)
    rows = _rows_of(reader.body, memory.name, length.name)
    inside = Inside.of(program.operator)
    body = None if made is None or rows is None else compacted_nest(made, rows, inside)
    if body is None:
        return None
    nest = replace(reader, body=body, more=(program.quoted(maker),))
    nests = [nest if each is maker else each for each in program.nests if each is not reader]
    scratch = [each for each in program.scratch if each is not memory]
    scratch = [replace(each, owner=reader.tensor) if each is length else each for each in scratch]
    size = memory.size
    prepare = (e for e in program.prepare if not (isinstance(e, i.Let) and e.name == size))
    return replace(program, prepare=tuple(prepare), nests=tuple(nests), scratch=tuple(scratch))


# ---------------------------------------------------------------- both nests


@dataclass(frozen=True, slots=True)
class Selected:
    """A list in the loops `around`: behind the entry that passes come the others."""

    around: tuple[i.Loop, ...]
    count: i.Let
    candidates: i.Loop
    entry: i.Load  # where it goes
    value: i.Expr
    length: i.Load  # and where the length
    stored: i.Store


def selected_rows(body: i.Block, memory: str, length: str) -> Selected | None:
    """The nest of a list of candidates that pass a test which knows nothing of other entries."""
    around, inner = perfect_loops(body)
    match inner:
        case (
            i.Let(name=name, value=i.Const(value=0)) as count,
            i.Loop(low=i.Const(value=0), step=1, body=(*lets, i.If(otherwise=()) as test)) as loop,
            i.Store(target=i.Load() as kept, value=i.Var(name=stored)) as last,
        ) if kept.tensor == length and stored == name:
            pass
        case _:
            return None
    match test.then:
        case (
            i.Store(target=i.Load() as entry, value=value),
            i.Accumulate(name=counted, op="+", value=i.Const(value=1)),
        ) if entry.tensor == memory and counted == name:
            pass
        case _:
            return None
    asked = (*lets, test.condition, value)
    if not all(isinstance(each, i.Let) for each in lets):
        return None
    if name in names_in(asked) or read_tensors(asked) & {memory, length}:
        return None
    return Selected(around, count, loop, entry, value, kept, last)


@dataclass(frozen=True, slots=True)
class Rows:
    """Rows of an output in the loops `around`: those in front of a length, and the others."""

    around: tuple[i.Loop, ...]
    rows: i.Loop
    within: tuple[i.Loop, ...]  # over the elements of a row
    store: i.Store
    place: i.Load
    choice: i.Select
    entry: i.Load
    length: i.Load


def _rows_of(body: i.Block, memory: str, length: str) -> Rows | None:
    loops, inner = perfect_loops(body)
    match inner:
        case (i.Store(target=i.Load() as place, value=i.Select() as choice) as store,):
            pass
        case _:
            return None
    match choice.condition:
        case i.Compare(op="<", left=i.Var(name=index), right=i.Load() as most) if (
            most.tensor == length
        ):
            pass
        case _:
            return None
    at = next((at for at, each in enumerate(loops) if each.index == index), None)
    entries = {each for each in nodes_in(inner, i.Load) if each.tensor == memory}
    if at is None or len(entries) != 1 or entries & {*walk(choice.otherwise)}:
        return None
    within = loops[at + 1 :]
    if names_in(tuple(each.high for each in within)) & {index}:
        return None
    return Rows(loops[:at], loops[at], within, store, place, choice, entries.pop(), most)


def perfect_loops(body: i.Block) -> tuple[tuple[i.Loop, ...], i.Block]:
    """The loops from 0 that stand in each other with nothing between, and what is in the last."""
    found: list[i.Loop] = []
    while len(body) == 1 and isinstance(body[0], i.Loop) and body[0].low == i.ZERO:
        found.append(body[0])
        body = body[0].body
    return tuple(found), body


# ---------------------------------------------------------------- one nest


def compacted_nest(made: Selected, rows: Rows, inside: Inside) -> i.Block | None:
    """One nest for both: each entry's row goes behind those before it, other rows behind all.

    Only for rows that could be moved before it is known whether they pass: others would wait for
    the branch.
    """
    names = matched_loops(made, rows)
    if names is None:
        return None
    index, count = rows.rows.index, i.Var(made.count.name)
    candidates, length, entry = substitute((made.candidates, made.stored, made.value), names)
    (*lets, test) = candidates.body
    assert isinstance(test, i.If)
    row = {index: count, ENTRY: entry}
    then = replaced(rows.choice.then, lambda each: i.Var(ENTRY) if each == rows.entry else each)
    place = replace(rows.place, offset=substitute(rows.place.offset, {index: count}))
    moved = _in_loops(rows.within, replace(rows.store, target=place, value=substitute(then, row)))
    for each in (*rows.around, candidates):
        inside = inside.within(each.index, each.high)
    if not only_moves(moved, inside):
        return None
    appended = replace(test, then=(moved, test.then[-1]))
    rest = _in_loops(rows.within, replace(rows.store, value=rows.choice.otherwise))
    body: i.Block = (
        made.count,
        replace(candidates, body=(*lets, appended)),
        length,
        replace(rows.rows, low=count, body=(rest,)),
    )
    for each in reversed(rows.around):
        body = (replace(each, body=body),)
    return body


def matched_loops(made: Selected, rows: Rows) -> dict[str, i.Expr] | None:
    """What the loops around the list are called around the rows, where both nests go through the
    same lists, and each row has the place of its entry; None for others."""
    if [each.high for each in (*made.around, made.candidates)] != [
        each.high for each in (*rows.around, rows.rows)
    ]:
        return None
    pairs = zip(made.around, rows.around, strict=True)
    names: dict[str, i.Expr] = {one.index: i.Var(other.index) for one, other in pairs}
    own = {made.count.name, *assigned((made.candidates,))}
    if own & {each.index for each in (*rows.around, *rows.within)}:
        return None
    entry, length = (
        substitute(each.offset, {**names, made.count.name: i.Var(rows.rows.index)})
        for each in (made.entry, made.length)
    )
    same = algebra.equal(entry, rows.entry.offset) and algebra.equal(length, rows.length.offset)
    return names if same else None


def _in_loops(loops: tuple[i.Loop, ...], statement: i.Stmt) -> i.Stmt:
    for each in reversed(loops):
        statement = replace(each, body=(statement,))
    return statement
