"""`cvmgen show --after`: what each stage of the compiler is for, and what it changed."""

from __future__ import annotations

from collections.abc import Sequence

from cvmgen.cli.exits import UsageError
from cvmgen.cli.given import GivenModel
from cvmgen.inspection.stages import (
    ALL,
    every_stage,
    first_sentence,
    indented,
    stage_purpose,
    stage_texts,
    stages_of,
)
from cvmgen.schedule.schedules import Schedules
from cvmgen.source import did_you_mean
from cvmgen.spec.formula import Operator


def check_stage(stage: str, known: Sequence[str], of: str = "") -> None:
    """UsageError with the nearest name for a stage that is not among those known."""
    if stage not in (*known, ALL):
        hint = did_you_mean(stage, known) or f"stages are {', '.join((*known, ALL))}"
        raise UsageError(f"there is no stage '{stage}'{of}; {hint}")


def shown_stage(
    operator: Operator, stage: str, target: str | None, schedules: Schedules | None = None
) -> str:
    """What a stage is for and what it changed of the operator; of all, one behind the other."""
    elsewhere = target is not None and stage in every_stage()
    check_stage(stage, stages_of(target), f" of {target}" if elsewhere else "")
    texts = {
        name: f"{name}: {stage_purpose(name)}\n{text}"
        for name, text in stage_texts(operator, stage, target, schedules)
    }
    return "\n".join(texts.values()) if stage == ALL else texts[stage]


def shown_model(model: GivenModel, stage: str, step: str | None, chosen: Schedules) -> str:
    """What a stage is for and what it made of the steps of a model, or of the one of that name."""
    # Imported here: models need much that operators do not.
    from cvmgen.model.build import planned
    from cvmgen.model.stages import PASSES, SPECIALISE, stage_report, staged

    about_model = {SPECIALISE: "the nests of each node, for the shapes and precisions that it has"}
    about_model |= {name: first_sentence(run) for name, run in PASSES}
    check_stage(stage, tuple(about_model), " of models" if stage in every_stage() else "")
    shown: list[str] = []
    known: set[str] = set()
    for name, made in staged(planned(model.source())[1], chosen):
        if stage in (name, ALL):
            found = dict(stage_report(name, made, chosen))
            known |= found.keys()
            wanted = {key: lines for key, lines in found.items() if step in (None, key)}
            whole = (line for key, lines in wanted.items() for line in (key, *indented(lines)))
            shown.append("\n".join((f"{name}: {about_model[name]}", *whole, "")))
        if name == stage:
            break
    if step is not None and step not in known:
        hint = did_you_mean(step, known) or f"steps are {', '.join(sorted(known))}"
        raise UsageError(f"the model has no step '{step}'; {hint}")
    return "\n".join(shown)
