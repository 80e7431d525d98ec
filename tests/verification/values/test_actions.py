"""Each action of the schedules by itself keeps the meaning of its nest, for all values; one that
does not is told by its name."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from cvmgen.schedule.actions import ACTIONS
from cvmgen.schedule.forms import Use
from cvmgen.schedule.schedules import Schedules
from cvmgen.schedule.subject import Subject
from cvmgen.verification.values.actions import validated
from cvmgen.verification.values.validate import PLAIN
from tests.clang import needs_clang
from tests.verification.mutants import kinds
from tests.verification.mutants.operators import FORMULAS, generated, operator, small_blocks
from tests.verification.mutants.reach import chosen

pytestmark = needs_clang


def broken(name: str, book: Schedules, folder: Path) -> str:
    """The first action behind which a text is not shown to be equal to its formula."""
    cases = {each.call.text(): (each.call, PLAIN) for each in chosen(name, "c", folder)}
    each_step = validated(operator(name), book, generated(name, folder), cases.values())
    return next((step.action for step, result in each_step if not result.validated), "")


@pytest.mark.parametrize(
    "name", [pytest.param(e, marks=[] if e == "padded" else [pytest.mark.slow]) for e in FORMULAS]
)
def test_each_action_keeps_the_meaning(name: str, tmp_path: Path) -> None:
    assert broken(name, small_blocks(), tmp_path) == ""


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
