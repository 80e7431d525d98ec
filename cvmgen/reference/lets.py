"""What definitions are applied to, and the elements of lets."""

from __future__ import annotations

from collections.abc import Sequence, Set
from dataclasses import dataclass
from typing import Any

from cvmgen.reference.binders import Closure
from cvmgen.reference.failures import POINT, Env, FormulaError, OutsideAccess
from cvmgen.spec import nodes as n
from cvmgen.spec.formula import Definition, Equation


@dataclass(slots=True)  # and not frozen, which would take as long again to make
class LazyArgument:
    """What a definition was applied to, until it asks for the value."""

    closure: Closure
    env: Env


def is_known(expr: n.Expr) -> bool:
    """Whether an argument has a value that needs no computing: a number, or an index that is
    bound."""
    return isinstance(expr, n.Number) or (isinstance(expr, n.Ref) and expr.role == "index")


def parameter(name: str) -> Closure:
    """What a definition was applied to."""

    def value(env: Env) -> Any:
        found = env[name]
        if found.__class__ is LazyArgument:
            found = env[name] = found.closure(found.env)
        return found

    return value


def steady_parts(equation: Equation) -> frozenset[str]:
    """The parts of an equation, named by `where`, that have one value at a point of its domain:
    without parameters, of no other indices than that point's."""
    bound = {n.bound_by(each) for each in equation.domain.items}
    found: set[str] = set()
    moving = {each.name: each for each in equation.where if not each.parameters}
    while steady := {
        name
        for name, each in moving.items()
        if all(is_steady(node, bound, found, equation) for node in n.walk(each.body))
    }:
        found |= steady
        moving = {name: each for name, each in moving.items() if name not in steady}
    return frozenset(found)


def is_steady(node: Any, bound: Set[str], known: Set[str], equation: Equation) -> bool:
    match node:
        case n.Ref(name=name, role="index" | "pack"):
            return name in bound
        case n.Apply(name=name):
            return name in known or all(name != each.name for each in equation.where)
        case _:
            return True


def once_a_point(name: str, value: Closure) -> Closure:
    """A part of an equation that is computed once at each point, where it is asked for."""

    def known_value(env: Env) -> Any:
        known: dict[str, Any] | None = env.get(POINT)
        if known is None:
            return value(env)
        if name not in known:
            known[name] = value(env)
        return known[name]

    return known_value


Indices = tuple[int, ...]


class NeededFirst(Exception):
    """An element of a recurrence that is not known yet: that one first, then this one again."""

    def __init__(self, indices: Indices) -> None:
        self.indices = indices


def element(definition: Definition, body: Closure, extents: Sequence[Closure]) -> Closure:
    """An element of a `let`, computed once in a call for the same indices; of a recurrence, behind
    the elements that it needs."""
    indices_of = [parameter(name) for name, _ in definition.parameters]

    def value(env: Env) -> Any:
        known: dict[Any, Any] = env.setdefault("$lists", {})
        try:
            indices = tuple([index(env) for index in indices_of])
        except FormulaError:
            return body(env)  # it may not ask for that index
        key = (definition.name, indices)
        if key in known:
            return known[key]
        if definition.axis is None:
            known[key] = body(env)
        else:
            is_there(definition, indices, extents, env)
            computed_in_order(definition, body, indices, env)
        return known[key]

    return value


def computed_in_order(definition: Definition, body: Closure, indices: Indices, env: Env) -> None:
    """Compute an element of a recurrence: on a stack of our own, as it may go far back."""
    names = [name for name, _ in definition.parameters]
    wanted = [indices]
    while wanted:
        inner = {**env, **dict(zip(names, wanted[-1], strict=True))}
        try:
            env["$lists"][definition.name, wanted[-1]] = body(inner)
        except NeededFirst as needed:
            wanted.append(needed.indices)
        else:
            wanted.pop()


def earlier(definition: Definition, arguments: Sequence[Closure]) -> Closure:
    """An element of the recurrence that is being computed."""

    def value(env: Env) -> Any:
        indices = tuple(argument(env) for argument in arguments)
        key = (definition.name, indices)
        if key in env["$lists"]:
            return env["$lists"][key]
        if min(indices) < 0:
            raise _outside(definition, env)
        raise NeededFirst(indices)

    return value


def is_there(
    definition: Definition, indices: Indices, extents: Sequence[Closure], env: Env
) -> None:
    """Refuse an element that the indices of a recurrence do not reach."""
    for index, extent in zip(indices, extents, strict=True):
        if not 0 <= index < extent(env):
            raise _outside(definition, env)


def _outside(definition: Definition, env: Env) -> OutsideAccess:
    message = f"{definition.name} has no such element"
    about = tuple(n.Ref(name, "parameter", definition.span) for name, _ in definition.parameters)
    return OutsideAccess(definition.span, message, env, about)
