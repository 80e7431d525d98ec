"""Claims that each element of what a nest makes is written, and that none is written twice."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import islice

from cvmgen.verification import terms as t
from cvmgen.verification.bounds import Shape, Split
from cvmgen.verification.boxes import Boxes
from cvmgen.verification.calls import HostReader
from cvmgen.verification.lists import Walk
from cvmgen.verification.regions import Claim, Regions, Shows, UnclearError, WrittenTensor
from cvmgen.verification.terms import Formula, Monomial, Term
from cvmgen.verification.walks import WalkClaims
from cvmgen.verification.writes import (
    Written,
    WrittenBox,
    WrittenEither,
    WrittenInTurn,
    WrittenLoop,
    WrittenRun,
)

MOST_SHAPES = 12
NOTHING = "nothing is written"
ANY_RANK = "that a box of any rank is all of its tensor is not looked at"


@dataclass(frozen=True)
class WholeTensor:
    """What shows that all of a tensor is written; `again` if some of it is more than once; or why
    that is not known."""

    claims: tuple[Claim, ...]
    again: bool = False
    why: str = ""


def whole_tensor(
    written: Written, tensor: WrittenTensor, call: HostReader, shows: Shows
) -> WholeTensor:
    """By the dimensions of the tensor, by parts of a pack, by the factors of extents, and by
    several dimensions at once: the first way on which all is shown."""
    first, whys = next(runs_of(written, tensor.name), None), list[str]()
    if first is None:
        return WholeTensor((), why=NOTHING)
    if isinstance(first, WrittenBox):
        return whole_box(written, first, call, shows)
    symbols, path = call.reader.symbols, (*call.scope.path, *call.sizes)
    splits = {size: split for (size, _), split in call.reader.lists.splits.items()}
    ways = shapes(tensor.shape, first.offset, splits)
    if tensor.lengths:
        ways = iter([(tensor.shape, ())])
    for parts, where in islice(ways, MOST_SHAPES):
        regions = Regions(symbols, tensor, parts, shows)
        try:
            for each in where:
                regions.need(path, each, "a part of a shape")
            found = regions.whole(written, path)
        except UnclearError as unclear:
            whys.append(str(unclear))
        else:
            claims = tuple(dict.fromkeys(regions.claims)) or ((path, t.TRUE),)
            return WholeTensor(claims, found.again)
    return WholeTensor((), why=whys[0])


def whole_box(written: Written, made: WrittenBox, call: HostReader, shows: Shows) -> WholeTensor:
    """A box that is moved, by nothing but one statement, in its own order."""
    alone = isinstance(written, WrittenInTurn) and written.parts == [made]
    walk = {"": Walk(t.ZERO, made.box, made.steps)}
    boxes = Boxes(call, made.tensor, WalkClaims((), "", made.offset, walk))
    if not alone or not boxes.in_order():
        return WholeTensor((), why=ANY_RANK)
    claims = tuple(boxes.whole())
    shown = all(shows.quick(*each) or shows.fully(*each) for each in claims)
    return WholeTensor(claims) if shown else WholeTensor((), why=ANY_RANK)


def runs_of(written: Written, tensor: str) -> Iterator[WrittenRun | WrittenBox]:
    match written:
        case WrittenRun() | WrittenBox() if written.tensor == tensor:
            yield written
        case WrittenInTurn(parts=parts):
            for each in parts:
                yield from runs_of(each, tensor)
        case WrittenEither(then=then, otherwise=otherwise):
            yield from runs_of(then, tensor)
            yield from runs_of(otherwise, tensor)
        case WrittenLoop(body=body):
            yield from runs_of(body, tensor)
        case _:
            pass


def shapes(
    shape: Shape, offset: Term, splits: Mapping[Term, Split]
) -> Iterator[tuple[Shape, tuple[Formula, ...]]]:
    """Shapes of as many elements in the same order, and what must hold for that."""
    known: list[tuple[Shape, tuple[Formula, ...]]] = [(shape, ())]
    if any(each in splits for each in shape):
        pieces = [splits.get(each, ((each,), t.TRUE)) for each in shape]
        parts = tuple(part for several, _ in pieces for part in several)
        known.append((parts, tuple(where for _, where in pieces)))
    for parts, where in known:
        fine = factored(parts, offset)
        yield fine, where
        if fine != parts:
            yield parts, where
    for parts, where in known:
        for others in together(parts):
            yield others, where


def together(shape: Shape) -> Iterator[Shape]:
    """Neighbouring dimensions taken together, the last ones first."""
    for count in range(2, len(shape) + 1):
        yield (*shape[:-count], t.product(shape[-count:]))
    for count in range(2, len(shape)):
        yield (t.product(shape[:count]), *shape[count:])


def factored(shape: Shape, offset: Term) -> Shape:
    """Extents that are products, each as several dimensions: a factor is the last one if all parts
    of the offset that have another one have it too."""
    found: list[Term] = []
    for extent in shape:
        ((factors, number),) = extent.parts if len(extent.parts) == 1 else (((), 1),)
        found += in_order(factors, offset) if len(factors) > 1 and number == 1 else [extent]
    return tuple(found)


def in_order(factors: Monomial, offset: Term) -> list[Term]:
    left, found = list(factors), list[str]()
    while left:
        parts = [set(each) for each, _ in offset.parts if not set(left).isdisjoint(each)]
        last = next((name for name in left if all(name in each for each in parts)), left[-1])
        left.remove(last)
        found.insert(0, last)
        rows = ((tuple_without(each, last), n) for each, n in offset.parts if last in each)
        offset = t.term_of(dict(rows))
    return [t.symbol(name) for name in found]


def tuple_without(monomial: Monomial, name: str) -> Monomial:
    left = list(monomial)
    left.remove(name)
    return tuple(left)
