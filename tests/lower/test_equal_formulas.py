"""One formula in several ways - written out, by a where, a let, a definition - gives one text."""

from __future__ import annotations

import re
from itertools import pairwise

import pytest

from cvmgen import driver
from cvmgen.source import Source
from cvmgen.spec.check import check_files
from cvmgen.spec.files import SpecFile

DEFINITIONS = "def times(x, y) = x * y def same(x) = x "
DENSE = (
    "input X : cvm[M, K] input W : cvm[N, K] input B : cvm[N] output Y : cvm[M, N] precision 32 "
)
POOLED = (
    "input X : cvm[B, C, H, V] attr pool (R, S) in [1, 10) "
    "attr stride (SH, SW) = (1, 1) in [1, 10) "
    'require H >= R and V >= S : "large" let YH = (H - R) div SH + 1 let YW = (V - S) div SW + 1 '
    "output Y : cvm[B, C, YH, YW] precision 32 "
)
CONV = POOLED.replace("attr pool (R, S) in [1, 10)", "input W : cvm[F, C, R, S]").replace(
    "cvm[B, C, YH, YW]", "cvm[B, F, YH, YW]"
)
AT = "y*SH + r, x*SW + s"
PADDED = (
    "input X : cvm[B, C, H, V] input W : cvm[F, C, R, S] attr pad (PH, PW) = (1, 1) in [0, 10) "
    'require H + 2*PH >= R and V + 2*PW >= S : "large" '
    "output Y : cvm[B, F, H + 2*PH - R + 1, V + 2*PW - S + 1] precision 32"
)
KERNEL = "W[f, c, r, s]) where i = y + r - PH, j = x + s - PW"
INSIDE = "0 <= i and i < H and 0 <= j and j < V"
OUTSIDE = "0 > i or i >= H or 0 > j or j >= V"
WAYS = {
    "dense": [
        DENSE + "Y[i, j] = sum[k < K](X[i, k] * W[j, k]) + B[j]",
        DENSE + "Y[i, j] = sum[k < K](times(X[i, k], W[j, k])) + B[j]",
        DENSE + "Y[i, j] = sum[k < K](t) + B[j] where t = X[i, k] * W[j, k]",
        DENSE + "Y[i, j] = s + B[j] where s = sum[k < K](X[i, k] * W[j, k])",
        DENSE + "let t[i, j, k] = X[i, k] * W[j, k] Y[i, j] = sum[k < K](t[i, j, k]) + B[j]",
        DENSE + "Y[i, j] = sum[k < K](1 * X[i, k] * W[j, k] + 0) + B[j]",
        DENSE + "let w[k, j] = W[j, k] Y[i, j] = sum[k < K](X[i, k] * w[k, j]) + B[j]",
    ],
    "conv2d": [
        CONV + f"Y[b, f, y, x] = sum[c < C, r < R, s < S](X[b, c, {AT}] * W[f, c, r, s])",
        CONV + "Y[b, f, y, x] = sum[c < C, r < R, s < S](X[b, c, i, j] * W[f, c, r, s]) "
        "where i = y*SH + r, j = x*SW + s",
        CONV + f"Y[b, f, y, x] = sum[c < C, r < R, s < S](times(X[b, c, {AT}], W[f, c, r, s]))",
        CONV + "let P[b, c, i, j] = X[b, c, i, j] "
        f"Y[b, f, y, x] = sum[c < C, r < R, s < S](P[b, c, {AT}] * W[f, c, r, s])",
    ],
    "padded conv2d": [
        f"{PADDED} Y[b, f, y, x] = sum[c < C, r < R, s < S]"
        f"((X[b, c, i, j] if {INSIDE} else 0) * {KERNEL}",
        f"{PADDED} Y[b, f, y, x] = sum[c < C, r < R, s < S]"
        f"((0 if {OUTSIDE} else X[b, c, i, j]) * {KERNEL}",
        f"{PADDED} Y[b, f, y, x] = sum[c < C, r < R, s < S]"
        f"((X[b, c, i, j] if not ({OUTSIDE}) else 0) * {KERNEL}",
    ],
    "sum of sums": [
        CONV + f"Y[b, f, y, x] = sum[c < C, r < R, s < S](X[b, c, {AT}] * W[f, c, r, s])",
        CONV + f"Y[b, f, y, x] = sum[c < C](sum[r < R, s < S](X[b, c, {AT}] * W[f, c, r, s]))",
        CONV + f"Y[b, f, y, x] = sum[c < C, r < R](sum[s < S](X[b, c, {AT}] * W[f, c, r, s]))",
    ],
    "pooling": [
        POOLED + f"Y[b, c, y, x] = max[r < R, s < S](X[b, c, {AT}])",
        POOLED + "Y[b, c, y, x] = max[r < R, s < S](X[b, c, i, j]) "
        "where i = y*SH + r, j = x*SW + s",
        POOLED + f"Y[b, c, y, x] = max[r < R, s < S](same(X[b, c, {AT}]))",
        POOLED + "let P[b, c, i, j] = X[b, c, i, j] "
        f"Y[b, c, y, x] = max[r < R, s < S](P[b, c, {AT}])",
    ],
}


def code(items: str) -> str:
    """The C of an operator without comments, which quote its formula."""
    (operator,) = check_files(
        [SpecFile(Source("t.cvm", f"{DEFINITIONS} operator f {{ {items} }}"), "t")]
    )
    files = driver.generate([operator], ["c"])
    (text,) = (each for path, each in files.items() if str(path).endswith("/f.c"))
    return re.sub(r"/\*.*?\*/", "", text, flags=re.DOTALL)


@pytest.mark.parametrize("name", WAYS)
def test_ways_to_write_one_formula_give_one_text(name: str) -> None:
    texts = [code(items) for items in WAYS[name]]
    for (one, other), items in zip(pairwise(texts), WAYS[name][1:], strict=True):
        assert one == other, items
