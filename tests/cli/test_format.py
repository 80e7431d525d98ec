"""`cvmgen format`: which files it writes, how, and what it says."""

from __future__ import annotations

import io
import sys
from pathlib import Path

import pytest

from .conftest import Command

MESSY = "const  a=1 # one\n"
NEAT = "const a = 1  # one\n"
BROKEN = "const a =\n"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "spec").mkdir()
    (tmp_path / "spec/messy.cvm").write_text(MESSY)
    (tmp_path / "spec/neat.cvm").write_text(NEAT)
    (tmp_path / "spec/notes.txt").write_text(MESSY)
    return tmp_path / "spec"


def test_what_is_not_laid_out_is_written_in_one_step(cvmgen: Command, folder: Path) -> None:
    messy, neat = folder / "messy.cvm", folder / "neat.cvm"
    messy.chmod(0o640)
    before = neat.stat().st_mtime_ns
    outcome = cvmgen("format", folder)
    assert (outcome.code, outcome.out) == (0, f"{messy}\n1 file laid out anew\n")
    assert (messy.read_text(), messy.stat().st_mode & 0o777) == (NEAT, 0o640)
    assert neat.stat().st_mtime_ns == before
    assert sorted(each.name for each in folder.iterdir()) == ["messy.cvm", "neat.cvm", "notes.txt"]
    assert cvmgen("format", folder, "--check").out == "nothing to lay out\n"
    assert cvmgen("format", "--spec", folder, "--json").json == {"changed": []}


def test_check_and_diff_write_nothing(cvmgen: Command, folder: Path) -> None:
    assert cvmgen("format", folder, "--check").code == 1
    outcome = cvmgen("format", folder, "--diff")
    assert outcome.code == 0
    assert "-const  a=1 # one\n+const a = 1  # one\n" in outcome.out
    assert (folder / "messy.cvm").read_text() == MESSY


def test_a_fault_in_one_file_leaves_it_and_the_others_are_written(
    cvmgen: Command, folder: Path
) -> None:
    (folder / "broken.cvm").write_text(BROKEN)
    outcome = cvmgen("format", folder)
    assert outcome.code == 1
    assert "is missing after this" in outcome.err
    assert (folder / "broken.cvm").read_text() == BROKEN
    assert (folder / "messy.cvm").read_text() == NEAT
    alone = cvmgen("format", folder / "broken.cvm")
    assert (alone.code, alone.out) == (1, "")
    found = cvmgen("format", folder, "--json").json
    assert (found["changed"], len(found["error"]["errors"])) == ([], 1)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (b"const  a=1\r\nconst b = 2\r\n", b"const a = 1\r\nconst b = 2\r\n"),
        (b"\xef\xbb\xbfconst  a=1\n", b"\xef\xbb\xbfconst a = 1\n"),
        (b"\xef\xbb\xbfconst  a=1\r\n", b"\xef\xbb\xbfconst a = 1\r\n"),
        (b"const  a=1\r\nconst b = 2\nconst c = 3\n", b"const a = 1\nconst b = 2\nconst c = 3\n"),
        (b"const a = 1\r\nconst b = 2\n", b"const a = 1\r\nconst b = 2\n"),
    ],
)
def test_line_ends_and_the_mark_of_a_file_stay(
    cvmgen: Command, tmp_path: Path, before: bytes, after: bytes
) -> None:
    (tmp_path / "a.cvm").write_bytes(before)
    assert cvmgen("format", tmp_path / "a.cvm").code == 0
    assert (tmp_path / "a.cvm").read_bytes() == after


def test_a_link_stays_one(cvmgen: Command, folder: Path) -> None:
    link = folder.parent / "link.cvm"
    link.symlink_to(folder / "messy.cvm")
    assert cvmgen("format", link).code == 0
    assert link.is_symlink()
    assert link.read_text() == NEAT


@pytest.mark.parametrize(
    ("text", "wanted"),
    [(MESSY, NEAT), ("schedule list for c {\ncopy\n}\n", "schedule list for c {\n  copy\n}\n")],
)
def test_standard_input(
    cvmgen: Command, monkeypatch: pytest.MonkeyPatch, text: str, wanted: str
) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(text.encode())))
    assert cvmgen("format", "-").out == wanted


@pytest.mark.parametrize("names", [("-", "a.cvm"), ("notes.txt",)])
def test_what_is_no_such_file_is_refused(cvmgen: Command, names: tuple[str, ...]) -> None:
    assert cvmgen("format", *names).code == 2
