"""Whether two formulas mean the same for all sizes and all values.

Both are read into one table of symbols. Equality of integers is asked of polynomials first and of
solvers then: that it can fail, together with what is known of a call and the laws of the symbols,
must be impossible for one of them. These arguments lead to lists and reductions:

- Lists are equal where their entries are, for all indices of their ranges; what a function gives of
  equal lists is equal.
- Reductions with the same ranges, condition and body are one symbol.
- Sums of integers over the same ranges are linear: of sums that are added to each other, what is
  added for one point of the ranges is 0 if it is 0 for all, so the sums come to 0 together. Where a
  condition does not hold, 0 is added.
- Other reductions of integers over ranges with the same ends are equal where what they combine is,
  point by point; where only one of two conditions holds, the other must combine what changes
  nothing: 1 for a product, a condition that does not hold for `any`. Of a maximum both conditions
  must be the same, as it has no value of no element.

What is found so of two symbols holds wherever the indices around them are in their ranges. An
index has the number of the ranges around it for a name; within ranges nothing is assumed of what
has the name of an index that they bind.

A formula that has no value in a call is not one that gives the same, so each divisor must be shown
not to be 0, each logarithm to be of 1 or more, on the path on which it is asked for, and a maximum
to combine something; or the other formula asks for the same in the same calls, and has no value
where this one has none. That no element is read
outside of its tensor is what `inside` proves of each of both; where it leaves a place open, nothing
is proved here. Real numbers are the same only where they are made in the same way of the same.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass, field
from itertools import combinations, product
from typing import Any

from cvmgen.compare.binders import Combined, Need, Unread
from cvmgen.compare.items import Block, Items, ReadEquation, ReadOutput
from cvmgen.compare.table import ListValue, RealValue, Reduced, Value, ValueTable, names_in
from cvmgen.driver import warnings_of
from cvmgen.errors import CvmgenError
from cvmgen.spec import formula as f
from cvmgen.verification import terms as t
from cvmgen.verification.proofs import Prover
from cvmgen.verification.solvers import question
from cvmgen.verification.terms import FALSE, TRUE, Formula, Term

LIMITS = {"z3": 400_000, "cvc5": 30_000}  # units of the solvers' own for one question
MOST_QUESTIONS = 120
WITHOUT_RANGES = (("if",), ("part",), ("item",), ("+",), ("-",), ("unflatten",))
"""What lists are made of that bind no indices."""
NEUTRAL = {"prod": t.ONE, "sum": t.ZERO}


@dataclass(slots=True)
class Proved:
    """What is proved for all sizes: that the same calls are accepted, that results have the same
    shapes, precisions and values; and by which engines."""

    accepts: bool = False
    shapes: bool = False
    precisions: bool = False
    values: bool = False
    defaults: bool = False  # whether what is left away is the same
    engines: set[str] = field(default_factory=set)

    @classmethod
    def everything(cls) -> Proved:
        """Of formulas that are written alike."""
        return cls(accepts=True, shapes=True, precisions=True, values=True, defaults=True)

    @property
    def open_kinds(self) -> set[str]:
        """The kinds of witnesses that there may be."""
        found = set() if self.accepts else {"more", "less"}
        found |= set() if self.shapes else {"shape", "type"}
        found |= set() if self.precisions else {"precision"}
        return found if self.values else found | {"values"}

    @property
    def whole(self) -> bool:
        return all((self.accepts, self.shapes, self.precisions, self.values, self.defaults))


def proved(old: f.Operator, new: f.Operator) -> Proved:
    """What is proved of two operators whose inputs, attributes and outputs have the same names; of
    attributes that only one of them has, for calls that leave them away."""
    try:
        found = _Comparison(old, new)
    except (Unread, CvmgenError, RecursionError):
        return Proved()
    return found.proved()


class _Comparison:
    def __init__(self, old: f.Operator, new: f.Operator) -> None:
        self.table, self.prover = ValueTable(), Prover()
        self.questions = 0
        self.engines: set[str] = set()
        self.merged: list[Formula] = []
        self.tried: set[Hashable] = set()
        names = [{each.name for each in side.attributes} for side in (old, new)]
        own = [frozenset(names[0] - names[1]), frozenset(names[1] - names[0])]
        self.sides = [
            Items(self.table, side, away) for side, away in zip((old, new), own, strict=True)
        ]
        self.blocks = [side.read() for side in self.sides]
        self.common = names[0] & names[1]
        self.one_sided = bool(own[0] or own[1])

    def proved(self) -> Proved:
        found = Proved()
        (old, new), (one, other) = self.sides, self.blocks
        kinds = [
            {name: kind for name, kind in side.kinds.items() if name not in side.left_away}
            for side in self.sides
        ]
        if kinds[0] != kinds[1] or list(one.outputs) != list(other.outputs):
            return found
        if any(warnings_of(side.operator) for side in self.sides):
            return found
        if not self.have_values():
            return found
        alike = self.same_truth((), one.accepted, other.accepted)
        # what both accept, where they are not known to accept the same
        given = (one.accepted,) if alike else (one.accepted, other.accepted)
        found.shapes = self.all_alike(one, other, given, self.same_shapes)
        found.precisions = self.all_alike(one, other, given, self.same_precisions)
        found.values = found.shapes and self.all_alike(one, other, given, self.same_equations)
        found.defaults = all(
            old.defaults.get(name) == new.defaults.get(name) for name in self.common
        )
        alike = alike and self.all_alike(one, other, given, self.same_demands)
        found.accepts = alike and found.shapes and found.precisions and not self.one_sided
        found.engines = self.engines
        return found

    # -------------------------------------------------------- questions

    def shown(self, given: Iterable[Formula], claim: Formula) -> bool:
        """Whether a claim holds wherever what is given does."""
        if claim == TRUE:
            return True
        assumed = [each for each in given if each != TRUE]
        if FALSE in assumed:
            return True
        about = [*assumed, t.negation(claim)]
        facts = (*about, *self.table.laws_of(about, self.merged))
        return any(self.ask(solver, facts) for solver in self.prover.solvers)

    def ask(self, solver: str, facts: Sequence[Formula]) -> bool:
        self.questions += 1
        if self.questions > MOST_QUESTIONS:
            return False
        answer = self.prover.answer(solver, question(facts), LIMITS[solver])
        if answer.result == "unsat":
            self.engines.add(solver)
            return True
        return False

    def same_truth(self, given: Iterable[Formula], one: Formula, other: Formula) -> bool:
        given = tuple(given)
        if one == other:
            return True
        self.merge(given, (one, other))
        return self.shown((*given, one), other) and self.shown((*given, other), one)

    def same(self, given: Iterable[Formula], one: Value, other: Value) -> bool:
        """Whether two values are the same wherever what is given holds."""
        given = tuple(given)
        if one == other:
            return True
        if isinstance(one, Term) and isinstance(other, Term):
            return self.is_zero(given, one - other)
        if isinstance(one, ListValue) and isinstance(other, ListValue):
            return self.same_list(given, one, other)
        if isinstance(one, (Term, RealValue, ListValue)) or isinstance(
            other, (Term, RealValue, ListValue)
        ):
            return False
        return self.same_truth(given, one, other)

    def same_list(self, given: tuple[Formula, ...], one: ListValue, other: ListValue) -> bool:
        """Entry by entry, where these are known or are one expression of indices; else what they
        are made of must be the same."""
        if one.entries is not None and other.entries is not None:
            return self.alike(given, one.entries, other.entries)
        keys = [self.table.lists.get(each.number, ()) for each in (one, other)]
        mine, yours = (self.table.listings.get(each.number) for each in (one, other))
        if mine is None or yours is None or keys[0][0] != keys[1][0]:
            return keys[0][:1] in WITHOUT_RANGES and self.alike(given, *keys)
        if not self.same_ranges(given, mine.ranges, yours.ranges, mine.inside):
            return False
        inside = (*self.table.outside(given, mine.ranges), *mine.inside)
        return self.same_truth(inside, mine.condition, yours.condition) and self.same(
            (*inside, mine.condition), mine.element, yours.element
        )

    def alike(self, given: tuple[Formula, ...], one: Any, other: Any) -> bool:
        """Whether what symbols are known by says the same, part by part."""
        if one == other:
            return True
        if isinstance(one, tuple) and isinstance(other, tuple):
            pairs = zip(one, other, strict=False)
            return len(one) == len(other) and all(self.alike(given, *pair) for pair in pairs)
        values = isinstance(one, (Term, ListValue)) and isinstance(other, (Term, ListValue))
        return values and type(one) is type(other) and self.same(given, one, other)

    def is_zero(self, given: tuple[Formula, ...], difference: Term) -> bool:
        left = self.without_sums(given, difference)
        if left == t.ZERO:
            return True
        self.merge(given, (t.equal(left, 0),))
        return self.shown(given, t.equal(left, 0))

    # -------------------------------------------------------- reductions

    def without_sums(self, given: tuple[Formula, ...], difference: Term) -> Term:
        """What is left of a number without the sums over the same ranges that come to 0."""
        groups: dict[Any, list[tuple[Reduced, int]]] = {}
        for monomial, factor in difference.parts:
            found = self.table.reduced.get(monomial[0]) if len(monomial) == 1 else None
            if found is not None and found.function == "sum":
                groups.setdefault(found.ranges, []).append((found, factor))
        for several in groups.values():
            if len(several) > 1 and self.add_to_zero(given, several):
                sums = (t.symbol(each.name) * factor for each, factor in several)
                for each in sums:
                    difference = difference - each
        return difference

    def add_to_zero(
        self, given: tuple[Formula, ...], several: Sequence[tuple[Reduced, int]]
    ) -> bool:
        point = t.ZERO
        for each, factor in several:
            assert isinstance(each.body, Term)
            added = self.table.choice(each.condition, each.body, t.ZERO)
            assert isinstance(added, Term)
            point = point + added * factor
        first = several[0][0]
        inside = (*self.table.outside(given, first.ranges), *first.inside)
        return point == t.ZERO or self.is_zero(inside, point)

    def merge(self, given: tuple[Formula, ...], about: Iterable[Formula]) -> None:
        """Note which of the reductions that conditions speak of are equal."""
        about = list(about)
        names = names_in([*about, *self.table.laws_of(about, ())])
        self.merge_by_lists(given, sorted(names))
        there = [each for name, each in self.table.reduced.items() if name in names]
        for one, other in product(there, there):
            key = (one.name, other.name, given)
            if one.name < other.name and one.function == other.function and key not in self.tried:
                self.tried.add(key)
                if self.equal_reductions(given, one, other):
                    guard = t.every(*given, *one.around, *other.around)
                    self.merged.append(t.implies(guard, equal_symbols(one, other)))

    def merge_by_lists(self, given: tuple[Formula, ...], names: Sequence[str]) -> None:
        """Note which functions and conditions are the same, as lists that they speak of are."""
        for one, other in combinations(names, 2):
            keys = [self.table.keys.get(each, ()) for each in (one, other)]
            place = (one, other, given)
            if place in self.tried or not may_be_alike(*keys):
                continue
            self.tried.add(place)
            if self.alike(given, *(_functions(key) for key in keys)):
                self.merged.append(t.implies(t.every(*given), self.same_symbols(one, other)))

    def same_symbols(self, one: str, other: str) -> Formula:
        """That two symbols are one: of what is applied, where the arguments are."""
        mine, yours = (self.arguments(each) for each in (one, other))
        if mine is None or yours is None:
            return same_truths(one, other)
        alike = t.every(*(t.equal(*pair) for pair in zip(mine, yours, strict=True)))
        return t.implies(alike, t.equal(t.symbol(one), t.symbol(other)))

    def arguments(self, name: str) -> tuple[Term, ...] | None:
        """The numbers that something is applied to; None of a condition."""
        key: Any = self.table.keys[name]
        return key[2] if key[0] == "apply" else None

    def equal_reductions(self, given: tuple[Formula, ...], one: Reduced, other: Reduced) -> bool:
        given = (*given, *one.around, *other.around)
        if not self.same_ranges(given, one.ranges, other.ranges, one.inside):
            return False
        inside = (*self.table.outside(given, one.ranges), *one.inside)
        conditions = one.condition, other.condition
        if isinstance(one.body, Term) and isinstance(other.body, Term):
            if one.function in ("max", "min"):
                both = (*inside, one.condition)
                return self.same_truth(inside, *conditions) and self.same(
                    both, one.body, other.body
                )
            neutral = NEUTRAL[one.function]
            bodies = [
                self.table.choice(test, body, neutral)
                for test, body in zip(conditions, (one.body, other.body), strict=True)
            ]
            return self.same(inside, *bodies)
        if isinstance(one.body, Term) or isinstance(other.body, Term):
            return False
        return self.same_truth(
            inside, t.every(one.condition, one.body), t.every(other.condition, other.body)
        )

    def same_ranges(
        self,
        given: tuple[Formula, ...],
        one: Sequence[Any],
        other: Sequence[Any],
        inside: tuple[Formula, ...],
    ) -> bool:
        """Whether ranges bind the same indices to the same; the ends of one may speak of those
        before it, which are in their ranges."""
        if len(one) != len(other):
            return False
        for mine, yours in zip(one, other, strict=True):
            if mine == yours:
                continue
            ends = all(isinstance(end, Term) for end in (*mine[1:], *yours[1:]))
            if not ends or mine[0] != yours[0] or len(mine) != len(yours):
                return False
            claim = t.every(*(t.equal(*pair) for pair in zip(mine[1:], yours[1:], strict=True)))
            before = self.table.outside(inside, [mine])
            if not self.shown((*self.table.outside(given, one), *before), claim):
                return False
        return True

    # -------------------------------------------------------- that there is a value

    def have_values(self) -> bool:
        """Whether each formula has a value in the calls that it accepts."""
        for at, (side, block) in enumerate(zip(self.sides, self.blocks, strict=True)):
            other = self.sides[1 - at]
            if not all(self.is_met(each, block, other) for each in side.needs):
                return False
        return self.combine(*self.sides) and self.combine(*reversed(self.sides))

    def is_met(self, need: Need, block: Block, other: Items) -> bool:
        """Whether a need is met, or the other formula needs the same wherever this one does."""
        same = [each.path for each in other.needs if each.claim == need.claim]
        if need.path in same or (same and self.shown(need.path, some_path(same))):
            return True
        return self.shown(need.path, need.claim) or self.shown(
            (*need.path, block.accepted), need.claim
        )

    def combine(self, side: Items, other: Items) -> bool:
        """Whether each maximum that one formula asks for combines something, or is asked for by the
        other one in all these calls."""
        for each in side.nonempty:
            same = [one.path for one in other.nonempty if one.key == each.key]
            if each.path in same or (same and self.shown(each.path, some_path(same))):
                continue
            if not self.shown(each.path, not_empty(each)):
                return False
        return True

    # -------------------------------------------------------- block by block

    def all_alike(self, one: Block, other: Block, given: tuple[Formula, ...], alike: Any) -> bool:
        """Whether blocks and their cases are alike."""
        if not alike(one, other, given) or len(one.cases) != len(other.cases):
            return False
        for mine, yours in zip(one.cases, other.cases, strict=True):
            if not self.same_truth(given, mine.condition, yours.condition):
                return False
            if not self.all_alike(mine, yours, (*given, mine.condition), alike):
                return False
        return True

    def same_shapes(self, one: Block, other: Block, given: tuple[Formula, ...]) -> bool:
        def same(mine: ReadOutput, yours: ReadOutput) -> bool:
            return mine.kind == yours.kind and self.same_slots(given, mine.shape, yours.shape)

        return self.of_outputs(one, other, same)

    def same_precisions(self, one: Block, other: Block, given: tuple[Formula, ...]) -> bool:
        def same(mine: ReadOutput, yours: ReadOutput) -> bool:
            if mine.precision is None or yours.precision is None:
                return mine.precision is yours.precision
            return self.same(given, mine.precision, yours.precision)

        return self.of_outputs(one, other, same)

    @staticmethod
    def of_outputs(one: Block, other: Block, same: Any) -> bool:
        names = list(one.outputs)
        alike = names == list(other.outputs)
        return alike and all(same(one.outputs[name], other.outputs[name]) for name in names)

    def same_slots(
        self,
        given: tuple[Formula, ...],
        one: Sequence[tuple[Value, bool]],
        other: Sequence[tuple[Value, bool]],
    ) -> bool:
        if [pack for _, pack in one] != [pack for _, pack in other]:
            return False
        pairs = zip(one, other, strict=True)
        return all(self.same(given, mine, yours) for (mine, _), (yours, _) in pairs)

    def same_equations(self, one: Block, other: Block, given: tuple[Formula, ...]) -> bool:
        if len(one.equations) != len(other.equations):
            return False
        pairs = zip(one.equations, other.equations, strict=True)
        return all(self.same_equation(given, *pair) for pair in pairs)

    def same_demands(self, one: Block, other: Block, given: tuple[Formula, ...]) -> bool:
        """Whether elements must keep the same, demand by demand."""
        if len(one.demands) != len(other.demands):
            return False
        for mine, yours in zip(one.demands, other.demands, strict=True):
            if not self.same_ranges(given, mine.ranges, yours.ranges, mine.inside):
                return False
            inside = (*given, *mine.inside)
            if not self.same_truth(inside, mine.condition, yours.condition):
                return False
            if not self.same_truth((*inside, mine.condition), mine.claim, yours.claim):
                return False
        return True

    def same_equation(
        self, given: tuple[Formula, ...], one: ReadEquation, other: ReadEquation
    ) -> bool:
        if one.tensor != other.tensor:
            return False
        if not self.same_ranges(given, one.ranges, other.ranges, one.inside):
            return False
        inside = (*given, *one.inside)
        if not self.same_truth(inside, one.condition, other.condition):
            return False
        inside = (*inside, one.condition)
        return self.same_slots(inside, one.slots, other.slots) and self.same(
            inside, one.value, other.value
        )


def some_path(paths: Iterable[tuple[Formula, ...]]) -> Formula:
    return t.some(*(t.every(*path) for path in paths))


def _functions(key: Any) -> Any:
    """What is applied, without the arguments that are numbers; a condition as it is."""
    return (key[1], len(key[2])) if key[0] == "apply" else key


def may_be_alike(one: Any, other: Any) -> bool:
    """Whether two symbols are known by keys that differ in lists."""
    if not one or not other or one[0] != other[0] or one[0] not in ("apply", "truth"):
        return False
    mine, yours = (_functions(each)[0] if each[0] == "apply" else each for each in (one, other))
    if not isinstance(mine, tuple) or not isinstance(yours, tuple) or len(mine) != len(yours):
        return False
    pairs = list(zip(mine, yours, strict=True))
    lists = [isinstance(a, ListValue) and isinstance(b, ListValue) and a != b for a, b in pairs]
    return any(lists) and all(
        a == b or differ or (isinstance(a, Term) and isinstance(b, Term))
        for (a, b), differ in zip(pairs, lists, strict=True)
    )


def same_truths(one: str, other: str) -> Formula:
    mine, yours = t.TruthSymbol(one), t.TruthSymbol(other)
    return t.every(t.implies(mine, yours), t.implies(yours, mine))


def equal_symbols(one: Reduced, other: Reduced) -> Formula:
    if one.function == "any":
        return same_truths(one.name, other.name)
    return t.equal(t.symbol(one.name), t.symbol(other.name))


def not_empty(combined: Combined) -> Formula:
    """That a maximum runs over ranges that are not empty, without a condition."""
    if combined.condition != TRUE:
        return FALSE
    claims = []
    for each in combined.ranges:
        match each:
            case (_, Term() as low, Term() as high):
                claims.append(t.below(low, high))
            case _:
                return FALSE
    return t.every(*claims)
