"""What stages and actions changed, as lines of a diff."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from difflib import SequenceMatcher

from cvmgen import driver
from cvmgen.inspection.stages import kernels_text, mapping_text, stage_purpose
from cvmgen.inspection.story import StageChange, as_added
from cvmgen.ir import nodes as i
from cvmgen.ir.text import block_lines, program_text
from cvmgen.schedule.classes import CLASSES
from cvmgen.schedule.schedules import Schedules, action_lines
from cvmgen.schedule.subject import Subject
from cvmgen.spec.formula import Operator

UNCHANGED = " changes nothing"
AROUND = 2  # lines that stay, around those that change


def differences(
    programs: Iterable[tuple[str, i.Program]], before: Sequence[str]
) -> Iterator[StageChange]:
    """What each of the stages changed of a program, which has the lines `before`, if there are."""
    for name, program in programs:
        after = program_lines(program)
        yield change(name, _difference(before, after) if before else as_added(after))
        before = after


def program_lines(program: i.Program) -> list[str]:
    return program_text(program).splitlines()


def kernel_changes(operator: Operator, target: str, schedules: Schedules) -> Iterator[StageChange]:
    """What the stages of kernels made of a target's program."""
    kernel_passes = dict(driver.TARGETS[target].kernel_passes or ())
    if "schedule" in kernel_passes:
        yield scheduled_change(operator, target, schedules)
    before: list[str] = []
    for name in (each for each in driver.PARTS if each in kernel_passes):
        lines = kernels_text(operator, target, name, schedules).splitlines()
        new = not before or name == driver.PARTS[-1]  # which is a call, and no kernels
        yield change(name, as_added(lines) if new else _difference(before, lines))
        before = lines


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
    before, lines = subject, block_lines(subject.body)
    for step in schedules.all_steps(plan, subject):
        told = list(action_lines(before, step, whole=False))
        after = lines if step.subject.body is before.body else block_lines(step.subject.body)
        changed = _difference(lines, after)
        yield StageChange(step.use.action.span.text, (*(f" {line}" for line in told), *changed))
        before, lines = step.subject, after


def _difference(before: Sequence[str], after: Sequence[str]) -> list[str]:
    """Lines that go and that come, with some of those around them; where others are left out
    stands `...`."""
    if before == after:
        return [UNCHANGED]
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
    return found
