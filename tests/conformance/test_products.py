"""Sums of sums of products: the same on every target, and in C by the register tile."""

from __future__ import annotations

from random import Random

import numpy as np
import pytest

from cvmgen.driver import schedule_effects
from cvmgen.schedule.schedules import packaged
from cvmgen.source import Source
from cvmgen.spec.check import check_files
from cvmgen.spec.files import SpecFile
from tests.conformance.calls import Call, Conformance
from tests.conformance.together import CLIP, drawn, operator_text, together

TWO = "input X : int8[M, K]\n input W : int8[N, K]\n"
OUT = 'require K < 4096 : "few"\n output Y : int64[M, N]\n '
ZEROS = "attr zx : int in [-128, 128)\n attr zw : int in [-128, 128)\n"
FOUR = TWO + "input A : int8[M, L]\n input B : int8[N, L]\n"
IMAGE = (
    "input X : int8[N, L, K]\n input W : int8[M, 3, L, K]\n require L * K < 9999 : 'few'\n"
    "output Y : int64[N, L, M]\n"
).replace("'", '"')
ZERO = "attr zx : int in [-128, 128)\n"
CHANNELS = "input X : int8[N, L, K]\n input W : int8[3, 2, J]\n" + ZERO.replace("128", "999")
TAPS = (
    " = clip((sum[i < 3, j < 2 if 0 <= y < N and 0 <= x < L]((X[y, x, {0}] - zx) * W[i, j, {1}])"
    ") * 77 div 2^9, -128, 127)\nforall h < N, v < L, {2}\n"
    "where y = h + i - 1, x = v + j - 1"
)
SIZES = ((3, 5, 2, 4), (1, 40, 33, 7), (17, 24, 40, 64))  # M, K, N, L

# What, its block, whether all of its products are tiles.
ROWS = [
    (
        "zero points of both",
        TWO + ZEROS + OUT + "Y[i, j] = sum[k < K]((X[i, k] - zx) * (W[j, k] - zw))",
        True,
    ),
    (
        "a zero point, and as long a sum as one may be",
        TWO + ZERO + "output Y : int64[M, N]\n Y[i, j] = sum[k < K](W[j, k] * (X[i, k] - zx))",
        True,
    ),
    (
        "zero points that are elements",
        TWO + "input z : int8[]\n input v : int8[N]\n" + OUT
        + "Y[i, j] = sum[k < K]((X[i, k] - z[]) * (W[j, k] - v[j])) + v[j]",
        True,
    ),
    (
        "one zero point, a bias and a number in front of each product",
        TWO + ZEROS + OUT + "Y[i, j] = (sum[k < K](3 * (X[i, k] - zx) * W[j, k] * 2) - zw) div 2^3",
        True,
    ),
    (
        "two sums, and one in a cut",
        FOUR + 'require L < 4096 : "few"\n' + OUT
        + "let s[i, j] = sum[k < K](X[i, k] * W[j, k]) + sum[l < L](A[i, l] * B[j, l])\n"
        "Y[i, j] = clip(s[i, j], -9, 999) * s[i, N - 1 - j]",
        True,
    ),
    (
        "gates at other lines",
        "input X : int8[M, K]\n input c : int8[M, N]\n input W : int8[2 * N, K]\n" + OUT
        + "let g[i, j] = sum[k < K](X[i, k] * W[j, k])\n"
        "Y[i, j] = max(g[i, j], 0) * c[i, j] - min(g[i, j + N], 7)",
        True,
    ),
    (
        "windows with padding, which adds nothing to what is left of the zero point",
        IMAGE + ZERO + "Y[h, v, o] = (sum[i < 3, j < L, c < K if 0 <= y < N and 0 <= x < L]"
        "((X[y, x, c] - zx) * W[o, i, j, c]) + zx) div 2\n"
        "where y = h + i - 1, x = v + j - L div 2",
        True,
    ),
    (
        "windows with zero points of both sides, and padding",
        IMAGE + ZEROS + "Y[h, v, o] = sum[i < 3, j < L, c < K if 0 <= y < N and 0 <= x < L]"
        "((X[y, x, c] - zx) * (W[o, i, j, c] - zw))\nwhere y = h + i - 1, x = v + j - L div 2",
        True,
    ),
    (
        "windows with padding and a zero point that int8 may not hold",
        IMAGE + ZERO.replace("128", "999") + "Y[h, v, o] = clip(t, -9999, 9999)\n"
        "where t = sum[i < 3, j < L, c < K if 0 <= y < N and 0 <= x < L]"
        "(W[o, i, j, c] * (X[y, x, c] - zx)), y = h + i - 1, x = v + j - 1",
        True,
    ),
    (
        "windows with padding, chosen for each element, less a zero point",
        IMAGE + ZEROS + "Y[h, v, o] = sum[i < 3, j < L, c < K]"
        "(((X[y, x, c] if 0 <= y < N and 0 <= x < L else zw) - zx) * W[o, i, j, c])\n"
        "where y = 2 * h + i - 1, x = v + j - 1",
        True,
    ),
    (
        "a zero point that may not be given, in groups of columns",
        "input X : int8[M, L, K]\n input W : int8[N, K]\n input z : int8[1] optional\n"
        'require N mod L == 0 and K < 4096 : "few"\n output Y : int32[M, N]\n'
        "Y[i, j] = sum[k < K]((X[i, j div (N div L), k] - (z[0] if present(z) else 3)) * W[j, k])"
        " + W[j, 0]",
        True,
    ),
    (
        "zero points of weights with padding that only the others can test",
        IMAGE + ZERO + "Y[h, v, o] = sum[i < 3, j < L, c < K if 0 <= y < N and 0 <= x < L]"
        "(X[y, x, c] * (W[o, i, j, c] - zx))\nwhere y = h + i - 1, x = v + j - L div 2",
        True,
    ),
    (
        "windows with padding, chosen for each element",
        IMAGE + "Y[h, v, o] = sum[i < 3, j < L, c < K]"
        "((X[y, x, c] if 0 <= y < N and 0 <= x < L else 0) * W[o, i, j, c])\n"
        "where y = 2 * h + i - 1, x = v + j - 1",
        True,
    ),
    (
        "windows with padding by a number, which int8 may not hold",
        IMAGE + ZERO.replace("128", "999") + "Y[h, v, o] = sum[i < 3, j < L, c < K]"
        "(W[o, i, j, c] * (X[y, x, c] if 0 <= y < N and 0 <= x < L else zx))\n"
        "where y = h + i - 1, x = v + 2 * j - 1",
        True,
    ),
    (
        "padding and another condition",
        IMAGE + ZERO + "Y[h, v, o] = sum[i < 3, j < L, c < K if i + j > 1]"
        "(W[o, i, j, c] * (X[y, x, c] if 0 <= y < N and 0 <= x < L else zx))\n"
        "where y = h + i - 1, x = v + j - 1",
        False,
    ),
    *(
        (
            f"rounded twice, by shifts of up to {most}",
            TWO + "input f : int8[N]\n input s : int8[N]\n" + ZERO + "output Y : int8[M, N]\n"
            "Y[i, j] = clip(r div 2^e - zx, -128, 127)\n"
            "where r = q + 2^e div 2 - (1 if q < 0 and e > 0 else 0),\n"
            "t = sum[k < K]((X[i, k] - zx) * W[j, k]) + f[j],\n"
            "v = clip(clip(t, -2^31, 2^31 - 1) * 2^clip(s[j], 0, 30), -2^31, 2^31 - 1),\n"
            f"q = (v * (f[j] * 2^24 + 2^24 - 1) + 2^30) div 2^31, e = clip(-s[j], 0, {most})",
            True,
        )
        for most in (31, 32)
    ),
    (
        "windows of each channel, which may have several filters",
        CHANNELS + 'require J mod K == 0 and J >= K : "filters"\n let F = J div K\n'
        "output Y : int8[N, L, J]\n Y[h, v, o]" + TAPS.format("o div F", "o", "o < J"),
        True,
    ),
    (
        "windows of each channel, one of whose weights is read again",
        CHANNELS.replace("J]", "K]") + "output Y : int8[N, L, K]\n Y[h, v, o]"
        + TAPS.format("o", "o", "o < K").replace(") * 77", " + W[0, 1, o]) * 77"),
        True,
    ),
    (
        "windows of each channel, as large as the whole image",
        "input X : int8[N, L, K]\n input W : int8[H, V, K]\n" + ZERO.replace("128", "999")
        + 'require N >= H and L >= V : "large"\n output Y : int64[N - H + 1, L - V + 1, K]\n'
        "Y[h, v, o] = sum[i < H, j < V]((X[h + i, v + j, o] - zx) * W[i, j, o])",
        True,
    ),
    (
        "the same by two indices",
        CHANNELS.replace("J]", "K, J]") + "output Y : int8[N, L, K * J]\n Y[h, v, k*J + f]"
        + TAPS.format("k", "k, f", "k < K, f < J"),
        True,
    ),
    (
        "elements of int32 that may be as small",
        TWO.replace("int8", "cvm").replace("cvm[N, K]\n", "cvm[N, K]\n" + ZEROS)
        + "output Y : cvm[M, N] precision 32\n"
        + 'require p(X) <= 8 and p(W) <= 8 and K < 1024 : "small"\n'
        + "Y[i, j] = sum[k < K]((X[i, k] - zx) * (W[j, k] - zw)) div 2^9",
        True,
    ),
    (
        "behind a condition, which stays",
        TWO + ZEROS + OUT + "Y[i, j] = sum[k < K if k + i > 2]((X[i, k] - zx) * W[j, k])",
        False,
    ),
    (
        "only asked for where a condition holds",
        TWO + ZEROS + OUT + "Y[i, j] = sum[k < K]((X[i, k] - zx) * W[j, k]) if i > j else 0",
        False,
    ),
    (
        "a sum of elements that depends on all indices",
        TWO + "input D : int8[M, N, K]\n" + OUT
        + "Y[i, j] = sum[k < K](X[i, k] * W[j, k] + D[i, j, k])",
        False,
    ),
    (
        "of one tensor with itself",
        "input X : int8[M, K]\n input W : int8[N, K]\n" + ZEROS + OUT
        + "Y[i, j] = sum[k < K]((X[i, k] - zx) * X[j mod M, k]) + W[j, 0]",
        False,
    ),
]  # fmt: skip


def operands(block: str, random: Random, sizes: tuple[int, ...]) -> Call:
    m, k, n, taps = sizes
    shapes: list[tuple[int, ...]] = [(m, k), (n, k)]
    if block.startswith(IMAGE):
        m, k, n, taps = (min(each, most) for each, most in zip(sizes, (6, 5, 9, 5), strict=True))
        shapes = [(n, taps, k), (m, 3, taps, k)]
    if "[3, 2" in block:
        filters = (3,) if m == 17 and "2, K]" not in block else (1,)
        n, taps = min(n, 5), min(taps, 4)
        k = 1030 if m == 1 else k  # more than a block of channels
        weights = (k, *filters) if "K, J]" in block else (k * filters[0],)
        shapes = [(n, taps, k), (3, 2, *weights)]
    if "input c" in block:
        shapes = [(m, k), (m, n), (2 * n, k)]
    if "input f" in block:
        shapes += [(n,), (n,)]
    if "input A" in block:
        shapes += [(m, taps), (n, taps)]
    if "input z : int8[]" in block:
        shapes += [(), (n,)]
    if "optional" in block:
        shapes = [(m, taps, k), (taps * (n // taps + 1), k), *random.choice(([], [(1,)]))]
    if "[H, V" in block:
        shapes = [(min(n, 4), 5, k), (min(n, 3), 2, k)]
    shapes += [(m, n, k)] * ("input D" in block)
    inputs = tuple(drawn(random, shape, np.int8) for shape in shapes)
    zeros = {"zx": random.randint(-128, 127), "zw": random.choice((-128, 0, 9, 127))}
    if "999)" in block:
        zeros["zx"] = random.choice((-129, -128, 127, 128, 500))
    return Call("", inputs, {name: zeros[name] for name in zeros if f"attr {name}" in block})


@pytest.fixture(scope="module")
def tried(tmp_path_factory: pytest.TempPathFactory) -> Conformance:
    texts = [CLIP, *(operator_text(at, block) for at, (_, block, _) in enumerate(ROWS))]
    return together(tmp_path_factory.mktemp("products"), texts)


@pytest.mark.parametrize("at", range(len(ROWS)), ids=[why for why, *_ in ROWS])
def test_products(at: int, tried: Conformance) -> None:
    why, block, _ = ROWS[at]
    random = Random(why)
    for sizes in SIZES:
        call = operands(block, random, sizes)
        made = Call(f"tried.f{at}", call.inputs, call.attributes)
        assert tried.check(made).refusal == ""


@pytest.mark.parametrize("zero", [-128, 0, 127])
@pytest.mark.parametrize("more", [0, 1])
def test_the_longest_sums_of_a_tile(zero: int, more: int, tried: Conformance) -> None:
    """So many products of the greatest factors fit int32, and one more does not."""
    at = next(at for at, (why, *_) in enumerate(ROWS) if "as long a sum" in why)
    depth = (2**24 - 1) // (128 + abs(zero)) + more
    X = np.full((8, depth), -128 if zero >= 0 else 127, np.int8)
    W = np.full((16, depth), -128, np.int8)
    W[1] = 127
    expected = (X.astype(np.int64) - zero) @ W.astype(np.int64).T
    made = getattr(tried.libraries["c"].tried, f"f{at}")(X, W, zx=zero)
    assert np.array_equal(made, expected)
    assert abs(expected).max() < 2**31 or more


@pytest.mark.parametrize("sides", [(255, 257), (256, 256), (300, 300)])
@pytest.mark.parametrize("zero", [-128, 127, 128])
def test_the_longest_sums_of_a_channel(
    sides: tuple[int, int], zero: int, tried: Conformance
) -> None:
    """Up to 65,535 products grow with 32 bits, more or those of other zero points do not."""
    at = next(at for at, (why, *_) in enumerate(ROWS) if "whole image" in why)
    X = np.full((*sides, 17), -128 if zero >= 0 else 127, np.int8)
    W = np.full((*sides, 17), -128, np.int8)
    W[..., 1] = 127
    expected = ((X.astype(np.int64) - zero) * W.astype(np.int64)).sum((0, 1))
    made = getattr(tried.libraries["c"].tried, f"f{at}")(X, W, zx=zero)
    assert np.array_equal(made, [[expected]])


def test_which_become_tiles() -> None:
    texts = [CLIP, *(operator_text(at, block) for at, (_, block, _) in enumerate(ROWS))]
    operators = check_files([SpecFile(Source("tried.cvm", "\n".join(texts)), "tried")])
    for operator, (why, _, tiled) in zip(operators, ROWS, strict=True):
        assert (not schedule_effects(operator, packaged()).untiled) == tiled, why
