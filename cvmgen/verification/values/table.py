"""What there is of terms: atoms and conditions by what they are, each once, and what was found of
them. Of one operator's call; `forget_all` begins anew."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from cvmgen.verification.values.terms import Condition, Integer, Truth


class Atom:
    """What polynomials are made of; `key` says all of it, so atoms with equal keys are one."""

    __slots__ = ("high", "key", "low", "number")

    def __init__(self, number: int, key: tuple[Any, ...], low: int, high: int) -> None:
        self.number, self.key, self.low, self.high = number, key, low, high


class TermTable:
    """The atoms and conditions that there are."""

    def __init__(self) -> None:
        self.atoms: list[Atom] = []
        self.by_key: dict[tuple[Any, ...], Atom] = {}
        self.conditions: dict[tuple[Any, ...], Condition] = {}
        self.reals: dict[tuple[Any, ...], Any] = {}
        self.signs: dict[int, tuple[int, int]] = {}  # 1 where an atom is negative; its range
        self.factors: dict[int, tuple[int, Any]] = {}  # what choices are where an atom is not 0
        self.answers: dict[Any, Any] = {}  # what a solver said of conditions
        self.elements: dict[Condition, frozenset[tuple[str, int]]] = {}  # that one speaks of
        self.pushed: dict[tuple[Any, ...], Truth | None] = {}  # tests of choices
        self.values: dict[frozenset[Any], Integer] = {}  # that keys stand for
        self.rebuilt = 0  # atoms under assumptions
        self.spent: list[int] = []  # steps of the solver since it began, after each question


TABLE = TermTable()


def work() -> int:
    """What was done since all was forgotten, in about a thousandth of a second each."""
    return TABLE.rebuilt // 25 + (max(TABLE.spent, default=0) - min(TABLE.spent, default=0)) // 1700


def forget_all() -> None:
    """Begin anew; terms made before must not be used any more."""
    TABLE.rebuilt = 0
    for each in vars(TABLE).values():
        if not isinstance(each, int):
            each.clear()
