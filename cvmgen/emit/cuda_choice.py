"""Which mapping a nest gets: the first one of the schedules for CUDA that knows its shape."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from collections.abc import Mapping as Names

from cvmgen.emit.cuda_contractions import Tiles, contraction_of, direct
from cvmgen.emit.cuda_greedy import greedy_lists
from cvmgen.emit.cuda_mappings import Lists, Mapping, Task
from cvmgen.emit.cuda_reductions import teams
from cvmgen.emit.cuda_streams import streaming
from cvmgen.emit.cuda_windows import windows

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
    return bool(task.program.scratch_of(task.nest.tensor))


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
    "teams": lambda task, otherwise: teams(task),
    "vectors": lambda task, otherwise: streaming(task),
    "threads": lambda task, otherwise: Mapping(task),
}
