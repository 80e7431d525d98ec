"""Loops of a nest as the axes of a box, or as loops of Python."""

from __future__ import annotations

from dataclasses import dataclass

from cvmgen.emit.numpy_printer import ARRAY, HOST, Axis, NotAnArray, OneByOne
from cvmgen.emit.numpy_reductions import ReductionPrinter
from cvmgen.emit.plan import plan_fields
from cvmgen.emit.python_names import identifier
from cvmgen.ir import nodes as i
from cvmgen.ir.uses import names_in
from cvmgen.ir.visit import walk

Block = tuple[i.Stmt, ...]


@dataclass(frozen=True, slots=True)
class Chain:
    """Perfectly nested loops, and what stands in the innermost one."""

    loops: tuple[i.Loop | i.PackLoop, ...]
    body: Block


def chain_of(statement: i.Stmt) -> Chain:
    loops: list[i.Loop | i.PackLoop] = []
    body: Block = (statement,)
    while len(body) == 1 and isinstance(body[0], (i.Loop, i.PackLoop)):
        loops.append(body[0])
        body = body[0].body
    return Chain(tuple(loops), body)


def name_of(loop: i.Loop | i.PackLoop) -> str:
    return loop.index if isinstance(loop, i.Loop) else loop.pack


def ends(loop: i.Loop | i.PackLoop) -> list[i.Expr]:
    """What says how often a loop runs."""
    if isinstance(loop, i.PackLoop):
        return [each for each in (loop.extents, loop.slots) if each is not None]
    return [each for each in (loop.low, loop.high) if each is not None]


class BoxPrinter(ReductionPrinter):
    """Prints loops. `single` are the indices that stay loops of Python."""

    def __init__(
        self, program: i.Program, nest: i.Nest, integer: str, single: frozenset[str] = frozenset()
    ) -> None:
        super().__init__(program, nest, integer)
        self.single = single
        operands = (*self.tensors, *self.operator.output_names)
        self.taken |= {*map(identifier, operands), *(each.name for each in program.scratch)}
        self.taken |= {identifier(each.name) for each in plan_fields(program)}
        if nest.each is not None:
            self.taken.add(identifier(nest.each[0]))

    def let(self, name: str, value: i.Expr) -> None:
        """A local; one that no axis changes is a number of Python."""
        kind, text = self.kind(value), self.expr(value)
        local = self.new(name)
        if kind == ARRAY and not self.axes_in(value) and not self.depends(value):
            kind, text = HOST, f"np.asarray({text}).item()"
        self.emit(f"{local} = {text}")
        self.kinds[name], self.shown[name] = kind, local

    def depends(self, value: i.Expr) -> bool:
        """Whether a value reads a name that has axes."""
        return any(self.kinds.get(name, HOST) != HOST for name in names_in(value))

    def python_loop(self, loop: i.Loop | i.PackLoop) -> None:
        """The head of a loop of Python's own."""
        for end in ends(loop):
            names = self.axes_in(end)
            if names:
                raise OneByOne(names)
        local = self.new(name_of(loop))
        match loop:
            case i.PackLoop(pack=pack, extents=extents, slots=slots):
                if slots is not None:
                    raise NotAnArray("a part of a multi-index, one by one")
                self.emit(f"for {local} in support.indices({self.index(extents)}):")
            case i.Loop(index=pack, low=None, high=high):
                if self.kind(high) != HOST:
                    raise NotAnArray("a loop over a list that depends on elements")
                self.emit(f"for {local} in {self.index(high)}:")
            case i.Loop(index=pack, low=low, high=high):
                assert low is not None
                self.emit(f"for {local} in {self.span(low, high)}:")
        self.kinds[pack], self.shown[pack] = HOST, local

    def alone(self, loop: i.Loop | i.PackLoop) -> bool:
        return name_of(loop) in self.single or (isinstance(loop, i.Loop) and loop.low is None)

    def check_box(self, loops: list[i.Loop | i.PackLoop]) -> None:
        """The ends of axes are the host's; an axis on which another depends stays a loop."""
        names = frozenset(map(name_of, loops))
        for loop in loops:
            for end in ends(loop):
                if names_in(end) & names:
                    raise OneByOne(names_in(end) & names)
                if self.kind(end) != HOST and self.depends(end):
                    raise NotAnArray("a range that depends on elements")

    def declare(self, loops: list[i.Loop | i.PackLoop]) -> None:
        """The line that makes the axes, where anything reads them."""
        declared, extents, later = [], [], []
        for loop in loops:
            name = name_of(loop)
            local = self.new(name)
            declared.append(local)
            self.shown[name] = local
            if isinstance(loop, i.PackLoop):
                extents.append(self.index(loop.extents))
                if loop.slots is None:
                    self.free.append(Axis(name, True, loop.extents))
                else:
                    self.free.append(Axis(name, True, i.ListOf(())))
                    where = self.expr(loop.slots)
                    self.shown[name] = self.new(name)
                    later.append(f"{self.shown[name]} = arrays.placed({where}, {local})")
                self.box.append(f"len({local})")
                continue
            low = loop.low
            assert low is not None
            divisor = self.divisor(name) if low == i.Const(0) else None
            if divisor is not None:
                self.box.append("2")
                extents.append(f"arrays.Split({self.index(loop.high)}, {self.index(divisor)})")
                self.free.append(Axis(name, False, loop.high, split=True))
                continue
            self.box.append("1")
            if low == i.Const(0):
                extents.append(self.index(loop.high))
                self.free.append(Axis(name, False, loop.high))
                continue
            extents.append(self.index(i.Binary("-", loop.high, low)))
            self.free.append(Axis(name, False, i.ListOf(())))
            later.append(f"{local} = {self.expr(low, 9)} + {local}")
        if declared:
            self.emit(f"{', '.join(declared)} = arrays.axes({', '.join(extents)})")
        for line in later:
            self.emit(line)

    def divisor(self, index: str) -> i.Expr | None:
        """What reductions divide a free index by: quotient and remainder become two axes, as a
        view with both in one axis would be a copy with all terms."""
        for fold in walk(self.nest.body):
            if not isinstance(fold, i.Fold):
                continue
            bound = frozenset(
                each.index if isinstance(each, i.Over) else each.pack for each in fold.over
            )
            for each in walk(fold):
                match each:
                    case i.Binary(op="floordiv" | "mod", left=i.Var(name=name), right=right) if (
                        name == index and self.kind(right) == HOST and not names_in(right) & bound
                    ):
                        return right
                    case _:
                        pass
        return None
