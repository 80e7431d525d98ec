"""The C target gives the same bits with every number of threads."""

from __future__ import annotations

from pathlib import Path
from random import Random
from typing import Any

import pytest

import cvmgen
from cvmgen.api import Operators
from cvmgen.api.library import library_sources
from cvmgen.api.manifest import read_manifest
from cvmgen.build import compile_library
from cvmgen.errors import CvmgenError
from tests.conformance.calls import Call, Conformance, compare, wanted_dtype
from tests.conformance.random_calls import call
from tests.emit.units import joined
from tests.operators import FOLDERS

CALLS = 12
NUMBERS = (1, 2, 3, 7)
# What keeps short loops from having threads.
SHORT = (
    ("cvmgen_runs.h", "(INT64_C(1) << 19)", "4"),
    ("cvmgen_threads.c", "(worth ? ", "(worth || true ? "),
)


def always_parallel(folder: Path) -> Path:
    sources = dict(library_sources(folder))
    for name, asked, short in SHORT:
        assert asked in sources[name]
        sources[name] = sources[name].replace(asked, short)
    return compile_library(joined(sources), name="threads", flags=("-O0",))


@pytest.mark.parametrize("operators", FOLDERS)
def test_every_number_of_threads(
    conformance: Conformance, operators: str, request: pytest.FixtureRequest
) -> None:
    """With threads for each loop that may have them, however short."""
    folder = request.getfixturevalue(operators)
    loaded = cvmgen.load("c", folder=folder, library=always_parallel(folder))
    for info in read_manifest(folder).operators:
        random = Random(f"{info.full_name} threads")
        for each in [call(info.full_name, random) for _ in range(CALLS)]:
            expected = conformance.expected(each)
            for number in NUMBERS if not expected.refusal else ():
                found = with_threads(loaded, each, number)
                where = f"{number} threads: {each}"
                compare(found, expected, wanted_dtype(each, None), where)
    loaded.threads = 0


def with_threads(operators: Operators, each: Call, number: int) -> Any:
    operators.threads = number
    assert operators.threads == number
    return operators[each.operator](*each.inputs, precisions=each.precisions, **each.attributes)


@pytest.mark.parametrize("count", [-1, 1025, 1 << 40, True, 2.0, "2", None])
def test_numbers_that_are_refused(generated: Path, count: Any) -> None:
    with pytest.raises(CvmgenError) as caught:
        cvmgen.load("c", folder=generated).threads = count
    assert str(caught.value) == f"threads={count!r}: a number from 0 to 1024 is needed"


def test_targets_without_a_number(generated: Path) -> None:
    with pytest.raises(CvmgenError) as caught:
        cvmgen.load("python", folder=generated, threads=2)
    assert str(caught.value) == "threads=2: the target 'python' has no such number"
    assert cvmgen.load("python", folder=generated).threads == 0
    assert cvmgen.load("c", folder=generated, threads=2).threads == 2
    cvmgen.load("c", folder=generated).threads = 0
