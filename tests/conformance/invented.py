"""Invented formulas: expressions of every kind, for what no operator of today computes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from random import Random

NUMBERS = (0, 1, 2, 3, 7, 127, 128, 255, 65536, 2**31 - 1, 2**31)
DIVISORS = (1, 2, 3, 7, 64, 1000, -1, -2, -3, -64)
BOUNDS = (1, 7, 127, 2**15, 2**31 - 1)
EXPONENTS = (3, 20, 31)
RELATIONS = ("<", "<=", "==", "!=", ">", ">=")
KINDS = ("+", "-", "*", "div", "power", "call", "unary", "if", "over", "shift", "fold", "set")

Shape = tuple[int, ...]


@dataclass(frozen=True)
class Space:
    """What formulas are about: the tensors X, B and Y, and how an index reaches elements.

    `elements` and `numbers` are what an index gives; `ranges` are what a fold may run over, for
    a new name and the index around it, with the index that this binds.
    """

    shapes: tuple[str, str]
    index: str
    elements: tuple[str, str]
    numbers: Callable[[str], tuple[str, ...]]
    ranges: Callable[[str, str], tuple[tuple[str, str], ...]]
    drawn: Callable[[Random], tuple[Shape, Shape]]

    def operator(self, name: str, body: str) -> str:
        """The spec of an operator with that right side."""
        return f"""
        operator {name} {{
          "Invented."
          input  X : cvm[{self.shapes[0]}]
          input  B : cvm[{self.shapes[1]}]
          attr   a = 1 in [-5, 6)
          attr   k = 0
          output Y : cvm[{self.shapes[0]}] precision 32
          Y[{self.index}] = {body}
        }}
        """

    def element(self, tensor: int, index: str) -> str:
        """X or B there; B of a matrix has its columns alone."""
        return self.elements[tensor].format(index, last=index.rsplit(", ", 1)[-1])


def drawn_vector(random: Random) -> tuple[Shape, Shape]:
    shape = (random.choice((1, 1, 2, 3, 5, 9)),)
    return shape, shape


def drawn_matrix(random: Random) -> tuple[Shape, Shape]:
    rows, columns = random.choice((1, 2, 4)), random.choice((1, 3, 5))
    return (rows, columns), (columns,)


def drawn_box(random: Random) -> tuple[Shape, Shape]:
    shape = tuple(random.choice((1, 2, 3)) for _ in range(random.choice((1, 2, 3))))
    return shape, shape


VECTOR = Space(
    ("N", "N"),
    "i",
    ("X[{}]", "B[{}]"),
    lambda index: (index, "N"),
    lambda own, index: ((f"{own} < N", own), (f"{own} < {index} + 1", own)),
    drawn_vector,
)
MATRIX = Space(
    ("N, M", "M"),
    "i, l",
    ("X[{}]", "B[{last}]"),
    lambda index: (*index.split(", "), "N", "M"),
    lambda own, index: (
        (f"{own} < N, c{own} < M", f"{own}, c{own}"),
        (f"{own} < M", f"{index.split(', ')[0]}, {own}"),
        (f"{own} < N", f"{own}, {index.split(', ')[1]}"),
    ),
    drawn_matrix,
)
BOX = Space(
    ("n...", "n..."),
    "d...",
    ("X[{}]", "B[{}]"),
    lambda index: (f"{index[:-3]}[0]", f"{index[:-3]}[len(n) - 1]", "n[0]", "size(n)"),
    lambda own, index: ((f"{own}... < n...", f"{own}..."),),
    drawn_box,
)
SPACES = (VECTOR, MATRIX, BOX)


@dataclass
class Inventor:
    """Draws right sides. Products are short: a machine integer has to hold each value."""

    random: Random
    space: Space = VECTOR
    used: int = 0
    defined: tuple[str, ...] = ()  # what a `where` gives a name

    def body(self) -> str:
        """A right side; every third has a `where` with a value and one with a parameter."""
        index, depth = self.space.index, self.random.choice((2, 3, 4))
        if self.random.random() < 0.66:
            return self.value(depth, index, nested=False)
        own = self.value(2, index, nested=True)
        inner = f"({self.value(1, index, nested=True)} - x) div {self.random.choice(DIVISORS)}"
        self.defined = ("w", "h({})")
        body = self.value(depth, index, nested=False)
        # One that nothing uses is refused.
        used = f"({body} + w) - h(3)"
        self.defined = ()
        return f"{used} where w = {own}, h(x) = {inner}"

    def value(self, depth: int, index: str, nested: bool) -> str:
        """An integer expression that may use `index`; inside a reduction there is no other one."""
        if depth == 0 or self.random.random() < 0.12:
            return self.leaf(index)

        def part() -> str:
            return self.value(depth - 1, index, nested)

        pick = self.random.choice
        kind = pick(KINDS)
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
                divisor = f"(abs({part()}) + 1)"
                return f"({part()} {pick(('div', 'mod', 'tdiv'))} {pick(('', '-'))}{divisor})"
            case "shift":
                return f"({part()} div 2^clip({part()}, 0, {pick(EXPONENTS)}))"
            case "set" if not nested:
                return self.collection(index)
            case _:
                return f"floor(log2(abs({part()}) + 1))" if nested else self.fold(depth, index)

    def leaf(self, index: str) -> str:
        x, b = (self.space.element(tensor, index) for tensor in range(2))
        names = [x] * 4 + [b] * 3 + [each.format(x) for each in self.defined]
        number = str(self.random.choice(NUMBERS))
        return self.random.choice([*names, *self.space.numbers(index), "a", "k", number])

    def condition(self, depth: int, index: str) -> str:
        depth = max(depth, 0)
        left, right = (self.value(depth, index, nested=True) for _ in range(2))
        compared = f"{left} {self.random.choice(RELATIONS)} {right}"
        way = self.random.random()
        if depth > 0 and way < 0.3:
            word = self.random.choice(("and", "or"))
            return f"({compared} {word} {self.condition(depth - 1, index)})"
        if depth > 0 and way < 0.4:
            first, second = (self.condition(depth - 1, index) for _ in range(2))
            return f"({first} if {compared} else {second})"
        return f"(not {compared})" if way < 0.5 else compared

    def new(self, index: str) -> tuple[str, str]:
        """A range for a fold, and the index that it binds."""
        self.used += 1
        return self.random.choice(self.space.ranges(f"j{self.used}", index))

    def fold(self, depth: int, index: str) -> str:
        """A reduction over all elements, or over those up to this one."""
        over, own = self.new(index)
        kind = self.random.choice(("sum", "sum", "max", "min", "count", "prod", "any"))
        if kind in ("count", "any"):
            holds = f"{kind}[{over}]({self.condition(1, own)})"
            return holds if kind == "count" else f"(1 if {holds} else 0)"
        if kind == "prod":
            at = f"t{self.used}"
            return f"prod[{at} < 3](clip({self.value(1, index, nested=True)} + {at}, -99, 99))"
        few = kind == "sum" and self.random.random() < 0.4
        filtered = f" if {self.condition(1, own)}" if few else ""
        inner = self.value(depth - 1, self.random.choice((own, own, index)), nested=True)
        return f"{kind}[{over}{filtered}]({inner})"

    def collection(self, index: str) -> str:
        """A set or a list that is made in the kernel: of few entries, whatever the data."""
        over, own = self.new(index)
        modulus = self.random.choice((2, 5, -3, 13))
        few = f"{{{self.value(1, own, nested=True)} mod {modulus} for {over}}}"
        at = f"t{self.used}"
        some = f"({self.value(1, index, nested=True)} + {at} for {at} < 4)"
        pair = f"({self.leaf(index)}, {self.leaf(index)})"
        item = f"s{self.used}"
        made = self.random.choice((few, few, some, pair, f"{few} + {{{at} for {at} < 3}} - {few}"))
        kind = self.random.choice(("sum", "in", "count"))
        if kind == "in":
            return f"(1 if {self.leaf(index)} in {made} else 0)"
        if kind == "count" and made.startswith("{"):
            return f"count({made})"
        return f"sum[{item} in {made}](clip({item}, -1000, 1000))"
