"""Lists and sets: there is room for 16 entries of each. A `let` that needs more is refused when a
call shows it; every other one must be known to have no more, whatever the call."""

from __future__ import annotations

from collections.abc import Iterator
from math import prod
from typing import TypeGuard

from cvmgen.dtypes import MAX_RANK
from cvmgen.source import SpecError
from cvmgen.spec import formula as f
from cvmgen.spec import nodes as n
from cvmgen.spec.host_bounds import HostBounds
from cvmgen.spec.integer_bounds import BEYOND, Bounds


def long_lists(operator: f.Operator) -> Iterator[SpecError]:
    """An error for each list without a name that is not known to have at most 16 entries."""
    for item in f.all_items(operator.items):
        match item:
            case f.Equation(slots=slots, domain=domain, value=value, where=where):
                yield from Lengths(operator, where).visit((slots, domain, value))
            case f.Let(value=value):
                yield from Lengths(operator).visit(tuple(parts_of_value(value)))
            case f.Require(condition=condition) | f.Case(condition=condition):
                yield from Lengths(operator).visit(condition)
            case f.Demand(condition=condition, domain=domain):
                yield from Lengths(operator).visit((domain, condition))
            case f.Output(slots=slots, precision=precision):
                yield from Lengths(operator).visit((slots, precision))
            case _:
                pass


def parts_of_value(value: n.Expr) -> Iterator[object]:
    """The parts of the value of a `let` but for the list that it names."""
    match value:
        case n.Conditional(then=then, condition=condition, otherwise=otherwise):
            yield condition
            yield from parts_of_value(then)
            yield from parts_of_value(otherwise)
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
    most = Lengths(operator).most(let.value) if let.kind in (f.LIST, f.SET) else 0
    return most is None or most > MAX_RANK


def length_rule(name: str) -> str:
    return f"{name} has at most {MAX_RANK} entries"


class Lengths(HostBounds):
    """Bounds, before any call, of the lists of an operator, `where` those of one equation."""

    def __init__(self, operator: f.Operator, where: tuple[f.Definition, ...] = ()) -> None:
        super().__init__(operator)
        self.seen: set[str] = set()  # selected lists
        self.definitions |= {each.name: each for each in where}

    def visit(self, node: object) -> Iterator[SpecError]:
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
                with self.applied(each):
                    found = tuple(self.visit(definition.body))
                yield from found
            elif self.makes_list(each) and id(each) not in indices:
                most = self.most(each)
                if most is None or most > MAX_RANK:
                    yield self.error(each)

    def selected(self, definition: f.Definition) -> Iterator[SpecError]:
        """The errors inside a selected list, which has memory of its own."""
        if definition.name in self.seen:
            return
        self.seen.add(definition.name)
        for each in selections(definition.body):
            yield from self.visit(each)

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
                return all(each.kind == f.SET for each in self.lets[name])
            case n.Apply(name=name):
                return self.definitions[name].kind == f.SET
            case _:
                return False

    def error(self, expr: n.Listing | n.SetOf | n.TupleOf | n.Arithmetic) -> SpecError:
        what = "list" if isinstance(expr, (n.Listing, n.TupleOf)) else "set"
        message = f"this {what} may have more than {MAX_RANK} entries, more than there is room for"
        if f.is_host_value(expr):
            hint = "name it with 'let': a call for which it is longer is then refused"
        elif isinstance(expr, (n.Listing, n.SetOf)):
            hint = f"reduce over its ranges instead, as in count[{expr.binders.span.text}](...)"
        else:
            hint = "reduce over the parts one by one"
        return SpecError(expr.span, message, hint)

    # -------------------------------------------------------- how long a list is at most

    def most(self, expr: n.Expr) -> int | None:
        """The most entries of a list or set. A name stands for a list of at most 16."""
        match expr:
            case n.TupleOf(elements=elements):
                return len(elements)
            case n.Listing(binders=binders):
                return self.points(binders)
            case n.SetOf(element=element, binders=binders):
                return best_upper_bound(self.values(element), self.points(binders))
            case n.Conditional(then=then, otherwise=otherwise):
                one, other = self.most(then), self.most(otherwise)
                return None if one is None or other is None else max(one, other)
            case n.Arithmetic(sign="+", left=left, right=right):
                one, other = self.most(left), self.most(right)
                return None if one is None or other is None else one + other
            case n.Arithmetic(left=left) | n.Part(sequence=left):
                return self.most(left)
            case _:
                return MAX_RANK

    def points(self, binders: n.Binders) -> int | None:
        """How often binders run at most."""
        counts = [self.count(binder) for binder in binders.items]
        known = [each for each in counts if each is not None]
        return prod(known) if len(known) == len(counts) else None

    def count(self, binder: n.Binder) -> int | None:
        match binder:
            case n.IndexRange(low=low, high=high):
                return max(self.number(high).high - self.number(low).low, 0)
            case n.IndexMember(collection=collection):
                # One that is too long is told by itself.
                return best_upper_bound(MAX_RANK, self.most(collection))
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

    def function(self, expr: n.Function) -> Bounds:
        if expr.name not in ("len", "count"):
            return super().function(expr)
        most = self.most(expr.arguments[0])
        return Bounds(0, BEYOND if most is None else most)


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


def best_upper_bound(*bounds: int | None) -> int | None:
    """The best of several upper bounds."""
    return min((bound for bound in bounds if bound is not None), default=None)
