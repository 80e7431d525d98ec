"""Values that conditions on elements choose, and entries that they point to."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

from cvmgen.verification.values import extremes, pieces
from cvmgen.verification.values import real_terms as rt
from cvmgen.verification.values import terms as t

MOST_ENTRIES = 4096


class TooMany(Exception):
    """An index could be more than is gone through."""


def lookup(index: t.Integer, read: Callable[[int], Any]) -> Any:
    """read(index) for an index that depends on elements: of entries one behind the other."""
    if isinstance(index, int):
        return read(index)
    chosen = t.single(t.add(index, -index.parts.get((), 0)))
    if chosen is not None and chosen.key[0] == "if":
        shift = index.parts.get((), 0)
        ways = [lookup(t.add(t.of_key(key), shift), read) for key in chosen.key[2:]]
        return choose(chosen.key[1], *ways)
    t.tighten(index)
    parts = dict(index.parts)
    shift = parts.pop((), 0)
    step = math.gcd(*parts.values())
    inner = t.of_parts({key: factor // step for key, factor in parts.items()}, 0, 0)
    assert isinstance(inner, t.Term)
    inner.low, inner.high = -(-(index.low - shift) // step), (index.high - shift) // step
    if inner.high - inner.low >= MOST_ENTRIES:
        raise TooMany(f"an index from {index.low} to {index.high}")
    entries = [read(at * step + shift) for at in range(inner.low, inner.high + 1)]
    return entry_of(inner, inner.low, entries)


def possible(value: t.Term) -> list[int]:
    """The numbers that a term may be."""
    found: dict[int, None] = {}

    def note(at: int) -> int:
        found[at] = None
        return at

    lookup(value, note)
    return list(found)


def entry_of(index: t.Term, first: int, entries: list[Any]) -> Any:
    """The entry at index - first."""
    if any(isinstance(each, (rt.RealTerm, float)) for each in entries):
        return rt.real("entry", index, first, *entries)
    keys = tuple(t.key_of(each) for each in entries)
    if len(set(keys)) == 1:
        return entries[0]
    apart = _by_parts(entries, lambda several: entry_of(index, first, several))
    if apart is not None:
        return apart
    low = min(t.bounds(each)[0] for each in entries)
    high = max(t.bounds(each)[1] for each in entries)
    return t.atom(("entry", t.key_of(index), first, keys), low, high)


def choose(test: t.Truth, yes: Any, no: Any) -> Any:
    """`yes` where the test holds, else `no`."""
    if not isinstance(test, t.Condition):
        return yes if test else no
    if not test.holds:
        test, yes, no = test.other, no, yes
    if yes is no:
        return yes
    if isinstance(yes, (t.Condition, bool)) and isinstance(no, (t.Condition, bool)):
        return t.either(t.both(test, yes), t.both(test.other, no))
    if isinstance(yes, (rt.RealTerm, float)) or isinstance(no, (rt.RealTerm, float)):
        return _choose_real(test, yes, no)
    return _choose_integer(test, yes, no)


def _choose_real(test: t.Condition, yes: rt.Real, no: rt.Real) -> rt.Real:
    """Of what is no number there is one form: it stands for itself where a test finds it."""
    if isinstance(yes, float) and isinstance(no, float) and rt.real_key(yes) == rt.real_key(no):
        return yes
    if (
        test.core[0] == "nan"
        and isinstance(yes, float)
        and yes != yes
        and rt.carries_nan(no, test.core[1])
    ):
        return no
    return rt.real("if", test, yes, no)


def _choose_integer(test: t.Condition, yes: t.Integer, no: t.Integer) -> t.Integer:
    several = _by_parts([yes, no], lambda both: choose(test, *both))
    if several is not None:
        return several
    difference = t.add(yes, t.negated(no))
    if isinstance(difference, int) and difference == 0:
        return yes
    yes, no = _within(yes, test, True), _within(no, test, False)
    difference = t.add(yes, t.negated(no))
    if test.core[0] == "ge" and isinstance(difference, t.Term):
        # yes where yes - no >= 0, or > 0: the greater one; where it is <= 0, or < 0: the less
        if any(t.at_least(difference, least) is test for least in (0, 1)):
            return extremes.maximum([yes, no])
        if any(t.at_least(t.negated(difference), least) is test for least in (0, 1)):
            return extremes.minimum([yes, no])
    (low, high), (least, most) = t.bounds(yes), t.bounds(no)
    # what t.both have in common stands outside
    common, yes, no = _common(yes, no)
    (low, high), (least, most) = t.bounds(yes), t.bounds(no)
    made = t.atom(("if", test, t.key_of(yes), t.key_of(no)), min(low, least), max(high, most))
    return t.add(made, common)


def _common(yes: t.Integer, no: t.Integer) -> tuple[t.Integer, t.Integer, t.Integer]:
    """Monomials of t.both with t.equal factors, and what is left of each."""
    if not (isinstance(yes, t.Term) and isinstance(no, t.Term)):
        return 0, yes, no
    shared = {key: each for key, each in yes.parts.items() if no.parts.get(key) == each}
    if not shared:
        return 0, yes, no
    outer = t.of_parts(shared, *t.bounds_of(shared))
    rests = []
    for each in (yes, no):
        rest = {key: factor for key, factor in each.parts.items() if key not in shared}
        rests.append(t.of_parts(rest, *t.bounds_of(rest)))
    return outer, rests[0], rests[1]


def _within(value: t.Integer, test: t.Condition, holds: bool) -> t.Integer:
    """A choice by the same test below is decided."""
    inner = t.single(value)
    if inner is not None and inner.key[0] == "if" and inner.key[1] is test:
        return t.of_key(inner.key[2 if holds else 3])  # type: ignore[no-any-return]
    return value


def _by_parts(values: Sequence[Any], join: Callable[[list[Any]], Any]) -> t.Integer | None:
    """Of values that are each several behind each other: what lies at one place by itself."""
    parts = [pieces.parts_of(value) for value in values]
    ways = [pieces.wholes(each) for each in parts if each is not None]
    if len(ways) < len(values):
        return None
    sizes = [size for size, _ in ways[0]]
    if any([size for size, _ in way] != sizes for way in ways):
        return None
    joined = (join([t.of_key(way[at][1]) for way in ways]) for at in range(len(sizes)))
    return pieces.of_wholes(list(zip(sizes, map(t.key_of, joined), strict=True)))
