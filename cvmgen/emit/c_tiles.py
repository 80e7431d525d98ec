"""The functions for the register tile as C: how a nest starts it, and what becomes of totals."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace

from cvmgen.analysis.plan import Field
from cvmgen.emit.c_kernels import KernelPrinter
from cvmgen.emit.c_spelling import PRIMARY, c_identifier, comment, declared, indented, pointer
from cvmgen.emit.c_text import signature, wrapped_list
from cvmgen.emit.wrap import wrap_c
from cvmgen.ir import nodes as i
from cvmgen.ir.uses import reassigned
from cvmgen.schedule.gpu.mapped import Parameter
from cvmgen.schedule.tile_functions import TileFunctions


class TilePrinter(KernelPrinter):
    """Prints the functions that compute a nest by tiles."""

    def __init__(
        self,
        program: i.Program,
        nest: i.Nest,
        tiles: TileFunctions,
        parameters: Sequence[Parameter],
        restrict: str,
        fields: Callable[[i.Block], list[Field]],
        unpack: Callable[[Iterable[Field]], list[str]],
    ) -> None:
        self.fields, self.unpack = fields, unpack
        reads = self.fields((*tiles.taking, *tiles.running))
        super().__init__(
            program, tiles.taking, [each.name for each in reads if each.type == "cvmgen_list"]
        )
        self.tiles, self.parameters, self.restrict = tiles, parameters, restrict
        self.plan = f"{program.operator.name}_plan"
        self.quoted = program.quoted(nest)
        self.pointers.add(tiles.own["block"])

    def text(self) -> str:
        return "\n\n".join(["\n".join(self.structure()), self.taking(), self.running()])

    def structure(self) -> list[str]:
        members = [f"const {self.plan} *plan;", *(f"{each};" for each in self.pointers_given())]
        return [
            "/* What becomes of totals depends on this. */",
            f"typedef struct {self.tiles.structure} {{",
            *indented(members),
            f"}} {self.tiles.structure};",
        ]

    def pointers_given(self) -> list[str]:
        """What is behind the totals as members and parameters, which may be the same."""
        return [pointer(replace(each, apart=False), "") for each in self.parameters]

    def taking(self) -> str:
        """The function that takes blocks of totals."""
        tiles, own = self.tiles, self.tiles.own
        given, block = own["given"], own["block"]
        self.changing = frozenset(reassigned(tiles.taking))
        lines = [f"const {tiles.structure} *const {given} = {own['call']};"]
        if fields := self.fields(tiles.taking):
            lines.append(f"const {self.plan} *const plan = {given}->plan;")
            lines += self.unpack(fields)
        for each in self.parameters:
            lines.append(f"{pointer(each, self.restrict)} = {given}->{c_identifier(each.name)};")
        lines += [comment(self.quoted), *self.block(tiles.taking)]
        arguments = [f"const void *{own['call']}", f"const cvmgen_totals *{block}"]
        head = signature(f"static void {tiles.taker}(", arguments)
        return "\n".join([*head, *wrap_c(indented(lines)), "}"])

    def running(self) -> str:
        """The function that runs the nest, and says whether it did."""
        tiles = self.tiles
        parameters = [
            f"const {self.plan} *plan",
            *(f"cvmgen_factor {c_identifier(each)}" for each in tiles.factors),
            *self.pointers_given(),
            f"cvmgen_workspace *{tiles.own['space']}",
        ]
        lines = [*self.unpack(self.fields(tiles.running)), *self.block(tiles.running)]
        head = signature(f"static bool {tiles.function}(", parameters)
        title = "/* The nest by tiles of its totals; false if it is to be run as it stands. */"
        return "\n".join([title, *head, *wrap_c(indented(lines)), "}"])

    def leveled(self, expr: i.Expr) -> tuple[str, int]:
        match expr:
            case i.ListOf(entries=entries):
                return f"{{{', '.join(self.expr(each) for each, _ in entries)}}}", PRIMARY
            case _:
                return super().leveled(expr)

    def statement(self, statement: i.Stmt) -> list[str]:
        match statement:
            case i.Let(name=name, type=kind, value=i.Structure(members=members)):
                lines = [line for each in members for line in self.member(*each)]
                return [f"const {declared(kind, name)} = {{", *indented(lines), "};"]
            case i.Let(name=name, type=kind, value=i.ListOf() as value):
                return [f"const {declared(kind, name)} = {self.expr(value)};"]
            case i.Return(value=i.Call(function=function) as call):
                given = self.arguments_of(call)
                return wrapped_list(f"return cvmgen_{function}(", given, ");", 92)
            case _:
                return super().statement(statement)

    def member(self, name: str, value: i.Expr) -> list[str]:
        """A member of a structure; one of several rows may take several lines."""
        match value:
            case i.ListOf(entries=entries):
                rows = [self.expr(each) for each, _ in entries]
                return wrapped_list(f".{name} = {{", rows, "},", 92)
            case _:
                return [f".{name} = {self.expr(value)},"]
