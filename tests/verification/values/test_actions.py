"""Each action of the schedules by itself keeps the meaning of its nest, for all values; one that
does not is told by its name."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import pytest

from cvmgen.driver import C, lower, typed_kernels
from cvmgen.schedule.actions import ACTIONS
from cvmgen.schedule.forms import Use
from cvmgen.schedule.schedules import Schedules
from cvmgen.schedule.subject import Subject
from cvmgen.spec.formula import Operator
from cvmgen.verification.values.actions import steps, subjects, validated
from cvmgen.verification.values.linked import Text
from cvmgen.verification.values.validate import edge_cases, validate_cases
from tests.clang import needs_clang
from tests.verification.mutants import kinds
from tests.verification.mutants.operators import (
    FORMULAS,
    SCHEDULED,
    file_of,
    generated,
    operator,
    schedules,
    small_blocks,
)

pytestmark = needs_clang


CALLS = 12  # of each formula, chosen by the text behind all actions
SHIPPED = (
    "cvm.conv2d", "cvm.max_pool2d", "cvm.non_max_suppression", "systemml.avg_pool", "tosa.exp",
)  # fmt: skip
NAMES = (*FORMULAS, *SCHEDULED, *SHIPPED)
# Actions that change no nest of these formulas, nor of any operator that ships.
NOWHERE = {("recurrence", "parallelise"), ("sweeps", "specialise")}


def broken(name: str, book: Schedules, folder: Path) -> str:
    """The first action behind which a text is not shown to be equal to its formula, in calls in
    which the nests as they are lowered are."""
    of, place, file = operator(name), generated(name, folder), file_of(name, "c")
    first, *_, last = (each.text for each in steps(of, book))
    lowered = Text(place, {file: first})
    cases = [
        case
        for case, _ in edge_cases(of, Text(place, {file: last}), CALLS)
        if validate_cases(of, lowered, [case]).validated
    ]
    assert cases
    each_step = validated(of, book, place, cases)
    return next((step.action for step, result in each_step if not result.validated), "")


@pytest.mark.parametrize(
    "name", [pytest.param(e, marks=[] if e == "padded" else [pytest.mark.slow]) for e in NAMES]
)
def test_each_action_keeps_the_meaning(name: str, tmp_path: Path) -> None:
    assert broken(name, schedules(name), tmp_path) == ""


@pytest.mark.slow
def test_every_action_of_the_schedules_is_looked_at() -> None:
    left = {
        (shape, use.action.name, at)
        for (target, shape), plan in small_blocks().plans.items()
        for at, use in enumerate(plan.uses)
        if target == "c"
    }
    for name in NAMES:
        left -= {*acting(operator(name), schedules(name))}
    assert {(shape, action) for shape, action, _ in left} <= NOWHERE


def acting(of: Operator, book: Schedules) -> Iterator[tuple[str, str, int]]:
    """The actions that change a nest of a formula: their class, their name, their place in it."""
    kernels = typed_kernels(lower(of, C))
    for each in kernels.kernels:
        plan, _ = book.chosen("c", each.subject)
        way = subjects(each.subject, book)
        for at, (before, after) in enumerate(pairwise(way)):
            if plan is not None and not before.is_like(after):
                yield plan.schedule.shape.text, plan.uses[at].action.name, at


# The formula, the action that is wrong, what is wrong with the nest that it leaves.
PLANTED = [
    ("padded", "vectorise", kinds.other_end, "its loop makes an iteration more"),
    ("tallest", "split", kinds.no_remainder, "the last block is as long as the others"),
    ("tallest", "expand", kinds.other_start, "accumulators begin with something else"),
    ("tallest", "reorder", kinds.other_end, "one of the loops runs too often"),
    ("tallest", "jam", kinds.other_begin, "the iterations left over begin too late"),
    ("rows", "streams", kinds.beside, "a stream reads beside its part"),
    ("rows", "version", kinds.left_out, "the copy lacks a step"),
    ("real_rows", "turn", kinds.beside, "runs are turned from another place"),
    ("real_rows", "distribute", kinds.other_end, "a step runs too often"),
    ("mean", "beside", kinds.other_sign, "the copy has another sign"),
]


@pytest.mark.parametrize(
    ("name", "action", "change", "why"),
    [
        pytest.param(*row, marks=[] if at == 0 else [pytest.mark.slow])
        for at, row in enumerate(PLANTED)
    ],
)
def test_the_action_at_fault_is_named(
    name: str,
    action: str,
    change: kinds.Change,
    why: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    kind = ACTIONS[action]

    def faulty(subject: Subject, use: Use) -> Subject:
        made = kind.run(subject, use)
        if made.is_like(subject):
            return made
        *_, (_, body) = kinds.sites(made.body, change)
        return made.with_body(body)

    monkeypatch.setitem(ACTIONS, action, replace(kind, run=faulty))  # type: ignore[arg-type]
    assert broken(name, small_blocks.__wrapped__(), tmp_path).startswith(action), why
