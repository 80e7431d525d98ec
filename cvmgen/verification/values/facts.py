"""What is assumed of elements on the way that is gone: conditions, and bounds of polynomials."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from math import gcd
from typing import Any

from cvmgen.verification.values.solver import possible
from cvmgen.verification.values.table import TABLE
from cvmgen.verification.values.terms import (
    Condition,
    Term,
    bounds,
    condition,
    of_key,
    product_bounds,
)
from cvmgen.verification.values.text import condition_text

MOST_SEEN = 100  # atoms in atoms that are gone into for the bounds of a term


class Contradiction(Exception):
    """What is assumed cannot be; its text is made when it is asked for, as most are caught."""

    def __init__(self, test: Condition) -> None:
        super().__init__()
        self.test = test

    def __str__(self) -> str:
        return condition_text(self.test)


class PathFacts:
    """Conditions that hold, the later ones on top."""

    def __init__(self) -> None:
        self.known: dict[tuple[Any, ...], bool] = {}
        self.low: dict[Any, int] = {}
        self.high: dict[Any, int] = {}
        self.undo: list[tuple[dict[Any, Any], Any, Any]] = []

    def conditions(self) -> list[Condition]:
        """All that is assumed."""
        return [condition(core, holds) for core, holds in self.known.items()]

    def possible(self) -> bool:
        """Whether some inputs go this way, as far as a solver knows."""
        return possible(self.conditions())

    def says(self, test: Condition) -> bool | None:
        """Whether a condition holds; None where nothing tells."""
        found = self._core(test.core)
        return found if found is None or test.holds else not found

    def _core(self, core: tuple[Any, ...]) -> bool | None:
        if core in self.known:
            return self.known[core]
        match core:
            case ("ge", key, least):
                low, high = self.range_of(key)
                if low >= least or high < least:
                    return low >= least  # type: ignore[no-any-return]
            case ("eq", key, value):
                low, high = self.range_of(key)
                if not low <= value <= high or low == high:
                    return low <= value <= high  # type: ignore[no-any-return]
            case ("and", parts):
                answers = [self.says(part) for part in parts]
                if False in answers:
                    return False
                if None not in answers:
                    return True
            case _:
                pass
        return None

    def range_of(self, key: Any) -> tuple[int, int]:
        """The bounds of a polynomial, as they are known by now."""
        low, high = self.low.get(key), self.high.get(key)
        if low is None or high is None:
            least, most = bounds(of_key(key))
            low, high = least if low is None else low, most if high is None else high
        return low, high

    def bounds(self, value: Term) -> tuple[int, int]:
        """The bounds of a term: from those of its atoms as they are known by now, and from what is
        known of the polynomial, which conditions have without its constant and common divisor."""
        if not (self.low or self.high):
            return value.low, value.high
        return self._of_parts(value, {})

    def _of_parts(self, value: Term, seen: dict[int, tuple[int, int]]) -> tuple[int, int]:
        parts = dict(value.parts)
        low = high = least = most = parts.pop((), 0)
        divisor = gcd(*parts.values()) * (-1 if parts[min(parts)] < 0 else 1)
        ends = self.range_of(frozenset((each, by // divisor) for each, by in parts.items()))
        least, most = least + min(_times(ends, divisor)), most + max(_times(ends, divisor))
        for monomial, factor in parts.items():
            ends = product_bounds(monomial, lambda number: self._of_atom(number, seen))
            low, high = low + min(_times(ends, factor)), high + max(_times(ends, factor))
        return max(value.low, low, least), min(value.high, high, most)

    def _of_atom(self, number: int, seen: dict[int, tuple[int, int]]) -> tuple[int, int]:
        if number not in seen:
            atom, key = TABLE.atoms[number], frozenset([((number,), 1)])
            low, high = self.low.get(key, atom.low), self.high.get(key, atom.high)
            seen[number] = low, high
            if len(seen) < MOST_SEEN:
                least, most = self._of_operands(atom.key, seen) or (low, high)
                seen[number] = max(low, least), min(high, most)
        return seen[number]

    def _of_operands(
        self, key: tuple[Any, ...], seen: dict[int, tuple[int, int]]
    ) -> tuple[int, int] | None:
        """The bounds of an atom from those of what it is made of."""

        def ends(of: Any) -> tuple[int, int]:
            value = of_key(of)
            return self._of_parts(value, seen) if isinstance(value, Term) else (value, value)

        match key:
            case ("if", test, yes, no):
                said = self.says(test)
                if said is not None:
                    return ends(yes if said else no)
                (low, high), (least, most) = ends(yes), ends(no)
                return min(low, least), max(high, most)
            case ("div", a, int(b)) if b > 0:
                low, high = ends(a)
                return low // b, high // b
            case ("max" | "min" as name, members):
                lows, highs = zip(*map(ends, members), strict=True)
                pick = max if name == "max" else min
                return pick(lows), pick(highs)
            case _:
                return None

    def assume(self, test: Condition) -> None:
        said = self.says(test)
        if said is not None:
            if not said:
                raise Contradiction(test)
            return
        self._set(self.known, test.core, test.holds)
        match test.core:
            case ("ge", key, least) if test.holds:
                while self.known.get(("eq", key, least)) is False:
                    least += 1
                self._set(self.low, key, least)
            case ("ge", key, least):
                least -= 1
                while self.known.get(("eq", key, least)) is False:
                    least -= 1
                self._set(self.high, key, least)
            case ("eq", key, value) if not test.holds:
                low, high = self.range_of(key)
                if value == low:
                    self._set(self.low, key, low + 1)
                if value == high:
                    self._set(self.high, key, high - 1)
            case ("eq", key, value) if test.holds:
                self._set(self.low, key, value)
                self._set(self.high, key, value)
            case ("and", parts) if test.holds:
                for part in parts:
                    self.assume(part)
            case ("and", parts):
                open_parts = [part for part in parts if self.says(part) is not True]
                if len(open_parts) == 1:
                    self.assume(open_parts[0].other)
            case _:
                pass

    def _set(self, table: dict[Any, Any], key: Any, value: Any) -> None:
        self.undo.append((table, key, table.get(key)))
        table[key] = value

    @contextmanager
    def assuming(self, test: Condition) -> Iterator[None]:
        """The condition holds within; Contradiction where it cannot."""
        mark = len(self.undo)
        try:
            self.assume(test)
            yield
        finally:
            while len(self.undo) > mark:
                table, key, before = self.undo.pop()
                if before is None:
                    del table[key]
                else:
                    table[key] = before


def _times(ends: tuple[int, int], factor: int) -> tuple[int, int]:
    return ends[0] * factor, ends[1] * factor
