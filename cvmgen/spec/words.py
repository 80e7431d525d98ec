"""Words: those that cannot be names, of the language and those of callers; plurals."""

from __future__ import annotations

import keyword
from collections.abc import Iterable

DECLARATIONS = ("import", "const", "def", "family", "operator")
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
    "refuse",
    "div",
    "tdiv",
    "mod",
    "over",
)
# Formalizations name tensors `input` and `output`, attributes `type` and `precision`, which stay
# free.
RESERVED = frozenset({*DECLARATIONS, *ITEMS, *FORMULA_WORDS} - {"type", "input", "output"})
# How what makes lists is written.
SELECTION_FORMS = {"select": "select[i < N](X[i] > 0)", "sort": "sort[i < N] by (X[i])"}
C_WORDS = frozenset(
    " ".join(
        (
            "auto break case char const continue default do double else enum extern float for",
            "goto if inline int long register restrict return short signed sizeof static struct",
            "switch typedef union unsigned void volatile while bool true false",
            "class new delete this template private public protected operator",
            "namespace and or not xor asm catch constexpr decltype explicit export friend mutable",
            "nullptr throw try typename using virtual alignas alignof and_eq bitand bitor char8_t",
            "char16_t char32_t compl concept const_cast consteval constinit co_await co_return",
            "co_yield dynamic_cast noexcept not_eq or_eq reinterpret_cast requires static_assert",
            "static_cast thread_local typeid wchar_t xor_eq",
        )
    ).split()
)
PYTHON_WORDS = frozenset(keyword.kwlist)
RUST_WORDS = frozenset(
    " ".join(
        (
            "abstract as async await become box break const continue crate do dyn else enum extern",
            "false final fn for gen if impl in let loop macro match mod move mut override priv pub",
            "ref return self static struct super trait true try type typeof unsafe unsized use",
            "virtual where while yield Self",
        )
    ).split()
)
# What a call has beside its inputs, outputs and attributes.
CALL_ARGUMENTS = (
    *("self", "shapes", "precisions", "dtype", "out", "check", "check_values"),
    "stream",
)
# What the generated Python module of an operator has beside its function.
MODULE_NAMES = ("infer", "support")


def plural(count: int, word: str) -> str:
    """`1 argument`, `2 arguments`."""
    return f"{count} {word}{'s' * (count != 1)}"


def alternatives(words: Iterable[str]) -> str:
    """`int8, int16 or int32`."""
    *others, last = words
    return f"{', '.join(others)} or {last}" if others else last


def word_constant(attribute: str, word: str) -> str:
    """What C calls a word of an attribute, given by its full name: CVM_MAX_MODE_ALL."""
    return f"{attribute}.{word}".lstrip(".").replace(".", "_").upper()
