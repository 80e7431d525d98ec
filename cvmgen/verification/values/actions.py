"""Each action of a schedule by itself: the text after it, which must compute what it did before.

The text after all actions is compared with the formula anyway. That says whether all of them
together keep the meaning; the texts between say which action does not, where one does not.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from cvmgen.driver import C_KERNELS, TARGETS, C, lower, operator_file, typed_kernels
from cvmgen.schedule.kernels import Kernels
from cvmgen.schedule.schedules import Schedules
from cvmgen.schedule.subject import Subject
from cvmgen.spec.formula import Operator
from cvmgen.verification.values.found import ValidatedCalls
from cvmgen.verification.values.linked import Text
from cvmgen.verification.values.validate import Case, validate_cases


@dataclass(frozen=True, slots=True)
class Step:
    """An action that changes kernels of a nest, and the operator's file as it is behind it."""

    nest: str
    action: str
    text: str


def steps(operator: Operator, schedules: Schedules) -> Iterator[Step]:
    """The text before any action, and after each that makes something else of a nest, one nest
    after the other."""
    kernels = typed_kernels(lower(operator, C))
    yield Step("", "", _emitted(kernels, schedules))
    for number, nest in enumerate(kernels.program.nests):
        plan, _ = schedules.chosen("c", kernels.of(number)[0].subject)
        ways = [subjects(each.subject, schedules) for each in kernels.of(number)]
        for at, use in enumerate(() if plan is None else plan.uses):
            before, after = ([way[min(k, len(way) - 1)] for way in ways] for k in (at, at + 1))
            if any(not one.is_like(other) for one, other in zip(before, after, strict=True)):
                kernels = with_subjects(kernels, number, after)
                yield Step(nest.tensor, use.action.span.text, _emitted(kernels, schedules))


def action_text(step: Step) -> str:
    return f"{step.nest}: {step.action}" if step.action else "the nests as they are lowered"


def subjects(subject: Subject, schedules: Schedules) -> list[Subject]:
    """A nest before its first action, and after each."""
    plan, first = schedules.chosen("c", subject)
    later = () if plan is None else schedules.steps(plan, first)
    return [first, *(each.subject for each in later)]


def with_subjects(kernels: Kernels, number: int, several: Iterable[Subject]) -> Kernels:
    given = iter(several)
    made = (
        replace(each, subject=next(given)) if each.number == number else each
        for each in kernels.kernels
    )
    return replace(kernels, kernels=tuple(made))


def _emitted(kernels: Kernels, schedules: Schedules) -> str:
    """The text of kernels whose schedule has come so far."""
    for name, run in C_KERNELS:
        if name != "schedule":
            kernels = run(kernels, schedules=schedules)
    return TARGETS["c"].emit_operator(kernels, schedules=schedules)


def validated(
    operator: Operator, schedules: Schedules, folder: Path, cases: Iterable[Case]
) -> Iterator[tuple[Step, ValidatedCalls]]:
    """Each step beside the formula, for all values; `folder` has the generated files."""
    cases = tuple(cases)
    file = operator_file(operator, "c").removeprefix("c/")
    for each in steps(operator, schedules):
        yield each, validate_cases(operator, Text(folder, {file: each.text}), cases)
