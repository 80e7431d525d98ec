"""Invented formulas that are accepted mean the same on the reference and on every target.

Each formula is checked, lowered, printed and compiled; calls of those that pass are compared bit
for bit. A refusal by the check is fine, an error of ours never is.
"""

from __future__ import annotations

import traceback
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from random import Random

import numpy as np
import pytest

import cvmgen
from cvmgen import driver
from cvmgen.api import Operators
from cvmgen.api.library import library_sources
from cvmgen.build import compile_library, write_changed
from cvmgen.cli.specs import probe_alone
from cvmgen.errors import Faults, RefusedError
from cvmgen.reference import FormulaError, Reference
from cvmgen.reference.failures import Budget, WorkLimit
from cvmgen.schedule.effects import Effects
from cvmgen.schedule.schedules import packaged
from cvmgen.source import Source, Span, SpecError, SpecErrors
from cvmgen.spec.check import check_files
from cvmgen.spec.files import SpecFile
from cvmgen.spec.formula import Operator
from tests.conformance.calls import Call, Conformance
from tests.emit import on_cpu
from tests.fuzz import EFFORT, seeds
from tests.fuzz.formula_calls import arrays, draw
from tests.fuzz.formula_trees import Invented, Node, shrunk
from tests.fuzz.formulas import DEFINITIONS, invent

OPSET = "invented"
STEPS = 20_000  # points of ranges that a call may visit in the reference
GROUP = 12 if EFFORT == 1 else 40  # formulas that are compiled together
ON_GRID = 4  # of so many formulas one runs as CUDA on the CPU too
BROKEN = ("stands for two things", "nothing binds it", "no local there", "no array there")
"""What is refused in these words is a nest that an action of ours left broken."""


@dataclass
class Findings:
    """What came of the formulas; `wrong` has what must not be, by formula."""

    counts: Counter[str] = field(default_factory=Counter)
    wrong: dict[str, list[str]] = field(default_factory=dict)

    def add(self, name: str, what: str) -> None:
        self.wrong.setdefault(name, []).append(what)


def attack(
    folder: Path, formulas: Sequence[Invented], calls: int, on_grid: int = ON_GRID
) -> Findings:
    """Every stage on every formula, then calls."""
    found = Findings()
    accepted = dict(each for one in formulas for each in checked(one, found))
    if not accepted:
        return found
    named = {one.name: one for one in formulas}
    grid = {name for at, name in enumerate(accepted) if at % on_grid == 0}
    libraries = {
        "python": loaded(folder / "main", accepted, "python", found),
        "numpy": loaded(folder / "main", accepted, "numpy", found),
        "c": loaded(folder / "main", accepted, "c", found),
        "cuda-cpu": loaded(folder / "grid", {n: accepted[n] for n in grid}, "cuda-cpu", found),
    }
    for name, operator in accepted.items():
        there = {
            target: ops for target, ops in libraries.items() if target != "cuda-cpu" or name in grid
        }
        compare(named[name], operator, there, calls, found)
    return found


def checked(one: Invented, found: Findings) -> list[tuple[str, Operator]]:
    """The operator, if `cvmgen check` accepts it."""
    found.counts["formulas"] += 1
    try:
        (operator,) = check_files([SpecFile(Source("f.cvm", DEFINITIONS + one.text), OPSET)])
        probe_alone(operator)
        if refusals := driver.schedule_effects(operator, packaged()).faults:
            for each in refusals:
                if any(words in str(each) for words in BROKEN):
                    found.add(one.name, f"check: {each}")
            found.counts["refused by schedules"] += 1
            return []
    except SpecErrors:
        return []
    except Exception:
        found.add(one.name, f"check: {traceback.format_exc(limit=-6)}")
        return []
    found.counts["accepted"] += 1
    return [(one.name, operator)]


def loaded(
    folder: Path, operators: Mapping[str, Operator], target: str, found: Findings
) -> Operators | None:
    """The operators on a target, without those that cannot be printed or compiled."""
    language = "cuda" if target == "cuda-cpu" else target
    faults = Faults()
    files = driver.generate(list(operators.values()), (language,), faults=faults)
    for error in faults.errors:
        owner = str(error).split(" ")[0].partition(".")[2]
        cause = "".join(traceback.format_exception(error.__cause__, limit=-4))
        found.add(owner, f"{target}: {error}\n{cause}")
    if len(faults.errors) == len(operators):  # nothing is left to load, nor to call
        return None
    folder = folder / target
    write_changed(folder, files)
    sources = dict(library_sources(folder, target)) if target in ("c", "cuda-cpu") else {}
    while sources:
        try:
            library = compiled(sources, target)
            return cvmgen.load(target, folder=folder, library=library)
        except RefusedError as error:
            for unit, each in error.units.items():
                found.add(Path(unit).stem, f"{target}: {each}")
                del sources[unit]
    return cvmgen.load(target, folder=folder)


def compiled(sources: Mapping[str, str], target: str) -> Path:
    if target == "c":
        return compile_library(sources, name="invented", flags=("-O0",))
    return compile_library(
        sources, name="tried", flags=("-O0",), threads=False, prelude=on_cpu.PRELUDE
    )


def compare(
    one: Invented,
    operator: Operator,
    libraries: Mapping[str, Operators],
    count: int,
    found: Findings,
) -> None:
    """Calls of one formula on the reference and on the targets on which nothing failed yet."""
    reference = Reference(operator, Budget(0))
    conformance = Conformance({operator.full_name: reference}, libraries)
    failed = {what.partition(":")[0] for what in found.wrong.get(one.name, ())}
    random = Random(one.name)
    for _ in range(count):
        drawn = draw(one, random)
        inputs = tuple(arrays(drawn, random))
        call = Call(operator.full_name, inputs, drawn.attributes)
        budget = reference.compiler.budget
        assert budget is not None
        budget.left = STEPS
        try:
            expected = conformance.expected(call)
        except (FormulaError, WorkLimit):
            found.counts["calls without a value"] += 1
            continue
        found.counts["refused" if expected.refusal else "calls"] += 1
        for target in libraries.keys() - failed:
            try:
                conformance.check_target(call, target, expected, np.int32 if one.cvm else None)
            except (Exception, pytest.fail.Exception) as error:
                failed.add(target)
                shown = f"{type(error).__name__}: {error}"[:1500]
                where = "".join(traceback.format_tb(error.__traceback__, limit=-2))
                found.add(one.name, f"{target}: {call} {call.inputs}: {shown}\n{where}")


def report(found: Findings, formulas: Sequence[Invented], folder: Path) -> str:
    """Each formula that went wrong, made smaller, and how."""
    named = {one.name: one for one in formulas}
    parts = [str(dict(found.counts))]
    for at, (name, faults) in enumerate(found.wrong.items()):
        text = named[name].text if at >= 5 else smallest(named[name], folder / f"s{at}").text
        parts.append("\n".join([text, *faults]))
    return "\n\n".join(parts)


def smallest(one: Invented, folder: Path) -> Invented:
    """A smaller formula on which the same targets fail."""

    def failing(each: Invented) -> set[str]:
        wrong = attack(folder, [each], 12, on_grid=1).wrong.get(each.name, ())
        return {what.partition(":")[0] for what in wrong}

    wanted = failing(one)
    return shrunk(one, lambda each: failing(each) >= wanted, most=60) if wanted else one


def test_invented_formulas(tmp_path: Path) -> None:
    for first in seeds(1):
        formulas = [invent(GROUP * first + at) for at in range(GROUP)]
        found = attack(tmp_path / str(first), formulas, calls=5)
        assert not found.wrong, report(found, formulas, tmp_path)
        assert found.counts["accepted"] > GROUP / 2, "too many formulas are refused to say much"
        assert found.counts["calls"] > GROUP * 3 / 2, "too many calls are refused to say much"


SAME = """operator same {
  "Invented."
  input X : int8[N]
  output Y : int8[N]
  Y[i] = X[i]
}
"""


@pytest.mark.parametrize(
    ("why", "ours"),
    [("the name t stands for two things", True), ("the loop i is not counted", False)],
)
def test_nests_that_actions_break_are_findings(
    why: str, ours: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    refusal = SpecError(Span(Source("s.sched", "unroll k"), 0, 6), f"behind this {why}")
    effects = Effects({}, (refusal,), {})
    monkeypatch.setattr(driver, "schedule_effects", lambda *_: effects)
    found = Findings()
    assert checked(Invented("same", Node("", SAME), (), (), (), False, False), found) == []
    assert bool(found.wrong) == ours
    assert found.counts["refused by schedules"] == 1
