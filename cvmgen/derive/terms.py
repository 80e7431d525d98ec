"""A formula as a sum of terms, each one element of the input times what does not read it.

Elements are integers or real numbers; what makes one of the other is no product of them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import NoReturn, TypeAlias

from cvmgen.derive.facts import opposite
from cvmgen.derive.substitution import (
    equals_number,
    formula_names,
    fresh,
    substitute,
    with_binder_name,
)
from cvmgen.source import Span, SpecError
from cvmgen.spec import formula as f
from cvmgen.spec import nodes as n
from cvmgen.spec.printing import macros_of

NOT_LINEAR = "only sums of products with other values have an adjoint that is a formula"
ROUNDING = ("int", "floor", "ceil", "trunc", "float32")

PLURALS = {f.INT: "integers", f.REAL: "real numbers", f.BOOL: "conditions"}

Factor: TypeAlias = tuple[str, n.Expr]  # `*` or `over`, and what stands behind it


@dataclass(frozen=True, slots=True)
class Application(Span):
    """Where a definition is applied, for a part of it that stands at `origin`."""

    origin: Span


@dataclass(frozen=True, slots=True)
class AdjointTerm:
    """`X[slots]` times or over each factor, summed over `binders` where the conditions hold."""

    slots: tuple[n.Slot, ...]
    binders: tuple[n.Binder, ...] = ()
    conditions: tuple[n.Expr, ...] = ()
    factors: tuple[Factor, ...] = ()
    negative: bool = False


@dataclass(slots=True)
class Linearisation:
    """Takes the equations of an operator apart with respect to one input.

    `kind` is what elements of the input are: types that are chosen leave the formula the same.
    """

    operator: f.Operator
    wrt: str
    kind: f.Kind
    definitions: dict[str, f.Definition] = field(init=False)
    macros: frozenset[str] = field(init=False)
    reading: dict[str, bool] = field(default_factory=dict)
    names: dict[n.Expr, str] = field(default_factory=dict)
    """What the formula itself calls a compound index: a name of `where`, or the parameter that
    it is given for."""

    def __post_init__(self) -> None:
        found = f.all_items(self.operator.items)
        self.definitions = {each.name: each for each in found if isinstance(each, f.Definition)}
        self.macros = macros_of(self.operator.items)

    def terms(self, equation: f.Equation) -> list[AdjointTerm]:
        """The terms of an equation that read the input; what else it adds does not count."""
        where = {each.name: each for each in equation.where}
        value = self.written_out(equation.value, where)
        taken = {n.bound_by(binder) for binder in equation.domain.items}
        return list(self.split(value, taken))

    # -------------------------------------------------------- definitions

    def written_out(self, expr: n.Expr, where: Mapping[str, f.Definition]) -> n.Expr:
        """All of `where`, and each definition that reads the input, put in its place."""

        def change(node: object) -> object:
            if not isinstance(node, n.Apply):
                return node
            if node.name in where:
                definition = where[node.name]
                body = self.written_out(definition.body, where)
                if not definition.parameters and isinstance(body, n.Arithmetic):
                    self.names.setdefault(body, node.name)
                return self.applied(node, replace(definition, body=body))
            definition = self.definitions[node.name]
            given = any(self.reads(each) for each in node.arguments)
            if not given and not self.reads(definition.body):
                return node
            if definition.kind == f.SELECTED:
                self.refuse(node, "this list depends on elements of '{}'")
            body = self.written_out(definition.body, {})
            if node.name in self.macros:
                # A fault in it is the fault of what it is applied to, which the text shows.
                body = n.rebuild(body, lambda each: with_span(each, node.span))
            return self.applied(node, replace(definition, body=body))

        return n.rebuild(expr, change)

    def applied(self, node: n.Apply, definition: f.Definition) -> n.Expr:
        names = [name for name, _ in definition.parameters]
        given = dict(zip(names, node.arguments, strict=True))
        for name, argument in given.items():
            if isinstance(argument, n.Arithmetic):
                self.names.setdefault(argument, name)
        return substitute(definition.body, given)  # type: ignore[no-any-return]

    def reads(self, node: object) -> bool:
        """Whether a part of the formula reads elements of the input."""
        for each in n.walk(node):
            match each:
                case n.Access(tensor=tensor) if tensor == self.wrt:
                    return True
                case n.Apply(name=name) if self.definition_reads(name):
                    return True
                case _:
                    pass
        return False

    def definition_reads(self, name: str) -> bool:
        if name not in self.definitions:
            return False
        if name not in self.reading:
            self.reading[name] = False  # a list that speaks of itself does not read by that
            self.reading[name] = self.reads(self.definitions[name].body)
        return self.reading[name]

    # -------------------------------------------------------- sums and products

    def split(self, expr: n.Expr, taken: set[str]) -> Iterator[AdjointTerm]:
        """The terms of an expression; what does not read the input has none."""
        if not self.reads(expr):
            return
        match expr:
            case n.Access(slots=slots):
                if self.reads(slots):
                    self.refuse(expr, "the place of this element depends on elements of '{}'")
                yield AdjointTerm(slots)
            case n.Arithmetic(sign="+" | "-" as sign, left=left, right=right):
                yield from self.split(left, taken)
                for term in self.split(right, taken):
                    yield replace(term, negative=term.negative != (sign == "-"))
            case n.Arithmetic(sign="*", left=left, right=right):
                yield from self.product(expr, left, right, taken)
            case n.Negate(operand=operand):
                for term in self.split(operand, taken):
                    yield replace(term, negative=not term.negative)
            case n.Conditional(then=then, condition=condition, otherwise=otherwise):
                if self.reads(condition):
                    self.refuse(condition, "this condition depends on elements of '{}'")
                for branch, test in ((then, condition), (otherwise, opposite(condition))):
                    for term in self.split(branch, taken):
                        yield replace(term, conditions=(test, *term.conditions))
            case n.Reduction(function="sum", binders=binders, body=body):
                yield from self.reduction(binders, body, taken)
            case n.Arithmetic(sign="over", left=left, right=right):
                if self.reads(right):
                    self.refuse(expr, "this divides by elements of '{}'")
                for term in self.split(left, taken | formula_names(right)):
                    yield replace(term, factors=(*term.factors, ("over", right)))
            case n.Function(name="real" | "int" as name, arguments=(value,)) if (
                self.kind.name == name
            ):
                yield from self.split(value, taken)
            case n.Function(name="real"):
                self.refuse(expr, *self.made_real())
            case n.Function(name=name) if name in ROUNDING:
                self.refuse(expr, "this rounds, so it is not linear in '{}'")
            case _:
                self.refuse(expr, "this is not linear in '{}'")

    def product(
        self, expr: n.Expr, left: n.Expr, right: n.Expr, taken: set[str]
    ) -> Iterator[AdjointTerm]:
        if self.reads(left) and self.reads(right):
            self.refuse(expr, "this multiplies elements of '{}' by each other")
        reading, factor = (left, right) if self.reads(left) else (right, left)
        tests: list[n.Expr] = []
        while isinstance(factor, n.Conditional) and equals_number(factor.otherwise, 0):
            tests.append(factor.condition)
            factor = factor.then
        for term in self.split(reading, taken | formula_names(factor)):
            conditions = (*tests, *term.conditions)
            yield replace(term, factors=(*term.factors, ("*", factor)), conditions=conditions)

    def reduction(self, binders: n.Binders, body: n.Expr, taken: set[str]) -> Iterator[AdjointTerm]:
        """The terms of a sum; its indices get other names where theirs are taken."""
        if self.reads(binders):
            self.refuse(binders, "this range depends on elements of '{}'")
        items: list[n.Binder] = []
        names: dict[str, n.Expr] = {}
        for binder in binders.items:
            changed = substitute(binder, names)
            name = n.bound_by(binder)
            part = isinstance(binder, n.PackRange) and binder.slots is not None
            if name in taken and not part and name not in {n.bound_by(each) for each in items}:
                other = fresh(name, taken | formula_names((binders, body)))
                role = "pack" if isinstance(binder, n.PackRange) else "index"
                names[name] = n.Ref(other, role, binder.span)
                changed = with_binder_name(changed, other)
            items.append(changed)
        condition = substitute(binders.condition, names)
        inner = taken | {n.bound_by(each) for each in items}
        for term in self.split(substitute(body, names), inner):
            tests = term.conditions if condition is None else (condition, *term.conditions)
            yield replace(term, binders=(*items, *term.binders), conditions=tests)

    def made_real(self) -> tuple[str, str]:
        """Why there is no adjoint where an element that is no real number is made one."""
        elements = f"elements of '{{}}' are {PLURALS[self.kind]}"
        message = f"this makes real numbers, but {elements}: the adjoint has no type"
        hint = f"a gradient of real numbers has real ones; declare '{self.wrt}' of a real type"
        return message, hint

    def refuse(self, node: n.Expr | n.Binders, message: str, hint: str = NOT_LINEAR) -> NoReturn:
        span = node.span
        if isinstance(span, Application):
            text = self.operator.quote(span.origin)
            hint = f"this is '{text}' in {span.origin.location}; {hint}"
        raise SpecError(span, message.format(self.wrt), hint)


def with_span(node: object, span: Span) -> object:
    """A part of a definition as a part of what it is applied to."""
    if not hasattr(node, "span"):
        return node
    origin = node.span.origin if isinstance(node.span, Application) else node.span
    own = Application(span.source, span.start, span.end, origin)
    return replace(node, span=own)  # type: ignore[type-var]
