"""C sources, or CUDA sources for the CPU, to a shared library."""

from __future__ import annotations

import re
import shlex
import shutil
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache, partial
from pathlib import Path

from cvmgen.build.cache import (
    content_key,
    get_or_build,
    is_stored,
    keep_failed,
    write_sources,
)
from cvmgen.build.compilers import Compiler, c_compiler, cpp_compiler
from cvmgen.build.diagnostics import explain
from cvmgen.build.includes import with_included
from cvmgen.build.process import end_running, run_command, run_commands, workers
from cvmgen.build.processor import level_flags
from cvmgen.build.progress import Progress, shown_progress
from cvmgen.errors import BuildError, NoCompilerError, RefusedError
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
# Contraction to fused multiply-add would make floating-point results depend on the machine. Of
# vectors that gcc 12 makes of straight code, (double)(float)x is x.
_REALS = ("-ffp-contract=off", "-fno-tree-slp-vectorize")
_COMMON = ("-fPIC", "-Wall", "-Wextra", *_LEGAL, *_REALS)
# addr2line takes one file for another in DWARF 5, up to binutils 2.40 at least.
_SANITIZED = ("-O1", "-g", "-gdwarf-4", "-fno-omit-frame-pointer", "-fno-sanitize-recover=all")

# Strings and characters, which may hold what looks like a comment, and comments.
_TOKEN = re.compile(
    r""" "(?:\\.|[^"\\])*" | '(?:\\.|[^'\\])*' | /\*.*?\*/ | //[^\n]* """, re.X | re.S
)

_LONG = 20_000
"""Characters, without comments, of a unit that takes about a second: two parts are compiled at
once."""

_TEXTS = 1 << 10  # of which a process remembers what is code in them: units share their headers

_SUFFIX = ".dll" if sys.platform == "win32" else ".so"

SHARED = "cvmgen-shared"
"""What the library that several share is called."""


@dataclass(frozen=True, slots=True)
class _Language:
    """How units of these suffixes are compiled; `lines`: objects know the lines of their text;
    `hooks`: the sanitizers whose run-time library is one of the units."""

    suffixes: tuple[str, ...]
    compiler: Callable[[], Compiler]
    flags: tuple[str, ...]
    optimised: tuple[str, ...]
    lines: bool
    hooks: tuple[str, ...] = ()


# -O2 with gcc's vectors compiles in two thirds of the time, but sums of rows take 5 times as long
# and depthwise convolutions 1.7 times; with -funswitch-loops and -fversion-loops-for-strides, which
# mend these, in four fifths, and non_max_suppression takes a tenth longer.
# Functions begin with a line of the cache: how fast their loops are would depend on the code in
# front of them otherwise.
_C = _Language((".c",), c_compiler, ("-std=c11",), ("-O3", "-falign-functions=64"), lines=False)
_CUDA = _Language(
    (".cu", ".cc"),
    cpp_compiler,
    # Kernels load several elements at once through vectors, as CUDA allows. In C++ `= {0}` leaves
    # members out; it means what it says all the same.
    ("-std=c++17", "-fno-strict-aliasing", "-Wno-missing-field-initializers"),
    # -O3 takes twice the time, for kernels that are no faster.
    ("-O2",),
    lines=True,
    hooks=("thread",),
)


@dataclass(frozen=True, slots=True)
class Linker:
    """What links objects instead of the compiler that made them: for an older C library than this
    machine's, say. `archives` are what that compiler's code needs of its own."""

    command: tuple[str, ...]
    archives: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class _Job:
    """What all units of one library share."""

    name: str
    language: _Language
    compiler: Compiler
    flags: tuple[str, ...]
    prelude: str | None
    headers: Mapping[str, str]
    manifest: Path | None
    sanitizers: tuple[str, ...] = ()
    linked: Path | None = None
    named: bool = False
    linker: Linker | None = None

    @property
    def options(self) -> list[str]:
        """The flags for compiling; clang warns of libraries there."""
        return [flag for flag in self.flags if not flag.startswith(("-l", "-Wl,"))]

    @property
    def in_parts(self) -> bool:
        """Whether long units are made in two parts: those that are optimised as usual."""
        optimised = {*self.language.optimised} <= {*self.flags}
        others = (flag for flag in self.flags if flag.startswith(("-O", "-g", "-S", "-fopt-")))
        plain = not {*others} - {*self.language.optimised}
        return bool(self.compiler.localise) and self.language is _C and optimised and plain

    @property
    def reading(self) -> list[str]:
        """The flags for what is read, of which linking is not told."""
        prelude = ("-include", self.prelude) if self.prelude else ()
        return ["-I.", *(("-x", "c++") if self.language is _CUDA else ()), *prelude]

    @property
    def linking(self) -> list[str]:
        """The flags for linking: without libraries that the units replace."""
        mine = [f"-fsanitize={each}" for each in self.language.hooks if self.hooked]
        return [flag for flag in self.options if flag not in mine]

    @property
    def hooked(self) -> bool:
        """Whether the units bring all that the sanitizers need."""
        return set(self.sanitizers) <= set(self.language.hooks)

    @property
    def libraries(self) -> list[str]:
        """What to link with; it counts only after what needs it."""
        # Of the C library's parts, older ones are libraries of their own.
        own = ("-lm", "-ldl") if self.language is _CUDA else ("-lm",)
        return [flag for flag in (*self.flags, *own) if flag.startswith(("-l", "-Wl,"))]


def compile_library(
    sources: Mapping[str, str],
    *,
    name: str,
    flags: Sequence[str] = (),
    threads: bool = True,
    sanitizers: Sequence[str] = (),
    prelude: str | None = None,
    manifest: Path | None = None,
    shared: Mapping[str, str] | None = None,
    named: bool = False,
    linker: Linker | None = None,
) -> Path:
    """Compile and link `sources` (relative name to text); the library's path.

    The library lies in the cache and must not be changed; the same request finds it again. `name`
    is for messages and file names. Each `.c` is a unit of its own; `#include "..."` finds every
    source by its relative name. Where there are `.cu` or `.cc` instead, they are compiled as C++
    for the CPU, each behind the source that `prelude` names.

    `flags` come after our own (C11 and -O3, or C++17 and -O2; no contraction of floating-point
    operations; kernels of C for this machine's level of x86 alone, with -UCVMGEN_X86_LEVEL for all
    levels). With `threads`, what is compiled may start threads. `sanitizers`
    are for -fsanitize: "address", "undefined", "thread" ... For CUDA, "thread" finds races between
    threads of the device, needs nothing from the compiler's own library, and cannot be combined
    with others. Where the compiler refuses a file, the `manifest` tells where its formula stands.

    `shared` are the sources of a library, compiled by `compile_shared`, whose functions the units
    call; it is loaded with this one, once for all that share it. With `named`, others can be linked
    so to this library. Linux alone has both. A `linker` takes the place of the compiler there.

    Raises BuildError when there is no compiler or it refuses the code; without a compiler, what
    any one made of the same sources before is found. In a checkout warnings are errors; in an
    installed package, whose user cannot mend them, they are not.
    """
    try:
        wanted = _request(
            sources, name, flags, threads, sanitizers, prelude, manifest, shared, named, linker
        )
    except NoCompilerError as error:
        texts = _texts_key(sources, flags, threads, sanitizers, shared)
        return get_or_build(texts, _suffix(name), partial(_raise, error))
    new = not is_stored(wanted.key, _suffix(name))
    library = get_or_build(wanted.key, _suffix(name), wanted.build)
    if new:
        texts = _texts_key(sources, flags, threads, sanitizers, shared)
        get_or_build(texts, _suffix(name), partial(_copy, library))
    return library


def compile_unit(sources: Mapping[str, str], unit: str, *, name: str) -> Path:
    """The object of one unit, which `compile_library` of these sources finds then, or waits for;
    arguments as of it."""
    return _Object.of(_request(sources, name).job, unit, sources[unit]).compiled()


def has_library(sources: Mapping[str, str], *, name: str, named: bool = False) -> bool:
    """Whether `compile_library` most likely has nothing to compile."""
    try:
        return is_stored(_request(sources, name, named=named).key, _suffix(name))
    except NoCompilerError:
        return is_stored(_texts_key(sources), _suffix(name))


@dataclass(frozen=True, slots=True)
class _Request:
    """The library of some units by a compiler, and the key of all that goes in."""

    # One unit per file. 60 synthetic kernels on 2 cores, all / one edited (link included):
    # light ones (1,320 lines): 1 unit 1.4 s / 1.4 s, 2 units 0.7 / 0.7, one per file 1.2 / 0.08;
    # heavy ones (1,980 lines): 9.0 / 8.8, 4.2 / 4.1 and 4.6 / 0.19. Half a second once buys edits
    # that cost what was edited, whatever the kernels weigh, and names that cannot collide.

    job: _Job
    units: Mapping[str, str]
    key: str

    def build(self, library: Path) -> None:
        with shown_progress() as progress:
            objects = _compile_all(self.job, self.units, progress)
            _link(self.job, objects, library, strict=self.job.hooked)


def _request(
    sources: Mapping[str, str],
    name: str,
    flags: Sequence[str] = (),
    threads: bool = True,
    sanitizers: Sequence[str] = (),
    prelude: str | None = None,
    manifest: Path | None = None,
    shared: Mapping[str, str] | None = None,
    named: bool = False,
    linker: Linker | None = None,
) -> _Request:
    language = _language(sources)
    compiler = language.compiler()
    as_written = compiler.as_written if language is _C else ()
    first, last = _flags(language, flags, threads, sanitizers)
    all_flags = (*first, *as_written, *last)
    linked = None if shared is None else compile_shared(shared)
    units = {
        path: text for path, text in sorted(sources.items()) if path.endswith(language.suffixes)
    }
    headers = {path: text for path, text in sources.items() if path not in units}
    job = _Job(
        name,
        language,
        compiler,
        all_flags,
        prelude,
        headers,
        manifest,
        tuple(sanitizers),
        linked,
        named,
        linker,
    )
    beside = (*(() if linked is None else (linked.name,)), *(("named",) if named else ()))
    if linker is not None:
        beside = (*beside, *linker.command, *linker.archives)
    marks = ("library", *job.reading, *all_flags, *beside)
    return _Request(job, units, content_key(sources, compiler=compiler.identity, flags=marks))


def _texts_key(
    sources: Mapping[str, str],
    flags: Sequence[str] = (),
    threads: bool = True,
    sanitizers: Sequence[str] = (),
    shared: Mapping[str, str] | None = None,
) -> str:
    """What a library is found by where there is no compiler to ask."""
    beside = {f"shared/{path}": text for path, text in (shared or {}).items()}
    first, last = _flags(_language(sources), flags, threads, sanitizers)
    return content_key({**sources, **beside}, compiler="any", flags=(*first, *last))


def _language(sources: Mapping[str, str]) -> _Language:
    return _CUDA if any(path.endswith(_CUDA.suffixes) for path in sources) else _C


def _flags(
    language: _Language, flags: Sequence[str], threads: bool, sanitizers: Sequence[str]
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Those in front of what a compiler needs to leave loops alone, and those behind."""
    return _our_flags(language, sanitizers), (*(("-pthread",) if threads else ()), *flags)


def _suffix(name: str) -> str:
    return f"-{name}{_SUFFIX}"


def compile_shared(sources: Mapping[str, str]) -> Path:
    """The library that several others share; arguments and result as of `compile_library`."""
    return compile_library(sources, name=SHARED, named=True)


def _raise(error: Exception, _: Path) -> None:
    raise error


def _copy(library: Path, path: Path) -> None:
    shutil.copyfile(library, path)


@dataclass(frozen=True, slots=True)
class CompilerNotes:
    """What a compiler says of a unit when it is asked: `kind` is gcc or clang, `key` names all that
    it depends on."""

    kind: str
    key: str
    read: Callable[[Path], str]  # writes an object and gives the log; BuildError if it is refused


def compiler_notes(
    sources: Mapping[str, str], unit: str, asked: Mapping[str, Sequence[str]]
) -> CompilerNotes:
    """What the compiler of C says of a unit with these flags, for gcc and for clang, beside those
    of `compile_library`."""
    compiler = c_compiler()
    kind = "clang" if "clang" in compiler.version.lower() else "gcc"
    flags = (*_our_flags(_C, ()), *compiler.as_written, "-pthread", *asked[kind])
    headers = {path: text for path, text in sources.items() if not path.endswith(_C.suffixes)}
    job = _Job("cvmgen", _C, compiler, flags, None, headers, None)
    made = _Object.of(job, unit, sources[unit])
    # Notes name lines, which objects do not depend on.
    marks = ("notes", unit, *job.reading, *flags)
    key = content_key(made.sources, compiler=compiler.identity, flags=marks)
    return CompilerNotes(kind, key, made.compile)


def sanitizer_environment(
    sanitizers: Sequence[str], compiler: Callable[[], Compiler] = c_compiler
) -> dict[str, str]:
    """Variables under which a Python process can load a library built with `sanitizers`.

    Their run-time library must be there before the process starts; so run the tests of such a
    library in a new process. Empty where nothing is needed or the compiler does not say.
    """
    command = compiler().command
    libraries = []
    for name in sanitizers:
        short = {"address": "asan", "undefined": "ubsan", "thread": "tsan"}.get(name)
        status, output = run_command((*command, f"-print-file-name=lib{short}.so"))
        path = Path(output.strip())
        if short and status == 0 and path.is_absolute():
            libraries.append(str(path.resolve()))
    if not libraries:
        return {}
    # Python itself frees little at exit: its leaks are not ours to report.
    return {"LD_PRELOAD": " ".join(libraries), "ASAN_OPTIONS": "detect_leaks=0"}


def _our_flags(language: _Language, sanitizers: Sequence[str]) -> tuple[str, ...]:
    # The language's last: to clang -Wextra brings back what was left out before it.
    flags = (*_COMMON, *language.flags, *(level_flags() if language is _C else ()))
    if checkout() is not None:
        flags = (*flags, "-Werror")
    if sanitizers:
        return (*flags, *_SANITIZED, f"-fsanitize={','.join(sanitizers)}")
    return (*flags, *language.optimised)


def _compile_all(job: _Job, units: Mapping[str, str], progress: Progress) -> list[Path]:
    """Objects of all units; RefusedError with those that the compiler refuses."""
    from concurrent.futures import ThreadPoolExecutor, as_completed  # slow imports

    objects = {unit: _Object.of(job, unit, text) for unit, text in units.items()}
    # The longest first: they take the longest, and would be waited for at the end.
    missing = [unit for unit, each in objects.items() if not is_stored(each.key, ".o")]
    missing.sort(key=lambda unit: -len(units[unit]))
    progress.step(f"compiling {job.name}", 0, len(missing))
    with ThreadPoolExecutor(max_workers=workers()) as pool:
        made = {unit: pool.submit(objects[unit].compiled) for unit in missing}
        try:
            for done, _ in enumerate(as_completed(made.values()), 1):
                progress.step(f"compiling {job.name}", done, len(missing))
        except KeyboardInterrupt:
            pool.shutdown(wait=False, cancel_futures=True)
            end_running()
            raise
        pending = {
            unit: made.get(unit) or pool.submit(each.compiled) for unit, each in objects.items()
        }
    failed = {unit: future.exception() for unit, future in pending.items()}
    refused = {unit: each for unit, each in failed.items() if type(each) is BuildError}
    if refused and all(each is None or unit in refused for unit, each in failed.items()):
        raise RefusedError(refused)
    return [future.result() for future in pending.values()]


@dataclass(frozen=True, slots=True)
class _Object:
    """What a unit becomes: its sources, and the key of all that goes in; whether it is made in
    parts."""

    job: _Job
    unit: str
    sources: Mapping[str, str]
    key: str
    parts: bool

    @classmethod
    def of(cls, job: _Job, unit: str, text: str) -> _Object:
        sources = _read(job, unit, text)
        read = sources
        if "-g" not in job.flags:
            lines = job.language.lines
            read = {name: bare_code(each, lines=lines) for name, each in sources.items()}
        # The unit's name is in the key by itself: the sources alone do not say which one is
        # compiled.
        parts = job.in_parts and len(read[unit]) >= _LONG
        marks = ("object", unit, *job.reading, *job.options, *(("parts",) if parts else ()))
        key = content_key(read, compiler=job.compiler.identity, flags=marks)
        return cls(job, unit, sources, key, parts)

    def compiled(self) -> Path:
        return get_or_build(self.key, ".o", self._compile)

    def _compile(self, made: Path) -> None:
        self.compile(made)

    def compile(self, made: Path) -> str:
        """Write the object; what the compiler said."""
        job, unit = self.job, self.unit
        folder = made.parent / "sources"
        write_sources(folder, self.sources)
        # Relative names, so that messages and debug information say what generated/ says.
        # zig goes by what comes last, -c or -S.
        what = () if "-S" in job.flags else ("-c",)
        whole = (*job.compiler.command, *job.reading, *job.options, *what, unit, "-o", str(made))
        ways: list[Sequence[Sequence[str]]] = [(whole,)]
        if self.parts:  # what fails so is told as of the whole
            ways.insert(0, job.compiler.in_parts(job.reading, job.options, unit, str(made)))
        for steps in ways:
            status, log = run_commands(steps, folder=folder)
            if status == 0:
                return log
        kept = keep_failed(job.name, self.key, self.sources)
        headline = f"{job.compiler.name} refuses {unit} of {job.name}"
        raise BuildError(explain(headline, log, self.sources, kept, job.manifest))


def _read(job: _Job, unit: str, text: str) -> dict[str, str]:
    """The unit and the headers that it includes: no other one changes its object."""
    first = (unit,) if job.prelude is None else (unit, job.prelude)
    return with_included(first, {**job.headers, unit: text})


@lru_cache(maxsize=_TEXTS)
def bare_code(text: str, *, lines: bool = False) -> str:
    """C without comments, empty lines and indentation: what an object depends on. So a formula
    that only moves in its file compiles nothing. With `lines`, each line stays in its place: for
    objects that know them."""
    bare = _TOKEN.sub(
        lambda found: " " + "\n" * found[0].count("\n") if found[0][0] == "/" else found[0], text
    )
    kept = (line.strip() for line in bare.splitlines() if lines or line.strip())
    return "\n".join(kept).rstrip()


def _link(job: _Job, objects: Sequence[Path], library: Path, *, strict: bool) -> None:
    linker = job.linker or Linker((*job.compiler.command, *job.linking))
    made = (*map(str, objects), *linker.archives)
    arguments = ["-shared", *made, "-o", str(library)]
    arguments += job.libraries
    if job.linked is not None:  # beside it in the cache, wherever that lies
        arguments += [str(job.linked), f"-Wl,-rpath,$ORIGIN/../{job.linked.parent.name}"]
    if job.named:
        arguments.append(f"-Wl,-soname,{library.name}")
    if strict and sys.platform == "linux":
        # A function that is nowhere fails here and not at the first call. (Sanitizers' own
        # functions are found only in the process.)
        arguments.append("-Wl,-z,defs")
    status, log = run_command((*linker.command, *arguments))
    if status != 0:
        program = job.compiler.name if job.linker is None else shlex.join(linker.command)
        raise BuildError(explain(f"{program} cannot link {job.name}", log, {}))
