"""What schedules do to the nests of an operator, whatever comes of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from cvmgen.analysis.missed_tiles import missed_tile
from cvmgen.analysis.sums_of_products import NoContraction
from cvmgen.schedule.kernels import Kernels
from cvmgen.schedule.schedules import Schedules
from cvmgen.source import Span, SpecError


@dataclass(frozen=True, slots=True)
class Effects:
    """What the schedules for C do to the nests of an operator, for all choices of types.

    `changes` has the classes of its nests, and the places in the schedule of those actions that
    make something else of a nest; `faults` are the first refusals of each action. `untiled` has the
    nests that tiles would do, by number, and what is in their way for all types.
    """

    changes: Mapping[str, set[int]]
    faults: Sequence[SpecError]
    untiled: Mapping[int, NoContraction]


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
    return Effects(changes, tuple(faults.values()), untiled(kernels))


def untiled(kernels: Kernels) -> dict[int, NoContraction]:
    """What is in the way of tiles, by the number of the nest."""
    found: dict[int, NoContraction | None] = {}
    for kernel in kernels.kernels:
        subject = kernel.subject
        why = missed_tile(subject.body, subject.facts, subject.sizes, subject.unsigned)
        found[kernel.number] = found.get(kernel.number, why) if why is not None else None
    return {number: why for number, why in found.items() if why is not None}
