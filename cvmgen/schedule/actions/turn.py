"""`abreast`, `turn`: results that each combine a run of elements grow side by side."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace

from cvmgen import algebra
from cvmgen.analysis.dependences import Locals, steady_range
from cvmgen.dtypes import DType
from cvmgen.ir import nodes as i
from cvmgen.ir.rewrite import rewritten
from cvmgen.ir.uses import has, names_in, nodes_in
from cvmgen.ir.visit import fresh, replaced, substitute
from cvmgen.schedule.actions.specialise import (
    Version,
    tests,
    trip_names,
    versioned,
    with_steps,
)
from cvmgen.schedule.actions.split import in_blocks, most_iterations
from cvmgen.schedule.forms import Use
from cvmgen.schedule.rewriting import innermost_loops
from cvmgen.schedule.subject import Subject

MOST_LANES = 64
SQUARE = 16  # runs of bytes fill vectors by so many, those of longer elements by fewer


def abreast(subject: Subject, use: Use) -> Subject:
    """A copy of a loop whose iterations sweep over runs: of neighbours in memory, one by one.

    Legal for every loop: the copy runs where that is so and there are enough iterations.
    """
    extents = trip_names(subject.body)

    def runs(loop: i.Loop) -> Version | None:
        sweep = only_sweep(loop)
        if sweep is None:
            return None
        places = own_loads(sweep, loop.index)
        steps = [read_steps(each, (loop.index, sweep.index)) for each in places]
        along = [None if each is None else each[1] for each in steps]
        open_steps = {each.name: i.ONE for each in along if isinstance(each, i.Var)}
        if not along or open_steps.keys() & extents:
            return None
        if any(each != i.ONE and not isinstance(each, i.Var) for each in along):
            return None
        return tests(open_steps), with_steps(loop, open_steps)

    return versioned(subject, use, runs)


def only_sweep(loop: i.Loop) -> i.Loop | None:
    """The loop in a loop that has none in it, where there is one and it only accumulates."""
    last = innermost_loops(loop.body)
    if len(last) != 1 or last[0].low is None:
        return None
    plain = all(isinstance(each, (i.Let, i.Accumulate)) for each in last[0].body)
    return last[0] if plain else None


def own_loads(node: object, index: str) -> list[i.Load]:
    """What is read at places that an index decides."""
    return [each for each in nodes_in(node, i.Load) if index in names_in(each.offset)]


def read_steps(place: i.Load, indices: tuple[str, str]) -> tuple[i.Expr, i.Expr] | None:
    """How far apart neighbouring iterations of two loops read; None where that varies."""
    found = algebra.plane(place.offset, indices)
    return None if found is None else (found.step(indices[0]), found.step(indices[1]))


def turn(subject: Subject, use: Use) -> Subject:
    """Blocks of what a sweep reads for results side by side are turned first: then it reads
    neighbours for neighbours, and each total still meets its elements in their order.

    The loop over results runs over all totals that there is room for; those that are no result
    meet the last run again. Legal where a sweep, one by one, only accumulates in an array of the
    nest, and always reads a run for each result; others stay as they are.
    """
    sweeps, over = set(use.loops(subject, 0)), set(use.loops(subject, 1))
    size, roles = use.number(2), [use.roles(at)[0] for at in (3, 4)]
    used, first = subject.taken, beginnings(subject.body)
    made: list[dict[str, None]] = [{}, {}]
    arrays = Locals.of(subject.body).arrays
    turned: dict[str, int] = {}

    def change(statement: i.Stmt) -> i.Block | None:
        match statement:
            case i.Loop(
                index=index,
                step=1,
                body=(i.Loop(index=lane, body=(i.Store() as store,)) as totals,),
            ) if index in sweeps and lane in over and (lane, store.target.tensor) in first:
                if not turnable(statement, totals, store):
                    return None
                lanes = most_iterations(subject.body, totals)
                if lanes is None or lanes % SQUARE or lanes > MOST_LANES:
                    use.refuse(
                        f"so many runs as fill vectors are turned at once: a multiple of {SQUARE}, "
                        f"up to {MOST_LANES}",
                        f"write: split results by {SQUARE} into group, result",
                    )
                use.room(lanes * size)
                names = [fresh(f"{index}_{role}", used) for role in roles]
                sweep = TotalsLoop(statement, totals, store, lanes)
                blocks = sweep.in_blocks(size, names, subject.dtypes, used)
            case _:
                return None
        if blocks is None:
            return None
        turned[lane] = lanes
        for name, new in zip(names, made, strict=True):
            new[name] = None
        return (blocks,)

    def whole(statement: i.Stmt) -> i.Block | None:
        if not isinstance(statement, i.Loop) or not arrays_begun(statement, arrays):
            return None
        lanes = turned.get(statement.index)
        return None if lanes is None else (replace(statement, high=i.Const(lanes)),)

    body = rewritten(rewritten(subject.body, change), whole)
    return subject.with_body(body).with_roles(
        {role: tuple(names) for role, names in zip(roles, made, strict=True)}
    )


def turnable(loop: i.Loop, totals: i.Loop, store: i.Store) -> bool:
    """Whether a sweep does the same for each total, and asks for nothing that there may not be."""
    whole = totals.low == i.ZERO and totals.step == 1 and steady_range(loop)
    own = isinstance(store.target, i.Load) and store.target.offset == i.Var(totals.index)
    choices = has(store.value, i.Select, i.Logic)
    return whole and own and not choices and loop.index not in names_in((totals.high,))


def beginnings(body: i.Block) -> set[tuple[str, str]]:
    """The loops that do nothing but to give elements of arrays one value, each with its arrays."""
    arrays = Locals.of(body).arrays.keys()
    found = ((loop.index, arrays_begun(loop, arrays)) for loop in nodes_in(body, i.Loop))
    return {(index, array) for index, names in found for array in names}


def arrays_begun(loop: i.Loop, arrays: Collection[str]) -> list[str]:
    """The arrays that a loop begins; none where it does anything else."""
    found = []
    for each in loop.body:
        match each:
            case i.Store(target=i.Load(tensor=tensor, offset=i.Var(name=name)), value=value):
                if name != loop.index or tensor not in arrays:
                    return []
                if not isinstance(value, (i.Const, i.Real)):
                    return []
                found.append(tensor)
            case _:
                return []
    return found


@dataclass(frozen=True, slots=True)
class TotalsLoop:
    """A loop around one over totals, of which there is room for so many in an array."""

    loop: i.Loop
    totals: i.Loop
    store: i.Store
    lanes: int

    def in_blocks(
        self, size: int, names: Sequence[str], dtypes: Mapping[str, DType], used: set[str]
    ) -> i.Loop | None:
        """The sweep as a loop over blocks that turns each before a loop over it; None where what
        it reads for a result is no run."""
        span, piece = self.loop.span, i.Var(names[1])
        blocks = in_blocks(self.loop, size, names[0], names[1], fresh(f"{names[1]}s", used))
        count, within = blocks.body
        assert isinstance(count, i.Let) and isinstance(within, i.Loop)
        (totals,) = within.body
        lane = self.totals.index
        first: dict[str, i.Expr] = {lane: i.ZERO, piece.name: i.ZERO}
        turns: list[i.Stmt] = []
        places: dict[i.Load, i.Load] = {}
        for load in dict.fromkeys(own_loads(totals, lane)):
            if load == self.store.target:
                continue
            steps = read_steps(load, (lane, piece.name))
            if steps is None or steps[1] != i.ONE or load.tensor not in dtypes:
                return None
            array = fresh(f"{load.tensor}_turned", used)
            kind = dtypes[load.tensor].machine
            place = i.Binary("*", piece, i.Const(self.lanes))
            source = replace(load, offset=algebra.simplify(substitute(load.offset, first)))
            places[load] = i.Load(array, None, i.Binary("+", place, i.Var(lane)))
            turns += (
                i.Array(array, kind, self.lanes * size, span),
                i.Turn(
                    i.Load(array, None, i.ZERO),
                    self.lanes,
                    source,
                    steps[0],
                    self.totals.high,
                    i.Var(count.name),
                    span,
                ),
            )
        turned = replaced(totals, lambda each: places.get(each, each))
        assert isinstance(turned, i.Loop)
        within = replace(within, body=(replace(turned, high=i.Const(self.lanes)),))
        return replace(blocks, body=(count, *turns, within)) if turns else None
