"""Checks attributes: their type, declared range and default."""

from __future__ import annotations

import math
import re

from cvmgen.dtypes import ATTRIBUTE_HIGH, ATTRIBUTE_LOW, MAX_RANK
from cvmgen.functions import RELATIONS
from cvmgen.source import SpecError, code_of, did_you_mean
from cvmgen.spec import declarations as d
from cvmgen.spec import formula as f
from cvmgen.spec import nodes as n
from cvmgen.spec.attribute_words import check_words, default_word
from cvmgen.spec.expressions import ExpressionChecker
from cvmgen.spec.folding import constant_value
from cvmgen.spec.formula import BOOL, INT, LIST, REAL, REAL_LIST, WORD, Kind
from cvmgen.spec.scope import ScopedName, argument_name

NAMED_NUMBER = re.compile(r"-?\s*[A-Za-z_]\w*")  # a constant, inf, -inf
WORDS_IN_BRACES = 'words stand in braces: in {"ALL", "NONE"}'
TYPES = {"int": INT, "real": REAL, "bool": BOOL, "word": WORD}


def check_attribute(checker: ExpressionChecker, item: d.AttributeDecl) -> f.Attribute:
    """The checked attribute; its name and those of its entries are added to the scope."""
    kind = TYPES.get(item.type_name)
    if kind is None:
        message = f"unknown attribute type '{item.type_name}'"
        hint = (
            did_you_mean(item.type_name, TYPES)
            or "an attribute is int, real, bool, word, type, int list or real list"
        )
        raise SpecError(item.type_span, message, hint)
    if item.components and (item.is_list or item.optional):
        message = "an attribute with named entries is neither a list nor optional"
        raise SpecError(item.name_span, message, "name no entries, or leave the type away")
    is_list = item.is_list or bool(item.components)
    if is_list and kind == BOOL:
        raise SpecError(item.type_span, "the entries of an attribute are numbers", "write int")
    words = check_words(item)
    value_kind = (REAL_LIST if kind == REAL else LIST) if is_list else kind
    inside = real_range(checker, item) if kind == REAL else None
    low, high, text, shown = _range_of(inside, item) if inside else declared_range(checker, item)
    default = None
    if item.default is not None:
        default = check_default(checker, item, item.default, value_kind)
        default_in_range(item, default, low, high, text)
        if inside is not None:
            for entry in default.elements if isinstance(default, n.TupleOf) else (default,):
                real_in_range(item, entry, inside, text)
    for component in item.components:
        checker.scope.add(ScopedName(component.text, "attribute", kind, component.span))
    name = argument_name(item.name, item.name_span)
    symbol = ScopedName(
        name, "attribute", value_kind, item.name_span, optional=item.optional, words=words
    )
    checker.scope.add(symbol)
    if words and kind != WORD:
        # The generated code keeps the word under this name.
        checker.scope.add(ScopedName(f"{name}_word", "word", WORD, item.name_span, words=words))
    names = tuple(component.text for component in item.components)
    return f.Attribute(
        item.name,
        names,
        item.type_name,
        item.is_list,
        item.optional,
        default,
        low,
        high,
        text,
        shown,
        words,
        item.span,
        inside,
    )


def declared_range(
    checker: ExpressionChecker, item: d.AttributeDecl
) -> tuple[n.Expr | None, n.Expr | None, str, str]:
    """The declared range as low <= value < high, as it is written, and as a refusal shows it."""
    interval = item.interval
    if interval is None:
        return None, None, "", f"[{ATTRIBUTE_LOW}, {ATTRIBUTE_HIGH})"
    if isinstance(interval.low, n.Word) or isinstance(interval.high, n.Word):
        raise SpecError(interval.span, "a range has integers at its ends", WORDS_IN_BRACES)
    if item.type_name == "bool":
        raise SpecError(interval.span, "a bool attribute has no range", "remove it")
    low = end_of_range(checker, interval.low)
    high = end_of_range(checker, interval.high)
    shown = range_text(interval, (low, high))
    if interval.low_open:
        low = n.Arithmetic("+", low, n.Number(1, low.span), low.span)
    if not interval.high_open:
        high = n.Arithmetic("+", high, n.Number(1, high.span), high.span)
    text = interval.span.code.removeprefix("in").strip()
    lowest, highest = constant_value(low), constant_value(high)
    if lowest is not None and highest is not None and lowest >= highest:
        message = f"the range {text} is empty"
        hint = "[a, b) has the values a <= value < b; [a, b] has b too"
        raise SpecError(interval.span, message, hint)
    return low, high, text, shown


def real_range(checker: ExpressionChecker, item: d.AttributeDecl) -> n.Compare | None:
    """What a real attribute with a range has to be, as a comparison of numbers that are known; of
    several numbers, what each has to be, for which the first name stands."""
    interval = item.interval
    if interval is None:
        return None
    ends = [real_constant(checker, end) for end in (interval.low, interval.high)]
    relations = tuple("<" if each else "<=" for each in (interval.low_open, interval.high_open))
    if not all(RELATIONS[each](*(end.value for end in ends)) for each in relations):
        message = f"the range {code_of(interval.span.code).removeprefix('in').strip()} is empty"
        raise SpecError(interval.span, message, "[a, b) has the values a <= value < b")
    name = item.components[0].text if item.components else item.name
    value = n.Ref(name, "real", item.name_span)
    return n.Compare(relations, (ends[0], value, ends[1]), interval.span)


def real_constant(checker: ExpressionChecker, end: n.Expr) -> n.Real:
    """An end of a range of real numbers, or their default: one that is written out."""
    checked, _ = checker.check(end)
    match checked:
        case n.Real():
            return checked
        case n.Number(value=value, span=span) if checker.literal(checked):
            return n.Real(float(value), span)
        case n.Negate(operand=n.Real(value=value), span=span):
            return n.Real(-value, span)
        case _:
            raise SpecError(end.span, "a number is needed here", "such as 1e-5 or inf")


def _range_of(
    inside: n.Compare, item: d.AttributeDecl
) -> tuple[n.Expr | None, n.Expr | None, str, str]:
    """As `declared_range`, of a real attribute, whose range is a comparison."""
    text = inside.span.code.removeprefix("in").strip()
    return None, None, text, text


def real_in_range(item: d.AttributeDecl, default: n.Expr, inside: n.Compare, text: str) -> None:
    low, _, high = inside.operands
    assert isinstance(low, n.Real) and isinstance(high, n.Real) and isinstance(default, n.Real)
    values = (low.value, default.value, high.value)
    pairs = zip(inside.relations, values, values[1:], strict=False)
    if not all(RELATIONS[relation](*pair) for relation, *pair in pairs):
        message = f"the default {default.value!r} of '{item.name}' is outside its range {text}"
        raise SpecError(default.span, message)


def range_text(interval: d.IntervalDecl, checked: tuple[n.Expr, n.Expr]) -> str:
    """The declared range with values for the names that a caller does not know."""
    span = interval.span
    named = {
        (each.span.start, each.span.end): each.value
        for each in n.walk(checked)
        if isinstance(each, n.Number) and NAMED_NUMBER.fullmatch(each.span.text)
    }
    text, at = "", span.start
    for (start, end), value in sorted(named.items()):
        if span.start <= start and end <= span.end:
            text += span.source.text[at:start] + str(value)
            at = end
    return code_of(text + span.source.text[at : span.end]).removeprefix("in").strip()


def end_of_range(checker: ExpressionChecker, end: n.Expr) -> n.Expr:
    match end:
        case n.Name(text="inf", span=span):
            return n.Number(ATTRIBUTE_HIGH, span)
        case n.Negate(operand=n.Name(text="inf"), span=span):
            return n.Number(ATTRIBUTE_LOW, span)
        case _:
            return checker.integer(end)


def check_default(
    checker: ExpressionChecker, item: d.AttributeDecl, default: n.Expr, kind: Kind
) -> n.Expr:
    if item.optional:
        hint = "an attribute with a default need not be given anyway"
        raise SpecError(default.span, "an optional attribute has no default", hint)
    if isinstance(default, n.Word):
        return default_word(item, default)
    if item.components and isinstance(default, n.TupleOf):
        wanted, given = len(item.components), len(default.elements)
        if given != wanted:
            message = f"'{item.name}' has {wanted} entries, its default {given}"
            raise SpecError(default.span, message)
    if kind == REAL:
        return finite_number(checker, default)
    if isinstance(default, n.TupleOf) and len(default.elements) > MAX_RANK:
        message = f"'{item.name}' has at most {MAX_RANK} entries"
        raise SpecError(default.span, f"{message}, its default {len(default.elements)}")
    if kind == REAL_LIST and isinstance(default, n.TupleOf):
        entries = tuple(finite_number(checker, each) for each in default.elements)
        return n.TupleOf(entries, default.span)
    checked, found = checker.check(default)
    if item.components and found in (INT, REAL):
        every = ", ".join([default.span.text] * len(item.components))
        hint = f"write ({every}{',' * (len(item.components) == 1)})"
        message = f"'{item.name}' has named entries, its default is one number"
        raise SpecError(default.span, message, hint)
    if (kind, found) == (INT, REAL):
        hint = "leave the type out, or write real"
        raise SpecError(default.span, f"'{item.name}' is {kind}, its default {found}", hint)
    if found != kind:
        checker.mismatch(default, kind, found)
    return _written_out(checked)


def finite_number(checker: ExpressionChecker, default: n.Expr) -> n.Real:
    real = real_constant(checker, default)
    if not math.isfinite(real.value):
        raise SpecError(default.span, "a default is a finite number", "let callers give it")
    return real


def _written_out(default: n.Expr) -> n.Expr:
    """A default as a value: callers in each language have it from their signatures."""
    value = constant_value(default)
    match default:
        case n.TupleOf(elements=elements, span=span):
            return n.TupleOf(tuple(map(_written_out, elements)), span)
        case n.Truth():
            return default
        case _ if value is not None:
            return n.Number(value, default.span)
        case _:
            hint = "it is made of numbers and constants"
            raise SpecError(default.span, "a default is the same in every call", hint)


def default_in_range(
    item: d.AttributeDecl, default: n.Expr, low: n.Expr | None, high: n.Expr | None, text: str
) -> None:
    lowest = None if low is None else constant_value(low)
    highest = None if high is None else constant_value(high)
    for entry in default.elements if isinstance(default, n.TupleOf) else (default,):
        value = constant_value(entry)
        if value is None:
            continue
        below = lowest is not None and value < lowest
        if below or (highest is not None and value >= highest):
            message = f"the default {value} of '{item.name}' is outside its range {text}"
            raise SpecError(entry.span, message)
