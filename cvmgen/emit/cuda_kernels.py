"""Kernels and the host's statements around them as CUDA C++."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from cvmgen.emit.c_kernels import KernelPrinter
from cvmgen.emit.c_like import MACHINE_TYPES, PRIMARY, CPrinter, constant, identifier
from cvmgen.emit.c_text import wrapped_list
from cvmgen.ir import nodes as i
from cvmgen.ir.visit import walk
from cvmgen.schedule.gpu.mapped import HOST

HARDWARE = {
    "block_number": "blockIdx.x",
    "block_count": "gridDim.x",
    "lane": "threadIdx.x",
    "lane_count": "blockDim.x",
}


# What declares the helpers that kernels call; all others come with every operator.
HEADERS = {
    "cvmgen_power.h": {"power_f64"},
    "cvmgen_reduce.h": {"team_of"},
    "cvmgen_vector.h": {"vectors"},
}


def headers_of(body: object) -> set[str]:
    """The headers of what statements call."""
    called = {each.function for each in walk(body) if isinstance(each, i.Call)}
    return {name for name, helpers in HEADERS.items() if helpers & called}


class CudaKernelPrinter(KernelPrinter):
    """Statements of a kernel; lists are references. What a mapping has `made` has its names for
    itself, whatever the host calls its own."""

    def __init__(
        self, program: i.Program, body: tuple[i.Stmt, ...], made: Collection[str] = ()
    ) -> None:
        super().__init__(program, body, ())
        self.made = frozenset(made)

    def named(self, name: str) -> str:
        return name if name in self.made else identifier(name)

    def word(self, expr: i.Word) -> str:
        # Kernels compile alone, without the header that has the constants.
        return f'{expr.code} /* "{expr.text}" */'

    def leveled(self, expr: i.Expr) -> tuple[str, int]:
        match expr:
            case i.Call(function=function) if function in HARDWARE:
                return HARDWARE[function], PRIMARY
            case _:
                return super().leveled(expr)

    def statement(self, statement: i.Stmt) -> list[str]:
        match statement:
            case i.Barrier(why=why):
                return [f"__syncthreads();{f' /* {why} */' if why else ''}"]
            case i.Array(name=name, type=type_name, length=length, space="vector"):
                return [f"cvmgen_vector<{MACHINE_TYPES[type_name]}, {length}> {name};"]
            case _:
                return super().statement(statement)


class HostPrinter(CPrinter):
    """Statements of the host around launches, which stand `depth` levels deep in what chooses
    kernels; `frame` is what all kernels of a nest are given."""

    def __init__(self, frame: Sequence[str], depth: int = 0) -> None:
        super().__init__((), host=True)
        self.frame = frame
        self.depth = depth

    def named(self, name: str) -> str:
        return name

    def leveled(self, expr: i.Expr) -> tuple[str, int]:
        match expr:
            case i.Member(structure=structure, name=name) if structure == HOST:
                return f"plan.{identifier(name)}", PRIMARY
            case i.Call(function="domain", arguments=extents):
                return f"cvmgen_domain({{{', '.join(map(self.expr, extents))}}})", PRIMARY
            case _:
                return super().leveled(expr)

    def statement(self, statement: i.Stmt) -> list[str]:
        match statement:
            case i.Let(name=name, type=kind, value=i.Call(function="domain", arguments=extents)):
                head = f"const {MACHINE_TYPES[kind]} {name} = cvmgen_domain({{"
                return wrapped_list(head, list(map(self.expr, extents)), "});")
            case i.Let(name=name, type=kind, value=i.Call(function=function, arguments=given)):
                head = f"const {MACHINE_TYPES[kind]} {name} = cvmgen_{function}("
                return wrapped_list(head, list(map(self.expr, given)), ");")
            case i.Launch():
                return self.launch(statement)
            case _:
                return super().statement(statement)

    def launch(self, launch: i.Launch) -> list[str]:
        """The start of a kernel by one of the functions for it."""
        constants = ", ".join(map(constant, launch.function.constants))
        function = f"cvmgen_{launch.function.function}{f'<{constants}>' if constants else ''}"
        arguments = map(self.expr, launch.arguments)
        given = ["error", "stream", self.expr(launch.count), launch.kernel, *self.frame, *arguments]
        return wrapped_list(f"status = {function}(", given, ");", 96 - 8 * self.depth)
