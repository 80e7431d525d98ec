"""Operators that move elements: what the format gives as tensors of integers becomes attributes."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from cvmgen.graph.tflite.node import Node

MIRRORS = ("REFLECT", "SYMMETRIC")


def reshape(node: Node) -> int:
    """To the shape that the file states for the result: what computes it is not looked at."""
    return node.step("reshape", node.given(0), target_shape=node.result().shape or (1,))


def shape(node: Node) -> int:
    stated = node.result().dtype
    if stated not in ("int32", "int64"):
        node.refuse(f"a shape holds integers, not {stated}")
    return node.constant(np.array(node.input(0).shape, stated))


def transpose(node: Node) -> int:
    x = node.given(0)
    perm = tuple(node.axis(each, len(node.shape(x))) for each in node.integers(1))
    return node.step("transpose", x, perm=perm)


def all_given(node: Node) -> list[int]:
    return [node.given(at) for at in range(len(node.operator.inputs))]


def concatenation(node: Node) -> int:
    table = "ConcatenationOptions"
    if node.option(table, "FusedActivationFunction", 0) != 0:
        node.refuse("no kernel fuses an activation with it")
    given = all_given(node)
    if not given:
        node.refuse("it joins no tensors")
    axis = node.axis(node.option(table, "Axis", 0), len(node.shape(given[0])))
    return node.step("concatenation", given, axis=axis)


def pack(node: Node) -> int:
    given = all_given(node)
    if not given:
        node.refuse("it packs no tensors")
    axis = node.option("PackOptions", "Axis", 0)
    if node.input(0).shape == ():  # numbers, of one extent here
        return node.step("concatenation", given, axis=0)
    rank = len(node.shape(given[0]))
    return node.step("pack", given, axis=node.axis(axis, rank, beyond=1))


def unpack(node: Node) -> list[int]:
    x = node.given(0)
    rank = len(node.shape(x))
    axis = node.axis(node.option("UnpackOptions", "Axis", 0), rank)
    if node.shape(x)[axis] != len(node.operator.outputs):
        node.refuse(f"it has {len(node.operator.outputs)} outputs of {node.shape(x)[axis]}")
    if rank == 1:
        count = node.shape(x)[0]
        return [node.step("split", x, axis=0, splits=count, part=at) for at in range(count)]
    return [node.step("unpack", x, axis=axis, part=at) for at in range(len(node.operator.outputs))]


def split(node: Node) -> list[int]:
    (axis,) = _one(node, node.integers(0))
    x = node.given(1)
    axis = node.axis(axis, len(node.shape(x)))
    count = len(node.operator.outputs)
    return [node.step("split", x, axis=axis, splits=count, part=at) for at in range(count)]


def split_v(node: Node) -> list[int]:
    x, sizes = node.given(0), node.integers(1)
    (axis,) = _one(node, node.integers(2))
    whole = node.shape(x)
    axis = node.axis(axis, len(whole))
    if sizes.count(-1) == 1:
        sizes[sizes.index(-1)] = whole[axis] - sum(each for each in sizes if each != -1)
    if sum(sizes) != whole[axis] or len(sizes) != len(node.operator.outputs):
        node.refuse(f"parts of {sizes} do not make up {whole[axis]}")
    ends = np.cumsum(sizes).tolist()
    made = []
    for size, end in zip(sizes, ends, strict=True):
        begin, stop = [0] * len(whole), [*whole]
        begin[axis], stop[axis] = end - size, end
        made.append(_slice(node, x, begin, stop, [1] * len(whole)))
    return made


def _one(node: Node, found: list[int]) -> list[int]:
    if len(found) != 1:
        node.refuse(f"one axis is needed, not {found}")
    return found


def _slice(
    node: Node, x: int, begin: Sequence[int], end: Sequence[int], strides: Sequence[int]
) -> int:
    return node.step("strided_slice", x, begin=tuple(begin), end=tuple(end), strides=tuple(strides))


def slice_(node: Node) -> int:
    x, begin, sizes = node.given(0), node.integers(1), node.integers(2)
    whole = node.shape(x)
    if len(begin) != len(whole) or len(sizes) != len(whole):
        node.refuse(f"begin {begin} and size {sizes} need an entry for each of {whole}")
    ends = [
        n if size == -1 else first + size
        for first, size, n in zip(begin, sizes, whole, strict=True)
    ]
    return _slice(node, x, begin, ends, [1] * len(whole))


def strided_slice(node: Node) -> int:
    table = "StridedSliceOptions"
    x = node.given(0)
    whole = node.shape(x)
    begin, end, strides = (node.integers(at) for at in (1, 2, 3))
    masks = {
        name: node.option(table, f"{name}Mask", 0)
        for name in ("Begin", "End", "Ellipsis", "NewAxis", "ShrinkAxis")
    }
    if masks["Ellipsis"] or masks["NewAxis"]:
        node.refuse("it makes new axes, or leaves some out")
    if not len(begin) == len(end) == len(strides) <= len(whole):
        node.refuse(f"begin {begin}, end {end} and strides {strides} do not go with {whole}")
    firsts, lasts, steps = [], [], []
    for at, extent in enumerate(whole):
        if at >= len(begin):
            cut = slice(None)
        elif masks["ShrinkAxis"] >> at & 1:
            place = 0 if masks["Begin"] >> at & 1 else node.axis(begin[at], extent)
            cut = slice(place, place + 1)
        elif strides[at] == 0:
            node.refuse("a stride is 0")
        else:
            first = None if masks["Begin"] >> at & 1 else begin[at]
            last = None if masks["End"] >> at & 1 else end[at]
            cut = slice(first, last, strides[at])
        first, last, step = cut.indices(extent)
        firsts.append(first)
        lasts.append(last)
        steps.append(step)
    return _slice(node, x, firsts, lasts, steps)


def gather(node: Node) -> int:
    if node.option("GatherOptions", "BatchDims", 0) != 0:
        node.refuse("it gathers in batches")
    x = node.given(0)
    axis = node.axis(node.option("GatherOptions", "Axis", 0), len(node.shape(x)))
    return node.step("gather", x, node.given(1), axis=axis)


def paddings(node: Node, at: int, rank: int) -> tuple[tuple[int, ...], tuple[int, ...]]:
    found = node.integers(at)
    if len(found) != 2 * rank:
        node.refuse(f"there are {len(found)} paddings for {rank} dimensions")
    return tuple(found[::2]), tuple(found[1::2])


def filling(node: Node) -> int:
    """What stands for zero in the result."""
    y = node.result()
    zero = y.zeros[0] if y.zeros else 0
    try:
        return node.constant(np.array([zero], y.dtype))
    except (TypeError, OverflowError):
        node.refuse(f"elements of {y.dtype} have no zero point {zero}")


def pad(node: Node) -> int:
    x = node.given(0)
    before, after = paddings(node, 1, len(node.shape(x)))
    value = node.shaped(node.given(2), (1,)) if node.has(2) else filling(node)
    return node.step("pad", x, value, before=before, after=after)


def mirror_pad(node: Node) -> int:
    x = node.given(0)
    before, after = paddings(node, 1, len(node.shape(x)))
    mode = node.option("MirrorPadOptions", "Mode", 0)
    if not 0 <= mode < len(MIRRORS):
        node.refuse(f"there is no mode {mode}")
    return node.step("mirror_pad", x, before=before, after=after, mode=MIRRORS[mode])


def space_to_depth(node: Node) -> int:
    block = node.option("SpaceToDepthOptions", "BlockSize")
    return node.step("space_to_depth", node.given(0), block=block)


def depth_to_space(node: Node) -> int:
    block = node.option("DepthToSpaceOptions", "BlockSize")
    return node.step("depth_to_space", node.given(0), block=block)


def _blocks(node: Node, count: int) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """The block of an image, and what stands or is cut off around it."""
    block, around = tuple(node.integers(1)), tuple(node.integers(2))
    if len(block) != 2 or len(around) != 2 * count:
        node.refuse("there are blocks of images alone")
    return block, around


def space_to_batch_nd(node: Node) -> int:
    block, padding = _blocks(node, 2)
    value = filling(node)
    return node.step("space_to_batch_nd", node.given(0), value, block=block, padding=padding)


def batch_to_space_nd(node: Node) -> int:
    block, crops = _blocks(node, 2)
    return node.step("batch_to_space_nd", node.given(0), block=block, crops=crops)


def broadcast_to(node: Node) -> int:
    return node.step("broadcast_to", node.given(0), shape=tuple(node.integers(1)))


def resize_bilinear(node: Node, operator: str = "resize_bilinear") -> int:
    table = "ResizeBilinearOptions"
    extent = tuple(node.integers(1))
    if len(extent) != 2:
        node.refuse(f"an image has two extents, not {extent}")
    return node.step(
        operator,
        node.given(0),
        extent=extent,
        align_corners=bool(node.option(table, "AlignCorners", False)),
        half_pixel_centers=bool(node.option(table, "HalfPixelCenters", False)),
    )
