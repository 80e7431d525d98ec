"""The items of a checked operator, read for all sizes: what a call must keep, what it gives."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field
from typing import Any

from cvmgen.compare.binders import Unread
from cvmgen.compare.expressions import ExpressionReader
from cvmgen.compare.table import ListValue, Value, ValueTable
from cvmgen.dtypes import (
    ATTRIBUTE_HIGH,
    ATTRIBUTE_LOW,
    MAX_INPUTS,
    MAX_SIZE,
)
from cvmgen.rules import MOST_NAMED
from cvmgen.spec import formula as f
from cvmgen.spec.host_integers import may_be_wide
from cvmgen.verification import terms as t
from cvmgen.verification.terms import TRUE, Formula, Term


@dataclass(frozen=True, slots=True)
class ReadOutput:
    """The shape of an output, slot by slot, and its precision."""

    shape: tuple[tuple[Value, bool], ...]
    precision: Term | None
    kind: tuple[Any, ...]  # its type in each choice, and whether it may be empty


@dataclass(frozen=True, slots=True)
class ReadEquation:
    """What is stored where, for all indices that `ranges` bind."""

    tensor: str
    ranges: tuple[Any, ...]
    inside: tuple[Formula, ...]
    condition: Formula
    slots: tuple[tuple[Value, bool], ...]
    value: Value


@dataclass(frozen=True, slots=True)
class ReadDemand:
    """What elements must keep, for all indices that `ranges` bind."""

    ranges: tuple[Any, ...]
    inside: tuple[Formula, ...]
    condition: Formula
    claim: Formula


@dataclass(slots=True)
class Block:
    """Items of an operator, or of one of its cases under a condition."""

    condition: Formula = TRUE
    accepts: list[Formula] = field(default_factory=list)  # each asked where those before it hold
    outputs: dict[str, ReadOutput] = field(default_factory=dict)
    equations: list[ReadEquation] = field(default_factory=list)
    demands: list[ReadDemand] = field(default_factory=list)
    cases: list[Block] = field(default_factory=list)

    @property
    def accepted(self) -> Formula:
        """What of a call must hold that gets here, but for what its outputs ask."""
        chosen = (t.implies(each.condition, each.accepted) for each in self.cases)
        return t.every(*self.accepts, *chosen)


class Items(ExpressionReader):
    """Reads a whole operator; of an attribute that only this one has, `defaults` are taken."""

    def __init__(self, table: ValueTable, operator: f.Operator, left_away: frozenset[str]) -> None:
        super().__init__(table, operator)
        self.left_away = left_away
        self.env: dict[str, Any] = {}
        self.kinds: dict[str, Any] = {}  # what inputs and attributes are, by name
        self.defaults: dict[str, Value | None] = {}

    def read(self) -> Block:
        found = Block()
        self.items(self.operator.items, found)
        return found

    def items(self, items: tuple[f.Item, ...], into: Block) -> None:
        for item in items:
            with self.where(*into.accepts):
                self.item_of(item, into)

    def item_of(self, item: f.Item, into: Block) -> None:
        match item:
            case f.Input():
                self.input(item, into)
            case f.Attribute():
                self.attribute(item, into)
            case f.Let():
                self.let(item, into)
            case f.Require(condition=condition):
                into.accepts.append(self.condition(condition, self.env))
            case f.Output():
                self.output(item, into)
            case f.Equation():
                into.equations.append(self.equation(item))
            case f.Demand():
                into.demands.append(self.demand(item))
            case f.Case(condition=condition, items=items):
                case = Block(self.condition(condition, self.env))
                outer = dict(self.env)
                with self.where(case.condition):
                    self.items(items, case)
                self.env = outer
                into.cases.append(case)
            case f.Definition():
                pass

    # -------------------------------------------------------- what a call gives

    def input(self, item: f.Input, into: Block) -> None:
        slots = tuple(each.pack for each in item.extents)
        kind = self.dtypes(item.name) or item.dtype
        self.kinds[item.name] = (kind, slots, item.empty, item.optional, item.variadic)
        if item.variadic:
            assert item.count is not None
            count = self.table.apply(("count", item.name), low=1, high=MAX_INPUTS)
            self.env[item.count] = count
        given = self.present(item.name) if item.optional else TRUE
        for at, extent in enumerate(item.extents):
            key = ("extents", item.name, at)
            found: Value
            if extent.pack:
                found = self.table.listed(*key, nested=item.variadic)
                self.table.floors[found.number] = 0 if item.empty else 1
            else:
                found = self.table.apply(key, low=0 if item.empty else 1, high=MAX_SIZE - 1)
            if extent.new:
                self.env[extent.new] = found
            else:
                with self.where(given):
                    wanted = self.value(extent.value, self.env)
                into.accepts.append(t.implies(given, self.same(found, wanted)))

    def attribute(self, item: f.Attribute, into: Block) -> None:
        self.kinds[item.name] = (
            *(item.kind, item.is_list, item.optional, len(item.components)),
            *(frozenset(item.words), item.required),
        )
        default = None if item.default is None else self.value(item.default, self.env)
        self.defaults[item.name] = default
        if item.name in self.left_away:
            return self.without(item, default)
        self.env[item.name] = found = self.given(item)
        if item.components:
            assert isinstance(found, ListValue)
            assert found.entries is not None
            self.env.update(zip(item.components, found.entries, strict=True))
        if item.kind == "int":
            into.accepts.append(self.in_range(item, found))
        if item.inside is not None:
            given = self.present(item.name) if item.optional else TRUE
            into.accepts.append(
                t.implies(
                    given, self.comparison(item.inside.relations, item.inside.operands, self.env)
                )
            )
        return None

    def without(self, item: f.Attribute, default: Value | None) -> None:
        """An attribute that calls leave away, as the other formula has none of that name."""
        if item.required or item.words:
            raise Unread
        if default is None:
            return
        self.env[item.name] = default
        if item.components:
            entries = default.entries if isinstance(default, ListValue) else None
            if entries is None:
                raise Unread
            self.env.update(zip(item.components, entries, strict=True))

    def present(self, name: str) -> Formula:
        return t.FALSE if name in self.left_away else super().present(name)

    def given(self, item: f.Attribute) -> Value:
        if item.kind == "real" and item.is_listed:
            raise Unread
        key, low, high = ("attribute", item.name), ATTRIBUTE_LOW, ATTRIBUTE_HIGH - 1
        if item.components:
            places = range(len(item.components))
            return self.table.tuple_of(
                tuple(self.table.apply((*key, at), low=low, high=high) for at in places)
            )
        if item.is_list:
            return self.table.listed(*key)
        if item.kind == "bool":
            return self.table.truth(*key)
        if item.kind == "real":
            return self.table.real(*key)
        return self.table.apply(key, low=low, high=high)

    def in_range(self, item: f.Attribute, found: Value) -> Formula:
        """Of an attribute that is given, and not as a word, each number is in its range."""
        given = self.present(item.name) if item.optional else TRUE
        no_word = t.negation(t.some(*(self.word(item.name, each) for each in item.words)))
        with self.where(given, no_word):
            ends = [
                None if each is None else self.integer(each, self.env)
                for each in (item.low, item.high)
            ]
        if ends == [None, None]:
            return TRUE
        if isinstance(found, ListValue) and found.entries is None:
            return t.some(
                t.negation(given), t.negation(no_word), self.table.truth("in range", found, *ends)
            )
        entries = found.entries if isinstance(found, ListValue) else (found,)
        low, high = (t.term(ATTRIBUTE_LOW), t.term(ATTRIBUTE_HIGH))
        low, high = (
            each if end is None else end for each, end in zip((low, high), ends, strict=True)
        )
        within = (
            t.every(t.at_most(low, self.number(each)), t.below(self.number(each), high))
            for each in entries or ()
        )
        return t.some(t.negation(given), t.negation(no_word), t.every(*within))

    # -------------------------------------------------------- what it makes of it

    def let(self, item: f.Let, into: Block) -> None:
        found = self.env[item.name] = self.value(item.value, self.env)
        if isinstance(found, Term) and may_be_wide(self.operator, item):
            into.accepts.append(t.at_most(-MOST_NAMED, found))
            into.accepts.append(t.at_most(found, MOST_NAMED))
        if isinstance(found, ListValue):  # its length has a limit, and so have its entries
            into.accepts.append(self.table.truth("room", item.kind.name, found))

    def output(self, item: f.Output, into: Block) -> None:
        shape = tuple((self.value(each.value, self.env), each.pack) for each in item.slots)
        precision = None
        if item.precision is not None:
            precision = self.integer(item.precision, self.env)
        kind = (self.dtypes(item.name) or item.dtype, item.empty)
        into.outputs[item.name] = ReadOutput(shape, precision, kind)

    def demand(self, item: f.Demand) -> ReadDemand:
        with ExitStack() as stack:
            bound = stack.enter_context(self.bound(item.domain, self.env))
            env, ranges, inside, condition = bound
            stack.enter_context(self.where(*inside, condition))
            return ReadDemand(ranges, inside, condition, self.condition(item.condition, env))

    def equation(self, item: f.Equation) -> ReadEquation:
        outer, self.definitions = self.definitions, dict(self.definitions)
        self.definitions |= {each.name: each for each in item.where}
        with ExitStack() as stack:
            bound = stack.enter_context(self.bound(item.domain, self.env))
            env, ranges, inside, condition = bound
            stack.enter_context(self.where(*inside, condition))
            slots = tuple((self.value(each.value, env), each.pack) for each in item.slots)
            value = self.value(item.value, env)
        self.definitions = outer
        return ReadEquation(item.tensor, ranges, inside, condition, slots, value)


Kinds = Mapping[str, Any]
