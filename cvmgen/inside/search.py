"""The search for steps from facts to a goal."""

from __future__ import annotations

from collections.abc import Iterator
from heapq import heappop, heappush
from itertools import product
from typing import TYPE_CHECKING

from cvmgen.inside import polynomials as p
from cvmgen.inside.knowledge import Knowledge, frozen
from cvmgen.inside.polynomials import Poly
from cvmgen.ir import nodes as i

if TYPE_CHECKING:
    from cvmgen.inside.quotients import Quotients

STEPS = 100  # of one search
FEW_STEPS = 10  # of one for what has to be plain
Waiting = tuple[int, int, int, int, Poly]


class Search:
    """Looks for steps from facts to one goal."""

    def __init__(self, prover: Quotients, at: Knowledge, steps: int = STEPS) -> None:
        self.prover = prover
        self.at = at
        self.steps = steps
        self.signs: dict[int, int] = {}
        self.seen: set[object] = set()
        self.values: list[tuple[int, Poly]] = []  # atoms, and what they are equal to
        kept = list(at.facts) if steps < STEPS else self.without_names(list(at.facts))
        self.known = {frozen(fact) for fact in kept}
        self.facts: dict[p.Monomial, list[tuple[Poly, int]]] = {}  # by a term that they have
        for fact in kept:
            for monomial, coefficient in fact.items():
                self.facts.setdefault(monomial, []).append((fact, coefficient))
        self.equalities = [fact for fact in kept if frozen(p.minus({}, fact)) in self.known]

    def without_names(self, facts: list[Poly]) -> list[Poly]:
        """Facts with one atom for each value that has several, and numbers for those known."""
        kept = {frozen(fact): fact for fact in facts}
        waiting = [fact for fact in facts if len(fact) <= 3]
        while waiting:
            fact = waiting.pop()
            found = renaming(fact)
            if found is None or frozen(fact) not in kept:
                continue
            if frozen(p.minus({}, fact)) not in kept:
                continue
            self.values.append(found)
            for key, each in list(kept.items()):
                if found[0] in set(p.atoms_of(each)):
                    del kept[key]
                    changed = p.tightened(p.put(each, *found))
                    if changed:
                        kept[frozen(changed)] = changed
                        waiting += [changed] * (len(changed) <= 3)
        return list(kept.values())

    def proves(self, goal: Poly) -> bool:
        """Whether steps lead from a goal to one without a term that is against it."""
        for value in self.values:
            goal = p.put(goal, *value)
        waiting: list[Waiting] = []
        self.seen.clear()
        if self.add(waiting, [goal], 0):
            return True
        for _ in range(self.steps):
            if not waiting:
                return False
            _, _, _, depth, goal = heappop(waiting)
            against = self.against(goal)
            found = [
                *self.by_equalities(goal),
                *self.by_quotients(goal),
                *self.by_facts(goal, against),
                *self.by_products(goal, against),
            ]
            if self.add(waiting, found, depth + 1):
                return True
        return False

    def add(self, waiting: list[Waiting], goals: list[Poly], depth: int) -> bool:
        """Put new goals into the queue, the simplest ones first, but none that is far for ever;
        whether one of them is reached already."""
        both = (each for goal in goals for each in (goal, self.reduced(goal)))
        for goal in both:
            key = frozen(goal)
            if key in self.seen:
                continue
            self.seen.add(key)
            against = len(self.against(goal))
            if against == 0 or key in self.known:
                return True
            if len(goal) > 1 or goal.get(p.ONE, 0) >= 0:  # not a mere number below 0
                heappush(waiting, (against + depth, len(goal), len(self.seen), depth, goal))
        return False

    def sign(self, monomial: p.Monomial) -> int:
        result = 1
        for number in set(monomial):
            if number not in self.signs:
                self.signs[number] = self.prover.sign(self.at, number)
            if monomial.count(number) % 2:
                result *= self.signs[number]
        return result

    def reduced(self, goal: Poly) -> Poly:
        """Without a factor of at least 0 that all terms have; enough, though not needed."""
        goal = p.tightened(goal)
        if len(goal) < 2 or p.ONE in goal:
            return goal
        first = next(iter(goal))
        for number in set(first):
            if self.sign((number,)) == 1 and all(number in each for each in goal):
                parts = {p.without(each, number): value for each, value in goal.items()}
                return self.reduced(parts)
        return goal

    def against(self, goal: Poly) -> list[p.Monomial]:
        """The terms that may be below 0."""
        found = []
        for monomial, value in goal.items():
            if self.sign(monomial) * (1 if value > 0 else -1) != 1:
                found.append(monomial)
        return found

    def by_equalities(self, goal: Poly) -> Iterator[Poly]:
        """With what an atom is equal to."""
        atoms = set(p.atoms_of(goal))
        for fact in self.equalities:
            for number in atoms & set(p.atoms_of(fact)):
                apart = p.split(fact, number)
                if apart is not None and apart[0] == -1:
                    yield p.put(goal, number, apart[1])

    def by_facts(self, goal: Poly, against: list[p.Monomial]) -> Iterator[Poly]:
        for monomial in against:
            if monomial == p.ONE:
                continue
            for part, factor in p.divisors(monomial):
                for fact, coefficient in self.facts.get(part, ()):
                    sign = self.sign(factor)
                    if sign == 0 or (coefficient * sign > 0) != (goal[monomial] > 0):
                        continue
                    most, least = abs(goal[monomial]), abs(coefficient)
                    scaled = {each: value * least for each, value in goal.items()}
                    used = p.times(fact, {factor: sign * most})
                    yield p.minus(scaled, used)
        if against == [p.ONE]:
            near = [
                fact for monomial in goal if monomial for fact, _ in self.facts.get(monomial, ())
            ]
            for fact in near:
                terms = [each for each in fact if each != p.ONE]
                if terms and all(goal.get(each, 0) * fact[each] > 0 for each in terms):
                    yield p.minus(goal, fact)

    def by_products(self, goal: Poly, against: list[p.Monomial]) -> Iterator[Poly]:
        """With the product of two facts that takes a product of two atoms away; only where it
        leaves fewer terms that are against the goal, since pairs of facts are many."""
        if self.steps < STEPS:
            return
        for monomial in against:
            if len(monomial) != 2:
                continue
            for (first, one), (second, other) in product(*map(self.relations, monomial)):
                factor, rest = divmod(goal[monomial], one * other)
                if rest or factor < 0:
                    continue
                left = p.minus(goal, p.times(p.times(first, second), p.constant(factor)))
                if len(self.against(left)) < len(against):
                    yield left

    def relations(self, number: int) -> list[tuple[Poly, int]]:
        """The facts that an atom is a term of, with another one."""
        facts = self.facts.get((number,), ())
        return [each for each in facts if len(each[0].keys() - {p.ONE}) > 1]

    def by_quotients(self, goal: Poly) -> Iterator[Poly]:
        """q <= U says a < b*(U + 1), and q >= L says a >= b*L, for the quotient q of a by b > 0."""
        for number in set(p.atoms_of(goal)):
            match self.prover.atoms[number]:
                case i.Binary(op="floordiv", left=left, right=right):
                    up = False
                case i.Call(function="ceildiv", arguments=(left, right)):
                    up = True
                case _:
                    continue
            apart = p.split(goal, number)
            if apart is None or abs(apart[0]) != 1:
                continue
            coefficient, rest = apart
            a, b = (self.prover.poly(each, self.at) for each in (left, right))
            if not self.prover.above_zero(self.at, b):
                continue
            if coefficient == -1:
                ahead = p.minus(p.times(b, rest), a)
                yield ahead if up else p.plus(ahead, p.shifted(b, -1))
            else:
                ahead = p.plus(p.times(b, rest), a)
                yield p.plus(ahead, p.shifted(b, -1)) if up else ahead


def renaming(fact: Poly) -> tuple[int, Poly] | None:
    """The atom made last of a fact `atom = atom` or `atom = number`, and its value."""
    atoms = sorted(set(p.atoms_of(fact)), reverse=True)
    if not atoms or len(atoms) > 2 or any(len(monomial) > 1 for monomial in fact):
        return None
    for number in atoms:
        apart = p.split(fact, number)
        if apart is not None and apart[0] == -1:
            return number, apart[1]
        if apart is not None and apart[0] == 1:
            return number, p.minus({}, apart[1])
    return None
