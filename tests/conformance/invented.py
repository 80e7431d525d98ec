"""Invented formulas: expressions of every kind, for what no operator of today computes."""

from __future__ import annotations

from dataclasses import dataclass
from random import Random

NUMBERS = (0, 1, 2, 3, 7, 127, 128, 255, 65536, 2**31 - 1, 2**31)
DIVISORS = (1, 2, 3, 7, 64, 1000)
BOUNDS = (1, 7, 127, 2**15, 2**31 - 1)
EXPONENTS = (3, 20, 31)
RELATIONS = ("<", "<=", "==", "!=", ">", ">=")


def operator(name: str, body: str) -> str:
    """The spec of an operator with that right side."""
    return f"""
    operator {name} {{
      "Invented."
      input  X : cvm[N]
      input  B : cvm[N]
      attr   a = 1 in [-5, 6)
      attr   k = 0
      output Y : cvm[N] precision 32
      Y[i] = {body}
    }}
    """


@dataclass
class Inventor:
    """Draws right sides. Products are short: a machine integer has to hold each value."""

    random: Random
    used: int = 0

    def body(self) -> str:
        return self.value(self.random.choice((2, 3, 4)), "i", nested=False)

    def value(self, depth: int, index: str, nested: bool) -> str:
        """An integer expression that may use `index`; inside a reduction there is no other one."""
        if depth == 0 or self.random.random() < 0.12:
            return self.leaf(index)

        def part() -> str:
            return self.value(depth - 1, index, nested)

        pick = self.random.choice
        kind = pick(("+", "-", "*", "div", "power", "call", "unary", "if", "over", "shift", "fold"))
        match kind:
            case "+" | "-":
                return f"({part()} {kind} {part()})"
            case "*":
                other = self.value(0 if nested else 1, index, nested)
                return f"({self.leaf(index)} * {other})"
            case "div":
                return f"({part()} {pick(('div', 'mod', 'tdiv'))} {pick(DIVISORS)})"
            case "power":
                return f"2^clip({part()}, 0, {pick(EXPONENTS)})"
            case "call":
                return f"{pick(('min', 'max'))}({part()}, {part()})"
            case "unary":
                bound = pick(BOUNDS)
                return pick(
                    (f"(-{part()})", f"abs({part()})", f"clip({part()}, -{bound}, {bound})")
                )
            case "if":
                return f"({part()} if {self.condition(depth - 1, index)} else {part()})"
            case "over":
                return f"({part()} tdiv -{pick(DIVISORS)})"
            case "shift":
                return f"({part()} div 2^clip({part()}, 0, {pick(EXPONENTS)}))"
            case _:
                return f"floor(log2(abs({part()}) + 1))" if nested else self.fold(depth, index)

    def leaf(self, index: str) -> str:
        names = [f"X[{index}]"] * 4 + [f"B[{index}]"] * 3
        return self.random.choice([*names, index, "N", "a", "k", str(self.random.choice(NUMBERS))])

    def condition(self, depth: int, index: str) -> str:
        depth = max(depth, 0)
        left, right = (self.value(depth, index, nested=True) for _ in range(2))
        compared = f"{left} {self.random.choice(RELATIONS)} {right}"
        way = self.random.random()
        if depth > 0 and way < 0.3:
            word = self.random.choice(("and", "or"))
            return f"({compared} {word} {self.condition(depth - 1, index)})"
        return f"(not {compared})" if way < 0.45 else compared

    def fold(self, depth: int, index: str) -> str:
        """A reduction over all elements, or over those up to this one."""
        self.used += 1
        own = f"j{self.used}"
        bound = self.random.choice(("N", f"{index} + 1"))
        kind = self.random.choice(("sum", "sum", "max", "min", "count", "prod", "any"))
        if kind in ("count", "any"):
            holds = f"{kind}[{own} < {bound}]({self.condition(1, own)})"
            return holds if kind == "count" else f"(1 if {holds} else 0)"
        if kind == "prod":
            return f"prod[{own} < 3](clip({self.value(1, index, nested=True)} + {own}, -99, 99))"
        few = kind == "sum" and self.random.random() < 0.4
        filtered = f" if {self.condition(1, own)}" if few else ""
        inner = self.value(depth - 1, self.random.choice((own, own, index)), nested=True)
        return f"{kind}[{own} < {bound}{filtered}]({inner})"
