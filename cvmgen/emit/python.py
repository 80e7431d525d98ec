"""The python target: readable loops in Python's own integers, importable with numpy alone."""

from __future__ import annotations

import builtins
import keyword
from collections.abc import Iterable
from pathlib import Path
from typing import assert_never

from cvmgen import support
from cvmgen.dtypes import ATTRIBUTE_HIGH, ATTRIBUTE_LOW
from cvmgen.emit import interface
from cvmgen.emit.prepare import plan_fields
from cvmgen.emit.render import render
from cvmgen.emit.wrap import wrap_python
from cvmgen.errors import InternalError
from cvmgen.ir import nodes as i
from cvmgen.ir.visit import names_in, walk
from cvmgen.lower.guards import assigned
from cvmgen.lower.unfold import unfold_bindings
from cvmgen.lower.walks import strided, whole_pack
from cvmgen.spec.formula import Attribute, Operator

BINARY = {
    "+": (9, "+"),
    "-": (9, "-"),
    "*": (10, "*"),
    "floordiv": (10, "//"),
    "mod": (10, "%"),
    "shl": (8, "<<"),
    "shr": (8, ">>"),
}
TAKEN = frozenset(
    (
        "support",
        "plan",
        "OPERATOR",
        "range",
        "len",
        "max",
        "min",
        "abs",
        "sum",
        "all",
        "any",
        "enumerate",
        "zip",
        "tuple",
    )
)
SUPPORT_CALLS = {
    "size": "size",
    "strides": "strides",
    "flatten_index": "flatten_index",
    "unflatten": "unflatten",
    "floor_log2": "floor_log2",
    "ceil_log2": "ceil_log2",
    "ceildiv": "ceildiv",
}
FOLDS = {"sum": "sum", "max": "max", "min": "min", "any": "any", "all": "all"}
PRIMARY, UNARY = 12, 11


def emit_operator(program: i.Program) -> str:
    """The module of an operator whose program has been lowered with the common passes."""
    return PythonEmitter(program).text()


def emit_support() -> dict[str, str]:
    """The module that every operator imports: a copy of cvmgen's own."""
    return {"_support.py": Path(support.__file__).read_text(encoding="utf-8")}


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


def identifier(name: str) -> str:
    taken = keyword.iskeyword(name) or name in TAKEN
    return f"{name}_" if taken else name


def indent(lines: Iterable[str]) -> list[str]:
    return [f"    {line}" if line else "" for line in lines]


class PythonPrinter:
    """Expressions and statements as Python."""

    def __init__(self, program: i.Program) -> None:
        self.program = program
        self.operator = program.operator
        self.tensors = {item.name for item in self.operator.inputs}
        self.host = True

    def builtin(self, name: str) -> str:
        """A builtin that the operator's own name may hide."""
        return f"builtins.{name}" if name == self.operator.name else name

    # -------------------------------------------------------- expressions

    def expr(self, expr: i.Expr, least: int = 0) -> str:
        text, level = self.leveled(expr)
        return f"({text})" if level < least else text

    def leveled(self, expr: i.Expr) -> tuple[str, int]:
        match expr:
            case i.Const(value=value):
                negative = not isinstance(value, bool) and value < 0
                return str(value), UNARY if negative else PRIMARY
            case i.Var(name=name):
                return identifier(name), PRIMARY
            case i.Binary():
                return self.binary(expr)
            case i.Compare(op=op, left=left, right=right):
                return f"{self.expr(left, 7)} {op} {self.expr(right, 7)}", 6
            case i.Logic(op=op, operands=operands):
                return self.logic(op, operands)
            case i.Not(operand=i.Contains(element=element, collection=collection)):
                return f"{self.expr(element, 7)} not in {self.expr(collection, 7)}", 6
            case i.Not(operand=i.Given(name=name)):
                return f"{identifier(name)} is None", 6
            case i.Not(operand=operand):
                return f"not {self.expr(operand, 5)}", 4
            case i.Select(condition=condition, then=then, otherwise=otherwise):
                test, yes = self.expr(condition, 2), self.expr(then, 2)
                return f"{yes} if {test} else {self.expr(otherwise, 1)}", 1
            case i.Call():
                return self.call(expr)
            case i.Item(sequence=sequence, index=index):
                return f"{self.expr(sequence, PRIMARY)}[{self.expr(index)}]", PRIMARY
            case i.Part(sequence=sequence, low=low, high=high):
                ends = ("" if end is None else self.expr(end) for end in (low, high))
                return f"{self.expr(sequence, PRIMARY)}[{':'.join(ends)}]", PRIMARY
            case i.ListOf(entries=entries):
                parts = [("*" if pack else "") + self.expr(each, 7) for each, pack in entries]
                return f"({', '.join(parts)}{',' * (len(parts) == 1)})", PRIMARY
            case i.Contains(element=element, collection=collection):
                return f"{self.expr(element, 7)} in {self.expr(collection, 7)}", 6
            case i.Gather(kind=kind, element=element, over=over, condition=condition):
                body = f"{self.expr(element)} {self.clauses(over, condition)}"
                function = "tuple" if kind == "list" else "support.ascending"
                return f"{function}({body})", PRIMARY
            case i.Fold():
                return self.fold(expr), PRIMARY
            case i.Load(tensor=tensor, which=which, offset=offset):
                one = "" if which is None else f"[{self.expr(which)}]"
                return f"{identifier(tensor)}{one}[{self.expr(offset)}]", PRIMARY
            case i.Dot(pack=pack, steps=None):
                return f"{pack}_at", PRIMARY
            case i.Dot(pack=pack, steps=steps):
                assert steps is not None
                return f"support.dot({self.expr(steps)}, {identifier(pack)})", PRIMARY
            case i.Given(name=name):
                return f"{identifier(name)} is not None", 6
            case i.PrecisionOf(tensor=tensor, which=which):
                one = "" if which is None else f"[{self.expr(which)}]"
                return f"{identifier(tensor)}{one}.precision", PRIMARY
            case i.Convert(operand=operand):
                return self.leveled(operand)
            case i.Bind() | i.Access():
                raise InternalError(f"emit: {type(expr).__name__} is left")
            case _:
                assert_never(expr)

    def binary(self, expr: i.Binary) -> tuple[str, int]:
        left, right = expr.left, expr.right
        match expr.op:
            case "-" if left == i.Const(0):
                return f"-{self.expr(right, UNARY)}", UNARY
            case "truncdiv":
                return f"support.truncdiv({self.expr(left)}, {self.expr(right)})", PRIMARY
            case "union" | "difference" as op:
                return f"support.{op}({self.expr(left)}, {self.expr(right)})", PRIMARY
            case op:
                level, sign = BINARY[op]
                return f"{self.expr(left, level)} {sign} {self.expr(right, level + 1)}", level

    def logic(self, op: str, operands: tuple[i.Expr, ...]) -> tuple[str, int]:
        level = 3 if op == "and" else 2
        chain = self.chained(operands) if op == "and" else None
        if chain is not None:
            return chain, 6
        return f" {op} ".join(self.expr(each, level + 1) for each in operands), level

    def chained(self, operands: tuple[i.Expr, ...]) -> str | None:
        """`0 <= h and h < H` as 0 <= h < H."""
        match operands:
            case (
                i.Compare(op="<" | "<=" as first, left=low, right=i.Var() as middle),
                i.Compare(op="<" | "<=" as second, left=again, right=high),
            ) if middle == again:
                parts = (self.expr(each, 7) for each in (low, middle, high))
                a, b, c = parts
                return f"{a} {first} {b} {second} {c}"
            case _:
                return None

    def call(self, expr: i.Call) -> tuple[str, int]:
        arguments = ", ".join(self.expr(argument) for argument in expr.arguments)
        match expr.function:
            case "max" | "min" | "abs" | "len" as name:
                return f"{self.builtin(name)}({arguments})", PRIMARY
            case "lowest":
                return "support.LOWEST", PRIMARY
            case "highest":
                return "support.HIGHEST", PRIMARY
            case "max_rank":
                return "support.MAX_RANK", PRIMARY
            case "zeros":
                return f"[0] * {self.expr(expr.arguments[0], 11)}", 10
            case "power":
                base, exponent = expr.arguments
                return f"{self.expr(base, PRIMARY)} ** {self.expr(exponent, UNARY)}", UNARY
            case name if name in SUPPORT_CALLS:
                return f"support.{SUPPORT_CALLS[name]}({arguments})", PRIMARY
            case name:
                raise InternalError(f"emit: python has no spelling for {name}")

    def clauses(self, over: tuple[i.Over | i.OverPack, ...], condition: i.Expr | None) -> str:
        parts = []
        for each in over:
            match each:
                case i.Over(index=index, low=None, high=high):
                    parts.append(f"for {identifier(index)} in {self.expr(high, 2)}")
                case i.Over(index=index, low=low, high=high):
                    assert low is not None
                    parts.append(f"for {identifier(index)} in {self.span(low, high)}")
                case i.OverPack(pack=pack, extents=extents):
                    parts.append(f"for {pack} in support.indices({self.expr(extents)})")
        if condition is not None:
            parts.append(f"if {self.expr(condition, 2)}")
        return " ".join(parts)

    def span(self, low: i.Expr, high: i.Expr) -> str:
        if low == i.Const(0):
            return f"range({self.expr(high)})"
        return f"range({self.expr(low)}, {self.expr(high)})"

    def fold(self, expr: i.Fold) -> str:
        clauses = self.clauses(expr.over, expr.condition)
        if expr.op == "count":
            test = f"if {self.expr(expr.element, 2)}"
            return f"{self.builtin('sum')}(1 {self.clauses(expr.over, None)} {test})"
        body = f"{self.expr(expr.element)} {clauses}"
        if expr.op == "prod":
            return f"support.size([{body}])"
        return f"{self.builtin(FOLDS[expr.op])}({body})"

    # -------------------------------------------------------- statements

    def block(self, statements: Iterable[i.Stmt]) -> list[str]:
        return [line for statement in statements for line in self.statement(statement)]

    def statement(self, statement: i.Stmt) -> list[str]:
        match statement:
            case i.Let(name=name, value=value) | i.Assign(name=name, value=value):
                return [f"{identifier(name)} = {self.expr(value)}"]
            case i.Accumulate(name=name, op=op, value=value):
                return [self.accumulate(identifier(name), op, value)]
            case i.AddAt(name=name, index=index, value=value):
                place = f"{identifier(name)}[{self.expr(index)}]"
                match value:
                    case i.Binary(op="*", left=i.Const(value=-1), right=right):
                        return [f"{place} -= {self.expr(right)}"]
                    case _:
                        return [f"{place} += {self.expr(value)}"]
            case i.Store(target=target, value=value):
                return [f"{self.expr(target)} = {self.expr(value)}"]
            case i.Loop(index=index, low=low, high=high, body=body):
                over = self.expr(high) if low is None else self.span(low, high)
                return [f"for {identifier(index)} in {over}:", *indent(self.block(body))]
            case i.PackLoop():
                return self.pack_loop(statement)
            case i.If(condition=condition, then=then, otherwise=otherwise):
                lines = [f"if {self.expr(condition)}:", *indent(self.block(then))]
                if otherwise:
                    lines += ["else:", *indent(self.block(otherwise))]
                return lines
            case _:
                raise InternalError(f"emit: {type(statement).__name__} is not for this place")

    def accumulate(self, name: str, op: str, value: i.Expr) -> str:
        match op:
            case "max" | "min":
                return f"{name} = {self.builtin(op)}({name}, {self.expr(value)})"
            case "and" | "or":
                return f"{name} = {name} {op} {self.expr(value, 4)}"
            case _:
                return f"{name} {op}= {self.expr(value)}"

    def pack_loop(self, loop: i.PackLoop) -> list[str]:
        pack = identifier(loop.pack)
        walked = f"support.indices({self.expr(loop.extents)})"
        positions = i.Dot(loop.pack, None) in walk(loop.body)
        body = self.block(loop.body)
        if loop.slots is not None and not strided(loop):
            whole = identifier(whole_pack(loop))
            body = [
                f"for slot, entry in zip({self.expr(loop.slots)}, {pack}):",
                f"    {whole}[slot] = entry",
                *body,
            ]
        if positions:
            used = any(pack in line.replace(f"{pack}_at", "") for line in body)
            name = pack if used else "_"
            head = f"for {loop.pack}_at, {name} in enumerate({walked}):"
            if not used:
                size = f"support.size({self.expr(loop.extents)})"
                head = f"for {loop.pack}_at in range({size}):"
            return [head, *indent(body)]
        return [f"for {pack} in {walked}:", *indent(body)]


class PythonEmitter:
    """Assembles the module of one operator."""

    def __init__(self, program: i.Program) -> None:
        self.program = program
        self.operator = program.operator
        self.printer = PythonPrinter(program)
        names = [field.name for field in plan_fields(program) if not self.local(field.name)]
        self.fields = [*names, *self.variadic_shapes()]
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
        return render(
            "python/operator.py.j2",
            full_name=operator.full_name,
            place=operator.span.place,
            doc=operator.doc,
            formula=formula.replace("\\", "\\\\").replace('"""', "'''"),
            imports="import builtins\n" if hasattr(builtins, operator.name) else "",
            prepare_head=definition("_prepare", self.prepare_parameters()),
            prepare="\n".join(wrap_python(indent(self.prepare()))),
            nests="\n\n\n".join(self.nests()),
            head=definition(operator.name, self.parameters()),
            infer_head=definition("infer", self.infer_parameters()),
            contract="\n".join(indent(self.contract())),
            infer="\n".join(indent(self.infer())),
            run="\n".join(wrap_python(indent(self.run()))),
        )

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
            shown.append(f"{identifier(attribute.name)}={value!r}")
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
            lines.append(f"{item.name}: int8 or int32 of shape [{shape}]{note}")
        for attribute in self.operator.attributes:
            lines.append(f"{attribute.name}: {attribute_text(attribute)}")
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
                return self.take_input(statement)
            case i.TakeAttribute():
                return self.take_attribute(statement)
            case i.Require(condition=condition, rule=rule, terms=terms):
                return [
                    f"if not ({printer.expr(condition)}):",
                    f"    support.refuse(OPERATOR, '', {self.terms(terms)}, {rule!r})",
                ]
            case i.SetOutput(tensor=tensor, extents=extents, precision=precision):
                rule = statement.rule
                shape = printer.expr(extents)
                return [
                    f"{tensor}_shape = {shape}",
                    parenthesized(f"{tensor}_precision", printer.expr(precision)),
                    "support.check_output(",
                    f"    OPERATOR, {tensor!r}, {tensor}_shape, {tensor}_precision, {rule!r},",
                    f"    {self.terms(statement.terms)},",
                    ")",
                ]
            case i.Cases(branches=branches):
                return self.cases(branches)
            case _:
                return printer.statement(statement)

    def terms(self, terms: tuple[tuple[str, i.Expr, str], ...]) -> str:
        pairs = []
        optional = {item.name for item in self.operator.inputs if item.optional}
        for name, value, _ in terms:
            text = self.printer.expr(value)
            if isinstance(value, i.PrecisionOf) and value.tensor in optional:
                text = f"{value.tensor} and {text}"
            pairs.append(f"({name!r}, {text})")
        return f"support.terms([{', '.join(pairs)}])"

    def take_input(self, statement: i.TakeInput) -> list[str]:
        item = statement.input
        name = identifier(item.name)
        if item.variadic:
            lines = [f"support.check_inputs(OPERATOR, {item.name!r}, {name})"]
            lines.append(f"{item.count} = len({name})")
            lines.append(f"{item.extents[0].new} = tuple(each.shape for each in {name})")
            return lines
        lines = [f"support.check_input(OPERATOR, {item.name!r}, {name})", *self.shape(statement)]
        if item.optional:
            return [f"if {name} is not None:", *indent(lines)]
        return lines

    def shape(self, statement: i.TakeInput) -> list[str]:
        item = statement.input
        name = identifier(item.name)
        where = f"OPERATOR, {item.name!r}, {name}.shape"
        extents = item.extents
        packs = [at for at, extent in enumerate(extents) if extent.pack]
        if len(extents) == 1 and packs and extents[0].new is None:
            wanted = statement.known[0]
            assert wanted is not None
            return [f"support.check_same_shape({where}, {self.printer.expr(wanted)})"]
        least = len(extents) - len(packs)
        lines = []
        if not (packs and least == 0):
            lines.append(f"support.check_rank({where}, {least}, {bool(packs)})")
        if all(extent.new and not extent.pack for extent in extents):
            names = ", ".join(str(extent.new) for extent in extents)
            return [*lines, f"{names}{',' * (len(extents) == 1)} = {name}.shape"]
        for at, extent in enumerate(extents):
            place = at if not packs or at < packs[0] else at - len(extents)
            if extent.pack:
                after = len(extents) - 1 - at
                part = f"[{at or ''}:{-after or ''}]" if at or after else ""
                lines.append(f"{extent.new} = {name}.shape{part}")
            elif extent.new:
                lines.append(f"{extent.new} = {name}.shape[{place}]")
            else:
                known = statement.known[at]
                assert known is not None
                wanted_text = self.printer.expr(known)
                term = extent.span.text
                lines.append(f"support.check_extent({where}, {place}, {term!r}, {wanted_text})")
        return lines

    def take_attribute(self, statement: i.TakeAttribute) -> list[str]:
        attribute = statement.attribute
        name = identifier(attribute.name)
        where = f"OPERATOR, {attribute.name!r}, {name}"
        lines = []
        if attribute.required:
            lines += [
                f"if {name} is None:",
                f"    support.refuse(OPERATOR, {attribute.name!r}, '', support.ATTRIBUTE_MISSING)",
            ]
        if attribute.components or attribute.is_list:
            length = len(attribute.components) or None
            convert = [f"{name} = support.integers({where}, {length})"]
        elif attribute.kind == "bool":
            convert = [f"{name} = support.boolean({where})"]
        else:
            convert = [f"{name} = support.integer({where})"]
        if attribute.kind == "int":
            low = "-(1 << 31)" if statement.low is None else self.printer.expr(statement.low)
            high = "1 << 31" if statement.high is None else self.printer.expr(statement.high)
            shown = attribute.interval_text or f"[{ATTRIBUTE_LOW}, {ATTRIBUTE_HIGH})"
            named = f", {self.terms(statement.terms)}" if statement.terms else ""
            convert.append(f"support.check_range({where}, {low}, {high}, {shown!r}{named})")
        if attribute.optional:
            convert = [f"if {name} is not None:", *indent(convert)]
        lines += convert
        if attribute.components:
            names = ", ".join(attribute.components)
            lines.append(f"{names}{',' * (len(attribute.components) == 1)} = {name}")
        return lines

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
        refuse = "support.refuse(OPERATOR, '', '', support.NO_CASE)"
        return [*lines, "else:", f"    {refuse}"]

    # -------------------------------------------------------- nests

    def nest_name(self, number: int) -> str:
        tensor = self.program.nests[number].tensor
        same = [at for at, each in enumerate(self.program.nests) if each.tensor == tensor]
        suffix = f"_{same.index(number)}" if len(same) > 1 else ""
        return f"_nest_{tensor}{suffix}"

    def tensors(self, nest: i.Nest) -> list[str]:
        read = {each.tensor for each in walk(nest.body) if isinstance(each, i.Load)}
        read |= {each.name for each in walk(nest.body) if isinstance(each, i.Given)}
        inputs = [item.name for item in self.operator.inputs if item.name in read]
        return [*inputs, nest.tensor]

    def nests(self) -> list[str]:
        return [self.nest(number, nest) for number, nest in enumerate(self.program.nests)]

    def nest(self, number: int, nest: i.Nest) -> str:
        tensors = ", ".join(identifier(tensor) for tensor in self.tensors(nest))
        body = unfold_bindings(nest.body)
        lines = [f"# {nest.span.place}: {nest.formula}"]
        names = names_in(body) | names_in(nest.prologue)
        if nest.each is not None:
            names |= names_in(nest.each[2])
        needed = [name for name in self.fields if name in names]
        if needed:
            lines += unpacked([identifier(name) for name in needed])
        lines += self.whole_packs(body)
        inner = self.printer.block(body)
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
        lines.append(f"names = {names!r}")
        arguments = []
        for at, item in enumerate(self.operator.inputs):
            if item.variadic:
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
        found = ", ".join(f"plan.{name}_precision" for name in self.operator.output_names)
        lines.append(f"return ({shapes},), ({found},)")
        return lines

    def run(self) -> list[str]:
        operator = self.operator
        names = [item.name for item in operator.inputs]
        lines = [f"declared = support.declared(OPERATOR, {names!r}, precisions)"]
        for item in operator.inputs:
            name = identifier(item.name)
            value = f"support.operand(OPERATOR, {item.name!r}, {name}, declared.get({item.name!r}))"
            if item.variadic:
                lines.append(f"given = declared.get({item.name!r}) or [None] * len({name})")
                value = (
                    f"[support.operand(OPERATOR, {item.name!r}, each, precision) "
                    f"for each, precision in zip({name}, given, strict=True)]"
                )
            lines.append(f"{name} = {value}")
        lines.append(f"plan = _prepare({', '.join(self.prepare_parameters())})")
        lines.append("if check == 'values':")
        lines += [f"    {line}" for item in operator.inputs for line in self.check(item.name)]
        lines += self.results()
        for number, nest in enumerate(self.program.nests):
            call = self.call(number, nest)
            if nest.case is not None:
                lines += [f"if plan.which_case == {nest.case}:", f"    {call}"]
            else:
                lines.append(call)
        return [*lines, *self.finish()]

    def check(self, tensor: str) -> list[str]:
        name = identifier(tensor)
        item = next(each for each in self.operator.inputs if each.name == tensor)
        if item.variadic:
            return [f"for each in {name}:", "    each.check_values()"]
        if item.optional:
            return [f"if {name} is not None:", f"    {name}.check_values()"]
        return [f"{name}.check_values()"]

    def results(self) -> list[str]:
        first = next((item for item in self.operator.inputs if not item.optional), None)
        default = "'int32'"
        if first is not None and interface.moves_data(self.program):
            one = "[0]" if first.variadic else ""
            default = f"{identifier(first.name)}{one}.array.dtype"
        lines = []
        for output in self.operator.output_names:
            lines.append(f"{output} = [0] * support.size(plan.{output}_shape)")
            wanted = f"OPERATOR, {output!r}, dtype, plan.{output}_precision, {default}"
            lines.append(f"{output}_dtype = support.result_dtype({wanted})")
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
            arrays.append(f"support.stored({output}, plan.{output}_shape, {output}_dtype)")
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


def unpacked(names: list[str]) -> list[str]:
    """Locals for members of the plan, as many on a line as fit."""
    lines: list[str] = []
    row: list[str] = []
    for name in names:
        if row and sum(2 * len(each) + 9 for each in [*row, name]) > 88:
            lines.append(unpack_row(row))
            row = []
        row.append(name)
    return [*lines, unpack_row(row)] if row else lines


def unpack_row(names: list[str]) -> str:
    return f"{', '.join(names)} = {', '.join(f'plan.{name}' for name in names)}"


def parenthesized(name: str, value: str) -> str:
    """An assignment; a long value in parentheses, so that it can be broken."""
    line = f"{name} = {value}"
    return line if len(line) <= 90 else f"{name} = ({value})"


def definition(name: str, parameters: list[str]) -> str:
    """A function head, wrapped where it is long."""
    return "\n".join(wrap_python([f"def {name}({', '.join(parameters)}):"]))


def attribute_text(attribute: Attribute) -> str:
    """What a docstring says of an attribute."""
    kind = "list of int" if attribute.is_list else attribute.kind
    if attribute.components:
        kind = f"({', '.join(attribute.components)})"
    text = kind + (f" in {attribute.interval_text}" if attribute.interval_text else "")
    if attribute.optional:
        return text + ", optional"
    if attribute.required:
        return text + ", required"
    return f"{text}, default {interface.constant(attribute.default)!r}"
