"""Descriptions of CUDA's helpers are of the texts that are there."""

import pytest

from cvmgen.verification.threads_described import DESCRIBED, digest, stale, texts


def test_descriptions_are_of_these_texts() -> None:
    assert not stale(), "read what threads_helpers.py and threads_tiles.py say of them again"


@pytest.mark.parametrize("name", DESCRIBED)
def test_a_changed_helper_is_seen(name: str) -> None:
    text = texts()[name].read_text(encoding="utf-8")
    assert digest(text.replace("return", "return !", 1)) != DESCRIBED[name]


@pytest.mark.parametrize("name", DESCRIBED)
def test_comments_and_blanks_change_nothing(name: str) -> None:
    text = texts()[name].read_text(encoding="utf-8")
    assert digest(f"/* A word. */\n// Another one.\n{text}\n\n") == DESCRIBED[name]
