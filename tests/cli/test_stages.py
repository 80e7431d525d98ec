"""What `cvmgen show --after` tells of stages: what each is for, and what it changed."""

from __future__ import annotations

from dataclasses import replace

import pytest

from cvmgen import driver
from cvmgen.inspection.stages import (
    changed_text,
    every_stage,
    named_parts,
    stage_purpose,
    stages_of,
)

from .conftest import Command

DEFAULT = driver.STAGES


def test_every_stage_says_what_it_is_for() -> None:
    lines = [f"{name}: {stage_purpose(name)}" for name in every_stage()]
    assert all(len(line) <= 100 and stage_purpose(line.split(":")[0]) for line in lines)
    assert len(set(lines)) == len(lines) >= len(DEFAULT)


def test_the_stages_of_each_target() -> None:
    assert stages_of(None) == stages_of("c") == DEFAULT
    assert stages_of("numpy") == (*DEFAULT[:8], "shelter", "arrays", "host")
    assert stages_of("python")[-2:] == ("shelter", "host")
    assert stages_of("cuda")[-5:] == ("types", "schedule", "host", "families", "dispatch")
    assert "compaction" not in stages_of("cuda")


# operator, target, stage, what is shown, what is not
SHOWN = [
    ("dense", None, "translate", "prepare:\n  input X\n", " as after ", "the first program, whole"),
    ("dense", None, "unfold", "total += X[i, k] * W[j, k]", "input X", "the nest alone"),
    ("dense", None, "unfold", "prepare:\n  as after translate\n", "input X", "the rest is named"),
    ("dense", None, "guards", "of cvm.dense, which is as after translate, unfold.\n", "total",
     "nothing at all"),
    ("relu", "python", "flatten", "for 0 <= d < size(n):", "input X", "another target"),
    ("relu", "cuda", "schedule", "kernels for cuda:", "vectorise", "of CUDA mappings only"),
    ("dense", "c", "host", "  check_rank X\n", "attribute ", "checks of a call"),
    ("relu", "numpy", "host", "  check_input X\n", "attribute ", "the same as a pass"),
    ("relu", "c", "outline", "fork relu_Y_part: ", "parallel for", "a part"),
    ("relu", "c", "families", "element_t = i8, i8, i32, i32", "attribute ", "what types stand for"),
    ("relu", "c", "schedule", "vectorise", "kernels for cuda", "of C actions only"),
    ("relu", None, "schedule", "kernels for cuda", "program cvm.dense", "of both"),
    ("relu", "numpy", "all", "lift: what the host knows", "walks: ", "stages of numpy"),
    ("get_valid_count", None, "compaction", "\n  is gone\n", "as after types",
     "a nest that is left out"),
]  # fmt: skip


@pytest.mark.parametrize(("name", "target", "stage", "part", "absent", "why"), SHOWN)
def test_what_a_stage_changed(
    cvmgen: Command, name: str, target: str | None, stage: str, part: str, absent: str, why: str
) -> None:
    options = () if target is None else ("--target", target)
    found = cvmgen("show", f"cvm.{name}", "--after", stage, *options)
    assert (found.code, found.err) == (0, "")
    first = "parse" if stage == "all" else stage
    assert found.out.startswith(f"{first}: {stage_purpose(first)}\n")
    assert part in found.out, why
    assert absent not in found.out, why


def test_all_stages_in_their_order(cvmgen: Command) -> None:
    out = cvmgen("show", "cvm.dense", "--after", "all").out
    places = [f"\n{out}".index(f"\n{name}: {stage_purpose(name)}\n") for name in DEFAULT]
    assert places == sorted(places)


@pytest.mark.parametrize(
    ("target", "stage", "message"),
    [
        ("numpy", "walks", "there is no stage 'walks' of numpy; stages are parse, check, "),
        ("python", "schedule", "there is no stage 'schedule' of python; stages are parse, "),
        ("c", "walk", "there is no stage 'walk'; did you mean 'walks'?"),
    ],
)
def test_stages_that_are_none(cvmgen: Command, target: str, stage: str, message: str) -> None:
    found = cvmgen("show", "cvm.dense", "--target", target, "--after", stage)
    assert found.code == 2
    assert found.err.startswith(f"error: {message}")


def test_nests_that_look_alike_are_told_apart(formulas: dict[str, object]) -> None:
    program = driver.lower(formulas["cvm.relu"], driver.C)
    host, nest = named_parts(program)
    found = named_parts(replace(program, nests=program.nests * 2))
    assert list(found) == [host, nest, f"{nest}'"]
    assert found[nest] == found[f"{nest}'"]


def test_what_is_gone_is_a_change(formulas: dict[str, object]) -> None:
    operator = formulas["cvm.relu"]
    text = changed_text(operator, "b", {"prepare:": ["prepare:"]}, {"prepare:": "a"}, ["nest Y: f"])
    assert text == "program cvm.relu\nprepare:\n  as after a\nnest Y: f\n  is gone\n"
