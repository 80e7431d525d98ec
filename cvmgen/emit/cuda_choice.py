"""Which mapping a nest gets, by the shape of its loops."""

from __future__ import annotations

from collections.abc import Callable

from cvmgen.emit.cuda_contractions import Tiles, contraction_of, direct
from cvmgen.emit.cuda_greedy import greedy_lists
from cvmgen.emit.cuda_mappings import Lists, Mapping, Task
from cvmgen.emit.cuda_reductions import teams
from cvmgen.emit.cuda_streams import streaming
from cvmgen.emit.cuda_windows import windows

# In the order in which they are tried; each gives None for a nest that is not of its shape.
SHAPES: tuple[Callable[[Task], Mapping | None], ...] = (
    windows,
    teams,
    streaming,
)


def mapping(task: Task) -> Mapping:
    """The mapping for the shape of a nest."""
    if task.program.scratch_of(task.nest.tensor):
        return greedy_lists(task) or Lists(task)
    found = contraction_of(task)
    # A contraction too small for tiles may be of another shape as well.
    return shaped(task) if found is None else Tiles(task, found, shaped(direct(task)))


def shaped(task: Task) -> Mapping:
    for shape in SHAPES:
        found = shape(task)
        if found is not None:
            return found
    return Mapping(task)
