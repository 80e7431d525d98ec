"""The CUDA target: one file an operator, kernels over the grid and the host code around them.

Kernels compile alone (NVRTC), since all host code stands behind __CUDACC_RTC__. The host code
checks and infers as the C target does and launches each nest with a thread per iteration.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from cvmgen.dtypes import DType
from cvmgen.emit import c, interface
from cvmgen.emit.c_like import comment, identifier, indent, quoted
from cvmgen.emit.plan import Field
from cvmgen.emit.prepare import Prepare
from cvmgen.emit.render import render
from cvmgen.emit.wrap import wrap_c
from cvmgen.ir import nodes as i
from cvmgen.ir.visit import names_in, rebuild
from cvmgen.lower.guards import assigned, changed
from cvmgen.lower.types import type_nest
from cvmgen.spec.formula import Input, Operator

BLOCK = 256  # threads of a block
# Blocks that a multiprocessor must hold at once: with 64 registers a thread. Without a number
# the compiler spills a little to reach its own guess.
RESIDENT = 4
BLOCKS = 65536  # of a grid at most; kernels stride over what is beyond
PARAMETER_BYTES = 4096  # what every device takes as parameters of a kernel
FIELD_TYPES = ("int64_t", "bool", "cvmgen_list")


def emit_operator(program: i.Program) -> str:
    """The CUDA file of an operator whose program has been lowered for C."""
    return CudaEmitter(program).text()


def emit_support() -> dict[str, str]:
    """The files that every operator includes."""
    shared = c.emit_support()
    values = {
        "block": BLOCK,
        "resident": RESIDENT,
        "blocks": BLOCKS,
        "parameter_bytes": PARAMETER_BYTES,
    }
    own = ("cvmgen_cuda.h", "cvmgen_block.h")
    return {
        "cvmgen.h": shared["cvmgen.h"],
        "cvmgen_runtime.h": shared["cvmgen_runtime.h"],
        **{name: render(f"cuda/{name}.j2", **values) for name in own},
    }


def emit_header(opset: str, operators: Iterable[Operator]) -> str:
    """The public header of an opset, for C and C++; it needs no CUDA header."""
    operators = tuple(operators)
    return render(
        "cuda/opset.h.j2",
        opset=opset,
        guard=opset.upper(),
        c_header=c.emit_header(opset, operators).strip(),
        declarations="\n\n".join(map(declaration, operators)),
    )


def declaration(operator: Operator) -> str:
    name = interface.c_name(operator)
    lines = [
        f"/* {operator.full_name}: {operator.doc} {operator.span.place} */",
        f"int {name}_cuda_infer(const {name}_args *args, cvmgen_error *error);",
        f"int {name}_cuda(const {name}_args *args, cvmgen_stream stream, cvmgen_error *error);",
    ]
    return "\n".join(lines)


# ---------------------------------------------------------------- the grid


@dataclass(frozen=True, slots=True)
class Grid:
    """The loops whose iterations are threads, outermost first, and what each thread does."""

    loops: tuple[i.Loop, ...]
    body: tuple[i.Stmt, ...]

    @property
    def extents(self) -> tuple[i.Expr, ...]:
        return tuple(map(extent, self.loops))


def grid(body: tuple[i.Stmt, ...]) -> Grid:
    """The outermost loops of a nest that can all run in parallel, with the locals between them.

    As in `lower.parallel`, every iteration writes elements of its own. A local in front of a
    loop is computed by each thread again, so the loops need not be perfectly nested: a walk
    over rows and along a row is one grid.
    """
    loops: list[i.Loop] = []
    locals_: list[i.Stmt] = []
    while True:
        *before, last = body
        inner = {each.name for each in before if isinstance(each, i.Let)}
        if not isinstance(last, i.Loop) or last.low is None or len(inner) < len(before):
            break
        varying = inner | assigned(tuple(locals_)) | {loop.index for loop in loops}
        if inner & changed(body) or names_in((last.low, last.high)) & varying:
            break
        loops.append(last)
        locals_ += before
        body = last.body
    return Grid(tuple(loops), (*locals_, *body))


def extent(loop: i.Loop) -> i.Expr:
    if loop.low is None or loop.low == i.Const(0):
        return loop.high
    return i.Binary("-", loop.high, loop.low)


class CudaKernelPrinter(c.KernelPrinter):
    """Statements of a nest, its outermost loops as a grid; lists are references."""

    def __init__(self, program: i.Program, body: tuple[i.Stmt, ...]) -> None:
        super().__init__(program, body, ())
        self.taken = set(names_in(body)) | assigned(body)

    def fresh(self, name: str) -> str:
        local, number = name, 2
        while local in self.taken:
            local, number = f"{name}_{number}", number + 1
        self.taken.add(local)
        return local

    def threads(self, found: Grid) -> list[str]:
        """The kernel's statements: a stride over the grid, or one thread for all."""
        match found.loops:
            case ():
                return ["if (cvmgen_thread() > 0) return;", *self.block(found.body)]
            case (loop,) if loop.low == i.Const(0):
                index = identifier(loop.index)
                return self.stride(index, self.expr(loop.high, 8), self.block(found.body))
            case _:
                elements, at = self.fresh("elements"), self.fresh("at")
                product = " * ".join(self.expr(each, 11) for each in found.extents)
                lines = [*self.unravel(found, at), *self.block(found.body)]
                return [
                    f"const int64_t {elements} = {product};",
                    *self.stride(at, elements, lines),
                ]

    @staticmethod
    def stride(at: str, elements: str, lines: list[str]) -> list[str]:
        head = f"for (int64_t {at} = cvmgen_thread(); {at} < {elements}; {at} += cvmgen_threads())"
        if len(lines) == 1 and not lines[0].startswith("if "):
            return [head, *indent(lines)]
        return [f"{head} {{", *indent(lines), "}"]

    def unravel(self, found: Grid, at: str) -> list[str]:
        """The indices of a thread, the innermost loop's fastest."""
        read = names_in(found.body)
        outermost, *others = found.loops
        if len(others) < 2:
            sizes = [self.expr(extent(loop), 11) for loop in others]
            values = [" / ".join([at, *sizes]), *(f"{at} % {size}" for size in sizes)]
            return [
                self.index(loop, value)
                for loop, value in zip(found.loops, values, strict=True)
                if loop.index in read
            ]
        rest = self.fresh("rest")
        lines = [f"int64_t {rest} = {at};"]
        for loop in reversed(others):
            size = self.expr(extent(loop), 11)
            if loop.index in read:
                lines.append(self.index(loop, f"{rest} % {size}"))
            lines.append(f"{rest} /= {size};")
        return [*lines, self.index(outermost, rest)] if outermost.index in read else lines[:-1]

    def index(self, loop: i.Loop, value: str) -> str:
        if loop.low is not None and loop.low != i.Const(0):
            value = f"{self.expr(loop.low, 9)} + {value}"
        return f"const int64_t {identifier(loop.index)} = {value};"


# ---------------------------------------------------------------- the file


class CudaPrepare(Prepare):
    """The host part of a call whose tensors lie in device memory."""

    precision_function = "cvmgen_declared_precision"


class CudaEmitter(c.CEmitter):
    """Assembles the file of one operator."""

    restrict = "__restrict__"

    def text(self) -> str:
        return render(
            "cuda/operator.cu.j2",
            header=c.file_header(self.operator),
            opset=self.operator.opset,
            name=self.name,
            function=self.function,
            full_name=self.operator.full_name,
            kernels="\n\n".join(self.kernels()),
            fields="\n".join(indent(self.field_lines())),
            prepare="\n".join(wrap_c(indent(CudaPrepare(self.typed).lines()))),
            infer="\n".join(indent(self.infer())),
            run="\n".join(wrap_c(indent(self.run()))),
            prepare_head=self.head("static int", f"{self.name}_prepare", f"{self.name}_plan *plan"),
            run_head=self.head("int", f"{self.function}_cuda", "cvmgen_stream stream"),
        )

    def head(self, result: str, function: str, parameter: str) -> str:
        parameters = [f"const {self.function}_args *args", parameter, "cvmgen_error *error"]
        return "\n".join(c.signature(f"{result} {function}(", parameters))

    # -------------------------------------------------------- kernels

    def kernels(self) -> list[str]:
        """For each nest the values it reads of a call, then a kernel for each element type."""
        found = []
        for number, nest in enumerate(self.program.nests):
            if self.value_fields(nest):
                found.append(self.values(number, nest))
            for source, stored in interface.variants(self.program):
                found.append(self.kernel(number, nest, source, stored))
        return found

    def kernel_name(self, number: int, source: DType, stored: DType) -> str:
        # Kernels are extern "C": the opset keeps those of different opsets apart.
        return f"{self.operator.opset}_{super().kernel_name(number, source, stored)}"

    def value_fields(self, nest: i.Nest) -> list[Field]:
        """What the kernels of a nest read of a call, in the order of the structure."""
        fields = self.nest_fields(nest.body)
        return sorted(fields, key=lambda field: FIELD_TYPES.index(field.type))

    def values(self, number: int, nest: i.Nest) -> str:
        fields = self.value_fields(nest)
        lines = []
        for kind in FIELD_TYPES:
            lines += c.wrapped(kind, [identifier(f.name) for f in fields if f.type == kind])
        head = f"/* What a call fixes for the kernels of {nest.span.place}. */"
        return "\n".join([head, f"struct {self.values_name(number)} {{", *indent(lines), "};"])

    def values_name(self, number: int) -> str:
        return f"{self.nest_name(number)}_values"

    def kernel(self, number: int, nest: i.Nest, source: DType, stored: DType) -> str:
        dtypes = self.dtypes(source, stored)
        body = type_nest(self.program, nest, dtypes).body
        parameters = []
        if self.value_fields(nest):
            parameters.append(f"const __grid_constant__ {self.values_name(number)} values")
        for tensor in self.tensors(nest):
            constant = "" if tensor == nest.tensor else "const "
            element = dtypes[tensor].c
            parameters.append(f"{constant}{element} *{self.restrict} {identifier(tensor)}")
        lines = self.unpack(self.nest_fields(body))
        lines.append(comment(f"{nest.span.place}: {nest.formula}"))
        lines += CudaKernelPrinter(self.program, body).threads(grid(body))
        head = f"{self.kernel_name(number, source, stored)}("
        start = 'extern "C" __global__ void __launch_bounds__(CVMGEN_BLOCK, CVMGEN_RESIDENT)'
        return "\n".join([start, *c.signature(head, parameters), *wrap_c(indent(lines)), "}"])

    def unpack(self, fields: Iterable[Field]) -> list[str]:
        """Locals for what the nest reads of the call."""
        fields = list(fields)
        names = {field: identifier(field.name) for field in fields}
        lines = []
        for kind in ("int64_t", "bool"):
            chosen = [names[field] for field in fields if field.type == kind]
            lines += c.wrapped(f"const {kind}", [f"{name} = values.{name}" for name in chosen])
        for field in fields:
            if field.type == "cvmgen_list":
                lines.append(f"const cvmgen_list &{names[field]} = values.{names[field]};")
        return lines

    # -------------------------------------------------------- run

    def run(self) -> list[str]:
        """Check the memory and the element types, launch the kernels."""
        return [*self.memory_checks(), *self.element_types(), *self.dispatch()]

    def input_checks(self) -> list[str]:
        fail = "return CVMGEN_REFUSED;"
        lines = [f"if (cvmgen_refuse_check_values(error, args->check_values)) {fail}"]
        for item in self.operator.inputs:
            call = f"cvmgen_check_data(error, {quoted(item.name)}, {self.tensor(item)})"
            lines += self.every(item, f"if ({self.given(item)}{call}) {fail}")
        return lines

    @staticmethod
    def tensor(item: Input) -> str:
        return f"args->{item.name}[at]" if item.variadic else f"args->{item.name}"

    @staticmethod
    def given(item: Input) -> str:
        return f"args->{item.name} != NULL && " if item.optional else ""

    @staticmethod
    def every(item: Input, line: str) -> list[str]:
        """A statement for each tensor of an input."""
        if not item.variadic:
            return [line]
        return [f"for (int64_t at = 0; at < args->{item.name}_count; ++at)", f"    {line}"]

    def element_types(self) -> list[str]:
        """`narrow`: the inputs are int8, but for those that kernels read as int32."""
        free = [item for item in self.operator.inputs if item.name not in self.wide]
        free.sort(key=lambda item: item.optional)
        lines = [f"const int32_t dtype = {self.dtype_of(free[0]) if free else 'CVMGEN_INT32'};"]
        if free:
            rule = quoted(f"on a device its element type must be that of {free[0].name}")
            if free[0].variadic:
                rule = quoted("on a device all inputs must have one element type")
            for item in free[0 if free[0].variadic else 1 :]:
                lines += self.type_check(item, "dtype", rule)
        for item in self.operator.inputs:
            if item.name in self.wide:
                rule = quoted("on a device this input must be int32")
                lines += self.type_check(item, "CVMGEN_INT32", rule)
        lines.append("const bool narrow = dtype == CVMGEN_INT8;")
        return [*lines, *self.result_type()]

    @staticmethod
    def dtype_of(item: Input) -> str:
        if item.variadic:
            return f"args->{item.name}[0]->dtype"
        dtype = f"args->{item.name}->dtype"
        return f"args->{item.name} == NULL ? CVMGEN_INT32 : {dtype}" if item.optional else dtype

    def type_check(self, item: Input, dtype: str, rule: str) -> list[str]:
        arguments = f"error, {quoted(item.name)}, {self.tensor(item)}, {dtype}, {rule}"
        head = "if (cvmgen_check_type("
        lines = c.wrapped_list(head, arguments.split(", ", 4), ")) return CVMGEN_REFUSED;")
        return lines if not item.variadic else [*self.every(item, lines[0]), *indent(lines[1:])]

    def dispatch(self) -> list[str]:
        lines = ["int status = CVMGEN_OK;"]
        for number, nest in enumerate(self.program.nests):
            lines += self.launch(number, nest)
        return [*lines, "return status;"]

    def launch(self, number: int, nest: i.Nest) -> list[str]:
        lines = self.each(number, nest) if nest.each is not None else self.start(number, nest)
        if len(self.program.nests) == 1:
            return lines
        tests = ["status == CVMGEN_OK"] if number > 0 or nest.case is None else []
        if nest.case is not None:
            tests.append(f"plan.which_case == {nest.case}")
        return [f"if ({' && '.join(tests)}) {{", *indent(lines), "}"]

    def each(self, number: int, nest: i.Nest) -> list[str]:
        """A nest that runs for each tensor of a variadic input."""
        assert nest.each is not None
        index, tensor, _ = nest.each
        prologue = c.Prologue(self.typed, self.typed.nests[number])
        test = f"{index} < args->{tensor}_count && status == CVMGEN_OK"
        head = f"for (int64_t {index} = 0; {test}; ++{index}) {{"
        return [head, *indent([*prologue.lines(), *self.start(number, nest)]), "}"]

    def start(self, number: int, nest: i.Nest) -> list[str]:
        """Launch the kernel for the element types at hand."""
        lines = []
        fields = [f"plan.{identifier(field.name)}" for field in self.value_fields(nest)]
        if fields:
            head = f"const {self.values_name(number)} values = {{"
            lines += c.wrapped_list(head, fields, "};")
        lines += self.elements(nest)
        variants = interface.variants(self.program)
        for source, stored in variants:
            test = f"{'' if source.bits == 8 else '!'}narrow && "
            test += f"{'' if stored.bits == 8 else '!'}narrow_result"
            dtypes = self.dtypes(source, stored)
            arguments = ["error", "stream", "elements", self.kernel_name(number, source, stored)]
            arguments += ["values"] if fields else []
            arguments += [self.argument(name, nest, dtypes[name]) for name in self.tensors(nest)]
            call = c.wrapped_list("status = cvmgen_launch(", arguments, ");")
            word = f"if ({test})" if (source, stored) != variants[-1] else ""
            word = word if (source, stored) == variants[0] else f"else {word}".strip()
            lines += [word, *indent(call)]
        return lines

    def elements(self, nest: i.Nest) -> list[str]:
        """The number of threads, from the plan."""
        source, stored = interface.variants(self.program)[0]
        found = grid(type_nest(self.program, nest, self.dtypes(source, stored)).body)
        planned = {field.name: i.Var(f"plan.{identifier(field.name)}") for field in self.fields}

        def change(node: i.Expr) -> i.Expr:
            return planned.get(node.name, node) if isinstance(node, i.Var) else node

        printer = CudaKernelPrinter(self.program, ())
        extents = [printer.expr(rebuild(each, change)) for each in found.extents]
        match extents:
            case []:
                return ["const int64_t elements = 1;"]
            case [size]:
                return [f"const int64_t elements = {size};"]
            case _:
                return c.wrapped_list("const int64_t elements = cvmgen_domain({", extents, "});")

    def argument(self, tensor: str, nest: i.Nest, dtype: DType) -> str:
        if tensor == nest.tensor:
            return f"({dtype.c} *)args->{tensor}->data"
        which = f"[{nest.each[0]}]" if nest.each is not None and nest.each[1] == tensor else ""
        data = f"(const {dtype.c} *)args->{tensor}{which}->data"
        optional = any(item.name == tensor and item.optional for item in self.operator.inputs)
        return f"args->{tensor} == NULL ? NULL : {data}" if optional else data
