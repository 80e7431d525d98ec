"""Nests as operations on whole arrays, as text: what the pass `arrays` decides."""

import pytest

from cvmgen.driver import WHOLE_ARRAYS, lower
from cvmgen.ir import arrays as a
from cvmgen.ir import nodes as i
from cvmgen.ir.text import block_lines
from cvmgen.ir.visit import walk
from tests.specs import operator

MATRIX = "input X : cvm[M, K]\n"
ROWS = MATRIX + "output Y : cvm[M] precision 32\n"

NESTS = [
    (
        "what is done to each element",
        MATRIX + "output Y : cvm[M, K]\nY[i, j] = max(X[i, j], 0)",
        [
            "integers(int32, 0)",
            "blocks([X, Y], [X], [Y], integer(int32), 0)",
            "  into(np.maximum(X, 0), Y, True)",
        ],
        "goes by blocks; nothing reads the axes",
    ),
    (
        "a sum along rows",
        ROWS + "Y[i] = sum[k < K](X[i, k])",
        [
            "integers(int32, 0)",
            "elements(X, integer(int32), False)",
            "axes([i], [M])",
            "axes([k], [K], 1)",
            "fillarray(at(Y), reduce(sum, [read(X, [i, k])], [k]))",
        ],
        "the reduced axis stands in front of the free one",
    ),
    (
        "a sum of products",
        MATRIX + "input W : cvm[N, K]\noutput Y : cvm[M, N] precision 32\n"
        "Y[i, j] = sum[k < K](X[i, k] * W[j, k])",
        [
            "integers(int32, 0)",
            "elements(X, integer(int32), False)",
            "elements(W, integer(int32), False)",
            "axes([i, j], [M, N])",
            "axes([k], [K], 2)",
            "fillarray(at(Y), reduce(dot, [read(X, [i, k]), read(W, [j, k])], [k]))",
        ],
        "is a contraction",
    ),
    (
        "a window that reaches beyond",
        "input X : cvm[N]\noutput Y : cvm[N] precision 32\n"
        "Y[i] = max[k < 3 if 0 <= i + k - 1 < N](X[i + k - 1])",
        [
            "integers(int32, 0)",
            "elements(X, integer(int32), False)",
            "axes([i], [N])",
            "let X_padded: int = padded(X, vectors.lowest(X), [i + arrays.span(0, 3, 0) - 1])",
            "let largest: int = nothing()",
            "for 0 <= k < 3:",
            "  largest = vectors.larger(largest, read(X_padded, [i + k - 1]))",
            "fillarray(at(Y), vectors.done(largest, lowest()))",
        ],
        "goes term by term, and its border is made once",
    ),
    (
        "elements that move",
        MATRIX + "output Y : cvm[K, M]\nY[j, i] = X[i, j]",
        ["integers(int32, 0)", "axes([j, i], [K, M])", "copyall(Y, read(X, [i, j]))"],
        "keep their type",
    ),
    (
        "a range that depends on another index",
        ROWS + "Y[i] = sum[k < i + 1](X[i, k] if k < K else 0)",
        [
            "integers(int32, 0)",
            "elements(X, integer(int32), False)",
            "axes([i], [M])",
            "let total: int = nothing()",
            "let k_low: int = 0",
            "let k_high: int = i + 1",
            "for 0 <= step < arrays.longest(k_low, k_high):",
            "  let k: int = k_low + step",
            "  total = vectors.add(total, read(X, [i, k]) if k < K else 0, k < k_high)",
            "fillarray(at(Y), vectors.done(total, 0))",
        ],
        "starts everywhere together",
    ),
]  # fmt: skip


@pytest.mark.parametrize(("name", "items", "lines", "why"), NESTS)
def test_nests(name: str, items: str, lines: list[str], why: str) -> None:
    *_, nest = lower(operator(items), WHOLE_ARRAYS).nests
    assert block_lines(nest.body) == lines, f"{name}: {why}"


def test_what_arrays_do_not_express_are_loops() -> None:
    items = "input X : cvm[n...]\noutput Y : cvm[n...] precision 32\n"
    found = lower(operator(items + "Y[d...] = X[d...] - sum[j < len(n)](d[j])"), WHOLE_ARRAYS)
    (nest,) = found.nests
    assert any(isinstance(each, a.Elements) and each.integer is None for each in nest.body)
    assert any(isinstance(each, i.PackLoop) for each in walk(nest.body))
