"""A page for each operator, on which its formula and its code belong together."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

from cvmgen import driver
from cvmgen.emit.line_map import MappedText, Place
from cvmgen.emit.render import render_template
from cvmgen.escape import in_html
from cvmgen.inspection.stages import ALL, stage_purpose, stage_texts
from cvmgen.paths import runtime_folder
from cvmgen.schedule.schedules import Schedules
from cvmgen.source import Span
from cvmgen.spec.formula import Operator

SHOWN_FIRST = ("formula", "numpy", "c")
TITLES = {"formula": "Formula", "python": "Python", "numpy": "numpy", "c": "C", "cuda": "CUDA"}


def page_name(operator: Operator) -> str:
    return f"{operator.full_name}.html"


def static(name: str) -> str:
    """A style or a script, as it stands within pages."""
    return (runtime_folder() / "explore" / name).read_text(encoding="utf-8")


def index(operators: Sequence[Operator]) -> str:
    rows = (
        f'<li><a href="{in_html(page_name(each))}">{in_html(each.full_name)}</a> '
        f"{in_html(each.doc)}"
        + (f" <small>{in_html(', '.join(each.aliases))}</small>" if each.aliases else "")
        + "</li>"
        for each in operators
    )
    style, script = static("explore.css"), static("index.js")
    return render_template(
        "explore/index.html.j2", rows="\n".join(rows), style=style, script=script
    )


@dataclass(frozen=True, slots=True)
class Part:
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

    def part(self, place: Place | None) -> Part | None:
        """A place as a part; None of what a whole block says, as calls are made from."""
        if place is None:
            return None
        for span, begin in self.blocks:
            if span.source.name == place.file and span.start <= place.start < place.end <= span.end:
                shift = begin - span.start
                whole = (place.start, place.end) == (span.start, span.end)
                return None if whole else Part(place.start + shift, place.end + shift)
        return None

    def html(self, parts: set[Part]) -> str:
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


class OperatorPage:
    """The page of an operator: its formula, its text for each target, what stages made of it."""

    def __init__(self, operator: Operator, schedules: Schedules) -> None:
        self.operator, self.schedules = operator, schedules
        self.formula = Formula(operator)
        self.parts: set[Part] = set()

    def text(self) -> str:
        show = f"cvmgen show {self.operator.full_name}"
        code = [(each, f"{show} --target {each}", self.code(each)) for each in driver.TARGETS]
        stages = [
            (f"stages-{each}", f"{show} --after all --target {each}", self.stages(each))
            for each in driver.TARGETS
        ]
        # Behind those of code, which say what is linked.
        panes = [("formula", show, self.formula.html(self.parts)), *code, *stages]
        return render_template(
            "explore/operator.html.j2",
            name=in_html(self.operator.full_name),
            doc=in_html(self.operator.doc),
            count=min(len(panes), 9),
            toggles="\n".join(map(self.toggle, (key for key, *_ in panes))),
            panes="".join(self.pane(*each) for each in panes),
            style=static("explore.css"),
            script=static("operator.js"),
        )

    @staticmethod
    def title(key: str) -> str:
        kind, _, target = key.partition("-")
        return f"Stages of {TITLES[target]}" if target else TITLES[kind]

    def toggle(self, key: str) -> str:
        pressed = "true" if key in SHOWN_FIRST else "false"
        return (
            f'<button type="button" data-shows="{key}" aria-pressed="{pressed}">'
            f"{in_html(self.title(key))}</button>"
        )

    def pane(self, key: str, command: str, body: str) -> str:
        return render_template(
            "explore/pane.html.j2",
            key=key,
            title=in_html(self.title(key)),
            command=in_html(command),
            hidden="" if key in SHOWN_FIRST else " hidden",
            body=body,
        )

    def code(self, target: str) -> str:
        """The text for a target, line by line with the part of the formula that each computes."""
        text = driver.emitted(target, self.operator, schedules=self.schedules)
        assert isinstance(text, MappedText)
        lines = []
        for number, (line, place) in enumerate(zip(text.split("\n"), text.places, strict=True), 1):
            linked = ""
            if part := self.formula.part(place):
                self.parts.add(part)
                linked = f' data-a="{part.start}" data-b="{part.end}"'
            at = f"{target}-{number}"
            link = f'<a href="#{at}">{number}</a>'
            lines.append(f'<span class="line" id="{at}"{linked}>{link}{in_html(line)}</span>')
        return f"<pre>{''.join(lines)}</pre>"

    def stages(self, target: str) -> str:
        """What each stage is for, and what it changed."""
        return "\n".join(self.stage_rows(target))

    def stage_rows(self, target: str) -> Iterator[str]:
        for name, text in stage_texts(self.operator, ALL, target, self.schedules):
            purpose = in_html(f"{name}: {stage_purpose(name)}")
            yield f"<details><summary>{purpose}</summary><pre>{in_html(text)}</pre></details>"
