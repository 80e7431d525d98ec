"""Bring what `gpu_first` needs on a machine without a network: python -m benchmarks.gpu_wheels.

Wheels for another Python and another machine, the host code of the operators for one without a C++
compiler, and the revision, in .gpu-wheels/.
"""

from __future__ import annotations

import argparse
import importlib.metadata
import shutil
import subprocess
import sys
from pathlib import Path

from benchmarks.gpu_first import WHEELS, revision
from cvmgen.api.cuda_cpu_backend import PRELUDE
from cvmgen.api.library import library_sources
from cvmgen.build import compile_library
from cvmgen.paths import generated_folder

# In the releases that the tests here run with.
PACKAGES = (
    "lark", "interegular", "sympy", "mpmath", "jinja2", "markupsafe", "pytest", "pytest-xdist",
    "execnet", "pluggy", "iniconfig", "packaging", "pygments", "hypothesis", "sortedcontainers",
)  # fmt: skip
# The newest NVRTC has 90 MB; this one compiles for all that drivers of CUDA 12 and 13 run, newer
# devices by PTX. A machine's own, which PyTorch brings, comes before it.
NVRTC = "nvidia-cuda-nvrtc-cu12==12.6.85"
PLATFORMS = ("manylinux_2_28_x86_64", "manylinux_2_17_x86_64", "manylinux2014_x86_64",
             "manylinux_2_12_x86_64", "manylinux2010_x86_64", "manylinux1_x86_64")  # fmt: skip
MOST = 60 << 20  # bytes of all: what a small working tree can carry


def download(folder: Path, python: str) -> None:
    wanted = [f"{name}=={importlib.metadata.version(name)}" for name in PACKAGES]
    subprocess.run(
        (sys.executable, "-m", "pip", "download", "--quiet", "--disable-pip-version-check",
         "--no-deps", "--only-binary=:all:", "--implementation", "cp", "--python-version", python,
         *(f"--platform={each}" for each in PLATFORMS), "--dest", str(folder), *wanted, NVRTC),
        check=True,
    )  # fmt: skip


def host_code() -> Path:
    """The library with as little as possible that a machine may not have."""
    sources = library_sources(generated_folder(), "cuda")
    flags = ("-static-libstdc++", "-static-libgcc")
    return compile_library(
        sources, name="cvmgen-cuda-carried", flags=flags, threads=False, prelude=PRELUDE
    )


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--python", default="3.12", help="the Python that will run there")
    parser.add_argument("--out", type=Path, default=WHEELS)
    given = parser.parse_args()
    shutil.rmtree(given.out, ignore_errors=True)
    given.out.mkdir(parents=True)
    download(given.out, given.python)
    shutil.copy(host_code(), given.out / "libcvmgen-cuda.so")
    (given.out / "revision").write_text(f"{revision()}\n")
    size = sum(path.stat().st_size for path in given.out.iterdir())
    print(f"{given.out}: {len(list(given.out.iterdir()))} files, {size / (1 << 20):.1f} MiB")
    if size > MOST:
        print(f"that is more than {MOST >> 20} MiB", file=sys.stderr)
    return int(size > MOST)


if __name__ == "__main__":
    sys.exit(main())
