"""Kernels as CUDA C++."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

from cvmgen.emit.c_kernels import KernelPrinter
from cvmgen.emit.c_like import made_for
from cvmgen.emit.c_spelling import MACHINE_TYPES, PRIMARY, c_identifier
from cvmgen.emit.c_text import wrapped_list
from cvmgen.emit.lines import indented
from cvmgen.functions import ELEMENTARY
from cvmgen.ir import nodes as i
from cvmgen.ir.uses import all_names, assigned, names_in, read_tensors
from cvmgen.ir.visit import fresh, substitute, walk

HARDWARE = {
    "block_number": "blockIdx.x",
    "block_count": "gridDim.x",
    "lane": "threadIdx.x",
    "lane_count": "blockDim.x",
}


# What declares the helpers that kernels call; all others come with every operator.
HEADERS = {
    "cvmgen_block.h": {
        *("block_all", "block_any", "block_keep", "block_rank", "block_share", "block_sort"),
    },
    "cvmgen_elementary.h": {f"{name}_f64" for name in ELEMENTARY},
    "cvmgen_power.h": {"power_f64"},
    "cvmgen_reduce.h": {"team_of"},
    "cvmgen_tiles.h": {"contract"},
    "cvmgen_vector.h": {"vectors"},
    "cvmgen_window.h": {"whole_side", "clipped_side", "tile_windows"},
}


def headers_of(body: object) -> set[str]:
    """The headers of what statements call."""
    found = called_helpers(body)
    return {name for name, helpers in HEADERS.items() if helpers & found}


def called_helpers(body: object) -> set[str]:
    """The helpers that statements call."""
    sorts = {"block_sort" for each in walk(body) if isinstance(each, i.Sort) and each.among}
    return sorts | {each.function for each in walk(body) if isinstance(each, i.Call)}


class CudaKernelPrinter(KernelPrinter):
    """Statements of a kernel; lists are references. What a mapping has `made` has its names for
    itself, whatever the host calls its own."""

    def __init__(
        self, program: i.Program, body: tuple[i.Stmt, ...], made: Collection[str] = ()
    ) -> None:
        super().__init__(program, body, ())
        self.made = frozenset(made)
        self.names = names_in(body) | assigned(body) | read_tensors(body)

    def named(self, name: str) -> str:
        return name if name in self.made else c_identifier(name)

    def word(self, expr: i.Word) -> str:
        # Kernels compile alone, without the header that has the constants.
        return f'{expr.code} /* "{expr.text}" */'

    def leveled(self, expr: i.Expr) -> tuple[str, int]:
        match expr:
            case i.Call(function=function) if function in HARDWARE:
                return HARDWARE[function], PRIMARY
            case i.Call(function="place", arguments=box, constants=(count,)):
                return (
                    f"cvmgen_place<{count}>{{{{{', '.join(map(self.expr, box))}}}, {{}}}}",
                    PRIMARY,
                )
            case _:
                return super().leveled(expr)

    def loop(self, loop: i.Loop) -> list[str]:
        match loop:
            case i.Loop(index=bit, high=i.Call(function="set_bits", arguments=(word,))):
                lowest = i.Call("lowest_bit", (word,))
                body = self.block(substitute(loop.body, {bit: lowest}))
                bits = self.expr(word)
                return [f"for (; {bits} != 0; {bits} &= {bits} - 1) {{", *indented(body), "}"]
            case _:
                return super().loop(loop)

    def statement(self, statement: i.Stmt) -> list[str]:
        match statement:
            case i.Barrier(why=why):
                return [f"__syncthreads();{f' /* {why} */' if why else ''}"]
            case i.Array(space="shared"):
                return self.shared_memory(statement)
            case i.Let(name=name, type="tile", value=i.Call(arguments=given)):
                return [f"const cvmgen_tile {name}({', '.join(map(self.expr, given))});"]
            case i.Let(name=name, type="contraction", value=i.ListOf(entries=sizes)):
                head = f"const cvmgen_contraction {name} = {{"
                return wrapped_list(head, [self.expr(size) for size, _ in sizes], "};")
            case i.Return(value=i.Lambda() as function):
                return self.function("return ", function, ";")
            case i.Let(name=name, value=i.Call(arguments=(*_, i.Lambda())) as call):
                return self.called(f"const auto {name} = ", call)
            case i.Invoke(call=i.Call(arguments=(*_, i.Lambda())) as call):
                return self.called("", call)
            case i.Let(name=name, type="side", value=i.Call(function=function, arguments=ends)):
                head = f"const {MACHINE_TYPES['side']} {name} = cvmgen_{function}("
                return wrapped_list(head, list(map(self.expr, ends)), ");", 88)
            case i.Array(name=name, type=type_name, length=length, space="vector"):
                return [f"cvmgen_vector<{MACHINE_TYPES[type_name]}, {length}> {name};"]
            case _:
                return super().statement(statement)

    def called(self, head: str, call: i.Call) -> list[str]:
        """The call of a helper whose last argument is a function."""
        *others, function = call.arguments
        assert isinstance(function, i.Lambda)
        given = self.arguments_of(replace(call, arguments=tuple(others)))
        start = f"{head}cvmgen_{call.function}{made_for(call)}("
        return self.function(start + "".join(f"{each}, " for each in given), function, ");")

    def function(self, head: str, function: i.Lambda, end: str) -> list[str]:
        read = all_names(function.body)
        given = ", ".join(self.parameter(e, named=e.name in read) for e in function.parameters)
        result = f"-> {MACHINE_TYPES[function.result]} " if function.result else ""
        return [f"{head}[=]({given}) {result}{{", *indented(self.block(function.body)), f"}}{end}"]

    def parameter(self, parameter: i.Typed, *, named: bool) -> str:
        """A parameter, without its name where nothing reads it."""
        if parameter.type == "place":
            return f"const cvmgen_place<{parameter.size}> &{parameter.name}"
        kind = MACHINE_TYPES[parameter.type]
        return f"{kind} {self.named(parameter.name)}" if named else kind

    def shared_memory(self, array: i.Array) -> list[str]:
        """As many elements as the launch has bytes for; or the bytes."""
        if array.type == "bytes":
            return [f"CVMGEN_DYNAMIC_SHARED({array.name});"]
        kind, memory = MACHINE_TYPES[array.type], fresh("shared", {*self.names})
        pointer = f"{kind} *const {array.name} = ({kind} *){memory};"
        return [f"CVMGEN_DYNAMIC_SHARED({memory});", pointer]
