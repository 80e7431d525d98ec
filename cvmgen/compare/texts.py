"""What changed of the generated text, target by target, and of the classes of nests."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from cvmgen import driver
from cvmgen.schedule.kernels import Kernels
from cvmgen.schedule.schedules import Schedules
from cvmgen.spec.formula import Operator

Make = Callable[[Operator, Sequence[str], Schedules], Mapping[str, str]]


@dataclass(frozen=True, slots=True)
class ChangedText:
    """A generated file of an operator: the lines that came and went, and the unified diff."""

    target: str
    file: str
    added: int
    removed: int
    diff: str


def files_of(operator: Operator, targets: Sequence[str], schedules: Schedules) -> Mapping[str, str]:
    """The files of an operator for targets, by their names below generated/."""
    return driver.operator_texts(operator, targets, schedules).files


def changed_texts(
    old: tuple[Operator, Schedules] | None,
    new: tuple[Operator, Schedules] | None,
    targets: Sequence[str],
    make: Make = files_of,
) -> Iterator[ChangedText]:
    """The files of an operator that are not the same, target by target."""
    before = {} if old is None else make(old[0], targets, old[1])
    after = {} if new is None else make(new[0], targets, new[1])
    for name in sorted(before.keys() | after.keys()):
        one, other = before.get(name), after.get(name)
        if one != other:
            yield _changed_text(name.partition("/")[0], name, one, other)


def _changed_text(target: str, name: str, old: str | None, new: str | None) -> ChangedText:
    names = (
        f"a/{name}" if old is not None else "/dev/null",
        f"b/{name}" if new is not None else "/dev/null",
    )
    before, after = ((text or "").splitlines(keepends=True) for text in (old, new))
    lines = list(difflib.unified_diff(list(before), list(after), *names))
    body = lines[2:]
    return ChangedText(
        target,
        name,
        sum(line.startswith("+") for line in body),
        sum(line.startswith("-") for line in body),
        "".join(line if line.endswith("\n") else f"{line}\n" for line in lines),
    )


# ---------------------------------------------------------------- classes of nests


def classes_of(operator: Operator, schedules: Schedules, target: str) -> dict[str, str]:
    """The class of each nest of an operator, by what it computes."""
    if target == "cuda":
        return {
            name.removeprefix(f"{operator.opset}_{operator.name}_"): found
            for name, found in driver.operator_kernel_classes(operator, schedules).items()
        }
    kernels = driver.typed_kernels(driver.lower(operator, driver.C))
    assert isinstance(kernels, Kernels)
    found: dict[str, dict[str, None]] = {}
    for kernel in kernels.kernels:
        plan, _ = schedules.chosen("c", kernel.subject)
        name = f"nest {kernel.number + 1}, of {kernel.nest.tensor}"
        shape = "none" if plan is None else plan.schedule.shape.text
        found.setdefault(name, {})[shape] = None
    return {name: ", ".join(classes) for name, classes in found.items()}


def changed_classes(
    old: tuple[Operator, Schedules], new: tuple[Operator, Schedules], targets: Sequence[str]
) -> Iterator[str]:
    """The nests that schedules treat as another class, for people."""
    for target in ("c", "cuda"):
        if target not in targets:
            continue
        before, after = classes_of(*old, target), classes_of(*new, target)
        found: dict[tuple[str, str], list[str]] = {}
        for name in {**before, **after}:
            if before.get(name) != after.get(name):
                was, now = (each.get(name, "none") for each in (before, after))
                found.setdefault((was, now), []).append(name)
        for (was, now), (first, *others) in found.items():
            more = f" and {len(others)} more" if others else ""
            yield f"{target}: {was} -> {now} ({first}{more})"
