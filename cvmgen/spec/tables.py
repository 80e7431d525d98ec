"""The tables of parsers, which a process that has somewhere to keep them makes but once: to make
them of a grammar takes a fifth of what a short command takes."""

from __future__ import annotations

import sys
from collections.abc import Callable
from importlib.resources import files
from io import BytesIO
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from lark import Lark

Keep = Callable[[str, Callable[[], bytes]], bytes]
"""Given all that tables are made from and what makes them: the tables, from where they are kept."""

_keepers: list[Keep] = []


def keep_tables(keep: Keep) -> None:
    """From now on tables are kept so. Whoever can write there can run what he likes in this
    process: they are pickled."""
    _keepers[:] = [keep]


def parser(file: str, *, strict: bool, **options: Any) -> Lark:
    """The LALR parser of a grammar that lies beside this file; if `strict`, which takes long and
    needs a package of its own, every conflict of the grammar is an error."""
    import lark  # a slow import, of which who only keeps tables has no need

    text = files("cvmgen.spec").joinpath(file).read_text(encoding="utf-8")

    def made() -> Lark:
        return lark.Lark(text, parser="lalr", strict=strict, propagate_positions=True, **options)

    def tables() -> bytes:
        found = BytesIO()
        made().save(found)
        return found.getvalue()

    if strict or not _keepers:
        return made()
    origin = f"lark {lark.__version__}, Python {sys.version}, {options}\n{text}"
    return lark.Lark.load(BytesIO(_keepers[0](origin, tables)))
