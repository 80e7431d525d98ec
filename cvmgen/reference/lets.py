"""What definitions are applied to, and the elements of lets."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from cvmgen.reference.binders import Closure
from cvmgen.reference.failures import Env, FormulaError
from cvmgen.spec.formula import Definition


@dataclass(frozen=True, slots=True)
class LazyArgument:
    """What a definition was applied to, until it asks for the value."""

    closure: Closure
    env: Env


def parameter(name: str) -> Closure:
    """What a definition was applied to."""

    def value(env: Env) -> Any:
        found = env[name]
        if found.__class__ is LazyArgument:
            found = env[name] = found.closure(found.env)
        return found

    return value


def element(definition: Definition, body: Closure) -> Closure:
    """An element of a `let`, computed once in a call for the same indices."""
    indices_of = [parameter(name) for name, _ in definition.parameters]

    def value(env: Env) -> Any:
        known: dict[Any, Any] = env.setdefault("$lists", {})
        try:
            indices = tuple(index(env) for index in indices_of)
        except FormulaError:
            return body(env)  # it may not ask for that index
        key = (definition.name, indices)
        if key not in known:
            known[key] = body(env)
        return known[key]

    return value
