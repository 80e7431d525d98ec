"""The site of `make docs`: a page for each operator, nothing from elsewhere."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from cvmgen.inspection.pictures import pictures
from cvmgen.inspection.reached import Reached, reached
from cvmgen.spec.check import check_files
from cvmgen.spec.files import read_folder
from tests.docs.documents import ROOT

FETCHED = re.compile(r"<(?:script|link|img|iframe)[^>]*(?:src|href)=\"(?:https?:)?//[^>]*>")


@pytest.mark.slow
def test_the_site(tmp_path: Path) -> None:
    pytest.importorskip("mkdocs")
    pytest.importorskip("mkdocstrings")
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "-d", str(tmp_path)]
    quiet = {**os.environ, "NO_MKDOCS_2_WARNING": "1"}
    subprocess.run(command, cwd=ROOT, env=quiet, check=True)
    pages = {each: each.read_text(encoding="utf-8") for each in tmp_path.rglob("*.html")}
    assert {name: found for name, text in pages.items() if (found := FETCHED.findall(text))} == {}
    for operator in check_files(read_folder(ROOT / "spec")):
        text = pages[tmp_path / "operators" / f"{operator.full_name}.html"]
        assert "<math" in text
        assert "branches" in text
        assert "Point at an element" in text or not pictures(operator)
    # Pages that are files are searched too, and not for each line of code.
    index = (tmp_path / "search" / "search_index.js").read_text(encoding="utf-8")
    assert index.startswith("var __index = {")
    assert len(index) < 4 << 20
    assert 'src="worker.js"' in pages[tmp_path / "index.html"]


def test_branches_that_examples_and_calls_take() -> None:
    found = {each.full_name: each for each in check_files(read_folder(ROOT / "spec"))}
    told = {name: reached(found[f"cvm.{name}"]) for name in ("relu", "abs", "slice")}
    assert told["relu"] == Reached(0, 0, 0)
    assert told["abs"] == Reached(2, 2, 0)
    assert told["slice"].by_examples < told["slice"].by_examples + told["slice"].by_calls
