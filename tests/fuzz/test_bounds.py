"""Invented index expressions: no call reads or writes outside, and all targets refuse alike.

Formulas are checked and not tried on small calls, as what matters hides in rare ones: a special
extent, an element that is an index, a guard that holds for one side only.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pytest

import cvmgen
from cvmgen import driver
from cvmgen.build import write_changed
from cvmgen.errors import CvmgenError, InternalError, OperatorError
from cvmgen.inside.checks import open_places
from cvmgen.lower.translate import translate
from cvmgen.reference import Reference
from cvmgen.reference.failures import FormulaError
from cvmgen.reference.tensor import Tensor
from cvmgen.source import Source, SpecError
from cvmgen.spec.check import SpecFile, check_files
from cvmgen.spec.formula import Operator
from tests.fuzz import seeds

SPECIAL = 6  # an extent that few calls have
VALUES = (-(2**31) + 1, -7, -1, 0, 0, 1, 1, 2, 3, 4, 5, 6, 2**31 - 1)
OUTSIDE = ("outside of its tensors", "the call does not have")


class Inventor:
    """Draws formulas of one tensor X[N], a tensor Z[m...] and an attribute a in [0, 4)."""

    def __init__(self, random: Random) -> None:
        self.random = random

    def index(self, depth: int, names: Sequence[str] = ("i",)) -> str:
        pick = self.random.choice
        if depth == 0:
            return pick([*names, *names, "N", "a", "0", "1", "2", "(N - 1)", f"X[{pick(names)}]"])
        one, other = (self.index(depth - 1, names) for _ in range(2))
        return pick(
            [
                f"({one} {pick('+-*')} {other})",
                f"({one} mod {pick(['N', '3', '(-2)', '(a + 1)'])})",
                f"({one} div {pick(['2', 'N', '(-3)', '(a + 1)'])})",
                f"{pick(['min', 'max'])}({one}, {other})",
                f"max(0, min({one}, N - 1))",
                f"({one} if {self.condition(depth - 1, names)} else {other})",
                f"({one} + 1000000 if N == {SPECIAL} else {other})",
                f"({one} mod N)",
                one,
            ]
        )

    def condition(self, depth: int, names: Sequence[str]) -> str:
        one, other = (self.index(depth, names) for _ in range(2))
        return self.random.choice(
            [
                f"{one} < {other}",
                f"0 <= {one} < N",
                f"N == {SPECIAL}",
                f"{one} >= 0 and {other} != {one}",
                f"not ({one} > {other}) or a == 2",
            ]
        )

    def equation(self) -> str:
        at, inner = self.index(2), self.index(1, ("i", "k"))
        return self.random.choice(
            [
                f"Y[i] = X[{at}]",
                f"Y[i] = X[{at}] if 0 <= {at} < N else 0",
                f"Y[i] = X[{at}] if {at} < N else 0",
                f"Y[i] = X[{at}] if {self.condition(1, ('i',))} else -1",
                f"Y[i] = max[k < a + 1](X[{inner}])",
                f"Y[i] = sum[k < N if 0 <= {inner}](1 if X[min({inner}, N - 1)] > 0 else 0)",
                f"Y[i] = pick(X[{at}], {at}, 0 <= {at} < N)",
                f"Y[i] = Z[unflatten({at}, m...)...]",
                f"Y[i] = Z[unflatten({at} mod size(m), m...)...]",
                f"Y[{at}] = X[i]  forall i < N",
                f"Y[N - 1 - i] = X[{at}]  forall i < N",
                f"Y[i] = x + x if x > 0 else 0  where x = X[{at}]",
                f"Y[i] = V[{at}] if {at} < count(V) else -1",
            ]
        )

    def operator(self, name: str) -> str:
        equation = self.equation()
        chosen = "  let V = select[q < N](X[q] > 0)\n" if "V[" in equation else ""
        return (
            f'operator {name} {{ "Invented."\n  input X : cvm[N]\n  input Z : cvm[m...]\n'
            f"  attr a = 0 in [0, 4)\n  output Y : cvm[N] precision 32\n{chosen}  {equation}\n}}\n"
        )


DEFINITIONS = "def pick(x, at, good) = x if good and at >= 0 else 0\n"


def invented(random: Random, count: int) -> list[Operator]:
    """Operators that the language admits and that can be lowered."""
    found: list[Operator] = []
    while len(found) < count:
        text = DEFINITIONS + Inventor(random).operator(f"op{len(found)}")
        try:
            (operator,) = check_files([SpecFile(Source("z.cvm", text), "z")])
            driver.lower(operator, driver.C_LIKE)
        except (CvmgenError, SpecError, InternalError):
            continue
        found.append(operator)
    return found


def calls(random: Random, count: int) -> Iterator[tuple[list[int], Any, int]]:
    for number in range(count):
        extent = SPECIAL if number == 0 else random.randint(1, 8)
        shape = tuple(random.randint(1, 3) for _ in range(random.randint(1, 3)))
        table = np.array(random.choices(range(-9, 9), k=int(np.prod(shape)))).reshape(shape)
        small = random.random() < 0.5
        values = random.choices(range(extent) if small else VALUES, k=extent)
        yield values, table, random.randrange(4)


def expected(operator: Operator, values: list[int], table: Any, a: int) -> Any:
    """The elements of the result, the text of a refusal, or None where there is no value."""
    inputs = {"X": Tensor.of(values), "Z": Tensor.of(table.tolist())}
    try:
        return Reference(operator).evaluate(inputs, {"a": a}).outputs["Y"].values
    except OperatorError as error:
        return str(error)
    except FormulaError:
        return None


@pytest.mark.parametrize("seed", seeds(2))
def test_all_targets_refuse_what_reads_outside(seed: int, tmp_path: Path) -> None:
    random = Random(seed)
    operators = invented(random, 6)
    write_changed(tmp_path, driver.generate(operators, ("python", "numpy", "c")))
    loaded = {name: cvmgen.load(name, folder=tmp_path) for name in ("python", "numpy", "c")}
    refused = 0
    for operator in operators:
        for values, table, a in calls(random, 12):
            wanted = expected(operator, values, table, a)
            if wanted is None:
                continue
            refused += isinstance(wanted, str)
            for target, ops in loaded.items():
                arrays = np.array(values, np.int32), table.astype(np.int32)
                try:
                    found: Any = ops[operator.full_name](*arrays, a=a).tolist()
                except OperatorError as error:
                    found = str(error)
                assert found == wanted, (target, operator.text, values, table.tolist(), a)
    assert refused


@pytest.mark.parametrize("seed", seeds(3))
def test_what_is_proved_never_reads_outside(seed: int) -> None:
    random = Random(seed)
    proved = 0
    for operator in invented(random, 30):
        if open_places(translate(operator)):
            continue
        proved += 1
        for values, table, a in calls(random, 25):
            found = expected(operator, values, table, a)
            outside = isinstance(found, str) and found.endswith(OUTSIDE)
            assert not outside, (operator.text, values, table.tolist(), a, found)
    assert proved > 3
