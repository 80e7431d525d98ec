"""Random models of one operator that moves elements, or makes others of them one by one."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from graphs import Graph
from layers import Dice, Maker, below, scale, zero


class Scaled(Graph):
    """A graph whose tensors have one scale and zero point, drawn first."""

    def __init__(self, dice: Dice, ends: tuple[float, int] | None = None) -> None:
        super().__init__()
        self.ends = ends or (scale(dice), zero(dice))

    def alike(self, *shape: int) -> int:
        return self.tensor(shape, scale=self.ends[0], zero=self.ends[1])

    def move(
        self,
        name: str,
        inputs: Sequence[int],
        outputs: Sequence[Sequence[int]],
        table: str | None = None,
        version: int = 2,
        *,
        given: Sequence[int] = (),
        **attributes: Any,
    ) -> bytes:
        """The model of one operator; `given` are its inputs that are no constants."""
        results = [self.alike(*each) for each in outputs]
        self.operator(name, inputs, results, table, version, **attributes)
        return self.file(given or inputs[:1], results)


def padding(name: str) -> Maker:
    def make(dice: Dice) -> bytes:
        made = Scaled(dice)
        x, pads = made.alike(2, 3, 4), dice.integers(0, 3, (3, 2))
        inputs = [x, made.integers(pads)]
        if name == "PADV2":
            value = [below(dice, -128, 128)]
            inputs.append(made.tensor((1,), scale=made.ends[0], zero=made.ends[1], data=value))
        size = tuple(np.array((2, 3, 4)) + pads.sum(1))
        table = "PadOptions" if name == "PAD" else "PadV2Options"
        return made.move(name, inputs, [size], table)

    return make


def mirror(dice: Dice) -> bytes:
    made, mode = Scaled(dice), below(dice, 0, 2)
    x, pads = made.alike(3, 4), dice.integers(0, 3, (2, 2))
    size = tuple(np.array((3, 4)) + pads.sum(1))
    inputs = [x, made.integers(pads)]
    return made.move("MIRROR_PAD", inputs, [size], "MirrorPadOptions", 1, mode=mode)


def transpose(dice: Dice) -> bytes:
    made, shape = Scaled(dice), (2, 3, 4, 5)
    order = [int(each) for each in dice.permutation(4)]
    inputs = [made.alike(*shape), made.integers(*order)]
    return made.move("TRANSPOSE", inputs, [[shape[i] for i in order]], "TransposeOptions")


def concatenation(dice: Dice) -> bytes:
    made, axis = Scaled(dice), below(dice, -3, 3)
    shapes = [[2, 3, 4] for _ in range(3)]
    for at, each in enumerate(shapes):
        each[axis] = at + 1
    xs, whole = [made.alike(*each) for each in shapes], [2, 3, 4]
    whole[axis] = 6
    return made.move("CONCATENATION", xs, [whole], "ConcatenationOptions", given=xs, axis=axis)


def pack(dice: Dice) -> bytes:
    made, axis = Scaled(dice), below(dice, 0, 3)
    xs, whole = [made.alike(2, 3) for _ in range(4)], [2, 3]
    whole.insert(axis, 4)
    return made.move("PACK", xs, [whole], "PackOptions", given=xs, axis=axis, valuesCount=4)


def unpack(dice: Dice) -> bytes:
    made, axis = Scaled(dice), below(dice, -3, 3)
    x, left = made.alike(2, 3, 4), [2, 3, 4]
    number = left.pop(axis)
    return made.move("UNPACK", [x], [left] * number, "UnpackOptions", axis=axis, num=number)


def split(dice: Dice) -> bytes:
    made, axis = Scaled(dice), below(dice, -2, 2)
    where, x, left = made.integers(axis), made.alike(4, 6), [4, 6]
    left[axis] //= 2
    return made.move("SPLIT", [where, x], [left] * 2, "SplitOptions", given=[x], numSplits=2)


def split_by_sizes(dice: Dice) -> bytes:
    made = Scaled(dice)
    inputs = [made.alike(4, 6), made.integers(1, 2, 3), made.integers(1)]
    parts = [(4, n) for n in (1, 2, 3)]
    return made.move("SPLIT_V", inputs, parts, "SplitVOptions", numSplits=3)


def strided_slice(dice: Dice, ends: tuple[float, int] | None = None) -> bytes:
    made, shape = Scaled(dice, ends), (5, 6, 7)
    x = made.alike(*shape)
    begin = [below(dice, 0, 3), below(dice, -3, -1), below(dice, 0, 3)]
    end = [5, below(dice, -1, 7), 6]
    steps = [below(dice, 1, 3), 1, below(dice, 1, 3)]
    begins, open_ends = below(dice, 0, 8), below(dice, 0, 8)
    shrunk = int(dice.choice([0, 0, 1, 4]))
    size = []
    for at, extent in enumerate(shape):
        if shrunk >> at & 1:
            continue
        first = None if begins >> at & 1 else begin[at]
        last = None if open_ends >> at & 1 else end[at]
        size.append(len(range(*slice(first, last, steps[at]).indices(extent))))
    if 0 in size:
        return strided_slice(dice, made.ends)
    inputs = [x, *(made.integers(*each) for each in (begin, end, steps))]
    masks = {"beginMask": begins, "endMask": open_ends, "shrinkAxisMask": shrunk}
    return made.move("STRIDED_SLICE", inputs, [size], "StridedSliceOptions", **masks)


def cut(dice: Dice) -> bytes:
    made = Scaled(dice)
    inputs = [made.alike(5, 6), made.integers(1, 2), made.integers(3, -1)]
    return made.move("SLICE", inputs, [(3, 4)], "SliceOptions")


def gather(dice: Dice) -> bytes:
    made, axis = Scaled(dice), below(dice, 0, 3)
    inputs = [made.alike(3, 4, 5), made.integers(dice.integers(0, 3, (2, 2)))]
    size = [3, 4, 5]
    size[axis : axis + 1] = [2, 2]
    return made.move("GATHER", inputs, [size], "GatherOptions", axis=axis)


def fixed(
    name: str,
    shape: Sequence[int],
    result: Sequence[int],
    constants: Sequence[Any] = (),
    table: str | None = None,
    version: int = 1,
    ends: tuple[float, int] | None = None,
    **attributes: Any,
) -> Maker:
    """An operator whose shapes and constants are always the same."""

    def make(dice: Dice) -> bytes:
        made = Scaled(dice, ends)
        inputs = [made.alike(*shape), *(made.integers(*each) for each in constants)]
        return made.move(name, inputs, [result], table, version, **attributes)

    return make


def bilinear(dice: Dice) -> bytes:
    made = Scaled(dice)
    h, w, oh, ow = (below(dice, 1, 7) for _ in range(4))
    mode = below(dice, 0, 3)
    inputs = [made.alike(2, h, w, 3), made.integers(oh, ow)]
    centres = {"alignCorners": mode == 1, "halfPixelCenters": mode == 2}
    size = (2, oh, ow, 3)
    return made.move("RESIZE_BILINEAR", inputs, [size], "ResizeBilinearOptions", 3, **centres)


def running_sum(dice: Dice) -> bytes:
    made, axis = Scaled(dice), below(dice, -3, 3)
    x = made.alike(2, 3, 4)
    y = made.tensor((2, 3, 4), scale=scale(dice, 0.005, 0.5), zero=zero(dice))
    kinds = {"exclusive": bool(dice.integers(2)), "reverse": bool(dice.integers(2))}
    made.operator("CUMSUM", [x, made.integers(axis)], [y], "CumsumOptions", **kinds)
    return made.file([x], [y])


def converted(name: str, version: int, make_ends: Callable[[Scaled], tuple[int, int]]) -> Maker:
    """Between real numbers and quantized ones."""

    def make(dice: Dice) -> bytes:
        made = Scaled(dice)
        x, y = make_ends(made)
        made.operator(name, [x], [y], version=version)
        return made.file([x], [y])

    return make


def from_reals(made: Scaled) -> tuple[int, int]:
    return made.tensor((40,), "float32"), made.alike(40)


def to_reals(made: Scaled) -> tuple[int, int]:
    return made.alike(40), made.tensor((40,), "float32")
