"""Steps of a model as kernels of a GPU: constant extents, mappings as those of operators."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from math import prod
from typing import Any

from cvmgen.analysis.grid import grid
from cvmgen.dtypes import DTYPES, DType
from cvmgen.emit.c_spelling import c_identifier
from cvmgen.ir import checks as h
from cvmgen.ir import nodes as i
from cvmgen.ir.kernel_fault import kernel_fault
from cvmgen.ir.loops import unravel
from cvmgen.ir.threads import GRID
from cvmgen.ir.uniform import thread_fault
from cvmgen.ir.uses import assigned, nodes_in
from cvmgen.ir.visit import fresh, rebuild
from cvmgen.known.partial import arithmetic
from cvmgen.model.device_tiles import FAR, tile_contraction, tile_count
from cvmgen.model.kernels import Model, nest_and_body
from cvmgen.model.layouts import Layouts, TileLayout
from cvmgen.model.nests import ShortNames, span_of
from cvmgen.model.short_indices import with_short_indices
from cvmgen.model.steps import KernelStep
from cvmgen.schedule.gpu.blocks import list_mapping
from cvmgen.schedule.gpu.choice import all_settings, launch_fault, mapping
from cvmgen.schedule.gpu.mapped import DeviceFunction, KnownNest, Mapped, MappingTask, launch
from cvmgen.schedule.gpu.tensor_tiles import TensorTile
from cvmgen.schedule.schedules import Schedules
from cvmgen.typing.agreement import type_fault

OF_NESTS = ("teams", "vectors", "threads")
"""The mappings that need no more of a nest than its statements."""

ELEMENTS: Mapping[str, DType] = {
    each.machine: each for each in DTYPES.values() if each.kind != "bool" and each.name != "float16"
}


def mapped_step(
    step: KernelStep, tile: TileLayout | None, model: Model, layouts: Layouts, schedules: Schedules
) -> KernelStep:
    """A step with what it becomes on a GPU; the first kernel fills the borders too."""
    task = mapping_task(step, model, layouts, schedules)
    if tile is not None:
        made = tile_mapping(step, tile, layouts, task)
    else:
        names = [name for name, _ in schedules.mappings("cuda") if name in OF_NESTS]
        made = list_mapping(task) or mapping(task, names)
    sizes = (layouts.storage.placements[each].size for each in task.dtypes)
    near = max(step.kernel.iterations, *sizes) <= FAR
    first, *others = (shortened(each) if near else each for each in made.functions)
    first = replace(first, body=(*border_loops(step, task), *first.body))
    packed = () if tile is None else tile.packed
    types = {each: layouts.storage.elements[each].type for each in packed}
    outside = replace(step.made.outside, tensors={**step.made.outside.tensors, **types})
    nest = replace(step.made, outside=outside)
    return replace(step, made=nest, mapped=replace(made, functions=(first, *others)))


def shortened(function: DeviceFunction) -> DeviceFunction:
    """A kernel of single threads with its indices in 32 bits; what helpers count has 64."""
    if function.kind != "grid":
        return function
    return replace(function, body=with_short_indices(function.body))


def mapping_task(
    step: KernelStep, model: Model, layouts: Layouts, schedules: Schedules
) -> MappingTask:
    kernel, storage = step.kernel, layouts.storage
    body = step.typed.body
    names = kernel.read | kernel.written
    lists = frozenset(each for each in kernel.written if model.tensors[each].listed)
    # An iteration may read what those before it have stored, unless each has memory of its own.
    apart = 0 if (kernel.read & kernel.written) - lists else len(kernel.loops)
    whole = len(grid(body).loops) == apart and not lists
    known = KnownNest(None if whole else apart, step.typed.reserved, lists)
    result = sorted(kernel.written)[-1]
    nest = i.Nest(result, None, None, (), body, "", span_of(kernel))
    program = i.Program(kernel.operator, (), (nest,))
    dtypes = {each: ELEMENTS[storage.elements[each].type] for each in names}
    return MappingTask(program, nest, body, "", dtypes, all_settings(schedules), known)


def tile_mapping(step: KernelStep, tile: TileLayout, layouts: Layouts, task: MappingTask) -> Mapped:
    """A block for each tile of totals."""
    kernel = step.kernel
    tensors = kernel.read | kernel.written | frozenset(tile.packed)
    names = ShortNames({*map(c_identifier, tensors), step.name})
    found = tile_contraction(kernel, tile, layouts.storage, names)
    assert task.known is not None
    known = replace(task.known, reserved=frozenset(names.taken))
    task = replace(task, body=found.after, known=known)
    function = DeviceFunction("", "contraction", TensorTile(task, found).body(), bounds="tiles")
    count = tile_count(tile.product, task.settings)
    return Mapped((function,), (), (launch(task, i.Const(count.tiles), "", "launch_tiles"),))


def border_loops(step: KernelStep, task: MappingTask) -> Iterator[i.Loop]:
    """What stands in front of a step, shared among all threads."""
    taken = task.taken
    at, place = (fresh(name, taken) for name in ("at", "place"))
    for statement in step.front:
        loops, body = nest_and_body((statement,))
        for fill in nodes_in(body, i.Fill):
            assert isinstance(fill.count, i.Const)
            extents = [*(extent for _, extent in loops), int(fill.count.value)]
            own = [*(index for index, _ in loops), place]
            indices = unravel(i.Var(at), [i.Const(each) for each in extents])
            lets = tuple(
                i.Let(index, "i32", value, fill.span)
                for index, value in zip(own, indices, strict=True)
            )
            offset = arithmetic("+", fill.target.offset, i.Var(place))
            store = i.Store(replace(fill.target, offset=offset), fill.value, fill.span)
            inner: i.Block = (*lets, store) if loops else (store,)
            index, high = at if loops else place, i.Const(prod(extents))
            yield i.Loop(index, i.ZERO, high, inner, 0, fill.span, share=GRID, type="i32")


# ---------------------------------------------------------------- the host


def host_part(step: KernelStep, taken_by_kernel: Mapping[str, tuple[str, ...]]) -> i.Block:
    """What the host does to start the kernels of a step, each of which is given tensors: its locals
    are ours."""
    assert step.mapped is not None
    statements = (*step.mapped.before, *step.mapped.start)
    own = assigned(statements)

    def change(node: Any) -> Any:
        match node:
            case i.Var(name=name) if name in own:
                return i.Var(f"{h.OURS}{name}")
            case i.Let(name=name) | i.Assign(name=name) if name in own:
                return replace(node, name=f"{h.OURS}{name}")
            case i.Launch(kernel=kernel, arguments=more):
                given = tuple(map(i.Var, taken_by_kernel[kernel]))
                return replace(node, kernel=f"{step.name}{kernel}", arguments=(*given, *more))
            case _:
                return node

    return rebuild(statements, change)


# ---------------------------------------------------------------- faults


def unsound_on_device(step: KernelStep) -> Iterator[str]:
    """What does not hold together in the kernels of a step."""
    assert step.mapped is not None
    for each in step.mapped.functions:
        given = (*each.leading, *each.parameters)
        values = {one.name: one.type for one in given if not one.elements}
        elements = {**step.made.elements, **{e.name: e.type for e in given if e.elements}}
        fault = kernel_fault(each.body, {*values}, elements) or thread_fault(each.body)
        if fault := fault or type_fault(each.body, elements, values):
            yield f"in the {each.kind} kernel {fault}"
    host = (*step.mapped.before, *step.mapped.start)
    fault = kernel_fault(host, (), ()) or type_fault(host, step.made.elements)
    if fault := fault or launch_fault(host, step.mapped):
        yield f"in what the host does {fault}"
