"""The schedules of a spec folder: checked, found by the class of a nest, applied to it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

from cvmgen.analysis.tiling import tiling_lines
from cvmgen.ir import nodes as i
from cvmgen.ir.remember import remembered
from cvmgen.ir.text import block_lines
from cvmgen.ir.uses import nodes_in
from cvmgen.paths import schedules_folder, spec_folder
from cvmgen.schedule.actions import ACTIONS
from cvmgen.schedule.classes import CLASSES, Class
from cvmgen.schedule.forms import Known, Settings, UnsureError, Use, matched, one_of
from cvmgen.schedule.intrinsics import Intrinsic, checked_intrinsic
from cvmgen.schedule.legality import applied
from cvmgen.schedule.measures import MEASURES
from cvmgen.schedule.subject import InModel, Subject
from cvmgen.source import SpecError, SpecErrors
from cvmgen.spec.schedules import (
    Action,
    IntrinsicBlock,
    OperandName,
    Schedule,
    ScheduleDefinition,
    read_files,
)

TARGETS = ("c", "cuda", "model")
"""What has schedules: the nests of operators in C and CUDA, and the steps of models in C."""


@dataclass(frozen=True, slots=True)
class CheckedSchedule:
    """A schedule whose actions are checked."""

    schedule: Schedule
    uses: tuple[Use, ...]


@dataclass(frozen=True, slots=True)
class ScheduledStep:
    """What a nest looks like after an action."""

    use: Use
    subject: Subject


@dataclass(frozen=True, slots=True)
class Schedules:
    """Plans by the target and the class of nests, and the intrinsics that they may name."""

    plans: Mapping[tuple[str, str], CheckedSchedule]
    intrinsics: Mapping[str, Intrinsic]

    @remembered  # asked for each operator
    def meaning_for(self, target: str) -> str:
        """The same text for schedules that do the same with the nests of a target."""
        return "\n".join(repr(p.schedule) for (t, _), p in self.plans.items() if t == target)

    @remembered
    def quoted(self) -> str:
        """The same text for schedules that say the same in the same places."""
        return "\n".join(f"{p.schedule.span.place} {p.schedule!r}" for p in self.plans.values())

    @remembered
    def chosen(self, target: str, subject: Subject) -> tuple[CheckedSchedule | None, Subject]:
        """The plan for a nest, and the nest with the roles that the plan speaks of."""
        for name, kind in CLASSES.items():
            if subject.sequential and name != "recurrence":
                continue  # others may take its iterations in any order
            plan = self.plans.get((target, name))
            roles = None if plan is None else kind.recognise(subject)
            if roles is not None:
                return plan, replace(subject, roles=roles)
        return None, subject

    def says(self, target: str, shape: str, action: str) -> Use | None:
        """An action of the schedule of a class, where it has that."""
        plan = self.plans.get((target, shape))
        uses = () if plan is None else plan.uses
        return next((use for use in uses if use.action.name == action), None)

    def mappings(self, target: str) -> list[tuple[str, Settings]]:
        """The mappings of a target in the order in which they are tried, with their settings."""
        plans = (self.plans.get((target, name)) for name in CLASSES)
        return [plan.uses[0].mapping() for plan in plans if plan is not None]

    def steps(self, plan: CheckedSchedule, subject: Subject) -> Iterator[ScheduledStep]:
        """The nest after each action; SpecError where one would change what it computes."""
        for use in plan.uses:
            subject = applied(use, subject)
            yield ScheduledStep(use, subject)

    @remembered  # what a build makes text of is what it looks at for idle actions
    def all_steps(self, plan: CheckedSchedule, subject: Subject) -> tuple[ScheduledStep, ...]:
        """The same, all of them."""
        return tuple(self.steps(plan, subject))

    def changing(self, plan: CheckedSchedule, subject: Subject) -> set[int]:
        """The places in the plan of the actions that make something else of a nest."""
        found = set()
        for at, step in enumerate(self.all_steps(plan, subject)):
            if not step.subject.is_like(subject):
                found.add(at)
            subject = step.subject
        return found

    def story(self, target: str, subject: Subject) -> Iterator[str]:
        """For people: the class of a nest, its roles, and what each action makes of it; of models,
        which have many nests, what all actions make together."""
        plan, subject = self.chosen(target, subject)
        if plan is None:
            yield "no schedule"
            return
        yield f"{plan.schedule.shape.text}, by {plan.schedule.span.location}"
        known = {} if subject.model is None else known_extents(subject.body)
        for name, members in subject.roles.items():
            shown = (f"{each} {known.get(each, '')}".rstrip() for each in members)
            yield f"  {name}: {', '.join(shown) or 'none'}"
        before = subject
        for step in self.steps(plan, subject):
            yield step.use.action.span.text
            yield from (f"  {line}" for line in action_lines(before, step, whole=target != "model"))
            before = step.subject
        if target == "model":
            yield from block_lines(before.body)

    def scheduled(self, target: str, subject: Subject) -> Subject:
        """The nest after all actions of the schedule of its class; as it is without one."""
        plan, subject = self.chosen(target, subject)
        steps = () if plan is None else self.all_steps(plan, subject)
        return steps[-1].subject if steps else subject


def action_lines(before: Subject, step: ScheduledStep, *, whole: bool) -> Iterator[str]:
    """What an action makes of a nest; where that is not `whole`, but for its statements."""
    after = step.subject
    if before.model is not None and after.model is not None:
        yield from known_of(before.model, after.model, step.use)
    if after.tiling is not None and after.tiling != before.tiling:
        used = (each for each in step.use.given if isinstance(each, Intrinsic))
        yield from (line for each in used for line in each.lines())
        yield from tiling_lines(after.tiling)
    elif after.is_like(before):
        yield "changes nothing"
    elif whole:
        yield from block_lines(after.body)


def known_of(before: InModel, after: InModel, use: Use) -> Iterator[str]:
    """What a test compares, and what was laid out for a tile."""
    tests = (each for each in use.given if isinstance(each, tuple) and len(each) == 2)
    yield from (f"{name}: {before.measures[name]}" for name, _ in tests if name in before.measures)
    if before.blocks is not None and after.blocks is None:
        yield from before.blocks.told


def known_extents(body: tuple[i.Stmt, ...]) -> Mapping[str, int]:
    """How often loops run, by their indices, where that is known."""
    loops = nodes_in(body, i.Loop)
    return {each.index: each.high.value for each in loops if isinstance(each.high, i.Const)}


def checked_schedules(
    definitions: Iterable[ScheduleDefinition], intrinsics: Mapping[str, Intrinsic] | None = None
) -> Schedules:
    """The schedules by target and class; raises SpecErrors with every fault found.

    They may name intrinsics that are defined with them and those given, cvmgen's own if none are.
    """
    given = packaged().intrinsics if intrinsics is None else intrinsics
    plans: dict[tuple[str, str], CheckedSchedule] = {}
    errors: list[SpecError] = []
    definitions = tuple(definitions)
    known = {**given, **own_intrinsics(definitions, errors)}
    for schedule in (each for each in definitions if isinstance(each, Schedule)):
        key = (schedule.target.text, schedule.shape.text)
        try:
            target = schedule.target
            one_of(target.text, TARGETS, "target with such schedules", target.span)
            one_of(key[1], CLASSES, "class of nests", schedule.shape.span)
            if key in plans:
                first = plans[key].schedule.span.location
                message = f"two schedules are for {key[1]} in {key[0]}"
                raise SpecError(schedule.span, message, f"the first is in {first}")
            plans[key] = CheckedSchedule(schedule, ())
        except SpecError as error:
            errors.append(error)
            continue
        errors += misplaced(schedule)
        uses = checked_actions(schedule, CLASSES[key[1]], known, errors)
        errors += used_before(uses, plans.values())
        plans[key] = CheckedSchedule(schedule, uses)
    if errors:
        raise SpecErrors(errors)
    return Schedules(plans, known)


def own_intrinsics(
    definitions: Iterable[ScheduleDefinition], errors: list[SpecError]
) -> Mapping[str, Intrinsic]:
    """The intrinsics of blocks; faults go to `errors`."""
    found: dict[str, Intrinsic] = {}
    for each in definitions:
        if not isinstance(each, IntrinsicBlock):
            continue
        try:
            if each.name.text in found:
                first = found[each.name.text].meaning.span.location
                message = f"two blocks are for the intrinsic '{each.name.text}'"
                raise SpecError(each.span, message, f"the first is in {first}")
            found[each.name.text] = checked_intrinsic(each)
        except SpecError as error:
            errors.append(error)
        except SpecErrors as several:
            errors += several.errors
    return found


def misplaced(schedule: Schedule) -> Iterator[SpecError]:
    """Faults in what a target does: not all actions are for all of them."""
    target = schedule.target
    if target.text == "cuda" and len(schedule.actions) != 1:
        message = (
            f"a schedule for cuda uses one mapping, and this has {len(schedule.actions)} actions"
        )
        yield SpecError(target.span, message, "write 'use MAPPING' or 'use MAPPING with SETTINGS'")
    for action in schedule.actions:
        kind = ACTIONS.get(action.name)
        if kind is not None and target.text not in kind.targets:
            message = f"'{action.name}' is not for {target.text}"
            yield SpecError(action.name_span, message, f"it is for {' and '.join(kind.targets)}")


def used_before(uses: Iterable[Use], plans: Iterable[CheckedSchedule]) -> Iterator[SpecError]:
    """A mapping of a target that another schedule has: it takes its nests once, by one header."""
    first = {
        each.given[0]: each.action.span
        for plan in plans
        for each in plan.uses
        if uses_mapping(each)
    }
    for each in uses:
        if uses_mapping(each) and each.given[0] in first:
            name, _ = each.mapping()
            place = first[each.given[0]].location
            message = f"two schedules use the mapping '{name}'"
            hint = f"the first is in {place}, and takes all nests that it knows"
            yield SpecError(each.action.span, message, hint)


def uses_mapping(use: Use) -> bool:
    return use.action.name == "use"


def checked_actions(
    schedule: Schedule,
    kind: Class,
    intrinsics: Mapping[str, Intrinsic],
    errors: list[SpecError],
) -> tuple[Use, ...]:
    """The actions as their forms have them; faults go to `errors`."""
    known = Known(set(kind.roles), MEASURES, intrinsics, made_later(schedule))
    uses = []
    for action in schedule.actions:
        try:
            one_of(action.name, ACTIONS, "action", action.name_span)
            uses.append(matched(action, ACTIONS[action.name], known))
        except UnsureError:
            pass
        except SpecError as error:
            errors.append(error)
            known.unsure = known.unsure or makes_roles(action)
    return tuple(uses)


def made_later(schedule: Schedule) -> Mapping[str, int]:
    """The roles that actions make, and the line of the first that makes each."""
    found: dict[str, int] = {}
    for action in schedule.actions:
        for clause in action.clauses:
            for each in clause.operands if clause.preposition == "into" else ():
                if isinstance(each, OperandName):
                    found.setdefault(each.text, each.span.line)
    return found


def makes_roles(action: Action) -> bool:
    """Whether an action, as it is or as it should be written, makes roles."""
    forms = ACTIONS[action.name].forms if action.name in ACTIONS else ("NEW",)
    return any("NEW" in form for form in forms)


def read_schedules(spec: Path) -> Schedules:
    """The checked schedules that go with a spec folder; raises SpecErrors.

    A target for which the folder has no schedule has those of cvmgen, and so with intrinsics.
    """
    folder = schedules_folder(spec)
    definitions = read_files(folder, f"{folder.resolve().parent.name}/{folder.name}")
    if folder == schedules_folder(spec_folder()):
        return checked_schedules(definitions, {})
    return with_usual(checked_schedules(definitions))


def with_usual(own: Schedules) -> Schedules:
    """Schedules with those of cvmgen for the targets that they do not speak of."""
    known = {target for target, _ in own.plans}
    others = {key: plan for key, plan in packaged().plans.items() if key[0] not in known}
    return replace(own, plans={**own.plans, **others})


@cache
def packaged() -> Schedules:
    """The schedules that come with cvmgen."""
    return read_schedules(spec_folder())
