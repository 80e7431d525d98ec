"""`cvmgen diff`: what an edit of formulas means for those who call the operators."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from cvmgen.build.progress import Progress
from cvmgen.cli import specs
from cvmgen.cli.checked import checked
from cvmgen.cli.colour import painter
from cvmgen.cli.diff_text import told
from cvmgen.cli.exits import Exit, give, tell
from cvmgen.cli.precompute import tried_ahead
from cvmgen.cli.texts import remembered_texts
from cvmgen.compare import findings as f
from cvmgen.compare.calls import Outcome, Witness
from cvmgen.compare.compared import CompareRequest, Version, compared
from cvmgen.compare.findings import OperatorDiff
from cvmgen.compare.versions import SpecVersion, read_side, root_of
from cvmgen.errors import CvmgenError, Faults
from cvmgen.reference.tensor import Tensor
from cvmgen.schedule.schedules import Schedules
from cvmgen.spec.formula import Operator

SCHEMA = 1
HEAD = "HEAD"


def diff(
    spec: Path,
    old: str | None,
    new: str | None,
    targets: Sequence[str],
    faults: Faults,
    *,
    text: bool,
    as_json: bool,
    debug: bool,
) -> Exit:
    """Compare two versions, and say what matters most first; 0 where all operators are the same, 1
    where something differs or is not decided, 2 where one of both cannot be read."""
    try:
        with Progress(aloud=not as_json) as progress:
            progress.step("reading both versions")
            root = root_of(new, spec)
            sides = read_side(HEAD if old is None else old, spec, root), read_side(new, spec, root)
            versions = versions_of(*sides, progress, faults)
            found, count = compare_versions(
                *versions, CompareRequest(targets, cached), progress, faults
            )
    except (CvmgenError, OSError) as error:
        return tell(error, as_json=as_json, debug=debug, code=Exit.USAGE)
    names = sides[0].shown, sides[1].shown
    report = described(*names, found, count)
    shown = told(*names, found, count, painter(), text=text)
    give(report, shown, as_json=as_json)
    return Exit.OK if all(each.is_same for each in found) else Exit.WRONG


def versions_of(
    old: SpecVersion, new: SpecVersion, progress: Progress, faults: Faults
) -> tuple[Version, Version]:
    """The checked operators of both sides; raises SpecErrors."""
    progress.step("checking the formulas")
    before = checked(old.files, faults)
    after = checked(new.files, faults)
    mine, yours = belonging(old, before, new, after)
    return Version(named(mine), old.schedules), Version(named(yours), new.schedules)


def compare_versions(
    old: Version, new: Version, request: CompareRequest, progress: Progress, faults: Faults
) -> tuple[list[OperatorDiff], int]:
    """The operators that are not written as they were, and how many are; raises SpecErrors with
    what small calls show of them."""
    for one, other in ((old, new), (new, old)):
        changed = [
            each for name, each in one.operators.items() if other.operators.get(name) != each
        ]
        # an example that does not hold is what a diff explains, and no fault
        asked = [specs.trials_of(each)[0].operator for each in changed]
        specs.probe_all(asked, progress, faults, tried_ahead(asked, progress))
    found = compared(old, new, request, progress.step)
    written = {each.name for each in found if each.old != each.new}
    return found, sum(name not in written for name in new.operators)


def cached(operator: Operator, targets: Sequence[str], schedules: Schedules) -> Mapping[str, str]:
    return remembered_texts(operator, targets, schedules).files


def named(operators: Iterable[Operator]) -> dict[str, Operator]:
    return {each.full_name: each for each in operators}


def belonging(
    old: SpecVersion, before: Sequence[Operator], new: SpecVersion, after: Sequence[Operator]
) -> tuple[Sequence[Operator], Sequence[Operator]]:
    """The operators to compare: where a file is named those that it has a part in, under the opset
    of the newer side."""
    if not (old.only or new.only):
        return before, after
    before, after = in_file(old, before), in_file(new, after)
    if not old.only:
        before = alike(before, after)
    if not new.only:
        after = alike(after, before)
    opsets = {each.name: each.opset for each in after}
    return [replace(each, opset=opsets.get(each.name, each.opset)) for each in before], after


def in_file(side: SpecVersion, operators: Sequence[Operator]) -> Sequence[Operator]:
    if not side.only:
        return operators
    return [each for each in operators if any(s.source.name == side.only for _, s in each.blocks)]


def alike(operators: Sequence[Operator], others: Sequence[Operator]) -> Sequence[Operator]:
    """Those with the names of others, of their opset where there are several."""
    names = {each.name for each in others}
    opsets = {each.opset for each in others}
    found = [each for each in operators if each.name in names]
    return [each for each in found if each.opset in opsets] or found


# ---------------------------------------------------------------- as JSON


def described(old: str, new: str, found: Sequence[OperatorDiff], count: int) -> dict[str, Any]:
    """The report for programs; docs/diff.md says what each key means."""
    level, why = f.version(found, any(each.texts for each in found))
    same = all(each.is_same for each in found)
    return {
        "schema": SCHEMA,
        "old": old,
        "new": new,
        "same": same,
        "unchanged": count,
        "version": {"level": level, "why": why},
        "operators": [operator_json(each) for each in found],
    }


def operator_json(each: OperatorDiff) -> dict[str, Any]:
    operator = each.new or each.old
    assert operator is not None
    return {
        "name": each.name,
        "renamed_from": each.renamed_from or None,
        "place": operator.span.place,
        "classes": each.classes,
        "certainty": each.certainty if each.is_same else None,
        "proved": {
            "accepts": each.proved.accepts,
            "shapes": each.proved.shapes,
            "precisions": each.proved.precisions,
            "values": each.proved.values,
        },
        "undecided": each.undecided,
        "tried": each.tried,
        "same_for_all_values": list(each.same_on),
        "open": list(each.open_on),
        "changed_in": list(each.causes),
        "changes": [
            {"what": one.what, "text": one.text, "breaks": one.breaks, "adds": one.adds}
            for one in each.changes
        ],
        "witnesses": {
            kind: witness_json(each, witness) for kind, witness in each.witnesses.items()
        },
        "text": [
            {
                "target": one.target,
                "file": one.file,
                "added": one.added,
                "removed": one.removed,
                "diff": one.diff,
            }
            for one in each.texts
        ],
        "schedules": list(each.schedules),
    }


def witness_json(each: OperatorDiff, witness: Witness) -> dict[str, Any]:
    found: dict[str, Any] = {
        "inputs": {name: operand_json(value) for name, value in witness.call.inputs.items()},
        "attributes": dict(witness.call.attributes),
        "old": outcome_json(witness.old),
        "new": outcome_json(witness.new),
    }
    if witness.element is not None:
        one = witness.element
        place = {"output": one.output, "index": list(one.index)}
        found["first"] = {**place, "old": one.old, "new": one.new}
    if witness.kind in ("values", "shape") and each.runs is not None:
        runs = each.runs
        found["kernels"] = {
            "target": runs.target,
            "agree": runs.agree,
            "old": outcome_json(runs.old),
            "new": outcome_json(runs.new),
        }
    return found


def outcome_json(outcome: Outcome) -> dict[str, Any]:
    if outcome.refusal:
        return {"refused": outcome.refusal}
    return {"outputs": {name: operand_json(each) for name, each in outcome.outputs.items()}}


def operand_json(operand: Any) -> Any:
    if isinstance(operand, list):
        return [operand_json(each) for each in operand]
    assert isinstance(operand, Tensor)
    return {
        "shape": list(operand.shape),
        "dtype": operand.dtype,
        "precision": operand.precision or None,
        "values": operand.values,
    }
