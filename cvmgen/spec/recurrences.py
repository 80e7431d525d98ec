"""Recurrences: a `let` that reads elements of its own, at smaller places along one of its indices.

    let S[n, k] = X[n, k] + (S[n, k - 1] if k > 0 else 0)

In each read of itself this index is that of the element less a constant, so an element follows from
such as come before it: here for each n apart, as the other index stays as it is; else all elements
of a step follow from those of the steps before. That these are there is proved from the conditions
around (`inside`).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import NoReturn

from cvmgen.source import SpecError
from cvmgen.spec import nodes as n
from cvmgen.spec.checker import Checker
from cvmgen.spec.declarations import LetDecl
from cvmgen.spec.formula import INT, REAL, Definition, Kind
from cvmgen.spec.scope import ScopedName


def speaks_of_itself(value: n.Expr, name: str) -> bool:
    """Whether the value of a `let`, as parsed, reads elements of it."""
    return any(own_brackets(value, name))


def own_brackets(value: n.Expr, name: str) -> Iterator[n.Bracket]:
    for node in n.walk(value):
        match node:
            case n.Bracket(target=n.Name(text=text)) if text == name:
                yield node
            case _:
                pass


def checked_recurrence(
    checker: Checker, item: LetDecl, symbol: ScopedName, parameters: tuple[tuple[str, Kind], ...]
) -> Definition:
    """The checked `let`: of real numbers where it makes such, else of integers.

    What is neither is refused by what stops the reader later: the other error is about a kind that
    was not meant.
    """
    tried: dict[Kind, SpecError] = {}
    for meant in (REAL, INT):
        checker.scope.symbols[item.name] = replace(symbol, kind=meant)
        try:
            value, kind = checker.check(item.value)
        except SpecError as error:
            tried[meant] = error
        else:
            if kind == REAL or meant == INT:
                break
    else:
        raise max(tried.values(), key=lambda error: error.span.start)
    if kind not in (INT, REAL):
        checker.mismatch(item.value, INT, kind)
    value, order = _with_earlier(value, item.name, tuple(name for name, _ in parameters))
    found = Definition(item.name, parameters, value, kind, item.span)
    return replace(found, axis=order.axis, apart=order.apart)


def with_range(definition: Definition) -> None:
    """Refuse a recurrence of which it is not known how many elements it has."""
    if definition.ranges is not None:
        return
    names = ", ".join(name for name, _ in definition.parameters)
    message = f"'{definition.name}' is defined by itself: recursion, of indices without a range"
    hint = f"read an element of an input at each of them: X[{names}]"
    raise SpecError(definition.span, message, hint)


@dataclass(frozen=True, slots=True)
class Order:
    """Along which index a recurrence reads its own elements, and whether it does so for all values
    of the others `apart`."""

    axis: int
    apart: bool


def _with_earlier(value: n.Expr, name: str, parameters: tuple[str, ...]) -> tuple[n.Expr, Order]:
    """The checked value with its reads of itself as such, and the order of its elements."""
    reads = [each for each in n.walk(value) if isinstance(each, n.Apply) and each.name == name]
    axes = [
        at for at in range(len(parameters)) if all(is_earlier(e, at, parameters) for e in reads)
    ]
    if not axes:
        refuse_recurrence(
            next(each for each in reads if not is_earlier(each, 0, parameters)), parameters
        )

    def change(node: object) -> object:
        match node:
            case n.Apply(name=used, arguments=arguments, span=span) if used == name:
                return n.Earlier(used, arguments, span)
            case _:
                return node

    along = [Order(at, all(same_but(each, at, parameters) for each in reads)) for at in axes]
    order = next((each for each in along if each.apart), along[0])
    return n.rebuild(value, change), order


def is_earlier(read: n.Apply, at: int, parameters: tuple[str, ...]) -> bool:
    """Whether an index of a read is that of the element less a constant."""
    match read.arguments[at]:
        case n.Arithmetic(sign="-", left=n.Ref(name=name), right=n.Number(value=step)):
            return name == parameters[at] and step > 0
        case _:
            return False


def same_but(read: n.Apply, at: int, parameters: tuple[str, ...]) -> bool:
    """Whether all other indices are those of the element."""
    pairs = enumerate(zip(read.arguments, parameters, strict=True))
    return all(
        place == at or (isinstance(value, n.Ref) and value.name == name)
        for place, (value, name) in pairs
    )


def refuse_recurrence(read: n.Apply, parameters: tuple[str, ...]) -> NoReturn:
    """Refuse a let whose elements follow from each other in no order that is known."""
    message = f"'{read.name}' is defined by itself: recursion, in which no index becomes smaller"
    last = parameters[-1]
    earlier = ", ".join([*parameters[:-1], f"{last} - 1"])
    hint = f"each read needs the same index less a constant: {read.name}[{earlier}] if {last} > 0"
    raise SpecError(read.span, message, hint)


# ---------------------------------------------------------------- how far it gets


def adds_up(value: n.Expr) -> bool:
    """Whether a step moves a value by no more than the earlier one differs, and what it adds to 0:
    then a value is at most as many such terms as there were steps.

    So it is for + and -, negation, the greater and the lesser of two, the magnitude, and a choice
    that does not depend on earlier values, where each of these is read once.
    """
    factor = lipschitz_constant(value)
    return factor is not None and factor <= 1


def lipschitz_constant(expr: n.Expr) -> int | None:
    """By how much a value differs at most where earlier ones differ by 1; None: unknown."""
    if not any(isinstance(each, n.Earlier) for each in n.walk(expr)):
        return 0
    match expr:
        case n.Earlier(arguments=arguments):
            return 1 if not any(lipschitz_constant(each) != 0 for each in arguments) else None
        case n.Negate(operand=operand):
            return lipschitz_constant(operand)
        case n.Arithmetic(sign="+" | "-", left=left, right=right):
            one, other = lipschitz_constant(left), lipschitz_constant(right)
            return None if one is None or other is None else one + other
        case n.Function(name="max" | "min" | "abs", arguments=arguments):
            found = [lipschitz_constant(each) for each in arguments]
            known = [each for each in found if each is not None]
            return max(known) if len(known) == len(found) else None
        case n.Conditional(then=then, condition=condition, otherwise=otherwise):
            if lipschitz_constant(condition) != 0:
                return None
            one, other = lipschitz_constant(then), lipschitz_constant(otherwise)
            return None if one is None or other is None else max(one, other)
        case _:
            return None


def refuse_recursion(item: LetDecl) -> None:
    """A `let` that is no list of chosen indices speaks of what stands before it."""
    nodes = list(n.walk(item.value))
    ranges = [each for each in nodes if isinstance(each, n.Below | n.PackBelow | n.Member)]
    if any(isinstance(each.target, n.Name) and each.target.text == item.name for each in ranges):
        return  # an index of its own has that name
    for each in nodes:
        if isinstance(each, n.Name) and each.text == item.name:
            message = f"'{item.name}' is defined by itself: recursion"
            own = f"{item.name}[i] = X[i] + ({item.name}[i - 1] if i > 0 else 0)"
            hint = f"what follows from elements before it has an index: {own}"
            raise SpecError(each.span, message, hint)
