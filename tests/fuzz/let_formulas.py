"""Invented operators with lets on lets and with recurrences: their text, and data for their calls.

Shares no code with the compiler. What a formula means is the reference's to say.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from random import Random
from typing import Any

import numpy as np

EXTENTS = ("N", "K")
INDICES = ("i", "j", "k", "n")
FAR = (3, 100, 1 << 20, (1 << 31) - 1, (1 << 40) + 7)
INTEGERS = ("int8", "int16", "int32", "int64")
REALS = ("float32", "float64")


@dataclass(frozen=True, slots=True)
class Array:
    """What can be read at indices of these extents."""

    name: str
    extents: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Invented:
    """An operator `name` of X[N, K], B[N, K] and V[K], with the element types of these."""

    name: str
    text: str
    types: tuple[str, ...]
    empty: bool  # whether N and K may be 0


@dataclass(slots=True)
class Scope:
    """The indices at hand with their extents, and what can be read."""

    indices: list[tuple[str, str]]
    arrays: list[Array] = field(default_factory=list)

    def of(self, extent: str) -> list[str]:
        return [name for name, own in self.indices if own == extent]

    def free(self) -> list[str]:
        used = {name for name, _ in self.indices}
        return [name for name in INDICES if name not in used]


class Inventor:
    """Invents operators from a seed."""

    def __init__(self, seed: int) -> None:
        self.random = Random(seed)
        self.real = self.random.random() < 0.2
        self.empty = self.random.random() < 0.3
        self.arrays: list[Array] = []

    def operator(self, name: str) -> Invented:
        random = self.random
        types = tuple(random.choice(REALS if self.real else INTEGERS) for _ in range(3))
        empty = " or empty" if self.empty else ""
        shapes = (("N", "K"), ("N", "K"), ("K",))
        self.arrays = [Array(each, shape) for each, shape in zip("XBV", shapes, strict=True)]
        lines = [
            f"input {each.name} : {kind}[{', '.join(each.extents)}]{empty}"
            for each, kind in zip(self.arrays, types, strict=True)
        ]
        made = "float64" if self.real else random.choice(("int64", "int64", "int32"))
        lines += [f"output {each} : {made}[N, K]{empty}" for each in ("Y", "Z")]
        for at in range(random.randint(1, 4)):
            make = self.recurrence if random.random() < 0.4 else self.let
            lines.append(make(f"f{at}"))
        for each in ("Y", "Z"):
            i, j = random.sample(INDICES, 2)
            value = self.combined(Scope([(i, "N"), (j, "K")], self.arrays))
            lines.append(f"{each}[{i}, {j}] = {value}")
        body = "\n  ".join(lines)
        text = f'operator {name} {{\n  "Invented."\n  {body}\n}}\n'
        return Invented(name, text, types, self.empty)

    # -------------------------------------------------------- lets

    def let(self, name: str) -> str:
        extents = self.random.choice((("N", "K"), ("N",), ("K",), ("N", "N"), ("K", "N"), ()))
        scope = self.scope(extents)
        value = self.cut(self.anchored(scope, self.value(scope, 2)))
        return self.declared(name, scope, extents, value)

    def recurrence(self, name: str) -> str:
        """Elements that follow from others before them along one index."""
        random = self.random
        extents = random.choice((("N", "K"), ("K", "N"), ("N",), ("K",), ("N", "N")))
        scope = self.scope(extents)
        axis = random.randrange(len(extents))
        value = self.anchored(scope, self.value(scope, 1))
        for _ in range(random.choice((1, 1, 1, 2))):
            earlier = self.earlier(name, scope, axis)
            function = random.choice(("max", "min"))
            value = random.choice(
                (
                    f"{value} + {earlier}",
                    f"{earlier} - ({value})",
                    f"{function}({value}, {earlier})",
                )
            )
        if not self.real and random.random() < 0.5:
            most = random.choice(FAR)
            times = random.choice(("", "", "3 * ", "-"))
            value = f"clip({times}({value}), -{most}, {most})"
        return self.declared(name, scope, extents, value)

    def earlier(self, name: str, scope: Scope, axis: int) -> str:
        """An element of a recurrence less far along; behind its condition."""
        random = self.random
        step = random.choice((1, 1, 1, 2, 3))
        indices = [index for index, _ in scope.indices]
        along = indices[axis]
        if random.random() < 0.3:
            indices = [self.index(extent, scope) for _, extent in scope.indices]
        indices[axis] = f"{along} - {step}"
        read = f"{name}[{', '.join(indices)}]"
        test = f"{along} >= {step}" if step > 1 or random.random() < 0.5 else f"{along} > 0"
        start = self.leaf(Scope(scope.indices, self.arrays[:3]))
        if random.random() < 0.2:
            return f"({start} if {along} < {step} else {read})"
        return f"({read} if {test} else {start})"

    def scope(self, extents: Sequence[str]) -> Scope:
        names = self.random.sample(INDICES, len(extents))
        return Scope(list(zip(names, extents, strict=True)), list(self.arrays))

    def declared(self, name: str, scope: Scope, extents: tuple[str, ...], value: str) -> str:
        self.arrays.append(Array(name, extents))
        shown = ", ".join(index for index, _ in scope.indices)
        return f"let {name}{f'[{shown}]' if shown else ''} = {value}"

    def anchored(self, scope: Scope, value: str) -> str:
        """With an input that is read at each index, which says how far this runs."""
        for index, extent in scope.indices:
            read = f"V[{index}]" if extent == "K" else f"X[{index}, 0]"
            if extent == "N" and self.empty:
                read = f"sum[c < K](X[{index}, c])"
            value = f"{value} {self.random.choice('+-')} {read}"
        return value if scope.indices else f"sum[a < N, b < K]({value} + X[a, b])"

    def cut(self, value: str) -> str:
        if self.real or self.random.random() < 0.4:
            return value
        most = self.random.choice(FAR)
        form = self.random.choice(("clip({0}, -{1}, {1})", "({0}) mod {1}", "({0}) div {1}"))
        return form.format(value, most)

    # -------------------------------------------------------- values

    def combined(self, scope: Scope) -> str:
        """A value that reads what there is again and again."""
        index, extent = scope.free()[0], self.random.choice(EXTENTS)
        inner = Scope([*scope.indices, (index, extent)], scope.arrays)
        over = self.random.choice(("sum", "max", "min"))
        value = self.value(inner, 2)
        return f"{self.reduced(over, index, extent, value)} + {self.value(scope, 1)}"

    def reduced(self, over: str, index: str, extent: str, value: str) -> str:
        if over == "sum":
            return f"sum[{index} < {extent}]({value})"
        if self.empty:
            return f"(0 if {extent} == 0 else {over}[{index} < {extent}]({value}))".replace(
                "(0 if", "(0.0 if" if self.real else "(0 if"
            )
        return f"{over}[{index} < {extent}]({value})"

    def value(self, scope: Scope, depth: int) -> str:
        if depth == 0 or self.random.random() < 0.15:
            return self.leaf(scope)
        forms: tuple[Callable[[Scope, int], str], ...] = (
            self.sum_of_two,
            self.sum_of_two,
            self.chosen,
            self.chosen,
            self.reduction,
            self.extreme,
            self.product,
        )
        return self.random.choice(forms)(scope, depth - 1)

    def sum_of_two(self, scope: Scope, depth: int) -> str:
        sign = self.random.choice("+-")
        return f"({self.value(scope, depth)} {sign} {self.value(scope, depth)})"

    def product(self, scope: Scope, depth: int) -> str:
        return f"{self.leaf(scope)} * {self.leaf(scope)}"

    def extreme(self, scope: Scope, depth: int) -> str:
        function = self.random.choice(("max", "min"))
        return f"{function}({self.value(scope, depth)}, {self.value(scope, depth)})"

    def chosen(self, scope: Scope, depth: int) -> str:
        value, other = self.value(scope, depth), self.value(scope, depth)
        return f"({value} if {self.test(scope)} else {other})"

    def reduction(self, scope: Scope, depth: int) -> str:
        if not scope.free():
            return self.leaf(scope)
        index, extent = self.random.choice(scope.free()), self.random.choice(EXTENTS)
        inner = Scope([*scope.indices, (index, extent)], scope.arrays)
        value = self.value(inner, depth)
        if self.random.random() < 0.4:
            return self.reduced(self.random.choice(("max", "min")), index, extent, value)
        high, ends = extent, scope.of(extent)
        if ends and self.random.random() < 0.4:
            high = self.random.choice((f"{ends[0]} + 1", ends[0]))
        condition = f" if {self.test(inner)}" if self.random.random() < 0.3 else ""
        return f"sum[{index} < {high}{condition}]({value})"

    def test(self, scope: Scope) -> str:
        relation = self.random.choice(("<", "<=", ">", "==", "!="))
        if scope.indices and self.random.random() < 0.6:
            index, extent = self.random.choice(scope.indices)
            other = self.random.choice([*scope.of(extent), "1", "2", f"{extent} - 1"])
            return f"{index} {relation} {other}"
        return f"{self.leaf(scope)} {relation} {self.leaf(scope)}"

    def leaf(self, scope: Scope) -> str:
        random = self.random
        chance = random.random()
        if chance < 0.1:
            value = random.choice((0, 1, 2, 7, *(() if self.real else FAR)))
            return f"{value}.0" if self.real else str(value)
        if chance < 0.2 and scope.indices and not self.real:
            return random.choice(scope.indices)[0]
        there = [each for each in scope.arrays if all(map(scope.of, each.extents))]
        there = there if self.empty else scope.arrays
        if not there:
            return "1.5" if self.real else "1"
        each = random.choice([*there, *there[3:]])  # lets more often than inputs
        indices = [self.index(extent, scope) for extent in each.extents]
        return f"{each.name}[{', '.join(indices)}]" if indices else each.name

    def index(self, extent: str, scope: Scope) -> str:
        """A place inside; where there may be none, an index is at hand."""
        names = scope.of(extent)
        if not names:
            return self.random.choice(("0", f"{extent} - 1"))
        name, step = self.random.choice(names), self.random.choice((1, 2))
        if self.random.random() < 0.6:
            return name
        forms = (
            f"{extent} - 1 - {name}",
            f"max({name} - {step}, 0)",
            f"min({name} + {step}, {extent} - 1)",
            f"({name} + {step}) mod {extent}",
        )
        return self.random.choice(forms)


# ---------------------------------------------------------------- calls

LEAST = (((1, 1), (1, 7), (6, 1), (3, 4), (9, 13)), ((0, 3), (2, 0), (0, 0), (5, 6)))


def inputs(invented: Invented, draw: Random) -> list[tuple[np.ndarray[Any, Any], ...]]:
    """Data for calls of all kinds of sizes, small values and large ones."""
    sizes = LEAST[0] + (LEAST[1] if invented.empty else ())
    found = []
    for rows, columns in sizes:
        shapes = ((rows, columns), (rows, columns), (columns,))
        pairs = zip(shapes, invented.types, strict=True)
        found.append(tuple(data(draw, shape, kind) for shape, kind in pairs))
    return found


def data(draw: Random, shape: tuple[int, ...], kind: str) -> np.ndarray[Any, Any]:
    count = int(np.prod(shape))
    if kind in REALS:
        values: list[Any] = [
            draw.choice((draw.gauss(0, 3), draw.gauss(0, 1e6), -0.0, 1.0)) for _ in range(count)
        ]
        return np.array(values, kind).reshape(shape)
    bits = int(kind.removeprefix("int"))
    most = 1 << draw.choice([each for each in (3, 7, 15, 28, 31, 62) if each < bits])
    values = [draw.choice((draw.randint(-most, most - 1), most - 1, -most)) for _ in range(count)]
    return np.array(values, kind).reshape(shape)
