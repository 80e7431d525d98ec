"""What a compiler said, shortened, and led back to the line of the formula."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

from cvmgen.build.source_map import BlockLines, read_blocks, spec_place

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


def explain(
    headline: str,
    log: str,
    sources: Mapping[str, str],
    kept: Path | None = None,
    manifest: Path | None = None,
) -> str:
    """The message for a failed compilation.

    `headline` says what failed. Of the compiler's `log` the first error and a few lines after it
    are quoted. When that error lies in one of `sources` below a comment that names a line of a
    formula, the message names it, by the spec's file where the `manifest` tells that. `kept` is
    where the sources can be looked at.
    """
    lines = [headline]
    found = _FIRST_ERROR.search(log)
    blocks = read_blocks(manifest)
    place = _spec_place(found, sources, blocks) if found else None
    if found is None and (found := _PTXAS_ERROR.search(log)):
        place = _kernel_place(found["kernel"], sources, blocks)
    if found:
        lines[0] += f", in code that comes from {place}" if place else ""
    lines[0] += ":"
    lines.extend(_excerpt(log[found.start() :] if found else log))
    if kept is not None:
        lines.append(f"The sources are kept in {kept}")
    return "\n".join(lines)


def _spec_place(found: re.Match[str], sources: Mapping[str, str], blocks: BlockLines) -> str | None:
    text = sources.get(found["file"].removeprefix("./"))
    if text is None:
        return None
    return spec_place(text, int(found["line"] or found["cuda_line"]), blocks)


def _kernel_place(kernel: str | None, sources: Mapping[str, str], blocks: BlockLines) -> str | None:
    """The last place that is named up to the end of a kernel."""
    head = re.compile(rf"\b{kernel}\(")
    for text in sources.values() if kernel else ():
        if found := head.search(text):
            end = text.find("\n}", found.end())
            line = text.count("\n", 0, end if end > 0 else len(text)) + 1
            return spec_place(text, line, blocks)
    return None


def _excerpt(log: str) -> list[str]:
    lines = [line.rstrip() for line in log.strip().splitlines() if not _PTXAS_INFO.match(line)]
    shown = [f"  {line}".rstrip() for line in lines[:SHOWN_LINES]]
    if len(lines) > SHOWN_LINES:
        shown.append(f"  ... and {len(lines) - SHOWN_LINES} more lines")
    return shown or ["  (the compiler said nothing)"]
