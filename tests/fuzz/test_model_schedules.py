"""Invented schedules of models: what is accepted leaves the integers as they are."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from random import Random

import numpy as np
import pytest

import cvmgen
from cvmgen.api import Operators
from cvmgen.build import write_changed
from cvmgen.graph import load, load_model
from cvmgen.graph.limits import Array
from cvmgen.graph.symbol import SymbolGraph
from cvmgen.model.build import make_files
from cvmgen.schedule.actions import ACTIONS
from cvmgen.schedule.classes import CLASSES
from cvmgen.schedule.measures import MEASURES
from cvmgen.schedule.schedules import Schedules, checked_schedules
from cvmgen.source import Source, SpecError, SpecErrors
from cvmgen.spec.schedules import parse_schedules
from tests.fuzz import seeds
from tests.model.invented import MODELS, Sketch

FORMS = [form for kind in ACTIONS.values() if "model" in kind.targets for form in kind.forms]
NUMBERS = (1, 2, 3, 5, 7, 32, 33, 63, 64, 1000, 65536, 2**40)
TRIES = 4  # of actions, many of which do not fit; more where none does
NAMES = ("residual", "pyramid", "classifier")


@cache
def python() -> Operators:
    return cvmgen.load("python")


@cache
def drawn(name: str) -> tuple[SymbolGraph, Mapping[str, Array]]:
    sketch = Sketch(python(), len(name))
    return MODELS[name](sketch), sketch.arrays


def schedules(lines: Mapping[str, list[str]]) -> Schedules:
    blocks = (
        f"schedule {shape} for model {{\n" + "".join(f"  {each}\n" for each in own) + "}\n"
        for shape, own in lines.items()
    )
    return checked_schedules(parse_schedules(Source("z.sched", "".join(blocks))))


def action(random: Random, shape: str, made: list[str]) -> str:
    """An action that speaks of the roles of a class, and of those that others made."""
    roles = [*CLASSES[shape].roles, *made]

    def operand(found: re.Match[str]) -> str:
        match found[0]:
            case "LOOPS":
                return ", ".join(random.sample(roles, min(len(roles), random.choice((1, 1, 2)))))
            case "NUMBER":
                return str(random.choice(NUMBERS))
            case "MEASURE":
                return random.choice([*MEASURES])
            case "INTRINSIC":
                return "dot4"
            case "NEW":
                made.append(f"new{len(made)}")
                return made[-1]
            case _:
                return random.choice(roles)

    return re.sub(r"LOCAL|LOOPS|LOOP|NEW|NUMBER|MEASURE|INTRINSIC", operand, random.choice(FORMS))


def grown(random: Random, name: str) -> Iterator[tuple[dict[str, list[str]], dict[str, str]]]:
    """Schedules for some classes, each with one action more that the compiler accepts, and the
    files that a model becomes by them."""
    lines: dict[str, list[str]] = {
        shape: [] for shape in CLASSES if shape == "other" or random.random() < 0.7
    }
    made: dict[str, list[str]] = {shape: [] for shape in lines}
    tried = 0
    while tried < TRIES or not any(lines.values()):
        tried += 1
        shape = random.choice([*lines])
        known = [*made[shape]]
        longer = {**lines, shape: [*lines[shape], action(random, shape, known)]}
        try:
            files = make_files(*drawn(name), "net", python(), schedules(longer)).all()
        except (SpecError, SpecErrors):
            continue
        lines, made[shape] = longer, known
        yield lines, files


@pytest.mark.parametrize("seed", seeds(1))
def test_accepted_schedules_of_models(tmp_path: Path, seed: int) -> None:
    random = Random(seed)
    name = random.choice(NAMES)
    *_, (lines, files) = grown(random, name)
    write_changed(tmp_path, files)
    network = load(*drawn(name), operators=cvmgen.load("numpy"))
    limit = (1 << (network.input_precision - 1)) - 1
    draw = np.random.default_rng(seed)
    for threads in (1, 2):
        model = load_model(tmp_path, "net", threads=threads)
        for _ in range(2):
            x = draw.integers(-limit, limit, network.input_shape, np.int32, endpoint=True)
            for one, other in zip(heads(model(x)), heads(network(x)), strict=True):
                np.testing.assert_array_equal(one, other, f"{name}: {lines}")


def heads(found: Array | tuple[Array, ...]) -> tuple[Array, ...]:
    return found if isinstance(found, tuple) else (found,)
