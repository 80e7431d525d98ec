"""The kernels of a nest as functions of CUDA C++, with what all of them are given."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Sequence
from dataclasses import dataclass

from cvmgen.analysis.plan import Field
from cvmgen.emit.c_like import MACHINE_TYPES, identifier, indent
from cvmgen.emit.c_text import signature, wrapped
from cvmgen.emit.cuda_kernels import CudaKernelPrinter, Launched, LaunchPrinter, called
from cvmgen.emit.wrap import wrap_c
from cvmgen.ir import nodes as i
from cvmgen.ir.uses import assigned, changed, names_in
from cvmgen.schedule.gpu.mapped import Function, Parameter

BOUNDS = {
    "": "CVMGEN_BLOCK, CVMGEN_RESIDENT",
    "powers": "CVMGEN_BLOCK, 2",  # of real numbers, with 128 bits, for which registers are needed
    "tiles": "CVMGEN_TILE_THREADS, CVMGEN_TILE_RESIDENT",
}
"""The threads of a block, and how many blocks share the registers of a multiprocessor."""


@dataclass(frozen=True, slots=True)
class Frame:
    """What the kernels of a nest share, for one choice of element types."""

    program: i.Program
    name: str  # with which those of its functions begin
    body: i.Block  # typed, before it is mapped
    parameters: Sequence[str]
    arguments: Sequence[str]  # of a launch, for the parameters
    opening: Sequence[str]  # of a kernel, below locals for what it reads of a call: the formula
    fields: Callable[[tuple[object, ...]], list[Field]]  # what IR reads of a call
    # The same for other statements that do a part of the nest.
    part: Callable[[i.Block], Frame]

    def of(self, function: Function) -> Frame:
        """That of a kernel."""
        return self.part(function.body) if function.own else self

    def kernel(self, function: Function) -> str:
        """The text of a kernel."""
        frame = self.of(function)
        extra = (*function.leading, *function.parameters)
        parameters = [*map(declared, function.leading), *frame.parameters]
        parameters += map(declared, function.parameters)
        of_nest = names_in(self.body) | assigned(self.body)
        made = ({each.name for each in extra} | assigned(function.body)) - of_nest
        printer = CudaKernelPrinter(self.program, function.body, made)
        fields = self.fields(function.body)
        opening = unpacked(fields, function.short)
        if not fields and "values" in frame.arguments:  # another kernel of the nest reads them
            opening = ["(void)values;"]
        lines = [*opening, *frame.opening, *printer.block(function.body)]
        powers = "power_f64" in called(function.body) and not function.bounds
        bounds = BOUNDS["powers" if powers else function.bounds]
        start = f'extern "C" __global__ void __launch_bounds__({bounds})'
        head = signature(f"{self.name}{function.name}(", parameters)
        return "\n".join([start, *head, *wrap_c(indent(lines)), "}"])

    def host(self, functions: Sequence[Function], statements: i.Block, width: int) -> list[str]:
        """Statements of the host around launches of kernels, in lines of so many columns."""
        launched = {
            each.name: Launched(f"{self.name}{each.name}", self.of(each).arguments, each.parameters)
            for each in functions
        }
        return LaunchPrinter(launched, changed(statements), width).block(statements)


def unpacked(fields: Iterable[Field], short: Container[str]) -> list[str]:
    """Locals for what a nest reads of the call."""
    kinds: dict[str, list[str]] = {"int64_t": [], "int32_t": [], "bool": [], "cvmgen_list": []}
    for field in fields:
        narrow = field.type == "int64_t" and field.name in short
        kinds["int32_t" if narrow else field.type].append(identifier(field.name))
    lists = kinds.pop("cvmgen_list")
    lines = []
    for kind, names in kinds.items():
        cast = "(int32_t)" if kind == "int32_t" else ""
        lines += wrapped(f"const {kind}", [f"{name} = {cast}values.{name}" for name in names])
    return [*lines, *(f"const cvmgen_list &{name} = values.{name};" for name in lists)]


def declared(parameter: Parameter) -> str:
    """A parameter of a kernel besides those of its nest."""
    kind = MACHINE_TYPES[parameter.type]
    if parameter.elements:
        constant = "" if parameter.written else "const "
        return f"{constant}{kind} *__restrict__ {parameter.name}"
    return f"const __grid_constant__ {kind} {parameter.name}"
