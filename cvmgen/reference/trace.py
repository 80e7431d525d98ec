"""The evaluator, which tells of each element what it reads and its formula in numbers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from cvmgen.functions import flatten_index
from cvmgen.reference.binders import BinderWalk, Closure
from cvmgen.reference.expressions import ExpressionCompiler
from cvmgen.reference.failures import Budget, Env
from cvmgen.reference.lets import parameter
from cvmgen.reference.operator import Reference
from cvmgen.reference.tensor import Tensor
from cvmgen.spec import formula as f
from cvmgen.spec import nodes as n

MOST_TERMS = 60  # of a reduction that are written out
LONGEST = 2000  # characters of a term that is written out

Read = tuple[str, int]  # a tensor, or `X[2]` of a variadic one, and the position of an element

ATOM, POWER, PRODUCT, SUM, LOOSE = 4, 3, 2, 1, 0  # how tightly the parts of a text hold together
_SIGNS = {"+": SUM, "-": SUM, "^": POWER}
_JOINED = {"sum": (" + ", SUM), "prod": (" * ", PRODUCT), "any": (" or ", LOOSE)}
_JOINED["all"] = (" and ", LOOSE)


@dataclass(frozen=True, slots=True)
class Written:
    """An expression with numbers put in; `holds` says how tightly."""

    expr: n.Expr
    text: str
    holds: int

    def within(self, least: int) -> str:
        return self.text if self.holds >= least else f"({self.text})"


@dataclass(frozen=True, slots=True)
class TracedElement:
    """What an element of an output reads, each once and in order, and its formula in numbers."""

    reads: tuple[Read, ...]
    text: str


def number(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    return repr(value) if isinstance(value, (int, float)) else "..."


@dataclass(slots=True)
class Trace:
    """What the expressions at hand have read and written out so far, and what was read for each
    element of a `let` and each list, which are computed once in a call."""

    written: list[Written] = field(default_factory=list)
    reads: list[Read] = field(default_factory=list)
    remembered: dict[tuple[str, tuple[Any, ...]], tuple[Read, ...]] = field(default_factory=dict)


class TracingCompiler(ExpressionCompiler):
    """Closures that leave in a trace what they computed, for the one around them to write out.

    Only what reads elements is written out: indices, extents and what is made of them are numbers.
    """

    def __init__(
        self,
        trace: Trace,
        definitions: Mapping[str, f.Definition],
        budget: Budget | None = None,
    ) -> None:
        super().__init__(definitions, budget)
        self.trace = trace

    def closure(self, expr: n.Expr) -> Closure:
        known = self.reading(expr, super().closure(expr))
        trace = self.trace

        def value(env: Env) -> Any:
            mark, before = len(trace.written), len(trace.reads)
            result = known(env)
            parts = trace.written[mark:]
            del trace.written[mark:]
            written = _plain(expr, result)
            if len(trace.reads) > before:
                written = _written_out(expr, parts, written)
            trace.written.append(written)
            return result

        return value

    def reading(self, expr: n.Expr, known: Closure) -> Closure:
        """A closure that tells what it reads, beside what its parts read."""
        match expr:
            case n.Access():
                return self.element_read(expr, known)
            case n.Earlier(name=name, arguments=arguments):
                return self.used_again(name, [self.closure(each) for each in arguments], known)
            case _:
                pass
        for each in self.definitions.values():
            if each.axis is not None and each.body is expr:
                return self.computed(each, known)
        return known

    def element_read(self, expr: n.Access, known: Closure) -> Closure:
        index_of, key = self.slots(expr.slots), f"$tensor {expr.tensor}"
        which = self.closure(expr.which) if expr.which is not None else None

        def value(env: Env) -> Any:
            result, at = known(env), None if which is None else which(env)
            tensor: Tensor = env[key] if at is None else env[key][at]
            position = flatten_index(index_of(env), tensor.shape)
            self.trace.reads.append((input_name(expr.tensor, at), position))
            return result

        return value

    def body(self, definition: f.Definition) -> Closure:
        name = definition.name
        if name not in self.bodies and definition.ranges is not None:
            known = super().body(definition)
            if definition.axis is None:
                known = self.computed(definition, known)
            indices = [parameter(each) for each, _ in definition.parameters]
            self.bodies[name] = self.used_again(name, indices, known)
        return super().body(definition)

    def computed(self, definition: f.Definition, known: Closure) -> Closure:
        """An element of a let, or a list: what it reads is remembered for where it is used."""
        indices = [parameter(name) for name, _ in definition.parameters]

        def value(env: Env) -> Any:
            before = len(self.trace.reads)
            result = known(env)
            key = (definition.name, tuple(index(env) for index in indices))
            read = (*self.trace.remembered.get(key, ()), *self.trace.reads[before:])
            self.trace.remembered[key] = tuple(dict.fromkeys(read))
            return result

        return value

    def used_again(self, name: str, indices: Sequence[Closure], known: Closure) -> Closure:
        def value(env: Env) -> Any:
            result = known(env)
            key = (name, tuple(index(env) for index in indices))
            self.trace.reads += self.trace.remembered.get(key, ())
            return result

        return value


def input_name(tensor: str, which: int | None) -> str:
    return tensor if which is None else f"{tensor}[{which}]"


# ---------------------------------------------------------------- numbers put into a formula


def _plain(expr: n.Expr, value: Any) -> Written:
    """A value as a number; of a list nobody sees more than that it is one."""
    if isinstance(value, bool):
        return Written(expr, str(value).lower(), ATOM)
    if not isinstance(value, (int, float)):
        return Written(expr, "...", ATOM)
    return Written(expr, repr(value), SUM if value < 0 else ATOM)


def _written_out(expr: n.Expr, parts: Sequence[Written], number: Written) -> Written:
    """An expression from its parts, those that were computed; its number where it has none to
    show, or would be too long."""
    text, holds = _composed(expr, parts, number)
    return Written(expr, text, holds) if len(text) <= LONGEST else number


def _composed(expr: n.Expr, parts: Sequence[Written], number: Written) -> tuple[str, int]:
    found = {id(each.expr): each for each in parts}

    def part(inner: n.Expr, least: int) -> str:
        return found[id(inner)].within(least)

    match expr:
        case n.Arithmetic(sign=sign, left=left, right=right):
            holds = _SIGNS.get(sign, PRODUCT)
            return f"{part(left, holds)} {sign} {part(right, holds + 1)}", holds
        case n.Negate(operand=operand):
            return f"-{part(operand, PRODUCT)}", SUM
        case n.Compare(relations=relations, operands=operands) if len(parts) == len(operands):
            signs = ("", *(f" {each} " for each in relations))
            shown = (part(each, SUM) for each in operands)
            return "".join(a + b for a, b in zip(signs, shown, strict=True)), LOOSE
        case n.Conditional(then=then, otherwise=otherwise):
            chosen = next(each for each in parts if each.expr is then or each.expr is otherwise)
            return chosen.text, chosen.holds
        case n.Reduction(function=function, body=body):
            return _reduced(function, [each for each in parts if each.expr is body])
        case n.Function(name=name, arguments=arguments):
            return f"{name}({', '.join(part(each, LOOSE) for each in arguments)})", ATOM
        case n.Apply() | n.Ref(role="parameter") if parts:
            return parts[-1].text, parts[-1].holds
        case _:
            return number.text, number.holds


def _reduced(function: str, terms: Sequence[Written]) -> tuple[str, int]:
    """The terms of a reduction, the first of many."""
    left = len(terms) - MOST_TERMS
    more = [f"... ({left} more)"] if left > 0 else []
    if function not in _JOINED or not terms:
        shown = [each.text for each in terms[:MOST_TERMS]]
        return f"{function}({', '.join(shown + more)})", ATOM
    if len(terms) == 1:
        return terms[0].text, terms[0].holds
    sign, holds = _JOINED[function]
    return sign.join([each.within(holds + 1) for each in terms[:MOST_TERMS]] + more), holds


# ---------------------------------------------------------------- whole calls


class TracedReference(Reference):
    """A reference that keeps, of each element of its outputs, what it reads and its formula in
    numbers, by the output's name and position."""

    keeps_parts = False

    def __init__(self, operator: f.Operator, budget: Budget | None = None) -> None:
        self.trace = Trace()
        self.compiles = partial(TracingCompiler, self.trace)
        self.elements: dict[tuple[str, int], TracedElement] = {}
        self.at = ("", 0)
        super().__init__(operator, budget)

    def position(
        self, item: f.Equation, index: list[int], env: Env, output: Tensor, written: list[bool]
    ) -> int:
        found = super().position(item, index, env, output, written)
        self.at = (item.tensor, found)
        return found

    def compiled(self, item: f.Equation) -> tuple[BinderWalk, Closure, Closure]:
        if id(item) not in self.equations:
            walk, index_of, value_of = super().compiled(item)
            self.equations[id(item)] = (walk, index_of, self.traced(value_of))
        return self.equations[id(item)]

    def traced(self, value_of: Closure) -> Closure:
        def value(env: Env) -> Any:
            self.trace.written.clear()
            self.trace.reads.clear()
            result = value_of(env)
            reads = tuple(dict.fromkeys(self.trace.reads))
            self.elements[self.at] = TracedElement(reads, self.trace.written[-1].text)
            return result

        return value
