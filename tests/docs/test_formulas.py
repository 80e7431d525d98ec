"""What documents say of formulas is so: their results on each target, and how they are refused."""

from __future__ import annotations

import doctest

import numpy as np
import pytest

from cvmgen.api import Operators
from cvmgen.reference import Reference
from cvmgen.reference.probe import check_operators, example_arguments
from cvmgen.spec.formula import Operator
from tests.conformance.calls import Call, Conformance, bits
from tests.docs.documents import DOCUMENTS, LANGUAGE, OPSET, Block, blocks, calls, report_of
from tests.targets import load_own

TARGETS = ("python", "numpy", "c")
BLOCKS = [each for document in DOCUMENTS for each in blocks(document)]
SHOWN = [each for each in BLOCKS if each.report is None]
REFUSED = [each for each in BLOCKS if each.report is not None]


def rows(chosen: list[Block]) -> list[object]:
    return [pytest.param(each, id=each.place) for each in chosen]


@pytest.mark.parametrize("block", rows(SHOWN))
def test_formulas_give_the_stated_results(block: Block) -> None:
    """By the reference, which also tries each on small calls."""
    check_operators(block.operators())


@pytest.mark.parametrize("block", rows(REFUSED))
def test_refused_formulas_have_the_stated_report(block: Block) -> None:
    assert report_of(block) == block.report


@pytest.fixture(scope="module")
def operators() -> dict[str, Operator]:
    """Those of all blocks, by their names."""
    found = [each for block in SHOWN for each in block.operators()]
    names = [each.full_name for each in found]
    assert sorted(set(names)) == sorted(names), "each formula of the documents has its own name"
    return dict(zip(names, found, strict=True))


@pytest.fixture(scope="module")
def loaded(
    operators: dict[str, Operator], tmp_path_factory: pytest.TempPathFactory
) -> dict[str, Operators]:
    return load_own(list(operators.values()), tmp_path_factory.mktemp("documents"), TARGETS)


@pytest.mark.parametrize("target", TARGETS)
def test_targets_give_the_stated_results(
    operators: dict[str, Operator], loaded: dict[str, Operators], target: str
) -> None:
    references = {name: Reference(each) for name, each in operators.items()}
    conformance = Conformance(references, loaded)
    for name, operator in operators.items():
        for example in operator.examples:
            given, attributes = example_arguments(operator, example)
            inputs = tuple(arrays(given.get(item.name)) for item in operator.inputs)
            conformance.check(Call(name, inputs, attributes), [target])


def arrays(operand: object) -> object:
    if isinstance(operand, list):
        return [arrays(one) for one in operand]
    return None if operand is None else bits(operand)


def test_every_formula_has_an_example() -> None:
    """But for the one that a command derives."""
    found = [each for block in SHOWN for each in block.operators()]
    assert [each.name for each in found if not each.examples] == ["dense_adjoint_X"]


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("text", [pytest.param(each, id=each[:40]) for each in calls(LANGUAGE)])
def test_calls_print_what_is_stated(loaded: dict[str, Operators], target: str, text: str) -> None:
    told(text, {"ops": getattr(loaded[target], OPSET), "np": np})


OTHERS = [text for each in DOCUMENTS if each != LANGUAGE for text in calls(each)]


@pytest.mark.parametrize("text", [pytest.param(each, id=each[:40]) for each in OTHERS])
def test_sessions_print_what_is_stated(text: str) -> None:
    told(text, {})


def told(session: str, names: dict[str, object]) -> None:
    test = doctest.DocTestParser().get_doctest(session, names, "session", None, 0)
    said: list[str] = []
    doctest.DocTestRunner().run(test, out=said.append)
    if said:
        pytest.fail("".join(said))
