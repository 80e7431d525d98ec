"""The instructions of a C file, each with its line: what the compiler says itself."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path, PurePosixPath

from cvmgen.build.cache import get_or_build
from cvmgen.build.library import compiler_notes

AsmLine = tuple[str, int]  # an instruction or a label, and the 1-based line of the unit; 0: none

# zig gives clang a -c that -S leaves unused.
_FLAGS = ("-S", "-g1", "-fno-asynchronous-unwind-tables", "-Wno-unused-command-line-argument")
_ASKED = dict.fromkeys(("gcc", "clang"), _FLAGS)
_FILE = re.compile(r'^\s*\.file\s+(\d+)\s+(?:"[^"]*"\s+)?"([^"]*)"')
_PLACE = re.compile(r"^\s*\.loc\s+(\d+)\s+(\d+)")
_FUNCTION = re.compile(r"^([A-Za-z_][\w.]*):")
_LABEL = re.compile(r"^(\.L\d\w*|\.LBB\w+):")
_INSTRUCTION = re.compile(r"^\s+([a-z][^#;]*)")
_TARGET = re.compile(r"\.L\d\w*|\.LBB\w+")


def assembly(sources: Mapping[str, str], unit: str) -> list[AsmLine]:
    """The assembly of a unit, one of the sources of a library, for this machine.

    Raises BuildError when there is no compiler or it refuses the unit.
    """
    notes = compiler_notes(sources, unit, _ASKED)

    def build(path: Path) -> None:
        made = path.with_suffix(".o")  # which holds text, as -S is asked for
        notes.read(made)
        found = list(_instructions(made.read_text(encoding="utf-8"), unit))
        path.write_text(json.dumps(found))

    kept = json.loads(get_or_build(notes.key, "-assembly.json", build).read_text(encoding="utf-8"))
    return [(str(text), int(line)) for text, line in kept]


def _instructions(text: str, unit: str) -> Iterator[AsmLine]:
    """Functions, labels that are jumped to, and instructions of what a compiler wrote."""
    lines = text.splitlines()
    jumped = {each for line in lines if _INSTRUCTION.match(line) for each in _TARGET.findall(line)}
    names: dict[str, str] = {}
    place, inside = 0, False
    for line in lines:
        if found := _FILE.match(line):
            names[found[1]] = PurePosixPath(found[2]).name
        elif found := _PLACE.match(line):
            own = names.get(found[1]) == PurePosixPath(unit).name
            place = int(found[2]) if own else place
        elif found := _FUNCTION.match(line):
            inside, place = True, 0
            yield f"{found[1]}:", 0
        elif (found := _LABEL.match(line)) and found[1] in jumped:
            yield f"{found[1]}:", 0
        elif line.lstrip().startswith((".size", ".section")):
            inside = False
        elif inside and (found := _INSTRUCTION.match(line)):
            yield "    " + " ".join(found[1].split()), place
