"""What the workloads of `benchmarks.gpu` cannot go below on a GPU: bytes that move, products.

    python -m benchmarks.gpu_roofline [--readme]

This is arithmetic on data sheets, and for tiles on counts of machine code: bounds that kernels do
not pass, not how fast they are. `--readme` puts it into docs/gpu_speed.md.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

import cvmgen
from benchmarks.gpu import INT8_PER_CLOCK, Workload, workloads

DEVICES = {"H100 SXM": (3350.0, 1979.0), "A100 SXM 80 GB": (2039.0, 624.0)}
"""GB/s of memory, and TOP/s of dense int8, by NVIDIA's data sheets."""


PAGE = Path(__file__).parents[1] / "docs" / "gpu_speed.md"
BEGIN, END = "<!-- roofline -->\n", "<!-- end of roofline -->\n"


@dataclass(frozen=True)
class TileCost:
    """What a block does for a slice of 64 bytes: instructions of each of its 8 warps, ldmatrix of
    512 bytes among them."""

    side: int
    instructions: int
    matrices: int

    def cycles(self, architecture: str) -> dict[str, float]:
        """Of a multiprocessor: what tensor cores, shared memory and its schedulers take."""
        moved = 8 * self.matrices * 512 + 2 * self.side * 64
        return {
            "tensor cores": 2 * self.side**2 * 64 / INT8_PER_CLOCK[architecture],
            "shared memory": moved / 128,
            "instructions": 8 * self.instructions / 4,
        }

    def share(self, architecture: str) -> tuple[float, str]:
        """At most this share of the peak of tensor cores, and by what."""
        found = self.cycles(architecture)
        slowest = max(found, key=lambda each: found[each])
        return found["tensor cores"] / found[slowest], slowest


# Counted in the machine code of sm_90 that NVRTC 13.5 makes: the way through the loop that counts.
TILES = {
    "dense, large tiles": TileCost(128, 121, 12),
    "dense, small tiles": TileCost(64, 65, 6),
    "conv2d, large tiles": TileCost(128, 498, 12),
    "conv2d, small tiles": TileCost(64, 392, 6),
}


def moved(workload: Workload) -> int:
    """Bytes of all operands, each once."""
    operator = cvmgen.load("python")[workload.operator]
    arrays = [np.broadcast_to(np.zeros((), kind), shape) for shape, kind, _ in workload.inputs]
    bits = [each or None for _, _, each in workload.inputs]
    variadic = operator.variadic is not None
    call = operator.without_data(
        [arrays] if variadic else arrays,
        [bits] if variadic else bits,
        None,
        workload.attributes,
    )
    return sum(each.nbytes for each in (*arrays, *call.targets))


def lines() -> Iterator[str]:
    """Two tables for people."""
    heads = [f"{name}, us at least" for name in DEVICES]
    yield f"| workload | MB | GOP | {' | '.join(heads)} |"
    yield "|---|--:|--:|" + "--:|" * len(DEVICES)
    for each in workloads():
        size, work = moved(each), 2 * each.work
        bounds = [max(size / speed / 1e3, work / tops / 1e6) for speed, tops in DEVICES.values()]
        cells = [
            f"{size / 1e6:.0f}",
            f"{work / 1e9:.0f}" if work else "",
            *map("{:.0f}".format, bounds),
        ]
        yield f"| {each.name} | {' | '.join(cells)} |"
    yield ""
    yield "| tiles | share of int8 peak at most, sm_90 | by | sm_80 | by |"
    yield "|---|--:|---|--:|---|"
    for name, cost in TILES.items():
        (one, why), (other, because) = cost.share("sm_90"), cost.share("sm_80")
        yield f"| {name} | {one:.0%} | {why} | {other:.0%} | {because} |"


def with_tables(page: str) -> str:
    """The page with the tables of today."""
    before, rest = page.split(BEGIN)
    return f"{before}{BEGIN}\n{chr(10).join(lines())}\n\n{END}{rest.split(END)[1]}"


if __name__ == "__main__":
    if "--readme" in sys.argv:
        PAGE.write_text(with_tables(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
    else:
        print("\n".join(lines()))
