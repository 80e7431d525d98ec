"""Invented formulas over elements of all types mean the same on every target."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from random import Random

import pytest

import cvmgen
from cvmgen import driver
from cvmgen.api.library import library_sources
from cvmgen.build import compile_library, write_changed
from cvmgen.reference import Reference
from cvmgen.source import Source
from cvmgen.spec.check import check_files
from cvmgen.spec.files import SpecFile
from cvmgen.spec.formula import Operator
from tests.conformance.calls import Conformance
from tests.conformance.test_invented import has_types
from tests.conformance.typed_invented import SHAPES, Shape, TypedInventor
from tests.emit.units import joined

CUT = "def cut(x, low, high) = max(low, min(x, high))\n"


def checked(inventor: TypedInventor, count: int) -> tuple[Operator, ...]:
    """Operators, but for those with values that no machine type holds."""
    texts = [inventor.operator(f"f{at}") for at in range(count)]
    operators = check_files([SpecFile(Source("f.cvm", CUT + "".join(texts)), "invented")])
    return tuple(operator for operator in operators if has_types(operator))


def agree(folder: Path, inventor: TypedInventor, count: int, calls: int) -> int:
    return compared(folder, checked(inventor, count), inventor, calls)


def compared(
    folder: Path, operators: Sequence[Operator], inventor: TypedInventor, calls: int
) -> int:
    """How many of the calls have results."""
    write_changed(folder, driver.generate(operators, ("c", "python", "numpy")))
    library = compile_library(joined(library_sources(folder)), name="invented", flags=("-O0",))
    libraries = {
        "c": cvmgen.load("c", folder=folder, library=library),
        "python": cvmgen.load("python", folder=folder),
        "numpy": cvmgen.load("numpy", folder=folder),
    }
    references = {each.full_name: Reference(each) for each in operators}
    conformance = Conformance(references, libraries)
    accepted = 0
    for each in operators:
        random, names = Random(each.text), [item.name for item in each.inputs]
        for _ in range(calls):
            made = inventor.call(each.full_name, names, random)
            accepted += not conformance.check(made).refusal
    return accepted


@pytest.mark.parametrize("shape", SHAPES, ids=("vector", "box"))
def test_invented_formulas(tmp_path: Path, shape: Shape) -> None:
    accepted = agree(tmp_path, TypedInventor(Random(1), shape), count=40, calls=6)
    assert accepted > 120, "the calls are refused too often to say much"


@pytest.mark.slow
@pytest.mark.parametrize("shape", SHAPES, ids=("vector", "box"))
@pytest.mark.parametrize("seed", range(2, 12))
def test_many_invented_formulas(tmp_path: Path, seed: int, shape: Shape) -> None:
    agree(tmp_path, TypedInventor(Random(seed), shape), count=100, calls=18)


# Types of the inputs X and F, the type of the output, right sides that were wrong once, and why.
WRONG_ONCE = [
    ("bool", "float64", "int64", "int(X[i])", "a condition as an integer, without real numbers"),
    ("int8", "float64", "int64", "abs(X[i]) + int(0.1)", "real numbers that no tensor has"),
    ("int8", "float64", "bool", "X[i] > 0 and isnan(2)", "of a number that is written out"),
    ("int8", "float64", "float64", "min[j < N](real(isnan(real(a)))) + F[i]", "not for the host"),
    ("int8", "float64", "bool", "isnan(float32(sum[j < N](3.0 - F[i])))", "a sum known late"),
    (
        "int8",
        "float64",
        "float64",
        "prod[j < N](min[k < N](F[j] - F[k] * 2))",
        "the product of real numbers is never too large",
    ),
    (
        "int8",
        "float32",
        "float64",
        "real(all[j < N](F[i] > 0.1)) + real(any[j < N](not F[j] <= 0.1))",
        "NaN is neither below nor not",
    ),
    ("int64", "float64", "bool", "X[i] div -1 > X[i] mod -1 + X[i] tdiv -1", "-2^63 by -1"),
    ("int64", "float64", "int8", "cut(X[i] div (0 - 1 - abs(a)), -9, 9)", "by a variable"),
    ("int64", "float64", "float64", "trunc((0.0 - real(a)) * 4.0)", "0.0 - 0 is no -0"),
]


def test_what_was_wrong_once(tmp_path: Path) -> None:
    inventor, texts = TypedInventor(Random(1)), []
    for at, (integers, reals, result, body, _) in enumerate(WRONG_ONCE):
        inventor.types[f"f{at}"] = {"X": [integers], "F": [reals]}
        texts.append(f"""
        operator f{at} {{
          "Once wrong."
          input X : {integers}[N]
          input F : {reals}[N]
          attr  a = 1 in [-5, 6)
          output Y : {result}[N]
          Y[i] = {body}
        }}
        """)
    operators = check_files([SpecFile(Source("f.cvm", CUT + "".join(texts)), "invented")])
    assert compared(tmp_path, operators, inventor, calls=40) == 40 * len(WRONG_ONCE)
