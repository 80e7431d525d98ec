"""Wheels with a library inside: their names, what they may ask of a system, their use."""

from __future__ import annotations

import importlib.util
import json
import os
import platform
import runpy
import struct
import subprocess
import sys
import zipfile
from pathlib import Path

import numpy
import pytest

from cvmgen.api.library import library_sources
from cvmgen.api.packaged import ABOUT, NAME, package_notes
from cvmgen.build import c_compiler
from cvmgen.errors import BuildError
from cvmgen.paths import generated_folder
from tests.targets import whole

ROOT = Path(__file__).resolve().parents[2]
NUMPY_SITE = Path(numpy.__file__).parent.parent
TOOL = runpy.run_path(str(ROOT / "tools/wheels.py"))

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="wheels with libraries are Linux's")


def elf(machine: int, *names: str, head: bytes = b"\x7fELF\x02\x01") -> bytes:
    return (
        head.ljust(18, b"\0")
        + struct.pack("<H", machine)
        + "".join(f"\0{name}" for name in (*names, "")).encode()
    )


FIT = [
    (elf(62, "libc.so.6", "libm.so.6", "GLIBC_2.2.5", "GLIBC_2.17"), "x86_64"),
    (elf(183, "libcvmgen.so.0.1", "libc.so.6", "GLIBC_2.17"), "aarch64"),
]
UNFIT = [
    (elf(62, "libc.so.6", "GLIBC_2.34"), "x86_64", "GLIBC", "a newer C library"),
    (elf(62, "libc.so.6", "libgomp.so.1", "GLIBC_2.17"), "x86_64", "libgomp", "another library"),
    (elf(62, "libc.so.6", "GLIBC_2.17"), "aarch64", "another machine", "another processor"),
    (elf(62, head=b"MZ"), "x86_64", "another machine", "no ELF"),
    (elf(62, "libc.so.6"), "x86_64", "GLIBC", "no versions at all"),
]


@pytest.mark.parametrize(("content", "machine"), FIT)
def test_what_a_wheel_may_hold(content: bytes, machine: str) -> None:
    TOOL["check"](content, machine)


@pytest.mark.parametrize(("content", "machine", "part", "why"), UNFIT)
def test_what_it_may_not(content: bytes, machine: str, part: str, why: str) -> None:
    with pytest.raises(SystemExit, match=part):
        TOOL["check"](content, machine)


# ---------------------------------------------------------------- a wheel


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel of this checkout, with the library that is compiled here."""
    for name in ("hatchling", "pip"):
        if importlib.util.find_spec(name) is None:
            pytest.skip(f"{name} is needed to build the wheel")
    try:
        c_compiler()
    except BuildError as error:
        pytest.skip(str(error))
    library, folder = tmp_path_factory.mktemp("library"), tmp_path_factory.mktemp("wheel")
    (library / NAME).write_bytes(whole(generated_folder()).read_bytes())
    said = package_notes(library_sources(generated_folder()), platform.machine())
    (library / ABOUT).write_text(json.dumps(said))
    (library / "tag").write_text(TOOL["tag"](platform.machine()))
    options = ("--no-deps", "--no-build-isolation", "--no-index", "--quiet")
    command = [sys.executable, "-m", "pip", "wheel", *options, "--wheel-dir", folder, ROOT]
    environment = {**os.environ, "CVMGEN_WHEEL_LIBRARY": str(library)}
    subprocess.run(command, env=environment, check=True)
    (made,) = folder.glob("*.whl")
    return made


@pytest.fixture(scope="module")
def site(wheel: Path) -> Path:
    """What an installation has."""
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(wheel.parent / "site")
    return wheel.parent / "site"


def run(site: Path, folder: Path, program: str) -> str:
    """What a program prints that has the installation, numpy and no compiler."""
    path = f"{site}{os.pathsep}{NUMPY_SITE}"
    variables = {"PYTHONPATH": path, "PATH": str(folder), "CVMGEN_CACHE": str(folder / "cache")}
    done = subprocess.run(
        # -S: without the checkout that this Python has installed
        [sys.executable, "-B", "-S", "-c", program],
        env=variables,
        cwd=folder,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_its_name_and_its_files(wheel: Path, site: Path) -> None:
    assert wheel.name.endswith(f"-py3-none-manylinux_2_17_{platform.machine()}.whl")
    (about_wheel,) = site.glob("*.dist-info/WHEEL")
    assert "Root-Is-Purelib: false" in about_wheel.read_text()
    assert (site / "cvmgen/_data/library" / NAME).is_file()


CALL = """
import numpy, cvmgen
X = numpy.array([[1, -2]], numpy.int8)
print(cvmgen.load("c").cvm.abs(X).tolist())
"""
BUILD = "import sys; from cvmgen.cli import main; sys.exit(main(['build', *{arguments}]))"


def test_it_needs_no_compiler(site: Path, tmp_path: Path) -> None:
    assert run(site, tmp_path, CALL) == "[[1, 2]]\n"
    assert not (tmp_path / "cache").exists()


def test_a_build_does_not_write_into_the_installation(site: Path, tmp_path: Path) -> None:
    before = {path: path.stat().st_mtime_ns for path in site.rglob("*")}
    said = run(site, tmp_path, BUILD.format(arguments=[]))
    assert said == f"library  {site / 'cvmgen/_data/library' / NAME}\n"
    run(site, tmp_path, BUILD.format(arguments=["--install", str(tmp_path / "prefix")]))
    assert (tmp_path / "prefix/lib/libcvmgen.so").exists()
    assert before == {path: path.stat().st_mtime_ns for path in site.rglob("*")}


@pytest.mark.slow
@pytest.mark.parametrize("machine", TOOL["MACHINES"])
def test_all_of_it(machine: str, tmp_path: Path) -> None:
    if importlib.util.find_spec("ziglang") is None:
        pytest.skip("no ziglang here; pip install 'cvmgen[zig]' brings it")
    command = [sys.executable, ROOT / "tools/wheels.py", tmp_path, machine]
    subprocess.run(command, cwd=tmp_path, env={**os.environ, "PYTHONPATH": str(ROOT)}, check=True)
    names = sorted(path.name.split("-", 2)[2] for path in tmp_path.glob("*.whl"))
    assert names == [f"py3-none-{tag}.whl" for tag in ("any", TOOL["tag"](machine))]
