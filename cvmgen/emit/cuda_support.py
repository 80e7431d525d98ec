"""What every CUDA operator includes, and the runtime under which its text runs on the CPU."""

from __future__ import annotations

from collections.abc import Iterable
from collections.abc import Mapping as Names
from math import isqrt

from cvmgen.emit import c_support
from cvmgen.emit.render import render_template, support_file
from cvmgen.schedule.forms import Settings
from cvmgen.schedule.gpu import tensor_tiles
from cvmgen.schedule.gpu.choice import all_settings
from cvmgen.schedule.schedules import Schedules, packaged
from cvmgen.spec.formula import Operator

BLOCK = 256  # threads of a block
# Blocks that a multiprocessor must hold at once: with 80 registers a thread. Without a number
# the compiler spills a little to reach its own guess; for 4 blocks it spills on sm_120, where it
# unrolls nested sums further.
RESIDENT = 3
BLOCKS = 65536  # of a grid at most; kernels stride over what is beyond
PARAMETER_BYTES = 4096  # what every device takes as parameters of a kernel
HEADERS = (
    "cvmgen_block.h",
    "cvmgen_cuda.h",
    "cvmgen_reduce.h",
    "cvmgen_tiles.h",
    "cvmgen_vector.h",
    "cvmgen_window.h",
)
"""What kernels include besides the headers of C."""

STREAM = "cvmgen_stream.h"
"""What the headers of operators include besides."""

CPU_FILES = (
    "cvmgen_cpu.h",
    "cvmgen_cpu_vectors.h",
    "cvmgen_cpu_threads.h",
    "cvmgen_cpu_functions.h",
    "cvmgen_cpu_copies.h",
    "cvmgen_cpu_device.h",
    "cvmgen_cpu_fibers.h",
    "cvmgen_cpu_block.h",
    "cvmgen_cpu_block.cc",
    "cvmgen_cpu_device.cc",
    "cvmgen_cpu_races.h",
    "cvmgen_cpu_races.cc",
    "cvmgen_driver.h",
    "cvmgen_driver.cc",
)
"""The runtime under which the text runs on the CPU, in the folder `cpu`, and host code on a GPU."""


def emit_support(schedules: Schedules | None = None) -> dict[str, str]:
    """The files that every operator includes, and those with which it runs on the CPU; by
    cvmgen's own schedules if no others are given."""
    shared = c_support.emit_support()
    settings = all_settings(packaged() if schedules is None else schedules)
    tiles, teams, boxes = (settings[each] for each in ("tensor_tiles", "teams", "shared_boxes"))
    candidates, mask_bytes = settings["blocks"]["candidates"], mask_size(settings)
    values = {
        "block": BLOCK,
        "resident": RESIDENT,
        "blocks": BLOCKS,
        "parameter_bytes": PARAMETER_BYTES,
        "fill": teams["fill"],
        "share": teams["share"],
        "part_share": teams["part_share"],
        "tile_threads": tiles["threads"],
        "tile_resident": tiles["resident"],
        "tile_large": tiles["large"],
        "tile_small": tiles["small"],
        "tile_fill": tiles["fill"],
        "tile_speed": tensor_tiles.SPEED,
        "sides": boxes["sides"],
        "box": boxes["elements"],
        "candidates": candidates,
        "candidate_digits": candidates.bit_length(),
        "mask_bytes": mask_bytes,
        "mask_megabytes": mask_bytes >> 20,
        "mask_columns": isqrt(8 * mask_bytes) // 64 + 1,
    }
    own = (*HEADERS, STREAM, *(f"cpu/{name}" for name in CPU_FILES))
    return {
        **{name: shared[name] for name in c_support.HEADERS},
        **{name: support_file(f"cuda/{name}", **values) for name in own},
    }


def mask_size(settings: Names[str, Settings]) -> int:
    """The bytes that the pairs of a call take at most."""
    return settings["pair_mask"]["megabytes"] << 20


def emit_header(opset: str, operators: Iterable[Operator]) -> str:
    """The public header of an opset, which includes those of its operators."""
    includes = "\n".join(f'#include "{opset}/{each.name}.h"' for each in operators)
    return render_template("cuda/opset.h.j2", opset=opset, guard=opset.upper(), includes=includes)
