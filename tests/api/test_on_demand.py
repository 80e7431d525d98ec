"""The C target where nothing is compiled yet: operator by operator, or what others brought."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import cvmgen
from cvmgen import driver
from cvmgen.api import packaged
from cvmgen.api.library import compiled_operators, library_sources
from cvmgen.api.packaged import ABOUT, NAME, package_notes, packaged_library
from cvmgen.build import library, write_changed
from cvmgen.errors import NoCompilerError
from tests.operators import product
from tests.targets import LANGUAGES

NAMES = ("cvm.abs", "cvm.relu", "cvm.dense")
X = np.array([[-3, 4]], np.int8)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A generated folder of a few operators."""
    place = tmp_path_factory.mktemp("few")
    chosen = [each for each in product() if each.full_name in NAMES]
    write_changed(place, driver.generate(chosen, LANGUAGES))
    return place


@pytest.fixture(scope="module")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A cache of these tests, whose libraries are not optimised: that would take longer."""
    with pytest.MonkeyPatch.context() as patch:
        place = tmp_path_factory.mktemp("cache")
        patch.setenv("CVMGEN_CACHE", str(place))
        patch.setattr(library, "_C", replace(library._C, optimised=("-O0",)))
        yield place


@pytest.fixture
def compiled(folder: Path, cache: Path) -> Path:
    """The cache with what a call of `abs` compiles in it, whichever tests ran before."""
    cvmgen.load("c", folder=folder).cvm.abs(X)
    return cache


def objects(cache: Path) -> int:
    return len(set(cache.rglob("*.o")))


@pytest.fixture
def no_compiler(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("CC", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)


def test_an_operator_is_compiled_when_it_is_called(
    folder: Path, tmp_path: Path, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cache = tmp_path
    monkeypatch.setenv("CVMGEN_CACHE", str(cache))
    loaded = cvmgen.load("c", folder=folder)
    assert objects(cache) == 0, "loading compiles nothing"
    assert loaded.cvm.abs(X).tolist() == [[3, 4]]
    first = objects(cache)
    assert loaded.cvm.relu(X).tolist() == [[0, 4]]
    assert loaded.cvm.relu(X).tolist() == [[0, 4]]
    assert objects(cache) == first + 1
    with pytest.raises(cvmgen.OperatorError, match=r"cvm\.abs"):
        loaded.cvm.abs(X, precisions={"X": 40})
    assert len(list(cache.rglob("*cvmgen-shared.so"))) == 2, "one, and it again for no compiler"


def test_threads_and_variants_are_those_of_all(folder: Path, cache: Path) -> None:
    loaded, other = cvmgen.load("c", folder=folder), cvmgen.load("c", folder=folder)
    loaded.threads = 1
    loaded.variant = "generic"
    assert other.variant == loaded.variant
    loaded.variant = None
    assert loaded.cvm.dense(X, X).tolist() == [[25]]


def test_a_bound_call(folder: Path, cache: Path) -> None:
    loaded = cvmgen.load("c", folder=folder)
    layer = loaded.cvm.dense.bind((1, 2), W=X, precisions={"X": 8})
    assert layer(X).tolist() == [[25]]


def test_what_was_compiled_needs_no_compiler(
    folder: Path, compiled: Path, request: pytest.FixtureRequest
) -> None:
    request.getfixturevalue("no_compiler")
    loaded = cvmgen.load("c", folder=folder)
    assert loaded.cvm.abs(X).tolist() == [[3, 4]]


def test_a_cache_may_be_moved(
    folder: Path, compiled: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cache = compiled
    shutil.copytree(cache, tmp_path / "moved")
    before = objects(tmp_path / "moved")
    monkeypatch.setenv("CVMGEN_CACHE", str(tmp_path / "moved"))
    assert cvmgen.load("c", folder=folder).cvm.abs(X).tolist() == [[3, 4]]
    assert objects(tmp_path / "moved") == before


@pytest.mark.usefixtures("no_compiler")
def test_without_a_compiler_loading_says_so(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CVMGEN_CACHE", str(tmp_path / "empty"))
    with pytest.raises(NoCompilerError, match="no C compiler found"):
        cvmgen.load("c", folder=folder)


def test_one_library_of_all_is_taken_where_there_is_one(folder: Path, cache: Path) -> None:
    whole = compiled_operators(folder)
    loaded = cvmgen.load("c", folder=folder)
    assert loaded.cvm.abs._backend.path == whole  # type: ignore[attr-defined]


# ---------------------------------------------------------------- what a wheel brings


@pytest.fixture
def installed(folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of the library of an installation whose operators are these few."""
    monkeypatch.setattr(packaged, "checkout", lambda: None)
    monkeypatch.setattr(packaged, "generated_folder", lambda: folder)
    monkeypatch.setattr(packaged, "library_folder", lambda: tmp_path)
    (tmp_path / NAME).write_bytes(b"a library")
    said = package_notes(library_sources(folder), packaged.platform.machine())
    (tmp_path / ABOUT).write_text(json.dumps(said))
    return tmp_path


def test_the_library_of_a_wheel_is_found(installed: Path, folder: Path) -> None:
    sources = library_sources(folder)
    assert packaged_library(folder, sources) == installed / NAME
    assert compiled_operators(folder) == installed / NAME
    assert packaged_library(installed, sources) is None, "it is that of one folder"


def test_a_library_of_other_texts_is_not(installed: Path, folder: Path) -> None:
    sources = {**library_sources(folder), "cvm/abs.c": "int other;\n"}
    assert packaged_library(folder, sources) is None


UNFIT = [
    ('{"sources": "0", "machine": "x86_64"}', "other texts"),
    ("[]", "not what is said of a library"),
    ("{", "not JSON"),
    ("", "nothing"),
]


@pytest.mark.parametrize(("text", "why"), UNFIT)
def test_what_does_not_fit_is_left(installed: Path, folder: Path, text: str, why: str) -> None:
    (installed / ABOUT).write_text(text)
    assert packaged_library(folder, library_sources(folder)) is None, why


def test_another_machine(installed: Path, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("platform.machine", lambda: "vax")
    assert packaged_library(folder, library_sources(folder)) is None
