"""A page for each operator, on which its formula and its code belong together."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby, pairwise
from typing import Any

from cvmgen import driver
from cvmgen.build import cuda_assembly
from cvmgen.build.assembly import AsmLine, assembly
from cvmgen.emit.line_map import MappedText, Place
from cvmgen.emit.render import render_template
from cvmgen.errors import BuildError
from cvmgen.escape import in_html, json_in_html
from cvmgen.inspection.changes import StageChange, stage_changes
from cvmgen.inspection.facts import machine_types, precision_rules, proof_states, ranges
from cvmgen.inspection.pictures import pictures
from cvmgen.paths import generated_folder, runtime_folder
from cvmgen.schedule.schedules import Schedules
from cvmgen.source import Span
from cvmgen.spec.as_parsed import declared, definitions
from cvmgen.spec.formula import Operator
from cvmgen.spec.mathematics import mathematics
from cvmgen.spec.notation import mathml
from cvmgen.verification.ledger import Entries
from cvmgen.verification.ledger_check import has_text

EMPTY: Entries = {}
MOST_OF_A_LISTING = 150_000  # characters of machine code
MOST_OF_STAGES = 160_000  # characters of what a target's stages changed
ARCHITECTURE = "sm_80"  # of the GPU whose machine code is shown
SHOWN_FIRST = ("formula", "c", "data")
TITLES = {"python": "Python", "numpy": "numpy", "c": "C", "cuda": "CUDA"}


def page_name(operator: Operator) -> str:
    return f"{operator.full_name}.html"


def static(name: str) -> str:
    """A style or a script, as it stands within pages."""
    return (runtime_folder() / "explore" / name).read_text(encoding="utf-8")


def index(operators: Iterable[Operator], errors: str = "") -> str:
    """The page that leads to those of operators, beneath the errors in formulas, if there are
    some."""
    rows = (
        f'<li><a href="{in_html(page_name(each))}">{in_html(each.full_name)}</a> '
        f"{in_html(each.doc)}"
        + (f" <small>{in_html(', '.join(each.aliases))}</small>" if each.aliases else "")
        + "</li>"
        for each in operators
    )
    style, script = static("explore.css"), static("index.js")
    return render_template(
        "explore/index.html.j2",
        rows="\n".join(rows),
        errors=f'<pre class="errors">{in_html(errors)}</pre>\n' if errors else "",
        style=style,
        script=script,
    )


@dataclass(frozen=True, slots=True)
class TextRange:
    """The characters `start` to `end` (exclusive) of a formula as a page shows it."""

    start: int
    end: int


class Formula:
    """The blocks of an operator, one below the other."""

    def __init__(self, operator: Operator) -> None:
        self.blocks: list[tuple[Span, int]] = []  # each with where it begins
        self.text = ""
        for _, span in operator.blocks:
            self.blocks.append((span, len(self.text)))
            self.text += f"{span.text}\n\n"
        self.text = self.text.rstrip("\n")

    def part(self, place: Place | None) -> TextRange | None:
        """A place as a part; None of what a whole block says, as calls are made from."""
        if place is None:
            return None
        for span, begin in self.blocks:
            if span.source.name == place.file and span.start <= place.start < place.end <= span.end:
                shift = begin - span.start
                whole = (place.start, place.end) == (span.start, span.end)
                return None if whole else TextRange(place.start + shift, place.end + shift)
        return None

    def html(self, parts: set[TextRange]) -> str:
        """The text in pieces, none of which is in a part and out of it."""
        ends = {each.start for each in parts} | {each.end for each in parts}
        cuts = sorted({0, len(self.text), *ends})
        pieces = []
        for low, high in pairwise(cuts):
            linked = any(each.start <= low < each.end for each in parts)
            sign = ' class="linked"' if linked else ""
            piece = in_html(self.text[low:high])
            pieces.append(f'<span data-at="{low}"{sign}>{piece}</span>')
        return f"<pre>{''.join(pieces)}</pre>"


@dataclass(frozen=True, slots=True)
class Pane:
    """A part of a page that can be shown and hidden; `command` makes the same in a shell."""

    key: str
    title: str
    command: str
    body: str

    @property
    def shown(self) -> bool:
        return self.key in SHOWN_FIRST

    def toggle(self) -> str:
        pressed = "true" if self.shown else "false"
        return (
            f'<button type="button" data-shows="{self.key}" aria-pressed="{pressed}">'
            f"{in_html(self.title)}</button>"
        )

    def html(self) -> str:
        command = (
            f'<p class="command"><code>{in_html(self.command)}</code> '
            '<button type="button" data-copy>copy</button></p>'
        )
        return render_template(
            "explore/pane.html.j2",
            key=self.key,
            title=in_html(self.title),
            command=command if self.command else "",
            hidden="" if self.shown else " hidden",
            body=self.body,
        )


class OperatorPage:
    """The page of an operator: its formula, its text for each target, what stages made of it, and
    pictures of calls. `entries` are those of a ledger; what is `assembled` has a pane for that."""

    def __init__(
        self,
        operator: Operator,
        schedules: Schedules,
        entries: Entries = EMPTY,
        *,
        assembled: bool = False,
    ) -> None:
        self.operator, self.schedules, self.assembled = operator, schedules, assembled
        self.entries = entries
        self.same_as_generated: list[str] = []
        self.formula = Formula(operator)
        self.parts: set[TextRange] = set()

    def text(self) -> str:
        show = f"cvmgen show {self.operator.full_name}"
        code = [
            Pane(each, TITLES[each], f"{show} --target {each}", self.code(each))
            for each in driver.TARGETS
        ]
        stages = [
            Pane(
                f"stages-{each}",
                f"Stages of {TITLES[each]}",
                f"{show} --after all --target {each}",
                stages_html(stage_changes(self.operator, each, self.schedules)),
            )
            for each in driver.TARGETS
        ]
        facts = self.facts()
        assembly = self.assembly() if self.assembled else []
        # Behind those that say what is linked.
        formula = Pane("formula", "Formula", show, self.formula.html(self.parts) + self.math())
        panes = [formula, *code, *self.data(), *assembly, *stages]
        return render_template(
            "explore/operator.html.j2",
            name=in_html(self.operator.full_name),
            doc=in_html(self.operator.doc),
            count=min(len(panes), 9),
            toggles="\n".join(each.toggle() for each in panes),
            about="\n".join(f"<li>{in_html(each)}</li>" for each in self.about()),
            panes="".join(each.html() for each in panes),
            facts=json_in_html(facts),
            style=static("explore.css"),
            script=static("operator.js") + static("pictures.js"),
        )

    def about(self) -> list[str]:
        """What is known of the whole: precisions, and what is proved."""
        proved = proof_states(self.entries, self.operator.full_name, self.same_as_generated)
        return [*precision_rules(self.operator), *proved]

    def facts(self) -> list[list[Any]]:
        """What is known of parts of the formula: each with its first character, the one behind its
        last, and what is known of it."""
        found: dict[TextRange, list[str]] = {}
        for span, fact in (*ranges(self.operator), *machine_types(self.operator)):
            part = self.formula.part(Place(span.source.name, span.start, span.end))
            if part is not None and fact not in found.setdefault(part, []):
                found[part].append(fact)
        self.parts |= found.keys()
        return [[part.start, part.end, told] for part, told in found.items()]

    def data(self) -> list[Pane]:
        """Pictures of calls, if there are any."""
        calls = pictures(self.operator)
        return [Pane("data", "Data", "", picture_box(calls))] if calls else []

    def math(self) -> str:
        """The formula as mathematics, linked as its text is."""
        found = mathematics(declared(self.operator), definitions(self.operator))
        return f'<div class="math">{mathml(found, self.linked)}</div>'

    def linked(self, span: Span) -> str:
        return linked_to(self.formula.part(Place(span.source.name, span.start, span.end)))

    def assembly(self) -> list[Pane]:
        """What compilers make of the C for this machine and of the CUDA for a GPU, linked by the
        lines of these."""
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

    def code(self, target: str) -> str:
        """The text for a target, line by line with the part of the formula that each computes."""
        text = driver.emitted(target, self.operator, schedules=self.schedules)
        assert isinstance(text, MappedText)
        if has_text(generated_folder() / driver.operator_file(self.operator, target), text):
            self.same_as_generated.append(target)
        lines = []
        for number, (line, place) in enumerate(zip(text.split("\n"), text.places, strict=True), 1):
            part = self.formula.part(place)
            self.parts |= set() if part is None else {part}
            linked = linked_to(part)
            at = f"{target}-{number}"
            link = f'<a href="#{at}">{number}</a>'
            lines.append(f'<span class="line" id="{at}"{linked}>{link}{in_html(line)}</span>')
        return f"<pre>{''.join(lines)}</pre>"


def picture_box(calls: Sequence[Mapping[str, Any]]) -> str:
    """Pictures of calls, one of which is shown; `pictures.js` draws them."""
    options = (
        f'<option value="{at}">{in_html(each["title"])}</option>' for at, each in enumerate(calls)
    )
    return render_template(
        "explore/pictures.html.j2", options="\n".join(options), data=json_in_html(calls)
    )


def linked_to(part: TextRange | None) -> str:
    """The attributes of what belongs to a part of the formula."""
    return "" if part is None else f' data-a="{part.start}" data-b="{part.end}"'


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


def stages_html(stages: Iterable[StageChange]) -> str:
    """The stages of a target while there is room, and the names of the others."""
    found, room = [], MOST_OF_STAGES
    for each in stages:
        text = change_html(each)
        room -= len(text)
        long = f"<p>{in_html(each.title)} (left out of this page, which would be too long)</p>"
        found.append(text if room > 0 else long)
    return "\n".join(found)


def change_html(change: StageChange) -> str:
    """A stage or an action: what it is for, and what it changed behind that."""
    parts = "".join(map(change_html, change.parts))
    lines = "".join(map(diff_line, change.lines))
    body = f"<pre>{lines}</pre>" if lines else ""
    if not parts and not body:
        return f"<p>{in_html(change.title)}</p>"
    return f"<details><summary>{in_html(change.title)}</summary>{body}{parts}</details>"


def diff_line(line: str) -> str:
    sign = {"+": "added", "-": "gone"}.get(line[:1])
    return f'<ins class="{sign}">{in_html(line)}</ins>\n' if sign else f"{in_html(line)}\n"
