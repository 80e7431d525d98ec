"""Long lines of generated code to several: broken after commas and operators, never in texts."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from functools import cache

WIDTH = 100
QUOTES = "\"'"
BREAKS = (", ", "; ", " && ", " || ", " & ", " | ", " + ", " - ", " * ", " ? ", " : ", " PRId64")
PYTHON_WORDS = (" if ", " else ", " and ", " or ", " for ")
PYTHON_BREAKS = (", ", *PYTHON_WORDS, " + ", " - ", " * ", " // ", " % ")
# What may stand on both sides of a value that gets parentheses.
STATEMENT = re.compile(r"(?P<head>if |elif |return |.+? [-+*]?= )(?P<value>.*?)(?P<end>:?)")


def wrap_c(lines: Iterable[str]) -> list[str]:
    """C lines of at most WIDTH columns where a break is possible."""
    return [piece for line in lines for piece in (_comment(line) or _code(line))]


def wrap_python(lines: Iterable[str]) -> list[str]:
    """Python lines, broken only inside brackets; comments by words."""
    return [piece for line in lines for piece in _python(line)]


def _comment(line: str) -> list[str] | None:
    """A comment on a line of its own, wrapped by words."""
    text = line.strip()
    if len(line) <= WIDTH or not (text.startswith("/*") and text.endswith("*/")):
        return None
    pad = line[: len(line) - len(line.lstrip())]
    *words, last = text.removesuffix(" */").split(" ")
    return _words([*words, f"{last} */"], pad, pad + "   ")


def _words(words: Iterable[str], first: str, rest: str) -> list[str]:
    lines, current = [], first
    for word in words:
        joined = current + word if current in (first, rest) else f"{current} {word}"
        if len(joined) > WIDTH and current not in (first, rest):
            lines.append(current)
            joined = rest + word
        current = joined
    return [*lines, current]


def _code(line: str) -> list[str]:
    head, word, value = line.partition(") return ")
    if len(line) > WIDTH and word and line.lstrip().startswith("if ("):
        pad = line[: len(line) - len(line.lstrip())] + "    "
        return [*_code(f"{head})"), f"{pad}return {value}"]
    if line.lstrip().startswith("#"):
        return [line]
    pad = line[: len(line) - len(line.lstrip())] + "    "
    return _broken(line, BREAKS, 0, pad)


def _python(line: str) -> list[str]:
    text = line.lstrip()
    pad = line[: len(line) - len(text)]
    if len(line) <= WIDTH:
        return [line]
    if text.startswith("# "):
        return _words(text.split(" "), pad, pad + "#   ")
    inner, parts = f"{pad}    ", STATEMENT.fullmatch(text)
    whole = _broken(line, PYTHON_BREAKS, 1, inner)
    broken_head = parts is not None and len(whole[0]) < len(pad + parts["head"].rstrip())
    if parts and (
        broken_head or any(depth == 0 for *_, depth in _places(parts["value"], PYTHON_BREAKS))
    ):
        # The value in parentheses, so that it can be broken where it is not in brackets.
        value = _broken(inner + parts["value"], PYTHON_BREAKS, 0, inner)
        return [f"{pad}{parts['head']}(", *value, f"{pad}){parts['end']}"]
    return whole


def _broken(line: str, signs: tuple[str, ...], least_depth: int, pad: str) -> list[str]:
    """A line in pieces: each ends at its last break at the least depth of brackets, or, where
    none comes in time, behind the sign of an assignment in C, or at the first."""
    places = [each for each in _places(line, signs) if each[2] >= least_depth]
    stores = [each for each in _places(line, (" = ",)) if least_depth == 0]
    pieces: list[str] = []
    start, lead = 0, ""
    while len(lead) + len(line) - start > WIDTH:
        shift = len(lead) - start
        left = [each for each in places if each[1] + shift > len(pad)]
        if all(sign + shift >= WIDTH for sign, *_ in left):
            left = [each for each in stores if len(pad) < each[1] + shift <= WIDTH] or left
        fit = [(-depth, place) for sign, place, depth in left if sign + shift < WIDTH]
        if not left:
            break
        end = max(fit)[1] if fit else left[0][1]
        # What is stored to stays whole where its line has room for it.
        whole = (at for _, at, depth in stores if depth == 0 and end < at <= WIDTH - shift)
        end = next(whole, end)
        pieces.append(lead + line[start:end].rstrip())
        start, lead = end, pad
    return [*pieces, lead + line[start:]]


def _places(line: str, signs: tuple[str, ...]) -> Iterator[tuple[int, int, int]]:
    """Where a sign begins, where a line may end there, and the depth of brackets around."""
    depth = 0
    for found in _marks(signs).finditer(line):
        mark = found[0]
        if mark in "([{":
            depth += 1
        elif mark in ")]}":
            depth -= 1
        elif mark[0] not in QUOTES:
            end = found.end() if mark in (", ", "; ", " = ") else found.start() + 1
            yield found.start(), end, depth


@cache
def _marks(signs: tuple[str, ...]) -> re.Pattern[str]:
    """Texts in quotes, which end with the line at the latest, brackets, and the signs."""
    texts = [rf"{quote}(?:\\.|[^\\{quote}])*(?:{quote}|\\?$)" for quote in QUOTES]
    return re.compile("|".join([*texts, r"[()\[\]{}]", *map(re.escape, signs)]), re.S)
