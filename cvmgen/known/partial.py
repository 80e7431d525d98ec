"""Expressions over what one call fixes: evaluated as far as shapes, attributes and precisions go.

What is left are loop indices, locals and elements. A list is a tuple of its entries, each of
which may be left over; nothing of a list itself is.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import reduce
from math import prod
from typing import Any, TypeAlias

from cvmgen.dtypes import DType
from cvmgen.errors import InternalError
from cvmgen.functions import ARITHMETIC, BITWISE, FUNCTIONS, REAL_FUNCTIONS, RELATIONS
from cvmgen.ir import nodes as i
from cvmgen.typing.machine_types import joined_tests

Value: TypeAlias = "i.Expr | tuple[Value, ...]"

SPELLINGS = {"floordiv": "div", "truncdiv": "tdiv", "mod": "mod", "+": "+", "-": "-", "*": "*"}
OF_REALS = ("+", "-", "*", "over")
OF_NUMBERS = {"abs", "min", "max", "negate", "power", *REAL_FUNCTIONS}
SCALAR_FUNCTIONS = ("abs", "min", "max", "floor_log2", "ceil_log2", "ceildiv", "isqrt", "count")


@dataclass(frozen=True, slots=True)
class KnownScope:
    """What names stand for, which optional operands were given, precisions of inputs, and the
    element types that type parameters stand for.

    A tensor of a variadic input has the name of the input with its place. With `reals` a value may
    be a real number, of which x + 0 and 0 * x are not x and 0.
    """

    values: Mapping[str, Value]
    given: frozenset[str] = frozenset()
    precisions: Mapping[tuple[str, int], int] = field(default_factory=dict)
    types: Mapping[str, DType] = field(default_factory=dict)
    reals: bool = False

    def bound(self, **more: Value) -> KnownScope:
        return replace(self, values={**self.values, **more})

    @property
    def of_indices(self) -> KnownScope:
        """The same where indices and extents stand: integers."""
        return replace(self, reals=False) if self.reals else self


def known_integers(value: Value) -> tuple[int, ...]:
    """A list that is wholly known."""
    assert isinstance(value, tuple)
    return tuple(known_integer(each) for each in value)


def known_integer(value: Value) -> int:
    if isinstance(value, i.Const):
        return int(value.value)
    raise InternalError(f"partial: {value} is not known when a call is")


def known_list(entries: Sequence[int]) -> Value:
    return tuple(i.Const(each) for each in entries)


def evaluate(expr: i.Expr, scope: KnownScope) -> Value:
    """What is left of an expression, scalar or list."""
    match expr:
        case i.Const() | i.Real():
            return expr
        case i.Limit(end=end, type_name=name):
            return _known_limit(end, scope.types[name])
        case i.Convert(type="i64", operand=position):
            return evaluate(position, scope)
        case i.Word(code=code):
            return i.Const(code)
        case i.Var(name=name):
            return scope.values.get(name, expr)
        case i.Given(name=name):
            return i.Const(name in scope.given)
        case i.PrecisionOf(tensor=tensor, which=which):
            at = 0 if which is None else known_integer(evaluate(which, scope))
            return i.Const(scope.precisions[tensor, at])
        case i.Binary(op="difference", left=left, right=right):
            taken = set(known_integers(evaluate(right, scope)))
            return known_list([n for n in known_integers(evaluate(left, scope)) if n not in taken])
        case i.Binary(op=op, left=left, right=right):
            return binary(op, scalar(left, scope), scalar(right, scope), scope)
        case i.Compare(op=op, left=left, right=right):
            return known_comparison(op, scalar(left, scope), scalar(right, scope))
        case i.Logic(op=op, operands=operands):
            return known_connective(op, operands, scope)
        case i.Not(operand=operand):
            test = scalar(operand, scope)
            return i.Const(not test.value) if isinstance(test, i.Const) else i.Not(test)
        case i.Select(condition=condition, then=then, otherwise=otherwise):
            return known_selection(scalar(condition, scope), then, otherwise, scope)
        case i.Call():
            return call(expr, scope)
        case i.Item(sequence=sequence, index=index):
            return known_entries(sequence, scope)[known_integer(evaluate(index, scope))]
        case i.Part(sequence=sequence, low=low, high=high):
            ends = (
                None if end is None else known_integer(evaluate(end, scope)) for end in (low, high)
            )
            return known_entries(sequence, scope)[slice(*ends)]
        case i.ListOf(entries=pairs):
            return spread_entries(pairs, scope)
        case i.Contains(element=element, collection=i.Entries() as selection):
            return i.Contains(scalar(element, scope), known_access(selection, scope))
        case i.Contains(element=element, collection=collection):
            member = known_integer(evaluate(element, scope))
            return i.Const(member in known_integers(evaluate(collection, scope)))
        case i.Gather():
            return gathered_values(expr, scope)
        case i.Fold():
            return known_fold(expr, scope)
        case i.Bind(name=name, value=value, body=body):
            return evaluate(body, scope.bound(**{name: evaluate(value, scope)}))
        case i.Access() | i.Entries():
            return known_access(expr, scope)
        case _:
            raise InternalError(f"partial: {type(expr).__name__} is not for this place")


def scalar(expr: i.Expr, scope: KnownScope) -> i.Expr:
    value = evaluate(expr, scope)
    assert not isinstance(value, tuple)
    return value


def known_entries(expr: i.Expr, scope: KnownScope) -> tuple[Value, ...]:
    value = evaluate(expr, scope)
    assert isinstance(value, tuple)
    return value


def known_access(expr: i.Access | i.Entries, scope: KnownScope) -> i.Expr:
    """An access, or a run of entries of a selected list, with each of its indices."""
    match expr:
        case i.Entries(first=i.Access() as first, length=length):
            start = known_access(first, scope)
            assert isinstance(start, i.Access)
            return replace(expr, first=start, length=scalar(length, scope))
        case i.Access(tensor=tensor, which=which, index=index):
            entries = spread_entries(index, scope.of_indices)
            indices = tuple((known_single(each), False) for each in entries)
            return i.Access(tensor, None if which is None else scalar(which, scope), indices)
        case _:
            raise InternalError("partial: offsets are not for this place")


def spread_entries(pairs: tuple[tuple[i.Expr, bool], ...], scope: KnownScope) -> tuple[Value, ...]:
    """The entries of a list written out, lists in it among them."""
    found: list[Value] = []
    for each, is_list in pairs:
        if is_list:
            found += known_entries(each, scope)
        else:
            found.append(evaluate(each, scope))
    return tuple(found)


def known_single(value: Value) -> i.Expr:
    assert not isinstance(value, tuple)
    return value


# ---------------------------------------------------------------- scalars


def binary(op: str, left: i.Expr, right: i.Expr, scope: KnownScope) -> i.Expr:
    """The result of an operation on integers, or on real numbers."""
    if not scope.reals or (isinstance(left, i.Const) and isinstance(right, i.Const)):
        return arithmetic(op, left, right)
    found = computed(ARITHMETIC[op], (left, right)) if op in OF_REALS else None
    return i.Binary(op, left, right) if found is None else found


def computed(exact: Callable[..., Any], operands: Sequence[i.Expr]) -> i.Expr | None:
    """What a function gives of numbers that are written out; None of others, and where that is no
    finite number."""
    numbers = [literal(each) for each in operands]
    if any(each is None for each in numbers):
        return None
    match exact(*numbers):
        case float() as number:
            return i.Real(repr(number)) if math.isfinite(number) else None
        case number:
            return i.Const(number)


def literal(expr: i.Expr) -> float | int | None:
    match expr:
        case i.Real(text=text):
            return float(text)
        case i.Const(value=value):
            return value
        case _:
            return None


def arithmetic(op: str, left: i.Expr, right: i.Expr) -> i.Expr:
    """The result of an operation, without operands that change nothing."""
    match op, left, right:
        case "shl", i.Const(value=1), i.Const(value=exponent):
            return i.Const(1 << exponent)
        case _, i.Const(value=a), i.Const(value=b) if op in SPELLINGS:
            return i.Const(int(ARITHMETIC[SPELLINGS[op]](a, b)))
        case _, i.Const(value=a), i.Const(value=b) if op in BITWISE:
            return i.Const(FUNCTIONS[op].exact(a, b))
        case ("+", i.Const(value=0), other) | ("*", i.Const(value=1), other):
            return other
        case ("+" | "-", other, i.Const(value=0)):
            return other
        case ("*" | "floordiv" | "truncdiv", other, i.Const(value=1)):
            return other
        case ("*", i.Const(value=0), _) | ("*", _, i.Const(value=0)):
            return i.ZERO
        case _:
            return i.Binary(op, left, right)


def known_comparison(op: str, left: i.Expr, right: i.Expr) -> i.Expr:
    match left, right:
        case i.Const(value=a), i.Const(value=b):
            return i.Const(RELATIONS[op](a, b))
        case _:
            return i.Compare(op, left, right)


def known_connective(op: str, operands: Sequence[i.Expr], scope: KnownScope) -> i.Expr:
    """`and` or `or`; what follows an operand that decides is not looked at."""
    decides = op == "or"
    left: list[i.Expr] = []
    for operand in operands:
        test = scalar(operand, scope)
        if not isinstance(test, i.Const):
            left.append(test)
        elif bool(test.value) == decides:
            left.append(i.Const(decides))
            break
    return joined_tests(op, tuple(left))


def known_selection(test: i.Expr, then: i.Expr, otherwise: i.Expr, scope: KnownScope) -> Value:
    if isinstance(test, i.Const):
        return evaluate(then if test.value else otherwise, scope)
    left, right = scalar(then, scope), scalar(otherwise, scope)
    return i.Select(test, left, right) if scope.reals else known_choice(test, left, right)


def _known_limit(end: str, dtype: DType) -> i.Expr:
    """The least or greatest value of an element type."""
    if dtype.kind == "real":
        return i.Real("-inf" if end == "least" else "inf")
    return i.Const(dtype.low if end == "least" else dtype.high)


def known_choice(test: i.Expr, then: i.Expr, otherwise: i.Expr) -> i.Expr:
    """`then` or `otherwise`; a cut to a range that is written as a choice is min and max."""
    match test, then, otherwise:
        case i.Compare(op=">", left=x, right=i.Const() as low), yes, i.Const() as no if (
            yes == x and no == low
        ):
            return i.Call("max", (low, x))
        case (
            i.Compare(op=">=", left=x, right=i.Const(value=high)),
            i.Const() as yes,
            i.Call(function="max", arguments=(i.Const(value=low), inner)),
        ) if yes.value == high and inner == x and low <= high:
            return i.Call("min", (otherwise, yes))
        case _:
            return i.Select(test, then, otherwise)


def call(expr: i.Call, scope: KnownScope) -> Value:
    function = expr.function
    if function in ("lowest", "highest"):
        return expr
    values = [evaluate(each, scope) for each in expr.arguments]
    if scope.reals and function in OF_NUMBERS:
        return number_call(function, [known_single(each) for each in values])
    match function, values:
        case (("len" | "count"), [tuple() as members]):
            return i.Const(len(members))
        case "len", [i.Entries(length=length)]:
            return length
        case "size", [tuple() as extents]:
            return i.Const(prod(known_integers(extents)))
        case "flatten_index", [tuple() as index, tuple() as extents]:
            return flat_position([known_single(each) for each in index], known_integers(extents))
        case "unflatten", [position, tuple() as extents]:
            return known_unflattened(known_single(position), known_integers(extents))
        case "negate", [operand]:
            return arithmetic("-", i.ZERO, known_single(operand))
        case "power", [i.Const() as base, i.Const() as exponent]:
            return i.Const(int(ARITHMETIC["^"](known_integer(base), known_integer(exponent))))
        case "power", [base, exponent]:
            return i.Call(function, (known_single(base), known_single(exponent)))
        case _ if function in SCALAR_FUNCTIONS:
            return scalar_call(function, [known_single(each) for each in values])
        case _:
            raise InternalError(f"partial: the function {function} is not for this place")


def number_call(function: str, values: Sequence[i.Expr]) -> i.Expr:
    """A function of numbers that may be real: of integers alone it is what it is."""
    if function in REAL_FUNCTIONS:
        found = computed(FUNCTIONS[function].exact, values)
        return i.Call(function, tuple(values)) if found is None else found
    if not all(isinstance(each, i.Const) for each in values):
        return i.Call(function, tuple(values))
    match function, values:
        case "negate", [operand]:
            return arithmetic("-", i.ZERO, operand)
        case "power", [base, exponent]:
            return i.Const(int(ARITHMETIC["^"](known_integer(base), known_integer(exponent))))
        case _:
            return scalar_call(function, values)


def scalar_call(function: str, values: Sequence[i.Expr]) -> i.Expr:
    if all(isinstance(each, i.Const) for each in values):
        return i.Const(FUNCTIONS[function].exact(*(known_integer(each) for each in values)))
    return i.Call(function, tuple(values))


def flat_position(index: Sequence[i.Expr], extents: Sequence[int]) -> i.Expr:
    position: i.Expr = i.ZERO
    for entry, extent in zip(index, extents, strict=True):
        position = arithmetic("+", arithmetic("*", position, i.Const(extent)), entry)
    return position


def known_unflattened(position: i.Expr, extents: Sequence[int]) -> tuple[Value, ...]:
    """The first entry is a quotient without a remainder: the position is inside the box."""
    found: list[Value] = []
    for at, extent in enumerate(extents):
        below = i.Const(prod(extents[at + 1 :]))
        entry = arithmetic("floordiv", position, below)
        found.append(entry if at == 0 else arithmetic("mod", entry, i.Const(extent)))
    return tuple(found)


# ---------------------------------------------------------------- lists


def gathered_values(expr: i.Gather, scope: KnownScope) -> Value:
    """All values as a list, or as an ascending set."""
    found = tuple(evaluate(expr.element, inner) for inner in element_scopes(expr, scope))
    if expr.kind == "set":
        return known_list(sorted(set(known_integers(found))))
    return found


def known_fold(expr: i.Fold, scope: KnownScope) -> i.Expr:
    """All values combined."""
    elements = [scalar(expr.element, inner) for inner in element_scopes(expr, scope)]
    match expr.op:
        case "any" | "all":
            return known_connective("or" if expr.op == "any" else "and", elements, KnownScope({}))
        case "count":
            return i.Const(sum(bool(known_integer(each)) for each in elements))
        case "max" | "min":
            return scalar_call(expr.op, elements)
        case "sum":
            return reduce(lambda a, b: arithmetic("+", a, b), elements, i.ZERO)
        case "prod":
            return reduce(lambda a, b: arithmetic("*", a, b), elements, i.ONE)
        case _:
            raise InternalError(f"partial: the fold {expr.op} is not known")


def element_scopes(expr: i.Gather | i.Fold, scope: KnownScope) -> Iterator[KnownScope]:
    """The scope of each element, of those that the condition lets pass."""
    for inner in bindings(expr.over, scope):
        if expr.condition is None or known_integer(evaluate(expr.condition, inner)):
            yield inner


def bindings(binders: Sequence[i.Over | i.OverPack], scope: KnownScope) -> Iterator[KnownScope]:
    if not binders:
        yield scope
        return
    first, *rest = binders
    match first:
        case i.Over(index=index, low=None, high=members):
            values: list[dict[str, Value]] = [
                {index: each} for each in known_entries(members, scope)
            ]
        case i.Over(index=index, low=low, high=high) if low is not None:
            ends = known_integer(evaluate(low, scope)), known_integer(evaluate(high, scope))
            values = [{index: i.Const(each)} for each in range(*ends)]
        case _:
            raise InternalError("partial: a multi-index in host code is not known")
    for each in values:
        yield from bindings(rest, scope.bound(**each))
