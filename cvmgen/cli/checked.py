"""Checked operators, remembered, and parsed files: what nobody edited is not parsed again."""

from __future__ import annotations

import pickle
import sys
from collections.abc import Mapping, Sequence
from functools import lru_cache, partial
from itertools import chain
from pathlib import Path

from cvmgen.build.cache import content_key, get_or_build
from cvmgen.cli.meaning import Marks, keep_marks, marks_of
from cvmgen.cli.stamp import code_digest
from cvmgen.errors import CvmgenError, Faults, Strict
from cvmgen.source import Source, SpecError, SpecErrors
from cvmgen.spec.check import check_parsed
from cvmgen.spec.files import SpecFile
from cvmgen.spec.formula import Operator
from cvmgen.spec.imports import in_reach
from cvmgen.spec.parse import Parsed, parse_all

CHECKING = ("spec",)
CHECKED = "-operators.pickle"
PARSED = "-parsed.pickle"
VERSIONS = 32  # of opsets, of which one process compares several
FILES = 64  # parsed ones that a process keeps


def checked(
    files: Sequence[SpecFile], faults: Faults, kept: list[SpecError] | None = None
) -> tuple[Operator, ...]:
    """The checked operators of files, of each opset from the cache where the files that decide of
    it were the same; of the same files a process gets the same objects. Raises SpecErrors; or, with
    `kept`, adds the errors to it and returns the operators that have none."""
    found: list[tuple[Operator, ...]] = []
    errors: list[SpecError] = []
    try:
        for opset, deciding in in_reach(files):
            try:
                key = _key(opset, deciding)
                found.append(_read(get_or_build(key, CHECKED, partial(_write, opset, files))))
            except SpecErrors as error:
                errors += error.errors
        if not errors:
            return tuple(chain(*found))
        if kept is None:
            raise SpecErrors(errors)
    except CvmgenError:
        raise
    except Exception:  # a fault of ours, which is told with its operator here
        pass
    return check_anew(files, faults, kept)


def _key(opset: str, files: Sequence[SpecFile]) -> str:
    parts = {
        "\0".join((each.opset, each.source.name, each.source.path)): each.source.text
        for each in files
    }
    return _key_of(parts, f"checked {opset}")


def _key_of(parts: Mapping[str, str], made: str) -> str:
    return content_key(parts, compiler=f"{code_digest(CHECKING)} {sys.version}", flags=(made,))


def _write(opset: str, files: Sequence[SpecFile], path: Path) -> None:
    operators = check_opset(files, opset)
    path.write_bytes(pickle.dumps([(each, tuple(marks_of(each))) for each in operators]))


def check_anew(
    files: Sequence[SpecFile], faults: Faults, kept: list[SpecError] | None = None
) -> tuple[Operator, ...]:
    """The same, checked; files are parsed that were not before."""
    return check_parsed(_all_parsed(files), faults, kept)


def check_opset(files: Sequence[SpecFile], opset: str) -> tuple[Operator, ...]:
    """The operators of one opset of a spec folder, checked."""
    return check_parsed(_all_parsed(files), Strict(), alone=opset)


def _all_parsed(files: Sequence[SpecFile]) -> list[tuple[str, Parsed]]:
    sources = ((each.opset, each.source) for each in files)
    return [(opset, _parsed(one.name, one.text, one.path)) for opset, one in sources]


@lru_cache(maxsize=FILES)
def _parsed(name: str, text: str, path: str) -> Parsed:
    """A parsed file, from the cache where it was the same and had no errors."""

    def write(place: Path) -> None:
        if (made := parse_all(Source(name, text, path))).errors:
            raise SpecErrors(made.errors)
        place.write_bytes(pickle.dumps(made))

    key = _key_of({"\0".join((name, path)): text}, "parsed")
    try:
        found: Parsed = pickle.loads(get_or_build(key, PARSED, write).read_bytes())
    except (SpecErrors, RecursionError):  # the latter of formulas that the check finds too deep
        return parse_all(Source(name, text, path))
    return found


@lru_cache(maxsize=VERSIONS)
def _read(path: Path) -> tuple[Operator, ...]:
    found: list[tuple[Operator, tuple[str, str, str]]] = pickle.loads(path.read_bytes())
    for operator, marks in found:
        keep_marks(operator, Marks(*marks))
    return tuple(operator for operator, _ in found)
