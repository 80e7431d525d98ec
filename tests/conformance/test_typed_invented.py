"""Invented formulas over elements of all types mean the same on every target."""

from __future__ import annotations

from pathlib import Path
from random import Random

import pytest

import cvmgen
from cvmgen import driver
from cvmgen.api.library import c_sources
from cvmgen.build import compile_library, write_changed
from cvmgen.reference import Reference
from cvmgen.source import Source
from cvmgen.spec.check import SpecFile, check_files
from cvmgen.spec.formula import Operator
from tests.conformance.calls import Conformance
from tests.conformance.test_invented import has_types
from tests.conformance.typed_invented import SHAPES, Shape, TypedInventor

CUT = "def cut(x, low, high) = max(low, min(x, high))\n"


def checked(inventor: TypedInventor, count: int) -> tuple[Operator, ...]:
    """Operators, but for those with values that no machine type holds."""
    texts = [inventor.operator(f"f{at}") for at in range(count)]
    operators = check_files([SpecFile(Source("f.cvm", CUT + "".join(texts)), "invented")])
    return tuple(operator for operator in operators if has_types(operator))


def agree(folder: Path, inventor: TypedInventor, count: int, calls: int) -> int:
    """How many of the calls have results."""
    operators = checked(inventor, count)
    write_changed(folder, driver.generate(operators, ("c", "python")))
    library = compile_library(c_sources(folder), name="invented", flags=("-O0",))
    libraries = {
        "c": cvmgen.load("c", folder=folder, library=library),
        "python": cvmgen.load("python", folder=folder),
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
