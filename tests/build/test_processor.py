"""Which level of instructions a processor has, and what is compiled for it."""

from __future__ import annotations

import ctypes
import platform
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from cvmgen.api.library import deployed
from cvmgen.build import c_compiler, compile_library, processor
from cvmgen.build.processor import level_flags, level_of

V3 = "fpu sse2 fma movbe xsave avx f16c abm bmi1 avx2 bmi2"
V4 = f"{V3} avx512f avx512dq avx512cd avx512bw avx512vl"
LEVELS = [
    (V4, 4, "the highest"),
    (V3, 3, "the one below"),
    (V4.replace(" avx512bw", ""), 3, "where a part of a level is missing, too"),
    (V3.replace(" bmi2", ""), None, "between levels: all are made, and the loader looks"),
    ("fpu sse2", None, "an old one"),
    ("", None, "nothing is told"),
]
ABOUT = "processor\t: 0\nmodel name\t: One\nflags\t\t: {}\nbugs\t\t: none\n"

LEVEL = """\
int level(void);
#ifdef CVMGEN_X86_LEVEL
int level(void) { return CVMGEN_X86_LEVEL; }
#else
int level(void) { return 0; }
#endif
"""
MACROS = '#include "cvmgen_runtime.h"\nfound: CVMGEN_FOR_AVX2 | CVMGEN_FOR_AVX512\n'
MADE = [
    (
        (),
        r'target_clones("avx2", "default")',
        r'target_clones("arch=x86-64-v4", "avx2", "default")',
    ),
    (("-DCVMGEN_X86_LEVEL=4",), r'target("avx2")', r'target("arch=x86-64-v4")'),
    (("-DCVMGEN_X86_LEVEL=3",), r'target("avx2")', r'target("avx2")'),
]
on_x86 = pytest.mark.skipif(platform.machine() != "x86_64", reason="levels are those of x86-64")


@pytest.fixture
def of_level_3(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(processor, "_described", lambda: ABOUT.format(V3))
    level_flags.cache_clear()
    yield
    level_flags.cache_clear()


@pytest.mark.parametrize(("flags", "level", "why"), LEVELS)
def test_levels(flags: str, level: int | None, why: str) -> None:
    assert level_of(ABOUT.format(flags)) == level, why
    assert level_of(ABOUT.format(flags).replace("flags", "Features")) is None, "in others' words"


@on_x86
def test_libraries_are_made_for_this_machine(of_level_3: None) -> None:
    own = compile_library({"level.c": LEVEL}, name="level")
    assert ctypes.CDLL(str(own)).level() == 3
    for_all = compile_library({"level.c": LEVEL}, name="level", flags=deployed())
    assert ctypes.CDLL(str(for_all)).level() == 0, "others are linked with it, on other machines"


@on_x86
@pytest.mark.parametrize(("flags", "narrow", "wide"), MADE)
def test_what_kernels_are_made_for(
    generated: Path, flags: tuple[str, ...], narrow: str, wide: str
) -> None:
    compiler = c_compiler()
    if "clang" in compiler.version:
        pytest.skip("releases of clang differ")
    command = (*compiler.command, *flags, "-E", "-I", str(generated / "c"), "-x", "c", "-")
    text = subprocess.run(command, input=MACROS, capture_output=True, text=True, check=True).stdout
    found = re.search(
        r"^found: __attribute__\(\((.*)\)\) \| __attribute__\(\((.*)\)\)$", text, re.M
    )
    assert found is not None
    assert found.groups() == (narrow, wide)
