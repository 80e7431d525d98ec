"""The formula for all elements at once: the reference evaluator on terms.

What the evaluator does with numbers it does with terms, where Python's operators mean the same;
what asks for the value of a condition on elements becomes a choice here.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from itertools import cycle
from typing import Any

from cvmgen import reals
from cvmgen.functions import ELEMENTARY, FUNCTIONS, RELATIONS, OutsideDomain, power
from cvmgen.reference.binders import Closure
from cvmgen.reference.expressions import ExpressionCompiler
from cvmgen.reference.failures import Env, FormulaError, about_binders
from cvmgen.reference.operator import Reference
from cvmgen.reference.tensor import Tensor
from cvmgen.rules import EMPTY_REDUCTION
from cvmgen.spec import formula as f
from cvmgen.spec import nodes as n
from cvmgen.verification.values import arithmetic, choices, extremes, modular, quotients
from cvmgen.verification.values import real_terms as rt
from cvmgen.verification.values import terms as t
from cvmgen.verification.values.library import root

MOST_BITS = 1 << 8  # as good as all bits of an integer
_TERMS = (t.Term, rt.RealTerm, t.Condition)


def is_term(value: Any) -> bool:
    return isinstance(value, _TERMS)


class TermCompiler(ExpressionCompiler):
    """Expressions as closures over an environment of numbers and terms."""

    def closure(self, expr: n.Expr) -> Closure:
        match expr:
            case n.Logic(word=word, operands=operands):
                return self.logic(word, [self.closure(operand) for operand in operands])
            case n.Not(operand=operand):
                inner = self.closure(operand)
                return lambda env: _opposite(inner(env))
            case n.Conditional(then=then, condition=condition, otherwise=otherwise):
                return self.conditional(*map(self.closure, (then, condition, otherwise)))
            case _:
                pass
        return super().closure(expr)

    def conditional(self, yes: Closure, test: Closure, no: Closure) -> Closure:
        def value(env: Env) -> Any:
            holds = test(env)
            if not isinstance(holds, t.Condition):
                return yes(env) if holds else no(env)
            return _chosen(holds, *choices.on_sides(holds, lambda: yes(env), lambda: no(env)))

        return value

    def logic(self, word: str, parts: list[Closure]) -> Closure:
        """The first operand that decides ends it, as far as operands are known."""
        ends, joined = (False, t.both) if word == "and" else (True, t.either)

        def value(env: Env) -> Any:
            result: t.Truth = not ends
            for part in parts:
                result = joined(result, _truth(part(env)))
                if result is ends:
                    break
            return result

        return value

    def compare(self, expr: n.Compare) -> Closure:
        operands = [self.closure(operand) for operand in expr.operands]
        tests = [(relation, RELATIONS[relation]) for relation in expr.relations]

        def value(env: Env) -> t.Truth:
            left, result = operands[0](env), True
            for (relation, test), operand in zip(tests, operands[1:], strict=True):
                right = operand(env)
                result = t.both(result, related(relation, test, left, right))  # type: ignore[assignment]
                if result is False:
                    return False
                left = right
            return result

        return value

    def arithmetic(self, expr: n.Arithmetic) -> Closure:
        left, right, sign = self.closure(expr.left), self.closure(expr.right), expr.sign
        known = super().arithmetic(expr)
        if sign not in _OF_TERMS:
            return known
        operate = _OF_TERMS[sign]

        def value(env: Env) -> Any:
            first, second = left(env), right(env)
            if not (is_term(first) or is_term(second)):
                return known(env)
            try:
                return operate(first, second)
            except OutsideDomain as error:
                raise FormulaError(expr.span, str(error), env, (expr.right,)) from None

        return value

    def reduction(self, expr: n.Reduction) -> Closure:
        """Of points that elements choose, each counts by its condition."""
        name, about = expr.function, about_binders(expr.binders)
        walk = self.walk(replace(expr.binders, condition=None))
        test = self.closure(expr.binders.condition) if expr.binders.condition is not None else None
        body = self.closure(expr.body)

        def value(env: Env) -> Any:
            found: list[tuple[t.Truth, Any]] = []
            for _ in walk(env):
                counts = _truth(test(env)) if test is not None else True
                if counts is not False:
                    found.append((counts, body(env)))
            if name in ("max", "min"):
                if not found:
                    raise FormulaError(expr.binders.span, EMPTY_REDUCTION, env, about)
                return _extreme(name, found)
            return _JOINED[name](found)

        return value

    def function(self, expr: n.Function) -> Closure:
        known = super().function(expr)
        if expr.name not in _FUNCTIONS:
            return known
        operate = _FUNCTIONS[expr.name]
        arguments = [
            self.sequence(argument) if kind in ("list", "collection") else self.closure(argument)
            for argument, kind in zip(
                expr.arguments, cycle(FUNCTIONS[expr.name].parameters), strict=False
            )
        ]

        def value(env: Env) -> Any:
            given = [argument(env) for argument in arguments]
            return operate(*given) if any(map(is_term, given)) else known(env)

        return value

    def access(self, expr: n.Access) -> Closure:
        tensor_of = self.about(expr.tensor, expr.which, expr.span, lambda found: found)
        index_of, known = self.slots(expr.slots), super().access(expr)

        def value(env: Env) -> Any:
            index = index_of(env)
            if not any(isinstance(at, t.Term) for at in index):
                return known(env)
            tensor: Tensor = tensor_of(env)
            position: t.Integer = 0
            for at, extent in zip(index, tensor.shape, strict=True):
                position = t.add(t.multiply(position, extent), at)
            return choices.lookup(position, lambda at: element_at(tensor, at))

        return value

    def item(self, expr: n.Item) -> Closure:
        sequence, index, known = (
            self.raw(expr.sequence),
            self.closure(expr.index),
            super().item(expr),
        )

        def value(env: Env) -> Any:
            at = index(env)
            if not isinstance(at, t.Term):
                return known(env)
            entries = sequence(env)
            return choices.lookup(at, lambda k: entries[k])

        return value


def element_at(tensor: Tensor, at: int) -> Any:
    """An element that an index may mean; beside the tensor there is none."""
    if 0 <= at < len(tensor.values):
        return tensor.values[at]
    return t.atom(("outside", at), -(1 << 31), 1 << 31)


def _truth(value: Any) -> t.Truth:
    if isinstance(value, t.Term):
        return t.opposite(t.equal(value, 0))
    return value if isinstance(value, t.Condition) else bool(value)


def _opposite(value: Any) -> t.Truth:
    return t.opposite(_truth(value))


def _chosen(test: t.Truth, yes: Any, no: Any) -> Any:
    if not isinstance(test, t.Condition):
        return yes if test else no
    if any(isinstance(each, (float, rt.RealTerm)) for each in (yes, no)):
        return choices.choose(test, rt.as_real(yes), rt.as_real(no))
    if any(isinstance(each, (tuple, str)) for each in (yes, no)):
        return yes if bool(test) else no
    return choices.choose(test, yes, no)


def related(relation: str, test: Callable[[Any, Any], Any], left: Any, right: Any) -> t.Truth:
    """A comparison; one of conditions is one of truth values."""
    if isinstance(left, t.Condition) or isinstance(right, t.Condition):
        same = choices.choose(_truth(left), _truth(right), _opposite(right))
        return same if relation == "==" else t.opposite(same)
    result = test(left, right)
    return result if isinstance(result, t.Condition) else bool(result)


# ---------------------------------------------------------------- reductions


def _summed(found: list[tuple[t.Truth, Any]]) -> Any:
    result: Any = 0
    for counts, value in found:
        result = _chosen(counts, result + value, result)
    return result


def _multiplied(found: list[tuple[t.Truth, Any]]) -> Any:
    result: Any = 1
    for counts, value in found:
        result = _chosen(counts, result * value, result)
    return result


def _any(found: list[tuple[t.Truth, Any]]) -> Any:
    result: t.Truth = False
    for counts, value in found:
        result = t.either(result, t.both(counts, _truth(value)))
    return result


def _all(found: list[tuple[t.Truth, Any]]) -> Any:
    return t.opposite(_any([(counts, _opposite(value)) for counts, value in found]))


def _count(found: list[tuple[t.Truth, Any]]) -> Any:
    result: Any = 0
    for counts, value in found:
        result = t.add(result, choices.choose(t.both(counts, _truth(value)), 1, 0))
    return result


_JOINED: dict[str, Callable[[list[tuple[t.Truth, Any]]], Any]] = {
    "sum": _summed,
    "prod": _multiplied,
    "any": _any,
    "all": _all,
    "count": _count,
}


def _extreme(name: str, found: Sequence[tuple[t.Truth, Any]]) -> Any:
    """The greatest or least of those that count; one of them must."""
    values = [value for counts, value in found if counts is True]
    if len(values) < len(found):
        # Those that count for certain first; without one, the exploring decides which is there.
        values = [value for counts, value in found if bool(counts)]
    if any(isinstance(value, (float, rt.RealTerm)) for value in values):
        return extreme_real(name, list(map(rt.as_real, values)))
    return (extremes.maximum if name == "max" else extremes.minimum)(values)


def extreme_real(name: str, values: list[Any]) -> Any:
    """Step by step as `reals.maximum` does it."""
    if not any(map(is_term, values)):
        return (reals.maximum if name == "max" else reals.minimum)(*values)
    result = values[0]
    for value in values[1:]:
        one, other = (result, value) if name == "max" else (value, result)
        beyond = t.both(t.opposite(rt.is_nan(result)), _below(one, other))
        result = choices.choose(t.either(rt.is_nan(value), beyond), value, result)
    return result


def _below(one: Any, other: Any) -> t.Truth:
    """one < other, with -0 below +0."""
    zeros = t.both(rt.real_test("==", one, other), rt.real_test("==", other, 0.0))
    signs = t.both(is_negative(one), t.opposite(is_negative(other)))
    return choices.choose(zeros, signs, rt.real_test("<", one, other))  # type: ignore[no-any-return]


def is_negative(value: Any) -> t.Truth:
    """Whether the sign of a real number is set."""
    if isinstance(value, float):
        return math.copysign(1.0, value) < 0
    return t.condition(("below zero", value))


# ---------------------------------------------------------------- functions


def _quotient(a: Any, b: Any) -> Any:
    if isinstance(b, int) and b == 0:
        raise OutsideDomain("division by 0")
    return quotients.floor_quotient(a, b)


def _toward_zero(a: Any, b: Any) -> Any:
    if isinstance(b, int) and b == 0:
        raise OutsideDomain("division by 0")
    return quotients.quotient_toward_zero(a, b)


def _remainder(a: Any, b: Any) -> Any:
    return t.add(a, t.negated(t.multiply(b, _quotient(a, b))))


def _power(base: Any, exponent: Any) -> Any:
    if any(isinstance(each, (rt.RealTerm, float)) for each in (base, exponent)):
        if exponent == 2 and not is_term(exponent):
            return rt.as_real(base) * rt.as_real(base)
        return rt.real("pow", rt.as_real(base), rt.as_real(exponent))
    if isinstance(exponent, int):
        result: Any = 1
        for _ in range(exponent):
            result = t.multiply(result, base)
        return result
    if isinstance(base, int):
        return choices.lookup(exponent, lambda at: power(base, max(at, 0)))
    return t.atom(("power", t.key_of(base), t.key_of(exponent)), -(1 << 200), 1 << 200)


_OF_TERMS: dict[str, Callable[[Any, Any], Any]] = {
    "div": _quotient,
    "tdiv": _toward_zero,
    "mod": _remainder,
    "^": _power,
    "over": lambda a, b: rt.real("over", rt.as_real(a), rt.as_real(b)),
}


def _logarithm(up: bool) -> Callable[[Any], Any]:
    def of(value: Any) -> Any:
        """Of a number from 1 on: the powers of two that it reaches, or goes beyond."""
        result: Any = 0
        for k in range(1 if not up else 0, 64):
            reached = t.at_least(value, (1 << k) + (1 if up else 0))
            result = t.add(result, choices.choose(reached, 1, 0))
        return result

    return of


def _root(value: Any) -> Any:
    return FUNCTIONS["isqrt"].exact(value) if isinstance(value, int) else root(value)


def _bits(opcode: str) -> Callable[[Any, Any], Any]:
    return arithmetic.binary(opcode, MOST_BITS, frozenset())


def _magnitude(value: Any) -> Any:
    if isinstance(value, rt.RealTerm):
        return rt.real("abs", value)
    return extremes.maximum([value, t.negated(value)])


def _most(name: str) -> Callable[..., Any]:
    return lambda *values: _extreme(name, [(True, value) for value in values])


_FUNCTIONS: dict[str, Callable[..., Any]] = {
    "abs": _magnitude,
    "min": _most("min"),
    "max": _most("max"),
    "floor": lambda value: rt.real("floor", value),
    "ceil": lambda value: rt.real("ceil", value),
    "trunc": lambda value: rt.real("trunc", value),
    "sqrt": lambda value: rt.real("sqrt", value),
    "fma": lambda *values: rt.real("fma", *map(rt.as_real, values)),
    **{name: partial(rt.real, name) for name in (*ELEMENTARY, "round", "roundeven")},
    "isnan": lambda value: rt.is_nan(value) if isinstance(value, rt.RealTerm) else False,
    "real": rt.as_real,
    "int": lambda value: value if isinstance(value, t.Term) else _whole(value),
    "order": lambda value: _order(rt.as_real(value)),
    "float32": lambda value: rt.real("float32", value),
    "floor_log2": _logarithm(up=False),
    "ceil_log2": _logarithm(up=True),
    "isqrt": lambda value: (
        FUNCTIONS["isqrt"].exact(value) if isinstance(value, int) else root(value)
    ),
    "bitand": _bits("and"),
    "bitor": _bits("or"),
    "bitxor": _bits("xor"),
    "bitnot": lambda value: t.add(t.negated(value), -1),
    "unflatten": lambda position, extents: _unflatten(position, extents),
    "ceildiv": lambda a, b: t.negated(_quotient(t.negated(a), b)),
}


def _unflatten(position: Any, extents: Sequence[int]) -> tuple[Any, ...]:
    index: list[Any] = []
    for extent in reversed(extents):
        index.append(_remainder(position, extent))
        position = quotients.floor_quotient(position, extent)
    return tuple(reversed(index))


def _order(value: Any) -> Any:
    """By the bits of a number, which has them in this order but for the sign."""
    if isinstance(value, float):
        return reals.order(value)
    bits = t.atom(("bits", 8, value), reals.INT64_LOW, reals.INT64_HIGH)
    turned = modular.signed(t.add(t.negated(bits), -reals.INT64_HIGH - 2), 64)
    ordered = choices.choose(t.condition(("below zero", value)), turned, bits)
    found = choices.choose(rt.is_nan(value), reals.INT64_HIGH, ordered)
    return t.of_parts(found.parts, reals.INT64_LOW, reals.INT64_HIGH)


def _whole(value: Any) -> Any:
    if isinstance(value, t.Condition):
        return choices.choose(value, 1, 0)
    return t.atom(("to int", value), reals.INT64_LOW, reals.INT64_HIGH)


class TermReference(Reference):
    """An operator as its formula defines it, on terms."""

    compiles = TermCompiler
    keeps_parts = False

    def demand(self, item: f.Demand, env: Env) -> None:
        """A point where a requirement does not hold ends the call: which one need not be known."""
        holds = self.compiler.closure(item.condition)
        points = self.compiler.walk(item.domain)(env)
        if not t.every(_truth(holds(env)) for _ in points):  # of elements whoever explores decides
            raise self.refuse(item.tensor, "", item.message)

    def in_type(self, name: str, output: Tensor, env: Env) -> None:
        """Values as the type holds them; a call in which one does not fit it is refused."""
        dtype = env["$types"].get(self.operator.type_of[name])
        if dtype is None:
            return
        output.dtype = dtype.name
        values, low, high = output.values if dtype.kind == "int" else (), dtype.low, dtype.high
        if not t.every(t.both(each >= low, each <= high) for each in values):
            raise self.refuse(name, "", "a value beyond its type")  # as whoever explores decides
        if dtype.kind == "real":
            output.values = [_stored(rt.as_real(value), dtype.name) for value in output.values]


def _stored(value: Any, name: str) -> Any:
    """A real number as an element of a type."""
    if isinstance(value, float):
        return reals.STORED[name](value)
    return value if name == "float64" else rt.real(name, value)
