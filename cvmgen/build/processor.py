"""Which of the levels that kernels are made for the processor of this machine has."""

from __future__ import annotations

import functools
import platform
import re
from pathlib import Path

# What Linux calls the instructions of x86-64-v3, and those that v4 adds.
_V3 = {"avx", "avx2", "bmi1", "bmi2", "f16c", "fma", "abm", "movbe", "xsave"}
_V4 = {"avx512f", "avx512bw", "avx512cd", "avx512dq", "avx512vl"}
_LEVELS = {4: _V3 | _V4, 3: _V3}
_FLAGS = re.compile(r"^flags\s*:(.*)", re.M)
_DESCRIPTION = Path("/proc/cpuinfo")
_FIRST = 1 << 14  # of each processor that the machine has the same is told


@functools.cache
def level_flags() -> tuple[str, ...]:
    """The macro by which kernels are made for this machine's level alone: the ones that the loader
    would take of those for all levels, in half the time. Without it where the level is unknown."""
    level = level_of(_described()) if platform.machine() == "x86_64" else None
    return () if level is None else (f"-DCVMGEN_X86_LEVEL={level}",)


def level_of(description: str) -> int | None:
    """The highest level of a processor that Linux describes so."""
    told = _FLAGS.search(description)
    has = set(told[1].split()) if told else set()
    return next((level for level, needs in _LEVELS.items() if needs <= has), None)


def _described() -> str:
    try:
        with _DESCRIPTION.open(encoding="ascii", errors="replace") as file:
            return file.read(_FIRST)
    except OSError:
        return ""
