"""The calls that a prover chooses for a text, and the lines of it that each comes to."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from difflib import SequenceMatcher
from functools import cache
from pathlib import Path

from cvmgen.api.manifest import OperatorInfo
from cvmgen.verification.values import llvm, program
from cvmgen.verification.values.calls import ChosenCall
from cvmgen.verification.values.linked import Text
from cvmgen.verification.values.llvm_text import LABEL, read_module
from cvmgen.verification.values.validate import edge_cases, validate
from tests.verification.mutants.operators import file_of, generated, operator, text_of

CALLS = {"c": 24, "cuda": 12}  # of each operator
FURTHER = 12  # times as much work as a prover does to find calls, where these do not come somewhere
LINES = ("-gline-tables-only",)
_AT_LINE = re.compile(r"!(\d+) = (?:distinct )?!DILocation\(line: (\d+).*?scope: !(\d+)(.*)\)")
_SCOPE = re.compile(r"!(\d+) = (?:distinct )?!DI(?:Subprogram|LexicalBlock\w*)\((.*)\)")
_FILE = re.compile(r'!(\d+) = !DIFile\(filename: "([^"]*)"')
_MACRO = re.compile(r"#define (\w+)")
_OF = re.compile(r"!dbg !(\d+)")
Block = tuple[str, int]  # a function and the number of a block of it


@dataclass(frozen=True)
class Reached:
    """A call, on a processor with these features, and the lines of the operator's file that it
    comes to."""

    call: ChosenCall
    features: frozenset[str]
    lines: frozenset[int]


@cache
def chosen(name: str, target: str, work: Path) -> tuple[Reached, ...]:
    """What `cvmgen verify` looks at, the calls with few elements first, where the right text is
    the formula for all values: what it is not, no mutant is told by."""
    text = TracedText(generated(name, work), {file_of(name, target): text_of(name, target)}, target)
    return tuple(
        each
        for each in reached(name, target, text, 1)
        if validate(operator(name), text, [each.call], each.features).validated
    )


@cache
def further(name: str, target: str, work: Path) -> tuple[Reached, ...]:
    """Calls that more work finds."""
    text = TracedText(generated(name, work), {file_of(name, target): text_of(name, target)}, target)
    return tuple(reached(name, target, text, FURTHER))


def reached(name: str, target: str, text: TracedText, effort: int) -> Iterator[Reached]:
    for (call, features), ran in edge_cases(operator(name), text, CALLS[target], effort):
        lines = [text.lines.get(each[:2], ()) for each in ran]
        yield Reached(call, features, frozenset(e for several in lines for e in several))


class TracedText(Text):
    """A text that knows which lines of the operator's file each block of a module comes from."""

    def __init__(self, folder: Path, replaced: Mapping[str, str], target: str) -> None:
        super().__init__(folder, replaced, target)
        self.lines: dict[Block, frozenset[int]] = {}

    def modules(self, info: OperatorInfo) -> list[llvm.Module]:
        own = self.own(info)
        written = program.compiled(own, self.read_by(own), LINES).read_text(encoding="utf-8")
        self.lines = lines_of(written, own)
        bare = re.sub(r",? !dbg !\d+", "", written)
        return [read_module(bare), *super().modules(info)[1:]]


def lines_of(module: str, own: str) -> dict[Block, frozenset[int]]:
    """Of each block the lines of a file that its instructions come from, inlined ones too."""
    files = {a for a, name in _FILE.findall(module) if name.endswith(own)}
    scopes = dict(_SCOPE.findall(module))
    places = {a: rest for a, *rest in _AT_LINE.findall(module)}

    @cache
    def lines(place: str) -> frozenset[int]:
        line, scope, rest = places[place]
        inlined = re.search(r"inlinedAt: !(\d+)", rest)
        outer = lines(inlined[1]) if inlined else frozenset()
        of = re.search(r"file: !(\d+)", scopes.get(scope, ""))
        return outer | ({int(line)} if of and of[1] in files else frozenset())

    found: dict[Block, frozenset[int]] = {}
    function, block, filled = "", 0, False
    for each in module.split("\n"):
        if each.startswith("define"):
            name = re.search(r'@("[^"]*"|[-\w.$]+)\(', each)
            assert name is not None
            function, block, filled = name[1].strip('"'), 0, False
        elif each == "}":
            function = ""
        elif function and LABEL.match(each):
            block, filled = block + filled, False
        elif function and each.strip() and not each.lstrip().startswith((";", "#dbg", "]")):
            filled = True
            for place in _OF.findall(each):
                if place in places:
                    found[function, block] = found.get((function, block), frozenset()) | lines(
                        place
                    )
    return found


def changed_lines(before: str, after: str) -> frozenset[int]:
    """The lines of a text that another one has otherwise, or beside which it has more; those that
    speak of a macro which it has otherwise."""
    one, other = before.split("\n"), after.split("\n")
    found: set[int] = set()
    for tag, low, high, _, _ in SequenceMatcher(None, one, other, autojunk=False).get_opcodes():
        if tag != "equal":
            found.update(range(low + 1, high + 1) if high > low else (low, low + 1))
    macros = [_MACRO.match(line) for at, line in enumerate(one, 1) if at in found]
    if named := "|".join(each[1] for each in macros if each):
        found |= {at for at, line in enumerate(one, 1) if re.search(rf"\b({named})\b", line)}
    return frozenset(found)
