"""The CUDA target's text on the CPU, on grids that a test chooses."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.emit.on_cpu import OnCpu, library


@pytest.fixture(scope="session")
def loaded_on_cpu(generated: Path, extra_generated: Path) -> OnCpu:
    return OnCpu({generated: library(generated), extra_generated: library(extra_generated)})


@pytest.fixture
def on_cpu(loaded_on_cpu: OnCpu) -> Iterator[OnCpu]:
    yield loaded_on_cpu
    loaded_on_cpu.free()
    assert loaded_on_cpu.allocations == 0
