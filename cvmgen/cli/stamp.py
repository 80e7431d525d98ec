"""What a build was made from and what it made, so that the next one can see that nothing changed.

Needs none of the libraries that generation needs: an up-to-date build must not import them.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import sys
import tempfile
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from functools import cache
from importlib.metadata import version
from pathlib import Path

from cvmgen.build.files import LISTING, digest_of
from cvmgen.build.ownership import own_folder
from cvmgen.errors import CacheError
from cvmgen.paths import (
    cache_folder,
    runtime_folder,
    schedules_folder,
    spec_folder,
    templates_folder,
)

PACKAGE = Path(__file__).resolve().parent.parent
LIBRARIES = ("jinja2", "lark", "sympy")
CODE = (".py", ".lark")


@dataclass(frozen=True, slots=True)
class Stamp:
    """Digests of the spec files, of the schedules, of cvmgen itself and of the generated files,
    and the names of these."""

    spec: str
    schedules: str
    generator: str
    files: str
    names: tuple[str, ...]


def stamp_path(folder: Path, spec: Path, targets: Iterable[str], selection: Iterable[str]) -> Path:
    """Where the stamp of such a build lies in the cache."""
    parts = (str(folder.resolve()), str(spec.resolve()), *targets, "", *selection)
    name = hashlib.sha256("\0".join(parts).encode()).hexdigest()
    return cache_folder() / "builds" / f"{name}.json"


def read_stamp(path: Path) -> Stamp | None:
    """The stamp of the last such build; None when there is no usable one."""
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
        digests = (data["spec"], data["schedules"], data["generator"], data["files"])
        return Stamp(*digests, tuple(data["names"]))
    except (OSError, ValueError, KeyError, TypeError):
        return None


def write_stamp(path: Path, stamp: Stamp) -> None:
    """Store a stamp in one step; a cache that cannot be written only costs time."""
    with contextlib.suppress(OSError, CacheError):
        own_folder(cache_folder(), path.parent)
        descriptor, partial = tempfile.mkstemp(dir=path.parent)
        with os.fdopen(descriptor, "w", encoding="utf-8") as file:
            json.dump(asdict(stamp), file)
        os.replace(partial, path)


def spec_digest(folder: Path) -> str:
    """Of the formulas in a folder, and of cvmgen's own, of which they may import."""
    parts = (digest_of(each, sorted(each.rglob("*.cvm"))) for each in (folder, spec_folder()))
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()


def schedules_digest(folder: Path) -> str:
    """Of the schedules that go with a spec folder, and of cvmgen's own, which may fill in."""
    places = (schedules_folder(folder), schedules_folder(spec_folder()))
    parts = (digest_of(place, sorted(place.glob("*.sched"))) for place in places)
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()


def files_digest(folder: Path, names: Iterable[str]) -> str:
    """Of the named generated files and the listing beside them; missing ones count too."""
    return digest_of(folder, [folder / name for name in sorted({*names, LISTING})])


@cache
def generator_digest() -> str:
    """Of everything that a generated text depends on besides the formulas."""
    templates = templates_folder()
    found = [*PACKAGE.rglob("*.py"), *PACKAGE.rglob("*.lark"), *runtime_folder().rglob("*.*")]
    parts = [digest_of(PACKAGE, sorted(found)), digest_of(templates, sorted(templates.rglob("*")))]
    parts += [version(name) for name in LIBRARIES]
    parts += [f"{sys.implementation.name} {sys.version_info[:3]}"]
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()


@cache
def code_digest(parts: tuple[str, ...]) -> str:
    """Of the code in parts of the package that decides whether an operator is sound."""
    folders = [PACKAGE / part for part in parts]
    paths = [path for each in folders for path in sorted(each.rglob("*.*")) if path.suffix in CODE]
    return " ".join([*parts, digest_of(PACKAGE, [*paths, *sorted(PACKAGE.glob("*.py"))])])
