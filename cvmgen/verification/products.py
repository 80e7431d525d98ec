"""Products as symbols of their own, so that linear arithmetic decides a question.

A product is any integer of which some facts are true: with a factor of 0 or 1, its sign, that equal
factors give equal products, and that a greater multiple of a number is greater by that number at
least. Whatever follows for such integers holds for products, so that "cannot be" is sound.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator

from cvmgen.verification import terms as t
from cvmgen.verification.terms import Formula, Monomial, Term

MOST = 60  # products for which it is tried


def linear(conditions: Iterable[Formula]) -> tuple[Formula, ...] | None:
    """Conditions without products; None for too many."""
    conditions = tuple(dict.fromkeys(conditions))
    products = _with_parts({m for each in conditions for m in monomials(each) if len(m) > 1})
    if len(products) > MOST:
        return None
    return (*(_flat(each) for each in conditions), *dict.fromkeys(_facts(products)))


def monomials(formula: Formula) -> Iterator[Monomial]:
    match formula:
        case t.Holds(term=operand):
            yield from (monomial for monomial, _ in operand.parts)
        case t.Every(parts=parts) | t.Some(parts=parts):
            for each in parts:
                yield from monomials(each)
        case t.Negation(operand=inner):
            yield from monomials(inner)
        case t.TruthSymbol():
            pass


def _with_parts(products: set[Monomial]) -> list[Monomial]:
    """Products and those of their factors, in order."""
    found, left = set[Monomial](), list(products)
    while left:
        each = left.pop()
        if len(each) > 1 and each not in found:
            found.add(each)
            left += (rest for _, rest in _factors(each))
    return sorted(found)


def _factors(product: Monomial) -> Iterator[tuple[str, Monomial]]:
    """The ways to take a product as one factor times the others."""
    for at, name in enumerate(product):
        yield name, product[:at] + product[at + 1 :]


def _atom(product: Monomial) -> Term:
    return t.symbol("*".join(product)) if product else t.ONE


def _flat(formula: Formula) -> Formula:
    match formula:
        case t.Holds(op=op, term=operand):
            return t.decided(t.Holds(op, flat_term(operand)))
        case t.Every(parts=parts):
            return t.Every(tuple(map(_flat, parts)))
        case t.Some(parts=parts):
            return t.Some(tuple(map(_flat, parts)))
        case t.Negation(operand=inner):
            return t.Negation(_flat(inner))
        case t.TruthSymbol():
            return formula


def flat_term(operand: Term) -> Term:
    return t.term_of({(("*".join(name),) if name else ()): n for name, n in operand.parts})


def _facts(products: list[Monomial]) -> Iterator[Formula]:
    by_rest: dict[Monomial, list[tuple[Term, Term]]] = defaultdict(list)
    for each in products:
        for name, rest in _factors(each):
            one, other, whole = t.symbol(name), _atom(rest), _atom(each)
            yield from of_factors(one, other, whole)
            by_rest[rest].append((one, whole))
    for rest, several in by_rest.items():
        step = _atom(rest)
        for at, (one, first) in enumerate(several):
            for two, second in several[at + 1 :]:
                yield from multiples(step, (one, first), (two, second))


def of_factors(one: Term, other: Term, whole: Term) -> Iterator[Formula]:
    yield t.implies(t.equal(one, 0), t.equal(whole, 0))
    yield t.implies(t.equal(one, 1), t.equal(whole, other))
    positive = t.every(t.at_most(1, one), t.at_most(0, other))
    yield t.implies(positive, t.every(t.at_most(other, whole), t.at_most(0, whole)))


def multiples(step: Term, left: tuple[Term, Term], right: tuple[Term, Term]) -> Iterator[Formula]:
    (one, first), (two, second) = left, right
    upward = t.at_most(0, step)
    yield t.implies(t.equal(one, two), t.equal(first, second))
    yield t.implies(t.every(upward, t.below(one, two)), t.at_most(first + step, second))
    yield t.implies(t.every(upward, t.below(two, one)), t.at_most(second + step, first))
