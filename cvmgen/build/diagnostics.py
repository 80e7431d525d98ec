"""What a compiler said, shortened, and led back to the line of the formula."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

SHOWN_LINES = 15

# gcc, clang: `c/conv2d.c:12:5: error: ...`;  nvcc, NVRTC: `conv2d.cu(12): error: ...`.
_FIRST_ERROR = re.compile(
    r"^(?P<file>[^\s:()]+)(?::(?P<line>\d+)(?::\d+)?:|\((?P<cuda_line>\d+)\):)\s+"
    r"(?:fatal |catastrophic )?error\b",
    re.MULTILINE,
)
# The last stage for CUDA knows no lines, only kernels.
_PTXAS_ERROR = re.compile(
    r"^ptxas (?:error|fatal)\s*:(?: *Entry function '(?P<kernel>\w+)')?", re.MULTILINE
)
# What it says of kernels that it has no objections to.
_PTXAS_INFO = re.compile(r"\s*ptxas (?:info\b|\s+\.)|\s+\d+ bytes stack frame")
_SPEC_PLACE = re.compile(r"\bspec/[^\s:*]+\.cvm:\d+")


def explain(headline: str, log: str, sources: Mapping[str, str], kept: Path | None = None) -> str:
    """The message for a failed compilation.

    `headline` says what failed. Of the compiler's `log` the first error and a few lines after it
    are quoted. When that error lies in one of `sources` below a comment that names a place in a
    spec, the message names that place. `kept` is where the sources can be looked at.
    """
    lines = [headline]
    found = _FIRST_ERROR.search(log)
    place = _spec_place(found, sources) if found else None
    if found is None and (found := _PTXAS_ERROR.search(log)):
        place = _kernel_place(found["kernel"], sources)
    if found:
        lines[0] += f", in code that comes from {place}" if place else ""
    lines[0] += ":"
    lines.extend(_excerpt(log[found.start() :] if found else log))
    if kept is not None:
        lines.append(f"The sources are kept in {kept}")
    return "\n".join(lines)


def spec_place(text: str, line: int) -> str | None:
    """The last `spec/….cvm:LINE` that `text` names up to and including its 1-based `line`."""
    before = "\n".join(text.splitlines()[:line])
    places: list[str] = _SPEC_PLACE.findall(before)
    return places[-1] if places else None


def _spec_place(found: re.Match[str], sources: Mapping[str, str]) -> str | None:
    name = found["file"].removeprefix("./")
    text = sources.get(name)
    return None if text is None else spec_place(text, int(found["line"] or found["cuda_line"]))


def _kernel_place(kernel: str | None, sources: Mapping[str, str]) -> str | None:
    """The last place that is named up to the end of a kernel."""
    head = re.compile(rf"\b{kernel}\(")
    for text in sources.values() if kernel else ():
        if found := head.search(text):
            end = text.find("\n}", found.end())
            return spec_place(text, text.count("\n", 0, end if end > 0 else len(text)) + 1)
    return None


def _excerpt(log: str) -> list[str]:
    lines = [line.rstrip() for line in log.strip().splitlines() if not _PTXAS_INFO.match(line)]
    shown = [f"  {line}".rstrip() for line in lines[:SHOWN_LINES]]
    if len(lines) > SHOWN_LINES:
        shown.append(f"  ... and {len(lines) - SHOWN_LINES} more lines")
    return shown or ["  (the compiler said nothing)"]
