"""The CUDA target: one file an operator, kernels over the grid and the host code around them.

Kernels compile alone (NVRTC), since all host code stands behind __CUDACC_RTC__. The host code
checks and infers as the C target does, chooses a kernel of each nest for the call, and starts it.
"""

from __future__ import annotations

from collections.abc import Mapping as Names
from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property

from cvmgen.analysis.plan import Field, plan_fields
from cvmgen.dtypes import CVM, DType
from cvmgen.emit import c, c_support, interface
from cvmgen.emit.c_checks import output_checks
from cvmgen.emit.c_nests import overflow_parameter
from cvmgen.emit.c_spelling import c_identifier, c_string, comment, indented
from cvmgen.emit.c_text import (
    file_header,
    type_tests,
    typed_calls,
    wrapped_declarations,
    wrapped_list,
)
from cvmgen.emit.cuda_frame import KernelParameter, KernelTexts, template
from cvmgen.emit.cuda_kernels import headers_of
from cvmgen.emit.prepare import prepare_lines, prologue_lines
from cvmgen.emit.render import render_template
from cvmgen.emit.wrap import wrap_c
from cvmgen.errors import InternalError
from cvmgen.ir import nodes as i
from cvmgen.schedule.generic import generic
from cvmgen.schedule.gpu.mapped import DeviceFunction, Mapped, plan_members_read
from cvmgen.schedule.kernels import Kernel, Kernels, nest_name
from cvmgen.spec.formula import Input
from cvmgen.typing import choices

FIELD_TYPES = ("int64_t", "bool", "cvmgen_list")


def emit_operator(kernels: Kernels) -> str:
    """The CUDA file of an operator whose kernels are mapped to threads."""
    return CudaEmitter(kernels).text()


def emit_interface(kernels: Kernels) -> str:
    """The public header of one operator, for C and C++; it needs no CUDA header."""
    operator = kernels.program.operator
    return render_template(
        "cuda/interface.h.j2",
        full_name=operator.full_name,
        name=interface.c_name(operator),
        c_header=c_support.emit_interface(operator).strip(),
        declaration=CudaEmitter(kernels).declaration(),
    )


def kernel_classes(kernels: Kernels) -> dict[str, str]:
    """What kind of kernel each one of an operator is, by its name: how its work is divided."""
    emitter = CudaEmitter(kernels)
    return {
        f"{emitter.kernel_name(kernel)}{function.name}": function.kind
        for kernel in kernels.kernels
        for function in mapping_of(kernel).functions
    }


def mapping_of(kernel: Kernel) -> Mapped:
    if kernel.mapped is None:
        raise InternalError("emit cuda: a kernel is not mapped to threads")
    return kernel.mapped


# ---------------------------------------------------------------- the file


class CudaEmitter(c.CEmitter):
    """Assembles the file of one operator."""

    restrict = "__restrict__"
    plan = "plan."

    def __init__(self, kernels: Kernels) -> None:
        super().__init__(kernels)
        host = tuple((mapping_of(each).before, mapping_of(each).start) for each in kernels.kernels)
        self.fields = plan_fields(self.program, plan_members_read(host))

    def text(self) -> str:
        kernels = "\n\n".join(self.functions())
        return render_template(
            "cuda/operator.cu.j2",
            header=file_header(self.program, self.masks()),
            includes="\n".join(f'#include "{name}"' for name in self.includes()),
            opset=self.operator.opset,
            name=self.name,
            function=self.function,
            full_name=self.operator.full_name,
            types="".join(f"{line}\n" for line in self.types.declaration()),
            kernels=kernels,
            fields="\n".join(indented(self.field_lines())),
            prepare="\n".join(wrap_c(indented(prepare_lines(self.typed)))),
            infer="\n".join(wrap_c(indented(self.infer()))),
            run="\n".join(wrap_c(indented(self.run()))),
            prepare_head=self.head("static int", f"{self.name}_prepare", f"{self.name}_plan *plan"),
            infer_head=self.head("int", f"{self.function}_cuda_infer"),
            run_head=self.head("int", f"{self.function}_cuda", "cvmgen_stream stream", *self.noted),
            refused="".join(f"{line}\n" for line in self.refused()),
        )

    def declaration(self) -> str:
        """What others call, for a header."""
        operator, args = self.operator, f"const {self.function}_args *args"
        where = f"{args}, cvmgen_stream stream"
        lines = [
            comment(f"{operator.full_name}: {operator.doc} {operator.files}"),
            f"int {self.function}_cuda_infer({args}, cvmgen_error *error);",
            f"int {self.function}_cuda({', '.join([where, *self.noted])}, cvmgen_error *error);",
        ]
        if self.noted:
            noting = f"{args}, {self.noted[0]}, cvmgen_error *error"
            lines.insert(
                -1,
                "/* What `overflow` is, and when to ask what was refused, says cvmgen_stream.h. */",
            )
            lines.append(f"int {self.function}_cuda_refused({noting});")
        return "\n".join(lines)

    @property
    def noted(self) -> list[str]:
        """The parameter for what kernels find, of an operator whose kernels find something."""
        return ["int64_t *overflow"] if self.overflowing else []

    def masks(self) -> list[str]:
        """What is said of the memory for pairs of candidates."""
        said = (mapping_of(each).memory for each in self.kernels.kernels)
        return [*dict.fromkeys(text for text in said if text)]

    def includes(self) -> list[str]:
        """The common header, and those of what kernels call."""
        found = tuple(mapping_of(each) for each in self.kernels.kernels)
        bodies = tuple(function.body for each in found for function in each.functions)
        hosts = tuple(each.before for each in found)
        return ["cvmgen_cuda.h", *sorted(headers_of((bodies, hosts)))]

    # -------------------------------------------------------- kernels

    def functions(self) -> list[str]:
        """For each nest the values it reads of a call, then a kernel for each element type."""
        found = []
        for number, nest in enumerate(self.program.nests):
            if self.value_fields(number):
                found.append(self.values(number, nest))
            found += self.nest_functions(self.kernels.of(number))
        return found

    def nest_functions(self, kernels: Sequence[Kernel]) -> list[str]:
        """The functions that the kernels of a nest become; those that differ in element types alone
        are one for all of them, which a kernel for each choice of types calls."""
        names = {
            tuple(function.name for function in mapping_of(each).functions) for each in kernels
        }
        if len(names) > 1:
            return [text for each in kernels for text in self.nest_functions([each])]
        columns = zip(*(mapping_of(each).functions for each in kernels), strict=True)
        return [text for functions in columns for text in self.column([*kernels], [*functions])]

    def column(self, kernels: Sequence[Kernel], functions: Sequence[DeviceFunction]) -> list[str]:
        """A function of kernels, once for all of them or one for each."""
        frames = [self.frame(each) for each in kernels]
        made = generic(kernels, functions)
        name = nest_name(self.program, kernels[0].number)
        if made is not None and (text := template(frames, *made, name)):
            return text
        return [frame.kernel(each) for frame, each in zip(frames, functions, strict=True)]

    def kernel_name(self, kernel: Kernel) -> str:
        # Kernels are extern "C": the opset keeps those of different opsets apart.
        return f"{self.operator.opset}_{super().kernel_name(kernel)}"

    def value_fields(self, number: int) -> list[Field]:
        """What the kernels of a nest read of a call, in the order of the structure."""
        found = map(mapping_of, self.kernels.of(number))
        bodies = (function.body for each in found for function in each.functions)
        read = {field for body in bodies for field in self.nest_fields(body)}
        known = [field for field in self.fields if field in read]
        return sorted(known, key=lambda field: FIELD_TYPES.index(field.type))

    def values(self, number: int, nest: i.Nest) -> str:
        fields = self.value_fields(number)
        lines = []
        for kind in FIELD_TYPES:
            lines += wrapped_declarations(
                kind, [c_identifier(f.name) for f in fields if f.type == kind]
            )
        head = comment(f"What a call fixes for the kernels of {self.operator.place(nest.span)}.")
        return "\n".join([head, f"struct {self.values_name(number)} {{", *indented(lines), "};"])

    def values_name(self, number: int) -> str:
        return f"{nest_name(self.program, number)}_values"

    def tensors(self, nest: i.Nest) -> list[str]:
        """As in C, but of the memory that a nest fills only what its statements speak of."""
        memory = {each.name for each in self.program.scratch_of(nest.tensor)}
        unused = memory - choices.read_in(nest.body)
        return [each for each in super().tensors(nest) if each not in unused]

    def frame(self, kernel: Kernel) -> KernelTexts:
        """What the functions that a kernel becomes share."""
        return self.framed(kernel, kernel.nest, kernel.typed)

    def framed(self, kernel: Kernel, nest: i.Nest, body: i.Block) -> KernelTexts:
        number, dtypes = kernel.number, kernel.subject.dtypes
        parameters = [
            KernelParameter(kind.removeprefix("const "), name, kind.startswith("const "))
            for name, kind in self.tensor_types(nest, dtypes)
        ]
        parameters += (
            [KernelParameter("int64_t", "overflow", None)] if overflow_parameter(body) else []
        )
        arguments = [self.operand(each, nest, dtypes) for each in self.tensors(nest)]
        if overflow_parameter(body):
            at = self.word(nest.tensor)
            arguments.append(f"overflow + {at}" if at else "overflow")
        if self.value_fields(number):
            parameters.insert(
                0, KernelParameter(self.values_name(number), "values", None, whole=True)
            )
            arguments.insert(0, "values")
        return KernelTexts(
            self.program,
            self.kernel_name(kernel),
            kernel.typed,
            parameters,
            arguments,
            [*self.unread(nest, body), comment(self.program.quoted(nest))],
            self.nest_fields,
            lambda other: self.framed(kernel, replace(nest, body=other), other),
        )

    # -------------------------------------------------------- run

    def run(self) -> list[str]:
        """Check the memory and the element types, launch the kernels."""
        checks = [*self.input_checks(), *output_checks(self.operator, self.types, self.plan)]
        return [*checks, *self.element_types(), *self.overflow_check(), *self.dispatch()]

    def input_checks(self) -> list[str]:
        fail = "return CVMGEN_REFUSED;"
        lines = [f"if (cvmgen_refuse_check_values(error, args->check_values)) {fail}"]
        for item in self.operator.inputs:
            call = f"cvmgen_check_data(error, {c_string(item.name)}, {self.tensor(item)})"
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
        read = [item for item in self.read_inputs if item.dtype == CVM]
        free = [item for item in read if item.name not in self.wide]
        free.sort(key=lambda item: item.optional)
        lines = []
        if free:
            lines.append(f"const int32_t dtype = {self.dtype_of(free[0])};")
            rule = c_string(f"on a device its element type must be that of {free[0].name}")
            if free[0].variadic:
                rule = c_string("on a device all inputs must have one element type")
            for item in free[0 if free[0].variadic else 1 :]:
                lines += self.type_check(item, "dtype", rule)
        for item in read:
            if item.name in self.wide:
                rule = c_string("on a device this input must be int32")
                lines += self.type_check(item, "CVMGEN_INT32", rule)
        if free:
            lines.append("const bool narrow = dtype == CVMGEN_INT8;")
        return [*lines, *self.result_type()]

    @staticmethod
    def dtype_of(item: Input) -> str:
        if item.variadic:
            return f"args->{item.name}[0]->dtype"
        dtype = f"args->{item.name}->dtype"
        return f"args->{item.name} == NULL ? CVMGEN_INT32 : {dtype}" if item.optional else dtype

    def type_check(self, item: Input, dtype: str, rule: str) -> list[str]:
        arguments = f"error, {c_string(item.name)}, {self.tensor(item)}, {dtype}, {rule}"
        head = "if (cvmgen_check_type("
        lines = wrapped_list(head, arguments.split(", ", 4), ")) return CVMGEN_REFUSED;")
        return lines if not item.variadic else [*self.every(item, lines[0]), *indented(lines[1:])]

    def dispatch(self) -> list[str]:
        lines = ["int status = CVMGEN_OK;"]
        lines += self.allocate("cvmgen_device_scratch(error, stream, ")
        for number, nest in enumerate(self.program.nests):
            lines += self.launch(number, nest)
        names = (c_identifier(each.name) for each in self.program.scratch)
        lines += [f"cvmgen_device_free(stream, {name});" for name in names]
        return [*lines, "return status;"]

    # -------------------------------------------------------- what does not fit

    @cached_property
    def overflowing(self) -> list[str]:
        """The outputs of which a kernel can find that a value does not fit their type."""
        return [name for name in self.operator.output_names if self.can_overflow(name)]

    def overflow_check(self) -> list[str]:
        """The refusal of a call whose kernels could not tell what does not fit."""
        if not self.overflowing:
            return []
        call = "cvmgen_check_overflow(error, overflow)"
        tests = " && ".join([*self.overflow_tests(), call])
        return [f"if ({tests}) return CVMGEN_REFUSED;"]

    def overflow_tests(self) -> list[str]:
        """The test that a kernel for the types at hand can overflow; none where every one can."""
        found = [
            (
                " && ".join(type_tests(self.operator, each.variant, self.plan)),
                each.overflows,
            )
            for each in self.kernels.kernels
            if each.nest.tensor in self.overflowing
        ]
        if all(overflows for _, overflows in found):
            return []
        tests = dict.fromkeys(test for test, overflows in found if overflows)
        if "" in tests:
            return []
        if len(tests) == 1:
            return list(tests)
        return [f"({' || '.join(f'({each})' if '&&' in each else each for each in tests)})"]

    def refused(self) -> list[str]:
        """The function that refuses what kernels have noted."""
        if not self.overflowing:
            return []
        words = {name: f"overflow[{self.word(name)}]" for name in self.overflowing}
        lines = [
            f"cvmgen_begin(error, {c_string(self.operator.full_name)});",
            "if (overflow == NULL) return CVMGEN_OK;",
        ]
        for name, word in words.items():
            first = name == self.overflowing[0]
            head = "int status" if first else "if (status == CVMGEN_OK) status"
            call = f"cvmgen_refuse_overflow(error, {c_string(name)}, args->{name}, {word});"
            lines.append(f"{head} = {call}")
        cleared = " = ".join([*words.values(), "CVMGEN_NO_OVERFLOW;"])
        lines += [f"if (status != CVMGEN_OK) {cleared}", "return status;"]
        head = self.head("int", f"{self.function}_cuda_refused", *self.noted)
        return ["", head, *wrap_c(indented(lines)), "}"]

    def word(self, output: str) -> int:
        """Which word of `overflow` belongs to an output."""
        return self.operator.output_names.index(output)

    def launch(self, number: int, nest: i.Nest) -> list[str]:
        lines = self.each(number, nest) if nest.each is not None else self.start(number, nest)
        lines += self.refusal(nest)
        if len(self.program.nests) == 1:
            return lines
        first = number == 0 and not self.program.scratch
        tests = [] if first and nest.case is not None else ["status == CVMGEN_OK"]
        if nest.case is not None:
            tests.append(f"plan.which_case == {nest.case}")
        return [f"if ({' && '.join(tests)}) {{", *indented(lines), "}"]

    def refusal(self, nest: i.Nest) -> list[str]:
        """The refusal of a call in which a nest finds that another one would read outside."""
        if nest.guarded is None:
            return []
        tensor, size = nest.guarded.tensor, self.program.scratch_of(nest.tensor)[0].size
        shape = f"&plan.{tensor}_shape" if nest.guarded.placed else "NULL"
        found = f"{c_identifier(nest.tensor)}, plan.{c_identifier(size)}"
        call = f"cvmgen_refuse_device_outside(error, stream, {c_string(tensor)}, {shape}, {found});"
        return ["if (status == CVMGEN_OK)", f"    status = {call}"]

    def each(self, number: int, nest: i.Nest) -> list[str]:
        """A nest that runs for each tensor of a variadic input."""
        assert nest.each is not None
        index, tensor, _ = nest.each
        prologue = prologue_lines(self.typed, number, self.plan)
        test = f"{index} < args->{tensor}_count && status == CVMGEN_OK"
        head = f"for (int64_t {index} = 0; {test}; ++{index}) {{"
        return [head, *indented([*prologue, *self.start(number, nest)]), "}"]

    def start(self, number: int, nest: i.Nest) -> list[str]:
        """Launch the kernels for the element types at hand."""
        lines = []
        # What stands around: the function, a test of the nest, a loop over tensors.
        width = 96 - 4 * (len(self.program.nests) > 1) - 4 * (nest.each is not None)
        fields = [f"plan.{c_identifier(field.name)}" for field in self.value_fields(number)]
        if fields:
            head = f"const {self.values_name(number)} values = {{"
            lines += wrapped_list(head, fields, "};", width)
        kernels = self.kernels.of(number)
        tests = self.tests(kernels)
        inner = width - 4 * (len(kernels) > 1)
        before, start = [], []
        for each in kernels:
            frame, found = self.frame(each), mapping_of(each)
            before.append(frame.host(found.functions, found.before, width))
            start.append(frame.host(found.functions, found.start, inner))
        if all(each == before[0] for each in before):
            return [*lines, *before[0], *typed_calls(tests, start)]
        calls = [[*first, *then] for first, then in zip(before, start, strict=True)]
        return [*lines, *typed_calls(tests, calls)]

    def operand(self, tensor: str, nest: i.Nest, dtypes: Names[str, DType]) -> str:
        if tensor not in dtypes:
            return c_identifier(tensor)
        dtype = dtypes[tensor]
        if tensor in self.operator.output_names:
            return f"({dtype.c} *){self.data(tensor)}"
        which = f"[{nest.each[0]}]" if nest.each is not None and nest.each[1] == tensor else ""
        data = f"(const {dtype.c} *){self.data(tensor, which)}"
        optional = any(item.name == tensor and item.optional for item in self.operator.inputs)
        return f"args->{tensor} == NULL ? NULL : {data}" if optional else data
