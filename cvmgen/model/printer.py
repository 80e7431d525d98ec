"""Steps as C: a function for each, and for the parts of it that threads take."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from cvmgen.algebra import simplify
from cvmgen.emit.c_parts import FunctionPrinter, PartScope, outlined_function
from cvmgen.emit.c_spelling import MACHINE_TYPES, c_identifier, comment
from cvmgen.emit.c_text import signature, versions, wrapped_list
from cvmgen.emit.lines import indented, wrap_c
from cvmgen.ir import nodes as i
from cvmgen.ir.uses import has, nodes_in, read_tensors, stored_tensors
from cvmgen.known.known_types import ElementStorage
from cvmgen.model.steps import KernelStep
from cvmgen.schedule.outline import OutlinedPart, call_name


def step_text(step: KernelStep, kinds: Mapping[str, str]) -> str:
    """The function of a step, behind those of its parts; `kinds`: what its parameters point to."""
    comments = [str(each) for each in step.kernel.origins]
    frame = PartScope("", tuple(comments), "restrict", kinds, lambda _: [], lambda _: [])
    program = i.Program(step.kernel.operator, (), ())
    left = step.outlined
    functions = [outlined_function(program, frame, each, StepPrinter) for each in step.parts]
    printer = StepPrinter(program, (*step.front, *left), frame, None)
    lines = [*printer.tables(left), *printer.block(step.front), *printer.block(left)]
    match left:
        case (i.Fork(),):  # which says it itself
            pass
        case _:
            lines = [*map(comment, comments), *lines]
    parameters = [f"{kind} *restrict {c_identifier(each)}" for each, kind in kinds.items()]
    head = head_lines(f"static void {step.name}(", parameters)
    whole = [*printer.versions(left), *head, *wrap_c(indented(lines)), "}"]
    return "\n\n".join([*functions, "\n".join(whole)])


class StepPrinter(FunctionPrinter):
    """Statements of a step. A model's threads are its own, and its processor is chosen by compilers
    for whole functions."""

    def statement(self, statement: i.Stmt) -> list[str]:
        if isinstance(statement, i.Tile):
            return self.tile(statement)
        return super().statement(statement)

    def apart(self, loop: i.Loop) -> bool:
        """Local arrays are other memory, too: compilers do not see it of those that tiles fill."""
        read, written = read_tensors(loop), stored_tensors(loop)
        return bool(loop.vector and written - self.arrays and read - written)

    def loop(self, loop: i.Loop) -> list[str]:
        """Loops of totals, and those with choices, stay loops for the compiler: written out before
        vectors are found, gcc 12 gets what is read on a condition wrong, by threes or fives."""
        lines = super().loop(loop)
        updated = any(
            each.target.tensor in self.arrays & read_tensors(each.value)
            for each in nodes_in(loop.body, i.Store)
        )
        apart = loop.vector and (updated or has(loop.body, i.Select, i.If))
        return ["CVMGEN_TOGETHER", *lines] if apart else lines

    def array(self, array: i.Array) -> str:
        """Totals of tiles are vectors."""
        text = f"{MACHINE_TYPES[array.type]} {c_identifier(array.name)}[{array.length}];"
        totals = {each.totals.tensor for each in nodes_in(self.body, i.Tile)}
        return f"_Alignas(64) {text}" if array.name in totals else text

    def run(self, run: i.Copy | i.Fill) -> list[str]:
        """A border of bytes."""
        if not isinstance(run, i.Fill):
            return super().run(run)
        return [
            f"memset({self.behind(run.target)}, {self.expr(run.value)}, {self.expr(run.count)});"
        ]

    def behind(self, place: i.Load) -> str:
        """A pointer to an element."""
        name = c_identifier(place.tensor)
        return name if place.offset == i.Const(0) else f"{name} + {self.expr(place.offset, 9)}"

    def tables(self, body: i.Block) -> list[str]:
        """Where the runs of tiles begin."""
        return [line for each in nodes_in(body, i.Tile) for line in runs_table(each)]

    def tile(self, tile: i.Tile) -> list[str]:
        members = {
            "x": self.behind(tile.data),
            "rows": self.behind(tile.rows),
            "runs": c_identifier(tile.table),
            "run_count": str(len(tile.runs)),
            "run_quads": str(tile.quads),
            "panels": self.behind(tile.panels),
            "totals": self.behind(tile.totals),
            "step": str(tile.step),
            "row_count": self.expr(tile.row_count),
            "panel_count": self.expr(tile.panel_count),
            **({"zero": str(tile.zero)} if tile.zero else {}),
            "turned": str(tile.turned).lower(),
        }
        given = [f".{name} = {value}" for name, value in members.items()]
        name = c_identifier(tile.name)
        return [
            *wrapped_list(f"const cvmgen_tile {name} = {{", given, "};", 84),
            f"cvmgen_run_tile(&{name});",
        ]

    # -------------------------------------------------------- a loop in threads

    def versions(self, body: i.Block) -> list[str]:
        return ["STEP"] if versions(body) else []

    def part(self, part: OutlinedPart) -> list[str]:
        return [*self.tables(part.body), *super().part(part)]

    def given_to(self, fork: i.Fork, values: Sequence[str]) -> list[str]:
        return wrapped_list(f"const {call_name(fork.part)} {fork.call} = {{", [*values], "};", 92)

    def share(self, fork: i.Fork) -> list[str]:
        count = self.expr(simplify(fork.count))
        match fork.worth:
            case i.Compare(left=i.Const(value=int(much)), right=i.Const(value=int(least))):
                parts = str(max(2, much // least))
            case _:
                parts = count
        return [f"share({count}, {parts}, {fork.part}, &{fork.call});"]


def runs_table(tile: i.Tile) -> list[str]:
    starts = list(map(str, tile.runs))
    head = f"static const int64_t {c_identifier(tile.table)}[{len(starts)}] = {{"
    return wrapped_list(head, starts, "};")


def c_element_type(elements: ElementStorage) -> str:
    return MACHINE_TYPES[elements.type]


def head_lines(head: str, parameters: Sequence[str]) -> list[str]:
    """A function head; where its name is long, its parameters begin on the next line."""
    if all(len(head) + len(each) < 96 for each in parameters):
        return signature(head, list(parameters))
    return [head, *wrapped_list(" " * 8, list(parameters), ") {")]
