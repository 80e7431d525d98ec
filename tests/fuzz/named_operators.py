"""Operators for schedules to try, by name: `rows` is written out, `shaped7` and `free7` are the
invented ones of that number."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from functools import cache
from random import Random

from tests.fuzz import formula_calls, formulas
from tests.fuzz.scheduled_operators import OPERATORS, Drawn, Invented
from tests.fuzz.shaped_formulas import shaped

LONGER = (1, 2, 3, 4, 5, 7, 8, 9, 16, 17, 33)


def free(seed: int) -> Invented:
    """An operator of any kind, with calls of longer extents."""
    one = formulas.invent(seed)

    def draw(random: Random) -> Drawn:
        drawn = formula_calls.draw(one, random, LONGER)
        return formula_calls.arrays(drawn, random), dict(drawn.attributes)

    return Invented(one.text, draw)


INVENTED: Mapping[str, Callable[[int], Invented]] = {"shaped": shaped, "free": free}


@cache
def operator_named(name: str) -> Invented:
    found = re.fullmatch(r"(shaped|free)(\d+)", name)
    return OPERATORS[name] if found is None else INVENTED[found[1]](int(found[2]))


def text_of(name: str, new: str) -> str:
    """The operator by another name."""
    items = operator_named(name).items
    if name.startswith("free"):
        return formulas.DEFINITIONS + re.sub(r"operator \w+", f"operator {new}", items, count=1)
    return f'operator {new} {{\n"{name}"\n{items}\n}}\n'


def drawn_name(random: Random) -> str:
    """An operator that is written out, or one that is invented."""
    kind = random.choice(("own", "shaped", "shaped", "shaped", "free"))
    if kind == "own":
        return random.choice([*OPERATORS])
    return f"{kind}{random.randrange(10**6)}"
