"""Two formulas on calls of known sizes, for all values of the inputs at once.

Both are evaluated on terms, as `cvmgen verify --values` evaluates one of them. Where they come to
the same for all elements, they are the same on these sizes and attributes, and nothing is said of
others.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from random import Random
from typing import Any

from cvmgen.compare.calls import ROUNDED, Both, Witness
from cvmgen.compare.smallest import tensors_at, with_tensor
from cvmgen.dtypes import DTYPES, precision_bound
from cvmgen.errors import OperatorError
from cvmgen.reals import STORED
from cvmgen.reference.failures import Budget, FormulaError, WorkLimit
from cvmgen.reference.tensor import Tensor
from cvmgen.spec.formula import Operator
from cvmgen.verification.values import calls
from cvmgen.verification.values.assumed import Undecided
from cvmgen.verification.values.choices import TooMany
from cvmgen.verification.values.compare import Comparison
from cvmgen.verification.values.evaluate import Assignment, OpenEquality, Place, witness
from cvmgen.verification.values.facts import Contradiction, PathFacts
from cvmgen.verification.values.formula import TermReference
from cvmgen.verification.values.memory import Unmodelled
from cvmgen.verification.values.solver import example, possible
from cvmgen.verification.values.table import forget_all
from cvmgen.verification.values.ways import ways

POINTS = 20_000  # of ranges, that a formula goes through in a call
OPEN = (OpenEquality, Undecided, Unmodelled, TooMany, WorkLimit, FormulaError)
DATA = ("values", "shape", "less", "more")  # what elements can decide
ENDS = (0.0, -0.0, 1.0, math.inf, math.nan)
MOST_OPEN = 3  # calls, behind which no others are looked at
WIDE = (32, 16, 8)  # precisions that stand for smaller ones, where the call is accepted with them


@dataclass(slots=True)
class OnShapes:
    """The calls on which two formulas are the same for all values, those of which it is not known,
    and one that shows that they are not."""

    same: list[str] = field(default_factory=list)
    open: list[str] = field(default_factory=list)
    witness: Witness | None = None


def compared_on(both: Both, cases: Sequence[calls.ChosenCall]) -> OnShapes:
    """Compare two formulas on calls that both accept, up to the first that tells them apart."""
    found = OnShapes()
    for case in cases:
        if len(found.open) == MOST_OPEN:
            break
        wide = _widened(both, case)
        shown = wide.text()
        try:
            example_of = _Checking(both, wide).difference()
        except OPEN:
            found.open.append(shown)
            continue
        if example_of is None:
            found.same.append(shown)
            continue
        shown_by = both.differences(calls.with_numbers(wide, example_of))
        found.witness = next((shown_by[kind] for kind in DATA if kind in shown_by), None)
        if found.witness is not None:
            break
        found.open.append(shown)
    return found


def _widened(both: Both, case: calls.ChosenCall) -> calls.ChosenCall:
    """The call with more precise inputs, where both accept it and no results differ in that."""
    for precision in WIDE:
        wide = case
        for name, at, tensor in tensors_at(case):
            if tensor.precision:
                values = [0] * tensor.size
                wide = with_tensor(
                    wide, name, at, replace(tensor, precision=precision, values=values)
                )
        outcomes = both.old.of(wide), both.new.of(wide)
        if all(each is not None and not each.refusal for each in outcomes):
            return wide
    return case


class _Checking:
    """One call for all values."""

    def __init__(self, both: Both, case: calls.ChosenCall) -> None:
        self.case = case
        self.operators: tuple[Operator, Operator] = (both.old.operator, both.new.operator)
        self.taken = (both.old.taken, both.new.taken)

    def difference(self) -> Assignment | None:
        """Elements for which results differ; all at once where that can be, else way by way. Raises
        what leaves it open."""
        forget_all()
        try:
            return self.way(PathFacts())
        except (Undecided, Unmodelled, TooMany):
            pass
        for way in ways(calls.drawing(self.case)):
            try:
                found = self.way(way.facts)
            except Contradiction:
                continue
            if found is not None:
                return found
        return None

    def way(self, facts: PathFacts) -> Assignment | None:
        results = [self.evaluated(at, facts) for at in range(2)]
        if results[0] is None or results[1] is None:
            if results[0] is results[1] or not possible(facts.conditions()):
                return None
            shown = example(facts.conditions())
            return shown or self.drawn(facts)
        for name in results[0]:
            pairs = zip(results[0][name].values, results[1][name].values, strict=True)
            for one, other in pairs:
                found = self.element(one, other, facts)
                if found is not None:
                    return found
        return None

    def drawn(self, facts: PathFacts) -> Assignment:
        """Any elements, as nothing is asked of them."""
        if facts.conditions():
            raise OpenEquality("no inputs are known for which one formula refuses a call")
        return {}

    def evaluated(self, at: int, facts: PathFacts) -> Mapping[str, Tensor] | None:
        """The results as terms; None of a call that is refused."""
        call = calls.with_terms(self.case)
        reference = TermReference(self.operators[at], Budget(POINTS))
        try:
            return reference.evaluate(call.inputs, call.attributes).outputs
        except OperatorError:
            return None

    def element(self, one: Any, other: Any, facts: PathFacts) -> Assignment | None:
        try:
            Comparison(facts).equal(one, other, 0)
        except OpenEquality as error:
            assumed = error.assumed or facts.conditions()
            shown = witness(one, other, _drawing(self.case), assumed, example(assumed))
            if shown is None:
                raise
            return shown
        return None


def _drawing(case: calls.ChosenCall) -> Callable[[Place, Random], Any]:
    """Elements at the edges of what an input holds, small ones, and any others."""
    tensors = dict(calls.tensors_of(case))

    def draw(about: Place, random: Random) -> Any:
        tensor = tensors[about[0]]
        dtype = DTYPES[tensor.dtype]
        if dtype.kind == "real":
            return STORED[dtype.name](random.choice((*ENDS, *ROUNDED, random.uniform(-9, 9))))
        if dtype.kind == "bool":
            return random.getrandbits(1)
        low, high = dtype.low, dtype.high
        if tensor.precision:
            bound = precision_bound(tensor.precision)
            low, high = max(low, -bound), min(high, bound)
        near = max(low, min(high, random.randint(-4, 4)))
        return random.choice((near, near, low, high, random.randint(low, high)))

    return draw
