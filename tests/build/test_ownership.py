"""Only what this user or the administrator can have written comes out of the cache."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from cvmgen.build.cache import content_key, get_or_build, keep_failed
from cvmgen.errors import CacheError

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="permissions of POSIX")

KEY = content_key({"a.c": "1"}, compiler="cc 1")
STRANGER = 54321


def made(path: Path) -> None:
    path.write_bytes(b"ours")


def planted(path: Path, content: bytes = b"theirs") -> None:
    """What `path` holds is replaced, in the same file."""
    path.write_bytes(content)


def linked(path: Path) -> None:
    """A link to a file that holds what the digest says."""
    content = path.read_bytes()
    path.unlink()
    other = path.parent.parent / "other"
    planted(other, content)
    path.symlink_to(other)


def given_away(path: Path) -> None:
    if os.geteuid() != 0:
        pytest.skip("only root can give a file away")
    os.chown(path, STRANGER, -1)


CHANGES: dict[str, Callable[[Path], object]] = {
    "world-writable": lambda path: path.chmod(0o666),
    "group-writable": lambda path: path.chmod(0o660),
    "a link": linked,
    "another's": given_away,
    "a link to nothing": lambda path: [path.unlink(), path.symlink_to("nowhere")],
    "a folder": lambda path: [path.unlink(), path.mkdir()],
}


@pytest.mark.parametrize("which", ["", ".sha256"])
@pytest.mark.parametrize("change", CHANGES)
def test_an_entry_that_others_could_have_written_is_built_again(change: str, which: str) -> None:
    entry = get_or_build(KEY, ".so", made)
    CHANGES[change](entry.with_name(f"{entry.name}{which}"))
    if change == "a folder":  # nothing is removed that was not made here
        with pytest.raises(CacheError, match="cannot write to the cache"):
            get_or_build(KEY, ".so", made)
        return
    again = []
    found = get_or_build(KEY, ".so", lambda path: again.append(made(path)))
    assert len(again) == 1
    assert found == entry
    assert entry.read_bytes() == b"ours"
    assert not entry.is_symlink()
    assert entry.stat().st_mode & 0o022 == 0


@pytest.mark.parametrize("inner", ["", "entries", f"entries/{KEY[:2]}"])
@pytest.mark.parametrize(
    ("change", "rule"),
    [
        (lambda path: path.chmod(0o777), "other users can write to it"),
        (lambda path: path.chmod(0o770), "other users can write to it"),
        (given_away, "it belongs to another user"),
    ],
)
def test_a_folder_that_others_can_write_to_is_not_used(
    cache: Path, inner: str, change: Callable[[Path], object], rule: str
) -> None:
    get_or_build(KEY, ".so", made)
    change(cache / inner)
    for use in (
        lambda: get_or_build(KEY, ".so", made),
        *((lambda: keep_failed("x", KEY, {"a.c": ""}),) if not inner else ()),
    ):
        with pytest.raises(CacheError, match=f"does not use .*{rule}.*; .*set CVMGEN_CACHE"):
            use()


def test_a_link_inside_leads_nowhere(cache: Path, tmp_path: Path) -> None:
    cache.mkdir()
    (tmp_path / "elsewhere").mkdir()
    (cache / "entries").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(CacheError, match="it is no folder"):
        get_or_build(KEY, ".so", made)


def test_the_cache_may_be_a_link_of_the_user(cache: Path, tmp_path: Path) -> None:
    (tmp_path / "disk").mkdir(mode=0o755)
    cache.symlink_to(tmp_path / "disk")
    assert get_or_build(KEY, ".so", made).read_bytes() == b"ours"


def test_nobody_can_put_another_cache_in_its_place(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "open").mkdir()
    (tmp_path / "open").chmod(0o777)
    monkeypatch.setenv("CVMGEN_CACHE", str(tmp_path / "open" / "cache"))
    with pytest.raises(CacheError, match="open: any user can write to it"):
        get_or_build(KEY, ".so", made)
    (tmp_path / "open").chmod(0o1777)  # as /tmp is: only owners rename there
    assert get_or_build(KEY, ".so", made).read_bytes() == b"ours"


def test_what_is_made_is_ours_whatever_the_umask_says(cache: Path) -> None:
    before = os.umask(0)
    try:
        entry = get_or_build(KEY, ".so", made)
        assert get_or_build(KEY, ".so", lambda path: pytest.fail("built again")) == entry
    finally:
        os.umask(before)
    for path in (cache, cache / "entries", entry.parent, entry):
        assert path.stat().st_mode & 0o022 == 0
