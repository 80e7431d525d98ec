"""Nests as loops over arrays of Python's integers, for what array operations do not express."""

from __future__ import annotations

from cvmgen.emit.python_names import identifier
from cvmgen.emit.python_printer import PRIMARY, PythonPrinter
from cvmgen.ir import nodes as i


class LoopPrinter(PythonPrinter):
    """Prints the statements of a nest whose reductions are loops; accesses are multi-indices."""

    def leveled(self, expr: i.Expr) -> tuple[str, int]:
        match expr:
            case i.Access():
                return self.access(expr), PRIMARY
            case i.Entries():
                return f"{self.run(expr)}.tolist()", PRIMARY
            case i.Contains(element=element, collection=i.Entries() as entries):
                return f"{self.expr(element, 7)} in {self.run(entries)}", 6
            case _:
                return super().leveled(expr)

    def access(self, access: i.Access) -> str:
        one = "" if access.which is None else f"[{self.index(access.which)}]"
        slots = [("*" if spread else "") + self.index(each) for each, spread in access.index]
        text = ", ".join(slots)
        if any(spread for _, spread in access.index):
            text = f"({text}{',' * (len(slots) == 1)})"
        element = f"{identifier(access.tensor)}{one}[{text}]"
        kept = any(each.name == access.tensor for each in self.program.scratch)
        return f"int({element})" if kept else element

    def run(self, entries: i.Entries) -> str:
        """The entries of a list, as a part of its memory."""
        first = entries.first
        assert isinstance(first, i.Access)
        *front, (start, _) = first.index
        where = "".join(f"{self.index(each)}, " for each, _ in front)
        low = "" if start == i.Const(0) else self.index(start)
        end = entries.length if not low else i.Binary("+", start, entries.length)
        return f"{identifier(first.tensor)}[{where}{low}:{self.index(end)}]"

    def statement(self, statement: i.Stmt) -> list[str]:
        match statement:
            case i.Sort(entries=entries, keys=i.Access(tensor=keys, index=index), width=width):
                *front, (first, _), _ = index
                where = "".join(f"{self.index(each)}, " for each, _ in front)
                end = self.expr(i.Binary("+", first, entries.length))
                start = "" if first == i.Const(0) else self.index(first)
                end = self.index(entries.length) if not start else end
                rows = f"{identifier(keys)}[{where}{start}:{end}, :{width}]"
                return [f"arrays.sort({self.run(entries)}, {rows})"]
            case i.Store(target=i.Access() as target, value=value):
                slots = (("*" if pack else "") + self.index(each) for each, pack in target.index)
                where = ", ".join([identifier(target.tensor), self.expr(value), *slots])
                return [f"arrays.store({where})"]
            case _:
                return super().statement(statement)
