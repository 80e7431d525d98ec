"""The kernels of a nest as functions of CUDA C++, with what all of them are given."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Sequence
from dataclasses import dataclass

from cvmgen.analysis.plan import Field
from cvmgen.emit.c_spelling import MACHINE_TYPES, c_identifier, pointer
from cvmgen.emit.c_text import signature, wrapped_declarations, wrapped_list
from cvmgen.emit.cuda_kernels import HEADERS, CudaKernelPrinter, called_helpers
from cvmgen.emit.lines import indented, wrap_c
from cvmgen.ir import nodes as i
from cvmgen.ir.host import LISTS
from cvmgen.ir.uses import assigned, names_in
from cvmgen.schedule.gpu.mapped import DeviceFunction, KernelParameter
from cvmgen.schedule.kernels import DeviceFamily
from cvmgen.schedule.signatures import VALUES

BOUNDS = {
    "": "CVMGEN_BLOCK, CVMGEN_RESIDENT",
    "powers": "CVMGEN_BLOCK, 2",  # of real numbers, with 128 bits, for which registers are needed
    "tiles": "CVMGEN_TILE_THREADS, CVMGEN_TILE_RESIDENT",
}
"""The threads of a block, and how many blocks share the registers of a multiprocessor."""


@dataclass(frozen=True, slots=True)
class KernelTexts:
    """What the kernels of a nest share, for one choice of element types."""

    program: i.Program
    name: str  # with which those of its functions begin
    body: i.Block  # typed, before it is mapped
    given: Callable[[DeviceFunction], Sequence[KernelParameter]]  # the parameters of a kernel
    # What stands in it below locals for what it reads of a call: the formula.
    opening: Callable[[DeviceFunction], Sequence[str]]
    fields: Callable[[tuple[object, ...]], list[Field]]  # what IR reads of a call

    def head(self, function: DeviceFunction) -> list[str]:
        """The head of a kernel."""
        called = called_helpers(function.body) & {"power_f64", *HEADERS["cvmgen_elementary.h"]}
        bounds = BOUNDS["powers" if called and not function.bounds else function.bounds]
        start = f'extern "C" __global__ void __launch_bounds__({bounds})'
        parameters = [parameter_declaration(each) for each in self.given(function)]
        return [start, *signature(f"{self.name}{function.name}(", parameters)]

    def kernel(self, function: DeviceFunction) -> str:
        """The text of a kernel."""
        return "\n".join([*self.head(function), *self.lines(function), "}"])

    def lines(self, function: DeviceFunction) -> list[str]:
        """The statements of a kernel."""
        others = {each.name for each in (*function.leading, *function.parameters)}
        made = (others | assigned(function.body)) - (names_in(self.body) | assigned(self.body))
        printer = CudaKernelPrinter(self.program, function.body, made)
        fields = self.fields(function.body)
        opening = unpacked_fields(fields, function.short)
        if not fields and any(each.name == VALUES for each in self.given(function)):
            # Another kernel of the nest reads them.
            opening = ["(void)values;"]
        return wrap_c(indented([*opening, *self.opening(function), *printer.block(function.body)]))

    def entry(self, function: DeviceFunction, name: str) -> str:
        """A kernel that only calls a function for its element types."""
        arguments = [*map(parameter_name, self.given(function))]
        call = indented(wrapped_list(f"{name}(", arguments, ");", 92))
        return "\n".join([*self.head(function), *call, "}"])


def parameter_declaration(given: KernelParameter, *, inlined: bool = False) -> str:
    """The declaration of a parameter; a function that is inlined has structures by reference."""
    if given.elements:
        return pointer(given, "__restrict__")
    kind = MACHINE_TYPES.get(given.type, given.type)
    name = parameter_name(given)
    return f"const {kind} &{name}" if inlined else f"const __grid_constant__ {kind} {name}"


def parameter_name(given: KernelParameter) -> str:
    """The name of a parameter; what mappings make keeps the name that they give it."""
    return c_identifier(given.name) if given.elements or given.name == VALUES else given.name


def unpacked_fields(fields: Iterable[Field], short: Container[str]) -> list[str]:
    """Locals for what a nest reads of the call."""
    kinds: dict[str, list[str]] = {
        "int64_t": [],
        "int32_t": [],
        "double": [],
        "bool": [],
    }
    fields = list(fields)
    for field in (each for each in fields if each.type not in LISTS):
        narrow = field.type == "int64_t" and field.name in short
        kinds["int32_t" if narrow else field.type].append(c_identifier(field.name))
    lines = []
    for kind, names in kinds.items():
        cast = "(int32_t)" if kind == "int32_t" else ""
        lines += wrapped_declarations(
            f"const {kind}", [f"{name} = {cast}values.{name}" for name in names]
        )
    lists = ((each.type, c_identifier(each.name)) for each in fields if each.type in LISTS)
    return [*lines, *(f"const {kind} &{name} = values.{name};" for kind, name in lists)]


def template(frames: Sequence[KernelTexts], family: DeviceFamily) -> list[str]:
    """A function for several element types, and the kernels that call it for theirs."""
    function, types = family.body, family.types
    head = [
        f"template <{', '.join(f'typename {each}' for each in types)}>",
        "static __device__ __forceinline__ void",
        *signature(
            f"{family.name}(", [parameter_declaration(each, inlined=True) for each in family.given]
        ),
    ]
    found = ["\n".join([*head, *frames[0].lines(function), "}"])]
    for at, frame in enumerate(frames):
        kinds = ", ".join(MACHINE_TYPES[each[at]] for each in types.values())
        found.append(frame.entry(function, f"{family.name}<{kinds}>"))
    return found
