"""Invented formulas over elements of all types: integers, real numbers and conditions together."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from random import Random
from typing import Any

from cvmgen.functions import ELEMENTARY, ROUNDINGS
from tests.conformance.calls import Call
from tests.conformance.typed_calls import INTEGERS, REALS, elements

INT, REAL, BOOL = "int", "real", "bool"
TYPES = {INT: INTEGERS, REAL: REALS, BOOL: ("bool",)}
NUMBERS = (0, 1, 2, 3, 7, 127, 128, 255, 2**31 - 1, 2**31, 2**62)
DIVISORS = (1, 2, 3, 7, 64, 1000, -1, -2, -3, -64)
REAL_NUMBERS = ("0.0", "0.5", "1.0", "3.0", "0.1", "1000000.5", "16777217.0", "inf", "nan")
RELATIONS = ("<", "<=", "==", "!=", ">", ">=")
# Tensors that a formula may read, by the kind of their elements.
TENSORS = {INT: ("X", "W"), REAL: ("F", "G"), BOOL: ("C",)}


@dataclass(frozen=True)
class Shape:
    """What all tensors are: their slots, the index of an element, ranges, integers at hand."""

    slots: str
    index: str
    numbers: tuple[str, ...]
    ranges: tuple[tuple[str, str], ...]  # with {j} for the new index, {i} for the one around
    drawn: tuple[tuple[int, ...], ...]


VECTOR = Shape(
    "N",
    "i",
    ("{i}", "N"),
    (("{j} < N", "{j}"), ("{j} < {i} + 1", "{j}")),
    ((1,), (2,), (3,), (5,), (9,)),
)
BOX = Shape(
    "n...",
    "d...",
    ("n[0]", "size(n)"),
    (("{j}... < n...", "{j}..."),),
    ((1,), (3,), (2, 3), (3, 1), (2, 2, 2)),
)
SHAPES = (VECTOR, BOX)


@dataclass
class TypedInventor:
    """Draws operators; `types` are those that each tensor has had, for the calls."""

    random: Random
    shape: Shape = VECTOR
    used: int = 0
    types: dict[str, dict[str, Any]] = field(default_factory=dict)

    def operator(self, name: str) -> str:
        """The spec of an operator, for one choice of types or for several."""
        pick = self.random.choice
        kind = pick((INT, INT, REAL, REAL, BOOL))
        body = self.value(kind, pick((2, 3, 4)), self.shape.index)
        result = pick(TYPES[kind])
        if kind == INT and self.random.random() < 0.6:
            body = f"cut({body}, least({result}), greatest({result}))"
        read = [each for kind in TENSORS for each in TENSORS[kind] if f"{each}[" in body]
        if not read:
            read = [TENSORS[kind][0]]
            element = f"{read[0]}[{self.shape.index}]"
            body = f"({element} if {element} == {element} else {body})"
        lines, choices = [], {}
        for tensor in read:
            own = next(kind for kind, tensors in TENSORS.items() if tensor in tensors)
            choices[tensor] = self.random.sample(TYPES[own], pick((1, min(2, len(TYPES[own])))))
            known = choices[tensor][0]
            if len(choices[tensor]) > 1:
                known = f"T{tensor}"
                lines.append(f"type {known} in {', '.join(choices[tensor])}")
            lines.append(f"input {tensor} : {known}[{self.shape.slots}]")
        # Types stand before what they are of.
        lines.sort(key=lambda line: not line.startswith("type"))
        self.types[name] = choices
        text = "\n".join(lines)
        return f"""
        operator {name} {{
          "Invented."
          {text}
          attr   a = 1 in [-5, 6)
          output Y : {result}[{self.shape.slots}]
          Y[{self.shape.index}] = {body}
        }}
        """

    # -------------------------------------------------------- values

    def value(self, kind: str, depth: int, index: str) -> str:
        """An expression of a kind that may use `index`."""
        if depth <= 0 or self.random.random() < 0.12:
            return self.leaf(kind, index)
        make = {INT: self.integer, REAL: self.real, BOOL: self.condition}[kind]
        return make(depth - 1, index)

    def leaf(self, kind: str, index: str) -> str:
        pick = self.random.choice
        element = f"{pick(TENSORS[kind])}[{index}]"
        if self.random.random() < 0.6:
            return element
        match kind:
            case "int":
                number = pick(self.shape.numbers).format(i=index)
                return pick((number, str(pick(NUMBERS)), "a"))
            case "real":
                return pick((pick(REAL_NUMBERS), "real(a)"))
            case _:
                return pick(("true", "false", "a > 0"))

    def integer(self, depth: int, index: str) -> str:
        pick = self.random.choice

        def part() -> str:
            return self.value(INT, depth, index)

        way = pick(("+", "-", "*", "div", "over", "call", "unary", "if", "fold", "int", "bool"))
        match way:
            case "+" | "-":
                return f"({part()} {way} {part()})"
            case "*":
                return f"({self.leaf(INT, index)} * {self.value(INT, 0, index)})"
            case "div":
                return f"({part()} {pick(('div', 'mod', 'tdiv'))} {pick(DIVISORS)})"
            case "over":
                divisor = f"(abs({part()}) + 1)"
                return f"({part()} {pick(('div', 'mod', 'tdiv'))} {pick(('', '-'))}{divisor})"
            case "call":
                return f"{pick(('min', 'max', 'bitand', 'bitor', 'bitxor'))}({part()}, {part()})"
            case "unary":
                makes = ("(-{})", "abs({})", "cut({}, -127, 200)", "bitnot({})", "isqrt(abs({}))")
                return pick(makes).format(part())
            case "if":
                return self.choice(INT, depth, index)
            case "int":
                return f"int({self.value(REAL, depth, index)})"
            case "bool":
                return f"int({self.value(BOOL, depth, index)})"
            case _:
                return self.fold(INT, depth, index, ("sum", "sum", "max", "min", "count"))

    def real(self, depth: int, index: str) -> str:
        pick = self.random.choice

        def part() -> str:
            return self.value(REAL, depth, index)

        way = pick(("+", "-", "*", "over", "^", "call", "unary", "if", "fold", "real", "bool"))
        match way:
            case "+" | "-" | "*" | "over":
                return f"({part()} {way} {pick((part(), part(), part(), '2'))})"
            case "^":
                exponent = pick(("2", "3", "0.5", "(-1.0)", self.leaf(REAL, index)))
                return f"({pick((part(), '2.0'))} ^ {exponent})" if depth else part()
            case "call":
                return f"{pick(('min', 'max'))}({part()}, {part()})"
            case "unary":
                name = pick(("-", "abs", "sqrt", "float32", *ROUNDINGS, *ELEMENTARY))
                return f"{name}({part()})" if name != "-" else f"(-{part()})"
            case "if":
                return self.choice(REAL, depth, index)
            case "real":
                return f"real({self.value(INT, depth, index)})"
            case "bool":
                return f"real({self.value(BOOL, depth, index)})"
            case _:
                return self.fold(REAL, depth, index, ("sum", "sum", "max", "min", "prod"))

    def condition(self, depth: int, index: str) -> str:
        pick = self.random.choice
        way = pick(("compare", "compare", "compare", "logic", "not", "isnan", "if", "fold"))
        match way:
            case "compare":
                kind = pick((INT, REAL))
                left, right = (self.value(kind, depth, index) for _ in range(2))
                return f"({left} {pick(RELATIONS)} {right})"
            case "logic":
                left, right = (self.value(BOOL, depth, index) for _ in range(2))
                return f"({left} {pick(('and', 'or'))} {right})"
            case "not":
                return f"(not {self.value(BOOL, depth, index)})"
            case "isnan":
                return f"isnan({self.value(REAL, depth, index)})"
            case "if":
                return self.choice(BOOL, depth, index)
            case _:
                return self.fold(BOOL, depth, index, ("any", "all"))

    def choice(self, kind: str, depth: int, index: str) -> str:
        then, otherwise = (self.value(kind, depth, index) for _ in range(2))
        return f"({then} if {self.value(BOOL, depth, index)} else {otherwise})"

    def fold(self, kind: str, depth: int, index: str, functions: Sequence[str]) -> str:
        """A reduction over all elements, or over those up to this one."""
        self.used += 1
        over, own = self.random.choice(self.shape.ranges)
        names = {"i": index, "j": f"j{self.used}"}
        over, own = over.format(**names), own.format(**names)
        function = self.random.choice(functions)
        if function == "count":
            return f"count[{over}]({self.value(BOOL, depth, own)})"
        filtered = ""
        if function in ("sum", "any", "all") and self.random.random() < 0.3:
            filtered = f" if {self.value(BOOL, 1, own)}"
        inner = self.value(kind, depth, self.random.choice((own, own, index)))
        return f"{function}[{over}{filtered}]({inner})"

    # -------------------------------------------------------- calls

    def call(self, name: str, inputs: Sequence[str], random: Random) -> Call:
        extents = random.choice(self.shape.drawn)
        types = self.types[name.partition(".")[2]]
        operands = tuple(elements(random, extents, random.choice(types[each])) for each in inputs)
        return Call(name, operands, {"a": random.randint(-5, 5)})
