"""What the checkers of expressions share: the scope, and demands on the kind of a part."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import accumulate
from typing import NoReturn

from cvmgen.dtypes import ATTRIBUTE_HIGH, CVM, DTYPES, MOST_EXACT, DType
from cvmgen.source import Span, SpecError
from cvmgen.spec import declarations as d
from cvmgen.spec import nodes as n
from cvmgen.spec.formula import BOOL, INT, LIST, REAL, REAL_LIST, SELECTED, SET, Kind, element_kind
from cvmgen.spec.imports import ready_to_import
from cvmgen.spec.scope import Scope, ScopedName

Checked = tuple[n.Expr, Kind]
REALS = {"inf": math.inf, "nan": math.nan}


@dataclass(frozen=True, slots=True)
class GrowingList:
    """The list whose value is being checked: its indices, and the index that it selects by.

    Without that index, as in the keys of a sort, nothing can be said of the list.
    """

    name: str
    parameters: tuple[str, ...]
    index: str = ""


class Checker(ABC):
    """Resolves expressions in a scope; `check` finds the meaning and the kind of one."""

    def __init__(self, scope: Scope, types: Mapping[str, DType]) -> None:
        self.scope = scope
        self.types = types  # what the type parameters stand for
        self.where: Mapping[str, d.Definition] = {}  # of the equation at hand
        self.later: Mapping[str, int] = {}  # names that a later line of the operator declares
        self.mutual: set[str] = set()  # of these, lets that speak of what is being declared
        self.inside: dict[str, tuple[str, int]] = {}  # names of closed blocks: word and line
        self.growing: GrowingList | None = None  # the selected list whose value is being checked
        self.own_allowed = False  # where a range over that list may stand
        self.in_slot = False  # while an index is checked
        self.integers: set[ScopedName] = set()  # parameters that are taken as integers

    @abstractmethod
    def check(self, expr: n.Expr) -> Checked: ...

    @contextmanager
    def nested(self) -> Iterator[Scope]:
        """A scope for the indices of a reduction, a listing or an equation."""
        before = self.scope
        self.scope = Scope(before)
        try:
            yield self.scope
        finally:
            self.scope = before

    def element_kind(self, type_name: str) -> Kind | None:
        """What the elements of a type are; None for a type that does not exist."""
        if type_name == CVM:
            return INT
        dtype = self.types.get(type_name) or DTYPES.get(type_name)
        return None if dtype is None else element_kind(dtype)

    # -------------------------------------------------------- wanted kinds

    def integer(self, expr: n.Expr) -> n.Expr:
        return self.wanted(expr, INT)

    def condition(self, expr: n.Expr) -> n.Expr:
        return self.wanted(expr, BOOL)

    def sequence(self, expr: n.Expr) -> n.Expr:
        """A list, or a set in ascending order."""
        checked, kind = self.check(expr)
        if kind not in (LIST, SET):
            self.mismatch(expr, LIST, kind)
        return checked

    def members(self, expr: n.Expr, *, own: bool = False, of_reals: bool = False) -> n.Expr:
        """A list, a set, or a selected list; with `own` also the one that is being selected, and
        with `of_reals` also a list of real numbers."""
        self.own_allowed = own
        checked, kind = self.check(expr)
        self.own_allowed = False
        if kind not in (LIST, SET, SELECTED) and not (of_reals and kind == REAL_LIST):
            self.mismatch(expr, LIST, kind)
        return checked

    def wanted(self, expr: n.Expr, kind: Kind) -> n.Expr:
        checked, found = self.check(expr)
        if kind == INT and found == REAL and self.written(checked):
            self.take_as_integers(checked)
        elif found != kind and not (kind == REAL and self.literal(checked)):
            self.mismatch(expr, kind, found)
        return checked

    def numbers(
        self, exprs: Sequence[n.Expr], kinds: Sequence[Kind], checked: Sequence[n.Expr]
    ) -> Kind:
        """INT or REAL, which all numbers of an operation are; written integers are both."""
        for expr, kind in zip(exprs, kinds, strict=True):
            if kind not in (INT, REAL):
                self.mismatch(expr, REAL if REAL in kinds else INT, kind)
        if REAL not in kinds:
            return INT
        if INT in kinds and self.all_integers(kinds, checked):
            return INT
        reals = [expr for expr, kind in zip(exprs, kinds, strict=True) if kind == REAL]
        if len(reals) == 1 and reals[0].span.text in REALS:
            others = [found for found in checked if not isinstance(found, n.Real)]
            if INT in kinds and not all(map(self.literal, others)):
                self.mismatch(reals[0], INT, REAL)
        for expr, kind, found in zip(exprs, kinds, checked, strict=True):
            if kind == INT and not self.literal(found):
                self.mismatch(expr, REAL, INT)
        return REAL

    def literal(self, checked: n.Expr) -> bool:
        """Whether a checked expression is an integer that is written out, so a real one too."""
        match checked:
            case n.Number(value=value):
                if abs(value) > MOST_EXACT:
                    hint = f"write {value}.0 for the nearest"
                    raise SpecError(checked.span, f"no real number of 64 bits is {value}", hint)
                return True
            case n.Negate(operand=operand):
                return self.literal(operand)
            case _:
                return self.written(checked)

    def written(self, checked: n.Expr) -> bool:
        """Whether a checked expression is made of parameters for which integers that are written
        out are given, beside real numbers, and of such integers: it is an integer where one is
        needed."""
        whole = all(map(self.is_written, n.walk(checked)))
        return whole and any(isinstance(each, n.Ref) for each in n.walk(checked))

    def all_integers(self, kinds: Sequence[Kind], checked: Sequence[n.Expr]) -> bool:
        """Whether all real ones among numbers may be integers too, and stand beside such as are no
        real ones."""
        beside = False
        for kind, found in zip(kinds, checked, strict=True):
            if kind == REAL and not self.written(found):
                return False
            beside = beside or (kind == INT and not self.literal(found))
        if beside:
            self.take_as_integers(*checked)
        return beside

    def is_written(self, node: object) -> bool:
        match node:
            case n.Ref(name=name):
                symbol = self.scope.find(name)
                return symbol is not None and symbol.written
            case n.Arithmetic(sign=sign):
                return sign in ("+", "-", "*")
            case n.Function(name=name):
                return name in ("abs", "max", "min")
            case _:
                return isinstance(node, n.Number | n.Negate)

    def take_as_integers(self, *checked: n.Expr) -> None:
        """Remember which of the parameters that may be integers are."""
        for node in n.walk(checked):
            symbol = self.scope.find(node.name) if isinstance(node, n.Ref) else None
            if symbol is not None and symbol.written:
                self.integers.add(symbol)

    def mismatch(self, expr: n.Expr, wanted: Kind, found: Kind) -> NoReturn:
        text = expr.span.code
        hints = {
            (INT, BOOL): "write '1 if ... else 0'",
            (BOOL, INT): "compare it, for example with '!= 0'",
            (BOOL, REAL): "compare it, for example with '!= 0'",
            (INT, REAL): whole_hint(expr),
            (REAL, INT): f"write real({unwrapped(text)})",
            (REAL, BOOL): "write '1 if ... else 0'",
            (BOOL, LIST): f"compare its entries, or their number: len({text}) > 0",
            (INT, SET): f"count({text}) is the number of its elements",
            (INT, LIST): f"{text}[i] is one of its entries, len({text}) their number",
            (LIST, INT): "a list of one entry is written (a,)",
            (SET, SELECTED): f"test for its entries: {{i for i < ... if not i in {text}}}",
        }
        hint = hints.get((wanted, found), "")
        if isinstance(expr, n.Number) and wanted == BOOL:
            hint = "write true or false"
        if (wanted, found) == (REAL, INT) and self.in_slot:
            hint = "an index is an integer: 'div' and 'mod' keep it one"
        if (wanted, found, text) == (INT, REAL, "inf"):
            hint = f"as an attribute's end it stands for {ATTRIBUTE_HIGH}"
        if found == SELECTED and wanted != SET:
            hint = f"its entries are {text}[i], their number is count({text})"
        if not isinstance(expr, n.Name):
            if found in (LIST, SET) or wanted == SELECTED:
                hint = ""
            raise SpecError(expr.span, f"this is {found}, but {wanted} is needed here", hint)
        symbol = self.scope.find(text)
        pack = found == LIST and symbol is not None and symbol.role in ("extent", "pack")
        what = "a pack" if pack else str(found)
        raise SpecError(expr.span, f"'{text}' is {what}, but {wanted} is needed here", hint)

    # -------------------------------------------------------- names

    def whole(self, symbol: ScopedName, span: Span) -> None:
        """Refuse a selected list inside its own definition, but for ranges over it."""
        if self.growing is None or symbol.name != self.growing.name or self.own_allowed:
            return
        not_whole(self.growing, span)

    def find(self, text: str, span: Span) -> ScopedName:
        """The symbol of a name; unknown, an error that says what may be meant."""
        if self.scope.find(text) is not None:
            return self.scope.resolve(text, span)
        if self.in_slot and len(text) == 1 and text.islower():
            hint = f"put it on the left side, or reduce over it: sum[{text} < ...](...)"
            raise SpecError(span, f"index '{text}' is not bound", hint)
        known = self.elsewhere(text) or ready_to_import(text)
        hint = known or self.scope.suggest(text, self.where)
        raise SpecError(span, f"unknown name '{text}'", hint)

    def elsewhere(self, text: str) -> str:
        """Where a name has a meaning, if that is not here."""
        if text in self.mutual:
            return f"line {self.later[text]} declares it by what this line declares; write it out"
        if text in self.later:
            return f"line {self.later[text]} declares it; move that line up"
        if text in self.inside:
            block, line = self.inside[text]
            return f"line {line} declares it inside '{block}', where alone it has a meaning"
        return ""

    def around(self, symbol: ScopedName, span: Span) -> tuple[n.Expr, ...]:
        """The indices of `within` at which a `let` inside it is used."""
        roles = {index: self.scope.resolve(index, span).role for index in symbol.within}
        return tuple(n.Ref(index, role, span) for index, role in roles.items())


def whole_hint(expr: n.Expr) -> str:
    """How to make an integer of a real number. Of one that is written out `int` makes another."""
    match expr:
        case n.Real(value=value) if value.is_integer() and abs(value) < MOST_EXACT:
            return f"write {int(value)}"
        case _ if all(map(is_computed, leaves(expr))):
            return f"write int({unwrapped(expr.span.code)}): toward zero"
        case _:
            return "a part of an integer is written with div: X[i] * 3 div 4"


def leaves(expr: n.Expr) -> Iterator[n.Expr]:
    """The values that a choice is made of."""
    match expr:
        case n.Conditional(then=then, otherwise=otherwise):
            yield from (*leaves(then), *leaves(otherwise))
        case _:
            yield expr


def is_computed(expr: n.Expr) -> bool:
    """Whether more than numbers that are written out is in an expression, as parsed."""
    names = (each.text for each in n.walk(expr) if isinstance(each, n.Name))
    return any(name not in REALS for name in names)


def unwrapped(text: str) -> str:
    """Without the parentheses around the whole."""
    whole = text.startswith("(") and text.endswith(")") and balanced(text[1:-1])
    return text[1:-1] if whole else text


def balanced(text: str) -> bool:
    """Whether each parenthesis closes one before it."""
    depths = accumulate({"(": 1, ")": -1}.get(each, 0) for each in text)
    return all(depth >= 0 for depth in depths)


def not_whole(own: GrowingList, span: Span) -> NoReturn:
    """Refuse a list inside its own definition, where no range over it can stand."""
    if not own.index:
        message = f"'{own.name}' is not whole yet, and nothing can be said of it here"
        hint = "only the condition of a select or a set can speak of the list's own elements"
        raise SpecError(span, message, hint)
    message = f"'{own.name}' is not whole yet: only ranges over it can stand here"
    raise SpecError(span, message, f"write: q in {span.text} if q < {own.index}")
