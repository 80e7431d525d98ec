"""Contractions in C by the register tile: the numbers that say where elements stand, and the
statements behind the totals."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace

from cvmgen.analysis.facts import Facts
from cvmgen.analysis.plan import Field
from cvmgen.analysis.tiling import AffineSteps, Flat, Stored, Tiling, flat_lines, read_locals
from cvmgen.emit.c_kernels import KernelPrinter
from cvmgen.emit.c_spelling import c_identifier, comment, indented, pointer
from cvmgen.emit.c_text import signature, wrapped_list
from cvmgen.emit.wrap import wrap_c
from cvmgen.ir import nodes as i
from cvmgen.ir.loops import product, unravel
from cvmgen.ir.uses import assigned, names_in, reassigned
from cvmgen.ir.visit import fresh
from cvmgen.schedule.signatures import TiledKernel

ZERO: i.Expr = i.Const(0)
OWN = ("call", "given", "block", "row", "column", "totals", "first", "space", "nest")


class TilePrinter(KernelPrinter):
    """The functions that compute a nest by tiles."""

    def __init__(
        self,
        program: i.Program,
        nest: i.Nest,
        body: tuple[i.Stmt, ...],
        tiling: Tiling,
        tiled: TiledKernel,
        restrict: str,
        fields: Callable[[tuple[object, ...]], list[Field]],
        unpack: Callable[[Iterable[Field]], list[str]],
    ) -> None:
        self.fields, self.unpack = fields, unpack
        reads = self.fields((body, tiling.x_start, tiling.w_start, tiling.lines))
        super().__init__(program, body, [each.name for each in reads if each.type == "cvmgen_list"])
        self.nest, self.tiling, self.tiled, self.restrict = nest, tiling, tiled, restrict
        self.name, self.parameters = tiled.name, tiled.parameters
        self.plan = f"{program.operator.name}_plan"
        self.quoted, self.facts = program.quoted(nest), Facts.of(program, nest)
        taken = set(names_in(body)) | assigned(body) | {each.name for each in reads}
        taken |= {c_identifier(each.name) for each in tiled.parameters}
        self.names = {each: fresh(each, taken) for each in OWN}
        self.pointers.add(self.names["block"])
        self.span = nest.span
        found = tiling.found
        rows = flat_lines(found.after, tiling.x.lines, found.divided, self.facts)
        self.columns = flat_lines(rows.statements, tiling.w.lines, found.divided, self.facts)
        self.rows = rows
        self.after = self.columns.statements
        self.locals = read_locals(found.before, self.after)

    def text(self) -> str:
        return "\n\n".join(["\n".join(self.structure()), self.taking(), self.running()])

    def structure(self) -> list[str]:
        members = [f"{each};" for each in self.pointers_given()]
        name = f"{self.name}_call"
        return [
            "/* What becomes of totals depends on this. */",
            f"typedef struct {name} {{",
            *indented([f"const {self.plan} *plan;", *members]),
            f"}} {name};",
        ]

    def pointers_given(self) -> list[str]:
        """What is behind the totals as members and parameters, which may be the same."""
        return [pointer(replace(each, apart=False), "") for each in self.parameters]

    # -------------------------------------------------------- behind the totals

    def taking(self) -> str:
        """The function that takes blocks of totals."""
        names, statements = self.names, self.statements()
        given, block = names["given"], names["block"]
        self.changing = frozenset(reassigned(statements))
        lines = [f"const {self.name}_call *const {given} = {names['call']};"]
        if fields := self.fields(statements):
            lines.append(f"const {self.plan} *const plan = {given}->plan;")
            lines += self.unpack(fields)
        for each in self.parameters:
            name = c_identifier(each.name)
            lines.append(f"{pointer(each, self.restrict)} = {given}->{name};")
        lines += [comment(self.quoted), *self.block(statements)]
        arguments = [f"const void *{names['call']}", f"const cvmgen_totals *{block}"]
        head = signature(f"static void {self.name}_totals(", arguments)
        return "\n".join([*head, *wrap_c(indented(lines)), "}"])

    def statements(self) -> i.Block:
        """The loops over a block, the one whose totals are neighbours inside, and in them the
        statements of the nest behind its sum."""
        found = self.tiling.found
        sides = ((self.rows, "row"), (self.columns, "column"))
        (inner, near), (outer, far) = sides if self.tiling.turned else reversed(sides)
        start = i.Binary("*", i.Var(self.names[far]), self.of_block("step"))
        totals = i.Binary("+", self.of_block("totals"), start)
        total: i.Expr = i.Load(self.names["totals"], None, i.Var(self.names[near]))
        if found.total.type != "i32":
            total = i.Convert(found.total.type, total)
        each = (
            *self.index(inner, near),
            *self.locals,
            replace(found.total, value=total),
            *self.after,
        )
        line = (
            *self.firsts(outer, far),
            *self.index(outer, far),
            i.Let(self.names["totals"], "totals", totals, self.span),
            self.over(near, each),
        )
        batches = self.unravel(found.batches, self.of_block("batch"))
        return (*batches, *self.firsts(inner, near), self.over(far, line))

    def of_block(self, member: str) -> i.Expr:
        return i.Member(i.Var(self.names["block"]), member)

    def over(self, side: str, body: i.Block) -> i.Loop:
        """A loop over the rows or columns of a block."""
        return i.Loop(self.names[side], ZERO, self.of_block(f"{side}s"), body, 0, self.span)

    def firsts(self, side: Flat, name: str) -> i.Block:
        """The indices of a side outside of its groups, which a block has one of each."""
        if not side.outer:
            return ()
        return self.unravel(side.outer, i.Binary("truncdiv", self.of_block(name), group_size(side)))

    def index(self, side: Flat, name: str) -> i.Block:
        """The last index of a side, and the one that it is a part of."""
        first = self.of_block(name)
        if side.outer:
            first = i.Binary("rem", first, group_size(side))
        value = i.Binary("+", first, i.Var(self.names[name]))
        index = i.Let(side.lines[-1].index, "i64", value, self.span)
        divided = self.tiling.found.divided
        if divided is None or all(loop.index != divided.inner for loop in side.lines):
            return (index,)
        return index, i.Let(divided.index, "i64", divided.whole, self.span)

    def unravel(self, loops: Sequence[i.Loop], position: i.Expr) -> i.Block:
        """The indices at a position among all of some loops, the last one first."""
        values = unravel(position, [loop.high for loop in loops]) if loops else []
        pairs = reversed([*zip(loops, values, strict=True)])
        return tuple(i.Let(loop.index, "i64", value, self.span) for loop, value in pairs)

    # -------------------------------------------------------- where elements stand

    def running(self) -> str:
        """The function that runs the nest, and says whether it did."""
        names, tiling = self.names, self.tiling
        factors = [f"cvmgen_factor {c_identifier(each)}" for each in self.tiled.factors]
        parameters = [f"const {self.plan} *plan", *factors, *self.pointers_given()]
        parameters.append(f"cvmgen_workspace *{names['space']}")
        call = ", ".join(["plan", *(c_identifier(each.name) for each in self.parameters)])
        tests, numbers, rows = self.tests(), self.numbers(), self.box_rows()
        stored = () if self.stored is None else (self.stored.start,)
        printed = (*tests, *numbers.values(), *map(tuple, rows.values()), *stored)
        lines = self.unpack(self.fields(printed))
        if tests:
            lines.append(f"if ({' || '.join(self.expr(each, 3) for each in tests)}) return false;")
        lines += [
            f"const {self.name}_call {names['call']} = {{{call}}};",
            f"const cvmgen_contraction {names['nest']} = {{",
            *indented(self.members(numbers, rows)),
            "};",
        ]
        turned = "true" if tiling.turned else "false"
        given = [f"&{names['nest']}", *map(c_identifier, self.tiled.factors), turned]
        given += [f"{self.name}_totals", f"&{names['call']}", names["space"]]
        lines += wrapped_list("return cvmgen_contract(", given, ");", 92)
        head = signature(f"static bool {self.tiled.function}(", parameters)
        title = "/* The nest by tiles of its totals; false if it is to be run as it stands. */"
        return "\n".join([title, *head, *wrap_c(indented(lines)), "}"])

    def tests(self) -> list[i.Expr]:
        """What must not be: there is too little to do, there is no quotient, or sums do not fit
        their accumulator."""
        found, tests = self.tiling.found, list[i.Expr]()
        match self.tiling.worth:
            case i.Compare(op=">=", left=much, right=least):
                tests.append(i.Compare("<", much, least))
            case _:
                pass
        if found.divided is not None:
            divisor, extent = found.divided.divisor, found.divided.extent
            tests.append(i.Compare("<", divisor, i.ONE))
            tests.append(i.Compare("!=", i.Binary("rem", extent, divisor), ZERO))
        if found.total.type not in ("u32", "i32"):
            depth = product([loop.high for loop in found.summed])
            tests.append(i.Compare(">", depth, i.Call("exact_depth", ())))
        return tests

    def numbers(self) -> dict[str, i.Expr]:
        """The members of the contraction that are one number."""
        tiling = self.tiling
        return {
            "x_start": tiling.x_start,
            "w_start": tiling.w_start,
            "x_count": tiling.sizes[tiling.x.load.tensor],
            "w_count": tiling.sizes[tiling.w.load.tensor],
            "row_group": group_size(self.rows),
            "column_group": group_size(self.columns),
        }

    def box_rows(self) -> dict[str, list[tuple[i.Expr, ...]]]:
        """The members that are a row for each loop."""
        tiling, found = self.tiling, self.tiling.found
        summed = [loop.index for loop in found.summed]
        taps = {line.tap for line in tiling.lines}
        x, w = tiling.x_steps, tiling.w_steps
        y = {} if self.stored is None else self.stored.steps
        lines = [
            (
                line.loop.high,
                line.step,
                i.Const(-1 if line.tap is None else summed.index(line.tap)),
                line.tap_step,
                line.start,
                line.places,
                line.x_step,
                y_step(y, line.loop),
            )
            for line in tiling.lines
        ]
        return {
            "batches": [
                (e.high, x.get(e.index, ZERO), w.get(e.index, ZERO), y_step(y, e))
                for e in found.batches
            ],
            "lines": [*lines],
            "columns": [(e.high, w.get(e.index, ZERO), y_step(y, e)) for e in tiling.w.lines],
            "summed": [
                (e.high, ZERO if e.index in taps else x.get(e.index, ZERO), w.get(e.index, ZERO))
                for e in found.summed
            ],
        }

    def members(
        self, numbers: Mapping[str, i.Expr], rows: Mapping[str, Sequence[tuple[i.Expr, ...]]]
    ) -> list[str]:
        """The members of the contraction as C."""
        text = [f".{name} = {self.expr(value)}," for name, value in numbers.items()]
        if self.stored is not None:
            text.append(f".y = {self.first_element(self.stored)},")
        for name, entries in rows.items():
            if not entries:
                continue
            count = {"batches": "batch", "summed": "summed"}.get(name, name[:-1])
            text.append(f".{count}_count = {len(entries)},")
            texts = [f"{{{', '.join(map(self.expr, entry))}}}" for entry in entries]
            text += wrapped_list(f".{name} = {{", texts, "},", 92)
        return text

    @property
    def stored(self) -> Stored | None:
        """Where totals of 32 bits are stored as they are."""
        found = self.tiling.stored
        types = {each.name: each.type for each in self.parameters}
        return found if found is not None and types[found.tensor] == "i32" else None

    def first_element(self, stored: Stored) -> str:
        """Where the first total goes, or NULL if there is more to do with totals."""
        first = c_identifier(stored.tensor)
        if stored.start != ZERO:
            first = f"{first} + {self.expr(stored.start, 10)}"
        given = [f"{c_identifier(name)} != NULL" for name in dict.fromkeys(stored.without)]
        return f"{' || '.join(given)} ? NULL : {first}" if given else first


def group_size(side: Flat) -> i.Expr:
    """How many lines there are inside the outer ones."""
    return product([loop.high for loop in side.inner])


def y_step(steps: AffineSteps, loop: i.Loop) -> i.Expr:
    """What the index of a loop adds to the place of a total, if totals are stored as they are."""
    return steps.get(loop.index, ZERO)
