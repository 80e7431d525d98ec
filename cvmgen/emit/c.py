"""The C target: one file an operator, plain C11."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from cvmgen.emit.c_bound import bound_text
from cvmgen.emit.c_nests import NestEmitter
from cvmgen.emit.c_spelling import c_identifier
from cvmgen.emit.c_text import file_header, signature, wrapped_declarations
from cvmgen.emit.call_printer import CallPrinter
from cvmgen.emit.lines import indented, wrap_c
from cvmgen.emit.prepare import prepare_lines
from cvmgen.emit.render import render_template
from cvmgen.functions import ELEMENTARY
from cvmgen.ir import nodes as i
from cvmgen.ir.host import C_TYPES
from cvmgen.ir.visit import walk
from cvmgen.schedule.kernels import Kernels
from cvmgen.schedule.signatures import kept_memory, workspaces

HELPERS = {f"{name}_f64" for name in ELEMENTARY}
# What kernels include, and which of their statements and values need it.
HEADERS: Mapping[str, Callable[[object], bool]] = {
    "cvmgen_moves.h": lambda node: isinstance(node, i.Move),
    "cvmgen_power.h": lambda node: isinstance(node, i.Call) and node.function == "power_f64",
    "cvmgen_elementary.h": lambda node: isinstance(node, i.Call) and node.function in HELPERS,
    "cvmgen_turns.h": lambda node: isinstance(node, i.Turn),
    "cvmgen_slides.h": lambda node: isinstance(node, i.Slide),
    "cvmgen_functions.h": lambda node: isinstance(node, i.Apply),
    "cvmgen_products.h": lambda node: isinstance(node, i.Products),
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
        packed = workspaces(self.kernels)
        spaces = len(packed) + len(kept_memory(self.kernels))
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
            run="\n".join(wrap_c(indented(self.call()))),
            bound=bound_text(self.operator, [places[name] for name in packed.values()], spaces),
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
            "double", [c_identifier(f.name) for f in self.fields if f.type == "double"]
        )
        lines += wrapped_declarations(
            "bool", [c_identifier(f.name) for f in self.fields if f.type == "bool"]
        )
        lists = [c_identifier(f.name) for f in self.fields if f.type == C_TYPES["list"]]
        reals = [c_identifier(f.name) for f in self.fields if f.type == C_TYPES["reals"]]
        shapes = [f"{name}_shape" for name in self.operator.output_names]
        lines += wrapped_declarations("cvmgen_list", list(dict.fromkeys([*shapes, *lists])))
        lines += wrapped_declarations(C_TYPES["reals"], reals)
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

    def call(self) -> list[str]:
        """What is done behind the host part: the kernels run."""
        printer = CallPrinter(self.operator, self.plan, self.function_names())
        return printer.part(self.kernels.call)

    def function_names(self) -> dict[str, str]:
        """What kernels are called in C, by their own names."""
        found = {each.name: self.kernel_name(each) for each in self.kernels.kernels}
        tiles = (each.tiles.function for each in self.kernels.kernels if each.tiles)
        return {**found, **{each: each for each in tiles}}
