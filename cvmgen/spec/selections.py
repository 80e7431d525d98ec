"""Selected lists: what `select` and `sort` make of the elements of tensors.

Such a list is as long as the data say. Each has a `let` of its own, which makes one list for
each value of its indices: those run over the extents that the body reads with them, and how
long a list can get is known from shapes and attributes alone.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import NoReturn

from cvmgen.source import Span, SpecError
from cvmgen.spec import nodes as n
from cvmgen.spec.binders import check_binders
from cvmgen.spec.checker import Checked, Checker, GrowingList
from cvmgen.spec.formula import INT, REAL, SELECTED, SET, Definition, Input, Kind
from cvmgen.spec.logic import conjunction


def is_selection(value: n.Expr, name: str) -> bool:
    """Whether the value of the let `name`, as parsed, is a selected list.

    What stands in braces is one where it speaks of itself; a set that reads elements is found
    later.
    """
    match value:
        case n.Reduction(function="select") | n.Sorted():
            return True
        case n.Conditional(then=then, otherwise=otherwise):
            return is_selection(then, name) or is_selection(otherwise, name)
        case n.SetOf() | n.Listing():
            return any(isinstance(node, n.Name) and node.text == name for node in n.walk(value))
        case _:
            return False


def unnamed(checker: Checker, word: str, value: n.Expr) -> NoReturn:
    """Refuse a selected list inside another expression."""
    span = value.span
    place = Span(span.source, span.start, span.start + len(word))
    around = ", ".join(dict.fromkeys(indices_around(checker, value)))
    hint = f"name it: let V{f'[{around}]' * bool(around)} = {span.code}"
    raise SpecError(place, f"'{word}' makes a list, which stands in a 'let' of its own", hint)


def indices_around(checker: Checker, value: n.Expr) -> Iterator[str]:
    """The indices bound around an expression, as parsed, of which it speaks."""
    for node in n.walk(value):
        if isinstance(node, n.Name):
            symbol = checker.scope.find(node.text)
            if symbol is not None and symbol.role in ("index", "parameter"):
                yield node.text


# ---------------------------------------------------------------- checking


def check_selection(
    checker: Checker, value: n.Expr, name: str, parameters: tuple[str, ...]
) -> Checked:
    """The value of a let that is a selected list."""
    with growing(checker, GrowingList(name, parameters)):
        return checked_selection(checker, value, name, parameters)


def checked_selection(
    checker: Checker, value: n.Expr, name: str, parameters: tuple[str, ...]
) -> Checked:
    match value:
        case n.Conditional(then=then, condition=condition, otherwise=otherwise, span=span):
            test = checker.condition(condition)
            parts = (
                checked_selection(checker, each, name, parameters)[0] for each in (then, otherwise)
            )
            yes, no = parts
            return n.Conditional(yes, test, no, span), SELECTED
        case n.Reduction(function="select", binders=binders, body=body, span=span):
            index = single_index(binders)
            with checker.nested(), growing(checker, GrowingList(name, parameters, index)):
                bound = check_binders(checker, binders)
                test = checker.condition(body)
            whole = test if bound.condition is None else conjunction(bound.condition, test)
            bound = n.Binders(bound.items, None, whole, bound.span)
            return n.Listing(n.Ref(index, "index", binders.span), bound, span), SELECTED
        case n.SetOf(element=element, binders=binders, span=span):
            index = single_index(binders)
            if not isinstance(element, n.Name) or element.text != index:
                hint = f"write {{{index} for {index} < ... if ...}}"
                raise SpecError(element.span, "a set of itself holds what it runs over", hint)
            with checker.nested(), growing(checker, GrowingList(name, parameters, index)):
                bound = check_binders(checker, binders)
            return n.Listing(n.Ref(index, "index", element.span), bound, span), SELECTED
        case n.Listing(element=element, span=span):
            hint = f"write {{{element.span.text} for ... if ...}}"
            raise SpecError(span, f"what speaks of itself, as '{name}' does, is a set", hint)
        case n.Sorted(binders=binders, keys=keys, span=span):
            single_index(binders)
            with checker.nested():
                bound = check_binders(checker, binders)
                checked = tuple(sort_key(checker, key) for key in keys)
            return n.Sorted(bound, checked, span), SELECTED
        case _:
            checked_value, kind = checker.check(value)
            if kind != SELECTED:
                checker.mismatch(value, SELECTED, kind)
            return checked_value, SELECTED


def sort_key(checker: Checker, key: n.Expr) -> n.Expr:
    """A key as an integer; real numbers have an order, in which NaN is the greatest."""
    checked, kind = checker.check(key)
    if kind == REAL:
        return n.Function("order", (checked,), key.span)
    if kind != INT:
        checker.mismatch(key, INT, kind)
    return checked


def single_index(binders: n.Binders) -> str:
    """The index of binders that have to be one range."""
    if len(binders.items) == 1 and binders.over is None:
        match binders.items[0]:
            case n.Below(target=n.Name(text=text)) | n.Member(target=n.Name(text=text)):
                return text
            case _:
                pass
    raise SpecError(binders.span, "a list is selected or sorted over one index", "write i < N")


@contextmanager
def growing(checker: Checker, own: GrowingList) -> Iterator[None]:
    """Inside, the list may speak of its own smaller elements."""
    before, checker.growing = checker.growing, own
    try:
        yield
    finally:
        checker.growing = before


def from_set(value: n.Expr, kind: Kind) -> Checked:
    """A set of indices that reads elements is a selected list: `{q for q < N if X[q] > 0}`."""
    match value:
        case n.SetOf(
            element=n.Ref(name=name) as element,
            binders=n.Binders(items=(n.IndexRange(index=index),)) as binders,
            span=span,
        ) if kind == SET and name == index:
            return n.Listing(element, binders, span), SELECTED
        case n.Conditional(then=then, condition=condition, otherwise=otherwise, span=span):
            yes, first = from_set(then, kind)
            no, second = from_set(otherwise, kind)
            if first == second == SELECTED:
                return n.Conditional(yes, condition, no, span), SELECTED
            return value, kind
        case _:
            return value, kind


# ---------------------------------------------------------------- order


def is_ascending(value: n.Expr, definitions: Mapping[str, Definition]) -> bool:
    """Whether the entries of a selected list always ascend."""
    match value:
        case n.Conditional(then=then, otherwise=otherwise):
            return is_ascending(then, definitions) and is_ascending(otherwise, definitions)
        case n.Listing(binders=n.Binders(items=(n.IndexRange(),))):
            return True
        case n.Listing(binders=n.Binders(items=(n.IndexMember(collection=n.Apply() as other),))):
            return is_ascending(other, definitions)
        case n.Apply(name=name):
            return is_ascending(definitions[name].body, definitions)
        case _:
            return False


def check_order(value: n.Expr, name: str, definitions: Mapping[str, Definition]) -> None:
    """A list that speaks of its smaller elements has to find these before the greater ones."""
    match value:
        case n.Conditional(then=then, otherwise=otherwise):
            check_order(then, name, definitions)
            check_order(otherwise, name, definitions)
        case n.Listing(binders=binders):
            own = any(isinstance(node, n.Apply) and node.name == name for node in n.walk(value))
            if own and not is_ascending(value, definitions):
                message = f"'{name}' speaks of its smaller elements, so these must come first"
                hint = f"let it run over a range: {n.bound_by(binders.items[0])} < ..."
                raise SpecError(binders.items[0].span, message, hint)
        case _:
            pass


# ---------------------------------------------------------------- what is made for each index


class Sizes:
    """Ranges of the indices of selected lists, and how long each list can get."""

    def __init__(self, inputs: Mapping[str, Input], definitions: Mapping[str, Definition]) -> None:
        self.inputs = inputs
        self.definitions = definitions

    def range(self, definition: Definition, name: str) -> n.Expr:
        """The extent that a parameter runs over: that of the first dimension it indexes."""
        found = self.extent(definition, name)
        if found is None:
            message = f"the range of '{name}' is not known"
            hint = f"put the let into a block: within {name} < ... {{ let ... }}"
            raise SpecError(definition.span, message, hint)
        return found

    def known(
        self, definition: Definition, around: Mapping[str, n.Expr]
    ) -> tuple[n.Expr, ...] | None:
        """The extents of all parameters of a `let`, those of the blocks `around` it given."""
        names = [name for name, _ in definition.parameters]
        found = [around.get(name) or self.extent(definition, name) for name in names]
        known = tuple(each for each in found if each is not None)
        return known if len(known) == len(names) else None

    def extent(self, definition: Definition, name: str) -> n.Expr | None:
        if definition.ranges is not None:
            names = [parameter for parameter, _ in definition.parameters]
            return definition.ranges[names.index(name)]
        for node in n.walk(definition.body):
            match node:
                case n.Access(tensor=tensor, which=None, slots=slots):
                    found = self.dimension(tensor, slots, name)
                case n.Apply(name=other, arguments=arguments) if other != definition.name:
                    found = self.argument(self.definitions[other], arguments, name)
                case _:
                    continue
            if found is not None:
                return found
        return None

    def dimension(self, tensor: str, slots: tuple[n.Slot, ...], name: str) -> n.Expr | None:
        for slot, extent in zip(slots, self.inputs[tensor].extents, strict=False):
            if slot.pack or extent.pack:
                return None
            if isinstance(slot.value, n.Ref) and slot.value.name == name:
                return extent.value
        return None

    def argument(
        self, other: Definition, arguments: tuple[n.Expr, ...], name: str
    ) -> n.Expr | None:
        for (parameter, _), argument in zip(other.parameters, arguments, strict=True):
            if isinstance(argument, n.Ref) and argument.name == name:
                found = self.extent(other, parameter)
                if found is not None:
                    return found
        return None

    # -------------------------------------------------------- lengths

    def capacity(self, value: n.Expr) -> n.Expr:
        """The most entries that a selected list can have, by shapes and attributes."""
        match value:
            case n.Conditional(then=then, otherwise=otherwise, span=span):
                return largest_bound((self.capacity(then), self.capacity(otherwise)), span)
            case n.Listing(binders=binders) | n.Sorted(binders=binders):
                return self.points(binders.items[0])
            case n.Apply(name=name):
                return self.capacity(self.definitions[name].body)
            case _:
                raise AssertionError("no selected list")

    def points(self, binder: n.Binder) -> n.Expr:
        """The most values that an index takes."""
        match binder:
            case n.IndexRange(low=low, high=high, span=span):
                most = self.most(high, {})
                if low == n.Number(0, span):
                    return most
                return n.Arithmetic("-", most, self.host(low), span)
            case n.IndexMember(collection=n.Apply(name=name)) if self.is_selected(name):
                return self.capacity(self.definitions[name].body)
            case n.IndexMember(collection=collection, span=span):
                return n.Function("len", (self.host(collection),), span)
            case _:
                raise AssertionError("a selected list has one index")

    def is_selected(self, name: str) -> bool:
        return self.definitions[name].kind == SELECTED

    def host(self, expr: n.Expr) -> n.Expr:
        if not self.of_the_call(expr):
            self.unbounded(expr)
        return expr

    @staticmethod
    def unbounded(expr: n.Expr) -> NoReturn:
        message = "how long this list can get is not known before the call"
        raise SpecError(expr.span, message, "cut it to what shapes say, as in min(..., N)")

    def of_the_call(self, expr: n.Expr) -> bool:
        """Whether a value depends on shapes and attributes alone."""
        inner = set(n.bound_inside(expr))
        for node in n.walk(expr):
            match node:
                case n.Ref(name=name, role="index" | "pack") if name in inner:
                    pass
                case n.Access() | n.Ref(role="index" | "parameter" | "pack"):
                    return False
                case n.Apply(name=name) if not self.of_the_call(self.definitions[name].body):
                    return False
                case _:
                    pass
        return True

    def most(self, expr: n.Expr, bound: Mapping[str, n.Expr]) -> n.Expr:
        """An upper bound that depends on shapes and attributes alone."""
        if self.of_the_call(expr):
            return expr
        match expr:
            case n.Ref(name=name) if name in bound:
                return self.most(bound[name], {})
            case n.Function(name="min", arguments=arguments):
                known = [each for each in arguments if self.has_bound(each, bound)]
                if known:
                    bounds = [self.most(each, bound) for each in known]
                    extents = (each for each in bounds if is_extent(each))
                    return next(extents, bounds[0])
            case n.Function(name="max", arguments=arguments, span=span):
                return largest_bound([self.most(each, bound) for each in arguments], span)
            case n.Conditional(then=then, otherwise=otherwise, span=span):
                return largest_bound((self.most(then, bound), self.most(otherwise, bound)), span)
            case n.Arithmetic(sign="+", left=left, right=right, span=span):
                parts = self.most(left, bound), self.most(right, bound)
                return n.Arithmetic("+", *parts, span)
            case n.Arithmetic(sign="-", left=left, right=right, span=span):
                return n.Arithmetic("-", self.most(left, bound), self.host(right), span)
            case n.Function(name="count" | "len", arguments=(n.Apply(name=name),)):
                return self.capacity(self.definitions[name].body)
            case n.Apply(name=name, arguments=arguments):
                definition = self.definitions[name]
                names = (parameter for parameter, _ in definition.parameters)
                values = (self.put(value, bound) for value in arguments)
                return self.most(definition.body, dict(zip(names, values, strict=True)))
            case _:
                pass
        self.unbounded(expr)

    @staticmethod
    def put(value: n.Expr, bound: Mapping[str, n.Expr]) -> n.Expr:
        return bound.get(value.name, value) if isinstance(value, n.Ref) else value

    def has_bound(self, expr: n.Expr, bound: Mapping[str, n.Expr]) -> bool:
        try:
            self.most(expr, bound)
        except SpecError:
            return False
        return True


def is_extent(expr: n.Expr) -> bool:
    return isinstance(expr, n.Ref) and expr.role == "extent"


def largest_bound(bounds: tuple[n.Expr, ...] | list[n.Expr], span: Span) -> n.Expr:
    """The maximum of bounds, without those that another one is never below."""
    kept = list(dict.fromkeys(bounds))
    if any(is_extent(each) for each in kept):
        kept = [each for each in kept if not isinstance(each, n.Number) or each.value > 1]
    return kept[0] if len(kept) == 1 else n.Function("max", tuple(kept), span)
