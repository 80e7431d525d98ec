"""`cvmgen build --install PREFIX`: the C library where other programs look for libraries."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

import cvmgen
from cvmgen.api.library import deployable
from cvmgen.api.packaged import INTERFACE, SONAME
from cvmgen.build.files import write_changed
from cvmgen.errors import CvmgenError

FILE = f"libcvmgen.so.{cvmgen.__version__}"
LINKS = {SONAME: FILE, "libcvmgen.so": SONAME}


def install(folder: Path, prefix: Path) -> list[Path]:
    """The library, headers, and what pkg-config and CMake read; what lies where, the library first.

    The files name no place: `prefix` may be moved.
    """
    if sys.platform != "linux":
        raise CvmgenError(f"--install knows how Linux names libraries, not {sys.platform}")
    library = deployable(folder)
    headers = public_headers(folder)
    try:
        replace_file(prefix / "lib" / FILE, library.read_bytes(), 0o755)
        for name, target in LINKS.items():
            link(prefix / "lib" / name, target)
        descriptions = dict(build_files())
        for name, text in descriptions.items():
            replace_file(prefix / name, text.encode(), 0o644)
    except OSError as error:
        raise CvmgenError(f"cannot install: {error.filename}: {error.strerror}") from error
    write_changed(prefix / "include" / "cvmgen", headers)
    links = [prefix / "lib" / name for name in LINKS]
    others = [prefix / name for name in descriptions]
    return [prefix / "lib" / FILE, *links, *others, prefix / "include" / "cvmgen"]


def public_headers(folder: Path) -> Mapping[str, bytes]:
    """What callers include: the header of each opset and operator, and what these include."""
    root = folder / "c"
    found = (*root.rglob("*.h"), *root.rglob("*.hpp"))
    own = [path for path in found if not path.name.startswith("cvmgen_")]
    return {path.relative_to(root).as_posix(): path.read_bytes() for path in sorted(own)}


def build_files() -> Iterator[tuple[str, str]]:
    """What build systems read, by its name below the prefix."""
    from cvmgen.emit.render import render_template  # a slow import

    values = {
        "version": cvmgen.__version__,
        "interface": INTERFACE,
        "file": FILE,
        "soname": SONAME,
    }
    for name, folder in (
        ("cvmgen.pc", "lib/pkgconfig"),
        ("cvmgen-config.cmake", "lib/cmake/cvmgen"),
        ("cvmgen-config-version.cmake", "lib/cmake/cvmgen"),
    ):
        yield f"{folder}/{name}", render_template(f"install/{name}.j2", **values)


def replace_file(path: Path, content: bytes, mode: int) -> None:
    """Put a file in the place of another in one step: a program may be running from that."""
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        partial.write_bytes(content)
        partial.chmod(mode)
        partial.replace(path)
    finally:
        partial.unlink(missing_ok=True)


def link(path: Path, target: str) -> None:
    partial = path.with_name(f".{path.name}.{os.getpid()}")
    with contextlib.suppress(FileNotFoundError):
        partial.unlink()
    partial.symlink_to(target)
    partial.replace(path)
