"""Runs of elements in C: the calls that copy and fill them, and the loops around."""

from __future__ import annotations

import re

import pytest

from cvmgen.driver import emitted
from cvmgen.emit.c_like import CPrinter
from cvmgen.ir import nodes as i
from tests.each_kernel import each_kernel
from tests.specs import operator

SPAN = operator("input X : cvm[N]\noutput Y : cvm[N] precision p(X)\nY[i] = X[i]").span
N, ONE = i.Var("N"), i.Const(1)


def at(tensor: str, offset: i.Expr) -> i.Load:
    return i.Load(tensor, None, offset)


Y, X = at("Y", i.Const(0)), at("X", N)
STATEMENTS = [
    (i.Copy("i32", Y, ONE, X, ONE, N, SPAN), "cvmgen_copy_i32(Y, &X[N], N);", "side by side"),
    (i.Copy("i8", Y, ONE, X, ONE, N, SPAN), "cvmgen_copy_i8(Y, &X[N], N);", "bytes"),
    (
        i.Copy("i32", Y, i.Var("s"), X, ONE, N, SPAN),
        "cvmgen_copy_steps_i32(Y, &X[N], N, s, 1);",
        "a step that only a call knows",
    ),
    (
        i.Copy("i32", Y, ONE, X, i.Const(-1), N, SPAN),
        "cvmgen_copy_steps_i32(Y, &X[N], N, 1, -1);",
        "backwards",
    ),
    (i.Fill("i32", Y, ONE, i.Const(-1), N, SPAN), "cvmgen_fill_i32(Y, -1, N);", "a constant"),
    (i.Fill("i8", Y, ONE, X, N, SPAN), "cvmgen_fill_i8(Y, X[N], N);", "an element"),
    (
        i.Fill("i32", Y, N, i.Const(0), ONE, SPAN),
        "cvmgen_fill_steps_i32(Y, 0, 1, N);",
        "a constant at every N-th place",
    ),
]


@pytest.mark.parametrize(
    ("run", "expected", "why"), STATEMENTS, ids=[row[-1] for row in STATEMENTS]
)
def test_statements(run: i.Stmt, expected: str, why: str) -> None:
    assert CPrinter(host=False).statement(run) == [expected], why


SCALED = "input X : cvm[H, W]\nattr s in [1, 9)\noutput Y : cvm[H * s, W * s] precision p(X)\n"
KERNELS = [
    (
        "input X : cvm[n...]\noutput Y : cvm[n...] precision p(X)\nY[d...] = X[d...]",
        ["cvmgen_copy_i32(Y, X, n_size);"],
        "one long run takes threads by itself",
    ),
    (
        SCALED + "Y[h, w] = X[h div s, w div s]",
        [
            "const cvmgen_list box = {4, {H, s, W, s}};",
            "const cvmgen_list Y_steps = {4, {W * (s * s), W * s, s, 1}};",
            "const cvmgen_list X_steps = {4, {W, 0, 1, 0}};",
            "cvmgen_move_i32(Y, &Y_steps, X, &X_steps, &box);",
        ],
        "a box is moved as a whole",
    ),
    (
        "input X : cvm[n...]\nlet N = len(n)\n"
        "output Y : cvm[(2 * n[j] for j < N)...] precision p(X)\n"
        "Y[d...] = X[(d[j] div 2 for j < N)...]",
        [
            "cvmgen_list Y_steps = cvmgen_strides(d_box);",
            "cvmgen_move_i32(Y, &Y_steps, X, X_steps, d_box);",
        ],
        "a box of any rank is moved as a whole",
    ),
    (
        "input X : cvm[N, M]\ninput I : cvm[K]\noutput Y : cvm[K, M] precision p(X)\n"
        "Y[i, j] = X[max(0, min(I[i], N - 1)), j]",
        [
            "const int64_t N = plan->N, M = plan->M;",
            "for (int64_t i = low; i < high; ++i) {",
            "    cvmgen_copy_i32(&Y[i * M],",
            "        &X[cvmgen_max_i32(0, cvmgen_min_i32(I[i], "
            "(int32_t)cvmgen_min_i64(N - 1, INT32_MAX)))",
            "            * M],",
            "        M);",
            "}",
        ],
        "a row is copied as a run",
    ),
    (
        "input X : cvm[N]\nattr on : bool\noutput Y : cvm[N] precision p(X) + 1\n"
        "Y[i] = X[i] + 1 if on else 0",
        [
            "if (on) {",
            "    const f_Y_part_call_int32_int32 call = {X, Y};",
            "    cvmgen_share(N, N >= 131072, f_Y_part_int32_int32, &call);",
            "} else {",
            "    cvmgen_fill_i32(Y, 0, N);",
            "}",
        ],
        "each branch of a choice has its own threads",
    ),
]


@pytest.mark.parametrize(("items", "expected", "why"), KERNELS, ids=[row[-1] for row in KERNELS])
def test_kernels(items: str, expected: list[str], why: str) -> None:
    text = each_kernel(operator(items))
    bodies = re.findall(
        r"^static void f_Y(?:_part)?_int32_int32\([^}]*? \*/\n(.*?)\n}\n", text, re.DOTALL | re.M
    )
    assert bodies
    body = bodies[-1]
    assert [line.removeprefix("    ") for line in body.split("\n")] == expected, why


def test_cuda_keeps_its_threads_for_elements() -> None:
    text = emitted("cuda", operator(SCALED + "Y[h, w] = X[h div s, w div s]"))
    assert "= X[h_outer * W + w_outer];" in text
    assert "cvmgen_copy" not in text
    assert "cvmgen_fill" not in text
