"""Signs of values, what quotients say of what they are made of, and the search for steps from facts
to a goal, which asks both and is asked by them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence, Set
from heapq import heappop, heappush
from itertools import product
from math import prod
from typing import NamedTuple

from cvmgen import polynomials as p
from cvmgen.inside.assumptions import Assumptions
from cvmgen.inside.knowledge import Knowledge, frozen
from cvmgen.ir import nodes as i
from cvmgen.ir.remember import remembered
from cvmgen.polynomials import Poly


class ProofTooLong(Exception):
    """A proof that takes more steps than it is worth."""


class Quotients(Assumptions):
    """Finds the facts of a sign or of a quotient."""

    def said(self, at: Knowledge, said: Poly | i.Expr) -> Knowledge:
        return self.assume(at, said) if isinstance(said, i.Expr) else self.fact(at, said)

    def sign(self, at: Knowledge, number: int) -> int:
        """1 for an atom of at least 0, -1 for one of at most 0, 0 where that is not plain."""
        expr = self.atoms[number]
        low = self.least(expr, at)
        if low is not None and low >= 0:
            return 1
        for coefficient, rest in bounds_of_atom(at, number):
            if coefficient > 0 and rest <= 0:
                return 1
            if coefficient < 0 and rest <= 0:
                return -1
        match expr:
            case i.Binary(op="floordiv", left=left, right=right):
                return self.sign_of(at, self.poly(left, at)) * self.sign_of(
                    at, self.poly(right, at)
                )
            case i.Binary(op="mod", right=right):
                return self.sign_of(at, self.poly(right, at))
            case i.Call(function="max", arguments=arguments):
                signs = [self.sign_of(at, self.poly(each, at)) for each in arguments]
                return 1 if 1 in signs else 0
            case i.Call(function="min", arguments=arguments):
                signs = [self.sign_of(at, self.poly(each, at)) for each in arguments]
                return 1 if set(signs) == {1} else 0
            case _:
                return 0

    def sign_of(self, at: Knowledge, poly: Poly) -> int:
        signs = {self.term_sign(at, each, value) for each, value in poly.items()}
        if signs <= {1}:
            return 1
        if signs <= {-1}:
            return -1
        return 1 if frozen(poly) in at.known else 0

    def term_sign(self, at: Knowledge, monomial: p.Monomial, coefficient: int) -> int:
        result = 1 if coefficient > 0 else -1
        for number in set(monomial):
            if monomial.count(number) % 2:
                result *= self.sign(at, number)
        return result

    # -------------------------------------------------------- quotients and remainders

    def of_quotient(self, at: Knowledge, number: int) -> Knowledge:
        """b*q <= a < b*q + b for a quotient q of a by b > 0, and the like."""
        atom = p.atom(number)
        op: str
        match self.atoms[number]:
            case i.Binary(op="floordiv" | "mod" | "truncdiv" as op, left=left, right=right):
                pass
            case i.Call(function="ceildiv" as op, arguments=(left, right)):
                pass
            case _:
                return at
        a, b = self.poly(left, at), self.poly(right, at)
        if op == "truncdiv":  # of values of at least 0 it rounds down
            if self.sign_of(at, a) != 1 or not self.above_zero(at, b):
                return at
            op = "floordiv"
        positive = self.above_zero(at, b)
        negative = not positive and self.above_zero(at, p.minus({}, b))
        if not (positive or negative):
            return at
        facts: tuple[Poly, ...]
        if op == "mod":
            ends = (atom, p.shifted(p.minus(b, atom), -1))
            if negative:
                ends = (p.minus({}, atom), p.shifted(p.minus(atom, b), -1))
            quotient = self.divided("floordiv", a, b)
            rest = p.minus(p.minus(a, p.times(b, quotient)), atom)
            facts = (*ends, rest, p.minus({}, rest))
        else:
            rest = p.minus(a, p.times(b, atom))  # what a rounded quotient leaves
            rest = rest if op == "floordiv" else p.minus({}, rest)
            size = b if positive else p.minus({}, b)
            # Rounded down the rest has the sign of b, rounded up the other one.
            rest = rest if positive else p.minus({}, rest)
            facts = (rest, p.shifted(p.minus(size, rest), -1))
        for each in facts:
            at = self.fact(at, each)
        return self.exact(at, a, b, atom) if op == "floordiv" and positive else at

    def above_zero(self, at: Knowledge, poly: Poly) -> bool:
        below = p.tightened(p.shifted(poly, -1))
        value = p.value_of(below)
        if value is not None:
            return value >= 0
        if frozen(below) in at.known or self.at_least_1(at, poly):
            return True
        return ProofSearch(self, self.told_once(at, poly), FEW_STEPS).proves(below)

    def told_once(self, at: Knowledge, poly: Poly) -> Knowledge:
        """With what the atoms of a divisor say, but for quotients: they would not end."""
        for number in set(p.atoms_of(poly)):
            for said in self.told(number, at):
                if not isinstance(said, i.Expr) or is_conjunction(said):
                    at = self.said(at, said)
            match self.atoms[number]:
                case i.Binary(op="floordiv", left=left, right=right):
                    a, b = self.poly(left, at), self.poly(right, at)
                    if self.at_least_1(at, b):
                        at = self.exact(at, a, b, p.atom(number))
                case _:
                    pass
        return at

    def at_least_1(self, at: Knowledge, poly: Poly) -> bool:
        """Whether a product of values of at least 1 stands there."""
        if len(poly) != 1:
            return False
        ((monomial, value),) = poly.items()
        return value >= 1 and all((self.bound(at, number) or 0) >= 1 for number in monomial)

    def bound(self, at: Knowledge, number: int) -> int | None:
        """The greatest constant known to be no more than an atom."""
        low = self.least(self.atoms[number], at)
        for coefficient, rest in bounds_of_atom(at, number):
            if coefficient == 1:
                low = -rest if low is None else max(low, -rest)
        return low

    def exact(self, at: Knowledge, a: Poly, b: Poly, quotient: Poly) -> Knowledge:
        """Of a quotient that leaves no remainder: a = b*q, and q >= 1 if both are."""
        remainder = self.divided("mod", a, b)
        if frozen(p.minus({}, remainder)) not in at.known and remainder:
            return at
        rest = p.minus(a, p.times(b, quotient))
        for each in (rest, p.minus({}, rest)):
            at = self.fact(at, each)
        if self.at_least_1(at, a) and self.at_least_1(at, b):
            at = self.fact(at, p.shifted(quotient, -1))
        return at


def bounds_of_atom(at: Knowledge, number: int) -> Iterator[tuple[int, int]]:
    """c and r of the facts c * atom + r >= 0 about one atom alone."""
    term = (number,)
    for fact in at.facts:
        if term in fact and (len(fact) == 1 or (len(fact) == 2 and p.ONE in fact)):
            yield fact[term], fact.get(p.ONE, 0)


def is_conjunction(condition: i.Expr) -> bool:
    """Whether a condition is made of comparisons that hold together."""
    match condition:
        case i.Logic(op="and", operands=operands):
            return all(map(is_conjunction, operands))
        case _:
            return isinstance(condition, i.Compare)


# ---------------------------------------------------------------- the search


STEPS = 100  # of one search
FEW_STEPS = 10  # of one for what has to be plain
Waiting = tuple[int, int, int, int, Poly]


class ProofSearch:
    """Looks for steps from facts to one goal."""

    def __init__(self, prover: Quotients, at: Knowledge, steps: int = STEPS) -> None:
        self.prover = prover
        self.at = at
        self.steps = steps
        self.signs: dict[p.Monomial, int] = {}
        self.seen: set[object] = set()
        # Atoms, and what they are equal to.
        self.values, found = without_names(at.facts) if steps == STEPS else ((), usable(at.facts))
        self.known, self.facts, self.equalities = found

    def proves(self, goal: Poly) -> bool:
        """Whether steps lead from a goal to one without a term that is against it."""
        for value in self.values:
            goal = p.with_atom_value(goal, *value)
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
        known = self.signs.get(monomial)
        if known is None:
            known = self.signs[monomial] = self.new_sign(monomial)
        return known

    def new_sign(self, monomial: p.Monomial) -> int:
        if len(monomial) == 1:
            return self.prover.sign(self.at, monomial[0])
        return prod(self.sign((each,)) for each in set(monomial) if monomial.count(each) % 2)

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
        for fact, own in self.equalities:
            for number in atoms & own:
                apart = p.split_off_atom(fact, number)
                if apart is not None and apart[0] == -1:
                    yield p.with_atom_value(goal, number, apart[1])

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
            apart = p.split_off_atom(goal, number)
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


class Usable(NamedTuple):
    """Facts as a search asks for them: all, by a term that they have, and those that are 0 with
    their atoms."""

    known: Set[object]
    by_term: Mapping[p.Monomial, Sequence[tuple[Poly, int]]]
    equalities: Sequence[tuple[Poly, Set[int]]]


@remembered
def usable(facts: tuple[Poly, ...]) -> Usable:
    """Many goals are looked for from the same facts."""
    known = {frozen(fact) for fact in facts}
    by_term: dict[p.Monomial, list[tuple[Poly, int]]] = {}
    for fact in facts:
        for monomial, coefficient in fact.items():
            by_term.setdefault(monomial, []).append((fact, coefficient))
    equalities = (each for each in facts if frozen(p.minus({}, each)) in known)
    return Usable(known, by_term, [(each, {*p.atoms_of(each)}) for each in equalities])


@remembered
def without_names(facts: tuple[Poly, ...]) -> tuple[Sequence[tuple[int, Poly]], Usable]:
    """Facts with one atom for each value that has several, and numbers for those known."""
    values: list[tuple[int, Poly]] = []
    kept = {frozen(fact): fact for fact in facts}
    waiting = [fact for fact in facts if len(fact) <= 3]
    while waiting:
        fact = waiting.pop()
        found = renaming(fact)
        if found is None or frozen(fact) not in kept:
            continue
        if frozen(p.minus({}, fact)) not in kept:
            continue
        values.append(found)
        for key, each in list(kept.items()):
            if found[0] in set(p.atoms_of(each)):
                del kept[key]
                changed = p.tightened(p.with_atom_value(each, *found))
                if changed:
                    kept[frozen(changed)] = changed
                    waiting += [changed] * (len(changed) <= 3)
    return values, usable(tuple(kept.values()))


def renaming(fact: Poly) -> tuple[int, Poly] | None:
    """The atom made last of a fact `atom = atom` or `atom = number`, and its value."""
    atoms = sorted(set(p.atoms_of(fact)), reverse=True)
    if not atoms or len(atoms) > 2 or any(len(monomial) > 1 for monomial in fact):
        return None
    for number in atoms:
        apart = p.split_off_atom(fact, number)
        if apart is not None and apart[0] == -1:
            return number, apart[1]
        if apart is not None and apart[0] == 1:
            return number, p.minus({}, apart[1])
    return None
