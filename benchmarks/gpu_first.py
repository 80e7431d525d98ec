"""What a first quarter of an hour on a GPU should tell, in one command that needs no network.

    python3 benchmarks/gpu_first.py [--only PART,PART] [--seconds 570] [--out FOLDER]

Each part is a process of its own with a time limit; what fails, hangs or crashes is told, and the
others go on. After each part all is written anew to FOLDER/<device>-<date>.json and .txt, so that
whoever has to stop loses nothing. Python with numpy is needed; what else is missing comes from the
wheels that `make gpu-wheels` has put into .gpu-wheels/.
"""

from __future__ import annotations

import argparse
import contextlib
import ctypes
import dataclasses
import datetime
import json
import os
import platform
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
WHEELS = ROOT / ".gpu-wheels"
SKIPPED = 77  # the exit status of a part that cannot run here; its last line says why
LEAST = 5.0  # seconds that a part needs to be worth its start
TAIL = 4000  # characters of output that are kept of a part that did not pass

PYTHON = sys.executable
CASE = (PYTHON, "-m", "benchmarks.gpu_parts")
# Plugins of the machine's own pytest are not asked for; its warnings are not ours.
PYTEST = (PYTHON, "-m", "pytest", "-q", "-W", "default", "-p", "no:cacheprovider", "-p", "xdist")
TESTS = ("tests/api/test_gpu.py", "tests/conformance", "tests/opsets")


@dataclass(frozen=True)
class Part:
    """A command, how long it may take, and what it needs beside a GPU."""

    name: str
    seconds: float
    command: tuple[str, ...]
    about: str
    programs: tuple[str, ...] = ()
    environment: Mapping[str, str] = field(default_factory=dict)


@dataclass
class Outcome:
    """What became of a part; `found` is what it measured, `output` how its text ends."""

    name: str
    about: str
    outcome: str = "not reached"
    seconds: float = 0.0
    found: Any = None
    output: str = ""

    @property
    def is_bad(self) -> bool:
        return not self.outcome.startswith(("passed", "skipped"))


def sanitizer(tool: str) -> Part:
    command = ("compute-sanitizer", "--tool", tool, "--error-exitcode", "1")
    about = f"compute-sanitizer --tool {tool} over a call of each operator"
    return Part(tool, 60, (*command, *CASE, "sanitized"), about, ("compute-sanitizer",))


def workers() -> str:
    """Processes of pytest: each has a context of its own on the device."""
    return str(min(8, os.cpu_count() or 1))


# The most valuable first: what would make the rest worthless, what only hardware can show, speed.
PARTS = (
    Part("machine", 30, (*CASE, "machine"), "the device, and what is installed"),
    Part("compile", 200, (*CASE, "compile"), "host code, and machine code of each operator"),
    Part("calls", 90, (*CASE, "calls"), "random calls of each operator, bit for bit as numpy's"),
    Part("nan", 40, (*CASE, "nan"), "NaN is stored in one form; infinities, -0, subnormals"),
    Part("pow", 60, (*CASE, "power"), "pow, bit for bit as the other targets'"),
    Part("bench", 120, (*CASE, "bench"), "speed beside a copy, the device's peak and PyTorch"),
    Part("alignments", 40, (*CASE, "alignments"), "arrays that begin 1 to 15 bytes further on"),
    Part("graphs", 40, (*CASE, "graphs"), "CUDA graphs: captured, and started with other inputs"),
    Part("refusals", 40, (*CASE, "refusals"), "results that do not fit, found by kernels alone"),
    Part("drops", 40, (*CASE, "drops"), "results that are dropped while another stream reads them"),
    Part("threads", 40, (*CASE, "threads"), "two threads, each with a stream of its own"),
    Part("torch", 60, (*CASE, "torch"), "PyTorch: its tensors, streams and graphs"),
    Part("large", 60, (*CASE, "large"), "a tensor of 2^31 + 5 elements"),
    *map(sanitizer, ("memcheck", "racecheck", "synccheck", "initcheck")),
    Part(
        "conformance",
        300,
        (*PYTEST, "-n", workers(), *TESTS),
        "all tests of conformance on the device",
        ("cc", "c++"),
        {"CVMGEN_TEST_TARGETS": "c,cuda", "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"},
    ),
)


# ---------------------------------------------------------------- what is missing


def unpacked(wheels: Path, folder: Path) -> list[str]:
    """Put the wheels that fit this Python into a folder, without pip; the names of the others.

    All of them count, also where the machine has a package already: they were tested together.
    """
    left = []
    for wheel in sorted(wheels.glob("*.whl")):
        if not _fits(wheel):
            left.append(wheel.name)
            continue
        with zipfile.ZipFile(wheel) as archive:
            # NVIDIA's packages share one folder, which must stay open for those of the machine.
            names = [name for name in archive.namelist() if name != "nvidia/__init__.py"]
            archive.extractall(folder, names)
    return left


def _fits(wheel: Path) -> bool:
    """Whether a wheel is for any Python, or for this one on this kind of machine."""
    *_, pythons, _, platforms = wheel.stem.split("-")
    here = f"cp{sys.version_info[0]}{sys.version_info[1]}"
    fits = any(each in (here, "py3") or each.startswith("py3") for each in pythons.split("."))
    return fits and (platforms == "any" or platforms.endswith(platform.machine()))


def missing(environment: Mapping[str, str]) -> list[str]:
    """Packages that no part can do without and that are not there."""
    names = ("numpy", "lark", "sympy", "jinja2")
    lines = [f"import importlib.util as u; print(*[n for n in {names} if not u.find_spec(n)])"]
    told = subprocess.run(
        (PYTHON, "-c", *lines), env=dict(environment), capture_output=True, text=True, check=False
    )
    return told.stdout.split()


def search_path(environment: Mapping[str, str]) -> str:
    """Where programs are looked for; a toolkit need not be on the path."""
    usual = [environment.get("PATH", ""), "/usr/local/cuda/bin", "/opt/cuda/bin"]
    return os.pathsep.join(filter(None, usual))


# ---------------------------------------------------------------- running


def run(part: Part, limit: float, environment: Mapping[str, str], scratch: Path) -> Outcome:
    """A part in a session of its own, all of which ends with its time."""
    outcome = Outcome(part.name, part.about)
    path = environment.get("PATH", "")
    lacking = [each for each in part.programs if shutil.which(each, path=path) is None]
    if lacking:
        outcome.outcome = f"skipped: no {' and no '.join(lacking)} on PATH"
        return outcome
    told, log = scratch / f"{part.name}.json", scratch / f"{part.name}.txt"
    own = {**environment, **part.environment, "CVMGEN_GPU_FOUND": str(told)}
    began = time.monotonic()
    with log.open("wb") as file:
        process = subprocess.Popen(
            part.command,
            cwd=ROOT,
            env=own,
            stdin=subprocess.DEVNULL,
            stdout=file,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        try:
            status: int | None = process.wait(limit)
        except subprocess.TimeoutExpired:
            status = None
        finally:
            end(process)
    outcome.seconds = round(time.monotonic() - began, 1)
    text = log.read_text(encoding="utf-8", errors="replace").rstrip()
    outcome.outcome = meaning(status, limit, text)
    outcome.output = text[-TAIL:] if outcome.is_bad else text[-TAIL // 4 :]
    if told.exists():
        outcome.found = json.loads(told.read_text())
    return outcome


def end(process: subprocess.Popen[bytes]) -> None:
    """Nothing of a part goes on behind it."""
    with contextlib.suppress(ProcessLookupError, PermissionError):  # all of them have ended
        os.killpg(process.pid, signal.SIGKILL)
    # One that waits inside the driver for a device that hangs may not end at all.
    with contextlib.suppress(subprocess.TimeoutExpired):
        process.wait(LEAST)


def meaning(status: int | None, limit: float, text: str) -> str:
    if status is None:
        return f"hangs: stopped after {limit:.0f} s"
    if status == SKIPPED:
        return f"skipped: {text.splitlines()[-1] if text else ''}"
    if status < 0:
        return f"crashed: {signal.Signals(-status).name}"
    return f"failed: exit status {status}" if status else "passed"


# ---------------------------------------------------------------- what is written


def about_machine(parts: Sequence[str]) -> dict[str, Any]:
    """What is known without any package."""
    now = datetime.datetime.now(datetime.UTC)
    return {
        "device": device_name(),
        "date": now.isoformat(timespec="seconds"),
        "revision": revision(),
        "python": platform.python_version(),
        "system": platform.platform(),
        "processors": os.cpu_count(),
        "nvidia-smi": told_by("nvidia-smi", "--query-gpu=name,driver_version,memory.total,"
                              "clocks.max.sm,clocks.max.mem,power.limit", "--format=csv"),
        "parts": list(parts),
    }  # fmt: skip


def device_name() -> str:
    """The first device's, by its driver."""
    try:
        driver = ctypes.CDLL(os.environ.get("CVMGEN_CUDA_DRIVER", "libcuda.so.1"))
    except OSError:
        return "no-driver"
    device, text = ctypes.c_int(), ctypes.create_string_buffer(256)
    if driver.cuInit(0) or driver.cuDeviceGet(ctypes.byref(device), 0):
        return "no-device"
    driver.cuDeviceGetName(text, len(text), device)
    return text.value.decode("utf-8", "replace")


def revision() -> str:
    """Of the working tree; a copy without git says so."""
    if commit := told_by("git", "-C", str(ROOT), "rev-parse", "HEAD"):
        changed = told_by("git", "-C", str(ROOT), "status", "--porcelain", "-uno")
        return commit + (" and changes" if changed else "")
    stamp = WHEELS / "revision"
    return stamp.read_text().strip() if stamp.is_file() else "unknown: no git here"


def told_by(*command: str) -> str:
    """What a program prints; nothing where it is not there or fails."""
    try:
        made = subprocess.run(command, capture_output=True, text=True, timeout=20, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return made.stdout.strip() if made.returncode == 0 else ""


def write(folder: Path, about: Mapping[str, Any], outcomes: Sequence[Outcome]) -> Path:
    """Both files, each in one step."""
    name = re.sub(r"[^A-Za-z0-9]+", "-", f"{about['device']}-{about['date'][:10]}").strip("-")
    stored = {**about, "outcomes": [dataclasses.asdict(each) for each in outcomes]}
    for suffix, text in (
        (".json", json.dumps(stored, indent=1) + "\n"),
        (".txt", "\n".join(lines(about, outcomes)) + "\n"),
    ):
        path = folder / f"{name}{suffix}"
        partial = path.with_name(f"{path.name}.partial")
        partial.write_text(text, encoding="utf-8")
        partial.replace(path)
    return folder / f"{name}.txt"


def lines(about: Mapping[str, Any], outcomes: Sequence[Outcome]) -> Iterator[str]:
    """What people read."""
    for key, value in about.items():
        if key != "parts":
            yield f"{key}: {value}"
    yield ""
    for each in outcomes:
        yield f"{each.name:12} {each.seconds:6.1f} s  {each.outcome:40}  {each.about}"
    for each in outcomes:
        if each.is_bad or each.found:
            yield ""
            yield f"-------- {each.name}: {each.outcome}"
        if each.found:
            yield each.found.get("text") or json.dumps(each.found, indent=1)
        if each.is_bad:
            yield each.output


def main(arguments: Sequence[str] | None = None, parts: Sequence[Part] = PARTS) -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--out", type=Path, default=ROOT / "benchmarks" / "gpu")
    parser.add_argument("--only", default="", help="parts, with commas between them")
    parser.add_argument("--seconds", type=float, default=570, help="for all parts together")
    parser.add_argument("--wheels", type=Path, default=WHEELS, help="packages for this Python")
    parser.add_argument("--library", help="the host code of the operators, if it is built")
    parser.add_argument("--short", action="store_true", help="little of everything: a rehearsal")
    given = parser.parse_args(arguments)
    names = given.only.split(",") if given.only else [part.name for part in parts]
    if unknown := set(names) - {part.name for part in parts}:
        parser.error(
            f"no part {', '.join(sorted(unknown))}; parts: {', '.join(p.name for p in parts)}"
        )
    if sys.version_info < (3, 11):  # noqa: UP036 (it is the machine's own Python)
        parser.error("Python 3.11 or later is needed: make gpu-first PYTHON=...")
    given.out.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="gpu-first-") as folder:
        return run_all([part for part in parts if part.name in names], given, Path(folder))


def run_all(parts: Sequence[Part], given: argparse.Namespace, scratch: Path) -> int:
    end_of_all = time.monotonic() + given.seconds
    environment = prepared(given, scratch)
    if lacking := missing(environment):
        print(f"missing here: {', '.join(lacking)}; `make gpu-wheels` where there is a network",
              file=sys.stderr)  # fmt: skip
        return 2
    about = about_machine([part.name for part in parts])
    slower = 5 if given.short else 1  # a rehearsal is for machines that do other work too
    outcomes = [Outcome(part.name, part.about) for part in parts]
    print(f"{about['device']}; {len(parts)} parts in {given.seconds:.0f} s at most", flush=True)
    for at, part in enumerate(parts):
        path = write(given.out, about, outcomes)
        left = end_of_all - time.monotonic()
        if left < LEAST:
            continue
        print(f"{part.name:12} ...", end="", flush=True)
        outcomes[at] = run(part, min(part.seconds * slower, left), environment, scratch)
        print(f" {outcomes[at].outcome}, {outcomes[at].seconds} s", flush=True)
    path = write(given.out, about, outcomes)
    bad = [each.name for each in outcomes if each.is_bad]
    print(f"written: {path} and {path.with_suffix('.json').name}")
    print(f"not passed: {', '.join(bad)}" if bad else "all passed")
    return 1 if bad else 0


def prepared(given: argparse.Namespace, scratch: Path) -> dict[str, str]:
    """The environment of all parts."""
    packages = scratch / "packages"
    packages.mkdir()
    for name in unpacked(given.wheels, packages) if given.wheels.is_dir() else ():
        print(f"not for this Python: {name}")
    # A package that is called so on the machine would come before a folder without __init__.py.
    (packages / "tests").mkdir()
    (packages / "tests" / "__init__.py").write_text(f"__path__ = [{str(ROOT / 'tests')!r}]\n")
    before = os.environ.get("PYTHONPATH", "")
    environment = dict(os.environ)
    environment["PYTHONPATH"] = os.pathsep.join(filter(None, [str(ROOT), str(packages), before]))
    environment["PATH"] = search_path(os.environ)
    for name in ("PYTHONUNBUFFERED", "PYTHONDONTWRITEBYTECODE", "PYTHONFAULTHANDLER"):
        environment[name] = "1"
    # A part that fails says which call it was.
    environment.setdefault("CVMGEN_CACHE", str(scratch / "cache"))
    if given.short:
        environment["CVMGEN_GPU_SHORT"] = "1"
    library = given.library or carried(given.wheels, environment["PATH"])
    if library:
        environment["CVMGEN_GPU_LIBRARY"] = str(library)
    return environment


def carried(wheels: Path, path: str) -> Path | None:
    """The host code that was built elsewhere, for a machine without a compiler for it."""
    found = wheels / "libcvmgen-cuda.so"
    compilers = any(shutil.which(name, path=path) for name in ("c++", "g++", "clang++"))
    return found if found.is_file() and not compilers else None


if __name__ == "__main__":
    sys.exit(main())
