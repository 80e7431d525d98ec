"""What invented formulas are made of: trees that can be shrunk, inputs, attributes, scopes."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

INT, REAL, BOOL = "int", "real", "bool"
INTS = ("int8", "int16", "int32", "int64")
REALS = ("float32", "float64")
SIMPLEST = {INT: ("0", "1"), REAL: ("0.5",), BOOL: ("true", "false")}


@dataclass(frozen=True)
class Node:
    """A part of a formula: its kind ("" is for what nothing simpler can stand for), its text with
    places for its parts."""

    kind: str
    template: str
    parts: tuple[Node, ...] = ()

    def __str__(self) -> str:
        return self.template.format(*map(str, self.parts)) if self.parts else self.template

    def smaller(self) -> Iterator[Node]:
        """The same with one of its parts simpler, the greatest changes first."""
        if self.kind in SIMPLEST:
            yield from (Node(self.kind, each) for each in SIMPLEST[self.kind] if each != str(self))
            yield from (each for each in self.parts if each.kind == self.kind)
        for at, part in enumerate(self.parts):
            for each in part.smaller():
                yield replace(self, parts=(*self.parts[:at], each, *self.parts[at + 1 :]))


@dataclass(frozen=True)
class Given:
    """An input: its name, its type, the kind of its elements, its shape."""

    name: str
    type: str
    kind: str
    slots: tuple[str, ...]
    optional: bool = False
    several: bool = False

    def declaration(self, empty: bool) -> str:
        each, at = ("each q < Q : ", "[q]") if self.several else ("", "")
        rest = " or empty" * empty + " optional" * self.optional
        return f"input {each}{self.name}{at} : {self.type}[{', '.join(self.slots)}]{rest}"


@dataclass(frozen=True)
class Attribute:
    """An attribute: its declaration, what a formula says of it, what a call gives."""

    name: str
    text: str
    integers: tuple[str, ...]
    conditions: tuple[str, ...]
    values: tuple[Any, ...]
    required: bool = False


ATTRIBUTES = (
    Attribute("a", "a = 1 in [-5, 6)", ("a", "a"), ("a > 0",), (-5, 5, 0, 2)),
    Attribute("b", "b in [1, 5)", ("b",), ("b == 1",), (1, 4, 2), required=True),
    Attribute("c", "c = -3", ("c",), ("c < 0",), (-(2**31), 2**31 - 1, 0, -1)),
    Attribute("h", "h = 1 in [-2^40, 2^40)", ("h",), ("h > 1",), (-(2**40), 2**40 - 1, 2**32, 0)),
    Attribute("f", "f : bool = false", ("int(f)",), ("f", "not f"), (True, False)),
    Attribute(
        "l",
        "l : int list = () in [-4, 5)",
        ("len(l)", "sum[l_i in l](l_i)", "(l[0] if len(l) > 0 else 3)"),
        ("2 in l", "all[l_i in l](l_i > 0)", "len(l) > 1"),
        ((), (-4,), (4, 0, 4), (2, 1)),
    ),
    Attribute(
        "w",
        'w = "left" in {"left", "right", "both"}',
        ('(2 if w == "left" else 5)',),
        ('w == "left"', 'w != "both"'),
        ("left", "right", "both"),
    ),
    Attribute(
        "z",
        'z = 2 in [0, 8) or {"half", "whole"}',
        ('(N if z == "half" else z)',),
        ('z == "whole"',),
        (0, 7, "half", "whole"),
    ),
    Attribute(
        "o",
        "o : int optional in [-2, 100)",
        ("(o if present(o) else 4)",),
        ("present(o)", "(o > 3 if present(o) else false)"),
        (None, -2, 99, 3),
    ),
    Attribute("s", "s (sh, sw) = (1, 2) in [1, 4)", ("sh", "sw"), ("sh < sw",), ((1, 1), (3, 2))),
)


@dataclass(frozen=True)
class Scope:
    """What an expression may name: indices with what they run over, the other names of each kind,
    how often a
    reduction, and an element in an index, may still be nested."""

    indices: tuple[tuple[str, str], ...] = ()
    packs: tuple[tuple[str, str], ...] = ()
    names: tuple[tuple[str, str], ...] = ()
    folds: int = 2
    places: int = 2

    def with_index(self, name: str, extent: str) -> Scope:
        return replace(self, indices=((name, extent), *self.indices))

    def with_pack(self, name: str, extents: str) -> Scope:
        return replace(self, packs=((name, extents), *self.packs))

    def within(self) -> Scope:
        """What an index may name: few elements, lest formulas grow without end."""
        return replace(self, folds=min(self.folds, self.places - 1), places=self.places - 1)

    def named(self, kind: str, name: str) -> Scope:
        return replace(self, names=(*self.names, (kind, name)))


@dataclass
class Invented:
    """An operator: its text as a tree, and what its calls are made of."""

    name: str
    root: Node
    inputs: tuple[Given, ...]
    attributes: tuple[Attribute, ...]
    types: tuple[Mapping[str, str], ...]
    empty: bool
    cvm: bool  # whether an output has a precision

    @property
    def text(self) -> str:
        return str(self.root)

    def smaller(self) -> Iterator[Invented]:
        for root in self.root.smaller():
            yield replace(self, root=root)


def shrunk(found: Invented, fails: Callable[[Invented], bool], most: int = 400) -> Invented:
    """A smaller operator that fails too, after at most that many attempts."""
    left = most
    while True:
        for each in found.smaller():
            left -= 1
            if left < 0:
                return found
            if len(each.text) < len(found.text) and fails(each):
                found = each
                break
        else:
            return found
