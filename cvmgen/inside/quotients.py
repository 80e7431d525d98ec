"""Signs of values, and what quotients and remainders say of what they are made of."""

from __future__ import annotations

from cvmgen.inside import polynomials as p
from cvmgen.inside.assumptions import Assumptions
from cvmgen.inside.knowledge import Knowledge, frozen
from cvmgen.inside.polynomials import Poly
from cvmgen.inside.search import FEW_STEPS, Search
from cvmgen.ir import nodes as i


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
        for fact in at.facts:
            if set(fact) <= {(number,), p.ONE} and (number,) in fact:
                coefficient, rest = fact[(number,)], fact.get(p.ONE, 0)
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
        return Search(self, self.told_once(at, poly), FEW_STEPS).proves(below)

    def told_once(self, at: Knowledge, poly: Poly) -> Knowledge:
        """With what the atoms of a divisor say, but for quotients: they would not end."""
        for number in set(p.atoms_of(poly)):
            for said in self.told(number, at):
                if not isinstance(said, i.Expr) or is_plain(said):
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
        for fact in at.facts:
            if set(fact) <= {(number,), p.ONE} and fact.get((number,)) == 1:
                value = -fact.get(p.ONE, 0)
                low = value if low is None else max(low, value)
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


def is_plain(condition: i.Expr) -> bool:
    """Whether a condition is made of comparisons that hold together."""
    match condition:
        case i.Logic(op="and", operands=operands):
            return all(map(is_plain, operands))
        case _:
            return isinstance(condition, i.Compare)
