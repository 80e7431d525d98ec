"""Lists of the host as obligations see them: their sizes, lengths and entries as symbols.

A list has a rank that only the call knows. What is said of it holds for all ranks: the size of a
box is the product of its entries, so that of a part, an entry and the rest behind it; and merging
dimensions keeps it.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass

from cvmgen.dtypes import LIST_CAPACITY
from cvmgen.verification import terms as t
from cvmgen.verification.symbols import Symbols
from cvmgen.verification.terms import Term, term_text


@dataclass(frozen=True)
class List:
    """A list by what it is called; `parts` are its entries and lists that are spread in it, where
    it is written out, `least` is a bound of all entries, of extents."""

    name: str
    parts: tuple[Term | List, ...] | None = None
    least: int | None = None


class Lists:
    """What is known of lists, as terms."""

    def __init__(self, symbols: Symbols) -> None:
        self.symbols = symbols

    def unknown(self, name: str, least: int | None = None) -> List:
        return List(self.symbols.named(name), None, least)

    def listed(self, parts: tuple[Term | List, ...]) -> List:
        shown = (term_text(each) if isinstance(each, Term) else f"{each.name}..." for each in parts)
        return List(f"({', '.join(shown)})", parts)

    def part(self, whole: List, low: Term | None, high: Term | None) -> List:
        ends = ("" if each is None else term_text(each) for each in (low, high))
        return List(f"{whole.name}[{':'.join(ends)}]", None, whole.least)

    def list_at(self, whole: List, at: Term) -> List:
        """An entry of a list of lists."""
        return List(f"{whole.name}[{term_text(at)}]", None, whole.least)

    def entry(self, whole: List, at: Term) -> Term:
        if whole.parts is not None and at.value is not None:
            before = whole.parts[: at.value + 1]
            if len(before) > at.value >= 0 and all(isinstance(each, Term) for each in before):
                found = before[-1]
                assert isinstance(found, Term)
                return found
        return self.symbol(f"{whole.name}[{term_text(at)}]", whole.least)

    def symbol(self, name: str, least: int | None, why: str = "") -> Term:
        def made() -> Term:
            return self.symbols.within(name, least, None, why)

        return self.symbols.once(("list", name), made)

    def measure(self, function: str, whole: List) -> Term:
        match function:
            case "len":
                return self.length(whole)
            case "size":
                return self.size(whole)
            case _:
                return self.row_or_last(function, whole)

    def length(self, whole: List) -> Term:
        if whole.parts is not None:
            counts = (
                self.length(each) if isinstance(each, List) else t.ONE for each in whole.parts
            )
            return sum(counts, t.ZERO)
        made = self.symbol(f"len({whole.name})", 0)
        self.symbols.know(made, t.at_most(made, LIST_CAPACITY))
        return made

    def size(self, whole: List) -> Term:
        if whole.parts is not None:
            sizes = (self.size(each) if isinstance(each, List) else each for each in whole.parts)
            return t.product(sizes)
        return self.symbol(f"size({whole.name})", whole.least)

    def row_or_last(self, function: str, whole: List) -> Term:
        """The last entry of a list, and the product of the others."""
        last = self.symbol(f"last({whole.name})", whole.least)
        rows = self.symbol(f"rows({whole.name})", whole.least)
        if whole.least is not None:
            self.symbols.know(rows * last, t.equal(rows * last, self.size(whole)))
        return rows if function == "rows" else last

    def split(self, whole: List, at: Term) -> None:
        """The size of a box by the entry at a place of it, those in front and those behind."""
        front, back = self.part(whole, None, at), self.part(whole, at + 1, None)
        parts = (self.size(front), self.entry(whole, at), self.size(back))
        found = t.equal(t.product(parts), self.size(whole))
        inside = t.every(t.at_most(0, at), t.below(at, self.length(whole)))
        for each in parts:
            self.symbols.know(each, t.implies(inside, found))

    def walk_offset(self, row: Term, box: List, steps: List) -> Term:
        """Where a row of a box begins that is walked by steps."""
        key: Hashable = ("walk", row, box.name, steps.name)
        shown = f"walk_offset({term_text(row)}, {box.name}, {steps.name})"
        return self.symbols.once(key, lambda: self.symbols.fresh("walk", shown, vague=WALKS))


WALKS = "a box of any rank is walked by steps"
