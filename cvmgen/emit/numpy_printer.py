"""Operations on whole arrays, and loops over arrays of Python's numbers, as Python with numpy."""

from __future__ import annotations

from collections.abc import Sequence
from typing import assert_never

from cvmgen.emit.lines import Valued, indented
from cvmgen.emit.python_printer import BINARY, PRIMARY, PythonPrinter
from cvmgen.ir import arrays as a
from cvmgen.ir import nodes as i
from cvmgen.ir.python_names import python_identifier

REDUCED = {
    "sum": "vectors.total",
    "prod": "vectors.product",
    "max": "vectors.greatest",
    "min": "vectors.least",
    "any": "vectors.holds_any",
    "all": "vectors.holds_all",
    "count": "vectors.count",
    "dot": "vectors.dot",
}
NUMBERS = ("int32", "int64", "float64")  # which numpy has types for


class ArrayPrinter(PythonPrinter):
    """Prints what the pass `arrays` made, node by node."""

    def leveled(self, expr: i.Expr) -> tuple[str, int]:
        if isinstance(expr, a.ArrayExpr):
            return self.array(expr), PRIMARY
        match expr:
            case i.Access():
                return self.access(expr), PRIMARY
            case i.Entries():
                return f"{self.run(expr)}.tolist()", PRIMARY
            case i.Contains(element=element, collection=i.Entries() as entries):
                return f"{self.expr(element, 7)} in {self.run(entries)}", 6
            case i.Logic(op="both" | "either" as op, operands=operands):
                sign = "&" if op == "both" else "|"
                return f" {sign} ".join(self.expr(each, 8) for each in operands), 7
            case i.Call(function="item", arguments=(array,)):
                return f"{self.called('np.asarray', self.expr(array))}.item()", PRIMARY
            case i.Call(function=name, arguments=arguments) if "." in name:
                return self.called(name, self.listed(arguments)), PRIMARY
            case _:
                return super().leveled(expr)

    def listed(self, values: Sequence[i.Expr]) -> str:
        return ", ".join(map(self.expr, values))

    def array(self, expr: a.ArrayExpr) -> str:
        match expr:
            case a.Integer(name=name):
                return self.helper(f"np.{name}") if name in NUMBERS else name or "integer"
            case a.Nothing():
                return "None"
            case a.Read(array=array, index=index, fill=fill):
                beyond = "" if fill is None else f", fill={self.expr(fill)}"
                given = f"{self.expr(array)}, {self.slots(index)}{beyond}"
                return self.called("arrays.read", given)
            case a.At(array=array, index=index):
                return f"{self.expr(array)}[{self.slots(index) or '...'}]"
            case a.Slice(low=low, high=high):
                return f"{self.expr(low)}:{self.expr(high)}"
            case a.Padded(array=array, fill=fill, index=index):
                given = f"{self.listed((array, fill))}, {self.slots(index)}"
                return self.called("arrays.padded", given)
            case a.Reduce(op=op, operands=operands, axes=axes, only=only):
                where = "" if only is None else f", only={self.expr(only)}"
                given = f"{self.listed(operands)}, {self.slots(axes)}{where}"
                return self.called(REDUCED[op], given)
            case _:
                assert_never(expr)

    def slots(self, index: a.IndexList) -> str:
        return ", ".join(self.spread(each) if pack else self.index(each) for each, pack in index)

    def spread(self, listed: i.Expr) -> str:
        """A list as arguments; one that a comprehension makes is gone through just once."""
        match listed:
            case i.Gather(kind="list"):
                return f"*({self.of_integers(listed, lambda: self.generated(listed))})"
            case _:
                return f"*{self.index(listed, 7)}"

    def access(self, access: i.Access) -> str:
        """A tensor itself, or of Python's numbers an element."""
        one = "" if access.which is None else f"[{self.index(access.which)}]"
        tensor = f"{python_identifier(access.tensor)}{one}"
        if not access.index:
            return tensor
        slots = self.slots(access.index)
        if any(spread for _, spread in access.index):
            slots = f"({slots}{',' * (len(access.index) == 1)})"
        kept = any(each.name == access.tensor and not each.kind for each in self.program.scratch)
        return f"int({tensor}[{slots}])" if kept else f"{tensor}[{slots}]"

    def run(self, entries: i.Entries) -> str:
        """The entries of a list, as a part of its memory."""
        return (
            f"{python_identifier(entries.first.tensor)}[{self.part(entries.first, entries.length)}]"
        )

    def part(self, first: i.Access | i.Load, length: i.Expr) -> str:
        """The subscript of so many entries."""
        assert isinstance(first, i.Access)
        *front, (start, _) = first.index
        where = "".join(f"{self.index(each)}, " for each, _ in front)
        if start == i.Const(0):
            return f"{where}:{self.index(length)}"
        return f"{where}{self.index(start)}:{self.index(i.Binary('+', start, length))}"

    # -------------------------------------------------------- statements

    def statement(self, statement: i.Stmt) -> list[str]:
        if isinstance(statement, a.ArrayStmt):
            return self.arrays(statement)
        match statement:
            case i.Sort(entries=entries, keys=i.Access(tensor=keys, index=index), width=width):
                first = i.Access(keys, None, index[:-1])
                rows = f"{python_identifier(keys)}[{self.part(first, entries.length)}, :{width}]"
                return [self.called("arrays.sort", f"{self.run(entries)}, {rows}")]
            case i.Store(target=i.Access() as target, value=value):
                where = f"{python_identifier(target.tensor)}, {self.expr(value)}"
                if not target.index:
                    return [self.called("arrays.store_all", where)]
                return [self.called("arrays.store", f"{where}, {self.slots(target.index)}")]
            case _:
                return super().statement(statement)

    def accumulate(self, name: str, op: str, value: i.Expr) -> Valued:
        return super().accumulate(name, BINARY[op][1] if op in BINARY else op, value)

    def arrays(self, statement: a.ArrayStmt) -> list[str]:
        match statement:
            case a.Axes(names=names, extents=extents, inside=inside):
                arguments = [*map(self.index, extents)]
                arguments += [] if inside is None else [f"inside={self.expr(inside)}"]
                made = self.called("arrays.axes", ", ".join(arguments))
                return [Valued(f"{', '.join(names)} =", made)]
            case a.Blocks():
                return self.blocks(statement)
            case a.Choose(condition=condition, then=then, otherwise=otherwise):
                return self.statement(i.If(condition, then, otherwise, statement.span))
            case a.Continue():
                return ["continue"]
            case a.FillArray(target=target, value=value, op=op):
                return [Valued(f"{self.expr(target)} {op}=", self.expr(value))]
            case a.CopyAll(target=target, source=source):
                places = f"{self.expr(source.array)}, {self.slots(source.index)}"
                return [self.called("arrays.copy", f"{self.expr(target)}, {places}")]
            case a.Into(call=call, target=target, narrower=narrower):
                out = f"out={self.expr(target)}" + ', casting="unsafe"' * narrower
                return [self.called(call.function, f"{self.listed(call.arguments)}, {out}")]
            case a.Shape(tensor=tensor, extents=extents):
                name = self.expr(tensor)
                return [f"{name} = {name}.reshape({', '.join(map(self.index, extents))})"]
            case a.Integers(name="checked", bits=bits, values=values):
                made = self.called("arrays.integers", f"{bits}, {self.listed(values)}")
                return [Valued("integer =", made)]
            case a.Integers():
                return []
            case a.Elements(tensor=tensor, integer=integer, several=several):
                name, kind = self.expr(tensor), f", {self.expr(integer)}" if integer else ""
                one = "each" if several else name
                function = "elements" if integer else "numbers"
                made = self.called(f"arrays.{function}", f"{one}{kind}")
                return [f"{name} = [{made} for each in {name}]" if several else f"{name} = {made}"]
            case _:
                assert_never(statement)

    def blocks(self, blocks: a.Blocks) -> list[str]:
        arguments = [f"[{self.listed(blocks.computed)}]", f"[{self.listed(blocks.kept)}]"]
        arguments += [] if blocks.integer is None else [self.expr(blocks.integer)]
        arguments += [f"spare={blocks.spare}"] * bool(blocks.spare)
        names = ", ".join(map(python_identifier, blocks.names)) + "," * (len(blocks.names) == 1)
        head = f"for {names} in {self.called('arrays.blocks', ', '.join(arguments))}:"
        return [head, *indented(self.block(blocks.body))]
