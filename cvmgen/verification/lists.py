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
from cvmgen.verification.symbols import LISTED, Symbols
from cvmgen.verification.terms import Formula, Term, term_text


@dataclass(frozen=True)
class List:
    """A list by what it is called; `parts` are its entries and lists that are spread in it, where
    it is written out, `least` is a bound of all entries, of extents. It may be the strides of a
    box, or a shape that is `given`, of which any entries can be."""

    name: str
    parts: tuple[Term | List, ...] | None = None
    least: int | None = None
    strides_of: List | None = None
    given: bool = False


@dataclass(frozen=True)
class Walk:
    """The offset of a row of a box that is walked by steps."""

    row: Term
    box: List
    steps: List


class Lists:
    """What is known of lists, as terms."""

    def __init__(self, symbols: Symbols) -> None:
        self.symbols = symbols
        self.walks: dict[str, Walk] = {}
        self.bases: set[str] = set()  # values of the host that walks may begin at
        self.splits: dict[tuple[Term, Term], tuple[tuple[Term, ...], Formula]] = {}

    def unknown(self, name: str, least: int | None = None) -> List:
        return List(self.symbols.named(name), None, least)

    def listed(self, parts: tuple[Term | List, ...]) -> List:
        shown = (term_text(each) if isinstance(each, Term) else f"{each.name}..." for each in parts)
        return List(f"({', '.join(shown)})", parts)

    def part(self, whole: List, low: Term | None, high: Term | None) -> List:
        if low is None and high is not None:
            self.split(whole, high)
        if high is None and low is not None:
            self.split(whole, low - 1)
        return self.plain_part(whole, low, high)

    def plain_part(self, whole: List, low: Term | None, high: Term | None) -> List:
        ends = ("" if each is None else term_text(each) for each in (low, high))
        name = f"{whole.name}[{':'.join(ends)}]"
        return List(name, None, whole.least, given=whole.given)

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
        if whole.strides_of is not None:
            return self.size(self.part(whole.strides_of, at + 1, None))
        return self.symbol(f"{whole.name}[{term_text(at)}]", whole)

    def strides(self, box: List) -> List:
        """How far apart neighbours of each dimension lie: the size of all dimensions behind."""
        return List(f"strides({box.name})", strides_of=box)

    def symbol(self, name: str, of: List) -> Term:
        def made() -> Term:
            return self.symbols.within(name, of.least, None, "" if of.given else LISTED)

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
        made = self.symbol(f"len({whole.name})", List(whole.name, None, 0, given=whole.given))
        self.symbols.know(made, t.at_most(made, LIST_CAPACITY))
        return made

    def size(self, whole: List) -> Term:
        if whole.parts is not None:
            sizes = (self.size(each) if isinstance(each, List) else each for each in whole.parts)
            return t.product(sizes)
        if whole.name.endswith("[:0]"):
            return t.ONE
        return self.symbol(f"size({whole.name})", whole)

    def row_or_last(self, function: str, whole: List) -> Term:
        """The last entry of a list, and the product of the others."""
        last = self.symbol(f"last({whole.name})", whole)
        rows = self.symbol(f"rows({whole.name})", whole)
        if whole.least is not None:
            self.symbols.know(rows * last, t.equal(rows * last, self.size(whole)))
        return rows if function == "rows" else last

    def split(self, whole: List, at: Term) -> None:
        """The size of a box by the entry at a place of it, those in front and those behind."""
        front, back = (self.plain_part(whole, *ends) for ends in ((None, at), (at + 1, None)))
        parts = (self.size(front), self.entry(whole, at), self.size(back))
        inside = t.every(t.at_most(0, at), t.below(at, self.length(whole)))
        self.splits[self.size(whole), at] = (parts, inside)
        found = t.equal(t.product(parts), self.size(whole))
        for each in parts:
            self.symbols.know(each, t.implies(inside, found))

    def walk_offset(self, row: Term, box: List, steps: List) -> Term:
        """Where a row of a box begins that is walked by steps."""
        key: Hashable = ("walk", row, box.name, steps.name)
        return self.symbols.once(key, lambda: self.new_walk(Walk(row, box, steps)))

    def new_walk(self, walk: Walk) -> Term:
        shown = f"walk_offset({term_text(walk.row)}, {walk.box.name}, {walk.steps.name})"
        made = self.symbols.fresh("walk", shown, vague=WALKS)
        (name,) = made.names
        self.walks[name] = walk
        return made


WALKS = "a box of any rank is walked by steps"
