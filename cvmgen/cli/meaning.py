"""What tells operators apart, as digests: found once for each, and kept where operators are."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import fields, is_dataclass, replace
from functools import cache
from typing import Any, NamedTuple

from cvmgen.source import Span
from cvmgen.spec.formula import Operator

MOST = 1 << 12  # operators of which a process keeps them, the newest


class Marks(NamedTuple):
    """Digests of an operator: of what it means, of that without its examples, and of every piece of
    the spec that it comes from, with its file and its place there, which generated code quotes."""

    meaning: str
    rules: str
    places: str


_known: dict[int, tuple[Operator, Marks]] = {}  # each keeps its operator alive


def meaning_of(operator: Operator) -> str:
    """The same for operators that mean the same: spans take no part in it."""
    return marks_of(operator).meaning


def quoted_places(operator: Operator) -> str:
    """The same for operators that come from the same pieces of the spec."""
    return marks_of(operator).places


def marks_of(operator: Operator) -> Marks:
    """The digests of an operator."""
    known = _known.get(id(operator))
    if known is not None:
        return known[1]
    meaning = rules = _digest(repr(operator))  # spans take no part in a node's repr
    if operator.examples:
        rules = _digest(repr(replace(operator, examples=())))
    pieces = {(each.source.name, operator.place(each), each.text) for each in spans_in(operator)}
    places = _digest("\n".join(": ".join(piece) for piece in sorted(pieces)))
    return keep_marks(operator, Marks(meaning, rules, places))


def keep_marks(operator: Operator, marks: Marks) -> Marks:
    """Keep digests that were found of the operator elsewhere, or of one that is the same."""
    if len(_known) >= MOST:
        del _known[next(iter(_known))]
    _known[id(operator)] = operator, marks
    return marks


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def spans_in(tree: Any) -> Iterator[Span]:
    """All spans of a tree."""
    left = [tree]
    while left:
        node = left.pop()
        if isinstance(node, Span):
            yield node
        elif isinstance(node, tuple):
            left += node
        else:
            kind: Any = type(node)
            left += [getattr(node, name) for name in _field_names(kind)]


@cache
def _field_names(kind: type) -> tuple[str, ...]:
    return tuple(each.name for each in fields(kind)) if is_dataclass(kind) else ()
