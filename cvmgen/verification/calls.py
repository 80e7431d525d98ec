"""What is known of every call that is admitted: extents, attributes, requirements, host values.

Only what the host has checked, or computed, when the nests begin is a fact here. A list that the
host makes in loops is a list of which nothing is known.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

from cvmgen.dtypes import ATTRIBUTE_HIGH, ATTRIBUTE_LOW, MAX_RANK, MAX_SIZE
from cvmgen.ir import nodes as i
from cvmgen.ir.host import shape_name
from cvmgen.ir.uses import assigned, has
from cvmgen.lower.demand_nests import requirements
from cvmgen.rules import MOST_NAMED
from cvmgen.spec.formula import Input
from cvmgen.typing.machine_types import INT64
from cvmgen.verification import terms as t
from cvmgen.verification.dimensions import Dimensions
from cvmgen.verification.lists import KnownList, List, Of
from cvmgen.verification.reading import FormulaReader, PlaceScope
from cvmgen.verification.terms import Formula, Term

IN_LOOPS = "the host makes it in a loop"
NOTHING_KNOWN: Mapping[str, Term | Formula | List] = {}
Shape = tuple[Term, ...]


@dataclass
class HostReader:
    """Reads the host part of a program for one nest; `shapes` are those of tensors, a pack's
    dimensions as one."""

    reader: FormulaReader
    scope: PlaceScope = field(default_factory=PlaceScope)
    shapes: dict[str, Shape] = field(default_factory=dict)
    sizes: list[Formula] = field(default_factory=list)  # no tensor has more than so many elements
    boxes: dict[str, List] = field(default_factory=dict)  # shapes of tensors that are one list
    dimensions: Dimensions = field(init=False)

    def __post_init__(self) -> None:
        self.dimensions = Dimensions(self.reader, self.behind)

    @classmethod
    def of(cls, program: i.Program, nest: i.Nest, reader: FormulaReader) -> HostReader:
        call = cls(reader)
        call.block(program.prepare, nest.case)
        if nest.each is not None:
            index, _, count = nest.each
            made = call.integer(index, 0)
            call.know(t.below(made, reader.integer(count, call.scope)))
        call.block(nest.prologue, None)
        if nest.guarded is None:  # behind what is required of elements
            for tensor, tests in requirements(program.operator).items():
                # Kernels know the ends of their types; what names them tells nothing here.
                plain = ((op, value) for op, value in tests if not has(value, i.Limit))
                told = ((op, reader.integer(value, call.scope)) for op, value in plain)
                reader.required[tensor] = tuple(told)
        for each in program.scratch:
            if each.case in (None, nest.case):
                call.shapes[each.name] = tuple(reader.integer(e, call.scope) for e in each.shape)
        reader.demands.clear()  # of the host part itself: it is not looked at here
        return call

    def know(self, *facts: Formula) -> None:
        self.scope = self.scope.inner(*facts)

    def integer(self, name: str, low: int | None, high: int | None = None) -> Term:
        """A symbol for a value of the host, which is within limits."""
        made = self.reader.symbols.within(name, low, high, "")
        self.scope.names[name] = made
        return made

    def list(self, name: str, least: int | None, *, given: bool = False) -> List:
        """A list that a call gives."""
        return List(self.reader.symbols.named(name), None, least, given=given)

    # ------------------------------------------------------------ statements

    def behind(self, statements: i.Block, scope: PlaceScope) -> PlaceScope:
        """What is known behind statements that begin with other names."""
        outside, self.scope = self.scope, scope
        with self.reader.quiet():
            self.block(statements, None)
        found, self.scope = self.scope, outside
        return found

    def block(self, statements: Iterable[i.Stmt], case: int | None) -> None:
        for each in statements:
            self.reader.span = getattr(each, "span", None)
            self.statement(each, case)

    def statement(self, statement: i.Stmt, case: int | None) -> None:
        match statement:
            case i.TakeInput(input=item, known=known):
                self.tensor(item, known)
            case i.TakeAttribute():
                self.attribute(statement)
            case i.Let(name=name, type=kind, value=value):
                self.local(name, kind, value)
            case i.Require(condition=condition):
                self.know(self.reader.condition(condition, self.scope))
            case i.SetOutput(tensor=tensor, extents=extents, empty=empty):
                self.output(tensor, extents, empty)
            case i.Cases(branches=branches) if case is not None:
                condition, body = branches[case]
                self.know(self.reader.condition(condition, self.scope))
                self.block(body, None)
            case i.Merge(extents=extents, steps=steps):
                self.merged(extents, steps)
            case i.Cases():
                pass
            case i.Loop():
                self.forget(statement, self.dimensions.loop(statement, self.scope))
            case i.Append(kind="list", name=name, value=value) if self.is_written_out(name):
                self.appended(name, value)
            case i.Assign(name=name, value=value):
                kinds = {List: "list", Term: "int"}
                self.local(name, kinds.get(type(self.scope.names.get(name)), "bool"), value)
            case i.If(condition=condition, then=then, otherwise=otherwise):
                self.branches(self.reader.condition(condition, self.scope), then, otherwise)
            case _:
                self.forget(statement)

    def local(self, name: str, kind: str, value: i.Expr) -> None:
        """A name of the host; an integer that has one is bounded, or the call is refused."""
        if kind == "list":
            found = self.reader.sequence(value, self.scope)
            self.scope.names[name] = found
        elif kind == "bool":
            self.scope.names[name] = self.reader.condition(value, self.scope)
        else:
            exact = self.reader.integer(value, self.scope)
            if exact.is_plain:
                self.scope.names[name] = exact
                return
            made = self.integer(name, -MOST_NAMED, MOST_NAMED)
            self.reader.symbols.know(made, t.equal(made, exact))

    def is_written_out(self, name: str) -> bool:
        """Whether all entries of a list are known so far."""
        found = self.scope.names.get(name)
        return isinstance(found, List) and found.parts is not None

    def appended(self, name: str, value: i.Expr) -> None:
        """A list with one entry more."""
        before = self.reader.sequence(i.Var(name), self.scope)
        entry = self.reader.integer(value, self.scope)
        self.scope.names[name] = self.reader.lists.listed((*(before.parts or ()), entry))

    def branches(self, test: Formula, then: i.Block, otherwise: i.Block) -> None:
        """Behind a branch a name is what either way made of it."""
        before = self.scope
        ends = []
        for case, body in ((test, then), (t.negation(test), otherwise)):
            self.scope = PlaceScope(dict(before.names), before.path)
            self.know(case)
            self.block(body, None)
            ends.append(self.scope.names)
        self.scope = before
        for name in sorted(assigned((then, otherwise)) & before.names.keys()):
            before.names[name] = self.joined(test, *(each[name] for each in ends))

    def joined(
        self, test: Formula, one: Term | Formula | List, other: Term | Formula | List
    ) -> Term | Formula | List:
        match one, other:
            case List(), List():
                return self.reader.lists.choice(test, one, other)
            case Term(), Term():
                return self.reader.symbols.choice(test, one, other)
            case List() | Term(), _:
                return self.reader.unknown("value", IN_LOOPS)
            case _, List() | Term():
                return self.reader.unknown("value", IN_LOOPS)
            case _:
                return t.some(t.every(test, one), t.every(t.negation(test), other))

    def forget(
        self, statement: i.Stmt, known: Mapping[str, Term | Formula | List] = NOTHING_KNOWN
    ) -> None:
        """What a loop of the host sets may be anything behind it, if it is not known."""
        for name in sorted(assigned(statement)):
            if name in known:
                self.scope.names[name] = known[name]
                continue
            match self.scope.names.get(name):
                case List():
                    self.scope.names[name] = self.reader.lists.unknown(name)
                case Term():
                    self.scope.names[name] = self.reader.unknown(name, IN_LOOPS)
                case None:
                    pass
                case _:
                    made = self.reader.symbols.fresh_truth(name, IN_LOOPS)
                    self.scope.names[name] = made

    def merged(self, extents: str, steps: tuple[str, ...]) -> None:
        """Dimensions are joined: the box has the same size, and positive extents as before."""
        lists = self.reader.lists
        before = self.reader.sequence(i.Var(extents), self.scope)
        after = replace(lists.unknown(extents, before.least), before=before)
        one, other = lists.size(before), lists.size(after)
        self.reader.symbols.know(other, t.equal(one, other))
        self.scope.names[extents] = after
        for each in steps:
            whole = self.reader.sequence(i.Var(each), self.scope)
            self.scope.names[each] = replace(lists.unknown(each), before=whole)

    # ------------------------------------------------------------ operands

    def tensor(self, item: Input, known: tuple[i.Expr | None, ...]) -> None:
        """An input that is there has extents of at least 1, or 0 where it may be empty."""
        least = None if item.optional else 0 if item.empty else 1
        shape: list[Term] = []
        for extent, value in zip(item.extents, known, strict=True):
            if item.variadic:
                self.several(item, extent.new)
            elif extent.pack:
                shape.append(self.pack(extent.new, value, least))
                if len(item.extents) == 1:
                    self.boxes[item.name] = self.pack_list(extent.new, value)
            elif extent.new:
                shape.append(self.integer(extent.new, least, MAX_SIZE))
            elif value is not None:
                shape.append(self.reader.integer(value, self.scope))
        if not item.variadic:
            self.shapes[item.name] = tuple(shape)
        if shape and not item.optional:
            self.sizes.append(t.below(t.product(shape), MAX_SIZE))

    def pack(self, name: str | None, value: i.Expr | None, least: int | None) -> Term:
        lists = self.reader.lists
        if name:
            self.scope.names[name] = self.list(name, least, given=True)
        found = self.pack_list(name, value)
        length = lists.length(found)
        self.reader.symbols.know(length, t.at_most(length, MAX_RANK))
        if least == 1:
            self.reader.symbols.know(length, t.at_most(1, length))
        return lists.size(found)

    def pack_list(self, name: str | None, value: i.Expr | None) -> List:
        return self.reader.sequence(i.Var(name) if name else value or i.ZERO, self.scope)

    def several(self, item: Input, name: str | None) -> None:
        """Tensors of a variadic input; there is one at least."""
        if item.count and item.count not in self.scope.names:
            self.integer(item.count, 1, 64)
        if name:
            self.scope.names[name] = self.list(name, 0 if item.empty else 1)

    def attribute(self, statement: i.TakeAttribute) -> None:
        """Its numbers are from `low` on and below `high`, unless it is a word or left out."""
        attribute = statement.attribute
        if attribute.kind == "real":
            return
        whole = attribute.is_list or bool(attribute.components)
        own, *others = attribute.bound_names
        for name in others if whole else (own, *others):
            if attribute.kind == "bool":
                self.scope.names[name] = self.reader.symbols.fresh_truth(name)
            else:
                self.integer(
                    name,
                    ATTRIBUTE_LOW if statement.low is None else INT64.low,
                    ATTRIBUTE_HIGH if statement.high is None else INT64.high,
                )
        if whole:
            entries = replace(
                self.list(own, None), known=KnownList(holds=self.limits_of(statement))
            )
            self.scope.names[own] = entries
        if attribute.words or attribute.kind in ("bool", "real"):
            return
        there: Formula = t.TruthSymbol(f"present({own})") if attribute.optional else t.TRUE
        for name in attribute.components or (() if whole else (own,)):
            self.limits(statement, name, there)

    def limits_of(self, statement: i.TakeAttribute) -> Of | None:
        """The limits of each entry of a list."""
        ends = (statement.low, statement.high)
        if statement.attribute.words or statement.attribute.kind == "bool" or None in ends:
            return None
        low, high = (self.reader.integer(each, self.scope) for each in ends if each is not None)
        return lambda value: t.every(t.at_most(low, value), t.below(value, high))

    def limits(self, statement: i.TakeAttribute, name: str, there: Formula) -> None:
        value = self.reader.integer(i.Var(name), self.scope)
        if statement.low is not None:
            low = self.reader.integer(statement.low, self.scope)
            self.know(t.implies(there, t.at_most(low, value)))
        if statement.high is not None:
            high = self.reader.integer(statement.high, self.scope)
            self.know(t.implies(there, t.below(value, high)))

    def output(self, tensor: str, extents: i.Expr, empty: bool) -> None:
        """The extents of a result are at least 1, or 0 where it may be empty, or it is refused."""
        lists = self.reader.lists
        found = self.reader.sequence(extents, self.scope)
        least = 0 if empty else 1
        if found.parts is None:
            if isinstance(extents, i.Var):
                self.scope.names[extents.name] = replace(found, least=found.least or least)
            found = lists.shape(shape_name(tensor), found, least)
            self.shapes[tensor] = (lists.size(found),)
        else:
            parts = found.parts
            shape = tuple(lists.size(e) if isinstance(e, List) else e for e in parts)
            self.know(*(t.at_most(least, each) for each in shape))
            found = replace(found, least=least)
            self.shapes[tensor] = shape
        self.sizes.append(t.below(t.product(self.shapes[tensor]), MAX_SIZE))
        self.scope.names[shape_name(tensor)] = self.boxes[tensor] = found
