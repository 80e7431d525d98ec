"""Values read as their bytes, and bytes of several values read as one number."""

from __future__ import annotations

from typing import Any

from cvmgen.verification.values import terms as t

Key = Any  # a value within a key


def byte_of(key: Key, size: int, index: int) -> t.Integer:
    """A byte of a value of some bytes; that of a single one is the value."""
    return t.of_key(key) if size == 1 else t.atom(("byte", index, size, key), -128, 127)


def joined(parts: list[t.Integer]) -> t.Integer:
    """The number that bytes are, the lowest first."""
    half = 1 << (8 * len(parts) - 1)
    return t.atom(("bytes", tuple(map(t.key_of, parts))), -half, half - 1)


def parts_of(value: Any) -> tuple[Key, ...] | None:
    """The bytes of a number that was joined of them."""
    inner = t.single(value)
    return inner.key[1] if inner is not None and inner.key[0] == "bytes" else None


def wholes(parts: tuple[Key, ...]) -> list[tuple[int, Key]]:
    """What lay behind each other: values with their sizes, and single bytes of others."""
    found: list[tuple[int, Key]] = []
    at = 0
    while at < len(parts):
        inner = t.single(t.of_key(parts[at]))
        size, key = 1, parts[at]
        if inner is not None and inner.key[:2] == ("byte", 0):
            _, _, whole, about = inner.key
            own = [t.key_of(byte_of(about, whole, i)) for i in range(whole)]
            if list(parts[at : at + whole]) == own:
                size, key = whole, about
        found.append((size, key))
        at += size
    return found


def of_wholes(values: list[tuple[int, Key]]) -> t.Integer:
    """The number that values behind each other are."""
    return joined([byte_of(key, size, i) for size, key in values for i in range(size)])
