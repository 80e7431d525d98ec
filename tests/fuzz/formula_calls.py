"""Calls of invented formulas: small extents, elements and attributes at their ends."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import prod
from random import Random
from typing import Any

import numpy as np

from tests.fuzz.formula_trees import REALS, Invented


@dataclass(frozen=True)
class Drawn:
    """A call: for each input its shape (a list of them, or None), its type and its numbers."""

    shapes: tuple[Any, ...]
    types: tuple[str, ...]
    values: tuple[Any, ...]
    attributes: Mapping[str, Any]


SIDES = (1, 2, 3, 4, 5)


def draw(invented: Invented, random: Random, sides: Sequence[int] = SIDES) -> Drawn:
    """A call of small extents; numbers and attributes are often the ends of what is declared."""
    low = 0 if invented.empty and random.random() < 0.4 else 1
    extents = {name: random.choice((low, *sides)) for name in "NMK"} | {"3": 3}
    packs = {
        name: tuple(random.choice((low, 1, 2, 3)) for _ in range(random.choice((low, 1, 1, 2, 3))))
        for name in "nm"
    }
    row = random.choice(invented.types)
    shapes, values = [], []
    types = tuple(row[each.name] for each in invented.inputs)
    for item, type_name in zip(invented.inputs, types, strict=True):
        shape: list[int] = []
        for slot in () if item.several else item.slots:
            shape += packs[slot[:-3]] if slot.endswith("...") else [extents[slot]]
        if item.optional and random.random() < 0.4:
            shapes.append(None)
            values.append(None)
        elif item.several:
            rank = random.choice((1, 2))
            several = [
                tuple(random.choice((low, 1, 2, 3)) for _ in range(rank))
                for _ in range(random.choice((1, 2, 3)))
            ]
            shapes.append(several)
            values.append([numbers(random, type_name, prod(each)) for each in several])
        else:
            shapes.append(tuple(shape))
            values.append(numbers(random, type_name, prod(shape)))
    given = {
        each.name: random.choice(each.values)
        for each in invented.attributes
        if each.required or random.random() < 0.7
    }
    return Drawn(tuple(shapes), types, tuple(values), given)


def numbers(random: Random, type_name: str, count: int) -> list[Any]:
    """Elements of a type: its ends, those of a precision, small ones, numbers that are none."""
    if type_name == "bool":
        return [random.random() < 0.5 for _ in range(count)]
    if type_name in REALS:
        odd = (0.0, -0.0, float("inf"), float("-inf"), float("nan"), 0.1, 1e30, -2.5, 3.0)
        return [
            random.choice(odd) if random.random() < 0.5 else float(random.randint(-9, 9))
            for _ in range(count)
        ]
    bits = random.choice((1, 2, 4, 8, 16, 32)) if type_name == "cvm" else int(type_name[3:])
    high = (1 << (bits - 1)) - 1
    low = -high if type_name == "cvm" else -high - 1
    ends = (low, high, 0, min(1, high))
    wide = random.random() < 0.5
    return [
        random.choice(ends)
        if random.random() < 0.4
        else random.randint(*((low, high) if wide else (max(low, -9), min(high, 9))))
        for _ in range(count)
    ]


def arrays(drawn: Drawn, random: Random) -> list[Any]:
    """The inputs; elements with a precision are int8 where they fit, half of the time."""
    inputs: list[Any] = []
    for shape, type_name, values in zip(drawn.shapes, drawn.types, drawn.values, strict=True):
        if shape is None:
            inputs.append(None)
        elif isinstance(shape, list):
            inputs.append([array(*each, type_name, 32) for each in zip(shape, values, strict=True)])
        else:
            small = type_name == "cvm" and all(abs(each) < 128 for each in values)
            bits = 8 if small and random.random() < 0.5 else 32
            inputs.append(array(shape, values, type_name, bits))
    return inputs


def array(shape: Sequence[int], values: Sequence[Any], type_name: str, bits: int) -> Any:
    dtype = f"int{bits}" if type_name == "cvm" else type_name
    return np.array(values, dtype).reshape(tuple(shape))
