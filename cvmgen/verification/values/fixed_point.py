"""Functions of fixed-point arithmetic that generated code calls, by what they mean: their text is
tested, not run on terms."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from cvmgen.functions import ROUNDINGS
from cvmgen.verification.values import arithmetic, choices, extremes, library, modular, quotients
from cvmgen.verification.values import real_terms as rt
from cvmgen.verification.values import terms as t
from cvmgen.verification.values.formula import extreme_real
from cvmgen.verification.values.library import Routine

if TYPE_CHECKING:
    from cvmgen.verification.values.machine import Machine


def _in_32_bits(value: t.Integer) -> t.Integer:
    """A value, or the nearer end of int32."""
    low, high = -(1 << 31), (1 << 31) - 1
    return extremes.maximum([low, extremes.minimum([value, high])])


def _saturating_sum(machine: Machine, arguments: list[Any]) -> t.Integer:
    return _in_32_bits(t.add(*(modular.signed(each, 32) for each in arguments)))


def _by_exponent(exponent: t.Integer, of: Callable[[int], Any]) -> Any:
    number = modular.signed(exponent, 32)
    return of(number) if isinstance(number, int) else choices.lookup(number, of)


def _saturating_shift(machine: Machine, arguments: list[Any]) -> t.Integer:
    value = modular.signed(arguments[0], 32)
    return _by_exponent(arguments[1], lambda e: _in_32_bits(t.multiply(value, 1 << e)))  # type: ignore[no-any-return]


def _shifted_sum(machine: Machine, arguments: list[Any]) -> t.Integer:
    total = t.add(*(modular.signed(each, 32) for each in arguments[:2]))
    return _by_exponent(arguments[2], lambda e: quotients.floor_quotient(total, 1 << e))  # type: ignore[no-any-return]


def _cut_integer(machine: Machine, arguments: list[Any]) -> Any:
    """An integer of a number that is cut; of one that is rounded, of the number that is cut before,
    as formulas have it."""
    value, low, high = arguments
    if isinstance(value, float):
        return 0 if value != value else int(max(low, min(value, high)))
    rounding = value.key[0] if value.key[0] in ROUNDINGS else ""
    number = value.key[1] if rounding else value
    inside = extreme_real("max", [low, extreme_real("min", [number, high])])
    whole = rt.real(rounding, inside) if rounding else inside
    return choices.choose(rt.is_nan(whole), 0, arithmetic.integer_of_real(whole, 64))


LIBRARY: dict[str, Routine] = library.LIBRARY | {
    "cvmgen_saturating_add_i32": _saturating_sum,
    "cvmgen_saturating_shl_i32": _saturating_shift,
    "cvmgen_shr_sum_i32": _shifted_sum,
    "cvmgen_cut_to_int_f32": _cut_integer,
}
