"""Who makes which iterations of a loop on a GPU, and where all threads of a block must meet."""

from __future__ import annotations

from cvmgen.ir import nodes as i


def own(name: str) -> i.Call:
    """What the hardware tells a thread of itself and of its grid."""
    return i.Call(name, ())


THREAD, BLOCK = own("thread"), own("block_number")
LANE, LANES = own("lane"), own("lane_count")  # of a block
GRID = i.Share("grid", THREAD, own("threads"))
BLOCKS = i.Share("blocks", BLOCK, own("block_count"))
OF_BLOCK = i.Share("block", LANE, LANES)
