"""The functions for the register tile as C: how a nest starts it, and what becomes of totals."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from cvmgen.emit.c_outlined import part_function
from cvmgen.emit.c_parts import FunctionPrinter, PartScope
from cvmgen.emit.c_spelling import PRIMARY, c_identifier, comment, declarator, pointer
from cvmgen.emit.c_text import signature, versions, wrapped_list
from cvmgen.emit.lines import indented, wrap_c
from cvmgen.ir import nodes as i
from cvmgen.schedule.gpu.mapped import KernelParameter
from cvmgen.schedule.tile_functions import TileFunctions


class TilePrinter(FunctionPrinter):
    """Prints the functions that compute a nest by tiles."""

    def __init__(
        self,
        program: i.Program,
        frame: PartScope,
        tiles: TileFunctions,
        parameters: Sequence[KernelParameter],
    ) -> None:
        super().__init__(program, (*tiles.taking, *tiles.running), frame, None)
        self.tiles, self.parameters = tiles, parameters
        self.pointers.add(tiles.own["block"])
        self.in_threads = True  # tensors come through a structure

    def text(self) -> str:
        functions = ((self.tiles.taking, self.taking), (self.tiles.running, self.running))
        return "\n\n".join(printed() for body, printed in functions if body)

    def taking(self) -> str:
        """The function that takes blocks of totals, behind what it is given."""
        tiles = self.tiles
        block = f"const cvmgen_totals *{tiles.own['block']}"
        members = [self.member(each) for each in tiles.captures]
        formulas = map(comment, self.frame.formulas)
        lines = [*formulas, *self.unpacked(tiles.taking), *self.block(tiles.taking)]
        sets = versions(tiles.taking)
        named = self.frame.named
        made = part_function(tiles.taker, tiles.own, [block], members, sets, lines, named)
        return "\n".join(made)

    def running(self) -> str:
        """The function that runs the nest, and says whether it did."""
        tiles = self.tiles
        parameters = [
            f"const {self.frame.plan} *plan",
            *(f"cvmgen_factor {c_identifier(each)}" for each in tiles.factors),
            *(pointer(replace(each, apart=False), "") for each in self.parameters),
            f"cvmgen_workspace *{tiles.own['space']}",
        ]
        lines = [*self.unpacked(tiles.running), *self.block(tiles.running)]
        name = self.frame.named(tiles.function.removesuffix(tiles.suffix))
        head = signature(f"static bool {name}(", parameters)
        title = "/* The nest by tiles of its totals; false if it is to be run as it stands. */"
        return "\n".join([title, *head, *wrap_c(indented(lines)), "}"])

    def leveled(self, expr: i.Expr) -> tuple[str, int]:
        match expr:
            case i.Var(name=name) if name == self.tiles.taker:
                return self.frame.named(name), PRIMARY
            case i.ListOf(entries=entries):
                return f"{{{', '.join(self.expr(each) for each, _ in entries)}}}", PRIMARY
            case _:
                return super().leveled(expr)

    def statement(self, statement: i.Stmt) -> list[str]:
        match statement:
            case i.Let(name=name, type=kind, value=i.Structure(members=members)):
                lines = [line for each in members for line in self.initialised(*each)]
                return [f"const {declarator(kind, name)} = {{", *indented(lines), "};"]
            case i.Let(name=name, type=kind, value=i.ListOf() as value):
                kind = self.frame.named(kind)  # the structure of what takes totals
                return [f"const {declarator(kind, name)} = {self.expr(value)};"]
            case i.Return(value=i.Call(function=function) as call):
                given = self.arguments_of(call)
                return wrapped_list(f"return cvmgen_{function}(", given, ");", 92)
            case _:
                return super().statement(statement)

    def initialised(self, name: str, value: i.Expr) -> list[str]:
        """A member of a structure; one of several rows may take several lines."""
        match value:
            case i.ListOf(entries=entries):
                rows = [self.expr(each) for each, _ in entries]
                return wrapped_list(f".{name} = {{", rows, "},", 92)
            case _:
                return [f".{name} = {self.expr(value)},"]
