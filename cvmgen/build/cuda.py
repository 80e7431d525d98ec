"""CUDA C++ to machine code, on machines with and without a GPU."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from cvmgen.build.cache import content_key, get_or_build, keep_failed, write_sources
from cvmgen.build.compilers import CudaCompiler, cuda_compiler
from cvmgen.build.diagnostics import explain
from cvmgen.build.nvrtc import load_nvrtc
from cvmgen.build.process import run
from cvmgen.errors import BuildError

# No contraction to fused multiply-add: every target rounds alike. Line numbers cost nothing at
# run time and lead profilers and sanitizers back to the source. -v: registers and spills, in the
# log.
_OPTIONS = ("--std=c++17", "--fmad=false", "-lineinfo", "--ptxas-options=-v")

_ARCHITECTURE = re.compile(r"sm_\d+[af]?")

_RESOURCES = re.compile(
    r"Function properties for (?P<kernel>\S+)\n"
    r"\D*(?P<stack>\d+) bytes stack frame, (?P<stores>\d+) bytes spill stores, "
    r"(?P<loads>\d+) bytes spill loads\n"
    r"\D*Used (?P<registers>\d+) registers"
)


@dataclass(frozen=True, slots=True)
class Resources:
    """What one thread of a kernel takes: registers, and bytes of stack and of spilled registers."""

    registers: int
    stack: int
    spilled: int


@dataclass(frozen=True, slots=True)
class _Job:
    compiler: CudaCompiler
    name: str
    source: str
    includes: Mapping[str, str]
    options: tuple[str, ...]

    @property
    def sources(self) -> dict[str, str]:
        return {**self.includes, self.name: self.source}

    @property
    def key(self) -> str:
        return content_key(
            self.sources, compiler=self.compiler.identity, flags=("cuda", self.name, *self.options)
        )


def compile_cuda(
    source: str,
    *,
    architecture: str = "sm_80",
    includes: Mapping[str, str] | None = None,
    name: str = "kernel.cu",
    flags: Sequence[str] = (),
    compiler: str | None = None,
) -> bytes:
    """The cubin of `source` for `architecture`, as cuModuleLoadData takes it; cached.

    `includes` are the headers that `#include "..."` finds, `name` is the file that messages
    name. NVRTC sees device code only and has no system headers: what is for the host stands
    inside `#ifndef __CUDACC_RTC__`. `compiler` asks for "nvrtc" or "nvcc"; None takes what there
    is. Raises BuildError when there is no compiler or it refuses the code; ValueError for a
    malformed architecture.
    """
    job = _job(source, architecture, includes, name, flags, compiler)
    return get_or_build(job.key, ".cubin", lambda path: _store(job, path)).read_bytes()


def cuda_resources(
    source: str,
    *,
    architecture: str = "sm_80",
    includes: Mapping[str, str] | None = None,
    name: str = "kernel.cu",
    flags: Sequence[str] = (),
    compiler: str | None = None,
) -> dict[str, Resources]:
    """What each kernel of `source` takes, by its (mangled) name; arguments as in `compile_cuda`."""
    job = _job(source, architecture, includes, name, flags, compiler)
    log = get_or_build(job.key, ".log", lambda path: _store(job, path)).read_text()
    return {
        found["kernel"]: Resources(
            registers=int(found["registers"]),
            stack=int(found["stack"]),
            spilled=int(found["stores"]) + int(found["loads"]),
        )
        for found in _RESOURCES.finditer(log)
    }


def _job(
    source: str,
    architecture: str,
    includes: Mapping[str, str] | None,
    name: str,
    flags: Sequence[str],
    compiler: str | None,
) -> _Job:
    if not _ARCHITECTURE.fullmatch(architecture):
        raise ValueError(f"an architecture reads like sm_80, not {architecture!r}")
    options = (f"--gpu-architecture={architecture}", *_OPTIONS, *flags)
    return _Job(cuda_compiler(compiler), name, source, includes or {}, options)


def _store(job: _Job, path: Path) -> None:
    """Write the cubin, or the log where `path` ends so."""
    cubin, log = _compile(job, path.parent)
    if cubin is None:
        kept = keep_failed(Path(job.name).stem, job.key, job.sources)
        headline = f"{job.compiler.kind} refuses {job.name}"
        raise BuildError(explain(headline, log, job.sources, kept))
    if path.suffix == ".log":
        path.write_text(log)
    else:
        path.write_bytes(cubin)


def _compile(job: _Job, scratch: Path) -> tuple[bytes | None, str]:
    if job.compiler.kind == "nvrtc":
        library = load_nvrtc(job.compiler.path)
        return library.compile(job.source, job.name, job.includes, job.options)
    folder = scratch / "sources"
    write_sources(folder, job.sources)
    made = scratch / "nvcc.cubin"
    arguments = ("-cubin", "-I.", *job.options, job.name, "-o", str(made))
    status, log = run((str(job.compiler.path), *arguments), folder=folder)
    return made.read_bytes() if status == 0 else None, log
