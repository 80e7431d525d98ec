"""How the iterations of a nest become threads: its kernels, and what the host does to start them.

A nest is mapped once for each choice of element types. Which mapping it gets follows from the
shape of its loops.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Container, Iterable, Sequence
from collections.abc import Mapping as Names
from dataclasses import dataclass, replace

from cvmgen.analysis.grid import Grid, grid
from cvmgen.dtypes import DType
from cvmgen.emit.c_like import MACHINE_TYPES, identifier, indent
from cvmgen.emit.c_text import signature, wrapped, wrapped_list
from cvmgen.emit.cuda_kernels import CudaKernelPrinter, HostPrinter, headers_of
from cvmgen.emit.cuda_lists import BlockPrinter
from cvmgen.emit.plan import Field
from cvmgen.emit.wrap import wrap_c
from cvmgen.ir import nodes as i
from cvmgen.ir.uses import assigned, names_in
from cvmgen.ir.visit import rebuild, walk
from cvmgen.schedule.forms import Settings
from cvmgen.schedule.gpu import mapped as gpu
from cvmgen.schedule.gpu.threads import threads


@dataclass(frozen=True, slots=True)
class Kernel:
    """A kernel's name, its class, and its text."""

    name: str
    kind: str
    text: str


@dataclass(frozen=True, slots=True)
class Task:
    """A nest for one choice of element types, typed, and the frame that its kernels share."""

    program: i.Program
    nest: i.Nest
    body: tuple[i.Stmt, ...]
    name: str  # of its kernel
    dtypes: Names[str, DType]  # of the elements of its inputs and outputs
    parameters: Sequence[str]
    fields: Callable[[tuple[object, ...]], list[Field]]  # what IR reads of a call
    opening: Sequence[str]  # of a kernel, below locals for these: the formula
    arguments: Sequence[str]  # of a launch, for the parameters
    planned: Names[str, str]  # what the host calls the values that nests read
    # The task of other statements that do a part of the nest, by the name of their kernel.
    part: Callable[[tuple[i.Stmt, ...], str], Task]
    settings: Names[str, Settings]  # of the mappings, by their names in schedules
    width: int = 96  # of the lines of a launch

    def plain(self) -> gpu.Task:
        """What mappings are given of it."""
        return gpu.Task(self.program, self.nest, self.body, self.name, self.dtypes, self.settings)

    def kernel(
        self,
        lines: Sequence[str],
        *,
        name: str = "",
        parameters: Sequence[str] = (),
        bounds: str = "",
        reads: tuple[object, ...] | None = None,
        short: Container[str] = (),
    ) -> str:
        """A kernel of these statements, with `parameters` besides those of the nest.

        `reads` is the IR that the statements are made of, if that is not the whole nest. Values
        of the call whose names are `short` are locals of 32 bits.
        """
        start = f'extern "C" __global__ void __launch_bounds__({bounds or self.bounds})'
        fields = self.fields(self.body if reads is None else reads)
        head = signature(f"{name or self.name}(", [*self.parameters, *parameters])
        opening = unpacked(fields, short)
        if not fields and "values" in self.arguments:  # another kernel of the nest reads them
            opening = ["(void)values;"]
        lines = [*opening, *self.opening, *lines]
        return "\n".join([start, *head, *wrap_c(indent(lines)), "}"])

    @property
    def bounds(self) -> str:
        """The threads of a block, and how many blocks share the registers of a multiprocessor."""
        return "CVMGEN_BLOCK, 2" if self.has_powers else "CVMGEN_BLOCK, CVMGEN_RESIDENT"

    @property
    def has_powers(self) -> bool:
        """Whether it computes powers of real numbers, with 128 bits, for which registers are
        needed."""
        calls = (each.function for each in walk(self.body) if isinstance(each, i.Call))
        return "power_f64" in calls

    def launch(
        self,
        function: str,
        count: str,
        *,
        name: str = "",
        arguments: Sequence[str] = (),
    ) -> list[str]:
        """The host's statement that starts a kernel by one of the functions for it."""
        given = ["error", "stream", count, name or self.name, *self.arguments, *arguments]
        return wrapped_list(f"status = {function}(", given, ");", self.width)

    def on_host(self, expr: i.Expr, above: int = 0) -> str:
        """An expression over what the call fixes, as the host writes it."""

        def change(node: i.Expr) -> i.Expr:
            named = self.planned.get(node.name) if isinstance(node, i.Var) else None
            return node if named is None else i.Var(named)

        return CudaKernelPrinter(self.program, ()).expr(rebuild(expr, change), above)

    def domain(self, name: str, extents: Sequence[i.Expr]) -> list[str]:
        """The host's declaration of the size of an iteration domain."""
        sizes = [self.on_host(each) for each in extents]
        match sizes:
            case []:
                return [f"const int64_t {name} = 1;"]
            case [size]:
                return [f"const int64_t {name} = {size};"]
            case _:
                return wrapped_list(f"const int64_t {name} = cvmgen_domain({{", sizes, "});")


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


class Mapping:
    """A nest as one of the mappings leaves it, and the frame that its kernels share."""

    def __init__(self, task: Task, mapped: gpu.Mapped | None = None) -> None:
        self.task = task
        self.mapped = threads(task.plain()) if mapped is None else mapped
        self.grid = grid(task.body)

    @property
    def headers(self) -> Collection[str]:
        """What its kernels need besides cvmgen_cuda.h."""
        return headers_of(tuple(each.body for each in self.mapped.kernels))

    def kernels(self) -> list[Kernel]:
        """All kernels that the host can start for the task."""
        return [Kernel(each.name, each.kind, self.kernel(each)) for each in self.mapped.kernels]

    def kernel(self, kernel: gpu.Kernel) -> str:
        task = self.task
        leading, more = map(declared, kernel.leading), map(declared, kernel.parameters)
        own = {each.name for each in (*kernel.leading, *kernel.parameters)}
        made = (own | assigned(kernel.body)) - (names_in(task.body) | assigned(task.body))
        lines = CudaKernelPrinter(task.program, kernel.body, made).block(kernel.body)
        framed = replace(task, parameters=(*leading, *task.parameters))
        return framed.kernel(
            lines,
            name=kernel.name,
            parameters=[*more],
            bounds=kernel.bounds,
            reads=kernel.body,
            short=kernel.short,
        )

    def before(self) -> list[str]:
        """Declarations of the host in front of the launch."""
        return self.host(self.mapped.before)

    def start(self) -> list[str]:
        """Statements of the host that start the kernels and set `status`."""
        return self.host(self.mapped.start)

    def host(self, statements: tuple[i.Stmt, ...]) -> list[str]:
        return HostPrinter(self.task.arguments, (96 - self.task.width) // 8).block(statements)


def declared(parameter: gpu.Parameter) -> str:
    """A parameter of a kernel besides those of its nest."""
    kind = MACHINE_TYPES[parameter.type]
    if parameter.elements:
        constant = "" if parameter.written else "const "
        return f"{constant}{kind} *__restrict__ {parameter.name}"
    return f"const __grid_constant__ {kind} {parameter.name}"


class Lists(Mapping):
    """A block for each selected list."""

    kind = "list"
    headers = ("cvmgen_block.h",)

    def __init__(self, task: Task) -> None:
        super().__init__(task)
        self.own = [each.name for each in task.program.scratch_of(task.nest.tensor)]
        self.grid = self.lists(task.body)

    def lists(self, body: tuple[i.Stmt, ...]) -> Grid:
        """The loops over the indices of the list."""
        definition = self.task.program.operator.definition(self.task.nest.tensor)
        return grid(body, len(definition.parameters))

    def kernels(self) -> list[Kernel]:
        task = self.task
        lines = BlockPrinter(task.program, task.body, self.own).blocks(self.grid)
        return [Kernel(task.name, self.kind, task.kernel(lines))]

    def before(self) -> list[str]:
        return self.task.domain("lists", self.grid.extents)

    def start(self) -> list[str]:
        return self.task.launch("cvmgen_launch_blocks", "lists")
