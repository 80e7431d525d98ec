"""`batch`: functions of real numbers are made of many at once."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

from cvmgen.analysis.dependences import SCALAR, steady_range
from cvmgen.ir import nodes as i
from cvmgen.ir.rewrite import locals_reached, without_dead
from cvmgen.ir.uses import has, read_tensors, reassigned, stored_tensors
from cvmgen.ir.visit import children, fresh, replaced, walk
from cvmgen.schedule.actions.split import in_blocks
from cvmgen.schedule.forms import Use
from cvmgen.schedule.rewriting import with_index_name
from cvmgen.schedule.subject import Subject

MANY = {f"{name}_f64": name for name in ("exp", "sigmoid", "tanh")}
"""The functions of which the run time has one for many numbers, and what that is called for."""


def batch(subject: Subject, use: Use) -> Subject:
    """Loops by blocks: in each what functions are given goes to arrays, these become what the
    functions make of it, and a last loop does the rest.

    Legal where what is given to a function reads nothing that an iteration leaves for the next: the
    last loop goes on in the order of all, and such functions have a value whatever they are given.
    Other loops stay as they are, and those without such functions.
    """
    size, roles = use.room(use.number(1)), [use.roles(at)[0] for at in (2, 3, 4)]
    used = subject.taken
    made: list[tuple[str, ...]] = []

    def change(loop: i.Loop) -> i.Block | None:
        whole = loop.low is not None and loop.step == 1 and steady_range(loop)
        if not whole or has(loop.body, *SCALAR) or reads_results(loop.body):
            return None
        if not ready(loop.body):
            return None
        piece, before, lane = (fresh(f"{loop.index}_{each}", used) for each in roles)
        blocks = in_blocks(loop, size, piece, lane, fresh(f"{lane}s", used))
        count, lanes = blocks.body
        assert isinstance(lanes, i.Loop)
        body: list[i.Stmt] = [count]
        while calls := ready(lanes.body):
            arrays = {each: fresh(f"{MANY[each.function]}s", used) for each in calls}
            body += _given(lanes, before, arrays, size)
            lanes = with_results(lanes, arrays)
        made.append((piece, before, lane))
        return (replace(blocks, body=(*body, lanes)),)

    done = subject.with_loops(use.loops(subject, 0), change)
    return done.with_roles(
        {role: tuple(each[at] for each in made) for at, role in enumerate(roles)}
    )


def reads_results(body: i.Block) -> bool:
    """Whether statements read tensors that they store to."""
    read = frozenset[str]()
    for each in walk(body):
        match each:
            case i.Store(target=target, value=value):
                read |= read_tensors((target.offset, value) if isinstance(target, i.Load) else each)
            case i.If(condition=value) | i.Let(value=value) | i.Assign(value=value):
                read |= read_tensors(value)
            case i.Accumulate(value=value):
                read |= read_tensors(value)
            case _:
                pass
    return bool(stored_tensors(body) & read)


def ready(body: i.Block) -> list[i.Call]:
    """The functions of many numbers that each iteration computes, of what is made without one."""
    locals_ = {each.name: each for each in body if isinstance(each, i.Let)}
    late = reassigned(body) | {name for name, each in locals_.items() if is_called(each.value)}
    return [
        call
        for each in body
        if isinstance(each, (i.Let, i.Store))
        for call in computed(each)
        if call.function in MANY and not any(map(is_called, call.arguments))
        if not locals_reached(call.arguments, locals_) & late
    ]


def is_called(value: i.Expr) -> bool:
    """Whether a value needs a function of many numbers."""
    return any(each.function in MANY for each in computed(value))


def computed(node: object) -> Iterator[i.Call]:
    """The calls in a node, but for those that may be left out."""
    match node:
        case i.Select(condition=condition):
            yield from computed(condition)
        case i.Logic(operands=(first, *_)):
            yield from computed(first)
        case i.Call():
            yield node
            yield from computed(node.arguments)
        case tuple():
            for each in node:
                yield from computed(each)
        case _:
            for each in children(node):
                yield from computed(each)


def _given(lanes: i.Loop, before: str, arrays: Mapping[i.Call, str], size: int) -> i.Block:
    """Arrays of what functions make of what the iterations of a loop give them, in a loop `before`
    it."""
    span = lanes.span
    lets = tuple(each for each in lanes.body if isinstance(each, i.Let))
    stores = tuple(
        i.Store(i.Load(array, None, i.Var(lanes.index)), call.arguments[0], span)
        for call, array in arrays.items()
    )
    body = with_index_name(without_dead((*lets, *stores)), lanes.index, before)
    return (
        *(i.Array(array, "f64", size, span) for array in arrays.values()),
        replace(lanes, index=before, body=body),
        *(
            i.Apply(MANY[call.function], i.Load(array, None, i.ZERO), lanes.high, span)
            for call, array in arrays.items()
        ),
    )


def with_results(lanes: i.Loop, arrays: Mapping[i.Call, str]) -> i.Loop:
    """A loop that reads the results of functions."""

    def change(node: i.Expr) -> i.Expr:
        found = arrays.get(node) if isinstance(node, i.Call) else None
        return node if found is None else i.Load(found, None, i.Var(lanes.index))

    return replace(lanes, body=without_dead(replaced(lanes.body, change)))
