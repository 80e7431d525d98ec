"""Accepted schedules change no result, whatever they are made of; none breaks the compiler."""

from __future__ import annotations

from pathlib import Path
from random import Random

import pytest

from tests.clang import needs_clang
from tests.fuzz import seeds
from tests.fuzz.scheduled_calls import SANITIZERS, Batch, Failure, accepted, smallest

SCHEDULES = 6  # of a library


def batch(folder: Path, seed: int, count: int = SCHEDULES) -> Batch:
    """Accepted schedules as C; what breaks the compiler is a failure."""
    found = Batch(folder, seed % 3)
    for growing, each in accepted(Random(seed), count):
        faults = (Failure("FAULT", each, f"{text}{why}") for text, why in growing.faults)
        found.failures += faults
        if growing.lines:
            found.add(each)
    return found


def report(folder: Path, found: Batch, sanitized: tuple[str, ...] = ()) -> str:
    """The failures, of the first ones what is needed for them."""
    few = [
        smallest(folder / f"s{at}", each, found.seed, sanitized)
        for at, each in enumerate(found.failures[:3])
    ]
    return "\n".join(map(str, (*few, *found.failures[3:])))


@pytest.mark.parametrize("seed", seeds(1))
def test_accepted_schedules(tmp_path: Path, seed: int) -> None:
    found = batch(tmp_path, seed)
    found.run()
    assert not found.failures, report(tmp_path, found)
    assert found.calls > 0


@pytest.mark.parametrize("seed", seeds(1))
def test_accepted_schedules_stay_inside(tmp_path: Path, seed: int) -> None:
    """Under sanitizers."""
    found = batch(tmp_path, seed + 10**6, 2)
    found.run(SANITIZERS, threads=(2,))
    assert not found.failures, report(tmp_path, found, SANITIZERS)


@needs_clang
@pytest.mark.parametrize("seed", seeds(1))
def test_accepted_schedules_for_all_values(tmp_path: Path, seed: int) -> None:
    found = batch(tmp_path, seed + 2 * 10**6, 2)
    found.validate(2)
    assert not found.failures, "\n".join(map(str, found.failures))
