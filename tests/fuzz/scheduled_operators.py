"""Operators of every class of nests, for schedules to try, and calls at the edges of blocks."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from math import prod
from random import Random
from typing import Any

import numpy as np

Drawn = tuple[list[Any], dict[str, Any]]
Draw = Callable[[Random], Drawn]

# One, primes, and what is around the numbers that blocks of schedules have.
EDGES = (1, 1, 2, 3, 5, 7, 8, 9, 13, 15, 16, 17, 31, 33, 63, 64, 65, 130)
MOST = 2600  # elements of a tensor: the reference goes through each of them in Python


def extents(random: Random, rank: int, most: int = MOST) -> tuple[int, ...]:
    """Extents at edges, of which at most one or two are large."""
    while True:
        found = tuple(random.choice(EDGES) for _ in range(rank))
        if prod(found) <= most:
            return found


def integers(random: Random, *shape: int, least: int = -128, most: int = 127) -> Any:
    values = [random.randint(least, most) for _ in range(prod(shape))]
    return np.array(values, np.int32).reshape(shape)


def reals(random: Random, dtype: str, *shape: int) -> Any:
    """Numbers whose sums tell their order, and sometimes those that are no numbers."""
    special = random.choice((0.0, 0.0, 0.1))
    values = [
        random.choice((np.inf, np.nan, -0.0, 1e16, -1e16))
        if random.random() < special
        else random.gauss(0, 1) * random.choice((1.0, 1e8))
        for _ in range(prod(shape))
    ]
    return np.array(values, dtype).reshape(shape)


def alike(count: int, rank: int, **attributes: tuple[int, ...]) -> Draw:
    """Tensors of one shape, and attributes of a few values."""

    def draw(random: Random) -> Drawn:
        shape = extents(random, rank)
        return [integers(random, *shape) for _ in range(count)], {
            name: random.choice(values) for name, values in attributes.items()
        }

    return draw


def real(count: int, rank: int, *dtypes: str, **attributes: tuple[int, ...]) -> Draw:
    def draw(random: Random) -> Drawn:
        shape, dtype = extents(random, rank), random.choice(dtypes)
        return [reals(random, dtype, *shape) for _ in range(count)], {
            name: random.choice(values) for name, values in attributes.items()
        }

    return draw


def broadcast(random: Random) -> Drawn:
    shape = extents(random, random.randint(1, 4))
    return [
        integers(random, *shape),
        integers(random, *(each if random.random() < 0.5 else 1 for each in shape)),
    ], {}


def permuted(random: Random) -> Drawn:
    shape = extents(random, random.randint(1, 4))
    return [integers(random, *shape)], {"axes": random.sample(range(len(shape)), len(shape))}


def over_axes(dtype: str) -> Draw:
    def draw(random: Random) -> Drawn:
        shape = extents(random, random.randint(1, 4))
        axes = random.sample(range(len(shape)), random.randint(0, len(shape)))
        data = reals(random, dtype, *shape) if dtype else integers(random, *shape)
        return [data], {"axes": axes}

    return draw


def gathered(random: Random) -> Drawn:
    rows, columns = extents(random, 2, 600)
    (count,) = extents(random, 1)
    return [
        integers(random, rows, columns),
        integers(random, count, least=-3, most=rows + 2),
    ], {}


def product(random: Random) -> Drawn:
    while True:
        m, n, k = (random.choice(EDGES) for _ in range(3))
        if m * n * k <= 12000:
            return [integers(random, m, k), integers(random, n, k)], {}


def batches(random: Random) -> Drawn:
    while True:
        b, m, n, k = (random.choice(EDGES) for _ in range(4))
        if b * m * n * k <= 8000:
            return [integers(random, b, k, m), integers(random, b, n, k)], {}


def real_product(random: Random) -> Drawn:
    while True:
        m, n, k = (random.choice(EDGES) for _ in range(3))
        if m * n * k <= 8000:
            return [reals(random, "float64", m, k), reals(random, "float64", n, k)], {}


def boxes(random: Random) -> Drawn:
    while True:
        shape = tuple(random.choice((1, 2, 3, 9, 17, 40, 70)) for _ in range(2))
        k, step = random.choice((1, 2, 3)), random.choice((1, 2, 3))
        if k <= min(shape) and prod(shape) <= 1500:
            shape = (random.choice((1, 2)), random.choice((1, 3)), *shape)
            return [reals(random, "float32", *shape)], {"k": k, "by": step}


def padded(random: Random) -> Drawn:
    shape = tuple(random.choice((1, 2, 5, 9, 17, 40, 70)) for _ in range(2))
    shape = (random.choice((1, 2)), *shape)
    attributes = {"k": random.choice((1, 2, 3, 4)), "by": random.choice((1, 2, 3))}
    return [integers(random, *shape)], {**attributes, "pad": random.choice((0, 1, 2))}


def weighted(random: Random) -> Drawn:
    high, wide = (random.choice((1, 3, 9, 17, 34)) for _ in range(2))
    k = random.choice((1, 2, 3))
    channels, filters = random.choice((1, 2, 5)), random.choice((1, 3, 17))
    if high * wide * channels * filters * k * k > 30000:
        filters = 1
    return [
        integers(random, random.choice((1, 2)), channels, high, wide),
        integers(random, filters, channels, k, k),
    ], {"by": random.choice((1, 2)), "pad": random.choice((0, 1, 2))}


def rows_kept(dtype: str) -> Draw:
    def draw(random: Random) -> Drawn:
        batch = random.choice((1, 2, 3))
        shape = (batch, *extents(random, 2, 800))
        if dtype:
            return [reals(random, dtype, *shape[1:])], {}
        data = integers(random, *shape)
        data[..., 0] += random.choice((-100, 0, 100))
        return [data], {}

    return draw


def apart(random: Random) -> Drawn:
    shape = extents(random, 2, 400)
    return [integers(random, *shape)], {"t": random.choice((0, 1, 20, 200))}


def triples(random: Random) -> Drawn:
    (count,) = extents(random, 1)
    return [integers(random, count, 3, least=-2, most=4)], {}


def several(random: Random) -> Drawn:
    rank = random.randint(1, 3)
    axis = random.randrange(rank)
    first = list(extents(random, rank, 400))
    found = []
    for _ in range(random.randint(1, 3)):
        found.append(integers(random, *first))
        first[axis] = random.choice((1, 2, 9))
    return [found], {"axis": axis}


def channels(random: Random) -> Drawn:
    b = random.choice((1, 2, 3, 4))
    shape = (random.choice((1, 3)), b * random.choice((1, 3, 9)), random.choice((1, 17, 65)))
    return [integers(random, *shape)], {"b": b}


def by_channel(random: Random) -> Drawn:
    height, width, count = extents(random, 3, 300)
    several = (random.randint(1, 3), random.randint(1, 3), count, random.randint(1, 2))
    return [
        integers(random, height, width, count).astype(np.int8),
        integers(random, *several).astype(np.int8),
    ], {"p": random.choice((0, 1, 2))}


def small(random: Random) -> Drawn:
    shape, dtype = extents(random, 2), random.choice(("int8", "int16", "int64"))
    return [integers(random, *shape, least=-3, most=3).astype(dtype)], {}


def truths(random: Random) -> Drawn:
    shape = extents(random, 2)
    return [integers(random, *shape, least=-2, most=1) > 0], {}


def empty_too(random: Random) -> Drawn:
    shape = extents(random, 2)
    if random.random() < 0.3:
        shape = random.choice(((0, shape[1]), (shape[0], 0), (0, 0)))
    return [integers(random, *shape)], {}


@dataclass(frozen=True, slots=True)
class Invented:
    """An operator without its head, and its calls."""

    items: str
    draw: Draw


OPERATORS: Mapping[str, Invented] = {
    "scaled": Invented(
        "input X : cvm[n...]\noutput Y : cvm[n...] precision 32\nY[d...] = X[d...] * 3 + d[0]",
        lambda random: ([integers(random, *extents(random, random.randint(1, 4)))], {}),
    ),
    "spread": Invented(
        "input X : cvm[n...]\ninput Z : cvm[m...]\nlet M = len(m)\n"
        'require M == len(n) and all[j < M](m[j] == n[j] or m[j] == 1) : "alike or 1"\n'
        "output Y : cvm[n...] precision 32\n"
        "Y[d...] = X[d...] + Z[(d[j] if m[j] != 1 else 0 for j < M)...]",
        broadcast,
    ),
    "quotients": Invented(
        "input X : cvm[N]\ninput Z : cvm[N]\noutput Y : cvm[N] precision 32\n"
        "Y[i] = X[i] tdiv Z[i] if Z[i] != 0 else 0",
        alike(2, 1),
    ),
    "added": Invented(
        "type T in int8, int16\ninput X : T[N, M]\noutput Y : T[N, M]\n"
        "Y[i, j] = X[i, j] + X[N - 1 - i, j]",
        lambda random: (
            [integers(random, *extents(random, 2), least=-60, most=60).astype("int8")],
            {},
        ),
    ),
    "turned": Invented(
        "input X : cvm[N, M]\nattr a = 1 in [-3, 4)\noutput Y : cvm[M, N] precision 32\n"
        "Y[j, i] = X[i, j] * a if i < j else -X[i, j] forall i < N, j < M",
        alike(1, 2, a=(-3, 0, 1, 2)),
    ),
    "shifted": Invented(
        "input X : cvm[N]\nattr a = 1 in [-3, 40)\noutput Y : cvm[N + 3] precision 32\n"
        "Y[i] = X[i - a] if 0 <= i - a < N else 7",
        alike(1, 1, a=(-3, 0, 1, 33)),
    ),
    "permuted": Invented(
        "input X : cvm[n...]\nlet N = len(n)\nattr axes : int list in [0, N)\n"
        'require len(axes) == N and count({a for a in axes}) == N : "each axis once"\n'
        "output Y : cvm[(n[axes[i]] for i < N)...] precision p(X)\n"
        "Y[(d[axes[i]] for i < N)...] = X[d...] forall d... < n...",
        permuted,
    ),
    "taken": Invented(
        "input X : cvm[N, M]\ninput I : cvm[K]\noutput Y : cvm[K, M] precision p(X)\n"
        "Y[k, j] = X[max(0, min(I[k], N - 1)), j]",
        gathered,
    ),
    "named": Invented(
        "input X : cvm[N, M]\ninput I : cvm[K]\noutput Y : cvm[K] precision 32\n"
        "Y[k] = X[max(0, min(I[k], N - 1)), 0] + X[abs(I[k]) mod N, 0]",
        gathered,
    ),
    "rows": Invented(
        "input X : cvm[M, N]\noutput Y : cvm[M] precision 32\nY[i] = sum[j < N](X[i, j])",
        alike(1, 2),
    ),
    "tallest": Invented(
        "input X : cvm[M, N]\noutput Y : cvm[N] precision 32\nY[j] = max[i < M](X[i, j]) + j",
        alike(1, 2),
    ),
    "reduced": Invented(
        "input X : cvm[n...]\nlet N = len(n)\nattr axes : int list = () in [0, N)\n"
        "let R = {a for a in axes}\n"
        "output Y : cvm[(1 if i in R else n[i] for i < N)...] precision 32\n"
        "Y[(0 if i in R else d[i] for i < N)...] = sum[d[j] < n[j] for j in R](X[d...]) "
        "forall d[i] < n[i] for i in {k for k < N} - R",
        over_axes(""),
    ),
    "positive": Invented(
        "input X : int32[M, N] or empty\noutput Y : int32[M] or empty\n"
        "Y[i] = sum[j < N if X[i, j] > 0](X[i, j])",
        empty_too,
    ),
    "two_ways": Invented(
        "input X : cvm[M, N]\noutput Y : cvm[M] precision 32\noutput Z : cvm[M] precision 32\n"
        "Y[i] = sum[j < N](X[i, j]) - min[j < N](X[i, j])\n"
        "Z[i] = count[j < N](X[i, j] > X[i, 0])",
        alike(1, 2),
    ),
    "real_rows": Invented(
        "type T in float32, float64\ninput X : T[M, N]\noutput Y : T[M]\n"
        "Y[i] = sum[j < N](X[i, j])",
        real(1, 2, "float32", "float64"),
    ),
    "real_columns": Invented(
        "type T in float32, float64\ninput X : T[M, N]\noutput Y : T[N]\n"
        "Y[j] = sum[i < M](X[i, j] * X[i, 0])",
        real(1, 2, "float32", "float64"),
    ),
    "real_product": Invented(
        "input X : float64[M, K]\ninput W : float64[N, K]\noutput Y : float64[M, N]\n"
        "Y[i, j] = sum[k < K](X[i, k] * W[j, k])",
        real_product,
    ),
    "real_extremes": Invented(
        "input X : float32[n...]\nlet N = len(n)\nattr axes : int list = () in [0, N)\n"
        "let R = {a for a in axes}\n"
        "output Y : float32[(1 if i in R else n[i] for i < N)...]\n"
        "Y[(0 if i in R else d[i] for i < N)...] = max[d[j] < n[j] for j in R](X[d...]) "
        "forall d[i] < n[i] for i in {k for k < N} - R",
        over_axes("float32"),
    ),
    "product": Invented(
        "input X : cvm[M, K]\ninput W : cvm[N, K]\noutput Y : cvm[M, N] precision 32\n"
        "Y[i, j] = sum[k < K](X[i, k] * W[j, k])",
        product,
    ),
    "batches": Invented(
        "input A : cvm[B, K, M]\ninput W : cvm[B, N, K]\noutput Y : cvm[B, M, N] precision 32\n"
        "Y[b, i, j] = sum[k < K](A[b, k, i] * W[b, j, k]) + b",
        batches,
    ),
    "around": Invented(
        "input X : cvm[N]\nattr r = 1 in [0, 8)\noutput Y : cvm[N] precision 32\n"
        "Y[i] = sum[k < 2*r + 1](at(i + k - r)) where at(j) = X[j] if 0 <= j < N else 0",
        alike(1, 1, r=(0, 1, 2, 7)),
    ),
    "real_around": Invented(
        "input X : float64[N]\noutput Y : float64[N]\n"
        "Y[i] = max[k < 3 if 0 <= i + k - 1 < N](X[i + k - 1])",
        real(1, 1, "float64"),
    ),
    "mean": Invented(
        "input X : float32[N, C, H, W]\nattr k = 2 in [1, 7)\nattr by = 1 in [1, 4)\n"
        'require k <= H and k <= W : "no larger than the image"\n'
        "output Y : float32[N, C, (H - k) div by + 1, (W - k) div by + 1]\n"
        "Y[n, c, y, x] = sum[i < k, j < k](X[n, c, y*by + i, x*by + j]) over real(k*k)",
        boxes,
    ),
    "pooled": Invented(
        "input X : cvm[C, H, W]\nattr k = 2 in [1, 5)\nattr by = 1 in [1, 4)\n"
        "attr pad = 0 in [0, 3)\n"
        'require k <= H + 2*pad and k <= W + 2*pad : "no larger than the image"\n'
        "output Y : cvm[C, (H + 2*pad - k) div by + 1, (W + 2*pad - k) div by + 1] precision 32\n"
        "Y[c, y, x] = max[i < k, j < k](at(y*by + i - pad, x*by + j - pad))\n"
        "  where at(v, u) = X[c, v, u] if 0 <= v < H and 0 <= u < W else -2147483647",
        padded,
    ),
    "convolved": Invented(
        "input X : cvm[N, C, H, W]\ninput F : cvm[O, C, K, L]\nattr by = 1 in [1, 4)\n"
        "attr pad = 0 in [0, 3)\n"
        'require K <= H + 2*pad and L <= W + 2*pad : "no larger than the image"\n'
        "output Y : cvm[N, O, (H + 2*pad - K) div by + 1, (W + 2*pad - L) div by + 1] "
        "precision 32\n"
        "Y[n, o, y, x] = sum[c < C, i < K, j < L](at(y*by + i - pad, x*by + j - pad) "
        "* F[o, c, i, j])\n"
        "  where at(v, u) = X[n, c, v, u] if 0 <= v < H and 0 <= u < W else 0",
        weighted,
    ),
    "kept_apart": Invented(
        "input X : cvm[B, N]\nattr t = 2 in [0, inf)\noutput Y : cvm[B, N] precision 32\n"
        "let U[b] = {p for p < N if all[q in U[b] if q < p](abs(X[b, p] - X[b, q]) >= t)}\n"
        "Y[b, i] = X[b, U[b][i]] if i < count(U[b]) else -1",
        apart,
    ),
    "not_beaten": Invented(
        "input X : cvm[N, 3]\noutput Y : cvm[N] precision 32\n"
        "let U = select[p < N](X[p, 0] > 0 and not any[q in U if q < p]"
        "(X[q, 1] == X[p, 1] and X[q, 2] > X[p, 2]))\n"
        "Y[i] = U[i] if i < count(U) else -1",
        triples,
    ),
    "above_first": Invented(
        "input X : cvm[B, N]\noutput Y : cvm[B, N] precision 32\noutput C : cvm[B] precision 32\n"
        "let V[b] = select[q < N](X[b, q] > X[b, 0])\n"
        "Y[b, i] = V[b][i] * 2 if i < count(V[b]) else -1\nC[b] = count(V[b])",
        alike(1, 2),
    ),
    "in_order": Invented(
        "input X : cvm[B, N]\noutput Y : cvm[B, N] precision 32\n"
        "let I[b] = sort[i < N] by (-X[b, i], i mod 3)\n"
        "Y[b, i] = X[b, I[b][i]] * 10 + I[b][i] mod 7",
        alike(1, 2),
    ),
    "packed": Invented(
        "input X : cvm[B, N, K]\noutput V : cvm[B] precision 32\n"
        "output Y : cvm[B, N, K] precision 32\n"
        "let S[b] = select[q < N](X[b, q, 0] > 0)\nV[b] = count(S[b])\n"
        "Y[b, i, k] = X[b, S[b][i], k] if i < count(S[b]) else -1",
        rows_kept(""),
    ),
    "real_packed": Invented(
        "input X : float32[N, K]\noutput Y : float32[N, K]\n"
        "let S = select[q < N](X[q, 0] > 0.5)\nY[i, k] = X[S[i], k] if i < count(S) else 0.0",
        rows_kept("float32"),
    ),
    "sorted_rows": Invented(
        "input X : cvm[B, N, K]\noutput Y : cvm[B, N, K] precision 32\n"
        "let S[b] = sort[q < N if X[b, q, 0] > 0] by (X[b, q, 0])\n"
        "Y[b, i, k] = X[b, S[b][i], k] + 1 if i < count(S[b]) else k",
        rows_kept(""),
    ),
    "like_me": Invented(
        "input X : cvm[N]\noutput Y : cvm[N] precision 32\n"
        "Y[i] = sum[j < i + 1 if X[j] mod 3 == X[i] mod 3](X[j]) + max[j < N](X[j] * (j - i))",
        alike(1, 1),
    ),
    "to_width": Invented(
        'input X : cvm[N, C, H]\nattr b in [1, 5)\nrequire C mod b == 0 : "whole blocks"\n'
        "let D = C div b\noutput Y : cvm[N, D, H*b] precision p(X)\n"
        "Y[n, c, h*b + i] = X[n, c*b + i, h] forall n < N, c < D, h < H, i < b",
        channels,
    ),
    "joined": Invented(
        "input each i < M : I[i] : cvm[n[i]...]\nlet N = len(n[0])\nattr axis = 0 in [0, N)\n"
        'require all[i < M](len(n[i]) == N) : "one rank"\n'
        'require all[i < M](all[j < N](n[i][j] == n[0][j] or j == axis)) : "alike"\n'
        "let start[i] = sum[j < i](n[j][axis])\n"
        "output Y : cvm[(start[M] if j == axis else n[0][j] for j < N)...] "
        "precision max[i < M](p(I[i]))\n"
        "Y[(start[i] + d[j] if j == axis else d[j] for j < N)...] = I[i][d...] "
        "forall i < M, d... < n[i]...",
        several,
    ),
    "tiled": Invented(
        "input X : cvm[n...]\nattr k = 2 in [1, 4)\n"
        "output Y : cvm[(n[j]*k for j < len(n))...] precision p(X)\n"
        "Y[d...] = X[(d[j] mod n[j] for j < len(n))...]",
        lambda random: (
            [integers(random, *extents(random, random.randint(1, 3), 400))],
            {"k": random.choice((1, 2, 3))},
        ),
    ),
    "widened": Invented(
        "input X : cvm[N, H]\nattr k = 2 in [1, 5)\noutput Y : cvm[N, H*k] precision 32\n"
        "Y[i, j] = X[i, j div k] + 1",
        alike(1, 2, k=(1, 2, 3, 4)),
    ),
    "decided": Invented(
        "input X : cvm[M, N]\noutput Y : cvm[M] precision 32\n"
        "Y[i] = (max[j < N](X[i, j]) if any[j < N](X[i, j] > 100) else min[j < N](X[i, j])) "
        "+ sum[j < N](X[i, j])",
        alike(1, 2),
    ),
    "by_channel": Invented(
        "input X : int8[H, V, C]\ninput W : int8[K, L, C, M]\nattr p = 1 in [0, 3)\n"
        "output Y : int32[H, V, C, M]\n"
        "Y[y, x, c, m] = sum[i < K, j < L](X[y + i - p, x + j - p, c] * W[i, j, c, m] "
        "if 0 <= y + i - p < H and 0 <= x + j - p < V else 0)",
        by_channel,
    ),
    "narrow": Invented(
        "type T in int8, int16, int64\ninput X : T[M, N]\noutput Y : T[M]\n"
        "Y[i] = sum[j < N](X[i, j])",
        small,
    ),
    "any_of": Invented(
        "input X : bool[M, N]\noutput Y : bool[N]\nY[j] = any[i < M](X[i, j])",
        truths,
    ),
}
