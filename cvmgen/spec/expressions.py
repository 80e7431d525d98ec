"""Checks expressions: what each name means, and the kind of every part."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import NoReturn

from cvmgen.dtypes import DType
from cvmgen.functions import number_text
from cvmgen.source import Span, SpecError, did_you_mean
from cvmgen.spec import nodes as n
from cvmgen.spec.attribute_types import check_type_test, names_type
from cvmgen.spec.attribute_words import check_comparison, text_alone_error, word_read_error
from cvmgen.spec.binders import check_binders
from cvmgen.spec.brackets import BracketChecker, count_of_indices
from cvmgen.spec.calls import CallChecker, Shared
from cvmgen.spec.checker import REALS, Checked, Checker
from cvmgen.spec.formula import BOOL, INT, LIST, LISTS, REAL, REAL_LIST, SET, WORD, Kind
from cvmgen.spec.scope import ROLE_WORDS, Scope
from cvmgen.spec.selections import unnamed
from cvmgen.spec.words import SELECTION_FORMS

# How what integers only have is written for real numbers.
QUOTIENTS = {
    "div": "write floor({0} over {1})",
    "tdiv": "write trunc({0} over {1})",
    "mod": "write ({0} - floor({0} over {1}) * {1})",
}

INDICES = (*"ijklmnpq", "index")  # for a range of a hint
# Whether two lists, and two sets, are equal.
EQUAL: Mapping[tuple[Kind, tuple[str, ...]], str] = {
    (LIST, ("==",)): "len({0}) == len({1}) and all[{2} < len({0})]({0}[{2}] == {1}[{2}])",
    (LIST, ("!=",)): "len({0}) != len({1}) or any[{2} < len({0})]({0}[{2}] != {1}[{2}])",
    (SET, ("==",)): "count({0} - {1}) + count({1} - {0}) == 0",
    (SET, ("!=",)): "count({0} - {1}) + count({1} - {0}) > 0",
}

OF_REALS = {REAL: "real", REAL_LIST: "reals"}  # what attributes are that hold real numbers


class ExpressionChecker(Checker):
    """Resolves expressions: what each name means, the kind of every part."""

    def __init__(
        self, scope: Scope, shared: Shared, types: Mapping[str, DType] = MappingProxyType({})
    ) -> None:
        super().__init__(scope, types)
        self.brackets = BracketChecker(self)
        self.calls = CallChecker(self, self.brackets, shared)

    def check(self, expr: n.Expr) -> Checked:
        match expr:
            case n.Number(value=value, span=span):
                return checked_number(value, span), INT
            case n.Real():
                return expr, REAL
            case n.Truth():
                return expr, BOOL
            case n.Word():
                raise text_alone_error(expr)
            case n.Name():
                return self.name(expr)
            case n.Arithmetic():
                return self.arithmetic(expr)
            case n.Negate(operand=operand, span=span):
                inner, kind = self.check(operand)
                if kind != REAL:
                    kind = self.numbers((operand,), (kind,), (inner,))
                return n.Negate(inner, span), kind
            case n.Compare():
                return self.compare(expr)
            case n.Logic(word=word, operands=operands, span=span):
                return n.Logic(word, tuple(self.condition(each) for each in operands), span), BOOL
            case n.Not(operand=operand, span=span):
                return n.Not(self.condition(operand), span), BOOL
            case n.Conditional():
                return self.conditional(expr)
            case n.Refuse(span=span):
                hint = 'write: X[i] if X[i] > 0 else refuse "..."'
                raise SpecError(span, "'refuse' is one branch of a choice", hint)
            case n.Contains(element=element, collection=collection, span=span):
                return n.Contains(self.integer(element), self.members(collection), span), BOOL
            case n.TupleOf(elements=elements, span=span):
                return n.TupleOf(tuple(self.integer(each) for each in elements), span), LIST
            case n.Listing(element=element, binders=binders, span=span):
                with self.nested():
                    bound = check_binders(self, binders)
                    checked, kind = self.check(element)
                if kind not in (INT, LIST):
                    self.mismatch(element, INT, kind)
                return n.Listing(checked, bound, span), LIST if kind == INT else LISTS
            case n.SetOf(element=element, binders=binders, span=span):
                with self.nested():
                    bound = check_binders(self, binders)
                    checked = self.integer(element)
                return n.SetOf(checked, bound, span), SET
            case n.Reduction():
                return self.reduction(expr)
            case n.Sorted():
                unnamed(self, "sort", expr)
            case n.Bracket():
                return self.brackets.bracket(expr)
            case n.Call():
                return self.calls.call(expr)
            case _:
                raise AssertionError(f"{type(expr).__name__} is checked already")

    def name(self, expr: n.Name) -> Checked:
        text, span = expr.text, expr.span
        if text in self.where:
            return self.calls.apply_where(text, (), span)
        if text in REALS and self.scope.find(text) is None:
            return n.Real(REALS[text], span), REAL
        symbol = self.find(text, span)
        if symbol.kind == WORD:
            raise word_read_error(symbol, span)
        if symbol.kind is None:
            word = ROLE_WORDS[symbol.role]
            hint = f"write {text}[...]"
            message = f"'{text}' is {word}; it has no value without indices"
            if symbol.role == "type":
                message = f"'{text}' is {word} and has no value"
                hint = f"its ends are least({text}) and greatest({text})"
            raise SpecError(span, message, hint)
        if symbol.role == "definition":
            if symbol.parameters:
                wanted = count_of_indices(len(symbol.parameters))
                raise SpecError(span, f"'{text}' needs {wanted}", f"write {text}[...]")
            self.whole(symbol, span)
            return n.Apply(text, self.around(symbol, span), span), symbol.kind
        if symbol.value is not None:
            return checked_number(symbol.value, span), INT
        role = symbol.role
        if role == "attribute":
            role = OF_REALS.get(symbol.kind, role)
        return n.Ref(text, role, span), symbol.kind

    def arithmetic(self, expr: n.Arithmetic) -> Checked:
        sign, span = expr.sign, expr.span
        left, left_kind = self.check(expr.left)
        right, right_kind = self.check(expr.right)
        reals = REAL in (left_kind, right_kind)
        if sign == "/":
            what, hint = "integers", "write 'div' (floor) or 'tdiv' (toward zero)"
            if reals:
                what, hint = "real numbers", "write 'over'"
            raise SpecError(self.sign_span(expr), f"'/' has no meaning for {what}", hint)
        if SET in (left_kind, right_kind) and sign in ("-", "+"):
            if left_kind != SET:
                self.mismatch(expr.right, left_kind, SET)
            if right_kind != SET:
                self.mismatch(expr.right, SET, right_kind)
            return n.Arithmetic(sign, left, right, span), SET
        parts, kinds = (expr.left, expr.right), (left_kind, right_kind)
        kind = self.numbers(parts, kinds, (left, right))
        if sign in QUOTIENTS and all(map(self.literal, (left, right))):
            self.take_as_integers(left, right)
            kind = INT
        if sign == "over" and kind == INT:
            hint = "write 'div' (floor) or 'tdiv' (toward zero)"
            raise SpecError(self.sign_span(expr), "'over' divides real numbers only", hint)
        if sign in QUOTIENTS and kind == REAL:
            one, other = (part.span.code for part in parts)
            message = f"'{sign}' has a meaning for integers only"
            raise SpecError(span, message, QUOTIENTS[sign].format(one, other))
        return n.Arithmetic(sign, left, right, span), kind

    @staticmethod
    def sign_span(expr: n.Arithmetic) -> Span:
        source = expr.span.source
        at = source.text.find(expr.sign, expr.left.span.end, expr.right.span.start)
        return Span(source, at, at + len(expr.sign)) if at >= 0 else expr.span

    def compare(self, expr: n.Compare) -> Checked:
        if any(isinstance(operand, n.Word) for operand in expr.operands):
            return check_comparison(self, expr), BOOL
        if any(names_type(self, operand) for operand in expr.operands):
            return check_type_test(self, expr), BOOL
        checked = [self.check(operand) for operand in expr.operands]
        kinds = {kind for _, kind in checked}
        equality = set(expr.relations) <= {"==", "!="}
        operands = tuple(operand for operand, _ in checked)
        if kinds != {INT} and not (kinds == {BOOL} and equality):
            for operand, (_, kind) in zip(expr.operands, checked, strict=True):
                if kind in (LIST, SET):
                    self.no_order(expr, operand, kind, alike=kinds == {kind})
            self.numbers(expr.operands, [kind for _, kind in checked], operands)
        return n.Compare(expr.relations, operands, expr.span), BOOL

    def no_order(self, expr: n.Compare, operand: n.Expr, kind: Kind, *, alike: bool) -> NoReturn:
        message = f"this is {kind}; only integers compare"
        hint = EQUAL.get((kind, expr.relations), "")
        if not alike or not hint or not all(isinstance(each, n.Name) for each in expr.operands):
            raise SpecError(operand.span, message)
        names = (each.span.text for each in expr.operands)
        index = next(each for each in INDICES if self.scope.find(each) is None)
        raise SpecError(expr.span, message, f"write ({hint.format(*names, index)})")

    def conditional(self, expr: n.Conditional) -> Checked:
        condition = self.condition(expr.condition)
        match expr.then, expr.otherwise:
            case n.Refuse(), n.Refuse():
                hint = 'one branch has to give a value: X[i] if X[i] > 0 else refuse "..."'
                raise SpecError(expr.span, "both branches are refused", hint)
            case n.Refuse() as refuse, given:
                value, kind = self.check(given)
                refused = replace(refuse, kind=kind.name)
                return n.Conditional(refused, condition, value, expr.span), kind
            case given, n.Refuse() as refuse:
                value, kind = self.check(given)
                refused = replace(refuse, kind=kind.name)
                return n.Conditional(value, condition, refused, expr.span), kind
            case _:
                pass
        then, then_kind = self.check(expr.then)
        otherwise, kind = self.check(expr.otherwise)
        if {then_kind, kind} == {INT, REAL}:
            branches = (expr.then, expr.otherwise)
            kind = then_kind = self.numbers(branches, (then_kind, kind), (then, otherwise))
        if then_kind != kind:
            message = f"this branch is {kind}, the other {then_kind}"
            raise SpecError(expr.otherwise.span, message, "both must be of one kind")
        return n.Conditional(then, condition, otherwise, expr.span), kind

    def reduction(self, expr: n.Reduction) -> Checked:
        name, span = expr.function, expr.span
        if name == "select":
            unnamed(self, name, expr)
        place = Span(span.source, span.start, span.start + len(name))
        if name == "sort":
            raise SpecError(place, "'sort' needs keys", f"write {SELECTION_FORMS[name]}")
        if name not in n.REDUCTIONS:
            hint = did_you_mean(name, (*n.REDUCTIONS, *n.SELECTIONS))
            hint = hint or f"reductions are {', '.join(n.REDUCTIONS)}"
            raise SpecError(place, f"'{name}' is not a reduction", hint)
        logical = name in ("any", "all", "count")
        with self.nested():
            binders = check_binders(self, expr.binders)
            body, kind = self.check(expr.body)
            if logical and kind != BOOL:
                self.mismatch(expr.body, BOOL, kind)
            if not logical and kind != REAL:
                kind = self.numbers((expr.body,), (kind,), (body,))
        if logical:
            kind = BOOL if name in ("any", "all") else INT
        return n.Reduction(name, binders, body, span), kind


def checked_number(value: int, span: Span) -> n.Number:
    """A number of a formula: machine integers have to hold it."""
    if not -(1 << 63) <= value < 1 << 63:
        hint = "elements and attributes have 32 bits"
        raise SpecError(span, f"{number_text(value)} does not fit 64 bits", hint)
    return n.Number(value, span)
