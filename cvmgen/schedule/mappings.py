"""What `use` names: the ways in which the iterations of a nest become threads of a GPU.

Each is written by hand once, with a header of its own, and knows by itself which nests it takes;
schedules say for which class of nests it is tried, and its numbers.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from cvmgen.dtypes import MAX_RANK

SHARED_BYTES = 48 << 10  # that every kernel has without asking


@dataclass(frozen=True, slots=True)
class SettingForm:
    """What a number of a mapping says, and what it may be: that for which the kernels are written,
    and which devices have room for."""

    doc: str
    values: Sequence[int]

    @property
    def rule(self) -> str:
        """What it may be, for people."""
        match self.values:
            case range(start=first, step=1):
                return f"from {first} to {self.values[-1]}"
            case range(start=first, step=step):
                return f"from {first} to {self.values[-1]} in steps of {step}"
            case _:
                *most, last = map(str, self.values)
                return f"{', '.join(most)} or {last}" if most else last


@dataclass(frozen=True, slots=True)
class MappingForm:
    """What a mapping does, and its settings."""

    doc: str
    settings: Mapping[str, SettingForm]


COUNTS = range(1, 1 << 31)

MAPPINGS: Mapping[str, MappingForm] = {
    "pair_mask": MappingForm(
        "tests all pairs of candidates at once into a mask of bits, and goes through that",
        {
            "megabytes": SettingForm(
                "of the mask of a call at most; else a block tests one by one", range(1, 4097)
            )
        },
    ),
    "blocks": MappingForm(
        "a block makes a list",
        {
            "candidates": SettingForm(
                "of a selection that a thread tests between barriers, at most", range(1, 65)
            )
        },
    ),
    "tensor_tiles": MappingForm(
        "a block makes a tile of totals from slices in shared memory, by tensor cores",
        {
            "large": SettingForm("rows and columns of a large tile", (128,)),
            "small": SettingForm("rows and columns of a small tile", (64,)),
            "fill": SettingForm("large tiles that leave no multiprocessor idle", COUNTS),
            "threads": SettingForm("of a block", (256,)),
            "resident": SettingForm("blocks that a multiprocessor holds at least", range(1, 9)),
        },
    ),
    "shared_boxes": MappingForm(
        "a block copies the box that its results read to shared memory",
        {
            "sides": SettingForm("of a box at most", range(1, MAX_RANK + 1)),
            "elements": SettingForm("of a box at most", range(1, SHARED_BYTES // 8 + 1)),
        },
    ),
    "teams": MappingForm(
        "a thread, a warp, a block or several blocks for each result",
        {
            "fill": SettingForm("threads that fill a device", COUNTS),
            "share": SettingForm(
                "elements of a thread at least: with less, combining outweighs reading", COUNTS
            ),
            "part_share": SettingForm(
                "elements of a thread at least for a second kernel to pay", COUNTS
            ),
        },
    ),
    "vectors": MappingForm(
        "a thread for so many neighbouring elements as one access moves",
        {
            "bytes": SettingForm("of an access at most", (1, 2, 4, 8, 16)),
            "live": SettingForm("bytes of a thread's vectors at most", range(1, 1024)),
        },
    ),
    "threads": MappingForm("a thread for each iteration of the outermost loops", {}),
}
