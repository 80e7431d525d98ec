"""Panes with machine code: what compilers make of an operator's C and CUDA."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby

from cvmgen import driver
from cvmgen.build import cuda_assembly
from cvmgen.build.assembly import AsmLine, assembly
from cvmgen.emit.line_map import MappedText, Place
from cvmgen.errors import BuildError
from cvmgen.escape import in_html
from cvmgen.inspection.pages import Formula, Pane, linked_to
from cvmgen.schedule.schedules import Schedules
from cvmgen.spec.formula import Operator

MOST_OF_A_LISTING = 150_000  # characters
ARCHITECTURE = "sm_80"  # of the GPU whose machine code is shown


class Listings:
    """What compilers make of the C of an operator for this machine and of its CUDA for a GPU,
    linked by the lines of these to parts of the formula."""

    def __init__(self, operator: Operator, schedules: Schedules, formula: Formula) -> None:
        self.operator, self.schedules, self.formula = operator, schedules, formula

    def panes(self) -> list[Pane]:
        sources, unit, places = self.unit("c")
        try:
            device = self.device_code()
        except BuildError as error:  # what it needs comes with an extra
            device = f"<p>{in_html(str(error))}</p>"
        host = self.listing(assembly(sources, unit), places)
        command = f"cvmgen explore {self.operator.full_name} --assembly"
        return [
            Pane("assembly", "Assembly", command, host),
            Pane("sass", f"SASS of {ARCHITECTURE}", command, device),
        ]

    def device_code(self) -> str:
        sources, unit, places = self.unit("cuda")
        text = sources.pop(unit)
        lines = cuda_assembly(text, architecture=ARCHITECTURE, includes=sources, name=unit)
        return self.listing(lines, places)

    def unit(self, target: str) -> tuple[dict[str, str], str, Sequence[Place | None]]:
        """The files of a target, by their names there, the name of the operator's own, and what
        each line of that one computes."""
        files = driver.generate((self.operator,), (target,), schedules=self.schedules)
        name = driver.operator_file(self.operator, target)
        text, folder = files[name], f"{target}/"
        assert isinstance(text, MappedText)
        own = {each: files[each] for each in files if each.startswith(folder)}
        sources = {each.removeprefix(folder): text for each, text in own.items()}
        return sources, name.removeprefix(folder), (None, *text.places)

    def listing(self, lines: Sequence[AsmLine], places: Sequence[Place | None]) -> str:
        """Instructions, linked to what the lines that they are of compute."""
        told: list[str] = []
        shown, left = first_functions(lines, MOST_OF_A_LISTING)
        for place, group in groupby(shown, key=lambda each: places[each[1]]):
            body = in_html("\n".join(each for each, _ in group))
            told.append(f'<span class="line"{linked_to(self.formula.part(place))}>{body}</span>')
        told += [f'<span class="line">{in_html(each)}</span>' for each in left]
        return f"<pre>{''.join(told)}</pre>"


def first_functions(lines: Sequence[AsmLine], most: int) -> tuple[list[AsmLine], list[str]]:
    """Whole functions while they come to no more than so many characters, and a line about each of
    the others."""
    functions: list[list[AsmLine]] = []
    for line in lines:
        if line[0].endswith(":") and not line[0].startswith("."):
            functions.append([])
        functions[-1].append(line)
    shown: list[AsmLine] = []
    left: list[str] = []
    for each in functions:
        size = sum(len(text) + 1 for text, _ in each)
        if size <= most:
            shown += each
            most -= size
        else:
            left.append(f"{each[0][0]} {len(each) - 1:,} lines, left out of this page")
    return shown, left
