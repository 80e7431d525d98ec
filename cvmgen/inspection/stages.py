"""What each stage of the compiler is for, and what it changed of an operator, as text."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache, partial
from typing import Any

from cvmgen import driver
from cvmgen.inspection.front import FRONT, front_text
from cvmgen.ir import nodes as i
from cvmgen.ir.text import block_lines, program_parts, program_text
from cvmgen.schedule.gpu.mapped import mapping_lines
from cvmgen.schedule.kernels import Kernels
from cvmgen.schedule.schedules import Schedules, packaged
from cvmgen.spec.formula import Operator

ALL = "all"

AROUND = {
    **FRONT,
    "translate": "a nest of loops around a store of each equation",
    driver.TYPES: "machine types, here for int32 tensors or the first choice of types",
    "outline": "loops that threads share as functions of their own, which say what they capture",
    "short": "loops of vectors compute in 32 bits what has no more",
    "families": "one body for the kernels of a nest that differ in element types alone",
    "inline": "branches that do the same for known values of the call as calls of one function",
    "dispatch": "what the host does behind its part, up to the last kernel of the call",
    "schedule": "each nest by the actions for its class, and kernels by their mappings",
}
"""The stages around the passes, which say themselves what they are for."""


def stages_of(target: str | None) -> tuple[str, ...]:
    """The stages of a target; without one, those of C, and at the end what CUDA does too."""
    known = driver.TARGETS[target or "c"]
    passes = [name for name, _ in known.passes]
    if known.kernel_passes is not None:
        passes += [driver.TYPES, *(name for name, _ in known.kernel_passes)]
    return (*FRONT, *passes)


def every_stage() -> tuple[str, ...]:
    """The stages of all targets, those of C first."""
    return tuple(dict.fromkeys(name for each in ("c", *driver.TARGETS) for name in stages_of(each)))


@cache
def stage_purpose(stage: str) -> str:
    """What a stage is for: of a pass what its docstring says first."""
    passes = dict(each for target in driver.TARGETS.values() for each in target.passes)
    return AROUND[stage] if stage in AROUND else first_sentence(passes[stage])


def first_sentence(run: Callable[..., Any]) -> str:
    """The first sentence of a function's docstring."""
    text = inspect.getdoc(run.func if isinstance(run, partial) else run) or ""
    first = " ".join(text.split("\n\n")[0].split()).removesuffix(".")
    return first[:1].lower() + first[1:]


def indented(lines: Iterable[str]) -> Iterator[str]:
    return (f"  {line}" for line in lines)


def stage_texts(
    operator: Operator, stage: str, target: str | None, schedules: Schedules | None
) -> Iterator[tuple[str, str]]:
    """Each stage that is asked for, with the text of what it changed."""
    for name in FRONT:
        if stage in (name, ALL):
            yield name, front_text(operator, name)
    if stage in FRONT:
        return
    kernel_passes = driver.TARGETS[target or "c"].kernel_passes
    if kernel_passes is None or stage not in ("schedule", *driver.PARTS):
        yield from program_texts(operator, stage, target)
    if stage in ("schedule", ALL) and "schedule" in stages_of(target):
        yield "schedule", scheduled_text(operator, target, schedules)
    for name in (each for each in driver.PARTS if each in dict(kernel_passes or ())):
        if stage in (name, ALL):
            chosen = packaged() if schedules is None else schedules
            yield name, kernels_text(operator, target or "c", name, chosen)


def scheduled_text(operator: Operator, target: str | None, schedules: Schedules | None) -> str:
    chosen = packaged() if schedules is None else schedules
    if target == "cuda":
        return mapping_text(operator, chosen)
    if target == "c":
        return schedule_text(operator, chosen)
    return stage_text(operator, "schedule", chosen)


def program_texts(operator: Operator, stage: str, target: str | None) -> Iterator[tuple[str, str]]:
    """What each pass up to a stage changed. Parts that it left alone are named, with the stage
    that shows them."""
    since: dict[str, str] = {}
    before: dict[str, list[str]] = {}
    for name, program in programs(operator, target or "c"):
        parts = named_parts(program)
        since = {
            head: since[head] if before.get(head) == lines else name
            for head, lines in parts.items()
        }
        gone = before.keys() - parts.keys()
        yield name, changed_text(operator, name, parts, since, sorted(gone))
        before = parts
        if name == stage:
            return


def changed_text(
    operator: Operator,
    stage: str,
    parts: Mapping[str, list[str]],
    since: Mapping[str, str],
    gone: Sequence[str],
) -> str:
    if not gone and stage not in since.values():
        places = ", ".join(dict.fromkeys(since.values()))
        return f"It changes nothing of {operator.full_name}, which is as after {places}.\n"
    lines = [f"program {operator.full_name}"]
    for head, part in parts.items():
        lines += part if since[head] == stage else [part[0], f"  as after {since[head]}"]
    for head in gone:
        lines += [head, "  is gone"]
    return "\n".join((*lines, ""))


def named_parts(program: i.Program) -> dict[str, list[str]]:
    """The lines of a program's parts by the first of them; of several alike each has a sign."""
    found: dict[str, list[str]] = {}
    for lines in program_parts(program):
        head = lines[0]
        while head in found:
            head += "'"
        found[head] = lines
    return found


# ---------------------------------------------------------------- the text of a stage


def stage_text(operator: Operator, stage: str, schedules: Schedules | None = None) -> str:
    """What a stage of STAGES made of the operator, as text for people."""
    if stage in FRONT:
        return front_text(operator, stage)
    if stage == "schedule":
        chosen = packaged() if schedules is None else schedules
        return schedule_text(operator, chosen) + mapping_text(operator, chosen)
    if stage in driver.PARTS:
        return kernels_text(operator, "c", stage, packaged() if schedules is None else schedules)
    return program_text(next(found for name, found in programs(operator, "c") if name == stage))


def programs(operator: Operator, target: str) -> Iterator[tuple[str, i.Program]]:
    """What each stage of a target from `translate` to `types` made of the operator, of kernels the
    widest ones."""
    for name, program in driver.lowered(operator, driver.TARGETS[target].passes):
        yield name, program
    if driver.TARGETS[target].kernel_passes is not None:
        yield driver.TYPES, driver.typed_kernels(program).shown()


def kernels_text(operator: Operator, target: str, stage: str, schedules: Schedules) -> str:
    """What a target is printed from: of each nest the widest kernel, behind its parts; or the call
    that starts all kernels."""
    kernels = driver.kernels_or_program(
        driver.lower(operator, driver.TARGETS[target].passes), target, schedules, stage
    )
    assert isinstance(kernels, Kernels)
    if kernels.call:
        lines = (f"program {operator.full_name}", "call:", *indented(block_lines(kernels.call)))
        return "\n".join((*lines, ""))
    return program_text(kernels.shown())


def schedule_text(operator: Operator, schedules: Schedules) -> str:
    """What the schedules for C make of the widest kernel of each nest: its class and roles, and
    the nest after each action."""
    kernels = driver.typed_kernels(driver.lower(operator, driver.C))
    lines = [f"program {operator.full_name}"]
    for number, nest in enumerate(kernels.program.nests):
        case = "" if nest.case is None else f" (case {nest.case})"
        lines += [f"nest {nest.tensor}{case}: {nest.formula}"]
        lines += [f"  {line}" for line in schedules.story("c", kernels.widest(number).subject)]
    return "\n".join(lines) + "\n"


def mapping_text(operator: Operator, schedules: Schedules) -> str:
    """How the kernels for CUDA divide their work, and of each nest what the widest one becomes."""
    kernels = driver.mapped_kernels(operator, schedules)
    classes = driver.operator_kernel_classes(operator, schedules).items()
    lines = ["kernels for cuda:", *(f"  {name}: {kind}" for name, kind in classes)]
    for number, nest in enumerate(kernels.program.nests):
        found = kernels.widest(number).mapped
        lines += [f"nest {nest.tensor} for cuda:"]
        lines += [f"  {line}" for line in (() if found is None else mapping_lines(found))]
    return "\n".join(lines) + "\n"
