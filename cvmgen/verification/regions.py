"""That each element of a tensor is written, and none twice: by induction over a kernel's loops.

A region is a box of elements, low <= index < high along each dimension of the tensor, with ends
that are known where it stands, and low <= high. It says: what stands there writes each element of
the box, once, and no other. Regions are put together from the innermost statement outwards.

A run of elements is the box of its digits (`bounds.py`). Digits that lie in their dimensions are
one element each, and the last claim is that the whole is the box of the tensor's own extents.

A loop moves a region along one dimension; along the others it must not depend on the iteration.
With [low(i), high(i)) in iteration i, of those from L on by steps of s below H, claimed is
  low(L) = A where there is an iteration;
  high(i) = low(i + s) where both are made;
  high(i) = B where i + s is no longer made;
  A = B where there is none.
By induction over the iterations these write [A, low(i + s)) once each, and in the end [A, B). Where
high(i) >= low(i + s) alone holds, and neither end goes back, all of [A, B) is written, some of it
`again`. A and B are guessed, and the guess is proved like anything else: with the first index and
the end of the loop put in, and with the values that a minimum, a maximum or a choice can have.

A loop that writes from where a local stands when an iteration begins to where it stands when that
ends writes, all in all, from its first value to that behind the loop. If an iteration writes more,
that is written again.

Two statements, one behind the other: boxes that agree along all dimensions but one, and in that
one the first ends where the other begins, are one box. A branch writes the box whose ends are those
of either way. Where nothing is written on one way, the box ends there where it begins.

A list has rows of its own lengths, each stored beside the row: there a row's box ends at `length`,
which stands for it in the extents of the tensor. So do rows of memory of which a part is filled, up
to ends that do not fall from row to row.

So an element that is left out, or written again by another iteration, leaves an equation that does
not hold. That indices lie within their types is an obligation of its own (`widths`).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations

from cvmgen.verification import terms as t
from cvmgen.verification.bounds import Shape, divided
from cvmgen.verification.contents import copies
from cvmgen.verification.ranges import replaced
from cvmgen.verification.symbols import Symbols
from cvmgen.verification.terms import Formula, Term
from cvmgen.verification.writes import (
    Path,
    Written,
    WrittenBox,
    WrittenEither,
    WrittenInTurn,
    WrittenLoop,
    WrittenRun,
    tensors_of,
)

Side = tuple[Term, Term]
Claim = tuple[Path, Formula]
WORDS = re.compile(r"[\w'.()]+")
NEAR = 2  # steps from the symbols of a claim to facts
DEPTH = 3  # of minima in each other, of which each value is tried


class UnclearError(Exception):
    """Why it is not known what is written."""


@dataclass(frozen=True)
class ElementBox:
    """A box of elements; some of them may be written `again`."""

    sides: tuple[Side, ...]
    again: bool = False

    @property
    def names(self) -> frozenset[str]:
        return frozenset().union(*(low.names | high.names for low, high in self.sides))

    def with_side(self, at: int, low: Term, high: Term, *, again: bool = False) -> ElementBox:
        sides = (*self.sides[:at], (low, high), *self.sides[at + 1 :])
        return ElementBox(sides, self.again or again)


@dataclass(frozen=True)
class WrittenTensor:
    """A tensor of a shape; of a list, `lengths` says where that of each row is stored, and `length`
    stands for it as the extent of the dimension `rows`. So it does where rows of memory are filled
    up to an `end` that the other indices tell."""

    name: str
    shape: Shape
    lengths: str = ""
    length: Term = t.ZERO
    rows: int = 0
    end: Callable[[Sequence[Term]], Term] | None = None


@dataclass(frozen=True, slots=True)
class Shows:
    """What decides: `quick` whether a claim is shown at once, `fully` with all effort."""

    quick: Callable[[Path, Formula], bool]
    fully: Callable[[Path, Formula], bool]


class Regions:
    """Puts together what is written to one tensor; `claims` are what it relies on."""

    def __init__(self, symbols: Symbols, tensor: WrittenTensor, shape: Shape, shows: Shows) -> None:
        self.symbols, self.memory, self.shape, self.shows = symbols, tensor, shape, shows
        self.tensor = tensor.name
        self.claims: list[Claim] = []
        self.keys: Mapping[str, object] = {}
        self.order: Mapping[str, int] = {}
        self.renew()

    def renew(self) -> None:
        """What symbols are made of, after more of them were made."""
        made = self.symbols.made.items()
        self.keys = {name: key for key, value in made if value.is_plain for name in value.names}
        self.order = {name: at for at, name in enumerate(self.symbols.axioms)}

    def whole(self, written: Written, path: Path) -> ElementBox:
        """All that is written; it is the box of the tensor."""
        regions = self.of(written, path)
        if len(regions) != 1:
            raise UnclearError(f"{len(regions)} boxes of elements do not meet")
        (found,) = regions
        extents = list(self.shape)
        if self.memory.lengths or self.memory.end is not None:
            extents[self.memory.rows] = self.memory.length
        for (low, high), extent in zip(found.sides, extents, strict=True):
            self.need(path, t.equal(low, 0), "elements at the beginning")
            self.need(path, t.equal(high, extent), "elements at the end")
        return found

    # ------------------------------------------------------------ claims

    def holds(self, path: Path, claim: Formula) -> bool:
        """Whether a claim is shown, which is then relied on."""
        if claim == t.TRUE:
            return True
        near = self.near(path, claim)
        if claim == t.FALSE or not self.shows.quick(near, claim):
            return False
        self.claims.append((near, claim))
        return True

    def near(self, path: Path, claim: Formula) -> Path:
        """The facts that speak of symbols of a claim, of what these are made of, or of symbols of
        other such facts: fewer are quicker, and as sound."""
        names = set(t.names_of(claim))
        names |= self.made_of(names)
        chosen: set[Formula] = set()
        for _ in range(NEAR):
            more = [e for e in path if e not in chosen and not names.isdisjoint(t.names_of(e))]
            chosen.update(more)
            names = names.union(*map(t.names_of, more))
        return tuple(each for each in path if each in chosen)

    def made_of(self, names: Iterable[str]) -> set[str]:
        axioms = (each for name in names for each in self.symbols.axioms.get(name, ()))
        return set[str]().union(*map(t.names_of, axioms))

    def need(self, path: Path, claim: Formula, why: str) -> None:
        if claim == t.TRUE or self.holds(path, claim):
            return
        if not self.shows.fully(path, claim):
            raise UnclearError(f"{why}: {t.text(claim)}")
        self.claims.append((path, claim))

    def first_that(self, candidates: Iterable[Term], path: Path, value: Term) -> Term | None:
        """The first of several terms that a value is shown to be."""
        tried = list(dict.fromkeys(candidates))
        for each in tried:
            if self.holds(path, t.equal(value, each)):
                return each
        for each in tried:
            if self.shows.fully(path, t.equal(value, each)):
                self.claims.append((path, t.equal(value, each)))
                return each
        return None

    # ------------------------------------------------------------ statements

    def of(self, written: Written, path: Path) -> list[ElementBox]:
        """The boxes that are written where these facts hold."""
        if self.tensor not in tensors_of(written):
            return []
        match written:
            case WrittenRun():
                return [self.run(written)]
            case WrittenBox():
                raise UnclearError("a box of any rank is moved")
            case WrittenInTurn(parts=parts):
                several = [each for part in parts for each in self.of(part, path)]
                return self.of_lengths(written, path, self.merged(path, several))
            case WrittenEither():
                return self.either(written)
            case WrittenLoop():
                body = self.of(written.body, written.inside)
                moved = [each for part in body for each in self.along(written, part)]
                return self.merged(written.path, moved)

    def run(self, run: WrittenRun) -> ElementBox:
        """The digits of a run: whole rows of it, then elements of a row."""
        digits: list[Term] = []
        rest = run.offset
        for extent in reversed(self.shape[1:]):
            rest, index = divided(rest, extent)
            digits.insert(0, index)
        digits.insert(0, rest)
        sides = [(each, each + 1) for each in digits]
        count = run.count
        for at in range(len(digits) - 1, -1, -1):
            extent = self.shape[at]
            rows, left = divided(count, extent)
            if at and digits[at] == t.ZERO and left == t.ZERO and rows != t.ZERO:
                sides[at], count = (t.ZERO, extent), rows
                self.need(run.path, t.at_most(0, extent), "an extent")
                continue
            sides[at] = digits[at], digits[at] + count
            break
        self.need(run.path, t.at_most(0, count), "a run of so many elements")
        return ElementBox(tuple(sides))

    def of_lengths(
        self, written: WrittenInTurn, path: Path, regions: list[ElementBox]
    ) -> list[ElementBox]:
        """A row of a list ends at the length that is stored with it."""
        lengths = [
            each.value
            for each in written.parts
            if isinstance(each, WrittenRun) and each.tensor == self.memory.lengths
        ]
        if len(lengths) != 1 or lengths[0] is None or len(regions) != 1:
            return regions
        (found,) = regions
        low, high = found.sides[self.memory.rows]
        self.need(path, t.equal(high, lengths[0]), "entries up to the length of a list")
        return [found.with_side(self.memory.rows, low, self.memory.length)]

    def of_rows(self, path: Path, region: ElementBox) -> ElementBox:
        """Rows that are filled up to their ends at least, of which the last one has the last."""
        *others, (low, high) = region.sides
        if self.memory.end is None or high == self.memory.length:
            return region
        last = self.memory.end([end - 1 for _, end in others])
        if not self.holds(path, t.at_most(last, high)):
            return region
        return region.with_side(self.memory.rows, low, self.memory.length)

    def either(self, written: WrittenEither) -> list[ElementBox]:
        no_test = t.negation(written.test)
        yes, no = ((*written.path, *t.conjuncts(each)) for each in (written.test, no_test))
        then, otherwise = self.of(written.then, yes), self.of(written.otherwise, no)
        if then == otherwise:
            return then
        if not then or not otherwise:
            there = then or otherwise
            test = written.test if then else no_test
            return [self.where(test, each) for each in there]
        if len(then) != len(otherwise):
            raise UnclearError("a branch writes other boxes than the other one")
        return [
            self.one_of(written.test, yes, no, *each) for each in zip(then, otherwise, strict=True)
        ]

    def where(self, test: Formula, region: ElementBox) -> ElementBox:
        """A box, or none: it ends where it begins, along its last dimension."""
        low, high = region.sides[-1]
        return region.with_side(len(region.sides) - 1, low, self.symbols.choice(test, high, low))

    def one_of(
        self, test: Formula, yes: Path, no: Path, one: ElementBox, other: ElementBox
    ) -> ElementBox:
        sides = []
        for first, second in zip(one.sides, other.sides, strict=True):
            low, high = (
                self.either_end(test, yes, no, *each) for each in zip(first, second, strict=True)
            )
            sides.append((low, high))
        return ElementBox(tuple(sides), one.again or other.again)

    def either_end(self, test: Formula, yes: Path, no: Path, one: Term, other: Term) -> Term:
        """The end of a side on either way, by the term of one of them if that is both."""
        if one == other or self.holds(yes, t.equal(one, other)):
            return other
        if self.holds(no, t.equal(one, other)):
            return one
        return self.symbols.choice(test, one, other)

    def merged(self, path: Path, regions: list[ElementBox]) -> list[ElementBox]:
        """Boxes that meet as one, until none do."""
        while len(regions) > 1:
            for one, other in combinations(regions, 2):
                joined = self.joined(path, one, other) or self.joined(path, other, one)
                if joined is not None:
                    regions = [e for e in regions if e is not one and e is not other]
                    regions.append(joined)
                    break
            else:
                return regions
        return regions

    def joined(self, path: Path, one: ElementBox, other: ElementBox) -> ElementBox | None:
        pairs = enumerate(zip(one.sides, other.sides, strict=True))
        differ = [at for at, (first, second) in pairs if first != second]
        before = len(self.claims)
        for at in differ:
            (low, end), (begin, high) = one.sides[at], other.sides[at]
            rest = [
                t.every(*map(t.equal, one.sides[each], other.sides[each]))
                for each in differ
                if each != at
            ]
            if all(self.holds(path, each) for each in rest):
                if self.holds(path, t.equal(end, begin)):
                    return one.with_side(at, low, high, again=other.again)
                over = (t.at_most(low, begin), t.at_most(begin, end), t.at_most(end, high))
                if all(self.holds(path, each) for each in over):
                    return one.with_side(at, low, high, again=True)
            del self.claims[before:]
        return None

    # ------------------------------------------------------------ loops

    def along(self, loop: WrittenLoop, region: ElementBox) -> list[ElementBox]:
        self.renew()
        region = self.of_rows(loop.inside, region)
        moving = self.moving(loop)
        sides = [
            at for at, (low, high) in enumerate(region.sides) if (low.names | high.names) & moving
        ]
        if not sides:
            return [self.in_each(loop, region)]
        if len(sides) > 1:
            raise UnclearError("a loop moves along several dimensions")
        (at,) = sides
        if loop.left:
            raise UnclearError("a loop that is left early")
        low, high = region.sides[at]
        for each in loop.carried:
            if low == each.begin and high == each.end:
                return [region.with_side(at, each.before, each.behind)]
            on = t.at_most(each.begin, each.end), t.at_most(each.end, high)
            if low == each.begin and all(self.holds(loop.inside, part) for part in on):
                return [region.with_side(at, each.before, each.behind, again=True)]
        if (parts := self.parted(loop, region, at)) is not None:
            return [each for part in parts for each in self.along(*part)]
        return [self.moved(loop, region, at, moving)]

    def in_each(self, loop: WrittenLoop, region: ElementBox) -> ElementBox:
        """Each iteration writes the same elements: there is one, or they are written again."""
        self.need(loop.path, t.below(loop.low, loop.high), "the first iteration")
        once = not loop.left and self.holds(loop.path, t.at_most(loop.high, loop.low + loop.step))
        return region if once else replace(region, again=True)

    def moving(self, loop: WrittenLoop) -> frozenset[str]:
        """The symbols that are others in another iteration: those made in it, but for functions of
        what stood before."""
        found: set[str] = set()
        for name, at in self.order.items():
            if at >= loop.age:
                key = self.keys.get(name)
                if not isinstance(key, tuple) or not found.isdisjoint(_names_in(key, self.order)):
                    found.add(name)
        return frozenset(found)

    def parted(
        self, loop: WrittenLoop, region: ElementBox, at: int
    ) -> tuple[tuple[WrittenLoop, ElementBox], tuple[WrittenLoop, ElementBox]] | None:
        """A loop in which a side is one of two, one below some iteration and one from it on, as two
        loops: low <= i < middle and middle <= i < high, with middle = max(low, min(cut, high))."""
        (index,) = loop.index.names
        low, high = region.sides[at]
        for name in sorted(low.names | high.names):
            match self.keys.get(name):
                case ("if", t.Holds(op=">=", term=test), Term() as then, Term() as otherwise):
                    if test.poly.get((index,)) != -1 or loop.step != 1:
                        continue
                    cut = test + loop.index + 1  # i < cut
                    if not cut.names.isdisjoint(self.moving(loop)):
                        continue
                    middle = self.symbols.extreme("min", cut, loop.high)
                    middle = self.symbols.extreme("max", loop.low, middle)
                    first, second = (
                        region.with_side(at, *(replaced(end, name, value) for end in (low, high)))
                        for value in (then, otherwise)
                    )
                    inside = (*loop.inside, t.below(loop.index, middle))
                    before = replace(loop, high=middle, inside=inside, carried=())
                    inside = (*loop.inside, t.at_most(middle, loop.index))
                    behind = replace(loop, low=middle, inside=inside, carried=())
                    return (before, first), (behind, second)
                case _:
                    pass
        return None

    def moved(
        self, loop: WrittenLoop, region: ElementBox, at: int, moving: frozenset[str]
    ) -> ElementBox:
        low, high = region.sides[at]
        again = self.next_one(loop, low, high, moving)
        first = self.first_end(loop, low, moving)
        last = self.last_end(loop, low, high, moving)
        if not self.holds(loop.path, t.below(loop.low, loop.high)):
            none = (*loop.path, t.at_most(loop.high, loop.low))
            self.need(none, t.equal(first, last), "no iteration")
        return region.with_side(at, first, last, again=again)

    def next_one(self, loop: WrittenLoop, low: Term, high: Term, moving: frozenset[str]) -> bool:
        """The next iteration goes on where one ends; or in front of that."""
        older = self.order.keys() - moving
        facts = [each for each in loop.inside if not t.names_of(each).isdisjoint(moving)]
        wanted = frozenset().union(low.names, high.names, loop.index.names, *map(t.names_of, facts))
        names = copies(self.symbols, wanted, older)
        other = t.renamed_term(loop.index, names)
        path = (
            *loop.inside,
            *(t.renamed(each, names) for each in facts),
            t.equal(other, loop.index + loop.step),
        )
        begin, end = (t.renamed_term(each, names) for each in (low, high))
        if self.holds(path, t.equal(high, begin)):
            return False
        over = (t.at_most(low, begin), t.at_most(begin, high), t.at_most(high, end))
        if all(self.holds(path, each) for each in over):
            return True
        self.need(path, t.equal(high, begin), "from one iteration to the next")
        return False

    def first_end(self, loop: WrittenLoop, low: Term, moving: frozenset[str]) -> Term:
        path = (*loop.inside, t.equal(loop.index, loop.low))
        found = self.first_that(self.without(loop, [low], (loop.low,), moving), path, low)
        if found is None:
            raise UnclearError(f"where iterations begin: {t.term_text(low)}")
        return found

    def last_end(self, loop: WrittenLoop, low: Term, high: Term, moving: frozenset[str]) -> Term:
        path = (*loop.inside, t.at_most(loop.high, loop.index + loop.step))
        ends = (loop.high, loop.high - 1, loop.high - loop.step)
        guesses = [
            *self.without(loop, [low], ends[:1], moving),
            *self.without(loop, [high], ends[1:], moving),
        ]
        found = self.first_that(guesses, path, high)
        if found is None:
            raise UnclearError(f"where iterations end: {t.term_text(high)}")
        return found

    def without(
        self, loop: WrittenLoop, ends: list[Term], values: tuple[Term, ...], moving: frozenset[str]
    ) -> Iterator[Term]:
        """What an end may be without what moves: with values for the index."""
        (index,) = loop.index.names
        left = list(ends)
        for _ in range(DEPTH):
            for each in left:
                for value in values:
                    made = replaced(each, index, value)
                    if made.names.isdisjoint(moving):
                        yield made
            left = [other for each in left for other in self.other_values(each, moving)]

    def other_values(self, end: Term, moving: frozenset[str]) -> Iterator[Term]:
        for name in sorted(end.names & moving):
            match self.keys.get(name):
                case ("min" | "max", Term() as one, Term() as other):
                    pass
                case ("if", _, Term() as one, Term() as other):
                    pass
                case _:
                    continue
            yield replaced(end, name, one)
            yield replaced(end, name, other)


def _names_in(key: object, known: Container[str]) -> frozenset[str]:
    """The symbols of which something is a function; what lists are called may speak of some."""
    match key:
        case Term(names=names):
            return names
        case tuple():
            return frozenset().union(*(_names_in(each, known) for each in key))
        case str():
            return frozenset(word for word in WORDS.findall(key) if word in known)
        case t.Holds() | t.TruthSymbol() | t.Every() | t.Some() | t.Negation():
            return t.names_of(key)
        case _:
            return frozenset()
