"""The codes in the shapes that graphs give to `reshape`, resolved against the input's shape."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Sequence
from typing import Final

Shape = tuple[int, ...]

INFERRED: Final = -1


def target_shape(codes: Sequence[int], shape: Shape) -> Shape:
    """The extents that `codes` stand for, of a tensor of shape `shape`.

    Codes are read beside the extents: 0 copies the next extent, -2 all that are left, -3 is the
    product of the next two, -4 splits the next one into the two entries after the code, one of
    which may be -1. Any other entry stands for the next extent, if there is one, and -1 is what
    the size leaves for it. ValueError says what does not fit.
    """
    unread, left = deque(codes), deque(shape)
    extents: list[int] = []
    while unread:
        extents += _read(unread, left)
    return _complete(extents, shape)


def _read(unread: deque[int], left: deque[int]) -> list[int]:
    """The extents of the next code, taken off with those of the input that it stands for."""
    match unread.popleft():
        case 0:
            return _take(left, 1, "0 copies an extent")
        case -2:
            return [left.popleft() for _ in range(len(left))]
        case -3:
            return [math.prod(_take(left, 2, "-3 multiplies two extents"))]
        case -4:
            (extent,) = _take(left, 1, "-4 splits an extent")
            return _split(extent, unread)
        case code if code < -4:
            raise ValueError(f"{code} is neither an extent nor one of the codes 0 to -4")
        case entry:
            if left:
                left.popleft()
            return [entry]


def _take(left: deque[int], count: int, purpose: str) -> list[int]:
    if len(left) < count:
        raise ValueError(f"{purpose}, and the input has {len(left) or 'none'} left there")
    return [left.popleft() for _ in range(count)]


def _split(extent: int, unread: deque[int]) -> list[int]:
    if len(unread) < 2:
        raise ValueError("-4 needs two entries after it")
    first, second = unread.popleft(), unread.popleft()
    if min(first, second) < -1 or 0 in (first, second) or first == second == INFERRED:
        raise ValueError(f"-4 needs two extents, one of which may be -1, not {first} and {second}")
    filled = _filled([first, second], extent)
    if filled is None:
        raise ValueError(f"-4 cannot split {extent} into {first} and {second}")
    return filled


def _complete(extents: list[int], shape: Shape) -> Shape:
    """`extents` with the inferred one filled in, if they have the size of `shape`."""
    if not extents:
        raise ValueError("a tensor has at least one dimension")
    if extents.count(INFERRED) > 1:
        raise ValueError("-1 may stand once")
    size = math.prod(shape)
    filled = _filled(extents, size)
    if filled is None:
        raise ValueError(f"the {size} elements of the input {shape} do not fill it")
    return tuple(filled)


def _filled(extents: list[int], size: int) -> list[int] | None:
    """`extents` with the one that is inferred, if any; None when their product is not `size`."""
    known = math.prod(extent for extent in extents if extent != INFERRED)
    if size % known or (INFERRED not in extents and size != known):
        return None
    return [size // known if extent == INFERRED else extent for extent in extents]
