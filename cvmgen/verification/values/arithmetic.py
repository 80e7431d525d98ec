"""The instructions of a machine on numbers that are known and on terms.

An integer of b bits is an int from -2^(b-1) on, or a term that is congruent to it modulo 2^b; one
of a single bit is 0, 1 or a condition.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from cvmgen import ranges, reals
from cvmgen.ranges import Range
from cvmgen.verification.values import choices, extremes, modular, quotients
from cvmgen.verification.values import real_terms as rt
from cvmgen.verification.values import terms as t
from cvmgen.verification.values.evaluate import integer_of
from cvmgen.verification.values.memory import UndefinedBehaviour, as_bits, of_bits

Operation = Callable[..., Any]
# A shift by more bits than there are has no value. What uses one has trapped before; one that clang
# computes early, and that nothing uses then, may be any number.
_MOST_SHIFTED = 127


def binary(opcode: str, bits: int, flags: frozenset[str]) -> Operation:
    """An operation on two integers."""
    if bits == 1:
        return _TRUTHS[opcode]
    known = _KNOWN[opcode](bits)
    on_terms = _TERMS[opcode]
    exact = "nsw" in flags and opcode in ("add", "sub", "mul")

    def operate(a: Any, b: Any) -> Any:
        if type(a) is int and type(b) is int:
            return known(a, b)
        if exact:  # it does not overflow, which clang knows or a check before it makes sure of
            a, b = modular.signed(a, bits), modular.signed(b, bits)
        return on_terms(a, b, bits)

    return operate


def _folded(exact: Callable[[int, int], int]) -> Callable[[int], Callable[[int, int], int]]:
    def of_bits_(bits: int) -> Callable[[int, int], int]:
        half, mask = 1 << (bits - 1), (1 << bits) - 1
        return lambda a, b: ((exact(a, b) + half) & mask) - half

    return of_bits_


def _unsigned_folded(
    exact: Callable[[int, int], int],
) -> Callable[[int], Callable[[int, int], int]]:
    def of_bits_(bits: int) -> Callable[[int, int], int]:
        half, mask = 1 << (bits - 1), (1 << bits) - 1
        return lambda a, b: ((exact(a & mask, b & mask) + half) & mask) - half

    return of_bits_


def _toward_zero(a: int, b: int) -> int:
    if b == 0:
        raise UndefinedBehaviour("a division by 0")
    return abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)


def _rest(a: int, b: int) -> int:
    return a - b * _toward_zero(a, b)


_KNOWN: dict[str, Callable[[int], Callable[[int, int], int]]] = {
    "add": _folded(lambda a, b: a + b),
    "sub": _folded(lambda a, b: a - b),
    "mul": _folded(lambda a, b: a * b),
    "sdiv": _folded(_toward_zero),
    "srem": _folded(_rest),
    "udiv": _unsigned_folded(_toward_zero),
    "urem": _unsigned_folded(_rest),
    "shl": _unsigned_folded(lambda a, b: a << (b & _MOST_SHIFTED)),
    "lshr": _unsigned_folded(lambda a, b: a >> (b & _MOST_SHIFTED)),
    "ashr": _folded(lambda a, b: a >> (b & _MOST_SHIFTED)),
    "and": _folded(lambda a, b: a & b),
    "or": _folded(lambda a, b: a | b),
    "xor": _folded(lambda a, b: a ^ b),
}


def _divide(a: Any, b: Any, bits: int) -> Any:
    return quotients.quotient_toward_zero(modular.signed(a, bits), modular.signed(b, bits))


def _rest_of_terms(a: Any, b: Any, bits: int) -> Any:
    return t.add(a, t.negated(t.multiply(b, _divide(a, b, bits))))


def _divide_unsigned(a: Any, b: Any, bits: int) -> Any:
    return quotients.floor_quotient(modular.unsigned(a, bits), modular.unsigned(b, bits))


def _rest_unsigned(a: Any, b: Any, bits: int) -> Any:
    a, b = modular.unsigned(a, bits), modular.unsigned(b, bits)
    return t.add(a, t.negated(t.multiply(b, quotients.floor_quotient(a, b))))


def _shift_left(a: Any, b: Any, bits: int) -> Any:
    if isinstance(b, t.Term):
        powers = [1 << k for k in range(bits)]
        return t.multiply(
            a,
            choices.lookup(_amount(b, bits), lambda at: powers[at]),
        )
    return t.multiply(a, 1 << (b & _MOST_SHIFTED))


def _amount(b: t.Term, bits: int) -> t.Integer:
    """By how much is shifted: another number of bits is told before the shift."""
    whole = modular.signed(b, bits)
    return extremes.minimum([extremes.maximum([whole, 0]), bits - 1])


def _shift_right(a: Any, b: Any, bits: int, whole: Any) -> Any:
    if isinstance(b, t.Term):
        if isinstance(a, int) and isinstance(whole, int):
            return choices.lookup(_amount(b, bits), lambda at: whole >> at)
        power = choices.lookup(_amount(b, bits), lambda at: 1 << at)
        return quotients.floor_quotient(modular.spread(whole), power)
    whole = modular.spread(whole)
    return quotients.floor_quotient(whole, 1 << (b & _MOST_SHIFTED))


def _and(a: Any, b: Any, bits: int) -> Any:
    if isinstance(a, int):
        a, b = b, a
    if isinstance(b, int):
        if b == -1:
            return a
        if b == 0:
            return 0
        if b > 0 and (b & (b + 1)) == 0:
            return modular.unsigned(a, b.bit_length())
        low = (b & -b).bit_length() - 1
        if b < 0 and b == -(1 << low):  # the lowest bits are cleared
            return t.add(a, t.negated(modular.unsigned(a, low)))
        if b == -(1 << (bits - 1)):
            return choices.choose(t.at_least(t.negated(modular.signed(a, bits)), 1), b, 0)
    for one, other in ((a, b), (b, a)):
        mask = choices.sides(one)
        if mask is not None and {*mask[1:]} <= {0, -1}:
            return choices.choose(mask[0], other if mask[1] else 0, other if mask[2] else 0)
    return _bitwise("and", a, b, bits)


def _or(a: Any, b: Any, bits: int) -> Any:
    if isinstance(a, int):
        a, b = b, a
    if isinstance(b, int) and b == 0:
        return a
    if isinstance(a, t.Term) and isinstance(b, t.Term) and a.same(b):
        return a
    if _apart(a, b) or _apart(b, a):
        return t.add(a, b)
    return _bitwise("or", a, b, bits)


def _apart(low: Any, high: Any) -> bool:
    """Whether one number lies below the lowest bit that the other one may have."""
    step = math.gcd(*high.parts.values()) if isinstance(high, t.Term) else high
    least, most = t.bounds(low)
    return least >= 0 and most < (step & -step)


def _xor(a: Any, b: Any, bits: int) -> Any:
    if isinstance(a, int):
        a, b = b, a
    if isinstance(a, t.Term) and isinstance(b, t.Term) and a.same(b):
        return 0
    if isinstance(b, int):
        if b == 0:
            return a
        if b == -1:
            return t.add(t.negated(a), -1)
        if b == -(1 << (bits - 1)):
            return t.add(a, b)  # the highest bit: a carry out of it is lost
        if b == (1 << (bits - 1)) - 1:
            return t.add(t.negated(a), -b - 2)  # all others
        low, high = t.bounds(a)
        if b & (b + 1) == 0 and low >= 0 and high <= b:
            return t.add(b, t.negated(a))
    return _bitwise("xor", a, b, bits)


def _is_of_bits(value: Any) -> bool:
    """Whether a number is the bits of a real one."""
    inner = t.single(value)
    return inner is not None and inner.key[0] == "bits"


def _bitwise(opcode: str, a: Any, b: Any, bits: int) -> Any:
    """What is no arithmetic; a choice of constants on one side is one of results."""
    for one, other, turned in ((a, b, False), (b, a, True)):
        sides = choices.sides(one)
        if opcode == "xor" and _is_of_bits(other):
            continue  # the order of real numbers, which has a form of its own
        if sides is not None and all(isinstance(way, int) for way in sides[1:]):
            operate = binary(opcode, bits, frozenset())
            made = [operate(other, way) if turned else operate(way, other) for way in sides[1:]]
            return choices.choose(sides[0], *(modular.signed(each, bits) for each in made))
    natural = all(t.bounds(each)[0] >= 0 and t.bounds(each)[1] < 1 << bits for each in (a, b))
    values = [a, b] if natural else [modular.signed(each, bits) for each in (a, b)]
    found = ranges.RULES[f"bit{opcode}"](*(Range(*t.bounds(each)) for each in values))
    # Any type that holds both numbers gives the same.
    keys = sorted(map(t.key_of, values), key=hash)
    return t.atom((opcode, *keys), found.low, found.high)


_TERMS: dict[str, Callable[[Any, Any, int], Any]] = {
    "add": lambda a, b, bits: t.add(a, b),
    "sub": lambda a, b, bits: t.add(a, t.negated(b)),
    "mul": lambda a, b, bits: t.multiply(a, b),
    "sdiv": _divide,
    "srem": _rest_of_terms,
    "udiv": _divide_unsigned,
    "urem": _rest_unsigned,
    "shl": _shift_left,
    "lshr": lambda a, b, bits: _shift_right(a, b, bits, modular.unsigned(a, bits)),
    "ashr": lambda a, b, bits: _shift_right(a, b, bits, modular.signed(a, bits)),
    "and": _and,
    "or": _or,
    "xor": _xor,
}


def _truth(value: Any) -> t.Truth:
    return value if isinstance(value, t.Condition) else bool(value)


def _bit(value: t.Truth) -> Any:
    return value if isinstance(value, t.Condition) else int(value)


def _exclusive(a: Any, b: Any) -> Any:
    first, second = _truth(a), _truth(b)
    return _bit(choices.choose(first, t.opposite(second), second))


_TRUTHS: dict[str, Operation] = {
    "and": lambda a, b: _bit(t.both(_truth(a), _truth(b))),
    "or": lambda a, b: _bit(t.either(_truth(a), _truth(b))),
    "mul": lambda a, b: _bit(t.both(_truth(a), _truth(b))),
    "xor": _exclusive,
    "add": _exclusive,
    "sub": _exclusive,
}

# ---------------------------------------------------------------- comparisons


def comparison(predicate: str, bits: int) -> Operation:
    if bits == 1:
        return _BIT_TESTS[predicate]
    if predicate in ("eq", "ne"):
        wanted = predicate == "eq"

        def same(a: Any, b: Any) -> Any:
            if type(a) is int and type(b) is int:
                return int((a == b) == wanted)
            found = t.equal(modular.signed(a, bits), modular.signed(b, bits))
            return _bit(found if wanted else t.opposite(found))

        return same
    read = modular.signed if predicate[0] == "s" else modular.unsigned
    swap = predicate[1:] in ("lt", "le")
    least = 1 if predicate[1:] in ("lt", "gt") else 0

    def ordered(a: Any, b: Any) -> Any:
        if type(a) is int and type(b) is int and read is modular.signed:
            return int((b - a if swap else a - b) >= least)
        a, b = read(a, bits), read(b, bits)
        more = t.add(b, t.negated(a)) if swap else t.add(a, t.negated(b))
        return _bit(_by_sign(t.at_least(more, least)))

    return ordered


def _by_sign(test: t.Truth) -> t.Truth:
    """Of the bits of a real number, those that are no negative integer are without its sign; an
    exclusive or is negative where one number is and the other is not."""
    if not isinstance(test, t.Condition) or test.core[0] != "ge" or test.core[2] != 0:
        return test
    inner = t.single(t.of_key(test.core[1]))
    if inner is not None and inner.key[0] == "xor":
        apart = _exclusive(*(t.at_least(t.of_key(each), 0) for each in inner.key[1:]))
        return _truth(apart if not test.holds else t.opposite(_truth(apart)))
    if inner is None or inner.key[0] != "bits":
        return test
    return t.condition(("below zero", inner.key[2]), not test.holds)


_BIT_TESTS: dict[str, Operation] = {
    "eq": lambda a, b: _bit(t.opposite(_truth(_exclusive(a, b)))),
    "ne": _exclusive,
    "ugt": lambda a, b: _bit(t.both(_truth(a), t.opposite(_truth(b)))),
    "ult": lambda a, b: _bit(t.both(_truth(b), t.opposite(_truth(a)))),
    "uge": lambda a, b: _bit(t.either(_truth(a), t.opposite(_truth(b)))),
    "ule": lambda a, b: _bit(t.either(_truth(b), t.opposite(_truth(a)))),
    "sgt": lambda a, b: _bit(t.both(_truth(b), t.opposite(_truth(a)))),
    "slt": lambda a, b: _bit(t.both(_truth(a), t.opposite(_truth(b)))),
}


def real_comparison(predicate: str) -> Operation:
    """Ordered ones (o..) do not hold where one is no number, unordered ones do."""

    def test(a: Any, b: Any) -> Any:
        return _bit(_real_comparison(predicate, a, b))

    return test


def _real_comparison(predicate: str, a: Any, b: Any) -> t.Truth:
    match predicate:
        case "oeq":
            return rt.real_test("==", a, b)
        case "olt":
            return rt.real_test("<", a, b)
        case "ole":
            return rt.real_test("<=", a, b)
        case "ogt":
            return rt.real_test("<", b, a)
        case "oge":
            return rt.real_test("<=", b, a)
        case "uno":
            return t.either(rt.is_nan(a), rt.is_nan(b))
        case "one":
            unordered = _real_comparison("uno", a, b)
            return t.opposite(t.either(unordered, rt.real_test("==", a, b)))
        case "true":
            return True
        case "false":
            return False
        case _:
            pass
    opposites = {
        "ord": "uno",
        "une": "oeq",
        "ueq": "one",
        "ult": "oge",
        "ule": "ogt",
        "ugt": "ole",
        "uge": "olt",
    }
    return t.opposite(_real_comparison(opposites[predicate], a, b))


# ---------------------------------------------------------------- real numbers


def real_binary(opcode: str, bits: int) -> Operation:
    sign, exact = _REAL[opcode]

    def operate(a: Any, b: Any) -> Any:
        if isinstance(a, float) and isinstance(b, float):
            return _rounded(exact(a, b), bits)
        if opcode == "fsub" and isinstance(a, float) and a == 0 and math.copysign(1.0, a) < 0:
            return rt.real("neg", b)
        made = rt.real_sum(a, b) if opcode == "fadd" else rt.real(sign, a, b)
        return made if bits == 64 or isinstance(made, float) else rt.real("float32", made)

    return operate


_REAL: dict[str, tuple[str, Callable[[float, float], float]]] = {
    "fadd": ("+", lambda a, b: a + b),
    "fsub": ("-", lambda a, b: a - b),
    "fmul": ("*", lambda a, b: a * b),
    "fdiv": ("over", reals.over),
}


def _rounded(value: float, bits: int) -> float:
    return reals.to_float32(value) if bits == 32 else value


# ---------------------------------------------------------------- conversions


def conversion(opcode: str, source: int, target: int) -> Operation:
    """From `source` bits to `target` bits."""
    return _CONVERSIONS[opcode](source, target)


def _truncation(source: int, target: int) -> Operation:
    def convert(a: Any) -> Any:
        if isinstance(a, int):
            return a & 1 if target == 1 else modular.signed(a, target)
        if target == 1:
            return _bit(t.opposite(t.equal(modular.unsigned(a, 1), 0)))
        return _without_wraps(a, target)

    return convert


def _without_wraps(a: Any, bits: int) -> Any:
    """A remainder by a multiple of 2^bits says no more than what it is of: as `div` stands for a
    remainder, quotients with whole multiples of 2^bits before them vanish."""
    spread = modular.spread(a)
    return (
        modular.signed(spread, bits) if isinstance(spread, int) else modular.reduced(spread, bits)
    )


def _sign_extension(source: int, target: int) -> Operation:
    if source == 1:
        return lambda a: choices.choose(_truth(a), -1, 0)
    return lambda a: modular.signed(a, source)


def _zero_extension(source: int, target: int) -> Operation:
    if source == 1:
        return lambda a: choices.choose(_truth(a), 1, 0)
    return lambda a: modular.unsigned(a, source)


def _real_of(unsigned: bool) -> Callable[[int, int], Operation]:
    def of_widths(source: int, target: int) -> Operation:
        read = modular.unsigned if unsigned else modular.signed

        def convert(a: Any) -> Any:
            value = _truth(a) if source == 1 else read(a, source)
            if isinstance(value, (int, bool)):
                return _rounded(float(value), target)
            made = rt.real("of", value)
            return made if target == 64 else rt.real("float32", made)

        return convert

    return of_widths


def _integer_of(source: int, target: int) -> Operation:
    def convert(a: Any) -> Any:
        if isinstance(a, float):
            if a != a or math.isinf(a):
                raise UndefinedBehaviour("an integer of what is no number")
            return modular.signed(int(a), target)
        return integer_of_real(a, target)

    return convert


def integer_of_real(a: rt.RealTerm, bits: int) -> t.Integer:
    """Toward zero. Of a quotient of integers below 2^32 it is the integers' quotient: doubles hold
    both, and none of their quotients is rounded up to an integer."""
    if a.key[0] == "over":
        parts = [_integer_within(part) for part in a.key[1:]]
        if all(part is not None and max(map(abs, t.bounds(part))) <= 1 << 32 for part in parts):
            return quotients.quotient_toward_zero(parts[0], parts[1])
    half = 1 << (bits - 1)
    whole = _integer_within(a)
    return whole if whole is not None else t.atom(("int", a), -half, half - 1)


def _integer_within(part: Any) -> Any:
    if isinstance(part, tuple) and part[0] == "real":
        value = float.fromhex(part[1])
        return int(value) if value.is_integer() else None
    if isinstance(part, rt.RealTerm) and part.key[0] == "of":
        return t.of_key(part.key[1])
    return None


def _narrow_real(source: int, target: int) -> Operation:
    return lambda a: _rounded(a, target) if isinstance(a, float) else rt.real("float32", a)


_CONVERSIONS: dict[str, Callable[[int, int], Operation]] = {
    "trunc": _truncation,
    "sext": _sign_extension,
    "zext": _zero_extension,
    "sitofp": _real_of(unsigned=False),
    "uitofp": _real_of(unsigned=True),
    "fptosi": _integer_of,
    "fptoui": _integer_of,
    "fptrunc": _narrow_real,
    "fpext": lambda source, target: lambda a: a,
    "ptrtoint": lambda source, target: lambda a: a,
    "inttoptr": lambda source, target: lambda a: a,
}


def integer_bits_of_real(value: Any, bits: int) -> Any:
    if isinstance(value, float):
        return integer_of(value, bits // 8)
    return as_bits(value, bits // 8)


def real_of_integer_bits(value: Any, bits: int) -> Any:
    return of_bits(value, bits // 8)
