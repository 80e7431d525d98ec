"""Kinds of faults in text: tokens that a printer, or the author of a formula, got wrong."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

# What a token is replaced by, for each place where it stands.
C_KINDS: Mapping[str, tuple[tuple[str, str], ...]] = {
    "< for <=": ((r" < (?=\w)", " <= "), (r" <= (?=\w)", " < ")),
    "no conversion": ((r"\((?:u?int(?:8|32|64)_t|wide_t)\)(?=[\w(])", ""),),
    "another type": (
        (r"\buint32_t (?=\w+ =)", "uint8_t "),
        (r"\bconst int64_t (?=\w+ =)", "const int8_t "),
    ),
    "no parentheses": ((r"\(([a-z_\d]+ [+-] [a-z_\d]+)\) \*", r"\1 *"),),
    "= for +=": ((r"(?m)^( +[\w\[\] .+*]+) \+= ", r"\1 = "),),
    "or for and": ((r" && ", " || "), (r" \|\| ", " && ")),
    "another operator": ((r" \* (?=\w)", " + "), (r" / (?=\w)", " % "), (r" >> ", " / ")),
    "a constant one off": ((r"(?<![\w.])1\b(?!;)", "2"), (r"(?<![\w.])0\b(?! *[;<])", "1")),
    "the other extreme": ((r"_min_", "_max_"), (r"_max_", "_min_")),
    "a statement lost": ((r"\n +[\w\[\] .+*()>-]+ [+|]?= [^;{}]+;(?=\n)", "\n;"),),
    "an element beside": ((r"(?<=\w)\]", " + 1]"), (r"(?<=\w)\]", " - 1]")),
}
FORMULA_KINDS: Mapping[str, tuple[tuple[str, str], ...]] = {
    "another index": ((r"\[i, j\]", "[j, i]"), (r"\[k, i\]", "[i, k]"), (r"\bk\]", "k + 1]")),
    "another bound": ((r"\[(\w) < ([A-Zk])", r"[\1 < \2 - 1"), (r"< N\b", "<= N")),
    "another operator": ((r" \+ ", " - "), (r" - ", " + "), (r" \* ", " + ")),
    "another reduction": ((r"= sum\[", "= max["), (r"= max\[", "= min["), (r"\bmax\(", "min(")),
    "another constant": ((r"(?<= )1\b(?! in)", "2"), (r"(?<= )7\b", "8")),
    "another rounding": ((r" div ", " tdiv "), (r" tdiv ", " div "), (r" mod ", " rem ")),
}


Span = tuple[int, int]


def replaced(
    text: str, rules: tuple[tuple[str, str], ...], spans: Sequence[Span]
) -> Iterator[tuple[str, str, str]]:
    """The line before and after, and the whole text, for every place of a rule in some spans."""
    for low, high in spans:
        for rule, new in rules:
            for found in re.finditer(rule, text[low:high]):
                begin, end = low + found.start(), low + found.end()
                other = text[:begin] + found.expand(new) + text[end:]
                yield line(text, begin), line(other, begin), other


def line(text: str, at: int) -> str:
    """The line that holds a place."""
    begin = text.rfind("\n", 0, at) + 1
    return text[begin:].lstrip("\n").split("\n", 1)[0].strip()


def kernel_spans(text: str, name: str) -> list[Span]:
    """The bodies of the functions of an operator's nests, without their comments."""
    found: list[Span] = []
    for each in re.finditer(rf"^static void (?:TYPED\()?{name}_.*?^}}", text, re.M | re.S):
        low = each.start()
        for comment in re.finditer(r"/\*.*?\*/", each[0], re.S):
            found.append((low, each.start() + comment.start()))
            low = each.start() + comment.end()
        found.append((low, each.end()))
    return found
