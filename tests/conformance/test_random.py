"""Random shapes of every operator on every target, bit for bit as the reference."""

from __future__ import annotations

from random import Random

import pytest

from cvmgen.spec.formula import Operator
from tests.conformance.calls import Conformance
from tests.conformance.random_calls import DRAW, call
from tests.operators import sample

CALLS = 25  # of the sample; of others there are fewer
FEWER = 10
MANY = 600


def test_every_operator_is_drawn(formulas: dict[str, Operator]) -> None:
    assert set(DRAW) == set(formulas)


@pytest.mark.parametrize("name", DRAW)
def test_random_calls(conformance: Conformance, name: str) -> None:
    count = CALLS if name in sample() else FEWER
    accepted = run(conformance, name, count, seed=1)
    assert accepted >= count // 3, "the calls are refused too often to say much"


@pytest.mark.slow
@pytest.mark.parametrize("name", DRAW)
def test_many_random_calls(conformance: Conformance, name: str) -> None:
    run(conformance, name, MANY, seed=2)


def run(conformance: Conformance, name: str, count: int, seed: int) -> int:
    """How many of the calls were accepted."""
    random = Random(f"{name} {seed}")
    return sum(not conformance.check(call(name, random)).refusal for _ in range(count))
