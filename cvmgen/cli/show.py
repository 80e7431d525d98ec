"""`cvmgen list`, `cvmgen show`, `cvmgen check`: what the specs say."""

from __future__ import annotations

import json
from collections.abc import Collection, Sequence
from pathlib import Path

from cvmgen.cli.exits import Exit, UsageError
from cvmgen.cli.progress import Progress
from cvmgen.cli.specs import (
    apply_all,
    files_to_check,
    find_operator,
    probe_all,
    read_operators,
)
from cvmgen.paths import schedules_folder
from cvmgen.schedule.book import read_schedules
from cvmgen.source import SpecErrors, did_you_mean
from cvmgen.spec.check import SpecFile, check_files
from cvmgen.spec.formula import Operator


def list_operators(spec: Path, *, as_json: bool) -> Exit:
    """All operators: name, aliases, what each does."""
    with Progress() as progress:
        operators = read_operators(spec, progress)
    if as_json:
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
        print(json.dumps({"operators": found}, indent=2, ensure_ascii=False))
        return Exit.OK
    width = max(len(each.full_name) for each in operators)
    for each in operators:
        aliases = f" (also {', '.join(each.aliases)})" if each.aliases else ""
        print(f"{each.full_name:<{width}}  {each.doc}{aliases}")
    return Exit.OK


def show(spec: Path, name: str, *, target: str | None, stage: str | None, as_json: bool) -> Exit:
    """An operator's formula, its generated file for a target, or what a stage made of it."""
    with Progress() as progress:
        operator = find_operator(read_operators(spec, progress), name)
        if target is None and stage is None:
            text = f"{operator.text}\n"
        else:
            from cvmgen import driver

            if stage is not None and stage not in driver.STAGES:
                hint = did_you_mean(stage, driver.STAGES)
                stages = ", ".join(driver.STAGES)
                message = f"there is no stage '{stage}'; {hint or f'stages are {stages}'}"
                raise UsageError(message)
            schedules = read_schedules(spec)
            progress.step(f"lowering {operator.full_name}")
            text = (
                driver.stage_text(operator, stage, schedules)
                if target is None and stage is not None
                else driver.emitted(target or "", operator, schedules=schedules)
            )
    if as_json:
        shown = {"operator": operator.full_name, "target": target, "stage": stage, "text": text}
        print(json.dumps(shown, indent=2, ensure_ascii=False))
    else:
        print(text, end="")
    return Exit.OK


def check_specs(spec: Path, names: Sequence[str], *, as_json: bool) -> Exit:
    """Check spec files (none named: the whole folder), try their operators on small calls, and
    apply the folder's schedules to their nests."""
    with Progress() as progress:
        progress.step("checking the formulas")
        schedules = read_schedules(spec)
        files, asked = files_to_check(formula_files(names, spec), spec)
        operators = checked(files, asked)
        operators = tuple(each for each in operators if each.span.source.name in asked)
        probe_all(operators, progress)
        apply_all(operators, schedules, progress)
    if as_json:
        report = {"files": sorted(asked), "operators": [each.full_name for each in operators]}
        print(json.dumps(report, indent=2, ensure_ascii=False))
    else:
        print(f"{count(len(operators), 'operator')} in {count(len(asked), 'file')}: no errors")
    return Exit.OK


def formula_files(names: Sequence[str], spec: Path) -> list[str]:
    """The files of formulas among those to check; for a file of schedules all, which they are for.

    UsageError for schedules that are not those of the spec folder.
    """
    folder = schedules_folder(spec).resolve()
    schedules = [name for name in names if name.endswith(".sched")]
    for name in schedules:
        if Path(name).resolve(strict=True).parent != folder:
            raise UsageError(f"{name} is not in {folder}: name its spec folder with --spec")
    return [] if schedules else list(names)


def checked(files: Sequence[SpecFile], asked: Collection[str]) -> tuple[Operator, ...]:
    """The operators of `files`; raises SpecErrors with the faults in the files asked about.

    Other files with faults are left out, unless those asked about cannot do without them.
    """
    try:
        return check_files(files)
    except SpecErrors as found:
        faults = found
    own = [each for each in faults.errors if each.span.source.name in asked]
    if own:
        raise SpecErrors(own)
    faulty = {each.span.source.name for each in faults.errors}
    try:
        return check_files([each for each in files if each.source.name not in faulty])
    except SpecErrors:
        raise faults from None


def count(number: int, noun: str) -> str:
    return f"{number} {noun}{'s' * (number != 1)}"
