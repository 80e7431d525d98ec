"""What the steps of a built model must keep, where all sizes are known.

Each step is looked at by itself. Of the elements that it reads it is known in which range they
are, since every step that stores to a tensor is asked to keep to that range; values of parameters
are looked at when the model is laid out. Tensors that are needed at once lie apart in the memory
of a run.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass

from cvmgen.ir import nodes as i
from cvmgen.ir.text import text
from cvmgen.ir.uses import nodes_in
from cvmgen.model.layouts import Layouts
from cvmgen.model.products import PANEL
from cvmgen.model.stages import Staged
from cvmgen.model.steps import KernelStep
from cvmgen.model.storage import BYTES, workspace_layout
from cvmgen.ranges import Range
from cvmgen.verification import terms as t
from cvmgen.verification.bounds import claims
from cvmgen.verification.contents import know_contents
from cvmgen.verification.floors import of_all, stored_otherwise
from cvmgen.verification.kernels import KernelWalk, Stored
from cvmgen.verification.obligations import BOUNDS, DIVISORS, PROPERTIES, WIDTHS, Obligation
from cvmgen.verification.proofs import Prover
from cvmgen.verification.reading import (
    ELEMENT,
    LIMITS,
    FormulaReader,
    PlaceDemand,
    PlaceScope,
    symbols_of,
)
from cvmgen.verification.symbols import Symbols
from cvmgen.verification.terms import Formula, Term, conjuncts
from cvmgen.verification.totals import range_of, totals

ELEMENTS = "elements"
MEMORY = "memory"
OF_STEPS: Mapping[str, str] = {
    **{name: PROPERTIES[name] for name in (BOUNDS, DIVISORS, WIDTHS)},
    ELEMENTS: "what is stored is in the range that those who read it go by",
    MEMORY: "tensors that are needed at once lie apart, within the memory of a run",
}
NOT_SHOWN = "the ranges of elements and of locals do not show it"
PANEL_BYTES = 4 * PANEL  # for a quad, and for the sums in front


def step_obligations(made: Staged, prover: Prover, names: Collection[str]) -> Iterator[Obligation]:
    """What the steps of a model that have these names must keep."""
    for step in (each for each in made.steps if each.name in names):
        yield from StepProofs(step, made, prover).obligations()


def kept_ranges(step: KernelStep, layouts: Layouts, body: i.Block) -> dict[str, Range]:
    """Of the elements of each tensor, as they are stored, and of the totals of tiles."""
    storage, found = layouts.storage, {}
    for name in step.tensors:
        elements = storage.elements[name]
        known = elements.range
        place = storage.placements[name]
        if place.bordered:
            known = known.join(Range(place.beyond, place.beyond))
        found[name] = Range(known.low + elements.bias, known.high + elements.bias)
    tiles = {tile.panels: tile.total for tile in layouts.tiles.values()}
    return found | {
        each.totals.tensor: tiles[each.panels.tensor] for each in nodes_in(body, i.Tile)
    }


@dataclass
class StepProofs:
    """Proves what a step must keep."""

    step: KernelStep
    made: Staged
    prover: Prover

    def __post_init__(self) -> None:
        subject, storage = self.step.made, self.made.placed.storage
        self.body: i.Block = (*self.step.front, *subject.body)
        self.symbols = Symbols()
        reader = FormulaReader(self.symbols, subject.elements)
        kept = kept_ranges(self.step, self.made.placed, self.body)
        reader.known = {**totals(self.body, subject.elements, kept), **kept}
        self.walk = StepWalk(reader, kept)
        self.walk.block(self.body, PlaceScope())
        asked = symbols_of(reader.demands)
        know_contents(self.symbols, reader.loads, self.walk.stores, self.walk.older, asked)
        self.sizes = {name: t.term(storage.placements[name].size) for name in self.step.tensors}
        self.demands = tuple(reader.demands)

    def obligations(self) -> Iterator[Obligation]:
        for name, span in self.walk.unread:
            demand = PlaceDemand("access", (), name.lower(), span, t.ZERO)
            yield self.obligation(BOUNDS, demand, (), f"what {name} does is not looked at")
        abouts = {"divisor": DIVISORS, "width": WIDTHS, "element": ELEMENTS}
        for each in self.demands:
            if each.kind == "access":
                size = each.length or self.sizes[each.tensor]
                yield self.obligation(BOUNDS, each, claims(((each.operand, size),)))
            else:
                yield self.obligation(abouts[each.kind], each, tuple(conjuncts(each.claim)))
        yield self.memory()

    def obligation(
        self, about: str, demand: PlaceDemand, wanted: tuple[Formula, ...], why: str = ""
    ) -> Obligation:
        wanted = wanted or (t.TRUE,)  # numbers alone
        proofs = tuple(self.prover.prove(self.symbols, demand.path, each) for each in wanted)
        left = any(each.status != "proved" for each in proofs)
        return Obligation(
            *(about, self.step.kernel.operator.full_name, self.step.name, demand.shown),
            *(demand.span, wanted, proofs, self.symbols.meanings),
            why=why or (NOT_SHOWN if left else ""),
        )

    def memory(self) -> Obligation:
        """The tensors that are live while the step runs."""
        storage = self.made.placed.storage
        offsets, whole = workspace_layout(self.made.model, storage)
        at = self.made.steps.index(self.step)
        places = [
            (
                offsets[name],
                offsets[name] + storage.bytes_of(name),
                BYTES[storage.elements[name].type],
            )
            for name in sorted(live(self.made.steps, at) & offsets.keys())
        ]
        ends = [
            t.every(t.at_most(0, t.term(low)), t.at_most(high, t.term(whole)))
            for low, high, _ in places
        ]
        aligned = [t.equal(t.term(low % size), 0) for low, _, size in places]
        apart = [
            t.some(t.at_most(one[1], t.term(two[0])), t.at_most(two[1], t.term(one[0])))
            for number, one in enumerate(places)
            for two in places[:number]
        ]
        shown = f"{len(places)} tensors in {whole} bytes"
        demand = PlaceDemand("memory", (), shown, self.step.kernel.body[0].span, t.ZERO)
        return self.obligation(MEMORY, demand, (*ends, *aligned, *apart))


def live(steps: tuple[KernelStep, ...], at: int) -> set[str]:
    """The tensors that a step, or one before it, stores to, and that it or a later one uses."""
    stored = {name for each in steps[: at + 1] for name in each.written}
    return stored & {name for each in steps[at:] for name in each.tensors}


class StepWalk(KernelWalk):
    """The walk of a step: what is stored is asked to be in the range that is `kept`."""

    def __init__(self, reader: FormulaReader, kept: Mapping[str, Range]) -> None:
        super().__init__(reader)
        self.kept = kept
        self.anywhere = dict(reader.known)
        self.known = reader.known = dict(reader.known)  # at the place at hand

    def statement(self, statement: i.Stmt, scope: PlaceScope) -> PlaceScope:
        """What is known of arrays is less where something else is stored, before an iteration too;
        what is found out on the way is not known behind, for it may not have been gone."""
        self.forget_floors(stored_otherwise(statement))
        before = dict(self.known)
        scope = self.looked_at(statement, scope)
        if isinstance(statement, (i.If, i.Loop)):
            self.forget_floors(name for name in before if self.known[name] != before[name])
        if isinstance(statement, i.Loop):
            self.know_floor(statement)
        return scope

    def forget_floors(self, names: Iterable[str]) -> None:
        self.known.update((name, self.anywhere[name]) for name in names if name in self.known)

    def know_floor(self, loop: i.Loop) -> None:
        lengths = {name: each.value for name, each in self.lengths.items()}
        found = of_all(loop, lengths)
        if found is not None and found.array in self.known:
            least = range_of(found.value, self.reader.elements, self.known)
            now = self.anywhere[found.array]
            low, high = max(now.low, least.low), min(now.high, least.high)
            above = Range(low, now.high) if found.word == "max" else Range(now.low, high)
            self.known[found.array] = above

    def looked_at(self, statement: i.Stmt, scope: PlaceScope) -> PlaceScope:
        match statement:
            case i.Store(target=i.Load(tensor=tensor), value=value) if tensor in self.kept:
                self.keeps(tensor, value, scope)
            case i.Fill(target=target, value=value) if target.tensor in self.kept:
                self.keeps(target.tensor, value, scope)
            case i.Copy(target=target, source=source) | i.Slide(target=target, source=source):
                self.moves(source.tensor, target.tensor, scope)
            case i.Tile():
                self.tile(statement, scope)
                return scope
            case i.Sort():
                self.sort(statement, scope)
                return scope
            case _:
                pass
        return super().statement(statement, scope)

    def keeps(self, tensor: str, value: i.Expr, scope: PlaceScope) -> None:
        """A conversion keeps what lies in the range, which its type holds."""
        inner = value.operand if isinstance(value, i.Convert) else value
        with self.reader.quiet():
            stored = self.reader.integer(inner, scope)
        self.demand("element", f"{tensor} = {text(value)}", scope, self.inside(stored, tensor))

    def inside(self, value: Term, tensor: str) -> Formula:
        low, high = self.limits(tensor)
        return t.every(t.at_most(low, value), t.at_most(value, high))

    def limits(self, tensor: str) -> tuple[int, int]:
        kind = self.reader.elements.get(tensor, "i64")
        found = self.kept.get(tensor, Range(*LIMITS[kind]))
        return found.low, found.high

    def moves(self, source: str, target: str, scope: PlaceScope) -> None:
        if target in self.kept:
            ends = [self.inside(t.term(each), target) for each in self.limits(source)]
            self.demand("element", f"{target} from {source}", scope, t.every(*ends))

    def demand(self, kind: str, shown: str, scope: PlaceScope, claim: Formula) -> None:
        span = self.reader.span
        self.reader.demands.append(PlaceDemand(kind, scope.path, shown, span, t.ZERO, claim=claim))

    def iteration(self, loop: i.Loop, index: Term, low: Term, scope: PlaceScope) -> PlaceScope:
        """An entry of a list in memory is one of the elements that were stored there."""
        match loop.high:
            case i.Entries(first=i.Load(tensor=tensor) as first, length=length):
                at, inner = self.within_count(self.reader.integer(length, scope), scope)
                self.part(first, at, inner)
                entry = self.reader.unknown(loop.index, ELEMENT, "i64", tensor)
                scope.names[loop.index] = entry
                return scope
            case _:
                return super().iteration(loop, index, low, scope)

    # ------------------------------------------------------------ tiles, sorting

    def tile(self, tile: i.Tile, scope: PlaceScope) -> None:
        """A block of totals, as cvmgen_tile.h says what it reads and writes."""
        reader = self.reader
        rows, panels = (reader.integer(each, scope) for each in (tile.row_count, tile.panel_count))
        row, each_row = self.within_count(rows, scope)
        self.part(tile.rows, row, each_row)
        start = reader.unknown(f"{tile.rows.tensor}[]", ELEMENT, "i64")
        (name,) = start.names
        reader.loads[name] = tile.rows.tensor
        run = reader.symbols.within("run", min(tile.runs), max(tile.runs), "")
        byte, each_byte = self.within_count(t.term(4 * tile.quads), each_row)
        self.part(tile.data, start + run + byte, each_byte)
        packed, each_packed = self.within_count(panels * (PANEL_BYTES * (tile.quads + 1)), scope)
        self.part(tile.panels, packed, each_packed)
        column, each_total = self.within_count(panels * PANEL, each_row)
        far, near = (column, row) if tile.turned else (row, column)
        self.part(tile.totals, far * tile.step + near, each_total, stored=True)
        name = tile.totals.tensor
        total = reader.unknown("total", ELEMENT, "i32", name)
        self.stores.setdefault(name, []).append(Stored(total, scope.path))
        low, high = LIMITS["i32"]
        ends = [t.term(each) for each in self.limits(name)]
        fits = [t.every(t.at_most(low, each), t.at_most(each, high)) for each in ends]
        self.demand("width", f"totals of {tile.panels.tensor}", scope, t.every(*fits))

    def sort(self, sort: i.Sort, scope: PlaceScope) -> None:
        """Entries with their keys, and memory for twice as many."""
        count = self.reader.integer(sort.entries.length, scope)
        wanted = ((sort.entries.first, 1), (sort.keys, sort.width), (sort.spare, 2))
        for place, times in wanted:
            at, inner = self.within_count(count * times, scope)
            self.part(place, at, inner, stored=place is not sort.keys)

    def part(
        self, place: i.Access | i.Load, at: Term, scope: PlaceScope, *, stored: bool = False
    ) -> None:
        """An element so far behind a place."""
        assert isinstance(place, i.Load)
        offset = self.reader.integer(place.offset, scope) + at
        shown = f"{place.tensor} from {text(place.offset)} on"
        self.reader.touch(place.tensor, offset, scope, shown, stored=stored)
