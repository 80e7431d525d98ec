"""From lines of generated code to lines of formulas.

Generated code tells lines within the block of a formula, so that it stays as it is when the block
moves; the manifest tells where the blocks stand.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from pathlib import Path

BlockLines = Mapping[str, Mapping[str, str]]
"""For each operator, by its full name, where each of its blocks begins: `spec/cvm/nn.cvm:29`."""

# The first line of a file that belongs to one operator.
_OPERATOR = re.compile(r"/\* (\w+\.\w+): ")
# `/* dense line 8: Y[i, j] = ... */`, and in models `/* fc1: cvm.dense, line 8 */`.
_COMMENT = re.compile(
    r"(?:/\*|kernels of|(?P<operator>\w+\.\w+),) (?P<block>(?:(?:family |def )?\w+ )?)"
    r"line (?P<line>\d+)(?::\s+(?P<formula>.*?)(?= \*/))?",
    re.DOTALL,
)


def read_blocks(manifest: Path | None) -> BlockLines:
    """What a manifest tells of blocks: nothing if it is not there, or says nothing."""
    if manifest is None:
        return {}
    try:
        entries = json.loads(manifest.read_text(encoding="utf-8"))["operators"]
        return {f"{each['opset']}.{each['name']}": each["blocks"] for each in entries}
    except (OSError, ValueError, KeyError, TypeError):
        return {}


def spec_place(text: str, line: int, blocks: BlockLines) -> str | None:
    """The line of a formula that the 1-based `line` of a generated file comes from: the last one
    that is named up to there."""
    found = _named(text, line)
    return _place(text, found[-1], blocks) if found else None


def spec_formula(text: str, line: int, blocks: BlockLines) -> str | None:
    """The place and the text of the formula that a line of a kernel computes."""
    found = [each for each in _named(text, line) if each["formula"]]
    if not found:
        return None
    return f"{_place(text, found[-1], blocks)}: {' '.join(found[-1]['formula'].split())}"


def _named(text: str, line: int) -> list[re.Match[str]]:
    """The comments with a line that begin up to a line of the text."""
    ends = [end.end() for end in re.finditer(r"\n|\Z", text)]
    end = ends[min(line, len(ends)) - 1]
    return [found for found in _COMMENT.finditer(text) if found.start() < end]


def _place(text: str, found: re.Match[str], blocks: BlockLines) -> str:
    """Where a block's line is: in the spec, or in the block if nothing tells where that is."""
    head = _OPERATOR.match(text)
    operator = found["operator"] or (head[1] if head else "")
    block = found["block"].strip() or operator.rpartition(".")[2]
    begin = blocks.get(operator, {}).get(block)
    if begin is None:
        return f"{block} line {found['line']}"
    file, _, first = begin.rpartition(":")
    return f"{file}:{int(first) + int(found['line']) - 1}"
