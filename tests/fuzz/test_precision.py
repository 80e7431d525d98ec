"""Derived precisions of invented formulas against every input of few bits."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from itertools import product

import pytest

from cvmgen.errors import OperatorError
from cvmgen.reference import Reference, Tensor
from cvmgen.source import Source, SpecErrors
from cvmgen.spec.check import check_files
from cvmgen.spec.files import SpecFile
from tests.fuzz import seeds
from tests.fuzz.integer_formulas import Invented, Inventor, NoValue

OUTPUTS = 5
# Precision, elements, and the attributes a and b.
CALLS = ((1, 2, 3, 1), (2, 1, -3, 0), (2, 2, 0, 2), (2, 3, 2, 1), (3, 1, 1, 0), (3, 2, 3, 2))


@pytest.mark.parametrize("block", range(5))
def test_no_value_is_beyond_its_derived_precision(block: int) -> None:
    wrong, known = [], 0
    for seed in seeds(25):
        invented = Inventor(5 * seed + block).operator("f", OUTPUTS)
        try:
            (operator,) = check_files([SpecFile(Source("test.cvm", invented.spec), "test")])
        except SpecErrors as errors:
            if "the bounds of this value are not known" in str(errors):
                continue
            raise
        reference = Reference(operator)
        for call in CALLS:
            for output, given, most in beyond(reference, invented, call):
                known += 1
                if most.bit_length() + 1 > given:
                    wrong.append((call, output, f"{given} bits, value {most}", invented.spec))
    assert not wrong, "\n".join(map(str, wrong[0]))
    assert known > 250


def beyond(
    reference: Reference, invented: Invented, call: tuple[int, int, int, int]
) -> Iterator[tuple[str, int, int]]:
    """Each output with its precision and the greatest magnitude that it has."""
    p, count, a, b = call
    try:
        made = reference.infer({"X": Tensor((count,), [0] * count, p)}, {"a": a, "b": b}).outputs
    except OperatorError as error:
        if "derived from the formula must be in [1, 32]" in error.rule:
            return
        raise
    most = dict.fromkeys(made, 0)
    end = (1 << (p - 1)) - 1
    for elements in product(range(-end, end + 1), repeat=count):
        values = invented.values(count, a, b, elements)
        for (name, value), at in product(zip(made, values, strict=True), range(count)):
            with suppress(NoValue):
                most[name] = max(most[name], abs(value(at)))
    for name, tensor in made.items():
        yield name, tensor.precision, most[name]
