"""Files that generated code needs: templates where something is filled in, else as they are."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from cvmgen.emit.render import NOTICE, support_file
from cvmgen.paths import runtime_folder, templates_folder

STATIC = sorted(path for path in runtime_folder().rglob("*") if path.is_file())
OF_PAGES = (".css", ".js")
FILLED_IN = re.compile(r"{{ (?!notice )\w")


@pytest.mark.parametrize(
    "path", sorted(templates_folder().rglob("*.j2")), ids=lambda path: path.name
)
def test_templates_fill_something_in(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    assert FILLED_IN.search(text), "it belongs into cvmgen/runtime"
    assert "{%" not in text, "what stands there at times is a template of its own"


@pytest.mark.parametrize(
    "path", [each for each in STATIC if each.suffix not in OF_PAGES], ids=lambda path: path.name
)
def test_other_files_are_as_they_are(path: Path) -> None:
    name = path.relative_to(runtime_folder()).as_posix()
    text, made = path.read_text(encoding="utf-8"), support_file(name)
    assert not (templates_folder() / f"{name}.j2").exists(), "one of them would not be used"
    assert path.suffix in (".h", ".c", ".cc")
    assert text.startswith("/* ")
    assert NOTICE not in text, "this one is edited"
    head, _, rest = made.partition(f"\n   {NOTICE}")
    assert head + rest == text
    assert rest.startswith((" */", "\n\n")), "the notice stands below what is said first"


@pytest.mark.parametrize(
    "path", [each for each in STATIC if each.suffix in OF_PAGES], ids=lambda path: path.name
)
def test_styles_and_scripts_stand_within_pages(path: Path) -> None:
    assert path.parent == runtime_folder() / "explore"
    text = path.read_text(encoding="utf-8").lower()
    assert "</script" not in text
    assert "</style" not in text


def test_a_template_is_filled_in() -> None:
    assert "typedef struct cvmgen_list" in support_file("c/cvmgen.h", max_rank=16, **VALUES)


VALUES = dict.fromkeys(("list_capacity", "dtype_codes"), "1")
