"""Calls at the edges of an operator's schedules: each number that its text compares, divides or
steps by is an extent, and so are its neighbours."""

from __future__ import annotations

import re
from collections.abc import Iterator
from math import prod
from typing import Any

from cvmgen.errors import OperatorError
from cvmgen.reference.failures import FormulaError, WorkLimit
from cvmgen.reference.sampling import Sampler
from cvmgen.spec.formula import Operator
from cvmgen.verification.values.calls import ChosenCall, tensors_of, with_types

MOST_ELEMENTS = 2000  # of the inputs and the outputs of a call together
STEPS = 50_000  # of the evaluator for one call
MOST_EDGE = 130
_NUMBER = re.compile(r"(?:[<>]=?|\+=|[-/%*+]) (\d+)\b")


def edges_of(text: str) -> list[int]:
    """The numbers of a text from 2 on, each with its neighbours; of a large one, which a product of
    extents reaches, its roots."""
    found = {int(each) for each in _NUMBER.findall(text)}
    roots = {round(each ** (1 / n)) for each in found if each >= MOST_EDGE for n in (2, 3, 4)}
    near = {each + step for each in found | roots if 2 <= each < MOST_EDGE for step in (-1, 0, 1)}
    return sorted(near | {1, 2, 3})


class EdgeSampler(Sampler):
    """A sampler whose extents are at edges, more often in later calls."""

    def __init__(self, operator: Operator, edges: list[int]) -> None:
        super().__init__(operator)
        self.edges, self.often = edges, 0.0

    def extent(self) -> int:
        if self.random.random() < self.often:
            return self.random.choice(self.edges)
        return super().extent()


def edge_calls(operator: Operator, text: str, most: int) -> list[ChosenCall]:
    """Calls with inputs of int8 and of int32 by turns; `text` is the kernel's."""
    found: dict[str, ChosenCall] = {}
    sampler = EdgeSampler(operator, edges_of(text))
    for drawn in range(4 * most):
        sampler.often = drawn / (4 * most)
        for call in _small(_accepted(sampler)):
            typed = with_types(call, "int8" if len(found) % 2 else "int32")
            found.setdefault(typed.text(), typed)
        if len(found) == most:
            break
    return list(found.values())


def _accepted(sampler: Sampler) -> Any | None:
    try:
        found = sampler.accepted(STEPS, compute=False)
    except (FormulaError, WorkLimit, OperatorError):
        return None
    return None if found is None else found[1]


def _small(result: Any) -> Iterator[ChosenCall]:
    """The call of a result, if there is one and it is not too large to look at."""
    if result is None:
        return
    call = ChosenCall(dict(result.env["$inputs"]), dict(result.env["$attributes"]))
    read = sum(tensor.size for _, tensor in tensors_of(call))
    written = sum(prod(tensor.shape) for tensor in result.outputs.values())
    if read + written <= MOST_ELEMENTS:
        yield call
