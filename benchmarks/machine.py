"""The machine of a measurement, as far as it matters for speed; nothing that names it."""

from __future__ import annotations

import os
import platform
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from cvmgen.build import c_compiler

CPU = Path("/proc/cpuinfo")
# What kernels and libraries choose their code by, as the kernel spells it.
FLAGS = (
    "sse4_2", "avx2", "fma", "avx_vnni", "avx512f", "avx512bw", "avx512vl", "avx512_vnni",
    "avx512_bf16", "amx_int8", "asimddp", "i8mm", "sve",
)  # fmt: skip


@contextmanager
def own_copy(library: Path) -> Iterator[Path]:
    """A copy of a file for one process: the pages of a library stay where they are in memory while
    others load the same file, and some places are slower."""
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        yield Path(shutil.copy(library, folder))


def describe() -> dict[str, str]:
    entries = _entries()
    flags = set((entries.get("flags") or entries.get("Features", "")).split())
    family = [entries[key] for key in ("cpu family", "model") if key in entries]
    name = entries.get("model name") or platform.machine()
    if family:
        name = f"{name}, family {', model '.join(family)}"
    return {
        "cpu": name,
        "flags": " ".join(each for each in FLAGS if each in flags),
        "cores": str(usable_cores()),
        "system": f"{platform.system()} {platform.machine()}",
        "compiler": c_compiler().version.splitlines()[0],
        "python": platform.python_version(),
    }


def usable_cores() -> int:
    """As many as this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _entries() -> dict[str, str]:
    """What Linux says of the first core; nothing elsewhere."""
    if not CPU.is_file():
        return {}
    first = CPU.read_text().split("\n\n")[0]
    pairs = (line.split(":", 1) for line in first.splitlines() if ":" in line)
    return {key.strip(): value.strip() for key, value in pairs}
