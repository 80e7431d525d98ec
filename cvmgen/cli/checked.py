"""Checked operators, remembered: files that nobody edited are not parsed again."""

from __future__ import annotations

import pickle
import sys
from collections.abc import Sequence
from functools import lru_cache, partial
from pathlib import Path

from cvmgen.build.cache import content_key, get_or_build
from cvmgen.cli.stamp import code_digest
from cvmgen.errors import CvmgenError, Faults, Strict
from cvmgen.source import Source
from cvmgen.spec.check import check_parsed
from cvmgen.spec.files import SpecFile
from cvmgen.spec.formula import Operator
from cvmgen.spec.parse import Parsed, parse_all

CHECKING = ("spec",)
CHECKED = "-checked.pickle"
VERSIONS = 4  # of the same files, which one process compares
FILES = 64  # parsed ones that a process keeps


def checked(files: Sequence[SpecFile], faults: Faults) -> tuple[Operator, ...]:
    """The checked operators of files, from the cache where they were the same; of the same files
    a process gets the same objects. Raises SpecErrors."""
    try:
        return _read(get_or_build(_key(files), CHECKED, partial(_write, files)))
    except CvmgenError:
        raise
    except Exception:  # a fault of ours, which is told with its operator here
        return check_anew(files, faults)


def _key(files: Sequence[SpecFile]) -> str:
    parts = {
        "\0".join((each.opset, each.source.name, each.source.path)): each.source.text
        for each in files
    }
    return content_key(parts, compiler=f"{code_digest(CHECKING)} {sys.version}", flags=("checked",))


def _write(files: Sequence[SpecFile], path: Path) -> None:
    path.write_bytes(pickle.dumps(check_anew(files, Strict())))


def check_anew(files: Sequence[SpecFile], faults: Faults) -> tuple[Operator, ...]:
    """The same without the cache; of files that a process has parsed before, that counts."""
    sources = ((each.opset, each.source) for each in files)
    return check_parsed(
        [(opset, _parsed(one.name, one.text, one.path)) for opset, one in sources], faults
    )


@lru_cache(maxsize=FILES)
def _parsed(name: str, text: str, path: str) -> Parsed:
    return parse_all(Source(name, text, path))


@lru_cache(maxsize=VERSIONS)
def _read(path: Path) -> tuple[Operator, ...]:
    found: tuple[Operator, ...] = pickle.loads(path.read_bytes())
    return found
