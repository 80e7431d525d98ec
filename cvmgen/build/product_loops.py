"""What a product of matrices costs in machine code: the instructions of the loop that makes them.

A loop has ways that are seldom gone: the ends of tensors, addresses that are not aligned. The one
that counts makes the most products and asynchronous copies, with the fewest instructions.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

_SECTION = re.compile(r"^\s*\.section\s+\.text\.(?P<kernel>[^,\s]+),", re.MULTILINE)
_LABEL = re.compile(r"^(\.L_\w+):$")
_CODE = re.compile(r"^\s*/\*[0-9a-f]{4,}\*/\s+(?P<code>.*?)\s*;")
_BRANCH = re.compile(r"\bBRA\b.*`\((?P<label>\.L_\w+)\)")
_MAY_NOT = re.compile(r"@!?U?P\d")  # a predicate that is no constant
_PRODUCT = re.compile(r"\b[IHDQ]G?MMA\b")
_COPY = re.compile(r"\b(LDGSTS|UBLKCP|UTMALDG)\b")


@dataclass(frozen=True, slots=True)
class ProductLoop:
    """The instructions of a way through a loop, and how many of them multiply matrices."""

    instructions: int
    products: int

    @property
    def cost(self) -> float:
        """Instructions for each product, itself among them."""
        return self.instructions / self.products


def product_loops(text: str) -> Mapping[str, ProductLoop]:
    """For each kernel in what nvdisasm prints that has loops of products: the tightest of them."""
    _, *parts = _SECTION.split(text)
    found = {
        kernel: list(_Code(code.splitlines()).loops())
        for kernel, code in zip(parts[::2], parts[1::2], strict=True)
    }
    return {
        kernel: min(loops, key=lambda each: each.cost) for kernel, loops in found.items() if loops
    }


class _Code:
    """The instructions of a kernel, and where they lead."""

    def __init__(self, lines: Sequence[str]) -> None:
        self.code: list[str] = []
        labels: dict[str, int] = {}
        for line in lines:
            if label := _LABEL.match(line):
                labels[label[1]] = len(self.code)
            elif found := _CODE.match(line):
                self.code.append(found["code"])
        branches = (_BRANCH.search(each) for each in self.code)
        self.targets = [labels.get(each["label"]) if each else None for each in branches]

    def loops(self) -> Iterator[ProductLoop]:
        """Of the innermost loops with products."""
        found = [
            (target, at)
            for at, target in enumerate(self.targets)
            if target is not None and target <= at and self.multiplies(target, at)
        ]
        for low, high in found:
            inside = ((a, b) for a, b in found if low <= a and b <= high)
            if all(each == (low, high) for each in inside):
                yield self.way(low, high)

    def multiplies(self, low: int, high: int) -> bool:
        return any(map(_PRODUCT.search, self.code[low : high + 1]))

    def way(self, low: int, high: int) -> ProductLoop:
        """The way that counts, found from the end of the loop backwards."""
        best = {high: (0, 1, 0)}  # products and copies, instructions, products
        for at in range(high - 1, low - 1, -1):
            ways = [best[each] for each in self.after(at) if each in best and each > at]
            if not ways:
                continue
            wanted, count, products = max(ways, key=lambda each: (each[0], -each[1]))
            product = bool(_PRODUCT.search(self.code[at]))
            copy = bool(_COPY.search(self.code[at]))
            best[at] = (wanted + product + copy, count + 1, products + product)
        _, count, products = best[low]
        return ProductLoop(count, products)

    def after(self, at: int) -> Iterator[int]:
        """Which instructions may come after one."""
        code, target = self.code[at], self.targets[at]
        if target is not None:
            yield target
        may_not = _MAY_NOT.match(code) is not None
        if may_not or (target is None and "EXIT" not in code):
            yield at + 1
