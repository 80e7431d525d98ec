"""Greedy selections in C: what tests ask of the entries so far lies side by side.

A candidate is tested against every entry before it. What a test reads of an entry depends on the
entry alone, so it is computed once, when the entry is kept, and lies in arrays of its own. Then a
block of entries is tested at once by the comparisons that cost little, all of them evaluated, and
what they do not rule out is tested one by one.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from cvmgen.analysis.definedness import always_evaluated
from cvmgen.analysis.greedy import Greedy, find_greedy
from cvmgen.analysis.in_bounds import Inside
from cvmgen.dtypes import DType
from cvmgen.ir import nodes as i
from cvmgen.ir.logic import conjunction, conjuncts
from cvmgen.ir.rewrite import without_dead
from cvmgen.ir.uses import all_names, assigned, names_in, nodes_in
from cvmgen.ir.visit import fresh, replaced, substitute, walk

BLOCK = 64
TRUE, FALSE = i.Const(True), i.Const(False)
KEPT_TYPES = ("i32", "i64")
CHEAP_CALLS = tuple(f"{name}_{kind}" for name in ("min", "max", "abs") for kind in KEPT_TYPES)


@dataclass(frozen=True, slots=True)
class KeptValue:
    """A value of each entry: the array that holds it, its type, what it is of an entry."""

    name: str
    array: str
    type: str
    value: i.Expr


@dataclass(frozen=True, slots=True)
class ListEntries:
    """The body of a nest whose entries lie side by side, the arrays for them, and the index of the
    loop that tests a block of them."""

    body: i.Block
    arrays: tuple[KeptValue, ...]
    together: str


def list_entries(
    body: i.Block,
    own: tuple[str, ...],
    dtypes: Mapping[str, DType],
    inside: Inside,
    taken: Iterable[str],
    block: int = BLOCK,
) -> ListEntries | None:
    """The typed body of a nest that fills the lists in `own`; None where it is no such nest.

    `taken` are names that the arrays may not have; `inside` tells which elements may be read
    before the tests that lead to them.
    """
    found = find_greedy(body, frozenset(own))
    if found is not None:
        made = EntryStaging(found, own[0], dtypes, inside, {*taken, *all_names(body)}, block)
        return made.entries()
    match body:
        case (i.Loop(low=i.Const(value=0), index=index, high=high) as loop,):
            inner = list_entries(loop.body, own, dtypes, inside.within(index, high), taken, block)
            return None if inner is None else replace(inner, body=(replace(loop, body=inner.body),))
        case _:
            return None


class EntryStaging:
    """Makes the statements of one selection."""

    def __init__(
        self,
        found: Greedy,
        list_name: str,
        dtypes: Mapping[str, DType],
        inside: Inside,
        taken: set[str],
        block: int,
    ) -> None:
        self.found = found
        self.list_name = list_name
        self.dtypes = dtypes
        self.inside = inside
        self.taken = taken
        self.block = block
        self.kept: list[KeptValue] = []
        self.locals: dict[str, i.Let] = {}
        self.marks: tuple[KeptValue, ...] = ()  # which entries of a block are tested one by one
        self.together = ""  # the index of the loop over a block

    def entries(self) -> ListEntries | None:
        chain = decision_chain(self.found.test.body)
        if chain is None:
            return None
        self.locals = {each.name: each for each in chain if isinstance(each, i.Let)}
        of_entry, of_candidate, shared, rest = self.sorted_tests(chain)
        if not shared or not self.may_come_first((*of_entry, *of_candidate, *shared)):
            return None
        filter_ = [self.staged(test) for test in shared]
        tail = [self.staged(each) for each in rest]
        if not self.kept or self.unknown((tuple(filter_), tuple(tail))):
            return None
        if not self.may_come_first([each.value for each in self.kept]):
            return None
        body = self.selection(of_entry, of_candidate, filter_, tuple(tail))
        return ListEntries(body, (*self.kept, *self.marks), self.together)

    @property
    def entry(self) -> str:
        return self.found.test.index

    @property
    def candidate(self) -> str:
        return self.found.loop.index

    @property
    def span(self) -> Any:
        return self.found.loop.span

    # -------------------------------------------------------- what depends on what

    def expanded(self, node: Any) -> Any:
        """A node with the values of the test's locals."""
        values = {name: local.value for name, local in self.locals.items()}
        while names_in(node) & values.keys():
            node = substitute(node, values)
        return node

    def asks(self, node: object) -> tuple[bool, bool]:
        """Whether a node depends on the entry, and whether on the candidate."""
        read = names_in(self.expanded(node))
        return self.entry in read, bool(read & {self.candidate, *assigned(self.found.own)})

    def sorted_tests(
        self, chain: i.Block
    ) -> tuple[list[i.Expr], list[i.Expr], list[i.Expr], list[i.Stmt]]:
        """Tests of an entry, of a candidate, cheap ones of both; and what follows those."""
        of_entry: list[i.Expr] = []
        of_candidate: list[i.Expr] = []
        shared: list[i.Expr] = []
        rest: list[i.Stmt] = []
        for each in chain:
            if isinstance(each, i.If) and not rest:
                test = each.condition
                match self.asks(test):
                    case (True, True) if self.cheap(test):
                        shared.append(test)
                    case (True, False) if self.cheap(test):
                        of_entry.append(test)
                    case (False, _) if self.cheap(test):
                        of_candidate.append(test)
                    case _:
                        rest.append(each)
            elif isinstance(each, i.If) or self.late(each):
                rest.append(each)
        if all(isinstance(each, i.Let) for each in rest):
            rest = []
        return of_entry, of_candidate, shared, rest

    def late(self, local: i.Stmt) -> bool:
        """Whether a local is set where it is needed: one of both, or one that no array can hold."""
        assert isinstance(local, i.Let)
        entry, candidate = self.asks(local)
        return entry and (candidate or local.type not in KEPT_TYPES)

    def cheap(self, test: i.Expr) -> bool:
        """Whether a test is made of comparisons and sums of numbers of at most 64 bits."""
        return all(map(is_cheap, walk(self.expanded(test))))

    def may_come_first(self, nodes: Iterable[object]) -> bool:
        """Whether parts of the entry or of the candidate alone may be evaluated for each
        candidate that meets its own condition."""
        asked = always_evaluated(self.found.condition)
        always = [each for each in asked if isinstance(each, i.Load)]
        for node in nodes:
            of_candidate = substitute(self.expanded(node), {self.entry: i.Var(self.candidate)})
            for each in walk(of_candidate):
                if isinstance(each, i.Load) and not self.readable(each, always):
                    return False
        return True

    def readable(self, load: i.Load, always: list[i.Load]) -> bool:
        if load in always:
            return True
        loop = self.found.loop
        inside = self.inside
        if loop.low == i.ZERO:
            inside = inside.within(loop.index, loop.high)
        return inside.element(load) or any(inside.same_row(load, other) for other in always)

    def unknown(self, nodes: object) -> bool:
        """Whether nodes read of an entry what is neither in an array nor set by them."""
        lets = {each.name for each in nodes_in(nodes, i.Let)}
        known = {each.name for each in self.kept} | lets
        return any(name not in known and self.asks(i.Var(name))[0] for name in names_in(nodes))

    # -------------------------------------------------------- arrays

    def staged(self, node: Any) -> Any:
        """A node that reads what depends on the entry alone as locals."""

        def change(each: Any) -> Any:
            if not isinstance(each, (i.Var, i.Load)) or self.type_of(each) not in KEPT_TYPES:
                return each
            match self.asks(each):
                case (True, False):
                    return i.Var(self.keep(each))
                case (False, True) if isinstance(each, i.Load):
                    return i.Var(self.local(each))
                case _:
                    return each

        return replaced(node, change)

    def type_of(self, node: i.Expr) -> str:
        match node:
            case i.Var(name=name) if name in self.locals:
                return self.locals[name].type
            case i.Var():
                return "i64"  # the entry
            case i.Load(tensor=tensor) if tensor in self.dtypes:
                dtype = self.dtypes[tensor]
                return ("i64" if dtype.bits > 32 else "i32") if dtype.kind == "int" else dtype.kind
            case i.Load():
                return "i64"
            case _:
                return ""

    def local(self, load: i.Load) -> str:
        """The local for an element that depends on the candidate alone."""
        value = self.expanded(load)
        for name, known in self.locals.items():
            if self.expanded(known.value) == value:
                return name
        name = fresh(f"{load.tensor}_{self.candidate}", self.taken)
        self.locals[name] = i.Let(name, self.type_of(load), load, self.span)
        return name

    def keep(self, node: i.Var | i.Load) -> str:
        """The local for a value of the entry, which has an array from now on."""
        value = self.expanded(node)
        for each in self.kept:
            if each.value == value:
                return each.name
        name = plain = node.tensor if isinstance(node, i.Load) else node.name
        if name in self.locals:
            plain = name.rstrip("0123456789").removesuffix("_")
        else:
            name = fresh(f"{name}_{self.entry}", self.taken)
        array = fresh(f"{self.list_name}_{plain}", self.taken)
        self.kept.append(KeptValue(name, array, self.type_of(node), value))
        return name

    # -------------------------------------------------------- statements

    def selection(
        self,
        of_entry: list[i.Expr],
        of_candidate: list[i.Expr],
        filter_: list[i.Expr],
        rest: i.Block,
    ) -> i.Block:
        found, span = self.found, self.span
        count = i.Var(fresh("entries", self.taken))
        keeps = i.Var(fresh("keeps", self.taken))
        stores = self.stores(count)
        kept: i.Block = (found.store, i.Accumulate(found.counter, "+", i.ONE, span))
        entry_tests = [self.of_candidate(test) for test in of_entry]
        if entry_tests:
            stores = (i.If(conjunction(entry_tests), stores, (), span),)
        search: i.Block = (self.blocks(count, keeps, filter_, rest),)
        if of_candidate:
            search = (i.If(conjunction(of_candidate), search, (), span),)
        body: i.Block = (
            i.Let(keeps.name, "bool", TRUE, span),
            *search,
            i.If(keeps, (*kept, *stores), (), span),
        )
        body = (*self.candidate_locals(body), *body)
        if found.condition != TRUE:
            body = (i.If(found.condition, body, (), span),)
        loop = replace(found.loop, body=(*found.own, *body))
        start = i.Let(count.name, "i64", i.ZERO, span)
        return (*found.locals, start, loop, *found.behind)

    def of_candidate(self, node: Any) -> Any:
        """What a node says of an entry, said of the candidate, with its locals where it has any."""
        return self.named(substitute(self.expanded(node), {self.entry: i.Var(self.candidate)}))

    def named(self, node: Any) -> Any:
        """A node with the locals of the candidate for their values."""
        own = {
            self.expanded(local.value): i.Var(name)
            for name, local in self.locals.items()
            if not self.asks(local.value)[0]
        }
        return replaced(node, lambda each: own.get(each, each) if is_expr(each) else each)

    def stores(self, count: i.Var) -> i.Block:
        stores: list[i.Stmt] = []
        for each in self.kept:
            place = i.Load(each.array, None, self.place(count))
            stores.append(i.Store(place, self.of_candidate(each.value), self.span))
        return (*stores, i.Accumulate(count.name, "+", i.ONE, self.span))

    def place(self, at: i.Expr) -> i.Expr:
        """Where entry `at` of the list at hand lies in an array."""
        entries = self.found.test.high
        assert isinstance(entries, i.Entries)
        assert isinstance(entries.first, i.Load)
        first = entries.first.offset
        return at if first == i.ZERO else i.Binary("+", first, at)

    def candidate_locals(self, body: i.Block) -> i.Block:
        """The locals of the candidate alone that a block reads."""
        own = (each for each in self.locals.values() if not self.asks(each.value)[0])
        return without_dead(tuple(own), body)

    def blocks(self, count: i.Var, keeps: i.Var, filter_: list[i.Expr], rest: i.Block) -> i.Loop:
        span = self.span
        index, first, end, near, at = (
            i.Var(fresh(each, self.taken)) for each in ("block", "first", "end", "near", "at")
        )
        self.together = at.name
        size = i.Const(self.block)
        highest = i.Call("min_i64", (i.Binary("+", first, size), count))
        together = i.Logic("both", tuple(map(_evaluated, filter_)))
        passed = i.Var(fresh("passes", self.taken))
        place = self.place(i.Binary("-", at, first))
        mark = i.Load(fresh(f"{self.list_name}_near", self.taken), None, place)
        noted: i.Block = ()
        ruled_out: i.Block = (i.Assign(keeps.name, FALSE, span), i.Break(span))
        one_by_one: i.Block = ruled_out
        if rest:
            self.marks = (KeptValue(near.name, mark.tensor, "i32", i.ZERO),)
            noted = (i.Store(mark, passed, span),)
            tests = (*self.read(at, *rest), *nested_tests(rest, ruled_out))
            test = i.If(i.Compare("!=", mark, i.ZERO), tests, (), span)
            loop = i.Loop(at.name, first, end, (test,), 0, span)
            one_by_one = (loop, i.If(i.Not(keeps), (i.Break(span),), (), span))
        asked = i.Compare("!=", near, i.ZERO)
        body: i.Block = (
            i.Let(first.name, "i64", i.Binary("*", index, size), span),
            i.Let(end.name, "i64", highest, span),
            i.Let(near.name, "i32", i.ZERO, span),
            i.Loop(
                at.name,
                first,
                end,
                (
                    *self.read(at, *filter_),
                    i.Let(passed.name, "i32", together, span),
                    *noted,
                    i.Accumulate(near.name, "|", passed, span),
                ),
                0,
                span,
            ),
            i.If(asked, one_by_one, (), span),
        )
        blocks = i.Binary("truncdiv", i.Binary("+", count, i.Const(self.block - 1)), size)
        return i.Loop(index.name, i.ZERO, blocks, body, 0, span)

    def read(self, at: i.Var, *nodes: object) -> i.Block:
        """The locals for the values of an entry."""
        read = names_in(tuple(nodes))
        return tuple(
            i.Let(each.name, each.type, i.Load(each.array, None, self.place(at)), self.span)
            for each in self.kept
            if each.name in read
        )


def decision_chain(body: i.Block) -> i.Block | None:
    """Locals and tests in their order, up to the assignment that decides; a test has no branch."""
    match body:
        case (i.Assign(), i.Break()):
            return ()
        case (*before, i.If(condition=condition, then=then, otherwise=()) as test) if all(
            isinstance(each, i.Let) for each in before
        ):
            inner = decision_chain(then)
            tests = (replace(test, condition=each, then=()) for each in conjuncts(condition))
            return None if inner is None else (*before, *tests, *inner)
        case _:
            return None


def nested_tests(chain: i.Block, last: i.Block) -> i.Block:
    """Locals and tests one in the other, with statements behind all of them."""
    for at, each in enumerate(chain):
        if isinstance(each, i.If):
            return (*chain[:at], replace(each, then=nested_tests(chain[at + 1 :], last)))
    return (*chain, *last)


def _evaluated(test: i.Expr) -> i.Expr:
    """A test of locals whose parts are all evaluated: without branches it is done for several
    entries at once."""
    match test:
        case i.Logic(op=op, operands=operands):
            return i.Logic("both" if op == "and" else "either", tuple(map(_evaluated, operands)))
        case _:
            return test


def is_cheap(node: object) -> bool:
    match node:
        case i.Const() | i.Var() | i.Load() | i.Compare() | i.Logic() | i.Not():
            return True
        case i.Binary(op=op):
            return op in ("+", "-", "*")
        case i.Convert(type=type_name):
            return type_name in KEPT_TYPES
        case i.Call(function=function):
            return function in CHEAP_CALLS
        case _:
            return False


def is_expr(node: object) -> bool:
    return isinstance(node, i.Expr)
