"""Index lists of open rank as CUDA text, run on the CPU, against the reference."""

from __future__ import annotations

from pathlib import Path
from random import Random

import numpy as np

from cvmgen import driver
from cvmgen.build import write_changed
from cvmgen.reference import Reference
from tests.conformance.calls import Conformance, wrapped_to
from tests.conformance.index_lists import call, formed
from tests.emit.on_cpu import quickly


def test_forms(tmp_path: Path) -> None:
    operators = formed()
    write_changed(tmp_path, driver.generate(operators, ("cuda",)))
    on_cpu = quickly(tmp_path)
    references = Conformance({each.full_name: Reference(each) for each in operators}, {})
    for number, operator in enumerate(on_cpu.operators):
        random = Random(number)
        for _ in range(12):
            made = call(number, random).of_type(np.int32)
            (expected,) = references.expected(made).outputs
            on_cpu.fix(blocks=2, threads=3)
            found = operator(*made.inputs, **made.attributes)
            assert found.shape == expected.shape, made
            wanted = [wrapped_to(value, "int32") for value in expected.values]
            assert found.ravel().tolist() == wanted, made
