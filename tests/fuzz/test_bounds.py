"""Invented index expressions: no call reads or writes outside, and all targets refuse alike.

Formulas are checked and not tried on small calls, as what matters hides in rare ones.
"""

from __future__ import annotations

from pathlib import Path
from random import Random
from typing import Any

import pytest

from cvmgen import driver
from cvmgen.errors import OperatorError
from cvmgen.inside.checks import open_places
from cvmgen.lower.translate import operator_program
from cvmgen.reference import Reference
from cvmgen.reference.failures import FormulaError
from cvmgen.source import Source, SpecError, SpecErrors
from cvmgen.spec.check import check_files
from cvmgen.spec.files import SpecFile
from cvmgen.spec.formula import Operator
from tests.conformance.calls import wrapped_to
from tests.fuzz import seeds
from tests.fuzz.bounded_formulas import DEFINITIONS, Called, Inventor, calls
from tests.targets import load_own

OUTSIDE = ("outside of its tensors", "the call does not have")


def invented(random: Random, count: int) -> list[Operator]:
    """Operators that the language admits and that can be lowered."""
    found: list[Operator] = []
    while len(found) < count:
        text = DEFINITIONS + Inventor(random).operator(f"op{len(found)}")
        try:
            (operator,) = check_files([SpecFile(Source("z.cvm", text), "z")])
            driver.lower(operator, driver.C_LIKE)
        except (SpecError, SpecErrors):
            continue
        found.append(operator)
    return found


def expected(operator: Operator, call: Called) -> Any:
    """The elements of the result, the text of a refusal, or None where there is no value."""
    try:
        result = Reference(operator).evaluate(call.for_reference(), call.attributes)
    except OperatorError as error:
        return str(error)
    except FormulaError:
        return None
    return [wrapped_to(each, "int32") for each in result.outputs["Y"].values]


@pytest.mark.parametrize("seed", seeds(1))
def test_all_targets_refuse_what_reads_outside(seed: int, tmp_path: Path) -> None:
    random = Random(seed)
    operators = invented(random, 8)
    loaded = load_own(operators, tmp_path)
    refused = 0
    for operator in operators:
        names = [each.name for each in operator.inputs]
        for call in calls(random, operator, 12):
            wanted = expected(operator, call)
            if wanted is None:
                continue
            refused += isinstance(wanted, str)
            for target, ops in loaded.items():
                given = [call.tensors[name] for name in names]
                try:
                    result = ops[operator.full_name](*given, **call.attributes)
                    found: Any = result.ravel().tolist()
                except OperatorError as error:
                    found = str(error)
                assert found == wanted, (target, operator.text, call)
    assert refused


@pytest.mark.parametrize("seed", seeds(2))
def test_what_is_proved_never_reads_outside(seed: int) -> None:
    random = Random(seed)
    proved = 0
    for operator in invented(random, 25):
        if open_places(operator_program(operator)):
            continue
        proved += 1
        for call in calls(random, operator, 15):
            found = expected(operator, call)
            outside = isinstance(found, str) and found.endswith(OUTSIDE)
            assert not outside, (operator.text, call, found)
    assert proved > 0
