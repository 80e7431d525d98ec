"""The ledger: which entries are stale or worse, what is kept of them, and the page."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from cvmgen.errors import CvmgenError
from cvmgen.verification.ledger import (
    LEDGER,
    PAGE,
    Entries,
    Finding,
    Ledger,
    LedgerEntry,
    Left,
    Standing,
    ledger_text,
    merged,
    read_ledger,
    stale,
    text_digests,
    worse,
)
from cvmgen.verification.ledger_check import complaints, stale_note
from cvmgen.verification.ledger_page import page
from tests.conformance.random_calls import DRAW
from tests.operators import product
from tests.targets import TARGETS

TEXTS = {
    ".cvmgen-files": "c/toy/double.c\n",
    "manifest.json": "{}",
    "c/cvmgen.h": "support",
    "c/toy.h": "a list of operators",
    "c/toy/double.c": "double",
    "c/toy/double.h": "its interface",
    "c/toy/other.c": "other",
    "cuda/cvmgen_cuda.h": "support",
    "cuda/cpu/cvmgen_cpu.h": "how it runs on the CPU",
    "cuda/toy/double.cu": "double",
    "cuda/toy/other.cu": "other",
    "numpy/toy/double.py": "double",
}
SOLVED = Finding("proved", {"z3": 2})
DOUBLE, OTHER = "toy.double", "toy.other"
BOTH = [(DOUBLE, "c"), (DOUBLE, "cuda")]
ALL = [*BOTH, (OTHER, "c"), (OTHER, "cuda")]


def entries(texts: dict[str, str], finding: Finding = SOLVED) -> Entries:
    """What a ledger of these texts says."""
    found: dict[str, dict[str, LedgerEntry]] = {}
    for (operator, target), digest in text_digests(texts).items():
        found.setdefault(operator, {})[target] = LedgerEntry(
            {"bounds": finding}, digest, seconds=1.0
        )
    return found


def ledger(found: Entries) -> Ledger:
    meanings = {"bounds": "each element lies in its tensor", "values": "what the formula says"}
    return Ledger(meanings, {"bounds": "a test"}, {"printers": "that they print"}, found)


def write(folder: Path, found: Entries) -> None:
    whole = ledger(found)
    (folder / LEDGER).write_text(ledger_text(whole))
    (folder / PAGE).write_text(page(whole))


# ---------------------------------------------------------------- texts

CHANGED = [
    ("c/toy/double.c", [(DOUBLE, "c")], "its own text"),
    ("c/toy/double.h", [(DOUBLE, "c")], "its interface"),
    ("cuda/toy/other.cu", [(OTHER, "cuda")], "its own text"),
    ("c/cvmgen.h", [(DOUBLE, "c"), (OTHER, "c")], "what all kernels of a target include"),
    ("c/toy.h", [], "it lists operators, and no kernel includes it"),
    ("cuda/cpu/cvmgen_cpu.h", [], "tests run by it, no proof speaks of it"),
    ("numpy/toy/double.py", [], "tests alone speak of it, and they run on what is built"),
    ("manifest.json", [], "no kernel reads it"),
]


@pytest.mark.parametrize(("name", "expected", "why"), CHANGED)
def test_a_changed_text_makes_its_entries_stale(
    name: str, expected: list[tuple[str, str]], why: str
) -> None:
    assert stale(entries(TEXTS), TEXTS) == []
    assert stale(entries(TEXTS), {**TEXTS, name: "something else"}) == expected, why
    assert stale(entries(TEXTS), {**TEXTS, name: TEXTS[name].encode()}) == [], "the same in bytes"


def test_what_comes_and_goes_is_stale() -> None:
    fewer = {name: text for name, text in TEXTS.items() if "other" not in name}
    assert stale(entries(fewer), TEXTS) == [(OTHER, "c"), (OTHER, "cuda")]
    assert stale(entries(TEXTS), fewer) == [(OTHER, "c"), (OTHER, "cuda")]
    without_cuda = {name: text for name, text in TEXTS.items() if not name.startswith("cuda")}
    assert stale(entries(without_cuda), without_cuda) == [], "built for C alone"


# ---------------------------------------------------------------- worse

SOME_OPEN = Finding("open", {"z3": 1}, (Left("the solvers give up", 1),))
MORE_OPEN = Finding("open", {"z3": 9}, (Left("the solvers give up", 2),))
FINDINGS = [
    ("proved", Finding("proved", {"z3": 2}), Finding("proved", {"z3": 1}), False),
    ("proved, then open", Finding("proved"), SOME_OPEN, True),
    ("more is open", SOME_OPEN, MORE_OPEN, True),
    ("less is open", MORE_OPEN, SOME_OPEN, False),
    ("open, then refuted", SOME_OPEN, Finding("refuted"), True),
    ("validated, then open", Finding("validated"), SOME_OPEN, True),
    ("fewer calls", Finding("validated", {"terms": 9}), Finding("validated", {"terms": 1}), False),
]


@pytest.mark.parametrize(("why", "before", "now", "expected"), FINDINGS)
def test_worse(why: str, before: Finding, now: Finding, *, expected: bool) -> None:
    found = merged(entries(TEXTS, before), entries(TEXTS, now), (), accept=False)
    assert bool(list(worse(found))) == expected, why
    accepted = merged(entries(TEXTS, before), entries(TEXTS, now), (), accept=True)
    assert list(worse(accepted)) == []


def test_what_was_better_is_not_forgotten() -> None:
    first = entries(TEXTS)
    once = merged(first, entries(TEXTS, SOME_OPEN), (), accept=False)
    twice = merged(once, entries(TEXTS, SOME_OPEN), (), accept=False)
    assert [finding.before for *_, finding in worse(twice)] == [Standing("proved", 0)] * 4
    assert merged(twice, first, (), accept=False) == first, "it is proved again"


def test_found_again_nothing_changes() -> None:
    before = entries(TEXTS)
    slower = {
        name: {target: replace(entry, seconds=9.0) for target, entry in several.items()}
        for name, several in before.items()
    }
    assert merged(before, slower, (), accept=False) == before


def test_where_cvmgen_fails_nothing_is_lost_and_check_fails(tmp_path: Path) -> None:
    before, fault = (
        entries(TEXTS),
        LedgerEntry({}, failed="InternalError in shows, elimination.py: no"),
    )
    found = merged(before, {DOUBLE: {"c": fault}}, (), accept=True)
    kept = found[DOUBLE]["c"]
    assert (kept.findings, kept.failed) == (before[DOUBLE]["c"].findings, fault.failed)
    write(tmp_path, found)
    (told,) = complaints(tmp_path, TEXTS)
    assert "cvmgen failed on toy.double, c (InternalError in shows" in told
    assert "- toy.double, c: InternalError in shows" in (tmp_path / PAGE).read_text()
    again = merged(found, {DOUBLE: {"c": before[DOUBLE]["c"]}}, (), accept=False)
    assert again == before, "once it does not fail"
    new = merged({}, {DOUBLE: {"c": fault}}, (), accept=False)
    assert (DOUBLE, "c") in stale(new, TEXTS), "what was never known is looked at again, too"


def test_entries_of_what_is_gone_go() -> None:
    tested = {"numpy": LedgerEntry({"values": Finding("tested")})}
    before = {name: {**several, **tested} for name, several in entries(TEXTS).items()}
    gone = [(OTHER, "c"), (OTHER, "cuda")]
    assert list(merged(before, {}, gone, accept=False)) == [DOUBLE]


# ---------------------------------------------------------------- what is told


def test_nothing_is_told_without_a_ledger(tmp_path: Path) -> None:
    assert complaints(tmp_path, TEXTS) == []
    assert stale_note(tmp_path, TEXTS) == ""


def test_nothing_is_told_of_one_that_holds(tmp_path: Path) -> None:
    write(tmp_path, entries(TEXTS))
    assert complaints(tmp_path, TEXTS) == []


def test_stale_entries_are_told_with_the_command(tmp_path: Path) -> None:
    write(tmp_path, entries(TEXTS))
    changed = {**TEXTS, "c/toy/double.c": "another", "cuda/toy/double.cu": "another"}
    (told,) = complaints(tmp_path, changed)
    assert told == stale_note(tmp_path, changed)
    assert "toy.double (c, cuda)" in told
    assert "`cvmgen verify --ledger`" in told


def test_what_was_better_is_told(tmp_path: Path) -> None:
    write(tmp_path, merged(entries(TEXTS), entries(TEXTS, SOME_OPEN), (), accept=False))
    told = complaints(tmp_path, TEXTS)
    assert len(told) == 4
    assert "bounds of toy.double, c, was proved and is open (1 open)" in told[0]
    assert "--accept toy.double" in told[0]


def test_a_page_that_was_edited_is_told(tmp_path: Path) -> None:
    write(tmp_path, entries(TEXTS))
    (tmp_path / PAGE).write_text("all is well")
    assert "is not what ledger.json says" in complaints(tmp_path, TEXTS)[0]


# ---------------------------------------------------------------- the file


def test_a_ledger_is_read_as_it_was_written(tmp_path: Path) -> None:
    left = (Left("a reason", 2, ("X[i]",)),)
    finding = Finding("open", {"z3": 1}, left, "12ab", ("X=int8[2]",), {"it fits": 3})
    found = merged(entries(TEXTS), entries(TEXTS, finding), (), accept=False)
    write(tmp_path, found)
    assert read_ledger(tmp_path) == ledger(found)


WRONG = ["", "[]", "{}", "[" * 5000, '{"version": 1}', '{"version": 99, "entries": {}}', "\0", "1"]
ONE = {"status": "proved"}
SHAPES: list[object] = [
    [],
    {"a.b": 1},
    {"a.b": {"c": {"findings": {"bounds": {**ONE, "status": "surely"}}}}},
    {"a.b": {"c": {"findings": {"bounds": {**ONE, "by": {"z3": "many"}}}}}},
    {"a.b": {"c": {"findings": {"bounds": {**ONE, "left": [1]}}}}},
    {"a.b": {"c": {"findings": {"bounds": {**ONE, "before": {"status": None}}}}}},
]
HEAD = {"version": 1, "properties": {}, "stands": {}, "trusted": {}}


@pytest.mark.parametrize("text", [*WRONG, *(json.dumps({**HEAD, "entries": e}) for e in SHAPES)])
def test_what_is_no_ledger_is_refused_by_name(tmp_path: Path, text: str) -> None:
    (tmp_path / LEDGER).write_text(text)
    with pytest.raises(CvmgenError, match="is no ledger that this version reads"):
        complaints(tmp_path, TEXTS)


# ---------------------------------------------------------------- the page


def test_the_page_says_how_much_is_open_and_what_stands_there() -> None:
    left = (Left("products", 3, ("X[i * K]",)),)
    shown = page(
        ledger({DOUBLE: {"c": LedgerEntry({"bounds": Finding("open", {"z3": 37}, left)})}})
    )
    assert "| `toy.double` | open: 37 of 40 |" in shown
    assert "**bounds** - where it is open, a test:" in shown
    assert "- toy.double, c: 3, products: `X[i * K]`, ..." in shown
    assert "that they print" in shown


def test_a_part_that_is_open_is_never_called_proved() -> None:
    shown = page(ledger(entries(TEXTS, SOME_OPEN)))
    assert "proved" not in shown.partition("## toy")[2]


def test_texts_of_others_stay_texts() -> None:
    """Reasons and places quote formulas, whose names anybody may have chosen."""
    left = (Left("a | b <b> [x](y)", 1, ("`X`| <i>\n# head",)),)
    shown = page(ledger({DOUBLE: {"c": LedgerEntry({"bounds": Finding("open", {}, left)})}}))
    assert "a \\| b \\<b> \\[x\\](y): `'X'\\| <i>\\n# head`" in shown


# ---------------------------------------------------------------- what is tested


def test_what_is_called_tested_is_tested() -> None:
    """`tested` stands for calls of every operator, drawn at random, on each target."""
    assert {each.full_name for each in product()} <= set(DRAW)
    assert {"c", "python", "numpy", "cuda-cpu"} <= set(TARGETS) or len(TARGETS) < 4


def test_names_are_code_as_they_are() -> None:
    found = {"toy.cut_off": entries(TEXTS)[DOUBLE]}
    assert "| `toy.cut_off` |" in page(ledger(found))
