"""Classes of nests: what a nest is, by the shape of its loops, and what its loops are called."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from cvmgen.ir import nodes as i
from cvmgen.ir.visit import names_in, walk
from cvmgen.lower import reductions
from cvmgen.lower.guards import assigned
from cvmgen.schedule import dependences
from cvmgen.schedule.subject import Roles, Subject


@dataclass(frozen=True, slots=True)
class Class:
    """A class of nests: `roles` says what its schedules may name, `recognise` gives those of a
    nest, or None for a nest that does not belong to it. Where there is no `recognise`, only the
    mappings of a target know which nests these are."""

    doc: str
    roles: Mapping[str, str]
    recognise: Callable[[Subject], Roles | None] | None


def made_list(subject: Subject) -> Roles | None:
    return {"outer": outermost(subject.body)} if subject.memory else None


def elementwise(subject: Subject) -> Roles | None:
    carried = any(isinstance(each, (i.Accumulate, i.Break)) for each in walk(subject.body))
    if subject.memory or carried:
        return None
    return {"outer": outermost(subject.body), "inner": innermost(subject.body)}


def innermost(body: tuple[i.Stmt, ...]) -> tuple[str, ...]:
    """The loops without loops in them whose iterations share nothing."""
    loops = [each for each in walk(body) if isinstance(each, i.Loop)]
    around = {id(each) for each in loops for below in walk(each.body) if isinstance(below, i.Loop)}
    last = (each for each in loops if id(each) not in around and not dependences.carried(each))
    return tuple(dict.fromkeys(each.index for each in last))


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


def reduction(subject: Subject) -> Roles | None:
    """Each result combines elements by operations that give the same bits in every order."""
    found = summed(subject)
    if found is None:
        return None
    by_order = reductions.reduction(found.indices, found.body) is None
    if (
        by_order
        or dependences.combined(found.sweep, dependences.Locals.of(subject.body).types) is None
    ):
        return None
    return found.roles


def ordered_reduction(subject: Subject) -> Roles | None:
    """Each result combines elements by operations whose order counts."""
    found = summed(subject)
    if found is None or any(isinstance(each, i.If) for each in walk(found.sweep)):
        return None
    changes = dependences.carried(found.sweep)
    sets = (each for each in walk(found.sweep) if isinstance(each, i.Assign | i.SetAt | i.Append))
    return None if any(each.name in changes for each in sets) else found.roles


@dataclass(frozen=True, slots=True)
class Summed:
    """A nest that combines elements for each result: the loops around, and the sweep."""

    around: tuple[i.Loop, ...]
    body: tuple[i.Stmt, ...]  # of the innermost of those
    sweep: i.Loop

    @property
    def indices(self) -> tuple[str, ...]:
        return tuple(each.index for each in self.around)

    @property
    def roles(self) -> Roles:
        swept = tuple(each.index for each in chain((self.sweep,)))
        return {
            "outer": self.indices[:-1],
            "results": self.indices[-1:],
            "totals": tuple(sorted(dependences.carried(self.sweep))),
            "summed": swept,
        }


def summed(subject: Subject) -> Summed | None:
    """The sweep of a nest that has one, nothing in front of it but locals, and loops that run as
    often for every result."""
    if subject.memory:
        return None
    around = chain(subject.body)
    body = around[-1].body if around else subject.body
    sweeps = [each for each in body if isinstance(each, i.Loop)]
    if len(sweeps) != 1 or any(isinstance(each, i.Break) for each in walk(body)):
        return None
    before = body[: body.index(sweeps[0])]
    if sweeps[0].low is None or not all(isinstance(each, i.Let) for each in before):
        return None
    varying = assigned(subject.body)
    within = (each for each in walk(sweeps[0]) if isinstance(each, i.Loop))
    if any(each.low is None or names_in((each.low, each.high)) & varying for each in within):
        return None
    return Summed(tuple(around), body, sweeps[0]) if dependences.carried(sweeps[0]) else None


def chain(body: tuple[i.Stmt, ...]) -> list[i.Loop]:
    """Loops that stand in each other with nothing but locals between, none of which they change."""
    found: list[i.Loop] = []
    while body:
        *between, last = body
        names = {each.name for each in between if isinstance(each, i.Let)}
        if not isinstance(last, i.Loop) or last.low is None or len(names) < len(between):
            break
        if names & dependences.carried(last):
            break
        found.append(last)
        body = last.body
    return found


OUTER = {"outer": "the loops around everything else"}
ELEMENTS = {**OUTER, "inner": "the innermost loops whose iterations share nothing"}
SUMS = {
    "outer": "the loops around those over results",
    "results": "the innermost loop over results",
    "totals": "what is accumulated for each result",
    "summed": "the loops over what is combined",
}

# From particular classes to general ones: a nest takes the first one that knows it and for which
# the target has a schedule.
CLASSES: Mapping[str, Class] = {
    "selection": Class("makes lists whose candidates rule each other out", {}, None),
    "list": Class("makes selected lists", OUTER, made_list),
    "contraction": Class("sums products of two inputs, as of matrices", {}, None),
    "window": Class("reads an input in windows that overlap", {}, None),
    "reduction": Class("combines elements in any order", SUMS, reduction),
    "ordered_reduction": Class("combines elements in their order", SUMS, ordered_reduction),
    "elementwise": Class("computes each element by itself", ELEMENTS, elementwise),
    "other": Class("any nest", OUTER, other),
}
