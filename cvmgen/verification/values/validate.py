"""All values checked on the emitted text: each element of a result against the formula's term."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import count
from random import Random
from typing import Any

from cvmgen.dtypes import DTYPES
from cvmgen.errors import OperatorError
from cvmgen.reference.failures import Budget, WorkLimit
from cvmgen.reference.operator import Reference
from cvmgen.reference.tensor import Tensor
from cvmgen.spec.formula import Operator
from cvmgen.verification.values import calls, choices, coverage, native, shapes
from cvmgen.verification.values import terms as t
from cvmgen.verification.values.assumed import Undecided, on_way
from cvmgen.verification.values.compare import Comparison
from cvmgen.verification.values.coverage import FIXED, Feature, covering, not_run, once_each
from cvmgen.verification.values.evaluate import (
    Assignment,
    CallTooLarge,
    Evaluation,
    OpenEquality,
    same,
    witness,
)
from cvmgen.verification.values.facts import Contradiction, PathFacts
from cvmgen.verification.values.formula import TermReference
from cvmgen.verification.values.found import Difference, ValidatedCalls
from cvmgen.verification.values.linked import Text
from cvmgen.verification.values.machine import LITTLE
from cvmgen.verification.values.memory import UndefinedBehaviour, Unmodelled
from cvmgen.verification.values.solver import WAY_STEPS, example, possible
from cvmgen.verification.values.table import forget_all, work
from cvmgen.verification.values.text import told, value_text
from cvmgen.verification.values.ways import ways

TRIED_STEPS = 25_000
MOST_TRIED = 320_000  # blocks that are run to find calls
POINTS = 1_000_000  # of ranges, that the formula goes through in a call
DRAWN = 20  # calls for each that is looked at
ROUNDS = 2  # in which calls are chosen
MOST_WORK = 4_000  # of the calls of an operator
GIVEN_UP = 3  # calls, behind which larger ones than the smallest of them are not tried
PLAIN = frozenset[str]()
NOTHING, FORMULA, ALL = range(3)  # what is gone way by way where elements decide what is done
PROCESSORS = {
    "c": (
        frozenset(["avx2"]),
        frozenset(["avx2", "avx512f", "avx512bw", "avx512vl", "avx512vnni"]),
    ),
    "cuda": tuple(map(frozenset, (["one block"], ["tiles"], ["tiles", "tensor cores"], ["votes"]))),
}
"""One block goes through all that several share, and needs its memory again."""
Case = tuple[calls.ChosenCall, frozenset[str]]  # and the features of the processor
Key = tuple[str, frozenset[str]]  # what tells cases apart
Trial = tuple[Case, set[Feature], int]  # what ran, and how many blocks
Decider = Callable[[t.Condition], bool] | None
Outputs = dict[str, Tensor]
UNKNOWN = (OpenEquality, Undecided, Unmodelled, choices.TooMany)  # what leaves a call open


def validate(
    operator: Operator,
    text: Text,
    cases: Iterable[calls.ChosenCall],
    features: frozenset[str] = PLAIN,
) -> ValidatedCalls:
    """Check each call for all values of its inputs, on a processor with these features."""
    return validate_cases(operator, text, ((case, features) for case in cases))


def validate_cases(operator: Operator, text: Text, cases: Iterable[Case]) -> ValidatedCalls:
    """The same of calls on processors of their own."""
    checking = _Checking(operator, text)
    checking.all(cases)
    return checking.found()


def validate_edges(operator: Operator, text: Text, most: int) -> ValidatedCalls:
    """Check at most so many calls: those that come to as many blocks of the text as can be, on
    processors that differ where the text asks for it. Where it is not decided what one gives,
    others that come to its blocks are looked at; it is left open for what no other one shows."""
    checking = _Checking(operator, text)
    trials = checking.searched(text.sources[text.own(checking.info)], DRAWN * most)
    for number in range(ROUNDS):
        left = [each for each in trials if case_key(each[0]) not in checking.looked_at]
        chosen = covering(left, most, checking.ran, 0 if number else FIXED)  # small ones at last
        checking.all(chosen or ([] if checking.looked_at else [e for e, *_ in trials[:most]]))
        if checking.result.refuted or not checking.undecided:
            break
    return checking.found(trials)


def edge_cases(
    operator: Operator, text: Text, most: int, effort: int = 1
) -> list[tuple[Case, set[Feature]]]:
    """The calls that `validate_edges` looks at first, with what runs in each; more `effort` finds
    larger ones too."""
    checking = _Checking(operator, text, effort)
    trials = checking.searched(text.sources[text.own(checking.info)], DRAWN * most)
    ran = {case_key(case): found for case, found, _ in trials}
    chosen = covering(trials, most) or [case for case, *_ in trials[:most]]
    return [(case, ran[case_key(case)]) for case in chosen]


class _Checking:
    """The check of calls of an operator, one after the other."""

    def __init__(
        self,
        operator: Operator,
        text: Text,
        effort: int = 1,
    ) -> None:
        self.operator, self.text, self.effort = operator, text, effort
        self.info = text.infos[operator.full_name]
        self.machine = text.machine(self.info)
        self.caller = text.caller(self.machine, self.info)
        self.result = ValidatedCalls(operator.full_name)
        self.ran = set[Feature]()
        self.blocks = shapes.blocks_of(text.sources[text.own(self.info)])
        self.by_ways: dict[tuple[str, ...], int] = {}  # what is gone way by way, by element types
        self.looked_at = set[Key]()
        self.undecided: dict[Key, str] = {}  # calls, and why it is not decided what they give
        self.work = 0
        self.too_much: list[int] = []  # how large calls were that took more than a call may

    def all(self, cases: Iterable[Case]) -> ValidatedCalls:
        """Look at these calls, one after the other."""
        began, result = time.perf_counter(), self.result
        for given, features in cases:
            case = self.text.suited(self.info, given)
            self.machine.features = features
            self.looked_at.add(key := case_key((given, features)))
            before = set(self.ran), dict(result.calls)
            size = sum(tensor.size for _, tensor in calls.tensors_of(case))
            if self.work > MOST_WORK or (
                len(self.too_much) >= GIVEN_UP and size >= min(self.too_much)
            ):
                self.undecided[key] = f"{case.text()}: others took too much before"
                continue
            try:
                self.check(case)
            except UndefinedBehaviour as error:
                result.faults.append(f"{case.text()}: {error}")
                result.shown_by = calls.with_numbers(case, {})
            except (WorkLimit, RecursionError):
                continue  # it is not among the calls that were looked at
            except UNKNOWN as error:
                self.ran, result.calls = before
                self.too_much += [size] if isinstance(error, CallTooLarge) else []
                self.undecided[key] = f"{case.text()}: {type(error).__name__}: {told(error)}"
            self.work += work()
            if result.difference is not None:
                break
        result.seconds += time.perf_counter() - began
        return result

    def found(self, trials: Iterable[Trial] = ()) -> ValidatedCalls:
        """What came of all calls. Of those of which it is not decided, as many are open as come to
        the blocks that no others come to."""
        result, seen = self.result, once_each(self.ran)
        left = [
            (key, once_each(ran), cost)
            for case, ran, cost in trials
            if (key := case_key(case)) in self.undecided
        ]
        keys = covering(left, len(left), seen) if left else self.undecided
        result.open = [self.undecided[key] for key in keys]
        result.blocks, result.not_run = not_run(
            self.machine, f"{self.info.function}{self.caller.suffix}", self.ran
        )
        return result

    def tried(self, given: Case, known: list[Outputs]) -> tuple[set[Feature], int]:
        """What runs in a call of some numbers, and how many blocks; its outputs are noted, which
        are the same on each processor."""
        case, self.machine.features = self.text.suited(self.info, given[0]), given[1]
        random, draw = Random(1), calls.drawing(case)
        call = calls.with_terms(case, lambda name, at, _: draw((name, at), random))
        steps = self.effort * TRIED_STEPS
        self.machine.begin(PathFacts(), None, steps)
        self.machine.asked = self.machine.compared = False
        try:
            known += [] if known else self.outputs(case)
            self.caller.tried(call, known[-1])
        except (calls.Refused, OperatorError, WorkLimit, *UNKNOWN):
            return set(), steps - self.machine.steps
        except UndefinedBehaviour as error:
            return {(str(error), 0, 1)}, 0  # the first to look at
        ran = coverage.features(self.machine)
        return shapes.features(case, ran, self.blocks), steps - self.machine.steps

    def searched(self, source: str, tries: int) -> list[Trial]:
        """What runs in calls, of which later ones are near those in which something new ran. Where
        the text asks for processors, each call is on one of them, by turns, and one in which
        something new runs on all of them."""
        found, ran, turns, spent = list[Trial](), set[Feature](), count(), 0
        asked = compared = False

        def came(case: calls.ChosenCall) -> bool | None:
            if spent > self.effort * MOST_TRIED:
                return None
            before, known = len(ran), list[Outputs]()
            several = self.processors(asked=asked, compared=compared)
            first = several[next(turns) % len(several)]

            def tell(features: frozenset[str]) -> None:
                nonlocal asked, compared, spent
                found.append(((case, features), *self.tried((case, features), known)))
                ran.update(coverage.about(found[-1][1]))
                spent += found[-1][2]
                asked, compared = asked or self.machine.asked, compared or self.machine.compared

            tell(first)
            if is_new := len(ran) > before:
                for each in self.processors(asked=asked, compared=compared):
                    if each != first:
                        tell(each)
            return is_new

        shapes.searched(self.operator, source, tries, came)
        return found

    def processors(self, *, asked: bool, compared: bool) -> list[frozenset[str]]:
        """Those that differ where a text asks for features, or compares with numbers."""
        more = frozenset([LITTLE] if compared else ())
        several = PROCESSORS[self.text.target] if asked else ()
        return [PLAIN, *([more] if more else []), *(each | more for each in several)]

    def check(self, case: calls.ChosenCall) -> None:
        """All at once where that can be; else the formula way by way, and what its text does on
        each at once; else each way of both by itself."""
        types = tuple(tensor.dtype for _, tensor in calls.tensors_of(case))
        while (by_ways := self.by_ways.get(types, NOTHING)) < ALL:
            forget_all()
            try:
                if by_ways == NOTHING:
                    return self.way(case, PathFacts(), None)
                return self.formula_by_ways(case)
            except (UndefinedBehaviour, *UNKNOWN) as error:
                if by_ways == NOTHING and isinstance(error, OpenEquality):
                    raise
                self.work += work()
                self.by_ways[types] = by_ways + 1
                if by_ways == NOTHING and self.always(case, error):
                    return None
        forget_all()
        return self.all_by_ways(case)

    def formula_by_ways(self, case: calls.ChosenCall) -> None:
        """What the text does on each way of the formula; what goes wrong on one says no more than
        that it is to be looked at by itself."""
        for way in ways(calls.drawing(case), WAY_STEPS):
            try:
                self.way(case, way.facts, None)
            except Contradiction:
                continue
            if self.result.refuted:
                return

    def all_by_ways(self, case: calls.ChosenCall) -> None:
        unseen: OpenEquality | None = None
        for way in ways(calls.drawing(case)):
            try:
                self.way(case, way.facts, way.decide)
            except Contradiction:
                continue
            except (UndefinedBehaviour, Unmodelled) as error:
                if not possible(way.facts.conditions()):
                    continue
                if not isinstance(error, UndefinedBehaviour):
                    raise
                try:
                    self.fault(case, str(error), way.facts.conditions())
                except OpenEquality as found:  # on another way it may be seen
                    unseen = found
            if self.result.refuted:
                return
        if unseen is not None:
            raise unseen

    def way(self, case: calls.ChosenCall, facts: PathFacts, decide: Decider) -> None:
        """One run of the formula, and of the text for each choice of result types."""
        with on_way(facts):
            self.run(case, facts, decide)

    def run(self, case: calls.ChosenCall, facts: PathFacts, decide: Decider) -> None:
        call = calls.with_terms(case)
        try:
            reference = TermReference(self.operator, Budget(POINTS))
            wanted = reference.evaluate(call.inputs, call.attributes).outputs
        except OperatorError:
            return self.refused(case, call, facts, decide)
        for dtypes in calls.result_types(self.operator, self.info, case, wanted):
            self.machine.begin(facts, decide)
            outputs = {
                name: Tensor(tensor.shape, [], 0, dtypes[name]) for name, tensor in wanted.items()
            }
            found = self.caller.run(call, outputs)
            ran = coverage.features(self.machine)
            for assumed, why in list(self.machine.doubts.items()):
                if not self.result.refuted and possible(assumed):
                    self.fault(case, why, assumed, outputs)
            if not self.result.refuted:
                self.compare(case, outputs, wanted, found, facts)
            if self.result.refuted:
                return
            self.ran |= shapes.features(case, ran, self.blocks)
            shown = ", ".join(f"{name}: {dtype}" for name, dtype in dtypes.items())
            on = (
                f" with {', '.join(sorted(self.machine.features))}" if self.machine.features else ""
            )
            self.result.calls[f"{case.text()} -> {shown}{on}"] = None

    def refused(
        self, case: calls.ChosenCall, call: calls.ChosenCall, facts: PathFacts, decide: Decider
    ) -> None:
        """A call that the formula refuses."""
        for outputs in self.outputs(case):
            self.machine.begin(facts, decide)
            try:
                self.caller.run(call, outputs)
            except calls.Refused:
                continue
            assumed = facts.conditions()
            if not possible(assumed):
                continue  # the text has chosen a way that no elements take
            shown = witness(0, 1, calls.drawing(case), assumed, example(assumed))
            if shown is None or not self.is_not_refused(case, outputs, shown):
                raise OpenEquality("a call that is not refused, for no inputs that were found")
            self.result.faults.append(f"{case.text()}: not refused{calls.given(shown)}")
            self.result.shown_by = calls.with_numbers(case, shown)

    def is_not_refused(
        self, case: calls.ChosenCall, outputs: Mapping[str, Tensor], shown: Assignment
    ) -> bool:
        """Whether the formula refuses these inputs, and the text does not."""
        call = calls.with_numbers(case, shown)
        try:
            Reference(self.operator).evaluate(call.inputs, call.attributes)
        except OperatorError:
            self.replayed(case, outputs, shown)
            return True
        return False

    # ------------------------------------------------------------ what stands against it

    def fault(
        self,
        case: calls.ChosenCall,
        why: str,
        assumed: Sequence[t.Condition],
        outputs: Mapping[str, Tensor] | None = None,
    ) -> None:
        """The text is not defined where this is assumed: with inputs for which that is seen."""
        shown = witness(0, 1, calls.drawing(case), assumed, example(assumed))
        if shown is None:
            raise OpenEquality(f"{why}, for no inputs that were found")
        for each in [outputs] if outputs else self.outputs(case):
            try:
                self.replayed(case, each, shown)
            except UndefinedBehaviour as error:
                self.result.faults.append(f"{case.text()}: {error}{calls.given(shown)}")
                self.result.shown_by = calls.with_numbers(case, shown)
                return
        raise OpenEquality(f"{why}, which is not seen{calls.given(shown)}")

    def always(self, case: calls.ChosenCall, error: Exception) -> bool:
        """Whether the text is not defined for zeros, as it is wherever elements decide nothing."""
        if not isinstance(error, UndefinedBehaviour) or isinstance(error, calls.Refused):
            return False
        for outputs in self.outputs(case):
            try:
                self.replayed(case, outputs, {})
            except (calls.Refused, *UNKNOWN):
                continue
            except UndefinedBehaviour as found:
                self.result.faults.append(f"{case.text()}: {found}")
                self.result.shown_by = calls.with_numbers(case, {})
                return True
        return False

    def outputs(self, case: calls.ChosenCall) -> list[Outputs]:
        """The outputs of a call without their elements, for each choice of types."""
        result = Reference(self.operator).infer(case.inputs, case.attributes)
        inferred = {}
        for name, tensor in result.outputs.items():
            dtype = result.env["$types"].get(self.operator.type_of[name])
            inferred[name] = replace(tensor, dtype=dtype.name) if dtype else tensor
        return [
            {name: Tensor(tensor.shape, [], 0, dtypes[name]) for name, tensor in inferred.items()}
            for dtypes in calls.result_types(self.operator, self.info, case, inferred)
        ]

    def replayed(
        self, case: calls.ChosenCall, outputs: Mapping[str, Tensor], shown: Assignment
    ) -> dict[str, list[Any]]:
        """What the text gives for these inputs."""
        self.machine.begin(PathFacts(), None)
        call = calls.with_numbers(case, shown)
        return self.caller.run(call, outputs)

    def differs(
        self, case: calls.ChosenCall, outputs: Mapping[str, Tensor], found: Difference
    ) -> Difference:
        """The difference with what text, formula and compiled text give for these inputs."""
        assert found.shown_by is not None
        call = self.result.shown_by = calls.with_numbers(case, found.shown_by)
        exact = Reference(self.operator).evaluate(call.inputs, call.attributes).outputs
        wanted = exact[found.output].values[found.position]
        number = self.replayed(case, outputs, found.shown_by)[found.output][found.position]
        number = Evaluation(found.shown_by).value(number)
        if same(number, wanted):
            raise OpenEquality(
                f"{found.found} against {found.wanted}, which are equal"
                f"{calls.given(found.shown_by)}"
            )
        sources = self.text.linked(self.info)
        compiled = None
        if self.text.target == "c":
            compiled = native.run(sources, self.text.manifest, self.info, call, outputs)
        return replace(
            found,
            numbers=(number, wanted),
            compiled=compiled and compiled[found.output][found.position],
            python=native.text_of(self.info, call, outputs),
        )

    def compare(
        self,
        case: calls.ChosenCall,
        outputs: Mapping[str, Tensor],
        wanted: Mapping[str, Tensor],
        found: Mapping[str, list[Any]],
        facts: PathFacts,
    ) -> None:
        for name, tensor in outputs.items():
            pairs = zip(found[name], wanted[name].values, strict=True)
            for position, (one, other) in enumerate(pairs):
                shown = self.element(case, one, other, tensor.dtype, facts)
                if shown is not None:
                    is_now, should_be = value_text(one)[:400], value_text(other)[:400]
                    difference = Difference(case.text(), name, position, is_now, should_be, shown)
                    self.result.difference = self.differs(case, outputs, difference)
                    return

    def element(
        self, case: calls.ChosenCall, one: Any, other: Any, dtype: str, facts: PathFacts
    ) -> Assignment | None:
        """Inputs for which an element is not what the formula says; None if it always is."""
        row = DTYPES[dtype]
        if row.kind == "bool":
            other = choices.choose(other, 1, 0)
        bits = 0 if row.kind == "real" else max(row.bits, 8)
        comparison = Comparison(facts)
        self.result.elements += 1
        try:
            comparison.equal(one, other, bits)
        except OpenEquality as error:
            assumed = error.assumed or facts.conditions()
            shown = witness(one, other, calls.drawing(case), assumed, example(assumed))
            if shown is None:
                raise
            return shown
        self.result.cases += comparison.cases > 0
        return None


def case_key(case: Case) -> Key:
    return case[0].text(), case[1]
