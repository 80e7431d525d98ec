"""Bounds of speed on a GPU, by arithmetic."""

from __future__ import annotations

from benchmarks.gpu import workloads
from benchmarks.gpu_roofline import PAGE, TileCost, lines, moved, with_tables


def test_the_page_is_of_today() -> None:
    page = PAGE.read_text(encoding="utf-8")
    assert with_tables(page) == page, "python -m benchmarks.gpu_roofline --readme"
    assert "No GPU has run these kernels" in page
    assert all(f"| {each.name} |" in page for each in workloads())


def test_bytes_of_all_operands() -> None:
    # X and W of int8, Y of int32.
    dense = next(each for each in workloads() if each.operator == "cvm.dense")
    assert moved(dense) == 2 * 4096**2 + 4 * 4096**2
    row = next(line for line in lines() if line.startswith("| dense 4096"))
    assert row.split("|")[2:5] == [" 101 ", " 137 ", " 69 "]  # 2 * 4096**3 / 1979e12 s


def test_what_bounds_a_tile() -> None:
    cost = TileCost(128, 121, 12)
    assert cost.cycles("sm_90") == {
        "tensor cores": 256,
        "shared memory": 512,
        "instructions": 242,
    }
    assert cost.share("sm_90") == (0.5, "shared memory")
    assert cost.share("sm_80") == (1.0, "tensor cores")
    assert TileCost(128, 536, 12).share("sm_90")[1] == "instructions"
