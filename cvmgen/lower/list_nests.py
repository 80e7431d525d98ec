"""Selected lists to nests that fill memory with entries, their number, and keys to sort by."""

from __future__ import annotations

from collections.abc import Iterator

from cvmgen.ir import nodes as i
from cvmgen.ir.loops import distance
from cvmgen.lower.expressions import Expressions
from cvmgen.lower.selections import ListPlace, length_name
from cvmgen.spec import formula as f
from cvmgen.spec import nodes as n
from cvmgen.spec.host_bounds import HostBounds


def sort_keys(value: n.Expr) -> int:
    """How many keys the longest sort of a list's value has; 0 where nothing is sorted."""
    match value:
        case n.Conditional(then=then, otherwise=otherwise):
            return max(sort_keys(then), sort_keys(otherwise))
        case n.Sorted():
            return len(needed_keys(value))
        case _:
            return 0


def needed_keys(value: n.Sorted) -> tuple[n.Expr, ...]:
    """The keys without what the stable order decides anyway: the index itself as the last one."""
    match value.binders.items[0], value.keys[-1]:
        case n.IndexRange(index=index), n.Ref(name=name) if index == name:
            return value.keys[:-1]
        case _:
            return value.keys


# ---------------------------------------------------------------- memory


def list_memory(
    translator: Expressions, item: f.Definition, case: int | None
) -> tuple[tuple[i.Scratch, ...], i.Block]:
    """The memory of a list, and the host statements that find its sizes."""
    assert item.capacity is not None
    statements: list[i.Stmt] = []
    capacity = translator.expr(item.capacity)
    if not isinstance(capacity, (i.Var, i.Const)):
        name = f"{item.name}_capacity"
        most = i.Call("max", (capacity, i.ZERO))
        statements.append(i.Let(name, "int", most, item.span))
        capacity = i.Var(name)
    outer = tuple(translator.expr(extent) for extent in item.ranges or ())
    shapes = {item.name: (*outer, capacity), length_name(item.name): outer or (i.Const(1),)}
    width = sort_keys(item.body)
    if width:
        twice = i.Binary("*", i.Const(2), capacity)
        shapes[f"{item.name}_keys"] = (*outer, capacity, i.Const(width))
        shapes[i.spare_name(item.name)] = (*outer, twice)
    found = tuple(i.Scratch(name, item.name, shape, case) for name, shape in shapes.items())
    for each in found:
        statements.append(i.Let(each.size, "int", box_size(each.shape), item.span))
    return found, tuple(statements)


def box_size(shape: tuple[i.Expr, ...]) -> i.Expr:
    result = shape[0]
    for extent in shape[1:]:
        result = result if extent == i.Const(1) else i.Binary("*", result, extent)
    return result


# ---------------------------------------------------------------- nests


def list_nest(translator: Expressions, item: f.Definition, case: int | None) -> i.Nest:
    """The nest that makes a list for each value of its indices."""
    names = [name for name, _ in item.parameters]
    translator.active.update(names)
    place = ListPlace(item.name, tuple(map(i.Var, names)), item.span)
    body = Filling(translator, place).block(item.body)
    translator.active.difference_update(names)
    for name, extent in reversed(tuple(zip(names, item.ranges or (), strict=True))):
        body = (i.Loop(name, i.ZERO, translator.expr(extent), body, 0, item.span),)
    formula = translator.operator.quote(item.span)
    return i.Nest(item.name, case, None, (), body, formula, item.span)


class Filling:
    """The statements that fill the list at one place."""

    def __init__(self, translator: Expressions, place: ListPlace) -> None:
        self.translator = translator
        self.place = place
        self.span = place.span

    def block(self, value: n.Expr) -> i.Block:
        match value:
            case n.Conditional(then=then, condition=condition, otherwise=otherwise):
                test = self.translator.expr(condition)
                return (i.If(test, self.block(then), self.block(otherwise), self.span),)
            case n.Listing(element=element, binders=binders):
                return self.filled(element, binders, ())
            case n.Sorted(binders=binders):
                keys = needed_keys(value)
                element = n.Ref(n.bound_by(binders.items[0]), "index", value.span)
                filled = self.filled(element, binders, keys)
                if not keys:
                    return filled
                place = self.place
                first = place.key(i.ZERO, 0)
                sort = i.Sort(place.entries(), first, len(keys), place.spare, self.span)
                return (*filled, sort)
            case _:
                each = n.IndexMember("entry", value, value.span)
                binders = n.Binders((each,), None, None, value.span)
                return self.filled(n.Ref("entry", "index", value.span), binders, ())

    def filled(self, element: n.Expr, binders: n.Binders, keys: tuple[n.Expr, ...]) -> i.Block:
        """Every entry with its keys, and at last how many there are."""
        match binders.items[0]:
            case n.IndexRange(index=index) as binder if binders.condition is None:
                if isinstance(element, n.Ref) and element.name == index:
                    return self.every(binder, keys)
            case _:
                pass
        return self.some(element, binders, keys)

    def every(self, binder: n.IndexRange, keys: tuple[n.Expr, ...]) -> i.Block:
        """All indices of a range: each knows its place."""
        before, high = self.bound(binder.high)
        low = self.translator.expr(binder.low)
        narrowed = n.IndexRange(binder.index, binder.low, binder.high, binder.span)
        with self.translator.over((narrowed,)) as (over,):
            assert isinstance(over, i.Over)
            index = i.Var(over.index)
            at = index if low == i.ZERO else i.Binary("-", index, low)
            body = tuple(self.stores(at, index, keys))
        loop = i.Loop(over.index, low, high, body, 0, self.span)
        count = distance(low, high)
        least = HostBounds(self.translator.operator).number(binder.high).low
        if low != i.ZERO or least < 0:
            count = i.Call("max", (count, i.ZERO))
        return (*before, loop, i.Store(self.place.length, count, self.span))

    def some(self, element: n.Expr, binders: n.Binders, keys: tuple[n.Expr, ...]) -> i.Block:
        """Those of a range that pass a test, one behind the other."""
        translator, span = self.translator, self.span
        count = translator.fresh("count")
        translator.active.add(count)
        translator.growing[self.place.name] = i.Var(count)
        before: i.Block = ()
        with translator.over(binders.items) as (over,):
            test = translator.condition(binders)
            test = None if test is None else translator.shared(test)
            stores = tuple(self.stores(i.Var(count), translator.expr(element), keys))
        if isinstance(binders.items[0], n.IndexRange):
            assert isinstance(over, i.Over)
            before, high = self.bound(binders.items[0].high)
            over = i.Over(over.index, over.low, high)
        body: i.Block = (*stores, i.Accumulate(count, "+", i.Const(1), span))
        if test is not None:
            body = (i.If(test, body, (), span),)
        del translator.growing[self.place.name]
        translator.active.discard(count)
        start = i.Let(count, "int", i.ZERO, span)
        assert isinstance(over, i.Over)
        loop = i.Loop(over.index, over.low, over.high, body, 0, span)
        return (*before, start, loop, i.Store(self.place.length, i.Var(count), span))

    def stores(self, at: i.Expr, entry: i.Expr, keys: tuple[n.Expr, ...]) -> Iterator[i.Stmt]:
        yield i.Store(self.place.entry(at), entry, self.span)
        for number, key in enumerate(keys):
            value = self.translator.with_where(key)
            yield i.Store(self.place.key(at, number), value, key.span)

    def bound(self, high: n.Expr) -> tuple[i.Block, i.Expr]:
        """The end of a range; one that reads elements as a local in front of the loop."""
        translator = self.translator
        value = translator.expr(high)
        if isinstance(value, (i.Var, i.Const)):
            return (), value
        value = translator.shared(value)
        name = translator.fresh(high.name if isinstance(high, n.Apply) else "end")
        translator.active.add(name)
        return (i.Let(name, "int", value, self.span),), i.Var(name)
