"""Nests of integers without the tests that only real numbers need."""

from __future__ import annotations

import pytest

from cvmgen.driver import C_LIKE, lower
from cvmgen.ir import nodes as i
from cvmgen.ir.rewrite import without_dead
from cvmgen.ir.text import block_lines
from cvmgen.typing.decided_tests import without_known_tests
from cvmgen.typing.types import type_nest
from tests.specs import operator

HEAD = """type T in int32, float32
input X : T[N]
attr  m = 0 in [0, 1]
output Y : T[N]
"""
ROWS = [
    (
        "Y[i] = 0 if isnan(X[i]) else X[i]",
        ["for 0 <= i < N:", "  Y@[i] = X@[i]"],
        "a choice by what is known",
    ),
    (
        "Y[i] = X[0] if m == 1 and any[j < N](isnan(X[j])) else X[i]",
        ["for 0 <= i < N:", "  Y@[i] = X@[i]"],
        "a loop that never finds what it looks for, and the branch behind it",
    ),
    (
        "Y[i] = max[j < i + 1 if not isnan(X[j])](X[j])",
        [
            "for 0 <= i < N:",
            "  let largest: i32 = -2147483648",
            "  for 0 <= j < i + 1:",
            "    largest max= X@[j]",
            "  Y@[i] = largest",
        ],
        "a filter that every element passes",
    ),
]


@pytest.mark.parametrize(("formula", "lines", "why"), ROWS, ids=[row[2] for row in ROWS])
def test_integers_are_not_nan(formula: str, lines: list[str], why: str) -> None:
    program = lower(operator(HEAD + formula), C_LIKE)
    integers, reals = program.operator.choices
    (nest,) = program.nests
    assert block_lines(type_nest(program, nest, integers).body) == lines, why
    assert "isnan" in "\n".join(block_lines(type_nest(program, nest, reals).body))


TRUTH, TEST = i.Const(True), i.Var("test")
SPAN = operator(f"{HEAD}Y[i] = X[i]").span


def granted(condition: i.Expr) -> tuple[i.Stmt, ...]:
    """A condition that is granted where another one holds, and what it decides."""
    store = i.Store(i.Load("Y", None, i.Const(0)), i.Const(1), SPAN)
    return (
        i.Let("test", "bool", i.Compare("<", i.Var("m"), i.Const(1)), SPAN),
        i.If(condition, (i.Assign("test", TRUTH, SPAN),), (), SPAN),
        i.If(TEST, (store,), (), SPAN),
    )


GRANTED = [
    (TEST, ["let test: bool = m < 1", "if test:", "  Y@[0] = 1"], "where it holds"),
    (i.Not(TEST), ["Y@[0] = 1"], "where it does not hold"),
]


@pytest.mark.parametrize(("condition", "lines", "why"), GRANTED, ids=[row[2] for row in GRANTED])
def test_conditions_that_are_granted(condition: i.Expr, lines: list[str], why: str) -> None:
    assert block_lines(without_known_tests(granted(condition))) == lines, why


def test_nothing_unread_is_left_in_loops_over_multi_indices() -> None:
    store = i.Store(i.Load("Y", None, i.Const(0)), i.Const(1), SPAN)
    unread = i.Let("v", "int", i.Const(2), SPAN)

    def loop(*body: i.Stmt) -> i.Stmt:
        return i.PackLoop("d", i.Var("n"), None, body, SPAN)

    assert without_dead((loop(unread, store),)) == (loop(store),)
