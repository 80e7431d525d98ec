"""All values checked on the emitted C: each element of a result against the formula's term."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from random import Random
from typing import Any

from cvmgen.api.manifest import Manifest, OperatorInfo, read_manifest
from cvmgen.dtypes import DTYPES, precision_bound
from cvmgen.reference.operator import Reference
from cvmgen.reference.tensor import Tensor
from cvmgen.spec.formula import Operator
from cvmgen.verification.values import calls, choices, program
from cvmgen.verification.values import terms as t
from cvmgen.verification.values.arithmetic import OVERFLOWS
from cvmgen.verification.values.compare import Comparison
from cvmgen.verification.values.evaluate import Assignment, Evaluation, Open, witness
from cvmgen.verification.values.facts import Facts
from cvmgen.verification.values.formula import TermReference
from cvmgen.verification.values.library import library
from cvmgen.verification.values.llvm import Module
from cvmgen.verification.values.machine import Machine
from cvmgen.verification.values.memory import Fault, Unmodelled
from cvmgen.verification.values.solver import possible
from cvmgen.verification.values.terms import Undecided

MOST_WAYS = 400
UNKNOWN = (Open, Undecided, Unmodelled, choices.TooMany)  # what leaves a call open

# What cuts work into threads is run as its description says; what knows processors is told.
_MODELLED = ("cvmgen_threads.c", "cvmgen_x86.c")


@dataclass(frozen=True, slots=True)
class Difference:
    """An element that is not what the formula says, with inputs that show it if some were found."""

    call: str
    output: str
    position: int
    found: str
    wanted: str
    shown_by: Assignment | None
    numbers: tuple[Any, Any] | None = None  # what text and formula give for these inputs


@dataclass(slots=True)
class Result:
    """What came of the calls of an operator."""

    operator: str
    calls: dict[str, None] = field(default_factory=dict)
    elements: int = 0
    cases: int = 0  # elements that are equal by cases and not at once
    seconds: float = 0.0
    difference: Difference | None = None
    faults: list[str] = field(default_factory=list)  # calls in which the text is not defined
    open: list[str] = field(default_factory=list)  # calls of which it is not known, and why
    unfit: int = 0  # results of signed operations that are not shown to fit their type

    @property
    def validated(self) -> bool:
        return not (self.refuted or self.open) and bool(self.calls)

    @property
    def refuted(self) -> bool:
        return self.difference is not None or bool(self.faults)


class Text:
    """The generated C of a folder, linked for one operator at a time; `replaced` are files with
    another text."""

    def __init__(self, folder: Path, replaced: Mapping[str, str] | None = None) -> None:
        self.manifest: Manifest = read_manifest(folder)
        root = folder / "c"
        self.sources = {
            str(path.relative_to(root)): path.read_text(encoding="utf-8")
            for path in sorted(root.rglob("*.[ch]"))
        } | dict(replaced or {})
        self.infos = {info.full_name: info for info in self.manifest.operators}

    def modules(self, info: OperatorInfo) -> list[Module]:
        """The units of an operator and of the runtime."""
        own = f"{info.opset}/{info.name}.c"
        shared = [name for name in self.sources if "/" not in name and name.endswith(".c")]
        units = [own, *(name for name in shared if name not in _MODELLED)]
        return [program.module_of(name, self.read_by(name)) for name in units]

    def read_by(self, unit: str) -> dict[str, str]:
        """The files that a unit may read."""
        return {
            name: text
            for name, text in self.sources.items()
            if name == unit or (name.endswith(".h") and ("/" not in name or name[:-1] == unit[:-1]))
        }


def validate(
    operator: Operator,
    text: Text,
    cases: Iterable[calls.Call],
    features: frozenset[str] = frozenset(),
) -> Result:
    """Check each call for all values of its inputs, on a processor with these features."""
    info = text.infos[operator.full_name]
    checking = _Checking(operator, text, info, text.modules(info), features)
    began = time.perf_counter()
    OVERFLOWS.clear()
    for case in cases:
        try:
            checking.check(case)
        except Fault as error:
            checking.result.faults.append(f"{case.text()}: {error}")
        except UNKNOWN as error:
            checking.result.open.append(f"{case.text()}: {type(error).__name__}: {error}")
        if checking.result.difference is not None:
            break
    checking.result.seconds = time.perf_counter() - began
    checking.result.unfit = len(OVERFLOWS)
    OVERFLOWS.clear()
    return checking.result


class _Checking:
    """The check of calls of an operator, one after the other."""

    def __init__(
        self,
        operator: Operator,
        text: Text,
        info: OperatorInfo,
        modules: list[Module],
        features: frozenset[str],
    ) -> None:
        self.operator, self.text, self.info = operator, text, info
        self.machine = Machine(modules, library(features))
        self.result = Result(operator.full_name)
        self.by_ways = False  # elements decide what is done: each way by itself

    def check(self, case: calls.Call) -> None:
        """All at once where that can be; else way by way."""
        if not self.by_ways:
            try:
                return self.way(case, Facts(), None)
            except (Fault, Undecided, Unmodelled, choices.TooMany):
                self.by_ways = True
        for facts, decide in ways():
            try:
                self.way(case, facts, decide)
            except (Fault, Unmodelled):
                if facts.possible():
                    raise
            if self.result.difference is not None:
                return

    def way(
        self, case: calls.Call, facts: Facts, decide: Callable[[t.Condition], bool] | None
    ) -> None:
        """One run of the formula, and of the text for each choice of result types."""
        if decide is None or not facts.known:
            t.forget_all()
        call = calls.with_terms(case)
        wanted = TermReference(self.operator).evaluate(call.inputs, call.attributes).outputs
        for dtypes in result_types(self.operator, self.info, case, wanted):
            self.machine.begin(facts, decide)
            outputs = {
                name: Tensor(tensor.shape, [], 0, dtypes[name]) for name, tensor in wanted.items()
            }
            found = calls.Caller(self.machine, self.text.manifest, self.info).run(call, outputs)
            self.compare(case, outputs, wanted, found, facts)
            if self.result.difference is not None:
                self.replay(case, outputs, self.result.difference)
                return
            shown = ", ".join(f"{name}: {dtype}" for name, dtype in dtypes.items())
            self.result.calls[f"{case.text()} -> {shown}"] = None

    def replay(self, case: calls.Call, outputs: Mapping[str, Tensor], found: Difference) -> None:
        """Run text and formula on the inputs that show a difference."""
        if found.shown_by is None:
            return
        call = calls.with_numbers(case, found.shown_by)
        exact = Reference(self.operator).evaluate(call.inputs, call.attributes).outputs
        self.machine.begin(Facts(), None)
        run = calls.Caller(self.machine, self.text.manifest, self.info).run(call, outputs)
        number = Evaluation(found.shown_by).value(run[found.output][found.position])
        numbers = (number, exact[found.output].values[found.position])
        self.result.difference = replace(found, numbers=numbers)

    def compare(
        self,
        case: calls.Call,
        outputs: Mapping[str, Tensor],
        wanted: Mapping[str, Tensor],
        found: Mapping[str, list[Any]],
        facts: Facts,
    ) -> None:
        for name, tensor in outputs.items():
            pairs = zip(found[name], wanted[name].values, strict=True)
            for position, (one, other) in enumerate(pairs):
                self.element(case, name, position, one, other, tensor.dtype, facts)
                if self.result.difference is not None:
                    return

    def element(
        self,
        case: calls.Call,
        name: str,
        position: int,
        one: Any,
        other: Any,
        dtype: str,
        facts: Facts,
    ) -> None:
        row = DTYPES[dtype]
        if row.kind == "bool":
            other = choices.choose(other, 1, 0)
        bits = 0 if row.kind == "real" else max(row.bits, 8)
        comparison = Comparison(facts)
        self.result.elements += 1
        try:
            if comparison.equal(one, other, bits):
                self.result.cases += comparison.cases > 0
                return
            shown = None
        except Open:
            shown = witness(one, other, _drawing(case), facts)
            if shown is None:
                raise
        self.result.difference = Difference(
            case.text(), name, position, repr(one)[:400], repr(other)[:400], shown
        )


def ways() -> Iterator[tuple[Facts, Callable[[t.Condition], bool]]]:
    """Every way that decisions on elements may take, each with what it assumes."""
    script: list[bool] = []
    for _ in range(MOST_WAYS):
        facts = Facts()
        taken: list[bool] = []
        given = script

        def decide(
            test: t.Condition,
            facts: Facts = facts,
            taken: list[bool] = taken,
            given: list[bool] = given,
        ) -> bool:
            said = facts.says(test)
            if said is not None:
                return said
            assumed = facts.conditions()
            for only in (True, False):
                if not possible([*assumed, test.other if only else test], exact=False):
                    facts.assume(test if only else test.other)
                    return only
            holds = given[len(taken)] if len(taken) < len(given) else True
            taken.append(holds)
            facts.assume(test if holds else test.other)
            return holds

        with t.decided_by(decide):
            yield facts, decide
        while taken and not taken[-1]:
            taken.pop()
        if not taken:
            return
        script = [*taken[:-1], False]
    raise Open(f"more than {MOST_WAYS} ways")


def result_types(
    operator: Operator, info: OperatorInfo, case: calls.Call, wanted: Mapping[str, Tensor]
) -> list[dict[str, str]]:
    """The element types that results may have: a narrow one too where every value fits it."""
    inferred = Reference(operator).infer(case.inputs, case.attributes).outputs
    usual, narrow = {}, {}
    for name, tensor in wanted.items():
        if not info.has_precision(name):
            usual[name] = narrow[name] = tensor.dtype
            continue
        moved = {
            tensor.dtype
            for each, tensor in calls.tensors_of(case)
            if each.split("[")[0] in info.moves
        }
        usual[name] = "int8" if info.moves and moved == {"int8"} else "int32"
        narrow[name] = "int8" if inferred[name].precision <= 8 else usual[name]
    return [usual] if usual == narrow or info.moves else [usual, narrow]


def _drawing(case: calls.Call) -> Callable[[tuple[str, int], Random], Any]:
    """Elements of the inputs: edges and small numbers more often than others."""
    tensors = dict(calls.tensors_of(case))

    def draw(about: tuple[str, int], random: Random) -> Any:
        tensor = tensors[about[0]]
        dtype = DTYPES[tensor.dtype]
        if dtype.kind == "real":
            return random.choice((0.0, -0.0, 1.0, -1.5, random.uniform(-9, 9), 1e30, float("inf")))
        if dtype.kind == "bool":
            return random.getrandbits(1)
        low, high = dtype.low, dtype.high
        if tensor.precision:
            bound = precision_bound(tensor.precision)
            low, high = max(low, -bound), min(high, bound)
        near = [max(low, min(high, random.randint(-3, 3))), low, high]
        return random.choice((*near, random.randint(low, high)))

    return draw


def with_types(case: calls.Call, dtype: str) -> calls.Call:
    """The call with inputs of type `cvm` stored so, where their precision fits."""

    def stored(tensor: Tensor) -> Tensor:
        if not tensor.precision or (dtype == "int8" and tensor.precision > 8):
            return tensor
        return replace(tensor, dtype=dtype)

    inputs = {
        name: [stored(each) for each in value]
        if isinstance(value, list)
        else value and stored(value)
        for name, value in case.inputs.items()
    }
    return calls.Call(inputs, case.attributes)
