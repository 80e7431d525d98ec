"""Which mapping a nest gets: the first one of the schedules for CUDA that knows its shape.

How the iterations of a nest become threads is a mapping, chosen while emitting by the shape of
the nest and never by the name of an operator (in the order and with the numbers of
`spec/schedules/cuda.sched`); each is an analysis in `lower/`, a printer in `emit/` and a header
with what is the same for all nests. The host chooses at each call between a mapping's kernels, by
extents.

- contraction (`lower/contraction.py`, `emit/cuda_contractions.py`): a sum of products of two
  inputs: tiles of totals from int8 slices in shared memory, by tensor cores
- window (`lower/windows.py`, `lower/boxes.py`, `emit/cuda_windows.py`): neighbouring results read
  overlapping boxes: a block copies its box to shared memory
- reduction (`lower/reductions.py`, `emit/cuda_reductions.py`): a thread, a warp, a block or
  several blocks for each result; operations that give the same bits in every order
- streaming (`lower/streams.py`, `lower/order.py`, `emit/cuda_streams.py`): a vector of
  neighbouring elements, loaded and stored 16 bytes at a time
- list (`lower/greedy.py`, `emit/cuda_lists.py`, `emit/cuda_greedy.py`): a block makes a selected
  list; candidates that rule each other out are tested as pairs into a mask of bits
- grid (`emit/cuda_mappings.py`): a thread for each iteration of the outermost loops

Every `.cu` file runs unchanged on the CPU: `generated/cuda/cpu/` has what CUDA gives to kernels
and hosts, a fiber for each thread of a block. The library made of both also serves GPUs: launches
and memory then go to a table of driver functions that the caller brings (`cpu/cvmgen_driver.cc`,
`api/driver.py`), and a kernel is found in the operator's cubin by the name of its function. With
`-fsanitize=thread` it brings hooks of its own that find races between threads of the device
(`cpu/cvmgen_cpu_races.cc`); `build/reports.py` leads such reports back to formulas. PTX stands in
a few helpers of `cvmgen_tiles.h`, each with a twin in CUDA C that the CPU runs.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from collections.abc import Mapping as Names

from cvmgen.emit.cuda_contractions import Tiles, contraction_of, direct
from cvmgen.emit.cuda_greedy import greedy_lists
from cvmgen.emit.cuda_mappings import Lists, Mapping, Task
from cvmgen.emit.cuda_windows import windows
from cvmgen.schedule.gpu.mapped import Mapped
from cvmgen.schedule.gpu.teams import teams
from cvmgen.schedule.gpu.vectors import vectors

Otherwise = Callable[[Task], Mapping]
"""The mapping of a task by those that come after one."""


def mapping(task: Task, names: Sequence[str]) -> Mapping:
    """The mapping for the shape of a nest: of those named, the first that knows it."""
    if not names:
        return Lists(task) if makes_list(task) else Mapping(task)
    first, *rest = names
    found = MAPPINGS[first](task, lambda other: mapping(other, rest))
    return mapping(task, rest) if found is None else found


def makes_list(task: Task) -> bool:
    return task.nest.guarded is None and bool(task.program.scratch_of(task.nest.tensor))


def as_mapped(task: Task, found: Mapped | None) -> Mapping | None:
    return None if found is None else Mapping(task, found)


def blocks(task: Task, otherwise: Otherwise) -> Mapping | None:
    return Lists(task) if makes_list(task) else None


def tiles(task: Task, otherwise: Otherwise) -> Mapping | None:
    """A contraction too small for tiles may be of another shape as well."""
    found = None if makes_list(task) else contraction_of(task)
    return None if found is None else Tiles(task, found, otherwise(direct(task)))


# By what schedules call them; each gives None for a nest that is not of its shape.
MAPPINGS: Names[str, Callable[[Task, Otherwise], Mapping | None]] = {
    "pair_mask": lambda task, otherwise: greedy_lists(task),
    "blocks": blocks,
    "tensor_tiles": tiles,
    "shared_boxes": lambda task, otherwise: windows(task),
    "teams": lambda task, otherwise: as_mapped(task, teams(task.plain())),
    "vectors": lambda task, otherwise: as_mapped(task, vectors(task.plain())),
    "threads": lambda task, otherwise: Mapping(task),
}
