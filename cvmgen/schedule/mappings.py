"""What `use` names: the ways in which the iterations of a nest become threads of a GPU.

Each is written by hand once, with a header of its own, and knows by itself which nests it takes;
schedules say for which class of nests it is tried, and its numbers.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class MappingForm:
    """What a mapping does, and what each of its settings says."""

    doc: str
    settings: Mapping[str, str]


MAPPINGS: Mapping[str, MappingForm] = {
    "pair_mask": MappingForm(
        "tests all pairs of candidates at once into a mask of bits, and goes through that",
        {"megabytes": "of the mask of a call at most; else a block tests one by one"},
    ),
    "blocks": MappingForm(
        "a block makes a list",
        {"candidates": "of a selection that a thread tests between barriers, at most"},
    ),
    "tensor_tiles": MappingForm(
        "a block makes a tile of totals from slices in shared memory, by tensor cores",
        {
            "rows": "of a tile",
            "columns": "of a tile",
            "threads": "of a block",
            "resident": "blocks that a multiprocessor holds at least",
        },
    ),
    "shared_boxes": MappingForm(
        "a block copies the box that its results read to shared memory",
        {"sides": "of a box at most", "elements": "of a box at most"},
    ),
    "teams": MappingForm(
        "a thread, a warp, a block or several blocks for each result",
        {
            "fill": "threads that fill a device",
            "share": "elements of a thread at least: with less, combining outweighs reading",
            "part_share": "elements of a thread at least for a second kernel to pay",
        },
    ),
    "vectors": MappingForm(
        "a thread for so many neighbouring elements as one access moves",
        {
            "bytes": "of an access at most",
            "live": "bytes of a thread's vectors at most",
        },
    ),
    "threads": MappingForm("a thread for each iteration of the outermost loops", {}),
}
