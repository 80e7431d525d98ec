"""Lark's tree to the nodes of the language: a row of `NODES`, or a method, for each rule."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from enum import Enum
from typing import Any

from lark import Token, Tree

from cvmgen.source import Source, Span, SpecError
from cvmgen.spec import declarations as d
from cvmgen.spec import nodes as n

BINDERS = (n.Below, n.PackBelow, n.Member)
MOST_DIGITS = 100
# Rules whose parts, in order, are what a node is made of.
NODES: Mapping[str, Callable[..., Any]] = {
    "within": d.WithinDecl,
    "case": d.CaseDecl,
    "member": n.Member,
    "conditional": n.Conditional,
    "negation": n.Not,
    "membership": n.Contains,
    "listing": n.Listing,
    "set": n.SetOf,
}


class LiteralWord(Enum):
    """A word that stands for itself, between the parts of a rule."""

    OPTIONAL = "optional"
    EMPTY = "empty"
    LIST = "list"


def written_children(parts: Sequence[Any]) -> tuple[Any, ...]:
    """The parts that were written (an absent optional one is None)."""
    return tuple(part for part in parts if part is not None)


def unquote(token: Token) -> str:
    return str(token)[1:-1]


def ends_with_empty(rule: n.Expr) -> bool:
    """Whether a precision rule has swallowed the words `or empty` behind it."""
    match rule:
        case n.Logic(word="or", operands=(*_, n.Name(text="empty"))):
            return True
        case n.Conditional(otherwise=otherwise):
            return ends_with_empty(otherwise)
        case _:
            return False


def _is_real(written: n.Expr | None) -> bool:
    """Whether a real number is written out, or one of a list is."""
    if isinstance(written, n.TupleOf):
        return any(map(_is_real, written.elements))
    return isinstance(written.operand if isinstance(written, n.Negate) else written, n.Real)


class Builder:
    """Builds the nodes of one declaration, which begins at `offset` of the source.

    The method of a rule takes the rule's place in the text, then what its parts have become.
    """

    def __init__(self, source: Source, offset: int) -> None:
        self.source = source
        self.offset = offset

    def build(self, part: Tree[Token] | Token | None) -> Any:
        if not isinstance(part, Tree):
            return part
        parts = map(self.build, part.children)
        if part.data in NODES:
            return NODES[part.data](*parts, self.span(part))
        return getattr(self, part.data)(self.span(part), *parts)

    def span(self, tree: Tree[Token]) -> Span:
        if tree.meta.empty:
            return Span(self.source, self.offset, self.offset)
        start, end = tree.meta.start_pos, tree.meta.end_pos
        return Span(self.source, self.offset + start, self.offset + end)

    def token(self, token: Token) -> Span:
        start, end = token.start_pos, token.end_pos
        assert start is not None
        assert end is not None
        return Span(self.source, self.offset + start, self.offset + end)

    def word(self, token: Token) -> n.Name:
        return n.Name(str(token), self.token(token))

    def all_words(self, tokens: Sequence[Token]) -> tuple[n.Name, ...]:
        return tuple(map(self.word, tokens))

    # -------------------------------------------------------- declarations

    def start(self, span: Span, *declarations: d.Declaration) -> list[d.Declaration]:
        return list(declarations)

    def imports(self, span: Span, *names: Token) -> d.Import:
        *wanted, place = self.all_words(names)
        return d.Import(tuple(wanted), place, span)

    def const(self, span: Span, name: Token, value: n.Expr) -> d.Const:
        return d.Const(str(name), value, self.token(name), span)

    def definition(
        self, span: Span, name: Token, parameters: tuple[d.Parameter, ...], body: n.Expr
    ) -> d.Definition:
        return d.Definition(str(name), parameters, body, self.token(name), span)

    def parameters(self, span: Span, *parameters: d.Parameter | None) -> tuple[d.Parameter, ...]:
        return written_children(parameters)

    def parameter(self, span: Span, name: Token, *dots: Token) -> d.Parameter:
        return d.Parameter(str(name), bool(dots), span)

    def family(
        self, span: Span, name: Token, holes: tuple[n.Name, ...], *parts: Any
    ) -> d.FamilyDecl:
        base = parts[0] if isinstance(parts[0], d.FamilyBase) else None
        last = parts[-1]
        block = last if isinstance(last, d.BlockDecl) else d.BlockDecl("", (), span)
        return d.FamilyDecl(str(name), holes, block, base, self.token(name), span)

    def holes(self, span: Span, *names: Token | None) -> tuple[n.Name, ...]:
        return self.all_words(written_children(names))

    def base(self, span: Span, name: Token, *actuals: Any) -> d.FamilyBase:
        return d.FamilyBase(str(name), written_children(actuals), self.token(name), span)

    def operator_name(self, span: Span, name: Token) -> Token:
        return name

    def operator(self, span: Span, name: Token, block: d.BlockDecl) -> d.OperatorDecl:
        blocks = ((str(name), span),)
        return d.OperatorDecl(str(name), block, (), span.text, blocks, self.token(name), span)

    def instance(self, span: Span, name: Token, family: Token, *parts: Any) -> d.InstanceDecl:
        actuals = list(written_children(parts))
        block = actuals.pop() if actuals and isinstance(actuals[-1], d.BlockDecl) else None
        places = self.token(name), self.token(family)
        return d.InstanceDecl(str(name), str(family), tuple(actuals), block, *places, span)

    def sign(self, span: Span, sign: str) -> d.Sign:
        return d.Sign(str(sign), span)

    def block(self, span: Span, *parts: Any) -> d.BlockDecl:
        doc = "".join(unquote(part) for part in parts[:1] if isinstance(part, Token))
        items = tuple(part for part in parts if not isinstance(part, Token))
        return d.BlockDecl(doc, items, span)

    def types(self, span: Span, *parts: Any) -> d.TypeChoice:
        names = self.all_words([part for part in parts if isinstance(part, Token)])
        rows = tuple(part for part in parts if not isinstance(part, Token))
        return d.TypeChoice(names, rows, span)

    def type_row(self, span: Span, *names: Token) -> tuple[n.Name, ...]:
        return self.all_words(names)

    def each(self, span: Span, binder: n.Binder) -> n.Binder:
        return binder

    def operand(
        self, span: Span, place: n.Expr, type_name: Token, slots: Any, *empty: LiteralWord
    ) -> d.OperandDecl:
        """What inputs and outputs have in common: an output that has no precision rule."""
        name, at = str(type_name), self.token(type_name)
        parts = place, name, slots or (), bool(empty)
        return d.OperandDecl(True, *parts, False, None, None, at, span)

    def input(self, span: Span, *parts: Any) -> d.OperandDecl:
        (operand,) = (part for part in parts if isinstance(part, d.OperandDecl))
        each = next((part for part in parts if isinstance(part, BINDERS)), None)
        optional = LiteralWord.OPTIONAL in parts
        return replace(operand, output=False, optional=optional, each=each, span=span)

    def output(
        self, span: Span, operand: d.OperandDecl, precision: n.Expr | None = None
    ) -> d.OperandDecl:
        return replace(operand, precision=precision, span=span)

    def empty(self, span: Span) -> LiteralWord:
        return LiteralWord.EMPTY

    def optional(self, span: Span) -> LiteralWord:
        return LiteralWord.OPTIONAL

    def listed(self, span: Span) -> LiteralWord:
        return LiteralWord.LIST

    def precision(self, span: Span, rule: n.Expr) -> n.Expr:
        if ends_with_empty(rule):
            hint = "write: output Y : cvm[n...] or empty precision ..."
            raise SpecError(span, "'or empty' goes in front of 'precision'", hint)
        return rule

    def although(self, span: Span, reason: Token) -> d.AlthoughDecl:
        return d.AlthoughDecl(unquote(reason), span)

    def attribute(self, span: Span, name: Token, *named: tuple[str, Any]) -> d.AttributeDecl:
        parts = dict(named)
        interval, words = parts.get("interval"), parts.get("words", ())
        type_name, marks = parts.get("kind", (None, ()))
        written = (parts.get("default"), *((interval.low, interval.high) if interval else ()))
        implied = "real" if any(map(_is_real, written)) else "int"
        implied = "word" if words and interval is None else implied
        return d.AttributeDecl(
            str(name),
            parts.get("components", ()),
            implied if type_name is None else str(type_name),
            LiteralWord.LIST in marks,
            LiteralWord.OPTIONAL in marks,
            parts.get("default"),
            interval,
            words,
            parts.get("column"),
            self.token(name),
            self.token(name if type_name is None else type_name),
            span,
        )

    def components(self, span: Span, *names: Token) -> tuple[str, tuple[n.Name, ...]]:
        return "components", self.all_words(names)

    def kind(
        self, span: Span, type_name: Token, *marks: LiteralWord
    ) -> tuple[str, tuple[Token, tuple[LiteralWord, ...]]]:
        return "kind", (type_name, marks)

    def default(self, span: Span, value: n.Expr) -> tuple[str, n.Expr]:
        return "default", value

    def opening(self, span: Span, bracket: Token) -> str:
        return str(bracket)

    closing = relation = opening

    def column(self, span: Span, name: Token) -> tuple[str, n.Name]:
        return "column", n.Name(str(name), self.token(name))

    def interval(
        self, span: Span, opening: str, low: n.Expr, high: n.Expr, closing: str
    ) -> tuple[str, d.IntervalDecl]:
        return "interval", d.IntervalDecl(low, opening == "(", high, closing == ")", span)

    def words(self, span: Span, *words: Token) -> tuple[str, tuple[n.Word, ...]]:
        return "words", tuple(n.Word(unquote(each), self.token(each)) for each in words)

    def let(self, span: Span, name: Token, *parts: Any) -> d.LetDecl:
        *parameters, value = parts
        chosen = parameters[0] if parameters else None
        return d.LetDecl(str(name), chosen, value, self.token(name), span)

    def require(self, span: Span, condition: n.Expr, *rest: Any) -> d.RequireDecl:
        *binders, text = rest
        return d.RequireDecl(condition, binders[0] if binders else None, unquote(text), span)

    def alias(self, span: Span, *names: Token) -> d.AliasDecl:
        return d.AliasDecl(self.all_words(names), span)

    def example(self, span: Span, name: Token, *parts: Any) -> d.ExampleDecl:
        *given, result = parts
        return d.ExampleDecl(str(name), tuple(given), result, self.token(name), span)

    def given(self, span: Span, *parts: Any) -> tuple[n.Name | None, n.ExampleValue]:
        *name, value = parts
        return (self.word(name[0]) if name else None), value

    def array(self, span: Span, *elements: n.ExampleValue | None) -> n.ArrayValue:
        return n.ArrayValue(written_children(elements), span)

    def equation(self, span: Span, target: n.Expr, value: n.Expr, *rest: Any) -> d.EquationDecl:
        binders = next((part for part in rest if isinstance(part, n.Binders)), None)
        where = tuple(part for part in rest if isinstance(part, d.Definition))
        return d.EquationDecl(target, value, binders, where, span)

    def written(self, span: Span, slots: Any) -> n.Bracket:
        """An element of a tensor that is called `output`."""
        start = Span(span.source, span.start, span.start + len("output"))
        return n.Bracket(n.Name("output", start), slots or (), span)

    def where(self, span: Span, name: Token, *parts: Any) -> d.Definition:
        *parameters, body = parts
        return self.definition(span, name, parameters[0] if parameters else (), body)

    # -------------------------------------------------------- binders

    def binders(self, span: Span, *parts: Any) -> n.Binders:
        items = tuple(part for part in parts if isinstance(part, BINDERS))
        named: dict[str, Any] = dict(part for part in parts if isinstance(part, tuple))
        return n.Binders(items, named.get("over"), named.get("filter"), span)

    def over(self, span: Span, binder: n.Binder) -> tuple[str, n.Binder]:
        return "over", binder

    def filter(self, span: Span, condition: n.Expr) -> tuple[str, n.Expr]:
        return "filter", condition

    def below(self, span: Span, target: n.Expr, high: n.Expr) -> n.Below:
        return n.Below(target, None, high, span)

    def between(self, span: Span, low: n.Expr, target: n.Expr, high: n.Expr) -> n.Below:
        return n.Below(target, low, high, span)

    def pack_below(
        self, span: Span, target: n.Expr, dots: Token, high: n.Expr, more: Token
    ) -> n.PackBelow:
        return n.PackBelow(target, high, span)

    # -------------------------------------------------------- expressions

    def either(self, span: Span, *operands: n.Expr) -> n.Logic:
        return n.Logic("or", operands, span)

    def both(self, span: Span, *operands: n.Expr) -> n.Logic:
        return n.Logic("and", operands, span)

    def comparison(self, span: Span, *parts: Any) -> n.Compare:
        return n.Compare(parts[1::2], parts[::2], span)

    def sum(self, span: Span, *parts: Any) -> n.Expr:
        """A chain of signs, which bind to the left."""
        left: n.Expr = parts[0]
        for sign, right in zip(parts[1::2], parts[2::2], strict=True):
            left = n.Arithmetic(str(sign), left, right, left.span.to(right.span))
        return left

    product = sum

    def signed(self, span: Span, sign: Token, operand: n.Expr) -> n.Expr:
        if sign == "+":
            return operand
        if isinstance(operand, n.Number):
            return n.Number(-operand.value, span)
        return n.Negate(operand, span)

    def power(self, span: Span, base: n.Expr, exponent: n.Expr) -> n.Arithmetic:
        return n.Arithmetic("^", base, exponent, span)

    def grouped(self, span: Span, inner: n.Expr) -> n.Expr:
        """An expression with its parentheses, so that every span is balanced."""
        return inner if isinstance(inner, n.Name) else replace(inner, span=span)

    def number(self, span: Span, digits: Token) -> n.Number | n.Real:
        if len(digits) > MOST_DIGITS:
            raise SpecError(span, f"a number has at most {MOST_DIGITS} digits")
        if digits.isdecimal():
            return n.Number(int(digits), span)
        value = float(digits)
        if value == math.inf:
            raise SpecError(span, "this number is beyond those of 64 bits", "infinity is 'inf'")
        if value == 0 and any(map(int, filter(str.isdecimal, re.split("[eE]", digits)[0]))):
            raise SpecError(span, "this number is nearer to 0 than those of 64 bits")
        return n.Real(value, span)

    def true(self, span: Span) -> n.Truth:
        return n.Truth(True, span)

    def false(self, span: Span) -> n.Truth:
        return n.Truth(False, span)

    def text(self, span: Span, text: Token) -> n.Word:
        return n.Word(unquote(text), span)

    def refuse(self, span: Span, text: Token) -> n.Refuse:
        return n.Refuse(unquote(text), span)

    def name(self, span: Span, name: Token) -> n.Name:
        return self.word(name)

    def entries(self, span: Span, *elements: n.Expr | None) -> n.TupleOf:
        return n.TupleOf(written_children(elements), span)

    def call(self, span: Span, name: Token, *arguments: n.Argument | None) -> n.Call:
        return n.Call(str(name), written_children(arguments), span, self.token(name))

    def argument(self, span: Span, value: n.Expr, *dots: Token) -> n.Argument:
        return n.Argument(value, bool(dots), span)

    def reduction(self, span: Span, place: n.Expr, binders: n.Binders, body: n.Expr) -> n.Reduction:
        if not isinstance(place, n.Name):
            raise SpecError(place.span, "only a named function can reduce")
        return n.Reduction(place.text, binders, body, span)

    def sorted(self, span: Span, place: n.Expr, binders: n.Binders, *keys: n.Expr) -> n.Sorted:
        if not isinstance(place, n.Name) or place.text != "sort":
            raise SpecError(place.span, "only 'sort' goes with 'by'")
        return n.Sorted(binders, keys, span)

    def access(self, span: Span, target: n.Expr, slots: Any) -> n.Bracket:
        return n.Bracket(target, slots or (), span)

    def slots(self, span: Span, *slots: n.Slot | n.PartSlot) -> tuple[n.Slot | n.PartSlot, ...]:
        return slots

    def slot(self, span: Span, value: n.Expr, *dots: Token) -> n.Slot:
        return n.Slot(value, bool(dots), span)

    def prefix(self, span: Span, end: n.Expr) -> n.PartSlot:
        return n.PartSlot(None, end, span)

    def suffix(self, span: Span, start: n.Expr) -> n.PartSlot:
        return n.PartSlot(start, None, span)
