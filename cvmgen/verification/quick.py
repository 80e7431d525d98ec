"""Calls that read outside at places that are not proved: what a solver finds at once.

The nests are those of the formula without the tests that each call makes, and intervals alone
prove. For what they do not, small numbers are asked for that make it fail; these are a proposal,
and the exact evaluation of the formula decides: what it refuses is an error of the formula.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from cvmgen.driver import C, lower, typed_kernels
from cvmgen.errors import InternalError
from cvmgen.reference.probe import shown_wrong
from cvmgen.source import SpecError
from cvmgen.spec.formula import Operator
from cvmgen.verification import terms as t
from cvmgen.verification.proofs import Proof, Prover
from cvmgen.verification.slices import slices
from cvmgen.verification.solvers import ask, installed, question
from cvmgen.verification.symbols import Symbols
from cvmgen.verification.terms import Formula, names_of
from cvmgen.verification.verify import KernelProofs

UNTESTED = tuple(each for each in C if each[0] != "inside")
SMALL = (3, 30, 1000, 1 << 31)  # how large the numbers may be, the least first
LIMIT = 30_000  # of the solver's own units for one question
MOST = 20  # questions of one operator


Model = Mapping[str, int]


class Proposals(Prover):
    """Proves without a solver, and collects small numbers for which a claim does not hold."""

    def __init__(self) -> None:
        super().__init__(())
        self.models: list[Model] = []
        self.asked = 0

    def refute(self, symbols: Symbols, path: tuple[Formula, ...], claim: Formula) -> Proof | None:
        whole = list(slices(symbols, path, t.every(claim, *path)))[-1]  # all that is known
        conditions = (*whole.facts, t.negation(claim))
        truths = {name for each in conditions for name in t.truths_of(each)}
        names = sorted(frozenset().union(*map(names_of, conditions)) - truths)
        for most in SMALL:
            near = [_within(name, most) for name in names]
            model = self.model((*conditions, *near))
            if model is not None:
                self.models.append(self.smaller(model, (*conditions, *near)))
                return None
        return None

    def model(self, conditions: Sequence[Formula]) -> Model | None:
        """Numbers for which all of this holds, if the solver finds some at once."""
        self.asked += 1
        if self.asked > MOST:
            return None
        answer = ask("z3", question(conditions), LIMIT)
        return answer.model if answer.result == "sat" else None

    def smaller(self, model: Model, conditions: Sequence[Formula]) -> Model:
        """A model of the same in which each number is small that can be: a call of it is, too."""
        kept = list(conditions)
        for name in sorted(name for name, value in model.items() if abs(value) > SMALL[0]):
            kept.append(_within(name, SMALL[0]))
            if (found := self.model(kept)) is None:
                kept.pop()
            else:
                model = found
        return model


def _within(name: str, most: int) -> Formula:
    symbol = t.symbol(name)
    return t.every(t.at_most(-most, symbol), t.at_most(symbol, most))


def outside(operator: Operator) -> Iterator[SpecError]:
    """Places of a formula that read outside in some call, with the smallest values that are found;
    nothing without a solver."""
    if "z3" not in installed():
        return
    try:
        kernels = typed_kernels(lower(operator, UNTESTED))
    except (SpecError, InternalError):  # what only tests in front keep from being lowered
        return
    proposals = Proposals()
    for kernel in {id(each.nest): each for each in kernels.kernels}.values():
        for _ in KernelProofs(kernels, kernel, proposals).obligations():
            pass
    found = (shown_wrong(operator, model) for model in proposals.models)
    yield from {each.span: each for each in found if each is not None}.values()
