"""Loops of the host over dimensions, as lists of which the entry at any index is known.

The rank of a pack is known in a call alone, so loops are not run: a list that a loop makes is a
function of the index, asked for at the few indices that a proof speaks of; a test that holds at
all indices is a fact at each of these; steps that a loop adds up are pieces, one for each index.
What is not understood is a list of which nothing is known.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import combinations

from cvmgen.ir import nodes as i
from cvmgen.ir.uses import carried, has, names_in
from cvmgen.verification import terms as t
from cvmgen.verification.contexts import Contexts
from cvmgen.verification.lists import KnownList, List, StepChange, Steps
from cvmgen.verification.reading import FormulaReader, PlaceScope
from cvmgen.verification.terms import Formula, Term
from cvmgen.verification.walks import STRIDES

Test = Callable[[PlaceScope], Formula]
Behind = Callable[[i.Block, PlaceScope], PlaceScope]  # what is known behind statements


@dataclass(frozen=True)
class Run:
    """A loop: its positions are `low` <= position < `high`, or those of the entries of a list.
    `first` gives names that each iteration computes for itself before its last statement."""

    reader: FormulaReader
    scope: PlaceScope
    index: str
    low: Term
    high: Term
    entries: List | None
    first: Callable[[PlaceScope], PlaceScope] | None = None

    @classmethod
    def of(cls, reader: FormulaReader, loop: i.Loop, scope: PlaceScope) -> Run:
        kept = PlaceScope(dict(scope.names), ())
        if loop.low is None:
            entries = reader.sequence(loop.high, kept)
            return cls(reader, kept, loop.index, t.ZERO, reader.lists.length(entries), entries)
        low, high = (reader.integer(each, kept) for each in (loop.low, loop.high))
        return cls(reader, kept, loop.index, low, high, None)

    def inside(self, at: Term) -> Formula:
        return t.every(t.at_most(self.low, at), t.below(at, self.high))

    def having(self, value: Term) -> PlaceScope:
        """Names in the iteration in which the index is this value."""
        begin = PlaceScope({**self.scope.names, self.index: value}, ())
        return begin if self.first is None else PlaceScope(self.first(begin).names, ())

    def scope_at(self, at: Term) -> PlaceScope:
        value = at if self.entries is None else self.reader.lists.entry(self.entries, at)
        return self.having(value)

    def runs_over(self, value: Term) -> Formula:
        """Whether the index is a value in some iteration."""
        if self.entries is None:
            return self.inside(value)
        return self.reader.lists.member(self.entries, value)


@dataclass(frozen=True)
class Universal:
    """A condition that says that something holds of all values that an index has."""

    truth: t.TruthSymbol
    says: Callable[[Term], Formula]


@dataclass(frozen=True)
class InsertedValues:
    """Values that a loop put into a set, one in each iteration: where the set has as many entries
    as there were iterations, no two of them are equal."""

    as_many: Formula
    inside: Callable[[Term], Formula]
    value: Callable[[Term], Term]


class Dimensions:
    """Reads loops of the host; `universals` are the tests found so far, `inserted` what sets were
    made of, `bases` what scalars are sums of, by symbol."""

    def __init__(self, reader: FormulaReader, behind: Behind) -> None:
        self.reader, self.lists, self.symbols = reader, reader.lists, reader.symbols
        self.behind = behind
        self.universals: list[Universal] = []
        self.inserted: list[InsertedValues] = []
        self.bases: dict[str, tuple[Steps, ...]] = {}

    def loop(self, loop: i.Loop, scope: PlaceScope) -> dict[str, Term | Formula | List]:
        """What a loop makes of names that stood there before, as far as it is understood."""
        run = Run.of(self.reader, loop, scope)
        first, last = loop.body[:-1], loop.body[-1]
        if first:
            if carried(first) or has(first, i.Loop):
                return self.added(run, loop)
            run = replace(run, first=lambda begin: self.behind(first, begin))
        match last:
            case i.Append():
                return self.appended(run, last, None)
            case i.If(condition=condition, then=(i.Append() as append,), otherwise=()):
                return self.appended(run, append, condition)
            case i.SetAt():
                return self.put(run, last, None)
            case i.If(condition=condition, then=(i.SetAt() as put,), otherwise=()):
                return self.put(run, put, condition)
            case i.Accumulate(op="and", name=name, value=value):
                return self.tested(run, name, value)
            case _:
                return self.added(run, loop)

    # ------------------------------------------------------------ reading at an index

    def integer(self, value: i.Expr, scope: PlaceScope) -> Term:
        """What the host evaluates is not looked at here: it demands nothing."""
        with self.reader.quiet():
            return self.reader.integer(value, scope)

    def test(self, condition: i.Expr | None, scope: PlaceScope) -> Formula:
        if condition is None:
            return t.TRUE
        with self.reader.quiet():
            return self.reader.condition(condition, scope)

    # ------------------------------------------------------------ lists

    def appended(
        self, run: Run, append: i.Append, condition: i.Expr | None
    ) -> dict[str, Term | Formula | List]:
        before = run.scope.names.get(append.name)
        if not isinstance(before, List) or before.parts != ():
            return {}
        itself = append.value == i.Var(run.index)
        ascending = itself and run.entries is None
        every = condition is None and (append.kind == "list" or ascending)

        def entry(at: Term) -> Term:
            return self.integer(append.value, run.scope_at(run.low + at))

        def holds(value: Term) -> Formula:
            if itself:
                return t.every(run.runs_over(value), self.test(condition, run.having(value)))
            at = self.symbols.fresh(run.index)
            scope = run.scope_at(at)
            same = t.equal(value, self.integer(append.value, scope))
            return t.every(run.inside(at), self.test(condition, scope), same)

        length = self.symbols.extreme("max", run.high - run.low, t.ZERO) if every else None
        distinct = append.kind == "set" or (
            itself and (run.entries is None or run.entries.known.distinct)
        )
        known = KnownList(length, entry if every else None, holds, exact=itself, distinct=distinct)
        made = List(self.symbols.named(append.name), known=known)
        if append.kind == "set" and condition is None:
            as_many = t.equal(self.lists.length(made), run.high - run.low)
            self.inserted.append(
                InsertedValues(as_many, lambda at: run.inside(run.low + at), entry)
            )
        if every and append.kind == "list":
            steps = tuple(self.steps_of(run, append.value))
            made = replace(made, least=self.least(run, entry), steps=steps or None)
        return {append.name: made}

    def least(self, run: Run, entry: Callable[[Term], Term]) -> int | None:
        """A bound of all entries from below, 1 or 0."""
        at = self.symbols.fresh(run.index)
        value, contexts = entry(at), Contexts(self.symbols)
        inside = (t.at_most(0, at), t.below(run.low + at, run.high))
        shown = (n for n in (1, 0) if contexts.shown(inside, t.at_most(n, value)))
        return next(shown, None)

    def put(
        self, run: Run, put: i.SetAt, condition: i.Expr | None
    ) -> dict[str, Term | Formula | List]:
        """Entries are set at an index that moves with the loop, each by one iteration at most."""
        before = run.scope.names.get(put.name)
        probe = self.symbols.fresh(run.index)
        shift = self.integer(put.index, run.scope_at(probe)) - probe
        if not isinstance(before, List) or not shift.names.isdisjoint(probe.names):
            return {}
        if run.entries is not None:
            return {}

        def entry(at: Term) -> Term:
            scope = run.scope_at(at - shift)
            hit = t.every(run.inside(at - shift), self.test(condition, scope))
            return self.symbols.choice(
                hit, self.integer(put.value, scope), self.lists.entry(before, at)
            )

        known = KnownList(self.lists.length(before), entry)
        return {put.name: List(self.symbols.named(put.name), known=known)}

    # ------------------------------------------------------------ tests

    def tested(self, run: Run, name: str, value: i.Expr) -> dict[str, Term | Formula | List]:
        """A condition holds behind the loop if it did before and all tests did."""
        before = run.scope.names.get(name)
        if before != t.TRUE:
            return {}

        def says(at: Term) -> Formula:
            return t.implies(run.runs_over(at), self.test(value, run.having(at)))

        truth = self.symbols.fresh_truth(name, "a test of all entries")
        self.universals.append(Universal(truth, says))
        return {name: truth}

    # ------------------------------------------------------------ steps

    def steps_of(self, run: Run, value: i.Expr) -> Iterator[Steps]:
        """Entries of strides, or of steps, as steps of their own."""
        match value:
            case i.Item(sequence=i.Var() as sequence, index=index):
                found = self.reader.sequence(sequence, run.scope)
            case _:
                return
        if found.strides_of is not None:
            yield self.stride(run, None, index, found.strides_of, object(), None, i.ONE)
        for each in found.steps or ():
            yield self.chosen(run, index, each)

    def chosen(self, run: Run, index: i.Expr, steps: Steps) -> Steps:
        """The pieces of other steps, those of a dimension that this position chooses."""

        def piece(at: tuple[Term, ...]) -> StepChange:
            first, *others = at
            found = steps.piece(tuple(others))
            chosen = self.integer(index, run.scope_at(first))
            same = t.equal(found.at, chosen)
            return replace(found, at=first - run.low, tests=t.every(found.tests, same))

        def inside(at: tuple[Term, ...]) -> Formula:
            return t.every(run.inside(at[0]), steps.inside(at[1:]))

        return Steps((run.index, *steps.names), inside, piece, object())

    def stride(
        self,
        run: Run,
        target: i.Expr | None,
        to: i.Expr,
        of: List,
        place: object,
        condition: Test | None,
        times: i.Expr,
    ) -> Steps:
        """For each position so many times one stride; added to the entry of the same position, or
        to that of `target`."""

        def piece(at: tuple[Term, ...]) -> StepChange:
            scope = run.scope_at(at[0])
            tests = t.TRUE if condition is None else condition(scope)
            place = at[0] - run.low if target is None else self.integer(target, scope)
            return StepChange(tests, place, self.integer(times, scope), of, self.integer(to, scope))

        return Steps((run.index,), lambda at: run.inside(at[0]), piece, place)

    def added(self, run: Run, loop: i.Loop) -> dict[str, Term | Formula | List]:
        """Strides that a loop adds to lists of steps and to a base."""
        found: dict[str, list[Steps]] = {}
        if not self.additions(run, loop.body, None, found):
            return {}
        made: dict[str, Term | Formula | List] = {}
        for name, steps in found.items():
            match run.scope.names.get(name):
                case List(steps=before) as whole if before is not None:
                    known = KnownList(self.lists.length(whole))
                    several = (*before, *steps)
                    made[name] = List(self.symbols.named(name), known=known, steps=several)
                case t.Term() as start if start == t.ZERO or self.is_base(start):
                    earlier = () if start == t.ZERO else self.bases[min(start.names)]
                    made[name] = sum_ = self.reader.unknown(name, STRIDES)
                    self.bases[min(sum_.names)] = (*earlier, *steps)
                case _:
                    return {}
        return made

    def is_base(self, start: Term) -> bool:
        return start.is_plain and not start.names.isdisjoint(self.bases)

    def additions(
        self, run: Run, body: i.Block, condition: Test | None, found: dict[str, list[Steps]]
    ) -> bool:
        """Collect what a block adds; False if it does anything else."""
        place = object()
        for each in body:
            match each:
                case i.AddAt(name=name, index=target, value=value):
                    pass
                case i.Accumulate(name=name, op="+", value=value):
                    target = i.ZERO
                case i.If(condition=test, then=then, otherwise=otherwise):
                    yes, no = self.both_ways(condition, test)
                    if not self.additions(run, then, yes, found):
                        return False
                    if not self.additions(run, otherwise, no, found):
                        return False
                    continue
                case _:
                    return False
            if (parts := self.multiple(run, value)) is None or name in names_in(value):
                return False
            times, of, to = parts
            steps = self.stride(run, target, to, of, place, condition, times)
            found.setdefault(name, []).append(steps)
        return True

    def both_ways(self, around: Test | None, test: i.Expr) -> tuple[Test, Test]:
        def yes(scope: PlaceScope) -> Formula:
            before = t.TRUE if around is None else around(scope)
            return t.every(before, self.test(test, scope))

        def no(scope: PlaceScope) -> Formula:
            before = t.TRUE if around is None else around(scope)
            return t.every(before, t.negation(self.test(test, scope)))

        return yes, no

    def multiple(self, run: Run, value: i.Expr) -> tuple[i.Expr, List, i.Expr] | None:
        """A number times one of the strides of a tensor."""
        match value:
            case i.Item(sequence=i.Var(name=name), index=to):
                times: i.Expr = i.ONE
            case i.Binary(op="*", left=times, right=i.Item(sequence=i.Var(name=name), index=to)):
                pass
            case _:
                return None
        found = run.scope.names.get(name)
        if not isinstance(found, List) or found.strides_of is None:
            return None
        return times, found.strides_of, to

    # ------------------------------------------------------------ facts

    def facts(self, places: Iterable[Term]) -> Iterator[Formula]:
        """What tests of all entries say of these places."""
        places = list(dict.fromkeys(places))
        for at in places:
            for each in self.universals:
                yield t.implies(each.truth, each.says(at))
        for several in self.inserted:
            for at, other in combinations(places, 2):
                both = t.every(several.as_many, several.inside(at), several.inside(other))
                unlike = t.negation(t.equal(several.value(at), several.value(other)))
                yield t.implies(t.every(both, t.negation(t.equal(at, other))), unlike)
