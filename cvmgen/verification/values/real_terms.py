"""Real numbers for all inputs: operations that stand as they were done."""

from __future__ import annotations

import math
from typing import Any

from cvmgen.reals import STORED
from cvmgen.verification.values import terms as t
from cvmgen.verification.values.table import TABLE


class RealTerm:
    """A real number as the operations that make it."""

    __slots__ = ("key",)

    def __init__(self, key: tuple[Any, ...]) -> None:
        self.key = key

    def __add__(self, other: Any) -> Any:
        return real_sum(self, as_real(other))

    def __radd__(self, other: Any) -> Any:
        return real_sum(as_real(other), self)

    def __sub__(self, other: Any) -> Any:
        return real("-", self, as_real(other))

    def __rsub__(self, other: Any) -> Any:
        return real("-", as_real(other), self)

    def __mul__(self, other: Any) -> Any:
        return real("*", self, as_real(other))

    def __rmul__(self, other: Any) -> Any:
        return real("*", as_real(other), self)

    def __neg__(self) -> Any:
        return real("neg", self)

    def __abs__(self) -> Any:
        return real("abs", self)

    def __lt__(self, other: Any) -> t.Truth:
        return real_test("<", self, as_real(other))

    def __gt__(self, other: Any) -> t.Truth:
        return real_test("<", as_real(other), self)

    def __le__(self, other: Any) -> t.Truth:
        return real_test("<=", self, as_real(other))

    def __ge__(self, other: Any) -> t.Truth:
        return real_test("<=", as_real(other), self)

    def __eq__(self, other: object) -> t.Truth:  # type: ignore[override]
        return real_test("==", self, as_real(other))

    def __ne__(self, other: object) -> t.Truth:  # type: ignore[override]
        return t.opposite(real_test("==", self, as_real(other)))

    def __hash__(self) -> int:
        return id(self)


Real = RealTerm | float
_EITHER_WAY = frozenset("+*")


def real_key(value: Any) -> Any:
    """A real number within a key: constants by their bits."""
    if isinstance(value, float):
        return ("real", value.hex() if value == value else "nan", math.copysign(1.0, value))
    return value


def as_real(value: Any) -> Any:
    """An integer or a t.condition as a real number."""
    if isinstance(value, (RealTerm, float)):
        return value
    if isinstance(value, (t.Term, t.Condition)):
        return real("of", value)
    return float(value)


def real(name: str, *operands: Any) -> RealTerm:
    """An operation on real numbers; the operands of a sum and of a product have no order, and a
    square is a product. What a type holds has no more to lose to it."""
    if name == "pow" and isinstance(operands[1], float) and operands[1] == 2:
        return real("*", operands[0], operands[0])
    if name in _HELD and isinstance(operands[0], RealTerm) and _holds(name, operands[0]):
        return operands[0]
    keys = tuple(
        each if isinstance(each, (RealTerm, t.Condition)) else real_key(each)
        if isinstance(each, float) else t.key_of(each)
        for each in operands
    )  # fmt: skip
    if name in _EITHER_WAY:
        keys = tuple(
            sorted(
                keys,
                key=lambda each: (
                    isinstance(each, RealTerm),
                    id(each) if isinstance(each, RealTerm) else 0,
                ),
            )
        )
    found = TABLE.reals.get((name, *keys))
    if found is None:
        found = TABLE.reals[name, *keys] = RealTerm((name, *keys))
    return found


_HELD = {
    "float32": frozenset(("float32", "float16", "bfloat16")),
    "float16": frozenset(("float16",)),
    "bfloat16": frozenset(("bfloat16",)),
}
"""Of a storage type those whose numbers are all among its own."""
_KEEPING = frozenset(("neg", "abs", "floor", "ceil", "trunc"))


def _holds(name: str, a: Any) -> bool:
    """Whether a storage type surely holds a number as it is."""
    match a:
        case RealTerm(key=("if", _, yes, no)):
            return _holds(name, yes) and _holds(name, no)
        case RealTerm(key=("entry", _, _, *entries)):
            return all(_holds(name, each) for each in entries)
        case RealTerm(key=(operation, inner)) if operation in _KEEPING:
            return _holds(name, inner)
        case RealTerm(key=(operation, *_)):
            return operation in _HELD[name]
        case ("real", digits, _):
            number = math.nan if digits == "nan" else float.fromhex(digits)
            return number != number or STORED[name](number) == number
        case _:
            return False


def element(name: str, position: int, dtype: str) -> RealTerm:
    """An element of an input, which is a number of its storage type."""
    found = real("input", name, position)
    return real(dtype, found) if dtype in _HELD else found


def real_sum(a: Any, b: Any) -> Any:
    """A sum. To t.add 0 changes nothing but -0, which no sum is that has a part unlike it."""
    for one, other in ((a, b), (b, a)):
        zero = isinstance(one, float) and one == 0
        if zero and (_is_minus_zero(one) or _never_minus_zero(other)):
            return other
    return real("+", a, b)


def _is_minus_zero(a: Any) -> bool:
    return isinstance(a, float) and a == 0 and math.copysign(1.0, a) < 0


def _never_minus_zero(a: Any) -> bool:
    match a:
        case float():
            return not _is_minus_zero(a)
        case ("real", _, sign):
            return bool(sign > 0) or a[1] != (-0.0).hex()
        case RealTerm(key=("+", one, other)):
            return _never_minus_zero(one) or _never_minus_zero(other)
        case RealTerm(key=("of", *_) | ("abs", *_)):
            return True
        case _:
            pass
    return False


def real_test(sign: str, a: Any, b: Any) -> t.Truth:
    """A comparison, which does not hold where one is no number."""
    if isinstance(a, float) and isinstance(b, float):
        return {"<": a < b, "<=": a <= b, "==": a == b}[sign]
    if any(isinstance(each, float) and each != each for each in (a, b)):
        return False
    if sign == "==":
        if a is b:
            return t.opposite(_nan(a))
        keys = frozenset([real_key(a), real_key(b)])
        return t.condition(("same", keys))
    return t.condition((sign, real_key(a), real_key(b)))


def is_nan(a: Any) -> t.Truth:
    return t.opposite(real_test("==", a, a))


_NAN_OF_IT = frozenset(("neg", "abs", "float16", "bfloat16", "float32", "floor", "ceil", "trunc"))
_NAN_OF_ANY = _NAN_OF_IT | {"+", "-", "*", "over", "sqrt"}


def _nan(a: Any) -> t.Truth:
    """Whether a term is no number: where the one number is none that it is made of."""
    while a.key[0] in _NAN_OF_IT and isinstance(a.key[1], RealTerm):
        a = a.key[1]
    return False if a.key[0] == "of" else t.condition(("nan", a))


def carries_nan(a: Any, source: Any) -> bool:
    """Whether a term is no number where `source` is none."""
    if a is source:
        return True
    return (
        isinstance(a, RealTerm)
        and a.key[0] in _NAN_OF_ANY
        and any(carries_nan(each, source) for each in a.key[1:])
    )
