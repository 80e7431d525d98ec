"""Operators generated from the specs as they stand, loaded once for all tests."""

from __future__ import annotations

import gc
from collections.abc import Sequence
from dataclasses import replace
from itertools import zip_longest
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings
from xdist.scheduler import LoadFileScheduling

from cvmgen.api import Operators
from cvmgen.api import library as loading
from cvmgen.build import library as building
from cvmgen.ir import remember
from cvmgen.reference import Reference
from cvmgen.spec.formula import Operator
from tests.conformance.calls import Conformance
from tests.emit.units import joined
from tests.operators import extra, product, sample
from tests.targets import NEEDED, TARGETS, load_target, missing_gpu, quickly, whole, write_together

# Nothing is tested by the clock: a machine may be busy.
settings.register_profile(
    "any machine", deadline=None, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("any machine")

remember.MOST = 1 << 10  # all tests lower the same operators

ROOT = Path(__file__).resolve().parents[1]


def pytest_configure() -> None:
    gc.disable()  # while tests are collected, of which few objects go again
    # Kernels on the CPU take longer to be optimised than all calls of them take, and each by
    # itself reads the headers longer than it is compiled.
    building._CUDA = replace(building._CUDA, optimised=("-O0",))
    compiled_from = loading.compiled_from
    loading.compiled_from = lambda sources, target, manifest: compiled_from(
        sources if target == "c" else joined(sources), target, manifest
    )


LONG = ("tests/verification/", "tests/model/")
"""What takes long and has nothing in common with others begins first: no process is left with it
at the end while others have nothing to do."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    items.sort(key=lambda item: not item.nodeid.startswith(LONG))


def pytest_collection_finish() -> None:
    gc.enable()
    gc.freeze()  # nor is what is there now looked through for what may go
    gc.set_threshold(200_000)  # trees of formulas and of IR have no cycles


LOWERED = (
    *("test_cuda.py", "test_cuda_on_cpu.py", "test_cuda_sanitized.py", "test_cuda_streams.py"),
    *("test_c_builds.py", "test_line_map.py", "test_python.py", "test_numpy.py"),
)
"""Files in tests/emit that ask what became of every operator: one process lowers them all."""


class Schedule(LoadFileScheduling):  # type: ignore[misc]
    """A process gets all tests of a file, or of files that ask for the same."""

    def _split_scope(self, nodeid: str) -> str:
        file: str = super()._split_scope(nodeid)
        together = file.startswith("tests/emit/") and file.endswith(LOWERED)
        return "tests/emit" if together else file


def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> LoadFileScheduling:
    return Schedule(config, log)


def pytest_sessionstart() -> None:
    if "cuda" in TARGETS and (reason := missing_gpu()):
        pytest.exit(f"nothing was tested: {reason}", returncode=0)


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Tests marked so are skipped, and say why, on machines without a GPU."""
    if item.get_closest_marker("gpu") and (reason := missing_gpu()):
        pytest.skip(reason)


@pytest.fixture(scope="session")
def formulas() -> dict[str, Operator]:
    """The checked operators of spec/ and, in the opset `extra`, of tests/data/extra, by name."""
    return {operator.full_name: operator for operator in (*product(), *extra())}


@pytest.fixture(scope="session")
def references(formulas: dict[str, Operator]) -> dict[str, Reference]:
    """The oracle of every operator, by its full name."""
    return {name: Reference(operator) for name, operator in formulas.items()}


@pytest.fixture(scope="session")
def generated(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder like generated/, of the operators of spec/ as they stand."""
    return written(tmp_path_factory.mktemp("generated"), product())


@pytest.fixture(scope="session")
def extra_generated(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder like generated/, of the operators of tests/data/extra."""
    return written(tmp_path_factory.mktemp("extra"), extra())


@pytest.fixture(scope="session")
def sample_generated(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder like generated/, of the operators that stand for all."""
    chosen = [each for each in (*product(), *extra()) if each.full_name in sample()]
    return written(tmp_path_factory.mktemp("sample"), chosen)


@pytest.fixture(scope="session")
def libraries(generated: Path, extra_generated: Path) -> dict[str, Operators]:
    """All operators on each target: `libraries["c"].cvm.conv2d`."""
    built = {"c": whole(generated)} if "c" in TARGETS else {}
    folders, extra = (generated, extra_generated), extra_generated
    return Libraries(
        (each, load_all(each, *folders, libraries=[built.get(each), quickly(extra, each)]))
        for each in TARGETS
    )


class Libraries(dict[str, Operators]):
    """Operators by target; a test that needs a target which is left out is skipped."""

    def __missing__(self, target: str) -> Operators:
        pytest.skip(f"CVMGEN_TEST_TARGETS={','.join(TARGETS)} leaves {target} out")


@pytest.fixture(scope="session")
def conformance(references: dict[str, Reference], libraries: dict[str, Operators]) -> Conformance:
    """The reference beside every target, to be compared call by call."""
    return Conformance(references, libraries)


def written(folder: Path, operators: Sequence[Operator]) -> Path:
    write_together(folder, operators, NEEDED)
    return folder


def load_all(target: str, *folders: Path, libraries: Sequence[Path | None] = ()) -> Operators:
    """The operators of several folders as one; `libraries` are built already, one a folder."""
    opsets = {}
    for folder, library in zip_longest(folders, libraries):
        loaded = load_target(target, folder, library)
        opsets |= {name: getattr(loaded, name) for name in dir(loaded)}
    return Operators(target, opsets)
