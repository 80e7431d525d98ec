"""The python target: readable loops in Python's own integers, importable with numpy alone."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from types import ModuleType

from cvmgen import lists, powers, reals, rules, support, typed
from cvmgen.analysis.plan import plan_fields
from cvmgen.emit import interface
from cvmgen.emit.live_names import needed, reads
from cvmgen.emit.python_calls import Calls
from cvmgen.emit.python_inputs import InputChecks
from cvmgen.emit.python_printer import PythonPrinter, indent
from cvmgen.emit.python_text import (
    attribute_text,
    comment,
    definition,
    literal,
    literals,
    unpacked,
    value_text,
)
from cvmgen.emit.render import render
from cvmgen.emit.wrap import wrap_python
from cvmgen.escape import in_docstring
from cvmgen.ir import arrays as a
from cvmgen.ir import nodes as i
from cvmgen.ir.python_names import identifier
from cvmgen.ir.uses import assigned, names_in
from cvmgen.ir.visit import rebuild, walk
from cvmgen.lower.unfold import unfold_bindings
from cvmgen.lower.walks import strided, whole_pack
from cvmgen.rules import FAR_PRECISION
from cvmgen.spec.formula import Attribute, Operator

MODULES = ("reals", "typed", "arrays", "vectors")  # what operators import where they use it


def emit_operator(program: i.Program) -> str:
    """The module of an operator whose program has been lowered with the common passes."""
    return is_python(PythonEmitter(PythonPrinter(program), Calls(program)).text())


def is_python(text: str) -> str:
    """A module that Python takes: another one would keep its whole package from being imported."""
    compile(text, "the module", "exec")
    return text


def emit_support() -> dict[str, str]:
    """The modules that operators import: copies of cvmgen's own."""
    return dict(map(copied, (lists, powers, reals, rules, support, typed)))


def copied(module: ModuleType) -> tuple[str, str]:
    """A module as a file beside those that it imports."""
    text = Path(str(module.__file__)).read_text(encoding="utf-8")
    text = re.sub(r"^from cvmgen\.(\w+) import", r"from ._\1 import", text, flags=re.M)
    text = re.sub(r"^from cvmgen import (\w+)$", r"from . import _\1 as \1", text, flags=re.M)
    return f"_{module.__name__.rpartition('.')[2]}.py", text


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

    def __init__(self, printer: PythonPrinter, calls: Calls) -> None:
        self.program = program = printer.program
        self.operator = program.operator
        self.printer = printer
        self.calls = calls
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
        read = names_in(tuple((nest.prologue, nest.body) for nest in self.program.nests))
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
        run = "\n".join(wrap_python(indent(self.calls.run())))
        body = f"{prepare}\n{nests}\n{run}"
        return render(
            "python/operator.py.j2",
            full_name=operator.full_name,
            place=in_docstring(operator.files),
            doc=in_docstring(operator.doc),
            formula=in_docstring(formula),
            libraries="\nimport numpy as np\n" if uses("np", body) else "",
            more_imports="".join(
                f"from . import _{name} as {name}\n" for name in MODULES if uses(name, body)
            ),
            types=self.calls.type_rows(),
            call_doc=in_docstring("\n".join(indent(self.calls.call_doc()))),
            imports="import builtins\n" if uses("builtins", body) else "",
            prepare_head=definition("_prepare", self.calls.prepare_parameters()),
            prepare=prepare,
            nests=nests,
            head=definition(operator.name, self.parameters()),
            infer_head=definition("infer", self.infer_parameters()),
            contract=in_docstring("\n".join(indent(self.contract()))),
            infer="\n".join(indent(self.calls.infer())),
            run=run,
        )

    # -------------------------------------------------------- signatures

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
        # Behind an input that may be left out the next ones can be given by name; what is missing
        # is refused by the checks of the call.
        parameters, default = [], ""
        for item in self.operator.inputs:
            default = "=None" if item.optional else default
            parameters.append(f"{identifier(item.name)}{default}")
        attributes = self.attribute_parameters() or ["*"]
        return [*parameters, *attributes, "precisions=None", "dtype=None", "out=None", "check=None"]

    def contract(self) -> list[str]:
        """The lines of the docstring that say what the operands are."""
        lines = []
        for item in self.operator.inputs:
            shape = ", ".join(extent.span.code for extent in item.extents)
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
            if (line := self.operator.place(statement.span)) != self.line:
                self.line = line
                lines.append(comment(self.line))
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
                    *self.shape_first(statement),
                    f"{tensor}_precision = {printer.expr(precision)}",
                    "support.check_output(",
                    f"    OPERATOR, {literal(tensor)}, {tensor}_shape, {tensor}_precision,",
                    f"    {literal(rule)},",
                    f"    {self.terms(statement.terms)},",
                    *["    support.OUTPUT_OR_EMPTY,"] * statement.empty,
                    *["    far=support.FAR_PRECISION,"] * (statement.far == FAR_PRECISION),
                    ")",
                ]
            case i.Cases(branches=branches):
                return self.cases(branches)
            case i.Let(name=name) if name not in self.used:
                return []
            case i.Loop():
                printer.guarded = False
                lines = printer.statement(statement)
                printer.guarded = True
                return lines
            case _:
                return printer.statement(statement)

    def shape_first(self, output: i.SetOutput) -> list[str]:
        """A shape that is refused may be one for which the precision has no value."""
        if not any(map(may_raise, walk(output.precision))):
            return []
        limits = ", support.OUTPUT_OR_EMPTY" * output.empty
        where = f"OPERATOR, {literal(output.tensor)}, {output.tensor}_shape{limits}"
        return [f"support.check_output_shape({where})"]

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

    def nests(self) -> list[str]:
        return [self.nest(number, nest) for number, nest in enumerate(self.program.nests)]

    def nest(self, number: int, nest: i.Nest) -> str:
        tensors = ", ".join(identifier(tensor) for tensor in self.calls.tensors(nest))
        body = unfold_bindings(nest.body)
        lines = [comment(self.program.quoted(nest))]
        names = names_in(without_slots(body)) - assigned(body)
        names |= names_in(nest.prologue) | given_in(body)
        needed = [name for name in self.fields if name in names]
        if needed:
            lines += unpacked([identifier(name) for name in needed])
        lines += self.whole_packs(body)
        head = sum(isinstance(each, a.Head) for each in body)
        lines += self.printer.block(body[:head])
        self.printer.reals = self.operator.has_reals
        inner = self.printer.block(body[head:])
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
            [f"def {self.calls.nest_name(number)}(plan, {tensors}):", *wrap_python(indent(lines))]
        )

    def whole_packs(self, body: tuple[i.Stmt, ...]) -> list[str]:
        """A list for each pack that is bound in parts and read entry by entry."""
        packs = {
            whole_pack(each)
            for each in walk(body)
            if isinstance(each, i.PackLoop) and each.slots is not None and not strided(each)
        }
        return [f"{identifier(pack)} = [0] * support.MAX_RANK" for pack in sorted(packs)]


def uses(module: str, text: str) -> bool:
    """Whether code speaks of a module; comments name files, which may be called like it."""
    lines = (line.lstrip() for line in text.splitlines() if f"{module}." in line)
    return any(re.search(rf"\b{module}\.", line) for line in lines if line[0] != "#")


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


def may_raise(node: object) -> bool:
    """Whether Python raises where the formula has no value."""
    match node:
        case i.Binary(op="floordiv" | "mod" | "truncdiv" | "shl" | "shr", right=right):
            return not isinstance(right, i.Const)
        case i.Call(function=function):
            return function in ("ceildiv", "power")
        case i.Fold(op=op, element=element):  # of precisions there is one at least
            return op in ("max", "min") and not isinstance(element, i.PrecisionOf)
        case _:
            return False
