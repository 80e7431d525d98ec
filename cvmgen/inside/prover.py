"""Proofs that a value is at least 0, from what is known at a place: sound, and never complete.

A goal g >= 0 follows from a fact f >= 0 if g = m*f + r, where the product m of values of at least
0 and the rest r are both at least 0. Such a step takes one term away that is against the goal; a
quotient is bounded by its dividend; and what is chosen by a condition is proved for both choices.
Everything is over the integers without bounds, so nothing overflows in a proof.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace

from cvmgen import polynomials as p
from cvmgen.inside.assumptions import in_range, range_test
from cvmgen.inside.binding import canonical, with_free_values
from cvmgen.inside.knowledge import (
    ForAll,
    Knowledge,
    ProofCase,
    ProofCases,
    alternative_cases,
    frozen,
    is_list_value,
    wins,
)
from cvmgen.inside.search import FEW_STEPS, ProofSearch, ProofTooLong, Quotients
from cvmgen.ir import nodes as i
from cvmgen.ir.uses import has, names_in
from cvmgen.ir.visit import walk
from cvmgen.polynomials import Poly
from cvmgen.spec.formula import Operator

SPLITS = 10  # choices within choices
GOALS = 3000  # searches for one condition
QUICK = 20  # searches for what has to be plain
ROUNDS = 6  # in which facts bring atoms, and atoms facts
DEPTH = 2  # of goals that come up while facts are gathered
PLAIN = -1  # for splits: only what facts at hand say


class PlaceProver(Quotients):
    """Decides conditions; False means "not known"."""

    def __init__(self, operator: Operator) -> None:
        super().__init__(operator)
        self.left = GOALS
        self.depth = 0
        self.refuting = False
        self.told_plainly: dict[tuple[int, object], tuple[Knowledge, bool]] = {}

    def one_of(self, at: Knowledge, conditions: tuple[i.Expr, ...]) -> Knowledge:
        """One of these holds: where all but one plainly do not, that one."""
        possible = tuple(each for each in conditions if not self.refuted(at, each))
        if len(possible) == 1:
            return self.assume(at, possible[0])
        return super().one_of(at, possible) if possible else replace(at, impossible=True)

    def proved(self, at: Knowledge, condition: i.Expr) -> bool:
        """Whether a condition holds wherever `at` is known."""
        self.left = GOALS
        self.depth = 0
        try:
            return at.impossible or self.holds(at, condition, True, SPLITS)
        except (ProofTooLong, RecursionError):
            return False

    # -------------------------------------------------------- conditions

    def holds(self, at: Knowledge, condition: i.Expr, truth: bool, splits: int) -> bool:
        known = at.truths.get(canonical(condition))
        if known is not None:
            return known == truth
        match condition:
            case i.Const(value=value):
                return bool(value) == truth
            case i.Not(operand=operand):
                return self.holds(at, operand, not truth, splits)
            case i.Bind(name=name, value=value, body=body):
                return self.holds(at, with_free_values(body, {name: value}), truth, splits)
            case i.Logic(op="and" | "or" as op, operands=operands):
                if (op == "and") == truth:
                    return all(self.holds(at, each, truth, splits) for each in operands)
                for each in operands:  # the others have to hold only where those before do not
                    if self.holds(at, each, truth, splits):
                        return True
                    at = self.assume(at, each, not truth)
                return at.impossible
            case i.Select(condition=test, then=then, otherwise=otherwise):
                return self.holds(self.assume(at, test), then, truth, splits) and self.holds(
                    self.assume(at, test, truth=False), otherwise, truth, splits
                )
            case i.Compare() if self.of_integers(condition, at):
                test = condition if truth else self.opposite(condition, at)
                assert isinstance(test, i.Compare)
                return self.relation(at, test, splits)
            case i.Contains(element=element, collection=collection):
                return self.is_member(at, element, collection, truth, splits)
            case i.Fold(op="all", over=(over, *more), element=element) if truth:
                name = over.index if isinstance(over, i.Over) else over.pack
                if name in self.taken(at):
                    return False
                inner = self.enter(at, over)
                if more:
                    rest = replace(condition, over=tuple(more))
                    return self.holds(inner, rest, True, splits)
                if condition.condition is not None:
                    inner = self.assume(inner, condition.condition)
                return inner.impossible or self.holds(inner, element, True, splits)
            case _:
                return self.forced(at, condition, truth)

    def counts(self, poly: Poly) -> bool:
        return super().counts(poly) or self.sign_of(self.base, poly) == 1

    def forced(self, at: Knowledge, condition: i.Expr, truth: bool) -> bool:
        """Whether one of several is left only, which says so."""
        for alternatives in at.either:
            possible = [each for each in alternatives if not self.refuted(at, each)]
            if len(possible) == 1:
                known = self.assume(at, possible[0]).truths
                if known.get(canonical(condition)) == truth:
                    return True
        return False

    def taken(self, at: Knowledge) -> frozenset[str]:
        """Names that have a meaning already."""
        return frozenset(at.lets) | frozenset(at.packs) | frozenset(self.down_to)

    def relation(self, at: Knowledge, test: i.Compare, splits: int) -> bool:
        left, right = self.poly(test.left, at), self.poly(test.right, at)
        match test.op:
            case "<":
                return self.not_negative(at, p.shifted(p.minus(right, left), -1), splits)
            case "<=":
                return self.not_negative(at, p.minus(right, left), splits)
            case ">":
                return self.not_negative(at, p.shifted(p.minus(left, right), -1), splits)
            case ">=":
                return self.not_negative(at, p.minus(left, right), splits)
            case "==":
                above = self.not_negative(at, p.minus(left, right), splits)
                return above and self.not_negative(at, p.minus(right, left), splits)
            case _:
                above = self.not_negative(at, p.shifted(p.minus(left, right), -1), splits)
                return above or self.not_negative(at, p.shifted(p.minus(right, left), -1), splits)

    def is_member(
        self, at: Knowledge, element: i.Expr, collection: i.Expr, truth: bool, splits: int
    ) -> bool:
        key = self.member(element, collection, at)
        known = at.truths.get(key)
        if known is not None:
            return known == truth
        match element:  # an entry of a set is a member of it
            case i.Item(sequence=sequence) if truth and sequence == key.collection:
                return True
        found = self.membership(element, collection, at, given=False)
        return found is not None and self.holds(at, found, truth, splits)

    # -------------------------------------------------------- goals

    def not_negative(self, at: Knowledge, goal: Poly, splits: int) -> bool:
        self.left -= 1
        if self.left < 0:
            raise ProofTooLong
        goal = p.tightened(goal)
        value = p.value_of(goal)
        if at.impossible or (value is not None and value >= 0) or frozen(goal) in at.known:
            return True
        plain = self.plainly(at, goal)
        if plain or splits < 0:
            return plain
        near = self.learned(at, goal)
        if near.impossible or ProofSearch(self, near).proves(goal):
            return True
        return splits > 0 and self.by_cases(near, goal, splits - 1)

    def plainly(self, at: Knowledge, goal: Poly) -> bool:
        """Whether facts at hand, and what the goal's atoms say once, say it; asked again and again
        of the same."""
        key = (id(at), frozen(goal))
        if key not in self.told_plainly:
            near = self.told_once(at, goal)
            found = near.impossible or ProofSearch(self, near, FEW_STEPS).proves(goal)
            self.told_plainly[key] = at, found
        return self.told_plainly[key][1]

    def learned(self, at: Knowledge, goal: Poly) -> Knowledge:
        """With what the atoms of a goal, and of facts that speak of them, say of themselves."""
        if self.depth >= DEPTH:
            return self.told_once(at, goal)
        self.depth += 1
        try:
            return self.closure(at, goal)
        finally:
            self.depth -= 1

    def closure(self, at: Knowledge, goal: Poly) -> Knowledge:
        seen: set[int] = set()
        wanted = set(p.atoms_of(goal))
        for _ in range(ROUNDS):
            new = sorted(wanted - seen)
            if not new:
                break
            seen |= wanted
            for number in new:
                for said in self.told(number, at):
                    at = self.said(at, said)
                at = self.of_quotient(at, number)
            at = self.of_boxes(at, new)
            at = self.instances(at, seen)
            at = self.prefixes(at, seen)
            at = self.same_entries(at, seen)
            at = self.decided(at, sorted(seen))
            for fact in at.facts:
                own = set(p.atoms_of(fact))
                if own & seen:
                    wanted |= own
        return at

    # -------------------------------------------------------- positions in boxes

    def of_boxes(self, at: Knowledge, numbers: list[int]) -> Knowledge:
        """A position in a box has an index inside of it, and an index inside a position."""
        for number in numbers:
            match self.atoms[number]:
                case i.Item(
                    sequence=i.Call(function="unflatten", arguments=(position, box)), index=index
                ):
                    inside = range_test(position, i.ZERO, i.Call("size", (box,)))
                    if self.holds(at, inside, True, 1):
                        extent = self.expr(self.entry(box, index, at))
                        at = self.assume(at, range_test(self.atoms[number], i.ZERO, extent))
                case i.Call(function="flatten_index", arguments=(indices, box)) as position:
                    if self.is_within(at, indices, box):
                        at = self.assume(at, range_test(position, i.ZERO, i.Call("size", (box,))))
                case _:
                    pass
        return at

    def is_within(self, at: Knowledge, indices: i.Expr, box: i.Expr) -> bool:
        """Whether each entry of a list of indices is below its extent."""
        if not self.holds(
            at, i.Compare("==", i.Call("len", (indices,)), i.Call("len", (box,))), True, 1
        ):
            return False
        slot = self.fresh("slot")
        inner = self.assume(at, range_test(slot, i.ZERO, i.Call("len", (box,))))
        entry, extent = (self.expr(self.entry(each, slot, at)) for each in (indices, box))
        return self.holds(inner, range_test(entry, i.ZERO, extent), True, 2)

    def same_entries(self, at: Knowledge, atoms: set[int]) -> Knowledge:
        """Entries of one list at places that are equal are equal."""
        atoms = atoms | {each for fact in at.facts for each in p.atoms_of(fact)}
        entries = [
            (number, expr)
            for number in sorted(atoms)
            if isinstance(expr := self.atoms[number], i.Item)
        ]
        for at_one, (one, first) in enumerate(entries):
            for other, second in entries[at_one + 1 :]:
                if first.sequence != second.sequence or frozen(self.gap(one, other)) in at.known:
                    continue
                places = (self.poly(each.index, at) for each in (first, second))
                if not self.plainly_equal(at, p.minus(*places)):
                    continue
                for each in (self.gap(one, other), self.gap(other, one)):
                    at = self.fact(at, each)
        return at

    def decided(self, at: Knowledge, numbers: list[int]) -> Knowledge:
        """What is chosen by a condition that is known already."""
        for number in numbers:
            greatest = self.extreme(at, number)
            if greatest is not None:
                rest = p.minus(p.atom(number), self.poly(greatest, at))
                at = self.fact(self.fact(at, rest), p.minus({}, rest))
            choice = self.choice_of(number, at)
            if choice is None:
                continue
            for truth, value in ((True, choice.then), (False, choice.otherwise)):
                if self.holds(at, choice.condition, truth, PLAIN):
                    rest = p.minus(p.atom(number), self.poly(value, at))
                    at = self.fact(self.fact(at, rest), p.minus({}, rest))
                    break
        return at

    def extreme(self, at: Knowledge, number: int) -> i.Expr | None:
        """The argument that a maximum or a minimum plainly is."""
        match self.atoms[number]:
            case i.Call(function="max" | "min" as name, arguments=arguments):
                for each in arguments:
                    tests = wins(name, each, arguments)
                    if all(self.holds(at, test, True, PLAIN) for test in tests):
                        return each
            case _:
                pass
        return None

    def choice_of(self, number: int, at: Knowledge) -> i.Select | None:
        """The choice that an atom is, or is the name of."""
        expr = self.atoms[number]
        if isinstance(expr, i.Var) and expr.name in at.lets:
            expr = at.lets[expr.name]
        if isinstance(expr, i.Item):
            expr = self.made(expr.sequence, expr.index, at) or expr
        return expr if isinstance(expr, i.Select) and not is_list_value(expr, at) else None

    @staticmethod
    def gap(one: int, other: int) -> Poly:
        return p.minus(p.atom(one), p.atom(other))

    def plainly_equal(self, at: Knowledge, difference: Poly) -> bool:
        """Whether facts at hand say that a difference is 0."""
        search = ProofSearch(self, at, FEW_STEPS)
        return search.proves(difference) and search.proves(p.minus({}, difference))

    # -------------------------------------------------------- facts for all values of an index

    def instances(self, at: Knowledge, atoms: set[int]) -> Knowledge:
        """What holds for all values of an index, for those that the atoms speak of."""
        for every in at.every:
            for value in self.candidates(at, every, atoms):
                at = self.instance(at, every, value)
        return at

    def instance(self, at: Knowledge, every: ForAll, value: i.Expr) -> Knowledge:
        key = ("every", canonical(every.condition), every.over, value)
        if key in at.known:
            return at
        inside = in_range(value, every.over.low, every.over.high)
        if every.test is not None:
            inside = i.Logic(
                "and", (inside, with_free_values(every.test, {every.over.index: value}))
            )
        if not self.holds(at, inside, True, PLAIN):
            return at
        at = replace(at, known=at.known | {key})
        return self.assume(
            at, with_free_values(every.condition, {every.over.index: value}), every.truth
        )

    def candidates(self, at: Knowledge, every: ForAll, atoms: set[int]) -> list[i.Expr]:
        """The values at which lists are read, or which are members of a set."""
        found: dict[i.Expr, None] = {}
        if every.over.low is None:
            for known, truth in at.truths.items():
                if truth and isinstance(known, i.Contains):
                    found[known.element] = None
        for number in atoms:
            for node in walk(self.atoms[number]):
                if isinstance(node, i.Item) and not any("$" in name for name in names_in(node)):
                    found[node.index] = None
                    found |= dict.fromkeys(self.shifts(at, every, node))
        return list(found)

    def shifts(self, at: Knowledge, every: ForAll, read: i.Item) -> Iterator[i.Expr]:
        """The values for which a condition, that speaks of a list at a place beside its index,
        speaks of the entry that is read: of y[a + i] == n[i] it is i = j - a for y[j]."""
        index = self.named("index", every.over)
        (number,) = p.atoms_of(self.poly(index, at))
        for node in walk(every.condition):
            if isinstance(node, i.Item) and node.sequence == read.sequence:
                place = self.poly(with_free_values(node.index, {every.over.index: index}), at)
                apart = p.split_off_atom(place, number)
                if apart is not None and apart[0] == 1 and apart[1]:
                    yield self.expr(p.minus(self.poly(read.index, at), apart[1]))

    def prefixes(self, at: Knowledge, atoms: set[int]) -> Knowledge:
        """Of sums of the same terms of at least 0, a longer one holds a shorter one and its next
        term: sum[j < m](f(j)) >= sum[j < i](f(j)) + f(i) for i < m."""
        sums = [
            (number, expr, expr.over[0])
            for number in sorted(atoms)
            if isinstance(expr := self.atoms[number], i.Fold)
            and expr.op == "sum"
            and len(expr.over) == 1
            and isinstance(expr.over[0], i.Over)
            and expr.over[0].low == i.ZERO
            and expr.condition is None
            and (self.least(expr.element, at) or 0) >= 0
            and self.least(expr.element, at) is not None
        ]
        for one, short, over in sums:
            for other, long, whole in sums:
                if one == other or short.element != long.element:
                    continue
                assert isinstance(over, i.Over)
                assert isinstance(whole, i.Over)
                if not self.holds(at, range_test(over.high, i.ZERO, whole.high), True, PLAIN):
                    continue
                term = self.poly(with_free_values(short.element, {over.index: over.high}), at)
                at = self.fact(at, p.minus(p.minus(p.atom(other), p.atom(one)), term))
        return at

    # -------------------------------------------------------- cases

    def by_cases(self, at: Knowledge, goal: Poly, splits: int) -> bool:
        """A goal for every way in which a value can be chosen."""
        for cases in self.splits(at, goal):
            either = tuple(each for each in at.either if each is not cases.alternatives)
            apart = replace(at, either=either)
            return all(self.in_case(apart, goal, case, splits) for case in cases.cases)
        return False

    def in_case(self, at: Knowledge, goal: Poly, case: ProofCase, splits: int) -> bool:
        for condition in case.conditions:
            if self.refuted(at, condition):
                return True
            at = self.assume(at, condition)
        if case.number is not None:
            goal = p.with_atom_value(goal, case.number, case.value)
            affected = [each for each in at.facts if case.number in set(p.atoms_of(each))]
            at = replace(
                at,
                facts=tuple(each for each in at.facts if each not in affected),
                known=at.known - {frozen(each) for each in affected},
            )
            for fact in affected:
                at = self.fact(at, p.with_atom_value(fact, case.number, case.value))
        return at.impossible or self.not_negative(at, goal, splits)

    def refuted(self, at: Knowledge, condition: i.Expr) -> bool:
        """Whether a condition plainly cannot hold."""
        if self.refuting:
            return False
        left, self.left, self.refuting = self.left, QUICK, True
        try:
            return self.holds(at, condition, False, PLAIN)
        except (ProofTooLong, RecursionError):
            return False
        finally:
            self.left, self.refuting = left, False

    def splits(self, at: Knowledge, goal: Poly) -> Iterator[ProofCases]:
        """The choices that a goal depends on, the most telling ones first."""
        own = set(p.atoms_of(goal))
        near, next_to = self.near(at, own, ROUNDS), self.near(at, own, 1)
        names = frozenset().union(*(names_in(self.atoms[number]) for number in own))
        chosen = [(self.choice_of(number, at), number) for number in (*sorted(own), *sorted(near))]
        choices = [
            (choice, number)
            for choice, number in chosen
            if choice is not None and not self.is_decided(at, choice.condition)
        ]
        often = Counter(canonical(choice.condition) for choice, _ in choices)
        choices.sort(key=lambda each: -often[canonical(each[0].condition)])
        shared = [each for each in choices if often[canonical(each[0].condition)] > 1]
        rest = [each for each in choices if each not in shared]
        for choice, number in (*shared, *(each for each in rest if each[1] in own)):
            yield self.branches(at, choice, number)
        yield from self.extremes(at, sorted(own))
        for choice, number in rest:
            if number in next_to:
                yield self.branches(at, choice, number)
        elements = any(isinstance(self.atoms[number], i.Access) for number in own | near)
        either = [each for each in at.either if elements or not has(each, i.Access)]
        for alternatives in either:
            if names_in(alternatives) & names:
                yield alternative_cases(alternatives)
        yield from self.extremes(at, sorted(near))
        for choice, number in rest:
            yield self.branches(at, choice, number)
        for alternatives in either:
            yield alternative_cases(alternatives)

    def is_decided(self, at: Knowledge, condition: i.Expr) -> bool:
        return any(self.holds(at, condition, truth, PLAIN) for truth in (True, False))

    def branches(self, at: Knowledge, choice: i.Select, number: int) -> ProofCases:
        test = choice.condition
        yes = ProofCase((test,), number, self.poly(choice.then, at))
        no = self.poly(choice.otherwise, at)
        return ProofCases((yes, ProofCase((self.opposite(test, at),), number, no)))

    @staticmethod
    def near(at: Knowledge, own: set[int], rounds: int) -> set[int]:
        """The atoms that facts connect with those of a goal."""
        facts = [set(p.atoms_of(fact)) for fact in at.facts]
        found = set(own)
        for _ in range(rounds):
            found |= {each for atoms in facts if atoms & found for each in atoms}
        return found - own

    def extremes(self, at: Knowledge, numbers: list[int]) -> Iterator[ProofCases]:
        """A maximum is one of its arguments, and none is greater."""
        for number in numbers:
            match self.atoms[number]:
                case i.Call(function="max" | "min" as name, arguments=arguments):
                    if self.extreme(at, number) is None:
                        cases = (
                            ProofCase(wins(name, each, arguments), number, self.poly(each, at))
                            for each in arguments
                        )
                        yield ProofCases(tuple(cases))
                case _:
                    pass
