"""The tables of parsers in the cache."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from cvmgen.build.cache import content_key, get_or_build
from cvmgen.errors import CacheError


def kept_tables(origin: str, make: Callable[[], bytes]) -> bytes:
    """Tables of a parser from the cache, where there is one."""
    key = content_key({}, compiler="tables", flags=(origin,))

    def write(path: Path) -> None:
        path.write_bytes(make())

    try:
        return get_or_build(key, ".tables", write).read_bytes()
    except CacheError:
        return make()
