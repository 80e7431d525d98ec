"""The stage that maps kernels to threads: a nest gets the first one of the mappings that schedules
for CUDA name which knows its shape."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

from cvmgen.ir import nodes as i
from cvmgen.ir.kernel_fault import kernel_fault
from cvmgen.ir.remember import remembered
from cvmgen.ir.uniform import thread_fault
from cvmgen.ir.visit import walk
from cvmgen.schedule.forms import Settings
from cvmgen.schedule.gpu.blocks import list_mapping
from cvmgen.schedule.gpu.mapped import NARROW, Mapped, MappingTask, NextMapping
from cvmgen.schedule.gpu.pair_mask import pair_mask
from cvmgen.schedule.gpu.shared_boxes import shared_boxes
from cvmgen.schedule.gpu.teams import teams
from cvmgen.schedule.gpu.tensor_tiles import tensor_tiles
from cvmgen.schedule.gpu.threads import threads
from cvmgen.schedule.gpu.vectors import vector_mapping
from cvmgen.schedule.kernels import Kernel, Kernels
from cvmgen.schedule.schedules import Schedules, packaged
from cvmgen.typing.agreement import type_fault

# By what schedules call them; each gives None for a nest that is not of its shape.
MAPPINGS: dict[str, Callable[[MappingTask, NextMapping], Mapped | None]] = {
    "pair_mask": lambda task, otherwise: pair_mask(task),
    "blocks": lambda task, otherwise: list_mapping(task),
    "tensor_tiles": tensor_tiles,
    "shared_boxes": lambda task, otherwise: shared_boxes(task),
    "teams": lambda task, otherwise: teams(task),
    "vectors": lambda task, otherwise: vector_mapping(task),
    "threads": lambda task, otherwise: threads(task),
}


def with_mappings(kernels: Kernels, schedules: Schedules) -> Kernels:
    """The kernels with what each becomes on a GPU."""
    names = [name for name, _ in schedules.mappings("cuda")]
    settings = all_settings(schedules)

    def of(kernel: Kernel) -> Mapped:
        dtypes = kernel.subject.dtypes
        task = MappingTask(kernels.program, kernel.nest, kernel.typed, "", dtypes, settings)
        return mapping(task, names)

    return replace(kernels, kernels=tuple(replace(e, mapped=of(e)) for e in kernels.kernels))


def all_settings(schedules: Schedules) -> dict[str, Settings]:
    """The settings of all mappings by name; those that no schedule uses have cvmgen's own."""
    return dict(packaged().mappings("cuda")) | dict(schedules.mappings("cuda"))


@remembered
def unsound_on_gpu(kernel: Kernel) -> tuple[str, ...]:
    """What in the functions that a kernel became does not hold together, or threads may not do.
    Asked behind each stage, of which most leave them as they are."""
    return tuple(_found_unsound(kernel))


def _found_unsound(kernel: Kernel) -> Iterator[str]:
    if kernel.mapped is None:
        return
    subject, launched = kernel.subject, kernel.mapped
    for each in launched.functions:
        given = (*each.leading, *each.parameters)
        values = {one.name: one.type for one in given if not one.elements}
        elements = {**subject.elements, **{one.name: one.type for one in given if one.elements}}
        names, tensors = subject.outside.names | {*values}, {*subject.outside.tensors, *elements}
        fault = kernel_fault(each.body, names, tensors) or thread_fault(each.body)
        if fault := fault or type_fault(each.body, elements, values):
            yield f"in the {each.kind} kernel{each.name} {fault}"
    host = (*launched.before, *launched.start)
    fault = kernel_fault(host, {NARROW.name}, ()) or type_fault(host, subject.elements)
    if fault := fault or launch_fault(host, launched):
        yield f"in what the host does {fault}"


def launch_fault(host: i.Block, mapped: Mapped) -> str:
    """What is started that is no kernel, or without what it is given."""
    parameters = {each.name: len(each.parameters) for each in mapped.functions}
    for each in walk(host):
        if isinstance(each, i.Launch) and parameters.get(each.kernel) != len(each.arguments):
            return f"kernel{each.kernel} is started with {len(each.arguments)} arguments"
    return ""


def mapping(task: MappingTask, names: Sequence[str]) -> Mapped:
    """The mapping for the shape of a nest: of those named, the first that knows it."""
    if task.outer is not None:
        return threads(task)
    if not names:
        return list_mapping(task) or threads(task)
    first, *rest = names
    found = MAPPINGS[first](task, lambda other: mapping(other, rest))
    return mapping(task, rest) if found is None else found
