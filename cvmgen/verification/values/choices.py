"""Values that conditions on elements choose, and entries that they point to."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from cvmgen.verification.values import extremes, pieces
from cvmgen.verification.values import real_terms as rt
from cvmgen.verification.values import terms as t
from cvmgen.verification.values.assumed import Assumed, Undecided, assumed, decided_by
from cvmgen.verification.values.facts import Contradiction
from cvmgen.verification.values.table import TABLE

MOST_ENTRIES = 4096


class TooMany(Exception):
    """An index could be more than is gone through."""


def lookup(index: t.Integer, read: Callable[[int], Any]) -> Any:
    """read(index) for an index that depends on elements: of entries one behind the other, as far
    as the index may come on the way that is gone."""
    if isinstance(index, int):
        return read(index)
    low, high = t.bounds_here(index)
    found = sides(index) or _narrower_sides(index, low, high)
    if found is not None:
        test, *ways = found
        return _by_test(test, [partial(lookup, way, read) for way in ways])
    parts = dict(index.parts)
    shift = parts.pop((), 0)
    step = math.gcd(*parts.values())
    inner = t.of_parts({key: factor // step for key, factor in parts.items()}, 0, 0)
    assert isinstance(inner, t.Term)
    inner.low, inner.high = -(-(index.low - shift) // step), (index.high - shift) // step
    first, last = -(-(low - shift) // step), max(low - shift, high - shift) // step
    if last - first >= MOST_ENTRIES:
        raise TooMany(f"an index from {low} to {high}")
    entries = [read(at * step + shift) for at in range(first, max(first, last) + 1)]
    return entry_of(inner, first, entries)


def sides(value: Any) -> tuple[t.Condition, t.Integer, t.Integer] | None:
    """The test of the choice that a number is, but for a factor and a constant, with the number
    where it holds and where not."""
    parts = [each for each in value.parts if each] if isinstance(value, t.Term) else ()
    if len(parts) != 1 or len(parts[0]) != 1:
        return None
    kind, *key = TABLE.atoms[parts[0][0]].key
    if kind != "if":
        return None
    factor, constant = value.parts[parts[0]], value.parts.get((), 0)
    yes, no = (t.add(t.multiply(t.of_key(each), factor), constant) for each in key[1:])
    return key[0], yes, no


def _narrower_sides(
    index: t.Term, low: int, high: int
) -> tuple[t.Condition, t.Integer, t.Integer] | None:
    """The test of a choice in an index, with the index on both sides, whose range is smaller where
    it is known which side is gone."""
    facts = assumed()
    for monomial, factor in index.parts.items() if facts is not None else ():
        key = TABLE.atoms[monomial[0]].key if len(monomial) == 1 else ()
        if key[:1] != ("if",):
            continue
        assert facts is not None
        _, test, *ways = key
        rest = t.add(index, t.negated(t.of_parts({monomial: factor}, 0, 0)))
        yes, no = (t.add(rest, t.multiply(t.of_key(way), factor)) for way in ways)
        found = zip((test, test.other), (partial(_ends, yes), partial(_ends, no)), strict=True)
        there = [ends for each in found if (ends := _where(facts, *each)) is not None]
        if there and (min(there)[0] > low or max(each[1] for each in there) < high):
            return test, yes, no
    return None


def _ends(value: t.Integer) -> tuple[int, int]:
    return (value, value) if isinstance(value, int) else t.bounds_here(value)


def _by_test(test: t.Condition, found: Sequence[Callable[[], Any]]) -> Any:
    """What is found where a test holds, and where it does not."""
    yes, no = on_sides(test, *found)
    return choose(test, yes, no)


def on_sides(test: t.Condition, yes: Callable[[], Any], no: Callable[[], Any]) -> tuple[Any, Any]:
    """What is found where a test holds, and where it does not; on a side that cannot be, what is
    found on the other."""
    facts = assumed()
    if facts is None:
        return yes(), no()
    found = [_where(facts, *each) for each in ((test, yes), (test.other, no))]
    there = [each for each in found if each is not None]
    if not there:
        raise Contradiction(test)
    return (*found,) if len(there) == 2 else (*there, *there)


def _where(facts: Assumed, test: t.Condition, found: Callable[[], Any]) -> Any:
    """What is found where a test holds; None where it cannot. What is decided on the way holds
    behind it too: where that is asked for, no test is assumed."""
    try:
        with facts.assuming(test), decided_by(_nobody):
            return found()
    except Contradiction:
        return None
    except Undecided:
        return found()


def _nobody(test: t.Condition) -> bool:
    raise Undecided(test)


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
    if any(isinstance(each, t.Condition) for each in entries):
        return t.equal(entry_of(index, first, [choose(each, 1, 0) for each in entries]), 1)
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
    facts = assumed()
    said = facts.says(test) if facts is not None and isinstance(test, t.Condition) else None
    if not isinstance(test, t.Condition) or said is not None:
        return yes if (test if said is None else said) else no
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
    if isinstance(yes, int) and isinstance(no, int):
        return t.add(yes, t.multiply(t.atom(("if", test, 0, 1), 0, 1), no - yes))
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
    by, yes, no = sides(value) or (None, value, value)
    return value if by is not test else yes if holds else no


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
