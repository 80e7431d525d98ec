"""The C text: builds of it that must agree, and what a reader sees."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from random import Random
from typing import Any

import pytest

from cvmgen.api import Operators
from cvmgen.api.library import library_sources
from cvmgen.build import compile_library, sanitizer_environment
from cvmgen.errors import OperatorError
from cvmgen.spec import formula as f
from tests.conformance.calls import Call
from tests.conformance.random_calls import DRAW, call
from tests.conftest import load_all
from tests.emit.digests import CALLS as LARGE_CALLS
from tests.emit.nests import made_by_nests
from tests.emit.processes import ROOT, python
from tests.emit.texts import digest
from tests.emit.units import joined
from tests.operators import FOLDERS, sampled
from tests.targets import quickly, whole

# ---------------------------------------------------------------- builds that must agree


@pytest.fixture(scope="module")
def folders(generated: Path, extra_generated: Path) -> tuple[Path, Path]:
    return generated, extra_generated


@pytest.fixture(scope="module")
def plain(folders: tuple[Path, ...]) -> list[Path]:
    """Libraries in which overflow wraps, without threads and without optimisation."""
    return built(folders, flags=("-fwrapv", "-O0"), threads=False)


def built(folders: Sequence[Path], **how: Any) -> list[Path]:
    return [
        compile_library(joined(library_sources(folder)), name="cvmgen", **how) for folder in folders
    ]


@pytest.mark.slow  # sanitizers look for overflow in each run
def test_overflow_that_wraps_changes_nothing(
    folders: tuple[Path, ...], plain: list[Path], libraries: dict[str, Operators]
) -> None:
    """Data within the contract overflow nowhere, so what an overflow does must not show."""
    compare_answers(load_all("c", *folders, libraries=plain), libraries["c"], 30)


@pytest.mark.slow
def test_overflow_that_wraps_changes_nothing_when_optimised(
    folders: tuple[Path, ...], libraries: dict[str, Operators]
) -> None:
    wrapping = built(folders, flags=("-fwrapv",))
    compare_answers(load_all("c", *folders, libraries=wrapping), libraries["c"], 400)


def compare_answers(one: Operators, other: Operators, count: int) -> None:
    for name in DRAW:
        random = Random(f"answers {name}")
        for _ in range(count):
            drawn = call(name, random)
            assert answer(one, drawn) == answer(other, drawn), str(drawn)


def answer(operators: Operators, drawn: Call) -> Any:
    try:
        found = operators[drawn.operator](*drawn.inputs, **drawn.attributes)
    except OperatorError as error:
        return str(error)
    results = found if isinstance(found, tuple) else (found,)
    return [(one.dtype, one.shape, one.tobytes()) for one in results]


def digests(
    folders: Sequence[Path], libraries: Sequence[Path | None], **environment: str
) -> dict[str, str]:
    """Of the results of large calls, from a process of its own."""
    pairs = [str(each) for pair in zip(folders, libraries, strict=True) for each in pair]
    found: dict[str, str] = json.loads(python("-m", "tests.emit.digests", *pairs, **environment))
    return found


def test_threads_change_nothing(folders: tuple[Path, ...]) -> None:
    generated, extra = folders
    libraries = (whole(generated), quickly(extra, "c"))
    expected = digests(folders, libraries, OMP_NUM_THREADS="1")
    assert set(expected) == set(LARGE_CALLS)
    for threads in ("2", "5"):
        assert digests(folders, libraries, OMP_NUM_THREADS=threads) == expected, threads


@pytest.mark.slow  # the reference says what is right, of the same text
def test_optimisation_changes_nothing(folders: tuple[Path, ...], plain: list[Path]) -> None:
    assert digests(folders, built(folders)) == digests(folders, plain)


@pytest.mark.parametrize("operators", FOLDERS)
def test_sanitizers_have_nothing_to_report(operators: str, request: pytest.FixtureRequest) -> None:
    """Ragged shapes, and data that break their contract, without a read or write beside a tensor
    and without undefined behaviour."""
    sanitize(request.getfixturevalue(operators), flags=("-O0",))


@pytest.mark.slow
def test_sanitizers_have_nothing_to_report_when_optimised(folders: tuple[Path, ...]) -> None:
    for folder in folders:
        sanitize(folder)


def sanitize(folder: Path, flags: Sequence[str] = ()) -> None:
    kinds = ("address", "undefined")
    environment = sanitizer_environment(kinds)
    if not environment:
        pytest.skip("the compiler has no sanitizers that Python can load")
    (library,) = built([folder], sanitizers=kinds, flags=flags)
    python("-m", "tests.emit.run_everything", folder, library, **environment)


# ---------------------------------------------------------------- the text


def c_text(folders: tuple[Path, ...], operator: f.Operator) -> str:
    (path,) = (
        path
        for folder in folders
        if (path := folder / "c" / operator.opset / f"{operator.name}.c").exists()
    )
    return path.read_text(encoding="utf-8")


@pytest.mark.parametrize("name", sampled(DRAW))
def test_every_nest_says_where_its_formula_stands(
    folders: tuple[Path, ...], formulas: dict[str, f.Operator], name: str
) -> None:
    operator = formulas[name]
    text = c_text(folders, operator)
    places = [operator.place(each.span) for each in made_by_nests(operator)]
    for kernel in kernel_bodies(text, operator.name):
        if "cvmgen_share(" in kernel and "/* " not in kernel:
            continue  # all that it computes is in the part in front of it
        assert any(f"/* {place}: " in kernel for place in places), kernel[:200]
    for place in places:
        assert f"/* {place}: " in text


def kernel_bodies(text: str, name: str) -> Iterator[str]:
    """The functions that compute, which are those that take a plan and their parts."""
    taking = r"(?:const (\w+)_plan \*plan|const void \*context)"
    head = rf"^static void (?:TYPED\()?\w+\)?\({taking}"
    for found in re.finditer(rf"{head}.*?^}}", text, re.M | re.S):
        assert found[1] in (name, None)
        yield found[0]


def test_headers_carry_the_formula(
    folders: tuple[Path, ...], formulas: dict[str, f.Operator]
) -> None:
    for operator in formulas.values():
        head, _, _ = c_text(folders, operator).partition("*/")
        assert f" {operator.files}\n" in head
        assert operator.doc in head
        for line in operator.text.splitlines():
            assert line.strip() in head, operator.full_name


def test_lines_fit_a_page(folders: tuple[Path, ...], formulas: dict[str, f.Operator]) -> None:
    """But for texts in quotes, which are what they are."""
    for operator in formulas.values():
        _, _, code = c_text(folders, operator).partition("*/")
        wide = [line for line in code.splitlines() if len(line) > 100 and '"' not in line]
        assert wide == [], operator.full_name


def test_the_same_text_in_every_process(extra_generated: Path, tmp_path: Path) -> None:
    """Of what the language has; this process has a seed of its own, another one each time.
    (`cvmgen build --check` asks the same of generated/.)"""
    made = json.loads(python("-m", "tests.emit.texts", folder=tmp_path, PYTHONHASHSEED="4711"))
    texts = {name: (extra_generated / name).read_text(encoding="utf-8") for name in made}
    assert {name: digest(text) for name, text in texts.items()} == made
    assert not [name for name, text in texts.items() if str(ROOT) in text]
