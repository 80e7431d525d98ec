"""C sources to a shared library."""

from __future__ import annotations

import re
import sys
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from cvmgen.build.cache import content_key, get_or_build, keep_failed, write_sources
from cvmgen.build.compilers import Compiler, c_compiler
from cvmgen.build.diagnostics import explain
from cvmgen.build.process import run, workers
from cvmgen.errors import BuildError
from cvmgen.paths import checkout

# What a formula may say: compare what cannot differ, or with what an int8 never reaches (each of
# its kernels is for one element type); divide by 0 where no call comes to; look for what only
# elements of another type have.
_LEGAL = (
    "-Wno-type-limits",
    "-Wno-tautological-compare",
    "-Wno-div-by-zero",
    "-Wno-unused-but-set-variable",
)
# Contraction to fused multiply-add would make floating-point results depend on the machine.
_COMMON = ("-std=c11", "-fPIC", "-Wall", "-Wextra", *_LEGAL, "-ffp-contract=off")
_OPTIMISED = ("-O3",)
_SANITIZED = ("-O1", "-g", "-fno-omit-frame-pointer", "-fno-sanitize-recover=all")

# Strings and characters, which may hold what looks like a comment, and comments.
_TOKEN = re.compile(
    r""" "(?:\\.|[^"\\])*" | '(?:\\.|[^'\\])*' | /\*.*?\*/ | //[^\n]* """, re.X | re.S
)

_SUFFIX = ".dll" if sys.platform == "win32" else ".so"


@dataclass(frozen=True, slots=True)
class _Job:
    """What all units of one library share."""

    name: str
    compiler: Compiler
    flags: tuple[str, ...]
    headers: Mapping[str, str]

    @property
    def options(self) -> list[str]:
        """The flags for compiling; clang warns of libraries there."""
        return [flag for flag in self.flags if not flag.startswith("-l")]

    @property
    def libraries(self) -> list[str]:
        """What to link with; it counts only after what needs it."""
        return [flag for flag in (*self.flags, "-lm") if flag.startswith("-l")]


def compile_library(
    sources: Mapping[str, str],
    *,
    name: str,
    flags: Sequence[str] = (),
    openmp: bool = True,
    sanitizers: Sequence[str] = (),
) -> Path:
    """Compile and link `sources` (relative name to text, `.c` and `.h`); the library's path.

    The library lies in the cache and must not be changed; the same request finds it again. `name`
    is for messages and file names. `flags` come after our own (C11, -O3, no contraction of
    floating-point operations). With `openmp`, pragmas work where the compiler has OpenMP and are
    ignored where it has not. `sanitizers` are for -fsanitize: "address", "undefined", "thread" ...
    Each `.c` is a unit of its own; `#include "..."` finds every source by its relative name.

    Raises BuildError when there is no compiler or it refuses the code. In a checkout warnings are
    errors; in an installed package, whose user cannot mend them, they are not.
    """
    # One unit per file. 60 synthetic kernels on 2 cores, all / one edited (link included):
    # light ones (1,320 lines): 1 unit 1.4 s / 1.4 s, 2 units 0.7 / 0.7, one per file 1.2 / 0.08;
    # heavy ones (1,980 lines): 9.0 / 8.8, 4.2 / 4.1 and 4.6 / 0.19. Half a second once buys edits
    # that cost what was edited, whatever the kernels weigh, and names that cannot collide.
    compiler = c_compiler()
    openmp_flags = compiler.openmp if openmp else ()
    all_flags = (*_our_flags(sanitizers), *openmp_flags, *flags)
    if not openmp_flags:
        all_flags = (*all_flags, "-Wno-unknown-pragmas")
    key = content_key(sources, compiler=compiler.identity, flags=("library", *all_flags))
    headers = {path: text for path, text in sources.items() if not path.endswith(".c")}
    job = _Job(name, compiler, all_flags, headers)
    units = {path: text for path, text in sorted(sources.items()) if path.endswith(".c")}

    def build(library: Path) -> None:
        _link(job, _compile_all(job, units), library, strict=not sanitizers)

    return get_or_build(key, f"-{name}{_SUFFIX}", build)


def sanitizer_environment(sanitizers: Sequence[str]) -> dict[str, str]:
    """Variables under which a Python process can load a library built with `sanitizers`.

    Their run-time library must be there before the process starts; so run the tests of such a
    library in a new process. Empty where nothing is needed or the compiler does not say.
    """
    command = c_compiler().command
    libraries = []
    for name in sanitizers:
        short = {"address": "asan", "undefined": "ubsan", "thread": "tsan"}.get(name)
        status, output = run((*command, f"-print-file-name=lib{short}.so"))
        path = Path(output.strip())
        if short and status == 0 and path.is_absolute():
            libraries.append(str(path.resolve()))
    if not libraries:
        return {}
    # Python itself frees little at exit: its leaks are not ours to report.
    return {"LD_PRELOAD": " ".join(libraries), "ASAN_OPTIONS": "detect_leaks=0"}


def _our_flags(sanitizers: Sequence[str]) -> tuple[str, ...]:
    flags: tuple[str, ...] = _COMMON
    if checkout() is not None:
        flags = (*flags, "-Werror")
    if sanitizers:
        return (*flags, *_SANITIZED, f"-fsanitize={','.join(sanitizers)}")
    return (*flags, *_OPTIMISED)


def _compile_all(job: _Job, units: Mapping[str, str]) -> list[Path]:
    """Objects of all units; the first failure in the order of names is reported."""
    with ThreadPoolExecutor(max_workers=workers()) as pool:
        pending = [pool.submit(_object, job, unit, text) for unit, text in units.items()]
    return [future.result() for future in pending]


def _object(job: _Job, unit: str, text: str) -> Path:
    sources = {**job.headers, unit: text}
    read = sources if "-g" in job.flags else {name: code(each) for name, each in sources.items()}
    # The unit's name is in the key by itself: the sources alone do not say which one is compiled.
    key = content_key(read, compiler=job.compiler.identity, flags=("object", unit, *job.flags))

    def build(made: Path) -> None:
        folder = made.parent / "sources"
        write_sources(folder, sources)
        # Relative names, so that messages and debug information say what generated/ says.
        arguments = ("-I.", *job.options, "-c", unit, "-o", str(made))
        status, log = run((*job.compiler.command, *arguments), folder=folder)
        if status != 0:
            kept = keep_failed(job.name, key, sources)
            headline = f"{job.compiler.name} refuses {unit} of {job.name}"
            raise BuildError(explain(headline, log, sources, kept))

    return get_or_build(key, ".o", build)


def code(text: str) -> str:
    """C without comments, empty lines and indentation: what an object without debug information
    depends on. So a formula that only moves in its file compiles nothing."""
    bare = _TOKEN.sub(lambda found: " " if found[0].startswith("/") else found[0], text)
    return "\n".join(line.strip() for line in bare.splitlines() if line.strip())


def _link(job: _Job, objects: Sequence[Path], library: Path, *, strict: bool) -> None:
    arguments = ["-shared", *job.options, *map(str, objects), "-o", str(library), *job.libraries]
    if strict and sys.platform == "linux":
        # A function that is nowhere fails here and not at the first call. (Sanitizers' own
        # functions are found only in the process.)
        arguments.append("-Wl,-z,defs")
    status, log = run((*job.compiler.command, *arguments))
    if status != 0:
        raise BuildError(explain(f"{job.compiler.name} cannot link {job.name}", log, {}))
