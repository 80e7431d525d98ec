"""What is known on the way that is gone, and who decides where nothing tells."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from cvmgen.verification.values.terms import Condition, Term


class Assumed(Protocol):
    """What is known on the way that is gone."""

    def bounds(self, value: Term) -> tuple[int, int]:
        """Between which numbers a term is."""

    def says(self, test: Condition) -> bool | None:
        """Whether a condition holds; None where nothing tells."""

    def assuming(self, test: Condition) -> AbstractContextManager[None]:
        """The condition holds within."""


_assumed: list[Assumed] = []


@contextmanager
def on_way(facts: Assumed) -> Iterator[None]:
    """Within, this is known."""
    _assumed.append(facts)
    try:
        yield
    finally:
        _assumed.pop()


def assumed() -> Assumed | None:
    """What is known on the way that is gone, if one is."""
    return _assumed[-1] if _assumed else None


class Undecided(Exception):
    """A condition on elements is asked for where nothing can decide it."""

    def __init__(self, condition: Condition) -> None:
        super().__init__("a condition that nothing decides")
        self.condition = condition


_deciding: list[Callable[[Condition], bool]] = []


def decide(condition: Condition) -> bool:
    """What whoever explores says of a condition that text asks for."""
    if not _deciding:
        raise Undecided(condition)
    return _deciding[-1](condition)


@contextmanager
def decided_by(decider: Callable[[Condition], bool]) -> Iterator[None]:
    """Within, this decides."""
    _deciding.append(decider)
    try:
        yield
    finally:
        _deciding.pop()
