"""The host code that runs for each tensor of a variadic input, in C."""

from __future__ import annotations

from cvmgen.emit.c_spelling import identifier
from cvmgen.emit.prepare import Prepare
from cvmgen.ir import nodes as i
from cvmgen.ir.host import host_types
from cvmgen.ir.uses import changed, names_in
from cvmgen.ir.visit import walk


class Prologue(Prepare):
    """The host code of one tensor of a variadic input, written into the plan."""

    def __init__(self, program: i.Program, nest: i.Nest, plan: str) -> None:
        super().__init__(program)
        self.nest, self.plan = nest, plan

    def lines(self) -> list[str]:
        assert self.nest.each is not None
        index = self.nest.each[0]
        types = host_types(self.program)
        made = {each.name for each in walk(self.nest.prologue) if isinstance(each, i.Let)}
        kept = [field for field in self.fields if field.name in made or field.name == index]
        read = names_in(self.nest.prologue) - made - {index}
        available = {field.name for field in self.fields}
        available |= {f"{name}_shape" for name in self.program.operator.output_names}
        unpack = []
        for name in sorted(read & types.keys()):
            if name in available:
                local = identifier(name)
                unpack.append(f"const {types[name]} {local} = {self.plan}{local};")
        self.printer.changing = frozenset(changed(self.nest.prologue))
        body = [line for statement in self.nest.prologue for line in self.statement(statement)]
        store = [f"{self.plan}{identifier(f.name)} = {identifier(f.name)};" for f in kept]
        return [*unpack, *body, *store]
