"""Index lists of open rank agree on every target."""

from __future__ import annotations

from random import Random

import numpy as np
import pytest

from cvmgen.reference import Reference
from tests.conformance.calls import Conformance
from tests.conformance.index_lists import FORMS, call, formed
from tests.targets import load_own


@pytest.fixture(scope="module")
def formed_conformance(tmp_path_factory: pytest.TempPathFactory) -> Conformance:
    operators = formed()
    libraries = load_own(operators, tmp_path_factory.mktemp("formed"))
    return Conformance({each.full_name: Reference(each) for each in operators}, libraries)


@pytest.mark.parametrize("number", range(len(FORMS)), ids=[why for *_, why in FORMS])
def test_forms(formed_conformance: Conformance, number: int) -> None:
    random = Random(number)
    for _ in range(40):
        made = call(number, random)
        assert formed_conformance.check(made, dtype=np.int32).refusal == "", made
