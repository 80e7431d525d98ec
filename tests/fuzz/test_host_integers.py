"""Invented integers of the call, at the edges of what attributes can be: the same values, or the
same refusal, on every target.

What stands in lets, requirements, shapes, precisions, conditions, and behind branches that a call
does not take. The reference decides; its integers have no end.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pytest

import cvmgen
from cvmgen import driver
from cvmgen.api import Operators
from cvmgen.api.library import library_sources
from cvmgen.build import compile_library, write_changed
from cvmgen.errors import CvmgenError, OperatorError
from cvmgen.reference import Reference
from cvmgen.reference.failures import Budget, FormulaError, WorkLimit
from cvmgen.reference.tensor import Tensor
from cvmgen.source import Source, SpecError, SpecErrors
from cvmgen.spec.check import check_files
from cvmgen.spec.files import SpecFile
from cvmgen.spec.formula import Operator
from tests.emit import on_cpu
from tests.emit.units import joined
from tests.fuzz import EFFORT, seeds

EDGES = (-(2**31), 2**31 - 1, -(2**31) + 1, 2**30, -(2**16), 65536, -3, -2, -1, 0, 0, 1, 2, 3, 5, 7)
SMALL = (0, 1, 2, 3, 7)
MOST_ELEMENTS = 100
# What the language refuses of invented formulas, with a reason.
REFUSED = (
    "larger than the host code of a call can compute",
    "larger than a kernel can compute",
    "the bounds of this value are not known",
    "may have more than 16 entries",
    "can need more than 64 bits",
    "has too many digits",
    "division by 0",
    "remainder by 0",
    "is not an integer",
    "is not defined",
)


class Inventor:
    """Draws operators of a tensor X[N], numbers a and b, a small number e, and a list L."""

    def __init__(self, random: Random) -> None:
        self.random = random
        self.numbers: list[str] = ["a", "b", "e", "N"]
        self.lists: list[str] = ["L"]
        self.tests: list[str] = ["flag"]
        self.used = 0

    def operator(self, name: str) -> str:
        lines = [
            f'operator {name} {{ "Invented."',
            "input X : cvm[N]",
            "attr a = 1",
            "attr b = 1 in [-(2^31), 2^31)" if self.random.random() < 0.3 else "attr b = 1",
            "attr e = 0 in [0, 8)",
            "attr L : int list = ()",
            "attr flag : bool = false",
        ]
        for at in range(self.random.choice((1, 1, 2, 3))):
            lines.append(self.let(at))
        if self.random.random() < 0.4:
            lines.append(f'require {self.condition(2)} : "required"')
        extent = self.random.choice(["N"] * 4 + [self.number(2), f"{self.number(2)} mod 7"])
        precision = f" precision {self.number(2)}" if self.random.random() < 0.3 else ""
        if not precision and self.random.random() < 0.8:
            precision = " precision 32"
        lines.append(f"output Y : cvm[{extent}]{precision}")
        lines.append(f"Y[i] = {self.element(2)}")
        return "\n  ".join(lines) + "\n}\n"

    def let(self, at: int) -> str:
        match self.random.choice(("number",) * 5 + ("list", "list", "test", "set")):
            case "list":
                line = f"let P{at} = {self.list(2)}"
                self.lists.append(f"P{at}")
            case "test":
                line = f"let T{at} = {self.condition(2)}"
                self.tests.append(f"T{at}")
            case "set":
                line = f"let S{at} = {{{self.number(1, 'k')} for k < 3}}"
                self.numbers.append(f"count(S{at})")
            case _:
                line = f"let V{at} = {self.number(3)}"
                self.numbers.append(f"V{at}")
        return line

    # -------------------------------------------------------- integers of the call

    def number(self, depth: int, *indices: str) -> str:
        if depth <= 0:
            return self.leaf(*indices)
        makers = (self.arithmetic, self.arithmetic, self.power, self.function, self.choice)
        makers += (self.reduction, self.of_list, self.of_list)
        return self.random.choice(makers)(depth - self.random.choice((1, 1, 2)), *indices)

    def leaf(self, *indices: str) -> str:
        pick = self.random.choice
        constant = str(pick((0, 1, 2, 3, 5, 2**31, 2**40, 2**62, 2**63 - 1)))
        return pick([*self.numbers * 3, *indices * 3, constant])

    def arithmetic(self, depth: int, *indices: str) -> str:
        one, two = (self.number(depth, *indices) for _ in range(2))
        match self.random.choice("**+-//"):
            case "/":
                divisor = self.random.choice(("3", "(e + 1)", "(-7)", two))
                return f"({one} {self.random.choice(('div', 'tdiv', 'mod'))} {divisor})"
            case sign:
                return f"({one} {sign} {two})"

    def power(self, depth: int, *indices: str) -> str:
        one = self.number(depth, *indices)
        exponent = self.random.choice(("e", "(2 * e)", "(9 * e + 1)", f"max(0, {one})", "62"))
        return self.random.choice(
            (f"({one})^2", f"({one})^3", f"({one})^e", f"({one})^(e * e)", f"2^{exponent}")
        )

    def function(self, depth: int, *indices: str) -> str:
        one, two = (self.number(depth, *indices) for _ in range(2))
        return self.random.choice(
            (
                f"abs({one})",
                f"min({one}, {two})",
                f"max({one}, {two})",
                f"ceildiv({one}, {self.random.choice(('3', 'e + 1', two))})",
                f"floor(log2(abs({one}) + 1))",
                f"bitxor(bitand({one}, {two}), bitor({two}, {self.leaf(*indices)}))",
                f"isqrt(abs({one}))",
                f"ceil(log2({one}))",
                f"flatten_index(({one}, {two}), (e + 1, {self.leaf(*indices)}))",
            )
        )

    def choice(self, depth: int, *indices: str) -> str:
        one, two = (self.number(depth, *indices) for _ in range(2))
        return f"({one} if {self.condition(depth, *indices)} else {two})"

    def reduction(self, depth: int, *indices: str) -> str:
        index = self.index()
        if self.random.random() < 0.3:
            test = self.condition(depth, *indices, index)
            return f"count[{index} < {self.random.choice('Ne')}]({test})"
        inner = self.number(depth, *indices, index)
        over = self.random.choice((f"{index} < e", f"{index} < 3", f"{index} in L"))
        word = self.random.choice(("sum", "sum", "prod", "max", "min"))
        over = f"{index} < e + 1" if word in ("max", "min") else over
        return f"{word}[{over}]({inner})"

    def of_list(self, depth: int, *indices: str) -> str:
        listed = self.random.choice(self.lists)
        match self.random.choice(("size", "size", "len", "item", "sum", "prod")):
            case "size" if self.random.random() < 0.4:
                return f"size({self.list(depth, *indices)})"
            case "size" | "len" as name:
                return f"{name}({listed})"
            case "item":
                at = self.random.choice(("0", "e", self.number(depth, *indices)))
                other = self.leaf(*indices)
                return (
                    f"({listed}[{at}] if len({listed}) > {self.random.choice('012')} else {other})"
                )
            case word:
                index = self.index()
                return f"{word}[{index} in {listed}]({self.number(depth, *indices, index)})"

    def index(self) -> str:
        self.used += 1
        return f"k{self.used}"

    def list(self, depth: int, *indices: str) -> str:
        if self.random.random() < 0.6:
            parts = [self.number(depth, *indices) for _ in range(self.random.choice((2, 3)))]
            return f"({', '.join(parts)})"
        index = self.index()
        element = self.number(depth, *indices, index)
        return f"({element} for {index} < {self.random.choice('e3')})"

    def condition(self, depth: int, *indices: str) -> str:
        one, two = (self.number(depth - 1, *indices) for _ in range(2))
        return self.random.choice(
            (
                f"{one} {self.random.choice(('<', '<=', '==', '!=', '>'))} {two}",
                f"0 <= {one} < {two}",
                f"{one} in {self.random.choice(self.lists)}",
                f"{one} in ({two}, {self.leaf(*indices)})",
                f"(a != 0 and {one} > 1)",
                f"(e == 0 or {one} mod e == 0)",
                f"not ({one} < {two})",
                self.random.choice(self.tests),
            )
        )

    # -------------------------------------------------------- elements

    def element(self, depth: int) -> str:
        """What one element becomes: the call's integers behind conditions, in sums, beside it."""
        pick, value = self.random.choice, self.number(depth)
        guard = pick(["a != 0", "b > 0", "e > 1", "len(L) > 1", "X[i mod N] > 1", "i == 7", "flag"])
        index = self.index()
        inner = self.number(depth, index)
        fold = pick(
            [f"sum[{index} < {pick(('e', '3', 'N'))}]({inner})", f"count[{index} < 3]({inner} > 1)"]
        )
        divided = pick(
            [f"ceildiv({index}, a)", f"{index} div b", f"e mod a + {index}", "L[1]", "L[e]"]
        )
        return pick(
            [
                f"X[i mod N] + {value}",
                f"X[i mod N] * {pick(self.numbers)}",
                f"{fold} if {guard} else i",
                f"X[i mod N] + {fold}",
                f"sum[{index} < {pick(('e', 'N'))}]({divided}) if {guard} else X[i mod N]",
                f"sum[{index} < {pick(('e', 'N'))}]({divided} if {guard} else 1)",
                f"({value} if {self.condition(1)} else 3) if {guard} else {pick(self.numbers)}",
                f"1 if {self.condition(2, 'i')} else 0",
            ]
        )


def invented(random: Random, count: int) -> list[Operator]:
    """Operators that the language admits and all targets can express."""
    found: list[Operator] = []
    while len(found) < count:
        text = Inventor(random).operator(f"op{len(found)}")
        try:
            (operator,) = check_files([SpecFile(Source("z.cvm", text), "z")])
            driver.generate([operator], ("python", "numpy", "c"))
        except (SpecErrors, SpecError, CvmgenError) as error:
            if any(each in str(error) for each in REFUSED):
                continue
            raise AssertionError(f"{error}\n{text}") from error
        found.append(operator)
    return found


def calls(random: Random, count: int) -> Iterator[tuple[list[int], dict[str, Any]]]:
    for _ in range(count):
        values = EDGES if random.random() < 0.6 else SMALL
        attributes = {
            "a": random.choice(values),
            "b": random.choice(values),
            "e": random.choice((0, 1, 2, 3, 7)),
            "L": random.choices(values, k=random.choice((0, 1, 2, 3, 5))),
            "flag": random.random() < 0.5,
        }
        yield random.choices((-3, 0, 1, 2, 5), k=random.choice((1, 2, 3))), attributes


def expected(operator: Operator, elements: list[int], attributes: dict[str, Any]) -> Any:
    """The elements of the result, the text of a refusal, or None where there is no value."""
    try:
        reference, inputs = Reference(operator, Budget(20_000)), {"X": Tensor.of(elements)}
        if reference.infer(inputs, attributes).outputs["Y"].size > MOST_ELEMENTS:
            return None
        values = reference.evaluate(inputs, attributes).outputs["Y"].values
    except OperatorError as error:
        return str(error)
    except (FormulaError, WorkLimit):
        return None
    return [(value + 2**31) % 2**32 - 2**31 for value in values]


def load(folder: Path, target: str) -> Operators:
    if target == "cuda-cpu":
        return cvmgen.load(target, folder=folder, library=on_cpu.library(folder))
    if target != "c":
        return cvmgen.load(target, folder=folder)
    library = compile_library(joined(library_sources(folder)), name="tried", flags=("-O0",))
    return cvmgen.load(target, folder=folder, library=library)


@pytest.mark.parametrize("seed", seeds(1))
def test_all_targets_compute_the_same_integers(seed: int, tmp_path: Path) -> None:
    random = Random(seed)
    operators = invented(random, 12)
    languages = ("python", "numpy", "c", *(("cuda",) if EFFORT > 1 else ()))
    write_changed(tmp_path, driver.generate(operators, languages))
    targets = [name.replace("cuda", "cuda-cpu") for name in languages]
    loaded = {target: load(tmp_path, target) for target in targets}
    faults = []
    for operator in operators:
        for elements, attributes in calls(random, 30):
            wanted = expected(operator, elements, attributes)
            if wanted is None:
                continue
            for target, ops in loaded.items():
                found: Any
                try:
                    given = np.array(elements, np.int32)
                    found = ops[operator.full_name](given, dtype=np.int32, **attributes).tolist()
                except Exception as error:
                    found = str(error) if isinstance(error, OperatorError) else repr(error)
                if found != wanted:
                    faults.append((target, operator.text, elements, attributes, found, wanted))
                    break
    assert not faults, "\n\n".join("\n".join(map(str, each)) for each in faults[:5])
