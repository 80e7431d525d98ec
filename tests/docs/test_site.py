"""The site of `make docs`: a page for each operator, nothing from elsewhere."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from cvmgen.inspection.reached import reached_by_examples
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


def test_branches_that_examples_take() -> None:
    found = {each.full_name: each for each in check_files(read_folder(ROOT / "spec"))}
    told = {name: reached_by_examples(found[name]) for name in ("cvm.relu", "cvm.abs", "cvm.clip")}
    assert [(each.taken, each.branches) for each in told.values()] == [(0, 0), (2, 2), (4, 4)]
