"""The first run on a GPU, on a device that is none: whatever a part does, the others go on."""

from __future__ import annotations

import json
import os
import sys
import zipfile
from pathlib import Path
from typing import Any

import pytest

from benchmarks import gpu_first
from benchmarks.gpu_first import PARTS, SKIPPED, Part, main, unpacked
from cvmgen.build.cache import cache_folder
from cvmgen.paths import generated_folder
from tests.fake_gpu import fake_library, has_nvrtc

WITHOUT_TIME = {"conformance", "compile"}  # minutes, also for a device that is none
# Of what tests ask of that device by themselves.
ASKED_ELSEWHERE = {"calls", "nan", "alignments", "graphs", "drops", "threads", "large"}


def script(text: str) -> tuple[str, ...]:
    return (sys.executable, "-c", text)


def outcomes(folder: Path) -> dict[str, Any]:
    (path,) = folder.glob("*.json")
    return {each["name"]: each for each in json.loads(path.read_text())["outcomes"]}


@pytest.mark.skipif(not has_nvrtc(), reason="no CUDA compiler, see `cvmgen[cuda]`")
@pytest.mark.parametrize(
    "left",
    [
        pytest.param(WITHOUT_TIME | ASKED_ELSEWHERE, id="some"),
        pytest.param(WITHOUT_TIME, id="all", marks=pytest.mark.slow),
    ],
)
def test_parts_in_order(left: set[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    library = str(fake_library(generated_folder()))
    monkeypatch.setenv("CVMGEN_CUDA_DRIVER", library)
    monkeypatch.setenv("CVMGEN_CACHE", str(cache_folder()))
    names = [part.name for part in PARTS if part.name not in left]
    arguments = ("--short", "--library", library, "--only", ",".join(names))
    main((*arguments, "--out", str(tmp_path)))
    found = outcomes(tmp_path)
    assert list(found) == names
    told = {name: each["outcome"] for name, each in found.items()}
    absent = {"torch", "memcheck", "racecheck", "synccheck", "initcheck"}
    not_passed = {name for name, outcome in told.items() if outcome != "passed"}
    assert not_passed <= absent, found
    assert all(told[name].startswith(("passed", "skipped")) for name in absent), found
    assert len(found["bench"]["found"]["rows"]) > 10
    (text,) = tmp_path.glob("a-device-of-fibers-*.txt")
    assert "relu, int8" in text.read_text()


def test_parts_that_fail_hang_and_crash(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The file is whole after each of them; a late part sees what came before it."""
    out = tmp_path / "out"
    seen = f"import pathlib; print(next(pathlib.Path({str(out)!r}).glob('*.txt')).read_text())"
    parts = (
        Part("right", 60, script("print('well')"), "ends as it should"),
        Part("wrong", 60, script("print('too bad'); raise SystemExit(3)"), "fails"),
        Part("hangs", 1, script("print('...', flush=True)\nwhile True: pass"), "does not end"),
        Part("crash", 60, script("import os; os.kill(os.getpid(), 11)"), "ends at once"),
        Part("absent", 60, script(f"print('no X'); raise SystemExit({SKIPPED})"), "cannot run"),
        Part("lacks", 60, ("no-such-program",), "cannot start", ("no-such-program",)),
        Part("late", 60, script(f"{seen}; raise SystemExit(1)"), "sees the file"),
    )
    assert main(("--out", str(out)), parts) == 1
    found = outcomes(out)
    assert {name: each["outcome"] for name, each in found.items()} == {
        "right": "passed",
        "wrong": "failed: exit status 3",
        "hangs": "hangs: stopped after 1 s",
        "crash": "crashed: SIGSEGV",
        "absent": "skipped: no X",
        "lacks": "skipped: no no-such-program on PATH",
        "late": "failed: exit status 1",
    }
    assert found["wrong"]["output"] == "too bad"
    before = found["late"]["output"]
    assert "crashed: SIGSEGV" in before
    assert "not reached" in before
    assert "not passed: wrong, hangs, crash, late" in capsys.readouterr().out


def test_what_is_left_behind_by_a_part_ends_with_it(tmp_path: Path) -> None:
    child = "import time; time.sleep(600)"
    starts = f"import subprocess, sys; subprocess.Popen([sys.executable, '-c', {child!r}]); "
    parts = (Part("parent", 30, script(f"{starts}print('done')"), "leaves a process"),)
    assert main(("--out", str(tmp_path)), parts) == 0
    assert outcomes(tmp_path)["parent"]["seconds"] < 25


def test_time_is_over(tmp_path: Path) -> None:
    parts = (Part("first", 60, script(""), ""), Part("second", 60, script(""), ""))
    assert main(("--out", str(tmp_path), "--seconds", "0"), parts) == 1
    assert {each["outcome"] for each in outcomes(tmp_path).values()} == {"not reached"}


def test_parts_by_name(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(("--out", str(tmp_path), "--only", "nothing"))
    assert "no part nothing; parts: machine, compile, calls" in capsys.readouterr().err


def test_packages_that_are_missing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(gpu_first, "PYTHON", script("")[0])
    monkeypatch.setattr(gpu_first, "missing", lambda environment: ["lark"])
    assert main(("--out", str(tmp_path))) == 2
    assert "missing here: lark; `make gpu-wheels`" in capsys.readouterr().err


HERE = f"cp{sys.version_info[0]}{sys.version_info[1]}"


@pytest.mark.parametrize(
    ("tags", "fits"),
    [
        ("py3-none-any", True),
        ("py2.py3-none-any", True),
        ("py37-none-any", True),
        (f"{HERE}-{HERE}-manylinux_2_17_{os.uname().machine}", True),
        (f"{HERE}-{HERE}-manylinux_2_17_another", False),
        ("cp27-cp27m-any", False),
    ],
)
def test_wheels_for_this_python(tmp_path: Path, tags: str, fits: bool) -> None:
    wheel = tmp_path / f"thing-1.0-{tags}.whl"
    with zipfile.ZipFile(wheel, "w") as archive:
        archive.writestr("thing.py", "here = True\n")
        archive.writestr("nvidia/__init__.py", "")
        archive.writestr("nvidia/thing/data", "")
    folder = tmp_path / "packages"
    folder.mkdir()
    assert unpacked(tmp_path, folder) == ([] if fits else [wheel.name])
    assert (folder / "thing.py").exists() == fits
    assert not (folder / "nvidia" / "__init__.py").exists(), "it would hide the machine's own"


def test_host_code_that_was_built_elsewhere(tmp_path: Path) -> None:
    """It serves where no compiler is, and only there."""
    library = tmp_path / "libcvmgen-cuda.so"
    assert gpu_first.carried(tmp_path, "") is None
    library.write_bytes(b"")
    assert gpu_first.carried(tmp_path, str(tmp_path)) == library
    compiler = tmp_path / "c++"
    compiler.write_text("#!/bin/sh\n")
    compiler.chmod(0o755)
    assert gpu_first.carried(tmp_path, str(tmp_path)) is None
