"""Attributes of a call, for generated Python operators: what converts their values, and refuses
what is none. The python target carries a copy of this file beside its operators.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set
from typing import Any

import numpy as np

from ._rules import (
    BEYOND_INT64,
    HIGHEST,
    LIST_LIMIT,
    LOWEST,
    MAX_RANK,
    REAL_BEYOND,
    REAL_NEEDED,
    REALS_NEEDED,
    needed,
    range_rule,
    reals_text,
    refuse,
    shape_text,
    with_terms,
)

NO_LISTS = (str, bytes, Mapping, Set)
"""What can be gone through and is no list: texts, and what has no order or holds more than keys."""
MOST_EXACT = 1 << 53  # the integers up to it are real numbers of 64 bits


def is_integer(value: Any) -> bool:
    return isinstance(value, (int, np.integer)) and not isinstance(value, bool)


def integer(operator: str, name: str, value: Any, words: Sequence[str] = ()) -> int:
    """An integer attribute; `words` are what it could be given instead."""
    if not is_integer(value):
        refuse(operator, name, repr(value), needed("an integer", words))
    return in_64_bits(operator, name, int(value))


def in_64_bits(operator: str, name: str, value: int) -> int:
    """The value; one that the C interface cannot hold is refused everywhere."""
    if not LOWEST <= value <= HIGHEST:
        refuse(operator, name, str(value), BEYOND_INT64)
    return value


def real(operator: str, name: str, value: Any) -> float:
    """A real attribute: a number of 64 bits, or an integer that is one."""
    if isinstance(value, (bool, np.bool_)) or not isinstance(
        value, (int, float, np.integer, np.floating)
    ):
        refuse(operator, name, repr(value), REAL_NEEDED)
    if is_integer(value) and abs(int(value)) > MOST_EXACT:
        refuse(operator, name, str(value), REAL_BEYOND)
    return float(value)


def boolean(operator: str, name: str, value: Any) -> bool:
    if isinstance(value, (bool, np.bool_)):
        return bool(value)
    if isinstance(value, (int, np.integer)) and value in (0, 1):
        return bool(value)
    refuse(operator, name, repr(value), "true or false is needed")


def word(operator: str, name: str, value: Any, words: Sequence[str]) -> str:
    """An attribute that is given one of its words."""
    if not isinstance(value, str) or value not in words:
        refuse(operator, name, repr(value), needed("", words))
    return str(value)


def integer_or_word(
    operator: str, name: str, value: Any, words: Sequence[str]
) -> tuple[int, str | None]:
    """An integer attribute, 0 where it is given a word; and the word."""
    if isinstance(value, str) and value in words:
        return 0, str(value)
    return integer(operator, name, value, words), None


def integers_or_word(
    operator: str, name: str, value: Any, length: int | None, words: Sequence[str]
) -> tuple[tuple[int, ...], str | None]:
    """A list attribute, with entries of 0 where it is given a word; and the word."""
    if isinstance(value, str) and value in words:
        return (0,) * (length or 0), str(value)
    return integers(operator, name, value, length, words), None


def integers(
    operator: str, name: str, value: Any, length: int | None, words: Sequence[str] = ()
) -> tuple[int, ...]:
    """A list attribute; of a fixed length unless `length` is None.

    One integer stands for every entry of a list of fixed length; `words` are what the attribute
    could be given instead.
    """
    rule = needed("a tuple of integers", words)
    if length is not None and is_integer(value):
        value = (value,) * length
    entries = _listed(value)
    if entries is None or not all(map(is_integer, entries)):
        refuse(operator, name, repr(value), rule)
    result = tuple(in_64_bits(operator, name, int(entry)) for entry in entries)
    if length is not None and len(result) != length:
        refuse(operator, name, shape_text(result), f"{length} entries needed")
    if length is None and len(result) > MAX_RANK:
        refuse(operator, name, f"{len(result)} entries", LIST_LIMIT)
    return result


def reals(operator: str, name: str, value: Any, length: int | None) -> tuple[float, ...]:
    """A list of real numbers; of a fixed length unless `length` is None, for every entry of which
    one number stands."""
    if length is not None and isinstance(value, (int, float, np.integer, np.floating)):
        value = (value,) * length
    entries = _listed(value)
    if entries is None:
        refuse(operator, name, repr(value), REALS_NEEDED)
    result = tuple(real(operator, name, each) for each in entries)
    if length is not None and len(result) != length:
        refuse(operator, name, reals_text(result), f"{length} entries needed")
    if length is None and len(result) > MAX_RANK:
        refuse(operator, name, f"{len(result)} entries", LIST_LIMIT)
    return result


def _listed(value: Any) -> tuple[Any, ...] | None:
    """The entries of a list; None for what is none."""
    try:
        return None if isinstance(value, NO_LISTS) else tuple(value)
    except TypeError:
        return None


def check_range(
    operator: str, name: str, value: Any, low: int, high: int, shown: str, named: str = ""
) -> None:
    """Every entry (or the value itself) in low <= entry < high."""
    entries = value if isinstance(value, tuple) else (value,)
    if all(low <= entry < high for entry in entries):
        return
    text = shape_text(value) if isinstance(value, tuple) else str(value)
    refuse(operator, name, text, with_terms(range_rule(shown), named))
