"""What stages and actions changed, as lines of a diff."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher

from cvmgen import driver
from cvmgen.inspection.stages import (
    kernels_text,
    mapping_text,
    programs,
    stage_purpose,
    stage_text,
)
from cvmgen.ir.text import block_lines, program_text
from cvmgen.schedule.classes import CLASSES
from cvmgen.schedule.schedules import Schedules, action_lines
from cvmgen.schedule.subject import Subject
from cvmgen.spec.formula import Operator

AROUND = 2  # lines that stay, around those that change


@dataclass(frozen=True, slots=True)
class StageChange:
    """What a stage or an action is, and the lines of what it made; each begins with `+`, `-` or a
    blank. `parts` are the actions of a stage."""

    title: str
    lines: tuple[str, ...] = ()
    parts: tuple[StageChange, ...] = ()


def stage_changes(operator: Operator, target: str, schedules: Schedules) -> Iterator[StageChange]:
    """Each stage of a target with what it changed."""
    for name in ("parse", "check"):
        yield change(name, as_added(stage_text(operator, name).splitlines()))
    before: list[str] = []
    for name, program in programs(operator, target):
        after = program_text(program).splitlines()
        yield change(name, as_added(after) if not before else _difference(before, after))
        before = after
    kernel_passes = dict(driver.TARGETS[target].kernel_passes or ())
    if "schedule" in kernel_passes:
        yield scheduled_change(operator, target, schedules)
    for name in (each for each in driver.PARTS if each in kernel_passes):
        yield change(name, as_added(kernels_text(operator, target, name, schedules).splitlines()))


def change(stage: str, lines: Sequence[str]) -> StageChange:
    return StageChange(f"{stage}: {stage_purpose(stage)}", tuple(lines))


def scheduled_change(operator: Operator, target: str, schedules: Schedules) -> StageChange:
    title = f"schedule: {stage_purpose('schedule')}"
    if target != "c":
        return StageChange(title, tuple(as_added(mapping_text(operator, schedules).splitlines())))
    kernels = driver.typed_kernels(driver.lower(operator, driver.C))
    nests = []
    for number, nest in enumerate(kernels.program.nests):
        case = "" if nest.case is None else f" (case {nest.case})"
        parts = tuple(action_changes(schedules, kernels.widest(number).subject))
        nests.append(StageChange(f"nest {nest.tensor}{case}: {nest.formula}", parts=parts))
    return StageChange(title, parts=tuple(nests))


def action_changes(schedules: Schedules, subject: Subject) -> Iterator[StageChange]:
    """The class of a nest and why, then each action of the schedule with what it made of it."""
    plan, subject = schedules.chosen("c", subject)
    if plan is None:
        yield StageChange("no schedule is for nests like this one")
        return
    kind = plan.schedule.shape.text
    roles = [
        f" {name}: {', '.join(members) or 'none'} ({CLASSES[kind].roles[name]})"
        for name, members in subject.roles.items()
    ]
    place = plan.schedule.span.place
    yield StageChange(f"{kind}, by {place}: {CLASSES[kind].doc}", tuple(roles))
    before = subject
    for step in schedules.all_steps(plan, subject):
        told = list(action_lines(before, step, whole=False))
        changed = _difference(block_lines(before.body), block_lines(step.subject.body))
        yield StageChange(step.use.action.span.text, (*(f" {line}" for line in told), *changed))
        before = step.subject


def as_added(lines: Sequence[str]) -> list[str]:
    return [f" {line}" for line in lines]


def _difference(before: Sequence[str], after: Sequence[str]) -> list[str]:
    """Lines that go and that come, with some of those around them; where others are left out
    stands `...`."""
    found: list[str] = []
    groups = SequenceMatcher(None, before, after, autojunk=False).get_grouped_opcodes(AROUND)
    for group in groups:
        found += [" ..."] if group[0][1] or found else []
        for tag, low, high, new_low, new_high in group:
            if tag == "equal":
                found += [f" {line}" for line in before[low:high]]
                continue
            found += [f"-{line}" for line in before[low:high]]
            found += [f"+{line}" for line in after[new_low:new_high]]
    return found or [" changes nothing"]
