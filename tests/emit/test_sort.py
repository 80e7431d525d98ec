"""Sorting of lists by keys, and the memory that lists take: what C and Python operators call."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Sequence
from pathlib import Path
from random import Random

import pytest

from cvmgen import lists
from cvmgen.build import c_compiler
from cvmgen.emit import c_support
from tests.emit.cuda_texts import write

PROGRAM = Path(__file__).with_name("sort_in_c.c")
WARNINGS = ("-Wall", "-Wextra", "-Werror")
SANITIZERS = ("-fsanitize=address,undefined", "-fno-sanitize-recover=all")
ENDS = (-(2**63), -1, 0, 1, 2**63 - 1)

Rows = list[tuple[int, ...]]  # the keys of a list


@pytest.fixture(scope="module", params=["-O0", "-O2"])
def program(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """sort_in_c.c with sanitizers, where the compiler has them."""
    folder = tmp_path_factory.mktemp("sort")
    write(c_support.emit_support() | {"empty.c": "int main(void) { return 0; }\n"}, folder)
    command = (*c_compiler().command, "-std=c11", *SANITIZERS)
    tried = (*command, "empty.c", "-o", "empty")
    if subprocess.run(tried, cwd=folder, capture_output=True, check=False).returncode:
        pytest.skip("the C compiler has no sanitizers")
    build = (*command, request.param, *WARNINGS, "-I.", str(PROGRAM), "-o", "program")
    subprocess.run(build, cwd=folder, check=True)
    return folder / "program"


def run(program: Path, given: str, *arguments: str) -> list[str]:
    """The lines that the program prints; it ends well."""
    environment = {**os.environ, "ASAN_OPTIONS": "allocator_may_return_null=1"}
    done = subprocess.run(
        [program, *arguments], input=given, env=environment, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr[-2000:]
    return done.stdout.splitlines()


def in_c(program: Path, lists: Sequence[tuple[int, Rows]]) -> list[list[int]]:
    """How each list, of some width, is ordered."""
    given = "\n".join(
        " ".join(map(str, (len(rows), width, *(key for row in rows for key in row))))
        for width, rows in lists
    )
    return [[*map(int, line.split())] for line in run(program, given)]


def ordered(rows: Rows) -> list[int]:
    return sorted(range(len(rows)), key=rows.__getitem__)


def drawn(random: Random, length: int, width: int, values: Sequence[int]) -> Rows:
    return [tuple(random.choices(values, k=width)) for _ in range(length)]


def every_kind(length: int) -> list[tuple[int, Rows]]:
    """Lists of a length, with their widths: random, with equal keys, in several orders."""
    random = Random(length)
    numbers = range(length)
    return [
        (1, drawn(random, length, 1, range(-(10**12), 10**12))),
        (1, drawn(random, length, 1, range(3))),
        (1, drawn(random, length, 1, ENDS)),
        (1, [(7,)] * length),
        (1, [(each,) for each in numbers]),
        (1, [(-each,) for each in numbers]),
        (1, [(each * 2 % (length + 1),) for each in numbers]),
        (2, drawn(random, length, 2, range(4))),
        (3, drawn(random, length, 3, ENDS)),
        (0, [()] * length),
    ]


LENGTHS = (*range(71), 127, 128, 129, 255, 256, 1000)


def test_sorting_in_c(program: Path) -> None:
    lists = [each for length in LENGTHS for each in every_kind(length)]
    assert in_c(program, lists) == [ordered(rows) for _, rows in lists]


def test_large_lists_in_c(program: Path) -> None:
    lists = [each for length in (4096, 30001) for each in every_kind(length)]
    assert in_c(program, lists) == [ordered(rows) for _, rows in lists]


SCRATCH = [
    (0, "0 0 memory ", "no entries are memory too"),
    (1000, "0 0 memory ", "some"),
    (-1, "2 2 NULL -1 elements", "a number that overflowed"),
    (2**40 - 1, "2 2 NULL 1099511627775 elements", "more than there is"),
    (2**40, "2 2 NULL 1099511627776 elements", "more than a tensor has"),
    (2**60, "2 2 NULL 1152921504606846976 elements", "more than addresses reach"),
    (2**61, "2 2 NULL 2305843009213693952 elements", "bytes that overflow to 0"),
    (2**63 - 1, "2 2 NULL more than 2^62 elements", "the largest number"),
]


def test_scratch_memory_in_c(program: Path) -> None:
    counts = " ".join(str(count) for count, _, _ in SCRATCH)
    assert run(program, counts, "scratch") == [line for _, line, _ in SCRATCH]


# ---------------------------------------------------------------- Python

SORTS = [
    ([30, 10, 20], [3, 1, 2], 1, [10, 20, 30], "by one number"),
    ([1, 2, 3], [0, 0, 0], 1, [1, 2, 3], "equal keys keep their order"),
    ([1, 2, 3, 4], [1, 0, 1, 0], 1, [2, 4, 1, 3], "equal keys keep their order in groups"),
    ([1, 2, 3], [5, 2, 5, 1, 4, 9], 2, [3, 2, 1], "the first number decides, then the second"),
    ([2, 1], [], 0, [2, 1], "without keys nothing moves"),
    ([], [], 1, [], "nothing"),
]


@pytest.mark.parametrize("start", [0, 2])
@pytest.mark.parametrize(
    ("values", "keys", "width", "expected", "why"), SORTS, ids=[row[-1] for row in SORTS]
)
def test_sorting_in_python(
    values: list[int], keys: list[int], width: int, expected: list[int], why: str, start: int
) -> None:
    """The part of a list alone moves, by the rows of keys at the same places."""
    around = [-9] * start
    found = [*around, *values, -9, -8]
    given = [*around * width, *keys, *[-99] * (2 * width)]
    kept = list(given)
    lists.sort(found, start, len(values), given, width)
    assert found == [*around, *expected, -9, -8], why
    assert given == kept


@pytest.mark.parametrize("length", [2, 17, 300])
def test_python_sorts_like_c(length: int) -> None:
    for width, rows in every_kind(length):
        found = list(range(length))
        lists.sort(found, 0, length, [key for row in rows for key in row], width)
        assert found == ordered(rows)
