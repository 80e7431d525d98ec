"""The kernels of a nest as functions of CUDA C++, with what all of them are given."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Sequence
from dataclasses import dataclass

from cvmgen.analysis.plan import Field
from cvmgen.emit.c_spelling import MACHINE_TYPES, c_identifier, indented
from cvmgen.emit.c_text import signature, wrapped_declarations, wrapped_list
from cvmgen.emit.cuda_kernels import CudaKernelPrinter, Launched, LaunchPrinter, called_helpers
from cvmgen.emit.wrap import wrap_c
from cvmgen.ir import nodes as i
from cvmgen.ir.uses import assigned, names_in, reassigned
from cvmgen.schedule.generic import DifferentError, SideBySide, Types
from cvmgen.schedule.gpu.mapped import DeviceFunction, Parameter

BOUNDS = {
    "": "CVMGEN_BLOCK, CVMGEN_RESIDENT",
    "powers": "CVMGEN_BLOCK, 2",  # of real numbers, with 128 bits, for which registers are needed
    "tiles": "CVMGEN_TILE_THREADS, CVMGEN_TILE_RESIDENT",
}
"""The threads of a block, and how many blocks share the registers of a multiprocessor."""


@dataclass(frozen=True, slots=True)
class KernelParameter:
    """A parameter of a kernel: elements that nothing else points to, some memory (`constant` is
    None), or a `whole` structure."""

    kind: str
    name: str
    constant: bool | None
    whole: bool = False

    def declared(self, *, inlined: bool = False) -> str:
        """Its declaration; a function that is inlined has structures by reference."""
        if self.whole:
            return f"const {self.kind} &{self.name}" if inlined else grid_constant(self)
        if self.constant is None:
            return f"{self.kind} *{self.name}"
        kind = f"{'const ' if self.constant else ''}{self.kind}"
        return f"{kind} *__restrict__ {c_identifier(self.name)}"

    @property
    def argument(self) -> str:
        return self.name if self.whole or self.constant is None else c_identifier(self.name)


def grid_constant(given: KernelParameter) -> str:
    return f"const __grid_constant__ {given.kind} {given.name}"


@dataclass(frozen=True, slots=True)
class KernelTexts:
    """What the kernels of a nest share, for one choice of element types."""

    program: i.Program
    name: str  # with which those of its functions begin
    body: i.Block  # typed, before it is mapped
    parameters: Sequence[KernelParameter]
    arguments: Sequence[str]  # of a launch, for the parameters
    opening: Sequence[str]  # of a kernel, below locals for what it reads of a call: the formula
    fields: Callable[[tuple[object, ...]], list[Field]]  # what IR reads of a call
    # The same for other statements that do a part of the nest.
    part: Callable[[i.Block], KernelTexts]

    def of(self, function: DeviceFunction) -> KernelTexts:
        """That of a kernel."""
        return self.part(function.body) if function.own else self

    def given(self, function: DeviceFunction) -> list[KernelParameter]:
        """The parameters of a kernel."""
        own = self.of(function).parameters
        return [*map(extra, function.leading), *own, *map(extra, function.parameters)]

    def head(self, function: DeviceFunction) -> list[str]:
        """The head of a kernel."""
        powers = "power_f64" in called_helpers(function.body) and not function.bounds
        bounds = BOUNDS["powers" if powers else function.bounds]
        start = f'extern "C" __global__ void __launch_bounds__({bounds})'
        parameters = [each.declared() for each in self.given(function)]
        return [start, *signature(f"{self.name}{function.name}(", parameters)]

    def kernel(self, function: DeviceFunction) -> str:
        """The text of a kernel."""
        return "\n".join([*self.head(function), *self.lines(function), "}"])

    def lines(self, function: DeviceFunction) -> list[str]:
        """The statements of a kernel."""
        frame = self.of(function)
        others = {each.name for each in (*function.leading, *function.parameters)}
        made = (others | assigned(function.body)) - (names_in(self.body) | assigned(self.body))
        printer = CudaKernelPrinter(self.program, function.body, made)
        fields = self.fields(function.body)
        opening = unpacked_fields(fields, function.short)
        if not fields and "values" in frame.arguments:  # another kernel of the nest reads them
            opening = ["(void)values;"]
        return wrap_c(indented([*opening, *frame.opening, *printer.block(function.body)]))

    def entry(self, function: DeviceFunction, name: str) -> str:
        """A kernel that only calls a function for its element types."""
        arguments = [each.argument for each in self.given(function)]
        call = indented(wrapped_list(f"{name}(", arguments, ");", 92))
        return "\n".join([*self.head(function), *call, "}"])

    def host(
        self, functions: Sequence[DeviceFunction], statements: i.Block, width: int
    ) -> list[str]:
        """Statements of the host around launches of kernels, in lines of so many columns."""
        launched = {
            each.name: Launched(f"{self.name}{each.name}", self.of(each).arguments, each.parameters)
            for each in functions
        }
        return LaunchPrinter(launched, reassigned(statements), width).block(statements)


def unpacked_fields(fields: Iterable[Field], short: Container[str]) -> list[str]:
    """Locals for what a nest reads of the call."""
    kinds: dict[str, list[str]] = {"int64_t": [], "int32_t": [], "bool": [], "cvmgen_list": []}
    for field in fields:
        narrow = field.type == "int64_t" and field.name in short
        kinds["int32_t" if narrow else field.type].append(c_identifier(field.name))
    lists = kinds.pop("cvmgen_list")
    lines = []
    for kind, names in kinds.items():
        cast = "(int32_t)" if kind == "int32_t" else ""
        lines += wrapped_declarations(
            f"const {kind}", [f"{name} = {cast}values.{name}" for name in names]
        )
    return [*lines, *(f"const cvmgen_list &{name} = values.{name};" for name in lists)]


def extra(parameter: Parameter) -> KernelParameter:
    """A parameter of a kernel besides those of its nest."""
    kind = MACHINE_TYPES[parameter.type]
    if parameter.elements:
        return KernelParameter(kind, parameter.name, not parameter.written)
    return KernelParameter(kind, parameter.name, None, whole=True)


def template(
    frames: Sequence[KernelTexts], function: DeviceFunction, types: Types, nest: str
) -> list[str]:
    """A function for several element types, and the kernels that call it for theirs; nothing where
    these are given other things."""
    columns = {n: tuple(MACHINE_TYPES[each] for each in kinds) for n, kinds in types.items()}
    try:
        given = SideBySide(columns, ()).unified([frame.given(function) for frame in frames])
    except DifferentError:
        return []
    name = f"{nest}{function.name}_body"
    parameters = [each.declared(inlined=True) for each in given]
    head = [
        f"template <{', '.join(f'typename {each}' for each in types)}>",
        "static __device__ __forceinline__ void",
        *signature(f"{name}(", parameters),
    ]
    found = ["\n".join([*head, *frames[0].lines(function), "}"])]
    for at, frame in enumerate(frames):
        kinds = ", ".join(MACHINE_TYPES[each[at]] for each in types.values())
        found.append(frame.entry(function, f"{name}<{kinds}>"))
    return found
