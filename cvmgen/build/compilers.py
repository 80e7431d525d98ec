"""Find the compilers of this machine, and what they can do."""

from __future__ import annotations

import functools
import importlib.util
import json
import os
import re
import shlex
import shutil
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from cvmgen.build.cache import content_key, get_or_build
from cvmgen.build.process import run_command, run_commands, workers
from cvmgen.errors import BuildError, NoCompilerError


@dataclass(frozen=True, slots=True)
class _Language:
    """How a compiler of a language is found: the variable that names it, its usual names, its
    name in the `ziglang` wheel, the suffix of its sources."""

    name: str
    variable: str
    programs: tuple[str, ...]
    zig: str
    suffix: str


_USUAL_TOOLKIT = Path("/usr/local/cuda")

_C = _Language("C", "CC", ("cc", "gcc", "clang"), "cc", ".c")
_CPP = _Language("C++", "CXX", ("c++", "g++", "clang++"), "c++", ".cc")

# Schedules have unrolled what is worth it: gcc's own way with loops around loops takes a third of
# the time to compile a window, for kernels that are no faster.
_AS_WRITTEN = "-fno-loop-unroll-and-jam"

# gcc optimises the functions of a unit one after the other. In two parts it takes as long in all,
# and two processors do it in half the time. What both parts name they see in each other, by names
# that other units may have too: these are made local again.
_PARTS = ("--param=lto-partitions=2", "--param=lto-min-partition=100")


@dataclass(frozen=True, slots=True)
class Compiler:
    """A C or C++ compiler: the words that start it, what it says it is, the flags by which it
    leaves loops around loops as they are, and what makes names local in an object that it made in
    two parts; nothing where it makes none so."""

    command: tuple[str, ...]
    version: str
    as_written: tuple[str, ...]
    localise: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """How a user would start it."""
        return shlex.join(self.command)

    @property
    def identity(self) -> str:
        """What tells its output from that of another compiler, for cache keys."""
        return f"{self.name}\n{self.version}"

    def in_parts(
        self, reading: Sequence[str], options: Sequence[str], unit: str, made: str
    ) -> tuple[tuple[str, ...], ...]:
        """The commands that make an object of a unit in two parts, at once if there may be two."""
        whole, at_once = f"{made}.whole", f"-flto={min(workers(), 2)}"
        joined = ("-r", "-flinker-output=nolto-rel", at_once, *_PARTS, whole, "-o", made)
        return (
            (*self.command, *reading, *options, "-flto", "-c", unit, "-o", whole),
            (*self.command, *options, *joined),
            (*self.localise, made),
        )


@dataclass(frozen=True, slots=True)
class CudaCompiler:
    """NVRTC (`path` is the library) or nvcc (`path` is the program)."""

    kind: str
    path: Path
    identity: str


@dataclass(frozen=True, slots=True)
class Disassembler:
    """nvdisasm, which prints the machine code of kernels."""

    path: Path
    identity: str


def c_compiler() -> Compiler:
    """$CC, else the first of cc, gcc and clang, else the compiler of the `ziglang` wheel.

    $CC may hold arguments (`ccache gcc`). What was found out about a compiler is remembered in the
    cache folder until its program changes. Raises BuildError when there is none, or when the
    one that $CC names cannot be run.
    """
    return _compiler(_C)


def cpp_compiler() -> Compiler:
    """$CXX, else the first of c++, g++ and clang++, else the compiler of the `ziglang` wheel; as
    `c_compiler` in all else."""
    return _compiler(_CPP)


def _compiler(language: _Language) -> Compiler:
    chosen = os.environ.get(language.variable, "")
    command = _find(language, chosen, os.environ.get("PATH", ""))
    return _identify(language, command, _fingerprint(command))


def cuda_compiler(kind: str | None = None, driver: tuple[int, int] | None = None) -> CudaCompiler:
    """A compiler from CUDA C++ to machine code; `kind` "nvrtc" or "nvcc" asks for that one.

    A driver runs what compilers of its own major version and of older ones make: of these the
    newest is taken where a driver's version is given, as (12, 4).

    NVRTC comes first, from the `nvidia-cuda-nvrtc` wheel or a toolkit's folder: it is hermetic
    and takes about a tenth of nvcc's time. nvcc is looked for in $CUDA_HOME (or $CUDA_PATH), then
    on $PATH. Neither needs a driver or a GPU. Raises BuildError when there is none.
    """
    finders = {"nvrtc": _find_nvrtc, "nvcc": _find_nvcc}
    found = [path for name in ((kind,) if kind else finders) for path in finders[name]()]
    newer = []
    for path in found:
        name = "nvcc" if path.name.startswith("nvcc") else "nvrtc"
        major = _major(name, path)
        if driver is None or major <= driver[0]:
            return CudaCompiler(name, path, _cuda_identity(name, path))
        newer.append(f"{path} of CUDA {major}")
    if driver is not None and newer:
        raise BuildError(
            f"the driver is of CUDA {driver[0]}.{driver[1]} and runs nothing that a newer CUDA "
            f"compiles; found: {', '.join(newer)}; install a newer driver, or "
            f"{_older_nvrtc(driver[0])}"
        )
    what = {"nvrtc": "NVRTC", "nvcc": "nvcc"}.get(kind or "", "CUDA compiler")
    raise BuildError(
        f"no {what} found (looked for the nvidia-cuda-nvrtc wheel, and for a toolkit in $CUDA_HOME "
        "and on $PATH); `pip install 'cvmgen[cuda]'` brings one that needs no driver or GPU"
    )


def disassembler() -> Disassembler | None:
    """nvdisasm from the `nvidia-cuda-nvdisasm` wheel, else from a toolkit; None without one.

    Each release reads the machine code of its own compilers and of older ones.
    """
    wheels = (str(folder) for wheel in _wheels() for folder in wheel.glob("*/bin"))
    for folder in (*wheels, *_toolkit_programs()):
        if found := shutil.which("nvdisasm", path=folder):
            return Disassembler(Path(found), f"nvdisasm {_file_mark(found)}")
    return None


@functools.cache
def _find(language: _Language, chosen: str, search_path: str) -> tuple[str, ...]:
    name, variable = language.name, language.variable
    if chosen:
        program, *arguments = shlex.split(chosen) or [""]
        found = shutil.which(program, path=search_path)
        if found is None:
            raise BuildError(
                f"no {name} compiler: {variable}={chosen} names no program that can be run"
            )
        # Absolute, since it will be run from another folder.
        return (str(Path(found).absolute()), *arguments)
    for program in language.programs:
        if found := shutil.which(program, path=search_path):
            return (found,)
    if importlib.util.find_spec("ziglang"):
        return (sys.executable, "-m", "ziglang", language.zig)
    raise NoCompilerError(
        f"no {name} compiler found (looked at ${variable}, then for "
        f"{', '.join(language.programs)} on $PATH, then for the ziglang wheel); install one from "
        "your system's packages, or `pip install 'cvmgen[zig]'`. "
        'Without a compiler, target="python" still works'
    )


@functools.cache
def _identify(language: _Language, command: tuple[str, ...], fingerprint: str) -> Compiler:
    def probe(path: Path) -> None:
        found = {
            "version": _version(command),
            "as_written": _as_written(command, path.parent, language.suffix),
            "localise": _localise(command, path.parent, language.suffix),
        }
        path.write_text(json.dumps(found))

    flags = ("probe", "as_written", "localise", language.name, *command)
    key = content_key({}, compiler=fingerprint, flags=flags)
    found = json.loads(get_or_build(key, "-compiler.json", probe).read_text())
    more = (tuple(found[each]) for each in ("as_written", "localise"))
    return Compiler(command, found["version"], *more)


def _fingerprint(command: tuple[str, ...]) -> str:
    """Changes when one of the programs that `command` names is replaced."""
    marks = [_file_mark(path) for word in command if (path := shutil.which(word))]
    if "ziglang" in command:
        marks.append(_zig_version(command))
    return "\n".join(marks)


@functools.cache
def _zig_version(command: tuple[str, ...]) -> str:
    """That of the `ziglang` wheel of the Python in `command`."""
    if command[0] != sys.executable:
        module = command[: command.index("ziglang") + 1]
        return run_command((*module, "version"))[1].strip()
    from importlib.metadata import version  # a slow import

    return version("ziglang")


def _file_mark(path: str | Path) -> str:
    real = Path(path).resolve()
    status = real.stat()
    return f"{real} {status.st_size} {status.st_mtime_ns}"


def _version(command: tuple[str, ...]) -> str:
    status, output = run_command((*command, "--version"))
    if status != 0:
        raise BuildError(f"`{shlex.join(command)} --version` fails:\n{output.strip()}")
    # The target too: one gcc is like another of its version but for what it compiles for.
    return f"{output.strip()}\n{run_command((*command, '-dumpmachine'))[1].strip()}"


def _as_written(command: tuple[str, ...], scratch: Path, suffix: str) -> tuple[str, ...]:
    source = scratch / f"plain{suffix}"
    source.write_text("extern int probe;\n")
    arguments = ("-Werror", _AS_WRITTEN, "-c", source.name, "-o", "probe.o")
    return (_AS_WRITTEN,) if run_command((*command, *arguments), folder=scratch)[0] == 0 else ()


def _localise(command: tuple[str, ...], scratch: Path, suffix: str) -> tuple[str, ...]:
    """What makes names local, where a unit can be compiled in two parts."""
    source = scratch / f"parts{suffix}"
    source.write_text("static int one(void) { return 1; }\nint two(void) { return one(); }\n")
    program = run_command((*command, "-print-prog-name=objcopy"))[1].strip()
    tried = Compiler(command, "", (), (program, "--localize-hidden"))
    steps = tried.in_parts((), ("-O1", "-fPIC"), source.name, "parts.o")
    try:
        return tried.localise if run_commands(steps, folder=scratch)[0] == 0 else ()
    except BuildError:  # there is no such program
        return ()


def _find_nvrtc() -> list[Path]:
    """The libraries that there are, the newest first; of one major version wheels first."""
    return sorted(_nvrtc_libraries(), key=lambda path: _major("nvrtc", path), reverse=True)


def _nvrtc_libraries() -> Iterator[Path]:
    for folder in _wheels():
        yield from folder.glob("*/lib/libnvrtc.so.*")
        yield from folder.glob("*/bin/**/nvrtc64_*.dll")
    for toolkit in _toolkits():
        yield from toolkit.glob("lib*/libnvrtc.so.*")


def _version_in_name(path: Path) -> tuple[int, ...]:
    return tuple(int(number) for number in re.findall(r"\d+", path.name.removeprefix("nvrtc64")))


def _find_nvcc() -> list[Path]:
    found = (shutil.which("nvcc", path=folder) for folder in _toolkit_programs())
    return [Path(path) for path in found if path]


def _major(kind: str, path: Path) -> int:
    """The major version of CUDA that a compiler is of."""
    if kind == "nvrtc":
        return next(iter(_version_in_name(path)), 0)
    release = re.search(r"release (\d+)", _cuda_identity(kind, path))
    return int(release[1]) if release else 0


def _older_nvrtc(major: int) -> str:
    # From 13 on the wheel's name has no number.
    wheel = f"nvidia-cuda-nvrtc-cu{major}" if major < 13 else f"nvidia-cuda-nvrtc=={major}.*"
    return f"`pip install '{wheel}'`"


def _wheels() -> Iterator[Path]:
    """The folders that hold what the wheels of NVIDIA bring."""
    try:
        wheels = importlib.util.find_spec("nvidia")
    except ValueError:
        wheels = None
    if wheels is not None:
        yield from map(Path, wheels.submodule_search_locations or ())


def _toolkit_programs() -> Iterator[str]:
    """The folders of a toolkit's programs, as `shutil.which` takes them."""
    yield from (str(toolkit / "bin") for toolkit in _toolkits())
    yield os.environ.get("PATH", "")


def _toolkits() -> Iterator[Path]:
    for variable in ("CUDA_HOME", "CUDA_PATH"):
        if value := os.environ.get(variable):
            yield Path(value)
    if nvcc := shutil.which("nvcc"):
        yield Path(nvcc).resolve().parent.parent
    yield _USUAL_TOOLKIT


@functools.cache
def _cuda_identity(kind: str, path: Path) -> str:
    if kind == "nvrtc":  # its own version would mean loading it: 50 ms, for what may be a cache hit
        return f"nvrtc {_file_mark(path)}"
    status, output = run_command((str(path), "--version"))
    if status != 0:
        raise BuildError(f"`{path} --version` fails:\n{output.strip()}")
    return f"nvcc {output.strip()}"
