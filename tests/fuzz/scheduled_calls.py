"""Accepted schedules as one C library, and calls of it beside what the reference says.

`python -m tests.fuzz.scheduled_calls FOLDER` makes the calls of a batch in a process of its own,
which may break, with or without sanitizers, and prints what came out otherwise.
"""

from __future__ import annotations

import json
import os
import pickle
import subprocess
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from random import Random
from typing import Any

import cvmgen
from cvmgen import driver
from cvmgen.api.library import library_sources
from cvmgen.build import compile_library, sanitizer_environment, write_changed
from cvmgen.cli.specs import probe_alone
from cvmgen.errors import BuildError, InternalError, OperatorError
from cvmgen.ir.nodes import Program
from cvmgen.reference import FormulaError, Reference
from cvmgen.reference.failures import Budget, WorkLimit
from cvmgen.schedule.schedules import Schedules, checked_schedules
from cvmgen.source import Source, SpecError, SpecErrors
from cvmgen.spec.check import check_files
from cvmgen.spec.files import SpecFile
from cvmgen.spec.formula import Operator
from cvmgen.spec.schedules import parse_schedules
from cvmgen.verification.values.found import ValidatedCalls
from cvmgen.verification.values.linked import Text
from cvmgen.verification.values.validate import validate_edges
from tests.conformance.calls import Call, Conformance, Expected, compare, wanted_dtype
from tests.fuzz.named_operators import drawn_name, operator_named, text_of
from tests.fuzz.scheduled_operators import OPERATORS
from tests.fuzz.schedules import Growing, Inventor, Nests

SANITIZERS = ("address", "undefined")
# Quick to compile, or as the product is; with sanitizers, what kernels call is compiled for other
# tests alike.
FLAGS = {False: (("-O1",), ("-O1",), ()), True: (("-O0",),)}
CALLS = 10  # of each operator
REFUSED = "the call is refused"  # for types of results, of which no schedule decides
STEPS = 30_000  # points of ranges that a call may visit in the reference


@dataclass(frozen=True, slots=True)
class Scheduled:
    """An operator and a schedule for it."""

    operator: str
    schedule: str


@dataclass(frozen=True, slots=True)
class Failure:
    """What a schedule did: WRONG a result, COMPILE C that is refused, FAULT an error of ours."""

    kind: str
    of: Scheduled
    what: str

    def __str__(self) -> str:
        return f"{self.kind} {self.of.operator}\n{self.of.schedule}{self.what}\n"


@cache
def formula(name: str) -> tuple[Operator, Program]:
    """An operator and its program; SpecErrors where an invented one is refused."""
    found = checked(name, name)
    if name not in OPERATORS:
        probe_alone(found)
    return found, driver.lower(found, driver.C)


def checked(name: str, new: str) -> Operator:
    (found,) = check_files([SpecFile(Source("z.cvm", text_of(name, new)), "z")])
    return found


def renamed(name: str, new: str) -> tuple[Operator, Program]:
    """An operator and its program by another name, which the words of attributes have in C."""
    operator, program = formula(name)
    if any(each.words for each in operator.attributes):
        operator = checked(name, new)
        return operator, driver.lower(operator, driver.C)
    operator = replace(operator, name=new, aliases=())
    return operator, replace(program, operator=operator)


@cache
def expected(name: str, seed: int) -> tuple[tuple[Call, Expected], ...]:
    """Calls of an operator, and what its formula says of them; fewer where that takes long."""
    random = Random(f"{name} {seed}")
    operator, _ = formula(name)
    budget = Budget(STEPS)
    conformance = Conformance({f"z.{name}": Reference(operator, budget)}, {})
    with_precision = bool(operator.precise_outputs)
    found = []
    for _ in range(CALLS):
        budget.left = STEPS
        inputs, attributes = operator_named(name).draw(random)
        call = Call(f"z.{name}", tuple(inputs), attributes)
        try:
            wanted = conformance.expected(call)
        except (FormulaError, WorkLimit):
            continue
        if with_precision:  # else it depends on what results are made of
            call = replace(call, attributes={**attributes, "dtype": "int32"})
        found.append((call, wanted))
    return tuple(found)


def accepted(random: Random, count: int, most: int = 3000) -> Iterator[tuple[Growing, Scheduled]]:
    """So many accepted schedules for operators of all kinds, nests of at most so many parts."""
    inventor = Inventor(random)
    while count > 0:
        name = drawn_name(random)
        try:
            nests = nests_of(name)
        except (SpecError, SpecErrors):
            continue  # an invented formula that is none
        shape = random.choice([*nests.subjects])
        if random.random() < 0.75:
            shape = next(iter(nests.subjects))  # the most particular one
        found = inventor.schedule(shape, nests.subjects[shape])
        alone = len(found.lines) == 1 and random.random() < 0.8
        if alone or not found.lines or found.size > most:
            found.lines.clear()
        count -= bool(found.lines)
        yield found, Scheduled(name, found.text())


@cache
def nests_of(name: str) -> Nests:
    return Nests.of(*formula(name))


def schedules_of(text: str) -> Schedules:
    return checked_schedules(parse_schedules(Source("z.sched", text)))


class Batch:
    """Kernels of several schedules in one library."""

    def __init__(self, folder: Path, seed: int = 0) -> None:
        self.folder, self.seed = folder, seed
        self.members: dict[str, Scheduled] = {}
        self.texts: dict[str, driver.Texts] = {}
        self.operators: dict[str, Operator] = {}
        self.failures: list[Failure] = []
        self.calls = 0

    def add(self, each: Scheduled) -> bool:
        """Whether the schedule is accepted for every nest of the operator."""
        name = f"{each.operator}_{len(self.members)}"
        operator, program = renamed(each.operator, name)
        head = driver.TARGETS["c"].emit_interface
        assert head is not None
        try:
            text = driver.emitted("c", operator, program, schedules_of(each.schedule))
        except (SpecError, SpecErrors):
            return False
        except InternalError as error:
            self.failures.append(Failure("FAULT", each, str(error)))
            return False
        self.members[name], self.operators[name] = each, operator
        self.texts[name] = driver.Texts(
            {
                driver.operator_file(operator, "c"): text,
                driver.interface_file(operator, "c"): head(program),
            },
            driver.interface.manifest_entry(program),
        )
        return True

    def run(self, sanitized: Sequence[str] = (), threads: Sequence[int] = (1, 2)) -> None:
        """Compile what was added and call it; `failures` says what went wrong."""
        kept, flags = dict(self.members), FLAGS[bool(sanitized)]
        while kept:
            place = self.written(kept)
            try:
                library = compile_library(
                    library_sources(place),
                    name="scheduled",
                    flags=flags[self.seed % len(flags)],
                    sanitizers=sanitized,
                )
                break
            except BuildError as error:
                bad = next((each for each in kept if f"z/{each}.c" in str(error)), None)
                if bad is None:
                    raise
                self.failures.append(Failure("COMPILE", kept.pop(bad), str(error)[:1500]))
        else:
            return
        self.call(place, library, kept, sanitized, threads)

    def written(self, kept: Iterable[str]) -> Path:
        """The folder of these members' files."""
        names = [*kept]
        files = driver.generate(
            [self.operators[name] for name in names],
            ("c",),
            lambda operator, *_: self.texts[operator.name],
            checked_schedules([]),
        )
        place = self.folder / f"{len(names)}"
        write_changed(place, files)
        return place

    def validate(self, most: int) -> None:
        """All values of so many calls of each member at the edges of its text, where these are
        decided; `failures` says what is refuted."""
        text = Text(self.written(self.members))
        for name, each in self.members.items():
            found = validate_edges(self.operators[name], text, most)
            self.calls += len(found.calls)
            if (shown := refutation(found)) and REFUSED not in shown:
                self.failures.append(Failure("WRONG", each, shown))

    def calls_of(self, each: Scheduled) -> tuple[tuple[Call, Expected], ...]:
        return expected(each.operator, self.seed)

    def call(
        self,
        place: Path,
        library: Path,
        kept: Mapping[str, Scheduled],
        sanitized: Sequence[str],
        threads: Sequence[int],
    ) -> None:
        """Make all calls in processes of their own, each as far as it comes."""
        left = {name: self.calls_of(each) for name, each in kept.items()}
        while left:
            (place / "calls.pickle").write_bytes(pickle.dumps((library, threads, left)))
            found = subprocess.run(
                [sys.executable, "-m", "tests.fuzz.scheduled_calls", str(place)],
                env={**os.environ, **(sanitizer_environment(sanitized) if sanitized else {})},
                capture_output=True,
                text=True,
                timeout=900,
                check=False,
            )
            lines = [json.loads(line) for line in found.stdout.splitlines()]
            for name, what in ((each["name"], each["wrong"]) for each in lines if "wrong" in each):
                self.failures.append(Failure("WRONG", kept[name], what))
            self.calls += sum(each.get("calls", 0) for each in lines)
            begun = [each["name"] for each in lines if "calls" not in each and "wrong" not in each]
            if found.returncode == 0:
                return
            if not begun:
                raise AssertionError(found.stderr)
            what = f"exit status {found.returncode}\n{found.stderr[-1500:]}"
            self.failures.append(Failure("WRONG", kept[begun[-1]], what))
            left = {name: left[name] for name in [*left][[*left].index(begun[-1]) + 1 :]}


def refutation(found: ValidatedCalls) -> str:
    """What shows that a text is wrong for some values; nothing where nothing does."""
    if (shown := found.difference) is None:
        return "".join(found.faults[:1])
    return f"{shown.call}: {shown.numbers}\n{shown.python}"


def smallest(folder: Path, found: Failure, seed: int, sanitized: Sequence[str] = ()) -> Failure:
    """A failure of what is left of a schedule without the lines that it does not need."""
    step = 0
    while True:
        head, *lines, _ = found.of.schedule.splitlines()
        batch = Batch(folder / str(step), seed)
        for at in range(len(lines)):
            rest = "\n".join([head, *lines[:at], *lines[at + 1 :], "}"])
            batch.add(replace(found.of, schedule=f"{rest}\n"))
        if batch.members:
            batch.run(sanitized)
        alike = [each for each in batch.failures if each.kind == found.kind]
        if not alike:
            return found
        found, step = alike[0], step + 1


def called(operator: Any, calls: Sequence[tuple[Call, Expected]]) -> str:
    """What of an operator's results is not what its formula says; empty where all is."""
    for call, wanted in calls:
        try:
            found = operator(*call.inputs, **call.attributes)
            if wanted.refusal:
                return f"{call}: not refused, {wanted.refusal}"
            compare(found, wanted, wanted_dtype(call, call.attributes.get("dtype")), str(call))
        except OperatorError as error:
            if error.rule not in wanted.refusal:
                return f"{call}: refused, {error}"
        except AssertionError as error:
            return f"{call}: {str(error)[:600]}"
    return ""


def main(folder: str) -> None:
    place = Path(folder)
    library, threads, left = pickle.loads((place / "calls.pickle").read_bytes())
    operators = cvmgen.load("c", folder=place, library=library)
    for name, calls in left.items():
        print(json.dumps({"name": name}), flush=True)
        for count in threads:
            operators.threads = count
            if wrong := called(operators[f"z.{name}"], calls):
                print(json.dumps({"name": name, "wrong": f"threads={count}: {wrong}"}), flush=True)
                break
        print(json.dumps({"name": name, "calls": len(calls) * len(threads)}), flush=True)


if __name__ == "__main__":
    main(sys.argv[1])
