"""The places where a formula reads an element or an entry, and the tests of those not proved."""

from __future__ import annotations

from dataclasses import dataclass, replace

from cvmgen.analysis.definedness import direct_operands
from cvmgen.inside.assumptions import order_test, range_test
from cvmgen.inside.binding import (
    TRUE,
    all_of,
    bind,
    both_of,
    canonical,
    put_over,
    quantified,
    with_free_values,
)
from cvmgen.inside.calls import CallProver, Slots
from cvmgen.inside.has_value import value_tests
from cvmgen.inside.knowledge import Knowledge, is_list_value
from cvmgen.ir import nodes as i
from cvmgen.ir.logic import opposite
from cvmgen.lower.expressions import entry_of
from cvmgen.lower.selections import length_name
from cvmgen.source import Span, SpecError

INSIDE = "this index stays inside"
HAS_VALUE = "this has a value"
HINT = "cut the index with clip, mod or a condition, or add a `require` that keeps it inside"


@dataclass(frozen=True, slots=True)
class OpenSite:
    """A place that is not proved to stay inside, and what each call tests there."""

    span: Span
    what: str

    def __str__(self) -> str:
        return f"it is not proved that {self.what}, so each call tests it"


class Sites:
    """The test of an expression: TRUE where all that it reads is proved to be there.

    A test is a condition of the formula's own language, and is asked before what it guards is
    computed: under it no part of the expression, nor of the test, reads outside.
    """

    def __init__(self, prover: CallProver) -> None:
        self.prover = prover
        self.open: dict[tuple[int, int, str], OpenSite] = {}
        self.missing: set[str] = set()  # lets in memory with elements that may not be there
        self.total = False  # whether what has no value is told too, though it reads nothing
        self.scope: frozenset[str] = frozenset()
        self.span: Span

    # -------------------------------------------------------- expressions

    def test(self, expr: i.Expr, at: Knowledge) -> i.Expr:
        """The condition under which an expression reads nothing outside."""
        match expr:
            case i.Bind(name=name, value=value, body=body):
                name, body = self.renamed(name, body)
                with_name = self.inside(name)
                tested = with_name.test(body, at.let(name, value))
                return both_of(self.test(value, at), bind(name, value, tested))
            case i.Select(condition=condition, then=then, otherwise=otherwise):
                one = self.test(then, self.prover.assume(at, condition))
                other = self.test(otherwise, self.prover.assume(at, condition, truth=False))
                return both_of(self.test(condition, at), self.chosen(condition, one, other))
            case i.Logic(op="and" | "or" as op, operands=(first, *more)):
                if not more:
                    return self.test(first, at)
                truth = op == "and"
                rest = i.Logic(op, tuple(more))
                tested = self.test(rest, self.prover.assume(at, first, truth))
                guarded = (
                    self.chosen(first, tested, TRUE) if truth else self.chosen(first, TRUE, tested)
                )
                return both_of(self.test(first, at), guarded)
            case i.Fold() | i.Gather():
                each = self.each(expr.over, expr.condition, expr.element, at)
                return both_of(self.value(expr, at), each)
            case i.Access():
                return self.access(expr, at)
            case i.Item():
                return self.item(expr, at)
            case i.Part(sequence=sequence, low=low, high=high):
                return both_of(self.parts(expr, at), self.part(expr, sequence, low, high, at))
            case i.Call(function="unflatten", arguments=(position, box)):
                inside = range_test(position, i.ZERO, i.Call("size", (box,)))
                return both_of(self.parts(expr, at), self.required(inside, at, expr.span, INSIDE))
            case i.Entries(first=first):
                assert isinstance(first, i.Access)
                return self.list_indices(first, at)
            case i.Compare(right=i.Word()):
                return TRUE  # an attribute that is left away has no word
            case i.Var(name=name) if name in self.prover.given:
                return self.required(i.Given(self.prover.given[name]), at, None, "is given")
            case i.PrecisionOf(tensor=tensor) if self.is_optional(tensor):
                return self.required(i.Given(tensor), at, None, "is given")
            case _:
                return both_of(self.parts(expr, at), self.value(expr, at))

    def value(self, expr: i.Expr, at: Knowledge) -> i.Expr:
        """That an operation has a value for its operands, where that is asked."""
        tests = value_tests(expr, at, self.prover) if self.total else ()
        return all_of(self.required(test, known, None, HAS_VALUE) for test, known in tests)

    def parts(self, expr: i.Expr, at: Knowledge) -> i.Expr:
        return all_of(self.test(each, at) for each in direct_operands(expr))

    def inside(self, *names: str) -> Sites:
        """The same within binders of names."""
        other = Sites(self.prover)
        other.open, other.span = self.open, self.span
        other.missing, other.total = self.missing, self.total
        other.scope = self.scope | set(names)
        return other

    def renamed(self, name: str, body: i.Expr) -> tuple[str, i.Expr]:
        """A bound name that means nothing else here."""
        new = self.new(name)
        return (new, body) if new == name else (new, with_free_values(body, {name: i.Var(new)}))

    def each(
        self,
        over: tuple[i.Over | i.OverPack, ...],
        condition: i.Expr | None,
        element: i.Expr,
        at: Knowledge,
    ) -> i.Expr:
        """The test of what is computed for all values of indices."""
        if not over:
            if condition is None:
                return self.test(element, at)
            tested = self.test(element, self.prover.assume(at, condition))
            return both_of(self.test(condition, at), self.chosen(condition, tested, TRUE))
        first, *more = over
        name = first.index if isinstance(first, i.Over) else first.pack
        parted = isinstance(first, i.OverPack) and first.slots is not None
        if not parted and (new := self.new(name)) != name:
            values: dict[str, i.Expr] = {name: i.Var(new)}
            more = [put_over(each, values) for each in more]
            condition = None if condition is None else with_free_values(condition, values)
            element = with_free_values(element, values)
            if isinstance(first, i.Over):
                first = replace(first, index=new)
            else:
                first = replace(first, pack=new)
            name = new
        inner = self.inside(name)
        tested = inner.each(tuple(more), condition, element, self.prover.enter(at, first))
        return both_of(self.binder(first, at), quantified(first, tested))

    def binder(self, over: i.Over | i.OverPack, at: Knowledge) -> i.Expr:
        match over:
            case i.Over(low=None, high=members):
                return self.test(members, at)
            case i.Over(low=low, high=high):
                assert low is not None
                return both_of(self.test(low, at), self.test(high, at))
            case i.OverPack(extents=extents, slots=slots):
                tested = self.test(extents, at)
                return tested if slots is None else both_of(tested, self.test(slots, at))

    # -------------------------------------------------------- conditions

    def chosen(self, condition: i.Expr, then: i.Expr, otherwise: i.Expr) -> i.Expr:
        """One of two tests, by a condition."""
        if then == otherwise:
            return then
        if then == TRUE:
            return i.Logic("or", (condition, otherwise))
        if otherwise == TRUE:
            return i.Logic("or", (self.opposite(condition), then))
        return i.Select(condition, then, otherwise)

    def opposite(self, condition: i.Expr) -> i.Expr:
        """The negation; of real numbers, which NaN may be, not by another relation."""
        return i.Not(condition) if self.prover.reals else opposite(condition)

    # -------------------------------------------------------- one place

    def required(self, condition: i.Expr, at: Knowledge, span: Span | None, what: str) -> i.Expr:
        """TRUE if a condition is proved, else itself: it is asked while the operator runs."""
        if self.prover.proved(at, condition):
            return TRUE
        place = self.span if span is None else span
        self.open.setdefault((place.start, place.end, what), OpenSite(place, what))
        return condition

    def untestable(self, span: Span | None, what: str = INSIDE) -> SpecError:
        """The refusal of a formula of which calls could not test what is not proved."""
        place = self.span if span is None else span
        message = f"it is not proved that {what}, and calls cannot test it"
        return SpecError(place, message, HINT)

    def item(self, expr: i.Item, at: Knowledge) -> i.Expr:
        tested = both_of(self.parts_of_list(expr.sequence, at), self.test(expr.index, at))
        match expr.sequence:
            case i.Var(name=name) if name in at.packs and at.packs[name][-1][1] is not None:
                bound = [
                    i.Const(True) if slots is None else i.Contains(expr.index, slots)
                    for _, slots in at.packs[name]
                ]
                condition: i.Expr = i.Logic("or", tuple(bound))
            case sequence:
                condition = range_test(expr.index, i.ZERO, i.Call("len", (sequence,)))
        return both_of(tested, self.required(condition, at, expr.span, "this entry is in the list"))

    def parts_of_list(self, sequence: i.Expr, at: Knowledge) -> i.Expr:
        """The test of a list of which one entry is read; all of it is made all the same."""
        return (
            TRUE
            if isinstance(sequence, i.Var) and sequence.name in at.packs
            else self.test(sequence, at)
        )

    def part(
        self,
        expr: i.Part,
        sequence: i.Expr,
        low: i.Expr | None,
        high: i.Expr | None,
        at: Knowledge,
    ) -> i.Expr:
        length: i.Expr = i.Call("len", (sequence,))
        ends = i.ZERO if low is None else low, length if high is None else high
        condition = order_test(*ends, length)
        return self.required(condition, at, expr.span, "this part is in the list")

    def is_optional(self, tensor: str) -> bool:
        inputs = self.prover.operator.inputs
        return any(item.name == tensor and item.optional for item in inputs)

    # -------------------------------------------------------- elements

    def access(self, expr: i.Access, at: Knowledge) -> i.Expr:
        tested = self.parts_of_index(expr, at)
        prover, tensor = self.prover, expr.tensor
        if tensor in self.prover.stored:
            return both_of(tested, self.of_list(expr, at))
        if self.is_optional(tensor):
            given = self.required(i.Given(tensor), at, expr.span, f"{tensor} is given")
            tested = both_of(tested, given)
            at = prover.assume(at, i.Given(tensor))
        shape = prover.shapes[tensor]
        if expr.which is not None:
            ((many, _),) = shape
            shape = ((i.Item(many, expr.which), True),)
            count = next(each.count for each in prover.operator.inputs if each.name == tensor)
            assert count is not None
            there = range_test(expr.which, i.ZERO, i.Var(count))
            tested = both_of(tested, self.required(there, at, expr.span, "there is such an input"))
        there = self.index(expr.index, shape, expr.span, at)
        if there != TRUE and tensor in prover.program.lets:
            self.missing |= {tensor} if prover.program.lets[tensor].axis is None else set()
        return both_of(tested, there)

    def parts_of_index(self, expr: i.Access, at: Knowledge) -> i.Expr:
        tests = [] if expr.which is None else [self.test(expr.which, at)]
        for value, spread in expr.index:
            if spread and isinstance(value, i.Var) and value.name in at.packs:
                continue
            tests.append(self.test(value, at))
        return all_of(tests)

    def of_list(self, expr: i.Access, at: Knowledge) -> i.Expr:
        """An entry of a selected list, or how many it has."""
        if expr.tensor in self.lengths:
            return self.list_indices(expr, at, whole=True)
        outer = expr.index[:-1]
        length = i.Access(length_name(expr.tensor), None, outer or ((i.ZERO, False),))
        there = range_test(expr.index[-1][0], i.ZERO, length)
        indices = self.list_indices(expr, at)
        return both_of(indices, self.required(there, at, expr.span, "this entry is in the list"))

    @property
    def lengths(self) -> set[str]:
        return {length_name(each.owner) for each in self.prover.program.scratch}

    def list_indices(self, expr: i.Access, at: Knowledge, *, whole: bool = False) -> i.Expr:
        """The indices that say which list is meant."""
        scratch = next(each for each in self.prover.program.scratch if each.name == expr.tensor)
        tests = []
        indices = expr.index if whole else expr.index[:-1]
        for (value, _), extent in zip(indices, scratch.shape, strict=False):
            tests.append(
                self.required(range_test(value, i.ZERO, extent), at, expr.span, "it is made")
            )
        return all_of(tests)

    # -------------------------------------------------------- indices within a shape

    def index(self, index: Slots, shape: Slots, span: Span | None, at: Knowledge) -> i.Expr:
        """The test that an index stays inside a shape."""
        alike_slots = len(index) == len(shape) and all(
            one[1] == other[1] for one, other in zip(index, shape, strict=True)
        )
        if alike_slots:
            pairs = zip(index, shape, strict=True)
            return all_of(
                self.spread(value, extent, span, at)
                if spread
                else self.within(value, extent, span, at)
                for (value, spread), (extent, _) in pairs
            )
        whole = shape[0][0] if len(shape) == 1 and shape[0][1] else i.ListOf(shape)
        resolved = self.prover.listed(whole, at)
        if isinstance(resolved, i.ListOf) and resolved.entries != shape:
            spreads = [each for _, each in resolved.entries]
            if spreads == [each for _, each in index]:
                return self.index(index, resolved.entries, span, at)
        return self.along(index, whole, span, at)

    def within(self, value: i.Expr, extent: i.Expr, span: Span | None, at: Knowledge) -> i.Expr:
        return self.required(range_test(value, i.ZERO, extent), at, span, INSIDE)

    def along(self, index: Slots, whole: i.Expr, span: Span | None, at: Knowledge) -> i.Expr:
        """Slots against the entries of one list, from its front on."""
        place: i.Expr = i.ZERO
        tests: list[tuple[i.Expr, bool]] = []
        for value, spread in index:
            if spread:
                tests.append((self.behind(place, value, whole), self.is_named(value, at)))
                place = i.Binary("+", place, i.Call("len", (value,)))
            else:
                tests.append((range_test(value, i.ZERO, extent_at(whole, place)), True))
                place = next_to(place)
        rank = i.Compare("==", i.Call("len", (whole,)), place)
        known = self.prover.assume(at, rank)
        found = [self.required(rank, at, span, "there are as many indices as dimensions")]
        named = isinstance(whole, i.Var) or written_entries(whole) is not None
        for test, testable in tests:
            tested = self.required(test, known, span, INSIDE)
            if tested is not TRUE and not (named and testable):
                raise self.untestable(span)
            found.append(tested)
        return all_of(found)

    def behind(self, place: i.Expr, value: i.Expr, whole: i.Expr) -> i.Expr:
        """The test of a list of indices against the extents from a place on."""
        length = i.Call("len", (value,))
        extents = written_entries(whole)
        if extents is not None and isinstance(place, i.Const):
            several = enumerate(extents[int(place.value) :])
            return all_of(
                i.Logic(
                    "or",
                    (
                        i.Compare("<=", length, i.Const(number)),
                        range_test(entry_of(value, i.Const(number)), i.ZERO, extent),
                    ),
                )
                for number, extent in several
            )
        slot = i.Var(self.new("slot"))
        inside = range_test(
            entry_of(value, slot), i.ZERO, entry_of(whole, i.Binary("+", place, slot))
        )
        return i.Fold("all", inside, (i.Over(slot.name, i.ZERO, length),), None)

    def is_named(self, value: i.Expr, at: Knowledge) -> bool:
        """Whether a nest can pick single entries of a list."""
        match value:
            case i.Var():
                return value.name not in at.packs or at.packs[value.name][-1][1] is None
            case i.Gather(kind="list", condition=None):
                return True
            case _:
                return False

    def new(self, name: str) -> str:
        while name in self.scope:
            name += "_"
        return name

    def spread(self, value: i.Expr, extents: i.Expr, span: Span | None, at: Knowledge) -> i.Expr:
        """A list of indices against a list of extents."""
        prover = self.prover
        own, box = prover.listed(value, at), prover.listed(extents, at)
        match own:
            case i.Call(function="unflatten", arguments=(_, extents_of_it)) if canonical(
                prover.listed(extents_of_it, at)
            ) == canonical(box):
                return TRUE  # the call itself stays inside of its box
            case i.Var(name=name) if name in at.packs:
                binders = at.packs[name]
                if binders[-1][1] is None:
                    if canonical(prover.listed(binders[-1][0], at)) == canonical(box):
                        return TRUE
                else:
                    return self.bound_in_parts(value, binders, extents, span, at)
            case _:
                pass
        if is_list_value(own, at) and isinstance(own, i.Gather) and own.condition is not None:
            raise self.untestable(span)
        if same_members(own, box):
            assert isinstance(own, i.Gather) and isinstance(box, i.Gather)
            (over,) = own.over
            (other,) = box.over
            assert isinstance(over, i.Over) and isinstance(other, i.Over)
            index, element = self.renamed(over.index, own.element)
            extent = with_free_values(box.element, {other.index: i.Var(index)})
            inside = range_test(element, i.ZERO, extent)
            test = i.Fold("all", inside, (replace(over, index=index),), None)
            return self.required(test, at, span, INSIDE)
        rank = i.Compare("==", i.Call("len", (value,)), i.Call("len", (extents,)))
        same = self.required(rank, at, span, "there are as many indices as dimensions")
        name = self.new("slot")
        inside = range_test(entry_of(own, i.Var(name)), i.ZERO, entry_of(box, i.Var(name)))
        over = i.Over(name, i.ZERO, i.Call("len", (extents,)))
        test = i.Fold("all", inside, (over,), None)
        tested = self.required(test, prover.assume(at, rank), span, INSIDE)
        if tested is not TRUE and isinstance(own, i.Call):
            raise self.untestable(span)
        return both_of(same, tested)

    def bound_in_parts(
        self,
        value: i.Expr,
        binders: tuple[tuple[i.Expr, i.Expr | None], ...],
        extents: i.Expr,
        span: Span | None,
        at: Knowledge,
    ) -> i.Expr:
        """A multi-index that several binders fill: each entry by one, and none beyond the last."""
        length = i.Call("len", (extents,))
        slot, part = self.new("slot"), self.new("part")
        places = [each for _, each in binders if each is not None]
        filled = i.Logic("or", tuple(i.Contains(i.Var(slot), each) for each in places))
        over = i.Over(slot, i.ZERO, length)
        inside = range_test(i.Item(value, i.Var(slot)), i.ZERO, entry_of(extents, i.Var(slot)))
        tests: list[i.Expr] = [
            i.Fold("all", filled, (over,), None),
            i.Fold("all", inside, (over,), None),
        ]
        for each in places:
            within_rank = range_test(i.Var(part), i.ZERO, length)
            tests.append(i.Fold("all", within_rank, (i.Over(part, None, each),), None))
        if not all(self.prover.proved(at, test) for test in tests):
            raise self.untestable(span, "each dimension has one index, which stays inside")
        return TRUE


def written_entries(whole: i.Expr) -> tuple[i.Expr, ...] | None:
    """The entries of a list that is written out."""
    match whole:
        case i.ListOf(entries=entries) if not any(spread for _, spread in entries):
            return tuple(value for value, _ in entries)
        case _:
            return None


def extent_at(whole: i.Expr, place: i.Expr) -> i.Expr:
    extents = written_entries(whole)
    if extents is not None and isinstance(place, i.Const) and place.value < len(extents):
        return extents[int(place.value)]
    return i.Item(whole, place)


def next_to(place: i.Expr) -> i.Expr:
    if isinstance(place, i.Const):
        return i.Const(int(place.value) + 1)
    return i.Binary("+", place, i.Const(1))


def same_members(one: i.Expr, other: i.Expr) -> bool:
    """Whether two lists are made over the same members of a list or a set."""
    match one, other:
        case (
            i.Gather(kind="list", over=(i.Over(low=None, high=mine),), condition=None),
            i.Gather(kind="list", over=(i.Over(low=None, high=theirs),), condition=None),
        ):
            return canonical(mine) == canonical(theirs)
        case _:
            return False
