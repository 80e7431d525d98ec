"""Lark's tree to the nodes of the language: one method for each rule of the grammar."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from enum import Enum
from typing import Any

from lark import Token, Transformer, v_args
from lark.tree import Meta

from cvmgen.source import Source, Span, SpecError
from cvmgen.spec import declarations as d
from cvmgen.spec import nodes as n

BINDERS = (n.Below, n.PackBelow, n.Member)
MOST_DIGITS = 100


class Word(Enum):
    """A word that stands for itself, between the children of a rule."""

    OPTIONAL = "optional"
    EMPTY = "empty"
    LIST = "list"


def written(children: Sequence[Any]) -> tuple[Any, ...]:
    """The children that were written (an absent optional part is None)."""
    return tuple(child for child in children if child is not None)


def ends_with_empty(rule: n.Expr) -> bool:
    """Whether a precision rule has swallowed the words `or empty` behind it."""
    match rule:
        case n.Logic(word="or", operands=(*_, n.Name(text="empty"))):
            return True
        case n.Conditional(otherwise=otherwise):
            return ends_with_empty(otherwise)
        case _:
            return False


@v_args(meta=True)
class Builder(Transformer[Token, Any]):
    """Builds the nodes of one declaration, which begins at `offset` of the source."""

    def __init__(self, source: Source, offset: int) -> None:
        super().__init__()
        self.source = source
        self.offset = offset

    def span(self, meta: Meta) -> Span:
        if meta.empty:
            return Span(self.source, self.offset, self.offset)
        return Span(self.source, self.offset + meta.start_pos, self.offset + meta.end_pos)

    def token(self, token: Token) -> Span:
        start, end = token.start_pos, token.end_pos
        assert start is not None
        assert end is not None
        return Span(self.source, self.offset + start, self.offset + end)

    def word(self, token: Token) -> n.Name:
        return n.Name(str(token), self.token(token))

    # -------------------------------------------------------- declarations

    def start(self, meta: Meta, children: list[Any]) -> list[d.Declaration]:
        return children

    def const(self, meta: Meta, children: list[Any]) -> d.Const:
        name, value = children
        return d.Const(str(name), value, self.token(name), self.span(meta))

    def definition(self, meta: Meta, children: list[Any]) -> d.Definition:
        name, parameters, body = children
        return d.Definition(str(name), parameters, body, self.token(name), self.span(meta))

    def parameters(self, meta: Meta, children: list[Any]) -> tuple[d.Parameter, ...]:
        return written(children)

    def parameter(self, meta: Meta, children: list[Any]) -> d.Parameter:
        return d.Parameter(str(children[0]), len(children) > 1, self.span(meta))

    def family(self, meta: Meta, children: list[Any]) -> d.FamilyDecl:
        name, *parameters, block = children
        words = tuple(self.word(token) for token in written(parameters))
        return d.FamilyDecl(str(name), words, block, self.token(name), self.span(meta))

    def operator_name(self, meta: Meta, children: list[Any]) -> Token:
        (name,) = children
        return name  # type: ignore[no-any-return]

    def operator(self, meta: Meta, children: list[Any]) -> d.OperatorDecl:
        name, block = children
        span, title = self.span(meta), str(name)
        blocks = ((title, span),)
        return d.OperatorDecl(title, block, (), span.text, blocks, self.token(name), span)

    def instance(self, meta: Meta, children: list[Any]) -> d.InstanceDecl:
        name, family, *actuals = written(children)
        block = actuals.pop() if actuals and isinstance(actuals[-1], d.BlockDecl) else None
        return d.InstanceDecl(
            str(name),
            str(family),
            tuple(actuals),
            block,
            self.token(name),
            self.token(family),
            self.span(meta),
        )

    def sign(self, meta: Meta, children: list[Any]) -> d.Sign:
        return d.Sign(str(children[0]), self.span(meta))

    def block(self, meta: Meta, children: list[Any]) -> d.BlockDecl:
        doc = ""
        if children and isinstance(children[0], Token):
            doc = self.unquote(children.pop(0))
        return d.BlockDecl(doc, tuple(children), self.span(meta))

    @staticmethod
    def unquote(token: Token) -> str:
        return str(token)[1:-1]

    def types(self, meta: Meta, children: list[Any]) -> d.TypeChoice:
        names = tuple(self.word(child) for child in children if isinstance(child, Token))
        rows = tuple(child for child in children if not isinstance(child, Token))
        return d.TypeChoice(names, rows, self.span(meta))

    def type_row(self, meta: Meta, children: list[Any]) -> tuple[n.Name, ...]:
        return tuple(self.word(child) for child in children)

    def each(self, meta: Meta, children: list[Any]) -> n.Binder:
        (binder,) = children
        return binder  # type: ignore[no-any-return]

    def operand(self, meta: Meta, children: list[Any]) -> tuple[Any, ...]:
        place, type_name, slots, *empty = children
        return place, type_name, slots or (), bool(empty)

    def empty(self, meta: Meta, children: list[Any]) -> Word:
        return Word.EMPTY

    def input(self, meta: Meta, children: list[Any]) -> d.OperandDecl:
        each = next((child for child in children if isinstance(child, BINDERS)), None)
        optional = Word.OPTIONAL in children
        operand = next(child for child in children if isinstance(child, tuple))
        return self.operand_node(meta, operand, output=False, optional=optional, each=each)

    def output(self, meta: Meta, children: list[Any]) -> d.OperandDecl:
        operand, *rule = children
        precision = rule[0] if rule else None
        return self.operand_node(meta, operand, output=True, precision=precision)

    def operand_node(
        self,
        meta: Meta,
        operand: tuple[Any, ...],
        *,
        output: bool,
        optional: bool = False,
        each: n.Binder | None = None,
        precision: n.Expr | None = None,
    ) -> d.OperandDecl:
        place, type_name, slots, empty = operand
        return d.OperandDecl(
            output,
            place,
            str(type_name),
            slots,
            empty,
            optional,
            each,
            precision,
            self.token(type_name),
            self.span(meta),
        )

    def optional(self, meta: Meta, children: list[Any]) -> Word:
        return Word.OPTIONAL

    def listed(self, meta: Meta, children: list[Any]) -> Word:
        return Word.LIST

    def precision(self, meta: Meta, children: list[Any]) -> n.Expr:
        (rule,) = children
        if ends_with_empty(rule):
            hint = "write: output Y : cvm[n...] or empty precision ..."
            raise SpecError(self.span(meta), "'or empty' goes in front of 'precision'", hint)
        return rule  # type: ignore[no-any-return]

    def although(self, meta: Meta, children: list[Any]) -> d.AlthoughDecl:
        return d.AlthoughDecl(self.unquote(children[0]), self.span(meta))

    def attribute(self, meta: Meta, children: list[Any]) -> d.AttributeDecl:
        name = children[0]
        parts = dict(children[1:])
        interval, words = parts.get("interval"), parts.get("words", ())
        type_name, marks = parts.get("kind", (None, []))
        implied = "word" if words and interval is None else "int"
        return d.AttributeDecl(
            str(name),
            parts.get("components", ()),
            implied if type_name is None else str(type_name),
            Word.LIST in marks,
            Word.OPTIONAL in marks,
            parts.get("default"),
            interval,
            words,
            self.token(name),
            self.token(name if type_name is None else type_name),
            self.span(meta),
        )

    def components(self, meta: Meta, children: list[Any]) -> tuple[str, tuple[n.Name, ...]]:
        return "components", tuple(self.word(child) for child in children)

    def kind(self, meta: Meta, children: list[Any]) -> tuple[str, tuple[Token, list[Word]]]:
        type_name, *words = children
        return "kind", (type_name, words)

    def default(self, meta: Meta, children: list[Any]) -> tuple[str, Any]:
        return "default", children[0]

    def opening(self, meta: Meta, children: list[Any]) -> str:
        return str(children[0])

    closing = opening

    def interval(self, meta: Meta, children: list[Any]) -> tuple[str, d.Interval]:
        opening, low, high, closing = children
        return "interval", d.Interval(low, opening == "(", high, closing == ")", self.span(meta))

    def words(self, meta: Meta, children: list[Any]) -> tuple[str, tuple[n.Word, ...]]:
        return "words", tuple(n.Word(self.unquote(each), self.token(each)) for each in children)

    def let(self, meta: Meta, children: list[Any]) -> d.LetDecl:
        name, *parameters, value = children
        chosen = parameters[0] if parameters else None
        return d.LetDecl(str(name), chosen, value, self.token(name), self.span(meta))

    def require(self, meta: Meta, children: list[Any]) -> d.RequireDecl:
        condition, text = children
        return d.RequireDecl(condition, self.unquote(text), self.span(meta))

    def alias(self, meta: Meta, children: list[Any]) -> d.AliasDecl:
        return d.AliasDecl(tuple(self.word(child) for child in children), self.span(meta))

    def example(self, meta: Meta, children: list[Any]) -> d.ExampleDecl:
        name, *given, result = children
        return d.ExampleDecl(str(name), tuple(given), result, self.token(name), self.span(meta))

    def given(self, meta: Meta, children: list[Any]) -> tuple[n.Name | None, n.ExampleValue]:
        if len(children) == 2:
            return self.word(children[0]), children[1]
        return None, children[0]

    def array(self, meta: Meta, children: list[Any]) -> n.ArrayValue:
        return n.ArrayValue(written(children), self.span(meta))

    def within(self, meta: Meta, children: list[Any]) -> d.WithinDecl:
        binders, block = children
        return d.WithinDecl(binders, block, self.span(meta))

    def case(self, meta: Meta, children: list[Any]) -> d.CaseDecl:
        condition, block = children
        return d.CaseDecl(condition, block, self.span(meta))

    def equation(self, meta: Meta, children: list[Any]) -> d.EquationDecl:
        target, value, *rest = children
        binders = next((child for child in rest if isinstance(child, n.Binders)), None)
        where = tuple(child for child in rest if isinstance(child, d.Definition))
        return d.EquationDecl(target, value, binders, where, self.span(meta))

    def where(self, meta: Meta, children: list[Any]) -> d.Definition:
        name, *parameters, body = children
        chosen = parameters[0] if parameters else ()
        return d.Definition(str(name), chosen, body, self.token(name), self.span(meta))

    # -------------------------------------------------------- binders

    def binders(self, meta: Meta, children: list[Any]) -> n.Binders:
        items = tuple(child for child in children if isinstance(child, BINDERS))
        parts: dict[str, Any] = dict(child for child in children if isinstance(child, tuple))
        return n.Binders(items, parts.get("over"), parts.get("filter"), self.span(meta))

    def over(self, meta: Meta, children: list[Any]) -> tuple[str, n.Binder]:
        return "over", children[0]

    def filter(self, meta: Meta, children: list[Any]) -> tuple[str, n.Expr]:
        return "filter", children[0]

    def below(self, meta: Meta, children: list[Any]) -> n.Below:
        target, high = children
        return n.Below(target, None, high, self.span(meta))

    def between(self, meta: Meta, children: list[Any]) -> n.Below:
        low, target, high = children
        return n.Below(target, low, high, self.span(meta))

    def member(self, meta: Meta, children: list[Any]) -> n.Member:
        target, collection = children
        return n.Member(target, collection, self.span(meta))

    def pack_below(self, meta: Meta, children: list[Any]) -> n.PackBelow:
        target, _, high, _ = children
        return n.PackBelow(target, high, self.span(meta))

    # -------------------------------------------------------- expressions

    def conditional(self, meta: Meta, children: list[Any]) -> n.Conditional:
        then, condition, otherwise = children
        return n.Conditional(then, condition, otherwise, self.span(meta))

    def either(self, meta: Meta, children: list[Any]) -> n.Logic:
        return n.Logic("or", tuple(children), self.span(meta))

    def both(self, meta: Meta, children: list[Any]) -> n.Logic:
        return n.Logic("and", tuple(children), self.span(meta))

    def negation(self, meta: Meta, children: list[Any]) -> n.Not:
        return n.Not(children[0], self.span(meta))

    def relation(self, meta: Meta, children: list[Any]) -> str:
        return str(children[0])

    def comparison(self, meta: Meta, children: list[Any]) -> n.Compare:
        return n.Compare(tuple(children[1::2]), tuple(children[::2]), self.span(meta))

    def membership(self, meta: Meta, children: list[Any]) -> n.Contains:
        return n.Contains(children[0], children[1], self.span(meta))

    def sum(self, meta: Meta, children: list[Any]) -> n.Expr:
        return self.chain(children)

    def product(self, meta: Meta, children: list[Any]) -> n.Expr:
        return self.chain(children)

    def chain(self, children: list[Any]) -> n.Expr:
        left: n.Expr = children[0]
        for sign, right in zip(children[1::2], children[2::2], strict=True):
            left = n.Arithmetic(str(sign), left, right, left.span.to(right.span))
        return left

    def signed(self, meta: Meta, children: list[Any]) -> n.Expr:
        sign, operand = children
        if str(sign) == "+":
            return operand  # type: ignore[no-any-return]
        if isinstance(operand, n.Number):
            return n.Number(-operand.value, self.span(meta))
        return n.Negate(operand, self.span(meta))

    def power(self, meta: Meta, children: list[Any]) -> n.Arithmetic:
        return n.Arithmetic("^", children[0], children[1], self.span(meta))

    def grouped(self, meta: Meta, children: list[Any]) -> n.Expr:
        """An expression with its parentheses, so that every span is balanced."""
        (inner,) = children
        return inner if isinstance(inner, n.Name) else replace(inner, span=self.span(meta))

    def number(self, meta: Meta, children: list[Any]) -> n.Number | n.Real:
        text = str(children[0])
        if len(text) > MOST_DIGITS:
            raise SpecError(self.span(meta), f"a number has at most {MOST_DIGITS} digits")
        if "." in text:
            return n.Real(float(text), self.span(meta))
        return n.Number(int(text), self.span(meta))

    def true(self, meta: Meta, children: list[Any]) -> n.Truth:
        return n.Truth(True, self.span(meta))

    def false(self, meta: Meta, children: list[Any]) -> n.Truth:
        return n.Truth(False, self.span(meta))

    def text(self, meta: Meta, children: list[Any]) -> n.Word:
        return n.Word(self.unquote(children[0]), self.span(meta))

    def name(self, meta: Meta, children: list[Any]) -> n.Name:
        return self.word(children[0])

    def entries(self, meta: Meta, children: list[Any]) -> n.TupleOf:
        return n.TupleOf(written(children), self.span(meta))

    def listing(self, meta: Meta, children: list[Any]) -> n.Listing:
        return n.Listing(children[0], children[1], self.span(meta))

    def access(self, meta: Meta, children: list[Any]) -> n.Bracket:
        return n.Bracket(children[0], children[1], self.span(meta))

    def call(self, meta: Meta, children: list[Any]) -> n.Call:
        name, *arguments = children
        return n.Call(str(name), written(arguments), self.span(meta), self.token(name))

    def argument(self, meta: Meta, children: list[Any]) -> n.Argument:
        return n.Argument(children[0], len(children) > 1, self.span(meta))

    def reduction(self, meta: Meta, children: list[Any]) -> n.Expr:
        place, binders, body = children
        if not isinstance(place, n.Name):
            raise SpecError(place.span, "only a named function can reduce")
        return n.Reduction(place.text, binders, body, self.span(meta))

    def sorted(self, meta: Meta, children: list[Any]) -> n.Expr:
        place, binders, *keys = children
        if not isinstance(place, n.Name) or place.text != "sort":
            raise SpecError(place.span, "only 'sort' goes with 'by'")
        return n.Sorted(binders, tuple(keys), self.span(meta))

    def set(self, meta: Meta, children: list[Any]) -> n.SetOf:
        return n.SetOf(children[0], children[1], self.span(meta))

    def slots(self, meta: Meta, children: list[Any]) -> tuple[n.Slot | n.PartSlot, ...]:
        return written(children)

    def slot(self, meta: Meta, children: list[Any]) -> n.Slot:
        return n.Slot(children[0], len(children) > 1, self.span(meta))

    def prefix(self, meta: Meta, children: list[Any]) -> n.PartSlot:
        return n.PartSlot(None, children[0], self.span(meta))

    def suffix(self, meta: Meta, children: list[Any]) -> n.PartSlot:
        return n.PartSlot(children[0], None, self.span(meta))
