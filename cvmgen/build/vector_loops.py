"""Which loops of a C file the compiler made vectors of: what it says itself."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from cvmgen.build.cache import get_or_build
from cvmgen.build.library import compiler_notes

# gcc tells bytes, clang elements; of a loop for several processors or types there are several.
_ASKED = {"gcc": ("-fopt-info-vec-optimized",), "clang": ("-Rpass=loop-vectorize",)}
_TOLD = {
    "gcc": (re.compile(r"^([^\s:]+):(\d+):.*loop vectorized using (\d+) byte", re.M), "bytes"),
    "clang": (
        re.compile(r"^([^\s:]+):(\d+):.*vectorized loop \(vectorization width: (\d+)", re.M),
        "elements",
    ),
}
_LOOP = re.compile(r"^( *)(?:for|while) \(", re.M)
_FUNCTION = re.compile(r"^([a-z][\w *]*?)\b(?:TYPED\()?(\w+)\)?\([^;{}]*\{$", re.M)
_KERNEL = "static void "


@dataclass(frozen=True, slots=True)
class InnerLoop:
    """A loop that has none inside: its 1-based line, its head, the function that it is in, and the
    widths of the vectors that the compiler made of it."""

    line: int
    head: str
    function: str
    vectors: tuple[str, ...] = ()


def inner_loops(sources: Mapping[str, str], unit: str) -> list[InnerLoop]:
    """The inner loops of a unit, one of the sources of a library, with their vectors.

    Raises BuildError when there is no compiler or it refuses the unit.
    """
    found = vector_widths(sources, unit)
    text = sources[unit]
    lines = text.splitlines()
    return [
        InnerLoop(line, head_at(lines, line - 1), function, found.get(line, ()))
        for line, function in kernel_loops(text)
    ]


def vector_widths(sources: Mapping[str, str], unit: str) -> dict[int, tuple[str, ...]]:
    """For each line with a loop that became vectors: their widths, the widest first."""
    notes = compiler_notes(sources, unit, _ASKED)

    def build(path: Path) -> None:
        log = notes.read(path.with_suffix(".o"))
        path.write_text(json.dumps(sorted(reported_widths(log, notes.kind, unit))))

    widths: dict[int, list[str]] = {}
    kept = json.loads(get_or_build(notes.key, "-vectors.json", build).read_text(encoding="utf-8"))
    for line, width in reversed(kept):
        widths.setdefault(line, []).append(f"{width} {_TOLD[notes.kind][1]}")
    return {line: tuple(each) for line, each in widths.items()}


def reported_widths(log: str, kind: str, unit: str) -> set[tuple[int, int]]:
    """The lines of a unit and the widths that a compiler's log tells of them."""
    found = _TOLD[kind][0].findall(log)
    return {(int(line), int(width)) for name, line, width in found if name.endswith(unit)}


def kernel_loops(text: str) -> Iterator[tuple[int, str]]:
    """The lines of the loops in kernels that have no loops inside, and their functions."""
    functions = [(each.start(), each[1], each[2]) for each in _FUNCTION.finditer(text)]
    loops = list(_LOOP.finditer(text))
    for at, loop in enumerate(loops):
        following = loops[at + 1] if at + 1 < len(loops) else None
        inside = text[loop.end() : following.start()] if following else ""
        # Generated text is indented: what stands deeper without a way back out is inside.
        if following and len(following[1]) > len(loop[1]) and not closes_loop(inside, len(loop[1])):
            continue
        owners = [(kind, name) for start, kind, name in functions if start < loop.start()]
        if owners and owners[-1][0] == _KERNEL:
            yield text.count("\n", 0, loop.start()) + 1, owners[-1][1]


def closes_loop(text: str, margin: int) -> bool:
    """Whether a line in the text stands no deeper than a margin, behind the head of a loop."""
    lines = (line for line in text.splitlines()[1:] if line.strip())
    return any(len(line) - len(line.lstrip()) <= margin for line in lines)


def head_at(lines: list[str], at: int) -> str:
    """The head of a loop, on one line."""
    head = lines[at].strip()
    while head.count("(") > head.count(")") and at + 1 < len(lines):
        at += 1
        head += f" {lines[at].strip()}"
    depth = 0
    for place, char in enumerate(head):
        depth += (char == "(") - (char == ")")
        if char == ")" and depth == 0:
            return head[: place + 1]
    return head
