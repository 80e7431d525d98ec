"""Grammars for editors know all that the language has, in every file that ships."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from tools import editor_grammars

ROOT = Path(__file__).parents[2]
FORMULAS = sorted((ROOT / "spec").rglob("*.cvm"))
SCHEDULES = sorted((ROOT / "spec").rglob("*.sched"))


def test_the_files_are_up_to_date() -> None:
    for name, text in editor_grammars.texts().items():
        assert (editor_grammars.FOLDER / name).read_text(encoding="utf-8") == text, (
            "python tools/editor_grammars.py"
        )


def test_the_extension_names_its_files() -> None:
    folder = ROOT / "editors" / "vscode"
    described = json.loads((folder / "package.json").read_text(encoding="utf-8"))["contributes"]
    for each in described["grammars"]:
        grammar = json.loads((folder / each["path"]).read_text(encoding="utf-8"))
        assert grammar["scopeName"] == each["scopeName"]
    for each in described["languages"]:
        json.loads((folder / each["configuration"]).read_text(encoding="utf-8"))


def test_the_extension_starts_the_server() -> None:
    folder = ROOT / "editors" / "vscode"
    described = json.loads((folder / "package.json").read_text(encoding="utf-8"))
    script = (folder / described["main"]).read_text(encoding="utf-8")
    assert "vscode-languageclient" in described["dependencies"]
    for name in described["contributes"]["configuration"]["properties"]:
        assert f'settings.get("{name.removeprefix("cvmgen.")}")' in script
    if node := shutil.which("node"):
        subprocess.run([node, "--check", folder / described["main"]], check=True)


@cache
def rules(name: str) -> list[tuple[re.Pattern[str], dict[str, Any]]]:
    found = json.loads(editor_grammars.texts()[f"{name}.tmLanguage.json"])["patterns"]
    return [(re.compile(each.get("match") or each["begin"], re.MULTILINE), each) for each in found]


def scopes(name: str, text: str) -> Iterator[tuple[str, str]]:
    """What an editor makes of a text: at each place the first rule that matches there."""
    at = 0
    while at < len(text):
        found = ((pattern.match(text, at), each) for pattern, each in rules(name))
        hit, rule = next((pair for pair in found if pair[0]), (None, {}))
        if hit is None:
            yield "", text[at]
            at += 1
        elif "captures" in rule:
            yield from ((each["name"], hit[int(at)]) for at, each in rule["captures"].items())
            at = hit.end()
        else:
            end = text.index(rule["end"], hit.end()) + 1 if "begin" in rule else hit.end()
            yield rule["name"], text[at:end]
            at = end


@pytest.mark.parametrize("path", [*FORMULAS, *SCHEDULES], ids=lambda path: str(path.name))
def test_every_file_has_a_scope_for_all_that_it_says(path: Path) -> None:
    name = "cvm" if path.suffix == ".cvm" else "cvm-schedule"
    found = list(scopes(name, path.read_text(encoding="utf-8")))
    assert not [text for scope, text in found if not scope and not text.isspace()]


@pytest.mark.parametrize(
    ("line", "wanted"),
    [
        ('  input X : cvm[N, K] # "no text"', "keyword.declaration variable.other punctuation "
         "support.type punctuation variable.other punctuation variable.other punctuation "
         "comment.line.number-sign"),
        ("let t[i] = sum[k < K](X[i, k])", "keyword.declaration entity.name.function punctuation "
         "variable.other punctuation keyword.operator support.function.reduction punctuation "
         "variable.other keyword.operator variable.other punctuation punctuation variable.other "
         "punctuation variable.other punctuation variable.other punctuation punctuation"),
        ("attr precision = 8", "keyword.declaration variable.other keyword.operator "
         "constant.numeric"),
        ("sum = a div 2 if not b else true", "variable.other keyword.operator variable.other "
         "keyword.operator.word constant.numeric keyword.control keyword.operator.word "
         "variable.other keyword.control constant.language"),
    ],
)  # fmt: skip
def test_what_lines_are_made_of(line: str, wanted: str) -> None:
    found = [scope.removesuffix(".cvm") for scope, text in scopes("cvm", line) if text.strip()]
    assert found == wanted.split()
