"""Text of others in our text: one function for each context.

Names, docs, messages, attributes and paths come from spec files and models that anybody may have
written. What they say must be seen where it is shown, and must never be read as code.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Sequence
from html import escape
from typing import Any
from unicodedata import category

# Control, format (such as those that turn the direction of text), surrogate, line and paragraph.
HIDDEN = frozenset({"Cc", "Cf", "Cs", "Zl", "Zp"})


def hidden(char: str) -> bool:
    """Whether a character cannot be seen, or changes how others are seen; tabs are spaces. So are
    those that Unicode leaves to programs, with which text is marked while it is made."""
    return (category(char) in HIDDEN and char != "\t") or "\ufdd0" <= char <= "\ufdef"


def printable(text: str) -> str:
    """A text for a terminal, or for a line of a file: hidden characters are spelled, as \\x1b."""
    if text.isprintable():
        return text
    return "".join(spelled(char) if hidden(char) else char for char in text)


def spelled(char: str) -> str:
    return char.encode("unicode_escape").decode("ascii")


def lines_for_terminal(text: str) -> str:
    """A text of several lines for a terminal."""
    return "\n".join(printable(line) for line in text.split("\n"))


def json_text(value: Any, indent: int | None = 2) -> str:
    """JSON for people too: characters as they are, but for hidden ones; without an `indent` on one
    line."""
    text = json.dumps(value, indent=indent, ensure_ascii=False)
    return "".join(
        json.dumps(char)[1:-1] if hidden(char) and char != "\n" else char for char in text
    )


def in_c_comment(text: str) -> str:
    """The inside of a C comment, of one line or several, which nothing in it ends or nests.

    A line that ends with a backslash, or with the trigraph of one, would be joined to the next,
    and the two characters that end a comment may come together so.
    """
    text = lines_for_terminal(text).replace("??/", "? ?/").replace("*/", "* /").replace("/*", "/ *")
    return re.sub(r"\\[ \t]*(?=\n|$)", r"\\ .", text)


def in_line_comments(text: str, sign: str) -> str:
    """A text as comments that end with their lines, as `sign` begins them in Rust and CMake."""
    return "\n".join(f"{sign} {line}".rstrip() for line in lines_for_terminal(text).split("\n"))


def in_c_string(text: str) -> str:
    """The inside of a C string literal with this text in UTF-8."""
    return "".join(map(_c_char, text)).replace("??", "?\\?")


def _c_char(char: str) -> str:
    if char in '"\\':
        return f"\\{char}"
    if hidden(char):
        return "".join(f"\\{byte:03o}" for byte in char.encode("utf-8", "backslashreplace"))
    return char


def in_c_format(text: str) -> str:
    """The inside of a C string literal that is a format, and prints this text."""
    return in_c_string(text).replace("%", "%%")


def in_html(text: str) -> str:
    """The inside of an element of a page, or of an attribute in quotes."""
    return escape(lines_for_terminal(text), quote=True)


def html_table(heads: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """A table of a page; what its cells say is text."""
    shown = "".join(f"<th>{in_html(each)}</th>" for each in heads)
    lines = ("".join(f"<td>{in_html(str(cell))}</td>" for cell in row) for row in rows)
    body = "".join(f"<tr>{line}</tr>" for line in lines)
    return f"<table><thead><tr>{shown}</tr></thead><tbody>{body}</tbody></table>"


def json_in_html(value: Any) -> str:
    """JSON as the inside of a script of a page, which nothing in it ends."""
    text = json.dumps(value, separators=(",", ":"))
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def in_markdown(text: str) -> str:
    """Words of a paragraph of Markdown: no sign of them is taken as one of its own. Code between
    single backquotes stays code."""
    pieces = printable(text.replace("\n", " ")).split("`")
    if len(pieces) % 2 == 0:  # one is alone
        return _plain_markdown("`".join(pieces))
    shown = (
        f"`{each}`" if at % 2 and each.strip() else _plain_markdown(each)
        for at, each in enumerate(pieces)
    )
    return "".join(shown)


def _plain_markdown(text: str) -> str:
    return re.sub(r"([\\`*_{}\[\]<>()#+!|&~-])", r"\\\1", text)


def in_markdown_code(text: str, language: str = "cvm") -> str:
    """A block of code of Markdown, which nothing in the text ends."""
    runs = (len(each) for each in re.findall("`+", text))
    fence = "`" * max(3, 1 + max(runs, default=0))
    return f"{fence}{language}\n{lines_for_terminal(text)}\n{fence}"


LATEX = {char: f"\\{char}" for char in "#$%&_{}"}
LATEX |= {"\\": r"\backslash{}", "^": r"\wedge{}", "~": r"\sim{}", "<": "{<}", ">": "{>}", "`": "'"}


IN_TYPEWRITER = {" ": "\\ ", **{char: rf"\text{{{char}}}" for char in "'-,:"}}
"""What formulas set otherwise than words."""


def in_latex(text: str) -> str:
    """A text in a formula of LaTeX, or in the words within one."""
    return "".join(LATEX.get(char, char) for char in printable(text))


def latex_table(heads: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """A table as a block of LaTeX, which notebooks and papers show alike; what its cells say is
    text, in letters of one width."""
    cells = (map(_latex_cell, row) for row in (heads, *rows))
    lines = " \\\\\n".join(" & ".join(row) for row in cells)
    return f"$$\n\\begin{{array}}{{{'l' * len(heads)}}}\n{lines}\n\\end{{array}}\n$$"


def _latex_cell(cell: object) -> str:
    shown = (IN_TYPEWRITER.get(char) or LATEX.get(char, char) for char in printable(str(cell)))
    return rf"\mathtt{{{''.join(shown)}}}"


def in_docstring(text: str) -> str:
    """The inside of a Python docstring of one line or several."""
    return lines_for_terminal(text).replace("\\", "\\\\").replace('"""', "'''")


def python_string(text: str) -> str:
    """A Python string literal with this text, in double quotes."""
    return "".join(map(_python_char, text)).join('""')


def _python_char(char: str) -> str:
    return f"\\{char}" if char in '"\\' else spelled(char) if hidden(char) else char
