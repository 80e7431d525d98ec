"""Long lines of generated code to several: broken after commas and operators, never in texts."""

from __future__ import annotations

from collections.abc import Iterable

WIDTH = 100
BREAKS = (", ", " && ", " || ", " + ", " - ", " * ", " ? ", " : ", " PRId64")


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
    return _words(text, pad, pad + "   ")


def _words(text: str, first: str, rest: str) -> list[str]:
    lines, current = [], first
    for word in text.split(" "):
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
    pieces: list[str] = []
    pad = line[: len(line) - len(line.lstrip())] + "    "
    while len(line) > WIDTH and not line.lstrip().startswith("#"):
        at = _break(line, WIDTH, len(pad), nested=False)
        if at is None:
            break
        pieces.append(line[:at].rstrip())
        line = pad + line[at:].lstrip()
    return [*pieces, line]


def _python(line: str) -> list[str]:
    text = line.lstrip()
    pad = line[: len(line) - len(text)]
    if len(line) <= WIDTH:
        return [line]
    if text.startswith("# "):
        return _words(text, pad, pad + "#   ")
    pieces: list[str] = []
    while len(line) > WIDTH:
        at = _break(line, WIDTH, len(pad) + 4, nested=not pieces)
        if at is None:
            break
        pieces.append(line[:at].rstrip())
        line = f"{pad}    {line[at:].lstrip()}"
    return [*pieces, line]


def _break(line: str, width: int, least: int, *, nested: bool) -> int | None:
    """Where to break: the last place before `width` at the least depth of brackets."""
    best: tuple[int, int] | None = None
    depth, quote, at = 0, "", 0
    while at < min(len(line), width):
        char = line[at]
        if quote:
            if char == "\\":
                at += 1
            elif char == quote:
                quote = ""
        elif char in "\"'":
            quote = char
        elif char in "([{":
            depth += 1
        elif char in ")]}":
            depth -= 1
        else:
            found = next((sign for sign in BREAKS if line.startswith(sign, at)), None)
            place = at + (len(found) if found == ", " else 1) if found else 0
            allowed = place > least and (depth > 0 or not nested)
            if found and allowed and (best is None or depth <= best[0]):
                best = (depth, place)
        at += 1
    return None if best is None else best[1]
