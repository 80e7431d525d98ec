"""What `docs/defects.md` names is there: properties, planted faults, tests, sources."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest

from cvmgen.verification.ledger_entries import PROPERTIES
from cvmgen.verification.steps import OF_STEPS
from tests.docs.documents import ROOT
from tests.verification.mutants.made import LAYERS

DOCUMENT = ROOT / "docs" / "defects.md"
PROVED = PROPERTIES.keys() | OF_STEPS.keys()
SECTION = re.compile(r"^## (\w+): .*?$(.*?)(?=^## |\Z)", re.MULTILINE | re.DOTALL)
SECTIONS = dict(SECTION.findall(DOCUMENT.read_text(encoding="utf-8")))
KINDS = {kind for kinds in LAYERS.values() for kind in kinds}
CHANGES = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
OBSERVED = "observed in its backends"


def spans(text: str) -> list[str]:
    return re.findall(r"`([^`]+)`", text)


def rows(text: str) -> Iterator[tuple[str, str]]:
    """Each defect with its source."""
    for line in text.splitlines():
        if line.startswith("| ") and line != "| defect | source |":
            _, defect, source, _ = re.split(r" \| |^\| | \|$", line)
            yield defect, source


def prose(text: str) -> str:
    return " ".join(line for line in text.splitlines() if not line.startswith("|"))


@pytest.mark.parametrize("name", SECTIONS)
def test_a_property_is_named_with_what_looks_at_it(name: str) -> None:
    """One that is proved, or the module that looks at it."""
    said = spans(prose(SECTIONS[name]))
    modules = [each for each in said if each.startswith("cvmgen/")]
    assert name in PROVED or PROVED & {*said} or modules
    assert [each for each in modules if not (ROOT / each).is_file()] == []


@pytest.mark.parametrize("name", SECTIONS)
def test_planted_faults_are_there(name: str) -> None:
    """Tests by their files, what they hold by name, kinds of mutants."""
    text = prose(SECTIONS[name])
    files = [ROOT / each for each in spans(text) if each.startswith("tests/")]
    assert files
    assert [each for each in files if not each.exists()] == []
    held = "".join(each.read_text(encoding="utf-8") for each in files if each.is_file())
    names = [each for each in spans(text) if re.fullmatch(r"[A-Z]{4,}|test_\w+", each)]
    assert [each for each in names if each not in held] == []
    assert [each for each in re.findall(r'"([^"]+)"', text) if each not in KINDS] == []


@pytest.mark.parametrize("name", SECTIONS)
def test_each_defect_has_a_source(name: str) -> None:
    """A link, the CHANGELOG, a comment of a formula, or what was observed."""
    found = list(rows(SECTIONS[name]))
    assert found
    for defect, source in found:
        if source.startswith("CHANGELOG"):
            for each in re.findall(r'"([^"]+)"', source):
                assert f"- {each}" in CHANGES, (defect, each)
        elif file := re.search(r"`(spec/[^`]+)`", source):
            assert (ROOT / file[1]).is_file(), defect
        else:
            assert source == OBSERVED or re.match(r"\[[^]]+\]\(https://", source), defect


def test_every_section_is_found() -> None:
    assert len(SECTIONS) == DOCUMENT.read_text(encoding="utf-8").count("\n## ")
