"""`cvmgen list`, `cvmgen show`, `cvmgen check`: what the specs say."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from pathlib import Path
from typing import Any

from cvmgen.build.progress import Progress
from cvmgen.cli.exits import Exit, UsageError, fault_json, give, tell_warnings
from cvmgen.cli.given import GivenModel
from cvmgen.cli.specs import (
    apply_all,
    files_to_check,
    none_outside,
    of_folder,
    probe_all,
    probed_operators,
    read_operator,
    repeated_lets,
    unproved_places,
)
from cvmgen.emit.line_map import MappedText
from cvmgen.errors import Faults
from cvmgen.paths import schedules_folder, spec_folder
from cvmgen.schedule.schedules import Schedules, read_schedules
from cvmgen.source import SpecErrors
from cvmgen.spec.check import check_files
from cvmgen.spec.files import SpecFile
from cvmgen.spec.formula import Operator
from cvmgen.spec.unread import unread
from cvmgen.spec.words import plural


def list_operators(spec: Path, faults: Faults, *, as_json: bool) -> Exit:
    """All operators: name, aliases, what each does."""
    with Progress() as progress:
        operators = probed_operators(spec, progress, faults)
    found = [
        {
            "name": each.full_name,
            "aliases": list(each.aliases),
            "doc": each.doc,
            "place": each.span.place,
            "inputs": [item.name for item in each.inputs],
            "attributes": [item.name for item in each.attributes],
            "outputs": list(each.output_names),
        }
        for each in operators
    ]
    width = max((len(each.full_name) for each in operators), default=0)
    lines = (f"{each.full_name:<{width}}  {each.doc}{also(each.aliases)}\n" for each in operators)
    return give({"operators": found}, "".join(lines), as_json=as_json)


def also(aliases: Sequence[str]) -> str:
    return f" (also {', '.join(aliases)})" if aliases else ""


def show(spec: Path, name: str, *, target: str | None, stage: str | None, as_json: bool) -> Exit:
    """An operator's formula, its generated file for a target, or what a stage made of it."""
    with Progress() as progress:
        operator, _ = read_operator(spec, name, progress)
        text: str
        if target is None and stage is None:
            text = f"{operator.text}\n"
        else:
            from cvmgen import driver
            from cvmgen.cli.stages import shown_stage

            schedules = read_schedules(spec)
            progress.step(f"lowering {operator.full_name}")
            text = (
                shown_stage(operator, stage, target, schedules)
                if stage is not None
                else driver.emitted(target or "", operator, schedules=schedules)
            )
    shown: dict[str, Any] = {"operator": operator.full_name, "target": target, "stage": stage}
    shown["text"] = text
    if isinstance(text, MappedText):
        shown["places"] = [place and place._asdict() for place in text.places]
    return give(shown, text, as_json=as_json)


def show_model(
    spec: Path, model: GivenModel, step: str | None, stage: str, *, as_json: bool
) -> Exit:
    """What a stage made of the steps of a model, or of the one that is named."""
    from cvmgen.cli.stages import shown_model

    with Progress() as progress:
        progress.step(f"lowering {model.file}")
        text = shown_model(model, stage, step, read_schedules(spec))
    shown = {"model": str(model.file), "step": step, "stage": stage, "text": text}
    return give(shown, text, as_json=as_json)


def check_specs(
    spec: Path,
    names: Sequence[str],
    faults: Faults,
    *,
    model: GivenModel | None,
    as_json: bool,
) -> Exit:
    """Check spec files (none named: the whole folder), try their operators on small calls, and
    apply the folder's schedules to their nests, and to the steps of a model if one is given.

    Where the whole folder is checked, this warns of its own actions that change nothing.
    """
    with Progress() as progress:
        progress.step("checking the formulas")
        schedules = read_schedules(spec)
        formulas = formula_files(names, spec)
        files, asked = files_to_check(formulas, spec)
        operators = operators_of_files(files, asked, faults)
        operators = tuple(each for each in operators if each.span.source.name in asked)
        operators = probe_all(operators, progress, faults)
        unproved = unproved_places(operators, progress, faults)
        none_outside(operators, unproved, progress)
        unproved += repeated_lets(operators, progress, faults)
        idle, untiled = apply_all(operators, schedules, progress, faults)
        steps = None if model is None else applied_steps(model, schedules, progress)
    unproved += untiled
    warnings = [*unread(operators), *unproved, *([] if formulas else of_folder(idle, spec))]
    tell_warnings(warnings)
    report: dict[str, Any] = {
        "files": sorted(asked),
        "operators": [each.full_name for each in operators],
        "warnings": [fault_json(each) for each in warnings],
        "faults": [str(each) for each in faults.errors],
    }
    found = plural(len(operators), "operator")
    text = f"{found} in {plural(len(asked), 'file')}: no errors\n"
    if model is not None and steps is not None:
        report["steps"] = steps
        text += f"{plural(steps, 'step')} of {model.file}: no errors\n"
    elif speak_of_models(spec, names, schedules):
        text += "schedules for models are applied with --model SYMBOL PARAMS only\n"
    return give(report, text, as_json=as_json)


def applied_steps(model: GivenModel, schedules: Schedules, progress: Progress) -> int:
    """How many steps a model has, each of which takes what the schedules for models say."""
    # Imported here: models need much that other checks do not.
    from cvmgen.model.build import planned
    from cvmgen.model.stages import staged

    progress.step(f"scheduling {model.file}")
    *_, (_, made) = staged(planned(model.source())[1], schedules)
    return len(made.steps)


def speak_of_models(spec: Path, names: Sequence[str], schedules: Schedules) -> bool:
    """Whether a check is about schedules for models: it names their file, or the folder has some of
    its own."""
    own = schedules_folder(spec).resolve()
    asked = {Path(name).resolve() for name in names if name.endswith(".sched")}
    if not asked and own != schedules_folder(spec_folder()).resolve():
        asked = set(own.glob("*.sched"))
    plans = (plan.schedule for (target, _), plan in schedules.plans.items() if target == "model")
    return bool(asked & {Path(each.span.source.path).resolve() for each in plans})


def formula_files(names: Sequence[str], spec: Path) -> list[str]:
    """The files of formulas among those to check; for a file of schedules all, which they are for.

    UsageError for schedules that are not those of the spec folder.
    """
    folder = schedules_folder(spec).resolve()
    schedules = [name for name in names if name.endswith(".sched")]
    for name in schedules:
        if not Path(name).is_file():
            raise FileNotFoundError(2, "no such file", name)
        if Path(name).resolve().parent != folder:
            raise UsageError(f"{name} is not in {folder}: name its spec folder with --spec")
    return [] if schedules else list(names)


def operators_of_files(
    files: Sequence[SpecFile], asked: Collection[str], faults: Faults
) -> tuple[Operator, ...]:
    """The operators of `files`; raises SpecErrors with the faults in the files asked about.

    Other files with faults are left out, unless those asked about cannot do without them.
    """
    try:
        return check_files(files, faults)
    except SpecErrors as found:
        wrong = found
    own = [each for each in wrong.errors if each.span.source.name in asked]
    if own:
        raise SpecErrors(own)
    faulty = {each.span.source.name for each in wrong.errors}
    try:
        return check_files([each for each in files if each.source.name not in faulty])
    except SpecErrors:
        raise wrong from None
