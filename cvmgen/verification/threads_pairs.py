"""Two threads at two accesses: that they are never at one address, or values for which they are.

One thread has the symbols of the walk, the other the same where both have a symbol in common, else
its own, of which the same holds. What is added to that are lemmas, true in integers:

- *divided loops*: a thread makes the iterations first + k * step. Where 0 <= first < step and both
  have the step, the same iteration has the same first: the remainder by the step.
- *digits*: row * extent + index is the same for both only if row and index are, where both indices
  are within 0 <= index < extent, and the extent is the same.
- *walks*: rows of a box and runs along its last dimension, by steps that are those of the tensor's
  own dimensions, come to each place once. It is taken from how the host makes steps.
- *ranks*: of two threads the one in front has its bits in front.
- *places of bits*: of two bits of a word that are set, the lower one has fewer below it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from itertools import product
from math import prod

from cvmgen.verification import terms as t
from cvmgen.verification.products import linear
from cvmgen.verification.proofs import Prover
from cvmgen.verification.slices import slices
from cvmgen.verification.solvers import Answer, Question, question
from cvmgen.verification.symbols import Symbols
from cvmgen.verification.terms import Formula, Term, names_of
from cvmgen.verification.threads_epochs import Divided, Meeting, OffsetPart, Pair, ThreadAccess
from cvmgen.verification.threads_symbols import BLOCK, GRID, OTHER, Home, SymbolScope, other
from cvmgen.verification.threads_walk import ThreadWalk

LIMITS = {"z3": 1_000_000, "cvc5": 100_000}  # units of the solvers' own for one question
SMALL = (80, 5000)  # how large the numbers of a counterexample may be, the least first
# Who comes to two accesses, by values that are found for all that is known there.
TWO, ALONE = "two threads", "one thread at a time"
DEAD, UNKNOWN = "not reachable", "not shown reachable"
WALK = "steps of a walk over a result come to each place once"


@dataclass(frozen=True)
class Refutation:
    """The solvers that show that facts cannot all hold, if any; and those that were needed."""

    engines: frozenset[str] = frozenset()
    facts: tuple[Formula, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.engines)


@dataclass(frozen=True)
class Verdict:
    """Whether two threads can meet: proved that they cannot, refuted by `model`, or open. A proof
    shows that the `facts` cannot all hold: what is known, and that the claim does not hold."""

    status: str
    engines: frozenset[str]
    assumed: frozenset[str] = frozenset()
    facts: tuple[Formula, ...] = field(default=(), kw_only=True)
    model: Mapping[str, int] = field(default_factory=dict)
    address: tuple[ThreadAccess, Term] | None = None

    def __str__(self) -> str:
        """The two threads of a counterexample, and where they meet."""
        if self.status != "refuted":
            return self.status
        model = self.model
        lane, block = model.get("lane", 0), model.get("block", 0)
        other_lane, other_block = model.get("lane~", lane), model.get("block~", block)
        threads = f"lane {lane} of block {block} and lane {other_lane} of block {other_block}"
        if self.address is None:
            return f"refuted: {threads} do not come together"
        access, offset = self.address
        return f"refuted: {threads} both touch {access.array}[{_value_of(offset, model)}]"


def _value_of(operand: Term, model: Mapping[str, int]) -> int:
    return sum(
        number * prod(model.get(name, 0) for name in monomial) for monomial, number in operand.parts
    )


Ends = tuple[tuple[tuple[Formula, ...], frozenset[str]], ...]  # ways to places, symbols of these
PROVED, OPEN = Verdict("proved", frozenset()), Verdict("open", frozenset())


def proved_by(proof: Refutation, assumed: frozenset[str]) -> Verdict:
    return Verdict("proved", proof.engines, assumed, facts=proof.facts)


def axioms_of(symbols: Symbols) -> Iterator[Formula]:
    return (axiom for each in symbols.axioms.values() for axiom in each)


class ThreadPairs:
    """Asks of pairs of threads."""

    def __init__(self, walk: ThreadWalk, waiting: set[int], prover: Prover) -> None:
        self.thorough = False  # whether it is worth asking of products, and for counterexamples
        self.walk, self.symbols, self.waiting, self.prover = walk, walk.symbols, waiting, prover
        self.within: dict[tuple[tuple[Formula, ...], OffsetPart], bool] = {}
        self.shares: dict[int, bool] = {}

    # -------------------------------------------------------- what both have

    def common(self, one: Home, two: Home, around: int | None) -> Home:
        """The loops in which both are in the same iteration."""
        found: list[int] = []
        for left, right in zip(one, two, strict=False):
            if left != right or left == around or left not in self.waiting:
                break
            found.append(left)
        return tuple(found)

    def private(self, names: Iterable[str], home: Home | None) -> dict[str, str]:
        """The other thread's symbols where it has its own; without `home` it is of another
        block."""

        def same(place: SymbolScope) -> bool:
            if place.level == GRID:
                return True
            return (
                home is not None and place.level == BLOCK and place.home == home[: len(place.home)]
            )

        return {name: other(name) for name in names if not same(self.symbols.place(name))}

    # -------------------------------------------------------- races

    def meet(self, pair: Pair, *, same_block: bool) -> Verdict:
        """Whether two threads may touch an element in one epoch."""
        one, two = pair.one, pair.other
        asked, lemmas, facts = self.hypotheses(pair, same_block=same_block)
        there = asked.other(two.offset)
        assumed = set[str]()
        digits: list[Formula] = []
        for left, right in product(one.splits, two.splits):
            inside = self.inside(one.path, left) and self.inside(two.path, right)
            if inside and self.alike(left, right, asked):
                digits.append(t.equal(left.row, asked.other(right.row)))
                digits.append(t.equal(left.index, asked.other(right.index)))
                assumed |= {WALK} if left.walk else set()
        claim = self.same_thread(asked, same_block=same_block)
        # where the digits are the same, what the whole offset is has nothing to add, as a rule
        if any(t.negation(each) in facts for each in facts):
            return Verdict("proved", frozenset(("written alike",)))
        if digits and (proof := asked.linear_proof((*facts, *digits), claim)):
            return proved_by(proof, frozenset(assumed))
        cuts = tuple(self.cuts(asked, (*facts, *digits)))
        if cuts and (proof := asked.linear_proof((*cuts, *digits, *lemmas), claim)):
            return proved_by(proof, frozenset(assumed))
        whole = (*facts, *digits, t.equal(one.offset, there))
        found = asked.decide(whole, claim, frozenset(assumed))
        return found if found.status != "refuted" else replace(found, address=(one, one.offset))

    def hypotheses(
        self, pair: Pair, *, same_block: bool
    ) -> tuple[PairQuestion, tuple[Formula, ...], list[Formula]]:
        """What holds of two threads at two accesses: the lemmas, and all of it."""
        one, two = pair.one, pair.other
        home = self.common(one.home, two.home, pair.around) if same_block else None
        asked = PairQuestion(self, (one.path, two.path), home)
        asked.add_names(one.offset.names | two.offset.names)
        asked.add_names(self.walk.lane.names | self.walk.block_number.names)
        asked.finish()
        lemmas = (*self.divided(asked), *self.ranks(asked), *self.composed(asked))
        facts = [*asked.facts(), *lemmas]
        if pair.around is not None and same_block:
            facts += self.later(pair.around, asked)
        return asked, lemmas, facts

    def same_thread(self, asked: PairQuestion, *, same_block: bool) -> Formula:
        thread = self.walk.lane if same_block else self.walk.block_number
        return t.equal(thread, asked.other(thread))

    # -------------------------------------------------------- no vacuous proofs

    def reached(self, pair: Pair, *, same_block: bool) -> str:
        """How far what a proof begins with can be so: values are found for two threads at two
        accesses, or, where only one of them can be there at a time, for one at each."""
        asked, _, facts = self.hypotheses(pair, same_block=same_block)
        ends = tuple((each.path, each.offset.names) for each in (pair.one, pair.other))
        return self.who(asked, facts, self.same_thread(asked, same_block=same_block), ends)

    def came(self, meeting: Meeting) -> str:
        """The same for two threads that come to one place."""
        asked = PairQuestion(self, (meeting.path, meeting.path), meeting.home)
        asked.add_names(self.walk.lane.names)
        asked.finish()
        same = self.same_thread(asked, same_block=True)
        return self.who(asked, asked.facts(), same, ((meeting.path, frozenset()),))

    def who(self, asked: PairQuestion, facts: Iterable[Formula], same: Formula, ends: Ends) -> str:
        conditions = (*facts, t.negation(same), *axioms_of(asked.both()))
        two = tuple(dict.fromkeys(conditions))
        models = [self.comes(*each) for each in ends]
        if self.counterexample(two) or any(
            self.counterexample((*two, *self.sized(e))) for e in models
        ):
            return TWO
        if not all(models):
            return DEAD if any(self.refuted_by(self.at_place(*each)) for each in ends) else UNKNOWN
        return ALONE if self.refuted_by(two) else UNKNOWN

    def sized(self, model: Mapping[str, int]) -> Iterator[Formula]:
        """A call and a grid that one thread has been found for: with numbers for sizes, few
        products are left."""
        for name in sorted(model.keys() & self.symbols.axioms.keys()):
            if self.symbols.place(name).level == GRID:
                yield t.equal(t.symbol(name), model[name])

    def comes(self, path: tuple[Formula, ...], names: frozenset[str]) -> Mapping[str, int]:
        """Values for which a thread comes to a place: if there can be any, in a grid of several
        blocks, and not the first thread of its block, so that there may be others."""
        conditions = self.at_place(path, names)
        several = t.at_most(2, self.walk.blocks)
        for wish in ((several, t.below(0, self.walk.lane)), (several,), ()):
            if model := self.counterexample((*conditions, *wish)):
                return model
        return {}

    def at_place(self, path: tuple[Formula, ...], names: frozenset[str]) -> tuple[Formula, ...]:
        """All that holds of one thread at a place."""
        names = names.union(self.walk.lane.names, self.walk.block_number.names)
        whole = self.symbols.closure(names.union(*map(names_of, path)))
        axioms = (axiom for name in sorted(whole) for axiom in self.symbols.axioms.get(name, ()))
        return tuple(dict.fromkeys((*path, *axioms)))

    def cuts(self, asked: PairQuestion, facts: tuple[Formula, ...]) -> Iterator[Formula]:
        """The parts of values of helpers that are shown to be the same for both threads."""
        for value, split, path in self.walk.composed:
            if not value.names <= asked.names or not self.inside(path, split):
                continue
            if asked.linear_proof(facts, t.equal(value, asked.other(value))):
                yield t.equal(split.row, asked.other(split.row))
                yield t.equal(split.index, asked.other(split.index))

    def later(self, loop: int, asked: PairQuestion) -> tuple[Formula, ...]:
        """The other thread is in a later iteration of a loop that both make together."""
        name = self.walk.indices[loop]
        if name not in asked.names:
            return ()
        return (t.below(t.symbol(name), asked.other(t.symbol(name))),)

    def alike(self, left: OffsetPart, right: OffsetPart, asked: PairQuestion) -> bool:
        return left.walk == right.walk and left.extent == asked.other(right.extent)

    def inside(self, path: tuple[Formula, ...], split: OffsetPart) -> bool:
        """Whether an index is below its extent, in every call."""
        key = path, split
        if key not in self.within:
            claim = t.every(t.at_most(0, split.index), t.below(split.index, split.extent))
            self.within[key] = self.follows(path, claim)
        return self.within[key]

    def composed(self, asked: PairQuestion) -> Iterator[Formula]:
        """The lemma of digits for values that helpers give, of two at one place or at two."""
        known = [
            (value, split)
            for value, split, path in self.walk.composed
            if value.names <= asked.names and self.inside(path, split)
        ]
        for (one, left), (two, right) in product(known, known):
            if left.extent == right.extent:
                parts = (left.row, right.row), (left.index, right.index)
                same = (t.equal(mine, asked.other(theirs)) for mine, theirs in parts)
                yield t.implies(t.equal(one, asked.other(two)), t.every(*same))

    def follows(self, path: tuple[Formula, ...], claim: Formula) -> bool:
        """Whether a claim of one thread is shown in linear arithmetic."""
        return bool(self.linear_proof(self.symbols, path, claim))

    def divided(self, asked: PairQuestion) -> Iterator[Formula]:
        """The lemma of divided loops."""
        for number, each in enumerate(self.walk.divided):
            theirs = asked.other(each.index)
            if theirs == each.index or not each.index.names <= asked.names:
                continue
            uniform = all(asked.other(end) == end for end in (each.low, each.step))
            if self.sharing(number, each):
                alike = [t.equal(each.index, theirs)]
                if not uniform:
                    alike += (t.equal(end, asked.other(end)) for end in (each.low, each.step))
                yield t.implies(t.every(*alike), t.equal(each.first, asked.other(each.first)))
        thread, lane, block = self.walk.thread, self.walk.lane, self.walk.block_number
        if thread.names <= asked.names:
            parts = (t.equal(lane, asked.other(lane)), t.equal(block, asked.other(block)))
            yield t.implies(t.equal(thread, asked.other(thread)), t.every(*parts))

    def sharing(self, number: int, each: Divided) -> bool:
        """Whether the first iteration of a thread is below the step."""
        if number not in self.shares:
            if each.first == self.walk.thread and each.step == self.walk.threads:
                self.shares[number] = True  # block * lanes + lane < blocks * lanes
            else:
                claim = t.every(t.at_most(0, each.first), t.below(each.first, each.step))
                self.shares[number] = self.follows(each.path, claim)
        return self.shares[number]

    def ranks(self, asked: PairQuestion) -> Iterator[Formula]:
        """The lemmas of ranks and of places of bits."""
        for lane, rank, own in self.walk.ranks:
            if rank.names <= asked.names and asked.other(rank) != rank:
                there, theirs, its = (asked.other(each) for each in (lane, rank, own))
                yield t.implies(t.below(lane, there), t.at_most(rank + own, theirs))
                yield t.implies(t.below(there, lane), t.at_most(theirs + its, rank))
        for place, found, is_set in self.walk.places:
            if found.names <= asked.names and asked.other(found) != found:
                there, theirs, its = (asked.other(each) for each in (place, found, is_set))
                both = t.every(t.equal(is_set, 1), t.equal(its, 1))
                yield t.implies(t.every(both, t.below(place, there)), t.below(found, theirs))
                yield t.implies(t.every(both, t.below(there, place)), t.below(theirs, found))

    # -------------------------------------------------------- solvers

    def decide(
        self,
        symbols: Symbols,
        facts: tuple[Formula, ...],
        claim: Formula,
        assumed: frozenset[str] = frozenset(),
    ) -> Verdict:
        """Whether a claim follows: in linear arithmetic first; a counterexample in small numbers
        before the solvers are asked what they make of products."""
        conditions = tuple(dict.fromkeys((*facts, *axioms_of(symbols), t.negation(claim))))
        if t.FALSE in conditions:
            return Verdict("proved", frozenset(("written alike",)), assumed)
        if proof := self.linear_proof(symbols, facts, claim):
            return proved_by(proof, assumed)
        if not self.thorough:
            return OPEN
        if model := self.counterexample(conditions):
            vague = {name for name in model if symbols.vague.get(name.rstrip(OTHER), "")}
            status = "open" if vague else "refuted"
            return Verdict(status, frozenset(("z3",)), frozenset(vague), model)
        if proof := self.refuted_by(conditions):
            return proved_by(proof, assumed)
        return OPEN

    def linear_proof(
        self, symbols: Symbols, facts: tuple[Formula, ...], claim: Formula
    ) -> Refutation:
        """A proof of a claim in linear arithmetic, from few facts at first."""
        for each in slices(symbols, facts, claim):
            simple = linear((*each.facts, t.negation(claim)))
            if simple is not None and (proof := self.refuted_by(simple)):
                return proof
        return Refutation()

    def ask(self, solver: str, asked: Question) -> Answer:
        return self.prover.answer(solver, asked, LIMITS[solver])

    def refuted_by(self, conditions: tuple[Formula, ...]) -> Refutation:
        """Whether conditions cannot all hold: the first solver says which of them, and the others
        are asked about those."""
        first, *others = self.prover.solvers
        answer = self.ask(first, question(conditions))
        if answer.result != "unsat":
            return Refutation()
        facts = tuple(conditions[at] for at in answer.used) or conditions
        asked = question(facts)
        agreed = (each for each in others if self.ask(each, asked).result == "unsat")
        return Refutation(frozenset((first, *agreed)), facts)

    def counterexample(self, conditions: tuple[Formula, ...]) -> Mapping[str, int]:
        """Small numbers for which all conditions hold, if a solver finds some."""
        truths = set(t.truths_of(t.Every(conditions)))
        names = sorted(frozenset().union(*map(names_of, conditions)) - truths)
        for most in SMALL:
            small = (
                t.every(t.at_most(-most, t.symbol(name)), t.at_most(t.symbol(name), most))
                for name in names
            )
            asked = question((*conditions, *small))
            answer = self.ask("z3", asked)
            if answer.result == "sat":
                return answer.model
        return {}

    # -------------------------------------------------------- barriers

    def together(self, meeting: Meeting) -> Verdict:
        """Whether all threads of a block come to a place if one does."""
        asked = PairQuestion(self, (meeting.path, ()), meeting.home)
        asked.add_names(self.walk.lane.names)
        asked.finish()
        theirs = tuple(t.renamed(each, asked.renamed) for each in meeting.path)
        claims = [each for each, same in zip(theirs, meeting.path, strict=True) if each != same]
        if not claims:
            return Verdict("proved", frozenset(("uniform",)))
        return asked.decide(asked.facts(), t.every(*claims), frozenset())


class PairQuestion:
    """A question of two threads: their symbols, and what holds of them."""

    def __init__(
        self, threads: ThreadPairs, paths: tuple[tuple[Formula, ...], ...], home: Home | None
    ) -> None:
        self.threads, self.symbols, self.paths, self.home = threads, threads.symbols, paths, home
        self.names: frozenset[str] = frozenset()
        self.renamed: dict[str, str] = {}
        for path in paths:
            for each in path:
                self.add_names(names_of(each))

    def add_names(self, names: Iterable[str]) -> None:
        self.names |= frozenset(names)

    def finish(self) -> None:
        self.names = self.symbols.closure(self.names)
        self.renamed = self.threads.private(self.names, self.home)

    def other(self, operand: Term) -> Term:
        extra = operand.names - self.names
        if extra:
            return t.renamed_term(
                operand, {**self.renamed, **self.threads.private(extra, self.home)}
            )
        return t.renamed_term(operand, self.renamed)

    def facts(self) -> tuple[Formula, ...]:
        one, two = self.paths
        return (*one, *(t.renamed(each, self.renamed) for each in two), *self.congruent())

    def congruent(self) -> Iterator[Formula]:
        """What is a function of the same values is the same."""
        for name in sorted(self.renamed):
            key = self.symbols.keys.get(name)
            if self.symbols.is_function(name) and isinstance(key, tuple):
                operands = [each for each in key if isinstance(each, Term)]
                alike = t.every(*(t.equal(each, self.other(each)) for each in operands))
                yield t.implies(alike, t.equal(t.symbol(name), t.symbol(other(name))))

    def both(self) -> Symbols:
        """The symbols of both threads, with what holds of each."""
        found = Symbols(vague=self.symbols.vague)
        for name in sorted(self.names):
            axioms = self.symbols.axioms.get(name, ())
            found.axioms[name] = axioms
            if name in self.renamed:
                found.axioms[other(name)] = tuple(t.renamed(e, self.renamed) for e in axioms)
        return found

    def linear_proof(self, facts: tuple[Formula, ...], claim: Formula) -> Refutation:
        return self.threads.linear_proof(self.both(), facts, claim)

    def decide(
        self, facts: tuple[Formula, ...], claim: Formula, assumed: frozenset[str]
    ) -> Verdict:
        return self.threads.decide(self.both(), facts, claim, assumed)
