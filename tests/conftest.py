"""Operators generated from the specs as they stand, loaded once for all tests."""

from __future__ import annotations

from pathlib import Path

import pytest

import cvmgen
from cvmgen import driver
from cvmgen.api import Operators
from cvmgen.build import write_changed
from cvmgen.reference import Reference
from cvmgen.source import Source
from cvmgen.spec.check import SpecFile, check_files, read_folder
from cvmgen.spec.formula import Operator

ROOT = Path(__file__).resolve().parents[1]
EXTRA = ROOT / "tests" / "data" / "extra"
TARGETS = ("c", "python")


@pytest.fixture(scope="session")
def formulas() -> dict[str, Operator]:
    """The checked operators of spec/ and, in the opset `extra`, those of tests/data/extra, by full name."""
    return {operator.full_name: operator for operator in (*product(), *extra())}


@pytest.fixture(scope="session")
def references(formulas: dict[str, Operator]) -> dict[str, Reference]:
    """The oracle of every operator, by full name."""
    return {name: Reference(operator) for name, operator in formulas.items()}


@pytest.fixture(scope="session")
def generated(tmp_path_factory: pytest.TempPathFactory, formulas: dict[str, Operator]) -> Path:
    """A folder of generated operators like generated/, with those of tests/data/extra besides."""
    folder = tmp_path_factory.mktemp("generated")
    write_changed(folder, driver.generate(list(formulas.values()), TARGETS))
    return folder


@pytest.fixture(scope="session")
def libraries(generated: Path) -> dict[str, Operators]:
    """All operators on each target: `libraries["c"].cvm.conv2d`."""
    return {target: cvmgen.load(target, folder=generated) for target in TARGETS}


def product() -> tuple[Operator, ...]:
    return driver.read_operators(ROOT / "spec")


def extra() -> tuple[Operator, ...]:
    """Operators that use what the language has and the product's operators do not."""
    shared = [file for file in read_folder(ROOT / "spec") if not file.opset]
    own = [
        SpecFile(Source(f"tests/data/extra/{path.name}", path.read_text(encoding="utf-8")), "extra")
        for path in sorted(EXTRA.glob("*.cvm"))
    ]
    return check_files([*shared, *own])
