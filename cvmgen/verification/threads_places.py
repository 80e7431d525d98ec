"""Places of kernels of a GPU: every thread reads and writes inside of its tensors, and arithmetic
stays in its machine types, for all sizes, grids and blocks.

The walk is that of `threads_walk.py`; it asks for each element that a thread touches, and for each
operation that it makes. What helpers do with memory is described: a vector is read or stored from a
place on; a contraction reads every row of a factor as far as the sum goes, or the element at every
place of its box. Memory that helpers keep for themselves is not looked at.
"""

from __future__ import annotations

from collections.abc import Iterator

from cvmgen.emit.cuda_support import BLOCK
from cvmgen.ir import nodes as i
from cvmgen.ir.text import text
from cvmgen.schedule.gpu.choice import all_settings
from cvmgen.schedule.gpu.mapped import DeviceFunction, Mapped
from cvmgen.schedule.kernels import Kernel, Kernels
from cvmgen.schedule.schedules import packaged
from cvmgen.verification import terms as t
from cvmgen.verification.calls import HostReader
from cvmgen.verification.obligations import BOUNDS, Obligation
from cvmgen.verification.places import PlaceProofs
from cvmgen.verification.proofs import Prover
from cvmgen.verification.reading import FormulaReader, PlaceDemand, PlaceScope
from cvmgen.verification.terms import Formula, Term
from cvmgen.verification.threads import arrays_written
from cvmgen.verification.threads_helpers import (
    HELPERS,
    STRUCTURES,
    block_sort,
    clipped_side,
    innermost,
    launched,
)
from cvmgen.verification.threads_reading import ThreadReader
from cvmgen.verification.threads_symbols import THREAD, PlacedSymbols
from cvmgen.verification.threads_tiles import contract, contraction, whole_of
from cvmgen.verification.threads_walk import Structure, ThreadWalk, UnseenError

DESCRIBED = "what helpers and the host give is described, and not all of it"
SHARE = 8
MOST = ((1 << 31) - 1) // 2  # results along a side of windows, and tiles


class PlaceReader(ThreadReader):
    """Reads with what each operation demands: that its type holds the result. By `digits` a
    remainder is a symbol with a range of its own, which it loses in sums where it is a
    difference."""

    def integer(self, expr: i.Expr, scope: PlaceScope) -> Term:
        match expr:
            case i.Binary(op="rem" | "mod", left=left, right=right) if self.digits:
                found = self.operation(expr, scope)
                with self.quiet():
                    ends = (self.integer(each, scope) for each in (left, right))
                return self.ranged(found, *ends)
            case _:
                return super().integer(expr, scope)

    def ranged(self, found: Term, left: Term, right: Term) -> Term:
        if found.is_plain or not self.digits:
            return found
        made = self.digit(found)
        there = t.every(t.at_most(0, left), t.at_most(1, right))
        within = t.every(t.at_most(0, made), t.below(made, right), t.at_most(made, left))
        self.symbols.know(made, t.implies(there, within))
        return made

    def of_host(self, name: str, low: int) -> Term:
        found = super().of_host(name, low)
        self.symbols.vague.update(dict.fromkeys(found.names, DESCRIBED))
        return found

    def fits(
        self,
        kind: str,
        expr: i.Expr,
        found: Term,
        scope: PlaceScope,
        held: Formula = t.TRUE,
    ) -> None:
        FormulaReader.fits(self, kind, expr, found, scope, held)

    def conversion(self, expr: i.Expr, kind: str, found: Term, scope: PlaceScope) -> Term:
        return FormulaReader.conversion(self, expr, kind, found, scope)


class PlaceWalk(ThreadWalk):
    """Walks with what each access demands; `lengths` are those of arrays."""

    def __init__(self, reader: PlaceReader, own: frozenset[str]) -> None:
        helpers = {**HELPERS, "load": _load, "contract": _contracted, "innermost": innermost_digit}
        structures = {**STRUCTURES, "clipped_side": _clipped}
        super().__init__(reader, own, (helpers, structures, contraction, block_sort))
        self.lengths: dict[str, Term] = {}
        self.given: dict[str, tuple[i.Call, PlaceScope]] = {}  # factors of contractions
        self.at: dict[str, list[Term]] = {}  # indices of a place in the box of a sum

    def touch(self, array: str, place: i.Expr, scope: PlaceScope, *, stored: bool = False) -> None:
        if t.FALSE not in scope.path:
            offset = self.reader.integer(place, scope)
            shown = f"{array}@[{text(place)}]"
            self.reader.touch(array, offset, scope, shown, stored=stored)

    def access(self, array: str, place: i.Expr, scope: PlaceScope, *, written: bool) -> None:
        self.touch(array, place, scope, stored=written)
        super().access(array, place, scope, written=written)

    def element(self, load: i.Load, scope: PlaceScope) -> Term:
        if load.tensor in self.at and isinstance(load.offset, i.Const):
            return self.at[load.tensor][int(load.offset.value)]
        if load.tensor not in self.own and load.tensor not in self.shared:
            self.touch(load.tensor, load.offset, scope)
        return super().element(load, scope)

    def store(self, target: i.Load, value: i.Expr, scope: PlaceScope) -> None:
        if target.tensor in self.private:
            self.touch(target.tensor, target.offset, scope, stored=True)
        super().store(target, value, scope)

    def statement(self, statement: i.Stmt, scope: PlaceScope) -> PlaceScope:
        match statement:
            case i.Array(name=name, length=length, space=space) if space != "shared":
                self.lengths[name] = self.reader.arrays[name] = t.term(length)
            case i.Array(name=name):
                self.lengths[name] = self.reader.of_host("tiling.box", 1)
            case i.SetAt(name=name, index=index):
                self.touch(name, index, scope, stored=True)
            case i.Return(value=value) if value is not None and not isinstance(value, i.Lambda):
                self.look(value, scope)
                return scope.inner(t.FALSE)
            case _:
                pass
        return super().statement(statement, scope)

    def look(self, value: object, scope: PlaceScope) -> None:
        """What an expression reads, and what its operations demand."""
        if isinstance(value, i.Lambda):
            return
        super().look(value, scope)
        if isinstance(value, i.Expr) and not isinstance(value, i.Closure):
            self.reader.integer(value, scope)

    def bind(self, name: str, kind: str, value: i.Expr, scope: PlaceScope) -> None:
        if isinstance(value, i.Call) and value.function in ("rows_of", "elements_of"):
            self.given[name] = value, scope.inner()
        super().bind(name, kind, value, scope)

    # ---------------------------------------------------------------- factors

    def factor(self, name: str, rows: Term, depth: Term) -> None:
        """What a contraction reads of a factor: each row as far as the sum goes, or the element at
        each place of the box of the sum."""
        call, scope = self.given[name]
        first, function = call.arguments
        assert isinstance(function, i.Lambda)
        line = self.any("line", rows)
        scope = scope.inner(t.at_most(0, line), t.below(line, rows))
        scope, result = self.called(function, line, scope)
        if isinstance(first, i.Address) and isinstance(first.place, i.Load) and result is not None:
            k = self.any("k", depth)
            scope = scope.inner(t.at_most(0, k), t.below(k, depth))
            offset = self.reader.integer(first.place.offset, scope)
            offset = offset + self.reader.integer(result, scope) + k
            shown = f"{first.place.tensor}@[{text(result)} + k]"
            self.reader.touch(first.place.tensor, offset, scope, shown)
        elif isinstance(first, i.Call) and isinstance(result, i.Lambda):
            extents = [self.reader.integer(each, scope) for each in first.arguments]
            places = [self.any("place", each) for each in extents]
            for at, extent in zip(places, extents, strict=True):
                scope = scope.inner(t.at_most(0, at), t.below(at, extent))
            box = result.parameters[0].name
            self.at[box] = places
            self.reader.elements[box] = self.reader.agreement.elements[box] = "i32"
            self.block(result.body, scope)

    def any(self, name: str, below: Term) -> Term:
        return self.symbols.at(THREAD, lambda: self.symbols.within(name, 0, None, ""))

    def called(
        self, function: i.Lambda, value: Term, scope: PlaceScope
    ) -> tuple[PlaceScope, i.Expr | None]:
        """A function of one value: what is known at its end, and the expression of its result."""
        (parameter,) = function.parameters
        self.reader.agreement.types[parameter.name] = parameter.type
        scope.names[parameter.name] = value
        *before, last = function.body
        assert isinstance(last, i.Return)
        return self.block(tuple(before), scope), last.value


def _load(walk: ThreadWalk, call: i.Call, scope: PlaceScope) -> Term:
    """A vector of elements from a place on, so far apart, as many as there are lanes; if there is a
    guard, only where it holds."""
    place, step, lanes = call.arguments
    assert isinstance(place, i.Address) and isinstance(place.place, i.Load)
    inner = scope
    if place.guard is not None:
        inner = inner.inner(walk.reader.condition(place.guard, scope))
    element = walk.symbols.at(THREAD, lambda: walk.symbols.within("element", 0, None, ""))
    inner = inner.inner(t.below(element, walk.reader.integer(lanes, inner)))
    inner.names["element"] = element
    moved: i.Expr = i.Var("element")
    if step != i.ONE:
        moved = i.Binary("*", moved, step)
    offset = i.Binary("+", place.place.offset, moved)
    walk.reader.integer(i.Load(place.place.tensor, None, offset), inner)
    return walk.reader.unknown("vector", "vectors are not looked at")


def innermost_digit(walk: ThreadWalk, call: i.Call, scope: PlaceScope) -> Term:
    place, size = call.arguments
    assert isinstance(place, i.Address)
    assert isinstance(place.place, i.Var)
    assert isinstance(walk.reader, PlaceReader)
    before = walk.reader.integer(place.place, scope)
    found = innermost(walk, call, scope)
    return walk.reader.ranged(found, before, walk.reader.integer(size, scope))


def _clipped(walk: ThreadWalk, call: i.Call, scope: PlaceScope) -> Structure:
    """What of a side lies in the input: no more than there is of either, from where it begins."""
    found = clipped_side(walk, call, scope)
    _, length, extent = (walk.reader.integer(each, scope) for each in call.arguments)
    first, own, start = (found[name] for name in ("first", "length", "start"))
    know, some = walk.symbols.know, t.at_most(0, length)
    know(
        first, t.at_most(0, first), t.implies(t.at_most(0, extent), t.at_most(first + own, extent))
    )
    know(own, t.at_most(0, own), t.implies(some, t.at_most(own, length)))
    know(start, t.at_most(start, 0), t.implies(some, t.at_most(t.ZERO - length, start)))
    return found


def _contracted(walk: ThreadWalk, call: i.Call, scope: PlaceScope) -> Term:
    assert isinstance(walk, PlaceWalk)
    whole = whole_of(walk, call, 1)
    for each, rows in zip(call.arguments[3:5], (whole["rows"], whole["columns"]), strict=True):
        assert isinstance(each, i.Var)
        walk.factor(each.name, rows, whole["depth"])
    return contract(walk, call, scope)


def _cut(walk: PlaceWalk, mapped: Mapped, scope: PlaceScope) -> None:
    """What `cvmgen_tile_windows` gives: so many tiles of so many results that 32 bits hold each
    index, and boxes of so many elements."""
    values = {each.name: each.value for each in mapped.before if isinstance(each, i.Let)}
    for value in values.values():
        match value:
            case i.Call(function="tile_windows", arguments=(_, i.Var(name=name), sides)):
                planes = values[name]
                assert isinstance(planes, i.Call)
                assert isinstance(sides, i.ListOf)
                extents = [walk.reader.integer(e, scope.inner()) for e in planes.arguments]
                for extent in extents:  # there is a tile, so that there are planes
                    facts = t.at_most(1, extent), t.at_most(extent, MOST)
                    walk.symbols.know(extent, *facts)
                cut_windows(walk, t.product(extents), sides, scope)
            case _:
                pass


def cut_windows(walk: PlaceWalk, planes: Term, sides: i.ListOf, scope: PlaceScope) -> None:
    know, host = walk.symbols.know, walk.reader.of_host
    tiles, box = host("tiling.tiles", 1), host("tiling.box", 1)
    along, lengths = t.ONE, t.ONE
    for at, (side, _) in enumerate(sides.entries):
        assert isinstance(side, i.ListOf)
        results, step, reach = (walk.reader.integer(e, scope.inner()) for e, _ in side.entries[:3])
        own, parts = host(f"tiling.results[{at}]", 1), host(f"tiling.along[{at}]", 1)
        length = (own - 1) * step + reach
        know(own, t.at_most(own, BLOCK), t.at_most(own, results), t.at_most(results, MOST))
        know(own, t.at_most(length, _box_size()), t.at_most(1, reach))
        along, lengths = along * parts, lengths * length
        know(parts, t.at_most(parts, tiles), t.at_most(parts, results))
    know(tiles, t.equal(tiles, planes * along), t.at_most(tiles, MOST))
    know(planes, t.at_most(planes, tiles))
    know(box, t.equal(box, lengths), t.at_most(box, _box_size()))


def _box_size() -> int:
    """The elements that a tile of windows reads at most."""
    return all_settings(packaged())["shared_boxes"]["elements"]


def thread_places(kernels: Kernels, prover: Prover) -> Iterator[Obligation]:
    """What the kernels for a GPU must keep at their places."""
    for kernel in kernels.kernels:
        for function in kernel.mapped.functions if kernel.mapped is not None else ():
            yield from places_of(kernels, kernel, function, prover)


def places_of(
    kernels: Kernels, kernel: Kernel, function: DeviceFunction, prover: Prover
) -> Iterator[Obligation]:
    """Those of a function; what stays open is asked again with remainders as symbols, for which
    solvers are given less."""
    found = list(places_by(kernels, kernel, function, prover))
    if all(each.status == "proved" for each in found):
        yield from found
        return
    less = Prover(prover.solvers, share=SHARE)
    others: dict[tuple[str, str], list[Obligation]] = {}
    for each in places_by(kernels, kernel, function, less, digits=True):
        others.setdefault((each.about, each.shown), []).append(each)
    for each in found:
        same = others.get((each.about, each.shown))
        other = same.pop(0) if same else each
        yield other if other.status == "proved" else each


def places_by(
    kernels: Kernels,
    kernel: Kernel,
    function: DeviceFunction,
    prover: Prover,
    *,
    digits: bool = False,
) -> Iterator[Obligation]:
    assert kernel.mapped is not None, "it is mapped to threads"
    symbols, given = PlacedSymbols(), (*function.leading, *function.parameters)
    elements = {each.name: each.type for each in given if each.elements}
    types = {**kernel.subject.elements, **elements}
    call = HostReader.of(kernels.program, kernel.nest, FormulaReader(symbols, types))
    reader = PlaceReader(symbols, types)
    reader.lists, reader.digits = call.reader.lists, digits
    walk = PlaceWalk(reader, arrays_written(function.body))
    launched(walk, kernel.mapped, call.scope)
    if any(each.type == "tiling" for each in function.parameters):
        _cut(walk, kernel.mapped, call.scope)
    symbols.level = THREAD
    name = kernel.name + function.name
    proofs = PlaceProofs(kernels.operator.full_name, name, call, walk.lengths, prover)
    reader.demands.clear()
    try:
        walk.block(function.body, call.scope.inner())
    except UnseenError as unseen:
        demand = PlaceDemand("access", (), str(unseen), kernel.nest.span, t.ZERO)
        yield proofs.obligation(BOUNDS, demand, (), (), f"a {unseen} is not looked at")
        return
    proofs.take(dict.fromkeys(reader.demands))
    yield from proofs.of_places()
