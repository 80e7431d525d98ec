"""Terms as people read them."""

from __future__ import annotations

from typing import Any

from cvmgen.verification.values import real_terms as rt
from cvmgen.verification.values import terms as t
from cvmgen.verification.values.terms import Undecided

MOST = 12  # parts of a sum that are shown


def value_text(value: Any) -> str:
    match value:
        case t.Term():
            return integer_text(value)
        case t.Condition():
            return condition_text(value)
        case rt.RealTerm():
            return real_text(value)
        case ("real", digits, _):
            return str(float.fromhex(digits)) if digits != "nan" else "nan"
        case frozenset() if t.is_polynomial(value):
            return value_text(t.of_key(value))
        case frozenset():
            return f"{{{', '.join(sorted(map(value_text, value)))}}}"
        case tuple():
            return f"({', '.join(map(value_text, value))})"
        case _:
            pass
    return str(value)


def integer_text(value: t.Integer) -> str:
    if isinstance(value, int):
        return str(value)
    parts = sorted(value.parts.items())
    shown = " + ".join(_product(monomial, factor) for monomial, factor in parts[:MOST])
    return shown + (f" + ... ({len(parts)} parts)" if len(parts) > MOST else "")


def _product(monomial: t.Monomial, factor: int) -> str:
    names = [_atom(t.TABLE.atoms[number].key) for number in monomial]
    if factor != 1 or not names:
        names.insert(0, str(factor))
    return "*".join(names)


def _atom(key: tuple[Any, ...]) -> str:
    match key:
        case ("input", name, position):
            return f"{name}[{position}]"
        case ("if", test, yes, no):
            return f"({value_text(yes)} if {condition_text(test)} else {value_text(no)})"
        case ("max" | "min" as name, members):
            return f"{name}({', '.join(sorted(map(value_text, members)))})"
        case ("div", a, b):
            return f"({value_text(a)} div {value_text(b)})"
        case (name, *operands):
            return f"{name}({', '.join(map(value_text, operands))})"
        case _:
            pass
    return str(key)


def condition_text(test: t.Condition) -> str:
    match test.core:
        case ("ge", key, least):
            sign = ">=" if test.holds else "<"
            return f"{value_text(key)} {sign} {least}"
        case ("eq", key, value):
            return f"{value_text(key)} {'==' if test.holds else '!='} {value}"
        case ("and", parts):
            joined = " and ".join(sorted(map(condition_text, parts)))
            return f"({joined})" if test.holds else f"not ({joined})"
        case (name, *operands):
            shown = f"{name}({', '.join(map(value_text, operands))})"
            return shown if test.holds else f"not {shown}"
        case _:
            pass
    return str(test.core)


def real_text(value: rt.RealTerm) -> str:
    match value.key:
        case ("input", name, position):
            return f"{name}[{position}]"
        case ("+" | "-" | "*" as sign, one, other):
            return f"({value_text(one)} {sign} {value_text(other)})"
        case ("if", test, yes, no):
            return f"({value_text(yes)} if {value_text(test)} else {value_text(no)})"
        case (name, *operands):
            return f"{name}({', '.join(map(value_text, operands))})"
        case _:
            pass
    return str(value.key)


def told(error: Exception) -> str:
    """What leaves a call open."""
    return condition_text(error.condition) if isinstance(error, Undecided) else str(error)
