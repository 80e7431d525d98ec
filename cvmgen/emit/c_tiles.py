"""Contractions in C by the register tile: the numbers that say where elements stand, and the
statements behind the totals."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from cvmgen.analysis.facts import Facts
from cvmgen.analysis.tiling import Flat, Steps, Stored, Tiling, flattened, read_locals
from cvmgen.emit.c_kernels import KernelPrinter
from cvmgen.emit.c_like import MACHINE_TYPES, comment, identifier, indent
from cvmgen.emit.c_text import signature, word_in, wrapped_list
from cvmgen.emit.plan import Field
from cvmgen.emit.wrap import wrap_c
from cvmgen.ir import nodes as i
from cvmgen.ir.uses import assigned, names_in
from cvmgen.ir.visit import fresh

ZERO: i.Expr = i.Const(0)
OWN = ("call", "given", "block", "row", "column", "totals", "first", "space", "nest")


@dataclass(frozen=True, slots=True)
class Parameter:
    """A tensor that the statements behind the totals read or write, or where they note what its
    type does not hold."""

    name: str  # in C
    type: str  # of an element, with const where it is read
    restrict: str
    tensor: str | None


class TilePrinter(KernelPrinter):
    """The functions that compute a nest by tiles: `name` is the beginning of their names."""

    def __init__(
        self,
        program: i.Program,
        nest: i.Nest,
        body: tuple[i.Stmt, ...],
        tiling: Tiling,
        name: str,
        parameters: Sequence[Parameter],
        fields: Callable[[tuple[object, ...]], list[Field]],
        unpack: Callable[[Iterable[Field]], list[str]],
    ) -> None:
        self.fields, self.unpack = fields, unpack
        reads = self.fields((body, tiling.x_start, tiling.w_start, tiling.lines))
        super().__init__(program, body, [each.name for each in reads if each.type == "cvmgen_list"])
        self.nest, self.tiling, self.name, self.parameters = nest, tiling, name, parameters
        self.plan = f"{program.operator.name}_plan"
        self.quoted, self.facts = program.quoted(nest), Facts.of(program, nest)
        taken = set(names_in(body)) | assigned(body) | {each.name for each in reads}
        taken |= {each.name for each in parameters}
        self.names = {each: fresh(each, taken) for each in OWN}
        found = tiling.found
        rows = flattened(found.after, tiling.x.lines, found.divided, self.facts)
        self.columns = flattened(rows.statements, tiling.w.lines, found.divided, self.facts)
        self.rows = rows
        self.after = self.columns.statements
        self.locals = read_locals(found.before, self.after)

    def text(self) -> str:
        return "\n\n".join(["\n".join(self.structure()), self.taking(), self.running()])

    def structure(self) -> list[str]:
        members = [f"{each.type} *{each.name};" for each in self.parameters]
        name = f"{self.name}_call"
        return [
            "/* What becomes of totals depends on this. */",
            f"typedef struct {name} {{",
            *indent([f"const {self.plan} *plan;", *members]),
            f"}} {name};",
        ]

    # -------------------------------------------------------- behind the totals

    def taking(self) -> str:
        """The function that takes blocks of totals."""
        names = self.names
        found = self.tiling.found
        kind, given, block = f"{self.name}_call", names["given"], names["block"]
        loops = (*found.batches, *self.rows.lines, *self.columns.lines)
        divided = () if found.divided is None else (found.divided.divisor,)
        heads = tuple(loop.high for loop in loops)
        read = self.fields((self.after, self.locals, heads, divided))
        inside = self.sides()
        text = "\n".join(inside)
        lines = [f"const {kind} *const {given} = {names['call']};"]
        if fields := [each for each in read if word_in(identifier(each.name), text)]:
            lines.append(f"const {self.plan} *const plan = {given}->plan;")
            lines += self.unpack(fields)
        for each in self.parameters:
            pointer = f"{each.type} *{each.restrict} " if each.restrict else f"{each.type} *"
            lines.append(f"{pointer}{each.name} = {given}->{each.name};")
        lines += [comment(self.quoted), *inside]
        arguments = [f"const void *{names['call']}", f"const cvmgen_totals *{block}"]
        head = signature(f"static void {self.name}_totals(", arguments)
        return "\n".join([*head, *wrap_c(indent(lines)), "}"])

    def sides(self) -> list[str]:
        """The loops over a block, the one whose totals are neighbours inside."""
        names, turned = self.names, self.tiling.turned
        outer, inner = (self.columns, self.rows) if turned else (self.rows, self.columns)
        at, other = (names["column"], names["row"]) if turned else (names["row"], names["column"])
        ends = ("columns", "rows") if turned else ("rows", "columns")
        block, totals = names["block"], names["totals"]
        firsts = self.firsts(inner, ends[1])
        start = f"const int32_t *const {totals} = {block}->totals + {at} * {block}->step;"
        within = [*self.index(inner, ends[1], other), *self.total(f"{totals}[{other}]")]
        return [
            *self.unravel(self.tiling.found.batches, f"{block}->batch"),
            *firsts,
            f"for (int64_t {at} = 0; {at} < {block}->{ends[0]}; ++{at}) {{",
            *indent(
                [
                    *self.firsts(outer, ends[0], at),
                    *self.index(outer, ends[0], at),
                    start,
                    f"for (int64_t {other} = 0; {other} < {block}->{ends[1]}; ++{other}) {{",
                    *indent(within),
                    "}",
                ]
            ),
            "}",
        ]

    def firsts(self, side: Flat, end: str, at: str = "") -> list[str]:
        """The indices of a side outside of its groups, which a block has one of each."""
        position = f"{self.names['block']}->{end[:-1]}"
        if not side.outer:
            return []
        group = self.group(side)
        return self.unravel(side.outer, f"{position} / {group}")

    def index(self, side: Flat, end: str, at: str) -> list[str]:
        """The last index of a side, and the one that it is a part of."""
        position = f"{self.names['block']}->{end[:-1]}"
        if side.outer:
            position = f"{position} % {self.group(side)}"
        name = side.lines[-1].index
        lines = [f"const int64_t {identifier(name)} = {position} + {at};"]
        divided = self.tiling.found.divided
        if divided is not None and any(loop.index == divided.inner for loop in side.lines):
            whole = self.expr(divided.whole)
            lines.append(f"const int64_t {identifier(divided.index)} = {whole};")
        return lines

    def group(self, side: Flat) -> str:
        """How many lines there are inside the outer ones."""
        text = " * ".join(self.expr(loop.high, 10) for loop in side.inner)
        return f"({text})" if "*" in text else self.expr(side.inner[0].high, 11)

    def unravel(self, loops: Sequence[i.Loop], position: str) -> list[str]:
        """The indices at a position among all of some loops."""
        lines: list[str] = []
        for at, loop in enumerate(reversed(loops)):
            size = self.expr(loop.high, 11)
            value = f"{position} % {size}" if at < len(loops) - 1 else position
            lines.append(f"const int64_t {identifier(loop.index)} = {value};")
            position = f"{position} / {size}"
        return lines

    def total(self, text: str) -> list[str]:
        """The statements of the nest behind its sum."""
        total = self.tiling.found.total
        kind = MACHINE_TYPES[total.type]
        before = [line for each in self.locals for line in self.let(each)]
        value = text if kind == "int32_t" else f"({kind}){text}"
        return [
            *before,
            f"const {kind} {identifier(total.name)} = {value};",
            *self.block(self.after),
        ]

    # -------------------------------------------------------- where elements stand

    def running(self) -> str:
        """The function that runs the nest, and says whether it did."""
        names, tiling = self.names, self.tiling
        factors = [f"cvmgen_factor {identifier(each)}" for each in self.factors()]
        tensors = [f"{each.type} *{each.name}" for each in self.parameters]
        parameters = [f"const {self.plan} *plan", *factors, *tensors]
        parameters.append(f"cvmgen_workspace *{names['space']}")
        call = ", ".join(["plan", *(each.name for each in self.parameters)])
        numbers = self.numbers()
        text = "\n".join([*numbers, *self.tests()])
        fields = self.fields(
            (tiling.found, tiling.x_start, tiling.w_start, tiling.lines, tiling.worth)
        )
        lines = self.unpack(each for each in fields if word_in(identifier(each.name), text))
        if tests := self.tests():
            lines.append(f"if ({' || '.join(tests)}) return false;")
        lines += [
            f"const {self.name}_call {names['call']} = {{{call}}};",
            f"const cvmgen_contraction {names['nest']} = {{",
            *indent(numbers),
            "};",
        ]
        turned = "true" if tiling.turned else "false"
        given = [f"&{names['nest']}", *map(identifier, self.factors()), turned]
        given += [f"{self.name}_totals", f"&{names['call']}", names["space"]]
        lines += wrapped_list("return cvmgen_contract(", given, ");", 92)
        head = signature(f"static bool {self.name}_by_tiles(", parameters)
        title = "/* The nest by tiles of its totals; false if it is to be run as it stands. */"
        return "\n".join([title, *head, *wrap_c(indent(lines)), "}"])

    def factors(self) -> tuple[str, str]:
        return (self.tiling.x.load.tensor, self.tiling.w.load.tensor)

    def tests(self) -> list[str]:
        """What must not be: there is too little to do, there is no quotient, or sums do not fit
        their accumulator."""
        found, tests = self.tiling.found, []
        match self.tiling.worth:
            case i.Compare(op=">=", left=much, right=least):
                tests.append(self.expr(i.Compare("<", much, least)))
            case _:
                pass
        if found.divided is not None:
            divisor, extent = self.expr(found.divided.divisor, 11), found.divided.extent
            tests += [f"{divisor} < 1", f"{self.expr(extent, 11)} % {divisor} != 0"]
        if found.total.type not in ("u32", "i32"):
            depth = " * ".join(self.expr(loop.high, 11) for loop in found.summed)
            tests.append(f"{depth} > CVMGEN_EXACT_DEPTH")
        return tests

    def numbers(self) -> list[str]:
        """The members of the contraction."""
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
        rows: dict[str, Sequence[tuple[i.Expr, ...]]] = {
            "batches": [
                (e.high, x.get(e.index, ZERO), w.get(e.index, ZERO), y_step(y, e))
                for e in found.batches
            ],
            "lines": lines,
            "columns": [(e.high, w.get(e.index, ZERO), y_step(y, e)) for e in tiling.w.lines],
            "summed": [
                (e.high, ZERO if e.index in taps else x.get(e.index, ZERO), w.get(e.index, ZERO))
                for e in found.summed
            ],
        }
        members = {
            "x_start": tiling.x_start,
            "w_start": tiling.w_start,
        }
        text = [f".{name} = {self.expr(value)}," for name, value in members.items()]
        text += [
            f".x_count = {self.size(tiling.x.load.tensor)},",
            f".w_count = {self.size(tiling.w.load.tensor)},",
            f".row_group = {self.product(self.rows.inner)},",
            f".column_group = {self.product(self.columns.inner)},",
        ]
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
        types = {each.tensor: each.type for each in self.parameters}
        return found if found is not None and types[found.tensor] == "int32_t" else None

    def first_element(self, stored: Stored) -> str:
        """Where the first total goes, or NULL if there is more to do with totals."""
        first = identifier(stored.tensor)
        if stored.start != ZERO:
            first = f"{first} + {self.expr(stored.start, 10)}"
        given = [f"{identifier(name)} != NULL" for name in dict.fromkeys(stored.without)]
        return f"{' || '.join(given)} ? NULL : {first}" if given else first

    def size(self, tensor: str) -> str:
        return self.expr(self.tiling.sizes[tensor])

    def product(self, loops: Sequence[i.Loop]) -> str:
        return " * ".join(self.expr(loop.high, 10) for loop in loops) or "1"


def y_step(steps: Steps, loop: i.Loop) -> i.Expr:
    """What the index of a loop adds to the place of a total, if totals are stored as they are."""
    return steps.get(loop.index, ZERO)
