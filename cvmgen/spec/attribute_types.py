"""Attributes whose value is an element type, which decides what a type parameter stands for, and
tests of types."""

from __future__ import annotations

from dataclasses import replace

from cvmgen.dtypes import DTYPES
from cvmgen.source import SpecError, did_you_mean
from cvmgen.spec import declarations as d
from cvmgen.spec import formula as f
from cvmgen.spec import nodes as n
from cvmgen.spec.checker import Checker
from cvmgen.spec.words import alternatives

FORM = "an attribute that decides a type is declared so: attr to : type in T"


def as_words(item: d.AttributeDecl, table: f.TypeTable) -> d.AttributeDecl:
    """The attribute with the names of its types as words; any other as it is."""
    column = item.column
    if item.type_name != "type" and column is None:
        return item
    if item.type_name != "type":
        assert column is not None
        message = "a range stands in brackets, words stand in braces"
        raise SpecError(column.span, message, FORM)
    if column is None:
        message = f"it is not said which types '{item.name}' can be"
        raise SpecError(item.type_span, message, FORM)
    if column.text not in table.names:
        message = f"'{column.text}' is no type of several storage types"
        hint = did_you_mean(column.text, table.names) or "declare it: type T in int8, int16"
        raise SpecError(column.span, message, hint)
    if item.is_list or item.optional or item.components:
        message = "an attribute that decides a type is neither a list nor optional"
        raise SpecError(item.name_span, message, FORM)
    rows = range(len(table.rows))
    types = (table.dtype(column.text, row) for row in rows)
    names = dict.fromkeys(dtype.name for dtype in types if dtype is not None)
    words = tuple(n.Word(name, column.span) for name in names)
    default = item.default
    if default is not None:
        default = named_type(item, default, tuple(names))
    return replace(item, type_name="word", words=words, default=default)


def named_type(item: d.AttributeDecl, default: n.Expr, names: tuple[str, ...]) -> n.Word:
    """A default, which is the name of one of these types."""
    if isinstance(default, n.Name) and default.text in names:
        return n.Word(default.text, default.span)
    message = f"the default of '{item.name}' is no type that it can be"
    near = did_you_mean(default.text, names) if isinstance(default, n.Name) else ""
    raise SpecError(default.span, message, near or f"write {alternatives(names)}")


# ---------------------------------------------------------------- tests of types


def names_type(checker: Checker, expr: n.Expr) -> bool:
    """Whether an expression, as parsed, is the name of an element type."""
    if not isinstance(expr, n.Name):
        return False
    symbol = checker.scope.find(expr.text)
    return expr.text in DTYPES if symbol is None else symbol.role == "type"


def check_type_test(checker: Checker, expr: n.Compare) -> n.Compare:
    """`T == int8`: a comparison in which the name of a type stands."""
    for each in expr.operands:
        if not names_type(checker, each):
            message = "a type compares with types only"
            raise SpecError(each.span, message, f"storage types are {', '.join(DTYPES)}")
    if len(expr.operands) != 2 or expr.relations[0] not in ("==", "!="):
        raise SpecError(expr.span, "types have no order", "they compare with '==' and '!='")
    names = [each for each in expr.operands if isinstance(each, n.Name)]
    sides = (n.Limit("type", each.text, each.span) for each in names)
    return n.Compare(expr.relations, tuple(sides), expr.span)
