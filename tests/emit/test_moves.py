"""Boxes that generated C moves as a whole: every order of dimensions, size of element and step."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import permutations
from math import prod
from pathlib import Path
from random import Random

import pytest

from cvmgen.build import c_compiler
from cvmgen.emit import c_support
from tests.emit.cuda_texts import write

PROGRAM = Path(__file__).with_name("moves_in_c.c")
WARNINGS = ("-Wall", "-Wextra", "-Werror")
SANITIZERS = ("-fsanitize=address,undefined", "-fno-sanitize-recover=all")
BYTES = ((1, 1), (2, 2), (4, 4), (8, 8), (4, 1), (1, 4))  # of an element on both sides


@dataclass(frozen=True)
class Box:
    """Extents, and for each dimension the steps on both sides; the source begins at `first`."""

    extents: Sequence[int]
    to: Sequence[int]
    source: Sequence[int]
    first: int = 0

    def last(self, steps: Sequence[int]) -> int:
        ends = zip(self.extents, steps, strict=True)
        return sum(max(0, (extent - 1) * step) for extent, step in ends)

    def line(self, bytes_: tuple[int, int]) -> str:
        dimensions = zip(self.extents, self.to, self.source, strict=True)
        sizes = (self.last(self.to) + 1, self.first + self.last(self.source) + 1, self.first)
        rows = (each for row in dimensions for each in row)
        numbers = (*bytes_, *sizes, len(self.extents), *rows)
        return " ".join(map(str, numbers))


@pytest.fixture(
    scope="module",
    params=[("-O1", "-pthread", "-DCVMGEN_NARROW"), ("-O0", *SANITIZERS)],
    ids=["fast", "sanitized"],
)
def program(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """moves_in_c.c with threads or with sanitizers, where the compiler has them; without the
    widest registers, or with them where the machine has them."""
    folder = tmp_path_factory.mktemp("moves")
    write(c_support.emit_support() | {"empty.c": "int main(void) { return 0; }\n"}, folder)
    command = (*c_compiler().command, "-std=c11", *request.param)
    tried = (*command, "empty.c", "-o", "empty")
    if subprocess.run(tried, cwd=folder, capture_output=True, check=False).returncode:
        pytest.skip(f"the C compiler has no {' '.join(request.param)}")
    build = (
        *command,
        *WARNINGS,
        "-I.",
        str(PROGRAM),
        "cvmgen_moves.c",
        "cvmgen_turns.c",
        "cvmgen_runs.c",
        "cvmgen_threads.c",
        "cvmgen_x86.c",
        "cvmgen.c",
        "-o",
        "program",
    )
    subprocess.run(build, cwd=folder, check=True)
    return folder / "program"


def wrong(program: Path, boxes: Sequence[Box]) -> list[tuple[Box, tuple[int, int]]]:
    """The boxes, with sizes of elements, of which something is moved wrongly."""
    cases = [(box, size) for box in boxes for size in BYTES]
    answers = answered(program, [box.line(size) for box, size in cases])
    return [case for case, answer in zip(cases, answers, strict=True) if answer != "0"]


def answered(program: Path, lines: Sequence[str]) -> list[str]:
    given = "\n".join(lines)
    done = subprocess.run([program], input=given, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    return done.stdout.split()


def strides(extents: Sequence[int]) -> list[int]:
    return [prod(extents[at + 1 :]) for at in range(len(extents))]


def transposed(extents: Sequence[int], order: Sequence[int]) -> Box:
    """Dimension order[k] of the source is dimension k of the target."""
    steps = strides([extents[at] for at in order])
    return Box(extents, [steps[order.index(at)] for at in range(len(extents))], strides(extents))


def transposes() -> Iterator[Box]:
    for extents in ((5, 7), (64, 64), (3, 200), (200, 3), (65, 300), (300, 129), (1, 9)):
        yield transposed(extents, (1, 0))
    for extents in ((2, 5, 3), (3, 17, 40), (16, 33, 70)):
        yield from (transposed(extents, order) for order in permutations(range(3)))
    yield from (transposed((3, 9, 4, 20), order) for order in permutations(range(4)))
    yield transposed((2, 3, 5, 2, 3, 4), (5, 3, 1, 4, 2, 0))
    yield transposed((512, 48), (1, 0))  # rows a power of 2 apart
    yield transposed((3000, 3, 5), (0, 2, 1))  # many that are small
    yield transposed((5, 130, 3, 67), (2, 1, 3, 0))  # groups of 3, others that are longer
    for count in (2, 3, 4):
        yield transposed((50, 41, count), (2, 0, 1))
        yield transposed((count, 50, 41), (1, 2, 0))


SPREAD = [
    (Box((40, 2), (2, 1), (1, 0)), "each element twice"),
    (Box((40, 3), (3, 1), (1, 0)), "three times"),
    (Box((40, 4), (4, 1), (1, 0)), "four times"),
    (Box((7, 21), (21, 1), (1, 0)), "many times"),
    (Box((6, 3, 5), (15, 5, 1), (5, 0, 1)), "rows three times"),
    (Box((4, 2, 9, 2), (36, 18, 2, 1), (9, 0, 1, 0)), "rows and elements twice"),
    (Box((3, 2, 7, 5), (70, 35, 5, 1), (35, 0, 5, 1)), "whole blocks twice"),
    (Box((100,), (1,), (0,)), "one element everywhere"),
    (Box((4, 100), (100, 1), (0, 0)), "the same over rows"),
    (Box((4, 3, 5), (5, 20, 1), (5, 0, 1)), "repeated with other things between"),
]
STEPS = [
    (Box((9, 20), (20, 1), (40, 2)), "every second element"),
    (Box((9, 20), (20, 1), (60, 3)), "every third"),
    (Box((9, 20), (20, 1), (20, -1), 19), "backwards"),
    (Box((9, 20), (20, 1), (-20, 1), 160), "rows backwards"),
    (Box((9, 20), (20, 1), (-20, -1), 179), "both backwards"),
    (Box((9, 20), (50, 2), (20, 1)), "stored apart"),
    (Box((5, 40, 30), (1200, 1, 40), (2400, 60, 2)), "transposed, every second element"),
    (Box((5, 40, 30), (1200, 1, 40), (1200, 30, -1), 29), "transposed backwards"),
    (Box((6, 18, 18), (400, 20, 1), (324, 18, 1)), "into a larger box"),
    (Box((1, 1), (1, 1), (1, 1)), "one element"),
    (Box((7, 0), (1, 1), (1, 1)), "none"),
]
LARGE = [
    (transposed((4, 40, 3001), (0, 2, 1)), "channels last"),
    (transposed((4, 3001, 40), (0, 2, 1)), "channels first"),
    (transposed((19, 31, 21, 23), (3, 2, 1, 0)), "reversed"),
    (Box((90, 2, 30, 2, 31), (3720, 1860, 62, 31, 1), (930, 0, 31, 0, 1)), "tiled"),
    (Box((9, 56789), (56789, 1), (60001, 1)), "long rows"),
    (Box((400000,), (1,), (2,)), "a long run"),
]


@pytest.mark.parametrize(
    ("boxes", "why"),
    [
        ([*transposes()], "both sides walk in different orders"),
        ([box for box, _ in SPREAD], "the source stays where it is"),
        ([box for box, _ in STEPS], "steps that are not 1"),
        ([box for box, _ in LARGE], "several threads"),
    ],
    ids=["transposes", "spread", "steps", "large"],
)
def test_boxes(program: Path, boxes: list[Box], why: str) -> None:
    assert not wrong(program, boxes), why


def test_random_boxes(program: Path) -> None:
    """Any order of dimensions, of which some are repeated."""
    random = Random(5)
    boxes = []
    for _ in range(150):
        extents = [random.choice((1, 2, 3, 4, 7, 18, 33)) for _ in range(random.randint(1, 5))]
        order = random.sample(range(len(extents)), len(extents))
        box = transposed(extents, order)
        source = [0 if random.random() < 0.2 else step for step in box.source]
        boxes.append(Box(extents, box.to, source))
    assert not wrong(program, boxes)


def test_runs_side_by_side(program: Path) -> None:
    """As many runs as lanes, and fewer; of whole squares, and of a few elements more."""
    sizes = ((16, 16, 64), (16, 5, 61), (16, 1, 3), (32, 32, 17), (64, 50, 1))
    lines = [
        f"0 {size} {step} {runs} {count} {lanes}"
        for size in (1, 2, 4, 8)
        for lanes, runs, count in sizes
        for step in (count, count + 3, 1)
    ]
    assert answered(program, lines) == ["0"] * len(lines)
