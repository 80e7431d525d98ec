"""The kernels of an operator for C: a function for each nest and each choice of element types."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

from cvmgen.analysis.plan import Field, fields_read, plan_fields
from cvmgen.dtypes import DType
from cvmgen.emit import interface
from cvmgen.emit.c_entries import entry_parameters, entry_types
from cvmgen.emit.c_families import Section, sections, typed_name
from cvmgen.emit.c_parts import FunctionPrinter, PartScope, outlined_function
from cvmgen.emit.c_spelling import c_identifier, indented
from cvmgen.emit.c_text import signature, type_tests, versions, wrapped_declarations
from cvmgen.emit.c_tiles import TileParameter, TilePrinter
from cvmgen.emit.c_types import TypesPrinter
from cvmgen.emit.wrap import wrap_c
from cvmgen.ir import nodes as i
from cvmgen.ir.uses import has
from cvmgen.schedule.kernels import Family, Kernel, Kernels, nest_name
from cvmgen.schedule.outline import OVERFLOW
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
        self.wide = choices.int32_inputs(self.program)
        self.empty = self.operator.empty_tensors

    def tests(self, kernels: Sequence[Kernel]) -> list[tuple[str, ...]]:
        """What must hold of a call that is one for each of some kernels."""
        return [type_tests(self.operator, each.variant, self.plan) for each in kernels]

    @property
    def spaces(self) -> dict[int, str]:
        """The nests with a workspace, by their numbers, and the inputs that they pack."""
        found: dict[int, str] = {}
        for kernel in self.kernels.kernels:
            if kernel.subject.tiling is not None:
                found.setdefault(kernel.number, kernel.subject.tiling.w.load.tensor)
        return found

    # -------------------------------------------------------- functions

    def functions(self) -> list[str]:
        """The functions of all kernels."""
        found = []
        file = f"{self.name}.c"
        included = {id(each.families[0]): each.included(file) for each in self.sections}
        for family in self.kernels.families:
            if not family.types:
                found.append(self.family(family))
            elif id(family) in included:
                found.append(included[id(family)])
            tiles = filter(None, map(self.tiles, family.kernels))
            found += [each.text() for each in tiles]
        return list(dict.fromkeys(found))

    @property
    def sections(self) -> list[Section]:
        """The sections of the file that are for several element types."""
        return sections(each for each in self.kernels.families if each.types)

    def family(self, family: Family) -> str:
        """The function for a nest, behind those for parts of its loops in threads."""
        kernel = family.kernels[0]
        nest, body, dtypes = kernel.nest, kernel.subject.body, family.dtypes
        parameters = [f"const {self.name}_plan *plan", *self.tensor_parameters(nest, dtypes)]
        parameters += overflow_parameter(body)
        parameters += entry_parameters(family.kept, self.restrict)
        tensors = dict(self.tensor_types(nest, dtypes))
        tensors |= {OVERFLOW: "int64_t"} if overflow_parameter(body) else {}
        tensors |= entry_types(family.kept)
        frame = PartScope(
            f"{self.name}_plan",
            (self.program.quoted(nest), *nest.more),
            self.restrict,
            tensors,
            self.nest_fields,
            self.unpack,
            typed_name if family.types else lambda name: f"{name}{kernel.variant.suffix}",
        )
        name = typed_name(nest_name(self.program, kernel.number))
        name = name if family.types else self.kernel_name(kernel)
        functions = [outlined_function(self.program, frame, each) for each in family.parts]
        printer = FunctionPrinter(self.program, family.outlined, frame, None)
        lines = [*self.unread(nest, body), *printer.kernel(family.outlined)]
        head = [*versions(family.outlined), *signature(f"static void {name}(", parameters)]
        return "\n\n".join([*functions, "\n".join([*head, *wrap_c(indented(lines)), "}"])])

    def unread(self, nest: i.Nest, body: tuple[i.Stmt, ...]) -> list[str]:
        """Statements that name what a nest reads for other element types only, lists of which it
        only asks how long they are, and those that nothing is appended to."""
        used = choices.read_in(body)
        return [f"(void){c_identifier(name)};" for name in self.tensors(nest) if name not in used]

    def tiles(self, kernel: Kernel) -> TilePrinter | None:
        """The functions that compute a nest by tiles, if its schedule has some: the same ones
        whatever integers the factors are stored as."""
        nest, tiling = kernel.nest, kernel.subject.tiling
        if tiling is None:
            return None
        name = f"{nest_name(self.program, kernel.number)}{self.tiles_suffix(kernel)}"
        used = choices.read_in(tiling.found.after) | {nest.tensor}
        parameters = [
            TileParameter(c_identifier(tensor), element, self.restrict, tensor)
            for tensor, element in self.tensor_types(nest, kernel.subject.dtypes)
            if tensor in used
        ]
        if overflow_parameter(tiling.found.after):
            parameters.append(TileParameter("overflow", "int64_t", "", None))
        return TilePrinter(
            self.program,
            nest,
            kernel.typed,
            tiling,
            name,
            parameters,
            self.nest_fields,
            self.unpack,
        )

    def tiles_suffix(self, kernel: Kernel) -> str:
        """Without the type of the factors, if nothing behind their sums depends on it."""
        shared = replace(kernel.variant, source=None)
        found = {
            (tiling.found.total.type, tiling.found.after, tiling.found.before)
            for each in self.kernels.of(kernel.number)
            if replace(each.variant, source=None) == shared
            and (tiling := each.subject.tiling) is not None
        }
        return (shared if len(found) == 1 else kernel.variant).suffix

    def kernel_name(self, kernel: Kernel) -> str:
        """What a kernel is called in C, where nothing else of its file is."""
        taken = {*(f"{self.name}_{each}" for each in OWN), *interface.row_names(self.operator)}
        return f"{kernel.name}_nest" if kernel.name in taken else kernel.name

    # -------------------------------------------------------- what functions get

    def tensors(self, nest: i.Nest) -> list[str]:
        return choices.used_tensors(self.program, nest)

    def tensor_parameters(self, nest: i.Nest, dtypes: Mapping[str, DType]) -> list[str]:
        """The tensors of a nest as parameters of its kernel."""
        return [
            f"{element} *{self.restrict} {c_identifier(tensor)}"
            for tensor, element in self.tensor_types(nest, dtypes)
        ]

    def tensor_types(self, nest: i.Nest, dtypes: Mapping[str, DType]) -> Iterator[tuple[str, str]]:
        """The tensors of a nest, and what they are arrays of."""
        written = choices.written_tensors(self.program, nest)
        for tensor in self.tensors(nest):
            constant = "" if tensor in written else "const "
            yield tensor, f"{constant}{dtypes[tensor].c if tensor in dtypes else 'int64_t'}"

    def nest_fields(self, body: object, more: Iterable[str] = ()) -> list[Field]:
        return fields_read(self.fields, self.operator, body, more)

    def unpack(self, fields: Iterable[Field]) -> list[str]:
        """Locals for what the nest reads of the plan."""
        fields = list(fields)
        scalars = [f for f in fields if f.type == "int64_t"]
        lines = wrapped_declarations(
            "const int64_t",
            [f"{c_identifier(f.name)} = plan->{c_identifier(f.name)}" for f in scalars],
        )
        for f in fields:
            name = c_identifier(f.name)
            if f.type == "cvmgen_list":
                lines.append(f"const cvmgen_list *const {name} = &plan->{name};")
            elif f.type == "bool":
                lines.append(f"const bool {name} = plan->{name};")
        return lines or ["(void)plan;"]


def overflow_parameter(body: tuple[i.Stmt, ...]) -> list[str]:
    """The parameter of a kernel that can find a value beyond the type of its output."""
    return ["int64_t *overflow"] if has(body, i.Overflow) else []
