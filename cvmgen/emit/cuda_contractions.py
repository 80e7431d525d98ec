"""Contractions as kernels of tiles: the formula's offsets, tests and stores around the support
header's tile of products of int8."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from cvmgen.analysis.contraction import Contraction, Side, contraction, factor_sizes
from cvmgen.analysis.facts import Facts
from cvmgen.analysis.grid import grid
from cvmgen.analysis.tiling import read_locals
from cvmgen.dtypes import CVM
from cvmgen.emit.c_like import MACHINE_TYPES, comment, identifier, indent
from cvmgen.emit.c_text import single, wrapped_list
from cvmgen.emit.cuda_mappings import Kernel, Mapping, Task
from cvmgen.emit.cuda_text import CudaKernelPrinter
from cvmgen.ir import nodes as i
from cvmgen.ir.logic import opposite
from cvmgen.ir.rewrite import with_offsets
from cvmgen.ir.uses import names_in

BOUNDS = "CVMGEN_TILE_THREADS, CVMGEN_TILE_RESIDENT"


def contraction_of(task: Task) -> Contraction | None:
    """The nest as a contraction of int8, or of int32 that may be as small; None if it is none."""
    outer = grid(task.body)
    facts = Facts.of(task.program, task.nest)
    sizes = factor_sizes(task.program, task.dtypes)
    return contraction(outer.loops, outer.body, facts, sizes)


def direct(task: Task) -> Task:
    """The nest for kernels beside those of tiles; their launches stand a level deeper."""
    return replace(task, name=f"{task.name}_direct", width=task.width - 8)


class Tiles(Mapping):
    """A block for each tile of totals, where tiles pay; else the mapping `otherwise`."""

    kind = "contraction"

    def __init__(self, task: Task, found: Contraction, otherwise: Mapping) -> None:
        super().__init__(task)
        self.found = found
        self.otherwise = otherwise

    @property
    def headers(self) -> tuple[str, ...]:
        return ("cvmgen_tiles.h", *self.otherwise.headers)

    def kernels(self) -> list[Kernel]:
        task = self.task
        printer = TilePrinter(task, self.found)
        text = task.kernel(printer.lines(), bounds=BOUNDS, short=printer.short)
        return [Kernel(task.name, self.kind, text), *self.otherwise.kernels()]

    def before(self) -> list[str]:
        sizes = [product(loops, self.task) for loops in self.sizes()]
        reaches = [real_text(each, self.task) for each in self.found.reaches]
        most = ["{" + reaches[0], *(f" {each}" for each in reaches[1:])]
        # A line for the sizes and one for each bound; long ones break further.
        lines = [*self.sizes_lines(sizes), *(f"{each}," for each in most[:-1])]
        call = ["cvmgen_worthwhile_tiles(", *indent([*lines, f"{most[-1]}}});"])]
        tests = self.tests()
        if not tests:
            return [*self.otherwise.before(), f"const int64_t tiles = {call[0]}", *call[1:]]
        head = f"if ({' && '.join(tests)})"
        start = ["int64_t tiles = 0;", head, *indent([f"tiles = {call[0]}", *call[1:]])]
        if any("precision" in each for each in tests):
            start.insert(1, comment("Elements that are declared to fit int8 are read as such."))
        return [*self.otherwise.before(), *start]

    @staticmethod
    def sizes_lines(sizes: Sequence[str]) -> list[str]:
        line = ", ".join(sizes)
        return [f"{line},"] if len(line) <= 80 else [f"{each}," for each in sizes]

    def tests(self) -> list[str]:
        """What must hold besides: there is a quotient, factors fit int8, sums their accumulator."""
        found, lines = self.found, []
        if found.divided is not None:
            host = self.task.on_host
            divisor, extent = host(found.divided.divisor, 11), host(found.divided.extent, 11)
            lines.append(f"{divisor} > 0 && {extent} % {divisor} == 0")
        names = dict.fromkeys(side.load.tensor for side in (found.rows, found.columns))
        declared = [f"args->{name}->precision <= 8" for name in names if not self.typed(name)]
        if declared:
            lines.append(f"narrow || ({' && '.join(declared)})")
        if found.total.type not in ("u32", "i32"):
            lines.append(f"{product(found.summed, self.task)} <= CVMGEN_EXACT_DEPTH")
        return [f"({each})" if "||" in each else each for each in lines] if lines[1:] else lines

    def typed(self, tensor: str) -> bool:
        return any(
            item.name == tensor and item.dtype != CVM for item in self.task.program.operator.inputs
        )

    def sizes(self) -> tuple[tuple[i.Loop, ...], ...]:
        """Batches, rows, columns, depth."""
        found = self.found
        return (found.batches, found.rows.lines, found.columns.lines, found.summed)

    def start(self) -> list[str]:
        task = replace(self.task, width=self.otherwise.task.width)
        tiled, rest = task.launch("cvmgen_launch_tiles", "tiles"), self.otherwise.start()
        if single(rest):
            return ["if (tiles > 0)", *indent(tiled), "else", *indent(rest)]
        return ["if (tiles > 0) {", *indent(tiled), "} else {", *indent(rest), "}"]


def product(loops: Iterable[i.Loop], task: Task) -> str:
    """How many iterations loops have, on the host."""
    extents = [task.on_host(loop.high) for loop in loops]
    match extents:
        case []:
            return "1"
        case [extent]:
            return extent
        case _:
            return f"cvmgen_domain({{{', '.join(extents)}}})"


def real_text(expr: i.Expr, task: Task) -> str:
    """A sum of products as a real number: none of its steps overflows."""
    text, real = real_value(expr, task, 0)
    return text if real else f"(double){task.on_host(expr, 11)}"


def real_value(expr: i.Expr, task: Task, above: int) -> tuple[str, bool]:
    """The text of a value, and whether it is a real number."""
    match expr:
        case i.Binary(op="+" | "*" as op, left=left, right=right):
            level = 9 if op == "+" else 10
            first, real = real_value(left, task, level)
            second, other = real_value(right, task, level + 1)
            if op == "*" and not real and not other:
                first, real = f"(double){task.on_host(left, 11)}", True
            text = f"{first} {op} {second}"
            return (f"({text})" if level < above else text), real or other
        case _:
            return task.on_host(expr, above), False


class TilePrinter(CudaKernelPrinter):
    """The statements of a kernel of tiles."""

    def __init__(self, task: Task, found: Contraction) -> None:
        super().__init__(task.program, task.body)
        self.found, self.dtypes = found, task.dtypes
        values = with_offsets(found.after, lambda _: i.Const(0))
        # What stands in offsets and tests alone is computed in int32, as the host has proved.
        self.wide = names_in(values)
        self.short = frozenset(names_in(task.body) - self.wide)
        self.names = {
            each: self.fresh(each)
            for each in ("whole", "memory", "at", "tile", "place", "row", "column", "a", "b")
        }

    def lines(self) -> list[str]:
        found, names = self.found, self.names
        sizes = [
            self.product(found.batches),
            self.product(found.rows.lines),
            self.product(found.columns.lines),
            self.product(found.summed),
        ]
        whole, at, tile, memory = (names[each] for each in ("whole", "at", "tile", "memory"))
        arguments = [memory, whole, tile, names["a"], names["b"]]
        return [
            *wrapped_list(f"const cvmgen_contraction {whole} = {{", sizes, "};"),
            f"CVMGEN_DYNAMIC_SHARED({memory});",
            f"for (int64_t {at} = blockIdx.x; {at} < {whole}.tiles(); {at} += gridDim.x) {{",
            *indent(
                [
                    f"const cvmgen_tile {tile}({whole}, {at});",
                    *self.unravel_lines(found.batches, f"{tile}.batch"),
                    *self.factor(names["a"], found.rows, names["row"]),
                    *self.factor(names["b"], found.columns, names["column"]),
                    *self.taking(", ".join(arguments)),
                ]
            ),
            "}",
        ]

    def product(self, loops: Sequence[i.Loop]) -> str:
        text = " * ".join(self.expr(loop.high, 10) for loop in loops) or "1"
        if not names_in(tuple(loop.high for loop in loops)) & self.wide:
            return text
        return f"(int32_t){text}" if text.isidentifier() else f"(int32_t)({text})"

    # -------------------------------------------------------- indices

    def integer(self, name: str) -> str:
        return "int64_t" if name in self.wide else "int32_t"

    def unravel_lines(self, loops: Sequence[i.Loop], position: str) -> list[str]:
        """The indices at a position among all of some loops."""
        if len(loops) == 1:
            (loop,) = loops
            return [f"const {self.integer(loop.index)} {identifier(loop.index)} = {position};"]
        lines = []
        rest = position
        for at, loop in enumerate(reversed(loops)):
            size = self.expr(loop.high, 11)
            value = f"{rest} % {size}" if at < len(loops) - 1 else rest
            lines.append(f"const {self.integer(loop.index)} {identifier(loop.index)} = {value};")
            rest = f"{rest} / {size}"
        return lines

    def line(self, loops: Sequence[i.Loop], position: str) -> tuple[str, list[str]]:
        """The parameter for a line, and the indices that it stands for."""
        if len(loops) == 1:
            index, lines = loops[0].index, []
            parameter = f"{self.integer(index)} {identifier(index)}"
        else:
            parameter, lines = f"int32_t {position}", self.unravel_lines(loops, position)
        divided = self.found.divided
        if divided is not None and any(loop.index == divided.inner for loop in loops):
            index = divided.index
            value = self.expr(divided.whole)
            lines.append(f"const {self.integer(index)} {identifier(index)} = {value};")
        return parameter, lines

    def local(self, let: i.Let) -> str:
        """A local of indices, in int32 where nothing else reads it."""
        short = let.type == "i64" and let.name not in self.wide
        (line,) = self.let(replace(let, type="i32") if short else let)
        return line

    # -------------------------------------------------------- factors

    def factor(self, name: str, side: Side, position: str) -> list[str]:
        """A factor, whose elements stand in a row or anywhere."""
        parameter, lines = self.line(side.lines, position)
        varying = {loop.index for loop in self.found.summed}
        inner: list[i.Let | i.Expr] = []
        for step in side.steps:
            if not isinstance(step, i.Let) or inner or names_in(step.value) & varying:
                inner.append(step)
            else:
                lines.append(self.local(step))
        tensor, element = identifier(side.load.tensor), self.dtypes[side.load.tensor].c
        if side.start is not None:
            head = f"const auto {name} = cvmgen_rows_of({tensor}, [=]({parameter}) {{"
            return [head, *indent([*lines, f"return {self.expr(side.start)};"]), "});"]
        box = ", ".join(self.expr(loop.high) for loop in self.found.summed)
        kind = f"cvmgen_place<{len(self.found.summed)}>"
        head = f"const auto {name} = cvmgen_elements_of({kind}{{{{{box}}}, {{}}}}, "
        place = self.names["place"]
        reading = [f"return [=](const {kind} &{place}) -> {element} {{"]
        reading += indent([*self.place(place), *self.element(inner, side.load)])
        return [f"{head}[=]({parameter}) {{", *indent([*lines, *reading, "};"]), "});"]

    def place(self, place: str) -> list[str]:
        indices = (identifier(loop.index) for loop in self.found.summed)
        values = [f"{index} = {place}[{at}]" for at, index in enumerate(indices)]
        return wrapped_list("const int32_t ", values, ";")

    def element(self, steps: Iterable[i.Let | i.Expr], load: i.Load) -> list[str]:
        lines = []
        for step in steps:
            if isinstance(step, i.Let):
                lines.append(self.local(step))
            else:
                lines.append(f"if ({self.expr(opposite(step))}) return 0;")
        return [*lines, f"return {self.expr(load)};"]

    # -------------------------------------------------------- totals

    def taking(self, given: str) -> list[str]:
        """What becomes of a total: the statements of the nest behind its sum."""
        found, total = self.found, self.found.total
        column, lines = self.line(found.columns.lines, self.names["column"])
        row, own = self.line(found.rows.lines, self.names["row"])
        kind = MACHINE_TYPES[total.type]
        own += [self.local(each) for each in read_locals(found.before, found.after)]
        own += self.block(found.after)
        inner = [f"return [=]({row}, {kind} {identifier(total.name)}) {{", *indent(own), "};"]
        head = f"cvmgen_contract<{kind}>({given}, [=]({column}) {{"
        return [head, *indent([*lines, *inner]), "});"]
