"""What holds in every admitted call: declared shapes and ranges, requirements, lists' entries."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from cvmgen.inside.assumptions import in_range
from cvmgen.inside.binding import with_free_values
from cvmgen.inside.knowledge import Knowledge
from cvmgen.inside.prover import PlaceProver
from cvmgen.ir import nodes as i
from cvmgen.ir.host import shape_name
from cvmgen.ir.logic import conjuncts
from cvmgen.ir.visit import walk
from cvmgen.lower.selections import length_name
from cvmgen.polynomials import Poly
from cvmgen.spec.formula import Attribute, Input

Slots = tuple[tuple[i.Expr, bool], ...]
Required = tuple[str, i.Expr]  # a relation of an element to a value of the call


@dataclass(frozen=True, slots=True)
class Alternative:
    """A value that is stored for these indices, where the conditions hold; `local` are names of
    its own."""

    index: tuple[i.Expr, ...]
    conditions: tuple[i.Expr, ...]
    value: i.Expr
    local: frozenset[str]

    def anywhere(self) -> Alternative:
        """The same once the entries of the list are in another order."""
        return replace(self, index=(*self.index[:-1], i.ZERO))


class CallProver(PlaceProver):
    """A prover that knows one operator: its operands, and its selected lists as they are made."""

    def __init__(self, program: i.Program) -> None:
        super().__init__(program.operator)
        self.program = program
        self.down_to: dict[str, int] = {}
        self.ranks: dict[str, int] = {}
        self.ranges: dict[str, tuple[i.Expr | None, i.Expr | None, bool]] = {}
        self.shapes: dict[str, Slots] = {}
        self.many: dict[str, str] = {}  # the shapes of variadic inputs, and how many there are
        self.given: dict[str, str] = {}  # names that have a value only if this operand is given
        self.stored: dict[str, tuple[Alternative, ...]] = {}
        self.required: Mapping[str, tuple[Required, ...]] = {}  # of elements of inputs
        for name, memory in program.lets.items():
            self.shapes[name] = tuple((extent, False) for extent in memory.shape)

    # -------------------------------------------------------- declarations

    def declare(self, at: Knowledge, statement: i.Stmt) -> Knowledge:
        """What is known behind a statement of the host."""
        match statement:
            case i.Let(name=name, value=value):
                return at.let(name, value)
            case i.Require(condition=condition):
                return self.assume(at, condition)
            case i.TakeInput(input=item, known=known):
                return self.input(at, item, known)
            case i.TakeAttribute(attribute=attribute, low=low, high=high):
                return self.attribute(at, attribute, low, high)
            case i.SetOutput(tensor=tensor, extents=extents, empty=empty):
                name = shape_name(tensor)
                self.shapes[tensor] = ((i.Var(name), True),)
                if not empty:
                    self.ranks[name] = 1
                return at.let(name, extents)
            case _:
                return at

    def input(self, at: Knowledge, item: Input, known: tuple[i.Expr | None, ...]) -> Knowledge:
        least = 0 if item.empty else 1
        if item.count is not None:
            self.down_to[item.count] = 1
            self.many[str(item.extents[0].new)] = item.count
        slots: list[tuple[i.Expr, bool]] = []
        alone = sum(not extent.pack for extent in item.extents) == 0
        for extent, value in zip(item.extents, known, strict=True):
            if extent.new is None:
                assert value is not None
                slots.append((value, extent.pack))
                continue
            self.down_to[extent.new] = least
            self.ranks[extent.new] = least if alone else 0
            if item.optional:
                self.given[extent.new] = item.name
            slots.append((i.Var(extent.new), extent.pack))
        self.shapes[item.name] = tuple(slots)
        return at

    def attribute(
        self, at: Knowledge, item: Attribute, low: i.Expr | None, high: i.Expr | None
    ) -> Knowledge:
        if item.kind != "int":
            if item.optional:
                self.given[item.name] = item.name
            return at
        names = (item.name, *item.components)
        if item.optional:
            self.given |= dict.fromkeys(names, item.name)
        if item.is_list or item.components:
            self.ranges[item.name] = (low, high, bool(item.words))
        for name in item.components if item.components else () if item.is_list else names:
            found = self.ranged(i.Var(name), low, high, bool(item.words))
            if found is not None and item.optional:
                found = i.Logic("or", (i.Not(i.Given(item.name)), found))
            at = at if found is None else self.assume(at, found)
        return at

    @staticmethod
    def ranged(
        value: i.Expr, low: i.Expr | None, high: i.Expr | None, words: bool
    ) -> i.Expr | None:
        """The declared range of a value; with a word in its place it is 0."""
        tests: list[i.Expr] = []
        if low is not None:
            tests.append(i.Compare("<=", low, value))
        if high is not None:
            tests.append(i.Compare("<", value, high))
        if not tests:
            return None
        inside = i.Logic("and", tuple(tests))
        return i.Logic("or", (inside, i.Compare("==", value, i.ZERO))) if words else inside

    def of_attribute(self, value: i.Expr, name: str) -> i.Expr | None:
        if name not in self.ranges:
            return None
        return self.ranged(value, *self.ranges[name])

    def length(self, sequence: i.Expr, at: Knowledge) -> Poly:
        if isinstance(sequence, i.Var) and sequence.name in self.many:
            return self.poly(i.Var(self.many[sequence.name]), at)
        return super().length(sequence, at)

    # -------------------------------------------------------- elements

    def within_requirements(self, required: Mapping[str, tuple[Required, ...]]) -> None:
        """From here on these requirements on elements hold."""
        if required != self.required:
            self.required = required
            self.told_plainly.clear()

    def told(self, number: int, at: Knowledge) -> Iterator[Poly | i.Expr]:
        yield from super().told(number, at)
        match self.atoms[number]:
            case i.Access(tensor=tensor) as element if tensor in self.required:
                tests = [i.Compare(op, element, value) for op, value in self.required[tensor]]
                yield i.Logic("and", tuple(tests))
            case _:
                pass

    # -------------------------------------------------------- selected lists

    def summarise(self, nest: i.Nest) -> None:
        """What the nest of a selected list stores, for those that read it."""
        found: dict[str, list[Alternative]] = {}
        Summary(self, found).block(nest.body, (), frozenset(), {})
        wanted = (nest.tensor, length_name(nest.tensor))
        self.stored |= {name: tuple(each) for name, each in found.items() if name in wanted}

    def of_stored(self, access: i.Access, value: i.Expr) -> i.Expr | None:
        """Where an element of the memory of a list, with this value, comes from."""
        alternatives = self.stored.get(access.tensor)
        if not alternatives:
            return None
        cases = [self.origin(access, value, each) for each in alternatives]
        return cases[0] if len(cases) == 1 else i.Logic("or", tuple(cases))

    def origin(self, access: i.Access, value: i.Expr, stored: Alternative) -> i.Expr:
        values: dict[str, i.Expr] = {
            name: self.named(name, (access, stored, name)) for name in sorted(stored.local)
        }
        if isinstance(stored.value, i.Var) and stored.value.name in values:
            values[stored.value.name] = value  # so that what is said of it is said of the value
        for own, (given, _) in zip(stored.index, access.index, strict=False):
            if isinstance(own, i.Var) and own.name in values:
                values[own.name] = given
        tests = [with_free_values(each, values) for each in stored.conditions]
        same = i.Compare("==", value, with_free_values(stored.value, values))
        return i.Logic("and", (*tests, same))


class Summary:
    """Walks the nest of a list for what it stores, and the conditions around."""

    def __init__(self, prover: CallProver, found: dict[str, list[Alternative]]) -> None:
        self.prover = prover
        self.found = found

    def block(
        self,
        body: i.Block,
        conditions: tuple[i.Expr, ...],
        local: frozenset[str],
        lets: Mapping[str, i.Expr],
    ) -> None:
        for statement in body:
            match statement:
                case i.Let(name=name, value=value):
                    counted = counter_facts(body, name)
                    if counted is None:
                        lets = {**lets, name: with_free_values(value, lets)}
                        continue
                    local |= {name}
                    conditions = (*conditions, with_free_values(counted, lets))
                case i.Loop(index=index, low=low, high=high, body=inner):
                    inside = in_range(i.Var(index), low, high)
                    more = (*conditions, with_free_values(inside, lets))
                    self.block(inner, more, local | {index}, lets)
                case i.If(condition=condition, then=then, otherwise=otherwise):
                    simple = filter(self.is_simple, conjuncts(condition))
                    tests = tuple(with_free_values(each, lets) for each in simple)
                    self.block(then, (*conditions, *tests), local, lets)
                    self.block(otherwise, conditions, local, lets)
                case i.Store(target=i.Access(tensor=tensor, index=index), value=value):
                    places = tuple(with_free_values(each, lets) for each, _ in index)
                    stored = Alternative(places, conditions, with_free_values(value, lets), local)
                    self.found.setdefault(tensor, []).append(stored)
                case i.Sort(entries=i.Entries(first=i.Access(tensor=tensor))):
                    self.found[tensor] = [each.anywhere() for each in self.found[tensor]]
                case _:
                    pass

    def is_simple(self, condition: i.Expr) -> bool:
        """Whether a condition compares what a call brings along, which stays as it is; not what
        lists hold so far."""
        inputs = self.prover.shapes
        return not any(
            isinstance(each, (i.Fold, i.Entries))
            or (isinstance(each, i.Access) and each.tensor not in inputs)
            for each in walk(condition)
        )


def counter_facts(body: i.Block, name: str) -> i.Expr | None:
    """What is known of a local that counts iterations of a loop beside it; else None."""
    count = i.Var(name)
    for statement in body:
        if not isinstance(statement, i.Loop) or not counts_iterations(statement.body, name):
            continue
        length = (
            i.Call("len", (statement.high,))
            if statement.low is None
            else i.Call("max", (i.ZERO, i.Binary("-", statement.high, statement.low)))
        )
        return i.Logic("and", (i.Compare("<=", i.ZERO, count), i.Compare("<=", count, length)))
    return None


def counts_iterations(body: i.Block, name: str) -> bool:
    for statement in body:
        match statement:
            case i.Accumulate(name=counter) if counter == name:
                return True
            case i.If(then=then) if counts_iterations(then, name):
                return True
            case _:
                pass
    return False
