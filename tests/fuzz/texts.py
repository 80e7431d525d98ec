"""Hostile texts: what ends, joins, nests, formats or hides in some language that we write."""

from __future__ import annotations

from random import Random

# Stands nowhere in C or Python outside of comments and strings.
CANARY = "`"
SEEN = (
    "*/", "/*", "//", "*\\", "/", "*", "??/", "??'", "\\", "\\N{DIGIT ONE}", "\\x", "\\u12",
    "'''", "%s", "%n", "%", "{{ x }}", "{% x %}", "{#", "#", "#include <x>", "#define X", "$(id)",
    "<script>", "&amp;", "]]>", "; return 1;", "__asm__(1);", "{", "}", "(", ")", "name", " ", "é",
    "∑", "\U0001f600", CANARY, CANARY,
)  # fmt: skip
QUOTES = ('"', '\\"', '"""', "'")
HIDDEN = (
    "\n", "\r", "\r\n", "\\\n", "*\\\n/", "??/\n", "\t", "\0", "\x07", "\x1b[2J", "\x7f", "\x9b1m",
    "\u200f", "\u202e", "\u2028", "\u2029", "\x85", "\x0b", "\ufeff", "\U000e0001", "\ud800",
)  # fmt: skip


def hostile(random: Random, pieces: tuple[str, ...] = (*SEEN, *QUOTES, *HIDDEN)) -> str:
    return "".join(random.choices(pieces, k=random.randrange(1, 9)))
