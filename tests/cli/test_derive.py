"""`cvmgen derive`: adjoints as text, and what is told when there is none."""

from __future__ import annotations

from pathlib import Path

import pytest

from .conftest import Command

DOUBLE = """\
operator double_adjoint_X {
  "Adjoint of double with respect to X: the gradient of Y, carried back to X."
  input  dY : cvm[n...]
  output dX : cvm[n...]
  dX[d...] = dY[d...]*2
}
"""
CLIPPED = """
operator clipped {
  "Elements cut at 0."
  input  X : cvm[n...]
  output Y : cvm[n...]
  Y[d...] = 2 * max(0, X[d...])
}
"""


@pytest.mark.parametrize("name", ["double", "toy.double", "twice"])
def test_prints_the_formula(cvmgen: Command, spec: Path, name: str) -> None:
    outcome = cvmgen("derive", name, "--wrt", "X", "--spec", spec)
    assert (outcome.code, outcome.out, outcome.err) == (0, DOUBLE, "")


def test_prints_it_for_programs(cvmgen: Command, spec: Path) -> None:
    outcome = cvmgen("derive", "double", "--wrt", "X", "--name", "back", "--spec", spec, "--json")
    assert outcome.json == {
        "operator": "toy.double",
        "wrt": "X",
        "name": "back",
        "text": DOUBLE.replace("double_adjoint_X", "back"),
    }


def test_the_text_can_be_saved_and_shown(cvmgen: Command, spec: Path) -> None:
    text = cvmgen("derive", "shifted", "--wrt", "X", "--spec", spec).out
    (spec / "toy/adjoints.cvm").write_text(text)
    assert cvmgen("show", "shifted_adjoint_X", "--spec", spec).out == text
    assert cvmgen("check", spec, "--spec", spec).code == 0


def test_what_is_not_linear_is_shown(cvmgen: Command, spec: Path) -> None:
    (spec / "toy/clipped.cvm").write_text(CLIPPED)
    outcome = cvmgen("derive", "clipped", "--wrt", "X", "--spec", spec)
    assert (outcome.code, outcome.out) == (1, "")
    assert outcome.err == (
        "spec/toy/clipped.cvm:6:17: error: this is not linear in 'X'\n"
        "  |\n"
        "6 |   Y[d...] = 2 * max(0, X[d...])\n"
        "  |                 ^^^^^^^^^^^^^^^\n"
        "  = hint: only sums of products with other values have an adjoint that is a formula\n"
    )


REFUSED = (
    (("double", "--wrt", "Z"), "toy.double has no input 'Z'; its inputs are X", "unknown input"),
    (("duoble", "--wrt", "X"), "did you mean 'double'", "unknown operator"),
    (("double", "--wrt", "X", "--name", "let"), "'let' is no name", "a word of the language"),
    (("double", "--wrt", "X", "--name", "a b"), "'a b' is no name", "not a word"),
    (("double", "--wrt", "X", "--name", "shifted"), "'shifted' is an operator already", "taken"),
    (("double", "--wrt", "X", "--name", "twice"), "'twice' is an operator already", "an alias"),
    (("double",), "--wrt", "the input is missing"),
)


@pytest.mark.parametrize(("arguments", "message", "why"), REFUSED)
def test_wrong_arguments(
    cvmgen: Command, spec: Path, arguments: tuple[str, ...], message: str, why: str
) -> None:
    outcome = cvmgen("derive", *arguments, "--spec", spec)
    assert outcome.code == 2, why
    assert message in outcome.err, why
