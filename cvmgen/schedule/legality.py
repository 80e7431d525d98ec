"""What holds for every action: which loops it may still speak of, and what it must leave behind."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from cvmgen.analysis.dependences import SCALAR, Locals, conflict
from cvmgen.ir import nodes as i
from cvmgen.ir.kernel_fault import kernel_fault
from cvmgen.ir.remember import remembered
from cvmgen.ir.rewrite import inner_blocks
from cvmgen.ir.uses import has, names_in, nodes_in, uses
from cvmgen.schedule.forms import MOST_NODES, MOST_ROOM, Use
from cvmgen.schedule.subject import Subject
from cvmgen.typing.agreement import type_fault


def applied(use: Use, subject: Subject) -> Subject:
    """The nest after an action; SpecError where that would change what it computes.

    Each action says by itself where it is legal, for the nest as it is then. Beside that none may
    speak of loops in threads, whose iterations are counted as they stand, and all must leave a nest
    that holds together, with marks that are still true.
    """
    named = use.named(subject)
    taken = in_threads(subject.body) if named else set()
    for index in named:
        if index in taken:
            use.refuse(
                f"the loop {index} runs in threads already ({subject.place})",
                "write 'parallelise' behind what else is done with it",
            )
    result = use.kind.run(subject, use)
    if result.body is not subject.body and (why := next(faults(result), "")):
        use.refuse(f"behind this {why} ({subject.place})", "leave it out, or write it elsewhere")
    return result


def faults(subject: Subject) -> Iterator[str]:
    """What is wrong with a nest that an action made."""
    yield from unsound(subject)
    if (size := uses(subject.body).nodes) > MOST_NODES:
        yield f"the nest has {size} parts, which compilers take too long over"
    if (room := most_room(subject.body)) > MOST_ROOM:
        yield f"arrays of {room} bytes have no room among the locals of a thread"


@remembered
def unsound(subject: Subject) -> tuple[str, ...]:
    """What in a typed nest does not hold together, and the marks of loops that are not true. Asked
    behind each action and each stage, of which most leave it as it is."""
    return tuple(_found_unsound(subject))


def _found_unsound(subject: Subject) -> Iterator[str]:
    body = subject.body
    if fault := kernel_fault(body, subject.outside.names, subject.elements):
        yield fault
    if fault := type_fault(body, subject.elements):
        yield fault
    if has(body, i.Barrier):
        yield "threads meet, and none of a block run it"
    marked = [each for each in nodes_in(body, i.Loop) if each.vector or each.parallel]
    if not marked:
        return
    locals_ = Locals.of(body)
    vectors = replace(locals_, exact=subject.model is not None)
    for loop in marked:
        if loop.vector and has(loop.body, *SCALAR):
            yield f"the loop {loop.index} has more in it than vectors do, by which it goes"
        counted = collapsible_loops(loop)
        if counted is None:
            yield f"the loops that run in threads with {loop.index} stand apart"
        for each in (counted or ()) if loop.vector or loop.parallel else ():
            if why := conflict(each, locals_ if loop.parallel else vectors):
                yield f"the loop {each.index} {why}, and its iterations run at once"


def in_threads(body: i.Block) -> set[str]:
    """The loops that run in threads, each with those that are counted with it."""
    found = set()
    for each in nodes_in(body, i.Loop):
        if each.parallel:
            found |= {loop.index for loop in collapsible_loops(each) or (each,)}
    return found


def collapsible_loops(loop: i.Loop) -> tuple[i.Loop, ...] | None:
    """The loops that are counted as one, nothing between, none deciding how often another runs;
    None where they are not so."""
    found: tuple[i.Loop, ...] = (loop,)
    if loop.parallel <= 1:
        return found
    while len(found) < loop.parallel:
        match found[-1].body:
            case (i.Loop() as inner,) if inner.low is not None and not inner.parallel:
                found = (*found, inner)
            case _:
                return None
    indices = {each.index for each in found}
    if names_in(tuple((each.low, each.high) for each in found)) & indices:
        return None
    return None if any(each.vector for each in found[1:]) else found


def most_room(body: i.Block) -> int:
    """The bytes of the arrays that are there at once."""
    own, inner = 0, 0
    for each in body:
        if isinstance(each, i.Array):
            own += each.length * type_size(each.type)
        inner = max(inner, *map(most_room, inner_blocks(each)), 0)
    return own + inner


def type_size(kind: str) -> int:
    """The size of a value of a machine type."""
    return 1 if kind == "bool" else int(kind[1:]) // 8
