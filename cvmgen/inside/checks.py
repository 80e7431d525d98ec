"""The pass: each place that is not proved to stay inside gets a test in front of what it guards.

On the host that is a requirement. In front of a nest it is a nest of its own, so that the nest
stays what it would be without; it finds the least element that would read outside, and the host
refuses the call by that.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property

from cvmgen import algebra
from cvmgen.inside.binding import TRUE, both_of, quantified
from cvmgen.inside.calls import CallProver, Slots, counter_facts
from cvmgen.inside.knowledge import Knowledge
from cvmgen.inside.sites import OpenSite, Sites
from cvmgen.ir import nodes as i
from cvmgen.ir.host import input_names, insert, shape_name
from cvmgen.ir.uses import names_in, nodes_in, read_tensors
from cvmgen.ir.visit import fresh, rebuild, walk
from cvmgen.lower.demand_nests import NOTHING, requirements
from cvmgen.lower.expressions import Expressions, entry_of
from cvmgen.lower.translate import operator_program
from cvmgen.lower.widths import Widths, host_ranges
from cvmgen.rules import NOT_THERE
from cvmgen.source import SpecError
from cvmgen.spec import formula as f

# Of as many operators as a build has: checked, generated and told of one after the other.
KEPT: deque[tuple[f.Operator, tuple[i.Program, tuple[OpenSite, ...]]]] = deque(maxlen=128)
WIDEST = 104  # bits of an integer that is computed as a whole


def stay_inside(program: i.Program) -> i.Program:
    """What is not proved to stay inside of its tensor gets a test in front."""
    return checked_once(program)[0]


def open_places(program: i.Program) -> tuple[OpenSite, ...]:
    """The places of a formula that are not proved to stay inside, in the order of the text."""
    return tuple(sorted(checked_once(program)[1], key=lambda each: each.span.start))


def checked_once(program: i.Program) -> tuple[i.Program, tuple[OpenSite, ...]]:
    """What `with_checks` gives, kept for the targets to come: all begin with the same program."""
    for known, found in KEPT:
        if known is program.operator:
            return found
    found = with_checks(program)
    KEPT.append((program.operator, found))
    return found


def with_checks(program: i.Program) -> tuple[i.Program, tuple[OpenSite, ...]]:
    """The program with tests, and the places that are not proved.

    Where something is not proved, definitions must not read what they do not ask for.
    """
    never: frozenset[str] = frozenset()
    while True:
        checks = Checks(program)
        told = checks.sites.open
        found = checks.program_with_tests()
        if not (missing := missing_elements(checks)):
            break
        never |= missing
        program = operator_program(program.operator, never=never)
    if not told:
        return found, ()
    checks = Checks(operator_program(program.operator, lazy=True, never=never))
    return checks.program_with_tests(), tuple(checks.sites.open.values())


def missing_elements(checks: Checks) -> set[str]:
    """The lets in memory of which an element may have no value, or is read where there is none;
    all of them where something is open that need not be: what is in memory tells nothing of
    itself to proofs."""
    lets = {name for name, each in checks.program.lets.items() if each.axis is None}
    if wide := _too_wide(checks.program):
        return wide
    if checks.sites.missing or not (lets and checks.sites.open):
        return checks.sites.missing
    alone = Checks(operator_program(checks.operator, never=frozenset(lets)))
    alone.program_with_tests()
    return lets if len(alone.sites.open) < len(checks.sites.open) else set()


def _too_wide(program: i.Program) -> set[str]:
    """The lets in memory that may need more bits than kernels compute with. Where their formulas
    stand instead, stores may keep the lowest bits of all of it."""
    if not program.lets:
        return set()
    host = host_ranges(program)
    own = {name for name, each in program.lets.items() if each.axis is None}
    lets = (nest for nest in program.nests if nest.tensor in own)
    return {each.tensor for each in lets if not Widths(program, each, host).largest().fits(WIDEST)}


class CallProof:
    """Proves that what the host computes for a nest, behind all else, reads entries of lists that
    are there."""

    def __init__(self, program: i.Program) -> None:
        self.program = program

    @cached_property
    def known(self) -> tuple[Checks, Knowledge]:
        checks = Checks(self.program)
        _, at = checks.host(self.program.prepare, Knowledge())
        return checks, at

    def __call__(self, nest: i.Nest, value: i.Expr) -> bool:
        checks, at = self.known
        at = at if nest.case is None else checks.cases[nest.case]
        if nest.each is not None:
            index, _, high = nest.each
            at = checks.prover.enter(at, i.Over(index, i.ZERO, high))
        try:
            return checks.sites.inside(*checks.host_names).test(value, at) == TRUE
        except SpecError:
            return False


@dataclass(frozen=True, slots=True)
class Point:
    """The loops of an equation, and what has to hold for each of their values."""

    over: tuple[i.Over | i.OverPack, ...]
    first: frozenset[str]  # those of them that surely begin, with 0
    target: i.Access
    bounds: i.Expr  # has to hold for the loops themselves
    test: i.Expr


class Checks:
    """Walks a program with what is known of every call."""

    def __init__(self, program: i.Program) -> None:
        self.program = program
        self.operator = program.operator
        self.prover = CallProver(program)
        self.sites = Sites(self.prover)
        self.cases: list[Knowledge] = []
        self.scratch: list[i.Scratch] = []
        self.sizes: dict[int | None, list[i.Stmt]] = {}
        self.required = requirements(self.operator)
        lets = {each.name for each in nodes_in(program.prepare, i.Let)}
        self.host_names = frozenset(lets | input_names(program))

    def program_with_tests(self) -> i.Program:
        host, at = self.host(self.program.prepare, Knowledge())
        self.prover.found(at)
        nests: list[i.Nest] = []
        for nest in self.program.nests:
            known = at if nest.case is None else self.cases[nest.case]
            nests += [*self.guards(nest, known), nest]
        if len(nests) == len(self.program.nests):
            return replace(self.program, prepare=host)
        return replace(
            self.program,
            prepare=insert(host, self.sizes),
            nests=tuple(nests),
            scratch=(*self.program.scratch, *self.scratch),
        )

    # -------------------------------------------------------- host

    def host(self, statements: i.Block, at: Knowledge) -> tuple[i.Block, Knowledge]:
        done: list[i.Stmt] = []
        for statement in statements:
            self.sites.span = statement.span
            if isinstance(statement, i.Cases):
                done += self.branches(statement, at)
                continue
            test = self.host_test(statement, at)
            if test != TRUE:
                done.append(self.requirement(test, statement))
            done.append(statement)
            at = self.prover.declare(at, statement)
        return tuple(done), at

    def requirement(self, test: i.Expr, statement: i.Stmt) -> i.Require:
        items = {id(item.span): item for item in f.all_items(self.operator.items)}
        item = items.get(id(statement.span))
        shown = () if item is None else f.host_expressions(item)
        terms = Expressions(self.operator).terms(shown)
        return i.Require(test, NOT_THERE, terms, statement.span)

    def branches(self, statement: i.Cases, at: Knowledge) -> Iterator[i.Stmt]:
        branches = []
        outside = at
        for condition, body in statement.branches:
            self.sites.span = statement.span
            test = self.sites.test(condition, outside)
            if test != TRUE:
                yield i.Require(test, NOT_THERE, (), statement.span)
            inner, known = self.host(body, self.prover.assume(outside, condition))
            self.cases.append(known)
            branches.append((condition, inner))
            outside = self.prover.assume(outside, condition, truth=False)
        yield replace(statement, branches=tuple(branches))

    def host_test(self, statement: i.Stmt, at: Knowledge) -> i.Expr:
        match statement:
            case i.Let(value=value) | i.Require(condition=value):
                return self.sites.test(value, at)
            case i.TakeInput(known=known):
                parts = [each for each in known if each is not None]
            case i.TakeAttribute(default=default, low=low, high=high):
                parts = [each for each in (default, low, high) if each is not None]
            case i.SetOutput(extents=extents, precision=precision):
                parts = [extents] if precision is None else [extents, precision]
            case _:
                raise AssertionError(f"{type(statement).__name__} in host code")
        result: i.Expr = TRUE
        for each in parts:
            result = both_of(result, self.sites.test(each, at))
        return result

    # -------------------------------------------------------- nests

    def guards(self, nest: i.Nest, at: Knowledge) -> Iterator[i.Nest]:
        """The nest that tests another one, if something in it is not proved."""
        self.prover.within_requirements({} if nest.guarded is not None else self.required)
        self.sites.span = nest.span
        sites = self.sites.inside(*self.host_names)
        if nest.tensor in self.program.lets:
            self.elements(nest, sites, at)
            return
        if self.program.scratch_of(nest.tensor):
            self.prover.summarise(nest)
            before = len(sites.open)
            test = self.block(nest, nest.body, sites, at)
            own = {each.name for each in self.program.scratch_of(nest.tensor)}
            if read_tensors(test) & own or names_in(test) & changing_locals(nest):
                place = list(sites.open.values())[before]
                raise sites.untestable(place.span, f"{place.what} while the list is made")
            if test != TRUE:
                yield self.guard(nest, (), i.Select(test, NOTHING, i.ZERO), placed=False)
            return
        point = self.point(nest, nest.body, sites, at)
        if point.test == TRUE and point.bounds == TRUE:
            return
        outer, over = self.variadic(point)
        position = self.position(nest, point, at)
        value: i.Expr = self.least(point, outer, over, position)
        if point.bounds != TRUE:
            value = i.Select(point.bounds, value, i.ZERO)
        yield self.guard(nest, outer, value, placed=position is not None)

    def elements(self, nest: i.Nest, sites: Sites, at: Knowledge) -> None:
        """Whether each element of a `let` in memory has a value, also where the formula does not
        ask for it."""
        sites.total = True
        before = len(sites.open)
        if self.block(nest, nest.body, sites, at) == TRUE and len(sites.open) == before:
            return
        if self.program.lets[nest.tensor].axis is not None:
            place = list(sites.open.values())[before]
            message = f"'{nest.tensor}' is defined by itself: recursion, and"
            hint = "guard what may not be there, as in ... if k > 0 else 0"
            raise SpecError(place.span, f"{message} it is not proved that {place.what}", hint)
        sites.missing.add(nest.tensor)

    def guard(
        self, nest: i.Nest, outer: tuple[i.Over, ...], value: i.Expr, *, placed: bool
    ) -> i.Nest:
        name = fresh(f"{nest.tensor}_outside", {each.name for each in self.scratch})
        shape = tuple(each.high for each in outer) or (i.Const(1),)
        scratch = i.Scratch(name, name, shape, nest.case)
        self.scratch.append(scratch)
        size = i.Let(scratch.size, "int", shape[0], nest.span)
        self.sizes.setdefault(nest.case, []).append(size)
        at: i.Expr = i.Var(outer[0].index) if outer else i.ZERO
        store: i.Stmt = i.Store(i.Access(name, None, ((at, False),)), value, nest.span)
        for each in outer:
            store = i.Loop(each.index, each.low, each.high, (store,), 0, nest.span)
        if nest.guarded is not None:  # a requirement on elements, which may read outside too
            guarded = i.Guarded(nest.guarded.tensor, None)
        else:
            guarded = i.Guarded(nest.tensor, shape_name(nest.tensor) if placed else None)
        return i.Nest(name, nest.case, None, (), (store,), nest.formula, nest.span, guarded=guarded)

    def least(
        self,
        point: Point,
        outer: tuple[i.Over, ...],
        over: tuple[i.Over | i.OverPack, ...],
        position: i.Expr | None,
    ) -> i.Expr:
        """The least position whose test does not hold. Loops that it does not speak of are not
        gone through where they surely begin with 0: there the others have a value."""
        needed = names_in(point.test)
        over = tuple(
            each
            for at, each in enumerate(over)
            if name_of(each) not in point.first
            or name_of(each) in needed
            or any(name_of(each) in names_in(later) for later in over[at + 1 :])
        )
        if position is None:
            test = i.Fold("all", point.test, over, None) if over else point.test
            return i.Select(test, NOTHING, i.ZERO)
        found = with_zeros(position, {name_of(each) for each in (*outer, *over)})
        if found != i.ZERO:
            found = i.Convert("i64", found)
        value: i.Expr = i.Select(point.test, NOTHING, found)
        if over:
            value = i.Fold("min", value, over, None)
        if (alike := self.by_dimension(point, over)) is not None:
            value = i.Select(alike, NOTHING, value)
        begins = all(name_of(each) in point.first for each in over)
        return value if begins else i.Call("min", (value, NOTHING))

    def by_dimension(self, point: Point, over: tuple[i.Over | i.OverPack, ...]) -> i.Expr | None:
        """Whether a test of each dimension holds at all places of the output, where it speaks of
        the own entry of a place alone: then it is asked for each of those entries once."""
        match point.test, over:
            case (
                i.Fold("all", element, (i.Over(low=i.Const(value=0)) as slots,), None),
                (i.OverPack(pack=pack, slots=None) as box,),
            ) if not read_tensors(element) and self.is_whole(box, point.target.tensor):
                slot = i.Var(slots.index)
                own = fresh("entry", {*self.host_names, *names_in(element)})
                entry = i.Item(i.Var(pack), slot)
                told = rebuild(element, lambda node: i.Var(own) if node == entry else node)
                extent = i.Item(i.Var(shape_name(point.target.tensor)), slot)
                alike = i.Fold("all", told, (slots, i.Over(own, i.ZERO, extent)), None)
                return None if pack in names_in(told) else alike
            case _:
                return None

    def is_whole(self, box: i.OverPack, tensor: str) -> bool:
        """Whether a multi-index runs over all of an output."""
        shapes = [e for e in nodes_in(self.program.prepare, i.SetOutput) if e.tensor == tensor]
        return [each.extents for each in shapes] == [box.extents]

    def variadic(self, point: Point) -> tuple[tuple[i.Over, ...], tuple[i.Over | i.OverPack, ...]]:
        """The loop over the tensors of a variadic input apart from the rest."""
        first, rest = point.over[:1], point.over[1:]
        tested = (point.test, point.bounds)
        accesses = any(isinstance(e, i.Access) and e.which is not None for e in walk(tested))
        speaks = accesses or names_in(tested) & set(self.prover.many)
        if speaks and first and isinstance(first[0], i.Over):
            return (first[0],), rest
        return (), point.over

    def position(self, nest: i.Nest, point: Point, at: Knowledge) -> i.Expr | None:
        """Where the element of a nest stands in its output, if each of its indices is a loop's."""
        tensor, index = point.target.tensor, point.target.index
        loops = {name_of(each) for each in point.over if not _parted(each)}
        named = all(isinstance(value, i.Var) and value.name in loops for value, _ in index)
        if not (named and self.gathers(nest)) or tensor in self.operator.empty_tensors:
            return None
        position: i.Expr | None = None
        boxes = {each.pack: each.extents for each in point.over if isinstance(each, i.OverPack)}
        shape = self.box(tensor, index, boxes, at)
        for (value, spread), (extent, _) in zip(index, shape, strict=True):
            place = i.Call("flatten_index", (value, extent)) if spread else value
            size = i.Call("size", (extent,)) if spread else extent
            position = (
                place if position is None else i.Binary("+", i.Binary("*", position, size), place)
            )
        return position

    def box(self, tensor: str, index: Slots, boxes: Mapping[str, i.Expr], at: Knowledge) -> Slots:
        """The shape of an output cut into the parts that the slots of an index stand against; a
        multi-index stands against what it runs over."""
        shape = i.Var(shape_name(tensor))
        declared = at.lets[shape.name]
        slots = declared.entries if isinstance(declared, i.ListOf) else ((shape, True),)
        if [spread for _, spread in slots] == [spread for _, spread in index]:
            return slots
        found: list[tuple[i.Expr, bool]] = []
        place: i.Expr = i.ZERO
        for value, spread in index:
            box = boxes[value.name] if spread and isinstance(value, i.Var) else None
            found.append((i.Item(shape, place) if box is None else box, spread))
            length = i.Const(1) if box is None else i.Call("len", (box,))
            place = algebra.simplify(i.Binary("+", place, length))
        return tuple(found)

    def gathers(self, nest: i.Nest) -> bool:
        """Whether the indices of a nest are those of its output."""
        items = f.all_items(self.operator.items)
        return any(
            isinstance(item, f.Equation) and item.span is nest.span and item.gather
            for item in items
        )

    def point(self, nest: i.Nest, body: i.Block, sites: Sites, at: Knowledge) -> Point:
        """The loops around the store of an equation."""
        over: list[i.Over | i.OverPack] = []
        first: set[str] = set()
        bounds: i.Expr = TRUE
        while True:
            match body:
                case (i.Loop(index=index, low=low, high=high, body=inner),):
                    binder: i.Over | i.OverPack = i.Over(index, low, high)
                case (i.PackLoop(pack=pack, extents=extents, slots=slots, body=inner),):
                    binder = i.OverPack(pack, extents, slots)
                case _:
                    break
            bounded = sites.binder(binder, at)
            for each in reversed(over):
                bounded = quantified(each, bounded)
            bounds = both_of(bounds, bounded)
            if self.prover.proved(at, first_value_condition(binder)):
                first.add(name_of(binder))
            sites, at = sites.inside(name_of(binder)), self.prover.enter(at, binder)
            over.append(binder)
            body = inner
        target = next(each.target for each in nodes_in(body, i.Store))
        assert isinstance(target, i.Access)
        test = self.block(nest, body, sites, at)
        return Point(tuple(over), frozenset(first), target, bounds, test)

    def block(self, nest: i.Nest, body: i.Block, sites: Sites, at: Knowledge) -> i.Expr:
        if not body:
            return TRUE
        first, rest = body[0], body[1:]
        match first:
            case i.Let(name=name, value=value):
                tested = sites.test(value, at)
                known = at.let(name, value)
                counted = counter_facts(body, name)
                if counted is not None:  # it changes; what it counts is known
                    known = self.prover.assume(at, counted)
                more = self.block(nest, rest, sites.inside(name), known)
                return both_of(tested, i.Bind(name, value, more) if more != TRUE else TRUE)
            case i.Loop(index=index, low=low, high=high, body=inner):
                tested = self.loop(nest, i.Over(index, low, high), inner, sites, at)
            case i.PackLoop(pack=pack, extents=extents, slots=slots, body=inner):
                tested = self.loop(nest, i.OverPack(pack, extents, slots), inner, sites, at)
            case i.If(condition=condition, then=then, otherwise=otherwise):
                one = self.block(nest, then, sites, self.prover.assume(at, condition))
                no = self.prover.assume(at, condition, truth=False)
                other = self.block(nest, otherwise, sites, no)
                tested = both_of(sites.test(condition, at), sites.chosen(condition, one, other))
            case i.Store(target=i.Access() as target, value=value):
                tested = sites.test(value, at)
                if nest.tensor in self.program.operator.output_names and not self.gathers(nest):
                    written = sites.access(replace(target, span=nest.span), at)
                    tested = both_of(tested, written)
            case _:
                tested = TRUE
        return both_of(tested, self.block(nest, rest, sites, at))

    def loop(
        self, nest: i.Nest, over: i.Over | i.OverPack, body: i.Block, sites: Sites, at: Knowledge
    ) -> i.Expr:
        """The test of a loop of a nest."""
        inner = sites.inside(name_of(over))
        tested = self.block(nest, body, inner, self.prover.enter(at, over))
        return both_of(sites.binder(over, at), quantified(over, tested))


def name_of(over: i.Over | i.OverPack) -> str:
    return over.index if isinstance(over, i.Over) else over.pack


def _parted(over: i.Over | i.OverPack) -> bool:
    """Whether a loop binds a part of a multi-index."""
    return isinstance(over, i.OverPack) and over.slots is not None


def first_value_condition(over: i.Over | i.OverPack) -> i.Expr:
    """The condition under which a loop has a first value, which is 0, or all zeros."""
    match over:
        case i.Over(low=i.Const(value=0), high=high):
            return i.Compare("<=", i.Const(1), high)
        case i.OverPack(extents=box, slots=None):
            slot = i.Over("slot", i.ZERO, i.Call("len", (box,)))
            extent = i.Compare("<=", i.Const(1), entry_of(box, i.Var("slot")))
            return i.Fold("all", extent, (slot,), None)
        case _:
            return i.Const(False)


def with_zeros(position: i.Expr, kept: set[str]) -> i.Expr:
    """A position where all indices but some are 0."""
    match position:
        case i.Binary(op="+", left=i.Binary(op="*", left=left, right=size), right=right):
            front, back = with_zeros(left, kept), with_zeros(right, kept)
            if front == i.ZERO:
                return back
            scaled = i.Binary("*", front, size)
            return scaled if back == i.ZERO else i.Binary("+", scaled, back)
        case i.Var(name=name) | i.Call(arguments=(i.Var(name=name), _)):
            return position if name in kept else i.ZERO
        case _:
            raise AssertionError("no position of an element")


def changing_locals(nest: i.Nest) -> set[str]:
    """The locals of a nest that change."""
    return {each.name for each in nodes_in(nest.body, i.Accumulate)}
