"""How an item of a formula is laid out: blanks, columns, and where its lines go on.

Its author's lines stay, each moved to its place: below the bracket that is open there, or below the
beginning of its formula. Data of examples stays as it is laid out. A line that is longer than
`LONGEST` is broken, where least is open.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from cvmgen.spec.lexemes import CLOSING, OPENING, Lexeme, LexemeKind
from cvmgen.spec.words import DECLARATIONS, ITEMS

WIDTH = 100
"""Lines that are broken come to no more, where there is a place to break them."""
LONGEST = 110
"""A line of up to so many characters stays as its author left it."""
PADDED = ("input", "output", "attr", "let", "type", "alias")
"""Words behind which what they declare begins in one column."""
SPACED = frozenset(("=", "==", "!=", "<=", ">=", "<", ">"))
SUMS, PRODUCTS = frozenset("+-"), frozenset("*/^")
BEGINNINGS = frozenset((*DECLARATIONS, *ITEMS))
TAILS = ("forall", "where")
ENDINGS = ("precision", *TAILS)
CLASSES = (("else", "if"), ("for",), ("and", "or"), ("+", "-"), ("*", "/", "div", "mod", "over"))
"""Where a line is broken best, in front of these, if no fewer brackets are open elsewhere."""


@dataclass(slots=True)
class Open:
    """A bracket that is open: its column, and that of what it belongs to."""

    column: int
    owner: int
    last: bool  # of its line


@dataclass(slots=True)
class GrowingLine:
    """A line as it grows; `columns` says where each lexeme stands, by its number."""

    text: str
    columns: dict[int, int] = field(default_factory=dict)

    def put(self, number: int, lexeme: Lexeme, blanks: int) -> int:
        """Append a lexeme; returns its column."""
        column = len(self.text) + blanks
        self.text += " " * blanks + lexeme.text
        self.columns[number] = column
        return column


def beginning(item: Sequence[Lexeme]) -> str:
    """The word of the language with which an item begins; empty for an equation, also where its
    tensor is called `output`."""
    word = item[0].text
    place = word == "output" and len(item) > 1 and item[1].text == "["
    return word if word in BEGINNINGS and not place else ""


class Layout:
    """One item, or what of a declaration stands in front of its block; `margin` blanks deep."""

    def __init__(
        self, item: Sequence[Lexeme], margin: int, pads: Mapping[int, int] | None = None
    ) -> None:
        self.item, self.margin = item, margin
        self.word = beginning(item)
        self.pads = pads or {}
        self.depths = list(_depths(item))
        self.breaks = {
            number
            for number, (before, each) in enumerate(pairwise(item), 1)
            if each.lines or before.is_comment
        }

    def lines(self) -> Iterator[str]:
        """Its lines, none of which is too long and could be broken."""
        while True:
            lines = _Placing(self).lines()
            place = next((found for line in lines if (found := self.place_to_break(line))), None)
            if place is None:
                return (line.text for line in lines)
            self.breaks.add(place)

    def place_to_break(self, line: GrowingLine) -> int | None:
        """The lexeme of a line that is too long with which a new one begins best."""
        numbers = [each for each in line.columns if not self.item[each].is_comment]
        if not numbers or line.columns[numbers[-1]] + len(self.item[numbers[-1]].text) <= LONGEST:
            return None
        ranked = [(self.rank(each), each) for each in numbers[1:]]
        known = [(rank, each) for rank, each in ranked if rank is not None]
        fitting = [
            (rank, -each)
            for rank, each in known
            if line.columns[each - 1] + len(self.item[each - 1].text) <= WIDTH
        ]
        if fitting:
            return -min(fitting)[1]
        return min(known)[1] if known else None

    def rank(self, number: int) -> tuple[int, int] | None:
        """How well a line begins with a lexeme: by what is open there, then by what it is."""
        each, before, depth = self.item[number], self.item[number - 1], self.depths[number]
        if self.is_ending(number):
            return (-1, 0)
        if before.text == ",":
            return (depth, 1)
        if before.text == "(" and number > 1 and self.item[number - 2].text == "]":
            return (depth - 1, len(CLASSES) + 1)
        if each.text in SUMS and not self.ends_operand(number - 1):
            return None
        for grade, words in enumerate(CLASSES):
            if each.text in words and (each.keyword or each.kind is LexemeKind.SIGN):
                return (depth, grade)
        return None

    def is_ending(self, number: int) -> bool:
        """Whether it begins what may stand behind a formula: that goes on a line of its own, a
        step deeper than the item, where there is not room for all."""
        each = self.item[number]
        if self.depths[number]:
            return False
        if each.keyword:
            return each.text in ENDINGS
        return (each.text, self.word) in ((":", "require"), ("==", "example"))

    def blanks(self, number: int) -> int:
        """How many stand between a lexeme and the one before it in its line."""
        each, before = self.item[number], self.item[number - 1]
        if each.is_comment:
            return max(2, each.gap)
        if number == 1 and self.word in PADDED:
            return 7 - len(before.text) + self.pads.get(number, 0)
        if each.text in TAILS and each.keyword and self.depths[number] == 0:
            return 1 if self.word else 2
        return self.pads.get(number, 0) + (1 if self.apart(number) else 0)

    def apart(self, number: int) -> bool:
        """Whether a blank stands between a lexeme and the one before it."""
        each, before = self.item[number], self.item[number - 1]
        inside = self.depths[number] > 0
        if each.text in (",", "...") or each.text in CLOSING:
            return False
        if before.text in OPENING:
            return False
        if ":" in (each.text, before.text):
            return not inside
        if "=" in (each.text, before.text):
            return not inside
        if before.text == "," or each.text in SPACED or before.text in SPACED:
            return True
        if each.text in SUMS | PRODUCTS and self.ends_operand(number - 1):
            return self.joined(number)
        if before.text in SUMS | PRODUCTS:
            return self.joined(number - 1)
        if each.text in "([":
            return not self.belongs(number)
        return True

    def ends_operand(self, number: int) -> bool:
        """Whether a formula may end with a lexeme."""
        each = self.item[number]
        return each.ends_operand and (number > 0 or not self.word)

    def joined(self, number: int) -> bool:
        """Whether blanks stand around a sign: those of sums always have them, others as written."""
        each = self.item[number]
        if not self.ends_operand(number - 1):
            return False  # a sign in front of a number, or one that is given to a family
        if each.text in SUMS:
            return True
        after = self.item[number + 1] if number + 1 < len(self.item) else each
        return all(one.gap or one.lines for one in (each, after))

    def belongs(self, number: int) -> bool:
        """Whether a bracket is that of a call, of indices or of parameters."""
        each = self.item[number]
        if not self.ends_operand(number - 1):
            return False
        return (self.word, number, each.text) != ("attr", 2, "(")


class _Placing:
    """The lexemes of an item, one after the other, at their columns."""

    def __init__(self, layout: Layout) -> None:
        self.layout, self.item, self.margin = layout, layout.item, layout.margin
        self.open: list[Open] = []
        self.formula: int | None = None  # where the formula at hand begins, outside of brackets
        self.sums: int | None = None  # where the signs of its sums stand
        self.list: int | None = None
        self.joins: dict[int, int] = {}  # by depth: where the first `and` or `or` stands
        self.begins = False
        self.owner = 0
        self.deep = 4 if self.layout.word not in ("def", "const") else 2

    def lines(self) -> list[GrowingLine]:
        lines = [GrowingLine(" " * self.margin)]
        for number, each in enumerate(self.item):
            if number and number in self.layout.breaks:
                lines.append(GrowingLine(" " * self.indent_of_line(number)))
                blanks = 0
            else:
                blanks = self.layout.blanks(number) if number else 0
            column = lines[-1].put(number, each, blanks)
            if not each.is_comment:
                self.note(number, column)
        return lines

    def note(self, number: int, column: int) -> None:
        """Keep what lines below go by."""
        each = self.item[number]
        if self.begins:
            beside = self.item[number - 1].text == "=" and number not in self.layout.breaks
            self.formula, self.sums = column, column - 2 * beside
            self.begins = False
        if self.list is None and number:
            self.list = self.formula = self.sums = column
        if each.text in OPENING:
            mine = number > 0 and self.layout.belongs(number)
            self.open.append(Open(column, self.owner if mine else column, False))
            self.joins.pop(len(self.open), None)
        elif each.text in CLOSING and self.open:
            self.owner = self.open.pop().owner
        elif each.text != "...":
            self.owner = column
        if each.text in ("and", "or"):
            self.joins.setdefault(len(self.open), column)
        if not self.open and (each.text == "=" or (each.keyword and each.text in ENDINGS)):
            self.begins = True
            self.joins.pop(0, None)
            if each.text != "=":
                self.list = None

    def indent_of_line(self, number: int) -> int:
        """The column in which a line begins that begins with a lexeme; a comment stands where what
        comes behind it does."""
        each, first = self.item[number], self.item[0]
        if self.layout.word == "example" and each.lines and not self.layout.is_ending(number):
            return max(each.gap + self.margin - first.gap, self.margin + 2)
        code = [at for at, each in enumerate(self.item) if not each.is_comment]
        before = [at for at in code if at < number]
        if self.open and self.item[before[-1]].text in OPENING:
            self.open[-1].last = True
        return self.indent(next((at for at in code if at >= number), number), before[-1])

    def indent(self, number: int, before: int) -> int:
        each = self.item[number]
        if self.open:
            return self.inside(each)
        if self.layout.is_ending(number):
            return self.margin + 2
        if self.begins and self.item[before].text == "=":
            return self.margin + self.deep
        if each.text in ("and", "or") and 0 in self.joins:
            return self.joins[0]
        if self.item[before].text == "," and self.list is not None:
            return self.list
        if self.formula is None or self.sums is None:
            return self.margin + 2
        if each.text in SUMS:
            return self.sums
        return self.formula + (2 if each.text in ("if", "else") else 0)

    def inside(self, each: Lexeme) -> int:
        """The same within a bracket."""
        innermost = self.open[-1]
        if each.text in ("and", "or") and len(self.open) in self.joins:
            return self.joins[len(self.open)]
        if each.text in CLOSING:
            return innermost.owner if innermost.last else innermost.column
        return innermost.owner + 2 if innermost.last else innermost.column + 1


def _depths(item: Sequence[Lexeme]) -> Iterator[int]:
    """How many brackets are open around each lexeme."""
    depth = 0
    for each in item:
        depth -= each.text in CLOSING
        yield depth
        depth += each.text in OPENING
