"""Branches as values, and loops that are written out: rows of statements, what becomes of them."""

from __future__ import annotations

import pytest

from cvmgen.ir import nodes as i
from cvmgen.ir.text import block_lines
from cvmgen.known.choices import one_after_another, with_choices
from tests.known.test_known_types import SPAN

X, C, D = i.Var("x"), i.Var("c"), i.Var("d")
START = i.Let("x", "int", i.Const(1), SPAN)
HOLDS = i.Let("x", "bool", i.Const(True), SPAN)


def to(value: i.Expr | int | bool) -> i.Assign:
    return i.Assign("x", value if isinstance(value, i.Expr) else i.Const(value), SPAN)


def when(test: i.Expr, *then: i.Stmt, otherwise: tuple[i.Stmt, ...] = ()) -> i.If:
    return i.If(test, then, otherwise, SPAN)


Y = i.Let("y", "int", i.Binary("+", D, i.Const(1)), SPAN)
CHOICES: list[tuple[i.Block, list[str], str]] = [
    ((START, when(C, to(2))), ["let x: int = 2 if c else 1"], "the start is the other value"),
    (
        (START, when(C, Y, to(i.Var("y")), otherwise=(to(3),))),
        ["let x: int = d + 1 if c else 3"],
        "a local that is read once is put in",
    ),
    (
        (HOLDS, when(C, to(False), otherwise=(when(D, to(False)),))),
        ["let x: bool = not c and not d"],
        "conditions by and",
    ),
    (
        (START, when(C, Y, to(i.Binary("*", i.Var("y"), i.Var("y"))))),
        ["let x: int = 1", "if c:", "  let y: int = d + 1", "  x = y * y"],
        "what is read twice would be computed twice",
    ),
    (
        (START, when(X, to(2))),
        ["let x: int = 1", "if x:", "  x = 2"],
        "a test of the local itself",
    ),
]


@pytest.mark.parametrize(("block", "wanted", "why"), CHOICES, ids=[row[-1] for row in CHOICES])
def test_branches_as_values(block: i.Block, wanted: list[str], why: str) -> None:
    assert block_lines(with_choices(block)) == wanted


ROUNDS: list[tuple[list[i.Block], list[str], str]] = [
    ([(to(1),), (to(2),)], ["x = 1", "x = 2"], "nothing breaks"),
    ([(to(1), i.Break(SPAN)), (to(2),)], ["x = 1"], "the first one breaks"),
    (
        [(when(C, to(1), i.Break(SPAN)), to(5)), (to(2),)],
        ["if c:", "  x = 1", "else:", "  x = 5", "  x = 2"],
        "a test breaks",
    ),
]


@pytest.mark.parametrize(("rounds", "wanted", "why"), ROUNDS, ids=[row[-1] for row in ROUNDS])
def test_iterations_one_after_another(rounds: list[i.Block], wanted: list[str], why: str) -> None:
    assert block_lines(one_after_another(rounds)) == wanted
