"""The targets that tests run, and the languages that they are made of."""

from __future__ import annotations

TARGETS = ("c", "python", "cuda-cpu")
LANGUAGES = ("c", "python", "cuda")
