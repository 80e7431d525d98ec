"""Invented mappings for CUDA, with any of the numbers they may have: the results stay."""

from __future__ import annotations

from pathlib import Path
from random import Random

import pytest

from cvmgen import driver
from cvmgen.build import write_changed
from cvmgen.reference import Reference
from cvmgen.schedule.classes import CLASSES
from cvmgen.schedule.mappings import MAPPINGS
from cvmgen.schedule.schedules import checked_schedules
from cvmgen.source import Source
from cvmgen.spec.check import check_files
from cvmgen.spec.files import SpecFile
from cvmgen.spec.schedules import parse_schedules
from tests.conformance.calls import Call, Conformance
from tests.emit.on_cpu import quickly
from tests.fuzz import seeds
from tests.fuzz.named_operators import operator_named, text_of

# One for each mapping, and the operators that mappings are tried on beside it.
NAMES = ("product", "pooled", "rows", "real_rows", "spread", "kept_apart", "above_first", "taken")
FEW = 3  # operators of a library: C++ takes its time
CALLS = 3
MOST = 700  # elements of an input: threads are fibers there


def schedules(random: Random) -> str:
    """Mappings for some classes, in any order, with numbers at their ends."""
    count = random.randint(1, len(MAPPINGS))
    pairs = zip(random.sample([*CLASSES], count), random.sample([*MAPPINGS], count), strict=True)
    return "".join(
        f"schedule {shape} for cuda {{\n  {mapping(random, name)}\n}}\n" for shape, name in pairs
    )


def mapping(random: Random, name: str) -> str:
    settings = ", ".join(
        f"{each} {random.choice((form.values[0], form.values[-1], random.choice(form.values)))}"
        for each, form in MAPPINGS[name].settings.items()
    )
    return f"use {name} with {settings}" if settings else f"use {name}"


@pytest.mark.parametrize("seed", seeds(1))
def test_mappings(tmp_path: Path, seed: int) -> None:
    random = Random(seed)
    text = schedules(random)
    names = random.sample(NAMES, FEW)
    source = Source("z.cvm", "".join(text_of(name, name) for name in names))
    operators = check_files([SpecFile(source, "z")])
    book = checked_schedules(parse_schedules(Source("z.sched", text)))
    write_changed(tmp_path, driver.generate(operators, ("cuda",), schedules=book))
    on_cpu = quickly(tmp_path)
    references = {each.full_name: Reference(each) for each in operators}
    conformance = Conformance(references, {"cuda-cpu": on_cpu.operators})
    for name in names:
        for number in range(CALLS):
            on_cpu.fix(blocks=2 * (number % 2), threads=0)
            check(conformance, name, random)


def check(conformance: Conformance, name: str, random: Random) -> None:
    while True:
        inputs, attributes = operator_named(name).draw(random)
        if sum(each.size for each in inputs) <= MOST:
            break
    conformance.check(Call(f"z.{name}", tuple(inputs), attributes))
