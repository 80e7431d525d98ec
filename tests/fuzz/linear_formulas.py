"""Invented operators that are linear in X, of which the language has to take every adjoint.

Shares no code with the compiler.
"""

from __future__ import annotations

import random

LETTERS = "abcnmijk"
EXTENTS = {"X": ("N", "M"), "W": ("K",)}


class LinearInventor:
    """Invents operators from a seed, with names that are easily taken for one another."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.macros: list[str] = []
        self.lets: list[str] = []

    def operator(self, name: str) -> str:
        choose = self.random.choice
        self.rank = choose((1, 1, 2))
        out = choose((1, 1, 2, 2))
        letters = self.random.sample(LETTERS, len(LETTERS))
        self.left, self.free = letters[:out], letters[out:]
        extents = [choose(("N", "N + 1", "2*N", "N - 1 + K", "2", "K")) for _ in range(out)]
        before = []
        if self.random.random() < 0.25:
            before.append(f"def {name}_twice(x) = x + x")
            self.macros.append(f"{name}_twice")
        lines = [f"operator {name} {{", '  "Invented."']
        lines.append(f"  input  X : int64[{', '.join(EXTENTS['X'][: self.rank])}]")
        lines.append("  input  W : int64[K]")
        lines.append("  attr   p in [0, 4)")
        if self.random.random() < 0.2 and self.rank == 1:
            index = choose(LETTERS)
            lines.append(f"  let    T[{index}] = X[{index}] - 2*X[N - 1 - {index}]")
            self.lets.append("T")
        terms = [self.term() for _ in range(choose((1, 1, 2, 2, 3)))]
        value = terms[0]
        for term in terms[1:]:
            value = f"{value} {choose('+-')} {term}"
        lines.append(f"  output Y : int64[{', '.join(extents)}]")
        lines += [f"  Y[{', '.join(self.left)}] = {value}", "}"]
        return "\n".join([*before, *lines]) + "\n"

    # -------------------------------------------------------- terms

    def term(self) -> str:
        kind = self.random.random()
        if kind < 0.3:
            return self.summed()
        if kind < 0.4 and self.macros:
            return f"{self.macros[0]}({self.access(self.left)})"
        return self.weighted(self.left)

    def summed(self) -> str:
        """A sum over one index or two, of names that other terms have, too."""
        names = self.random.sample(self.free, self.random.choice((1, 1, 2)))
        ranges = []
        for name in names:
            low = self.random.choice(("", "", "", "1 <= "))
            ranges.append(f"{low}{name} < {self.random.choice(('N', 'K', '3', 'p', 'N - 1'))}")
        test = ""
        if self.random.random() < 0.2:
            one, other = self.random.choice(names), self.random.choice(self.left)
            test = f" if {one} {self.random.choice(('<', '<=', '!='))} {other}"
        return f"sum[{', '.join(ranges)}{test}]({self.weighted([*self.left, *names])})"

    def weighted(self, names: list[str]) -> str:
        factor = self.random.choice(("", "", "", "3*", "p*", f"({self.affine(names)})*", "W"))
        if factor == "W":
            factor = f"W[({self.affine(names)}) mod K]*"
        return f"{factor}{self.access(names)}"

    def access(self, names: list[str]) -> str:
        """An element of X at places that are kept inside, by a remainder or by a test."""
        slots, tests = [], []
        tensor = self.random.choice(("X", *self.lets))
        for extent in EXTENTS["X"][: self.rank]:
            place = self.place(names)
            match self.random.choice(("mod", "test", "test", "test", "clip")):
                case "mod":
                    place = f"({place}) mod {extent}"
                case "clip" if self.random.random() < 0.3:
                    place = f"max(0, min({place}, {extent} - 1))"
                case _:
                    tests.append(f"0 <= {place} < {extent}")
            slots.append(place)
        element = f"{tensor}[{', '.join(slots)}]"
        return f"({element} if {' and '.join(tests)} else 0)" if tests else element

    def place(self, names: list[str]) -> str:
        place = self.affine(names)
        match self.random.random():
            case x if x < 0.12:
                return f"({place}) div 2"
            case x if x < 0.2:
                return f"({place}) mod 3"
            case _:
                return place

    def affine(self, names: list[str]) -> str:
        parts = [self.part(self.random.choice(names))]
        for _ in range(self.random.choice((0, 0, 1, 1, 2))):
            other = self.random.choice((*names, "1", "2", "p", "N", "K", "0*p"))
            own = self.part(other) if other in names else other
            parts.append(f"{self.random.choice('+-')} {own}")
        return " ".join(parts)

    def part(self, name: str) -> str:
        return self.random.choice((name, name, name, f"2*{name}", f"{name}*2", f"p*{name}"))
