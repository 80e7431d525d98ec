"""A page for a built model: its steps with what was fused in them, its memory over time."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from cvmgen.emit.render import render_template
from cvmgen.escape import in_html
from cvmgen.inspection.pages import static
from cvmgen.model.emit import Files
from cvmgen.model.kernels import ModelKernel
from cvmgen.model.stages import stage_report
from cvmgen.model.steps import KernelStep
from cvmgen.model.storage import lifetimes, workspace_layout
from cvmgen.rules import shape_text
from cvmgen.spec.words import plural

WIDE, HIGH = 960, 360  # of the picture of memory, in its own units
COLOURS = 6  # which the style has
SHORT = 14  # characters of a name in a box


class ModelPage:
    """The page of a model; `times` are those of its steps by name, in microseconds."""

    def __init__(self, files: Files, command: str, times: Mapping[str, float]) -> None:
        self.files, self.command, self.times = files, command, times

    def text(self) -> str:
        return render_template(
            "explore/model.html.j2",
            name=in_html(self.files.name),
            title=in_html(self.files.title),
            command=in_html(self.command),
            told=in_html(self.told()),
            head="<th>time</th>" if self.times else "",
            rows="\n".join(self.rows()),
            memory=self.memory(),
            style=static("explore.css"),
            script=static("model.js"),
        )

    def told(self) -> str:
        """Memory and time of the whole."""
        placed = sum(each.nbytes for each in self.files.weights_read.values())
        _, peak = workspace_layout(self.files.model, self.files.storage)
        found = [f"{peak:,} bytes between steps", f"{placed:,} bytes of parameters"]
        if self.files.model.states:
            found.append(f"{self.files.state_places[1]:,} bytes from one run to the next")
        if self.times:
            found.append(f"{sum(self.times.values()):,.1f} microseconds on one thread")
        return ", ".join(found)

    # -------------------------------------------------------- steps

    def rows(self) -> Iterator[str]:
        made = dict(stage_report("schedule", self.files.made, self.files.schedules))
        for number, step in enumerate(self.files.steps):
            cells = [
                f"<td>{number}</td>",
                f"<td>{self.details(step, made[step.name])}</td>",
                f"<td>{'<br>'.join(map(in_html, origin_texts(step.kernel)))}</td>",
                f"<td>{self.tensors(step.kernel.read - step.kernel.written)}</td>",
                f"<td>{self.tensors(step.kernel.written)}</td>",
            ]
            if self.times:
                cells.append(f"<td>{self.time(step)}</td>")
            yield f'<tr id="step-{number}" data-step="{number}">{"".join(cells)}</tr>'

    def details(self, step: KernelStep, made: Sequence[str]) -> str:
        """What the schedule made of a step, and its text, behind its name."""
        shown = (("schedule", "\n".join(made)), ("C", self.files.function(step)))
        blocks = (f"<h3>{name}</h3><pre>{in_html(text)}</pre>" for name, text in shown)
        name = in_html(step.name)
        return f"<details><summary>{name}</summary>{''.join(blocks)}</details>"

    def tensors(self, names: frozenset[str]) -> str:
        found = []
        for name in sorted(names):
            tensor, elements = self.files.model.tensors[name], self.files.storage.elements[name]
            told = f"{name} {shape_text(tensor.shape)} {elements.type}"
            found.append(f'<span data-tensor="{in_html(name)}">{in_html(told)}</span>')
        return "<br>".join(found)

    def time(self, step: KernelStep) -> str:
        spent, whole = self.times[step.name], sum(self.times.values()) or 1.0
        return f'<meter value="{spent / whole:.4f}"></meter> {spent:,.1f} µs'

    # -------------------------------------------------------- memory

    def memory(self) -> str:
        """Each tensor between steps as a box: from its first step to its last, from its first byte
        to the one behind its last."""
        model, storage = self.files.model, self.files.storage
        offsets, peak = workspace_layout(model, storage)
        columns, rows = max(len(self.files.steps), 1), max(peak, 1)
        boxes = []
        for number, (name, kept) in enumerate(lifetimes(model, storage).items()):
            left, right = kept.first / columns * WIDE, (kept.last + 1) / columns * WIDE
            top, size = offsets[name] / rows * HIGH, kept.size / rows * HIGH
            told = (
                f"{name}: {plural(kept.size, 'byte')} from {offsets[name]:,} on, "
                f"steps {kept.first} to {kept.last}"
            )
            boxes.append(
                f'<g class="box colour{number % COLOURS}" data-tensor="{in_html(name)}" '
                f'data-first="{kept.first}" data-last="{kept.last}" tabindex="0" role="img" '
                f'aria-label="{in_html(told)}"><title>{in_html(told)}</title>'
                f'<rect x="{left:.1f}" y="{top:.1f}" width="{right - left:.1f}" '
                f'height="{size:.1f}"/>{label(name, left, top, right - left, size)}</g>'
            )
        return (
            f'<svg viewBox="0 0 {WIDE} {HIGH}" role="group" '
            f'aria-label="memory of {columns} steps, {rows:,} bytes">{"".join(boxes)}</svg>'
        )


def label(name: str, left: float, top: float, width: float, height: float) -> str:
    """The name of a tensor within its box, where there is room."""
    shown = name if len(name) <= SHORT else f"{name[: SHORT - 1]}…"
    if width < 7 * len(shown) or height < SHORT:
        return ""
    return f'<text x="{left + 4:.1f}" y="{top + height / 2 + 4:.1f}">{in_html(shown)}</text>'


def origin_texts(kernel: ModelKernel) -> list[str]:
    """The nodes that a step does, each once."""
    return list(dict.fromkeys(f"{each.node}: {each.operator}" for each in kernel.origins))
