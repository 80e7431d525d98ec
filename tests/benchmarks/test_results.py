"""Ratios, goals, and what a comparison with a baseline says."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from benchmarks.cases import Goal, OfPeers, OfProbe, Within
from benchmarks.results import Measurement, Row, all_met, compare, middle, read, standing, write

ROW = Row(
    "dense", 2, ours=50.0, probe=40.0,
    peers={"torch, x86": 100.0, "torch, fbgemm": 60.0, "oneDNN, matmul": 45.0, "numpy": 10.0},
    beside={"oneDNN, own layout": 1.0}, wrong=("numpy",),
)  # fmt: skip


def test_ratios_are_to_the_best_peer_with_our_integers() -> None:
    assert ROW.best_peer() == ("oneDNN, matmul", 45.0), "neither what is wrong nor what is beside"
    assert ROW.ratio == pytest.approx(0.9)
    assert ROW.share == pytest.approx(0.8)
    assert ROW.of_library("torch") == 60.0, "the best of its ways"
    assert ROW.of_library("numba") is None


def test_without_peers_or_probe_there_is_no_ratio() -> None:
    alone = Row("dense", 1, ours=50.0)
    assert alone.best_peer() is None
    assert alone.ratio is None
    assert alone.share is None


GOALS = [
    (OfProbe(0.80), True, "80 % is 80 %"),
    (OfProbe(0.81), False, "and not more"),
    (OfPeers(1.2), True, "at most 1.2 times the time of the best: 54"),
    (OfPeers(1.0), False, "the best takes 45"),
    (OfPeers(1.0, ("torch",)), True, "the best of torch takes 60"),
    (OfPeers(1.0, ("numba",)), None, "that was not measured"),
    (Within(50.0), True, "with any number of threads"),
    (Within(49.0, threads=2), False, "with two"),
    (Within(49.0, threads=1), None, "says nothing of two"),
]


@pytest.mark.parametrize(("goal", "expected", "why"), GOALS)
def test_goals(goal: Goal, expected: bool | None, why: str) -> None:
    assert all_met([goal], ROW) is expected, why


STANDINGS = [
    ((OfProbe(0.5), OfPeers(2.0)), "the goal nearest to being missed"),
    ((Within(1.0, threads=1),), "goals that say nothing of it"),
    ((), "none"),
]


@pytest.mark.parametrize(("goals", "why"), STANDINGS, ids=[row[-1] for row in STANDINGS])
def test_the_row_in_the_middle_of_several_processes(goals: tuple[Goal, ...], why: str) -> None:
    rows = [replace(ROW, ours=ours) for ours in (3.0, 1.0, 9.0, 2.0, 8.0)]
    assert middle(goals, rows) == rows[0], why
    assert middle(goals, rows[:2]) == rows[0], "the slower one of two"
    # A state of the machine in which all is slow changes nothing in how a row stands.
    slow = replace(ROW, ours=ROW.ours * 2, probe=(ROW.probe or 0) * 2)
    slow = replace(slow, peers={name: time * 2 for name, time in ROW.peers.items()})
    assert standing(goals, slow) == pytest.approx(standing(goals, ROW))


def test_all_goals_that_say_something_must_be_met() -> None:
    assert all_met((OfProbe(0.5), Within(1.0, threads=1)), ROW) is True
    assert all_met((OfProbe(0.5), OfPeers(1.0)), ROW) is False
    assert all_met((Within(1.0, threads=1),), ROW) is None
    assert all_met((), ROW) is None


def measurement(*rows: Row, cpu: str = "one") -> Measurement:
    return Measurement({"cpu": cpu}, {"numpy": "2"}, {"1": {"copy GB/s": 9.5}}, {}, list(rows))


def test_what_is_stored_is_read_again(tmp_path: Path) -> None:
    whole = measurement(ROW, Row("other", 1, 1.0, failed={"torch": "refused"}))
    write(tmp_path / "file.json", whole)
    assert read(tmp_path / "file.json") == whole
    write(tmp_path / "file.json", measurement(Row("long", 1, 1234.5678)))
    assert read(tmp_path / "file.json").rows[0].ours == 1235.0, "four digits"


CHANGES = [
    (Row("w", 1, 10.0, probe=5.0), Row("w", 1, 10.0, probe=4.0), 1.25, "probe",
     "the same time, where the machine has become slower"),
    (Row("w", 1, 10.0, {"a": 10.0, "b": 30.0}), Row("w", 1, 10.0, {"a": 20.0, "b": 15.0}), 2.0, "b",
     "by the peer that was best, not by the one that is"),
    (Row("w", 1, 10.0, {"a": 10.0}), Row("w", 1, 20.0, {"b": 1.0}), 2.0, "clock",
     "the peer is no longer there"),
    (Row("w", 1, 30.0), Row("w", 1, 20.0), 20 / 30, "clock", "nothing to compare with"),
]  # fmt: skip


@pytest.mark.parametrize(("now", "before", "speed", "yardstick", "why"), CHANGES)
def test_a_change_is_measured_by_a_yardstick(
    now: Row, before: Row, speed: float, yardstick: str, why: str
) -> None:
    (change,) = compare(measurement(now), measurement(before))
    assert (change.speed, change.yardstick) == (pytest.approx(speed), yardstick), why


def test_changes_are_sorted_and_of_common_rows_only() -> None:
    before = measurement(Row("a", 1, 1.0), Row("b", 1, 1.0), Row("b", 2, 1.0), Row("gone", 1, 1.0))
    now = measurement(Row("a", 1, 1.1), Row("b", 1, 4.0), Row("b", 2, 0.5), Row("new", 1, 1.0))
    found = compare(now, before)
    assert [(each.workload, each.threads, each.slower) for each in found] == [
        ("b", 1, True),
        ("a", 1, False),
        ("b", 2, False),
    ]


def test_the_clock_of_another_machine_is_named() -> None:
    (change,) = compare(measurement(Row("a", 1, 1.0)), measurement(Row("a", 1, 1.0), cpu="other"))
    assert change.yardstick == "clock, another machine"
