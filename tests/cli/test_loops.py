"""`cvmgen build --target c --report`: what nests become in C, for people and for programs."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from cvmgen import driver
from cvmgen.cli import loops
from cvmgen.schedule.schedules import packaged
from cvmgen.spec.formula import Operator

from .test_build import Build

REPORT = ("--target", "c", "--report")

# operator, place, work, reads, writes
COSTS = [
    ("cvm.dense", "dense line 8", "2*M*N*K + 2*M*N",
     {"X": "(1 or 4)*M*K", "W": "(1 or 4)*N*K", "B": "(1 or 4)*N"}, {"Y": "(1 or 4)*M*N"}),
    ("cvm.relu", "relu line 5", "size(n)",
     {"X": "(1 or 4)*size(n)"}, {"Y": "(1 or 4)*size(n)"}),
    ("cvm.flatten", "flatten line 5", "none: elements are only moved",
     {"X": "(1 or 4)*size(n)"}, {"Y": "(1 or 4)*size(Y)"}),
    ("cvm.concatenate", "concatenate line 12", "none: elements are only moved",
     {"I": "(1 or 4)*size(I)"}, {"Y": "(1 or 4)*size(Y)"}),
    ("systemml.avg_pool", "avg_pool line 6", "N*C*YH*YW*R*S + N*C*YH*YW",
     {"x": "8*N*(C*H*W)"}, {"y": "8*N*(C*YH*YW)"}),
]  # fmt: skip


@pytest.mark.parametrize(("name", "place", "work", "reads", "writes"), COSTS)
def test_what_a_nest_costs(
    formulas: dict[str, Operator],
    name: str,
    place: str,
    work: str,
    reads: dict[str, str],
    writes: dict[str, str],
) -> None:
    operator = formulas[name]
    source = driver.emitted("c", operator)
    (nest,) = loops.nests(operator, packaged(), "a.c", source, ())
    if name != "cvm.flatten":
        assert nest.place == place
    assert (nest.work, nest.reads) == (work, reads)
    assert list(nest.writes) == list(writes)
    if name != "cvm.flatten":
        assert nest.writes == writes


def test_every_nest_has_costs(formulas: dict[str, Operator]) -> None:
    for name in ("cvm.non_max_suppression", "cvm.get_valid_count", "tosa.reduce_max", "cvm.take"):
        for nest in loops.nests(formulas[name], packaged(), "a.c", "", ()):
            assert nest.classes, name
            assert nest.writes, name
            assert "None" not in nest.work


@pytest.fixture
def optimised(build: Build, monkeypatch: pytest.MonkeyPatch) -> Build:
    """The command with the compiler as users have it: which loops become vectors is told. What all
    libraries share is compiled so already, in the cache of users."""
    monkeypatch.delenv("CC")
    monkeypatch.delenv("CVMGEN_CACHE")
    return build


def test_what_is_told(optimised: Build, tmp_path: Path) -> None:
    outcome = optimised(*REPORT)
    assert outcome.code == 0, outcome.err
    text = outcome.out
    assert "toy.double, double line 6: Y[d...] = 2 * X[d...]\n" in text
    assert "\n  class    elementwise\n" in text
    assert "\n  actions  vectorise inner, filled, lane\n" in text
    assert "\n  threads  parallelise outer, piece when elements >= 131072\n" in text
    assert "\n  work     size(n)\n" in text
    assert text.splitlines()[-1].startswith("library  ")
    lines = (tmp_path / "generated/c/toy/double.c").read_text().splitlines()
    places = [line.strip() for line in text.splitlines() if line.startswith("    toy/double.c:")]
    assert len(places) == 1, "one loop for all element types"
    for place in places:
        _, line, head, vectors = place.split(":", 3)
        assert lines[int(line) - 1].strip() == head.strip().partition(": ")[0]
        assert "bytes" in vectors or "elements" in vectors


def test_for_programs(optimised: Build) -> None:
    found = optimised("toy.shifted", *REPORT, "--json").json["c"]["nests"]
    assert [each["operator"] for each in found] == ["toy.shifted"]
    assert found[0]["formula"] == "Y[d...] = X[d...] + by"
    assert found[0]["file"] == "toy/shifted.c"
    assert all(each["vectors"] for each in found[0]["loops"])
    json.dumps(found)


USAGE = [
    (("--target", "python", "--report"), "it needs --target c or --target cuda"),
    ((*REPORT, "--architecture", "sm_80"), "--architecture is about CUDA kernels"),
    ((*REPORT, "--check"), "--report does not go with --check"),
]


@pytest.mark.parametrize(("arguments", "message"), USAGE)
def test_usage(build: Build, arguments: tuple[str, ...], message: str) -> None:
    outcome = build(*arguments)
    assert outcome.code == 2
    assert message in outcome.err
