"""Writing generated files: only what changed, whole or not at all, nobody else's."""

from __future__ import annotations

import multiprocessing
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from cvmgen.build.files import LISTING, Change, folder_diff, write_changed
from cvmgen.errors import CvmgenError


def contents(folder: Path) -> dict[str, str]:
    return {
        path.relative_to(folder).as_posix(): path.read_text()
        for path in folder.rglob("*")
        if path.is_file() and path.name != LISTING
    }


def kinds(folder: Path, changes: list[Change]) -> dict[str, str]:
    return {change.path.relative_to(folder).as_posix(): change.kind for change in changes}


def test_writes_only_what_changed(tmp_path: Path) -> None:
    first = write_changed(tmp_path, {"c/a.c": "1\n", "b.py": b"2\n", "µ.txt": "µ\n"})
    assert kinds(tmp_path, first) == {"c/a.c": "new", "b.py": "new", "µ.txt": "new"}
    stamps = {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*") if path.is_file()}

    assert write_changed(tmp_path, {"c/a.c": "1\n", "b.py": b"2\n", "µ.txt": "µ\n"}) == []
    assert stamps == {path: path.stat().st_mtime_ns for path in stamps}

    second = write_changed(tmp_path, {"c/a.c": "3\n", "b.py": "2\n", "µ.txt": "µ\n"})
    assert kinds(tmp_path, second) == {"c/a.c": "changed"}
    assert contents(tmp_path) == {"c/a.c": "3\n", "b.py": "2\n", "µ.txt": "µ\n"}


def test_changes_come_sorted(tmp_path: Path) -> None:
    write_changed(tmp_path, {"m": "1", "z": "1"})
    changes = write_changed(tmp_path, {"a": "1", "z": "2"})
    assert [(change.path.name, change.kind) for change in changes] == [
        ("a", "new"),
        ("m", "removed"),
        ("z", "changed"),
    ]


def test_removes_stale_files_and_the_folders_they_leave_empty(tmp_path: Path) -> None:
    write_changed(tmp_path, {"c/deep/old.c": "1", "c/keep.c": "1"})
    changes = write_changed(tmp_path, {"c/keep.c": "1"})
    assert kinds(tmp_path, changes) == {"c/deep/old.c": "removed"}
    assert not (tmp_path / "c/deep").exists()
    assert write_changed(tmp_path, {"c/keep.c": "1"}) == []


def test_keeps_stale_files_when_told_and_remembers_them(tmp_path: Path) -> None:
    write_changed(tmp_path, {"old.c": "1", "a.c": "1"})
    assert write_changed(tmp_path, {"a.c": "1"}, remove_stale=False) == []
    assert (tmp_path / "old.c").exists()
    assert kinds(tmp_path, write_changed(tmp_path, {"a.c": "1"})) == {"old.c": "removed"}


def test_never_removes_what_it_did_not_write(tmp_path: Path) -> None:
    (tmp_path / "c").mkdir()
    (tmp_path / "c/notes.md").write_text("mine")
    write_changed(tmp_path, {"c/a.c": "1"})
    write_changed(tmp_path, {})
    assert contents(tmp_path) == {"c/notes.md": "mine"}


@pytest.mark.parametrize("line", ["../outside", "/{outside}", "c/../../outside", "", "."])
def test_a_forged_listing_leads_nowhere(tmp_path: Path, line: str) -> None:
    outside = tmp_path / "outside"
    outside.write_text("mine")
    folder = tmp_path / "generated"
    write_changed(folder, {"a.c": "1"})
    with (folder / LISTING).open("a") as listing:
        listing.write(line.format(outside=outside) + "\n")
    write_changed(folder, {"a.c": "1"})
    assert outside.read_text() == "mine"


@pytest.mark.parametrize("name", ["", "/a", "../a", "a/../b", "./a", "a//b", LISTING])
def test_refuses_names_that_lead_elsewhere(tmp_path: Path, name: str) -> None:
    with pytest.raises(ValueError, match="generated file"):
        write_changed(tmp_path, {name: "1"})
    assert list(tmp_path.iterdir()) == []


def test_says_what_the_system_refuses(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(CvmgenError, match=r"cannot write generated files: .*file"):
        write_changed(tmp_path / "file", {"a": "1"})


def test_clears_away_what_a_dead_writer_left(tmp_path: Path) -> None:
    write_changed(tmp_path, {"c/a.c": "1"})
    (tmp_path / "c/.a.c.cvmgen-partial").write_text("half")
    assert write_changed(tmp_path, {"c/a.c": "1"}) == []
    assert contents(tmp_path) == {"c/a.c": "1"}


COMPARED = [
    ({"a": "1\n"}, {"a": "1\n"}, "", "identical"),
    (
        {"a": "1\n2\n"},
        {"a": "1\n3\n"},
        "--- a/a\n+++ b/a\n@@ -1,2 +1,2 @@\n 1\n-2\n+3\n",
        "changed",
    ),
    ({"a": "1"}, {"a": "2\n"}, "-1\n\\ No newline at end of file\n+2\n", "last line not ended"),
    ({"a": "1\n"}, {"a": "1\n", "b": "2\n"}, "--- /dev/null\n+++ b/b\n@@ -0,0 +1 @@\n+2\n", "new"),
    ({"a": "", "b": "2\n"}, {"a": ""}, "--- a/b\n+++ /dev/null\n@@ -1 +0,0 @@\n-2\n", "stale"),
    ({"a": "1\n"}, {"a": "1\n", "b": ""}, "--- /dev/null\n+++ b/b\n", "new and empty"),
    ({"a": b"\xff"}, {"a": b"\xfe"}, "Binary files a/a and b/a differ\n", "not text"),
]


@pytest.mark.parametrize(("written", "wanted", "part", "why"), COMPARED)
def test_compare(
    tmp_path: Path,
    written: dict[str, str | bytes],
    wanted: dict[str, str | bytes],
    part: str,
    why: str,
) -> None:
    write_changed(tmp_path, written)
    before = {path: path.read_bytes() for path in tmp_path.iterdir()}
    difference = folder_diff(tmp_path, wanted)
    assert part in difference, why
    assert bool(difference) == bool(part)
    assert before == {path: path.read_bytes() for path in tmp_path.iterdir()}
    write_changed(tmp_path, wanted)
    assert folder_diff(tmp_path, wanted) == ""


def test_compare_with_nothing_there(tmp_path: Path) -> None:
    assert "+++ b/a" in folder_diff(tmp_path / "missing", {"a": "1\n"})
    assert not (tmp_path / "missing").exists()


OLD = "old\n" * 200_000
NEW = "new\n" * 200_000

WRITER = """
import sys
from pathlib import Path
from cvmgen.build.files import write_changed
folder = Path(sys.argv[1])
print("ready", flush=True)
while True:
    for text in ("old\\n" * 200_000, "new\\n" * 200_000):
        write_changed(folder, {"a.c": text, "sub/b.c": text})
"""


@pytest.mark.skipif(sys.platform == "win32", reason="SIGKILL")
def test_a_killed_writer_leaves_whole_files(tmp_path: Path) -> None:
    write_changed(tmp_path, {"a.c": OLD, "sub/b.c": OLD})
    found = set()
    for attempt in range(12):
        command = [sys.executable, "-c", WRITER, str(tmp_path)]
        with subprocess.Popen(command, stdout=subprocess.PIPE) as writer:
            assert writer.stdout is not None
            writer.stdout.readline()
            time.sleep(0.003 + 0.0047 * attempt)
            os.kill(writer.pid, signal.SIGKILL)
        for name in ("a.c", "sub/b.c"):
            text = (tmp_path / name).read_text()
            assert text in (OLD, NEW)
            found.add(text)
    write_changed(tmp_path, {"a.c": OLD, "sub/b.c": OLD})
    assert contents(tmp_path) == {"a.c": OLD, "sub/b.c": OLD}
    assert found == {OLD, NEW}, "the writers were killed before they wrote anything"


def write_often(folder: Path, text: str) -> None:
    for _ in range(30):
        write_changed(folder, {f"{name}.c": text for name in "abcdef"})


def test_two_writers_do_no_harm(tmp_path: Path) -> None:
    context = multiprocessing.get_context("spawn")
    texts = ["1" * 50_000, "2" * 70_000]
    writers = [context.Process(target=write_often, args=(tmp_path, text)) for text in texts]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join()
    assert [writer.exitcode for writer in writers] == [0, 0]
    # Whoever came last wrote everything: the lock covers a whole run.
    assert set(contents(tmp_path)) == {f"{name}.c" for name in "abcdef"}
    assert len(set(contents(tmp_path).values())) == 1
    assert set(contents(tmp_path).values()) <= set(texts)


def test_a_link_leads_nowhere(tmp_path: Path) -> None:
    folder, elsewhere = tmp_path / "generated", tmp_path / "elsewhere"
    folder.mkdir()
    elsewhere.mkdir()
    (elsewhere / "kept").write_text("kept")
    (folder / "c").symlink_to(elsewhere)
    for files in ({"c/x.c": "new"}, {"x.c": "new"}):
        (folder / LISTING).write_text("c/kept\n")
        with pytest.raises(CvmgenError, match="generated/c leads out of"):
            write_changed(folder, files)
    assert [path.name for path in elsewhere.iterdir()] == ["kept"]


def test_python_never_takes_an_older_text_for_this_one(tmp_path: Path) -> None:
    """Two texts of one length in one second, as an edit and a clock set back can make them."""
    for text in ("value = 1\n", "value = 2\n"):
        write_changed(tmp_path, {"said.py": text})
        os.utime(tmp_path / "said.py", (1_000_000_000, 1_000_000_000))
        command = [sys.executable, "-c", "import said; print(said.value)"]
        done = subprocess.run(command, cwd=tmp_path, check=True, capture_output=True, text=True)
        assert f"value = {done.stdout}" == text
