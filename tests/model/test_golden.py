"""The C of models, as committed."""

from __future__ import annotations

from difflib import unified_diff

import pytest

from tests.model.golden import DIGESTS, FOLDER, RESNET, texts


def test_the_text_of_models() -> None:
    """Where it is meant to change, `make golden` writes it, and the diff is read."""
    made = dict(texts())
    committed = {each.name: each.read_text() for each in FOLDER.glob("[!.]*")}
    if not RESNET.is_dir():
        committed.pop("resnet.c")
        lines = committed[DIGESTS].splitlines(keepends=True)
        committed[DIGESTS] = "".join(each for each in lines if not each.endswith("  resnet\n"))
    assert made.keys() == committed.keys()
    for name, text in made.items():
        lines = unified_diff(committed[name].splitlines(), text.splitlines(), name, "made", n=1)
        assert text == committed[name], "\n".join(list(lines)[:40])
    if not RESNET.is_dir():
        pytest.skip(f"all but the published model, which is not beside the repository: {RESNET}")
