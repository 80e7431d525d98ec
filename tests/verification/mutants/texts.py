"""Kinds of faults in text: tokens that a printer, or the author of a formula, got wrong."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

Span = tuple[int, int]
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
    "a statement lost": ((r"(?m)^ +[\w.>-]+(?:\[.+?\])* [+|]?= [^;{}]+;$", ";"),),
    "an element beside": ((r"(?<=\w)\]", " + 1]"), (r"(?<=\w)\]", " - 1]")),
    "another lane": ((r"\b(\w+_(?:lane|side|few|result|share))\]", r"(\1 ^ 1)]"),),
    "another stride": ((r" \* (\w+) \+ (\w+)\]", r" + \2 * \1]"),),
    "a loop that begins later": ((r"(?<=int64_t )(\w+) = 0; \1 <", r"\1 = 1; \1 <"),),
}
CUDA_KINDS: Mapping[str, tuple[tuple[str, str], ...]] = {
    **{
        name: C_KINDS[name]
        for name in (
            "< for <=",
            "no conversion",
            "another type",
            "= for +=",
            "or for and",
            "another operator",
            "a constant one off",
            "the other extreme",
            "a statement lost",
            "an element beside",
            "another stride",
        )
    },
    "no barrier": ((r"(?m)^ *__syncthreads\(\);.*$", ""),),
    "another lane": ((r"\.at\[lane\](?! =)", ".at[lane ^ 1]"), (r"\.at\[lane\] =", ".at[0] =")),
    "another thread": (
        (r"\bcvmgen_thread\(\)", "(cvmgen_thread() + 1)"),
        (r"\bthreadIdx\.x\b", "(threadIdx.x + 1)"),
        (r"\bteam\.(lane|lanes)\b", r"(team.\1 + 1)"),
    ),
    "all threads store": ((r"if \((?:cvmgen_\w+\(team\)|threadIdx\.x == 0)\) ", ""),),
}
FORMULA_KINDS: Mapping[str, tuple[tuple[str, str], ...]] = {
    "another index": (
        (r"\[(\w+), (\w+)(?=[,\]])(?!\] (?:=|if)|<)", r"[\2, \1"),
        (r"(?<=[\[ ])(\w)\](?! =)", r"\1 + 1]"),
    ),
    "another bound": (
        (r"(?<=[\[ ])(\w+) < ([A-Zk]\w*)(?=[,\] ])", r"\1 < \2 - 1"),
        (r"< (N|XH|XW|H|W)\b(?=[ )])", r"<= \1"),
    ),
    "no guard": ((r"0 <= ([\w*+ -]+) < ", r"\1 < "), (r"(?<=0 <= )([\w*+ -]+) < [A-Z]\w*", r"\1")),
    "another attribute": (
        (r"\b([PSDG])H\b", r"\1W"),
        (r"\b([PSDG])W\b", r"\1H"),
        (r"\b(scale|shift_bit|by|pad|s)\b(?= |\]|\))", r"(\1 + 1)"),
    ),
    "another operator": ((r" \+ ", " - "), (r" - ", " + "), (r" \* ", " + ")),
    "another reduction": ((r"= sum\[", "= max["), (r"= max\[", "= min["), (r"\bmax\(", "min(")),
    "another constant": ((r"(?<= )1\b(?! in)", "2"), (r"(?<= )7\b", "8"), (r"(?<=\()0,", "1,")),
    "another rounding": ((r" div ", " tdiv "), (r" tdiv ", " div "), (r" mod ", " rem ")),
    "a factor left out": ((r" \* [A-Za-z]\[[^\]]+\]", ""),),
}


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


def kernel_spans(text: str, opset: str, name: str) -> list[Span]:
    """The bodies of the functions of an operator's nests, without their comments."""
    found: list[Span] = []
    heads = (
        rf"static void (?:TYPED\()?{name}_",
        rf"{name}_\w+_body\(",
        rf"{opset}_{name}_\w+\(const __grid",
    )
    for each in re.finditer(rf"^(?:{'|'.join(heads)}).*?^}}", text, re.M | re.S):
        low = each.start()
        for comment in re.finditer(r"/\*.*?\*/", each[0], re.S):
            found.append((low, each.start() + comment.start()))
            low = each.start() + comment.end()
        found.append((low, each.end()))
    return found
