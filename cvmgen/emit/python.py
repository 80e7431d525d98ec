"""The python target: readable loops in Python's own integers, importable with numpy alone."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterable
from pathlib import Path
from types import ModuleType

from cvmgen import attributes, elementary, lists, powers, reals, rules, support, typed
from cvmgen.emit import interface
from cvmgen.emit.lines import indented, wrap_python
from cvmgen.emit.python_calls import Calls
from cvmgen.emit.python_host import HostText
from cvmgen.emit.python_printer import PythonPrinter
from cvmgen.emit.python_text import attribute_doc, comment, definition, unpacked_members, value_text
from cvmgen.emit.render import render_template
from cvmgen.escape import in_docstring
from cvmgen.ir import arrays as a
from cvmgen.ir import checks as h
from cvmgen.ir import nodes as i
from cvmgen.ir.python_names import python_identifier
from cvmgen.ir.uses import assigned, names_in, nodes_in
from cvmgen.lower.host_part import given_in
from cvmgen.lower.walks import strided
from cvmgen.spec.formula import Operator

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
    return dict(map(copied, (attributes, elementary, lists, powers, reals, rules, support, typed)))


def copied(module: ModuleType) -> tuple[str, str]:
    """A module as a file beside those that it imports."""
    text = Path(str(module.__file__)).read_text(encoding="utf-8")
    text = re.sub(r"^from cvmgen\.(\w+) import", r"from ._\1 import", text, flags=re.M)
    text = re.sub(r"^from cvmgen import ([\w, ]+)$", _beside, text, flags=re.M)
    return f"_{module.__name__.rpartition('.')[2]}.py", text


def _beside(imports: re.Match[str]) -> str:
    return "\n".join(f"from . import _{each} as {each}" for each in imports[1].split(", "))


def emit_header(opset: str, operators: Iterable[Operator]) -> str:
    """The package file of an opset."""
    listed = list(operators)
    imports = "\n".join(f"from .{each.name} import {each.name}" for each in listed)
    aliases = "\n".join(f"{alias} = {each.name}" for each in listed for alias in each.aliases)
    names = sorted([each.name for each in listed] + [a for each in listed for a in each.aliases])
    exported = "\n".join(f'    "{name}",' for name in names)
    return render_template(
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
        kept = (each for each in program.prepare if isinstance(each, h.FillPlan))
        self.fields = [name for each in kept for name, _ in each.members]

    def text(self) -> str:
        operator = self.operator
        formula = "\n".join(f"    {line}".rstrip() for line in operator.text.splitlines())
        prepare = "\n".join(
            wrap_python(indented(HostText(self.printer).block(self.program.prepare)))
        )
        nests = "\n\n\n".join(self.nests())
        run = "\n".join(wrap_python(indented(self.calls.run())))
        uses = self.printer.modules | self.calls.modules
        return render_template(
            "python/operator.py.j2",
            full_name=operator.full_name,
            place=in_docstring(operator.files),
            doc=in_docstring(operator.doc),
            formula=in_docstring(formula),
            libraries="\nimport numpy as np\n" if "np" in uses else "",
            more_imports="".join(
                f"from . import _{name} as {name}\n" for name in MODULES if name in uses
            ),
            types=self.calls.type_rows(),
            call_doc=in_docstring("\n".join(indented(self.calls.call_doc()))),
            imports="import builtins\n" if "builtins" in uses else "",
            prepare_head=definition("_prepare", self.calls.prepare_parameters()),
            prepare=prepare,
            nests=nests,
            head=definition(operator.name, self.parameters()),
            infer_head=definition("infer", self.infer_parameters()),
            contract=in_docstring("\n".join(indented(self.contract()))),
            infer="\n".join(indented(self.calls.infer())),
            run=run,
        )

    # -------------------------------------------------------- signatures

    def attribute_parameters(self) -> list[str]:
        """Keyword parameters with their defaults; None where the caller must give a value."""
        shown = []
        for attribute in self.operator.attributes:
            value = interface.default_value(attribute.default)
            shown.append(f"{python_identifier(attribute.name)}={value_text(value)}")
        return ["*", *shown] if shown else []

    def infer_parameters(self) -> list[str]:
        return ["shapes", "precisions", *self.attribute_parameters()]

    def parameters(self) -> list[str]:
        # Behind an input that may be left out the next ones can be given by name; what is missing
        # is refused by the checks of the call.
        parameters, default = [], ""
        for item in self.operator.inputs:
            default = "=None" if item.optional else default
            parameters.append(f"{python_identifier(item.name)}{default}")
        attributes = self.attribute_parameters() or ["*"]
        return [*parameters, *attributes, "precisions=None", "dtype=None", "out=None", "check=None"]

    def contract(self) -> list[str]:
        """The lines of the docstring that say what the operands are."""
        lines = []
        for item in self.operator.inputs:
            shape = ", ".join(extent.span.code for extent in item.extents)
            note = " (optional)" if item.optional else ""
            note = " (a list of tensors)" if item.variadic else note
            note += ", or empty" * (item.empty and bool(item.extents))
            kinds = interface.types_text(self.operator, item.name)
            lines.append(f"{python_identifier(item.name)}: {kinds} of shape [{shape}]{note}")
        for attribute in self.operator.attributes:
            lines.append(f"{python_identifier(attribute.name)}: {attribute_doc(attribute)}")
        if self.program.scratch:
            kind = "Memory" if self.program.lets else "Lists"
            memory = f"{kind} besides the tensors: {interface.scratch_text(self.program)}"
            lines += ["", *textwrap.wrap(memory, 94)]
        return lines

    # -------------------------------------------------------- nests

    def nests(self) -> list[str]:
        return [self.nest(number, nest) for number, nest in enumerate(self.program.nests)]

    def nest(self, number: int, nest: i.Nest) -> str:
        tensors = ", ".join(python_identifier(tensor) for tensor in self.calls.tensors(nest))
        body = nest.body
        lines: list[str] = [comment(self.program.quoted(nest))]
        names = names_in(body) - assigned(body) | names_in(nest.prologue) | given_in(body)
        needed = [name for name in self.fields if name in names]
        if needed:
            lines += unpacked_members([python_identifier(name) for name in needed])
        lines += self.whole_packs(body)
        head = sum(isinstance(each, a.Head) for each in body)
        lines += self.printer.block(body[:head])
        self.printer.reals = self.operator.has_reals
        inner = self.printer.block(body[head:])
        self.printer.reals = False
        if nest.each is not None:
            index, tensor, _ = nest.each
            inner = [*self.printer.block(nest.prologue), *inner]
            inner = [
                f"for {python_identifier(index)} in range(len({python_identifier(tensor)})):",
                *indented(inner),
            ]
        lines += inner
        return "\n".join(
            [f"def {self.calls.nest_name(number)}(plan, {tensors}):", *wrap_python(indented(lines))]
        )

    def whole_packs(self, body: tuple[i.Stmt, ...]) -> list[str]:
        """A list for each pack that is bound in parts and read entry by entry."""
        packs = {
            each.whole
            for each in nodes_in(body, i.PackLoop)
            if each.slots is not None and not strided(each)
        }
        return [f"{python_identifier(pack)} = [0] * support.MAX_RANK" for pack in sorted(packs)]
