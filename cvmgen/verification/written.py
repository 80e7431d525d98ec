"""Claims that each element of what a nest makes is written, and that none is written twice."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial
from itertools import islice

from cvmgen.verification import terms as t
from cvmgen.verification.bounds import Shape, Split
from cvmgen.verification.boxes import Boxes
from cvmgen.verification.calls import HostReader
from cvmgen.verification.lists import ListTerms, RowWalk
from cvmgen.verification.regions import Claim, Regions, Shows, UnclearError, WrittenTensor
from cvmgen.verification.terms import Formula, Monomial, Term
from cvmgen.verification.walks import WalkClaims, along
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
ANY_RANK = "that each element is one place of a box of any rank is not shown"


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
    if (rows := walked_rows(written, tensor.name, call.reader.lists)) is not None:
        return whole_rows(rows, tensor, call, shows)
    symbols, path = call.reader.symbols, (*call.scope.path, *call.sizes)
    splits = {size: split for (size, _), split in call.reader.lists.splits.items()}
    ways = shapes(tensor.shape, first.offset, splits)
    if tensor.lengths or tensor.end is not None:
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
    claims = (
        places_once(RowWalk(t.ZERO, made.box, made.steps), made, call, shows) if alone else None
    )
    return WholeTensor(claims or (), why="" if claims else ANY_RANK)


def places_once(
    walk: RowWalk, made: WrittenRun | WrittenBox, call: HostReader, shows: Shows
) -> tuple[Claim, ...] | None:
    """That each element is at one place of the box that is walked."""
    base = made.offset if isinstance(made, WrittenBox) else t.ZERO
    boxes = Boxes(call, made.tensor, WalkClaims((), "", base, {"": walk}, base))
    return boxes.each_once(partial(all_shown, shows))


@dataclass(frozen=True)
class WalkedRows:
    """What is written along a box that is walked, by rows of it and places in them: `written` is
    the same with these in the place of offsets."""

    written: Written
    first: WrittenRun
    walk: RowWalk


def walked_rows(written: Written, tensor: str, lists: ListTerms) -> WalkedRows | None:
    """All that is written to a tensor lies along one box; None if it is not so."""
    runs = [each for each in runs_of(written, tensor) if isinstance(each, WrittenRun)]
    moved: dict[WrittenRun, WrittenRun] = {}
    walks: dict[tuple[str, str], RowWalk] = {}
    for run in runs:
        names = [name for name in sorted(run.offset.names) if name in lists.walks]
        if len(names) != 1 or run.offset.poly.get((names[0],)) != 1:
            return None
        walk = lists.walks[names[0]]
        walks[walk.box.name, walk.steps.name] = walk
        step, last = (lists.measure("last", each) for each in (walk.steps, walk.box))
        place, rest = run.offset - t.symbol(names[0]), t.ZERO
        if t.equal(step, 1) not in run.path:
            if run.count != t.ONE or not step.is_plain or step.value is not None:
                return None
            place, rest = along(place, step)
        if rest != t.ZERO or place.names & lists.walks.keys():
            return None
        moved[run] = replace(run, offset=walk.row * last + place)
    if len(walks) != 1:
        return None
    return WalkedRows(with_runs(written, moved), runs[0], next(iter(walks.values())))


def whole_rows(
    rows: WalkedRows, tensor: WrittenTensor, call: HostReader, shows: Shows
) -> WholeTensor:
    """Each place of the box is written once, as if it was a tensor of its rows; and each element is
    at one of these places."""
    lists, box = call.reader.lists, rows.walk.box
    shape = lists.measure("rows", box), lists.measure("last", box)
    found = whole_tensor(rows.written, replace(tensor, shape=shape), call, shows)
    if found.why:
        return found
    claims = places_once(rows.walk, rows.first, call, shows)
    if claims is None:
        return WholeTensor((), why=ANY_RANK)
    return replace(found, claims=tuple(dict.fromkeys((*found.claims, *claims))))


def with_runs(written: Written, moved: Mapping[WrittenRun, WrittenRun]) -> Written:
    match written:
        case WrittenRun():
            return moved.get(written, written)
        case WrittenInTurn():
            return in_turn(written, moved)
        case WrittenEither(then=then, otherwise=otherwise):
            both = in_turn(then, moved), in_turn(otherwise, moved)
            return replace(written, then=both[0], otherwise=both[1])
        case WrittenLoop(body=body):
            return replace(written, body=in_turn(body, moved))
        case WrittenBox():
            return written


def in_turn(several: WrittenInTurn, moved: Mapping[WrittenRun, WrittenRun]) -> WrittenInTurn:
    return WrittenInTurn([with_runs(each, moved) for each in several.parts])


def filled_first(written: Written) -> Written:
    """What fills all, of what is written, in front of what stores to some of it again."""
    match written:
        case WrittenInTurn(parts=[first, *others]):
            return WrittenInTurn([first if others else filled_first(first)])
        case WrittenLoop(body=body):
            return replace(written, body=WrittenInTurn([filled_first(body)]))
        case _:
            return written


def all_shown(shows: Shows, claims: Iterable[Claim]) -> bool:
    return all(shows.quick(*each) or shows.fully(*each) for each in claims)


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
        for others in _together(parts):
            yield others, where


def _together(shape: Shape) -> Iterator[Shape]:
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
        found += _in_order(factors, offset) if len(factors) > 1 and number == 1 else [extent]
    return tuple(found)


def _in_order(factors: Monomial, offset: Term) -> list[Term]:
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
