"""Calls that read outside, which small calls at random do not show: a solver finds them at once."""

import pytest

from cvmgen.verification.quick import outside
from tests.specs import operator

pytest.importorskip("z3")

ATTRIBUTES = """
  input X : cvm[N]
  attr a = 1 in [0, 100000)
  attr b = 1 in [0, 100000)
  output Y : cvm[N]
"""
FOUND = [
    (
        "Y[i] = X[i + 1] if 3 * a == 2 * b + 71 else 0",
        "index 0 of X is 1, outside [0, 1)",
        "for example when i = 0, N = 1, a = 25, b = 2",
        "the condition says nothing of the index",
    ),
    (
        "Y[i] = X[a - b] if a - 2 * b == 137 else 0",
        "index 0 of X is 137, outside [0, 1)",
        "for example when a = 137, b = 0, N = 1",
        "attributes alone",
    ),
    (
        "Y[i] = X[i + b - a] if 2 * a == 3 * b + 9 and i >= 1 else 0",
        "outside [0, ",
        "N = 2",
        "below the first one, where there are two",
    ),
]


@pytest.mark.parametrize(("equation", "message", "hint", "why"), FOUND)
def test_calls_that_are_found(equation: str, message: str, hint: str, why: str) -> None:
    (found,) = outside(operator(ATTRIBUTES + equation))
    assert message in found.message, why
    assert hint in (found.hint or ""), why


NOT_FOUND = [
    ("Y[i] = X[i + 1] if a * a == 2 else 0", "there is no such square"),
    ("Y[i] = X[i * a * b div (a * b)] if a * b > 0 else 0", "it is inside, by products"),
    ("Y[i] = X[i + a] if i + a < N else 0", "a condition keeps it inside"),
]


@pytest.mark.parametrize(("equation", "why"), NOT_FOUND)
def test_what_is_not_shown_wrong_is_no_error(equation: str, why: str) -> None:
    assert list(outside(operator(ATTRIBUTES + equation))) == [], why


def test_one_size_alone_is_shown_by_the_smallest_call_of_it() -> None:
    text = """
      input X : cvm[N, M]
      output Y : cvm[N]
      Y[i] = X[i, 0] if N != 1000 else X[i, M]
    """
    (found,) = outside(operator(text))
    assert found.hint == "for example when M = 1, N = 1000"


def test_a_proposal_that_the_formula_does_not_refuse_is_none() -> None:
    """What is read is not known to the solver, so that its numbers may be those of no call."""
    text = """
      input X : cvm[N]
      input I : cvm[M]
      output Y : cvm[M]
      Y[i] = X[I[i] * I[i] mod N]
    """
    assert list(outside(operator(text))) == []
