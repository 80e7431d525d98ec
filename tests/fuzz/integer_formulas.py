"""Invented formulas, each in two languages: that of specs, and Python that evaluates it exactly.

Shares no code with the compiler. A formula may have no value for some inputs, as one that divides
by an element; its Python raises `NoValue` there.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import reduce
from typing import Any

MOST_BITS = 300  # of a value: beyond it nothing is looked at


class NoValue(ArithmeticError):
    """The formula has no value here."""


# ---------------------------------------------------------------- the meaning of what is invented


def small(value: int) -> int:
    if value.bit_length() > MOST_BITS:
        raise NoValue
    return value


def divided(left: int, right: int) -> int:
    if right == 0:
        raise NoValue
    return left // right


def cut(left: int, right: int) -> int:
    """Divided, rounded toward zero."""
    found = divided(abs(left), abs(right))
    return found if (left < 0) == (right < 0) else -found


def remainder(left: int, right: int) -> int:
    return left - right * divided(left, right)


def raised(base: int, exponent: int) -> int:
    if exponent < 0 or (abs(base) > 1 and exponent > MOST_BITS):
        raise NoValue
    return small(int(base**exponent))


def floor_log(value: int) -> int:
    if value < 1:
        raise NoValue
    return value.bit_length() - 1


def ceil_log(value: int) -> int:
    return 0 if value == 1 else floor_log(value - 1) + 1


def root(value: int) -> int:
    """The square root rounded down, by halves."""
    if value < 0:
        raise NoValue
    low, high = 0, value + 1
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if middle * middle <= value else (low, middle)
    return low


def rounded_up(left: int, right: int) -> int:
    return -divided(-left, right)


def element(values: Sequence[int], at: int) -> int:
    if not 0 <= at < len(values):
        raise NoValue
    return values[at]


def greatest(values: Sequence[int]) -> int:
    if not values:
        raise NoValue
    return max(values)


def least(values: Sequence[int]) -> int:
    return -greatest([-value for value in values])


def product(values: Sequence[int]) -> int:
    return reduce(lambda one, other: small(one * other), values, 1)


def position(index: Sequence[int], extents: Sequence[int]) -> int:
    return reduce(lambda at, each: at * each[1] + each[0], zip(index, extents, strict=True), 0)


MEANING: Mapping[str, Callable[..., Any]] = {
    each.__name__: each
    for each in (
        divided, cut, remainder, raised, floor_log, ceil_log, rounded_up, root,
        element, greatest, least, product, position, small,
    )
}  # fmt: skip


# ---------------------------------------------------------------- formulas


@dataclass(frozen=True, slots=True)
class Both:
    """A piece of a formula: as a spec has it, and as Python."""

    spec: str
    python: str


@dataclass(slots=True)
class Scope:
    """What a piece can speak of. `seen` are pieces around it, to be met again."""

    indices: list[Both]
    elements: bool = True
    lets: list[str] = field(default_factory=list)
    macros: list[tuple[str, int]] = field(default_factory=list)
    locals: list[Both] = field(default_factory=list)
    seen: list[Both] = field(default_factory=list)

    def inner(self, index: Both) -> Scope:
        return Scope(
            [*self.indices, index], self.elements, self.lets, self.macros, self.locals, self.seen[:]
        )


@dataclass(frozen=True, slots=True)
class Invented:
    """An operator of an input X[N] and attributes a and b, with outputs Y0, Y1 and so on.

    `values` are those of each output at i, as functions of N, a, b and the elements of X.
    """

    spec: str
    values: Callable[..., Sequence[Callable[[int], int]]]


class Inventor:
    """Invents pieces from a seed; if `short`, no range is as long as an element says."""

    def __init__(self, seed: int, *, short: bool = False) -> None:
        self.random = random.Random(seed)
        self.short = short
        self.bound = 0

    def operator(self, name: str, outputs: int) -> Invented:
        macros: list[tuple[str, int]] = []
        lines, python = [], []
        for at in range(self.random.choice((0, 0, 1, 2))):
            # Names that stand for other things in other definitions, too.
            parameters = self.random.choice((["x"], ["x", "y"], ["y"], ["i"]))
            scope = Scope([Both(each, each) for each in parameters], elements=False, macros=macros)
            body = self.number(scope, 3)
            own = f"{name}_g{at}"
            lines.append(f"def {own}({', '.join(parameters)}) = {body.spec}")
            python.append(f"{own} = lambda {', '.join(parameters)}: {body.python}")
            macros = [*macros, (own, len(parameters))]
        lines += [f"operator {name} {{", '  "Invented."', "  input  X : cvm[N]"]
        lines += ["  attr   a in [-3, 4)", "  attr   b in [0, 3)"]
        lets: list[str] = []
        for at in range(self.random.choice((0, 0, 0, 1, 2))):
            index = self.random.choice("ij")
            own = self.random.choice(("T", "U")) if not at else f"{lets[0]}2"
            body = self.number(Scope([Both(index, index)], lets=lets, macros=macros), 2)
            read = f"{body.spec} + 0*X[{index}]"
            lines.append(f"  let    {own}[{index}] = {read}")
            python.append(f"{own} = lambda {index}: {body.python} + 0*element(X, {index})")
            lets = [*lets, own]
        for at in range(outputs):
            scope = Scope([Both("i", "i")], lets=lets, macros=macros)
            lines.append(f"  output Y{at} : cvm[N]")
            lines.append(f"  Y{at}[i] = {self.value(scope, at, python)}")
        each = ", ".join(f"y{at}" for at in range(outputs))
        body_lines = [f"    {line}" for line in (*python, f"return [{each}]")]
        space: dict[str, Any] = dict(MEANING)
        exec("\n".join(["def values(N, a, b, X):", *body_lines]), space)  # our own text
        return Invented("\n".join([*lines, "}"]) + "\n", space["values"])

    def value(self, scope: Scope, at: int, python: list[str]) -> str:
        """The right side of an equation; its Python becomes the function y0, y1 and so on."""
        tail = ""
        if self.random.random() < 0.2:
            body = self.number(Scope([Both("i", "i")], lets=scope.lets, macros=scope.macros), 2)
            tail = f"  where v = {body.spec}"
            python.append(f"v{at} = lambda i: {body.python}")
            scope.locals.append(Both("v", f"v{at}(i)"))
        value = self.number(scope, self.random.choice((2, 2, 3, 3, 4)))
        if tail:  # what nothing speaks of is refused
            value = Both(f"{value.spec} + 0*v", f"({value.python}) + 0*v{at}(i)")
        python.append(f"y{at} = lambda i: {value.python}")
        return value.spec + tail

    # -------------------------------------------------------- numbers

    def number(self, scope: Scope, depth: int) -> Both:
        found = self.fresh_number(scope, depth)
        scope.seen.append(found)
        return found

    def fresh_number(self, scope: Scope, depth: int) -> Both:
        if scope.seen and self.random.random() < 0.2:
            return self.random.choice(scope.seen)
        if depth <= 0 or self.random.random() < 0.08:
            return self.leaf(scope)
        makers = (
            self.arithmetic, self.arithmetic, self.arithmetic, self.arithmetic, self.divided,
            self.power, self.function, self.function, self.choice, self.choice, self.choice,
            self.reduction, self.reduction, self.applied, self.element, self.truth, self.position,
        )  # fmt: skip
        return self.random.choice(makers)(scope, depth - 1)

    def leaf(self, scope: Scope) -> Both:
        kind = self.random.random()
        if scope.elements and kind < 0.45:
            return self.element(scope, 0)
        if scope.locals and kind < 0.55:
            return self.random.choice(scope.locals)
        if kind < 0.75:
            return self.random.choice(scope.indices)
        if scope.elements and kind < 0.85:
            name = self.random.choice("aabN")
            return Both(name, name)
        value = self.random.choice((-9, -4, -3, -2, -1, 0, 1, 1, 2, 2, 3, 4, 5, 7, 16, 225))
        return Both(str(value) if value >= 0 else f"(0 - {-value})", f"({value})")

    def element(self, scope: Scope, depth: int) -> Both:
        if not scope.elements:
            return self.random.choice(scope.indices)
        at = self.random.choice(scope.indices)
        if depth > 0 and self.random.random() < 0.4:
            at = self.number(scope, depth - 1)
        plain = at.spec == "i"
        spec = at.spec if plain else f"({at.spec}) mod N"
        python = at.python if plain else f"remainder({at.python}, N)"
        if scope.lets and self.random.random() < 0.35:
            name = self.random.choice(scope.lets)
            return Both(f"{name}[{spec}]", f"{name}({python})")
        return Both(f"X[{spec}]", f"element(X, {python})")

    def arithmetic(self, scope: Scope, depth: int) -> Both:
        left, right = self.number(scope, depth), self.number(scope, depth)
        sign = self.random.choice("+-*")
        return Both(f"({left.spec} {sign} {right.spec})", f"({left.python} {sign} {right.python})")

    def divided(self, scope: Scope, depth: int) -> Both:
        left, right = self.number(scope, depth), self.number(scope, depth)
        word, meaning = self.random.choice(
            (("div", "divided"), ("tdiv", "cut"), ("mod", "remainder"))
        )
        return Both(
            f"({left.spec} {word} {right.spec})", f"{meaning}({left.python}, {right.python})"
        )

    def power(self, scope: Scope, depth: int) -> Both:
        base, exponent = self.number(scope, depth), self.number(scope, depth)
        if self.random.random() < 0.6:
            least = self.random.choice((0, 1, 2, 3))
            exponent = Both(str(least), str(least))
        elif self.random.random() < 0.7:
            exponent = Both(
                f"max(0, min({exponent.spec}, 4))", f"max(0, min({exponent.python}, 4))"
            )
        return Both(
            f"(({base.spec})^({exponent.spec}))", f"raised({base.python}, {exponent.python})"
        )

    def function(self, scope: Scope, depth: int) -> Both:
        one, two = self.number(scope, depth), self.number(scope, depth)
        match self.random.choice(
            ("abs", "max", "min", "clip", "ceildiv", "bits", "root", "log", "log")
        ):
            case "abs":
                return Both(f"abs({one.spec})", f"abs({one.python})")
            case "max" | "min" as name:
                return Both(
                    f"{name}({one.spec}, {two.spec})", f"{name}({one.python}, {two.python})"
                )
            case "clip":
                end = self.number(scope, 0)
                return Both(
                    f"max({one.spec}, min({two.spec}, {end.spec}))",
                    f"max({one.python}, min({two.python}, {end.python}))",
                )
            case "bits":
                name, sign = self.random.choice((("and", "&"), ("or", "|"), ("xor", "^")))
                return Both(
                    f"bit{name}({one.spec}, bitnot({two.spec}))",
                    f"(({one.python}) {sign} ~({two.python}))",
                )
            case "root":
                return Both(f"isqrt(abs({one.spec}))", f"root(abs({one.python}))")
            case "ceildiv":
                return Both(
                    f"ceildiv({one.spec}, {two.spec})", f"rounded_up({one.python}, {two.python})"
                )
            case _:
                name = self.random.choice(("floor", "ceil"))
                if self.random.random() < 0.7:
                    one = Both(f"abs({one.spec}) + 1", f"abs({one.python}) + 1")
                return Both(f"{name}(log2({one.spec}))", f"{name}_log({one.python})")

    def choice(self, scope: Scope, depth: int) -> Both:
        test = self.test(scope, depth)
        then, otherwise = self.number(scope, depth), self.number(scope, depth)
        return Both(
            f"({then.spec} if {test.spec} else {otherwise.spec})",
            f"({then.python} if {test.python} else {otherwise.python})",
        )

    def truth(self, scope: Scope, depth: int) -> Both:
        test = self.test(scope, depth)
        return Both(f"int({test.spec})", f"int({test.python})")

    def reduction(self, scope: Scope, depth: int) -> Both:
        self.bound += 1
        index = Both(f"k{self.bound}", f"k{self.bound}")
        low = Both("0", "0")
        if self.random.random() < 0.3:
            low = self.small_number(scope)
        high = self.small_number(scope)
        inner = scope.inner(index)
        inner.seen.clear()
        body = self.number(inner, depth)
        spec = f"{low.spec} <= {index.spec} < {high.spec}"
        python = f"for {index.python} in range({low.python}, {high.python})"
        if self.random.random() < 0.3:
            test = self.test(inner, depth - 1)
            spec, python = f"{spec} if {test.spec}", f"{python} if {test.python}"
        name = self.random.choice(("sum", "sum", "max", "min", "prod", "count"))
        if name == "count":
            test = self.test(inner, depth)
            return Both(f"count[{spec}]({test.spec})", f"sum([int({test.python}) {python}])")
        meaning = {"sum": "sum", "max": "greatest", "min": "least", "prod": "product"}[name]
        return Both(f"{name}[{spec}]({body.spec})", f"{meaning}([{body.python} {python}])")

    def small_number(self, scope: Scope) -> Both:
        """The end of a range."""
        choices = [Both(each, each) for each in "231"]
        if not scope.elements:
            return self.random.choice(choices)
        choices += [Both(each, each) for each in ("a", "b", "N", "N - 2")]
        if not self.short:
            choices += [self.random.choice(scope.indices), self.element(scope, 0)]
        if self.short or self.random.random() < 0.7:
            return self.random.choice(choices)
        return self.arithmetic(Scope([self.random.choice(choices)]), 0)

    def applied(self, scope: Scope, depth: int) -> Both:
        if not scope.macros:
            return self.arithmetic(scope, depth)
        name, count = self.random.choice(scope.macros)
        given = [self.number(scope, depth) for _ in range(count)]
        return Both(
            f"{name}({', '.join(each.spec for each in given)})",
            f"{name}({', '.join(each.python for each in given)})",
        )

    def position(self, scope: Scope, depth: int) -> Both:
        entries = [self.number(scope, depth - 1) for _ in range(2)]
        sides = [self.random.choice(("1", "2", "3")) for _ in range(2)]
        return Both(
            f"flatten_index(({', '.join(e.spec for e in entries)}), ({', '.join(sides)}))",
            f"position(({', '.join(e.python for e in entries)}), ({', '.join(sides)}))",
        )

    # -------------------------------------------------------- conditions

    def test(self, scope: Scope, depth: int) -> Both:
        if depth > 0 and self.random.random() < 0.35:
            return self.joined(scope, depth - 1)
        if depth > 0 and self.random.random() < 0.1:
            return self.quantified(scope, depth - 1)
        left = self.number(scope, max(depth - 1, 0))
        right = self.number(scope, self.random.choice((0, 0, 0, 1)))
        if self.random.random() < 0.25:
            low = self.number(scope, 0)
            signs = self.random.choice((("<=", "<"), ("<", "<="), ("<", "<"), (">", ">=")))
            parts = (low, signs[0], left, signs[1], right)
            return Both(
                " ".join(e if isinstance(e, str) else e.spec for e in parts),
                f"({' '.join(e if isinstance(e, str) else e.python for e in parts)})",
            )
        sign = self.random.choice(("<", "<=", ">", ">=", "==", "!="))
        return Both(f"{left.spec} {sign} {right.spec}", f"({left.python} {sign} {right.python})")

    def joined(self, scope: Scope, depth: int) -> Both:
        one = self.test(scope, depth)
        if self.random.random() < 0.3:
            return Both(f"(not ({one.spec}))", f"(not {one.python})")
        two, word = self.test(scope, depth), self.random.choice(("and", "or"))
        return Both(f"({one.spec} {word} {two.spec})", f"({one.python} {word} {two.python})")

    def quantified(self, scope: Scope, depth: int) -> Both:
        self.bound += 1
        index = Both(f"k{self.bound}", f"k{self.bound}")
        high, inner = self.small_number(scope), scope.inner(index)
        test, word = self.test(inner, depth), self.random.choice(("any", "all"))
        return Both(
            f"{word}[{index.spec} < {high.spec}]({test.spec})",
            f"{word}([{test.python} for {index.python} in range({high.python})])",
        )
