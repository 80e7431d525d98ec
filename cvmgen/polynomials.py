"""Polynomials with integer coefficients over atoms of any kind: quick, and without sympy.

A proof takes thousands of small sums and products; a polynomial is a plain dictionary from
monomials to coefficients, a monomial its atoms in order: of numbers (`Poly`) their own, of
expressions that of their text.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from itertools import combinations
from math import gcd
from typing import Any, TypeVar

Atom = TypeVar("Atom")
Monomial = tuple[int, ...]
Poly = Mapping[Monomial, int]
ONE: tuple[()] = ()


def constant(value: int) -> Poly:
    return {ONE: value} if value else {}


def atom(number: int) -> Poly:
    return {(number,): 1}


def plus(
    left: Mapping[tuple[Atom, ...], int], right: Mapping[tuple[Atom, ...], int], factor: int = 1
) -> dict[tuple[Atom, ...], int]:
    """left + factor * right."""
    result = dict(left)
    for monomial, coefficient in right.items():
        value = result.get(monomial, 0) + factor * coefficient
        if value:
            result[monomial] = value
        else:
            result.pop(monomial, None)
    return result


def minus(left: Poly, right: Poly) -> Poly:
    return plus(left, right, -1)


def times(
    left: Mapping[tuple[Atom, ...], int],
    right: Mapping[tuple[Atom, ...], int],
    order: Callable[[Atom], Any] | None = None,
) -> dict[tuple[Atom, ...], int]:
    """left * right; `order` says how the atoms of a monomial are sorted."""
    result: dict[tuple[Atom, ...], int] = {}
    for one, factor in left.items():
        for other, coefficient in right.items():
            monomial = tuple(sorted(one + other, key=order))  # type: ignore[type-var,arg-type]
            result[monomial] = result.get(monomial, 0) + factor * coefficient
    return {monomial: value for monomial, value in result.items() if value}


def shifted(poly: Poly, value: int) -> Poly:
    return plus(poly, {ONE: value})


def value_of(poly: Poly) -> int | None:
    """The value of a polynomial without atoms."""
    if not poly:
        return 0
    return poly[ONE] if set(poly) == {ONE} else None


def atoms_of(poly: Poly) -> Iterator[int]:
    for monomial in poly:
        yield from monomial


def without(monomial: tuple[Atom, ...], atom: Atom) -> tuple[Atom, ...]:
    """monomial / atom, of which it has one."""
    at = monomial.index(atom)
    return monomial[:at] + monomial[at + 1 :]


def divisors(monomial: Monomial) -> Iterator[tuple[Monomial, Monomial]]:
    """The ways to write a monomial as a product of two, the first of at least one atom."""
    seen: set[Monomial] = set()
    for size in range(1, len(monomial) + 1):
        for chosen in combinations(range(len(monomial)), size):
            part = tuple(monomial[at] for at in chosen)
            if part not in seen:
                seen.add(part)
                rest = (each for at, each in enumerate(monomial) if at not in chosen)
                yield part, tuple(rest)


def tightened(poly: Poly) -> Poly:
    """What is at least 0 exactly when `poly` is: 2x - 1 >= 0 says x - 1 >= 0."""
    common = gcd(*(value for monomial, value in poly.items() if monomial != ONE))
    if common <= 1:
        return poly
    result = {each: value // common for each, value in poly.items()}  # rounds the constant down
    return {monomial: value for monomial, value in result.items() if value}


def split_off_atom(poly: Poly, number: int) -> tuple[int, Poly] | None:
    """c and rest of poly = c * atom + rest, if the rest is free of the atom."""
    rest = dict(poly)
    coefficient = rest.pop((number,), 0)
    if coefficient == 0 or any(number in monomial for monomial in rest):
        return None
    return coefficient, rest


def with_atom_value(poly: Poly, number: int, value: Poly) -> Poly:
    """The polynomial with a value for an atom."""
    result: Poly = {}
    for monomial, coefficient in poly.items():
        part: Poly = {tuple(each for each in monomial if each != number): coefficient}
        for _ in range(monomial.count(number)):
            part = times(part, value)
        result = plus(result, part)
    return result
