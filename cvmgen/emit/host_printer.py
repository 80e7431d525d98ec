"""Statements of the host part as C: lists by value, and the shapes of results."""

from __future__ import annotations

from cvmgen.emit.c_like import CPrinter
from cvmgen.emit.c_spelling import identifier
from cvmgen.ir import nodes as i


class HostPrinter(CPrinter):
    """Statements of the host: lists by value, names of a case declared in front."""

    def __init__(self, program: i.Program) -> None:
        super().__init__(host=True)
        self.program = program
        self.declared: set[str] = set()
        self.shapes = {
            extent.new: item.name
            for item in program.operator.inputs
            if item.variadic
            for extent in item.extents
        }

    def let(self, statement: i.Let) -> list[str]:
        if statement.type == "list":
            declared = statement.name in self.declared
            return self.list_into(statement.name, statement.value, declared=declared)
        if statement.name in self.declared:
            return [f"{identifier(statement.name)} = {self.expr(statement.value)};"]
        return super().let(statement)

    def list_into(self, name: str, value: i.Expr, *, declared: bool) -> list[str]:
        """Make a list under a name; one written out is filled entry by entry."""
        local = identifier(name)
        start = local if declared else f"cvmgen_list {local}"
        match value:
            case i.ListOf(entries=entries):
                lines = [f"{local}.length = 0;"] if declared else [f"{start} = {{0}};"]
                for entry, pack in entries:
                    function = "cvmgen_extend" if pack else "cvmgen_append"
                    lines.append(f"{function}(&{local}, {self.expr(entry)});")
                return lines
            case _:
                return [f"{start} = {self.expr(value)};"]

    def append(self, statement: i.Append) -> list[str]:
        name, value = identifier(statement.name), self.expr(statement.value)
        function = "cvmgen_insert" if statement.kind == "set" else "cvmgen_append"
        return [f"{function}(&{name}, {value});"]

    def statement(self, statement: i.Stmt) -> list[str]:
        match statement:
            case i.Merge(extents=extents, steps=steps):
                lists = ", ".join(f"&{identifier(step)}" for step in steps)
                box = identifier(extents)
                if not steps:
                    return [f"cvmgen_merge(&{box}, 0, NULL);"]
                walks = f"{box}_walks"
                functions = ("sort_walks", "merge") if statement.sorted else ("merge",)
                return [
                    f"cvmgen_list *const {walks}[] = {{{lists}}};",
                    *(f"cvmgen_{each}(&{box}, {len(steps)}, {walks});" for each in functions),
                ]
            case i.Assign(name=name, value=i.ListOf() as value):
                return self.list_into(name, value, declared=True)
            case _:
                return super().statement(statement)

    def item(self, expr: i.Item) -> tuple[str, int]:
        match expr.sequence:
            case i.Item(sequence=i.Var(name=name), index=which) if name in self.shapes:
                tensor = f"args->{self.shapes[name]}[{self.expr(which)}]"
                return f"{tensor}->extents[{self.expr(expr.index)}]", 12
            case i.Var(name=name) if name in self.shapes:
                return f"cvmgen_extents(args->{self.shapes[name]}[{self.expr(expr.index)}])", 12
            case _:
                return super().item(expr)

    def length(self, sequence: i.Expr) -> str:
        match sequence:
            case i.Item(sequence=i.Var(name=name), index=which) if name in self.shapes:
                return f"(int64_t)args->{self.shapes[name]}[{self.expr(which)}]->rank"
            case _:
                return super().length(sequence)
