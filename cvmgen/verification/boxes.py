"""Boxes that kernels walk by steps: every place of one lies in its tensor, whatever the rank is.

Let t be the shape of a tensor of any rank r, all extents at least 1. The stride of its dimension g
is t[g+1] * ... * t[r-1]. A place p of a box has the offset base + sum of p[d] * step[d], and the
host adds up steps and base of multiples of strides. So the offset is the sum of x[g] * stride[g],
where the digit x[g] is the sum of what the host made for dimension g: p[at] * times, and for a base
times alone.

Proved is, for one position of the loops that the host made them in, whichever it is:
  `to` is a dimension of the tensor and `at` one of the box;
  0 <= digit < t[to] for each p that is 0 <= p < box[at];
  no other position, and no other statement, makes a digit for the same `to`.
By induction over the dimensions of the tensor this is enough. Let o(0) = 0 and
o(g+1) = o(g) * t[g] + x[g], the offset by the first dimensions, and n(g) = t[0] * ... * t[g-1].
Then 0 <= o(g) <= n(g) - 1. At the beginning, which is all there is for rank 0, that is 0 <= 0 <= 0.
And 0 <= o(g+1) <= (n(g) - 1) * t[g] + t[g] - 1 = n(g+1) - 1, as 0 <= x[g] <= t[g] - 1; a dimension
that gets no digit has x[g] = 0, for which t[g] >= 1 is needed. A box with an extent of 0 has no
place, so that nothing is read.

That dimensions were merged before changes nothing: the host drops dimensions of extent 1, whose p
is 0, and joins two where the step of the first is that of the second times its extent, for all
tensors that are walked: p * (step * e) + q * step = (p * e + q) * step, and p * e + q runs over all
of 0 to the product of both extents, in order. So the offsets stay the same. Where no dimension is
left there is one of extent 1 and step 0.

That each element is at one place of the box, and at no other, is shown dimension by dimension too.
Proved is, besides what is proved above, that a digit is a place itself: it is p[at], no multiple of
it, nothing is added, and box[at] = t[to]. And every dimension of the tensor gets a digit, or has an
extent of 1; every dimension of the box makes one, and no more, or has an extent of 1. So places of
the box and digits x[0], x[1], ... are the same in another order, but for those that are always 0.
With o(g+1) = o(g) * t[g] + x[g] as above, where 0 <= x[g] < t[g], each integer from 0 to
n(g+1) - 1 is one o(g+1) for one o(g) and one x[g], its quotient and its remainder by t[g]; so by
induction over the dimensions each element has one sequence of digits. That a dimension g has a
digit is shown by the position that makes it, which is computed from g or is where g stands in a
list; or by counting: if as many positions as there are dimensions make digits for different ones,
each of them has one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations_with_replacement
from typing import TypeGuard

from cvmgen.verification import terms as t
from cvmgen.verification.calls import HostReader
from cvmgen.verification.lists import List, StepChange, Steps
from cvmgen.verification.terms import Formula, Term
from cvmgen.verification.walks import WalkClaims

Claim = tuple[tuple[Formula, ...], Formula]  # what is known, and what follows
Shown = Callable[[Iterable[Claim]], bool]
Which = Callable[[StepChange], Term]  # the dimension of the tensor, or that of the box


@dataclass(frozen=True, eq=False)
class OffsetDigits:
    """Digits of an offset, one for each position: of a step along a box, of a base, or of both."""

    step: Steps | None
    base: Steps | None
    box: List | None


@dataclass(frozen=True)
class Digit:
    """That of one position."""

    at: tuple[Term, ...]
    path: tuple[Formula, ...]
    step: StepChange | None
    base: StepChange | None

    @property
    def pieces(self) -> tuple[StepChange, ...]:
        return tuple(each for each in (self.step, self.base) if each is not None)

    @property
    def to(self) -> Term:
        return self.pieces[0].to


def is_equation(formula: Formula) -> TypeGuard[t.Holds]:
    return isinstance(formula, t.Holds) and formula.op == "=="


class Boxes:
    """The boxes that one access walks through a tensor, and what the host owes of them."""

    def __init__(self, call: HostReader, tensor: str, walked: WalkClaims) -> None:
        self.call, self.walked = call, walked
        self.lists, self.symbols = call.reader.lists, call.reader.symbols
        self.shape = call.boxes.get(tensor)
        self.size = t.product(call.shapes[tensor])
        self.path = (*call.scope.path, *call.sizes)
        self.digits = self.all_digits()

    def claims(self) -> list[Claim] | None:
        """What shows that each place lies in the tensor; None if nothing is known that could."""
        if self.in_order():
            return list(self.of_order())
        if self.digits is None:
            return None
        some = self.of_extents()
        return [*some, *self.of_each(self.digits), *self.of_pairs(self.digits, lambda e: e.to)]

    def of_extents(self) -> Iterator[Claim]:
        """That no extent of the tensor is 0: where the call may give any, a test of all says so."""
        assert self.shape is not None
        if self.shape.least != 1:
            at = self.position(0)
            inside = t.conjuncts(self.lists.inside(self.shape, at))
            path = (*self.path, *self.call.dimensions.facts((at,)), *inside)
            yield path, t.at_most(1, self.lists.entry(self.shape, at))

    # ------------------------------------------------------------ a tensor as one run

    def in_order(self) -> bool:
        """Whether a box is walked in its own order, by its strides."""
        return all(each.steps.strides_of == each.box for each in self.walked.walks.values())

    def of_order(self) -> Iterator[Claim]:
        (walk,) = self.walked.walks.values()
        box = walk.box.before or walk.box
        path = self.path
        if box.halves is not None:
            # e div f * f <= e where f is at least 1, so that the product of all is no larger either
            whole, factors = box.halves
            at = self.position(0)
            facts = tuple(self.call.dimensions.facts((at,)))
            inside = (*facts, *t.conjuncts(self.lists.inside(whole, at)))
            yield (*path, *inside), t.at_most(1, self.lists.entry(factors, at))
            yield (*path, *inside), t.at_most(0, self.lists.entry(whole, at))
            path = (*path, t.at_most(self.lists.size(box), self.lists.size(whole)))
        yield path, t.equal(self.walked.base, 0)
        yield path, t.at_most(self.lists.size(box), self.size)

    def whole(self) -> Iterator[Claim]:
        """What shows that a box in its own order is the tensor: its k-th place is element k, and
        there are as many of both. Of halves of dimensions, each whole is the product of its own."""
        (walk,) = self.walked.walks.values()
        box, path = walk.box.before or walk.box, self.path
        if box.halves is not None:
            whole, factors = box.halves
            at = self.position(0)
            inside = t.conjuncts(self.lists.inside(whole, at))
            extent, factor = (self.lists.entry(each, at) for each in (whole, factors))
            rest = self.symbols.truncdiv(extent, factor) * factor
            yield (*path, *self.call.dimensions.facts((at,)), *inside), t.equal(rest, extent)
            path = (*path, t.equal(self.lists.size(box), self.lists.size(whole)))
        yield path, t.equal(self.walked.base, 0)
        yield path, t.equal(self.lists.size(box), self.size)

    # ------------------------------------------------------------ each element once

    def each_once(self, shows: Shown) -> tuple[Claim, ...] | None:
        """What shows that each element is at one place of the box; None if that is not shown."""
        if self.in_order():
            return self.first_shown(shows, [tuple(self.whole())])
        if self.digits is None or any(each.step is None or each.base for each in self.digits):
            return None
        found: list[Claim] = []
        assert self.shape is not None
        boxes = [each.box for each in self.digits if each.box is not None]
        ways: list[Iterable[tuple[Claim, ...]]] = [[tuple(self.plain_digits(self.digits))]]
        ways.append(self.covered(self.shape, lambda piece: piece.to))
        ways += [self.covered(each, lambda piece: piece.at) for each in dict.fromkeys(boxes)]
        for each in ways:
            if (claims := self.first_shown(shows, each)) is None:
                return None
            found += claims
        return tuple(dict.fromkeys(found))

    def first_shown(
        self, shows: Shown, ways: Iterable[tuple[Claim, ...]]
    ) -> tuple[Claim, ...] | None:
        return next((each for each in ways if shows(each)), None)

    def plain_digits(self, several: tuple[OffsetDigits, ...]) -> Iterator[Claim]:
        """Digits lie in the tensor and are places of the box themselves; no dimension of the box
        makes two."""
        assert self.shape is not None
        yield from self.of_each(several)
        yield from self.of_pairs(several, lambda piece: piece.to)
        yield from self.of_pairs(several, lambda piece: piece.at)
        for digits in several:
            digit = self.digit(digits)
            if digit.step is not None and digits.box is not None:
                path, extent = self.known(digit), self.lists.entry(digits.box, digit.step.at)
                yield path, t.equal(digit.step.times, 1)
                yield path, t.equal(extent, self.lists.entry(self.shape, digit.to))

    def covered(self, whole: List, which: Which) -> Iterator[tuple[Claim, ...]]:
        """What shows that every dimension of a tensor or a box has a digit, or the extent 1."""
        assert self.digits is not None
        at = self.symbols.once(("dimension",), lambda: self.symbols.fresh("g"))
        inside = t.conjuncts(self.lists.inside(whole, at))
        there: list[Formula] = [t.equal(self.lists.entry(whole, at), 1)]
        places = [at]
        for each in self.digits:
            position = self.position_of(each.step, which, at) if each.step is not None else None
            if position is not None and each.step is not None:
                piece = each.step.piece(position)
                places += [*position, piece.at, piece.to]
                tests = each.step.inside(position), piece.tests, t.equal(which(piece), at)
                there.append(t.every(*tests))
        path = (*self.path, *self.call.dimensions.facts(places), *inside)
        yield ((path, t.some(*there)),)
        if len(self.digits) == 1 and (step := self.digits[0].step) and len(step.names) == 1:
            # different positions make digits for different dimensions, and are as many
            piece = step.piece((at,))
            path = (*self.path, *self.call.dimensions.facts((at, piece.at, piece.to)), *inside)
            yield tuple((path, e) for e in t.conjuncts(t.every(step.inside((at,)), piece.tests)))

    def position_of(self, steps: Steps, which: Which, at: Term) -> tuple[Term, ...] | None:
        """The position that makes the digit of a dimension, if it can be computed: one loop after
        the other, from what a piece says that only one of those that are left is in."""
        left = dict(enumerate(self.position(2 * n) for n in range(len(steps.names))))
        found = dict(left)
        while left:
            piece = steps.piece(tuple(found.values()))
            equal = [each.term for each in t.conjuncts(piece.tests) if is_equation(each)]
            solved = (
                (number, value)
                for each in (which(piece) - at, *equal)
                for number, unknown in left.items()
                if (value := self.solved(each, unknown, left.values())) is not None
            )
            number, value = next(solved, (-1, at))
            if number < 0:
                return None
            del left[number]
            found[number] = value
        return tuple(found.values())

    def solved(self, zero: Term, unknown: Term, left: Iterable[Term]) -> Term | None:
        """The value of an unknown for which a term is 0, if the term speaks of no other one: as it
        stands there, or as the index of an entry."""
        names = frozenset().union(*(each.names for each in left))
        (own,) = unknown.names
        for name in sorted(zero.names):
            number = zero.poly.get((name,), 0)
            value = (zero - t.symbol(name) * number) * -number
            listed = self.lists.read.get(t.symbol(name))
            if abs(number) != 1 or not names.isdisjoint(self.spoken_of(value)):
                continue
            if name == own:
                return value
            if listed is not None and own in listed[1].names:
                shift = listed[1] - unknown
                if names.isdisjoint(shift.names):
                    return self.lists.index_of(listed[0], value) - shift
        return None

    def spoken_of(self, value: Term) -> frozenset[str]:
        """The symbols of a term, and those of the indices at which its entries were read."""
        read = (self.lists.read.get(t.symbol(name)) for name in value.names)
        return value.names.union(*(each[1].names for each in read if each is not None))

    # ------------------------------------------------------------ digits

    def all_digits(self) -> tuple[OffsetDigits, ...] | None:
        """The digits of all boxes and of the base, if it is known what these are sums of."""
        if self.shape is None:
            return None
        bases = self.of_base()
        found: list[OffsetDigits] = []
        for walk in self.walked.walks.values():
            steps = walk.steps.before or walk.steps
            several = (self.plain(steps.strides_of),) if steps.strides_of else steps.steps
            if several is None or bases is None:
                return None
            for each in several:
                mine = [other for other in bases if other.place == each.place]
                bases = [other for other in bases if other.place != each.place]
                if len(mine) > 1:
                    return None
                found.append(
                    OffsetDigits(each, mine[0] if mine else None, walk.box.before or walk.box)
                )
        return (*found, *(OffsetDigits(None, each, None) for each in bases or ()))

    def of_base(self) -> list[Steps] | None:
        base = self.walked.base
        if base == t.ZERO:
            return []
        known = self.call.dimensions.bases
        return list(known[min(base.names)]) if base.is_plain and base.names & known.keys() else None

    def plain(self, shape: List) -> Steps:
        """Strides themselves: those of each dimension along the same one of the box."""

        def inside(at: tuple[Term, ...]) -> Formula:
            return self.lists.inside(shape, at[0])

        def piece(at: tuple[Term, ...]) -> StepChange:
            return StepChange(t.TRUE, at[0], t.ONE, shape, at[0])

        return Steps(("d",), inside, piece, object())

    def position(self, number: int) -> Term:
        """Any position: claims that speak of different ones have different numbers there."""
        return self.symbols.once(("position", number), lambda: self.symbols.fresh("d"))

    def digit(self, digits: OffsetDigits, copy: int = 0) -> Digit:
        """That of any position; of two of them, each has a copy of its own."""
        source = digits.step or digits.base
        assert source is not None
        at = tuple(self.position(2 * number + copy) for number in range(len(source.names)))
        step, base = (None if e is None else e.piece(at) for e in (digits.step, digits.base))
        pieces = [each for each in (step, base) if each is not None]
        tests = (source.inside(at), *(each.tests for each in pieces))
        return Digit(at, tuple(part for each in tests for part in t.conjuncts(each)), step, base)

    def known(self, *several: Digit) -> tuple[Formula, ...]:
        """All that is known of digits, with what tests of all entries say there."""
        places = [place for each in several for place in each.at]
        places += [place for e in several for piece in e.pieces for place in (piece.at, piece.to)]
        own = (part for each in several for part in each.path)
        return (*self.path, *self.call.dimensions.facts(places), *own)

    def of_each(self, several: tuple[OffsetDigits, ...]) -> Iterator[Claim]:
        for digits in several:
            digit = self.digit(digits)
            assert self.shape is not None
            path = self.known(digit)
            for each in digit.pieces:
                yield path, t.TRUE if each.of == self.shape else t.FALSE
                yield path, t.equal(each.to, digit.to)
                yield from ((path, part) for part in self.parts_inside(self.shape, each.to))
            value = t.ZERO if digit.base is None else digit.base.times
            if digit.step is not None and digits.box is not None:
                box, at = digits.box, digit.step.at
                yield from ((path, part) for part in self.parts_inside(box, at))
                place = self.symbols.once(("place",), lambda: self.symbols.fresh("p"))
                extent = self.lists.entry(box, at)
                path = (*path, t.at_most(0, place), t.below(place, extent))
                value = value + place * digit.step.times
            yield path, t.at_most(0, value)
            yield path, t.below(value, self.lists.entry(self.shape, digit.to))

    def parts_inside(self, whole: List, at: Term) -> tuple[Formula, ...]:
        return t.conjuncts(self.lists.inside(whole, at))

    def of_pairs(self, several: tuple[OffsetDigits, ...], which: Which) -> Iterator[Claim]:
        """No two positions make a digit for the same dimension of the tensor, or of the box."""
        for one, other in combinations_with_replacement(several, 2):
            first, second = self.digit(one), self.digit(other, 1)
            differ = t.negation(t.equal(which(first.pieces[0]), which(second.pieces[0])))
            if one is other:
                same = t.every(*map(t.equal, first.at, second.at))
                if differ == t.negation(same):
                    continue  # dimension by dimension
                yield self.known(first, second), t.some(same, differ)
            else:
                yield self.known(first, second), differ

    # ------------------------------------------------------------ what follows

    def learn(self, shows: Shown, rows: Sequence[WalkClaims]) -> None:
        """What kernels may use of boxes that lie in their tensor, in whichever rows of them."""
        if self.in_order() or self.digits is None:
            return
        for each in rows:
            self.know_places(each)
        if shows(list(self.upward(self.digits))):
            for each in rows:
                self.know_ends(each)
        walks = self.walked.walks.values()
        boxes = [walk.box.before or walk.box for walk in walks]
        if all(shows(claims) for claims in map(self.all_moved, boxes)):
            # each extent of the boxes is at most that of a dimension of its own, so that together
            # their sizes are at most that of the tensor, in which no extent is 0
            sizes = (
                self.lists.measure("rows", e.box) * self.lists.measure("last", e.box) for e in walks
            )
            whole = t.product(sizes)
            self.symbols.know(whole, t.at_most(whole, self.size))

    def know_places(self, walked: WalkClaims) -> None:
        """A place that the kernel keeps in the box lies in the tensor, and so do the first one of
        its row and the first one of all."""
        walks = walked.walks.values()
        begin = walked.base + sum(map(t.symbol, walked.walks), t.ZERO)
        counts = [(e.row, self.lists.measure("rows", e.box)) for e in walks]
        lasts = [t.at_most(1, self.lists.measure("last", e.box)) for e in walks]
        inside = [t.every(t.at_most(0, row), t.below(row, count)) for row, count in counts]
        some = [t.at_most(1, count) for _, count in counts]
        for place, tests in (
            (walked.offset, walked.claims),
            (begin, (*inside, *lasts)),
            (walked.base, (*some, *lasts)),
        ):
            there = t.every(t.at_most(0, place), t.below(place, self.size))
            self.symbols.know(place, t.implies(t.every(*tests), there))

    def upward(self, several: tuple[OffsetDigits, ...]) -> Iterator[Claim]:
        """No step and no base is negative."""
        for digit in map(self.digit, several):
            yield from ((self.known(digit), t.at_most(0, each.times)) for each in digit.pieces)

    def know_ends(self, walked: WalkClaims) -> None:
        """If no step is negative, the last place of a row has its largest offset; it is below the
        size of the tensor, along one dimension, along one box and along all of them."""
        whole, rows = walked.base, list[Formula]()
        for name, walk in walked.walks.items():
            step, last = (self.lists.measure("last", each) for each in (walk.steps, walk.box))
            row, count = t.symbol(name), self.lists.measure("rows", walk.box)
            inside = t.every(t.at_most(0, walk.row), t.below(walk.row, count))
            run = step * (last - 1)
            self.symbols.know(step, t.at_most(0, step), t.below(run, self.size))
            if walk.box.before is not None and walk.box.least == 1:
                # merging leaves an extent of 1 with a step of 0 alone, so that step <= run
                self.symbols.know(step, t.below(step, self.size))
            self.symbols.know(row, t.implies(inside, t.at_most(0, row)))
            self.symbols.know(row, t.implies(inside, t.below(row + run, self.size)))
            self.symbols.vague.pop(name, None)
            whole, rows = whole + row + run, [*rows, inside]
        self.symbols.know(whole, t.implies(t.every(*rows), t.below(whole, self.size)))

    def all_moved(self, box: List) -> Iterator[Claim]:
        """Every dimension of a box has a step that is not 0, made at its own position."""
        assert self.digits is not None
        chosen = [e for e in self.digits if e.box is box and e.step and len(e.step.names) == 1]
        at = self.position(0)
        inside = t.conjuncts(self.lists.inside(box, at))
        if len(chosen) != 1:
            yield (), t.FALSE
            return
        digit = self.digit(chosen[0])
        assert digit.step is not None
        path = (*self.path, *self.call.dimensions.facts((at,)), *inside)
        yield from ((path, each) for each in digit.path)
        yield path, t.equal(digit.step.at, at)
        yield path, t.at_most(1, digit.step.times)
