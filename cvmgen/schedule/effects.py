"""What schedules do to the nests of an operator, whatever comes of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from cvmgen.schedule.kernels import Kernels
from cvmgen.schedule.schedules import Schedules
from cvmgen.source import Span, SpecError


@dataclass(frozen=True, slots=True)
class Effects:
    """What the schedules for C do to the nests of an operator, for all choices of types.

    `changes` has the classes of its nests, and the places in the schedule of those actions that
    make something else of a nest; `faults` are the first refusals of each action.
    """

    changes: Mapping[str, set[int]]
    faults: Sequence[SpecError]


def effects(kernels: Kernels, schedules: Schedules) -> Effects:
    """What becomes of kernels by the schedules for C."""
    changes: dict[str, set[int]] = {}
    faults: dict[Span, SpecError] = {}
    for kernel in kernels.kernels:
        try:
            plan, subject = schedules.chosen("c", kernel.subject)
            if plan is not None:
                known = changes.setdefault(plan.schedule.shape.text, set())
                known |= schedules.changing(plan, subject)
        except SpecError as error:
            faults.setdefault(error.span, error)
    return Effects(changes, tuple(faults.values()))
