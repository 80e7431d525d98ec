"""Draws formulas of indices that may leave their tensors, and calls of them.

All operators have the same operands: tensors of every kind, and attributes. What matters hides in
rare calls: a special extent, an element that is an index, a guard that holds for one side only.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import prod
from random import Random
from typing import Any

import numpy as np

from cvmgen.reference.tensor import Tensor
from cvmgen.spec.formula import Operator

SPECIAL = 6  # an extent that few calls have
VALUES = (-(2**31) + 1, -7, -1, 0, 0, 1, 1, 2, 3, 4, 5, 6, 2**31 - 1)
DEFINITIONS = "def pick(x, at, good) = x if good and at >= 0 else 0\n"
OPERANDS = """\
  input X : cvm[N]
  input Z : cvm[m...]
  input E : cvm[M, K] or empty
  input B : cvm[L] optional
  attr a = 0 in [0, 4)
  attr c : int optional in [0, 5)
"""
LISTS = """\
  input X : cvm[N, K]
  input Z : cvm[m...]
  attr a = 0 in [0, 4)
  attr L : int list = ()
"""
SEVERAL = """\
  input each q < Q : X[q] : cvm[m[q]...]
  attr a = 0 in [0, 4)
"""


@dataclass(frozen=True)
class Called:
    """A call, as the reference and as targets take it."""

    tensors: dict[str, Any]  # arrays; None for what is left away; a list for several
    attributes: dict[str, Any]

    def for_reference(self) -> dict[str, Any]:
        return {name: given(each) for name, each in self.tensors.items()}


def given(value: Any) -> Any:
    if isinstance(value, list):
        return [given(each) for each in value]
    return None if value is None else Tensor(value.shape, value.ravel().tolist(), 32)


class Inventor:
    """Draws what stands behind the operands."""

    def __init__(self, random: Random) -> None:
        self.random = random

    def index(self, depth: int, names: Sequence[str] = ("i",)) -> str:
        pick = self.random.choice
        if depth == 0:
            several = [*names, *names, "N", "a", "0", "1", "2", "(N - 1)", f"X[{pick(names)}]"]
            return pick([*several, "(c if present(c) else 1)"])
        one, other = (self.index(depth - 1, names) for _ in range(2))
        return pick(
            [
                f"({one} {pick('+-*')} {other})",
                f"({one} mod {pick(['N', '3', '(-2)', '(a + 1)'])})",
                f"({one} div {pick(['2', 'N', '(-3)', '(a + 1)'])})",
                f"{pick(['min', 'max'])}({one}, {other})",
                f"max(0, min({one}, N - 1))",
                f"({one} if {self.condition(depth - 1, names)} else {other})",
                f"({one} + 1000000 if N == {SPECIAL} else {other})",
                f"({one} mod N)",
                one,
            ]
        )

    def condition(self, depth: int, names: Sequence[str] = ("i",)) -> str:
        one, other = (self.index(depth, names) for _ in range(2))
        return self.random.choice(
            [
                f"{one} < {other}",
                f"0 <= {one} < N",
                f"N == {SPECIAL}",
                f"{one} >= 0 and {other} != {one}",
                f"not ({one} > {other}) or a == 2",
            ]
        )

    def plain(self) -> str:
        at, inner = self.index(2), self.index(1, ("i", "k"))
        return self.random.choice(
            [
                f"Y[i] = X[{at}]",
                f"Y[i] = X[{at}] if 0 <= {at} < N else 0",
                f"Y[i] = X[{at}] if {at} < N else 0",
                f"Y[i] = X[{at}] if {self.condition(1)} else -1",
                f"Y[i] = max[k < a + 1](X[{inner}])",
                f"Y[i] = sum[k < N if 0 <= {inner}](1 if X[min({inner}, N - 1)] > 0 else 0)",
                f"Y[i] = pick(X[{at}], {at}, 0 <= {at} < N)",
                f"Y[i] = Z[unflatten({at}, m...)...]",
                f"Y[i] = Z[unflatten({at} mod size(m), m...)...]",
                f"Y[i] = Z[{self.index(1)}]",
                f"Y[i] = x + x if x > 0 else 0  where x = X[{at}]",
            ]
        )

    def scattered(self) -> str:
        """Equations that say themselves which element they write."""
        at = self.index(2)
        turned = self.random.choice(["N - 1 - i", "(i + a) mod N", "i", at])
        return self.random.choice(
            [
                f"Y[{at}] = X[i]  forall i < N",
                f"Y[{turned}] = X[{at}]  forall i < N",
                f"Y[{turned}] = X[{at}] if {self.condition(1)} else 1  forall i < N",
                f"Y[i] = X[{at}]  forall i < N if {self.condition(1)}\n"
                f"  Y[i] = 7  forall i < N if not ({self.condition(1)})",
                f"Y[i] = X[{at}]  forall i < min(N, 2)\n  Y[i] = 2  forall min(N, 2) <= i < N",
            ]
        )

    def left_away(self) -> str:
        """What speaks of operands that a call may leave away, or that hold nothing."""
        at = self.index(1)
        return self.random.choice(
            [
                f"Y[i] = B[{at}]",
                f"Y[i] = B[{at}] if present(B) else 0",
                f"Y[i] = X[i] + (B[i mod (a + 1)] if present(B) and {self.condition(1)} else 0)",
                f"Y[i] = B[i] if {self.condition(1)} else 0",
                f"Y[i] = X[c] if {self.condition(1)} else c",
                "Y[i] = X[c mod N] if present(c) else X[i]",
                f"Y[i] = E[{at}, i]",
                f"Y[i] = E[{at}, i] if M > 0 and i < K else 0",
                f"Y[i] = sum[k < M](E[k, {at}])",
                "Y[i] = sum[k < K](E[min(i, M - 1), k])",
            ]
        )

    def listed(self) -> str:
        """Lists that are selected or sorted, and what reads them."""
        at, chosen = self.index(1), self.index(1, ("q",))
        test = self.random.choice([f"X[{chosen}] > 0", "X[q] > 0", self.condition(1, ("q",))])
        first = self.random.choice(
            [
                f"let V = select[q < N]({test})",
                f"let V = sort[q < N] by (-X[{chosen}])",
                f"let V = sort[q < N if {test}] by (X[q], -q)",
                "let V = {q for q < N if all[p in V if p < q](X[q] != X[p])}",
                "let V = {q for q < N if all[p in V if p < q](X[q] != X[(p + X[p]) mod N])}",
            ]
        )
        reader = self.random.choice(
            [
                f"Y[i] = V[{at}] if {at} < count(V) else -1",
                f"Y[i] = V[{at}] if 0 <= {at} < count(V) else -1",
                "Y[i] = X[V[i]] if i < count(V) else 0",
                f"Y[i] = X[V[{at}]]",
                f"Y[i] = sum[v in V](1 if X[v] > {at} else 0)",
                "Y[i] = sum[v in V](X[(v + 1) mod N] mod 9)",
                "Y[i] = sum[v in V](X[v + a] mod 9)",
                "Y[i] = X[(i if V[min(i, count(V) - 1)] == i else i + 1000000)]",
            ]
        )
        return f"{first}\n  {reader}"

    def of_lists(self) -> tuple[str, str]:
        """Outputs of several dimensions, and what reads entries of lists and parts of shapes."""
        pick = self.random.choice
        at = pick(["a", "i", "L[a]", "L[0]", "len(L)", "len(m) - 1", "X[i, j]", "i + j", "N - i"])
        test = pick([f"{at} < N", "a < len(L)", "i < a", "len(L) > 0 and i < 2", "N == 2"])
        pairs = [
            f"Y[i, j] = X[{at}, j]",
            f"Y[i, j] = X[{at}, j] if {test} else 0",
            f"Y[i, j] = X[i, {at}]  forall i < N, 0 <= j < 1\n"
            "  Y[i, j] = X[i, j - 1]  forall i < N, 1 <= j < K",
            f"Y[i, j] = L[{at}] if {test} else X[i, j]",
            f"Y[i, j] = X[i, j] + sum[k < {pick(['a', 'len(L)', '3'])}](L[k])",
            f"Y[i, j] = X[i, j] + (L[a] if {test} else 0)",
            f"Y[i, j] = m[{at}]",
            f"Y[i, j] = Z[L...] if {test} else 0",
            "Y[i, j] = sum[d... < m[:a]...](1)",
            f"Y[i, j] = X[i, V[j]] if j < count(V) else 0  where V = {{q for q in L if {test}}}",
        ]
        boxes = [
            f"Y[d...] = Z[(d[k] + {pick(['0', 'a', 'd[k]'])} for k < len(m))...]",
            f"Y[d...] = Z[(d[{pick(['len(m) - 1 - k', 'k', 'k + a', 'a'])}] for k < len(m))...]",
            "Y[d...] = Z[(d[k] for k in L)...]",
            "Y[d...] = Z[d[:a]..., d[a:]...]",
            "Y[d...] = Z[(d[k] if k in L else 0 for k < len(m))...]",
            "Y[d...] = Z[(d[k] if k != a else L[k] for k < len(m))...]",
            "Y[d...] = X[d...]",
            "Y[d...] = X[0, d...]",
            "Y[d...] = Z[0, d...] if len(m) > a else 1",
            "Y[d...] = Z[L..., 0]",
            "Y[d...] = Z[0, L...]",
            "Y[d...] = Z[L..., d[a:]...]",
            "Y[d...] = Z[0, d[1:]...]",
            "Y[d...] = X[d[0], d[1]]",
            "Y[i, d...] = Z[d[a], d...]  forall i < m[0], d... < m[1:]...",
            "Y[(d[(k + a) mod len(m)] for k < len(m))...] = Z[d...]  forall d... < m...",
        ]
        pair = self.random.random() < 0.6
        return ("N, K", pick(pairs)) if pair else ("m...", pick(boxes))

    def several(self) -> str:
        """What reads the tensors of a variadic input."""
        at = self.index(1, ("q",)).replace("N", "Q")
        for name in ("X[q]", "(c if present(c) else 1)"):
            at = at.replace(name, "a")
        size = "size(m[q])"
        return self.random.choice(
            [
                f"Y[q] = X[q][unflatten({at}, m[q])...]",
                f"Y[q] = X[q][unflatten({at} mod {size}, m[q])...]",
                f"Y[q] = X[q][unflatten({at}, m[q])...] if {at} < {size} else 0",
                "Y[q] = sum[k < a](X[q][unflatten(k, m[q])...])",
                f"Y[q] = m[q][{at}]",
            ]
        )

    def operator(self, name: str) -> str:
        plain = (self.plain, self.plain, self.scattered, self.left_away, self.listed)
        match self.random.randrange(len(plain) + 3):
            case 0 | 1:
                operands, (extents, equation) = LISTS, self.of_lists()
            case 2:
                operands, extents, equation = SEVERAL, "Q", self.several()
            case drawn:
                operands, extents, equation = OPERANDS, "N", plain[drawn - 3]()
        output = f"  output Y : cvm[{extents}] precision 32\n"
        return f'operator {name} {{ "Invented."\n{operands}{output}  {equation}\n}}\n'


def calls(random: Random, operator: Operator, count: int) -> Iterator[Called]:
    kinds = {each.name for each in operator.attributes}
    for number in range(count):
        attributes: dict[str, Any] = {"a": random.randrange(4)}
        if any(each.variadic for each in operator.inputs):
            yield Called({"X": [table(random) for _ in range(random.randint(1, 4))]}, attributes)
            continue
        extent = SPECIAL if number == 0 else random.randint(1, 8)
        values = range(extent) if random.random() < 0.5 else VALUES
        if "L" in kinds:
            shape = random.randint(1, 3), random.randint(1, 3)
            attributes["L"] = random.choices(range(-1, 4), k=random.randint(0, 4))
            yield Called({"X": filled(random, shape, values), "Z": table(random)}, attributes)
            continue
        if random.random() < 0.5:
            attributes["c"] = random.randrange(5)
        tensors = {
            "X": filled(random, (extent,), values),
            "Z": table(random),
            "E": filled(random, (random.randint(0, 3), random.randint(0, 8)), VALUES),
            "B": filled(random, (random.randint(1, 8),), VALUES) if random.random() < 0.6 else None,
        }
        yield Called(tensors, attributes)


def table(random: Random) -> Any:
    shape = tuple(random.randint(1, 3) for _ in range(random.randint(1, 3)))
    return filled(random, shape, range(-9, 9))


def filled(random: Random, shape: tuple[int, ...], values: Sequence[int]) -> Any:
    drawn = random.choices(values, k=prod(shape))
    return np.array(drawn, np.int32).reshape(shape)
