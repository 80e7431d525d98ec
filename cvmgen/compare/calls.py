"""Small calls that one of two formulas accepts, and what both make of them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import prod
from random import Random
from typing import Any

from cvmgen.dtypes import CVM, DTYPES
from cvmgen.errors import OperatorError
from cvmgen.functions import unflatten
from cvmgen.reals import STORED
from cvmgen.reference.failures import Budget, Env, FormulaError, WorkLimit
from cvmgen.reference.operator import Later, Operand, Reference
from cvmgen.reference.sampled_elements import Ends
from cvmgen.reference.sampling import PRECISIONS, Sampler, Tape, formula_numbers
from cvmgen.reference.tensor import Tensor
from cvmgen.spec import formula as f
from cvmgen.verification.values.calls import ChosenCall, tensors_of
from cvmgen.verification.values.evaluate import same

STEPS = 40_000  # of the evaluator for one call
MOST_ELEMENTS = 600  # of the inputs of a call together
MOST_RESULTS = 4000  # of its results
LARGE_PRECISIONS = (8, 16, 31, 32)
ROUNDED = (0.1, 1 / 3, 2.5, -0.7, 1e30, -1e30, 16777217.0, 1e-30)


class CallDrawing(Sampler):
    """Draws calls that a formula accepts, near the numbers of both formulas."""

    def __init__(self, operator: f.Operator, other: f.Operator) -> None:
        super().__init__(operator)
        self.numbers = sorted({*self.numbers, *map(abs, formula_numbers(other))})
        near = {each + step for each in self.numbers for step in (-1, 0, 1)}
        self.precisions = [*LARGE_PRECISIONS, *(each for each in near if 1 <= each <= 32)]

    def tensor(self, name: str, shape: tuple[int, ...], item: f.Input, env: Env) -> Tensor:
        if item.dtype == CVM:
            few = self.random.random() < 0.7
            chosen = self.random.choice(PRECISIONS if few else self.precisions)
            self.take(f"p({name})", lambda: chosen)
        return super().tensor(name, shape, item, env)

    def attribute(self, item: f.Attribute, env: Env) -> None:
        super().attribute(item, env)
        self.take(f"left({item.name})", lambda: self.random.random() < 0.5)

    def elements(self, tensor: Tensor, random: Random, ends: Iterable[Ends]) -> list[Any]:
        """Elements as the probe draws them; real numbers often such that roundings are seen."""
        found = super().elements(tensor, random, ends)
        if ends or DTYPES[tensor.dtype].kind != "real":
            return found
        stored = STORED[tensor.dtype]
        return [stored(random.choice(ROUNDED)) if random.random() < 0.5 else x for x in found]

    def call(self, tape: Tape) -> ChosenCall:
        """The call that a tape describes; raises what the formula says against it."""
        result = self.follow(tape, STEPS, compute=False)
        return self.made(result.env)

    def drawn(self) -> tuple[Tape, ChosenCall] | None:
        """A call that the formula accepts; None where none was found at once."""
        try:
            found = self.accepted(STEPS, compute=False)
            return None if found is None else (found[0], self.made(found[1].env))
        except (FormulaError, WorkLimit):
            return None

    def made(self, env: Env) -> ChosenCall:
        """The call of a run, with elements; of attributes that have their default some are left
        away."""
        if sum(tensor.size for _, tensor, _ in self.waiting) > MOST_ELEMENTS:
            raise WorkLimit
        self.fill(env)
        attributes = {}
        for item in self.operator.attributes:
            value = env["$attributes"].get(item.name)
            if value is None:
                continue
            default = None if item.default is None else self.compiler.value(item.default, env)
            if default is None or value != default or not self.tape[f"left({item.name})"]:
                attributes[item.name] = value
        inputs = {name: each for name, each in env["$inputs"].items() if each is not None}
        return ChosenCall(inputs, attributes)


# ---------------------------------------------------------------- what comes of a call


@dataclass(frozen=True, slots=True)
class Outcome:
    """The results of a call by the names of the outputs, or what it is refused by."""

    outputs: Mapping[str, Tensor] = field(default_factory=dict)
    refusal: str = ""


@dataclass(frozen=True, slots=True)
class Element:
    """The first element that is not the same."""

    output: str
    index: tuple[int, ...]
    old: Any
    new: Any


@dataclass(frozen=True, slots=True)
class Witness:
    """A call that two formulas tell apart, and how: `more`, `less`, `shape`, `type`, `precision` or
    `values`."""

    kind: str
    call: ChosenCall
    old: Outcome
    new: Outcome
    element: Element | None = None


class Small(Reference):
    """A formula that is evaluated as long as its results are small."""

    def compute(
        self,
        env: Env,
        outputs: dict[str, Tensor],
        equations: list[Later],
    ) -> None:
        if sum(tensor.size for tensor in outputs.values()) > MOST_RESULTS:
            raise WorkLimit
        super().compute(env, outputs, equations)


class Meaning:
    """A formula that calls are made of."""

    def __init__(self, operator: f.Operator) -> None:
        self.operator, self.budget = operator, Budget(0)
        self.reference = Small(operator, self.budget)
        self.inputs = {item.name: item for item in operator.inputs}
        self.attributes = {item.name for item in operator.attributes}

    def of(self, call: ChosenCall) -> Outcome | None:
        """What comes of a call; None where that takes too long."""
        self.budget.left = STEPS
        try:
            inputs = {name: self.taken(name, each) for name, each in call.inputs.items()}
            for name in call.attributes:
                if name not in self.attributes:
                    raise self.reference.refuse(name, "", "there is no such attribute")
            found = self.reference.evaluate(inputs, call.attributes).outputs
        except OperatorError as error:
            return Outcome(refusal=str(error))
        except FormulaError as error:
            name = self.operator.full_name
            return Outcome(refusal=f"{name} has no value: {error.message}")
        except WorkLimit:
            return None
        kinds = self.operator.type_of
        return Outcome({name: _typed(each, kinds[name]) for name, each in found.items()})

    def taken(self, name: str, operand: Operand) -> Operand:
        """An operand as this formula takes it: with its precision where that counts."""
        if name not in self.inputs:
            raise self.reference.refuse(name, "", "there is no such input")
        item = self.inputs[name]
        if item.variadic != isinstance(operand, list):
            raise self.reference.refuse(name, "", "one tensor, or a list of them, is needed")
        if item.dtype != CVM:
            return operand
        if isinstance(operand, list):
            return [self.measured(name, each) for each in operand]
        assert isinstance(operand, Tensor)
        return self.measured(name, operand)

    def measured(self, name: str, tensor: Tensor) -> Tensor:
        if tensor.precision:
            return tensor
        if tensor.dtype not in ("int8", "int32"):
            raise self.reference.refuse(name, tensor.dtype, "elements must be int8 or int32")
        return Tensor.of(tensor.nested(), None, tensor.dtype)


def _typed(tensor: Tensor, kind: str) -> Tensor:
    return tensor if kind == CVM else replace(tensor, precision=0)


def differences(call: ChosenCall, old: Outcome, new: Outcome) -> Iterator[Witness]:
    """How two formulas tell a call apart: each thing that is not the same."""
    if old.refusal or new.refusal:
        if not (old.refusal and new.refusal):
            yield Witness("more" if old.refusal else "less", call, old, new)
        return
    names = [name for name in old.outputs if name in new.outputs]
    pairs = [(name, old.outputs[name], new.outputs[name]) for name in names]
    if any(one.shape != other.shape for _, one, other in pairs):
        yield Witness("shape", call, old, new)
    elif element := next(unlike(pairs), None):
        yield Witness("values", call, old, new, element)
    if any(_kind_of(one) != _kind_of(other) for _, one, other in pairs):
        yield Witness("type", call, old, new)
    elif any(one.precision != other.precision for _, one, other in pairs):
        yield Witness("precision", call, old, new)


def unlike(pairs: Sequence[tuple[str, Tensor, Tensor]]) -> Iterator[Element]:
    """The elements that are not the same, in the order of the outputs."""
    for name, one, other in pairs:
        for at, (a, b) in enumerate(zip(one.values, other.values, strict=True)):
            if not same(a, b) or isinstance(a, float) != isinstance(b, float):
                yield Element(name, tuple(unflatten(at, one.shape)), a, b)


def _kind_of(tensor: Tensor) -> tuple[str, bool]:
    """What callers see of a result's type: of one with a precision they choose it."""
    return ("", True) if tensor.precision else (tensor.dtype, False)


class Both:
    """Two formulas of one operator, whose inputs, attributes and outputs have the same names."""

    def __init__(self, old: f.Operator, new: f.Operator) -> None:
        self.old, self.new = Meaning(old), Meaning(new)
        self.drawers = (CallDrawing(old, new), CallDrawing(new, old))
        self.asked = 0

    def outcomes(self, call: ChosenCall) -> tuple[Outcome, Outcome] | None:
        """What both make of a call, if it is not too large."""
        self.asked += 1
        old, new = self.old.of(call), self.new.of(call)
        return None if old is None or new is None else (old, new)

    def differences(self, call: ChosenCall) -> dict[str, Witness]:
        """How the formulas differ on a call, by kind."""
        found = self.outcomes(call)
        return {each.kind: each for each in differences(call, *found)} if found else {}

    def drawn(self, most: int) -> Iterator[tuple[CallDrawing, Tape, ChosenCall]]:
        """Calls that one of them accepts, by turns."""
        for at in range(most):
            drawer = self.drawers[at % 2]
            found = drawer.drawn()
            if found is not None:
                yield drawer, *found


def size_of(call: ChosenCall, outcomes: Sequence[Outcome | None] = ()) -> int:
    """How many elements a call has."""
    made = (each for outcome in outcomes if outcome for each in outcome.outputs.values())
    return sum(each.size for _, each in tensors_of(call)) + sum(prod(each.shape) for each in made)
