"""Adjoints of invented linear operators: text that the language takes, and exact inner products."""

from __future__ import annotations

import random
from collections.abc import Mapping

import pytest

from cvmgen.derive import adjoint
from cvmgen.errors import OperatorError
from cvmgen.reference import Reference, Tensor
from cvmgen.reference.failures import FormulaError
from cvmgen.source import Source, SpecError, SpecErrors
from cvmgen.spec.check import check_files
from cvmgen.spec.files import SpecFile
from cvmgen.spec.formula import Operator
from tests.fuzz import seeds
from tests.fuzz.linear_formulas import LinearInventor

OPERANDS = ("X", "W", "dY")


@pytest.mark.parametrize("block", range(4))
def test_every_adjoint_is_a_formula_and_is_right(block: int) -> None:
    derived = compared = 0
    for seed in seeds(60):
        text = LinearInventor(4 * seed + block).operator("f")
        (operator,) = checked(text)
        try:
            back = adjoint(operator, "X", "back")
        except SpecError:
            continue  # says why it has none
        derived += 1
        macros = "".join(f"{line}\n" for line in text.splitlines() if line.startswith("def"))
        try:
            (turned,) = checked(macros + back)
        except SpecErrors as errors:
            pytest.fail(f"{errors}\n{text}")
        compared += all_products(operator, turned, random.Random(seed), text)
    assert derived > 30
    assert compared > 30


def checked(text: str) -> tuple[Operator, ...]:
    return check_files([SpecFile(Source("test.cvm", text), "test")])


def all_products(operator: Operator, turned: Operator, draw: random.Random, text: str) -> int:
    """How many inner products were compared: <f(x), y> with <x, back(y)>."""
    forward, backward = Reference(operator), Reference(turned)
    found = 0
    for n, m, k, p in ((1, 1, 1, 0), (2, 3, 2, 1), (3, 2, 4, 2), (5, 1, 3, 3)):
        rank = len(operator.inputs[0].extents)
        X, W = drawn((n, m)[:rank], draw), drawn((k,), draw)
        try:
            Y = forward.evaluate({"X": X, "W": W}, {"p": p}).outputs["Y"]
        except (OperatorError, FormulaError):
            continue  # no call of these extents
        dY = drawn(Y.shape, draw)
        given = {"X": X, "W": W, "dY": dY}
        dX = backward.evaluate(*needed(turned, given, p)).outputs["dX"]
        assert inner(Y, dY) == inner(X, dX), f"N={n} M={m} K={k} p={p}\n{text}"
        found += 1
    return found


def needed(
    operator: Operator, given: Mapping[str, Tensor], p: int
) -> tuple[dict[str, Tensor], dict[str, int]]:
    inputs = {item.name: given[item.name] for item in operator.inputs}
    return inputs, {"p": p} if operator.attributes else {}


def drawn(shape: tuple[int, ...], draw: random.Random) -> Tensor:
    size = 1
    for extent in shape:
        size *= extent
    return Tensor(shape, [draw.randint(-9, 9) for _ in range(size)], 0, "int64")


def inner(one: Tensor, other: Tensor) -> int:
    return sum(a * b for a, b in zip(one.values, other.values, strict=True))
