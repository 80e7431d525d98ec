"""What generated numpy operators call: reads and stores at indices that are axes, blocks, lists.

While index arithmetic is affine nothing is computed: an element access becomes a view with the
strides that follow from it.

The numpy target carries a copy of this file beside its operators.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from ._indices import Array, Index, is_integer
from ._indices import Split as Split  # nests find all that they call in this module
from ._indices import axes as axes
from ._indices import longest as longest
from ._indices import placed as placed
from ._indices import span as span

BLOCK = 1 << 15  # elements that a few arrays of 8 bytes each fit a cache with
MOST_BORDER = 1 << 20  # elements around a tensor that a border may have
FARTHEST = 1 << 62  # where a place is surely beyond every tensor
SHORT = 4  # elements of an axis that are better copied one by one, each along the other axes
Slot = Any  # of an access: an integer, an Index, or an array of integers
Part = tuple[int, int, int]  # axis, unit, count: a digit of the places on an axis

# ---------------------------------------------------------------- elements


def blocks(
    computed: Sequence[Any], kept: Sequence[Any], integer: Any = None, spare: int = 0
) -> Iterator[tuple[Any, ...]]:
    """Tensors by blocks of elements, so that what is made of a block stays in the cache.

    The last of them has the shape that the others broadcast to. Those to compute with come in the
    type for that, then those that are kept as they are, then `spare` arrays for results on the way,
    the same ones for each block.
    """
    shape = kept[-1].shape
    if kept[-1].size <= BLOCK:
        memory = [np.empty(shape, integer) for _ in range(spare)]
        yield (*(elements(each, integer) for each in computed), *kept, *memory)
        return
    computed = [conditions(each) if each.dtype == np.bool_ else each for each in computed]
    tensors = [*computed, *kept]
    if all(each.shape == shape and each.flags.c_contiguous for each in tensors):
        tensors = [each.reshape(-1) for each in tensors]
    shape = tensors[-1].shape
    tensors = [each if each.shape == shape else np.broadcast_to(each, shape) for each in tensors]
    kinds = [number_kind(each.dtype, integer) for each in computed]
    made = [
        None if each.dtype == kind else np.empty(BLOCK, kind)
        for each, kind in zip(computed, kinds, strict=True)
    ]
    memory = [np.empty(BLOCK, integer) for _ in range(spare)]
    for place in places(shape):
        block = [each[place] for each in tensors]
        size, box = block[-1].size, block[-1].shape
        for number, array in enumerate(made):
            if array is not None:
                array[:size].reshape(box)[...] = block[number]
                block[number] = array[:size].reshape(box)
        yield (*block, *(each[:size].reshape(box) for each in memory))


def places(shape: Sequence[int]) -> Iterator[tuple[Any, ...]]:
    """Blocks of a box: parts of one axis, with all of those behind it."""
    axis, inner = len(shape) - 1, 1
    while inner * shape[axis] <= BLOCK:
        inner *= shape[axis]
        axis -= 1
    pieces = -(-shape[axis] // (BLOCK // inner))
    rows = -(-shape[axis] // pieces)
    for front in np.ndindex(*shape[:axis]):
        for low in range(0, shape[axis], rows):
            yield (*front, slice(low, low + rows))


def elements(array: Any, integer: Any) -> Any:
    """The elements in a type to compute with: `integer`, binary64, or conditions as they are."""
    if array is None:
        return None
    if array.dtype == np.bool_:
        return conditions(array)
    kind = number_kind(array.dtype, integer)
    return np.ascontiguousarray(array.astype(kind, copy=False)).reshape(array.shape)


def conditions(array: Any) -> Any:
    """Conditions as 0 and 1, whatever byte stands for true."""
    return np.not_equal(array.view(np.uint8), 0)


def number_kind(dtype: np.dtype[Any], integer: Any) -> Any:
    return {"f": np.float64, "b": np.bool_}.get(dtype.kind, integer)


def numbers(array: Any) -> Any:
    """The elements as Python's integers, floats and conditions."""
    return None if array is None else array.astype(object)


def integers(bits: int, *values: Any) -> Any:
    """int64 where all that a nest reads is below 2^bits, so that every value on its way fits; else
    Python's integers."""
    return np.int64 if all(peak(each) < 1 << bits for each in values) else object


def peak(value: Any) -> int:
    """The greatest magnitude; 0 where there is no number."""
    if value is None or isinstance(value, (str, float)):
        return 0
    if is_integer(value):
        return abs(int(value))
    if isinstance(value, (list, tuple)):
        return max(map(peak, value), default=0)
    if value.size == 0 or value.dtype.kind in "fb":
        return 0
    return max(abs(int(value.max())), abs(int(value.min())))


class Padded:
    """A tensor with a border; `before` is how wide it is in front of each dimension. Without one
    because it would be too large, places beyond it read `fill`."""

    def __init__(self, array: Array, before: Sequence[int], fill: Any = None) -> None:
        self.array = array
        self.before = before
        self.fill = fill


def padded(tensor: Array, fill: Any, *slots: Slot) -> Padded:
    """The tensor with a border of `fill` wherever the slots reach beyond it."""
    before, after = [0] * tensor.ndim, [0] * tensor.ndim
    if far_beyond(tensor, slots):
        return Padded(tensor, before, fill)
    for at, (slot, extent) in enumerate(zip(slots, tensor.shape, strict=True)):
        low, high = slot_ends(slot)
        before[at], after[at] = max(-low, 0), max(high + 1 - extent, 0)
    if not any(before) and not any(after):
        return Padded(tensor, before)
    shape = [b + n + a for b, n, a in zip(before, tensor.shape, after, strict=True)]
    array = np.full(shape, fill, tensor.dtype)
    array[tuple(slice(b, b + n) for b, n in zip(before, tensor.shape, strict=True))] = tensor
    return Padded(array, before)


def slot_ends(slot: Slot) -> tuple[int, int]:
    """The least and the greatest place that a slot names; that of nothing is 0."""
    if isinstance(slot, Index):
        return (0, 0) if slot.empty else slot.ends
    if isinstance(slot, np.ndarray):
        return (int(slot.min()), int(slot.max())) if slot.size else (0, 0)
    return int(slot), int(slot)


def read(tensor: Array | Padded, *slots: Slot, fill: Any = None) -> Any:
    """The elements at a multi-index, as a view or a copy with the axes of the indices.

    Beyond the tensor they are `fill`; without one such elements are of no use, and any will do.
    """
    slots = tuple(map(as_place, slots))
    if isinstance(tensor, Padded):
        slots = tuple(slot + by for slot, by in zip(slots, tensor.before, strict=True))
        tensor, fill = tensor.array, tensor.fill
    if len(slots) != tensor.ndim:
        return tensor.dtype.type(0)  # a condition beside it excludes this shape
    parts = parts_of(slots)
    if (fill is not None or parts is not None) and not inside(tensor, slots):
        if far_beyond(tensor, slots):
            found = gathered(tensor, [as_place(np.asarray(slot)) for slot in slots])
            return found if fill is None else np.where(all_inside(tensor, slots), found, fill)
        return read(padded(tensor, fill or 0, *slots), *slots)
    if parts is None:
        return gathered(tensor, slots)
    return view(tensor, slots, parts).reshape(whole_axes(parts))


def as_place(slot: Slot) -> Slot:
    """A slot of 64 bits, whatever the type of the integers that it was computed with."""
    if isinstance(slot, np.ndarray) and slot.dtype == object:
        return np.asarray(np.clip(slot, -FARTHEST, FARTHEST), np.int64)
    return slot


def far_beyond(tensor: Array, slots: Sequence[Slot]) -> bool:
    """Whether a border as wide as the slots reach would be much larger than what is read."""
    size = 1
    for slot, extent in zip(slots, tensor.shape, strict=True):
        low, high = slot_ends(slot)
        size *= max(high + 1, extent) - min(low, 0)
    return size > 8 * tensor.size + MOST_BORDER


def all_inside(tensor: Array, slots: Sequence[Slot]) -> Any:
    """Where all slots lie inside the tensor."""
    held: Any = True
    for slot, extent in zip(slots, tensor.shape, strict=True):
        places = np.asarray(slot)
        held = held & (places >= 0) & (places < extent)
    return held


def parts_of(slots: Sequence[Slot], box: Sequence[int] = ()) -> list[Part] | None:
    """The axes of affine slots, the outermost first, cut into the digits that the slots go by, and
    axes of a box that they do not go along.

    None where a slot is not affine, or digits overlap.
    """
    units = {axis: {1, extent} for axis, extent in enumerate(reversed(box))}
    for slot in slots:
        if not isinstance(slot, Index):
            if is_integer(slot):
                continue
            return None
        for at, _, count in slot.terms:
            axis, unit, extent = at if isinstance(at, tuple) else (at, 1, count)
            units.setdefault(axis, {1, extent}).update((unit, unit * count))
    found: list[Part] = []
    for axis in range(max(units, default=-1), -1, -1):
        ends = sorted(units.get(axis, {1}))
        if ends[0] == 0 or len(ends) == 1:
            found.append((axis, 1, ends[0]))
            continue
        for low, high in zip(ends[-2::-1], ends[:0:-1], strict=True):
            if high % low:
                return None
            found.append((axis, low, high // low))
    return found


def whole_axes(parts: Sequence[Part]) -> list[int]:
    """The extents of axes that are cut into parts."""
    extents = [1] * (1 + max((axis for axis, _, _ in parts), default=-1))
    for axis, _, count in parts:
        extents[-1 - axis] *= count
    return extents


def view(tensor: Array, slots: Sequence[Slot], parts: Sequence[Part]) -> Array:
    """The elements at affine slots inside a tensor, without a copy: a dimension for each part."""
    shape = [count for _, _, count in parts]
    if 0 in shape:
        return np.empty(shape, tensor.dtype)
    steps = dict.fromkeys(parts, 0)
    offset = 0
    for slot, stride in zip(slots, tensor.strides, strict=True):
        if not isinstance(slot, Index):
            offset += int(slot) * stride
            continue
        offset += slot.start * stride
        for at, step, count in slot.terms:
            axis, unit, _ = at if isinstance(at, tuple) else (at, 1, count)
            for part in parts:
                if part[0] == axis and unit <= part[1] < unit * count:
                    steps[part] += step * stride * (part[1] // unit)
    strides = list(steps.values())
    if tensor.flags.c_contiguous and tensor.dtype != object:
        return np.ndarray(shape, tensor.dtype, tensor, offset, strides)
    first = [slot.start if isinstance(slot, Index) else int(slot) for slot in slots]
    behind: Any = (*(slice(at, None) for at in first), ...)  # a view, of no dimensions too
    return np.lib.stride_tricks.as_strided(tensor[behind], shape, strides)


def copy(target: Array, tensor: Array, *slots: Slot) -> None:
    """Fill a tensor with the elements at a multi-index; the axes of the indices are its own."""
    slots = tuple(map(as_place, slots))
    parts = parts_of(slots, target.shape)
    if parts is None or not inside(tensor, slots):
        looked_up(target, tensor, slots)
    else:
        assign(target.reshape([count for _, _, count in parts]), view(tensor, slots, parts))


def inside(tensor: Array, slots: Sequence[Slot]) -> bool:
    ends = map(slot_ends, slots)
    return all(
        low >= 0 and high < extent for (low, high), extent in zip(ends, tensor.shape, strict=True)
    )


def assign(target: Array, source: Array) -> None:
    """Copy elements; numpy's innermost loop goes along the last axis, which should not be short."""
    if target.ndim and 1 < target.shape[-1] <= SHORT < target.size:
        source = np.broadcast_to(source, target.shape)
        for at in range(target.shape[-1]):
            target[..., at] = source[..., at]
    else:
        target[...] = source


def looked_up(target: Array, tensor: Array, slots: Sequence[Slot]) -> None:
    """Fill a tensor with the elements at slots that are not affine."""
    axis = only_lookup(tensor, slots)
    if axis is None or target.dtype != tensor.dtype or not target.flags.c_contiguous:
        target[...] = wrapped(read(tensor, *slots), target.dtype)
        return
    places = slots[axis].reshape([extent for extent in slots[axis].shape if extent != 1])
    shape = (*tensor.shape[:axis], *places.shape, *tensor.shape[axis + 1 :])
    if target.size == np.prod(shape, dtype=np.int64):
        np.take(tensor, places, axis=axis, out=target.reshape(shape), mode="clip")
    else:
        target[...] = read(tensor, *slots)


def only_lookup(tensor: Array, slots: Sequence[Slot]) -> int | None:
    """The one dimension whose places are looked up, where the others stay whole and in order."""
    found = [at for at, slot in enumerate(slots) if isinstance(slot, np.ndarray)]
    if len(found) != 1 or not tensor.size:
        return None
    for at, (slot, extent) in enumerate(zip(slots, tensor.shape, strict=True)):
        if at != found[0] and not whole(slot, extent):
            return None
    axes = [axis for slot in slots for axis in sorted(axes_of(slot), reverse=True)]
    return found[0] if axes == sorted(set(axes), reverse=True) else None


def axes_of(slot: Slot) -> set[int]:
    """The axes along which a slot changes."""
    if isinstance(slot, Index):
        counted = [at for at, _, count in slot.terms if count != 1]
        return {at[0] if isinstance(at, tuple) else at for at in counted}
    shape = np.shape(slot)
    return {axis for axis, extent in enumerate(reversed(shape)) if extent != 1}


def gathered(tensor: Array, slots: Sequence[Slot]) -> Array:
    """The elements at slots that are arrays, copied; places beyond the tensor give the nearest."""
    of_slots = [axes_of(slot) for slot in slots]
    rank = max(len(each.shape) if isinstance(each, np.ndarray) else 0 for each in slots)
    rank = max([rank, *(1 + axis for each in of_slots for axis in each)])
    if tensor.size == 0:
        return np.zeros(np.broadcast_shapes(*map(np.shape, map(np.asarray, slots))), tensor.dtype)
    if len(set().union(*of_slots)) < sum(map(len, of_slots)):
        return gathered_together(tensor, slots)
    kind = tensor.dtype
    # Each slot has axes of its own: one dimension after the other, the last one first.
    order: list[int] = []
    for at in range(len(slots) - 1, -1, -1):
        own = sorted(of_slots[at], reverse=True)
        places = np.asarray(slots[at])
        places = places.reshape([extent for extent in places.shape if extent != 1])
        if not (own and whole(slots[at], tensor.shape[at])):
            tensor = np.take(tensor, places, axis=at, mode="clip")
        order = own + order
    tensor = np.asarray(tensor, kind)
    shape = [1] * rank
    for axis, extent in zip(order, tensor.shape, strict=True):
        shape[rank - 1 - axis] = extent
    turned = tensor.transpose([order.index(axis) for axis in sorted(order, reverse=True)])
    return turned.reshape(shape)


def whole(slot: Slot, extent: int) -> bool:
    """Whether a slot is an index that runs over all of a dimension."""
    if not isinstance(slot, Index) or slot.start != 0 or len(slot.terms) != 1:
        return False
    return isinstance(slot.terms[0][0], int) and slot.terms[0][1:] == (1, extent)


def gathered_together(tensor: Array, slots: Sequence[Slot]) -> Array:
    """Elements at slots that change along the same axes: by their positions in memory."""
    position: Any = 0
    for slot, extent in zip(slots, tensor.shape, strict=True):
        low, high = slot_ends(slot)
        inside = low >= 0 and high < extent
        position = position * extent + (
            slot if inside else np.clip(np.asarray(slot), 0, extent - 1)
        )
    return np.take(tensor.reshape(-1), np.asarray(position))


def flat(tensor: Array, kept: int = 0) -> Array:
    """The tensor with its dimensions from `kept` on in one."""
    size = int(np.prod(tensor.shape[kept:], dtype=np.int64))
    return tensor.reshape(*tensor.shape[:kept], size)


def store(tensor: Array, value: Any, *slots: Slot) -> None:
    """Write elements at a multi-index; integers beyond the type wrap in two's complement."""
    value = wrapped(value, tensor.dtype)
    parts = parts_of(slots)
    if parts is None:
        tensor[tuple(np.broadcast_arrays(*map(np.asarray, slots)))] = value
        return
    target = view(tensor, slots, parts)
    if value.ndim and target.ndim > len(whole_axes(parts)):
        value = np.broadcast_to(value, whole_axes(parts)).reshape(target.shape)
    target[...] = value


def store_all(tensor: Array, value: Any) -> None:
    """Write all elements of a tensor."""
    tensor[...] = wrapped(value, tensor.dtype)


def wrapped(value: Any, dtype: Any) -> Any:
    """Integers that an array of this type takes; those of Python's own modulo 2^64."""
    value = np.asarray(value)
    if value.dtype.kind not in "uO" or dtype.kind in "Of":
        return value
    ends = [(int(each) + (1 << 63)) % (1 << 64) - (1 << 63) for each in value.reshape(-1)]
    return np.array(ends, np.int64).reshape(value.shape)


# ---------------------------------------------------------------- lists that depend on elements


def chosen(condition: Any, index: Index, value: Any = None) -> Array:
    """The values of an index, or of what depends on it, where a condition holds, in order."""
    shape = index.array().shape
    found = np.broadcast_to(np.asarray(index if value is None else value), shape)
    return found[np.broadcast_to(np.asarray(condition, np.bool_), shape)]


def sort(entries: Array, keys: Array) -> None:
    """Put entries into the ascending order of their rows of keys; equal ones keep their order."""
    entries[...] = entries[np.lexsort(keys.T[::-1])]
