"""Classes of nests: what a nest is, by the shape of its loops, and what its loops are called."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from cvmgen.ir import nodes as i
from cvmgen.ir.visit import names_in, walk
from cvmgen.lower.tiling import find_contraction
from cvmgen.schedule.subject import Roles, Subject


@dataclass(frozen=True, slots=True)
class Class:
    """A class of nests: `roles` says what its schedules may name, `recognise` gives those of a
    nest, or None for a nest that does not belong to it."""

    doc: str
    roles: Mapping[str, str]
    recognise: Callable[[Subject], Roles | None]


def made_list(subject: Subject) -> Roles | None:
    return {"outer": outermost(subject.body)} if subject.memory else None


def contracted(subject: Subject) -> Roles | None:
    found = find_contraction(subject.body, subject.facts, subject.sizes)
    if subject.memory or found is None:
        return None
    loops = {
        "batches": found.batches,
        "rows": found.rows.lines,
        "columns": found.columns.lines,
        "summed": found.summed,
    }
    roles = {role: tuple(loop.index for loop in own) for role, own in loops.items()}
    return {"outer": outermost(subject.body), **roles}


def elementwise(subject: Subject) -> Roles | None:
    carried = any(isinstance(each, (i.Accumulate, i.Break)) for each in walk(subject.body))
    return None if subject.memory or carried else {"outer": outermost(subject.body)}


def other(subject: Subject) -> Roles:
    return {"outer": outermost(subject.body)}


def outermost(body: tuple[i.Stmt, ...]) -> tuple[str, ...]:
    """The loops around everything else, each with nothing between it and the next, as long as
    those around do not decide how often one runs; of a choice, those of both branches."""
    match body:
        case (i.If(then=then, otherwise=otherwise),):
            return (*outermost(then), *outermost(otherwise))
        case (i.Loop() as loop,) if loop.low is not None:
            found = [loop.index]
            while len(loop.body) == 1 and isinstance(loop.body[0], i.Loop):
                loop = loop.body[0]
                if loop.low is None or names_in((loop.low, loop.high)) & set(found):
                    break
                found.append(loop.index)
            return tuple(found)
        case _:
            return ()


OUTER = {"outer": "the loops around everything else"}
FACTORS = {
    "batches": "the indices of both factors",
    "rows": "those of one factor alone",
    "columns": "those of the other, the innermost of the output among them",
    "summed": "the loops of the sum",
}

# From particular classes to general ones: a nest takes the first one that knows it and for which
# the target has a schedule.
CLASSES: Mapping[str, Class] = {
    "list": Class("makes selected lists", OUTER, made_list),
    "contraction": Class(
        "sums products of two inputs as a product of matrices does", OUTER | FACTORS, contracted
    ),
    "elementwise": Class("computes each element by itself", OUTER, elementwise),
    "other": Class("any nest", OUTER, other),
}
