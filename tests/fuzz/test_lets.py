"""Invented lets in memory and recurrences mean the same on the reference and on every target."""

from __future__ import annotations

from pathlib import Path
from random import Random

from cvmgen.driver import TARGETS, operator_texts
from cvmgen.reference import Reference
from cvmgen.source import Source, SpecError, SpecErrors
from cvmgen.spec.check import check_files
from cvmgen.spec.files import SpecFile
from cvmgen.spec.formula import Operator
from tests.conformance.calls import Call, Conformance
from tests.fuzz import seeds
from tests.fuzz.let_formulas import Invented, Inventor, inputs
from tests.targets import load_own

GROUP = 10  # formulas that are compiled together
FOUND = (33, 44, 2061, 2335)  # seeds of formulas that were wrong once
COMMON = "def clip(x, low, high) = max(low, min(x, high))\n"


def accepted(one: Invented) -> list[Operator]:
    """The operator, unless its text or what a target would make of it is refused."""
    try:
        (found,) = check_files([SpecFile(Source("f.cvm", COMMON + one.text), "invented")])
        operator_texts(found, tuple(TARGETS))
    except (SpecError, SpecErrors):
        return []
    except Exception as error:
        raise AssertionError(one.text) from error
    return [found]


def test_invented_lets(tmp_path: Path) -> None:
    for seed in seeds(1):
        numbers = (*range(seed * GROUP, (seed + 1) * GROUP), *FOUND)
        invented = {f"f{at}": Inventor(at).operator(f"f{at}") for at in numbers}
        operators = [each for one in invented.values() for each in accepted(one)]
        libraries = load_own(operators, tmp_path / str(seed))
        tried = Conformance({each.full_name: Reference(each) for each in operators}, libraries)
        for each in operators:
            one = invented[each.name]
            draw = Random(one.name)
            for given in inputs(one, draw):
                try:
                    tried.check(Call(each.full_name, given))
                except Exception as error:
                    raise AssertionError(f"{one.text}\n{given}") from error
