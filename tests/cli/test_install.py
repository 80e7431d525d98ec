"""`cvmgen build --install PREFIX`: what lies where, and that programs find it, moved or not."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from cvmgen.version import __version__

from .conftest import Outcome, contents

Build = Callable[..., Outcome]

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="Linux names libraries so")

PROGRAM = """\
#include "toy.h"
#include <stdio.h>

int main(void) {
    int8_t x[] = {1, -2};
    int32_t y[2];
    cvmgen_tensor X = {.data = x, .extents = {2}, .rank = 1, .dtype = CVMGEN_INT8};
    cvmgen_tensor Y = {.data = y, .extents = {2}, .rank = 1, .dtype = CVMGEN_INT32};
    toy_shifted_args args;
    cvmgen_error error;
    toy_shifted_defaults(&args);
    args.X = &X, args.Y = &Y;
    if (toy_shifted(&args, &error)) return 1;
    printf("%d %d\\n", y[0], y[1]);
    return 0;
}
"""
CMAKE = """\
cmake_minimum_required(VERSION 3.13)
project(program C)
find_package(cvmgen {version} REQUIRED)
add_executable(program program.c)
target_link_libraries(program cvmgen::cvmgen)
"""


@pytest.fixture
def prefix(build: Build, tmp_path: Path) -> Path:
    """What was installed, at another place than it was installed to."""
    outcome = build("--install", tmp_path / "first", "--json")
    assert outcome.code == 0, outcome.err
    installed = outcome.json["installed"]
    assert installed[0] == str(tmp_path / f"first/lib/libcvmgen.so.{__version__}")
    (tmp_path / "first").rename(tmp_path / "moved")
    (tmp_path / "program.c").write_text(PROGRAM)
    return tmp_path / "moved"


def need(*programs: str) -> None:
    for program in programs:
        if shutil.which(program) is None:
            pytest.skip(f"no {program} here")


def run(*command: str | Path, folder: Path, **variables: str) -> str:
    done = subprocess.run(
        command, cwd=folder, env={**os.environ, **variables}, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_what_lies_where(prefix: Path) -> None:
    major = ".".join(__version__.split(".")[:2])
    assert os.readlink(prefix / "lib/libcvmgen.so") == f"libcvmgen.so.{major}"
    assert os.readlink(prefix / f"lib/libcvmgen.so.{major}") == f"libcvmgen.so.{__version__}"
    assert (prefix / f"lib/libcvmgen.so.{__version__}").stat().st_mode & 0o777 == 0o755
    headers = {"cvmgen.h", "toy.h", "toy/double.h", "toy/shifted.h", ".cvmgen-files"}
    headers |= {"cvmgen.hpp", "toy.hpp"}
    assert contents(prefix / "include/cvmgen").keys() == headers
    files = [path for path in (prefix / "lib").rglob("*") if path.is_file()]
    assert len(files) == 6
    assert not [path for path in files if b"/first" in path.read_bytes()], "none names the place"


def test_by_pkg_config(prefix: Path, tmp_path: Path) -> None:
    need("cc", "pkg-config")
    where = {"PKG_CONFIG_PATH": str(prefix / "lib/pkgconfig")}
    flags = run("pkg-config", "--cflags", "--libs", "cvmgen", folder=tmp_path, **where).split()
    rpath = f"-Wl,-rpath,{prefix / 'lib'}"
    run("cc", "-Wall", "-Werror", "program.c", *flags, rpath, "-o", "program", folder=tmp_path)
    assert run(tmp_path / "program", folder=Path("/")) == "2 -1\n"
    found = run("pkg-config", "--modversion", "cvmgen", folder=tmp_path, **where)
    assert found.strip() == __version__


@pytest.mark.parametrize("version", ["", __version__, ".".join(__version__.split(".")[:2])])
def test_by_cmake(prefix: Path, tmp_path: Path, version: str) -> None:
    need("cmake", "make")
    (tmp_path / "CMakeLists.txt").write_text(CMAKE.format(version=version))
    run("cmake", "-S", ".", "-B", "made", f"-DCMAKE_PREFIX_PATH={prefix}", folder=tmp_path)
    run("cmake", "--build", "made", folder=tmp_path)
    assert run(tmp_path / "made/program", folder=Path("/")) == "2 -1\n"


@pytest.mark.parametrize("version", ["99.0", "0.0.1"])
def test_cmake_refuses_another_version(prefix: Path, tmp_path: Path, version: str) -> None:
    need("cmake", "make")
    (tmp_path / "CMakeLists.txt").write_text(CMAKE.format(version=version))
    command = ("cmake", "-S", ".", "-B", "made", f"-DCMAKE_PREFIX_PATH={prefix}")
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode != 0
    assert re.search(r"compatible\s+with\s+requested\s+version", done.stderr)


def test_installing_again_takes_away_what_is_no_more(
    build: Build, spec: Path, tmp_path: Path
) -> None:
    assert build("--install", tmp_path / "out").code == 0
    other = tmp_path / "out/lib/libother.so"
    other.write_text("another one's")
    path = spec / "toy/numbers.cvm"
    path.write_text(path.read_text().split("operator shifted")[0])
    assert build("--install", tmp_path / "out").code == 0
    assert not (tmp_path / "out/include/cvmgen/toy/shifted.h").exists()
    assert other.exists()


REFUSED = [
    (("--check",), "error: --install goes with neither --check nor OPSET.OP"),
    (("toy.double",), "error: --install goes with neither --check nor OPSET.OP"),
    (("--target", "python"), "error: --install is about the C library: it needs --target c"),
]


@pytest.mark.parametrize(("arguments", "message"), REFUSED)
def test_what_does_not_go_together(
    build: Build, tmp_path: Path, arguments: tuple[str, ...], message: str
) -> None:
    outcome = build("--install", tmp_path / "out", *arguments)
    assert (outcome.code, outcome.err.strip()) == (2, message)


def test_a_prefix_that_cannot_be_written(build: Build, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    outcome = build("--install", tmp_path / "file")
    assert outcome.code == 1
    assert outcome.err.startswith("error: cannot install: ")
