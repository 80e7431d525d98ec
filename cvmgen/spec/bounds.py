"""What an output's values can be: exact bounds of a formula, as expressions of the call.

Interval arithmetic over the formula, symbolic in precisions, extents and attributes. The
bounds hold for every order of a reduction. From them come the precision of an output that
declares none, and the check that a declared rule never falls below what the values need.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial, reduce
from typing import TypeVar

from cvmgen.dtypes import CVM
from cvmgen.functions import BITWISE, MIRRORED, OPPOSITE
from cvmgen.source import Span, SpecError
from cvmgen.spec import formula as f
from cvmgen.spec import nodes as n
from cvmgen.spec.call_values import CallValues, ValueNumbers
from cvmgen.spec.demands import ElementLimit, limits
from cvmgen.spec.intervals import Interval
from cvmgen.spec.recurrences import adds_up
from cvmgen.spec.selections import is_extent

UNKNOWN = "the bounds of this value are not known"
DECLARE = "declare it: precision ..."
Found = TypeVar("Found")
EntryLimits = dict[int, tuple[n.Expr | None, n.Expr | None]]


class Derive(CallValues):
    """Intervals of expressions.

    `known` holds those of the indices and parameters in reach, `boxes` the extents of packs, and
    `limits` what the conditions around say of values, each of which `numbers` tells apart.
    """

    def __init__(self, operator: f.Operator, span: Span) -> None:
        super().__init__(operator, span)
        self.operator = operator
        self.known: dict[str, Interval] = {}
        self.boxes: dict[str, n.Expr] = {}
        self.numbers = ValueNumbers()
        self.limits: EntryLimits = {}
        self.earlier: dict[str, Interval] = {}  # what a recurrence has kept so far
        self.demanded: dict[str, list[ElementLimit]] = {}  # what is required of elements
        for each in limits(operator):
            self.demanded.setdefault(each.tensor, []).append(each)

    # -------------------------------------------------------- the formula

    def equation(self, item: f.Equation) -> Interval:
        outer, self.definitions = self.definitions, dict(self.definitions)
        self.around = {each.name: each for each in item.where}
        self.definitions.update(self.around)
        with self.inside():
            for binder in item.domain.items:
                self.bind(binder)
            self.filter(item.domain.condition)
            result = self.interval(item.value)
        self.definitions = outer
        return result

    @contextmanager
    def inside(self) -> Iterator[None]:
        """What is bound and assumed here ends with the block."""
        before = self.known, self.boxes, self.numbers.bound, self.limits, self.given
        self.known, self.boxes = dict(self.known), dict(self.boxes)
        self.numbers.bound = dict(self.numbers.bound)
        self.limits, self.given = dict(self.limits), set(self.given)
        try:
            yield
        finally:
            self.known, self.boxes, self.numbers.bound, self.limits, self.given = before

    def bind(self, binder: n.Binder) -> None:
        """Give an index its range, or a pack its box, as far as they are known."""
        match binder:
            case n.IndexRange(index=index, low=low, high=high):
                first, last = self.interval(low), self.interval(high)
                most = self.operate("-", last.high, self.number(1))
                self.name(index, Interval(first.low, self.no_less(most, first.low)))
            case n.IndexMember(index=index, collection=n.Apply(name=name) as collection) if (
                self.selected(name)
            ):
                self.name(index, self.applied(collection, self.entries))
            case n.IndexMember(index=index):
                self.name(index, None)
            case n.PackRange(pack=pack, extents=extents, slots=slots):
                self.name(pack, None)
                if slots is None and self.of_the_call(extents):
                    self.boxes[pack] = extents
            case _:
                raise AssertionError("binder is not checked")

    def name(self, name: str, found: Interval | None) -> None:
        """A name gets another value: what was known of it before is no more."""
        self.known.pop(name, None)
        self.boxes.pop(name, None)
        self.numbers.bind(name)
        if found is not None:
            self.known[name] = found

    def counted(self, binders: n.Binders) -> n.Expr:
        """Bind the indices; returns the most points that they run over."""
        count: n.Expr = self.number(1)
        for binder in binders.items:
            match binder:
                case n.IndexRange(low=low, high=high):
                    points = self.points(self.interval(low), self.interval(high))
                case n.PackRange(extents=extents):
                    points = self.box(extents)
                case n.IndexMember(collection=n.Apply(name=name)) if self.selected(name):
                    points = self.length(name)
                case n.IndexMember(collection=collection):
                    points = self.members(collection)
                case _:
                    raise AssertionError("binder is not checked")
            count = self.operate("*", count, points)
            self.bind(binder)
        return count

    def box(self, extents: n.Expr) -> n.Expr:
        """The most points of a box; one with an extent below 1 has none."""
        zero = self.number(0)
        match extents:
            case n.TupleOf(elements=elements):
                count: n.Expr = self.number(1)
                for element in elements:
                    count = self.operate(
                        "*", count, self.no_less(self.interval(element).high, zero)
                    )
                return count
            case _ if not self.of_every_call(extents):
                raise SpecError(extents.span, UNKNOWN, DECLARE)
            case n.Listing(element=element, binders=binders) if not self.not_negative(element):
                extents = n.Listing(self.function("max", element, zero), binders, self.span)
            case _:
                pass
        return self.total(self.no_less(n.Function("size", (extents,), self.span), zero))

    def members(self, collection: n.Expr) -> n.Expr:
        """The most elements that a list or a set has, by shapes and attributes."""
        if self.of_every_call(collection):
            return self.total(n.Function("len", (collection,), self.span))
        match collection:
            case n.Apply(name=name) if self.selected(name):
                return self.length(name)
            case n.Apply():
                return self.applied(collection, self.members)
            case n.Listing(binders=binders) | n.SetOf(binders=binders):
                with self.inside():
                    return self.counted(binders)
            case n.Part(sequence=sequence):
                return self.members(sequence)
            case n.Arithmetic(sign="-", left=left):
                return self.members(left)
            case n.Arithmetic(left=left, right=right):
                return self.operate("+", self.members(left), self.members(right))
            case n.Conditional(then=then, otherwise=otherwise):
                return self.function("max", self.members(then), self.members(otherwise))
            case _:
                raise SpecError(collection.span, UNKNOWN, DECLARE)

    def interval(self, expr: n.Expr) -> Interval:
        """The values of an expression; narrowed by the conditions around it."""
        found = self.unlimited(expr)
        if not self.limits:
            return found
        return self.within(found, *self.limits.get(self.numbers.of(expr), (None, None)))

    def unlimited(self, expr: n.Expr) -> Interval:
        if self.of_the_call(expr) and self.has_value(expr):
            return self.exactly(expr)
        match expr:
            case n.Ref(name=name) if name in self.known:
                return self.known[name]
            case n.Access(tensor=tensor) if self.operator.type_of[tensor] != CVM:
                return self.required(tensor, self.of_types(tensor, expr))
            case n.Access(tensor=tensor, which=which):
                found = self.symmetric(self.largest(self.precision_of(tensor, which)))
                return self.required(tensor, found)
            case n.Negate(operand=operand):
                inner = self.interval(operand)
                if inner.symmetric:
                    return inner
                return Interval(self.negate(inner.high), self.negate(inner.low))
            case n.Arithmetic():
                return self.arithmetic(expr)
            case n.Conditional():
                return self.conditional(expr)
            case n.Reduction():
                with self.inside():
                    return self.reduction(expr)
            case n.Apply(name=name) if self.definitions[name].axis is not None:
                return self.applied(expr, partial(self.recurrence, self.definitions[name]))
            case n.Apply():
                return self.applied(expr, self.interval)
            case n.Earlier(name=name):
                return self.earlier[name]
            case n.Function(name="count" | "len", arguments=(n.Apply(name=name),)) if self.selected(
                name
            ):
                return Interval(self.number(0), self.length(name))
            case n.Function():
                return self.apply_function(expr)
            case n.Item(sequence=n.Apply(name=name) as sequence) if self.selected(name):
                return self.applied(sequence, self.entries)
            case _:
                raise SpecError(expr.span, UNKNOWN, DECLARE)

    def required(self, tensor: str, found: Interval) -> Interval:
        """The elements of an input, as far as requirements admit them."""
        for each in self.demanded.get(tensor, ()):
            ends = self.exactly(each.value)
            below = each.relation in ("<", "<=", "==")
            above = each.relation in (">", ">=", "==")
            strict = self.number(1 if each.relation in ("<", ">") else 0)
            high = self.operate("-", ends.high, strict) if below else None
            low = self.operate("+", ends.low, strict) if above else None
            found = self.within(found, low, high)
        return found

    def recurrence(self, definition: f.Definition, body: n.Expr) -> Interval:
        """The values of a recurrence: those of a step on which earlier ones have no influence, or
        as many steps as there are, where each adds no more."""
        name = definition.name
        self.earlier[name] = self.exactly(self.number(0))
        alone = self.earlier[name] = self.interval(body)
        if self.interval(body) == alone:
            return alone
        if not adds_up(body) or definition.ranges is None or definition.axis is None:
            raise SpecError(definition.span, UNKNOWN, DECLARE)
        steps = self.no_less(definition.ranges[definition.axis], self.number(0))
        return self.symmetric(self.operate("*", self.magnitude(alone), steps))

    # -------------------------------------------------------- selected lists

    def selected(self, name: str) -> bool:
        return self.definitions[name].kind == f.SELECTED

    def length(self, name: str) -> n.Expr:
        """The most entries that a selected list can have."""
        capacity = self.definitions[name].capacity
        assert capacity is not None
        return capacity if is_extent(capacity) else self.function("max", capacity, self.number(0))

    def entries(self, value: n.Expr) -> Interval:
        """What the entries of a selected list can be."""
        match value:
            case n.Conditional(then=then, otherwise=otherwise):
                return self.join(self.entries(then), self.entries(otherwise))
            case n.Listing(binders=binders) | n.Sorted(binders=binders):
                with self.inside():
                    for binder in binders.items:
                        self.bind(binder)
                    found = self.known.get(n.bound_by(binders.items[0]))
                if found is None:
                    raise SpecError(binders.span, UNKNOWN, DECLARE)
                return found
            case n.Apply():
                return self.applied(value, self.entries)
            case _:
                raise AssertionError("no selected list")

    def of_types(self, tensor: str, expr: n.Expr) -> Interval:
        """What the elements of an operand with types of its own can be."""
        dtypes = [choice[tensor] for choice in self.operator.choices]
        if any(dtype.kind != "int" for dtype in dtypes):
            raise SpecError(expr.span, UNKNOWN, DECLARE)
        low = self.number(min(dtype.low for dtype in dtypes))
        return Interval(low, self.number(max(dtype.high for dtype in dtypes)))

    def precision_of(self, tensor: str, which: n.Expr | None) -> n.Expr:
        """p(X); of several tensors the largest."""
        if which is None or self.of_the_call(which):
            return self.total(n.Precision(tensor, which, self.span))
        item = next(each for each in self.operator.inputs if each.name == tensor)
        assert item.index is not None and item.count is not None
        index = n.Ref(item.index, "index", self.span)
        count = n.Ref(item.count, "count", self.span)
        each = n.IndexRange(item.index, self.number(0), count, self.span)
        binders = n.Binders((each,), None, None, self.span)
        return n.Reduction("max", binders, n.Precision(tensor, index, self.span), self.span)

    # -------------------------------------------------------- operations, choices, reductions

    def arithmetic(self, expr: n.Arithmetic) -> Interval:
        left, right = self.interval(expr.left), self.interval(expr.right)
        match expr.sign:
            case "+" | "-" as sign:
                return self.sum(sign, left, right)
            case "*":
                return self.product(left, right)
            case "div" | "tdiv" as sign:
                return self.quotient(sign, left, right)
            case "mod":
                return self.remainder(right)
            case "^" if not self.holds_reals(expr):
                return self.power(left, right)
            case _:
                raise SpecError(expr.span, UNKNOWN, DECLARE)

    def conditional(self, expr: n.Conditional) -> Interval:
        with self.inside():
            self.assume(expr.condition, holds=True)
            then = self.interval(expr.then)
        with self.inside():
            self.assume(expr.condition, holds=False)
            otherwise = self.interval(expr.otherwise)
        if self.of_the_call(expr.condition) and self.has_value(expr.condition):
            return self.choose(expr.condition, then, otherwise)
        both = self.join(then, otherwise)
        needed = self.implied(expr.condition, holds=True)
        found = both if needed is None else self.choose(needed, both, otherwise)
        needed = self.implied(expr.condition, holds=False)
        return found if needed is None else self.choose(needed, found, then)

    def choose(self, condition: n.Expr, then: Interval, otherwise: Interval) -> Interval:
        test = self.total(condition)
        return Interval(
            self.when(test, then.low, otherwise.low), self.when(test, then.high, otherwise.high)
        )

    def implied(self, condition: n.Expr, *, holds: bool) -> n.Expr | None:
        """What must be so in a call for a condition on elements to hold, or not to."""
        match condition:
            case _ if self.of_the_call(condition) and self.has_value(condition):
                return condition if holds else n.Not(condition, self.span)
            case n.Not(operand=operand):
                return self.implied(operand, holds=not holds)
            case n.Logic(word=word, operands=operands):
                found = [self.implied(each, holds=holds) for each in operands]
                known = tuple(each for each in found if each is not None)
                every = (word == "and") == holds  # whether all operands have to be so
                if not known or (not every and len(known) < len(found)):
                    return None
                joint = "and" if every else "or"
                return known[0] if len(known) == 1 else n.Logic(joint, known, self.span)
            case _:
                return None

    def assume(self, condition: n.Expr, *, holds: bool) -> None:
        """Narrow what the condition compares with a value of the call."""
        match condition:
            case n.Logic(word="and", operands=operands) if holds:
                for operand in operands:
                    self.assume(operand, holds=True)
            case n.Logic(word="or", operands=operands) if not holds:
                for operand in operands:
                    self.assume(operand, holds=False)
            case n.Not(operand=operand):
                self.assume(operand, holds=not holds)
            case n.Present(name=name) if holds:
                self.given.add(name)
            case n.Compare(relations=(relation,), operands=(left, right)):
                self.limit(left, relation if holds else OPPOSITE[relation], right)
                self.limit(right, MIRRORED[relation if holds else OPPOSITE[relation]], left)
            case n.Compare(relations=relations, operands=operands) if holds:
                for relation, left, right in zip(relations, operands, operands[1:], strict=False):
                    self.limit(left, relation, right)
                    self.limit(right, MIRRORED[relation], left)
            case _:
                pass

    def limit(self, value: n.Expr, relation: str, end: n.Expr) -> None:
        """Narrow the very value that stands in a comparison: with its indices bound as here."""
        if not self.of_the_call(end) or not self.has_value(end) or self.of_the_call(value):
            return
        if self.holds_reals(value) or self.holds_reals(end):
            return
        number, found, one = self.numbers.of(value), self.total(end), self.number(1)
        low, high = self.limits.get(number, (None, None))
        if relation in (">", ">=", "=="):
            least = self.operate("+", found, one) if relation == ">" else found
            low = least if low is None else self.no_less(low, least)
        if relation in ("<", "<=", "=="):
            most = self.operate("-", found, one) if relation == "<" else found
            high = most if high is None else self.no_more(high, most)
        self.limits[number] = (low, high)

    def reduction(self, expr: n.Reduction) -> Interval:
        zero = self.number(0)
        if expr.function == "count":
            return Interval(zero, self.counted(expr.binders))
        if expr.function in ("max", "min"):
            for binder in expr.binders.items:
                self.bind(binder)
            return self.body(expr)
        count, body = self.counted(expr.binders), self.body(expr)
        if expr.function == "prod":
            return self.repeated(body, count)
        if body.symmetric:
            return self.symmetric(self.operate("*", count, body.high))
        low, high = self.no_more(body.low, zero), self.no_less(body.high, zero)
        return Interval(self.operate("*", count, low), self.operate("*", count, high))

    def body(self, expr: n.Reduction) -> Interval:
        """What is reduced, of the points that the condition keeps."""
        self.filter(expr.binders.condition)
        return self.interval(expr.body)

    def filter(self, condition: n.Expr | None) -> None:
        """Narrow by the condition of a range. Its ends are computed where no point is kept, too."""
        given = set(self.given)
        if condition is not None:
            self.assume(condition, holds=True)
        self.given = given

    def repeated(self, body: Interval, count: n.Expr) -> Interval:
        """A product of at most `count` values."""
        zero, one = self.number(0), self.number(1)
        found = self.power(
            Interval(one, self.no_less(self.magnitude(body), one)), Interval(zero, count)
        )
        if self.not_negative(body.low):
            return Interval(zero, found.high)
        return self.symmetric(found.high)

    def applied(self, expr: n.Apply, find: Callable[[n.Expr], Found]) -> Found:
        """What `find` says of a definition's body with these arguments."""
        definition = self.definitions[expr.name]
        found = [
            (self.interval(value) if kind == f.INT else None, self.numbers.of(value))
            for (_, kind), value in zip(definition.parameters, expr.arguments, strict=True)
        ]
        with self.inside():
            if expr.name not in self.around:
                self.known, self.boxes, self.numbers.bound = {}, {}, {}
            for (name, _), (interval, number) in zip(definition.parameters, found, strict=True):
                self.name(name, interval)
                self.numbers.bind(name, number)
            return find(definition.body)

    def apply_function(self, expr: n.Function) -> Interval:
        if expr.name == "flatten_index":
            return self.position(*expr.arguments)
        if expr.name == "int" and f.is_condition(expr.arguments[0]):
            return Interval(self.number(0), self.number(1))
        if expr.name in ("tanh", "erf", "sigmoid"):
            return self.symmetric(self.number(1))
        if expr.name in ("float32", "exp", "log"):  # float32 rounds up, too
            raise SpecError(expr.span, UNKNOWN, DECLARE)
        intervals = [self.interval(argument) for argument in expr.arguments]
        match expr.name:
            case "abs":
                return Interval(self.number(0), self.magnitude(intervals[0]))
            case "max" | "min" as name:
                choose = self.no_less if name == "max" else self.no_more
                low = reduce(choose, (each.low for each in intervals))
                return Interval(low, reduce(choose, (each.high for each in intervals)))
            case "floor_log2" | "ceil_log2" as name:
                one, (found,) = self.number(1), intervals
                low, high = (self.no_less(end, one) for end in (found.low, found.high))
                return Interval(self.function(name, low), self.function(name, high))
            case "isqrt":
                (found,), zero = intervals, self.number(0)
                low, high = (self.no_less(end, zero) for end in (found.low, found.high))
                return Interval(self.function("isqrt", low), self.function("isqrt", high))
            case "bitnot":
                return self.inverted(intervals[0])
            case name if name in BITWISE:
                return self.bits(name, *intervals)
            # Of real numbers only such bounds are kept as are integers: they hold rounded, too.
            case "int" if any(map(self.holds_reals, (intervals[0].low, intervals[0].high))):
                raise SpecError(expr.span, UNKNOWN, DECLARE)
            case _:
                return self.symmetric(self.magnitude(intervals[0]))

    def position(self, index: n.Expr, extents: n.Expr) -> Interval:
        """A row-major position: below the size where the index is bound in these very extents."""
        match index, extents:
            case n.Ref(name=name), _ if self.boxes.get(name) == extents:
                most = self.operate("-", self.box(extents), self.number(1))
                return Interval(self.number(0), self.no_less(most, self.number(0)))
            case n.TupleOf(elements=entries), n.TupleOf(elements=sides) if len(entries) == len(
                sides
            ):
                found = self.exactly(self.number(0))
                for entry, side in zip(entries, sides, strict=True):
                    found = self.product(found, self.interval(side))
                    found = self.sum("+", found, self.interval(entry))
                return found
            case _:
                raise SpecError(index.span, UNKNOWN, DECLARE)
