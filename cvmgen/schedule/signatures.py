"""What kernels are given: the parameters of the functions that they become, for heads and calls."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from cvmgen.analysis.plan import Field, fields_read, plan_fields
from cvmgen.ir import checks as h
from cvmgen.ir import nodes as i
from cvmgen.ir.host import LISTS
from cvmgen.ir.uses import has
from cvmgen.schedule.entries import KeptValue
from cvmgen.schedule.gpu.mapped import DeviceFunction, KernelParameter, Mapped, plan_members_read
from cvmgen.schedule.kernels import Kernel, Kernels, nest_name
from cvmgen.typing import choices

Types = Mapping[str, str]
PLAN, VALUES = (f"{h.OURS}{name}" for name in ("plan", "values"))
OVERFLOW = KernelParameter(h.NOTED, "i64", elements=True, written=True, apart=False)
FIELD_TYPES = ("int64_t", "double", "bool", *LISTS)


def tensor_parameters(program: i.Program, nest: i.Nest, types: Types) -> list[KernelParameter]:
    """The tensors of a nest as parameters of its kernel; memory of the call holds int64."""
    written = choices.written_tensors(program, nest)
    return [
        KernelParameter(tensor, types.get(tensor, "i64"), elements=True, written=tensor in written)
        for tensor in choices.used_tensors(program, nest)
    ]


def tensor_types(kernel: Kernel) -> Types:
    """The machine types of a kernel's tensors in memory."""
    return {name: dtype.machine for name, dtype in kernel.subject.dtypes.items()}


def overflow_parameters(body: i.Block) -> list[KernelParameter]:
    """The parameter of a kernel that can find a value beyond the type of its output."""
    return [OVERFLOW] if has(body, i.Overflow) else []


def plan_parameter(program: i.Program) -> KernelParameter:
    return KernelParameter(PLAN, f"{program.operator.name}_plan", elements=True, apart=False)


# ---------------------------------------------------------------- C


def c_parameters(
    program: i.Program, kernel: Kernel, types: Types, kept: Sequence[KeptValue]
) -> list[KernelParameter]:
    """Those of a kernel in C, or of a family of kernels with it: the plan, tensors, where values
    that do not fit are noted, and the arrays that are kept of entries."""
    return [
        plan_parameter(program),
        *tensor_parameters(program, kernel.nest, types),
        *overflow_parameters(kernel.subject.body),
        *(KernelParameter(each.array, each.type, elements=True, written=True) for each in kept),
    ]


def tile_parameters(
    program: i.Program, kernel: Kernel, types: Mapping[str, str] | None = None
) -> list[KernelParameter]:
    """What the statements behind the totals of a kernel's tiles read and write, of its types of
    elements or of others."""
    used = () if kernel.tiles is None else kernel.tiles.tensors
    tensors = tensor_parameters(program, kernel.nest, types or tensor_types(kernel))
    return [each for each in (*tensors, OVERFLOW) if each.name in used]


def workspaces(kernels: Kernels) -> dict[int, str]:
    """The nests with a workspace, by their numbers, and the inputs that they pack."""
    found: dict[int, str] = {}
    for kernel in kernels.kernels:
        if kernel.subject.tiling is not None:
            found.setdefault(kernel.number, kernel.subject.tiling.w.load.tensor)
    return found


def kept_memory(kernels: Kernels) -> list[str]:
    """The memory that a bound call keeps, behind the workspaces of tiles: a name each."""
    lists = (entries(memory).name for memory, _ in kept_lists(kernels))
    return [*(each.name for each in kernels.program.scratch), *lists]


def kept_lists(kernels: Kernels) -> list[tuple[i.Scratch, int]]:
    """The memory of selected lists with values of their entries beside them, and how many of each
    entry."""
    found = []
    for number, nest in enumerate(kernels.program.nests):
        memory = kernels.program.lists_of(nest.tensor)
        if memory and nest.tensor not in kernels.operator.output_names:
            most = max(len(each.subject.kept) for each in kernels.of(number))
            found += [(memory[0], most)] if most else []
    return found


def entries(memory: i.Scratch) -> i.Var:
    """The memory for values of the entries of a list."""
    return i.Var(f"{h.OURS}{memory.name}_entries")


# ---------------------------------------------------------------- CUDA


@dataclass(frozen=True)
class DeviceSignatures:
    """What the kernels of an operator are given on a GPU."""

    kernels: Kernels

    @cached_property
    def fields(self) -> tuple[Field, ...]:
        """The members of the plan: what nests and the host's statements around launches read."""
        host = tuple((mapping_of(e).before, mapping_of(e).start) for e in self.kernels.kernels)
        return plan_fields(self.kernels.program, plan_members_read(host))

    @cached_property
    def values(self) -> Sequence[Sequence[Field]]:
        """What the kernels of each nest read of a call, in the order of the structure."""
        return [*map(self.values_of, range(len(self.kernels.program.nests)))]

    def values_of(self, number: int) -> list[Field]:
        found = map(mapping_of, self.kernels.of(number))
        bodies = tuple(function.body for each in found for function in each.functions)
        operator = self.kernels.operator
        read = {field for body in bodies for field in fields_read(self.fields, operator, body)}
        known = [field for field in self.fields if field in read]
        return sorted(known, key=lambda field: FIELD_TYPES.index(field.type))

    def values_name(self, number: int) -> str:
        """What the structure of them is called: no two units of a library share a name, as the
        templates that are made for it are merged by linkers."""
        return f"{self.kernels.operator.opset}_{nest_name(self.kernels.program, number)}_values"

    def tensors(self, nest: i.Nest) -> list[str]:
        """Those of a nest, of the memory that it fills only what its statements speak of."""
        program = self.kernels.program
        memory = {each.name for each in program.scratch_of(nest.tensor)}
        unused = memory - choices.read_in(nest.body)
        return [each for each in choices.used_tensors(program, nest) if each not in unused]

    def own(self, kernel: Kernel, function: DeviceFunction) -> list[KernelParameter]:
        """What all kernels of a nest are given, or one of its own statements."""
        nest, body = kernel.nest, kernel.typed
        if function.own:
            nest, body = replace(nest, body=function.body), function.body
        tensors = self.tensors(nest)
        types = tensor_types(kernel)
        found = tensor_parameters(self.kernels.program, nest, types)
        values = KernelParameter(VALUES, self.values_name(kernel.number))
        return [
            *([values] if self.values[kernel.number] else []),
            *(each for each in found if each.name in tensors),
            *overflow_parameters(body),
        ]

    def of(self, kernel: Kernel, function: DeviceFunction) -> list[KernelParameter]:
        """The parameters of a function that a kernel becomes."""
        return [*function.leading, *self.own(kernel, function), *function.parameters]


def mapping_of(kernel: Kernel) -> Mapped:
    assert kernel.mapped is not None, "a kernel is not mapped to threads"
    return kernel.mapped
