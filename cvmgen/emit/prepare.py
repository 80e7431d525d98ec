"""The host part of an operator in C: check the call, infer shapes and precisions, and fill
the plan with what the nests need. The C and the CUDA target share it."""

from __future__ import annotations

from collections.abc import Sequence

from cvmgen import rules
from cvmgen.analysis.plan import plan_fields
from cvmgen.dtypes import ATTRIBUTE_HIGH, ATTRIBUTE_LOW, CVM, MAX_INPUTS, MAX_PRECISION
from cvmgen.emit.c_checks import check_input
from cvmgen.emit.c_spelling import comment, identifier, indent, quoted
from cvmgen.emit.c_types import TypeChoice
from cvmgen.emit.c_words import number_or_zero, take_word, word_text
from cvmgen.emit.host_printer import HostPrinter
from cvmgen.emit.live_names import needed, reads
from cvmgen.emit.shape_slots import Places
from cvmgen.escape import in_c_format
from cvmgen.ir import nodes as i
from cvmgen.ir.host import host_types
from cvmgen.ir.logic import opposite
from cvmgen.ir.uses import assigned, changed, names_in
from cvmgen.ir.visit import walk
from cvmgen.rules import LIST_LIMIT
from cvmgen.spec.formula import Attribute, Input

FAIL = "return CVMGEN_REFUSED;"


class Prepare:
    """Prints `<operator>_prepare`."""

    precision_function = "cvmgen_precision"

    def __init__(self, program: i.Program) -> None:
        self.program = program
        self.fields = plan_fields(program)
        self.used = self.used_names()
        self.printer = HostPrinter(program)
        self.types = TypeChoice(program.operator)
        self.words = {each.name: each for each in program.operator.attributes if each.words}
        self.line = ""

    def used_names(self) -> set[str]:
        """Names that the host reads or that go into the plan."""
        used = {field.name for field in self.fields}
        for nest in self.program.nests:
            used |= reads(nest.prologue)
            if nest.each is not None:
                used |= names_in(nest.each[2])
        return needed(self.program.prepare, used)

    def lines(self) -> list[str]:
        """The body of the function."""
        lines = [*self.types.choose(FAIL), *self.predeclared()]
        lines += self.block(self.program.prepare)
        lines += self.fill_plan()
        return lines

    def predeclared(self) -> list[str]:
        """Names that only one case gives a value."""
        names: dict[str, str] = {}
        types = host_types(self.program)
        for statement in self.program.prepare:
            if isinstance(statement, i.Cases):
                for _, body in statement.branches:
                    for each in body:
                        match each:
                            case i.Let(name=name):
                                names[name] = types[name]
                            case i.SetOutput(tensor=tensor, precision=precision):
                                names[f"{tensor}_shape"] = "cvmgen_list"
                                if precision is not None:
                                    names[f"{tensor}_precision"] = "int64_t"
                            case _:
                                pass
        self.printer.declared = set(names)
        wanted = {name for name in names if name in self.used or _is_output(name)}
        lines = []
        if any(isinstance(each, i.Cases) for each in self.program.prepare):
            lines.append("int64_t which_case = 0;")
        for name in sorted(wanted):
            start = "{0}" if names[name] == "cvmgen_list" else "0"
            lines.append(f"{names[name]} {identifier(name)} = {start};")
        return lines

    def fill_plan(self) -> list[str]:
        lines = [
            f"plan->{identifier(field.name)} = {identifier(field.name)};"
            for field in self.fields
            if not self.in_prologue(field.name)
        ]
        if any(isinstance(each, i.Cases) for each in self.program.prepare):
            lines.append("plan->which_case = which_case;")
        for name in self.program.operator.output_names:
            shape = f"{name}_shape"
            if shape not in {field.name for field in self.fields}:
                lines.append(f"plan->{shape} = {shape};")
            if self.program.operator.type_of[name] == CVM:
                lines.append(f"plan->{name}_precision = {name}_precision;")
        if self.types.tensors:
            lines.append("plan->types = types;")
        return [*lines, "return CVMGEN_OK;"]

    def in_prologue(self, name: str) -> bool:
        return any(
            name in assigned(nest.prologue) or (nest.each is not None and name == nest.each[0])
            for nest in self.program.nests
        )

    def block(self, statements: tuple[i.Stmt, ...]) -> list[str]:
        lines: list[str] = []
        self.printer.changing = frozenset(changed(self.program.prepare))
        for statement in statements:
            printed = self.statement(statement)
            line = self.program.operator.place(statement.span)
            if printed and line != self.line:
                self.line = line
                lines.append(comment(self.line))
            lines += printed
        return lines

    def statement(self, statement: i.Stmt) -> list[str]:
        match statement:
            case i.TakeInput():
                return self.take_input(statement)
            case i.TakeAttribute():
                return self.take_attribute(statement)
            case i.SetOutput():
                return self.set_output(statement)
            case i.Require():
                return self.require(statement)
            case i.Cases():
                return self.cases(statement)
            case i.Let(name=name) if name not in self.used:
                return []
            case _:
                return self.printer.statement(statement)

    # -------------------------------------------------------- inputs

    def take_input(self, statement: i.TakeInput) -> list[str]:
        item = statement.input
        name = quoted(item.name)
        if item.variadic:
            return self.take_inputs(item)
        lines = [f"if ({check_input(item)}(error, {name}, args->{item.name})) {FAIL}"]
        lines += self.shape(statement)
        if item.optional:
            lines = [f"if (args->{item.name} != NULL) {{", *indent(lines), "}"]
            lines.insert(0, f"const bool has_{item.name} = args->{item.name} != NULL;")
            if not self.gives(item.name):
                lines.pop(0)
        if self.asks_precision(item.name):
            lines.append(f"int64_t {item.name}_precision;")
            arguments = f"error, {name}, args->{item.name}, &{item.name}_precision"
            lines.append(f"if ({self.precision_function}({arguments})) {FAIL}")
        return lines

    def gives(self, name: str) -> bool:
        """Whether the host asks if an optional operand is there; nests look at its elements."""
        prologues = tuple(nest.prologue for nest in self.program.nests)
        return any(
            isinstance(each, i.Given) and each.name == name
            for each in walk((self.program.prepare, prologues))
        ) or any(name in _optional_terms(each) for each in walk(self.program.prepare))

    def asks_precision(self, tensor: str) -> bool:
        return any(
            isinstance(each, i.PrecisionOf) and each.tensor == tensor
            for each in walk(self.program.prepare)
        )

    def take_inputs(self, item: Input) -> list[str]:
        name = item.name
        lines = [
            f"if (args->{name} == NULL)",
            f'    return cvmgen_refuse(error, {quoted(name)}, "", {quoted(rules.INPUT_MISSING)});',
            f"if (args->{name}_count < 1)",
            f'    return cvmgen_refuse(error, {quoted(name)}, "", {quoted(rules.INPUTS_NEEDED)});',
            f"if (args->{name}_count > {MAX_INPUTS})",
            f"    return cvmgen_refuse(error, {quoted(name)}, "
            f'cvmgen_number(args->{name}_count).text, "at most {MAX_INPUTS} inputs");',
            f"for (int64_t at = 0; at < args->{name}_count; ++at) {{",
            f'    const cvmgen_text text = cvmgen_format("{name}[%" PRId64 "]", at);',
            f"    if ({check_input(item)}(error, text.text, args->{name}[at])) {FAIL}",
            "}",
        ]
        if item.count in self.used:
            lines.append(f"const int64_t {item.count} = args->{name}_count;")
        if self.asks_precision(name):
            lines += [
                f"int64_t {name}_precision[{MAX_INPUTS}];",
                f"for (int64_t at = 0; at < args->{name}_count; ++at)",
                f"    if ({self.precision_function}(error, {quoted(name)}, args->{name}[at], "
                f"&{name}_precision[at])) {FAIL}",
            ]
        return lines

    def shape(self, statement: i.TakeInput) -> list[str]:
        """Check the rank and what is known of the shape; bind the new names."""
        item = statement.input
        tensor, name = f"args->{item.name}", quoted(item.name)
        if len(item.extents) == 1 and item.extents[0].pack:
            return self.whole_shape(statement)
        lengths = {
            at: f"{self.printer.expr(known)}.length"
            for at, known in enumerate(statement.known)
            if item.extents[at].pack and known is not None
        }
        places = Places(item.extents, lengths, f"{tensor}->rank")
        least = f"(int32_t)({places.least})" if lengths else places.least
        is_open = "false" if places.open is None else "true"
        lines = [f"if (cvmgen_check_rank(error, {name}, {tensor}, {least}, {is_open})) {FAIL}"]
        for at, (extent, known) in enumerate(zip(item.extents, statement.known, strict=True)):
            place, end = places.start(at), places.start(at + 1)
            if known is not None and extent.pack:
                wanted = self.printer.pointer(known)
                lines.append(
                    f"if (cvmgen_check_part(error, {name}, {tensor}, {place}, {wanted})) {FAIL}"
                )
            elif known is not None:
                dimension = place if place.isdigit() else f"(int)({place})"
                lines.append(f"if ({tensor}->extents[{place}] != {self.printer.expr(known, 8)})")
                lines.append(
                    f"    return cvmgen_refuse_extent(error, {name}, {tensor}, {dimension}, "
                    f"{quoted(extent.span.code)}, {self.printer.expr(known)});"
                )
            elif extent.new in self.used:
                value = f"{tensor}->extents[{place}]"
                if extent.pack:
                    value = f"cvmgen_part(cvmgen_extents({tensor}), {place}, {end})"
                kind = "cvmgen_list" if extent.pack else "int64_t"
                lines.append(f"const {kind} {identifier(str(extent.new))} = {value};")
        return lines

    def whole_shape(self, statement: i.TakeInput) -> list[str]:
        """A shape that is one list."""
        item = statement.input
        tensor, name = f"args->{item.name}", quoted(item.name)
        (extent,), (known,) = item.extents, statement.known
        if known is not None:
            wanted = self.printer.pointer(known)
            return [
                f"const cvmgen_list {item.name}_extents = cvmgen_extents({tensor});",
                f"if (!cvmgen_same(&{item.name}_extents, {wanted}))",
                f"    return cvmgen_refuse_shape(error, {name}, {tensor}, {wanted});",
            ]
        if extent.new not in self.used:
            return []
        return [f"const cvmgen_list {identifier(str(extent.new))} = cvmgen_extents({tensor});"]

    # -------------------------------------------------------- attributes

    def take_attribute(self, statement: i.TakeAttribute) -> list[str]:
        word = take_word(statement.attribute) if statement.attribute.words else []
        return word + self.take_value(statement)

    def take_value(self, statement: i.TakeAttribute) -> list[str]:
        """The numbers of an attribute, or its truth; a word alone is taken already."""
        attribute = statement.attribute
        name = attribute.name
        if attribute.kind == "word":
            return []
        if attribute.components:
            lines = []
            for at, each in enumerate(attribute.components):
                value = number_or_zero(attribute, f"args->{name}[{at}]")
                lines.append(f"const int64_t {identifier(each)} = {value};")
            return lines + self.whole_list(attribute) + self.component_ranges(statement)
        if attribute.is_list:
            return self.list_attribute(statement)
        if attribute.kind == "bool":
            if name not in self.used:
                return []
            return [f"const bool {identifier(name)} = args->{name} != 0;"]
        if attribute.optional:
            has = f"has_{name}"
            lines = [f"const bool {has} = args->{name} != NULL;"]
            lines.append(f"const int64_t {identifier(name)} = {has} ? *args->{name} : 0;")
            return lines + self.scalar_range(statement, f"{has} && ")
        value = number_or_zero(attribute, f"args->{name}")
        lines = [f"const int64_t {identifier(name)} = {value};"]
        return lines + self.scalar_range(statement, self.numbers_given(attribute))

    @staticmethod
    def numbers_given(attribute: Attribute) -> str:
        """The test that a range is to be kept, in front of it."""
        return f"{identifier(attribute.word_name)} == 0 && " if attribute.numbers_or_word else ""

    def whole_list(self, attribute: Attribute) -> list[str]:
        if attribute.name not in self.used:
            return []
        name = identifier(attribute.name)
        lines = [f"cvmgen_list {name} = {{0}};"]
        for each in attribute.components:
            lines.append(f"{name}.at[{name}.length++] = {identifier(each)};")
        return lines

    def bounds(self, statement: i.TakeAttribute) -> tuple[str, str]:
        """The lower end, and the upper exclusive one, as text."""
        low = str(ATTRIBUTE_LOW) if statement.low is None else self.printer.expr(statement.low, 8)
        high = (
            f"INT64_C({ATTRIBUTE_HIGH})"
            if statement.high is None
            else self.printer.expr(statement.high, 8)
        )
        return low, high

    def range_rule(self, statement: i.TakeAttribute) -> str:
        rule = rules.range_rule(statement.attribute.range_text)
        if not statement.terms:
            return quoted(rule)
        return self.with_terms(in_c_format(f"{rule} ("), statement.terms, ")")

    def outside(self, value: str, statement: i.TakeAttribute) -> str:
        low, high = self.bounds(statement)
        return f"{value} < {low} || {value} >= {high}"

    def component_ranges(self, statement: i.TakeAttribute) -> list[str]:
        attribute = statement.attribute
        tests = [
            self.outside(identifier(component), statement) for component in attribute.components
        ]
        places = ", ".join('%" PRId64 "' for _ in tests)
        shape = f'"({places})"'.replace('""', "")
        names = ", ".join(identifier(each) for each in attribute.components)
        joined, guard = " ||\n    ".join(tests), self.numbers_given(attribute)
        joined = f"{guard}({joined})" if guard else joined
        return [
            *f"if ({joined})".split("\n"),
            f"    return cvmgen_refuse(error, {quoted(attribute.name)}, "
            f"cvmgen_format({shape}, {names}).text, {self.range_rule(statement)});",
        ]

    def scalar_range(self, statement: i.TakeAttribute, guard: str) -> list[str]:
        name = identifier(statement.attribute.name)
        test = self.outside(name, statement)
        test = f"{guard}({test})" if guard else test
        return [
            f"if ({test})",
            f"    return cvmgen_refuse(error, {quoted(statement.attribute.name)}, "
            f"cvmgen_number({name}).text, {self.range_rule(statement)});",
        ]

    def list_attribute(self, statement: i.TakeAttribute) -> list[str]:
        attribute = statement.attribute
        name = identifier(attribute.name)
        lines = []
        if attribute.optional:
            lines.append(f"const bool has_{attribute.name} = args->{attribute.name}.length >= 0;")
        lines.append(f"cvmgen_list {name} = args->{attribute.name};")
        if attribute.optional:
            lines.append(f"if (!has_{attribute.name}) {name}.length = 0;")
        if attribute.numbers_or_word:
            lines.append(f"if ({identifier(attribute.word_name)} != 0) {name}.length = 0;")
        lines += [
            f"if ({name}.length < 0 || {name}.length > CVMGEN_MAX_RANK)",
            f"    return cvmgen_refuse(error, {quoted(attribute.name)}, "
            f'cvmgen_format("%" PRId64 " entries", {name}.length).text, {quoted(LIST_LIMIT)});',
            f"for (int64_t at = 0; at < {name}.length; ++at)",
            f"    if ({self.outside(f'{name}.at[at]', statement)})",
            f"        return cvmgen_refuse(error, {quoted(attribute.name)}, "
            f"cvmgen_list_text(&{name}).text, {self.range_rule(statement)});",
        ]
        return lines

    # -------------------------------------------------------- terms of a refusal

    def with_terms(
        self, before: str, terms: tuple[tuple[str, i.Expr, str], ...], after: str, *first: str
    ) -> str:
        """`C = 3, n = (2, 3)` between two texts, as a format call; `first` are the values that the
        text before takes, which is a format."""
        formats, arguments = [], list(first)
        earlier: list[str] = []  # the tests that terms before this one are shown
        for name, value, kind in terms:
            present = self.presence(value)
            comma = ", " if "" in earlier else ""
            if earlier and not comma:
                formats.append("%s")
                arguments.append(f'{both(present, earlier)} ? ", " : ""')
            earlier.append(present)
            attribute = self.words.get(name)
            if attribute is not None:
                text, argument = "%s", f"{self.word_or_numbers(attribute, value)}.text"
            elif kind == "list":
                text, argument = "%s", f"cvmgen_list_text({self.printer.pointer(value)}).text"
            elif kind == "lists":
                tensors = f"args->{self.printer.shapes[name]}"
                text, argument = "%s", f"cvmgen_shapes_text({tensors}, {tensors}_count).text"
            elif kind == "bool":
                text, argument = "%s", f'{self.printer.expr(value)} ? "true" : "false"'
            else:
                text, argument = '%" PRId64 "', self.printer.expr(value)
            shown = f"{comma}{name} = {text}"
            if present:
                formats.append("%s")
                literal = f'"{shown}"'.replace(' ""', "")
                arguments.append(f'{present} ? cvmgen_format({literal}, {argument}).text : ""')
            else:
                formats.append(shown)
                arguments.append(argument)
        literal = f'"{before}{"".join(formats)}{after}"'.replace(' ""', "")
        return f"cvmgen_format({literal}, {', '.join(arguments)}).text"

    def word_or_numbers(self, attribute: Attribute, value: i.Expr) -> str:
        """The text of what an attribute with words was given."""
        if attribute.kind == "word":
            return word_text(attribute)
        if attribute.is_list or attribute.components:
            numbers = f"cvmgen_list_text({self.printer.pointer(value)})"
        else:
            numbers = f"cvmgen_number({self.printer.expr(value)})"
        name = identifier(attribute.word_name)
        return f"({name} != 0 ? {word_text(attribute)} : {numbers})"

    def presence(self, value: i.Expr) -> str:
        """The test that an optional operand is there, for one that may be missing."""
        match value:
            case i.PrecisionOf(tensor=tensor):
                optional = {each.name for each in self.program.operator.inputs if each.optional}
                return f"has_{tensor}" if tensor in optional else ""
            case i.Var(name=name):
                optional = {each.name for each in self.program.operator.attributes if each.optional}
                return f"has_{name}" if name in optional else ""
            case _:
                return ""

    # -------------------------------------------------------- requirements, outputs, cases

    def require(self, statement: i.Require) -> list[str]:
        terms = self.with_terms("", statement.terms, "") if statement.terms else '""'
        return [
            f"if ({self.printer.expr(opposite(statement.condition))})",
            f'    return cvmgen_refuse(error, "", {terms}, {quoted(statement.rule)});',
        ]

    def set_output(self, statement: i.SetOutput) -> list[str]:
        tensor = statement.tensor
        shape, precision = f"{tensor}_shape", f"{tensor}_precision"
        declared = shape in self.printer.declared
        lines = self.printer.list_into(shape, statement.extents, declared=declared)
        name = quoted(tensor)
        check = f"cvmgen_check_shape(error, {name}, &{shape}, {quoted(rules.OUTPUT_EXTENT)})"
        if statement.empty:
            check = f"cvmgen_check_shape_or_empty(error, {name}, &{shape})"
        lines.append(f"if ({check}) {FAIL}")
        if statement.precision is None:
            return lines
        value = self.printer.expr(statement.precision)
        known = statement.precision.value if isinstance(statement.precision, i.Const) else 0
        start = "" if declared else "const int64_t "
        lines.append(f"{start}{precision} = {value};")
        if 1 <= known <= MAX_PRECISION:
            return lines
        around = (" (", ")") if statement.terms else ("", "")
        bounds = statement.far == rules.FAR_PRECISION
        function = "cvmgen_bounds_precision_text" if bounds else "cvmgen_precision_text"
        text = self.with_terms(
            f"precision %s{around[0]}",
            statement.terms,
            around[1],
            f"{function}({precision}).text",
        )
        rule = quoted(rules.precision_rule(statement.rule))
        lines += [
            f"if ({precision} < 1 || {precision} > {MAX_PRECISION})",
            f"    return cvmgen_refuse(error, {name}, {text}, {rule});",
        ]
        return lines

    def cases(self, statement: i.Cases) -> list[str]:
        lines: list[str] = []
        for number, (condition, body) in enumerate(statement.branches):
            word = "if" if number == 0 else "} else if"
            lines.append(f"{word} ({self.printer.expr(condition)}) {{")
            inner = [f"which_case = {number};"] if number else []
            lines += indent([*inner, *self.block(body)])
        refuse = f'return cvmgen_refuse(error, "", "", {quoted(rules.NO_CASE)});'
        return [*lines, "} else {", *indent([refuse]), "}"]


def both(present: str, earlier: Sequence[str]) -> str:
    """The test that a term is shown, and one of those before it."""
    test = " || ".join(earlier)
    if not present:
        return test
    return f"{present} && {test}" if len(earlier) == 1 else f"{present} && ({test})"


def _optional_terms(node: object) -> set[str]:
    """The inputs whose precision a refusal shows."""
    if isinstance(node, (i.SetOutput, i.Require, i.TakeAttribute)):
        return {value.tensor for _, value, _ in node.terms if isinstance(value, i.PrecisionOf)}
    return set()


def _is_output(name: str) -> bool:
    return name.endswith(("_shape", "_precision"))
