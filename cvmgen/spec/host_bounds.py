"""Bounds of the integers of a call, and which of them a target may saturate.

`host_integers` says why that is right.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from itertools import pairwise
from math import prod

from cvmgen import ranges
from cvmgen.dtypes import (
    ATTRIBUTE_HIGH,
    ATTRIBUTE_LOW,
    CVM,
    INT32,
    MAX_INPUTS,
    MAX_PRECISION,
    MAX_RANK,
    MAX_SIZE,
)
from cvmgen.functions import BITWISE
from cvmgen.ranges import Range
from cvmgen.rules import MOST_NAMED
from cvmgen.source import SpecError
from cvmgen.spec import formula as f
from cvmgen.spec import nodes as n
from cvmgen.spec.folding import constant_value
from cvmgen.spec.integer_bounds import (
    BEYOND,
    COMPUTED,
    KEPT,
    Bounds,
    bounds,
    hull_of,
    power_bounds,
    repeated_bounds,
)

NAMED = Bounds(-MOST_NAMED, MOST_NAMED)
REAL = Bounds(-BEYOND, BEYOND)  # no integer: nothing is known of it
TRUTH = Bounds(0, 1)
QUOTIENTS = {"div": ranges.floordiv, "tdiv": ranges.truncdiv, "mod": ranges.modulo}
LENGTH = Bounds(0, MAX_RANK + 1)
EXTENT = Bounds(1, MAX_SIZE - 1)
EXTENT_OR_0 = Bounds(0, MAX_SIZE - 1)
INT32_BOUNDS = Bounds(INT32.low, INT32.high)


class HostBounds:
    """Bounds of the integers of a call; `errors` are those that are not exact and should be."""

    def __init__(self, operator: f.Operator) -> None:
        self.operator = operator
        self.errors: dict[int, SpecError] = {}
        self.names: dict[str, Bounds] = {}  # of lists, the bounds of the entries
        self.shapes: set[str] = set()  # lists of extents of one tensor
        self.local: dict[str, Bounds] = {}  # indices and parameters in reach
        self.local_shapes: set[str] = set()
        self.lets: dict[str, list[f.Let]] = {}
        self.definitions: dict[str, f.Definition] = {}
        self.components = {each.name: len(each.components) for each in operator.attributes}
        for item in f.all_items(operator.items):
            match item:
                case f.Input():
                    self.input(item)
                case f.Attribute():
                    self.attribute(item)
                case f.Let():
                    self.lets.setdefault(item.name, []).append(item)
                case f.Definition():
                    self.definitions[item.name] = item
                case _:
                    pass

    # -------------------------------------------------------- declarations

    def input(self, item: f.Input) -> None:
        for extent in item.extents:
            if extent.new:
                self.names[extent.new] = EXTENT_OR_0 if item.empty else EXTENT
                if extent.pack:
                    self.shapes.add(extent.new)
        if item.count:
            self.names[item.count] = Bounds(1, MAX_INPUTS)

    def attribute(self, item: f.Attribute) -> None:
        low = None if item.low is None else constant_value(item.low)
        high = None if item.high is None else constant_value(item.high)
        least = ATTRIBUTE_LOW if low is None else low
        found = Bounds(least, max(least, ATTRIBUTE_HIGH - 1 if high is None else high - 1))
        if item.words:
            found = found.join(Bounds(0, 0))
        self.names |= dict.fromkeys((item.name, *item.components), found)

    def of_let(self, let: f.Let) -> Bounds:
        if let.kind == f.REAL:
            return REAL
        is_list = let.kind in (f.LIST, f.SET)
        return self.entries(let.value) if is_list else self.number(let.value)

    # -------------------------------------------------------- integers

    def exact(self, expr: n.Expr) -> Bounds:
        """The bounds of an integer that must not be saturated."""
        return self.demanded(expr, self.number(expr))

    def precision(self, expr: n.Expr) -> bool:
        """Whether a precision may be counted wrongly where it is beyond 62, and so refused: of a
        logarithm of what may be saturated, if nothing is taken away from it."""
        match expr:
            case n.Function(name="floor_log2" | "ceil_log2", arguments=(operand,)):
                return self.number(operand).far
            case n.Function(name="max", arguments=parts):
                return max([self.precision(each) for each in parts])
            case n.Conditional(then=then, condition=condition, otherwise=otherwise):
                self.condition(condition)
                return max([self.precision(each) for each in (then, otherwise)])
            case n.Arithmetic(sign="+", left=left, right=right) if self.natural(left, right):
                return max([self.precision(each) for each in (left, right)])
            case _:
                self.exact(expr)
                return False

    def natural(self, *parts: n.Expr) -> bool:
        """Whether none of these is negative."""
        errors, self.errors = self.errors, {}
        least = min(self.number(each).low for each in parts)
        self.errors = errors
        return least >= 0

    def kept(self, expr: n.Expr) -> Bounds:
        """Of one that must be exact in 64 bits."""
        return self.demanded(expr, self.number(expr).held(KEPT))

    def demanded(self, expr: n.Expr, found: Bounds) -> Bounds:
        if not found.far:
            return found
        message = "this integer can be larger than the host code of a call can compute"
        bits = (found.size - 1).bit_length()
        most = f"2^{bits}" if found.size < BEYOND else f"2^{bits} and more"
        hint = "cut what it is made of: max(low, min(..., high))"
        if f.is_host_value(expr):
            hint = "name it, or its parts, with 'let': a call in which one is larger is refused"
        hint = f"it can come to {most}; {hint}"
        self.errors.setdefault(id(expr), SpecError(expr.span, message, hint))
        return replace(found.cut(KEPT), far=False)

    def number(self, expr: n.Expr) -> Bounds:
        """The bounds of an integer."""
        match expr:
            case n.Number(value=value):
                return Bounds(value, value).held(COMPUTED)
            case n.Ref():
                return self.ref(expr)
            case n.Precision(which=which):
                if which is not None:
                    self.exact(which)
                return Bounds(1, MAX_PRECISION)
            case n.Access(tensor=tensor):
                return INT32_BOUNDS if self.operator.type_of[tensor] == CVM else NAMED
            case n.Negate(operand=operand):
                return self.number(operand).negative
            case n.Arithmetic(sign="+" | "-"):
                return self.sum(expr)
            case n.Arithmetic(sign="*" | "^"):
                return self.product(expr)
            case n.Arithmetic(sign="over"):
                return REAL
            case n.Arithmetic():
                return self.quotient(expr)
            case n.Conditional(then=then, condition=condition, otherwise=otherwise):
                self.condition(condition)
                return self.number(then).join(self.number(otherwise))
            case n.Item(sequence=sequence, index=index):
                self.exact(index)
                return self.entries(sequence)
            case n.Reduction():
                return self.reduction(expr)
            case n.Function():
                return self.function(expr)
            case n.Apply(name=name):
                with self.applied(expr):
                    return self.number(self.definitions[name].body)
            case _ if f.is_condition(expr):
                self.condition(expr)
                return TRUTH
            case _:
                return REAL

    def ref(self, expr: n.Ref) -> Bounds:
        if expr.role in f.LOCAL:
            return self.local.get(expr.name, NAMED)
        return self.let(expr.name) if expr.role == "let" else self.names.get(expr.name, NAMED)

    def let(self, name: str) -> Bounds:
        """Of a name, which may have another value in each case. What is wrong with it is told
        where it stands."""
        if name not in self.names:
            self.names[name] = NAMED  # while it is looked for
            errors, self.errors = self.errors, {}
            with self.inside({}, set()):
                found = hull_of([self.of_let(each).cut(MOST_NAMED) for each in self.lets[name]])
            self.errors = errors
            self.names[name] = replace(found, far=False)
        return self.names[name]

    def sum(self, expr: n.Arithmetic) -> Bounds:
        left, right = self.number(expr.left), self.number(expr.right)
        added = right if expr.sign == "+" else right.negative
        alike = min(left.low, added.low) >= 0 or max(left.high, added.high) <= 0
        if not alike:
            left = self.demanded(expr.left, left)
            right = self.demanded(expr.right, right)
            added = right if expr.sign == "+" else right.negative
        return bounds(ranges.plus(left, added)).held(COMPUTED, left, added)

    def product(self, expr: n.Arithmetic) -> Bounds:
        left = self.number(expr.left)
        if expr.sign == "^":
            return power_bounds(left, self.exact(expr.right)).held(COMPUTED, left)
        right = self.number(expr.right)
        found = ranges.times(left, right)
        if expr.left == expr.right:
            found = Range(0, found.high)
        return bounds(found).held(COMPUTED, left, right)

    def quotient(self, expr: n.Arithmetic) -> Bounds:
        left, right = self.exact(expr.left), self.exact(expr.right)
        return bounds(QUOTIENTS[expr.sign](left, right))

    def function(self, expr: n.Function) -> Bounds:
        match expr.name, expr.arguments:
            case "len" | "count", (sequence,):
                self.entries(sequence)
                return LENGTH
            case "size", (sequence,):
                return self.size(sequence)
            case "flatten_index", (index, extents):
                place = self.position(index, extents)
                return place if place.low >= 0 else self.demanded(expr, place)
            case "max" | "min" as name, arguments:
                found = [self.number(each) for each in arguments]
                return bounds(ranges.extreme(name, found)).held(COMPUTED, *found)
            case "abs", (operand,):
                value = self.number(operand)
                return bounds(ranges.magnitude(value)).held(COMPUTED, value)
            case "floor_log2" | "ceil_log2", (operand,):
                return Bounds(0, max(self.exact(operand).high, 1).bit_length())
            case "isqrt", (operand,):
                return bounds(ranges.square_root(self.exact(operand)))
            case name, (left, right) if name in BITWISE:
                return bounds(ranges.RULES[name](self.exact(left), self.exact(right)))
            case "bitnot", (operand,):
                return bounds(ranges.inverted(self.exact(operand)))
            case "ceildiv", (left, right):
                return bounds(ranges.ceildiv(self.exact(left), self.exact(right)))
            case "int", (operand,) if f.is_condition(operand):
                self.condition(operand)
                return TRUTH
            case _:
                return REAL

    def reduction(self, expr: n.Reduction) -> Bounds:
        if expr.function == "prod" and self.picks(expr.binders, expr.body):
            return EXTENT_OR_0
        with self.bound(expr.binders) as often:
            if f.is_condition(expr.body):
                self.condition(expr.body)
                return Bounds(0, often)
            body = self.number(expr.body).held(KEPT)
            found = repeated_bounds(expr.function, body, often).held(KEPT, body)
            if expr.function == "sum" and found.far and body.low < 0 < body.high:
                return self.demanded(expr.body, replace(body, far=True))
        return found

    def picks(self, binders: n.Binders, value: n.Expr) -> bool:
        """Whether these are extents of one tensor, each at most once."""
        match binders.items, value:
            case (
                (n.IndexMember(index=index, collection=n.Ref(role="let") as members),),
                n.Item(sequence=sequence, index=n.Ref(name=name)),
            ) if name == index and self.is_shape(sequence):
                return all(each.kind == f.SET for each in self.lets[members.name])
            case _:
                return False

    # -------------------------------------------------------- lists

    def entries(self, expr: n.Expr) -> Bounds:
        """The bounds of the entries of a list."""
        match expr:
            case n.Ref():
                return self.ref(expr)
            case n.TupleOf(elements=elements):
                return hull_of([self.number(each).held(KEPT) for each in elements])
            case (
                n.Listing(element=element, binders=binders)
                | n.SetOf(element=element, binders=binders)
            ):
                with self.bound(binders):
                    return self.number(element).held(KEPT)
            case n.Conditional(then=then, condition=condition, otherwise=otherwise):
                self.condition(condition)
                return self.entries(then).join(self.entries(otherwise))
            case n.Arithmetic(left=left, right=right):  # of sets
                return self.exact_entries(left).join(self.exact_entries(right))
            case n.Part(sequence=sequence, low=low, high=high):
                for end in (low, high):
                    if end is not None:
                        self.kept(end)
                return self.entries(sequence)
            case n.Item(sequence=sequence, index=index):  # the shape of one of several tensors
                self.exact(index)
                return self.entries(sequence)
            case n.Function(name="unflatten", arguments=(position, extents)):
                self.kept(position)
                return Bounds(0, max(self.exact_entries(extents).high, 0))
            case n.Apply(name=name) if self.definitions[name].kind != f.SELECTED:
                with self.applied(expr):
                    return self.entries(self.definitions[name].body)
            case n.ShapeOf():
                return EXTENT_OR_0
            case _:
                return NAMED

    def exact_entries(self, expr: n.Expr) -> Bounds:
        """Of a list whose entries are compared, or run over: also with what saturates in them."""
        return self.demanded(expr, self.entries(expr).held(MOST_NAMED))

    def size(self, sequence: n.Expr) -> Bounds:
        """The product of the entries of a list."""
        entries = self.entries(sequence)
        if self.is_shape(sequence):
            return Bounds(min(entries.low, 1), MAX_SIZE - 1)
        most = Bounds(0, self.most_entries(sequence))
        return power_bounds(entries.join(Bounds(1, 1)), most).held(KEPT, entries)

    def position(self, index: n.Expr, extents: n.Expr) -> Bounds:
        """A row-major position, and what is computed on the way to it."""
        entries, sides = self.exact_entries(index), self.exact_entries(extents)
        least = min(entries.low, 0), min(sides.low, 0)
        if self.is_shape(extents):
            most = MAX_RANK * entries.size * MAX_SIZE
        else:
            length = self.most_entries(extents)
            most = entries.size * sum(max(sides.size, 1) ** at for at in range(length))
        return Bounds(0 if least == (0, 0) else -most, most).held(KEPT)

    def most_entries(self, sequence: n.Expr) -> int:
        match sequence:
            case n.TupleOf(elements=elements):
                return len(elements)
            case n.Ref(name=name, role="let"):
                return max(self.most_entries(each.value) for each in self.lets[name])
            case n.Ref(name=name):
                return self.components.get(name) or MAX_RANK
            case _:
                return MAX_RANK

    def is_shape(self, expr: n.Expr) -> bool:
        """Whether a list has extents of a tensor, each at most once."""
        match expr:
            case n.Ref(name=name, role=role):
                return name in (self.local_shapes if role in f.LOCAL else self.shapes)
            case n.Part(sequence=sequence) | n.Item(sequence=sequence):
                return self.is_shape(sequence)
            case n.Listing(element=element, binders=binders):
                return self.picks(binders, element)
            case n.ShapeOf():
                return True
            case _:
                return False

    # -------------------------------------------------------- conditions

    def condition(self, expr: n.Expr) -> None:
        match expr:
            case n.Compare(operands=operands):
                self.compared(operands)
            case n.Logic(operands=operands):
                for each in operands:
                    self.condition(each)
            case n.Not(operand=operand):
                self.condition(operand)
            case n.Conditional(then=then, condition=condition, otherwise=otherwise):
                for each in (condition, then, otherwise):
                    self.condition(each)
            case n.Contains(element=element, collection=collection):
                self.exact(element)
                self.exact_entries(collection)
            case n.Reduction():
                self.reduction(expr)
            case n.Apply(name=name):
                with self.applied(expr):
                    self.condition(self.definitions[name].body)
            case _:
                pass

    def compared(self, operands: tuple[n.Expr, ...]) -> None:
        """What is far lies on its side of all that a `let` can be, and of nothing else."""
        if any(map(f.makes_real, operands)):
            return
        found = [self.number(each) for each in operands]
        for (one, left), (other, right) in pairwise(zip(operands, found, strict=True)):
            if not right.within(MOST_NAMED):
                self.demanded(one, left)
            if not left.within(MOST_NAMED):
                self.demanded(other, right)

    # -------------------------------------------------------- names that end

    @contextmanager
    def inside(self, names: Mapping[str, Bounds], shapes: set[str]) -> Iterator[None]:
        """Another scope with these names."""
        before = self.local, self.local_shapes
        self.local, self.local_shapes = dict(names), shapes
        try:
            yield
        finally:
            self.local, self.local_shapes = before

    @contextmanager
    def applied(self, expr: n.Apply) -> Iterator[None]:
        """The parameters of a definition have the bounds of what is given."""
        given: dict[str, Bounds] = {}
        shapes: set[str] = set()
        parameters = self.definitions[expr.name].parameters
        for (name, kind), value in zip(parameters, expr.arguments, strict=True):
            match kind:
                case f.INT:
                    given[name] = self.exact(value)
                case f.LIST | f.SET:
                    given[name] = self.exact_entries(value)
                    shapes |= {name} if self.is_shape(value) else set()
                case _:
                    self.condition(value)
        with self.inside(given, shapes):
            yield

    @contextmanager
    def bound(self, binders: n.Binders) -> Iterator[int]:
        """Indices have the bounds of what they run over; gives how often that is at most."""
        with self.inside(self.local, set(self.local_shapes)):
            trips = [self.bind(each) for each in binders.items]
            if binders.condition is not None:
                self.condition(binders.condition)
            yield min(prod(trips), MAX_SIZE)

    def bind(self, binder: n.Binder) -> int:
        """Bind an index; gives how many values it has at most."""
        match binder:
            case n.IndexRange(index=index, low=low, high=high):
                first, end = self.kept(low), self.kept(high)
                self.local[index] = Bounds(first.low, max(end.high - 1, first.low))
                return max(end.high - first.low, 0)
            case n.IndexMember(index=index, collection=collection):
                self.local[index] = self.exact_entries(collection)
                return MAX_RANK
            case n.PackRange(pack=pack, extents=extents):
                self.local[pack] = Bounds(0, max(self.exact_entries(extents).high, 0))
                return MAX_SIZE
            case _:
                raise AssertionError("binder is not checked")
