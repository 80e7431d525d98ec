"""What the compiler's own functions do."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from typing import Any

from cvmgen import reals
from cvmgen.verification.values import choices, extremes, llvm, modular, quotients
from cvmgen.verification.values import real_terms as rt
from cvmgen.verification.values import terms as t
from cvmgen.verification.values.executor import Executor
from cvmgen.verification.values.memory import UndefinedBehaviour, Unmodelled
from cvmgen.verification.values.typed_memory import reshaped

_NOTHING = ("lifetime", "assume", "prefetch", "va_start", "va_end", "experimental.noalias", "dbg")


def intrinsic(
    machine: Executor, name: str, result: llvm.Type, types: list[llvm.Type]
) -> Callable[..., Any]:
    """The function of this name."""
    if name == "asm ":  # hides a value from the compiler
        return lambda value: value
    short = name.removeprefix("llvm.")
    if short.startswith(_NOTHING):
        return lambda *operands: None
    if short.startswith(("memcpy", "memmove")):
        return _copy(machine)
    if short.startswith("memset"):
        return lambda to, byte, size, _: machine.memory.fill(_known(to), byte, _known(size))
    base = short.split(".")[0]
    bits = a_bits(result)
    if base in ("smax", "smin", "umax", "umin"):
        return _entrywise(extreme(base, bits), result)
    if base in _REALS:
        sign, exact = _REALS[base]
        return _entrywise(_real(sign, exact), result)
    match base:
        case "abs":
            return _entrywise(lambda value, _: _magnitude(value, bits), result, 1)
        case "ctlz":
            return lambda value, _: _leading_zeros(value, bits)
        case "cttz":
            return lambda value, _: (value & -value).bit_length() - 1 if value else bits
        case "ctpop":
            return lambda value: (value & ((1 << bits) - 1)).bit_count()
        case "copysign":
            return _copy_sign
        case "expect" | "threadlocal" | "launder" | "strip" | "ssa":
            return lambda value, *_: value
        case "fshl" | "fshr":
            return _funnel(base, bits)
        case "fmuladd":
            raise UndefinedBehaviour("a multiplication and an addition in one")
        case "load":  # load.relative: a table of distances from itself
            return lambda place, at: (
                place + machine.distances[_known(machine.memory.integer(place + at, 4))]
            )
        case "masked":
            return _masked_store(machine, types)
        case "vector" if ".reduce.add" in short:
            return lambda vector: _sum(vector)
        case "usub" | "uadd" if ".sat" in short:
            return _saturating(base, bits)
        case "objectsize":
            return lambda *_: -1
        case "is":
            return lambda *_: 0
        case "sadd" | "ssub" | "smul" if ".with.overflow" in short:
            return _checked(machine, base, a_bits(types[0]))
        case "trap" | "debugtrap" | "ubsantrap":
            return _trap
        case _:
            pass
    if short == "x86.avx512.vpdpbusd.512":
        return _add_products
    if short == "x86.avx2.pmadd.wd":
        return _add_pairs
    raise Unmodelled(f"the function {name} is not known here")


def a_bits(about: llvm.Type) -> int:
    if isinstance(about, llvm.Vector):
        about = about.element
    return about.bits if isinstance(about, (llvm.Int, llvm.RealType)) else 64


def _known(size: Any) -> int:
    return operator.index(size)  # of a term: by the one who explores


def _copy(machine: Executor) -> Callable[..., Any]:
    def copy(to: Any, source: Any, size: Any, _: Any) -> None:
        if isinstance(source, t.Term):
            return _copy_somewhere(machine, to, source, _known(size))
        machine.memory.copy(_known(to), source, _known(size))
        return None

    return copy


def _copy_somewhere(machine: Executor, to: int, source: t.Term, size: int) -> None:
    """A copy from one of several places, element by element."""
    places = choices.possible(source)
    block, at = machine.memory.find(places[0], size)
    cell = block.cells.get(at)
    unit = cell.size if cell is not None and size % cell.size == 0 else 1
    kind = llvm.Int(8 * unit)
    for k in range(0, size, unit):
        machine.memory.put(kind, t.add(to, k), machine.memory.get(kind, t.add(source, k)))


def _entrywise(
    function: Callable[..., Any], about: llvm.Type, alone: int = 0
) -> Callable[..., Any]:
    """By entries of vectors; the last `alone` operands are none."""
    if not isinstance(about, llvm.Vector):
        return function
    if alone:
        return lambda vector, *others: tuple(function(each, *others) for each in vector)
    return lambda *vectors: tuple(map(function, *vectors))


def extreme(name: str, bits: int) -> Callable[[Any, Any], Any]:
    read = modular.signed if name[0] == "s" else modular.unsigned
    pick = extremes.maximum if name.endswith("max") else extremes.minimum
    of_numbers = max if name.endswith("max") else min

    def operate(one: Any, other: Any) -> Any:
        if type(one) is int and type(other) is int:
            return modular.signed(of_numbers(read(one, bits), read(other, bits)), bits)
        if name[0] == "u" and _with_one(one, other):
            value = modular.signed(other if isinstance(one, int) else one, bits)
            zero = t.equal(value, 0)
            return choices.choose(zero, 1, value) if name == "umax" else choices.choose(zero, 0, 1)
        result = pick([read(one, bits), read(other, bits)])
        return modular.signed(result, bits) if isinstance(result, int) else result

    return operate


def _with_one(one: Any, other: Any) -> bool:
    """Whether a term stands beside 1: without a sign that is next to 0, which alone is below."""
    values = [each for each in (one, other) if isinstance(each, int)]
    return values == [1]


def _magnitude(value: Any, bits: int) -> Any:
    number = modular.signed(value, bits)
    return extremes.maximum([number, t.negated(number)])


def _leading_zeros(value: Any, bits: int) -> Any:
    if isinstance(value, int):
        return bits - (value & ((1 << bits) - 1)).bit_length()
    # of a sum of powers of two, one comparison for each
    whole, total = modular.unsigned(value, bits), bits
    result: Any = total
    for k in range(bits):
        result = t.add(result, choices.choose(t.at_least(whole, 1 << k), -1, 0))
    return result


def _funnel(name: str, bits: int) -> Callable[..., Any]:
    def funnel(high: Any, low: Any, by: Any) -> Any:
        if not isinstance(by, int):
            raise Unmodelled("a shift of elements by elements")
        by %= bits
        whole = t.add(
            t.multiply(modular.unsigned(high, bits), 1 << bits), modular.unsigned(low, bits)
        )
        if name == "fshl":
            return modular.signed(
                quotients.floor_quotient(t.multiply(whole, 1 << by), 1 << bits), bits
            )
        return modular.signed(quotients.floor_quotient(whole, 1 << by), bits)

    return funnel


def _saturating(name: str, bits: int) -> Callable[..., Any]:
    def operate(one: Any, other: Any) -> Any:
        first, second = modular.unsigned(one, bits), modular.unsigned(other, bits)
        if name == "usub":
            return extremes.maximum([0, t.add(first, t.negated(second))])
        return extremes.minimum([(1 << bits) - 1, t.add(first, second)])

    return operate


_EXACT = {"sadd": t.add, "ssub": lambda a, b: t.add(a, t.negated(b)), "smul": t.multiply}


def _checked(machine: Executor, name: str, bits: int) -> Callable[..., Any]:
    """An operation with a sign, which must not overflow: the exact result."""
    exact, half = _EXACT[name], 1 << (bits - 1)

    def operate(a: Any, b: Any) -> Any:
        if type(a) is not int or type(b) is not int:
            a, b = modular.signed(a, bits), modular.signed(b, bits)
        result = exact(a, b)
        if type(result) is int:
            return result, int(not -half <= result < half)
        machine.never(t.opposite(modular.fits(result, bits)), f"a result beyond {bits} bits")
        return result, 0

    return operate


_REALS: dict[str, tuple[str, Callable[..., float]]] = {
    "fma": ("fma", reals.fma),
    "fabs": ("abs", abs),
    "floor": ("floor", reals.floor),
    "ceil": ("ceil", reals.ceil),
    "trunc": ("trunc", reals.trunc),
    "sqrt": ("sqrt", reals.sqrt),
}


def _real(sign: str, exact: Callable[..., float]) -> Callable[..., Any]:
    def operate(*values: Any) -> Any:
        known = all(isinstance(each, float) for each in values)
        return exact(*values) if known else rt.real(sign, *values)

    return operate


def _copy_sign(value: Any, sign: Any) -> Any:
    if isinstance(sign, float):
        return (
            math.copysign(value, sign)
            if isinstance(value, float)
            else rt.real("copysign", value, sign)
        )
    return choices.choose(t.condition(("below zero", sign)), -abs(value), abs(value))


def _sum(vector: tuple[Any, ...]) -> Any:
    total: Any = 0
    for each in vector:
        total = t.add(total, each)
    return total


def _masked_store(machine: Executor, types: list[llvm.Type]) -> Callable[..., Any]:
    about = types[0]
    assert isinstance(about, llvm.Vector)
    size = llvm.size_of(about.element)

    def store(vector: Any, place: Any, *more: Any) -> None:
        for at, (entry, kept) in enumerate(zip(vector, more[-1], strict=True)):
            if kept:
                machine.memory.put(about.element, place + at * size, entry)

    return store


def _add_products(sums: Any, left: Any, right: Any) -> Any:
    """Four products of a byte without and one with a sign, added to each sum of 32 bits."""
    first, second = _quarters(left), _quarters(right)
    result = []
    for at, total in enumerate(sums):
        for k in range(4 * at, 4 * at + 4):
            total = t.add(
                total, t.multiply(modular.unsigned(first[k], 8), modular.signed(second[k], 8))
            )
        result.append(modular.signed(total, 32) if isinstance(total, int) else total)
    return tuple(result)


def _quarters(vector: tuple[Any, ...]) -> tuple[Any, ...]:
    """Entries of 32 bits as bytes."""
    if len(vector) == 64:
        return vector
    count = len(vector)
    reshape = reshaped(llvm.Vector(count, llvm.Int(32)), llvm.Vector(4 * count, llvm.Int(8)))
    return tuple(reshape(vector))


def _add_pairs(left: Any, right: Any) -> Any:
    """Sums of two neighbouring products of 16 bits."""
    products = [
        t.multiply(modular.signed(one, 16), modular.signed(other, 16))
        for one, other in zip(left, right, strict=True)
    ]
    sums = (t.add(products[at], products[at + 1]) for at in range(0, len(products), 2))
    return tuple(modular.signed(each, 32) if isinstance(each, int) else each for each in sums)


def _trap(*_: Any) -> None:
    raise UndefinedBehaviour("a trap")
