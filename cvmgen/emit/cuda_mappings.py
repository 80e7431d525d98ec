"""How the iterations of a nest become threads: its kernels, and what the host does to start them.

A nest is mapped once for each choice of element types. Which mapping it gets follows from the
shape of its loops.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from collections.abc import Mapping as Names
from dataclasses import dataclass

from cvmgen.dtypes import DType
from cvmgen.emit.c_like import indent
from cvmgen.emit.c_text import signature, wrapped_list
from cvmgen.emit.cuda_kernels import CudaKernelPrinter, grid
from cvmgen.emit.cuda_lists import BlockPrinter
from cvmgen.emit.wrap import wrap_c
from cvmgen.ir import nodes as i
from cvmgen.ir.visit import rebuild


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
    unpack: Callable[[tuple[object, ...]], list[str]]  # locals for what IR reads of a call
    opening: Sequence[str]  # of a kernel, below these locals: the formula
    arguments: Sequence[str]  # of a launch, for the parameters
    planned: Names[str, str]  # what the host calls the values that nests read

    def kernel(
        self,
        lines: Sequence[str],
        *,
        name: str = "",
        parameters: Sequence[str] = (),
        bounds: str = "CVMGEN_BLOCK, CVMGEN_RESIDENT",
        reads: tuple[object, ...] | None = None,
    ) -> str:
        """A kernel of these statements, with `parameters` besides those of the nest.

        `reads` is the IR that the statements are made of, if that is not the whole nest.
        """
        start = f'extern "C" __global__ void __launch_bounds__({bounds})'
        opening = [*self.unpack(self.body if reads is None else reads), *self.opening]
        head = signature(f"{name or self.name}(", [*self.parameters, *parameters])
        return "\n".join([start, *head, *wrap_c(indent([*opening, *lines])), "}"])

    def launch(
        self,
        function: str,
        count: str,
        *,
        name: str = "",
        arguments: Sequence[str] = (),
        width: int = 96,
    ) -> list[str]:
        """The host's statement that starts a kernel by one of the functions for it."""
        given = ["error", "stream", count, name or self.name, *self.arguments, *arguments]
        return wrapped_list(f"status = {function}(", given, ");", width)

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


class Mapping:
    """A thread for each iteration of the outermost loops, as far as these run in parallel."""

    kind = "grid"
    headers: tuple[str, ...] = ()  # that its kernels need besides cvmgen_cuda.h

    def __init__(self, task: Task) -> None:
        self.task = task
        self.grid = grid(task.body)

    def kernels(self) -> list[Kernel]:
        """All kernels that the host can start for the task."""
        printer = CudaKernelPrinter(self.task.program, self.task.body)
        text = self.task.kernel(printer.threads(self.grid))
        return [Kernel(self.task.name, self.kind, text)]

    def before(self) -> list[str]:
        """Declarations of the host in front of the launch."""
        return self.task.domain("elements", self.grid.extents)

    def start(self) -> list[str]:
        """Statements of the host that start the kernels and set `status`."""
        return self.task.launch("cvmgen_launch", "elements")


class Lists(Mapping):
    """A block for each selected list."""

    kind = "list"
    headers = ("cvmgen_block.h",)

    def __init__(self, task: Task) -> None:
        super().__init__(task)
        definition = task.program.operator.definition(task.nest.tensor)
        self.grid = grid(task.body, len(definition.parameters))

    def kernels(self) -> list[Kernel]:
        task = self.task
        own = [each.name for each in task.program.scratch_of(task.nest.tensor)]
        lines = BlockPrinter(task.program, task.body, own).blocks(self.grid)
        return [Kernel(task.name, self.kind, task.kernel(lines))]

    def before(self) -> list[str]:
        return self.task.domain("lists", self.grid.extents)

    def start(self) -> list[str]:
        return self.task.launch("cvmgen_launch_blocks", "lists")
