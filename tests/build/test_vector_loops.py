"""Inner loops of C files, and what compilers say of them."""

from __future__ import annotations

import pytest

from cvmgen.build.vector_loops import head_at, inner_loops, kernel_loops, reported_widths

TEXT = """\
static int f_prepare(int n) {
    for (int i = 0; i < n; ++i)
        check(i);
}

static void f_part(const void *context,
                   int64_t low, int64_t high) {
    for (int64_t i = low; i < high; ++i) {
        int64_t total = 0;
        for (int64_t k = 0;
             k < 8; ++k)
            total += k;
        for (int64_t k = 0; k < 9; ++k) total -= k;
        y[i] = total;
    }
    for (int64_t j = 0; j < 5; ++j)
        if (j)
            y[j] = 0;
    while (low < 3) {
        ++low;
    }
}

CVMGEN_FOR_AVX2
static void g(int n) {
    for (int i = 0; i < n; ++i)
        for (int j = 0; j < n; ++j)
            x[i] = j;
    x[0] = 1;
}
"""
FOUND = [(10, "f_part"), (13, "f_part"), (16, "f_part"), (19, "f_part"), (27, "g")]


def test_inner_loops_of_kernels() -> None:
    assert list(kernel_loops(TEXT)) == FOUND


HEADS = [
    (10, "for (int64_t k = 0; k < 8; ++k)", "on two lines"),
    (13, "for (int64_t k = 0; k < 9; ++k)", "with a body behind it"),
    (19, "while (low < 3)", "another kind"),
]


@pytest.mark.parametrize(("line", "head", "why"), HEADS)
def test_heads(line: int, head: str, why: str) -> None:
    assert head_at(TEXT.splitlines(), line - 1) == head, why


GCC = """\
cvm/a.c:96:31: optimized: loop vectorized using 16 byte vectors
cvm/a.c:96:31: optimized:  loop versioned for vectorization because of possible aliasing
cvm/a.c:96:31: optimized: loop vectorized using 16 byte vectors
cvm/a.c:96:31: optimized: loop vectorized using 8 byte vectors and unroll factor 4
cvmgen_kernel.h:12:5: optimized: loop vectorized using 32 byte vectors
cvm/a.c:99:5: optimized: basic block part vectorized using 16 byte vectors
"""
CLANG = """\
cvm/a.c:96:5: remark: vectorized loop (vectorization width: 8, interleaved count: 4) [-Rpass]
cvm/a.c:97:5: remark: loop not vectorized [-Rpass-missed=loop-vectorize]
"""


@pytest.mark.parametrize(
    ("log", "kind", "found"),
    [(GCC, "gcc", {(96, 16), (96, 8)}), (CLANG, "clang", {(96, 8)}), ("", "gcc", set())],
)
def test_what_compilers_say(log: str, kind: str, found: set[tuple[int, int]]) -> None:
    assert reported_widths(log, kind, "cvm/a.c") == found


SUM = """\
static void sum(const float *restrict x, float *restrict y, int n) {
    for (int i = 0; i < n; ++i)
        y[i] += x[i];
    for (int i = 1; i < n; ++i)
        y[i] += y[i - 1];
}
void call(const float *x, float *y, int n);
void call(const float *x, float *y, int n) { sum(x, y, n); }
"""


def test_the_compiler_that_is_there() -> None:
    """One of the loops can be vectors, the other one carries what it makes."""
    for _ in range(2):  # the second time from the cache
        first, second = inner_loops({"a/sum.c": SUM}, "a/sum.c")
        assert (first.line, first.function) == (2, "sum")
        assert first.vectors
        assert not second.vectors
