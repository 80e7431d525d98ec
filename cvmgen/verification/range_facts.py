"""What the ranges of operands say of a result: of powers, of quotients by them, of bits.

A function of integers that is in a range wherever its operands are in theirs has one more axiom,
which is true of numbers whatever stands around it: if operands are in these ranges, the result is
in that one. Which ranges are worth saying is read off the facts of the place where it is computed;
for others the axiom says nothing. So products of numbers that only ranges bound are decided by
ranges, without a solver.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from cvmgen import ranges
from cvmgen.ranges import Range
from cvmgen.verification import terms as t
from cvmgen.verification.contexts import Context, Contexts
from cvmgen.verification.symbols import Symbols
from cvmgen.verification.terms import Formula, Term

Rule = Callable[..., Range | None]
Path = tuple[Formula, ...]
ZERO = Range(0, 0)
WIDEST = 64  # bits: wider products are of extents, of which other facts say more


def with_zero(rule: Callable[[Range, Range], Range]) -> Rule:
    """Of helpers that give 0 for a divisor of 0."""

    def made(left: Range, right: Range) -> Range:
        found = rule(left, right)
        return found.join(ZERO) if right.low <= 0 <= right.high else found

    return made


def remainder(left: Range, right: Range) -> Range | None:
    """A divisor of 0 leaves what is divided, which helpers look at before."""
    return None if right.low <= 0 <= right.high else ranges.modulo(left, right)


def power_of_two(exponent: Range) -> Range | None:
    """Exponents that no integer of a machine has, or that give none, are not looked at."""
    if exponent.low < 0 or exponent.high > ranges.MOST_EXPONENT:
        return None
    return Range(1 << exponent.low, 1 << exponent.high)


def floor_log2(value: Range) -> Range:
    """0 of what has no logarithm, as helpers have it."""
    return Range(*(max(end, 1).bit_length() - 1 for end in (value.low, value.high)))


def ceil_log2(value: Range) -> Range:
    return Range(*((max(end, 1) - 1).bit_length() for end in (value.low, value.high)))


RULES: Mapping[str, Rule] = {
    "power of two": power_of_two,
    "div": with_zero(ranges.floordiv),
    "tdiv": with_zero(ranges.truncdiv),
    "mod": remainder,
    "bitand": ranges.bit_and,
    "bitor": ranges.bit_or,
    "bitxor": ranges.bit_xor,
    "floor_log2": floor_log2,
    "ceil_log2": ceil_log2,
}


class RangeFacts:
    """Adds such axioms to symbols; what is known of places is begun with `root`."""

    def __init__(self, symbols: Symbols, root: Context | None = None) -> None:
        self.symbols, self.contexts = symbols, Contexts(symbols, root, deep=False)

    def of(self, operand: Term, path: Path) -> Range | None:
        """The range of a term at a place; None where one of its ends is not known."""
        if operand.value is not None:
            return Range(operand.value, operand.value)
        low, high = self.contexts.range(path, operand)
        return None if low is None or high is None or low > high else Range(low, high)

    def know(self, made: Term, rule: str, given: Sequence[Term], path: Path) -> Term:
        """The symbol of a function, with what follows from the ranges of what it is given."""
        if not made.is_plain or made.value is not None:
            return made
        found = [self.of(each, path) for each in given]
        known = [each for each in found if each is not None]
        result = RULES[rule](*known) if len(known) == len(found) else None
        if result is not None:
            inside = (within(*each) for each in zip(given, known, strict=True))
            self.symbols.know(made, t.implies(t.every(*inside), within(made, result)))
        return made

    def know_product(self, whole: Term, left: Term, right: Term, path: Path) -> None:
        """Of a product that is written out as a sum of products, of which ranges say less."""
        if len(whole.parts) < 2 or left.value is not None or right.value is not None:
            return
        one, other = self.of(left, path), self.of(right, path)
        if one is None or other is None or not (found := ranges.times(one, other)).fits(WIDEST):
            return
        if self.of(whole, path) != found:
            inside = t.every(within(left, one), within(right, other))
            self.symbols.know(whole, t.implies(inside, within(whole, found)))
            self.contexts.begin_anew()


def within(operand: Term, found: Range) -> Formula:
    return t.every(t.at_most(found.low, operand), t.at_most(operand, found.high))
