"""A small spec to build with a cache apart from the user's, and the command as a function."""

from __future__ import annotations

import functools
import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from cvmgen.build import c_compiler
from cvmgen.cli import checked, main, specs
from cvmgen.spec.files import SpecFile, read_folder
from cvmgen.spec.formula import Operator
from tests.operators import product
from tests.targets import quick_compiler

ROOT = Path(__file__).resolve().parents[2]

BROWSERS = ("chromium", "chromium-browser", "google-chrome")
browser = next(filter(None, map(shutil.which, BROWSERS)), None)
needs_browser = pytest.mark.skipif(browser is None, reason=f"no browser: {', '.join(BROWSERS)}")

OPERATORS = """\
operator double {
  "Twice each element."
  alias  twice
  input  X : cvm[n...]
  output Y : cvm[n...] precision p(X) + 1
  Y[d...] = 2 * X[d...]
  example double([1, -2]) == [2, -4]
}

operator shifted {
  "Each element and a number."
  input  X : cvm[n...]
  attr   by = 1 in [0, 8)
  output Y : cvm[n...] precision p(X) + 4
  Y[d...] = X[d...] + by
  example shifted([1, -2], by=3) == [4, 1]
}
"""


@pytest.fixture(scope="session")
def shared_cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One cache for all tests of the command, in all processes of a run: what they generate and
    compile is much the same."""
    place = tmp_path_factory.getbasetemp()
    place = place.parent if "PYTEST_XDIST_WORKER" in os.environ else place
    (place / "cache").mkdir(mode=0o700, exist_ok=True)
    return place / "cache"


@pytest.fixture
def heard() -> Iterator[None]:
    """What a shell runs in the background ignores SIGINT, and so would all that it starts."""
    before = [(each, signal.getsignal(each)) for each in (signal.SIGINT, signal.SIGTERM)]
    for each, handler in before:
        if handler is signal.SIG_IGN:
            signal.signal(each, signal.SIG_DFL)
    yield
    for each, handler in before:
        signal.signal(each, handler)


@pytest.fixture
def cache(shared_cache: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """For what has a small spec of its own; the user's knows the project's operators, which take
    long to try and to compile."""
    monkeypatch.setenv("CVMGEN_CACHE", str(shared_cache))
    monkeypatch.setenv("CC", str(quick_compiler(c_compiler().command, shared_cache.parent)))
    return shared_cache


@pytest.fixture(autouse=True)
def slow_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    """What a command says because it takes long is not what these tests are about."""
    monkeypatch.setattr("cvmgen.build.progress.DELAY", 3600.0)


@pytest.fixture(autouse=True, scope="module")
def tried_elsewhere() -> Iterator[None]:
    """The project's operators are checked once, and tried, all of them, when `make check` builds
    them."""
    check_anew, check_opset, probe_all = checked.check_anew, checked.check_opset, specs.probe_all
    product()  # before anybody holds its place in the cache and asks for it

    def check_others(files: Sequence[SpecFile], *others: Any) -> tuple[Operator, ...]:
        return product() if tuple(files) == project() else check_anew(files, *others)

    def check_other_opset(files: Sequence[SpecFile], opset: str) -> tuple[Operator, ...]:
        if tuple(files) == project():
            return tuple(each for each in product() if each.opset == opset)
        return check_opset(files, opset)

    def probe_others(
        operators: Iterable[Operator], *others: Any, **more: Any
    ) -> tuple[Operator, ...]:
        given = tuple(operators)
        known = given == product() or {*map(repr, given)} <= sound()
        return given if known else probe_all(given, *others, **more)

    with pytest.MonkeyPatch.context() as changes:
        changes.setattr(checked, "check_anew", check_others)
        changes.setattr(checked, "check_opset", check_other_opset)
        changes.setattr(specs, "probe_all", probe_others)
        yield


@functools.cache
def sound() -> set[str]:
    return {*map(repr, product())}


@functools.cache
def project() -> tuple[SpecFile, ...]:
    return tuple(read_folder(ROOT / "spec"))


@pytest.fixture
def spec(tmp_path: Path, cache: Path) -> Path:
    """A spec folder of two operators of the opset `toy`."""
    folder = tmp_path / "spec"
    (folder / "toy").mkdir(parents=True)
    (folder / "toy/numbers.cvm").write_text(OPERATORS)
    return folder


@dataclass(frozen=True)
class Outcome:
    """What a command returned and printed."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)


Command = Build = Callable[..., Outcome]


@pytest.fixture
def cvmgen(capsys: pytest.CaptureFixture[str]) -> Command:
    """The command in this process: arguments in, outcome out."""

    def run(*arguments: object) -> Outcome:
        capsys.readouterr()
        code = main([str(each) for each in arguments])
        printed = capsys.readouterr()
        return Outcome(code, printed.out, printed.err)

    return run


@pytest.fixture
def build(cvmgen: Command, spec: Path, tmp_path: Path) -> Command:
    """`cvmgen build` of the small spec into a folder of this test."""

    def run(*arguments: object) -> Outcome:
        return cvmgen("build", "--spec", spec, "--out", tmp_path / "generated", *arguments)

    return run


def own_files(name: str) -> set[str]:
    """What a build writes of an operator."""
    modules = {f"numpy/toy/{name}.py", f"python/toy/{name}.py"}
    headers = {f"{target}/toy/{name}.h" for target in ("c", "cuda")}
    return {f"c/toy/{name}.c", f"cuda/toy/{name}.cu", *headers, *modules}


def edit(spec: Path, old: str, new: str) -> None:
    """Change the text of the small spec."""
    path = spec / "toy/numbers.cvm"
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new))


def contents(folder: Path) -> Mapping[str, bytes]:
    """Every file below a folder."""
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


def start(*arguments: object, **options: Any) -> subprocess.Popen[str]:
    """The command of the tree under test as a process of its own."""
    options["env"] = {**options.get("env", os.environ), "PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-m", "cvmgen", *map(str, arguments)]
    return subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **options
    )


@pytest.fixture
def in_browser(tmp_path: Path) -> Callable[[str, str, str], str]:
    """What a page has become once it is shown, at an anchor, and a script has acted on it."""

    def shown(page: str, script: str, anchor: str) -> str:
        acting = page.replace("</body>", f"<script>{script}</script></body>")
        place = tmp_path / "page.html"
        place.write_text(acting, encoding="utf-8")
        assert browser is not None
        command = [browser, "--headless", "--disable-gpu", "--virtual-time-budget=1000"]
        command += ["--no-sandbox", f"--user-data-dir={tmp_path / 'profile'}", "--dump-dom"]
        told = subprocess.run(
            [*command, f"{place.as_uri()}{anchor}"],
            capture_output=True,
            text=True,
            timeout=120,
            check=True,
            env={**os.environ, "HOME": str(tmp_path)},
        )
        return told.stdout

    return shown
