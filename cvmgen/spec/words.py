"""The words of the language that cannot be names."""

from __future__ import annotations

DECLARATIONS = ("const", "def", "family", "operator")
ITEMS = (
    "type",
    "input",
    "output",
    "attr",
    "let",
    "require",
    "alias",
    "example",
    "within",
    "case",
    "although",
)
FORMULA_WORDS = (
    "if",
    "else",
    "for",
    "forall",
    "where",
    "in",
    "and",
    "or",
    "not",
    "true",
    "false",
    "div",
    "tdiv",
    "mod",
    "over",
)
# Formalizations name attributes `type` and `precision`; those stay free.
RESERVED = frozenset({*DECLARATIONS, *ITEMS, *FORMULA_WORDS} - {"type"})
# How what makes lists is written.
SELECTION_FORMS = {"select": "select[i < N](X[i] > 0)", "sort": "sort[i < N] by (X[i])"}
