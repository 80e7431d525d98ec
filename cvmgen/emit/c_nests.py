"""The kernels of an operator for C: a function for each nest and each choice of element types."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace

from cvmgen.analysis.plan import Field, fields_read, plan_fields
from cvmgen.emit import interface
from cvmgen.emit.c_families import Section, sections, typed_name
from cvmgen.emit.c_parts import FunctionPrinter, PartScope, inline_functions, outlined_function
from cvmgen.emit.c_spelling import c_identifier, element_type, pointer
from cvmgen.emit.c_text import signature, wrapped_declarations
from cvmgen.emit.c_tiles import TilePrinter
from cvmgen.emit.c_types import TypesPrinter
from cvmgen.emit.lines import indented, wrap_c
from cvmgen.ir import nodes as i
from cvmgen.ir.host import LISTS
from cvmgen.schedule.gpu.mapped import KernelParameter
from cvmgen.schedule.kernels import Family, Inlined, Kernel, Kernels, nest_name
from cvmgen.schedule.signatures import c_parameters, tensor_parameters, tile_parameters
from cvmgen.schedule.tile_functions import TileFunctions
from cvmgen.typing import choices

# What the file of an operator has beside its kernels, behind the operator's name.
OWN = ("plan", "prepare", "rows", "types", "types_names", "infer", "run", "bound", "run_bound")


class NestEmitter:
    """The kernels of an operator and the functions that they become."""

    restrict = "restrict"
    plan = "plan->"  # what stands before the members of the plan where kernels are called

    def __init__(self, kernels: Kernels) -> None:
        self.kernels = kernels
        self.program, self.typed = kernels.program, kernels.host
        self.operator = self.program.operator
        self.name = self.operator.name
        self.function = interface.c_name(self.operator)
        self.fields = plan_fields(self.program)
        self.types = TypesPrinter(self.operator)
        self.precise = self.operator.precise_outputs

    # -------------------------------------------------------- functions

    def functions(self) -> list[str]:
        """The functions of all kernels."""
        found = []
        file = f"{self.name}.c"
        included = {id(each.families[0]): each.included(file) for each in self.sections}
        for family in (*self.kernels.families, *self.kernels.tile_families):
            if not family.types:
                found.append(self.family(family))
            elif id(family) in included:
                found.append(included[id(family)])
        return found

    @property
    def sections(self) -> list[Section]:
        """The sections of the file that are for several element types."""
        families = (*self.kernels.families, *self.kernels.tile_families)
        return sections(each for each in families if each.types)

    def family(self, family: Family) -> str:
        """The function for a nest, behind those for parts of its loops in threads, or the functions
        that compute it by tiles."""
        if family.tiles is not None:
            return self.tiles(family, family.tiles)
        kernel = family.kernels[0]
        nest, said = kernel.nest, family.inlined or Inlined(family.outlined, family.parts, ())
        given = c_parameters(self.program, kernel, family.elements, family.kept)
        tensors = {each.name: element_type(each) for each in given[1:]}
        suffix = kernel.variant.suffix
        named = typed_name if family.types else lambda name: f"{name}{suffix}"
        frame = replace(self.scope(kernel, tensors, named), inline=said.functions)
        name = typed_name(nest_name(self.program, kernel.number))
        name = name if family.types else self.kernel_name(kernel)
        functions = inline_functions(self.program, frame)
        functions += (outlined_function(self.program, frame, each) for each in said.parts)
        printer = FunctionPrinter(self.program, said.outlined, frame, None)
        unread = self.unread(tensor_parameters(self.program, nest, {}), kernel.subject.body)
        lines = [*unread, *printer.kernel(said.outlined)]
        parameters = [pointer(each, self.restrict) for each in given]
        head = [*printer.versions(said.outlined), *signature(f"static void {name}(", parameters)]
        return "\n\n".join([*functions, "\n".join([*head, *wrap_c(indented(lines)), "}"])])

    @staticmethod
    def unread(tensors: Iterable[KernelParameter], body: i.Block) -> list[str]:
        """Statements that name what a nest reads for other element types only, lists of which it
        only asks how long they are, and those that nothing is appended to."""
        used = choices.read_in(body)
        return [f"(void){c_identifier(each.name)};" for each in tensors if each.name not in used]

    def tiles(self, family: Family, tiles: TileFunctions) -> str:
        """The functions that compute a nest by tiles: the same ones whatever integers the factors
        are stored as."""
        kernel, suffix = family.kernels[0], tiles.suffix
        parameters = tile_parameters(self.program, kernel, family.elements)
        named = typed_name if family.types else lambda name: f"{name}{suffix}"
        types = {each.name: element_type(each) for each in parameters}
        frame = self.scope(kernel, types, named)
        return TilePrinter(self.program, frame, tiles, parameters).text()

    def scope(
        self, kernel: Kernel, tensors: Mapping[str, str], named: Callable[[str], str]
    ) -> PartScope:
        """What the functions of a kernel share."""
        return PartScope(
            f"{self.name}_plan",
            (self.program.quoted(kernel.nest), *kernel.nest.more),
            self.restrict,
            tensors,
            self.nest_fields,
            self.unpack,
            named,
        )

    def kernel_name(self, kernel: Kernel) -> str:
        """What a kernel is called in C, where nothing else of its file is."""
        taken = {*(f"{self.name}_{each}" for each in OWN), *interface.row_names(self.operator)}
        return f"{kernel.name}_nest" if kernel.name in taken else kernel.name

    # -------------------------------------------------------- what functions get

    def nest_fields(self, body: object, more: Iterable[str] = ()) -> list[Field]:
        return fields_read(self.fields, self.operator, body, more)

    def unpack(self, fields: Iterable[Field]) -> list[str]:
        """Locals for what the nest reads of the plan."""
        fields = list(fields)
        lines = []
        for kind in ("int64_t", "double"):
            names = (c_identifier(f.name) for f in fields if f.type == kind)
            lines += wrapped_declarations(f"const {kind}", [f"{n} = plan->{n}" for n in names])
        for f in fields:
            name = c_identifier(f.name)
            if f.type in LISTS:
                lines.append(f"const {f.type} *const {name} = &plan->{name};")
            elif f.type == "bool":
                lines.append(f"const bool {name} = plan->{name};")
        return lines or ["(void)plan;"]
