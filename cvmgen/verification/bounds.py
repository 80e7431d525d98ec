"""Accesses as obligations: each index of an element is below the extent of its dimension.

An offset is taken apart against the extents of its tensor, the last one first: what is a multiple
of the extent is the row, the rest is the index. If every index lies within its dimension, the
offset lies within the tensor: 0 <= index < extent and 0 <= row < rows give
0 <= row * extent + index < rows * extent. A kernel may also go through several dimensions at once,
so neighbouring ones may be taken together, down to the tensor as one run.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import islice, product

from cvmgen.verification import terms as t
from cvmgen.verification.terms import Formula, Monomial, Term

Shape = tuple[Term, ...]
Digit = tuple[Term, Term]  # an index, and the extent that it is below


def _ways(offset: Term, shape: Shape) -> Iterator[tuple[Digit, ...]]:
    """The ways to take an offset apart, the one by single dimensions first."""
    for count in range(1, len(shape)):
        extent = t.product(shape[-count:])
        row, index = divided(offset, extent)
        for way in _ways(row, shape[:-count]):
            yield (*way, (index, extent))
    yield ((offset, t.product(shape)),)


def digits(offset: Term, shape: Shape) -> tuple[Term, ...]:
    """The index of each dimension."""
    return tuple(index for index, _ in next(_ways(offset, shape)))


MOST_WAYS = 3  # of those in which a row may be taken apart
Split = tuple[tuple[Term, ...], Formula]  # factors of a size, and where that is so


def all_ways(
    offset: Term, shape: Shape, path: tuple[Formula, ...], splits: Mapping[Term, Split]
) -> Iterator[tuple[Formula, ...]]:
    """What would show that an element lies in its tensor, of several ways: by each dimension; by
    parts of a pack; by the factors of extents that were required to be products, in either order;
    by several dimensions at once."""
    first, *others = _ways(offset, shape)
    yield claims(first)
    if (known := of_numbers(shape, path)) != shape:
        yield claims(next(_ways(offset, known)))
    apart = tuple(part for each in known for part in factors_of(each, offset))
    if len(apart) > len(shape):
        yield claims(next(_ways(offset, apart)))
    if any(each in splits for each in shape):
        pieces = [splits.get(each, ((each,), t.TRUE)) for each in shape]
        parts = tuple(part for several, _ in pieces for part in several)
        yield (*claims(next(_ways(offset, parts))), *(where for _, where in pieces))
    found = (each for fact in path if (each := product_of(fact)) is not None)
    products = {name: factors for name, factors in found if name in shape}
    for name, (one, other) in products.items():
        offset = with_value(offset, name, one * other)
    orders = [(pair, pair[::-1]) for pair in products.values()]
    for chosen in product(*orders) if products else ():
        factors = dict(zip(products, chosen, strict=True))
        several = (factors.get(each, (each,)) for each in shape)
        yield claims(next(_ways(offset, tuple(part for parts in several for part in parts))))
    yield from map(claims, others)


def row_ways(
    operand: Term, shape: Shape, low: int, high: int, path: tuple[Formula, ...] = ()
) -> Iterator[tuple[Formula, ...]]:
    """What would show that low <= operand <= high, where the operand is a row of a tensor times the
    size of what is behind that row, and something more.

    With 0 <= index < extent in each dimension of the row, 0 <= row <= rows - 1. The size of what is
    behind is not negative, so that 0 <= row * behind <= rows * behind, which is the size of the
    tensor. Then rest <= operand <= rest + size. The operand may be the row alone, or an element."""
    for count in range(1, len(shape)):
        behind = t.product(shape[-count:])
        row, rest = divided(operand, behind)
        if row != t.ZERO:
            size = t.product(shape)
            ends = (t.at_most(0, behind), t.at_most(low, rest), t.at_most(rest + size, high))
            yield (*claims(next(_ways(row, shape[:-count]))), *ends)
    for end in range(len(shape), 1, -1):
        rows = shape[:end]
        if not divided(operand, t.product(rows[1:]))[0].names.isdisjoint(operand.names):
            alone = (t.at_most(low, 0), t.at_most(t.product(rows), high))
            for way in islice(all_ways(operand, rows, path, {}), MOST_WAYS):
                yield (*way, *alone)


def of_numbers(shape: Shape, path: tuple[Formula, ...]) -> Shape:
    """A shape with the numbers that facts say extents are."""
    for fact in path:
        match fact:
            case t.Holds(op="==", term=operand) if len(operand.poly) <= 2:
                for name in operand.names:
                    if (factor := operand.poly.get((name,))) in (1, -1):
                        value = (operand - t.symbol(name) * factor) * -factor
                        if value.value is not None and any(name in each.names for each in shape):
                            shape = tuple(with_value(e, t.symbol(name), value) for e in shape)
            case _:
                pass
    return shape


def factors_of(extent: Term, offset: Term) -> Shape:
    """An extent that is a product, as several: the last is what most of an offset is a multiple
    of, as it is where dimensions lie behind each other."""
    if len(extent.poly) != 1 or len(max(extent.poly)) < 2 or 1 not in extent.poly.values():
        return (extent,)
    (factors,) = extent.poly
    return tuple(
        t.symbol(name)
        for name in sorted(factors, key=lambda name: sum(name in each for each in offset.poly))
    )


def with_value(operand: Term, name: Term, value: Term) -> Term:
    """A term with a value for a symbol."""
    (symbol,) = name.names
    found = t.ZERO
    for monomial, coefficient in operand.parts:
        part = t.term_of({tuple(each for each in monomial if each != symbol): coefficient})
        found = found + part * t.product([value] * monomial.count(symbol))
    return found


def product_of(fact: Formula) -> tuple[Term, tuple[Term, ...]] | None:
    """A symbol and the two that it is the product of, if a fact says so."""
    match fact:
        case t.Holds(op="==", term=Term(parts=(((one, other), big), ((name,), small)))):
            if {big, small} == {1, -1} and name not in (one, other):
                return t.symbol(name), (t.symbol(one), t.symbol(other))
        case _:
            pass
    return None


def divided(offset: Term, extent: Term) -> tuple[Term, Term]:
    """Row and index of an offset, which is row * extent + index."""
    if len(extent.parts) != 1:
        return t.ZERO, offset
    ((factors, number),) = extent.parts
    row: dict[Monomial, int] = {}
    index: dict[Monomial, int] = {}
    for monomial, coefficient in offset.parts:
        rest = t.without(monomial, factors)
        if rest is None:
            index[monomial] = coefficient
        elif rest == () and not factors:  # a number by a number
            row[rest], index[monomial] = divmod(coefficient, number)
        elif coefficient % number == 0:
            row[rest] = coefficient // number
        else:
            index[monomial] = coefficient
    return t.term_of(row), t.term_of(index)


def claims(way: tuple[Digit, ...]) -> tuple[Formula, ...]:
    """What holds of an element that lies in its tensor."""
    return tuple(
        claim for index, extent in way for claim in (t.at_most(0, index), t.below(index, extent))
    )
