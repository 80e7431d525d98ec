"""Classes of nests: what a nest is, by the shape of its loops, and what its loops are called."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from cvmgen.analysis import dependences, reductions
from cvmgen.analysis.greedy import find_greedy
from cvmgen.analysis.grid import grid
from cvmgen.analysis.indirect import named_place
from cvmgen.analysis.list_loops import list_counter
from cvmgen.analysis.ordered_products import ordered_products
from cvmgen.analysis.paths import path
from cvmgen.analysis.tiling import find_contraction
from cvmgen.ir import nodes as i
from cvmgen.ir.uses import assigned, carried, has, names_in, nodes_in, read_tensors
from cvmgen.ir.visit import substitute, walk
from cvmgen.schedule.moves import move_of
from cvmgen.schedule.rewriting import innermost_loops
from cvmgen.schedule.subject import Roles, Subject


@dataclass(frozen=True, slots=True)
class Class:
    """A class of nests: `roles` says what its schedules may name, `recognise` gives those of a
    nest, or None for a nest that does not belong to it."""

    doc: str
    roles: Mapping[str, str]
    recognise: Callable[[Subject], Roles | None]


def recurrence(subject: Subject) -> Roles | None:
    """The loops around that in which each element follows from those before it."""
    loops = outermost(subject.body)
    at = loops.index(subject.sequential) if subject.sequential in loops else len(loops)
    return {"outer": loops[:at]} if subject.sequential else None


def made_list(subject: Subject) -> Roles | None:
    return {"outer": outermost(subject.body)} if subject.memory else None


def _contracted(subject: Subject) -> Roles | None:
    if subject.model is not None:  # memory was laid out for it before
        return None if subject.model.blocks is None else subject.model.blocks.roles
    found = find_contraction(subject.body, subject.facts, subject.sizes, shifted=True)
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


def channelwise(subject: Subject) -> Roles | None:
    """A contraction of which neighbouring results, or those of the loop around, read other elements
    of both factors."""
    roles, summed = _contracted(subject), summed_sweep(subject)
    found = find_contraction(subject.body, subject.facts, subject.sizes, shifted=True)
    if roles is None or summed is None or found is None:
        return None
    divided = () if found.divided is None else (found.divided.index,)
    both = {*roles["batches"], *divided}
    channels = tuple(each for each in summed.indices[-2:] if each in both)
    return {**summed.roles, **roles, "channels": channels} if channels else None


def greedy_list(subject: Subject) -> Roles | None:
    body = subject.body
    while subject.own:
        found = find_greedy(body, frozenset(subject.own))
        if found is not None:
            loops = outermost(subject.body)
            around = loops[: loops.index(found.loop.index)] if found.loop.index in loops else loops
            roles = {"candidates": (found.loop.index,), "entries": (found.test.index,)}
            return {"outer": around, **roles}
        match body:
            case (i.Loop() as loop,):
                body = loop.body
            case _:
                return None
    return None


def filtered_list(subject: Subject) -> Roles | None:
    """The one loop that appends what passes a test."""
    loops = nodes_in(subject.body, i.Loop)
    found = [each.index for each in loops if list_counter(each.body) is not None]
    return of_candidates(subject, found) if subject.own else None


def compacted(subject: Subject) -> Roles | None:
    """The one loop that moves what passes a test, behind which what is left is stored."""
    if subject.memory:
        return None
    loops = [*nodes_in(subject.body, i.Loop)]
    begun = {each.low.name for each in loops if isinstance(each.low, i.Var)}
    return of_candidates(subject, [each.index for each in loops if counted_local(each) in begun])


def of_candidates(subject: Subject, found: Sequence[str]) -> Roles | None:
    """The roles where there is one loop over candidates, and those around it."""
    around = tuple(name for name in outermost(subject.body) if name not in found)
    return {"outer": around, "candidates": tuple(found)} if len(found) == 1 else None


def counted_local(loop: i.Loop) -> str | None:
    """The local that counts the iterations of a loop that pass its test."""
    match loop.body:
        case (*_, i.If(then=(*_, i.Accumulate(name=name, op="+")), otherwise=())):
            return name
        case _:
            return None


def list_lengths(subject: Subject) -> Roles | None:
    """A loop of an output's nest that asks, for each of its results, how long a list is."""
    if subject.memory or elementwise(subject) is None:
        return None
    loops = outermost(subject.body)
    tests = (each for each in walk(subject.body) if isinstance(each, (i.Select, i.If)))
    for each in tests:
        for index in loops:
            if by_length(each.condition, index):
                return {"outer": loops, "rows": (index,)}
    return None


def by_length(test: i.Expr, index: str) -> bool:
    """Whether a test compares an index with what memory says, at a place that is not its own."""
    match test:
        case i.Compare(op="<", left=i.Var(name=name), right=right) if name == index:
            return bool(read_tensors(right)) and index not in names_in(right)
        case _:
            return False


def moving(subject: Subject) -> Roles | None:
    found = None if subject.model is not None else move_of(subject)  # models have no such calls
    return None if found is None else {"moved": tuple(each.index for each in found[0].loops)}


def elementwise(subject: Subject) -> Roles | None:
    if subject.memory or has(subject.body, i.Accumulate, i.Break, i.Sort):
        return None
    return {"outer": outermost(subject.body), "inner": _innermost(subject.body)}


def _gather(subject: Subject) -> Roles | None:
    roles = elementwise(subject)
    loops = nodes_in(subject.body, i.Loop)
    inner = () if roles is None else roles["inner"]
    found = any(each.index in inner and named_place(each) is not None for each in loops)
    return roles if found else None


def _innermost(body: i.Block) -> tuple[str, ...]:
    """The loops without loops in them whose iterations share nothing."""
    last = (each for each in innermost_loops(body) if not carried(each))
    return tuple(dict.fromkeys(each.index for each in last))


def _other(subject: Subject) -> Roles:
    again = subject.model is not None and subject.memory  # loops share the memory of a list
    return {"outer": () if again else outermost(subject.body)}


def outermost(body: i.Block) -> tuple[str, ...]:
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


def _convolution(subject: Subject) -> Roles | None:
    """A contraction of boxes that overlap."""
    both = _contracted(subject), _window(subject)
    return None if both[0] is None or both[1] is None else {**both[0], **both[1]}


def _window(subject: Subject) -> Roles | None:
    """Neighbouring results combine elements of boxes that overlap, as far as these lie in the
    tensor."""
    found = summed_sweep(subject)
    if found is None or not found.around:
        return None
    way = path(found.sweep)
    if not isinstance(way.last, i.Accumulate):
        return None
    values = {each.name: each.value for each in way.lets}
    guards = [substitute(each, values) for each in way.tests]
    column = found.indices[-1]
    if not any(column in names_in(each) for each in guards):
        return None
    return {**found.roles, "taps": tuple(each.index for each in way.loops)}


def separable_window(subject: Subject) -> Roles | None:
    """A window that does nothing with its elements but to combine them, in any order."""
    roles, around = _window(subject), grid(subject.body)
    found = None if roles is None else subject.windows(around.loops[-1])
    return roles if found is not None and found.separable else None


def reduction_roles(subject: Subject) -> Roles | None:
    """Each result combines elements by operations that give the same bits in every order."""
    if subject.model is not None:
        return exact_reduction(subject)
    found = summed_sweep(subject)
    if found is None:
        return None
    by_order = reductions.find_reduction(found.indices, found.body) is None
    if (
        by_order
        or dependences.reduction_operations(found.sweep, dependences.Locals.of(subject.body).types)
        is None
    ):
        return None
    return found.roles


def exact_reduction(subject: Subject) -> Roles | None:
    """The same in a model, where totals hold every partial sum: the sweep may stand behind a test,
    and in it tests between its loops."""
    found = combining(subject, (i.Loop, i.If))
    if found is None or not dependences.accumulations(found.sweep):
        return None
    loops = tuple(each.index for each in nodes_in(found.sweep, i.Loop))
    return {**found.roles, "summed": loops} if loops else None


def sweeps(subject: Subject) -> Roles | None:
    """A nest that, for each result, goes through elements in one way or another, and combines
    numbers in its innermost loops by operations that give the same bits in every order."""
    if subject.memory:
        return None
    types = dependences.Locals.of(subject.body).types
    whole = (loop for loop in innermost_loops(subject.body) if not has(loop.body, i.Break))
    joined = [(each.index, dependences.reduction_operations(each, types)) for each in whole]
    ordered = {index for index, operations in joined if operations is None}
    found = dict.fromkeys(
        index
        for index, operations in joined
        if index not in ordered and {"+", "*", "max", "min"} & {*(operations or {}).values()}
    )
    loops = grid(subject.body).loops
    around = tuple(each.index for each in loops if each.index not in found)
    roles = {"outer": around[:-1], "results": around[-1:], "summed": tuple(found)}
    return roles if found else None


# What changes a local otherwise than by accumulating.
LASTING = (i.Assign, i.AddAt, i.SetAt, i.Append)


def ordered_contraction(subject: Subject) -> Roles | None:
    """Rows and columns of a product of matrices of real numbers."""
    products = ordered_products(subject.body, subject.dtypes)
    if products is None or subject.memory or subject.model is not None:
        return None
    if products.wider and not subject.in_part:
        return None
    own = {"rows": (products.rows.loop.index,), "columns": (products.columns.loop.index,)}
    return {"outer": outermost(subject.body), **own}


def ordered_reduction(subject: Subject) -> Roles | None:
    """Each result combines elements by operations whose order counts."""
    found = summed_sweep(subject)
    if found is None or has(found.sweep, i.If):
        return None
    changes = carried(found.sweep)
    sets = (each for each in walk(found.sweep) if isinstance(each, LASTING))
    return None if any(each.name in changes for each in sets) else found.roles


@dataclass(frozen=True, slots=True)
class Summed:
    """A nest that combines elements for each result: the loops around, and the sweep."""

    around: tuple[i.Loop, ...]
    body: i.Block  # of the innermost of those
    sweep: i.Loop | i.If

    @property
    def indices(self) -> tuple[str, ...]:
        return tuple(each.index for each in self.around)

    @property
    def roles(self) -> Roles:
        swept = tuple(each.index for each in grid((self.sweep,)).loops)
        return {
            "outer": self.indices[:-1],
            "results": self.indices[-1:],
            "totals": tuple(sorted(carried(self.sweep))),
            "summed": swept,
        }


def summed_sweep(subject: Subject) -> Summed | None:
    """The sweep of a nest that has one, of loops that run as often for every result."""
    found = combining(subject, (i.Loop,))
    if found is None:
        return None
    varying = assigned(subject.body)
    loops = nodes_in(found.sweep, i.Loop)
    if any(each.low is None or names_in((each.low, each.high)) & varying for each in loops):
        return None
    return found


def combining(subject: Subject, kinds: tuple[type[i.Loop] | type[i.If], ...]) -> Summed | None:
    """The one statement of some kinds that a nest has in its parallel loops, if it accumulates and
    nothing stands in front of it but locals."""
    nest = grid(subject.body)
    parts = [each for each in nest.body if isinstance(each, kinds)]
    if subject.memory or has(nest.body, i.Break) or len(parts) != 1 or not carried(parts[0]):
        return None
    before = nest.body[: nest.body.index(parts[0])]
    return (
        Summed(nest.loops, nest.body, parts[0])
        if all(isinstance(each, i.Let) for each in before)
        else None
    )


OUTER = {"outer": "the loops around everything else"}
ELEMENTS = {**OUTER, "inner": "the innermost loops whose iterations share nothing"}
RESULTS = {
    "outer": "the loops around those over results",
    "results": "the innermost loop over results",
}
SUMS = {
    **RESULTS,
    "totals": "what is accumulated for each result",
    "summed": "the loops over what is combined",
}
FACTORS = {
    "batches": "the indices of both factors",
    "rows": "those of one factor alone",
    "columns": "those of the other, the innermost of the output among them",
    "summed": "the loops of the sum",
}

WINDOWS = {**SUMS, "taps": "the loops over the elements of a window"}

# From particular classes to general ones: a nest takes the first one that knows it and for which
# the target has a schedule.
CLASSES: Mapping[str, Class] = {
    "recurrence": Class(
        "computes each element from those before it along one index", OUTER, recurrence
    ),
    "selection": Class(
        "makes lists whose candidates are tested against the entries before them",
        {
            **OUTER,
            "candidates": "the loop over what may become an entry",
            "entries": "the loop that looks for an entry that rules it out",
        },
        greedy_list,
    ),
    "filtered_list": Class(
        "makes lists of what passes a test",
        {**OUTER, "candidates": "the loop over what may become an entry"},
        filtered_list,
    ),
    "list": Class("makes selected lists", OUTER, made_list),
    "compaction": Class(
        "moves what passes a test behind what passed before it",
        {**OUTER, "candidates": "the loop over what may be moved"},
        compacted,
    ),
    "convolution": Class(
        "sums products of boxes that overlap with an input", WINDOWS | FACTORS, _convolution
    ),
    "channelwise": Class(
        "sums products of two inputs for each of their channels",
        SUMS | FACTORS | {"channels": "the loop over these, of both factors"},
        channelwise,
    ),
    "contraction": Class(
        "sums products of two inputs as a product of matrices does", OUTER | FACTORS, _contracted
    ),
    "separable_window": Class(
        "combines all elements of a box around each result, in any order",
        WINDOWS,
        separable_window,
    ),
    "window": Class("combines elements of a box around each result", WINDOWS, _window),
    "reduction": Class("combines elements in any order", SUMS, reduction_roles),
    "ordered_contraction": Class(
        "sums products of real numbers in their order, as a product of matrices does",
        {
            **OUTER,
            "rows": "the last index of results that one factor alone depends on",
            "columns": "that of the other, behind it",
        },
        ordered_contraction,
    ),
    "ordered_reduction": Class("combines elements in their order", SUMS, ordered_reduction),
    "sweeps": Class(
        "combines elements in any order, in more than one way for each result",
        {**RESULTS, "summed": "the innermost loops over what is combined"},
        sweeps,
    ),
    "listed": Class(
        "has rows up to the length of a list, and others behind them",
        {**OUTER, "rows": "the loop over the rows"},
        list_lengths,
    ),
    "gather": Class("reads at places that elements name", ELEMENTS, _gather),
    "move": Class(
        "moves the elements of a box", {"moved": "the loops over its dimensions"}, moving
    ),
    "elementwise": Class("computes each element by itself", ELEMENTS, elementwise),
    "other": Class("any nest", OUTER, _other),
}
