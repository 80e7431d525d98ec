"""What functions made of operators and programs, remembered by these themselves.

They never change, and to compare them by value would take a walk through all of one.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import ParamSpec, TypeVar

MOST = 32
"""So many results of each function, those asked for last. (Tests, which ask for all operators
again and again, keep more.)"""

Arguments = ParamSpec("Arguments")
Result = TypeVar("Result")


SMALL = 16
"""Of what is small so many times as many: of all operators of a project."""

PARTS = 128
"""Of parts of programs."""


def remembered(
    function: Callable[Arguments, Result], times: int = 1
) -> Callable[Arguments, Result]:
    """The function, which makes the same of the same arguments but once; they are compared by
    identity, so a result keeps its arguments alive. So many `times` MOST are kept."""
    known: dict[tuple[int, ...], tuple[object, Result]] = {}

    @wraps(function)
    def call(*arguments: Arguments.args, **named: Arguments.kwargs) -> Result:
        assert not named, "what is remembered is told by its place"
        key = tuple(map(id, arguments))
        found = known.pop(key, None) or (arguments, function(*arguments, **named))
        while len(known) >= times * MOST:
            del known[next(iter(known))]
        known[key] = found
        return found[1]

    return call


def remembered_of_parts(function: Callable[Arguments, Result]) -> Callable[Arguments, Result]:
    """The same of parts of programs, most of which stay as they are from stage to stage."""
    return remembered(function, PARTS)


def remembered_of_all(function: Callable[Arguments, Result]) -> Callable[Arguments, Result]:
    """The same of a function whose results are small."""
    return remembered(function, SMALL)
