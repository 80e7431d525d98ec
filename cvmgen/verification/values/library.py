"""Functions that generated code calls and that are not run as text: the C library's, threads."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from cvmgen import reals
from cvmgen.functions import ELEMENTARY, FUNCTIONS
from cvmgen.verification.values import choices, extremes, modular, quotients
from cvmgen.verification.values import real_terms as rt
from cvmgen.verification.values import terms as t
from cvmgen.verification.values.evaluate import form_of, integer_of
from cvmgen.verification.values.memory import Unmodelled, as_bits, of_bits

if TYPE_CHECKING:
    from cvmgen.verification.values.machine import Machine

Routine = Callable[["Machine", list[Any]], Any]


def has_feature(machine: Machine, arguments: list[Any]) -> int:
    """Whether the processor that is looked at has what a text names."""
    machine.asked = True
    return int(text_at(machine, arguments[0]) in machine.features)


def text_at(machine: Machine, address: int) -> str:
    """The text that ends with a zero."""
    block, at = machine.memory.find(address, 1)
    return bytes(block.data[at : block.data.index(0, at)]).decode("latin-1")


def _number(value: Any) -> int:
    return operator.index(value)  # of a term: by the one who explores


def _new(machine: Machine, arguments: list[Any]) -> int:
    return machine.memory.new(_number(arguments[0]), "memory of the call", known=False)


def _new_zeros(machine: Machine, arguments: list[Any]) -> int:
    return machine.memory.new(_number(arguments[0]) * _number(arguments[1]), "memory of the call")


def _new_aligned(machine: Machine, arguments: list[Any]) -> int:
    return machine.memory.new(_number(arguments[1]), "memory of the call", known=False)


def _new_at(machine: Machine, arguments: list[Any]) -> int:
    machine.memory.put_integer(arguments[0], 8, machine.memory.new(_number(arguments[2]), "memory"))
    return 0


def _larger(machine: Machine, arguments: list[Any]) -> int:
    before, size = arguments
    made = machine.memory.new(_number(size), "memory of the call")
    if before:
        block, _ = machine.memory.find(before, 0)
        machine.memory.copy(made, before, min(size, block.size))
        machine.memory.free(before)
    return made


def _free(machine: Machine, arguments: list[Any]) -> None:
    machine.memory.free(arguments[0])


def _length(machine: Machine, arguments: list[Any]) -> int:
    return len(text_at(machine, arguments[0]))


def _compare(machine: Machine, arguments: list[Any]) -> int:
    one, other = (text_at(machine, each) for each in arguments[:2])
    if len(arguments) == 3:
        one, other = one[: arguments[2]], other[: arguments[2]]
    return (one > other) - (one < other)


def _compare_bytes(machine: Machine, arguments: list[Any]) -> int:
    parts = []
    for address in arguments[:2]:
        block, at = machine.memory.find(address, arguments[2])
        if any(k in block.cells for k in range(at, at + arguments[2])):
            raise Unmodelled("bytes of elements are compared")
        parts.append(bytes(block.data[at : at + arguments[2]]))
    return (parts[0] > parts[1]) - (parts[0] < parts[1])


def _no_text(machine: Machine, arguments: list[Any]) -> int:
    """Texts of refusals are not looked at."""
    machine.memory.fill(arguments[0], 0, min(1, arguments[1]))
    return 0


def _share(machine: Machine, arguments: list[Any]) -> None:
    """The work of threads, in uneven parts, the last one first: results depend on neither."""
    count, _, part, context = arguments
    cuts = sorted({0, count // 3, count // 2, count} if count > 2 else {0, count})
    for low, high in reversed(list(pairwise(cuts))):
        machine.call(part, [context, low, high])


def _note_first(machine: Machine, arguments: list[Any]) -> None:
    """The first of several places stays."""
    first, at = arguments
    known = machine.memory.integer(first, 8)
    machine.memory.put_integer(first, 8, extremes.minimum([known, at]))


def _power(machine: Machine, arguments: list[Any]) -> Any:
    """Exact powers rounded once, as formulas have them: their text is tested, not run on terms."""
    base, exponent = arguments
    numbers = isinstance(base, float) and isinstance(exponent, float)
    return reals.power(base, exponent) if numbers else rt.real("pow", base, exponent)


def _whole_power(bits: int) -> Routine:
    """Of integers, as so many bits hold it; of an exponent that depends on elements one of the
    powers that these allow."""

    def routine(machine: Machine, arguments: list[Any]) -> Any:
        base, exponent = modular.signed(arguments[0], bits), modular.signed(arguments[1], 64)
        if not isinstance(base, int):
            raise Unmodelled("a power of an element")
        return choices.lookup(
            exponent, lambda at: modular.signed(pow(base, max(at, 0), 1 << bits), bits)
        )

    return routine


def _quotient(bits: int, quotient: Callable[[t.Integer, t.Integer], t.Integer]) -> Routine:
    """A quotient of so many bits; 0 for a divisor of 0, the nearest end for one beyond them."""
    most = (1 << (bits - 1)) - 1

    def routine(machine: Machine, arguments: list[Any]) -> Any:
        a, b = (modular.signed(each, bits) for each in arguments)
        zero = t.equal(b, 0)
        found = 0 if zero is True else choices.choose(zero, 0, quotient(a, b))
        turned = t.both(t.at_least(t.negated(a), most + 1), t.equal(b, -1))
        return choices.choose(turned, most, found)

    return routine


def root(value: Any) -> Any:
    """The square root of an integer, rounded down; 0 below 0."""
    if isinstance(value, int):
        return math.isqrt(max(value, 0))
    return t.atom(("isqrt", t.key_of(value)), 0, math.isqrt(max(t.bounds(value)[1], 0)))


def _root(bits: int) -> Routine:
    return lambda machine, arguments: root(modular.signed(arguments[0], bits))


def _of_16_bits(name: str) -> Routine:
    """An element of 16 bits as a number."""
    form = form_of(name, 2)
    return lambda machine, arguments: of_bits(modular.signed(arguments[0], 16), form)


def _stored_in_16_bits(name: str) -> Routine:
    """A number as an element of 16 bits."""
    form = form_of(name, 2)

    def routine(machine: Machine, arguments: list[Any]) -> Any:
        (value,) = arguments
        if isinstance(value, float):
            return integer_of(reals.STORED[name](value), form)
        return as_bits(rt.real(name, value), form)

    return routine


def _of_real(name: str) -> Routine:
    exact = FUNCTIONS[name].exact

    def routine(machine: Machine, arguments: list[Any]) -> Any:
        if all(isinstance(each, float) for each in arguments):
            return exact(*arguments)
        return rt.real(name, *arguments)

    return routine


def _of_many(name: str) -> Routine:
    """A function of each number in memory."""
    of_one = _of_real(name)

    def routine(machine: Machine, arguments: list[Any]) -> None:
        first, count = arguments
        for place in range(first, first + 8 * _number(count), 8):
            machine.memory.put_real(place, 8, of_one(machine, [machine.memory.real(place, 8)]))

    return routine


OF_16_BITS = ("float16", "bfloat16")
OF_REALS = (*ELEMENTARY, "round", "roundeven")
LIBRARY: dict[str, Routine] = {
    "cvmgen_x86_has": has_feature,
    "cvmgen_power_f64": _power,
    **{f"cvmgen_of_{name}": _of_16_bits(name) for name in OF_16_BITS},
    **{f"cvmgen_stored_{name}": _stored_in_16_bits(name) for name in OF_16_BITS},
    **{f"cvmgen_{name}_f64": _of_real(name) for name in OF_REALS},
    **{f"cvmgen_{name}_run": _of_many(name) for name in ("exp", "sigmoid", "tanh")},
    "cvmgen_roundeven_f32": _of_real("roundeven"),
    "cvmgen_trunc_div": _quotient(64, quotients.quotient_toward_zero),
    "cvmgen_floor_div": _quotient(64, quotients.floor_quotient),
    "cvmgen_trunc_div_i128": _quotient(128, quotients.quotient_toward_zero),
    "cvmgen_floor_div_i128": _quotient(128, quotients.floor_quotient),
    "cvmgen_power": _whole_power(64),
    "cvmgen_power_i128": _whole_power(128),
    **{f"cvmgen_isqrt_i{bits}": _root(bits) for bits in (32, 64, 128)},
    "fma": _of_real("fma"),
    "malloc": _new,
    "calloc": _new_zeros,
    "realloc": _larger,
    "aligned_alloc": _new_aligned,
    "posix_memalign": _new_at,
    "free": _free,
    "strlen": _length,
    "strcmp": _compare,
    "strncmp": _compare,
    "bcmp": _compare_bytes,
    "memcmp": _compare_bytes,
    "snprintf": _no_text,
    "vsnprintf": _no_text,
    "getenv": lambda machine, arguments: 0,
    "cvmgen_share": _share,
    "cvmgen_thread_count": lambda machine, arguments: 1,
    "cvmgen_note_overflow": _note_first,
    "cvmgen_lock": lambda machine, arguments: None,
    "cvmgen_unlock": lambda machine, arguments: None,
}
