"""The benchmark of the CUDA target runs through, on a device that is none."""

from __future__ import annotations

import importlib.util
import json
import sys
from dataclasses import asdict
from pathlib import Path
from types import ModuleType

import pytest

from tests.fake_gpu import fake_backend

SOURCE = Path(__file__).resolve().parents[2] / "benchmarks" / "gpu.py"


@pytest.fixture
def benchmark(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    spec = importlib.util.spec_from_file_location("gpu_benchmark", SOURCE)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, "gpu_benchmark", module)
    spec.loader.exec_module(module)
    monkeypatch.setattr(module, "ROUNDS", 1)
    monkeypatch.setattr(module, "LEAST_MS", 1.0)
    return module


def test_all_workloads(
    benchmark: ModuleType,
    generated: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    rows = list(benchmark.rows(fake_backend(generated), scale=1 << 14))
    assert [row.workload for row in rows] == [
        each.name for each in benchmark.workloads(scale=1 << 14)
    ]
    assert all(row.us == 500 and row.gb_per_s > 0 for row in rows), "two calls in 1 ms"
    assert sum(row.tops is not None for row in rows) == 3
    monkeypatch.setattr(benchmark, "generated_folder", lambda: generated)
    stored = {"device": "D", "architecture": "sm_80", "rows": [asdict(row) for row in rows]}
    out = tmp_path / "gpu.json"
    out.write_text(json.dumps(stored))
    assert benchmark.stale(out) == 0
    stored["rows"][0]["cubin"] = "0"
    out.write_text(json.dumps(stored))
    assert benchmark.stale(out) == 1
    assert "stale: relu, int32" in capsys.readouterr().out


def test_without_a_gpu(
    benchmark: ModuleType,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr("cvmgen.api.driver.LIBRARY", "libno-such-driver.so")
    assert benchmark.measure(0, tmp_path / "gpu.json") == 1
    assert "nothing was measured: no CUDA driver" in capsys.readouterr().err
    assert benchmark.stale(tmp_path / "gpu.json") == 1
