"""What sanitizers and the race detector report, led back to lines of kernels and of formulas."""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from cvmgen.build.process import run_command
from cvmgen.build.source_map import BlockLines, read_blocks, spec_formula

# A place in machine code: an instruction and, behind "<", the call that led there from a kernel.
_CODE = re.compile(r"\{(0x[0-9a-f]+)(?:<(0x[0-9a-f]+))?\}")
_LINE = re.compile(r"(?P<file>[\w./+-]+\.(?:cu|cc|h)):(?P<line>\d+)(?::\d+)?")

# Of a sanitizer's report: its first line, up to the memory map that no reader of kernels needs.
_BEGIN = re.compile(r"^.*(?:runtime error: |ERROR: \w+Sanitizer).*$", re.MULTILINE)
_END = re.compile(r"^(?:SUMMARY: |Shadow bytes )", re.MULTILINE)

_PROGRAMS = ("addr2line", "llvm-addr2line")


def explain_report(
    report: str,
    sources: Mapping[str, str],
    library: Path | None = None,
    manifest: Path | None = None,
) -> str:
    """A report whose places in kernels name their formulas, as in `cvm/dense.cu:31
    (spec/cvm/nn.cvm:36: Y[i, j] = ...)`.

    Of what a process with a sanitizer wrote, the report alone is left. `sources` are the files
    that the `library` was made of. Where it has to be asked for lines (the race detector knows
    instructions only), addr2line or llvm-addr2line is needed; without one these stay numbers. The
    `manifest` tells where in the spec the formulas stand; without it they are told by their names.
    """
    if begin := _BEGIN.search(report):
        end = _END.search(report, begin.end())
        report = report[begin.start() : end.start() if end else len(report)].strip()
    if library is not None:
        report = _with_lines(report, sources, library)
    blocks = read_blocks(manifest)
    return _LINE.sub(lambda found: _with_formula(found, sources, blocks), report)


def _with_formula(found: re.Match[str], sources: Mapping[str, str], blocks: BlockLines) -> str:
    name = _source_name(found["file"], sources)
    if name is None:
        return found[0]
    place = f"{name}:{found['line']}"
    if not name.endswith(".cu"):
        return place
    said = spec_formula(sources[name], int(found["line"]), blocks)
    return place if said is None else f"{place} ({said})"


def _source_name(path: str, sources: Mapping[str, str]) -> str | None:
    """The source that a compiler's path names: it may stand in a folder of the compiler's."""
    fitting = [name for name in sources if path == name or path.endswith(f"/{name}")]
    return max(fitting, key=len, default=None)


# ---------------------------------------------------------------- instructions


def _with_lines(report: str, sources: Mapping[str, str], library: Path) -> str:
    addresses = {each for pair in _CODE.findall(report) for each in pair if each}
    lines = _lines(sorted(addresses), library)

    def place(found: re.Match[str]) -> str:
        frames = [line for each in found.groups() if each for line in lines.get(each, ())]
        named = [line for line in frames if _is_source(line, sources)]
        return _chain(named) if named else found[0]

    return _CODE.sub(place, report)


def _chain(frames: Sequence[str]) -> str:
    """The innermost place and, if that is in a header, the place in a kernel that led there."""
    first = frames[0]
    kernel = next((line for line in frames if _is_kernel(line)), first)
    return first if kernel == first else f"{first}, called at {kernel},"


def _is_kernel(line: str) -> bool:
    found = _LINE.search(line)
    return found is not None and found["file"].endswith(".cu")


def _is_source(line: str, sources: Mapping[str, str]) -> bool:
    found = _LINE.search(line)
    return found is not None and _source_name(found["file"], sources) is not None


def _lines(addresses: Iterable[str], library: Path) -> dict[str, list[str]]:
    """The places of instructions in the text, each with those that it was inlined in."""
    programs = [path for name in _PROGRAMS if (path := shutil.which(name))]
    addresses = tuple(addresses)
    if not programs or not addresses:
        return {}
    status, output = run_command((programs[0], "-a", "-i", "-e", str(library), *addresses))
    found: dict[str, list[str]] = {}
    at: list[str] = []
    for line in output.splitlines() if status == 0 else ():
        if line.startswith("0x"):
            at = found.setdefault(hex(int(line, 16)), [])
        else:
            at.append(line.partition(" (")[0])
    return found
