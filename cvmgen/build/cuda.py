"""CUDA C++ to machine code, on machines with and without a GPU."""

from __future__ import annotations

import functools
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypedDict, Unpack

from cvmgen.build import machine_code, product_loops
from cvmgen.build.cache import content_key, get_or_build, keep_failed, write_sources
from cvmgen.build.compilers import CudaCompiler, Disassembler, cuda_compiler, disassembler
from cvmgen.build.diagnostics import explain
from cvmgen.build.machine_code import (
    Instructions,
    instructions,
    ptx_opcodes,
    sass_lines,
    sass_opcodes,
)
from cvmgen.build.nvrtc import load_nvrtc
from cvmgen.build.process import run_command
from cvmgen.build.product_loops import ProductLoop
from cvmgen.errors import BuildError

# No contraction to fused multiply-add: every target rounds alike. Line numbers cost nothing at
# run time and lead profilers and sanitizers back to the source. -v: registers and spills, in the
# log.
_OPTIONS = ("--std=c++17", "--fmad=false", "-lineinfo", "--ptxas-options=-v")
# nvcc has 128-bit integers as it is.
_OWN_OPTIONS = {"nvrtc": ("--device-int128",), "nvcc": ()}

_ARCHITECTURE = re.compile(r"sm_\d+[af]?")

# A kernel, then the functions that it calls, each with its own copy and its own spills.
_KERNEL = re.compile(r"Compiling entry function '(?P<kernel>[^']+)'")
_FRAME = re.compile(r"(\d+) bytes stack frame, (\d+) bytes spill stores, (\d+) bytes spill loads")
_USED = re.compile(
    r"Used (?P<registers>\d+) registers"
    r"(?:[^\n]*?(?P<stack>\d+) bytes cumulative stack size)?"
    r"(?:[^\n]*?(?P<shared>\d+) bytes smem)?"
)


@dataclass(frozen=True, slots=True)
class Resources:
    """What one thread of a kernel takes: registers, and bytes of stack and of spilled registers;
    `shared` are the bytes of static shared memory that a block takes."""

    registers: int
    stack: int
    spilled: int
    shared: int


@dataclass(frozen=True, slots=True)
class DeviceCode:
    """What a driver loads: a cubin, or PTX; and the compiler that made it."""

    code: bytes
    compiler: CudaCompiler

    @property
    def origin(self) -> str:
        """The compiler and its version."""
        if self.compiler.kind == "nvcc":
            release = re.search(r"release [\d.]+", self.compiler.identity)
            return f"nvcc ({release[0] if release else self.compiler.path})"
        return f"NVRTC {load_nvrtc(self.compiler.path).version()} ({self.compiler.path})"


class CudaOptions(TypedDict, total=False):
    """How a source is compiled.

    `includes` are the headers that `#include "..."` finds, `name` is the file that messages
    name. `compiler` asks for "nvrtc" or "nvcc"; None takes what there is. The `manifest` tells
    where the formulas of refused code stand.
    """

    architecture: str
    includes: Mapping[str, str] | None
    name: str
    flags: Sequence[str]
    compiler: str | CudaCompiler | None
    manifest: Path | None


class UnknownArchitecture(BuildError):
    """A compiler has not heard of a device."""


@dataclass(frozen=True, slots=True)
class _Job:
    compiler: CudaCompiler
    name: str
    source: str
    includes: Mapping[str, str]
    architecture: str
    others: tuple[str, ...]
    manifest: Path | None

    @property
    def options(self) -> tuple[str, ...]:
        return (f"--gpu-architecture={self.architecture}", *self.others)

    @property
    def sources(self) -> dict[str, str]:
        return {**self.includes, self.name: self.source}

    @property
    def key(self) -> str:
        return content_key(
            self.sources, compiler=self.compiler.identity, flags=("cuda", self.name, *self.options)
        )


def compile_cuda(source: str, **options: Unpack[CudaOptions]) -> bytes:
    """The cubin of `source` for its architecture, as cuModuleLoadData takes it; cached.

    NVRTC sees device code only and has no system headers: what is for the host stands inside
    `#ifndef __CUDACC_RTC__`. Raises BuildError when there is no compiler or it refuses the code;
    ValueError for a malformed architecture.
    """
    return _cubin(_job(source, **options))


def compile_for_device(
    source: str,
    *,
    architecture: str,
    driver: tuple[int, int],
    includes: Mapping[str, str],
    name: str,
    manifest: Path | None = None,
) -> DeviceCode:
    """What a driver of this version of CUDA loads for its device; cached.

    Machine code, or where the compiler is older than the device, PTX of the newest architecture
    before it that the compiler knows: the driver compiles that. Raises BuildError.
    """
    compiler = cuda_compiler(driver=driver)
    asked: CudaOptions = {
        "architecture": architecture,
        "includes": includes,
        "name": name,
        "compiler": compiler,
        "manifest": manifest,
    }
    job = _job(source, **asked)
    try:
        return DeviceCode(_cubin(job), compiler)
    except UnknownArchitecture:
        before = [
            each for each in _architectures(compiler) if _number(each) < _number(architecture)
        ]
        if not before:
            raise
        base = f"compute_{_number(max(before, key=_number))}"
        job = _job(source, base=base, **asked)
        return DeviceCode(_ptx(job), compiler)


def cuda_resources(source: str, **options: Unpack[CudaOptions]) -> dict[str, Resources]:
    """What each kernel of `source` takes, by its (mangled) name; arguments as in `compile_cuda`."""
    job = _job(source, **options)
    _cubin(job)

    def build(path: Path) -> None:
        path.write_text(_compile(job, path.parent)[1])

    return dict(_resources(get_or_build(job.key, ".log", build).read_text()))


def cuda_instructions(source: str, **options: Unpack[CudaOptions]) -> dict[str, Instructions]:
    """The instructions of each kernel of `source`, by its name; arguments as in `compile_cuda`.

    They are counted in the machine code where `disassembler()` finds nvdisasm, else in PTX.
    """
    job = _job(source, **options)
    reader = disassembler()

    def build(path: Path) -> None:
        path.write_text(json.dumps(_opcodes(job, reader, path.parent)))

    key = content_key(
        {"machine_code.py": _reading()},
        compiler="PTX" if reader is None else reader.identity,
        flags=("opcodes", job.key),
    )
    found = json.loads(get_or_build(key, "-opcodes.json", build).read_text())
    loops = {kernel: ProductLoop(*each) for kernel, each in found["loops"].items()}
    return {
        kernel: instructions(each, loops.get(kernel), ptx=reader is None)
        for kernel, each in found["opcodes"].items()
    }


def cuda_assembly(source: str, **options: Unpack[CudaOptions]) -> list[tuple[str, int]]:
    """The machine code of `source`, each instruction with the line of the source that it is of;
    arguments as in `compile_cuda`. Raises BuildError also where there is no nvdisasm."""
    job = _job(source, **options)
    reader = disassembler()
    if reader is None:
        raise BuildError("no nvdisasm found; `pip install 'cvmgen[cuda]'` brings it")

    def build(path: Path) -> None:
        text = _disassembled(job, reader, path.parent, "--print-line-info-inline")
        path.write_text(json.dumps(list(sass_lines(text, job.name))))

    key = content_key(
        {"machine_code.py": _reading()}, compiler=reader.identity, flags=("lines", job.key)
    )
    found = json.loads(get_or_build(key, "-assembly.json", build).read_text())
    return [(str(text), int(line)) for text, line in found]


def checked_architecture(text: str) -> str:
    """`text`, which must read like sm_80; ValueError where it does not."""
    if not _ARCHITECTURE.fullmatch(text):
        raise ValueError(f"an architecture reads like sm_80, not {text!r}")
    return text


def _job(
    source: str,
    architecture: str = "sm_80",
    includes: Mapping[str, str] | None = None,
    name: str = "kernel.cu",
    flags: Sequence[str] = (),
    compiler: str | CudaCompiler | None = None,
    manifest: Path | None = None,
    base: str | None = None,
) -> _Job:
    """`base`: the virtual architecture to stop at, as compute_90."""
    checked_architecture(architecture)
    found = compiler if isinstance(compiler, CudaCompiler) else cuda_compiler(compiler)
    options = (*_OPTIONS, *_OWN_OPTIONS[found.kind], *flags)
    wanted = base or architecture
    return _Job(found, name, source, includes or {}, wanted, options, manifest)


def _number(architecture: str) -> int:
    """90 for sm_90a."""
    return int(re.sub(r"\D", "", architecture))


def _resources(log: str) -> Iterator[tuple[str, Resources]]:
    """What ptxas says of each kernel."""
    _, *parts = _KERNEL.split(log)
    for kernel, text in zip(parts[::2], parts[1::2], strict=True):
        used = _USED.search(text)
        frames = [tuple(map(int, sizes)) for sizes in _FRAME.findall(text)]
        if used is None or not frames:
            raise BuildError(f"ptxas does not say in its usual words what {kernel} takes:\n{log}")
        spilled = sum(stores + loads for _, stores, loads in frames)
        stack = int(used["stack"] or frames[0][0])
        shared = int(used["shared"] or 0)
        yield kernel, Resources(int(used["registers"]), stack, spilled, shared)


def _opcodes(job: _Job, reader: Disassembler | None, scratch: Path) -> Mapping[str, object]:
    """The opcodes of kernels, and of those with loops of products what they cost."""
    _cubin(job)  # whose log is asked for next
    if reader is None:
        return {"opcodes": ptx_opcodes(_compile(job, scratch, ptx=True)[0].decode()), "loops": {}}
    text = _disassembled(job, reader, scratch)
    loops = {
        name: (each.instructions, each.products)
        for name, each in product_loops.product_loops(text).items()
    }
    return {"opcodes": sass_opcodes(text), "loops": loops}


def _disassembled(job: _Job, reader: Disassembler, scratch: Path, *flags: str) -> str:
    """What nvdisasm prints of the machine code."""
    cubin = scratch / "read.cubin"
    cubin.write_bytes(_cubin(job))
    status, text = run_command((str(reader.path), "-c", *flags, cubin.name), folder=scratch)
    if status != 0:
        raise BuildError(
            f"{reader.path} cannot read what {job.compiler.kind} made of {job.name}: "
            f"{text.strip()}; `pip install --upgrade nvidia-cuda-nvdisasm` brings the newest"
        )
    return text


def _cubin(job: _Job) -> bytes:
    """The machine code; the log is kept as well, so that asking for it compiles nothing."""

    def build(path: Path) -> None:
        cubin, log = _compile(job, path.parent)
        get_or_build(job.key, ".log", lambda path: _write(path, log))
        path.write_bytes(cubin)

    return get_or_build(job.key, ".cubin", build).read_bytes()


def _ptx(job: _Job) -> bytes:
    def build(path: Path) -> None:
        path.write_bytes(_compile(job, path.parent, ptx=True)[0])

    return get_or_build(job.key, ".ptx", build).read_bytes()


def _write(path: Path, text: str) -> None:
    path.write_text(text)


def _compile(job: _Job, scratch: Path, *, ptx: bool = False) -> tuple[bytes, str]:
    """The machine code, or the PTX that it is made of, and the log."""
    run_compiler = _run_nvrtc if job.compiler.kind == "nvrtc" else _run_nvcc
    made, log = run_compiler(job, scratch, ptx)
    if made is not None:
        return made, log
    known = _architectures(job.compiler)
    number = f"sm_{_number(job.architecture)}"
    if known and number not in known:
        what = f"{job.compiler.kind} compiles for no architecture {job.architecture}"
        raise UnknownArchitecture(f"{what}; it knows {', '.join(known)}")
    kept = keep_failed(Path(job.name).stem, job.key, job.sources)
    headline = f"{job.compiler.kind} refuses {job.name}"
    raise BuildError(explain(headline, log, job.sources, kept, job.manifest))


def _run_nvrtc(job: _Job, _: Path, ptx: bool) -> tuple[bytes | None, str]:
    library = load_nvrtc(job.compiler.path)
    return library.compile(job.source, job.name, job.includes, job.options, ptx=ptx)


def _run_nvcc(job: _Job, scratch: Path, ptx: bool) -> tuple[bytes | None, str]:
    folder = scratch / "sources"
    write_sources(folder, job.sources)
    made = scratch / "made"
    wanted = "-ptx" if ptx else "-cubin"
    arguments = (wanted, "-I.", *job.options, job.name, "-o", str(made))
    status, log = run_command((str(job.compiler.path), *arguments), folder=folder)
    return made.read_bytes() if status == 0 else None, log


def _architectures(compiler: CudaCompiler) -> list[str]:
    """What a compiler compiles for; nothing where it does not say."""
    if compiler.kind == "nvrtc":
        return load_nvrtc(compiler.path).architectures()
    status, text = run_command((str(compiler.path), "--list-gpu-code"))
    return text.split() if status == 0 else []


@functools.cache
def _reading() -> str:
    """The code that reads machine code: what it found is found again when it changes."""
    read = (machine_code.__file__, product_loops.__file__)
    return "".join(Path(each).read_text(encoding="utf-8") for each in read)
