"""The C target: one file an operator, plain C11."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from cvmgen.dtypes import CVM, INT32, DType
from cvmgen.emit.c_bound import bound_text
from cvmgen.emit.c_checks import input_checks, output_checks
from cvmgen.emit.c_entries import KeptLists, entry_arguments
from cvmgen.emit.c_nests import NestEmitter
from cvmgen.emit.c_spelling import c_identifier, c_string, indented
from cvmgen.emit.c_text import file_header, signature, typed_calls, wrapped_declarations
from cvmgen.emit.prepare import prepare_lines, prologue_lines
from cvmgen.emit.render import render_template
from cvmgen.emit.wrap import wrap_c
from cvmgen.ir import nodes as i
from cvmgen.ir.visit import walk
from cvmgen.schedule.kernels import Kernel, Kernels
from cvmgen.spec.formula import Input
from cvmgen.typing import choices

# What kernels include, and which of their statements and values need it.
HEADERS: Mapping[str, Callable[[object], bool]] = {
    "cvmgen_moves.h": lambda node: isinstance(node, i.Move),
    "cvmgen_power.h": lambda node: isinstance(node, i.Call) and node.function == "power_f64",
    "cvmgen_turns.h": lambda node: isinstance(node, i.Turn),
    "cvmgen_slides.h": lambda node: isinstance(node, i.Slide),
    "cvmgen_runs.h": lambda node: isinstance(node, (i.Copy, i.Fill, i.Fetch)),
    "cvmgen_threads.h": lambda node: isinstance(node, i.Loop) and node.parallel > 0,
}


def emit_operator(kernels: Kernels) -> str:
    """The C file of an operator whose kernels have been scheduled for C."""
    return CEmitter(kernels).text()


class CEmitter(NestEmitter):
    """Assembles the file of one operator."""

    def text(self) -> str:
        kernels = self.functions()
        nodes = [node for each in self.kernels.kernels for node in walk(each.subject.body)]
        headers = ["cvmgen_bound.h", "cvmgen_runtime.h"]
        headers += [name for name, needs in HEADERS.items() if any(map(needs, nodes))]
        spaces = self.spaces
        parameters = [f"{self.name}_plan *plan"]
        parameters += ["cvmgen_workspace *spaces"] if spaces else []
        places = {item.name: at for at, item in enumerate(self.operator.inputs)}
        return render_template(
            "c/operator.c.j2",
            header=file_header(self.program),
            includes="".join(f'#include "{each}"\n' for each in headers),
            opset=self.operator.opset,
            name=self.name,
            types="".join(f"{line}\n" for line in self.types.declaration()),
            prepare_head=self.head("static int", f"{self.name}_prepare", f"{self.name}_plan *plan"),
            infer_head=self.head("int", f"{self.function}_infer"),
            run_head=self.head("int", self.function),
            function=self.function,
            full_name=self.operator.full_name,
            fields="\n".join(indented(self.field_lines())),
            prepare="\n".join(wrap_c(indented(prepare_lines(self.typed)))),
            kernels="\n\n".join(kernels),
            sections=self.section_text(),
            front="#ifndef TYPED\n" if self.sections else "",
            infer="\n".join(wrap_c(indented(self.infer()))),
            checked_head=self.head("static int", f"{self.name}_run", *parameters),
            no_spaces="NULL, " if spaces else "",
            run="\n".join(wrap_c(indented(self.run()))),
            bound=bound_text(self.operator, [places[name] for name in spaces.values()]),
        )

    def section_text(self) -> str:
        """What the file includes of itself for each choice of element types."""
        found = [each.text(map(self.family, each.families)) for each in self.sections]
        return "\n".join(["\n", *found, "#endif"]) if found else ""

    def head(self, result: str, function: str, *more: str) -> str:
        """The head of a function that takes a call and says what is wrong with it."""
        parameters = [f"const {self.function}_args *args", *more, "cvmgen_error *error"]
        return "\n".join(signature(f"{result} {function}(", parameters))

    # -------------------------------------------------------- the plan

    def field_lines(self) -> list[str]:
        """The members of the plan, scalars of one type on shared lines."""
        lines = []
        names = [c_identifier(field.name) for field in self.fields if field.type == "int64_t"]
        if self.has_cases:
            names.append("which_case")
        names += [f"{name}_precision" for name in self.precise]
        lines += wrapped_declarations("int64_t", names)
        lines += wrapped_declarations(
            "bool", [c_identifier(f.name) for f in self.fields if f.type == "bool"]
        )
        lists = [c_identifier(f.name) for f in self.fields if f.type == "cvmgen_list"]
        shapes = [f"{name}_shape" for name in self.operator.output_names]
        lines += wrapped_declarations("cvmgen_list", list(dict.fromkeys([*shapes, *lists])))
        return (
            [*lines, "int types; /* the row of the element types */"]
            if self.types.tensors
            else lines
        )

    @property
    def has_cases(self) -> bool:
        return any(isinstance(each, i.Cases) for each in self.program.prepare)

    # -------------------------------------------------------- infer and run

    def infer(self) -> list[str]:
        return [
            f"cvmgen_set_output(args->{name}, &plan.{name}_shape, plan.{name}_precision);"
            if name in self.precise
            else self.types.set_output(name)
            for name in self.operator.output_names
        ]

    def run(self) -> list[str]:
        """Check the memory, bring inputs to one element type, choose the kernels."""
        checks = input_checks(self.operator)
        checks += output_checks(self.operator, self.types, self.plan)
        return [*checks, *self.element_types(), *self.dispatch()]

    def element_types(self) -> list[str]:
        """`narrow`: every input that kernels read in its own type is int8."""
        tests = []
        lines = []
        for item in self.read_inputs:
            if item.name in self.wide or item.dtype != CVM:
                continue
            if item.variadic:
                lines += [
                    f"bool {item.name}_narrow = true;",
                    f"for (int64_t at = 0; at < args->{item.name}_count; ++at)",
                    f"    {item.name}_narrow = {item.name}_narrow && "
                    f"cvmgen_is_int8(args->{item.name}[at]);",
                ]
                tests.append(f"{item.name}_narrow")
                continue
            tests.append(f"cvmgen_is_int8(args->{item.name})")
        if tests:
            lines.append(f"const bool narrow = {' && '.join(tests)};")
        return [*lines, *self.result_type()]

    @property
    def read_inputs(self) -> list[Input]:
        """The inputs whose elements a kernel reads; of others only the shape matters."""
        read = {
            name for nest in self.program.nests for name in choices.inputs_read(self.program, nest)
        }
        return [item for item in self.operator.inputs if item.name in read]

    def result_type(self) -> list[str]:
        if not self.precise:
            return []
        first = self.precise[0]
        lines = [f"const bool narrow_result = args->{first}->dtype == CVMGEN_INT8;"]
        for other in self.precise[1:]:
            lines += [
                f"if (args->{other}->dtype != args->{first}->dtype)",
                f'    return cvmgen_refuse(error, {c_string(other)}, "", '
                f'"all outputs must have one element type");',
            ]
        return lines

    def dispatch(self) -> list[str]:
        lines = ["int status = CVMGEN_OK;"]
        cvm = [item for item in self.read_inputs if item.dtype == CVM]
        plain = [item for item in cvm if not item.variadic]
        for item in plain:
            lines.append(f"const int32_t *{c_identifier(item.name)} = NULL;")
            lines.append(f"int32_t *{item.name}_copy = NULL;")
        for item in plain:
            tests = [] if item.name in self.wide else ["!narrow"]
            tests += [] if item is plain[0] else ["status == CVMGEN_OK"]
            lines += [f"if ({' && '.join(tests)})"] if tests else []
            pointers = f"&{c_identifier(item.name)}, &{item.name}_copy"
            margin = "    " if tests else ""
            lines.append(f"{margin}status = cvmgen_widen(error, args->{item.name}, {pointers});")
        lines += self.allocate("cvmgen_scratch(error, ")
        lines += [line for each in self.lists for line in each.allocate()]
        overflowing = [name for name in self.operator.output_names if self.can_overflow(name)]
        lines += [f"int64_t {name}_overflow = CVMGEN_NO_OVERFLOW;" for name in overflowing]
        lines += ["if (status == CVMGEN_OK) {"]
        for number, nest in enumerate(self.program.nests):
            lines += indented(self.launch(number, nest))
        lines.append("}")
        lines += [
            f"if (status == CVMGEN_OK) status = cvmgen_refuse_overflow(error, {c_string(name)}, "
            f"args->{name}, {name}_overflow);"
            for name in overflowing
        ]
        lines += [f"free({item.name}_copy);" for item in plain]
        lines += [f"free({c_identifier(each.name)});" for each in self.program.scratch]
        lines += [f"free({each.name});" for each in self.lists]
        lines.append("return status;")
        return lines

    @property
    def lists(self) -> list[KeptLists]:
        """The selected lists with values of their entries beside them."""
        found = []
        for number, nest in enumerate(self.program.nests):
            memory = self.program.scratch_of(nest.tensor)
            if memory and nest.tensor not in self.operator.output_names:
                most = max(len(each.subject.kept) for each in self.kernels.of(number))
                found += [KeptLists(memory[0], most)] if most else []
        return found

    def can_overflow(self, tensor: str) -> bool:
        """Whether a kernel can find that a value does not fit the type of an output."""
        if tensor in self.precise:
            return False
        made = (each for each in self.kernels.kernels if each.nest.tensor == tensor)
        return any(each.overflows for each in made)

    def allocate(self, call: str) -> list[str]:
        """The memory of selected lists; `call` is what makes it, up to the size."""
        lines = []
        for each in self.program.scratch:
            name, size = c_identifier(each.name), f"{self.plan}{c_identifier(each.size)}"
            case = "" if each.case is None else f"{self.plan}which_case == {each.case} && "
            lines.append(f"int64_t *{name} = NULL;")
            lines.append(f"if ({case}status == CVMGEN_OK) status = {call}{size}, &{name});")
        return lines

    def launch(self, number: int, nest: i.Nest) -> list[str]:
        calls = self.choose(number, nest)
        if nest.each is not None:
            calls = self.each(number, nest)
        calls += self.refusal(nest)
        tests = ["status == CVMGEN_OK"] if self.guarded(number) else []
        tests += [] if nest.case is None else [f"{self.plan}which_case == {nest.case}"]
        if not tests:
            return calls
        return [f"if ({' && '.join(tests)}) {{", *indented(calls), "}"]

    def guarded(self, number: int) -> bool:
        """Whether a nest runs only if one before it found that nothing is read outside."""
        return any(each.guarded is not None for each in self.program.nests[:number])

    def refusal(self, nest: i.Nest) -> list[str]:
        """The refusal of a call in which a nest finds that another one would read outside."""
        if nest.guarded is None:
            return []
        tensor, size = nest.guarded.tensor, self.program.scratch_of(nest.tensor)[0].size
        shape = f"&{self.plan}{tensor}_shape" if nest.guarded.placed else "NULL"
        found = f"{c_identifier(nest.tensor)}, {self.plan}{c_identifier(size)}"
        call = f"cvmgen_refuse_outside(error, {c_string(tensor)}, {shape}, {found});"
        return [f"if (status == CVMGEN_OK) status = {call}"]

    def choose(self, number: int, nest: i.Nest) -> list[str]:
        """The kernel for the element types at hand."""
        calls = []
        kernels = self.kernels.of(number)
        for kernel in kernels:
            dtypes = kernel.subject.dtypes
            arguments = [
                "plan",
                *(self.argument(each, nest, dtypes) for each in self.tensors(nest)),
            ]
            if kernel.overflows:
                arguments.append(f"&{nest.tensor}_overflow")
            memory = self.program.scratch_of(nest.tensor)
            arguments += entry_arguments(memory, kernel.subject.kept)
            call = f"{self.kernel_name(kernel)}({', '.join(arguments)});"
            untiled = self.untiled(kernel)
            calls.append([*untiled, f"    {call}" if untiled else call])
        return typed_calls(self.tests(kernels), calls)

    def untiled(self, kernel: Kernel) -> list[str]:
        """The condition in front of a kernel that tiles may make unnecessary."""
        tiles = self.tiles(kernel)
        if tiles is None:
            return []
        nest, dtypes = kernel.nest, kernel.subject.dtypes
        factors = [
            f"(cvmgen_factor){{{self.argument(each, nest, dtypes)}, {widest_type(dtypes[each])}}}"
            for each in tiles.factors()
        ]
        others = [
            f"&{nest.tensor}_overflow"
            if each.tensor is None
            else self.argument(each.tensor, nest, dtypes)
            for each in tiles.parameters
        ]
        tests = [
            f"cvmgen_may_be_int8(args->{each})"
            for each in dict.fromkeys(tiles.factors())
            if dtypes[each] == INT32
        ]
        at = list(self.spaces).index(kernel.number)
        space = f"spaces == NULL ? NULL : &spaces[{at}]"
        arguments = ", ".join(["plan", *factors, *others, space])
        call = f"{tiles.name}_by_tiles({arguments})"
        if not tests:
            return [f"if (!{call})"]
        return [f"if (!({' && '.join(tests)} &&", f"      {call}))"]

    def argument(self, tensor: str, nest: i.Nest, dtypes: Mapping[str, DType]) -> str:
        if tensor not in dtypes:
            return c_identifier(tensor)
        dtype = dtypes[tensor]
        if tensor in self.operator.output_names:
            return f"({dtype.c} *){self.data(tensor)}"
        if dtype.bits == 8 or tensor in self.types.tensors:
            optional = any(item.name == tensor and item.optional for item in self.operator.inputs)
            which = f"[{nest.each[0]}]" if nest.each is not None and nest.each[1] == tensor else ""
            data = f"(const {dtype.c} *){self.data(tensor, which)}"
            return f"args->{tensor} == NULL ? NULL : {data}" if optional else data
        return c_identifier(tensor)

    def data(self, tensor: str, which: str = "") -> str:
        """The elements of a tensor, `which` of several."""
        place = f"args->{tensor}{which}"
        return f"cvmgen_data({place})" if tensor in self.empty else f"{place}->data"

    def each(self, number: int, nest: i.Nest) -> list[str]:
        """A nest that runs for each tensor of a variadic input."""
        assert nest.each is not None
        index, tensor, _ = nest.each
        widened = [
            f"const int32_t *{c_identifier(tensor)} = NULL;",
            f"int32_t *{tensor}_copy = NULL;",
            f"if (!narrow) status = cvmgen_widen(error, args->{tensor}[{index}], "
            f"&{c_identifier(tensor)}, "
            f"&{tensor}_copy);",
            "if (status != CVMGEN_OK) break;",
        ]
        freed = [f"free({tensor}_copy);"]
        reads = any(isinstance(e, i.Load) and e.tensor == tensor for e in walk(nest.body))
        if tensor in self.types.tensors or not reads:
            widened, freed = [], []
        body = [
            *widened,
            *prologue_lines(self.typed, number, self.plan),
            *self.choose(number, nest),
            *freed,
        ]
        head = f"for (int64_t {index} = 0; {index} < args->{tensor}_count; ++{index}) {{"
        return [head, *indented(body), "}"]


def widest_type(dtype: DType) -> str:
    return "true" if dtype == INT32 else "false"
