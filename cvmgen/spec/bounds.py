"""What an output's values can be: exact bounds of a formula, as expressions of the call.

Interval arithmetic over the formula, symbolic in precisions, extents and attributes. The
bounds hold for every order of a reduction. From them come the precision of an output that
declares none, and the check that a declared rule never falls below what the values need.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import TypeVar

from cvmgen.dtypes import CVM
from cvmgen.source import Span, SpecError
from cvmgen.spec import formula as f
from cvmgen.spec import nodes as n
from cvmgen.spec.intervals import Interval, IntervalArithmetic
from cvmgen.spec.selections import bound_inside, index_of, is_extent

UNKNOWN = "the bounds of this value are not known"
DECLARE = "declare it: precision ..."
Found = TypeVar("Found")


class Derive(IntervalArithmetic):
    """Intervals of expressions. `known` holds those of indices and parameters."""

    def __init__(self, operator: f.Operator, span: Span) -> None:
        super().__init__(operator, span)
        self.operator = operator
        items = f.all_items(operator.items)
        self.definitions = {item.name: item for item in items if isinstance(item, f.Definition)}
        self.known: dict[str, Interval] = {}
        self.limits: dict[n.Expr, tuple[n.Expr | None, n.Expr | None]] = {}

    # -------------------------------------------------------- the formula

    def equation(self, item: f.Equation) -> Interval:
        outer, self.definitions = self.definitions, dict(self.definitions)
        self.definitions.update({each.name: each for each in item.where})
        before = dict(self.known)
        self.bind(item.domain)
        result = self.interval(item.value)
        self.known, self.definitions = before, outer
        return result

    def bind(self, binders: n.Binders) -> n.Expr:
        """Give the indices their ranges; returns the number of points."""
        count: n.Expr = self.number(1)
        for binder in binders.items:
            match binder:
                case n.IndexRange(index=index, low=low, high=high):
                    first, last = self.interval(low), self.interval(high)
                    most = self.operate("-", last.high, self.number(1))
                    self.known[index] = Interval(first.low, self.no_less(most, first.low))
                    count = self.operate("*", count, self.points(first, last))
                case n.PackRange(extents=extents):
                    size = n.Function("size", (extents,), self.span)
                    count = self.operate("*", count, size)
                case n.IndexMember(index=index, collection=n.Apply(name=name)) if self.selected(
                    name
                ):
                    self.known[index] = self.entries(self.definitions[name].body)
                    count = self.operate("*", count, self.length(name))
                case n.IndexMember(collection=collection):
                    count = self.operate("*", count, self.members(collection))
                case _:
                    raise AssertionError("binder is not checked")
        return count

    def members(self, collection: n.Expr) -> n.Expr:
        """The most elements that a list or a set has, by shapes and attributes."""
        if self.of_every_call(collection):
            return n.Function("len", (collection,), self.span)
        match collection:
            case n.Apply(name=name) if self.selected(name):
                return self.length(name)
            case n.Apply():
                return self.applied(collection, self.members)
            case n.Listing(binders=binders) | n.SetOf(binders=binders):
                before = dict(self.known)
                count = self.bind(binders)
                self.known = before
                return count
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
        if expr in self.limits:
            low, high = self.limits[expr]
            if low is not None:
                found = Interval(self.function("max", found.low, low), found.high)
            if high is not None:
                found = Interval(found.low, self.function("min", found.high, high))
        return found

    def unlimited(self, expr: n.Expr) -> Interval:
        if self.of_the_call(expr):
            return self.exactly(expr)
        match expr:
            case n.Ref(name=name) if name in self.known:
                return self.known[name]
            case n.Access(tensor=tensor) if self.operator.type_of[tensor] != CVM:
                return self.of_types(tensor, expr)
            case n.Access(tensor=tensor, which=which):
                return self.symmetric(self.largest(self.precision_of(tensor, which)))
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
                return self.reduction(expr)
            case n.Apply():
                return self.apply(expr)
            case n.Function(name="count" | "len", arguments=(n.Apply(name=name),)) if self.selected(
                name
            ):
                return Interval(self.number(0), self.length(name))
            case n.Function():
                return self.apply_function(expr)
            case n.Item(sequence=n.Apply(name=name)) if self.selected(name):
                return self.entries(self.definitions[name].body)
            case _:
                raise SpecError(expr.span, UNKNOWN, DECLARE)

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
                before = dict(self.known)
                self.bind(binders)
                found = self.known.get(index_of(binders))
                self.known = before
                if found is None:
                    raise SpecError(binders.span, UNKNOWN, DECLARE)
                return found
            case n.Apply(name=name):
                return self.entries(self.definitions[name].body)
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
            return n.Precision(tensor, which, self.span)
        item = next(each for each in self.operator.inputs if each.name == tensor)
        assert item.index is not None and item.count is not None
        index = n.Ref(item.index, "index", self.span)
        count = n.Ref(item.count, "count", self.span)
        each = n.IndexRange(item.index, self.number(0), count, self.span)
        binders = n.Binders((each,), None, None, self.span)
        return n.Reduction("max", binders, n.Precision(tensor, index, self.span), self.span)

    def of_the_call(self, expr: n.Expr) -> bool:
        """Whether a value is the same for all elements: no index, no element in it."""
        for node in n.walk(expr):
            match node:
                case n.Access() | n.ShapeOf():
                    return False
                case n.Ref(name=name, role=role):
                    if name in self.known or role in ("index", "pack", "parameter"):
                        return False
                case n.Apply(name=name):
                    if not self.of_the_call_body(name):
                        return False
                case _:
                    pass
        return True

    def of_the_call_body(self, name: str) -> bool:
        """Whether a definition speaks of nothing but its parameters and the call."""
        definition = self.definitions[name]
        if definition.kind == f.SELECTED:
            return False
        inner = {parameter for parameter, _ in definition.parameters}
        return self.of_every_call(definition.body, inner)

    def of_every_call(self, expr: n.Expr, known: Collection[str] = ()) -> bool:
        """Whether an expression reads no element, and no index but its own and those `known`."""
        inner = {*known, *bound_inside(expr)}
        for node in n.walk(expr):
            match node:
                case n.Access():
                    return False
                case n.Ref(name=used, role=role):
                    if role in ("index", "pack", "parameter") and used not in inner:
                        return False
                case n.Apply(name=used):
                    if not self.of_the_call_body(used):
                        return False
                case _:
                    pass
        return True

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
                most = self.operate("-", self.magnitude(right), self.number(1))
                most = self.no_less(most, self.number(0))
                if right.low == right.high and isinstance(right.low, n.Number):
                    return Interval(self.number(0), most)
                return self.symmetric(most)
            case _:
                return self.corners(expr.sign, left, right)

    def conditional(self, expr: n.Conditional) -> Interval:
        before = dict(self.limits)
        self.assume(expr.condition, holds=True)
        then = self.interval(expr.then)
        self.limits = dict(before)
        self.assume(expr.condition, holds=False)
        otherwise = self.interval(expr.otherwise)
        self.limits = before
        if self.of_the_call(expr.condition):
            return self.choose(expr.condition, then, otherwise)
        return self.join(then, otherwise)

    def choose(self, condition: n.Expr, then: Interval, otherwise: Interval) -> Interval:
        def pick(yes: n.Expr, no: n.Expr) -> n.Expr:
            return yes if yes == no else n.Conditional(yes, condition, no, self.span)

        return Interval(pick(then.low, otherwise.low), pick(then.high, otherwise.high))

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
        if not self.of_the_call(end) or self.of_the_call(value):
            return
        low, high = self.limits.get(value, (None, None))
        one = self.number(1)
        if relation in (">", ">="):
            low = end if relation == ">=" else self.operate("+", end, one)
        elif relation in ("<", "<="):
            high = end if relation == "<=" else self.operate("-", end, one)
        elif relation == "==":
            low = high = end
        self.limits[value] = (low, high)

    def reduction(self, expr: n.Reduction) -> Interval:
        before = dict(self.known)
        count = self.bind(expr.binders)
        body = None if expr.function in ("any", "all", "count") else self.interval(expr.body)
        self.known = before
        if body is None:
            return Interval(self.number(0), count)
        match expr.function:
            case "sum" if body.symmetric:
                return self.symmetric(self.operate("*", count, body.high))
            case "sum":
                zero = self.number(0)
                low = self.operate("*", count, self.function("min", body.low, zero))
                return Interval(
                    low, self.operate("*", count, self.function("max", body.high, zero))
                )
            case "prod":
                most = self.function("max", self.magnitude(body), self.number(1))
                return self.symmetric(n.Arithmetic("^", most, count, self.span))
            case _:
                return body

    def apply(self, expr: n.Apply) -> Interval:
        return self.applied(expr, self.interval)

    def applied(self, expr: n.Apply, find: Callable[[n.Expr], Found]) -> Found:
        """What `find` says of a definition's body with these arguments."""
        definition = self.definitions[expr.name]
        before, limits = dict(self.known), dict(self.limits)
        for (name, kind), argument in zip(definition.parameters, expr.arguments, strict=True):
            if kind == f.INT:
                self.known[name] = self.interval(argument)
        result = find(definition.body)
        self.known, self.limits = before, limits
        return result

    def apply_function(self, expr: n.Function) -> Interval:
        if expr.name == "flatten_index" and self.of_the_call(expr.arguments[1]):
            size = self.function("size", expr.arguments[1])
            most = self.operate("-", size, self.number(1))
            return Interval(self.number(0), self.no_less(most, self.number(0)))
        intervals = [self.interval(argument) for argument in expr.arguments]
        match expr.name:
            case "abs":
                return Interval(self.number(0), self.magnitude(intervals[0]))
            case "max" | "min" as name:
                lows, highs = [each.low for each in intervals], [each.high for each in intervals]
                return Interval(self.function(name, *lows), self.function(name, *highs))
            case "floor_log2" | "ceil_log2" as name:
                ends = (intervals[0].low, intervals[0].high)
                one = self.number(1)
                low, high = (self.function(name, self.function("max", end, one)) for end in ends)
                return Interval(low, high)
            case _:
                return self.symmetric(self.magnitude(intervals[0]))


OPPOSITE: Mapping[str, str] = {
    "<": ">=",
    "<=": ">",
    ">": "<=",
    ">=": "<",
    "==": "!=",
    "!=": "==",
}
MIRRORED: Mapping[str, str] = {
    "<": ">",
    "<=": ">=",
    ">": "<",
    ">=": "<=",
    "==": "==",
    "!=": "!=",
}
