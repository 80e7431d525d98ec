"""The stages of a model in their order: from kernels for known shapes to what C is printed from."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace

from cvmgen.build.progress import followed
from cvmgen.errors import InternalError
from cvmgen.escape import printable
from cvmgen.ir.text import block_lines
from cvmgen.model import steps
from cvmgen.model.device import mapped_step, unsound_on_device
from cvmgen.model.device_tiles import TENSOR_TILE
from cvmgen.model.fuse import fused
from cvmgen.model.kernels import Model, ModelKernel
from cvmgen.model.layouts import Layouts, lay_out
from cvmgen.model.nests import in_loops, span_of
from cvmgen.model.steps import KernelStep, step_names, unsound_step
from cvmgen.schedule.gpu.mapped import mapping_lines
from cvmgen.schedule.schedules import Schedules


@dataclass(frozen=True, slots=True)
class Staged:
    """A model as far as it has come: its kernels; from the stage `layouts` on where all lies, from
    `types` on its steps."""

    model: Model
    layouts: Layouts | None = None
    steps: tuple[KernelStep, ...] = ()

    @property
    def placed(self) -> Layouts:
        if self.layouts is None:
            raise InternalError("the stage 'layouts' has not run")
        return self.layouts


def _fuse(made: Staged, schedules: Schedules) -> Staged:
    """Pointwise kernels join what makes their elements, and nothing is stored that nobody reads."""
    return replace(made, model=fused(made.model, schedules))


def layouts(made: Staged, schedules: Schedules) -> Staged:
    """Where tensors lie and in which type, and which kernels run as register tiles."""
    return replace(made, layouts=lay_out(made.model, schedules))


def _device_layouts(made: Staged, schedules: Schedules) -> Staged:
    """Where tensors lie and in which type, and which kernels run as tiles of tensor cores."""
    return replace(made, layouts=lay_out(made.model, schedules, TENSOR_TILE))


def types(made: Staged, schedules: Schedules) -> Staged:
    """Kernels as nests with machine types and offsets, each a step with a name."""
    placed = made.placed
    return replace(made, steps=tuple(steps.typed_steps(made.model, placed, placed.tiles)))


def _device_types(made: Staged, schedules: Schedules) -> Staged:
    """Kernels as nests with machine types and offsets, each a step with a name."""
    return replace(made, steps=tuple(steps.typed_steps(made.model, made.placed, {})))


def schedule(made: Staged, schedules: Schedules) -> Staged:
    """Each step by the actions for its class."""
    told = followed(made.steps, lambda each: f"scheduling {each.name}")
    return replace(made, steps=tuple(steps.scheduled_step(each, schedules) for each in told))


def _outline(made: Staged, schedules: Schedules) -> Staged:
    """Loops that threads share as functions of their own, which say what they capture."""
    told = followed(made.steps, lambda each: f"outlining {each.name}")
    return replace(made, steps=tuple(map(steps.outlined_step, told)))


def _short(made: Staged, schedules: Schedules) -> Staged:
    """Loops of vectors compute in 32 bits what has no more."""
    storage, finite = made.placed.storage, made.model.finite
    shortened = (steps.shortened_step(each, storage, finite) for each in made.steps)
    return replace(made, steps=tuple(shortened))


def _map(made: Staged, schedules: Schedules) -> Staged:
    """Each step as kernels whose loops say which threads share their iterations."""
    told = followed(made.steps, lambda each: f"mapping {each.name}")
    model, placed = made.model, made.placed
    mapped = (
        mapped_step(step, placed.tiles.get(at), model, placed, schedules)
        for at, step in enumerate(told)
    )
    return replace(made, steps=tuple(mapped))


SPECIALISE = "specialise"
ModelPass = Callable[[Staged, Schedules], Staged]
Passes = tuple[tuple[str, ModelPass], ...]
PASSES: Passes = (
    ("fuse", _fuse),
    ("layouts", layouts),
    ("types", types),
    ("schedule", schedule),
    ("outline", _outline),
    ("short", _short),
)
DEVICE_PASSES: Passes = (
    ("fuse", _fuse),
    ("layouts", _device_layouts),
    ("types", _device_types),
    ("map", _map),
)


def staged(
    model: Model, schedules: Schedules, passes: Passes = PASSES
) -> Iterator[tuple[str, Staged]]:
    """The model after each stage, verified, with the stage's name."""
    made = Staged(model)
    yield SPECIALISE, made
    for name, run in passes:
        made = run(made, schedules)
        verify_steps(made.steps, name)
        yield name, made


def verify_steps(made: Iterable[KernelStep], stage: str) -> None:
    """Raise InternalError that names the stage if a step does not hold together."""
    for each in followed(made, lambda one: f"verifying {one.name} after {stage}"):
        faults = unsound_step(each) if each.mapped is None else unsound_on_device(each)
        if fault := next(faults, ""):
            message = f"the stage '{stage}' of models leaves {each.name} unsound: {fault}"
            raise InternalError(message)


# ---------------------------------------------------------------- for people


def stage_report(stage: str, made: Staged, schedules: Schedules) -> Iterator[tuple[str, list[str]]]:
    """What a stage made of each kernel or step, by name."""
    for at, (name, kernel) in enumerate(
        () if made.steps else zip(step_names(made.model), made.model.kernels, strict=True)
    ):
        lines = block_lines(in_loops(kernel.loops, kernel.body, span_of(kernel)))
        if made.layouts is not None:
            lines = list(memory_lines(at, kernel, made.layouts))
        yield name, [*origin_lines(kernel), *lines]
    for step in made.steps:
        lines = list(step_lines(step))
        if stage == "schedule":
            lines = list(schedules.story("model", step.typed))
        yield step.name, [*origin_lines(step.kernel), *lines]


def origin_lines(kernel: ModelKernel) -> Iterator[str]:
    """The nodes of a kernel, and their formulas' places."""
    for each in kernel.origins:
        yield printable(f"{each.node}: {each.operator}, {each.location}")


def memory_lines(at: int, kernel: ModelKernel, layouts: Layouts) -> Iterator[str]:
    """How the tensors of a kernel lie in memory, and whether it runs as register tiles."""
    for name in sorted(kernel.read | kernel.written):
        place, elements = layouts.storage.placements[name], layouts.storage.elements[name]
        border = f", with a border of {place.pads}" if place.bordered else ""
        yield f"{name}: {elements.type}, shape {place.shape}, strides {place.strides}{border}"
    if at in layouts.tiles:
        yield f"by register tiles, of {layouts.tiles[at].panels}"


def step_lines(step: KernelStep) -> Iterator[str]:
    """The functions of a step, those for parts first."""
    if step.mapped is not None:
        yield from mapping_lines(step.mapped)
        return
    for part in step.parts:
        yield f"{part.name}: {', '.join(each.name for each in part.captures)}"
        yield from (f"  {line}" for line in block_lines(part.body))
    yield from block_lines((*step.front, *(step.outlined or step.made.body)))
