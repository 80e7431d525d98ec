"""Kernels and the host's statements around them as CUDA C++."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain

from cvmgen.emit.c_kernels import KernelPrinter
from cvmgen.emit.c_like import CPrinter, helper_parameter
from cvmgen.emit.c_spelling import MACHINE_TYPES, PRIMARY, c_identifier, comment, indented
from cvmgen.emit.c_text import wrapped_list
from cvmgen.ir import nodes as i
from cvmgen.ir.uses import assigned, names_in, read_tensors
from cvmgen.ir.visit import fresh, substitute, walk
from cvmgen.schedule.gpu.mapped import HOST, Parameter

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
        start, _, _ = self.expr(replace(call, arguments=tuple(others))).rpartition(")")
        return self.function(f"{head}{start}, ", function, ");")

    def function(self, head: str, function: i.Lambda, end: str) -> list[str]:
        given = ", ".join(map(self.parameter, function.parameters))
        result = f"-> {MACHINE_TYPES[function.result]} " if function.result else ""
        return [f"{head}[=]({given}) {result}{{", *indented(self.block(function.body)), f"}}{end}"]

    def parameter(self, parameter: i.Typed) -> str:
        if parameter.type == "place":
            return f"const cvmgen_place<{parameter.size}> &{parameter.name}"
        return f"{MACHINE_TYPES[parameter.type]} {self.named(parameter.name)}"

    def shared_memory(self, array: i.Array) -> list[str]:
        """As many elements as the launch has bytes for; or the bytes."""
        if array.type == "bytes":
            return [f"CVMGEN_DYNAMIC_SHARED({array.name});"]
        kind, memory = MACHINE_TYPES[array.type], fresh("shared", {*self.names})
        pointer = f"{kind} *const {array.name} = ({kind} *){memory};"
        return [f"CVMGEN_DYNAMIC_SHARED({memory});", pointer]


@dataclass(frozen=True, slots=True)
class Launched:
    """What a kernel is called and given: what all kernels of its nest are, and its own."""

    name: str
    arguments: Sequence[str]
    parameters: Sequence[Parameter]


class LaunchPrinter(CPrinter):
    """Statements of the host around launches, in lines of so many columns; `functions` are the
    kernels that may be started."""

    def __init__(
        self, functions: Mapping[str, Launched], changing: Collection[str], width: int
    ) -> None:
        super().__init__((), host=True)
        self.functions = functions
        self.changing = frozenset(changing)
        self.width = width

    def named(self, name: str) -> str:
        return name

    def leveled(self, expr: i.Expr) -> tuple[str, int]:
        match expr:
            case i.Member(structure=structure, name=name) if structure == HOST:
                return f"plan.{c_identifier(name)}", PRIMARY
            case i.PrecisionOf(tensor=tensor):
                return f"args->{tensor}->precision", PRIMARY
            case i.Call(function="exact_depth"):
                return "CVMGEN_EXACT_DEPTH", PRIMARY
            case i.Call(function="domain", arguments=extents):
                return f"cvmgen_domain({{{', '.join(map(self.expr, extents))}}})", PRIMARY
            case _:
                return super().leveled(expr)

    def statement(self, statement: i.Stmt) -> list[str]:
        match statement:
            case i.Let(value=i.Call(function="worthwhile_tiles") as call):
                return self.worthwhile(f"const int64_t {statement.name}", call)
            case i.Let(name=name, type=kind, value=i.Call(function="domain", arguments=extents)):
                head = f"const {MACHINE_TYPES[kind]} {name} = cvmgen_domain({{"
                return wrapped_list(head, list(map(self.expr, extents)), "});", self.width)
            case i.Let(name=name, type=kind, value=i.Call(function=function, arguments=given)):
                head = f"const {MACHINE_TYPES[kind]} {name} = cvmgen_{function}("
                items = [*chain.from_iterable(map(self.items, given))]
                return wrapped_list(head, items, ");", self.width)
            case i.Let(name=name, type=kind, value=i.ListOf(entries=())):
                return [f"{MACHINE_TYPES[kind]} {name} = {{}};"]
            case i.Let(name=name, type=kind) if name in self.changing:
                return [f"{MACHINE_TYPES[kind]} {name} = {self.expr(statement.value)};"]
            case i.Assign(name=name, value=i.Call(function="worthwhile_tiles") as call):
                return self.worthwhile(name, call)
            case i.If(condition=condition, then=(i.Assign(),) as then):
                note = "Elements that are declared to fit int8 are read as such."
                declared = any(isinstance(each, i.PrecisionOf) for each in walk(condition))
                notes = [comment(note)] if declared else []
                return [*notes, f"if ({self.expr(condition)})", *indented(self.block(then))]
            case i.Launch():
                return self.launch(statement)
            case i.Borrow():
                return self.borrow(statement)
            case _:
                return super().statement(statement)

    def inside(self, body: i.Block) -> list[str]:
        """Statements that stand a level deeper."""
        self.width -= 4
        lines = indented(self.block(body))
        self.width += 4
        return lines

    def items(self, value: i.Expr) -> list[str]:
        """A value, of a list each entry: between them lines may end."""
        match value:
            case i.ListOf(entries=entries):
                first, *others = (", ".join(self.items(each)) for each, _ in entries)
                *middle, last = f"{{{first}", *others
                return [*middle, f"{last}}}"]
            case _:
                return [self.expr(value)]

    def worthwhile(self, name: str, call: i.Call) -> list[str]:
        """How many tiles there are, if they pay: a line for the sizes and one for each bound."""
        *sizes, reaches = call.arguments
        texts = list(map(self.expr, sizes))
        row = ", ".join(texts)
        rows = [f"{row},"] if len(row) <= 80 else [f"{each}," for each in texts]
        first, *others = self.items(reaches)
        *bounds, last = [first, *(f" {each}" for each in others)]
        lines = [*rows, *(f"{each}," for each in bounds), f"{last});"]
        return [f"{name} = cvmgen_worthwhile_tiles(", *indented(lines)]

    def branch(self, statement: i.If) -> list[str]:
        """A choice between launches; braces stand where a branch is more than one of them."""
        head = f"if ({self.expr(statement.condition)})"
        then, rest = self.inside(statement.then), self.inside(statement.otherwise)
        if all(map(is_single_statement, (statement.then, statement.otherwise))):
            return [head, *then, "else", *rest]
        return [f"{head} {{", *then, "} else {", *rest, "}"]

    def launch(self, launch: i.Launch) -> list[str]:
        """The start of a kernel by one of the functions for it."""
        constants = ", ".join(map(helper_parameter, launch.function.constants))
        function = f"cvmgen_{launch.function.function}{f'<{constants}>' if constants else ''}"
        kernel = self.functions[launch.kernel]
        more = zip(kernel.parameters, launch.arguments, strict=True)
        own = [self.argument(parameter, each) for parameter, each in more]
        count = self.expr(launch.count)
        given = ["error", "stream", count, kernel.name, *kernel.arguments, *own]
        return wrapped_list(f"status = {function}(", given, ");", self.width)

    def argument(self, parameter: Parameter, value: i.Expr) -> str:
        """What a kernel is given: memory as elements of the parameter's type."""
        if not parameter.elements:
            return self.expr(value)
        constant_ = "" if parameter.written else "const "
        return f"({constant_}{MACHINE_TYPES[parameter.type]} *){self.expr(value)}"

    def borrow(self, borrow: i.Borrow) -> list[str]:
        """Launches between a request for memory and its return."""
        name, entries = borrow.name, self.expr(borrow.entries)
        lines = [
            f"int64_t *{name};",
            f"status = cvmgen_device_scratch(error, stream, {entries}, &{name});",
        ]
        for each in borrow.body:
            lines += ["if (status == CVMGEN_OK)", *self.inside((each,))]
        return [*lines, f"cvmgen_device_free(stream, {name});"]


def is_single_statement(body: i.Block) -> bool:
    return len(body) == 1 and isinstance(body[0], i.Launch)
