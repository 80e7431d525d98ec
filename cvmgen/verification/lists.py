"""Lists of the host as obligations see them: their sizes, lengths and entries as symbols.

A list has a rank that only the call knows. What is said of it holds for all ranks: the size of a
box is the product of its entries, so that of a part, an entry and the rest behind it; and merging
dimensions keeps it.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import dataclass, field, replace

from cvmgen.dtypes import LIST_CAPACITY
from cvmgen.verification import terms as t
from cvmgen.verification.symbols import LISTED, Symbols
from cvmgen.verification.terms import Formula, Term, term_text

At = Callable[[Term], Term]
Of = Callable[[Term], Formula]


@dataclass(frozen=True, eq=False)
class KnownList:
    """What is known of a list at every index, asked for where it is needed: its `entry` there, and
    what `holds` of a value that is one of its entries; if that is `exact`, such a value is one."""

    length: Term | None = None
    entry: At | None = None
    holds: Of | None = None
    exact: bool = False
    distinct: bool = False  # no two entries are equal


NOTHING = KnownList()


@dataclass(frozen=True)
class List:
    """A list by what it is called; `parts` are its entries and lists that are spread in it, where
    it is written out, `least` is a bound of all entries, of extents. It may be the strides of a
    box, or a shape that is `given`, of which any entries can be. `steps` are what its entries are
    sums of, strides of a tensor; `before` is what it was before dimensions were merged."""

    name: str
    parts: tuple[Term | List, ...] | None = None
    least: int | None = None
    strides_of: List | None = None
    given: bool = False
    known: KnownList = field(default=NOTHING, compare=False)
    steps: tuple[Steps, ...] | None = field(default=None, compare=False)
    before: List | None = field(default=None, compare=False)
    halves: tuple[List, List] | None = field(default=None, compare=False)  # of a box, by factors


@dataclass(frozen=True)
class StepChange:
    """What is added to the step of dimension `at` of a box, or to a base: so many `times` the
    stride of dimension `to` of the tensor whose shape is `of`, where `tests` hold."""

    tests: Formula
    at: Term
    times: Term
    of: List
    to: Term


@dataclass(frozen=True, eq=False)
class Steps:
    """A piece for each position of some loops, one in the other: `inside` says where these are,
    `place` which statements add it: what they add to the base belongs to it."""

    names: tuple[str, ...]
    inside: Callable[[tuple[Term, ...]], Formula]
    piece: Callable[[tuple[Term, ...]], StepChange]
    place: Hashable


@dataclass(frozen=True)
class RowWalk:
    """The offset of a row of a box that is walked by steps."""

    row: Term
    box: List
    steps: List


class ListTerms:
    """What is known of lists, as terms."""

    def __init__(self, symbols: Symbols) -> None:
        self.symbols = symbols
        self.walks: dict[str, RowWalk] = {}
        self.bases: set[str] = set()  # values of the host that walks may begin at
        self.splits: dict[tuple[Term, Term], tuple[tuple[Term, ...], Formula]] = {}
        self.asked: dict[str, dict[Term, Term]] = {}  # entries, by list and index
        self.read: dict[Term, tuple[List, Term]] = {}  # by entries, lists and indices
        self.sought: dict[str, list[tuple[Term, t.TruthSymbol]]] = {}  # values, by list

    def unknown(self, name: str, least: int | None = None) -> List:
        return List(self.symbols.named(name), None, least)

    def listed(self, parts: tuple[Term | List, ...]) -> List:
        shown = (term_text(each) if isinstance(each, Term) else f"{each.name}..." for each in parts)
        return List(f"({', '.join(shown)})", parts)

    def part(self, whole: List, low: Term | None, high: Term | None) -> List:
        if low is None and high is not None:
            self.split(whole, high)
        if high is None and low is not None:
            self.split(whole, low - 1)
        return self.plain_part(whole, low, high)

    def plain_part(self, whole: List, low: Term | None, high: Term | None) -> List:
        ends = ("" if each is None else term_text(each) for each in (low, high))
        name = f"{whole.name}[{':'.join(ends)}]"
        known = KnownList(entry=lambda at: self.entry(whole, at + (low or 0)))
        found = List(name, None, whole.least, given=whole.given, known=known)
        if (low is None) != (high is None):
            end = low if high is None else high
            assert end is not None
            count = self.length(whole) - end if high is None else end
            inside = t.every(t.at_most(0, end), t.at_most(end, self.length(whole)))
            made = self.length(found)
            self.symbols.know(made, t.implies(inside, t.equal(made, count)))
        return found

    def list_at(self, whole: List, at: Term) -> List:
        """An entry of a list of lists."""
        return List(f"{whole.name}[{term_text(at)}]", None, whole.least)

    def entry(self, whole: List, at: Term) -> Term:
        if whole.parts is not None and at.value is not None:
            before = whole.parts[: at.value + 1]
            if len(before) > at.value >= 0 and all(isinstance(each, Term) for each in before):
                found = before[-1]
                assert isinstance(found, Term)
                return found
        if whole.strides_of is not None:
            return self.size(self.part(whole.strides_of, at + 1, None))
        made = self.symbol(f"{whole.name}[{term_text(at)}]", whole)
        asked = self.asked.setdefault(whole.name, {})
        if at not in asked:
            others, asked[at] = tuple(asked.items()), made
            self.read[made] = whole, at
            self.symbols.know(made, *self.of_entry(whole, at, made, others))
        return made

    def index_of(self, whole: List, value: Term) -> Term:
        """Where a value stands in a list, if it does."""

        def made() -> Term:
            at = self.symbols.fresh("at", f"where {term_text(value)} is in {whole.name}", LISTED)
            there = t.every(self.inside(whole, at), t.equal(self.entry(whole, at), value))
            self.symbols.know(at, t.implies(self.member(whole, value), there))
            return at

        return self.symbols.once(("at", whole.name, value), made)

    def of_entry(
        self, whole: List, at: Term, made: Term, others: tuple[tuple[Term, Term], ...]
    ) -> list[Formula]:
        """An entry is what its list has there: the same at the same index, of a set there alone."""
        inside = self.inside(whole, at)
        found = [t.implies(t.equal(at, other), t.equal(made, same)) for other, same in others]
        if whole.known.distinct:
            for other, same in others:
                both = t.every(inside, self.inside(whole, other), t.equal(made, same))
                found.append(t.implies(both, t.equal(at, other)))
        if whole.known.entry is not None:
            found.append(t.implies(inside, t.equal(made, whole.known.entry(at))))
        elif whole.known.holds is not None:
            found.append(t.implies(inside, self.member(whole, made)))
        return [each for each in found + self.of_parts(whole, at, made) if each != t.TRUE]

    def of_parts(self, whole: List, at: Term, made: Term) -> list[Formula]:
        """An entry of a list that is written out is one of those there."""
        found: list[Formula] = []
        first = t.ZERO
        for each in whole.parts or ():
            rest = at - first
            if isinstance(each, List):
                value, inside = self.entry(each, rest), self.inside(each, rest)
                first = first + self.length(each)
            else:
                value, inside = each, t.equal(rest, 0)
                first = first + 1
            found.append(t.implies(inside, t.equal(made, value)))
        return found

    def inside(self, whole: List, at: Term) -> Formula:
        return t.every(t.at_most(0, at), t.below(at, self.length(whole)))

    def member(self, whole: List, value: Term) -> Formula:
        """Whether a value is an entry of a list; of one that is written out, equal to one there."""
        if whole.parts is not None:
            return t.some(
                *(
                    self.member(each, value) if isinstance(each, List) else t.equal(value, each)
                    for each in whole.parts
                )
            )
        key = ("in", whole.name, value)
        if key not in self.symbols.made:
            made = self.symbols.fresh_truth(f"{term_text(value)} in {whole.name}", LISTED)
            itself = self.symbols.made[key] = t.symbol(made.name)
            others = self.sought.setdefault(whole.name, [])
            for other, there in others:
                same = t.some(t.every(made, there), t.every(t.negation(made), t.negation(there)))
                self.symbols.know(itself, t.implies(t.equal(value, other), same))
            others.append((value, made))
            if (holds := whole.known.holds) is not None:
                says = holds(value)
                self.symbols.know(itself, t.implies(made, says))
                if whole.known.exact:
                    self.symbols.know(itself, t.implies(says, made))
        (name,) = self.symbols.made[key].names
        return t.TruthSymbol(name)

    # ------------------------------------------------------------ lists made of others

    def difference(self, whole: List, less: List) -> List:
        """The set of what is in one and not in the other."""

        def holds(value: Term) -> Formula:
            return t.every(self.member(whole, value), t.negation(self.member(less, value)))

        known = KnownList(None, None, holds, exact=True, distinct=whole.known.distinct)
        return List(self.symbols.named("difference"), known=known)

    def choice(self, test: Formula, one: List, other: List) -> List:
        """One list, or the other one."""

        def holds(value: Term) -> Formula:
            return t.some(
                t.every(test, self.member(one, value)),
                t.every(t.negation(test), self.member(other, value)),
            )

        def entry(at: Term) -> Term:
            return self.symbols.choice(test, self.entry(one, at), self.entry(other, at))

        length = self.symbols.choice(test, self.length(one), self.length(other))
        both = one.known.distinct and other.known.distinct
        known = KnownList(length, entry, holds, exact=True, distinct=both)
        return List(self.symbols.named("chosen"), known=known)

    def repeated(self, value: int, count: Term) -> List:
        """The same entry so many times; steps that are 0 are sums of nothing."""
        known = KnownList(self.symbols.extreme("max", count, t.ZERO), lambda _: t.term(value))
        steps = () if value == 0 else None
        return List(self.symbols.named("repeated"), least=value, known=known, steps=steps)

    def divided(self, box: List, factors: List) -> List:
        """Each dimension as two: what a factor leaves of it, and the factor."""

        def entry(at: Term) -> Term:
            half, odd = _halved(at)
            if half is None:
                return self.symbols.within("entry", None, None, LISTED)
            factor = self.entry(factors, half)
            return factor if odd else self.symbols.truncdiv(self.entry(box, half), factor)

        known = KnownList(self.length(box) * 2, entry)
        return List(self.symbols.named("split"), known=known, halves=(box, factors))

    def unflattened(self, place: Term, box: List) -> List:
        """The indices of a place of a box: each is below its extent where the place is one."""
        there = t.every(t.at_most(0, place), t.below(place, self.size(box)))

        def entry(at: Term) -> Term:
            def made() -> Term:
                index = self.symbols.fresh("index", f"of dimension {term_text(at)}")
                within = t.every(t.at_most(0, index), t.below(index, self.entry(box, at)))
                inside = t.every(there, self.inside(box, at))
                self.symbols.know(index, t.implies(inside, within))
                return index

            return self.symbols.once(("unflatten", place, box.name, at), made)

        known = KnownList(self.length(box), entry)
        return List(f"unflatten({term_text(place)}, {box.name})", known=known)

    def shape(self, name: str, found: List, least: int) -> List:
        """A list that was checked to be the shape of a tensor."""
        if found.known is NOTHING:
            return replace(found, least=least if found.least is None else found.least)
        known = replace(found.known, entry=lambda at: self.entry(found, at), holds=None)
        known = replace(known, length=self.length(found), exact=False)
        made = List(self.symbols.named(name), None, least, known=known)
        self.symbols.know(self.size(made), t.equal(self.size(made), self.size(found)))
        return made

    def strides(self, box: List) -> List:
        """How far apart neighbours of each dimension lie: the size of all dimensions behind."""
        return List(f"strides({box.name})", strides_of=box)

    def symbol(self, name: str, of: List) -> Term:
        def made() -> Term:
            return self.symbols.within(name, of.least, None, "" if of.given else LISTED)

        return self.symbols.once(("list", name), made)

    def measure(self, function: str, whole: List) -> Term:
        match function:
            case "len":
                return self.length(whole)
            case "size":
                return self.size(whole)
            case _:
                return self.row_or_last(function, whole)

    def length(self, whole: List) -> Term:
        if whole.parts is not None:
            counts = (
                self.length(each) if isinstance(each, List) else t.ONE for each in whole.parts
            )
            return sum(counts, t.ZERO)
        if whole.known.length is not None:
            return whole.known.length
        made = self.symbol(f"len({whole.name})", List(whole.name, None, 0, given=whole.given))
        self.symbols.know(made, t.at_most(made, LIST_CAPACITY))
        return made

    def size(self, whole: List) -> Term:
        if whole.parts is not None:
            sizes = (self.size(each) if isinstance(each, List) else each for each in whole.parts)
            return t.product(sizes)
        if whole.name.endswith("[:0]"):
            return t.ONE
        return self.symbol(f"size({whole.name})", whole)

    def row_or_last(self, function: str, whole: List) -> Term:
        """The last entry of a list, and the product of the others."""
        last = self.symbol(f"last({whole.name})", whole)
        rows = self.symbol(f"rows({whole.name})", whole)
        if whole.least is not None:
            self.symbols.know(rows * last, t.equal(rows * last, self.size(whole)))
        return rows if function == "rows" else last

    def split(self, whole: List, at: Term) -> None:
        """The size of a box by the entry at a place of it, those in front and those behind."""
        front, back = (self.plain_part(whole, *ends) for ends in ((None, at), (at + 1, None)))
        parts = (self.size(front), self.entry(whole, at), self.size(back))
        inside = t.every(t.at_most(0, at), t.below(at, self.length(whole)))
        self.splits[self.size(whole), at] = (parts, inside)
        ends = t.every(inside, t.equal(self.length(whole), at + 1))
        self.symbols.know(parts[-1], t.implies(ends, t.equal(parts[-1], 1)))
        found = t.equal(t.product(parts), self.size(whole))
        for each in parts:
            self.symbols.know(each, t.implies(inside, found))

    def walk_offset(self, row: Term, box: List, steps: List) -> Term:
        """Where a row of a box begins that is walked by steps."""
        key: Hashable = ("walk", row, box.name, steps.name)
        return self.symbols.once(key, lambda: self.new_walk(RowWalk(row, box, steps)))

    def new_walk(self, walk: RowWalk) -> Term:
        shown = f"walk_offset({term_text(walk.row)}, {walk.box.name}, {walk.steps.name})"
        made = self.symbols.fresh("walk", shown, vague=WALKS)
        (name,) = made.names
        self.walks[name] = walk
        return made


def _halved(at: Term) -> tuple[Term | None, bool]:
    """Half of an index that is known to be even or odd, and which of them it is."""
    odd = at.poly.get((), 0) % 2 == 1
    rest = at - int(odd)
    if any(number % 2 for _, number in rest.parts):
        return None, odd
    return t.term_of({monomial: number // 2 for monomial, number in rest.parts}), odd


WALKS = "a box of any rank is walked by steps"
