"""What a build asks of its operators, made by several processes at once where it is not remembered.

The build itself goes on one operator after the other and finds it here, so that what it says and
writes does not depend on who made it; what nobody could make ahead it makes itself.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

from cvmgen import driver
from cvmgen.build.helpers import helped
from cvmgen.build.progress import Progress
from cvmgen.cli.specs import is_proved, is_tried, trials_of
from cvmgen.cli.stories import texts_and_story
from cvmgen.cli.texts import are_remembered
from cvmgen.driver import Texts
from cvmgen.schedule.schedules import Schedules
from cvmgen.spec.formula import Operator


@dataclass(frozen=True, slots=True)
class OperatorTask:
    """An operator, and what is asked of it."""

    operator: Operator
    tried: bool  # on small calls
    texts: bool
    proved: bool  # where it reads outside

    @property
    def anything(self) -> bool:
        return self.tried or self.texts or self.proved


@dataclass(frozen=True, slots=True)
class OperatorOutcome:
    """What became of an operator that is sound; None: it was not asked for."""

    texts: Texts | None
    places: int | None  # that are not proved


def made_ahead(
    operators: Sequence[Operator],
    targets: Sequence[str],
    schedules: Schedules,
    progress: Progress,
    *,
    afresh: bool,
) -> Mapping[str, OperatorOutcome]:
    """By full name what could be made of the operators, their texts if there are targets;
    `afresh`: whether they are remembered or not."""
    all_asked = (
        OperatorTask(
            operator,
            tried=not is_tried(operator),
            texts=bool(targets) and (afresh or not are_remembered(operator, targets, schedules)),
            proved=not is_proved(operator),
        )
        for operator in operators
    )
    asked = [each for each in all_asked if each.anything]
    make = partial(texts_and_story, targets=targets, schedules=schedules)
    answers = helped(partial(run_task, make), asked)
    found = {}
    for number, (each, made) in enumerate(zip(asked, answers, strict=True), 1):
        if made is not None:
            found[each.operator.full_name] = made
            progress.step(f"generating {each.operator.full_name}", number, len(asked))
    return found


def tried_ahead(operators: Sequence[Operator], progress: Progress) -> set[str]:
    """The full names of operators of which small calls show nothing."""
    asked = [
        OperatorTask(each, tried=True, texts=False, proved=False)
        for each in operators
        if not is_tried(each)
    ]
    answers = helped(partial(run_task, None), asked)
    found = set()
    for number, (each, made) in enumerate(zip(asked, answers, strict=True), 1):
        if made is not None:
            found.add(each.operator.full_name)
            progress.step(f"trying {each.operator.full_name}", number, len(asked))
    return found


def run_task(make: Callable[[Operator], Texts] | None, asked: OperatorTask) -> OperatorOutcome:
    """What is asked, in whatever process; `make` gives texts. Raises what is wrong with the
    operator."""
    operator = asked.operator
    for trial in trials_of(operator) if asked.tried else ():
        if not trial.is_known:
            trial.run(trial.operator)
    texts = places = None
    if asked.texts and make is not None:
        texts = make(operator)
    if asked.proved:
        places = len(driver.warnings_of(operator))
    return OperatorOutcome(texts, places)
