"""Runs of elements: an innermost loop that only moves elements becomes one copy or fill.

For the C target, on nests with machine types: only there it is known whether an element is
stored in the type it is read in. A copy goes from affine places to affine places; the loop
around it joins in where the two together are one longer run on both sides. Choices that do
not change along a run are made in front of it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from cvmgen import algebra
from cvmgen.analysis.definedness import is_defined
from cvmgen.analysis.facts import Facts
from cvmgen.analysis.streams import named_step
from cvmgen.dtypes import DType
from cvmgen.ir import nodes as i
from cvmgen.ir.loops import extent
from cvmgen.ir.rewrite import inlined, with_blocks
from cvmgen.ir.uses import names_in, nodes_in
from cvmgen.ir.visit import substitute
from cvmgen.typing.machine_types import BITS_OF, unconverted

Run = i.Copy | i.Fill
VECTOR = 32  # bytes that a register of many processors holds


def copy_runs(body: i.Block, dtypes: Mapping[str, DType], facts: Facts) -> i.Block:
    """The typed body of a nest with a copy or a fill for each loop that does no more."""
    narrow = (each.name for each in nodes_in(body, i.Let) if each.type == "i32")
    return Copies(dtypes, facts, frozenset(narrow)).block(body)


@dataclass(frozen=True, slots=True)
class Copies:
    """Rewrites a typed nest; `facts` are those of the host values that it reads."""

    dtypes: Mapping[str, DType]
    facts: Facts
    narrow: frozenset[str]  # locals of 32 bits: products of them might need more

    def block(self, statements: i.Block) -> i.Block:
        return tuple(self.statement(statement) for statement in statements)

    def statement(self, statement: i.Stmt) -> i.Stmt:
        match with_blocks(statement, self.block):
            case i.Loop(low=low, step=1) as loop if low is not None:
                return self.loop(loop)
            case other:
                return other

    def loop(self, loop: i.Loop) -> i.Stmt:
        """The loop as a run, as a choice of runs, or as it is."""
        match inlined(loop.body):
            case (i.Store() as store,):
                return self.stored(loop, store) or loop
            case (i.Copy() | i.Fill() as run,):
                return self.longer(loop, run) or loop
            case (i.If() as choice,):
                return self.longer_choice(loop, choice) or loop
            case _:
                return loop

    # -------------------------------------------------------- one element to a run

    def stored(self, loop: i.Loop, store: i.Store) -> i.Stmt | None:
        stored = self.dtypes.get(store.target.tensor)
        if stored is None or stored.kind != "int":
            return None  # arrays of a nest; real numbers are stored in one form, conditions as 0, 1
        value = unconverted(store.value, stored.bits)
        if not isinstance(value, i.Select) and not self.is_element(value, stored):
            value = store.value
        match value:
            case i.Select(condition=condition, then=then, otherwise=otherwise):
                return self.unswitched(loop, store, condition, then, otherwise)
            case i.Load() if self.is_element(value, stored):
                return self.copy(loop, store, value)
            case _ if loop.index not in names_in(value):
                return self.fill(loop, store, value)
            case _:
                return None

    def is_element(self, value: i.Expr, dtype: DType) -> bool:
        """Whether a value is an element of a tensor of this type."""
        return isinstance(value, i.Load) and self.dtypes.get(value.tensor) == dtype

    def unswitched(
        self, loop: i.Loop, store: i.Store, condition: i.Expr, then: i.Expr, otherwise: i.Expr
    ) -> i.Stmt | None:
        """A choice that does not vary along the loop: made once, each branch a loop."""
        if loop.index in names_in(condition) or not self.sure(loop, condition):
            return None
        branches = [
            self.loop(replace(loop, body=(self.narrowed(store, value),)))
            for value in (then, otherwise)
        ]
        if not any(isinstance(branch, Run) for branch in branches):
            return None
        yes, no = branches
        return i.If(condition, (yes,), (no,), loop.span)

    def narrowed(self, store: i.Store, value: i.Expr) -> i.Store:
        """A branch of the value, converted as the whole was."""
        match store.value:
            case i.Convert(type=kind):
                return replace(store, value=i.Convert(kind, value))
            case _:
                return replace(store, value=value)

    def copy(self, loop: i.Loop, store: i.Store, source: i.Load) -> i.Stmt | None:
        target = self.place(loop, store.target)
        begin = self.place(loop, source)
        if target is None or begin is None:
            return None
        if begin[1] == i.ZERO and self.sure(loop, begin[0]):
            return self.fill(loop, store, begin[0])
        kind = self.element(store)
        return i.Copy(kind, target[0], target[1], begin[0], begin[1], extent(loop), loop.span)

    def fill(self, loop: i.Loop, store: i.Store, value: i.Expr) -> i.Stmt | None:
        target = self.place(loop, store.target)
        if target is None or not self.sure(loop, value):
            return None
        kind = self.element(store)
        return i.Fill(kind, *target, constant_element(value, kind), extent(loop), loop.span)

    def element(self, store: i.Store) -> str:
        return self.dtypes[store.target.tensor].machine

    def place(self, loop: i.Loop, place: i.Access | i.Load) -> tuple[i.Load, i.Expr] | None:
        """The place of a loop's first element, and the step to the next."""
        assert isinstance(place, i.Load)
        step = named_step(place.offset, loop.index, self.narrow)
        if step is None:
            return None
        assert loop.low is not None
        first = algebra.simplify(substitute(place.offset, {loop.index: loop.low}))
        begin = replace(place, offset=first)
        return (begin, step) if self.sure(loop, begin.offset) else None

    def sure(self, loop: i.Loop, expr: i.Expr) -> bool:
        """Whether an expression has a value in front of the loop, as inside it."""
        return is_defined(expr) or (loop.low == i.ZERO and self.facts.positive(loop.high))

    # -------------------------------------------------------- runs side by side

    def longer(self, loop: i.Loop, run: Run) -> i.Stmt | None:
        """The loop and the run in it as one run, where each begins where the last one ended."""
        if loop.index in names_in((run.count, run.step)) or not self.facts.positive(run.count):
            return None
        target = self.beside(loop, run.target, run.step, run.count)
        length = algebra.product([extent(loop), run.count])
        match run:
            case _ if target is None:
                return None
            case i.Fill(value=value) if loop.index not in names_in(value):
                return replace(run, target=target, count=length) if self.sure(loop, value) else None
            case i.Copy(source=source, source_step=step) if loop.index not in names_in(step):
                begin = self.beside(loop, source, step, run.count)
                if begin is None:
                    return None
                return replace(run, target=target, source=begin, count=length)
            case _:
                return None

    def longer_choice(self, loop: i.Loop, choice: i.If) -> i.Stmt | None:
        """The loop around a choice of runs as a choice of longer runs."""
        if loop.index in names_in(choice.condition) or not self.sure(loop, choice.condition):
            return None
        match choice:
            case i.If(
                then=(i.Copy() | i.Fill() as then,), otherwise=(i.Copy() | i.Fill() as other,)
            ):
                yes, no = self.longer(loop, then), self.longer(loop, other)
            case _:
                return None
        return None if yes is None or no is None else replace(choice, then=(yes,), otherwise=(no,))

    def beside(self, loop: i.Loop, place: i.Load, step: i.Expr, length: i.Expr) -> i.Load | None:
        """The first place of all, if the next run begins where one ends."""
        found = self.place(loop, place)
        if found is None or not algebra.equal(found[1], i.Binary("*", step, length)):
            return None
        return found[0]


def is_vector(node: object) -> bool:
    """Whether a node copies elements that fill a register."""
    match node:
        case i.Copy(type=kind, step=i.Const(1), source_step=i.Const(1), count=i.Const(count)):
            return count * BITS_OF.get(kind, 0) == 8 * VECTOR  # a type parameter has no size
        case _:
            return False


def constant_element(value: i.Expr, kind: str) -> i.Expr:
    """A constant as the element that it becomes; other values as they are."""
    inner = unconverted(value)
    if not isinstance(inner, i.Const):
        return value
    low = 0 if kind.startswith("u") else -1 << (BITS_OF[kind] - 1)
    return i.Const((inner.value - low) % (1 << BITS_OF[kind]) + low)
