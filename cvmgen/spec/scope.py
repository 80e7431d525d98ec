"""Names and what they stand for."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from cvmgen.dtypes import CVM
from cvmgen.source import Span, SpecError, did_you_mean
from cvmgen.spec.formula import INT, Kind
from cvmgen.spec.words import C_WORDS, CALL_ARGUMENTS, MODULE_NAMES, PYTHON_WORDS


class PoisonedError(Exception):
    """A name whose definition failed: that error is reported already."""


@dataclass(frozen=True, slots=True)
class ScopedName:
    """A name in scope. `kind` is the kind of its value (None: it has no value of its own).

    `within` are the indices around a `let` inside `within`: each use of it is at these. Of an
    operand, `type_name` is its element type as the formula names it and `element` what kind of
    value its elements are.
    """

    name: str
    role: str
    kind: Kind | None
    span: Span
    parameters: tuple[tuple[str, Kind], ...] = ()
    rank: int | None = None  # of a tensor, where its shape has no pack
    variadic: bool = False
    value: int | None = None  # of a constant
    within: tuple[str, ...] = ()
    optional: bool = False  # an input or attribute that a call may leave out
    type_name: str = CVM
    element: Kind = INT
    words: tuple[str, ...] = ()  # that an attribute can be given
    written: bool = False  # a parameter for which integers that are written out are given


MOST_NAMES = 8
OUTPUT_PARTS = ("shape", "precision")
SORTED_PARTS = ("keys", "keys_size", "spare", "spare_size")
LIST_PARTS = ("capacity", "size", "length", "length_size", *SORTED_PARTS)
MEMORY_PARTS = ("size",)  # of a let in memory
OURS = "cvmgen"
ROLE_WORDS = {
    "const": "a constant",
    "input": "an input",
    "output": "an output",
    "extent": "an extent",
    "attribute": "an attribute",
    "word": "the word of an attribute",
    "let": "a let",
    "definition": "a definition",
    "index": "an index",
    "pack": "a pack",
    "parameter": "a parameter",
    "count": "the number of inputs",
    "type": "an element type",
    "kept": "kept for what belongs to an output or a list",
}


def argument_name(name: str, span: Span) -> str:
    """The name of an input, an output or an attribute: callers in each language write it."""
    if name in CALL_ARGUMENTS:
        message = f"every call has an argument '{name}' of its own"
        raise SpecError(span, message, f"take a name other than {', '.join(CALL_ARGUMENTS)}")
    for language, words in (("Python", PYTHON_WORDS), ("C", C_WORDS)):
        if name in words:
            raise word_of(language, name, span)
    return name


def operator_name(name: str, span: Span) -> str:
    """The name of an operator: in C the name of its opset stands before it."""
    if name in PYTHON_WORDS:
        raise word_of("Python", name, span)
    if name in MODULE_NAMES:
        message = f"'{name}' stands for something else in the module of every operator"
        raise SpecError(span, message, f"write '{name}_', for example")
    if is_ours(name):
        message = f"'{name}' is the name of what all generated operators share"
        raise SpecError(span, message, f"take a name that does not begin with '{OURS}'")
    return name


def is_ours(name: str) -> bool:
    """Whether files and functions that operators include are named so: `cvmgen`, `cvmgen_run`."""
    return name == OURS or name.startswith(f"{OURS}_")


def word_of(language: str, name: str, span: Span) -> SpecError:
    message = f"'{name}' is a word of {language}, which callers cannot use as a name"
    return SpecError(span, message, f"write '{name}_', for example")


@dataclass(slots=True)
class Scope:
    """Symbols by name, with an enclosing scope. Nothing may be shadowed."""

    outer: Scope | None = None
    symbols: dict[str, ScopedName] = field(default_factory=dict)

    def find(self, name: str) -> ScopedName | None:
        if name in self.symbols:
            return self.symbols[name]
        return self.outer.find(name) if self.outer else None

    def names(self) -> Iterator[str]:
        """All names that have a meaning here."""
        unusable = ("error", "word", "kept")
        yield from (name for name, symbol in self.symbols.items() if symbol.role not in unusable)
        if self.outer:
            yield from self.outer.names()

    def add(self, symbol: ScopedName) -> None:
        known = self.find(symbol.name)
        if known is not None and known.role != "error":
            if symbol.role in ("index", "pack") and known.role in ("index", "pack"):
                message = f"index '{symbol.name}' is bound twice"
            else:
                where = "" if known.role == "const" else f", declared in line {known.span.line}"
                message = f"'{symbol.name}' is already {ROLE_WORDS[known.role]}{where}"
            raise SpecError(symbol.span, message, "choose another name")
        self.symbols[symbol.name] = symbol

    def keep(self, name: str, parts: Iterable[str], span: Span) -> None:
        """Names that the generated code has for what belongs to an output or to a list."""
        for part in parts:
            kept = f"{name}_{part}"
            known = self.find(kept)
            if known is not None and known.role != "error":
                message = (
                    f"generated code keeps '{kept}' for '{name}'; that is {ROLE_WORDS[known.role]}"
                )
                raise SpecError(span, message, "choose another name for one of them")
            self.symbols[kept] = ScopedName(kept, "kept", None, span)

    def poison(self, name: str, span: Span) -> None:
        """Remember a name whose definition failed, so that its uses stay silent."""
        known = self.find(name)
        if known is None or known.role == "kept":
            self.symbols[name] = ScopedName(name, "error", None, span)

    def suggest(self, name: str, more: Iterable[str] = ()) -> str:
        """A hint: the names that an unknown one may be meant for, or those that there are."""
        known = list(dict.fromkeys([*more, *self.names()]))
        near = did_you_mean(name, known)
        if near or not known:
            return near
        dots = ", ..." if len(known) > MOST_NAMES else ""
        return f"known here: {', '.join(known[:MOST_NAMES])}{dots}"

    def resolve(self, name: str, span: Span) -> ScopedName:
        """The symbol of a name; unknown, an error with the names that may be meant."""
        symbol = self.find(name)
        if symbol is None:
            raise SpecError(span, f"unknown name '{name}'", self.suggest(name))
        if symbol.role == "kept":
            raise SpecError(span, f"'{name}' is {ROLE_WORDS['kept']}", "choose another name")
        if symbol.role == "error":
            raise PoisonedError
        return symbol
