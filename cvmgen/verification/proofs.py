"""Proofs of claims: without a solver where that is plain, by both solvers where it is not."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import islice

from cvmgen.errors import InternalError
from cvmgen.verification import terms as t
from cvmgen.verification.contexts import Context, Contexts, Interned
from cvmgen.verification.intervals import plain
from cvmgen.verification.ranges import ProductRanges
from cvmgen.verification.slices import FactSlice, slices
from cvmgen.verification.solvers import Answer, Question, answered, installed, named, question
from cvmgen.verification.symbols import LISTED, Symbols
from cvmgen.verification.terms import Formula, names_of

LIMITS = {"z3": 120_000, "cvc5": 30_000}  # units of the solvers' own for one question
INTERVALS, ELIMINATION = ("intervals",), ("elimination",)
EVALUATION = ("evaluation",)
OF_LISTS = 3  # times as much for what is said of lists, of which there are many facts
SMALL = (16, 4)  # numbers among which there is mostly a call
SOLVER_FREE = (INTERVALS, ELIMINATION)
NEAR = 2  # slices of facts that are tried first
QUICK = 4  # a share of the limit for what has to be plain


@dataclass(frozen=True, slots=True)
class Proof:
    """What is known of a claim: proved, refuted or open; by which `engines`, from which facts: of
    what is proved without a solver those near the claim."""

    status: str
    engines: tuple[str, ...]
    facts: tuple[Formula, ...]
    asked: str = ""  # the last question, in SMT-LIB
    cost: int = 0
    model: Mapping[str, int] = field(default_factory=dict)

    @property
    def alone(self) -> bool:
        """Whether no solver was asked."""
        return self.engines in SOLVER_FREE


class Prover:
    """Proves claims; what was asked once is not asked again. `share` is what of the solvers' limits
    is left to each."""

    def __init__(self, solvers: tuple[str, ...] | None = None, share: int = 1) -> None:
        self.solvers = installed() if solvers is None else solvers
        self.share = share
        self.answers: dict[tuple[str, str, int], Answer] = {}
        self.decided: dict[str, tuple[str, str]] = {}  # by question: what a solver says, and which
        self.proofs: dict[tuple[Context, Formula], Proof] = {}
        self.known: Contexts | None = None  # of the symbols of the last claim
        self.plain: Contexts | None = None  # the same, of what is known without effort
        # Of which contexts of all kernels are made.
        self.root = Context(ProductRanges({}))
        self.plain_root = Context(ProductRanges({}, whole=True))
        self.interned: Interned = {}

    def contexts(self, symbols: Symbols) -> Contexts:
        if self.known is None or self.known.symbols is not symbols:
            self.known = Contexts(symbols, self.root, self.interned)
        return self.known

    def in_range(self, symbols: Symbols, path: tuple[Formula, ...], claim: Formula) -> bool:
        """Whether a claim is shown by the ranges of symbols."""
        return self.plainly(symbols).shown(path, claim)

    def plainly(self, symbols: Symbols) -> Contexts:
        if self.plain is None or self.plain.symbols is not symbols:
            self.plain = Contexts(symbols, self.plain_root, self.interned, deep=False)
        return self.plain

    def forget(self) -> None:
        """More is known of symbols from now on."""
        self.known = self.plain = None

    def ask(self, solver: str, asked: Question, share: int) -> Answer:
        return self.answer(solver, asked, LIMITS[solver] // share)

    def answer(self, solver: str, asked: Question, limit: int) -> Answer:
        """What a solver says; that two say the opposite of one question is a fault of one of them,
        behind which nothing is proved."""
        key = (solver, asked.text, limit)
        if key not in self.answers:
            found = self.answers[key] = answered(solver, asked, limit)
            if found.result != "unknown":
                said, who = self.decided.setdefault(asked.text, (found.result, solver))
                if said != found.result:
                    raise InternalError(
                        f"{who} says {said} and {solver} says {found.result} of one question:\n"
                        f"{asked.text}"
                    )
        return named(self.answers[key], asked)

    def prove(self, symbols: Symbols, path: tuple[Formula, ...], claim: Formula) -> Proof:
        """What was proved of kernels of other types, from the same facts, is not proved again."""
        key = self.plainly(symbols).of(path, claim), claim
        if key not in self.proofs:
            self.proofs[key] = self.proof(symbols, path, claim)
        return self.proofs[key]

    def proof(self, symbols: Symbols, path: tuple[Formula, ...], claim: Formula) -> Proof:
        """From the facts of a place: few of them first, then more. Products are for elimination,
        and solvers are asked for what it does not show, which takes far longer, as it does to
        choose all facts that matter."""
        choosing = slices(symbols, path, claim)
        tried = list[FactSlice]()
        for each in islice(choosing, NEAR):
            tried.append(each)
            if plain(each.facts, claim):
                return Proof("proved", INTERVALS, each.facts)
        near = tried[-1].facts
        if self.in_range(symbols, path, claim):
            return Proof("proved", INTERVALS, near)
        if self.solvers and self.contexts(symbols).shown(path, claim):
            return Proof("proved", ELIMINATION, near)
        last = Proof("open", (), near)
        vague = any(symbols.vague.get(name, LISTED) != LISTED for name in names_of(claim))
        for each in (*tried, *(() if vague else choosing)) if self.solvers else ():
            last = self.by_solvers(symbols, each, claim)
            if last.status != "open":
                break
        return last

    def possible(self, symbols: Symbols, path: tuple[Formula, ...]) -> Proof:
        """Whether facts can hold at once, with all that is known of their symbols: for small
        numbers first, among which one is found soon."""
        whole = list(slices(symbols, path, t.every(*path)))[-1]
        asked = question(whole.facts)
        for most in SMALL if self.solvers else ():
            few = question((*whole.facts, *_small(whole.facts, most)))
            if found := self.example(whole.facts, self.solvers[0], few):
                return found
        for solver in self.solvers:
            if found := self.example(whole.facts, solver, asked):
                return found
            if (answer := self.ask(solver, asked, 1)).result != "unknown":
                status = "proved" if answer.result == "sat" else "refuted"
                return Proof(status, (solver,), whole.facts, asked.text, answer.cost)
        return Proof("open", (), whole.facts, asked.text)

    def example(self, facts: tuple[Formula, ...], solver: str, asked: Question) -> Proof | None:
        """Values of which facts are true, if a solver gives some."""
        answer = self.ask(solver, asked, 1)
        if not answer.model:
            return None
        self.check(facts, answer.model, solver)
        engines = (*EVALUATION, solver)
        return Proof("proved", engines, facts, asked.text, answer.cost, answer.model)

    def check(self, facts: tuple[Formula, ...], model: Mapping[str, int], solver: str) -> None:
        """A call that a solver finds is one: that needs no trust in it."""
        if not all(t.holds(each, model) for each in facts):
            raise InternalError(f"{solver} gives values of which not all facts are true")

    def refute(self, symbols: Symbols, path: tuple[Formula, ...], claim: Formula) -> Proof | None:
        """A call in which a claim does not hold, where it is found quickly."""
        last = list(slices(symbols, path, claim))[-1]
        conditions = (*last.facts, t.negation(claim))
        names = frozenset().union(*map(names_of, conditions))
        if not self.solvers or not last.whole or names & symbols.vague.keys():
            return None
        asked = question(conditions)
        answer = self.ask(self.solvers[0], asked, QUICK)
        if answer.result != "sat":
            return None
        first = self.solvers[0]
        return Proof("refuted", (first,), last.facts, asked.text, answer.cost, answer.model)

    def at_once(self, symbols: Symbols, path: tuple[Formula, ...], claim: Formula) -> bool:
        """Whether a claim is shown by elimination."""
        return self.contexts(symbols).shown(path, claim)

    def quick(self, symbols: Symbols, path: tuple[Formula, ...], claim: Formula) -> bool:
        """Whether a claim is proved with little effort."""
        near = list(islice(slices(symbols, path, claim), NEAR))
        if any(plain(each.facts, claim) for each in near) or self.in_range(symbols, path, claim):
            return True
        if self.solvers and self.contexts(symbols).shown(path, claim):
            return True
        for each in near if self.solvers else ():
            asked = question((*each.facts, t.negation(claim)))
            if self.ask(self.solvers[0], asked, QUICK).result == "unsat":
                return True
        return False

    def by_solvers(self, symbols: Symbols, chosen: FactSlice, claim: Formula) -> Proof:
        """The first solver is asked, and the others to confirm a proof, with the facts that it
        used; a model of the first one refutes the claim where all is known that there is."""
        against = t.negation(claim)
        conditions = (*chosen.facts, against)
        first, *others = self.solvers
        asked = question(conditions)
        listed = LISTED in map(symbols.vague.get, names_of(claim))
        limit = LIMITS[first] * (OF_LISTS if listed else 1) // self.share
        answer = self.answer(first, asked, limit)
        if answer.result == "unsat":
            conditions = tuple(conditions[at] for at in answer.used) or conditions
            facts = tuple(each for each in conditions if each is not against)
            asked = question(conditions)
            agreed = [each for each in others if self.ask(each, asked, 1).result == "unsat"]
            return Proof("proved", (first, *agreed), facts, asked.text, answer.cost)
        names = frozenset().union(*map(names_of, conditions))
        if answer.result == "sat" and chosen.whole and not names & symbols.vague.keys():
            return Proof("refuted", (first,), chosen.facts, asked.text, answer.cost, answer.model)
        return Proof("open", (), chosen.facts, asked.text, answer.cost)


def _small(facts: tuple[Formula, ...], most: int) -> Iterator[Formula]:
    """That all integers of facts are small; some call of these is a call."""
    truths = {name for each in facts for name in t.truths_of(each)}
    for name in sorted(frozenset().union(*map(names_of, facts)) - truths):
        yield t.every(t.at_most(-most, t.symbol(name)), t.at_most(t.symbol(name), most))
