"""Invented formulas as CUDA text, run on the CPU, against the reference."""

from __future__ import annotations

from pathlib import Path
from random import Random

import numpy as np
import pytest

from cvmgen import driver
from cvmgen.build import write_changed
from cvmgen.reference import Reference
from tests.conformance import test_typed_invented, typed_invented
from tests.conformance.calls import Conformance, wrapped_to
from tests.conformance.invented import SPACES, VECTOR, Inventor, Space
from tests.conformance.test_invented import WRONG_ONCE, call, checked
from tests.emit.on_cpu import quickly


def agree(folder: Path, bodies: list[str], calls: int, space: Space) -> None:
    operators = checked(bodies, space)
    write_changed(folder, driver.generate(operators, ("cuda",)))
    on_cpu = quickly(folder)
    references = Conformance({each.full_name: Reference(each) for each in operators}, {})
    for each, operator in zip(operators, on_cpu.operators, strict=True):
        random = Random(each.text)
        for number in range(calls):
            made = call(each.full_name, random, space, broken=number % 3 == 2)
            made = made.of_type(np.int32)
            (expected,) = references.expected(made).outputs
            on_cpu.fix(blocks=2, threads=3)
            found = operator(*made.inputs, precisions=made.precisions, **made.attributes)
            wanted = [wrapped_to(value, "int32") for value in expected.values]
            assert found.ravel().tolist() == wanted, f"{made}: {each.text}"


@pytest.mark.parametrize("space", SPACES, ids=("vector", "matrix", "box"))
def test_invented_kernels(tmp_path: Path, space: Space) -> None:
    inventor = Inventor(Random(1), space)
    agree(tmp_path, [inventor.body() for _ in range(15)], calls=6, space=space)


def test_what_was_wrong_once(tmp_path: Path) -> None:
    agree(tmp_path, [body for body, _ in WRONG_ONCE], calls=12, space=VECTOR)


@pytest.mark.parametrize("shape", typed_invented.SHAPES, ids=("vector", "box"))
def test_invented_kernels_of_all_types(tmp_path: Path, shape: typed_invented.Shape) -> None:
    inventor = typed_invented.TypedInventor(Random(1), shape)
    operators = test_typed_invented.checked(inventor, 25)
    write_changed(tmp_path, driver.generate(operators, ("cuda",)))
    on_cpu = quickly(tmp_path)
    references = {each.full_name: Reference(each) for each in operators}
    conformance = Conformance(references, {"cuda-cpu": on_cpu.operators})
    for each in operators:
        random, names = Random(each.text), [item.name for item in each.inputs]
        for _ in range(6):
            on_cpu.fix(blocks=2, threads=3)
            conformance.check(inventor.call(each.full_name, names, random))
