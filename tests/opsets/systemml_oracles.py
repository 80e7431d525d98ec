"""What SystemML's operators compute, by another way than the formulas: forward as sums of shifted
images, backward as scatters. Each element adds its terms up in the order of its formula, so that
results agree to the last bit."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from tests.opsets.bits import Array


@dataclass(frozen=True, slots=True)
class Windows:
    """Images of N x C x H x W, and windows of R x S on them; F filters where there are some."""

    N: int
    C: int
    H: int
    W: int
    R: int
    S: int
    stride: tuple[int, int] = (1, 1)
    padding: tuple[int, int] = (0, 0)
    F: int = 1

    @property
    def YH(self) -> int:
        return (self.H + 2 * self.padding[0] - self.R) // self.stride[0] + 1

    @property
    def YW(self) -> int:
        return (self.W + 2 * self.padding[1] - self.S) // self.stride[1] + 1

    @property
    def filters(self) -> dict[str, Any]:
        """The attributes of the convolutions."""
        return {**self.common, "filter_shape": (self.F, self.C, self.R, self.S)}

    @property
    def pool(self) -> dict[str, Any]:
        """The attributes of pooling."""
        return {**self.common, "pool_size": (self.R, self.S)}

    @property
    def common(self) -> dict[str, Any]:
        shape = (self.N, self.C, self.H, self.W)
        return {"stride": self.stride, "padding": self.padding, "input_shape": shape}

    @property
    def columns(self) -> tuple[int, int, int, int]:
        """Of a matrix of images, of filters, of a convolution's result and of a pool's."""
        places = self.YH * self.YW
        return (
            self.C * self.H * self.W,
            self.C * self.R * self.S,
            self.F * places,
            self.C * places,
        )

    def tensor(self, images: Array) -> Array:
        return images.reshape(self.N, self.C, self.H, self.W)

    def padded(self, images: Array, value: float) -> Array:
        (ph, pw), tensor = self.padding, self.tensor(images)
        widths = ((0, 0), (0, 0), (ph, ph), (pw, pw))
        return np.pad(tensor, widths, constant_values=value)

    def shifted(self, images: Array, value: float, r: int, s: int) -> Array:
        """For every window the element at (r, s) of it: N x C x YH x YW."""
        (sh, sw), whole = self.stride, self.padded(images, value)
        return whole[:, :, r : r + sh * self.YH : sh, s : s + sw * self.YW : sw]

    def places(self, p: int, q: int) -> Iterator[tuple[int, int, int, int]]:
        """The places of a window that lie in the image, row by row: (r, s) and where they are."""
        (sh, sw), (ph, pw) = self.stride, self.padding
        for r in range(self.R):
            for s in range(self.S):
                i, j = p * sh - ph + r, q * sw - pw + s
                if 0 <= i < self.H and 0 <= j < self.W:
                    yield r, s, i, j


def conv2d(x: Array, w: Array, at: Windows) -> Array:
    """Finite filters only: the padding takes part here."""
    y = np.zeros((at.N, at.F, at.YH, at.YW))
    filters = w.reshape(at.F, at.C, at.R, at.S)
    for c in range(at.C):
        for r in range(at.R):
            for s in range(at.S):
                image = at.shifted(x, 0.0, r, s)[:, c]
                y += image[:, None] * filters[None, :, c, r, s, None, None]
    return y.reshape(at.N, -1)


def conv2d_backward_filter(x: Array, dout: Array, at: Windows) -> Array:
    dw = np.zeros((at.F, at.C, at.R, at.S))
    images, error = at.tensor(x), dout.reshape(at.N, at.F, at.YH, at.YW)
    for n in range(at.N):
        for p in range(at.YH):
            for q in range(at.YW):
                for r, s, i, j in at.places(p, q):
                    dw[:, :, r, s] += error[n, :, None, p, q] * images[n, None, :, i, j]
    return dw.reshape(at.F, -1)


def conv2d_backward_data(w: Array, dout: Array, at: Windows) -> Array:
    dx = np.zeros((at.N, at.C, at.H, at.W))
    filters, error = w.reshape(at.F, at.C, at.R, at.S), dout.reshape(at.N, at.F, at.YH, at.YW)
    for f in range(at.F):
        for p in range(at.YH):
            for q in range(at.YW):
                for r, s, i, j in at.places(p, q):
                    dx[:, :, i, j] += error[:, None, f, p, q] * filters[None, f, :, r, s]
    return dx.reshape(at.N, -1)


def greater(one: float, other: float) -> bool:
    """Above, as the maximum of IEEE 754 has it: NaN on top, and 0 above -0."""
    if math.isnan(one) or math.isnan(other):
        return math.isnan(one) and not math.isnan(other)
    return (one, math.copysign(1.0, one)) > (other, math.copysign(1.0, other))


def max_pool(x: Array, at: Windows) -> Array:
    y = np.empty((at.N, at.C, at.YH, at.YW))
    images = at.tensor(x)
    for n, c, p, q in np.ndindex(y.shape):
        found = None
        for _, _, i, j in at.places(p, q):
            value = float(images[n, c, i, j])
            if found is None or greater(value, found):
                found = value
        y[n, c, p, q] = found
    return y.reshape(at.N, -1)


def max_pool_backward(x: Array, dout: Array, at: Windows) -> Array:
    dx = np.zeros((at.N, at.C, at.H, at.W))
    images, error = at.tensor(x), dout.reshape(at.N, at.C, at.YH, at.YW)
    for n, c, p, q in np.ndindex(error.shape):
        best, place = math.nan, (-1, -1)
        for _, _, i, j in at.places(p, q):
            value = float(images[n, c, i, j])
            first = place == (-1, -1)
            if first or (not math.isnan(best) and (math.isnan(value) or value > best)):
                best, place = value, (i, j)
        dx[n, c, *place] += error[n, c, p, q]
    return dx.reshape(at.N, -1)


def avg_pool(x: Array, at: Windows) -> Array:
    total = np.zeros((at.N, at.C, at.YH, at.YW))
    for r in range(at.R):
        for s in range(at.S):
            total += at.shifted(x, 0.0, r, s)
    return (total / (at.R * at.S)).reshape(at.N, -1)


def avg_pool_backward(x: Array, dout: Array, at: Windows) -> Array:
    dx = np.zeros((at.N, at.C, at.H, at.W))
    error = dout.reshape(at.N, at.C, at.YH, at.YW)
    for p in range(at.YH):
        for q in range(at.YW):
            for _, _, i, j in at.places(p, q):
                dx[:, :, i, j] += error[:, :, p, q] / (at.R * at.S)
    return dx.reshape(at.N, -1)


def power(x: Array, y: Array) -> Array:
    """numpy takes `pow` of the C library."""
    lost = (x == 1) & ~np.isfinite(y)
    return np.where(lost, np.nan, np.power(x, y))


ELEMENTWISE: dict[str, Any] = {
    "add": np.add,
    "sub": np.subtract,
    "mul": np.multiply,
    "div": np.divide,
    "intdiv": lambda x, y: np.floor(np.divide(x, y)),
    "mod": lambda x, y: np.subtract(x, np.multiply(np.floor(np.divide(x, y)), y)),
    "pow": power,
}
