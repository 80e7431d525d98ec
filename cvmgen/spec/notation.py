"""Mathematics on a page: a few shapes, and how they are written as MathML and as LaTeX.

`mathematics.py` makes shapes of formulas. Names and words come from strangers and are escaped here.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import assert_never

from cvmgen.escape import in_html, in_latex
from cvmgen.source import Span

NAMESPACE = "http://www.w3.org/1998/Math/MathML"
# What a sign is called here: its character, and its command.
SIGNS = {
    "*": ("·", r"\cdot"),
    "-": ("−", "-"),
    "!=": ("≠", r"\ne"),
    "<=": ("≤", r"\le"),
    ">=": ("≥", r"\ge"),
    "<": ("<", "<"),
    ">": (">", ">"),
    "==": ("=", "="),
    "and": ("∧", r"\land"),
    "or": ("∨", r"\lor"),
    "not": ("¬", r"\lnot"),
    "in": ("∈", r"\in"),
    "forall": ("∀", r"\forall"),
    "times": ("×", r"\times"),
    "setminus": ("∖", r"\setminus"),
    "mod": ("mod", r"\bmod"),
    "sum": ("∑", r"\sum"),
    "prod": ("∏", r"\prod"),
    "any": ("⋁", r"\bigvee"),
    "all": ("⋀", r"\bigwedge"),
    "max": ("max", r"\max"),
    "min": ("min", r"\min"),
    "count": ("#", r"\#"),
    "infinity": ("∞", r"\infty"),
    "dots": ("…", r"\dots"),
    "bar": ("∣", r"\mid"),
    ":": (":", ":"),
}
FENCES = {
    "(": ("(", "("),
    ")": (")", ")"),
    "[": ("[", "["),
    "]": ("]", "]"),
    "{": ("{", r"\{"),
    "}": ("}", r"\}"),
    "|": ("|", r"\vert"),
    "floor": ("⌊", r"\lfloor"),
    "end floor": ("⌋", r"\rfloor"),
    "ceil": ("⌈", r"\lceil"),
    "end ceil": ("⌉", r"\rceil"),
    "": ("", "."),
}
GREEK = {
    "alpha": "α",
    "beta": "β",
    "gamma": "γ",
    "delta": "δ",
    "epsilon": "ε",
    "theta": "θ",
    "lambda": "λ",
    "mu": "μ",
    "sigma": "σ",
    "omega": "ω",
}
CELL = '<mtd style="text-align: left; padding: 0.25em 0.5em 0.25em 0">'
BOLD_ITALIC = {"A": 0x1D468, "a": 0x1D482}
"""Where the letters of a kind begin in Unicode."""


@dataclass(frozen=True, slots=True)
class Identifier:
    """A name; `several` of what is a list of values, such as a multi-index."""

    name: str
    several: bool = False


@dataclass(frozen=True, slots=True)
class Numeral:
    text: str


@dataclass(frozen=True, slots=True)
class SignCell:
    """One of `SIGNS`, or what stands for itself, such as `+`."""

    name: str


@dataclass(frozen=True, slots=True)
class Words:
    """Words of prose."""

    text: str


@dataclass(frozen=True, slots=True)
class CellRow:
    parts: tuple[Notation, ...]


@dataclass(frozen=True, slots=True)
class Script:
    """`base` with what stands below and above it, at its right."""

    base: Notation
    below: Notation | None = None
    above: Notation | None = None


@dataclass(frozen=True, slots=True)
class Large:
    """A sign, such as that of a sum, with lines below it."""

    sign: str
    below: tuple[Notation, ...]


@dataclass(frozen=True, slots=True)
class Fraction:
    top: Notation
    bottom: Notation


@dataclass(frozen=True, slots=True)
class Root:
    body: Notation


@dataclass(frozen=True, slots=True)
class Fenced:
    """`body` between two of `FENCES`, as tall as it is."""

    left: str
    body: Notation
    right: str


@dataclass(frozen=True, slots=True)
class Choices:
    """Values, each with the condition under which it is taken; the last has none."""

    rows: tuple[tuple[Notation, Notation | None], ...]


@dataclass(frozen=True, slots=True)
class CellLines:
    """Lines of cells, one below the other."""

    rows: tuple[tuple[Notation, ...], ...]


@dataclass(frozen=True, slots=True)
class Placed:
    """What is written for a part of a spec."""

    body: Notation
    span: Span


Notation = (
    Identifier
    | Numeral
    | SignCell
    | Words
    | CellRow
    | Script
    | Large
    | Fraction
    | Root
    | Fenced
    | Choices
    | CellLines
    | Placed
)
Attributes = Callable[[Span], str]
"""The attributes, ready to be written, of the element that shows a part of a spec."""


def _without_places(span: Span) -> str:
    return ""


def mathml(notation: Notation, attributes: Attributes = _without_places) -> str:
    """A `math` element for a block of a page, which needs no script and no font. `attributes` gives
    those of the elements that show parts of a spec."""
    body = _Mathml(attributes).of(notation)
    return f'<math xmlns="{NAMESPACE}" display="block">{body}</math>'


def latex(notation: Notation) -> str:
    """The inside of a formula in LaTeX, with what amsmath and MathJax know."""
    return _latex(notation)


class _Mathml:
    def __init__(self, attributes: Attributes) -> None:
        self.attributes = attributes

    def of(self, notation: Notation) -> str:
        match notation:
            case Identifier(name=name, several=several):
                return f"<mi>{in_html(_letters(name, several))}</mi>"
            case Numeral(text=text):
                return f"<mn>{in_html(text)}</mn>"
            case SignCell(name=name):
                return f"<mo>{in_html(SIGNS.get(name, (name, ''))[0])}</mo>"
            case Words(text=text):
                return f"<mtext>{in_html(text).replace(' ', '&#160;')}</mtext>"
            case CellRow(parts=parts):
                return f"<mrow>{''.join(map(self.of, parts))}</mrow>"
            case Script(base=base, below=below, above=above):
                return self.script(base, below, above)
            case Large(sign=sign, below=below):
                lines = "".join(f"<mtr><mtd>{self.of(each)}</mtd></mtr>" for each in below)
                shown = f"<mo>{in_html(SIGNS[sign][0])}</mo>"
                return f"<munder>{shown}<mtable>{lines}</mtable></munder>" if below else shown
            case Fraction(top=top, bottom=bottom):
                return f"<mfrac>{self.of(top)}{self.of(bottom)}</mfrac>"
            case Root(body=body):
                return f"<msqrt>{self.of(body)}</msqrt>"
            case Fenced(left=left, body=body, right=right):
                return f"<mrow>{self.fence(left)}{self.of(body)}{self.fence(right)}</mrow>"
            case Choices(rows=rows):
                return f"<mrow>{self.fence('{')}{self.table(_choice_cells(rows))}</mrow>"
            case CellLines(rows=rows):
                return self.table(rows)
            case Placed(body=body, span=span):
                given = self.attributes(span)
                return f"<mrow {given}>{self.of(body)}</mrow>" if given else self.of(body)
            case _:
                assert_never(notation)

    def script(self, base: Notation, below: Notation | None, above: Notation | None) -> str:
        name = "m" + "sub" * (below is not None) + "sup" * (above is not None)
        parts = "".join(self.of(each) for each in (base, below, above) if each is not None)
        return f"<{name}>{parts}</{name}>" if name != "m" else parts

    def fence(self, name: str) -> str:
        form = "postfix" if name in (")", "]", "}") or name.startswith("end") else "prefix"
        shown = in_html(FENCES[name][0])
        return f'<mo form="{form}" fence="true" stretchy="true">{shown}</mo>' if shown else ""

    def table(self, rows: Sequence[Sequence[Notation]]) -> str:
        cells = ("".join(f"{CELL}{self.of(cell)}</mtd>" for cell in row) for row in rows)
        lines = (f"<mtr>{each}</mtr>" for each in cells)
        return f'<mtable displaystyle="true">{"".join(lines)}</mtable>'


def _choice_cells(rows: Sequence[tuple[Notation, Notation | None]]) -> list[tuple[Notation, ...]]:
    return [
        (value, Words("otherwise") if test is None else CellRow((Words("if "), test)))
        for value, test in rows
    ]


def _letters(name: str, several: bool) -> str:
    """A name as its letters: of several values they are bold."""
    shown = GREEK.get(name, name)
    if not several:
        return shown
    return "".join(_bold(char) for char in shown)


def _bold(char: str) -> str:
    if not ("a" <= char.lower() <= "z"):
        return char
    first = "A" if char.isupper() else "a"
    return chr(BOLD_ITALIC[first] + ord(char) - ord(first))


def _latex(notation: Notation) -> str:
    match notation:
        case Identifier(name=name, several=several):
            return _latex_name(name, several)
        case Numeral(text=text):
            return in_latex(text)
        case SignCell(name=name):
            return SIGNS[name][1] if name in SIGNS else in_latex(name)
        case Words(text=text):
            return rf"\text{{{in_latex(text)}}}"
        case CellRow(parts=parts):
            return " ".join(map(_latex, parts))
        case Script(base=base, below=below, above=above):
            low = f"_{{{_latex(below)}}}" if below is not None else ""
            high = f"^{{{_latex(above)}}}" if above is not None else ""
            return f"{{{_latex(base)}}}{low}{high}"
        case Large(sign=sign, below=below):
            lines = r" \\ ".join(map(_latex, below))
            shown = rf"\mathop{{{SIGNS[sign][1]}}}\limits"
            return rf"{shown}_{{\substack{{{lines}}}}}" if below else SIGNS[sign][1]
        case Fraction(top=top, bottom=bottom):
            return rf"\frac{{{_latex(top)}}}{{{_latex(bottom)}}}"
        case Root(body=body):
            return rf"\sqrt{{{_latex(body)}}}"
        case Fenced(left=left, body=body, right=right):
            return rf"\left{FENCES[left][1]} {_latex(body)} \right{FENCES[right][1]}"
        case Choices(rows=rows):
            return _latex_table("cases", _choice_cells(rows))
        case CellLines(rows=rows):
            return _latex_table("aligned", rows)
        case Placed(body=body):
            return _latex(body)
        case _:
            assert_never(notation)


def _latex_table(kind: str, rows: Sequence[Sequence[Notation]]) -> str:
    between = " && " if kind == "aligned" else " & "
    first = "& " if kind == "aligned" else ""
    lines = (first + between.join(map(_latex, row)) for row in rows)
    body = r" \\ ".join(lines)
    return rf"\begin{{{kind}}}{body}\end{{{kind}}}"


def _latex_name(name: str, several: bool) -> str:
    if several:
        return rf"\boldsymbol{{{in_latex(name)}}}"
    if name in GREEK or name in ("max", "min"):
        return rf"\{name}"
    return in_latex(name) if len(name) == 1 else rf"\mathit{{{in_latex(name)}}}"
