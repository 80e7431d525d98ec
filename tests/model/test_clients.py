"""Models from CMake and Rust, as docs/clients.md shows it; names that mean something there."""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

from cvmgen.build import write_changed
from cvmgen.errors import ModelError
from cvmgen.graph import load_model
from cvmgen.graph.network import load
from cvmgen.graph.operators import OperatorLibrary
from cvmgen.graph.plan import Plan, PlannedTensor, PlanStep, placed
from cvmgen.model.build import make_files
from cvmgen.model.clients import cmake_files, rust_files
from cvmgen.model.emit import Files
from tests.docs.documents import ROOT, fenced

DIGITS = ROOT / "examples/digits"
BLOCKS = fenced(ROOT / "docs/clients.md")


def block(kind: str, part: str) -> str:
    (found,) = (text for language, text in BLOCKS if language == kind and part in text)
    return found


def need(*programs: str) -> None:
    for program in programs:
        if shutil.which(program) is None:
            pytest.skip(f"no {program} here")


def printed(folder: Path, *commands: str) -> str:
    """What the last of some commands prints."""
    for command in commands:
        done = subprocess.run(command.split(), cwd=folder, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
    return done.stdout


def with_clients(made: Files) -> Mapping[str, str]:
    files = made.all()
    return files | cmake_files(made, files) | rust_files(made, files)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("clients")
    made = make_files(DIGITS / "digits.json", DIGITS / "digits.bin", "digits")
    write_changed(place / "digits", with_clients(made))
    return place


@pytest.fixture(scope="module")
def expected() -> str:
    network = load(DIGITS / "digits.json", DIGITS / "digits.bin", target="python")
    scores = network(np.zeros(network.input_shape, np.int8))
    assert isinstance(scores, np.ndarray)
    return "".join(f"{each} " for each in scores.ravel())


def test_by_cmake(folder: Path, expected: str) -> None:
    need("cmake", "make", "c++")
    (folder / "CMakeLists.txt").write_text(block("cmake", "find_package(digits"))
    (folder / "reader.cc").write_text(block("cpp", "digits_run("))
    configure = (
        f"cmake -S . -B made -DCMAKE_PREFIX_PATH={folder / 'digits'} -DCMAKE_BUILD_TYPE=Debug"
    )
    assert printed(folder, configure, "cmake --build made", "made/reader") == expected


def test_by_cargo(folder: Path, expected: str) -> None:
    need("cargo", "cc", "ar")
    example = folder / "digits/examples/reader.rs"
    example.parent.mkdir()
    example.write_text(block("rust", "Workspace::new"))
    run = "cargo run --quiet --offline --example reader"
    assert printed(folder / "digits", run) == expected


HOSTILE = (
    *(
        "None",
        "self",
        "Self",
        "type",
        "fn",
        "int",
        "class",
        "NULL",
        "alignas",
        "state",
        "workspace",
    ),
    *("memory", "run", "sizes", "c", "]; fn x() {", "/* `\n//", "*/ `", "\u202e`", "r#fn", "Ok"),
)


@dataclass(frozen=True)
class Moved:
    """A model of inputs and results with such names, which it hands over as they are."""

    names: tuple[str, ...]
    file: str | None = None

    def plan(self, operators: OperatorLibrary) -> Plan:
        count = len(self.names)
        tensors = tuple(
            PlannedTensor(each, (2,), None, np.dtype("int8")) for each in (*self.names, *self.names)
        )
        steps = tuple(
            PlanStep(each, "maximum", (), (at, at), (count + at,))
            for at, each in enumerate(self.names)
        )
        heads, given = tuple(range(count, 2 * count)), tuple(range(count))
        layout = placed(tensors, steps, heads, given)
        variables = {each: at for at, each in enumerate(self.names)}
        return Plan(tensors, given, steps, heads, layout, variables, opset="tflite")


def test_names_are_no_code(tmp_path: Path) -> None:
    made = make_files(Moved(HOSTILE), None, "made")
    write_changed(tmp_path, with_clients(made))
    found = load_model(tmp_path)(*[np.array([-1, at], np.int8) for at, _ in enumerate(HOSTILE)])
    assert [each.tolist() for each in found] == [[-1, at] for at, _ in enumerate(HOSTILE)]
    for part in (tmp_path / "src/lib.rs").read_text(), (tmp_path / "made-config.cmake").read_text():
        code = re.sub(r"//.*|^#.*", "", part, flags=re.MULTILINE)
        assert "`" not in code
        assert part.replace("\n", "").isprintable()
    (tmp_path / "user.cc").write_text('#include "made.h"\n')
    if shutil.which("c++"):
        printed(tmp_path, "c++ -fsyntax-only -Wall -Wextra -Werror user.cc")
    if shutil.which("rustc"):
        printed(tmp_path, "rustc --edition 2021 --crate-type lib --emit metadata src/lib.rs")


def test_names_that_crates_cannot_have() -> None:
    made = make_files(Moved(("x",)), None, "std")
    with pytest.raises(ModelError, match="'std' is no name for a crate of Rust; choose one with"):
        rust_files(made, made.all())
