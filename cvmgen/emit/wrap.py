"""Long lines of generated code to several: broken after commas and operators, never in texts."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

WIDTH = 100
PYTHON_WORDS = (" if ", " else ", " and ", " or ", " for ")
PYTHON_BREAKS = (", ", *PYTHON_WORDS, " + ", " - ", " * ", " // ", " % ")
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
        at = _break(line, WIDTH, len(pad))
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
    inner = f"{pad}    "
    head, value, end = _parted(text)
    if any(depth == 0 for _, depth in _breaks(value, 0)):
        return [f"{pad}{head}(", *_inside(inner + value, inner, 1), f"{pad}){end}"]
    return _inside(line, inner, 0)


def _parted(text: str) -> tuple[str, str, str]:
    """An assignment or a test as what stands before its value, the value, and what follows."""
    if text.startswith(("if ", "elif ")) and text.endswith(":"):
        word, _, value = text.partition(" ")
        return f"{word} ", value.removesuffix(":"), ":"
    for at, depth in _scan(text, 0):
        if depth == 0 and text.startswith(" = ", at):
            return text[: at + 3], text[at + 3 :], ""
    return "", "", ""


def _inside(line: str, pad: str, depth: int) -> list[str]:
    """Lines of code that begins inside `depth` brackets, broken inside brackets alone."""
    pieces: list[str] = []
    while len(line) > WIDTH:
        places = [
            (inside, -at)
            for at, inside in _breaks(line, depth)
            if inside > 0 and at > len(pad) + 4 and len(line[:at].rstrip()) <= WIDTH
        ]
        if not places:
            break
        depth, at = min(places)
        pieces.append(line[:-at].rstrip())
        line = pad + line[-at:].lstrip()
    return [*pieces, line]


def _breaks(line: str, depth: int) -> Iterator[tuple[int, int]]:
    """Where a line of Python can be broken, and how many brackets are open there."""
    for at, inside in _scan(line, depth):
        sign = next((each for each in PYTHON_BREAKS if line.startswith(each, at)), None)
        if sign is not None:
            yield at + (len(sign) if sign == ", " else 1), inside


def _scan(line: str, depth: int) -> Iterator[tuple[int, int]]:
    """The places outside strings, and how many brackets are open at each."""
    quote, escaped = "", False
    for at, char in enumerate(line):
        if quote:
            quote = "" if char == quote and not escaped else quote
            escaped = char == "\\" and not escaped
            continue
        if char in "\"'":
            quote = char
        depth += (char in "([{") - (char in ")]}")
        yield at, depth


def _break(line: str, width: int, least: int) -> int | None:
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
            if found and place > least and (best is None or depth <= best[0]):
                best = (depth, place)
        at += 1
    return None if best is None else best[1]
