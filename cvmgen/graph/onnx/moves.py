"""Operators that move elements: what the format gives as tensors of integers becomes attributes."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from cvmgen.graph.onnx.node import GraphTensor, Node


def reshape(node: Node) -> GraphTensor:
    x, wanted = node.made(0), node.integers(1)
    if 0 in wanted and not node.attribute("allowzero", 0):
        wanted = [x.shape[at] if n == 0 and at < len(x.shape) else n for at, n in enumerate(wanted)]
    if wanted.count(-1) == 1:
        rest = math.prod(each for each in wanted if each != -1)
        if rest > 0 and math.prod(x.shape) % rest == 0:
            wanted[wanted.index(-1)] = math.prod(x.shape) // rest
    return node.shaped(x.index, wanted)


def flatten(node: Node) -> GraphTensor:
    x = node.made(0)
    axis = node.attribute("axis", 1)
    cut = axis if axis == len(x.shape) else node.axis(axis, len(x.shape))
    return node.shaped(x.index, (math.prod(x.shape[:cut]), math.prod(x.shape[cut:])))


def squeeze(node: Node) -> GraphTensor:
    x = node.made(0)
    listed = node.listed("axes", 1)
    rank = len(x.shape)
    if listed is None:
        listed = [at for at, n in enumerate(x.shape) if n == 1]
    gone = {node.axis(each, rank) for each in listed}
    if any(x.shape[each] != 1 for each in gone):
        node.refuse(f"not all of the axes {sorted(gone)} of {x.shape} have the extent 1")
    return node.shaped(x.index, [n for at, n in enumerate(x.shape) if at not in gone])


def unsqueeze(node: Node) -> GraphTensor:
    x = node.made(0)
    listed = node.listed("axes", 1) or []
    rank = len(x.shape) + len(listed)
    new = {node.axis(each, rank) for each in listed}
    if len(new) != len(listed):
        node.refuse(f"the axes {listed} are not different")
    old = iter(x.shape)
    return node.shaped(x.index, [1 if at in new else next(old) for at in range(rank)])


def transpose(node: Node) -> GraphTensor:
    x = node.made(0)
    order = tuple(node.attribute("perm", tuple(range(len(x.shape)))[::-1]))
    return node.step("transpose", x.index, perm=order)


def concat(node: Node) -> GraphTensor:
    given = node.all_given()
    if not given:
        node.refuse("it joins no tensors")
    return node.step("concat", given, axis=node.axis(node.attribute("axis", 1), len(node.shape(0))))


def _cut(node: Node, x: GraphTensor, rows: Sequence[slice]) -> GraphTensor:
    """A part of each axis."""
    ends = [row.indices(n) for row, n in zip(rows, x.shape, strict=True)]
    if ends == [(0, n, 1) for n in x.shape]:
        return x
    starts, stops, steps = (tuple(row[at] for row in ends) for at in range(3))
    return node.step("slice", x.index, starts=starts, ends=stops, steps=steps)


def slice_(node: Node) -> GraphTensor:
    x = node.made(0)
    rank = len(x.shape)
    starts, ends = node.listed("starts", 1), node.listed("ends", 2)
    if starts is None or ends is None:
        node.refuse("it has no starts, or no ends")
    axes = node.listed("axes", 3) or list(range(len(starts)))
    steps = (node.integers(4) if node.has(4) else None) or [1] * len(starts)
    if not len(starts) == len(ends) == len(axes) == len(steps):
        node.refuse("starts, ends, axes and steps have different lengths")
    if 0 in steps:
        node.refuse("a step is 0")
    rows = [slice(None)] * rank
    for axis, start, end, step in zip(axes, starts, ends, steps, strict=True):
        at = node.axis(axis, rank)
        low = start + x.shape[at] if start < 0 else start
        high = end + x.shape[at] if end < 0 else end
        # What lies before the first element stays there: it does not count from the end again.
        stop = None if step < 0 and high < 0 else max(high, 0)
        rows[at] = slice(max(low, 0), stop, step)
    return _cut(node, x, rows)


def split(node: Node) -> list[GraphTensor]:
    x = node.made(0)
    axis = node.axis(node.attribute("axis", 0), len(x.shape))
    count, extent = len(node.node.outputs), x.shape[axis]
    sizes = node.listed("split", 1)
    if sizes is None:
        size = -(-extent // count)
        sizes = [size] * (count - 1) + [extent - size * (count - 1)]
    if sum(sizes) != extent or len(sizes) != count or min(sizes) < 1:
        node.refuse(f"parts of {sizes} do not make up {extent}")
    made, start = [], 0
    for size in sizes:
        rows = [slice(None)] * len(x.shape)
        rows[axis] = slice(start, start + size)
        made.append(_cut(node, x, rows))
        start += size
    return made


def gather(node: Node) -> GraphTensor:
    x, indices = node.made(0), node.made(1)
    axis = node.axis(node.attribute("axis", 0), len(x.shape))
    found = node.step("gather", x.index, indices.index, axis=axis)
    return node.shaped(found.index, (*x.shape[:axis], *indices.shape, *x.shape[axis + 1 :]))


def pad(node: Node) -> GraphTensor:
    if node.attribute("mode", "constant") != "constant":
        node.refuse("there is padding by a constant alone")
    x, pads = node.made(0), node.listed("pads", 1) or []
    rank = len(x.shape)
    axes = node.integers(3) if node.has(3) else list(range(rank))
    if len(pads) != 2 * len(axes):
        node.refuse(f"there are {len(pads)} paddings for {len(axes)} dimensions")
    before, after = [0] * rank, [0] * rank
    for at, axis in enumerate(axes):
        before[node.axis(axis, rank)] = pads[at]
        after[node.axis(axis, rank)] = pads[at + len(axes)]
    if node.has(2):
        value = node.shaped(node.given(2), (1,)).index
    else:
        value = node.constant([node.attribute("value", 0)], node.dtype(0))
    return node.step("pad", x.index, value, before=tuple(before), after=tuple(after))


def expand(node: Node) -> GraphTensor:
    x, wanted = node.made(0), node.integers(1)
    try:
        whole = np.broadcast_shapes(x.shape, tuple(wanted))
    except ValueError:
        node.refuse(f"{x.shape} does not broadcast with {wanted}")
    return GraphTensor(node.step("expand", x.index, shape=whole or (1,)).index, whole)


def tile(node: Node) -> GraphTensor:
    return node.step("tile", node.given(0), repeats=tuple(node.integers(1)))
