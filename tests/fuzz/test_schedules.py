"""Accepted schedules change no result, whatever they are made of; none breaks the compiler."""

from __future__ import annotations

from pathlib import Path
from random import Random

import pytest

from tests.fuzz import seeds
from tests.fuzz.scheduled_calls import SANITIZERS, Batch, Failure, accepted

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


@pytest.mark.parametrize("seed", seeds(1))
def test_accepted_schedules(tmp_path: Path, seed: int) -> None:
    found = batch(tmp_path, seed)
    found.run()
    assert not found.failures, "\n".join(map(str, found.failures))
    assert found.calls > 0


@pytest.mark.parametrize("seed", seeds(1))
def test_accepted_schedules_stay_inside(tmp_path: Path, seed: int) -> None:
    """Under sanitizers."""
    found = batch(tmp_path, seed + 10**6, 2)
    found.run(SANITIZERS, threads=(2,))
    assert not found.failures, "\n".join(map(str, found.failures))
