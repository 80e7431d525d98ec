"""The python target: readable loops in Python's own integers, importable with numpy alone."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from types import ModuleType

from cvmgen import reals, support, typed
from cvmgen.dtypes import CVM
from cvmgen.emit import interface
from cvmgen.emit.plan import plan_fields
from cvmgen.emit.prepare import needed, reads
from cvmgen.emit.python_inputs import InputChecks
from cvmgen.emit.python_names import identifier
from cvmgen.emit.python_printer import PythonPrinter, indent
from cvmgen.emit.python_text import (
    attribute_text,
    definition,
    literal,
    literals,
    unpacked,
    value_text,
)
from cvmgen.emit.render import render
from cvmgen.emit.wrap import wrap_python
from cvmgen.ir import nodes as i
from cvmgen.ir.visit import names_in, rebuild, walk
from cvmgen.lower.guards import assigned
from cvmgen.lower.unfold import unfold_bindings
from cvmgen.lower.walks import strided, whole_pack
from cvmgen.spec.formula import Attribute, Operator


def emit_operator(program: i.Program) -> str:
    """The module of an operator whose program has been lowered with the common passes."""
    return PythonEmitter(program).text()


def emit_support() -> dict[str, str]:
    """The modules that operators import: copies of cvmgen's own."""
    typed_text = read(typed).replace("from cvmgen.support import", "from ._support import")
    return {"_support.py": read(support), "_typed.py": typed_text, "_reals.py": read(reals)}


def read(module: ModuleType) -> str:
    return Path(str(module.__file__)).read_text(encoding="utf-8")


def emit_header(opset: str, operators: Iterable[Operator]) -> str:
    """The package file of an opset."""
    listed = list(operators)
    imports = "\n".join(f"from .{each.name} import {each.name}" for each in listed)
    aliases = "\n".join(f"{alias} = {each.name}" for each in listed for alias in each.aliases)
    names = sorted([each.name for each in listed] + [a for each in listed for a in each.aliases])
    exported = "\n".join(f'    "{name}",' for name in names)
    return render(
        "python/package.py.j2",
        opset=opset,
        imports=imports,
        aliases=f"\n{aliases}\n" if aliases else "",
        exported=exported,
    )


class PythonEmitter:
    """Assembles the module of one operator."""

    def __init__(self, program: i.Program) -> None:
        self.program = program
        self.operator = program.operator
        self.printer = PythonPrinter(program)
        self.types = interface.typed_operands(self.operator)
        self.precise = self.operator.precise_outputs
        bodies = tuple(without_slots(nest.body) for nest in program.nests)
        read = names_in(bodies) | names_in(tuple(nest.prologue for nest in program.nests))
        read |= given_in(bodies) | {each.size for each in program.scratch}
        # Here an optional attribute tells by its own value whether it was given.
        values = {f"has_{each.name}": each.name for each in self.operator.attributes}
        fields = dict.fromkeys(values.get(each.name, each.name) for each in plan_fields(program))
        names = [name for name in fields if name in read and not self.local(name)]
        self.fields = [*names, *self.variadic_shapes()]
        prologues = tuple(each for nest in program.nests for each in nest.prologue)
        self.used = needed(program.prepare, {*self.fields, *reads(prologues)})
        self.words = {  # the word that may stand for the numbers of an attribute
            each.name: identifier(each.word_name)
            for each in self.operator.attributes
            if each.numbers_or_word
        }
        self.line = ""

    def variadic_shapes(self) -> list[str]:
        """The shapes of variadic inputs, where a nest reads them."""
        read = names_in(tuple(nest.prologue for nest in self.program.nests))
        extents = (item.extents for item in self.operator.inputs if item.variadic)
        names = (str(extent.new) for each in extents for extent in each)
        return [name for name in names if name in read]

    def local(self, name: str) -> bool:
        """Whether a nest makes the value for each tensor of a variadic input."""
        return any(
            name in assigned(nest.prologue) or (nest.each is not None and nest.each[0] == name)
            for nest in self.program.nests
        )

    def text(self) -> str:
        operator = self.operator
        formula = "\n".join(f"    {line}".rstrip() for line in operator.text.splitlines())
        prepare = "\n".join(wrap_python(indent(self.prepare())))
        nests = "\n\n\n".join(self.nests())
        return render(
            "python/operator.py.j2",
            full_name=operator.full_name,
            place=operator.span.place,
            doc=operator.doc,
            formula=formula.replace("\\", "\\\\").replace('"""', "'''"),
            more_imports=self.more_imports(nests),
            types=self.type_rows(),
            call_doc="\n".join(indent(self.call_doc())),
            imports="import builtins\n" if "builtins." in prepare + nests else "",
            prepare_head=definition("_prepare", self.prepare_parameters()),
            prepare=prepare,
            nests=nests,
            head=definition(operator.name, self.parameters()),
            infer_head=definition("infer", self.infer_parameters()),
            contract="\n".join(indent(self.contract())),
            infer="\n".join(indent(self.infer())),
            run="\n".join(wrap_python(indent(self.run()))),
        )

    def more_imports(self, nests: str) -> str:
        """The modules for elements of other types than `cvm`, where they are used."""
        lines = ["from . import _reals as reals"] if "reals." in nests else []
        lines += ["from . import _typed as typed"] if self.types else []
        return "".join(f"{line}\n" for line in lines)

    def type_rows(self) -> str:
        """The choices of element types by operand."""
        if not self.types:
            return ""
        rows = [
            ", ".join(f'"{name}": "{dtype.name}"' for name, dtype in choice.items())
            for choice in self.operator.choices
        ]
        return "\n".join(["TYPES = (", *indent(f"{{{row}}}," for row in rows), ")", ""])

    def call_doc(self) -> list[str]:
        """What a docstring says of the arguments that every call has."""
        out = "out: an array to write to"
        if len(self.operator.output_names) > 1:
            out = "out: a tuple of arrays to write to"
        if not self.types:
            return [
                "precisions: declared precision by input name; otherwise measured from the data",
                f"dtype: int8 or int32, of the result; {out}",
                'check: "values" refuses data beyond their declared precision',
            ]
        kinds = "; ".join(
            f"{name} of {interface.types_text(self.operator, name)}"
            for name in self.operator.output_names
        )
        lines = [f"Gives {kinds}: of the types of a call, those that go together."]
        if any(item.dtype == CVM for item in self.operator.inputs):
            lines.append("precisions: declared precision by input name; otherwise measured")
        return [*lines, out]

    # -------------------------------------------------------- signatures

    def prepare_parameters(self) -> list[str]:
        names = [item.name for item in self.operator.inputs]
        names += [attribute.name for attribute in self.operator.attributes]
        return [identifier(name) for name in names]

    def attribute_parameters(self) -> list[str]:
        """Keyword parameters with their defaults; None where the caller must give a value."""
        shown = []
        for attribute in self.operator.attributes:
            value = interface.constant(attribute.default)
            shown.append(f"{identifier(attribute.name)}={value_text(value)}")
        return ["*", *shown] if shown else []

    def infer_parameters(self) -> list[str]:
        return ["shapes", "precisions", *self.attribute_parameters()]

    def parameters(self) -> list[str]:
        parameters = []
        for item in self.operator.inputs:
            optional = "=None" if item.optional else ""
            parameters.append(f"{identifier(item.name)}{optional}")
        attributes = self.attribute_parameters() or ["*"]
        return [*parameters, *attributes, "precisions=None", "dtype=None", "out=None", "check=None"]

    def contract(self) -> list[str]:
        """The lines of the docstring that say what the operands are."""
        lines = []
        for item in self.operator.inputs:
            shape = ", ".join(extent.span.text for extent in item.extents)
            note = " (optional)" if item.optional else ""
            note = " (a list of tensors)" if item.variadic else note
            note += ", or empty" * item.empty
            kinds = interface.types_text(self.operator, item.name)
            lines.append(f"{identifier(item.name)}: {kinds} of shape [{shape}]{note}")
        for attribute in self.operator.attributes:
            lines.append(f"{identifier(attribute.name)}: {attribute_text(attribute)}")
        if self.program.scratch:
            memory = f"Lists besides the tensors: {interface.scratch_text(self.program)}"
            lines += ["", *textwrap.wrap(memory, 94)]
        return lines

    # -------------------------------------------------------- prepare

    def prepare(self) -> list[str]:
        lines = self.host_block(unfold_bindings(self.program.prepare))
        names = [identifier(name) for name in self.fields]
        members = [f"{name}={name}" for name in names]
        if any(isinstance(each, i.Cases) for each in self.program.prepare):
            members.append("which_case=which_case")
        for output in self.operator.output_names:
            if f"{output}_shape" not in names:
                members.append(f"{output}_shape={output}_shape")
            if output in self.precise:
                members.append(f"{output}_precision={output}_precision")
        return [*lines, "return SimpleNamespace(", *indent(f"{each}," for each in members), ")"]

    def host_block(self, statements: tuple[i.Stmt, ...]) -> list[str]:
        lines: list[str] = []
        for statement in statements:
            if statement.span.place != self.line:
                self.line = statement.span.place
                lines.append(f"# {self.line}")
            lines += self.host(statement)
        return lines

    def host(self, statement: i.Stmt) -> list[str]:
        printer = self.printer
        match statement:
            case i.TakeInput():
                return InputChecks(self.printer, self.used).lines(statement)
            case i.TakeAttribute():
                return self.take_attribute(statement)
            case i.Require(condition=condition, rule=rule, terms=terms):
                return [
                    f"if not ({printer.expr(condition)}):",
                    f'    support.refuse(OPERATOR, "", {self.terms(terms)}, {literal(rule)})',
                ]
            case i.SetOutput(tensor=tensor, extents=extents, precision=precision):
                rule = statement.rule
                shape = printer.expr(extents)
                if precision is None:
                    limits = ", support.OUTPUT_OR_EMPTY" * statement.empty
                    where = f"OPERATOR, {literal(tensor)}, {tensor}_shape{limits}"
                    return [f"{tensor}_shape = {shape}", f"support.check_output_shape({where})"]
                return [
                    f"{tensor}_shape = {shape}",
                    f"{tensor}_precision = {printer.expr(precision)}",
                    "support.check_output(",
                    f"    OPERATOR, {literal(tensor)}, {tensor}_shape, {tensor}_precision,",
                    f"    {literal(rule)},",
                    f"    {self.terms(statement.terms)},",
                    *["    support.OUTPUT_OR_EMPTY,"] * statement.empty,
                    ")",
                ]
            case i.Cases(branches=branches):
                return self.cases(branches)
            case i.Let(name=name) if name not in self.used:
                return []
            case _:
                return printer.statement(statement)

    def terms(self, terms: tuple[tuple[str, i.Expr, str], ...]) -> str:
        pairs = []
        optional = {item.name for item in self.operator.inputs if item.optional}
        for name, value, _ in terms:
            text = self.printer.expr(value)
            if name in self.words:
                text = f"{self.words[name]} or {text}"
            if isinstance(value, i.PrecisionOf) and value.tensor in optional:
                text = f"{value.tensor} and {text}"
            pairs.append(f"({literal(name)}, {text})")
        return f"support.terms([{', '.join(pairs)}])"

    def take_attribute(self, statement: i.TakeAttribute) -> list[str]:
        attribute = statement.attribute
        name = identifier(attribute.name)
        where = f"OPERATOR, {literal(attribute.name)}, {name}"
        lines = []
        if attribute.required:
            lines += [
                f"if {name} is None:",
                f"    support.refuse(OPERATOR, {literal(attribute.name)}, "
                '"", support.ATTRIBUTE_MISSING)',
            ]
        words = f"[{literals(attribute.words)}]"
        length = f", {len(attribute.components) or None}" * self.is_list(attribute)
        if attribute.numbers_or_word:
            function = "integers_or_word" if length else "integer_or_word"
            names = f"{name}, {self.words[attribute.name]}"
            convert = [f"{names} = support.{function}({where}{length}, {words})"]
        elif attribute.kind == "word":
            convert = [f"{name} = support.word({where}, {words})"]
        elif length:
            convert = [f"{name} = support.integers({where}{length})"]
        elif attribute.kind == "bool":
            convert = [f"{name} = support.boolean({where})"]
        else:
            convert = [f"{name} = support.integer({where})"]
        if attribute.kind == "int":
            low = "-(1 << 31)" if statement.low is None else self.printer.expr(statement.low)
            high = "1 << 31" if statement.high is None else self.printer.expr(statement.high)
            named = f", {self.terms(statement.terms)}" if statement.terms else ""
            shown = f"{literal(attribute.range_text)}{named}"
            check = [f"support.check_range({where}, {low}, {high}, {shown})"]
            if attribute.numbers_or_word:
                check = [f"if {self.words[attribute.name]} is None:", *indent(check)]
            convert += check
        if attribute.optional:
            convert = [f"if {name} is not None:", *indent(convert)]
        lines += convert
        if attribute.components:
            names = ", ".join(attribute.components)
            lines.append(f"{names}{',' * (len(attribute.components) == 1)} = {name}")
        return lines

    @staticmethod
    def is_list(attribute: Attribute) -> bool:
        return attribute.is_list or bool(attribute.components)

    def cases(self, branches: tuple[tuple[i.Expr, tuple[i.Stmt, ...]], ...]) -> list[str]:
        """Names that only some cases set are None in the others."""
        made: dict[str, None] = {}
        for _, body in branches:
            for each in body:
                if isinstance(each, i.Let):
                    made[each.name] = None
        wanted = set(self.fields)
        lines = [f"{identifier(name)} = None" for name in made if name in wanted]
        for number, (condition, body) in enumerate(branches):
            word = "if" if number == 0 else "elif"
            lines.append(f"{word} {self.printer.expr(condition)}:")
            lines += indent([f"which_case = {number}", *self.host_block(body)])
        refuse = 'support.refuse(OPERATOR, "", "", support.NO_CASE)'
        return [*lines, "else:", f"    {refuse}"]

    # -------------------------------------------------------- nests

    def nest_name(self, number: int) -> str:
        tensor = self.program.nests[number].tensor
        same = [at for at, each in enumerate(self.program.nests) if each.tensor == tensor]
        suffix = f"_{same.index(number)}" if len(same) > 1 else ""
        return f"_nest_{tensor}{suffix}"

    def tensors(self, nest: i.Nest) -> list[str]:
        read = interface.inputs_read(self.program, nest)
        scratch = interface.scratch_read(self.program, nest)
        return [*read, *scratch, *interface.filled(self.program, nest)]

    def nests(self) -> list[str]:
        return [self.nest(number, nest) for number, nest in enumerate(self.program.nests)]

    def nest(self, number: int, nest: i.Nest) -> str:
        tensors = ", ".join(identifier(tensor) for tensor in self.tensors(nest))
        body = unfold_bindings(nest.body)
        lines = [f"# {nest.span.place}: {nest.formula}"]
        names = names_in(without_slots(body)) | names_in(nest.prologue) | given_in(body)
        if nest.each is not None:
            names |= names_in(nest.each[2])
        needed = [name for name in self.fields if name in names]
        if needed:
            lines += unpacked([identifier(name) for name in needed])
        lines += self.whole_packs(body)
        self.printer.reals = self.operator.has_reals
        inner = self.printer.block(body)
        self.printer.reals = False
        if nest.each is not None:
            index, tensor, _ = nest.each
            inner = [*self.printer.block(unfold_bindings(nest.prologue)), *inner]
            inner = [
                f"for {identifier(index)} in range(len({identifier(tensor)})):",
                *indent(inner),
            ]
        lines += inner
        return "\n".join(
            [f"def {self.nest_name(number)}(plan, {tensors}):", *wrap_python(indent(lines))]
        )

    def whole_packs(self, body: tuple[i.Stmt, ...]) -> list[str]:
        """A list for each pack that is bound in parts and read entry by entry."""
        packs = {
            whole_pack(each)
            for each in walk(body)
            if isinstance(each, i.PackLoop) and each.slots is not None and not strided(each)
        }
        return [f"{identifier(pack)} = [0] * support.MAX_RANK" for pack in sorted(packs)]

    # -------------------------------------------------------- infer and run

    def infer(self) -> list[str]:
        lines = []
        names = [item.name for item in self.operator.inputs]
        lines.append(f"names = [{literals(names)}]")
        arguments = []
        for at, item in enumerate(self.operator.inputs):
            if item.variadic and item.dtype != CVM:
                arguments.append(
                    f"[support.described(OPERATOR, names[{at}], shape, None)"
                    f" for shape in shapes[{at}]]"
                )
            elif item.variadic:
                arguments.append(
                    f"[support.described(OPERATOR, names[{at}], shape, precision)"
                    f" for shape, precision in zip(shapes[{at}], precisions[{at}], strict=True)]"
                )
            else:
                arguments.append(
                    f"support.described(OPERATOR, names[{at}], shapes[{at}], precisions[{at}])"
                )
        arguments += [identifier(attribute.name) for attribute in self.operator.attributes]
        lines += ["plan = _prepare(", *indent(f"{each}," for each in arguments), ")"]
        shapes = ", ".join(f"plan.{name}_shape" for name in self.operator.output_names)
        found = ", ".join(
            f"plan.{name}_precision" if name in self.precise else "None"
            for name in self.operator.output_names
        )
        lines.append(f"return ({shapes},), ({found},)")
        return lines

    def run(self) -> list[str]:
        operator = self.operator
        names = [item.name for item in operator.inputs if item.dtype == CVM]
        lines = self.choose_types()
        lines += [f"declared = support.declared(OPERATOR, [{literals(names)}], precisions)"]
        if not names:
            lines[-1] = "support.declared(OPERATOR, [], precisions)"
        for item in operator.inputs:
            name = identifier(item.name)
            shown = literal(item.name)
            if item.dtype != CVM:
                lines.append(f"{name} = typed.typed_operand(OPERATOR, {shown}, given[{shown}])")
                continue
            value = f"support.operand(OPERATOR, {shown}, {name}, declared.get({shown}))"
            if item.variadic:
                value = value.replace("support.operand(", "support.operands(", 1)
            lines.append(f"{name} = {value}")
        lines.append(f"plan = _prepare({', '.join(self.prepare_parameters())})")
        if self.types:
            lines.append("plan.types = types")
        if names:
            lines.append('if check == "values":')
            lines += [f"    {line}" for name in names for line in self.check(name)]
        lines += self.results()
        for each in self.program.scratch:
            size = f"plan.{identifier(each.size)}"
            size = size if each.case is None else f"({size} or 0)"
            lines.append(f"{identifier(each.name)} = [0] * {size}")
        for number, nest in enumerate(self.program.nests):
            call = self.call(number, nest)
            if nest.case is not None:
                lines += [f"if plan.which_case == {nest.case}:", f"    {call}"]
            else:
                lines.append(call)
        return [*lines, *self.finish()]

    def choose_types(self) -> list[str]:
        """The row of the types that the inputs have, and the inputs as arrays."""
        if not self.types:
            return []
        items = [item for item in self.operator.inputs if item.dtype != CVM]
        pairs = ", ".join(f"{literal(item.name)}: {identifier(item.name)}" for item in items)
        chosen = "types, given" if items else "types, _"
        several = ", ".join(literal(item.name) for item in items if item.variadic)
        rest = f", [{several}]" if several else ""
        return [f"{chosen} = typed.typed_operands(OPERATOR, TYPES, {{{pairs}}}{rest})"]

    def check(self, tensor: str) -> list[str]:
        name = identifier(tensor)
        item = next(each for each in self.operator.inputs if each.name == tensor)
        if item.variadic:
            return [f"for each in {name}:", "    each.check_values()"]
        if item.optional:
            return [f"if {name} is not None:", f"    {name}.check_values()"]
        return [f"{name}.check_values()"]

    def results(self) -> list[str]:
        moved = interface.moved_inputs(self.program)
        default = "support.INT32"
        if moved:
            arrays = []
            for item in self.operator.inputs:
                name = identifier(item.name)
                if item.name in moved:
                    each = f"*(each.array for each in {name})" if item.variadic else ""
                    optional = f"{name} and " if item.optional else ""
                    arrays.append(each or f"{optional}{name}.array")
            default = f"support.moved_dtype([{', '.join(arrays)}])"
        lines = self.out_checks()
        for output in self.operator.output_names:
            lines.append(f"{identifier(output)} = [0] * support.size(plan.{output}_shape)")
            if output not in self.precise:
                asked = "None" if self.precise else "dtype"
                wanted = f"OPERATOR, {asked}, types[{literal(output)}]"
                lines.append(f"{output}_dtype = typed.typed_result({wanted})")
                continue
            wanted = f"OPERATOR, {literal(output)}, dtype, plan.{output}_precision, {default}"
            lines.append(f"{output}_dtype = support.result_dtype({wanted})")
        return lines

    def out_checks(self) -> list[str]:
        """An output array of the caller fits and shares no memory with an input."""
        arrays = []
        for item in self.operator.inputs:
            name = identifier(item.name)
            if item.variadic:
                arrays.append(f"*(({literal(item.name)}, each.array) for each in {name})")
            elif item.optional:
                arrays.append(f"({literal(item.name)}, {name} and {name}.array)")
            else:
                arrays.append(f"({literal(item.name)}, {name}.array)")
        lines = ["if out is not None:", f"    arrays = [{', '.join(arrays)}]"]
        outputs = self.operator.output_names
        for at, output in enumerate(outputs):
            target = "out" if len(outputs) == 1 else f"out[{at}]"
            known = f"plan.{output}_shape, plan.{output}_precision, arrays"
            check = "support.check_out"
            if output not in self.precise:
                known = f"plan.{output}_shape, types[{literal(output)}], arrays"
                check = "typed.check_typed_out"
            lines.append(f"    {check}(OPERATOR, {literal(output)}, {target}, {known})")
        if len(outputs) == 1 and outputs[0] in self.precise:
            lines.append("    dtype = out.dtype")
        return lines

    def call(self, number: int, nest: i.Nest) -> str:
        arguments = ["plan"]
        for tensor in self.tensors(nest):
            item = next((each for each in self.operator.inputs if each.name == tensor), None)
            name = identifier(tensor)
            if item is None:
                arguments.append(name)
            elif item.variadic:
                arguments.append(f"[each.values for each in {name}]")
            elif item.optional:
                arguments.append(f"{name} and {name}.values")
            else:
                arguments.append(f"{name}.values")
        return f"{self.nest_name(number)}({', '.join(arguments)})"

    def finish(self) -> list[str]:
        outputs = self.operator.output_names
        arrays = []
        for output in outputs:
            shape = f"plan.{output}_shape"
            if output in self.precise:
                arrays.append(f"support.stored({identifier(output)}, {shape}, {output}_dtype)")
                continue
            values = f"OPERATOR, {literal(output)}, {identifier(output)}, {shape}"
            arrays.append(f"typed.stored_as({values}, {output}_dtype)")
        if len(outputs) == 1:
            return [
                f"result = {arrays[0]}",
                "if out is None:",
                "    return result",
                "out[...] = result",
                "return out",
            ]
        joined = ", ".join(arrays)
        return [
            f"results = ({joined})",
            "if out is None:",
            "    return results",
            "for target, result in zip(out, results, strict=True):",
            "    target[...] = result",
            "return out",
        ]


def given_in(nodes: tuple[object, ...]) -> frozenset[str]:
    """The optional operands of which statements ask whether they were given."""
    return frozenset(each.name for each in walk(nodes) if isinstance(each, i.Given))


def without_slots(body: tuple[i.Stmt, ...]) -> tuple[i.Stmt, ...]:
    """A nest without the slots of loops that only add up steps: nothing reads them."""

    def change(node: i.Stmt) -> i.Stmt:
        if isinstance(node, i.PackLoop) and node.slots is not None and strided(node):
            return replace(node, slots=None)
        return node

    result: tuple[i.Stmt, ...] = rebuild(body, change)
    return result
