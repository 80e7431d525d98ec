"""The numbers that terms are for chosen inputs, and inputs for which two of them differ."""

from __future__ import annotations

import math
import struct
from collections.abc import Callable, Iterable, Mapping, Sequence
from random import Random
from typing import Any

from cvmgen import reals
from cvmgen.functions import ELEMENTARY, FUNCTIONS
from cvmgen.verification.values import real_terms as rt
from cvmgen.verification.values import terms as t
from cvmgen.verification.values.table import TABLE

TRIES, FEW_TRIES = 400, 40
MOST_EVALUATED = 100_000  # atoms, behind which there are few tries
UNSET = 0x55  # what stands for an element that is not written

Place = tuple[str, int]  # the name of an input, and where in it an element stands
Assignment = dict[Place, Any]


class OpenEquality(Exception):
    """Two terms whose equality is not known; the text is what is left of them in a case, which is
    what is `assumed`."""

    def __init__(self, text: str, assumed: Sequence[t.Condition] = ()) -> None:
        super().__init__(text)
        self.assumed = assumed


class CallTooLarge(OpenEquality):
    """It would take more than a call may."""


def same(one: Any, other: Any) -> bool:
    if isinstance(one, t.Term):
        return one.same(other)
    if isinstance(one, (rt.RealTerm, t.Condition)) or isinstance(
        other, (t.Term, rt.RealTerm, t.Condition)
    ):
        return one is other
    if isinstance(one, float) and isinstance(other, float):
        return rt.real_key(one) == rt.real_key(other)  # type: ignore[no-any-return]
    return bool(one == other)


class Evaluation:
    """The numbers that terms are for an assignment."""

    def __init__(self, assignment: Mapping[tuple[str, int], Any]) -> None:
        self.assignment = assignment
        self.atoms: dict[int, int] = {}
        self.reals: dict[int, float] = {}

    def value(self, value: Any) -> Any:
        match value:
            case t.Term():
                return sum(
                    factor * math.prod(self.atom(number) for number in monomial)
                    for monomial, factor in value.parts.items()
                )
            case t.Condition():
                return self.core(value.core) == value.holds
            case rt.RealTerm():
                if id(value) not in self.reals:
                    self.reals[id(value)] = self.real(value.key)
                return self.reals[id(value)]
            case ("real", digits, _):
                return math.nan if digits == "nan" else float.fromhex(digits)
            case frozenset():
                return self.value(t.of_key(value))
            case _:
                pass
        return value

    def atom(self, number: int) -> int:
        if number not in self.atoms:
            self.atoms[number] = self._atom(TABLE.atoms[number].key)
        return self.atoms[number]

    def _atom(self, key: tuple[Any, ...]) -> int:
        match key:
            case ("input", name, position):
                return int(self.assignment[name, position])
            case ("if", test, yes, no):
                return int(self.value(yes if self.value(test) else no))
            case ("max" | "min" as name, members):
                return int((max if name == "max" else min)(map(self.value, members)))
            case ("div", a, b):
                first, second = self.value(a), self.value(b)
                return int(first // second) if second else 0
            case ("tdiv", a, b):
                first, second = self.value(a), self.value(b)
                if second == 0:
                    return 0
                return int(abs(first) // abs(second) * (1 if (first < 0) == (second < 0) else -1))
            case ("entry", index, first, entries):
                at = self.value(index) - first
                return int(self.value(entries[at])) if 0 <= at < len(entries) else 0
            case ("and" | "or" | "xor" as name, a, b):
                return int(FUNCTIONS[f"bit{name}"].exact(self.value(a), self.value(b)))
            case ("isqrt", value):
                return math.isqrt(max(self.value(value), 0))
            case ("byte", at, _, value) if not isinstance(value, rt.RealTerm):
                byte = self.value(value) >> 8 * at & 255
                return int(byte - 256 if byte > 127 else byte)
            case ("bytes", parts):
                whole = bytes(self.value(part) & 255 for part in parts)
                return int.from_bytes(whole, "little", signed=True)
            case ("bits", form, value):
                return integer_of(self.value(value), form)
            case ("not written", *_):
                return UNSET
            case ("to int", value):
                return reals.to_int(self.value(value))
            case ("int", value):
                return reals.to_int(self.value(value))
            case _:
                pass
        raise OpenEquality(f"no number for {key[0]}")

    def core(self, core: tuple[Any, ...]) -> bool:
        match core:
            case ("ge", key, least):
                return bool(self.value(key) >= least)
            case ("eq", key, value):
                return bool(self.value(key) == value)
            case ("and", parts):
                return all(map(self.value, parts))
            case ("<", one, other):
                return bool(self.value(one) < self.value(other))
            case ("<=", one, other):
                return bool(self.value(one) <= self.value(other))
            case ("same", keys):
                values = [self.value(key) for key in keys]
                return bool(values[0] == values[-1])
            case ("nan", one):
                value = self.value(one)
                return bool(value != value)
            case ("below zero", one):
                return math.copysign(1.0, self.value(one)) < 0
            case _:
                pass
        raise OpenEquality(f"no truth for {core[0]}")

    def real(self, key: tuple[Any, ...]) -> float:
        name, *operands = key
        if name == "input":
            return float(self.assignment[operands[0], operands[1]])
        if name == "if":
            return float(self.value(operands[1] if self.value(operands[0]) else operands[2]))
        if name == "of":
            return float(self.value(operands[0]))
        if name == "entry":
            index, first, *entries = operands
            at = self.value(index) - first
            return float(self.value(entries[at])) if 0 <= at < len(entries) else 0.0
        if name == "of bits":
            return real_of(self.value(operands[1]), operands[0])
        if name in REALS:
            return float(REALS[name](*map(self.value, operands)))
        raise OpenEquality(f"no number for {name}")


# Real numbers of so many bytes; of two there are two forms, of which one has a name.
Form = int | str
BFLOAT16 = "bfloat16"
FORMS: dict[Form, str] = {2: "e", 4: "f", 8: "d"}


def form_of(dtype: str, size: int) -> Form:
    return BFLOAT16 if dtype == BFLOAT16 else size


def bytes_of(form: Form) -> int:
    return form if isinstance(form, int) else 2


def packed(value: float, form: Form) -> bytes:
    """A real number as bytes, of two rounded first."""
    if form == BFLOAT16:
        return struct.pack("<f", reals.to_bfloat16(value))[2:]
    return struct.pack(f"<{FORMS[form]}", reals.to_float16(value) if form == 2 else value)


def integer_of(value: float, form: Form) -> int:
    """The bits of a real number, as an integer."""
    return int.from_bytes(packed(value, form), "little", signed=True)


def real_of(value: int, form: Form) -> float:
    size = bytes_of(form)
    data = (value & ((1 << 8 * size) - 1)).to_bytes(size, "little")
    if form == BFLOAT16:
        return float(struct.unpack("<f", b"\0\0" + data)[0])
    return float(struct.unpack(f"<{FORMS[form]}", data)[0])


REALS: dict[str, Callable[..., float]] = {
    "+": lambda a, b: a + b,
    "-": lambda a, b: a - b,
    "*": lambda a, b: a * b,
    "over": reals.over,
    "neg": lambda a: -a,
    "abs": abs,
    "floor": reals.floor,
    "ceil": reals.ceil,
    "trunc": reals.trunc,
    "sqrt": reals.sqrt,
    "fma": reals.fma,
    **{name: FUNCTIONS[name].exact for name in (*ELEMENTARY, "round", "roundeven")},
    "pow": reals.power,
    "float16": reals.to_float16,
    "bfloat16": reals.to_bfloat16,
    "float32": reals.to_float32,
    "copysign": math.copysign,
}


def elements_of(values: Iterable[Any]) -> set[Place]:
    """The elements that terms speak of."""
    found: set[Place] = set()
    seen: set[int] = set()
    left = list(values)
    while left:
        value = left.pop()
        match value:
            case t.Term():
                numbers = {number for monomial in value.parts for number in monomial} - seen
                seen |= numbers
                for number in numbers:
                    key = TABLE.atoms[number].key
                    if key[0] == "input":
                        found.add(key[1:])
                    left.extend(key[1:])
            case t.Condition():
                left.extend(value.core[1:])
            case rt.RealTerm() if id(value) not in seen:
                seen.add(id(value))
                if value.key[0] == "input":
                    found.add(value.key[1:])
                left.extend(value.key[1:])
            case tuple():
                left.extend(value)
            case frozenset() if t.is_polynomial(value):
                left.append(t.of_key(value))
            case frozenset():
                left.extend(value)
            case _:
                pass
    return found


def witness(
    one: Any,
    other: Any,
    draw: Callable[[Place, Random], Any],
    assumed: Sequence[t.Condition],
    known: Assignment,
) -> Assignment | None:
    """Elements for which two terms differ, though what is assumed holds: those that are known, with
    others at random, and then all at random."""
    random = Random(1)
    about = sorted(elements_of([one, other, *assumed]))
    evaluated = 0
    for attempt in range(TRIES):
        if attempt >= FEW_TRIES and evaluated > MOST_EVALUATED:
            break
        assignment = {each: draw(each, random) for each in about}
        if attempt < TRIES // 4:
            assignment |= known
        evaluation = Evaluation(assignment)
        holds = all(map(evaluation.value, assumed))
        if holds and not same(evaluation.value(one), evaluation.value(other)):
            return assignment
        evaluated += len(evaluation.atoms) + len(evaluation.reals)
    return None
