"""Calls that the C target checks once give the bits of the reference, each time that they run."""

from __future__ import annotations

from random import Random
from typing import Any

import numpy as np
import pytest

from cvmgen.api import Operators
from tests.conformance.calls import Conformance, Given, compare, wanted_dtype
from tests.conformance.random_calls import DRAW, call
from tests.operators import sampled

CALLS = 6


@pytest.mark.parametrize("name", sampled(DRAW))
def test_bound_calls(conformance: Conformance, libraries: dict[str, Operators], name: str) -> None:
    operator = libraries["c"][name]
    random = Random(f"{name} bound")
    for each in [call(name, random) for _ in range(CALLS)]:
        expected = conformance.expected(each)
        if expected.refusal:
            continue
        bound = operator.bind(
            *each.inputs,
            precisions=each.precisions,
            constants=operator.inputs,
            **each.attributes,
        )
        for time in ("first", "second"):
            compare(bound(), expected, wanted_dtype(each, None), f"{time}: {each}")
        if opened := shapes_for(operator.variadic, each.inputs, each.precisions):
            later = operator.bind(*opened, precisions=each.precisions, **each.attributes)
            arrays = [one for one in each.inputs if one is not None]
            compare(later(*arrays), expected, wanted_dtype(each, None), f"open: {each}")


def shapes_for(variadic: str | None, inputs: tuple[Given, ...], precisions: Any) -> list[Any]:
    """The shapes of the inputs, where all of them can come later."""
    arrays = [each for each in inputs if each is not None]
    if variadic or precisions is None or not all(isinstance(each, np.ndarray) for each in arrays):
        return []
    if any(each.ndim == 0 for each in arrays if isinstance(each, np.ndarray)):
        return []
    return [each.shape if isinstance(each, np.ndarray) else None for each in inputs]
