"""Families on a GPU: functions that differ in element types alone become one for all of them.

The kernels that the host starts have C names and types of their own; each only calls that one.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial

from cvmgen.ir.remember import remembered
from cvmgen.ir.visit import fresh
from cvmgen.schedule.generic import (
    DifferentError,
    SideBySide,
    generic,
    grouped,
    instance,
    type_of_values,
    with_converted_stores,
    without_idle,
)
from cvmgen.schedule.gpu.mapped import DeviceFunction
from cvmgen.schedule.kernels import DeviceFamily, Kernel, Kernels, nest_name
from cvmgen.schedule.schedules import Schedules
from cvmgen.schedule.signatures import DeviceSignatures, mapping_of


def device_families(kernels: Kernels, schedules: Schedules) -> Kernels:
    """Functions of a nest's kernels that differ in element types alone are one family."""
    signatures = DeviceSignatures(kernels)
    numbers = range(len(kernels.program.nests))
    taken: set[str] = set()
    found = [
        replace(each, name=fresh(each.name, taken)) if each.types else each
        for number in numbers
        for each in of_nest(signatures, kernels.of(number))
    ]
    return replace(kernels, device_families=tuple(found))


def of_nest(signatures: DeviceSignatures, kernels: Sequence[Kernel]) -> Iterator[DeviceFamily]:
    """The families of the functions that the kernels of a nest become: the first function of all
    kernels, the second, and so on, where all of them have the same ones."""
    names = {tuple(function.name for function in mapping_of(each).functions) for each in kernels}
    if len(names) > 1:
        for each in kernels:
            yield from of_nest(signatures, [each])
        return
    for functions in zip(*(mapping_of(each).functions for each in kernels), strict=True):
        yield from grouped(zip(kernels, functions, strict=True), partial(_family, signatures))


def _family(
    signatures: DeviceSignatures, members: Sequence[tuple[Kernel, DeviceFunction]]
) -> DeviceFamily | None:
    """The family that functions of some kernels are, if they are one: they are given the same, but
    for types."""
    if len(members) == 1:
        return _family_of_one(signatures, *members[0])
    kernels, functions = zip(*members, strict=True)
    made = generic(kernels, functions)
    if made is None:
        return None
    body, types = made
    given = map(signatures.of, kernels, functions)
    try:
        parameters = SideBySide(types, ()).unified([*given])
    except DifferentError:
        return None
    name = f"{nest_name(signatures.kernels.program, kernels[0].number)}{body.name}_body"
    return DeviceFamily(name, kernels, functions, types, body, tuple(parameters))


def _family_of_one(
    signatures: DeviceSignatures, kernel: Kernel, function: DeviceFunction
) -> DeviceFamily:
    """A function by itself."""
    given = tuple(signatures.of(kernel, function))
    return DeviceFamily("", (kernel,), (function,), {}, function, given)


def unsound_device_families(kernels: Kernels) -> Iterator[str]:
    """The functions of families that their body is not, with their machine types for the
    parameters, or that are given something else."""
    signatures = DeviceSignatures(kernels)
    for each in kernels.device_families:
        yield from unsound_functions(signatures, each)


def unsound_functions(signatures: DeviceSignatures, family: DeviceFamily) -> Iterator[str]:
    yield from unsound_bodies(family)
    for at, (kernel, function) in enumerate(zip(family.kernels, family.functions, strict=True)):
        types = {name: kinds[at] for name, kinds in family.types.items()}
        if instance(family.given, types) != tuple(signatures.of(kernel, function)):
            yield f"{kernel.name}{function.name} is not given what its family is"


@remembered
def unsound_bodies(family: DeviceFamily) -> tuple[str, ...]:
    """The functions that the body of their family is not."""
    return tuple(_found_unsound(family))


def _found_unsound(family: DeviceFamily) -> Iterator[str]:
    for at, (kernel, function) in enumerate(zip(family.kernels, family.functions, strict=True)):
        types = {name: kinds[at] for name, kinds in family.types.items()}
        if not types and function == family.body:
            continue
        stored = with_converted_stores(function, kernel) if types else function
        type_of = type_of_values(kernel, stored)
        if without_idle(instance(family.body, types), type_of) != without_idle(stored, type_of):
            yield f"the body of {kernel.name}{function.name} is not that of its family"
