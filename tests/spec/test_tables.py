"""Parsers from tables that are kept read and refuse as those that are made do."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from lark import Lark, UnexpectedInput

from cvmgen.build.tables import kept_tables
from cvmgen.spec import tables
from cvmgen.spec.grammar import grammar
from cvmgen.spec.parse import declaration_spans
from cvmgen.spec.schedules import schedule_grammar

SPEC = Path(__file__).parents[2] / "spec"
TEXTS = {
    "grammar.lark": [
        text[start:end]
        for path in sorted(SPEC.rglob("*.cvm"))
        for text in [path.read_text(encoding="utf-8")]
        for start, end in declaration_spans(text)
    ][::5],
    "schedule.lark": [path.read_text(encoding="utf-8") for path in SPEC.rglob("*.sched")],
}
BROKEN = ["operator f {", "const = 3", "operator f { Y[i] = 2 +* 3 }", "schedule for", "§", ""]
OPTIONS: dict[str, dict[str, Any]] = {"schedule.lark": {"start": ["start", "action"]}}
MADE = {"grammar.lark": grammar, "schedule.lark": schedule_grammar}


@pytest.fixture
def kept(monkeypatch: pytest.MonkeyPatch) -> dict[str, bytes]:
    """Tables by what they are made from, kept for one test."""
    found: dict[str, bytes] = {}

    def keep(origin: str, make: Callable[[], bytes]) -> bytes:
        if origin not in found:
            found[origin] = make()
        return found[origin]

    monkeypatch.setattr(tables, "_keepers", [keep])
    return found


def outcome(parser: Lark, text: str) -> object:
    try:
        return parser.parse(text, start="start")
    except UnexpectedInput as error:
        known = getattr(error, "accepts", None) or getattr(error, "allowed", None)
        return type(error), error.pos_in_stream, known


@pytest.mark.parametrize("file", TEXTS)
def test_they_read_alike(kept: dict[str, bytes], file: str) -> None:
    options = OPTIONS.get(file, {})
    first, second = (tables.parser(file, strict=False, **options) for _ in range(2))
    assert len(kept) == 1, "the second one is from the tables of the first"
    assert TEXTS[file]
    for text in (*TEXTS[file], *BROKEN):
        assert outcome(first, text) == outcome(second, text) == outcome(MADE[file](), text)


def test_the_cache_keeps_them() -> None:
    assert kept_tables("a grammar", lambda: b"tables") == b"tables"
    assert kept_tables("a grammar", lambda: pytest.fail("made again")) == b"tables"
    assert kept_tables("another one", lambda: b"others") == b"others"


def test_without_a_cache_they_are_made(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("CVMGEN_CACHE", str(tmp_path / "file" / "cache"))
    assert kept_tables("a grammar", lambda: b"made here") == b"made here"
