"""Names in checked formulas: which are free, and what another expression puts for them."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace
from itertools import count
from typing import Any, TypeAlias

from cvmgen.source import Span
from cvmgen.spec import nodes as n

INDICES = "ijklpqrst"
Scoped: TypeAlias = n.Listing | n.SetOf | n.Reduction | n.Sorted


def equals_number(expr: n.Expr | None, value: int) -> bool:
    return isinstance(expr, n.Number) and expr.value == value


def fresh(wanted: str, taken: Collection[str]) -> str:
    """A name like `wanted` that is not taken: another letter, then with a number."""
    candidates = [wanted, *(INDICES if wanted in INDICES else ())]
    free = (name for name in candidates if name not in taken)
    return next(free, "") or next(name for at in count(2) if (name := f"{wanted}{at}") not in taken)


def formula_names(node: Any) -> set[str]:
    """Every name that a formula speaks of, bound in it or not."""
    named = (each.name for each in n.walk(node) if isinstance(each, (n.Ref, n.IsWord)))
    return {*named, *n.bound_inside(node)}


def free_names(node: Any) -> set[str]:
    """The names of a formula whose meaning comes from around it."""
    match node:
        case n.Ref(name=name) | n.IsWord(name=name):
            return {name}
        case n.Listing() | n.SetOf() | n.Reduction() | n.Sorted():
            bound: set[str] = set()
            found: set[str] = set()
            for binder in node.binders.items:
                found |= free_names(tuple(n.children(binder))) - bound
                bound.add(n.bound_by(binder))
            inner = [node.binders.condition, *scope_of(node)]
            return found | (free_names(tuple(inner)) - bound)
        case _:
            return set().union(*map(free_names, n.children(node)))


def scope_of(node: Scoped) -> tuple[n.Expr, ...]:
    """What stands inside the binders of a node."""
    match node:
        case n.Listing(element=element) | n.SetOf(element=element):
            return (element,)
        case n.Reduction(body=body):
            return (body,)
        case n.Sorted(keys=keys):
            return keys


def substitute(node: Any, values: Mapping[str, n.Expr]) -> Any:
    """The formula with values for some of its free names; no name of a value is captured."""
    if not values:
        return node
    match node:
        case n.Ref(name=name):
            return values.get(name, node)
        case n.Listing() | n.SetOf() | n.Reduction() | n.Sorted():
            return substitute_below(node, values)
        case n.Item(sequence=sequence, index=index, span=span):
            return entry_of(substitute(sequence, values), substitute(index, values), span)
        case _:
            return n.with_children(node, lambda each: substitute(each, values))


def substitute_below(node: Scoped, values: Mapping[str, n.Expr]) -> n.Expr:
    """In a node with binders, which hide the names that they bind."""
    inner = dict(values)
    items = []
    for binder in node.binders.items:
        name = n.bound_by(binder)
        changed = substitute(binder, inner)
        inner.pop(name, None)
        foreign = free_names(tuple(inner.values()))
        if name in foreign:
            other = fresh(name, foreign | formula_names(node))
            changed = with_binder_name(changed, other)
            role = "pack" if isinstance(binder, n.PackRange) else "index"
            inner[name] = n.Ref(other, role, binder.span)
        items.append(changed)
    condition = substitute(node.binders.condition, inner)
    binders = replace(node.binders, items=tuple(items), condition=condition)
    return with_scope(node, binders, substitute(scope_of(node), inner))


def with_scope(node: Scoped, binders: n.Binders, scope: tuple[n.Expr, ...]) -> n.Expr:
    """The node with other binders, and other expressions inside them."""
    match node:
        case n.Sorted():
            return replace(node, binders=binders, keys=scope)
        case n.Reduction():
            return replace(node, binders=binders, body=scope[0])
        case _:
            return replace(node, binders=binders, element=scope[0])


def with_binder_name(binder: n.Binder, name: str) -> n.Binder:
    if isinstance(binder, n.PackRange):
        return replace(binder, pack=name)
    assert isinstance(binder, (n.IndexRange, n.IndexMember))
    return replace(binder, index=name)


def entry_of(sequence: n.Expr, index: n.Expr, span: Span) -> n.Expr:
    """Entry `index` of a list; of one that is written out, the entry itself."""
    match sequence:
        case n.Listing(
            element=element,
            binders=n.Binders(items=(n.IndexRange(index=name, low=low),), condition=None),
        ) if equals_number(low, 0):
            return substitute(element, {name: index})  # type: ignore[no-any-return]
        case n.TupleOf(elements=elements):
            if isinstance(index, n.Number) and 0 <= index.value < len(elements):
                return elements[index.value]
        case _:
            pass
    return n.Item(sequence, index, span)


def with_parts(node: Any, known: Mapping[n.Expr, n.Expr]) -> Any:
    """The formula with other expressions for some of its parts, wherever these stand."""
    if isinstance(node, n.Expr) and node in known:
        return known[node]
    return n.with_children(node, lambda each: with_parts(each, known))


def distinct(node: Any, taken: frozenset[str]) -> Any:
    """The formula with other names for what it binds under a name that is taken around it."""
    match node:
        case n.Listing() | n.SetOf() | n.Reduction() | n.Sorted():
            return distinct_below(node, taken)
        case _:
            return n.with_children(node, lambda each: distinct(each, taken))


def distinct_below(node: Scoped, taken: frozenset[str]) -> n.Expr:
    items, names = [], dict[str, n.Expr]()
    inside = taken
    for binder in node.binders.items:
        changed = distinct(substitute(binder, names), inside)
        name = n.bound_by(binder)
        if name in taken and name not in names:
            other = fresh(name, inside | formula_names(node))
            role = "pack" if isinstance(binder, n.PackRange) else "index"
            names[name] = n.Ref(other, role, binder.span)
        new = names.get(name)
        items.append(with_binder_name(changed, new.name) if isinstance(new, n.Ref) else changed)
        inside |= {n.bound_by(items[-1])}
    condition = distinct(substitute(node.binders.condition, names), inside)
    binders = replace(node.binders, items=tuple(items), condition=condition)
    return with_scope(node, binders, distinct(substitute(scope_of(node), names), inside))
