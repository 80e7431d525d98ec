"""Lists and sets: there is room for 16 entries of each. A `let` that needs more is refused when a
call shows it; every other one must be known to have no more, whatever the call."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from math import prod
from typing import TypeGuard

from cvmgen.dtypes import MAX_INPUTS, MAX_RANK
from cvmgen.source import SpecError
from cvmgen.spec import formula as f
from cvmgen.spec import nodes as n
from cvmgen.spec.constants import known

# The most that a parameter is, by its name; None where that is not known.
Highest = Mapping[str, int | None]


def long_lists(operator: f.Operator) -> Iterator[SpecError]:
    """An error for each list without a name that is not known to have at most 16 entries."""
    for item in f.all_items(operator.items):
        match item:
            case f.Equation(slots=slots, domain=domain, value=value, where=where):
                yield from Lengths(operator, where).visit((slots, domain, value), {})
            case f.Let(value=value):
                yield from Lengths(operator).visit(tuple(inside(value)), {})
            case f.Require(condition=condition) | f.Case(condition=condition):
                yield from Lengths(operator).visit(condition, {})
            case f.Output(slots=slots, precision=precision):
                yield from Lengths(operator).visit((slots, precision), {})
            case _:
                pass


def inside(value: n.Expr) -> Iterator[object]:
    """The parts of the value of a `let` but for the list that it names."""
    match value:
        case n.Conditional(then=then, condition=condition, otherwise=otherwise):
            yield condition
            yield from inside(then)
            yield from inside(otherwise)
        case (
            n.Listing(element=element, binders=binders) | n.SetOf(element=element, binders=binders)
        ):
            yield (element, binders)
        case n.Arithmetic(sign="+", left=left, right=right):
            yield (left, right)
        case _:
            yield value


def may_be_long(operator: f.Operator, let: f.Let) -> bool:
    """Whether a call can make a named list or set longer than there is room for."""
    most = Lengths(operator).most(let.value, {}) if let.kind in (f.LIST, f.SET) else 0
    return most is None or most > MAX_RANK


def length_rule(name: str) -> str:
    return f"{name} has at most {MAX_RANK} entries"


class Lengths:
    """Bounds, before any call, of the lists of an operator, `where` those of one equation."""

    def __init__(self, operator: f.Operator, where: tuple[f.Definition, ...] = ()) -> None:
        items = tuple(f.all_items(operator.items))
        self.seen: set[str] = set()  # selected lists
        self.lets = {each.name: each for each in items if isinstance(each, f.Let)}
        self.attributes = {each.name: each for each in operator.attributes}
        self.down_to_0 = operator.extents_down_to_0
        definitions = (*items, *where)
        self.definitions = {
            each.name: each for each in definitions if isinstance(each, f.Definition)
        }

    def visit(self, node: object, given: Highest) -> Iterator[SpecError]:
        """The errors of an expression and of the definitions that it applies."""
        parts = tuple(n.walk(node))
        # An index has as many entries as its tensor has dimensions.
        indices = {id(each.value) for each in parts if isinstance(each, n.Slot) and each.pack}
        for each in parts:
            if isinstance(each, n.Apply):
                definition = self.definitions[each.name]
                if definition.kind == f.SELECTED:
                    yield from self.selected(definition)
                    continue
                inner = {
                    name: self.highest(argument, given) if kind == f.INT else None
                    for (name, kind), argument in zip(
                        definition.parameters, each.arguments, strict=True
                    )
                }
                yield from self.visit(definition.body, inner)
            elif self.makes_list(each) and id(each) not in indices:
                most = self.most(each, given)
                if most is None or most > MAX_RANK:
                    yield self.error(each)

    def selected(self, definition: f.Definition) -> Iterator[SpecError]:
        """The errors inside a selected list, which has memory of its own."""
        if definition.name in self.seen:
            return
        self.seen.add(definition.name)
        for each in selections(definition.body):
            yield from self.visit(each, {})

    def makes_list(self, node: object) -> TypeGuard[n.Listing | n.SetOf | n.TupleOf | n.Arithmetic]:
        match node:
            case n.Listing() | n.SetOf() | n.TupleOf():
                return True
            case n.Arithmetic(sign="+", left=left):
                return self.is_set(left)
            case _:
                return False

    def is_set(self, expr: n.Expr) -> bool:
        match expr:
            case n.SetOf():
                return True
            case n.Arithmetic(left=left) | n.Conditional(then=left):
                return self.is_set(left)
            case n.Ref(name=name, role="let"):
                return self.lets[name].kind == f.SET
            case n.Apply(name=name):
                return self.definitions[name].kind == f.SET
            case _:
                return False

    def error(self, expr: n.Listing | n.SetOf | n.TupleOf | n.Arithmetic) -> SpecError:
        what = "list" if isinstance(expr, (n.Listing, n.TupleOf)) else "set"
        message = f"this {what} may have more than {MAX_RANK} entries, more than there is room for"
        if steady(expr):
            hint = "name it with 'let': a call for which it is longer is then refused"
        elif isinstance(expr, (n.Listing, n.SetOf)):
            hint = f"reduce over its ranges instead, as in count[{expr.binders.span.text}](...)"
        else:
            hint = "reduce over the parts one by one"
        return SpecError(expr.span, message, hint)

    # -------------------------------------------------------- how long a list is at most

    def most(self, expr: n.Expr, given: Highest) -> int | None:
        """The most entries of a list or set. A name stands for a list of at most 16."""
        match expr:
            case n.TupleOf(elements=elements):
                return len(elements)
            case n.Listing(binders=binders):
                return self.points(binders, given)
            case n.SetOf(element=element, binders=binders):
                return least(self.values(element), self.points(binders, given))
            case n.Conditional(then=then, otherwise=otherwise):
                return greatest((self.most(then, given), self.most(otherwise, given)))
            case n.Arithmetic(sign="+", left=left, right=right):
                return total(self.most(left, given), self.most(right, given))
            case n.Arithmetic(left=left) | n.Part(sequence=left):
                return self.most(left, given)
            case _:
                return MAX_RANK

    def points(self, binders: n.Binders, given: Highest) -> int | None:
        """How often binders run at most."""
        counts = [self.count(binder, given) for binder in binders.items]
        known = [each for each in counts if each is not None]
        return prod(known) if len(known) == len(counts) else None

    def count(self, binder: n.Binder, given: Highest) -> int | None:
        match binder:
            case n.IndexRange(low=low, high=high):
                last, first = self.highest(high, given), self.lowest(low)
                return None if last is None or first is None else max(last - first, 0)
            case n.IndexMember(collection=collection):
                # One that is too long is told by itself.
                return least(MAX_RANK, self.most(collection, given))
            case _:
                return None

    @staticmethod
    def values(element: n.Expr) -> int | None:
        """How many values an element of a set can have."""
        match element:
            case n.Number():
                return 1
            case n.Arithmetic(sign="mod", right=n.Number(value=value)):
                return abs(value)
            case _:
                return None

    # -------------------------------------------------------- what an integer is at most

    def highest(self, expr: n.Expr, given: Highest) -> int | None:
        match expr:
            case n.Number(value=value):
                return value
            case n.Ref(name=name, role="parameter"):
                return given.get(name)
            case n.Ref(name=name, role="let"):
                return self.highest(self.lets[name].value, given)
            case n.Ref(role="count"):
                return MAX_INPUTS
            case n.Ref(name=name, role="attribute") if name in self.attributes:
                return self.highest_attribute(self.attributes[name])
            case n.Arithmetic(sign="+", left=left, right=right):
                return total(self.highest(left, given), self.highest(right, given))
            case n.Arithmetic(sign="-", left=left, right=right):
                high, low = self.highest(left, given), self.lowest(right)
                return None if high is None or low is None else high - low
            case n.Arithmetic(sign="mod", right=n.Number(value=value)) if value > 0:
                return value - 1
            case n.Conditional(then=then, otherwise=otherwise):
                return greatest((self.highest(then, given), self.highest(otherwise, given)))
            case n.Function(name="len" | "count", arguments=(sequence,)):
                return self.most(sequence, given)
            case n.Function(name="min", arguments=arguments):
                return least(*(self.highest(each, given) for each in arguments))
            case n.Function(name="max", arguments=arguments):
                return greatest(self.highest(each, given) for each in arguments)
            case _:
                return None

    def highest_attribute(self, attribute: f.Attribute) -> int | None:
        match attribute:
            case f.Attribute(is_list=False, components=(), high=high) if high is not None:
                end = known(high)
                # With a word its number is 0.
                return None if end is None else max(end - 1, 0) if attribute.words else end - 1
            case _:
                return None

    @staticmethod
    def lowest_attribute(attribute: f.Attribute) -> int | None:
        low = None if attribute.low is None else known(attribute.low)
        return low if low is None or not attribute.words else min(low, 0)

    def lowest(self, expr: n.Expr) -> int | None:
        match expr:
            case n.Number(value=value):
                return value
            case n.Ref(name=name, role="extent" | "count"):
                return 0 if name in self.down_to_0 else 1
            case n.Ref(name=name, role="attribute") if name in self.attributes:
                return self.lowest_attribute(self.attributes[name])
            case n.Function(name="len" | "count"):
                return 0
            case _:
                return None


def selections(value: n.Expr) -> Iterator[object]:
    """What the value of a selected list consists of."""
    match value:
        case n.Conditional(then=then, condition=condition, otherwise=otherwise):
            yield condition
            yield from selections(then)
            yield from selections(otherwise)
        case n.Listing(element=element, binders=binders):
            yield (element, binders)
        case n.Sorted(binders=binders, keys=keys):
            yield (binders, keys)
        case _:
            yield value


def steady(expr: n.Expr) -> bool:
    """Whether the host may compute an expression: it reads no element and no index around it."""
    parts = tuple(n.walk(expr))
    own = {each.index for each in parts if isinstance(each, (n.IndexRange, n.IndexMember))}
    for each in parts:
        match each:
            case n.Access() | n.Apply():
                return False
            case n.Ref(name=name, role="index" | "pack" | "parameter") if name not in own:
                return False
            case _:
                pass
    return True


def least(*bounds: int | None) -> int | None:
    """The best of several upper bounds."""
    return min((bound for bound in bounds if bound is not None), default=None)


def greatest(bounds: Iterable[int | None]) -> int | None:
    """An upper bound of several values."""
    known = tuple(bounds)
    return None if None in known else max(bound for bound in known if bound is not None)


def total(left: int | None, right: int | None) -> int | None:
    return None if left is None or right is None else left + right
