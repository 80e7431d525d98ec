"""The cache: what its keys tell apart, and that only whole results come out of it."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from cvmgen.build import cache as build_cache
from cvmgen.build.cache import UNUSED_DAYS, content_key, get_or_build, keep_failed
from cvmgen.errors import BuildError, CacheError, InternalError

KEY = content_key({"a.c": "1"}, compiler="cc 1", flags=("-O3",))

DIFFERENT = [
    ({"a.c": "2"}, "cc 1", ("-O3",), "the text"),
    ({"b.c": "1"}, "cc 1", ("-O3",), "the name"),
    ({"a.c1": ""}, "cc 1", ("-O3",), "where the name ends"),
    ({"a.c": "1", "b.c": ""}, "cc 1", ("-O3",), "one more source"),
    ({"a.c": "1"}, "cc 2", ("-O3",), "the compiler"),
    ({"a.c": "1"}, "cc 1", ("-O2",), "a flag"),
    ({"a.c": "1"}, "cc 1", (), "no flag"),
    ({"a.c": "1"}, "cc 1", ("-O", "3"), "where the flags are split"),
    ({}, "cc 1", ("-O3", "a.c", "1"), "a source is no flag"),
]


@pytest.mark.parametrize(("sources", "compiler", "flags", "why"), DIFFERENT)
def test_keys_differ(
    sources: dict[str, str], compiler: str, flags: tuple[str, ...], why: str
) -> None:
    assert content_key(sources, compiler=compiler, flags=flags) != KEY, why


def test_keys_do_not_depend_on_the_order_of_sources() -> None:
    one = content_key({"a": "1", "b": b"2"}, compiler="cc")
    assert one == content_key({"b": "2", "a": "1"}, compiler="cc")


def test_builds_once() -> None:
    built = []

    def builder(path: Path) -> None:
        built.append(path)
        path.write_text("result")

    first = get_or_build(KEY, ".so", builder)
    assert first.read_text() == "result"
    assert get_or_build(KEY, ".so", builder) == first
    assert len(built) == 1
    assert get_or_build(KEY, ".o", builder) != first
    assert len(built) == 2


def test_leaves_nothing_but_the_entry(cache: Path) -> None:
    def builder(path: Path) -> None:
        (path.parent / "helper.c").write_text("x")
        path.write_text("result")

    entry = get_or_build(KEY, ".so", builder)
    names = {path.name for path in (cache / "entries").rglob("*") if path.is_file()}
    assert names == {entry.name, f"{entry.name}.sha256"}


@pytest.mark.parametrize("damage", ["truncate", "change", "remove", "no digest"])
def test_a_damaged_entry_is_built_again(damage: str) -> None:
    entry = get_or_build(KEY, ".so", lambda path: path.write_bytes(b"0123456789") and None)
    match damage:
        case "truncate":
            entry.write_bytes(b"01234")
        case "change":
            entry.write_bytes(b"0123456780")
        case "remove":
            entry.unlink()
        case _:
            entry.with_name(f"{entry.name}.sha256").unlink()
    again = get_or_build(KEY, ".so", lambda path: path.write_bytes(b"0123456789") and None)
    assert again.read_bytes() == b"0123456789"


def test_a_failing_builder_leaves_no_entry(cache: Path) -> None:
    def fail(path: Path) -> None:
        path.write_text("half")
        raise BuildError("refused")

    with pytest.raises(BuildError, match="refused"):
        get_or_build(KEY, ".so", fail)
    assert not [path for path in (cache / "entries").rglob("*") if path.is_file()]
    assert get_or_build(KEY, ".so", lambda path: path.write_text("ok") and None).read_text() == "ok"


def test_a_builder_that_writes_nothing_is_our_fault() -> None:
    with pytest.raises(InternalError, match="wrote no file"):
        get_or_build(KEY, ".so", lambda path: None)


def test_threads_wait_for_the_one_that_builds() -> None:
    built = []

    def builder(path: Path) -> None:
        built.append(path)
        time.sleep(0.1)
        path.write_text("result")

    threads = [threading.Thread(target=get_or_build, args=(KEY, "", builder)) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(built) == 1


BUILDER = """
import sys, time
from pathlib import Path
from cvmgen.build.cache import get_or_build
def builder(path):
    Path(sys.argv[2]).open("a").write("built\\n")
    path.write_text("half")
    print("building", flush=True)
    time.sleep(float(sys.argv[3]))
    path.write_text("whole")
print(get_or_build(sys.argv[1], ".so", builder).read_text())
"""


def start(log: Path, seconds: float) -> subprocess.Popen[str]:
    command = [sys.executable, "-c", BUILDER, KEY, str(log), str(seconds)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True)


def test_processes_wait_for_the_one_that_builds(tmp_path: Path) -> None:
    log = tmp_path / "log"
    with start(log, 0.5) as one, start(log, 0.5) as two:
        outputs = [one.communicate()[0], two.communicate()[0]]
    assert [output.split()[-1] for output in outputs] == ["whole", "whole"]
    assert log.read_text() == "built\n"


@pytest.mark.skipif(sys.platform == "win32", reason="SIGKILL")
def test_a_killed_builder_stops_nobody(tmp_path: Path) -> None:
    log = tmp_path / "log"
    with start(log, 60) as killed:
        assert killed.stdout is not None
        assert killed.stdout.readline() == "building\n"
        os.kill(killed.pid, signal.SIGKILL)
    with start(log, 0) as next_one:
        assert next_one.communicate()[0].split()[-1] == "whole"


def test_says_when_the_cache_cannot_be_written(cache: Path) -> None:
    cache.write_text("a file where the folder should be")
    message = f"in {cache}: Not a directory; set CVMGEN_CACHE to a folder that can be written"
    with pytest.raises(CacheError, match=re.escape(message)):
        get_or_build(KEY, ".so", lambda path: path.write_text("x") and None)
    with pytest.raises(CacheError, match=re.escape(message)):
        keep_failed("a", KEY, {"a.c": "x"})


def test_sweeps_what_nobody_uses(cache: Path) -> None:
    old = get_or_build(KEY, ".old", lambda path: path.write_text("x") and None)
    used = get_or_build(KEY, ".used", lambda path: path.write_text("x") and None)
    failed = cache / "failed" / "conv2d-0123"
    failed.mkdir(parents=True)
    long_ago = time.time() - (UNUSED_DAYS + 1) * 24 * 60 * 60
    for path in (old, used):
        os.utime(path.with_name(f"{path.name}.sha256"), (long_ago, long_ago))
    for path in (failed, cache / "swept"):
        os.utime(path, (long_ago, long_ago))
    get_or_build(KEY, ".used", lambda path: path.write_text("again") and None)
    get_or_build(KEY, ".new", lambda path: path.write_text("x") and None)
    assert used.read_text() == "x"
    assert not old.exists()
    assert not failed.exists()


def test_sweeps_the_oldest_beyond_the_limit(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(build_cache, "MOST_BYTES", 10)
    now = time.time()
    entries = {}
    for name, hours in (("oldest", 99), ("older", 50), ("old", 49), ("new", 47)):
        entry = get_or_build(KEY, f".{name}", lambda path: path.write_text("1234") and None)
        used = now - hours * 60 * 60
        os.utime(entry.with_name(f"{entry.name}.sha256"), (used, used))
        entries[name] = entry
    (cache / "swept").unlink()
    get_or_build(KEY, ".next", lambda path: path.write_text("1") and None)
    assert {name for name, entry in entries.items() if entry.exists()} == {"new", "old"}
