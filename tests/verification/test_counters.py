"""Locals that iterations add to are bounded by how often: with more added, or begun elsewhere, what
depends on the bound is not proved."""

from dataclasses import replace

import pytest

from cvmgen.ir import nodes as i
from cvmgen.schedule.schedules import packaged
from cvmgen.source import Source, Span
from cvmgen.verification.obligations import BOUNDS
from cvmgen.verification.proofs import Prover
from cvmgen.verification.verify import KernelProofs, scheduled_kernels
from tests.specs import operator

pytest.importorskip("z3")
pytest.importorskip("cvc5")
PROVER = Prover()

SPAN = Span(Source("test.cvm", "x"), 0, 1)
INDEX, TOTAL = i.Var("i"), i.Var("total")
NEXT = i.Binary("+", INDEX, i.ONE)
THERE = i.Compare("<", TOTAL, i.Var("N"))


def counted(
    most: i.Expr = i.ONE, first: i.Expr = i.ZERO, at: i.Expr = TOTAL, *before: i.Stmt
) -> i.Block:
    """Where a test holds, an element of the second tensor is stored, and a place goes on."""
    test = i.Compare(">=", i.Load("X", None, INDEX), i.ZERO)
    then = (store(at), i.Accumulate("total", "+", most, SPAN))
    body = (*before, i.If(test, then, (), SPAN))
    return (
        i.Let("total", "i64", first, SPAN),
        i.Loop("i", i.ZERO, i.Var("N"), body, 0, SPAN),
    )


def store(at: i.Expr) -> i.Store:
    return i.Store(i.Load("Y", None, at), i.ONE, SPAN)


COPY = """
  input X : cvm[N]
  output Y : cvm[N]
  Y[i] = X[i] + 1
"""
BODIES = [
    (counted(), True, "the place is at most the index"),
    (counted(i.Const(2)), False, "the place is twice the index"),
    (counted(i.ONE, i.ONE), False, "the place begins at 1"),
    (counted(i.ONE, i.ZERO, i.Binary("+", TOTAL, i.ONE)), False, "the next place"),
    (counted(i.Const(-1)), False, "places go backwards"),
    (counted(i.ONE, i.ZERO, TOTAL, i.Accumulate("total", "+", i.ONE, SPAN)), False, "added twice"),
    (counted(i.ONE, i.ZERO, TOTAL, i.Assign("total", NEXT, SPAN)), False, "set to the next index"),
    (counted(INDEX), False, "what is added grows"),
    ((*counted(), store(TOTAL)), False, "behind the loop the place may be the end"),
    ((*counted(), i.If(THERE, (store(TOTAL),), (), SPAN)), True, "behind the loop it is tested"),
]


@pytest.mark.parametrize(("body", "right", "why"), BODIES, ids=[why for *_, why in BODIES])
def test_places_that_are_counted(body: i.Block, right: bool, why: str) -> None:
    kernels = scheduled_kernels(operator(COPY), packaged())
    kernel = kernels.widest(0)
    other = replace(kernel, subject=kernel.subject.with_body(body))
    found = [e for e in KernelProofs(kernels, other, PROVER).obligations() if e.about == BOUNDS]
    assert found
    assert all(each.status == "proved" for each in found) == right, why
