"""A page for each operator, on which its formula and its code belong together."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby, pairwise
from typing import Any

from cvmgen.emit.line_map import Place
from cvmgen.emit.render import render_template
from cvmgen.escape import in_html, json_in_html
from cvmgen.inspection.facts import precision_rules, proof_states, ranges
from cvmgen.inspection.front import front_changes
from cvmgen.inspection.pictures import pictures
from cvmgen.inspection.story import StageChange, Story
from cvmgen.paths import generated_folder, runtime_folder
from cvmgen.source import Span
from cvmgen.spec.as_parsed import declared, definitions
from cvmgen.spec.formula import Operator
from cvmgen.spec.mathematics import mathematics
from cvmgen.spec.notation import mathml
from cvmgen.verification.ledger import Entries
from cvmgen.verification.ledger_check import has_text

EMPTY: Entries = {}
MOST_OF_STAGES = 160_000  # characters of what a target's stages changed
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
    pictures of calls. `entries` are those of a ledger."""

    def __init__(self, operator: Operator, story: Story, entries: Entries = EMPTY) -> None:
        self.operator, self.story = operator, story
        self.entries = entries
        self.same_as_generated: list[str] = []
        self.formula = Formula(operator)
        self.parts: set[TextRange] = set()

    def text(self, more: Sequence[Pane] = ()) -> str:
        show = f"cvmgen show {self.operator.full_name}"
        code = [
            Pane(each, TITLES[each], f"{show} --target {each}", self.code(each))
            for each in self.story.code
        ]
        facts = self.facts()
        # Behind those that say what is linked.
        formula = Pane("formula", "Formula", show, self.formula.html(self.parts) + self.math())
        panes = [formula, *code, *self.data(), *more, *self.stages(f"{show} --after all")]
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

    def stages(self, command: str) -> Iterator[Pane]:
        """The stages that are the same for all targets, and of each those behind them."""
        first = (*front_changes(self.operator), *self.story.first_stages)
        yield Pane("stages", "First stages", command, stages_html(first))
        for target, changes in self.story.stages.items():
            title = f"Stages of {TITLES[target]}"
            own = f"{command} --target {target}"
            yield Pane(f"stages-{target}", title, own, stages_html(changes))

    def about(self) -> list[str]:
        """What is known of the whole: precisions, and what is proved."""
        proved = proof_states(self.entries, self.operator.full_name, self.same_as_generated)
        return [*precision_rules(self.operator), *proved]

    def facts(self) -> list[list[Any]]:
        """What is known of parts of the formula: each with its first character, the one behind its
        last, and what is known of it."""
        found: dict[TextRange, list[str]] = {}
        known = ((place_of(span), fact) for span, fact in ranges(self.operator))
        for place, fact in (*known, *self.story.types):
            part = self.formula.part(place)
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
        return linked_to(self.formula.part(place_of(span)))

    def code(self, target: str) -> str:
        """The text for a target, with the parts of the formula that its lines compute; a script of
        the page links them."""
        code = self.story.code[target]
        if has_text(generated_folder() / code.file, code.text):
            self.same_as_generated.append(target)
        parts = [self.formula.part(place) for place in code.places]
        self.parts |= {each for each in parts if each is not None}
        # A page takes away the first line break in <pre>.
        text = f"\n{in_html(code.text)}"
        return f'<pre data-code="{target}" data-parts="{runs_text(parts)}">{text}</pre>'


def picture_box(calls: Sequence[Mapping[str, Any]]) -> str:
    """Pictures of calls, one of which is shown; `pictures.js` draws them."""
    options = (
        f'<option value="{at}">{in_html(each["title"])}</option>' for at, each in enumerate(calls)
    )
    return render_template(
        "explore/pictures.html.j2", options="\n".join(options), data=json_in_html(calls)
    )


def runs_text(parts: Iterable[TextRange | None]) -> str:
    """Of so many lines each, one behind the other, the part that they compute: `12:340:361`; only
    their number where they compute none."""
    runs = ((part, sum(1 for _ in lines)) for part, lines in groupby(parts))
    return " ".join(
        f"{count}" if part is None else f"{count}:{part.start}:{part.end}" for part, count in runs
    )


def place_of(span: Span) -> Place:
    return Place(span.source.name, span.start, span.end)


def linked_to(part: TextRange | None) -> str:
    """The attributes of what belongs to a part of the formula."""
    return "" if part is None else f' data-a="{part.start}" data-b="{part.end}"'


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
    sign = {"+": "ins", "-": "del"}.get(line[:1])
    return f"<{sign}>{in_html(line)}</{sign}>\n" if sign else f"{in_html(line)}\n"
