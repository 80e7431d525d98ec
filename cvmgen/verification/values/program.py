"""Generated C as modules: compiled by clang, with nothing optimised that the text does not say."""

from __future__ import annotations

import functools
import importlib.util
import os
import shlex
import shutil
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path

from cvmgen.build.cache import content_key, get_or_build
from cvmgen.build.process import run_command
from cvmgen.errors import BuildError
from cvmgen.verification.values.llvm import Module
from cvmgen.verification.values.llvm_text import read_module

# What C leaves undefined and clang would reckon with is told: an overflow, a place beyond an array,
# a shift by as many bits as there are.
_TRAPS = "signed-integer-overflow,array-bounds,shift-exponent"
# Loops stay loops, calls and accesses are as the text has them but for locals in registers.
_FLAGS = (
    "-S", "-emit-llvm", "-O1", "-g0", "-w", "-fno-vectorize", "-fno-slp-vectorize",
    "-fno-unroll-loops", "-ffp-contract=off", "-fno-sanitize=all",
    f"-fsanitize={_TRAPS}", f"-fsanitize-trap={_TRAPS}",
    "-DCVMGEN_ROUTINE=CVMGEN_FUNCTION __attribute__((noinline, used))",
)  # fmt: skip
_PLUS = ("-x", "c++", "-std=c++17", "-fno-exceptions", "-fno-rtti")
PRELUDE = "cpu/cvmgen_cpu.h"  # what CUDA's text is compiled with as C++


@functools.cache
def clang() -> tuple[str, ...]:
    """$CVMGEN_CLANG, else clang, else that of the `ziglang` wheel."""
    chosen = os.environ.get("CVMGEN_CLANG", "")
    if chosen:
        return tuple(shlex.split(chosen))
    if found := shutil.which("clang"):
        return (found,)
    if importlib.util.find_spec("ziglang"):
        return (sys.executable, "-m", "ziglang", "cc")
    raise BuildError(
        "no clang found (looked at $CVMGEN_CLANG, for clang on $PATH, then for the ziglang wheel); "
        "`pip install 'cvmgen[verify]'` brings one"
    )


@functools.cache
def identity() -> str:
    """Which clang it is, as it says itself."""
    _, version = run_command([*clang(), "--version"])
    return version


def _command(name: str) -> tuple[str, ...]:
    """The compiler for a unit, and how the language of the unit is told."""
    found = clang()
    if name.endswith(".c"):
        return *found, *_FLAGS, "-std=gnu11"
    front = ("-include", PRELUDE) if name.endswith(".cu") else ()
    plus = (*found[:-1], "c++") if found[-1] == "cc" else found  # Zig's finds the headers of C++
    return *plus, *_FLAGS, *_PLUS, *front


def module_of(name: str, sources: Mapping[str, str], flags: Iterable[str] = ()) -> Module:
    """The unit `name` of `sources`, files by their names below one folder."""
    return _read(compiled(name, sources, tuple(flags)))


@functools.lru_cache(maxsize=256)
def _read(path: Path) -> Module:
    return read_module(path.read_text(encoding="utf-8"))


def compiled(name: str, sources: Mapping[str, str], flags: tuple[str, ...]) -> Path:
    """The module of a unit as a file."""
    command = (*_command(name), *flags)
    key = content_key(dict(sources), compiler=identity(), flags=(name, *command))

    def build(path: Path) -> None:
        folder = path.parent / f"{path.name}.sources"
        for each, text in sources.items():
            target = folder / each
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text(text, encoding="utf-8")
        status, output = run_command([*command, f"-I{folder}", "-o", str(path), str(folder / name)])
        shutil.rmtree(folder, ignore_errors=True)
        if status:
            raise BuildError(f"clang refuses {name}:\n{output}")

    return get_or_build(key, ".ll", build)
