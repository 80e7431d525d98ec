"""The CUDA target: one file an operator, kernels over the grid and the host code around them.

Kernels compile alone (NVRTC), since all host code stands behind __CUDACC_RTC__. The host code
checks and infers as the C target does, chooses a kernel of each nest for the call, and starts it.
"""

from __future__ import annotations

from functools import cached_property, partial

from cvmgen.emit import c, c_support, interface
from cvmgen.emit.c_spelling import c_identifier, c_string, comment
from cvmgen.emit.c_text import file_header, wrapped_declarations
from cvmgen.emit.cuda_frame import KernelTexts, template
from cvmgen.emit.cuda_kernels import headers_of
from cvmgen.emit.lines import indented, wrap_c
from cvmgen.emit.prepare import prepare_lines
from cvmgen.emit.render import render_template
from cvmgen.ir import nodes as i
from cvmgen.schedule.dispatch import overflowing
from cvmgen.schedule.gpu.mapped import DeviceFunction
from cvmgen.schedule.kernels import DeviceFamily, Kernel, Kernels
from cvmgen.schedule.signatures import FIELD_TYPES, DeviceSignatures, mapping_of


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


# ---------------------------------------------------------------- the file


class CudaEmitter(c.CEmitter):
    """Assembles the file of one operator."""

    restrict = "__restrict__"
    plan = "plan."

    def __init__(self, kernels: Kernels) -> None:
        super().__init__(kernels)
        self.signatures = DeviceSignatures(kernels)
        self.fields = self.signatures.fields

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
            run="\n".join(wrap_c(indented(self.call()))),
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
            if self.signatures.values[number]:
                found.append(self.values(number, nest))
            for family in self.kernels.device_families:
                if family.kernels[0].number == number:
                    found += self.device_family(family)
        return found

    def device_family(self, family: DeviceFamily) -> list[str]:
        """The function of a family, and the kernels that call it for their types."""
        frames = [self.frame(each) for each in family.kernels]
        return template(frames, family) if family.types else [frames[0].kernel(family.body)]

    def kernel_name(self, kernel: Kernel) -> str:
        # Kernels are extern "C": the opset keeps those of different opsets apart.
        return f"{self.operator.opset}_{super().kernel_name(kernel)}"

    def values(self, number: int, nest: i.Nest) -> str:
        fields = self.signatures.values[number]
        lines = []
        for kind in FIELD_TYPES:
            lines += wrapped_declarations(
                kind, [c_identifier(f.name) for f in fields if f.type == kind]
            )
        name, place = self.signatures.values_name(number), self.operator.place(nest.span)
        head = comment(f"What a call fixes for the kernels of {place}.")
        return "\n".join([head, f"struct {name} {{", *indented(lines), "};"])

    def frame(self, kernel: Kernel) -> KernelTexts:
        """What the functions that a kernel becomes share."""

        def opening(function: DeviceFunction) -> list[str]:
            body = function.body if function.own else kernel.typed
            tensors = self.signatures.own(kernel, function)
            unread = self.unread((e for e in tensors if e.elements and e.apart), body)
            return [*unread, comment(self.program.quoted(kernel.nest))]

        return KernelTexts(
            self.program,
            self.kernel_name(kernel),
            kernel.typed,
            partial(self.signatures.of, kernel),
            opening,
            self.nest_fields,
        )

    def function_names(self) -> dict[str, str]:
        return {
            f"{kernel.name}{function.name}": f"{self.kernel_name(kernel)}{function.name}"
            for kernel in self.kernels.kernels
            for function in mapping_of(kernel).functions
        }

    # -------------------------------------------------------- what does not fit

    @cached_property
    def overflowing(self) -> list[str]:
        """The outputs of which a kernel can find that a value does not fit their type."""
        return overflowing(self.kernels)

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
