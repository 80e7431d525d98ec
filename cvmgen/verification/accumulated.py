"""Sums that a kernel adds up: ranges for all sizes, by how often something is added.

A local, or an element of an array of the kernel's own, is always one of the values that it was set
to, plus some of what was added to it since it was declared. A place that adds a value does so at
most as often as the loops run that stand between it and the declaration. Where a loop's end does
not change while it runs and its index is below that end, it makes no more than

    (high - low + step - 1) / step

iterations, and of loops in each other no more than the greatest product of these at any place that
adds: the sum over one loop is no more than its iterations times the greatest of what is inside. The
greatest product is found by what is known of sizes. With a <= value <= b at the place, whatever was
added there so far lies between min(0, a) and max(0, b) times that, in any order, by several threads
as well, each of which adds up a part.

A sum without a sign is right modulo 2^bits, and so is what it is converted to; where the exact sum
lies in the signed type, that is what the conversion gives.

That an element was set before it is read is an assumption here, as in `contents.py`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice
from itertools import product as combinations
from math import prod

from cvmgen.ir import nodes as i
from cvmgen.ir.uses import carried, names_in, nodes_in, stored_tensors
from cvmgen.ranges import Range, plus, times
from cvmgen.typing.agreement import REALS
from cvmgen.verification import terms as t
from cvmgen.verification.contexts import Context
from cvmgen.verification.floors import Extreme, own_extreme
from cvmgen.verification.range_facts import RangeFacts, within
from cvmgen.verification.ranges import ProductRanges
from cvmgen.verification.reading import LIMITS, FormulaReader, PlaceScope
from cvmgen.verification.symbols import Symbols
from cvmgen.verification.terms import Formula, Monomial, Term, product

Path = tuple[Formula, ...]
NOTHING = Range(0, 0)
MOST_WAYS = 16  # to say how long loops are
SIGNED = {**{each: each for each in ("i32", "i64", "i128")}, "u32": "i32", "u64": "i64"}
"""The types of sums, each with the one that its exact values are asked for in."""


@dataclass(frozen=True, eq=False)
class Trip:
    """A loop around a place: its index, how far its end is from its begin, which is None if that
    changes while it runs, and its step; whether it begins at a number."""

    index: str
    length: Term | None
    step: int
    plain: bool


@dataclass(frozen=True)
class Added:
    """A value that a place sets or adds, what holds there, and the loops between the declaration
    and the place whose iterations come to one element again."""

    value: Term
    path: Path
    trips: tuple[Trip, ...] = ()


@dataclass(eq=False)
class Sum:
    """A local or an array since its declaration; `symbols` stand for what it holds at some place,
    `left` for that something else is done with it."""

    kind: str
    depth: int
    sets: list[Added] = field(default_factory=list)
    adds: list[Added] = field(default_factory=list)
    symbols: list[Term] = field(default_factory=list)
    left: bool = False


class Sums:
    """What a walk meets of sums: `now` are those that names stand for at hand."""

    def __init__(self, reader: FormulaReader) -> None:
        self.reader = reader
        self.all: list[Sum] = []
        self.now: dict[str, Sum] = {}
        self.names: frozenset[str] = frozenset()  # of what is added to, and of arrays
        self.trips: list[Trip] = []
        self.copies: dict[str, tuple[i.Load, Sum, tuple[Trip, ...]]] = {}  # of elements, by locals

    def begin(self, body: i.Block) -> None:
        """A block that no other one is around."""
        if not self.trips:
            self.names |= {each.name for each in nodes_in(body, i.Accumulate)}
            self.names |= {each.name for each in nodes_in(body, i.Array)}

    def enter(self, loop: i.Loop, low: Term, scope: PlaceScope) -> None:
        """A loop, behind whose begin an iteration has this scope."""
        length = None
        if loop.low is not None and names_in(loop.high).isdisjoint(carried(loop.body)):
            with self.reader.quiet():
                length = self.reader.integer(loop.high, scope) - low
        self.trips.append(Trip(loop.index, length, loop.step, low.value is not None))

    def declare(self, name: str, kind: str) -> None:
        self.now.pop(name, None)
        self.reader.standing.pop(name, None)
        if kind in SIGNED and name in self.names:
            self.now[name] = made = Sum(kind, len(self.trips))
            self.reader.standing[name] = made.symbols
            self.all.append(made)

    def meet(self, statement: i.Stmt, scope: PlaceScope) -> None:
        """What a statement does, in front of it."""
        match statement:
            case i.Let(name=name, type=kind, value=value):
                self.declare(name, kind)
                self.set(name, value, scope)
                self.copy(name, value)
            case i.Array(name=name, type=kind):
                self.declare(name, kind)
            case i.Assign(name=name, value=value):
                self.set(name, value, scope)
            case i.Accumulate(name=name, op="+", value=value):
                self.add(name, value, scope, tuple(self.trips))
            case i.Accumulate(name=name, op="max" | "min", value=value):
                self.set(name, value, scope)
            case i.Accumulate(name=name):
                self.leave(name)
            case i.Store(target=i.Load(tensor=name) as place, value=value) if name in self.now:
                self.store(place, value, own_extreme(statement), scope)
            case i.Fill(target=i.Load(tensor=name), value=value):
                self.set(name, value, scope)
            case i.Loop() | i.If() | i.Store():
                pass
            case _:
                for name in stored_tensors((statement,)) & self.now.keys():
                    self.leave(name)

    def store(
        self, place: i.Load, value: i.Expr, extreme: Extreme | None, scope: PlaceScope
    ) -> None:
        own, around = self.now[place.tensor], again(place.offset, tuple(self.trips))
        match value:
            case i.Binary(op="+", left=left, right=right) if left == place:
                self.add(place.tensor, right, scope, around)
            case i.Var(name=name) if self.is_copy(name, place):
                copy = self.now[name]
                inside = tuple(each for each in around if each in self.trips[own.depth :])
                own.adds += [replace(e, trips=(*inside, *e.trips)) for e in copy.adds]
                own.left = own.left or copy.left or len(copy.sets) > 1
            case _:
                self.set(place.tensor, extreme.value if extreme else value, scope)

    def copy(self, name: str, value: i.Expr) -> None:
        """A local that goes on with the sum of an element, whose place does not change meanwhile:
        it may be put back there, with all that was added to it."""
        self.copies.pop(name, None)
        own = self.now.get(name)
        match value:
            case i.Load(tensor=tensor, offset=offset) if own and tensor in self.now:
                fixed = names_in(offset) <= {each.index for each in self.trips}
                if fixed and own.kind == self.now[tensor].kind:
                    self.copies[name] = (value, self.now[tensor], tuple(self.trips))
            case _:
                pass

    def is_copy(self, name: str, place: i.Load) -> bool:
        known = self.copies.get(name)
        return known == (place, self.now[place.tensor], tuple(self.trips)) and name in self.now

    def leave(self, name: str) -> None:
        if name in self.now:
            self.now[name].left = True

    def set(self, name: str, value: i.Expr, scope: PlaceScope) -> None:
        if name in self.now:
            self.now[name].sets += self.read(self.now[name], value, scope, ())

    def add(self, name: str, value: i.Expr, scope: PlaceScope, trips: tuple[Trip, ...]) -> None:
        if name in self.now:
            own = self.now[name]
            around = tuple(each for each in trips if each in self.trips[own.depth :])
            own.adds += self.read(own, value, scope, around)

    def read(
        self, own: Sum, value: i.Expr, scope: PlaceScope, trips: tuple[Trip, ...]
    ) -> Iterator[Added]:
        """A value as it is, or but for multiples of what an unsigned type counts to."""
        plain = value if SIGNED[own.kind] == own.kind else self.exact(value, own.kind)
        if plain is None:
            own.left = True
            return
        with self.reader.quiet():
            yield Added(self.reader.integer(plain, scope), scope.path, trips)

    def exact(self, value: i.Expr, kind: str) -> i.Expr | None:
        """What arithmetic without a sign computes, but for multiples of 2^bits: the same of the
        integers that are converted; of a sum, what the signed type makes of it."""
        found = self.reader.kind(value)
        if found != kind:  # it is converted as it is
            return None if found in REALS or found == "u64" else value
        match value:
            case i.Convert(operand=operand):
                return self.exact(operand, kind)
            case i.Binary(op="+" | "-" | "*", left=left, right=right):
                one, other = self.exact(left, kind), self.exact(right, kind)
                if one is None or other is None:
                    return None
                return replace(value, left=one, right=other)
            case i.Var(name=name) | i.Load(tensor=name) if name in self.now:
                return i.Convert(SIGNED[kind], value) if self.now[name].kind == kind else None
            case _:
                return None


def know_sums(symbols: Symbols, several: Sequence[Sum], sizes: Path) -> None:
    """Axioms of the symbols of sums, of inner ones first: what is added may be made of those."""
    facts = RangeFacts(symbols, Context(ProductRanges({}, whole=True)))
    for each in (*reversed(several), *reversed(several)):  # some go on with others
        if not each.symbols or each.left:
            continue
        facts.contexts.begin_anew()
        found, (low, high) = _range_of(facts, each, sizes), LIMITS[SIGNED[each.kind]]
        if found is None or found.high < low or high < found.low:
            continue
        if each.kind != SIGNED[each.kind] and not (low <= found.low and found.high <= high):
            continue  # it may have wrapped
        inside = Range(max(low, found.low), min(high, found.high))
        for symbol in each.symbols:
            symbols.know(symbol, within(symbol, inside))


def _range_of(facts: RangeFacts, one: Sum, sizes: Path) -> Range | None:
    found: Range | None = None
    for each in one.sets:
        value = facts.of(each.value, (*each.path, *sizes))
        if value is None:
            return None
        found = value if found is None else found.join(value)
    for each in one.adds:
        path = (*each.path, *sizes)
        value, often = facts.of(each.value, path), how_often(facts, each.trips, path)
        if value is None or often is None:
            return None
        found = plus(found or NOTHING, times(value.join(NOTHING), Range(0, often)))
    return found


def how_often(facts: RangeFacts, trips: Sequence[Trip], path: Path) -> int | None:
    """How often loops run at most, whose ends are known at a place inside of them all."""
    lengths, steps = list[tuple[Term, ...]](), 1
    for each in trips:
        if each.length is None:
            return None
        known = facts.contexts.known(path, each.length)
        lengths.append((each.length, *no_less(known, known.resolved(each.length))))
        steps *= each.step
    ends = [each.step - 1 for each in trips]
    found = (
        most_of(facts, product(e + end for e, end in zip(way, ends, strict=True)), path)
        for way in islice(combinations(*lengths), MOST_WAYS)
    )
    bounds = [each for each in found if each is not None]
    return min(bounds) // steps if bounds else None


def no_less(known: ProductRanges, length: Term) -> Iterator[Term]:
    """What facts say that a multiple of a symbol is no more than."""
    match length.parts:
        case (((name,), number),):
            for fact in known.of(name):
                factor = -fact.poly.get((name,), 0)
                rest = fact + t.symbol(name) * factor
                if factor > 0 and number > 0 and number % factor == 0 and name not in rest.names:
                    yield rest * (number // factor)
        case _:
            pass


def most_of(facts: RangeFacts, whole: Term, path: Path) -> int | None:
    """The greatest value of a sum of products whose symbols are not negative."""
    known = facts.contexts.known(path, whole)
    most = 0
    for monomial, number in known.resolved(whole).parts:
        found = _greatest(known, monomial) if number > 0 else 0
        if found is None or any(known.low.get(name, -1) < 0 for name in monomial):
            return None
        most += number * found
    return most


def _greatest(known: ProductRanges, monomial: Monomial) -> int | None:
    """The greatest value of a product of symbols that are not negative: by their ranges, or by a
    product of more that is bounded, in which the others are at least 1."""
    highs = [known.high.get(name) for name in monomial]
    found = None if None in highs else prod(each for each in highs if each is not None)
    own = Counter(monomial)
    for larger, most in known.products.items():
        shared = own & Counter(larger)
        others = [known.low.get(name, 0) for name in (Counter(larger) - shared).elements()]
        left = [known.high.get(name) for name in (own - shared).elements()]
        if shared and min(others, default=1) >= 1 and None not in left:
            bound = most // prod(others) * prod(each for each in left if each is not None)
            found = bound if found is None else min(found, bound)
    return found


def again(offset: i.Expr, trips: tuple[Trip, ...]) -> tuple[Trip, ...]:
    """The loops that come to an element again whose place is an index; or an index of blocks and
    one in the block, which is no longer than the step."""
    names = list(_indices(offset))
    own = {each.index: each for each in trips}
    several = [own[name] for name in names if name in own]
    if len(set(names)) == len(names) == len(several) <= 2 and _apart(several):
        return tuple(each for each in trips if each not in several)
    return trips


def _indices(offset: i.Expr) -> Iterator[str]:
    """The names of a sum of names; one that is none for what is something else."""
    match offset:
        case i.Var(name=name):
            yield name
        case i.Binary(op="+", left=left, right=right):
            yield from _indices(left)
            yield from _indices(right)
        case _:
            yield ""


def _apart(several: list[Trip]) -> bool:
    """Whether iterations of loops have different sums of indices."""
    if len(several) < 2:
        return True
    blocks, inner = sorted(several, key=lambda each: -each.step)
    length = None if inner.length is None else inner.length.value
    return inner.plain and length is not None and length <= blocks.step
