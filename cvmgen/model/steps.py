"""Steps of a model: its kernels as nests, with types, as schedules leave them, then outlined."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from cvmgen.build.progress import followed
from cvmgen.emit.c_spelling import c_identifier
from cvmgen.ir import nodes as i
from cvmgen.ir.rewrite import without_dead
from cvmgen.ir.uses import nodes_in, read_tensors, stored_tensors
from cvmgen.ir.visit import walk
from cvmgen.model.kernels import Model, ModelKernel
from cvmgen.model.layouts import Layouts, TileLayout
from cvmgen.model.nests import ShortNames, border, longest_steps_first, nest_of, span_of
from cvmgen.model.storage import Storage, along_memory
from cvmgen.model.tiles import Tiled
from cvmgen.schedule.gpu.mapped import Mapped
from cvmgen.schedule.legality import unsound
from cvmgen.schedule.outline import OutlinedPart, Outliner, call_name, part_name, unsound_outlined
from cvmgen.schedule.schedules import Schedules
from cvmgen.schedule.subject import InModel, Subject
from cvmgen.typing.short_integers import short_integers
from cvmgen.typing.short_reals import short_reals


@dataclass(frozen=True, slots=True)
class KernelStep:
    """A kernel with the name of its function: the nest as it got types, and as its schedule leaves
    it; `front` are statements that stand before it, which no thread has a part of. `outlined` is
    the nest with `parts` for the loops that threads share. On a GPU it is `mapped` to threads, and
    so is what stands before it."""

    name: str
    kernel: ModelKernel
    front: i.Block
    typed: Subject
    made: Subject
    outlined: i.Block = ()
    parts: tuple[OutlinedPart, ...] = ()
    mapped: Mapped | None = None

    @property
    def tensors(self) -> tuple[str, ...]:
        """What it is given: tensors that are read, then those that are written."""
        if self.mapped is None:
            return self.tensors_of(self.made.body)
        return self.tensors_of(tuple(each.body for each in self.mapped.functions))

    def tensors_of(self, body: object) -> tuple[str, ...]:
        """The same of some of its statements."""
        found, written = read_tensors(body), self.kernel.written
        own = {each.name for each in nodes_in(body, i.Array)}
        return (*sorted(found - own - written), *sorted(written & found))

    @property
    def shared(self) -> bool:
        """Whether threads share it."""
        return any(isinstance(each, i.Loop) and each.parallel for each in walk(self.made.body))

    @property
    def written(self) -> frozenset[str]:
        return stored_tensors(self.made.body)


def typed_steps(
    model: Model, layouts: Layouts, tiles: Mapping[int, TileLayout]
) -> Iterator[KernelStep]:
    """The kernels as nests with machine types, for schedules to begin with, which may make register
    tiles of some."""
    storage, filled = layouts.storage, set[str]()
    named = list(zip(step_names(model), model.kernels, strict=True))
    for at, (name, kernel) in enumerate(followed(named, lambda each: f"typing {each[0]}")):
        begun = sorted(kernel.written - filled)  # no kernel before this one writes them
        front = tuple(line for each in begun for line in border(each, storage, span_of(kernel)))
        filled |= kernel.written
        nest = step_subject(name, kernel, tiles.get(at), storage)
        yield KernelStep(name, kernel, front, nest, nest)


def step_subject(
    name: str, kernel: ModelKernel, tile: TileLayout | None, storage: Storage
) -> Subject:
    taken = {*map(c_identifier, kernel.read | kernel.written), name}
    names = ShortNames(taken)
    if tile is None:
        return nest_of(along_memory(kernel, storage.placements), storage, names)
    nest = nest_of(kernel, storage, names)
    blocks = Tiled.of(kernel, tile, storage).blocks(
        names, ShortNames({*taken, c_identifier(tile.panels)})
    )
    outside = replace(nest.outside, tensors={**nest.outside.tensors, tile.panels: "i8"})
    model = InModel(tile.product.measures(kernel), blocks)
    return replace(nest, outside=outside, model=model)


def scheduled_step(step: KernelStep, schedules: Schedules) -> KernelStep:
    """A step by the schedule of its class, places with their longest steps first."""
    made = schedules.scheduled("model", step.typed)
    return replace(step, made=made.with_body(longest_steps_first(without_dead(made.body))))


def outlined_step(step: KernelStep) -> KernelStep:
    outliner = Outliner(step.name, step.made.body, step.tensors, set(), lambda _: False, set())
    return replace(step, outlined=outliner.outlined(), parts=tuple(outliner.parts))


def shortened_step(step: KernelStep, storage: Storage, finite: frozenset[str]) -> KernelStep:
    """Loops of vectors compute in 32 bits what has no more; `finite` parameters are so."""
    elements = step.made.elements
    held = {
        name: each.range
        for name, each in storage.elements.items()
        if each.dtype is None and each.bias == 0
    }

    def short(body: i.Block, around: i.Block = ()) -> i.Block:
        arrays = {each.name: each.type for each in nodes_in((around, body), i.Array)}
        known = {**elements, **arrays}
        return short_integers(short_reals(body, known), known, {}, around, held, finite)

    parts = tuple(each.with_body(short(each.body, step.outlined)) for each in step.parts)
    return replace(step, outlined=short(step.outlined), parts=parts)


def unsound_step(step: KernelStep) -> Iterator[str]:
    """What does not hold together in a step."""
    if not step.outlined:
        yield from unsound(step.made)
    body = (*step.front, *step.outlined)
    computing = (step.outlined or step.made.body, *(each.body for each in step.parts))
    for tensor in sorted(step.kernel.written - stored_tensors(computing)):
        yield f"nothing writes to {tensor}"
    yield from unsound_outlined(body, step.parts, (), step.made.elements)


def own_name(name: str, taken: set[str]) -> str:
    """A name for a step like `name`, of which those of its part are made; none of them is taken."""
    made, number = name, 2
    while not taken.isdisjoint(calls_after(made)):
        made, number = f"{name}_{number}", number + 1
    taken.update(calls_after(made))
    return made


def calls_after(step: str) -> tuple[str, ...]:
    """What is called after a step."""
    part = part_name(step)
    return step, part, call_name(part)


def step_names(model: Model) -> list[str]:
    """A step is called after the node whose result it stores."""
    taken = set(map(c_identifier, model.tensors))
    results = (sorted(each.written)[-1] for each in model.kernels)
    return [own_name(c_identifier(f"{name}_step"), taken) for name in results]
