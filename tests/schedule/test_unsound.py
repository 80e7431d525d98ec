"""Schedules that were accepted once and changed results, or broke the compiler or its C: each is
refused at the action that would, with the reason, or accepted because it is right by now."""

from __future__ import annotations

from pathlib import Path

import pytest

from cvmgen import driver
from cvmgen.build import sanitizer_environment
from cvmgen.source import SpecError, SpecErrors
from tests.fuzz.scheduled_calls import SANITIZERS, Batch, Scheduled, formula, schedules_of

IN_THREADS = "runs in threads already"
APART = "changes in one step of the loop"
SIDES = (
    "beside results into near when iterations >= 1",
    "split near by 1024 into block, lane",
    "split results by 16 into group, result",
    "abreast result into side when iterations >= 1",
    "expand totals over lane, side",
)
TURN = "turn summed over side by 64 into part, piece"
TWICE = ("split summed by 63 into a, b", "split a by 65536 into c, d")

MANY = "parallelise outer when results >= 1"
PIECES = ("parallelise outer when points >= 1", "pieces outer by 7 into n")
MIXED = (*SIDES[:2], "distribute results", *SIDES[2:], TURN)
BASED = (
    SIDES[0],
    "unswitch outer",
    *SIDES[1:],
    "parallelise outer, block, group when work >= 1",
    TURN,
    "base block",
)

# The class, its actions, the line that is refused, a part of the reason, and the operators.
REFUSED = [
    ("contraction", (MANY, "reorder outer, outer"), 3, IN_THREADS, ("product", "batches")),
    ("contraction", ("reorder outer, outer",), 2, "go inside itself", ("product", "batches")),
    ("contraction", (MANY, "base columns"), 3, IN_THREADS, ("product", "batches")),
    ("contraction", (MANY, "stage columns by 63 into n"), 3, IN_THREADS, ("product", "batches")),
    ("compaction", ("distribute outer",), 2, APART, ("packed",)),
    ("ordered_reduction", ("distribute results",), 2, APART, ("real_rows",)),
    ("ordered_reduction", MIXED, 4, APART, ("real_rows", "real_product", "mean")),
    ("listed", PIECES, 3, IN_THREADS, ("above_first", "sorted_rows")),
    (
        "move",
        ("parallelise moved", "specialise moved"),
        3,
        IN_THREADS,
        ("permuted", "joined", "tiled"),
    ),
    (
        "ordered_reduction",
        TWICE,
        3,
        "goes in steps of 63 already",
        ("real_rows", "real_columns", "real_product", "mean"),
    ),
    (
        "reduction",
        ("split summed by 4 into a, b", "split a by 2 into c, d"),
        3,
        "goes in steps of 4 already",
        ("rows",),
    ),
    ("ordered_reduction", BASED, 10, IN_THREADS, ("mean",)),
    (
        "other",
        ("enumerate outer by 64 over outer into n, m",),
        2,
        "has no copies for its own iterations",
        ("to_width",),
    ),
]

# What is accepted: the operator, the class and its actions.
RIGHT = [
    (
        "convolved",
        "convolution",
        (
            "stage taps over results by 16 into block, filled, flat, finished",
            "pieces flat by 64 into side",
        ),
    ),
    (
        "real_columns",
        "ordered_reduction",
        (
            "split results by 2 into block, lane",
            "expand totals over lane",
            "distribute lane",
            "reorder summed, lane",
            "unroll lane by 16",
        ),
    ),
    ("decided", "sweeps", ("enumerate summed by 7 over results into n",)),
    ("permuted", "move", ("move moved", "parallelise moved")),
    ("real_columns", "ordered_reduction", (*SIDES, TURN, "distribute results, block")),
    ("mean", "ordered_reduction", (*SIDES, TURN, "distribute results, block")),
    ("mean", "ordered_reduction", (*SIDES, "parallelise block when work >= 1", TURN, "base side")),
    (
        "real_around",
        "window",
        ("stage taps over results by 4096 into block, filled, flat, finished", "copy"),
    ),
]

# What was a number of steps beyond all integers: compiled with sanitizers. As above.
COUNTED = [
    ("narrow", "other", ("unroll outer by 64", "parallelise outer when elements >= 0")),
    ("two_ways", "other", ("unroll outer by 32", "parallelise outer when elements >= 1")),
]


def text(shape: str, actions: tuple[str, ...]) -> str:
    lines = "".join(f"  {each}\n" for each in actions)
    return f"schedule {shape} for c {{\n{lines}}}\n"


@pytest.mark.parametrize(
    ("name", "shape", "actions", "line", "reason"),
    [
        pytest.param(name, *row, id=f"{name}: {row[1][row[2] - 2]}")
        for *row, names in REFUSED
        for name in names
    ],
)
def test_what_is_refused(
    name: str, shape: str, actions: tuple[str, ...], line: int, reason: str
) -> None:
    with pytest.raises((SpecError, SpecErrors)) as caught:
        driver.emitted("c", *formula(name), schedules_of(text(shape, actions)))
    assert reason in str(caught.value)
    assert f"z.sched:{line}:" in str(caught.value)


def test_what_is_accepted_is_right(tmp_path: Path) -> None:
    batch = Batch(tmp_path)
    for name, shape, actions in RIGHT:
        assert batch.add(Scheduled(name, text(shape, actions))), (name, actions)
    batch.run()
    assert not batch.failures, "\n".join(map(str, batch.failures))


def test_steps_are_counted_by_what_there_is_to_do(tmp_path: Path) -> None:
    if not sanitizer_environment(SANITIZERS):
        pytest.skip("the compiler has no sanitizers that Python can load")
    batch = Batch(tmp_path)
    for name, shape, actions in COUNTED:
        assert batch.add(Scheduled(name, text(shape, actions))), (name, actions)
    batch.run(SANITIZERS, threads=(2,))
    assert not batch.failures, "\n".join(map(str, batch.failures))
