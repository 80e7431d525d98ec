"""A cache of its own for each test of the build layer."""

from __future__ import annotations

from pathlib import Path

import pytest


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The cache folder of this test, empty at its start."""
    folder = tmp_path / "cache"
    monkeypatch.setenv("CVMGEN_CACHE", str(folder))
    return folder
