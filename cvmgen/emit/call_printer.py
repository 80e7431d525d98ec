"""Calls of operators as C and CUDA: checks, requests for memory, calls and launches of kernels."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import chain

from cvmgen.emit import interface
from cvmgen.emit.c_like import made_for
from cvmgen.emit.c_spelling import PRIMARY, comment, declarator
from cvmgen.emit.c_text import wrapped_list
from cvmgen.emit.host_printer import HostPrinter
from cvmgen.emit.lines import indented
from cvmgen.ir import checks as h
from cvmgen.ir import nodes as i
from cvmgen.ir.uses import reassigned
from cvmgen.ir.visit import walk
from cvmgen.schedule.dispatch import STATUS
from cvmgen.spec.formula import Operator

DECLARED = "Elements that are declared to fit int8 are read as such."


class CallPrinter(HostPrinter):
    """Statements of a call in lines of so many columns; `kernels` are the names of functions."""

    outcome = "status = "  # what is done with that of a launch

    def __init__(
        self, operator: Operator, plan: str, kernels: Mapping[str, str], width: int = 96
    ) -> None:
        super().__init__(operator, plan, named=False)
        self.kernels, self.width = {**kernels, "free": "free"}, width

    def part(self, statements: i.Block) -> list[str]:
        self.changing = frozenset((*reassigned(statements), STATUS.name))  # launches change it
        return self.block(statements)

    def nested(self, body: i.Block) -> list[str]:
        self.width -= 4
        lines = super().nested(body)
        self.width += 4
        return lines

    # -------------------------------------------------------- expressions

    def leveled(self, expr: i.Expr) -> tuple[str, int]:
        match expr:
            case i.Call(function=function) if function in self.kernels:
                return f"{self.kernels[function]}({', '.join(self.arguments_of(expr))})", PRIMARY
            case i.Call(function="row", arguments=(i.Const(value=row),)):
                return interface.row_names(self.operator)[row], PRIMARY
            case i.Call(function="type_code", arguments=(row, column)):
                rows = f"{self.operator.name}_rows"
                return f"{rows}[{self.expr(row)}][{self.expr(column)}]", PRIMARY
            case i.Call(function="domain", arguments=extents):
                return f"cvmgen_domain({{{', '.join(map(self.expr, extents))}}})", PRIMARY
            case i.Member(structure=i.Member(structure=h.ARGUMENTS) as tensor, name=name):
                return f"{self.expr(tensor)}->{name}", PRIMARY
            case i.Member(structure=i.Item() as tensor, name=name):
                return f"{self.expr(tensor)}->{name}", PRIMARY
            case i.ListOf(entries=entries) if entries:
                return f"{{{', '.join(self.expr(each) for each, _ in entries)}}}", PRIMARY
            case _:
                return super().leveled(expr)

    def item(self, expr: i.Item) -> tuple[str, int]:
        match expr.sequence:
            case i.Member(structure=h.PLAN) as planned:  # a list that the plan holds
                return f"{self.expr(planned)}.at[{self.expr(expr.index)}]", PRIMARY
            case _:
                return super().item(expr)

    def arguments_of(self, call: i.Call) -> list[str]:
        if not any(isinstance(each, i.ListOf) for each in call.arguments):
            return super().arguments_of(call)
        return [*chain.from_iterable(map(self.items, call.arguments))]

    def items(self, value: i.Expr) -> list[str]:
        """A value, of a list each entry: between them lines may end."""
        match value:
            case i.ListOf(entries=entries) if entries:
                first, *others = (", ".join(self.items(each)) for each, _ in entries)
                *middle, last = f"{{{first}", *others
                return [*middle, f"{last}}}"]
            case _:
                return [self.expr(value)]

    # -------------------------------------------------------- statements

    def statement(self, statement: i.Stmt) -> list[str]:
        match statement:
            case i.Let(type=kind) if kind != "list":
                return self.local(statement)
            case i.Assign(name=name, value=i.Call(function="worthwhile_tiles") as call):
                return self.worthwhile(f"{self.named(name)} = ", call)
            case i.If(condition=condition, then=(i.Assign(),)) if any(
                isinstance(each, i.Member) and each.name == "precision" for each in walk(condition)
            ):
                return [comment(DECLARED), *self.branch(statement)]
            case i.Invoke(call=call):
                return self.called("", call)
            case i.Launch():
                return self.launch(statement)
            case _:
                return super().statement(statement)

    def local(self, local: i.Let) -> list[str]:
        """A local of the call; a long list of what a helper is given or a structure consists of
        stands on several lines, below each other."""
        constant = "" if local.name in self.changing else "const "
        head = f"{constant}{declarator(local.type, self.named(local.name))} = "
        match local.value:
            case i.ListOf(entries=()):
                return [f"{declarator(local.type, self.named(local.name))} = {{}};"]
            case i.ListOf(entries=entries):
                items = [self.expr(each) for each, _ in entries]
                return wrapped_list(f"{head}{{", items, "};", self.width)
            case i.Call(function="domain", arguments=extents):
                items = [self.expr(each) for each in extents]
                return wrapped_list(f"{head}cvmgen_domain({{", items, "});", self.width)
            case i.Call(function="worthwhile_tiles") as call:
                return self.worthwhile(head, call)
            case i.Call() as call if len(head) + len(self.expr(call)) >= self.width:
                return self.called(head, call)
            case value:
                return [f"{head}{self.expr(value)};"]

    def called(self, head: str, call: i.Call) -> list[str]:
        """The call of a function, with what it is given below each other."""
        name = self.kernels.get(call.function, f"cvmgen_{call.function}")
        return self.below(f"{head}{name}(", self.arguments_of(call))

    def below(self, head: str, items: list[str]) -> list[str]:
        """What a function is given behind its name, or below it where there is too little room."""
        if len(head) + max(map(len, items)) + 2 <= self.width:
            return wrapped_list(head, items, ");", self.width)
        return [head, *wrapped_list("    ", items, ");", self.width)]

    def worthwhile(self, head: str, call: i.Call) -> list[str]:
        """How many tiles there are, if they pay: a line for the sizes and one for each bound."""
        *sizes, reaches = call.arguments
        texts = list(map(self.expr, sizes))
        row = ", ".join(texts)
        rows = [f"{row},"] if len(row) <= 80 else [f"{each}," for each in texts]
        first, *others = self.items(reaches)
        *bounds, last = [first, *(f" {each}" for each in others)]
        lines = [*rows, *(f"{each}," for each in bounds), f"{last});"]
        return [f"{head}cvmgen_worthwhile_tiles(", *indented(lines)]

    def launch(self, launch: i.Launch) -> list[str]:
        """The start of a kernel by one of the functions for it."""
        function = f"cvmgen_{launch.function.function}{made_for(launch.function)}"
        given = ["error", "stream", self.expr(launch.count), self.kernels[launch.kernel]]
        given += map(self.expr, launch.arguments)
        return self.below(f"{self.outcome}{function}(", given)
