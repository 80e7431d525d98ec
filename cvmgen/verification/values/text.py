"""Terms as people read them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from cvmgen.verification.values import real_terms as rt
from cvmgen.verification.values import terms as t
from cvmgen.verification.values.assumed import Undecided
from cvmgen.verification.values.table import TABLE

MOST = 12  # parts of a sum that are shown
DEEPEST = 5  # terms in terms that are shown: they share parts, written out they double with each


def value_text(value: Any, deep: int = DEEPEST) -> str:
    match value:
        case t.Term():
            return integer_text(value, deep)
        case t.Condition():
            return condition_text(value, deep)
        case rt.RealTerm():
            return _real_text(value, deep)
        case ("real", digits, _):
            return str(float.fromhex(digits)) if digits != "nan" else "nan"
        case frozenset() if t.is_polynomial(value):
            return value_text(t.of_key(value), deep)
        case frozenset():
            return f"{{{', '.join(sorted(_texts(value, deep)))}}}"
        case tuple():
            return f"({', '.join(_texts(value, deep))})"
        case _:
            pass
    return str(value)


def _texts(values: Iterable[Any], deep: int) -> list[str]:
    return [value_text(value, deep) for value in values]


def integer_text(value: t.Integer, deep: int = DEEPEST) -> str:
    if isinstance(value, int):
        return str(value)
    parts = sorted(value.parts.items())
    shown = " + ".join(_product(monomial, factor, deep) for monomial, factor in parts[:MOST])
    return shown + (f" + ... ({len(parts)} parts)" if len(parts) > MOST else "")


def _product(monomial: t.Monomial, factor: int, deep: int) -> str:
    names = [_atom(TABLE.atoms[number].key, deep) for number in monomial]
    if factor != 1 or not names:
        names.insert(0, str(factor))
    return "*".join(names)


def _atom(key: tuple[Any, ...], deep: int) -> str:
    inner = deep - 1
    match key:
        case ("input", name, position):
            return f"{name}[{position}]"
        case _ if not deep:
            return "..."
        case ("if", test, yes, no):
            yes, no = _texts((yes, no), inner)
            return f"({yes} if {condition_text(test, inner)} else {no})"
        case ("max" | "min" as name, members):
            return f"{name}({', '.join(sorted(_texts(members, inner)))})"
        case ("div", a, b):
            return f"({value_text(a, inner)} div {value_text(b, inner)})"
        case (name, *operands):
            return f"{name}({', '.join(_texts(operands, inner))})"
        case _:
            pass
    return str(key)


def condition_text(test: t.Condition, deep: int = DEEPEST) -> str:
    inner = deep - 1
    match test.core:
        case _ if not deep:
            return "..."
        case ("ge", key, least):
            sign = ">=" if test.holds else "<"
            return f"{value_text(key, inner)} {sign} {least}"
        case ("eq", key, value):
            return f"{value_text(key, inner)} {'==' if test.holds else '!='} {value}"
        case ("and", parts):
            joined = " and ".join(sorted(condition_text(part, inner) for part in parts))
            return f"({joined})" if test.holds else f"not ({joined})"
        case (name, *operands):
            shown = f"{name}({', '.join(_texts(operands, inner))})"
            return shown if test.holds else f"not {shown}"
        case _:
            pass
    return str(test.core)


def _real_text(value: rt.RealTerm, deep: int = DEEPEST) -> str:
    inner = deep - 1
    match value.key:
        case ("input", name, position) | (
            "float32" | "float16" | "bfloat16",
            rt.RealTerm(key=("input", name, position)),
        ):
            return f"{name}[{position}]"
        case _ if not deep:
            return "..."
        case ("+" | "-" | "*" as sign, one, other):
            return f"({value_text(one, inner)} {sign} {value_text(other, inner)})"
        case ("if", test, yes, no):
            yes, test, no = _texts((yes, test, no), inner)
            return f"({yes} if {test} else {no})"
        case (name, *operands):
            return f"{name}({', '.join(_texts(operands, inner))})"
        case _:
            pass
    return str(value.key)


def told(error: Exception) -> str:
    """What leaves a call open."""
    return condition_text(error.condition) if isinstance(error, Undecided) else str(error)
