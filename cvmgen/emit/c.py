"""The C target: one file an operator, the headers, plain C11 with OpenMP where it is there."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace

from cvmgen import rules
from cvmgen.dtypes import (
    CVM,
    DTYPES,
    INT32,
    LIST_CAPACITY,
    MAX_PRECISION,
    MAX_RANK,
    MAX_SIZE,
    DType,
)
from cvmgen.emit import c_words, interface
from cvmgen.emit.c_bound import bind_head, bound_text, through_pointer
from cvmgen.emit.c_entries import KeptLists, entry_arguments, entry_parameters
from cvmgen.emit.c_kernels import KernelPrinter
from cvmgen.emit.c_like import comment, identifier, indent, quoted
from cvmgen.emit.c_prologue import Prologue
from cvmgen.emit.c_text import chosen, file_header, signature, wrapped
from cvmgen.emit.c_tiles import Parameter, TilePrinter
from cvmgen.emit.c_types import TypeChoice, dtype_names
from cvmgen.emit.c_variants import variant_values
from cvmgen.emit.interface import Variant
from cvmgen.emit.plan import Field, plan_fields
from cvmgen.emit.prepare import Prepare
from cvmgen.emit.render import render
from cvmgen.emit.wrap import wrap_c
from cvmgen.ir import nodes as i
from cvmgen.ir.visit import names_in, walk
from cvmgen.lower.decisions import decide_early
from cvmgen.lower.types import type_nest, type_prepare
from cvmgen.schedule.book import Schedules, packaged
from cvmgen.schedule.subject import Subject
from cvmgen.spec.formula import Input, Operator
from cvmgen.spec.types import MOST_ROWS

VECTOR_SETS = ("avx2", "avx512")  # the later ones have the instructions of the earlier ones
HEADERS = ("cvmgen.h", "cvmgen_kernel.h", "cvmgen_runtime.h")  # of CUDA too
TILE_SOURCES = (
    "cvmgen_tile.c",
    "cvmgen_tile_arm.c",
    "cvmgen_tile_bytes.c",
    "cvmgen_tile_generic.c",
    "cvmgen_tile_x86.c",
)
KERNEL_FILES = (
    "cvmgen.c",
    "cvmgen_tile.h",
    "cvmgen_tile_variants.h",
    "cvmgen_tile_generic.h",
    *TILE_SOURCES,
    "cvmgen_contract.h",
    "cvmgen_contract.c",
    "cvmgen_geometry.h",
    "cvmgen_geometry.c",
    "cvmgen_image.c",
    "cvmgen_panels.c",
    "cvmgen_threads.h",
    "cvmgen_threads.c",
    "cvmgen_bound.h",
    "cvmgen_bound.c",
    "cvmgen_moves.h",
    "cvmgen_moves.c",
    "cvmgen_turns.h",
    "cvmgen_turns.c",
    "cvmgen_squares.h",
)


def emit_operator(program: i.Program, schedules: Schedules | None = None) -> str:
    """The C file of an operator whose program has been lowered for C; its nests are scheduled by
    cvmgen's own schedules if no others are given."""
    return CEmitter(decide_early(program), schedules).text()


def emit_support(schedules: Schedules | None = None) -> dict[str, str]:
    """The files that every operator includes; by cvmgen's own intrinsics if no others are given."""
    chosen = packaged() if schedules is None else schedules
    values = {
        "max_rank": MAX_RANK,
        "list_capacity": LIST_CAPACITY,
        "max_size": MAX_SIZE,
        "max_precision": MAX_PRECISION,
        "most_shown": rules.MOST_SHOWN,
        "rank_limit": rules.RANK_LIMIT,
        "size_limit": rules.SIZE_LIMIT,
        "rank_limit_or_empty": rules.RANK_LIMIT_OR_EMPTY,
        "extent_positive": rules.EXTENT_POSITIVE,
        "extent_negative": rules.EXTENT_NEGATIVE,
        "output_negative": rules.OUTPUT_NEGATIVE,
        "precision_range": rules.PRECISION_RANGE,
        "dtype_names": dtype_names((name, dtype.code) for name, dtype in DTYPES.items()),
        "dtype_bytes": dtype_bytes(),
        "dtypes_text": interface.alternatives(DTYPES),
        "last_dtype": max(dtype.code for dtype in DTYPES.values()),
        "most_rows": MOST_ROWS,
        **variant_values(chosen.intrinsics["dot4"]),
        "dtype_codes": ", ".join(
            f"CVMGEN_{dtype.name.upper()} = {dtype.code}"
            for dtype in sorted(DTYPES.values(), key=lambda dtype: dtype.code)
        ),
    }
    return {name: render(f"c/{name}.j2", **values) for name in (*HEADERS, *KERNEL_FILES)}


def dtype_bytes() -> str:
    """The bytes of an element of each type, at its code."""
    sizes = {dtype.code: dtype.bits // 8 for dtype in DTYPES.values()}
    return ", ".join(str(sizes.get(code, 0)) for code in range(max(sizes) + 1))


def emit_header(opset: str, operators: Iterable[Operator]) -> str:
    """The public header of an opset."""
    declarations = "\n\n".join(declaration(operator) for operator in operators)
    return render("c/opset.h.j2", opset=opset, guard=opset.upper(), declarations=declarations)


def declaration(operator: Operator) -> str:
    name = interface.c_name(operator)
    members = indent(interface.struct_members(operator))
    defaults = interface.default_lines(operator)
    lines = [
        *c_words.constants(operator),
        f"/* {operator.full_name}: {operator.doc} {operator.span.place} */",
        f"typedef struct {name}_args {{",
        *members,
        f"}} {name}_args;",
        "/* All attributes at their defaults, everything else 0. */",
        f"static inline void {name}_defaults({name}_args *args) {{",
        f"    static {name}_args zero; /* in C++ a const one would need a value */",
        "    *args = zero;",
        *indent(defaults),
        "}",
        "/* Check the call; set the shape and precision of each output that is not NULL. */",
        f"int {name}_infer(const {name}_args *args, cvmgen_error *error);",
        f"int {name}(const {name}_args *args, cvmgen_error *error);",
        *bind_head(operator, ";"),
    ]
    return "\n".join(lines)


class CEmitter:
    """Assembles the file of one operator."""

    restrict = "restrict"

    def __init__(self, program: i.Program, schedules: Schedules | None = None) -> None:
        self.program = program
        self.schedules = packaged() if schedules is None else schedules
        self.typed = type_prepare(program)
        self.bodies: dict[tuple[int, Variant], tuple[i.Stmt, ...]] = {}
        self.subjects: dict[tuple[int, Variant], Subject] = {}
        self.operator = program.operator
        self.name = self.operator.name
        self.function = interface.c_name(self.operator)
        self.fields = plan_fields(program)
        self.types = TypeChoice(self.operator)
        self.precise = self.operator.precise_outputs
        self.wide = interface.int32_inputs(program)
        self.empty = self.operator.empty_tensors

    def text(self) -> str:
        kernels = self.kernels()
        headers = ["cvmgen_bound.h", "cvmgen_runtime.h"]
        headers += ["cvmgen_moves.h"] if any("cvmgen_move_" in each for each in kernels) else []
        spaces = self.spaces
        parameters = [f"{self.name}_plan *plan"]
        parameters += ["cvmgen_workspace *spaces"] if spaces else []
        places = {item.name: at for at, item in enumerate(self.operator.inputs)}
        return render(
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
            fields="\n".join(indent(self.field_lines())),
            prepare="\n".join(wrap_c(indent(Prepare(self.typed).lines()))),
            kernels="\n\n".join(kernels),
            infer="\n".join(wrap_c(indent(self.infer()))),
            checked_head=self.head("static int", f"{self.name}_run", *parameters),
            no_spaces="NULL, " if spaces else "",
            run="\n".join(wrap_c(indent(through_pointer(self.run())))),
            bound=bound_text(self.operator, [places[name] for name in spaces.values()]),
        )

    @property
    def spaces(self) -> dict[int, str]:
        """The nests with a workspace, by their numbers, and the inputs that they pack."""
        found: dict[int, str] = {}
        for number, nest in enumerate(self.program.nests):
            for variant in interface.variants(self.program, nest):
                tiling = self.subject(nest, variant).tiling
                if tiling is not None:
                    found.setdefault(number, tiling.w.load.tensor)
        return found

    def head(self, result: str, function: str, *more: str) -> str:
        """The head of a function that takes a call and says what is wrong with it."""
        parameters = [f"const {self.function}_args *args", *more, "cvmgen_error *error"]
        return "\n".join(signature(f"{result} {function}(", parameters))

    # -------------------------------------------------------- the plan

    def field_lines(self) -> list[str]:
        """The members of the plan, scalars of one type on shared lines."""
        lines = []
        names = [identifier(field.name) for field in self.fields if field.type == "int64_t"]
        if self.has_cases:
            names.append("which_case")
        names += [f"{name}_precision" for name in self.precise]
        lines += wrapped("int64_t", names)
        lines += wrapped("bool", [identifier(f.name) for f in self.fields if f.type == "bool"])
        lists = [identifier(f.name) for f in self.fields if f.type == "cvmgen_list"]
        shapes = [f"{name}_shape" for name in self.operator.output_names]
        lines += wrapped("cvmgen_list", list(dict.fromkeys([*shapes, *lists])))
        return (
            [*lines, "int types; /* the row of the element types */"]
            if self.types.tensors
            else lines
        )

    @property
    def has_cases(self) -> bool:
        return any(isinstance(each, i.Cases) for each in self.program.prepare)

    # -------------------------------------------------------- kernels

    def kernels(self) -> list[str]:
        found = []
        for number, nest in enumerate(self.program.nests):
            for variant in interface.variants(self.program, nest):
                found.append(self.kernel(number, nest, variant))
                if tiles := self.tiles(number, nest, variant):
                    found.append(tiles.text())
        return list(dict.fromkeys(found))

    def tiles(self, number: int, nest: i.Nest, variant: Variant) -> TilePrinter | None:
        """The functions that compute a nest by tiles, if its schedule has some: the same ones
        whatever integers the factors are stored as."""
        tiling = self.subject(nest, variant).tiling
        if tiling is None:
            return None
        dtypes = self.dtypes(variant)
        name = f"{self.nest_name(number)}{self.tiles_suffix(nest, variant)}"
        used = interface.read_in(tiling.found.after) | {nest.tensor}
        parameters = [
            Parameter(tensor, element, self.restrict)
            for tensor, element in self.tensor_types(nest, dtypes)
            if tensor in used
        ]
        if overflow_parameter(tiling.found.after):
            parameters.append(Parameter("overflow", "int64_t", ""))
        body = self.typed_body(nest, variant)
        return TilePrinter(
            self.program, nest, body, tiling, name, parameters, self.nest_fields, self.unpack
        )

    def tiles_suffix(self, nest: i.Nest, variant: Variant) -> str:
        """Without the type of the factors, if nothing behind their sums depends on it."""
        shared = replace(variant, source=None)
        found = {
            (tiling.found.total.type, tiling.found.after, tiling.found.before)
            for each in interface.variants(self.program, nest)
            if replace(each, source=None) == shared
            and (tiling := self.subject(nest, each).tiling) is not None
        }
        return (shared if len(found) == 1 else variant).suffix

    def nest_name(self, number: int) -> str:
        nest = self.program.nests[number]
        same = [n for n, each in enumerate(self.program.nests) if each.tensor == nest.tensor]
        suffix = f"_{same.index(number)}" if len(same) > 1 else ""
        return f"{self.name}_{nest.tensor}{suffix}"

    def kernel_name(self, number: int, variant: Variant) -> str:
        name = f"{self.nest_name(number)}{variant.suffix}"
        return f"{name}_nest" if name in self.taken else name

    @property
    def taken(self) -> set[str]:
        """What the file has beside its kernels."""
        own = (
            "plan",
            "prepare",
            "rows",
            "types",
            "types_names",
            "infer",
            "run",
            "bound",
            "run_bound",
        )
        return {f"{self.name}_{each}" for each in own} | set(interface.row_names(self.operator))

    def dtypes(self, variant: Variant) -> Mapping[str, DType]:
        source, stored = variant.source or INT32, variant.stored or INT32
        types = {
            item.name: INT32 if item.name in self.wide else source for item in self.operator.inputs
        }
        names = interface.row_names(self.operator)
        row = names.index(variant.rows[0]) if variant.rows else 0
        chosen = self.operator.choices[row]
        return types | dict.fromkeys(self.operator.output_names, stored) | chosen

    def tensors(self, nest: i.Nest) -> list[str]:
        """What a nest reads, inputs in the order of the operator, then what it writes."""
        read = interface.inputs_read(self.program, nest)
        scratch = interface.scratch_read(self.program, nest)
        return [*read, *scratch, *interface.filled(self.program, nest)]

    def tensor_parameters(self, nest: i.Nest, dtypes: Mapping[str, DType]) -> list[str]:
        """The tensors of a nest as parameters of its kernel."""
        return [
            f"{element} *{self.restrict} {identifier(tensor)}"
            for tensor, element in self.tensor_types(nest, dtypes)
        ]

    def tensor_types(self, nest: i.Nest, dtypes: Mapping[str, DType]) -> Iterator[tuple[str, str]]:
        """The tensors of a nest, and what they are arrays of."""
        written = interface.filled(self.program, nest)
        for tensor in self.tensors(nest):
            constant = "" if tensor in written else "const "
            yield tensor, f"{constant}{dtypes[tensor].c if tensor in dtypes else 'int64_t'}"

    def kernel(self, number: int, nest: i.Nest, variant: Variant) -> str:
        dtypes = self.dtypes(variant)
        subject = self.subject(nest, variant)
        body = subject.body
        parameters = [f"const {self.name}_plan *plan", *self.tensor_parameters(nest, dtypes)]
        parameters += overflow_parameter(body)
        parameters += entry_parameters(subject.kept, self.restrict)
        fields = self.nest_fields(body)
        lists = [field.name for field in fields if field.type == "cvmgen_list"]
        printer = KernelPrinter(self.program, body, lists)
        lines = [*self.unpack(fields), *self.unread(nest, body)]
        lines.append(comment(f"{nest.span.place}: {nest.formula}"))
        lines += printer.block(body)
        head = f"static void {self.kernel_name(number, variant)}("
        return "\n".join(
            [*versions(body), *signature(head, parameters), *wrap_c(indent(lines)), "}"]
        )

    def unread(self, nest: i.Nest, body: tuple[i.Stmt, ...]) -> list[str]:
        """Statements that name the inputs that a nest reads for other element types only."""
        read = interface.read_in(body)
        names = interface.inputs_read(self.program, nest)
        return [f"(void){identifier(name)};" for name in names if name not in read]

    def nest_fields(self, body: tuple[object, ...], more: Iterable[str] = ()) -> list[Field]:
        names = names_in(body) | set(more)
        given = {f"has_{each.name}" for each in walk(body) if isinstance(each, i.Given)}
        optional = {f"has_{item.name}" for item in self.operator.inputs if item.optional}
        wanted = names | (given - optional)
        return [field for field in self.fields if field.name in wanted]

    def unpack(self, fields: Iterable[Field]) -> list[str]:
        """Locals for what the nest reads of the plan."""
        fields = list(fields)
        scalars = [f for f in fields if f.type == "int64_t"]
        lines = wrapped(
            "const int64_t", [f"{identifier(f.name)} = plan->{identifier(f.name)}" for f in scalars]
        )
        for f in fields:
            name = identifier(f.name)
            if f.type == "cvmgen_list":
                lines.append(f"const cvmgen_list *const {name} = &plan->{name};")
            elif f.type == "bool":
                lines.append(f"const bool {name} = plan->{name};")
        return lines or ["(void)plan;"]

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
        return [*self.memory_checks(), *self.element_types(), *self.dispatch()]

    def input_checks(self) -> list[str]:
        lines = []
        fail = "return CVMGEN_REFUSED;"
        for item in self.operator.inputs:
            name, text = f"args->{item.name}", quoted(item.name)
            if item.variadic and item.dtype != CVM:
                lines += [
                    f"for (int64_t at = 0; at < {name}_count; ++at)",
                    f"    if (cvmgen_check_data(error, {text}, {name}[at])) {fail}",
                ]
                continue
            if item.variadic:
                lines += [
                    f"for (int64_t at = 0; at < {name}_count; ++at) {{",
                    f"    if (cvmgen_check_data(error, {text}, {name}[at])) {fail}",
                    "    if (args->check_values &&",
                    f"        cvmgen_check_values(error, {text}, {name}[at], "
                    f"cvmgen_declared({name}[at]))) {fail}",
                    "}",
                ]
                continue
            guard = f"{name} != NULL && " if item.optional else ""
            lines.append(f"if ({guard}cvmgen_check_data(error, {text}, {name})) {fail}")
            if item.dtype != CVM:
                continue
            lines.append(f"if (args->check_values && {guard.removesuffix(' && ') or 'true'} &&")
            lines.append(
                f"    cvmgen_check_values(error, {text}, {name}, cvmgen_declared({name}))) {fail}"
            )
        return [line.replace("&& true &&", "&&") for line in lines]

    def memory_checks(self) -> list[str]:
        lines = self.input_checks()
        fail = "return CVMGEN_REFUSED;"
        for output in self.operator.output_names:
            name, text = f"args->{output}", quoted(output)
            arguments = f"{name}, &plan.{output}_shape, plan.{output}_precision"
            if output in self.precise:
                lines.append(f"if (cvmgen_check_output(error, {text}, {arguments})) {fail}")
            else:
                lines += self.types.check_output(output, fail)
            others = [each.name for each in self.operator.inputs if not each.variadic]
            at = self.operator.output_names.index(output)
            others += self.operator.output_names[:at]
            for other in others:
                call = f"cvmgen_check_apart(error, {text}, {name}, {quoted(other)}, args->{other})"
                lines.append(f"if ({call}) {fail}")
            for each in self.operator.inputs:
                if each.variadic:
                    call = (
                        f"cvmgen_check_apart(error, {text}, {name}, {quoted(each.name)}, "
                        f"args->{each.name}[at])"
                    )
                    lines.append(f"for (int64_t at = 0; at < args->{each.name}_count; ++at)")
                    lines.append(f"    if ({call}) {fail}")
        return lines

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
            name
            for nest in self.program.nests
            for name in interface.inputs_read(self.program, nest)
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
                f'    return cvmgen_refuse(error, {quoted(other)}, "", '
                f'"all outputs must have one element type");',
            ]
        return lines

    def dispatch(self) -> list[str]:
        lines = ["int status = CVMGEN_OK;"]
        cvm = [item for item in self.read_inputs if item.dtype == CVM]
        plain = [item for item in cvm if not item.variadic]
        for item in plain:
            lines.append(f"const int32_t *{identifier(item.name)} = NULL;")
            lines.append(f"int32_t *{item.name}_copy = NULL;")
        for item in plain:
            guard = "" if item.name in self.wide else "!narrow && "
            lines.append(f"if ({guard}status == CVMGEN_OK)")
            pointers = f"&{identifier(item.name)}, &{item.name}_copy"
            lines.append(f"    status = cvmgen_widen(error, args->{item.name}, {pointers});")
        lines += self.allocate("cvmgen_scratch(error, ")
        lines += [line for each in self.lists for line in each.allocate()]
        overflowing = [name for name in self.operator.output_names if self.can_overflow(name)]
        lines += [f"int64_t {name}_overflow = CVMGEN_NO_OVERFLOW;" for name in overflowing]
        lines += ["if (status == CVMGEN_OK) {"]
        for number, nest in enumerate(self.program.nests):
            lines += indent(self.launch(number, nest))
        lines.append("}")
        lines += [
            f"if (status == CVMGEN_OK) status = cvmgen_refuse_overflow(error, {quoted(name)}, "
            f"args->{name}, {name}_overflow);"
            for name in overflowing
        ]
        lines += [f"free({item.name}_copy);" for item in plain]
        lines += [f"free({identifier(each.name)});" for each in self.program.scratch]
        lines += [f"free({each.name});" for each in self.lists]
        lines.append("return status;")
        return lines

    def typed_body(self, nest: i.Nest, variant: Variant) -> tuple[i.Stmt, ...]:
        key = (id(nest), variant)
        if key not in self.bodies:
            self.bodies[key] = type_nest(self.program, nest, self.dtypes(variant)).body
        return self.bodies[key]

    def subject(self, nest: i.Nest, variant: Variant) -> Subject:
        """A nest as its schedule leaves it."""
        key = (id(nest), variant)
        if key not in self.subjects:
            body = self.typed_body(nest, variant)
            subject = Subject.of(self.program, nest, body, self.dtypes(variant))
            self.subjects[key] = self.schedules.scheduled("c", subject)
        return self.subjects[key]

    @property
    def lists(self) -> list[KeptLists]:
        """The selected lists with values of their entries beside them."""
        found = []
        for nest in self.program.nests:
            if memory := self.program.scratch_of(nest.tensor):
                variants = interface.variants(self.program, nest)
                most = max(len(self.subject(nest, variant).kept) for variant in variants)
                found += [KeptLists(memory[0], most)] if most else []
        return found

    def can_overflow(self, tensor: str) -> bool:
        """Whether a kernel can find that a value does not fit the type of an output."""
        if tensor in self.precise:
            return False
        nests = (nest for nest in self.program.nests if nest.tensor == tensor)
        return any(
            overflow_parameter(self.typed_body(nest, variant))
            for nest in nests
            for variant in interface.variants(self.program, nest)
        )

    def allocate(self, call: str) -> list[str]:
        """The memory of selected lists; `call` is what makes it, up to the size."""
        lines = []
        for each in self.program.scratch:
            name, size = identifier(each.name), f"plan.{identifier(each.size)}"
            case = "" if each.case is None else f"plan.which_case == {each.case} && "
            lines.append(f"int64_t *{name} = NULL;")
            lines.append(f"if ({case}status == CVMGEN_OK) status = {call}{size}, &{name});")
        return lines

    def launch(self, number: int, nest: i.Nest) -> list[str]:
        calls = self.choose(number, nest)
        if nest.each is not None:
            calls = self.each(number, nest)
        if nest.case is None:
            return calls
        return [f"if (plan.which_case == {nest.case}) {{", *indent(calls), "}"]

    def choose(self, number: int, nest: i.Nest) -> list[str]:
        """The kernel for the element types at hand."""
        calls = []
        variants = interface.variants(self.program, nest)
        for variant in variants:
            dtypes = self.dtypes(variant)
            arguments = ["&plan", *(self.argument(each, dtypes) for each in self.tensors(nest))]
            if overflow_parameter(self.typed_body(nest, variant)):
                arguments.append(f"&{nest.tensor}_overflow")
            kept = self.subject(nest, variant).kept
            arguments += entry_arguments(self.program.scratch_of(nest.tensor), kept)
            call = f"{self.kernel_name(number, variant)}({', '.join(arguments)});"
            untiled = self.untiled(number, nest, variant)
            calls.append([*untiled, f"    {call}" if untiled else call])
        return chosen(variants, calls)

    def untiled(self, number: int, nest: i.Nest, variant: Variant) -> list[str]:
        """The condition in front of a kernel that tiles may make unnecessary."""
        tiles = self.tiles(number, nest, variant)
        if tiles is None:
            return []
        dtypes = self.dtypes(variant)
        factors = [
            f"(cvmgen_factor){{{self.argument(each, dtypes)}, {wide(dtypes[each])}}}"
            for each in tiles.factors()
        ]
        others = [
            f"&{nest.tensor}_overflow"
            if each.name == "overflow"
            else self.argument(each.name, dtypes)
            for each in tiles.parameters
        ]
        tests = [
            f"cvmgen_may_be_int8(args->{each})"
            for each in dict.fromkeys(tiles.factors())
            if dtypes[each] == INT32
        ]
        at = list(self.spaces).index(number)
        space = f"spaces == NULL ? NULL : &spaces[{at}]"
        arguments = ", ".join(["&plan", *factors, *others, space])
        call = f"{tiles.name}_by_tiles({arguments})"
        if not tests:
            return [f"if (!{call})"]
        return [f"if (!({' && '.join(tests)} &&", f"      {call}))"]

    def argument(self, tensor: str, dtypes: Mapping[str, DType]) -> str:
        if tensor not in dtypes:
            return identifier(tensor)
        dtype = dtypes[tensor]
        if tensor in self.operator.output_names:
            return f"({dtype.c} *){self.data(tensor)}"
        if dtype.bits == 8 or tensor in self.types.tensors:
            optional = any(item.name == tensor and item.optional for item in self.operator.inputs)
            data = f"(const {dtype.c} *){self.data(tensor)}"
            return f"args->{tensor} == NULL ? NULL : {data}" if optional else data
        return identifier(tensor)

    def data(self, tensor: str, which: str = "") -> str:
        """The elements of a tensor, `which` of several."""
        place = f"args->{tensor}{which}"
        return f"cvmgen_data({place})" if tensor in self.empty else f"{place}->data"

    def each(self, number: int, nest: i.Nest) -> list[str]:
        """A nest that runs for each tensor of a variadic input."""
        assert nest.each is not None
        index, tensor, _ = nest.each
        prologue = Prologue(self.typed, self.typed.nests[number])
        widened = [
            f"const int32_t *{identifier(tensor)} = NULL;",
            f"int32_t *{tensor}_copy = NULL;",
            f"if (!narrow) status = cvmgen_widen(error, args->{tensor}[{index}], "
            f"&{identifier(tensor)}, "
            f"&{tensor}_copy);",
            "if (status != CVMGEN_OK) break;",
        ]
        freed = [f"free({tensor}_copy);"]
        if tensor in self.types.tensors:
            widened, freed = [], []
        body = [
            *widened,
            *prologue.lines(),
            *(
                line.replace(self.data(tensor), self.data(tensor, f"[{index}]"))
                for line in self.choose(number, nest)
            ),
            *freed,
        ]
        head = f"for (int64_t {index} = 0; {index} < args->{tensor}_count; ++{index}) {{"
        return [head, *indent(body), "}"]


def versions(body: tuple[i.Stmt, ...]) -> list[str]:
    """The macro for a kernel with loops for vector instructions."""
    sets = {each.vector for each in walk(body) if isinstance(each, i.Loop) and each.vector}
    return [f"CVMGEN_FOR_{max(sets, key=VECTOR_SETS.index).upper()}"] if sets else []


def wide(dtype: DType) -> str:
    return "true" if dtype == INT32 else "false"


def overflow_parameter(body: tuple[i.Stmt, ...]) -> list[str]:
    """The parameter of a kernel that can find a value beyond the type of its output."""
    found = any(isinstance(each, i.Overflow) for each in walk(body))
    return ["int64_t *overflow"] if found else []
