"""The language of obligations: integers as polynomials of symbols, and conditions of them.

There is nothing else. A quotient, a minimum, a choice or an element that is read is a symbol, and
conditions say what is known of it (`symbols.py`), so both solvers are given the same plain problem,
and two terms are equal where they are written alike.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import reduce
from math import prod
from typing import Any, Generic, TypeVar, assert_never

from cvmgen import polynomials as p

Monomial = tuple[str, ...]
Value = TypeVar("Value")


class LazyAttribute(Generic[Value]):
    """What is computed of an object when it is asked for first; without the lock that Python's own
    `cached_property` takes, which here takes longer than what is computed."""

    def __init__(self, make: Callable[[Any], Value]) -> None:
        self.make, self.name = make, make.__name__

    def __get__(self, owner: Any, of: type[Any] | None = None) -> Value:
        found = vars(owner)[self.name] = self.make(owner)
        return found


@dataclass(frozen=True, eq=False, init=False)
class Term:
    """The sum of coefficients, none of which is 0, times products of symbols; `parts` are in
    order, which most terms of a search are never asked for."""

    poly: Mapping[Monomial, int]

    def __init__(self, poly: Mapping[Monomial, int]) -> None:
        vars(self)["poly"] = poly  # the quick way to set what is frozen: millions are made

    @LazyAttribute
    def parts(self) -> tuple[tuple[Monomial, int], ...]:
        return tuple(sorted(self.poly.items(), key=by_degree))

    @LazyAttribute
    def names(self) -> frozenset[str]:
        return frozenset().union(*self.poly)

    @LazyAttribute
    def code(self) -> int:
        return hash(frozenset(self.poly.items()))

    def __hash__(self) -> int:
        return self.code

    def __eq__(self, other: object) -> bool:
        return self is other or (isinstance(other, Term) and self.poly == other.poly)

    @property
    def value(self) -> int | None:
        """The integer that the term is, if it has no symbols."""
        if not self.poly:
            return 0
        return self.poly.get((), None) if len(self.poly) == 1 else None

    @property
    def is_plain(self) -> bool:
        """Whether it is a number or a symbol."""
        match self.parts:
            case () | (((), _),) | (((_,), 1),):
                return True
            case _:
                return False

    def __add__(self, other: Term | int) -> Term:
        return Term(p.plus(self.poly, term(other).poly))

    def __sub__(self, other: Term | int) -> Term:
        return Term(p.plus(self.poly, term(other).poly, -1))

    def __mul__(self, other: Term | int) -> Term:
        number = other if isinstance(other, int) else other.value
        if number is None:
            return Term(p.times(self.poly, term(other).poly))
        return self.multiple(number)

    def multiple(self, number: int) -> Term:
        """The term so often."""
        if number == 1:
            return self
        return Term({key: each * number for key, each in self.poly.items()} if number else {})


def term_of(poly: Mapping[Monomial, int]) -> Term:
    return Term({monomial: number for monomial, number in poly.items() if number})


def by_degree(part: tuple[Monomial, int]) -> tuple[int, Monomial]:
    return -len(part[0]), part[0]


def term(value: Term | int) -> Term:
    return value if isinstance(value, Term) else Term({(): value} if value else {})


def symbol(name: str) -> Term:
    return Term({(name,): 1})


def product(factors: Iterable[Term]) -> Term:
    return reduce(Term.__mul__, factors, ONE)


ZERO, ONE = term(0), term(1)


# ---------------------------------------------------------------- conditions


@dataclass(frozen=True)
class Holds:
    """`term` op 0; op: >= or ==."""

    op: str
    term: Term

    @property
    def names(self) -> frozenset[str]:
        return self.term.names

    def __hash__(self) -> int:
        return hash(self.op) ^ self.term.code


@dataclass(frozen=True)
class TruthSymbol:
    """A condition that is a symbol."""

    name: str

    @property
    def names(self) -> frozenset[str]:
        return frozenset((self.name,))


@dataclass(frozen=True)
class Several:
    """Conditions that are one."""

    parts: tuple[Formula, ...]

    @LazyAttribute
    def names(self) -> frozenset[str]:
        return frozenset().union(*(each.names for each in self.parts))

    @LazyAttribute
    def code(self) -> int:
        return hash((type(self), self.parts))

    def __hash__(self) -> int:
        return self.code


@dataclass(frozen=True)
class Every(Several):
    """All of several conditions; of none: true."""

    __hash__ = Several.__hash__


@dataclass(frozen=True)
class Some(Several):
    """One of several conditions, or more; of none: false."""

    __hash__ = Several.__hash__


@dataclass(frozen=True)
class Negation:
    operand: Formula

    @property
    def names(self) -> frozenset[str]:
        return self.operand.names


Formula = Holds | TruthSymbol | Every | Some | Negation
TRUE, FALSE = Every(()), Some(())


def at_most(low: Term | int, high: Term | int) -> Formula:
    return decided(Holds(">=", term(high) - low))


def below(low: Term | int, high: Term | int) -> Formula:
    return at_most(term(low) + 1, high)


def equal(left: Term | int, right: Term | int) -> Formula:
    return decided(Holds("==", term(left) - right))


def decided(test: Holds) -> Formula:
    """A comparison of numbers is true or false."""
    value = test.term.value
    if value is None:
        return test
    return TRUE if (value >= 0 if test.op == ">=" else value == 0) else FALSE


def every(*parts: Formula) -> Formula:
    found: list[Formula] = []
    for each in parts:
        if each == FALSE:
            return FALSE
        found += each.parts if isinstance(each, Every) else (each,)
    return found[0] if len(found) == 1 else Every(tuple(dict.fromkeys(found)))


def some(*parts: Formula) -> Formula:
    found: list[Formula] = []
    for each in parts:
        if each == TRUE:
            return TRUE
        found += each.parts if isinstance(each, Some) else (each,)
    return found[0] if len(found) == 1 else Some(tuple(dict.fromkeys(found)))


def negation(formula: Formula) -> Formula:
    """What holds where the formula does not; of an order, the opposite one: integers have gaps."""
    match formula:
        case Negation(operand=operand):
            return operand
        case Holds(op=">=", term=left):
            return at_most(left, -1)
        case Every(parts=parts):
            return some(*map(negation, parts))
        case Some(parts=parts):
            return every(*map(negation, parts))
        case Holds() | TruthSymbol():
            return Negation(formula)
        case _:
            assert_never(formula)


def implies(condition: Formula, result: Formula) -> Formula:
    return some(negation(condition), result)


def conjuncts(formula: Formula) -> tuple[Formula, ...]:
    return formula.parts if isinstance(formula, Every) else (formula,)


def without(monomial: Monomial, factors: Monomial) -> Monomial | None:
    """A product of symbols without others that it has as factors; None where it has not."""
    left = list(monomial)
    for each in factors:
        if each not in left:
            return None
        left.remove(each)
    return tuple(left)


def names_of(formula: Formula) -> frozenset[str]:
    """The symbols of a condition."""
    return formula.names


def holds(formula: Formula, values: Mapping[str, int]) -> bool:
    """Whether a condition holds for these values of its symbols; of conditions, 1 is true."""
    match formula:
        case Holds(op=op, term=operand):
            found = evaluated(operand, values)
            return found >= 0 if op == ">=" else found == 0
        case TruthSymbol(name=name):
            return values[name] != 0
        case Every(parts=parts):
            return all(holds(each, values) for each in parts)
        case Some(parts=parts):
            return any(holds(each, values) for each in parts)
        case Negation(operand=operand):
            return not holds(operand, values)
        case _:
            assert_never(formula)


def evaluated(operand: Term, values: Mapping[str, int]) -> int:
    return sum(number * prod(values[name] for name in names) for names, number in operand.parts)


def comparisons(formula: Formula) -> Iterator[Holds]:
    """The comparisons in a condition, those under `not` as well."""
    match formula:
        case Holds():
            yield formula
        case Every(parts=parts) | Some(parts=parts):
            for each in parts:
                yield from comparisons(each)
        case Negation(operand=operand):
            yield from comparisons(operand)
        case TruthSymbol():
            pass


def truths_of(formula: Formula) -> Iterator[str]:
    """Those of its symbols that are conditions."""
    match formula:
        case TruthSymbol(name=name):
            yield name
        case Every(parts=parts) | Some(parts=parts):
            for each in parts:
                yield from truths_of(each)
        case Negation(operand=operand):
            yield from truths_of(operand)
        case Holds():
            pass
        case _:
            assert_never(formula)


def renamed(formula: Formula, names: Mapping[str, str]) -> Formula:
    """A condition with other symbols."""
    match formula:
        case Holds(op=op, term=operand):
            return Holds(op, renamed_term(operand, names))
        case TruthSymbol(name=name):
            return TruthSymbol(names.get(name, name))
        case Every(parts=parts):
            return Every(tuple(renamed(each, names) for each in parts))
        case Some(parts=parts):
            return Some(tuple(renamed(each, names) for each in parts))
        case Negation(operand=operand):
            return Negation(renamed(operand, names))
        case _:
            assert_never(formula)


def renamed_term(operand: Term, names: Mapping[str, str]) -> Term:
    if operand.names.isdisjoint(names):
        return operand
    return term_of(
        {
            tuple(sorted(names.get(name, name) for name in monomial)): coefficient
            for monomial, coefficient in operand.parts
        }
    )


# ---------------------------------------------------------------- text


def text(formula: Formula, least: int = 0) -> str:
    """A condition as people write it."""
    match formula:
        case Holds(op=op, term=operand):
            return _comparison(op, operand)
        case TruthSymbol(name=name):
            return name
        case Every(parts=()):
            return "true"
        case Some(parts=()):
            return "false"
        case Every(parts=parts):
            return _joined(" and ", parts, 2, least)
        case Some(parts=parts):
            return _joined(" or ", parts, 1, least)
        case Negation(operand=Holds(op="==", term=operand)):
            return _comparison("!=", operand)
        case Negation(operand=operand):
            return f"not {text(operand, 3)}"
        case _:
            assert_never(formula)


def _joined(word: str, parts: Iterable[Formula], level: int, least: int) -> str:
    written = word.join(text(each, level + 1) for each in parts)
    return f"({written})" if level < least else written


def _comparison(op: str, operand: Term) -> str:
    """What is added on the left, what is taken away on the right; x >= y + 1 as y < x."""
    plus = term_of({name: value for name, value in operand.parts if value > 0})
    minus = term_of({name: -value for name, value in operand.parts if value < 0})
    if op == ">=" and minus.poly.get((), 0) == 1:
        return f"{term_text(minus - 1)} < {term_text(plus)}"
    if op == ">=":
        return f"{term_text(minus)} <= {term_text(plus)}"
    return f"{term_text(plus)} {'=' if op == '==' else op} {term_text(minus)}"


def term_text(operand: Term) -> str:
    written = ""
    for monomial, coefficient in operand.parts:
        number = () if abs(coefficient) == 1 and monomial else (str(abs(coefficient)),)
        part = "*".join((*number, *monomial))
        sign = " - " if coefficient < 0 else " + "
        written += f"{sign}{part}" if written else f"{'-' * (coefficient < 0)}{part}"
    return written or "0"


Spell = Callable[[str], str]


def smt(formula: Formula, spell: Spell) -> str:
    """A condition as SMT-LIB 2 has it; `spell` says how symbols are written."""
    match formula:
        case Holds(op=op, term=operand):
            return f"({'=' if op == '==' else op} {smt_term(operand, spell)} 0)"
        case TruthSymbol(name=name):
            return spell(name)
        case Every(parts=parts):
            return smt_all("and", "true", parts, spell)
        case Some(parts=parts):
            return smt_all("or", "false", parts, spell)
        case Negation(operand=operand):
            return f"(not {smt(operand, spell)})"
        case _:
            assert_never(formula)


def smt_all(word: str, none: str, parts: tuple[Formula, ...], spell: Spell) -> str:
    return f"({word} {' '.join(smt(each, spell) for each in parts)})" if parts else none


def smt_term(operand: Term, spell: Spell) -> str:
    written = [smt_product(monomial, value, spell) for monomial, value in operand.parts]
    return written[0] if len(written) == 1 else f"(+ {' '.join(written)})" if written else "0"


def smt_product(monomial: Monomial, coefficient: int, spell: Spell) -> str:
    number = str(coefficient) if coefficient >= 0 else f"(- {-coefficient})"
    factors = [*([] if coefficient == 1 and monomial else [number]), *map(spell, monomial)]
    return factors[0] if len(factors) == 1 else f"(* {' '.join(factors)})"
