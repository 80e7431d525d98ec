"""The symbols of a kernel's obligations, and what holds of each wherever it stands.

A symbol never changes. What is known of one is true of the values that it has, whatever is tested
around it: `x div 4` is the q with 4*q <= x < 4*q + 4. Where that needs a condition (a divisor is
positive), the axiom says so itself. So axioms can be added to any obligation, and none of them can
hide a fault of the kernel: what the kernel must ensure is never among them.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator
from dataclasses import dataclass, field

from cvmgen.verification.terms import (
    Formula,
    Term,
    TruthSymbol,
    at_most,
    below,
    equal,
    every,
    implies,
    negation,
    some,
    symbol,
    term,
    term_text,
    text,
)

LISTED = "the host makes it of lists"


@dataclass
class Symbols:
    """All symbols that were made, each with its axioms, what it stands for, and, if less is known
    of it than holds, why."""

    axioms: dict[str, tuple[Formula, ...]] = field(default_factory=dict)
    meanings: dict[str, str] = field(default_factory=dict)
    vague: dict[str, str] = field(default_factory=dict)
    made: dict[Hashable, Term] = field(default_factory=dict)
    taken: set[str] = field(default_factory=set)
    numbers: dict[str, int] = field(default_factory=dict)
    late: set[str] = field(default_factory=set)  # those made of symbols that came behind them
    remainders: dict[Term, tuple[str, Term, Term]] = field(default_factory=dict)
    quotients: dict[tuple[str, Term], list[tuple[Term, Term]]] = field(default_factory=dict)

    def named(self, name: str) -> str:
        """A name like this that nothing has."""
        made = base = name.partition("'")[0]
        while made in self.taken:
            number = self.numbers[base] = self.numbers.get(base, 1) + 1
            made = f"{base}'{number}"
        self.taken.add(made)
        return made

    def fresh(self, name: str, meaning: str = "", vague: str = "") -> Term:
        made = self.named(name)
        self.axioms[made] = ()
        if meaning:
            self.meanings[made] = meaning
        if vague:
            self.vague[made] = vague
        return symbol(made)

    def fresh_truth(self, name: str, vague: str = "") -> TruthSymbol:
        made = self.named(name)
        self.axioms[made] = ()
        if vague:
            self.vague[made] = vague
        return TruthSymbol(made)

    def know(self, operand: Term, *facts: Formula) -> None:
        """Facts of the symbols of a term."""
        for name in sorted(operand.names):
            self.axioms[name] = tuple(dict.fromkeys((*self.axioms[name], *facts)))

    def once(self, key: Hashable, make: Callable[[], Term]) -> Term:
        """A function of terms has one value for the same ones."""
        if key not in self.made:
            self.made[key] = make()
        return self.made[key]

    # ------------------------------------------------------------ functions

    def floordiv(self, left: Term, right: Term) -> Term:
        """The quotient rounded down."""
        return self.quotient("div", left, right)

    def truncdiv(self, left: Term, right: Term) -> Term:
        """The quotient rounded towards zero."""
        return self.quotient("tdiv", left, right)

    def remainder(self, word: str, left: Term, right: Term) -> Term:
        found = left - self.quotient(word, left, right) * right
        if right.value is None:
            self.remainders[found] = word, left, right
        return found

    def factor(self, operand: Term) -> Term:
        """What is multiplied: a remainder as a symbol, of which more is seen than of a difference
        whose parts are multiplied one by one."""
        if operand not in self.remainders:
            return operand
        return self.rest(*self.remainders[operand])

    def rest(self, word: str, left: Term, right: Term) -> Term:
        """A remainder as a symbol."""
        whole = left - self.quotient(word, left, right) * right
        key = ("rest", word, left, right)
        return self.once(key, lambda: self.new_remainder(whole, word, left, right))

    def new_remainder(self, whole: Term, word: str, left: Term, right: Term) -> Term:
        """It is below the divisor, and no more than what is divided: so below the least of the
        divisor and anything that is greater than what is divided. That says the most, and the
        divisor itself is a bound where there is no such least."""
        made = self.fresh("r", f"{factor_text(left)} mod {factor_text(right)}")
        self.know(made, equal(made, whole))
        known = every(at_most(1, right), at_most(0, left))
        beyond = [known]
        for limit, least in list(self.least_with(right)):
            self.know(made, implies(every(known, below(left, limit)), below(made, least)))
            beyond.append(at_most(limit, left))
        self.know(made, implies(every(*beyond), below(made, right)))
        self.know(made, implies(known, every(at_most(0, made), at_most(made, left))))
        if word == "div":
            within = every(at_most(0, made), below(made, right))
            self.know(made, implies(every(at_most(1, right), at_most(left, -1)), within))
        return made

    def least_with(self, operand: Term) -> Iterator[tuple[Term, Term]]:
        """The minima of a term and another, with that other one."""
        for key, least in self.made.items():
            match key:
                case ("min", Term() as one, Term() as other) if operand in (one, other):
                    yield other if one == operand else one, least
                case _:
                    pass

    def quotient(self, word: str, left: Term, right: Term) -> Term:
        one, other = left.value, right.value
        if one is not None and other is not None and one >= 0 and other > 0:
            return term(one // other)
        if other == 1:
            return left
        return self.once((word, left, right), lambda: self.new_quotient(word, left, right))

    def new_quotient(self, word: str, left: Term, right: Term) -> Term:
        made = self.fresh("q", f"{factor_text(left)} {word} {factor_text(right)}")
        rest = left - made * right
        down = every(at_most(0, rest), below(rest, right))
        up = every(at_most(rest, 0), below(0, rest + right))  # of trunc below zero
        self.know(made, implies(equal(right, 0), equal(made, 0)))  # as helpers have it
        positive, upward = at_most(1, right), at_most(0, left)
        other = self.made.get(("tdiv" if word == "div" else "div", left, right))
        if other is not None:  # both ways to round are one there
            self.know(made, implies(every(positive, upward), equal(made, other)))
        if word == "div":
            negative = every(at_most(rest, 0), below(right, rest))
            self.know(made, implies(positive, down), implies(at_most(right, -1), negative))
            self.know(made, implies(every(positive, upward), at_most(0, made)))
        else:
            self.know(made, implies(every(positive, upward), every(down, at_most(0, made))))
            self.know(made, implies(every(positive, negation(upward)), up))
            self.know(made, implies(every(positive, at_most(1, made)), down))  # none below zero
        if right.value is None:
            self.in_order(made, word, left, right)
        return made

    def in_order(self, made: Term, word: str, left: Term, right: Term) -> None:
        """What is no more has no greater quotient by the same divisor. It is said of multiples of
        one symbol, of which it is plain which one is less."""
        others = self.quotients.setdefault((word, right), [])
        for other, quotient in others:
            if factors_of(left) & factors_of(other):
                one, two = (left, made), (other, quotient)
                for (less, small), (more, great) in ((one, two), (two, one)):
                    known = every(at_most(1, right), at_most(less, more))
                    self.know(made, implies(known, at_most(small, great)))
        others.append((left, made))

    def power_of_two(self, exponent: Term) -> Term:
        """2 to the power of an integer, which is 1 below 0, as helpers have it."""
        if exponent.value is not None:
            return term(1 << max(exponent.value, 0))

        def made() -> Term:
            found = self.fresh("power", f"2^{factor_text(exponent)}")
            self.know(found, at_most(1, found))
            self.know(found, implies(at_most(exponent, 0), equal(found, 1)))
            self.know(found, implies(at_most(1, exponent), at_most(2, found)))
            return found

        return self.once(("power", exponent), made)

    def ceildiv(self, left: Term, right: Term) -> Term:
        return term(0) - self.floordiv(term(0) - left, right)

    def extreme(self, word: str, first: Term, *others: Term) -> Term:
        """The least or the greatest of several."""
        for each in others:
            first = self.least_or_greatest(word, first, each)
        return first

    def least_or_greatest(self, word: str, left: Term, right: Term) -> Term:
        if left == right:
            return left
        known = (left - right).value
        if known is not None:
            return left if (known <= 0) == (word == "min") else right
        return self.once((word, left, right), lambda: self.new_extreme(word, left, right))

    def new_extreme(self, word: str, left: Term, right: Term) -> Term:
        made = self.fresh(word, f"{word}({term_text(left)}, {term_text(right)})")
        for each in (left, right):
            self.know(made, at_most(made, each) if word == "min" else at_most(each, made))
        self.know(made, some(equal(made, left), equal(made, right)))
        return made

    def saturated(self, operand: Term, low: int, high: int) -> Term:
        """The nearest integer from `low` to `high`."""
        return self.extreme("max", term(low), self.extreme("min", term(high), operand))

    def choice(self, condition: Formula, then: Term, otherwise: Term) -> Term:
        if then == otherwise:
            return then
        key = ("if", condition, then, otherwise)
        return self.once(key, lambda: self.new_choice(condition, then, otherwise))

    def new_choice(self, condition: Formula, then: Term, otherwise: Term) -> Term:
        shown = f"{term_text(then)} if {text(condition)} else {term_text(otherwise)}"
        made = self.fresh("c", shown)
        self.know(made, implies(condition, equal(made, then)))
        self.know(made, implies(negation(condition), equal(made, otherwise)))
        self.know(made, some(equal(made, then), equal(made, otherwise)))
        return made

    def magnitude(self, operand: Term) -> Term:
        return self.extreme("max", operand, term(0) - operand)

    def square_root(self, operand: Term) -> Term:
        """Rounded down, so no more than the operand where that has a root; 0 where it has none."""

        def made() -> Term:
            found = self.within("isqrt", 0, None, "roots are not looked at, but that they are less")
            self.know(found, at_most(found, self.extreme("max", operand, term(0))))
            return found

        return self.once(("isqrt", operand), made)

    def bits(self, op: str, left: Term, right: Term, limits: tuple[int, int]) -> Term:
        """An operation on bits: any value of its type, but no more than a mask lets through."""

        def made() -> Term:
            found = self.within(op, *limits, "bits are not looked at, but for how many there are")
            for each in (left, right) if op == "bitand" else ():
                within = every(at_most(0, found), at_most(found, each))
                self.know(found, implies(at_most(0, each), within))
            return found

        return self.once((op, left, right), made)

    def within(self, name: str, low: int | None, high: int | None, vague: str) -> Term:
        """A symbol of which only its range is known."""
        made = self.fresh(name, vague=vague)
        if low is not None:
            self.know(made, at_most(low, made))
        if high is not None:
            self.know(made, at_most(made, high))
        return made

    def converted(self, operand: Term, low: int, high: int) -> Term:
        """What a machine type makes of a value: the value itself, if the type holds it."""
        if operand.value is not None and low <= operand.value <= high:
            return operand
        key = ("as", operand, low, high)
        return self.once(key, lambda: self.new_converted(operand, low, high))

    def new_converted(self, operand: Term, low: int, high: int) -> Term:
        made = self.fresh("as", f"{term_text(operand)} as an integer from {low} to {high}")
        held = every(at_most(low, operand), at_most(operand, high))
        self.know(made, at_most(low, made), at_most(made, high))
        self.know(made, implies(held, equal(made, operand)))
        return made


def factors_of(operand: Term) -> frozenset[str]:
    """The symbols that each part of a term has as a factor."""
    return frozenset.intersection(*(frozenset(each) for each, _ in operand.parts or (((), 0),)))


def factor_text(operand: Term) -> str:
    written = term_text(operand)
    return written if len(operand.parts) <= 1 else f"({written})"
