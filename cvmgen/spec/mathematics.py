"""Formulas as mathematics is printed: sums with their ranges below, quotients in half brackets,
indices below names, one line for each condition.

It writes what was parsed and what was checked alike: of a formula as parsed its own text is enough,
with that of its family.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import assert_never

from cvmgen.source import Span
from cvmgen.spec import declarations as d
from cvmgen.spec import nodes as n
from cvmgen.spec.notation import (
    CellLines,
    CellRow,
    Choices,
    Fenced,
    Fraction,
    Identifier,
    Large,
    Notation,
    Numeral,
    Placed,
    Root,
    Script,
    SignCell,
    Words,
)
from cvmgen.spec.printing import Level, real_text

SEPARATOR = SignCell(",")
# Functions whose argument stands between two brackets.
BRACKETED = {
    "abs": ("|", "|"),
    "floor": ("floor", "end floor"),
    "ceil": ("ceil", "end ceil"),
    "len": ("|", "|"),
}
LOGARITHMS = {"floor_log2": "floor", "ceil_log2": "ceil"}
SUM_SIGNS = ("+", "-")


def mathematics(operator: d.OperatorDecl, used: Iterable[d.Definition] = ()) -> Notation:
    """What an operator computes: its lets and its equations, line by line, then the definitions
    that it uses."""
    writer = MathWriter(operator)
    defined = ((writer.definition(each), Words("")) for each in used)
    return CellLines((*writer.lines(operator.block.items), *defined))


@dataclass(frozen=True, slots=True)
class Statement:
    """One item of an operator, as it is printed; `text` is the message of a requirement."""

    kind: str  # type, input, let, require, output or equation
    shown: Notation
    text: str
    span: Span


def statements(operator: d.OperatorDecl) -> Iterator[Statement]:
    """The items of an operator, those in cases too, each by itself."""
    return MathWriter(operator).statements(operator.block.items)


def expression(expr: n.Expr, operator: d.OperatorDecl) -> Notation:
    """One expression of an operator, such as a rule of precision."""
    return MathWriter(operator).shown(expr)


class MathWriter:
    """Writes the items of an operator, which says what is a list of values and is written bold."""

    def __init__(self, operator: d.OperatorDecl) -> None:
        self.several = frozenset(_lists(operator))

    # -------------------------------------------------------- items

    def lines(
        self, items: Sequence[d.ItemDecl], around: Notation | None = None
    ) -> Iterator[tuple[Notation, Notation]]:
        """Lines of definitions and equations, each with where it holds."""
        for item in items:
            match item:
                case d.LetDecl():
                    yield self.let(item), _condition(around)
                case d.EquationDecl(binders=binders, where=where):
                    yield self.equation(item), _condition(around, self.domain(binders))
                    yield from ((self.definition(each), Words("")) for each in where)
                case d.CaseDecl(condition=condition, block=block):
                    yield from self.lines(block.items, _both(around, self.shown(condition)))
                case d.WithinDecl(binders=binders, block=block):
                    yield from self.lines(block.items, _both(around, self.domain(binders)))
                case _:
                    pass

    def statements(self, items: Sequence[d.ItemDecl]) -> Iterator[Statement]:
        for item in items:
            match item:
                case d.TypeChoice():
                    yield Statement("type", self.types(item), "", item.span)
                case d.OperandDecl(output=True):
                    yield Statement("output", self.operand(item), "", item.span)
                case d.OperandDecl():
                    yield Statement("input", self.operand(item), "", item.span)
                case d.LetDecl():
                    yield Statement("let", self.let(item), "", item.span)
                case d.RequireDecl(condition=condition, binders=binders, message=message):
                    shown = self.shown(condition)
                    if binders is not None:
                        shown = CellLines(((shown, _condition(self.domain(binders))),))
                    yield Statement("require", shown, message, item.span)
                case d.EquationDecl():
                    (first, *rest) = self.lines([item])
                    yield Statement("equation", CellLines((first, *rest)), "", item.span)
                case d.CaseDecl(block=block) | d.WithinDecl(block=block):
                    yield from self.statements(block.items)
                case _:
                    pass

    def types(self, item: d.TypeChoice) -> Notation:
        """`T ∈ {int8, int32}`, or of several names `(T, U) ∈ {(int8, int32), ...}`."""
        names, *rows = (
            _grouped([Identifier(each.text) for each in row]) for row in (item.names, *item.rows)
        )
        return Placed(CellRow((names, SignCell("in"), Fenced("{", _listed(rows), "}"))), item.span)

    def operand(self, item: d.OperandDecl) -> Notation:
        """`X ∈ cvm^(M × K)`."""
        extents = [self.slot(each) for each in item.slots]
        shape = _joined_by(SignCell("times"), extents) if extents else Fenced("(", CellRow(()), ")")
        kind = Script(Identifier(item.type_name), above=shape)
        parts: list[Notation] = [self.shown(item.place), SignCell("in"), kind]
        if item.each is not None:
            parts += [Words(" for "), self.binder(item.each)]
        if item.optional:
            parts.append(Words(", optional"))
        return Placed(CellRow(tuple(parts)), item.span)

    def let(self, item: d.LetDecl) -> Notation:
        head: Notation = self.name(item.name)
        if item.parameters:
            head = Script(head, below=self.parameters(item.parameters))
        return Placed(_equal(head, self.shown(item.value)), item.span)

    def definition(self, item: d.Definition) -> Notation:
        head: Notation = self.name(item.name)
        if item.parameters:
            head = CellRow((head, Fenced("(", self.parameters(item.parameters), ")")))
        return Placed(_equal(head, self.shown(item.body)), item.span)

    def equation(self, item: d.EquationDecl) -> Notation:
        return Placed(_equal(self.shown(item.target), self.shown(item.value)), item.span)

    def parameters(self, parameters: Iterable[d.Parameter]) -> Notation:
        return _listed([Identifier(each.name, several=each.pack) for each in parameters])

    def domain(self, binders: n.Binders | None) -> Notation | None:
        return None if binders is None else _listed(self.ranges(binders))

    # -------------------------------------------------------- binders

    def ranges(self, binders: n.Binders) -> list[Notation]:
        """What a sum stands over, line by line, and its condition."""
        found = [self.binder(each) for each in binders.items]
        if binders.over is not None:
            found.append(self.binder(binders.over))
        if binders.condition is not None:
            found.append(self.shown(binders.condition))
        return found

    def binder(self, binder: n.Binder) -> Notation:
        match binder:
            case n.Below(target=target, low=low, high=high):
                return self.between(low, self.shown(target), self.shown(high), binder.span)
            case n.IndexRange(index=index, low=low, high=high):
                return self.between(low, self.name(index), self.shown(high), binder.span)
            case n.PackBelow(target=target, high=high):
                return _zero_to(self.listed(target), self.listed(high))
            case n.PackRange(pack=pack, extents=extents):
                return _zero_to(Identifier(pack, several=True), self.listed(extents))
            case n.Member(target=target, collection=collection):
                return CellRow((self.shown(target), SignCell("in"), self.listed(collection)))
            case n.IndexMember(index=index, collection=collection):
                return CellRow((self.name(index), SignCell("in"), self.listed(collection)))
            case _:
                assert_never(binder)

    def target(self, binder: n.Binder) -> Notation:
        """What a binder binds."""
        match binder:
            case n.Below(target=target) | n.PackBelow(target=target) | n.Member(target=target):
                return self.listed(target)
            case _:
                return self.name(n.bound_by(binder))

    def between(self, low: n.Expr | None, index: Notation, high: Notation, span: Span) -> Notation:
        least = Numeral("0") if low is None else self.shown(low)
        return Placed(CellRow((least, SignCell("<="), index, SignCell("<"), high)), span)

    # -------------------------------------------------------- expressions

    def name(self, name: str) -> Identifier:
        return Identifier(name, several=name in self.several)

    def listed(self, expr: n.Expr) -> Notation:
        """What stands for several values."""
        if isinstance(expr, n.Name | n.Ref):
            name = expr.text if isinstance(expr, n.Name) else expr.name
            return Identifier(name, several=name in self.several)
        return self.shown(expr)

    def slot(self, slot: n.Slot | n.PartSlot) -> Notation:
        match slot:
            case n.Slot(value=value, pack=pack):
                return self.listed(value) if pack else self.shown(value)
            case n.PartSlot(low=low, high=high):
                return self.part(low, high)
            case _:
                assert_never(slot)

    def part(self, low: n.Expr | None, high: n.Expr | None) -> Notation:
        ends = [CellRow(()) if each is None else self.shown(each) for each in (low, high)]
        return CellRow((ends[0], SignCell(":"), ends[1]))

    def indexed(self, base: Notation, slots: Sequence[n.Slot | n.PartSlot]) -> Notation:
        return Script(base, below=_listed([self.slot(each) for each in slots]))

    def shown(self, expr: n.Expr, level: Level = Level.EXPRESSION) -> Notation:
        """An expression, in parentheses where it holds less tightly than `level`."""
        found, own = self.leveled(expr)
        placed = Placed(found, expr.span)
        return placed if own >= level else Fenced("(", placed, ")")

    def leveled(self, expr: n.Expr) -> tuple[Notation, Level]:
        match expr:
            case n.Arithmetic(sign=sign, left=left, right=right):
                return self.arithmetic(sign, left, right)
            case n.Negate(operand=operand):
                return CellRow((SignCell("-"), self.shown(operand, Level.FACTOR))), Level.FACTOR
            case n.Number(value=value) if value < 0:
                return CellRow((SignCell("-"), Numeral(str(-value)))), Level.FACTOR
            case n.Compare(relations=relations, operands=(first, *others)):
                parts = [self.shown(first, Level.SUM)]
                for relation, operand in zip(relations, others, strict=True):
                    parts += [SignCell(relation), self.shown(operand, Level.SUM)]
                return CellRow(tuple(parts)), Level.COMPARISON
            case n.Logic(word=word, operands=operands):
                own = Level.EITHER if word == "or" else Level.BOTH
                tests = [self.shown(each, Level(own + 1)) for each in operands]
                return _joined_by(SignCell(word), tests), own
            case n.Not(operand=n.Present(name=name)):
                return CellRow((self.name(name), Words(" is not given"))), Level.COMPARISON
            case n.Not(operand=n.Call(function="present", arguments=(n.Argument(value=given),))):
                return CellRow((self.shown(given), Words(" is not given"))), Level.COMPARISON
            case n.Not(operand=operand):
                return CellRow((SignCell("not"), self.shown(operand, Level.ATOM))), Level.INVERSE
            case n.Contains(element=element, collection=collection):
                parts = [self.shown(element, Level.SUM), SignCell("in"), self.listed(collection)]
                return CellRow(tuple(parts)), Level.COMPARISON
            case n.IsWord(name=name, word=word):
                return CellRow((self.name(name), SignCell("=="), _quoted(word))), Level.COMPARISON
            case n.Reduction(function=function, binders=binders, body=body):
                return self.reduction(function, binders, body), Level.PRODUCT
            case n.Conditional():
                return Choices(tuple(self.choices(expr))), Level.ATOM
            case _:
                return self.atom(expr), Level.ATOM

    def choices(self, expr: n.Expr) -> Iterator[tuple[Notation, Notation | None]]:
        while isinstance(expr, n.Conditional):
            yield self.shown(expr.then), self.shown(expr.condition)
            expr = expr.otherwise
        yield self.shown(expr), None

    def arithmetic(self, sign: str, left: n.Expr, right: n.Expr) -> tuple[Notation, Level]:
        if sign == "^":
            return Script(self.shown(left, Level.ATOM), above=self.shown(right)), Level.POWER
        if sign in ("div", "tdiv", "over", "/"):
            quotient = Fraction(self.shown(left), self.shown(right))
            if sign == "div":
                return Fenced("floor", quotient, "end floor"), Level.ATOM
            if sign == "tdiv":
                return CellRow((Words("trunc"), Fenced("(", quotient, ")"))), Level.ATOM
            return quotient, Level.PRODUCT
        own = Level.SUM if sign in SUM_SIGNS else Level.PRODUCT
        mixed = isinstance(left, n.Arithmetic) and "mod" in (sign, left.sign) and own != Level.SUM
        first = self.shown(left, Level.POWER if mixed else own)
        return CellRow((first, SignCell(sign), self.shown(right, Level(own + 1)))), own

    def reduction(self, function: str, binders: n.Binders, body: n.Expr) -> Notation:
        ranges = self.ranges(binders)
        if function == "select":
            chosen = CellRow((self.target(binders.items[0]), SignCell("bar"), self.shown(body)))
            return Script(Fenced("(", chosen, ")"), below=_listed(ranges))
        large = Large(function, tuple(ranges))
        tight = Level.COMPARISON if function in ("any", "all", "count") else Level.PRODUCT
        return CellRow((large, self.shown(body, tight)))

    def atom(self, expr: n.Expr) -> Notation:
        match expr:
            case n.Number(value=value):
                return Numeral(str(value))
            case n.Real(value=value):
                return self.real(value)
            case n.Truth(value=value):
                return Words("true" if value else "false")
            case n.Word(text=text):
                return _quoted(text)
            case n.Refuse(message=message):
                return Words(f"refused: {message}")
            case n.Name(text=name) | n.Ref(name=name):
                return SignCell("infinity") if name == "inf" else self.name(name)
            case n.TupleOf(elements=elements):
                return Fenced("(", _listed([self.shown(each) for each in elements]), ")")
            case n.Listing(element=element, binders=binders):
                body = Fenced("(", self.shown(element), ")")
                return Script(body, below=_listed(self.ranges(binders)))
            case n.SetOf(element=element, binders=binders):
                told = (self.shown(element), SignCell("bar"), _listed(self.ranges(binders)))
                return Fenced("{", CellRow(told), "}")
            case n.Sorted(binders=binders, keys=keys):
                by = _listed([self.shown(each) for each in keys])
                over = Fenced("(", _listed(self.ranges(binders)), ")")
                return CellRow((Script(Words("sort"), below=by), over))
            case n.Bracket(target=n.Name(text=name), slots=(n.Slot(pack=False),) as slots):
                return self.indexed(Identifier(name), slots)  # an element, or an entry of a list
            case n.Bracket(target=target, slots=slots):
                return self.indexed(self.shown(target, Level.ATOM), slots)
            case n.Access(tensor=tensor, which=which, slots=slots):
                return self.indexed(self.tensor(tensor, which), slots)
            case n.Item(sequence=n.Ref(name=name), index=index):
                return Script(Identifier(name), below=self.shown(index))
            case n.Item(sequence=sequence, index=index):
                return Script(self.listed(sequence), below=self.shown(index))
            case n.Part(sequence=sequence, low=low, high=high):
                return Script(self.listed(sequence), below=self.part(low, high))
            case n.Call(function=name, arguments=arguments):
                return self.call(name, [(each.value, each.pack) for each in arguments])
            case n.Function(name=name, arguments=given):
                return self.call(name, [(each, False) for each in given])
            case n.Apply(name=name, arguments=given) | n.Earlier(name=name, arguments=given):
                return self.call(name, [(each, False) for each in given])
            case n.Precision(tensor=tensor, which=which):
                return Script(Identifier("p"), below=self.tensor(tensor, which))
            case n.Present(name=name):
                return CellRow((self.name(name), Words(" is given")))
            case n.Limit(end="type", type_name=name):
                return Identifier(name)
            case n.Limit(end=end, type_name=name):
                return CellRow((Words(end), Fenced("(", Identifier(name), ")")))
            case n.ShapeOf(tensor=tensor, which=which):
                return CellRow((Words("shape"), Fenced("(", self.tensor(tensor, which), ")")))
            case _:
                raise AssertionError(f"{type(expr).__name__} is no atom")

    def real(self, value: float) -> Notation:
        if math.isnan(value):
            return Words("NaN")
        return SignCell("infinity") if value == math.inf else Numeral(real_text(value))

    def tensor(self, name: str, which: n.Expr | None) -> Notation:
        own = Identifier(name)
        return own if which is None else Script(own, below=self.shown(which))

    def call(self, name: str, arguments: Sequence[tuple[n.Expr, bool]]) -> Notation:
        shown = [self.listed(each) if pack else self.shown(each) for each, pack in arguments]
        match name, shown:
            case "floor" | "ceil", [_] if isinstance(arguments[0][0], n.Call):
                inner = arguments[0][0]
                if inner.function == "log2":
                    return self.logarithm(name, inner.arguments[0].value)
            case "floor_log2" | "ceil_log2", [_]:
                return self.logarithm(LOGARITHMS[name], arguments[0][0])
            case _:
                pass
        match name, shown:
            case "abs" | "floor" | "ceil", [body]:
                left, right = BRACKETED[name]
                return Fenced(left, body, right)
            case "len", [_]:
                return Fenced("|", self.listed(arguments[0][0]), "|")
            case "count", [_]:
                return Fenced("|", self.listed(arguments[0][0]), "|")
            case "sqrt", [body]:
                return Root(body)
            case "ceildiv", [top, bottom]:
                return Fenced("ceil", Fraction(top, bottom), "end ceil")
            case "p", [tensor]:
                return Script(Identifier("p"), below=tensor)
            case "present", [given]:
                return CellRow((given, Words(" is given")))
            case "size", [_]:
                return CellRow((SignCell("prod"), self.listed(arguments[0][0])))
            case "select", [body]:
                return body
            case _:
                return CellRow((Identifier(name), Fenced("(", _listed(shown), ")")))

    def logarithm(self, rounding: str, value: n.Expr) -> Notation:
        base = Script(Words("log"), below=Numeral("2"))
        return Fenced(rounding, CellRow((base, self.shown(value, Level.ATOM))), f"end {rounding}")


def _lists(operator: d.OperatorDecl) -> Iterator[str]:
    """The names that stand for several values: those that dots follow, and lets of lists."""
    for node in n.walk(operator.block):
        match node:
            case n.Slot(value=n.Name(text=name), pack=True):
                yield name
            case n.Argument(value=n.Name(text=name), pack=True):
                yield name
            case n.PackBelow(target=n.Name(text=name), high=high):
                yield name
                if isinstance(high, n.Name):
                    yield high.text
            case d.Parameter(name=name, pack=True):
                yield name
            case d.LetDecl(name=name, value=n.Listing() | n.TupleOf()):
                yield name
            case d.AttributeDecl(name=name, is_list=True):
                yield name
            case _:
                pass


def _listed(parts: Sequence[Notation]) -> Notation:
    return _joined_by(SEPARATOR, parts)


def _grouped(parts: Sequence[Notation]) -> Notation:
    """`(a, b)`, and one by itself as it is."""
    return parts[0] if len(parts) == 1 else Fenced("(", _listed(parts), ")")


def _joined_by(sign: Notation, parts: Sequence[Notation]) -> Notation:
    if len(parts) == 1:
        return parts[0]
    found: list[Notation] = []
    for each in parts:
        found += [sign, each] if found else [each]
    return CellRow(tuple(found))


def _equal(left: Notation, right: Notation) -> Notation:
    return CellRow((left, SignCell("="), right))


def _zero_to(index: Notation, end: Notation) -> Notation:
    return CellRow((Numeral("0"), SignCell("<="), index, SignCell("<"), end))


def _quoted(word: str) -> Notation:
    return Words(f"“{word}”")


def _both(first: Notation | None, second: Notation | None) -> Notation | None:
    known = [each for each in (first, second) if each is not None]
    return _joined_by(SignCell("and"), known) if known else None


def _condition(test: Notation | None, domain: Notation | None = None) -> Notation:
    parts: list[Notation] = []
    if domain is not None:
        parts += [Words("for all "), domain]
    if test is not None:
        parts += [Words(", if " if parts else "if "), test]
    return CellRow(tuple(parts)) if parts else Words("")
