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
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from random import Random
from typing import Any

import cvmgen
from cvmgen import driver
from cvmgen.api.library import library_sources
from cvmgen.build import compile_library, sanitizer_environment, write_changed
from cvmgen.errors import BuildError, InternalError, OperatorError
from cvmgen.reference import Reference
from cvmgen.schedule.schedules import Schedules, checked_schedules
from cvmgen.source import Source, SpecError, SpecErrors
from cvmgen.spec.check import check_files
from cvmgen.spec.files import SpecFile
from cvmgen.spec.formula import Operator
from cvmgen.spec.schedules import parse_schedules
from tests.conformance.calls import Call, Conformance, Expected, compare, wanted_dtype
from tests.fuzz.scheduled_operators import OPERATORS, text_of
from tests.fuzz.schedules import Growing, Inventor, Nests

SANITIZERS = ("address", "undefined")
# Quick to compile; with sanitizers, what kernels call is compiled for other tests alike.
FLAGS = {False: ("-O1",), True: ("-O0",)}
CALLS = 10  # of each operator


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
def formula(name: str) -> tuple[Operator, Any]:
    """An operator and its program."""
    (found,) = check_files([SpecFile(Source("z.cvm", text_of(name, name)), "z")])
    return found, driver.lower(found, driver.C)


@cache
def expected(name: str, seed: int) -> tuple[tuple[Call, Expected], ...]:
    """Calls of an operator, and what its formula says of them."""
    random = Random(f"{name} {seed}")
    conformance = Conformance({f"z.{name}": Reference(formula(name)[0])}, {})
    found = []
    for _ in range(CALLS):
        inputs, attributes = OPERATORS[name].draw(random)
        call = Call(f"z.{name}", tuple(inputs), attributes)
        found.append((call, conformance.expected(call)))
    return tuple(found)


def accepted(random: Random, count: int, most: int = 3000) -> Iterator[tuple[Growing, Scheduled]]:
    """So many accepted schedules for operators of all kinds, nests of at most so many parts."""
    inventor = Inventor(random)
    while count > 0:
        name = random.choice([*OPERATORS])
        nests = nests_of(name)
        particular = [each for each in nests.subjects if each != "other"]
        rare = not particular or random.random() < 0.1
        shape = "other" if rare else random.choice(particular)
        found = inventor.schedule(shape, nests.subjects[shape])
        alone = len(found.lines) == 1 and random.random() < 0.8
        if alone or not found.lines or found.size > most:
            found.lines.clear()
        count -= bool(found.lines)
        yield found, Scheduled(name, found.text())


nests_of = cache(Nests.of)


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
        operator, program = formula(each.operator)
        operator = replace(operator, name=name, aliases=())
        program = replace(program, operator=operator)
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
        kept = dict(self.members)
        while kept:
            operators = [self.operators[name] for name in kept]
            files = driver.generate(
                operators,
                ("c",),
                lambda operator, *_: self.texts[operator.name],
                checked_schedules([]),
            )
            place = self.folder / f"{len(kept)}"
            write_changed(place, files)
            try:
                library = compile_library(
                    library_sources(place),
                    name="scheduled",
                    flags=FLAGS[bool(sanitized)],
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
