"""Calls at the edges of an operator's schedules: each number that its text compares, divides or
steps by is an extent, and so are its neighbours."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import islice
from math import prod
from typing import Any

from cvmgen.errors import OperatorError
from cvmgen.reference.failures import FormulaError, WorkLimit
from cvmgen.reference.sampling import Sampler, Tape
from cvmgen.spec.formula import Operator
from cvmgen.verification.values.calls import Call, tensors_of
from cvmgen.verification.values.validate import with_types

MOST_ELEMENTS = 700  # of the inputs and the outputs of a call together
STEPS = 50_000  # of the evaluator for one call
MOST_EDGE = 130
_NUMBER = re.compile(r"(?:[<>]=?|\+=|[-/%*+]) (\d+)\b")


def edges_of(text: str) -> list[int]:
    """The numbers of a text from 2 on, each with its neighbours."""
    found = {int(each) for each in _NUMBER.findall(text)}
    near = {each + step for each in found if 2 <= each < MOST_EDGE for step in (-1, 0, 1)}
    return sorted(near | {1, 2, 3})


def edge_calls(operator: Operator, text: str, most: int) -> list[Call]:
    """At most so many calls, with inputs of int8 and of int32 by turns; `text` is the kernel's."""
    found: dict[str, Call] = {}
    for call in islice(_calls(operator, edges_of(text)), 40 * most):
        typed = with_types(call, "int8" if len(found) % 2 else "int32")
        found.setdefault(typed.text(), typed)
        if len(found) == most:
            break
    return list(found.values())


def _calls(operator: Operator, edges: list[int]) -> Iterator[Call]:
    """Drawn calls, and then each of them with an extent at an edge."""
    sampler = Sampler(operator)
    tapes: list[Tape] = []
    for _ in range(12):
        accepted = _accepted(sampler)
        if accepted is not None:
            tapes.append(accepted[0])
            yield from _small(accepted[1])
    for edge in edges:
        for at, tape in enumerate(tapes):
            names = [name for name, value in tape.items() if _is_extent(operator, name, value)]
            if names:
                changed = dict(tape)
                name = names[(at + edge) % len(names)]
                changed[name] = _at_edge(tape[name], edge)
                yield from _followed(sampler, changed)


def _accepted(sampler: Sampler) -> tuple[Tape, Any] | None:
    try:
        found = sampler.accepted(STEPS, compute=False)
    except (FormulaError, WorkLimit, OperatorError):
        return None
    return None if found is None else (found[0], found[1])


def _followed(sampler: Sampler, tape: Tape) -> Iterator[Call]:
    try:
        yield from _small(sampler.follow(tape, STEPS, compute=False))
    except (FormulaError, WorkLimit, OperatorError):
        return


def _small(result: Any) -> Iterator[Call]:
    """The call of a result, if it is not too large to look at."""
    call = Call(dict(result.env["$inputs"]), dict(result.env["$attributes"]))
    read = sum(tensor.size for _, tensor in tensors_of(call))
    written = sum(prod(tensor.shape) for tensor in result.outputs.values())
    if read + written <= MOST_ELEMENTS:
        yield call


def _is_extent(operator: Operator, name: str, value: Any) -> bool:
    if name not in {str(each.new) for item in operator.inputs for each in item.extents}:
        return False
    return isinstance(value, int) or (
        isinstance(value, tuple) and bool(value) and all(isinstance(each, int) for each in value)
    )


def _at_edge(value: Any, edge: int) -> Any:
    return (*value[:-1], edge) if isinstance(value, tuple) else edge
