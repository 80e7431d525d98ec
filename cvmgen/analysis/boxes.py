"""Boxes: an input that neighbouring results read in windows which overlap.

A result at (y, x) reads the places (y*SH - PH + i, x*SW - PW + j) for all i and j of a window. What
a block of results touches is a box too: it can be brought near them once and read from there. What
the results do with what they read is not asked here (`windows.py` asks that), only where it lies.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from cvmgen import algebra
from cvmgen.analysis.definedness import always_evaluated
from cvmgen.analysis.facts import Facts
from cvmgen.analysis.guards import PlaceBound, condition_bounds
from cvmgen.ir import nodes as i
from cvmgen.ir.host import given_shapes
from cvmgen.ir.logic import conjuncts
from cvmgen.ir.rewrite import expanded
from cvmgen.ir.uses import has, names_in, nodes_in, read_tensors, reassigned
from cvmgen.ir.visit import substitute, walk

IndexTest = tuple[i.Expr, str, i.Expr]  # a place, its end (low or high), what bounds it there


@dataclass(frozen=True, slots=True)
class Tap:
    """An index of the window, from 0 to below `extent`; neighbours stand `step` places apart."""

    index: str
    step: i.Expr
    extent: i.Expr


@dataclass(frozen=True, slots=True)
class BoxSide:
    """One side of the box: the places step * result + start and from there those of the taps.

    Without `result` all results read the same places. With `extent` only places in
    0 <= place < extent are read; without it, `start` is 0.
    """

    result: i.Loop | None
    step: i.Expr
    taps: tuple[Tap, ...]
    start: i.Expr
    extent: i.Expr | None

    @property
    def name(self) -> str:
        return self.taps[-1].index if self.result is None else self.result.index

    @property
    def reach(self) -> i.Expr:
        """How many places there are from the first of a result to its last."""
        *others, last = sorted(self.taps, key=lambda tap: tap.step == i.ONE)
        spans = [algebra.product([less_one(tap.extent), tap.step]) for tap in others]
        if last.step == i.ONE:
            return algebra.simplify(algebra.total([*spans, last.extent]))
        span = algebra.product([less_one(last.extent), last.step])
        return algebra.simplify(algebra.total([*spans, span, i.ONE]))

    def place(self, first: i.Expr) -> i.Expr:
        """The place of an element that result and taps choose; `first` is that of the result."""
        steps = (algebra.product([i.Var(tap.index), as_i32(tap.step)]) for tap in self.taps)
        return algebra.total([first, *steps])


@dataclass(frozen=True, slots=True)
class OffsetDigit:
    """A part of an offset: what is the same in a block, places of sides times factors, and the
    digits in front of it times a radix."""

    radix: i.Expr
    fixed: tuple[i.Expr, ...]
    sides: tuple[tuple[BoxSide, i.Expr], ...]


@dataclass(frozen=True, slots=True)
class BoxRead:
    """An input read in boxes: the element, the digits of its offset, and the conditions on places,
    with the side and the end that each is of."""

    load: i.Load
    digits: tuple[OffsetDigit, ...]
    tests: tuple[tuple[i.Expr, BoxSide, str], ...]

    @property
    def sides(self) -> tuple[BoxSide, ...]:
        return tuple(side for each in self.digits for side, _ in each.sides)

    @property
    def fixed(self) -> tuple[i.Expr, ...]:
        return tuple(part for each in self.digits for part in each.fixed)

    @property
    def results(self) -> tuple[i.Loop, ...]:
        return tuple(side.result for side in self.sides if side.result is not None)

    @property
    def taps(self) -> tuple[Tap, ...]:
        return tuple(tap for side in self.sides for tap in side.taps)

    def offset(self, places: Mapping[str, i.Expr]) -> i.Expr:
        """The offset of the element at these places, by the names of the sides."""
        found: i.Expr = i.ZERO
        for at, each in enumerate(self.digits):
            outer = [algebra.product([found, each.radix])] if at else []
            parts = [algebra.product([places[side.name], factor]) for side, factor in each.sides]
            found = algebra.total([*each.fixed, *outer, *parts])
        return found


# ---------------------------------------------------------------- finding


@dataclass(frozen=True, slots=True)
class Site:
    """An element that a statement always reads, the loops and the tests around it."""

    load: i.Load
    loops: tuple[i.Loop, ...]
    tests: tuple[i.Expr, ...]


def find_box_read(
    program: i.Program, nest: i.Nest, loops: Sequence[i.Loop], body: i.Block
) -> BoxRead | None:
    """What the results of parallel loops read in windows: the first such input of their body."""
    search = BoxSearch(program, Facts.of(program, nest), tuple(loops), body)
    found = (search.window(site) for site in sites(body, (), ()))
    return next((window for window in found if window is not None), None)


def sites(
    statements: i.Block, loops: tuple[i.Loop, ...], tests: tuple[i.Expr, ...]
) -> Iterator[Site]:
    for statement in statements:
        match statement:
            case i.Loop(body=body):
                yield from sites(body, (*loops, statement), tests)
            case i.If(condition=condition, then=then):
                yield from sites(then, loops, (*tests, *conjuncts(condition)))
            case i.Let(value=value) | i.Assign(value=value) | i.Accumulate(value=value):
                yield from (Site(load, loops, tests) for load in loads_always_read(value))
            case i.Store(value=value):
                yield from (Site(load, loops, tests) for load in loads_always_read(value))
            case _:
                pass


def loads_always_read(expr: i.Expr) -> Iterator[i.Load]:
    """The elements that an expression reads whatever it finds."""
    return (each for each in always_evaluated(expr) if isinstance(each, i.Load))


class BoxSearch:
    """What is known of the body of a nest while one of its elements is looked at."""

    def __init__(
        self,
        program: i.Program,
        facts: Facts,
        loops: tuple[i.Loop, ...],
        body: i.Block,
    ) -> None:
        self.facts = facts
        self.loops = loops
        self.body = body
        self.shapes = given_shapes(program)
        self.locals = plain_locals(body)
        inner = {each.index for each in nodes_in(body, i.Loop)}
        self.varying = inner | {each.name for each in nodes_in(body, i.Let)}
        self.grid = {loop.index: loop for loop in loops}

    def window(self, site: Site) -> BoxRead | None:
        """The window that the element is read in; None where it is not read so."""
        load = site.load
        if load.tensor not in self.shapes or load.which is not None or self.again(site):
            return None
        offset = self.inlined(load.offset)
        taps = {each.index: each for each in site.loops if each.index in names_in(offset)}
        if not all(self.is_tap(loop) for loop in taps.values()):
            return None
        tests = [self.test(condition) for condition in site.tests]
        bounded = [test for test in tests if test is not None]
        if not taps or len(bounded) < len(tests):
            return None
        reader = DigitReader(self, load.tensor, taps, bounded)
        digits = reader.digits(offset)
        if digits is None or len(reader.matched) < len({place for place, *_ in bounded}):
            return None
        pairs = zip(site.tests, bounded, strict=True)
        ends = tuple((at, reader.matched[place], end) for at, (place, end, _) in pairs)
        window = BoxRead(load, digits, ends)
        return window if self.holds(window) else None

    def again(self, site: Site) -> bool:
        """Whether the same element is read at a second place, or an index is bound twice."""
        nodes = list(walk(self.body))
        bound = [each.index for each in nodes if isinstance(each, i.Loop)]
        twice = any(bound.count(loop.index) > 1 for loop in site.loops)
        return twice or sum(each == site.load for each in nodes) > 1

    def inlined(self, expr: i.Expr) -> i.Expr:
        found: i.Expr = substitute(expr, self.locals)
        return found

    def is_tap(self, loop: i.Loop) -> bool:
        return loop.low == i.ZERO and self.on_host(loop.high)

    def on_host(self, expr: i.Expr) -> bool:
        """Whether an expression can be computed before the nest."""
        inner = names_in(expr) & (self.varying | self.grid.keys())
        return not inner and not has(expr, i.Load, i.Access, i.Dot)

    def test(self, condition: i.Expr) -> IndexTest | None:
        """A condition as 0 <= place or place < bound, the bound computed by the host."""
        match condition_bounds(condition):
            case [PlaceBound(place=place, low=i.Const(value=0))]:
                return self.inlined(place), "low", i.ZERO
            case [PlaceBound(place=place, high=bound)] if bound is not None and self.on_host(bound):
                return self.inlined(place), "high", bound
            case _:
                return None

    def holds(self, window: BoxRead) -> bool:
        """Whether results are neighbours, each along one side, and all else is theirs alike."""
        tiled = [loop.index for loop in window.results]
        inner = self.varying | set(tiled)
        simple = not any(
            isinstance(each, (i.Load, i.Access, i.Dot)) or names_in(each) & inner
            for part in window.fixed
            for each in walk(part)
        )
        starts = all(loop.low == i.ZERO and self.on_host(loop.high) for loop in window.results)
        taps = [tap.index for tap in window.taps]
        distinct = len({*tiled, *taps}) == len(tiled) + len(taps)
        sides = all(self.overlaps(window, side) for side in window.sides if side.result)
        return self.in_order(window) and simple and starts and distinct and sides

    def in_order(self, window: BoxRead) -> bool:
        """Whether neighbours among the results read neighbouring elements."""
        innermost = window.digits[-1].sides[-1:]
        return any(side.result in self.loops[-1:] and factor == i.ONE for side, factor in innermost)

    def overlaps(self, window: BoxRead, side: BoxSide) -> bool:
        """Whether a side may be one of windows that overlap.

        Steps go forward, and how long the window is does not follow from the shape of the input:
        what is as long as the input is no window of it.
        """
        steps = (side.step, *(tap.step for tap in side.taps))
        tensor = window.load.tensor
        shaped = any(self.of_shape(tap.extent, tensor) for tap in side.taps)
        return not shaped and all(map(self.facts.positive, steps))

    def of_shape(self, expr: i.Expr, tensor: str) -> bool:
        """Whether a host value follows from the shape of an input."""
        return bool(names_in(self.defined(expr)) & names_in(self.shapes[tensor]))

    def defined(self, expr: i.Expr) -> i.Expr:
        """A host value with the definitions of the names in it."""
        before = None
        while expr != before:
            before, expr = expr, substitute(expr, self.facts.lets)
        return expr


def plain_locals(body: i.Block) -> dict[str, i.Expr]:
    """The locals of one value each, computed of indices and host values alone."""
    lets = [*nodes_in(body, i.Let)]
    names = [each.name for each in lets]
    again = reassigned(body) | {name for name in names if names.count(name) > 1}
    return expanded(
        each for each in lets if each.name not in again and not read_tensors(each.value)
    )


class DigitReader:
    """Takes an offset apart into the places of the sides of a box."""

    def __init__(
        self, search: BoxSearch, tensor: str, taps: dict[str, i.Loop], tests: Sequence[IndexTest]
    ) -> None:
        self.search = search
        self.tensor = tensor
        self.taps = taps
        self.bounds: dict[i.Expr, dict[str, i.Expr]] = {}
        for place, end, bound in tests:
            self.bounds.setdefault(place, {})[end] = bound
        self.matched: dict[i.Expr, BoxSide] = {}  # by the place that is tested

    def digits(self, offset: i.Expr) -> tuple[OffsetDigit, ...] | None:
        """The digits of an offset, of which the outer ones are a sum times a radix."""
        terms = [*algebra.signed(offset)]
        inner = [(each, found) for each in terms if (found := self.times_radix(each)) is not None]
        if not inner:
            last = self.digit(terms, None)
            return None if last is None else (last,)
        (term, (digit, radix)), *others = inner
        outer = None if others else self.digits(digit)
        last = None if outer is None else self.digit([e for e in terms if e is not term], radix)
        return None if outer is None or last is None else (*outer, last)

    def times_radix(self, term: i.Expr) -> tuple[i.Expr, i.Expr] | None:
        """A sum that taps are part of, and the host value that it is multiplied with."""
        match term:
            case i.Binary(op="*", left=i.Binary(op="+" | "-") as inner, right=radix):
                pass
            case i.Binary(op="*", left=radix, right=i.Binary(op="+" | "-") as inner):
                pass
            case _:
                return None
        moving = bool(names_in(inner) & self.taps.keys())
        return (inner, radix) if moving and self.search.on_host(radix) else None

    def digit(self, terms: list[i.Expr], radix: i.Expr | None) -> OffsetDigit | None:
        """The sides that the taps of a digit make, and what else is added."""
        steps = self.steps(algebra.total(terms))
        if steps is None:
            return None
        taps = [name for name in self.taps if name in steps]
        result = self.result(steps) if taps else None
        place = next((each for each in self.bounds if names_in(each) & set(taps)), None)
        fixed = [each for each in terms if not names_in(each) & {*taps, result}]
        if place is None:
            joined, start = (taps[-1:] if result is not None else []), []
        else:
            joined = [name for name in taps if name in names_in(place)]
            start = [
                each for each in algebra.signed(place) if not names_in(each) & {*joined, result}
            ]
            fixed = sum_less(fixed, start)
        sides = [(self.alone(name), steps[name]) for name in taps if name not in joined]
        if joined:
            side = self.side(result, joined, steps, start, place)
            if place is not None:
                radices = [radix] if radix is not None else []
                others = [*fixed, *(factor for _, factor in sides), *radices]
                if not self.is_place(place, side, steps) or not self.is_whole(side.extent, others):
                    return None
                self.matched[place] = side
            sides.append((side, i.ONE))
        return OffsetDigit(radix or i.ONE, tuple(fixed), tuple(sides))

    def steps(self, expr: i.Expr) -> dict[str, i.Expr] | None:
        """The host's coefficients of indices; None where a tap has another one, or none."""
        names = [*self.taps, *self.search.grid]
        found = algebra.plane(expr, names, self.taps)
        if found is None:
            return None
        known = {name: step for name, step in found.steps.items() if self.search.on_host(step)}
        return None if (found.steps.keys() - known.keys()) & self.taps.keys() else known

    def result(self, steps: dict[str, i.Expr]) -> str | None:
        """The innermost index of results that steps as windows do, not by a whole dimension."""
        found = [
            name
            for name in self.search.grid
            if name in steps and not self.search.of_shape(steps[name], self.tensor)
        ]
        return found[-1] if found else None

    def side(
        self,
        result: str | None,
        taps: list[str],
        steps: dict[str, i.Expr],
        start: list[i.Expr],
        place: i.Expr | None,
    ) -> BoxSide:
        """The side of results and the taps that go along it."""
        own = tuple(Tap(name, steps[name], self.taps[name].high) for name in taps)
        ends = {} if place is None else self.bounds[place]
        extent = ends.get("high") if "low" in ends else None
        if result is None:
            return BoxSide(None, i.ZERO, own, algebra.total(start), extent)
        return BoxSide(self.search.grid[result], steps[result], own, algebra.total(start), extent)

    def alone(self, tap: str) -> BoxSide:
        """A side that a tap walks for all results alike."""
        return BoxSide(None, i.ZERO, (Tap(tap, i.ONE, self.taps[tap].high),), i.ZERO, None)

    def is_place(self, place: i.Expr, side: BoxSide, steps: dict[str, i.Expr]) -> bool:
        """Whether a tested place moves with the taps and the results as the offset does."""
        found = self.steps(place)
        moving = {tap.index for tap in side.taps} | ({side.name} if side.result else set())
        if found is None or found.keys() != moving:
            return False
        return all(algebra.equal(found[name], steps[name]) for name in moving)

    def is_whole(self, extent: i.Expr | None, others: list[i.Expr]) -> bool:
        """Whether 0 <= place < extent are the places of a whole dimension: all exist."""
        if extent is None:
            return False
        if others:
            return all(algebra.quotient(each, extent) is not None for each in others)
        return extent == self.search.shapes[self.tensor][0]


def sum_less(terms: list[i.Expr], taken: list[i.Expr]) -> list[i.Expr]:
    """A sum less another one."""
    left = list(terms)
    for each in taken:
        if each in left:
            left.remove(each)
        elif each != i.ZERO:
            left.extend(algebra.signed(each, -1))
    return left


def as_i32(expr: i.Expr) -> i.Expr:
    """A host value that is as small as a box."""
    return expr if isinstance(expr, i.Const) else i.Convert("i32", expr)


def less_one(expr: i.Expr) -> i.Expr:
    return i.Const(expr.value - 1) if isinstance(expr, i.Const) else i.Binary("-", expr, i.ONE)
