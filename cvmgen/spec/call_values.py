"""What is a value of the call: the same for all elements of an output, known before they are."""

from __future__ import annotations

from collections.abc import Collection, Hashable, Mapping
from dataclasses import fields, is_dataclass
from typing import Any

from cvmgen.source import Span
from cvmgen.spec import formula as f
from cvmgen.spec import nodes as n
from cvmgen.spec.intervals import IntervalArithmetic


class ValueNumbers:
    """Numbers of expressions; `bound` are those of the names that are bound around."""

    def __init__(self) -> None:
        self.bound: dict[str, int] = {}
        self.numbers: dict[Hashable, int] = {}
        self.fresh = 0

    def bind(self, name: str, number: int | None = None) -> None:
        """Bind a name to a value of its own, or to one that is numbered."""
        self.fresh -= 1
        self.bound[name] = self.fresh if number is None else number

    def of(self, node: Any) -> int:
        """The number of an expression; equal numbers have equal values."""
        match node:
            case n.Ref(name=name, role=role) if role in f.LOCAL and name in self.bound:
                return self.bound[name]
            case _:
                return self.numbers.setdefault(self.key(node), len(self.numbers))

    def key(self, node: Any) -> Hashable:
        if isinstance(node, tuple):
            return tuple(self.of(each) for each in node)
        if not is_dataclass(node):
            leaf: Hashable = node
            return leaf
        parts = (getattr(node, each.name) for each in fields(node) if each.compare)
        return (type(node).__name__, *map(self.of, parts))


class CallValues(IntervalArithmetic):
    """Tells values of the call by what the definitions in reach speak of."""

    def __init__(self, operator: f.Operator, span: Span) -> None:
        super().__init__(operator, span)
        items = tuple(f.all_items(operator.items))
        self.definitions = {item.name: item for item in items if isinstance(item, f.Definition)}
        self.around: Mapping[str, f.Definition] = {}  # those that see the indices around them
        self.real_lets = {i.name for i in items if isinstance(i, f.Let) and i.kind == f.REAL}

    def of_the_call(self, expr: n.Expr) -> bool:
        """Whether a value is the same for all elements: no index, no element in it."""
        return self.fixed(expr, ())

    def of_the_call_body(self, name: str) -> bool:
        """Whether a definition speaks of nothing but its parameters and the call."""
        definition = self.definitions[name]
        if definition.kind == f.SELECTED:
            return False
        inner = {parameter for parameter, _ in definition.parameters}
        return self.of_every_call(definition.body, inner)

    def of_every_call(self, expr: n.Expr, known: Collection[str] = ()) -> bool:
        """Whether an expression reads no element, and no index but its own and those `known`."""
        return self.fixed(expr, {*known, *n.bound_inside(expr)})

    def fixed(self, expr: n.Expr, inner: Collection[str]) -> bool:
        """Whether an expression reads no element and only such indices as are in `inner`."""
        for node in n.walk(expr):
            match node:
                case n.Access() | n.ShapeOf():
                    return False
                case n.Ref(name=used, role=role) if role in f.LOCAL and used not in inner:
                    return False
                case n.Earlier():
                    return False
                case n.Apply(name=used) if used in self.around or not self.of_the_call_body(used):
                    return False
                case _:
                    pass
        return True

    def has_value(self, expr: n.Expr) -> bool:
        """Whether each call has a value: a maximum needs an element; `total` sees to the rest."""
        for node in n.walk(expr):
            match node:
                case n.Reduction(function="max" | "min", binders=binders):
                    points = all(map(self.has_points, binders.items))
                    if binders.condition is not None or not points:
                        return False
                case n.Apply(name=name):
                    body = self.definitions[name].body
                    if not self.has_value(body) or self.total(body) != body:
                        return False
                case _:
                    pass
        return True

    def holds_reals(self, expr: n.Expr) -> bool:
        """Whether an expression computes with real numbers, under a name too."""
        return f.speaks_of_reals(expr) or any(
            (isinstance(node, n.Apply) and self.definitions[node.name].kind == f.REAL)
            or (isinstance(node, n.Ref) and node.role == "let" and node.name in self.real_lets)
            for node in n.walk(expr)
        )

    def has_points(self, binder: n.Binder) -> bool:
        match binder:
            case n.IndexRange(low=low, high=high):
                return self.positive(self.operate("-", high, low))
            case _:
                return False
