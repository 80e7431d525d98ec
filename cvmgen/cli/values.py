"""`cvmgen verify --values`, `--actions`: kernels that are what their formulas say, for all values
at once; and what each action of a schedule leaves."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from cvmgen.build.progress import Progress
from cvmgen.cli.exits import Exit, UsageError, give
from cvmgen.cli.specs import checked_operators, find_operators
from cvmgen.errors import Strict
from cvmgen.schedule.schedules import read_schedules
from cvmgen.spec.formula import Operator
from cvmgen.verification.values.actions import Step, action_text, validated
from cvmgen.verification.values.calls import given
from cvmgen.verification.values.found import Difference, ValidatedCalls
from cvmgen.verification.values.linked import Text
from cvmgen.verification.values.validate import edge_cases, validate_edges


def verify_values(
    spec: Path, folder: Path, names: Sequence[str], *, calls: int, target: str, as_json: bool
) -> Exit:
    """Compare the text of a folder for a target with the formulas, on calls at the edges of its
    schedules."""
    text = Text(folder, target=target)
    results = []
    with Progress() as progress:
        chosen = _chosen(checked_operators(spec, progress, Strict()), names, text, folder)
        for each in progress.over(chosen, lambda one: f"checking {one.full_name}"):
            results.append(validate_edges(each, text, calls))
    told = [_json_entry(result) for result in results]
    give(
        told, "".join(f"{line}\n" for result in results for line in _lines(result)), as_json=as_json
    )
    return Exit.WRONG if any(result.refuted for result in results) else Exit.OK


def verify_actions(
    spec: Path, folder: Path, names: Sequence[str], *, calls: int, as_json: bool
) -> Exit:
    """Compare the C after each action of the schedules with the formulas, on calls at the edges of
    the text that a folder has."""
    text, schedules = Text(folder), read_schedules(spec)
    results: list[tuple[Step, ValidatedCalls]] = []
    with Progress() as progress:
        chosen = _chosen(checked_operators(spec, progress, Strict()), names, text, folder)
        for each in progress.over(chosen, lambda one: f"checking {one.full_name}"):
            cases = [case for case, _ in edge_cases(each, text, calls)]
            results += validated(each, schedules, folder, cases)
    told = [{"action": action_text(step), **_json_entry(result)} for step, result in results]
    found = "".join(f"{line}\n" for each in results for line in _action_lines(*each))
    give(told, found, as_json=as_json)
    return Exit.WRONG if any(result.refuted for _, result in results) else Exit.OK


def _chosen(
    operators: Sequence[Operator], names: Sequence[str], text: Text, folder: Path
) -> Sequence[Operator]:
    """The operators that are named, or all; UsageError where the folder has no text of one."""
    chosen = find_operators(operators, names) if names else operators
    missing = [each.full_name for each in chosen if each.full_name not in text.infos]
    if missing:
        raise UsageError(
            f"{folder} has no text of {missing[0]}: `cvmgen build --spec SPEC --out DIR` writes "
            "it, and --generated DIR names it"
        )
    return chosen


def _action_lines(step: Step, result: ValidatedCalls) -> Iterator[str]:
    yield f"{result.operator:<34} {status_word(result):<9} {action_text(step)}"
    yield from _against(result)


def _lines(result: ValidatedCalls) -> Iterator[str]:
    """What came of an operator, and each thing that stands against it."""
    count = len(result.calls)
    ran = result.blocks - sum(result.not_run.values())
    yield (
        f"{result.operator:<34} {status_word(result):<9} {count} calls, "
        f"{result.elements} elements, {ran} of {result.blocks} blocks"
    )
    yield from (f"  not run: {count} blocks in {name}" for name, count in result.not_run.items())
    yield from _against(result)


def _against(result: ValidatedCalls) -> Iterator[str]:
    """What stands against it."""
    yield from (f"  not defined: {each}" for each in result.faults)
    yield from (f"  open: {each}" for each in result.open)
    if result.difference is not None:
        yield from _shown(result.difference)


def status_word(result: ValidatedCalls) -> str:
    if result.refuted:
        return "refuted"
    return "validated" if result.validated else "open"


def _shown(found: Difference) -> Iterator[str]:
    yield f"  {found.output}, element {found.position} of {found.call}"
    yield f"    the text gives {found.found}"
    yield f"    the formula    {found.wanted}"
    if found.shown_by is not None and found.numbers is not None:
        yield f"    these are {found.numbers[0]} and {found.numbers[1]}{given(found.shown_by)}"
    if found.compiled is not None:
        yield f"    compiled, {found.python} gives {found.compiled}"


def _json_entry(result: ValidatedCalls) -> dict[str, Any]:
    return {
        "operator": result.operator,
        "status": status_word(result),
        "calls": list(result.calls),
        "elements": result.elements,
        "blocks": result.blocks,
        "not run": result.not_run,
        "open": result.open,
        "faults": result.faults,
        "difference": list(_shown(result.difference)) if result.difference is not None else [],
    }
