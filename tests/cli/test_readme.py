"""What README.md and docs/ show is true: their excerpts are in the files, their programs run."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest

from cvmgen.api import library
from cvmgen.build import c_compiler, cpp_compiler
from cvmgen.cli.command import parser
from cvmgen.cli.options import with_no_parameters
from cvmgen.errors import BuildError
from cvmgen.paths import generated_folder
from cvmgen.spec.check import check_files
from cvmgen.spec.files import read_folder
from tests.conftest import written
from tests.docs.documents import DOCUMENTS, fenced

from .conftest import Command

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")
BLOCKS = [(document, *each) for document in DOCUMENTS for each in fenced(document)]
COMMAND = re.compile(r"^    (?:> )?(cvmgen [^\n#]*)", re.MULTILINE)
LARGEST = 12 * 1024
KINDS = ("cvm", "text", "pycon", "python", "c", "cpp", "cmake", "rust", "diff")


def block(kind: str, part: str, document: str = "") -> str:
    (found,) = (
        text
        for where, language, text in BLOCKS
        if language == kind and part in text and where.name.startswith(document)
    )
    return found


def test_the_readme_is_short() -> None:
    assert len(README.encode()) <= LARGEST


def test_every_block_is_one_that_tests_run() -> None:
    """Formulas, sessions, programs and what is printed; of Python at least the syntax."""
    for document, language, text in BLOCKS:
        assert language in (*KINDS, ""), document
        if language == "python":
            compile(text, document.name, "exec")


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda each: str(each.name))
def test_the_command_knows_what_is_typed(document: Path) -> None:
    for line in COMMAND.findall(document.read_text(encoding="utf-8")):
        parser().parse_args(with_no_parameters(shlex.split(line)[1:]))


def test_the_formula_is_the_one_in_the_spec() -> None:
    assert block("cvm", "operator dense {") in (ROOT / "spec/cvm/nn.cvm").read_text(
        encoding="utf-8"
    )


def test_the_excerpt_is_in_the_generated_file() -> None:
    text = (generated_folder() / "c/cvm/dense.c").read_text(encoding="utf-8")
    assert block("c", "uint32_t total") in text


@pytest.mark.parametrize("name", ["double", "top_values", "rolled"])
def test_the_operator_to_add_passes(cvmgen: Command, tmp_path: Path, name: str) -> None:
    path = tmp_path / "mine.cvm"
    path.write_text(block("cvm", f"operator {name} {{"))
    assert cvmgen("check", path).code == 0


def test_the_error_is_what_the_checker_says(
    cvmgen: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    folder = tmp_path / "spec/cvm"
    folder.mkdir(parents=True)
    formula = block("cvm", "operator double {").replace("2 * X[d...]", "X[e...]")
    (folder / "mine.cvm").write_text(formula)
    folders = ("--spec", tmp_path / "spec", "--out", tmp_path / "out")
    outcome = cvmgen("build", "--target", "python", *folders)
    assert outcome.code == 1
    assert outcome.err == block("", "is not bound")


def test_every_command_is_named(cvmgen: Command) -> None:
    usage = cvmgen("--help").out
    for name in re.findall(r"^    (\w+) {2,}", usage, re.MULTILINE):
        assert f"`cvmgen {name}" in README


@pytest.mark.slow
def test_the_operators_are_those_of_the_specs(cvmgen: Command) -> None:
    """With the lines of their formulas, and what each target does with them; `make check` asks
    the same."""
    outcome = cvmgen("list", "--into", ROOT / "docs/operators.md", "--check")
    assert outcome.code == 0, "it is stale; `make readme` brings it up to date"


@pytest.fixture(scope="module")
def spec(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The formula that README.md shows, and what it uses."""
    folder = tmp_path_factory.mktemp("readme") / "spec"
    (folder / "cvm").mkdir(parents=True)
    shutil.copy(ROOT / "spec/common.cvm", folder)
    (folder / "cvm/nn.cvm").write_text(block("cvm", "operator dense {"), encoding="utf-8")
    return folder


@pytest.fixture
def generated(spec: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder that is loaded where none is named: of that operator alone."""
    try:
        c_compiler()
    except BuildError as error:
        pytest.skip(str(error))
    folder = written(spec.parent / "generated", check_files(read_folder(spec)))
    monkeypatch.setattr(library, "generated_folder", lambda: folder)
    return folder


@pytest.mark.usefixtures("generated")
@pytest.mark.parametrize(("document", "call"), [("README", "layer(X)"), ("python", "step()")])
def test_the_python_calls(document: str, call: str) -> None:
    names: dict[str, object] = {}
    exec(block("python", 'cvmgen.load(target="c")', document), names)
    assert np.array_equal(eval(call, names), [[21, 37]])
    ops, arrays = names["ops"], [names[name] for name in "XWB"]
    assert np.array_equal(ops.cvm.dense(*arrays), [[21, 37]])  # type: ignore[attr-defined]


@pytest.mark.usefixtures("generated")
def test_cuda_on_the_cpu() -> None:
    try:
        cpp_compiler()
    except BuildError as error:
        pytest.skip(str(error))
    names: dict[str, object] = {}
    exec(block("python", 'cvmgen.load(target="c")', "python"), names)
    exec(block("python", 'cvmgen.load("cuda-cpu")', "cuda"), names)
    ops, arrays = names["ops"], [names[name] for name in "XWB"]
    assert np.array_equal(ops.cvm.dense(*arrays), [[21, 37]])  # type: ignore[attr-defined]


@pytest.mark.usefixtures("cache")
def test_the_c_program(cvmgen: Command, spec: Path, generated: Path, tmp_path: Path) -> None:
    """From a folder that is not the project's, by the commands below it."""
    for program in ("cc", "pkg-config"):
        if shutil.which(program) is None:
            pytest.skip(f"no {program} here")
    folders = ("--spec", spec, "--out", generated)
    assert cvmgen("build", *folders, "--install", tmp_path / ".local").code == 0
    (tmp_path / "dense.c").write_text(block("c", "int main", "c."))
    said = (ROOT / "docs/c.md").read_text(encoding="utf-8")
    found = re.search(r"^    cvmgen build --install ~/.local\n(.*\n.*\n)", said, re.MULTILINE)
    assert found is not None
    done = subprocess.run(
        ["sh", "-ec", found[1]],
        cwd=tmp_path,
        env={**os.environ, "HOME": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.stdout, done.stderr) == ("11 17\n", "")


@pytest.mark.usefixtures("cache")
def test_the_program_in_cpp(cvmgen: Command, spec: Path, generated: Path, tmp_path: Path) -> None:
    if shutil.which("c++") is None:
        pytest.skip("no c++ here")
    folders = ("--spec", spec, "--out", generated)
    assert cvmgen("build", *folders, "--install", tmp_path / ".local").code == 0
    (tmp_path / "dense.cc").write_text(block("cpp", "cvm_dense", "clients"))
    said = (ROOT / "docs/clients.md").read_text(encoding="utf-8")
    found = re.search(r"^    (c\+\+ -std.*)$", said, re.MULTILINE)
    assert found is not None
    done = subprocess.run(
        ["sh", "-ec", f"{found[1].replace('~', '$HOME')} && ./dense"],
        cwd=tmp_path,
        env={**os.environ, "HOME": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.stdout, done.stderr) == (block("text", "11 17", "clients"), "")


def test_the_adjoint_is_what_the_command_derives(cvmgen: Command) -> None:
    assert cvmgen("derive", "dense", "--wrt", "X").out == block("cvm", "operator dense_adjoint_X")


def test_the_schedule_is_the_one_in_the_spec() -> None:
    text = (ROOT / "spec/schedules/c.sched").read_text(encoding="utf-8")
    assert block("", "schedule elementwise for c {") in text


def test_the_schedule_that_is_refused(
    cvmgen: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    said = (ROOT / "docs/schedules.md").read_text(encoding="utf-8")
    found = re.search(r"^Of them `(.*)`, with the one action `(.*)`, is told$", said, re.MULTILINE)
    assert found is not None
    files = {
        "toy/sums.cvm": block("cvm", "operator row_totals {", "schedules"),
        "schedules/c.sched": f"{found[1]} {{\n  {found[2]}\n}}\n",
    }
    for name, text in files.items():
        path = tmp_path / "spec" / name
        path.parent.mkdir(parents=True)
        path.write_text(text, encoding="utf-8")
    outcome = cvmgen("check", "--spec", "spec")
    assert (outcome.code, outcome.err) == (1, block("", "carries total"))
