"""The smallest call that tells two formulas apart in the same way."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import count
from typing import Any

from cvmgen.compare.calls import Both, CallDrawing, Witness, size_of
from cvmgen.dtypes import DTYPES, DType
from cvmgen.errors import OperatorError
from cvmgen.reference.failures import FormulaError, WorkLimit
from cvmgen.reference.probe import example_size, smaller_values
from cvmgen.reference.sampling import Tape
from cvmgen.reference.tensor import Tensor
from cvmgen.verification.values.calls import ChosenCall

MOST_TRIED = 400  # calls that are tried in place of one
SEEDS = 4  # for the elements of a smaller call
Size = tuple[int, int, int]


class Shrinking:
    """Tries smaller calls in place of one, as long as some are left to try."""

    def __init__(self, both: Both, kind: str) -> None:
        self.both, self.kind, self.left = both, kind, MOST_TRIED

    def holds(self, call: ChosenCall) -> Witness | None:
        self.left -= 1
        return self.both.differences(call).get(self.kind)

    # -------------------------------------------------------- shapes and attributes

    def by_tape(self, drawer: CallDrawing, tape: Tape, witness: Witness) -> Witness:
        """Less for one draw after the other."""
        changed = True
        while changed and self.left > 0:
            changed = False
            for name in list(tape):
                for other in neighbours(drawer, tape, name):
                    found = self.smaller(drawer, other, witness)
                    if found is not None:
                        tape, witness = found
                        changed = True
                        break
        return witness

    def smaller(
        self, drawer: CallDrawing, tape: Tape, witness: Witness
    ) -> tuple[Tape, Witness] | None:
        """A smaller call by a changed tape, with the elements of several seeds."""
        seeds = [name for name in tape if name.startswith("data(")]
        for attempt in range(SEEDS if self.kind == "values" else 1):
            if self.left <= 0:
                return None
            given = dict(tape)
            given |= {name: tape[name] + attempt for name in seeds}
            try:
                call = drawer.call(given)
            except (OperatorError, FormulaError, WorkLimit):
                return None
            if call_size(call) >= call_size(witness.call):
                return None
            found = self.holds(call)
            if found is not None:
                return given, found
        return None

    # -------------------------------------------------------- elements and precisions

    def by_elements(self, witness: Witness) -> Witness:
        """Zeros and small numbers in place of elements, then smaller precisions."""
        for change in (self.element_changes, self.precision_changes):
            changed = True
            while changed and self.left > 0:
                changed = False
                for call in change(witness.call):
                    if self.left <= 0:
                        break
                    found = self.holds(call)
                    if found is not None:
                        witness, changed = found, True
                        break
        return witness

    @staticmethod
    def element_changes(call: ChosenCall) -> Iterator[ChosenCall]:
        for name, at, tensor in tensors_at(call):
            zeros = [type(each)(0) for each in tensor.values]
            if any(tensor.values):
                yield with_tensor(call, name, at, replace(tensor, values=zeros))
        for name, at, tensor in tensors_at(call):
            for place, value in enumerate(tensor.values):
                for less in _simpler(value, DTYPES[tensor.dtype]):
                    values = [*tensor.values[:place], less, *tensor.values[place + 1 :]]
                    yield with_tensor(call, name, at, replace(tensor, values=values))

    @staticmethod
    def precision_changes(call: ChosenCall) -> Iterator[ChosenCall]:
        for name, at, tensor in tensors_at(call):
            if not tensor.precision:
                continue
            least = max((abs(each) for each in tensor.values), default=0).bit_length() + 1
            for less in (least, tensor.precision // 2, tensor.precision - 1):
                if least <= less < tensor.precision:
                    yield with_tensor(call, name, at, replace(tensor, precision=less))


def smallest(both: Both, drawer: CallDrawing | None, tape: Tape, witness: Witness) -> Witness:
    """The smallest witness of the same kind that is found from one; without a drawer its shapes and
    attributes stay."""
    shrinking = Shrinking(both, witness.kind)
    if drawer is not None:
        witness = shrinking.by_tape(drawer, tape, witness)
    shrinking.left = max(shrinking.left, MOST_TRIED // 2)
    return shrinking.by_elements(witness)


def neighbours(drawer: CallDrawing, tape: Tape, name: str) -> Iterator[Tape]:
    """The same call with less for one draw."""
    value = tape[name]
    if name.startswith("data("):
        return
    if name.startswith("left("):
        if not value:
            yield {**tape, name: True}
        return
    least = 0 if name in drawer.attribute_names | drawer.down_to_0 | {"types"} else 1
    for item in drawer.operator.attributes:
        if item.name == name and item.default is not None:
            yield {key: each for key, each in tape.items() if key != name} | {
                f"left({name})": True, name: default_of(drawer, item),
            }  # fmt: skip
        if item.name == name and item.optional and value is not None:
            yield {**tape, name: None}
    for less in smaller_values(value, least):
        yield {**tape, name: less}


def default_of(drawer: CallDrawing, item: Any) -> Any:
    return drawer.compiler.value(item.default, drawer.env)


def call_size(call: ChosenCall) -> Size:
    """Elements first, then dimensions and numbers of attributes, then precisions."""
    attributes = sum(1 + example_size(each) for each in call.attributes.values())
    precisions = sum(tensor.precision for _, _, tensor in tensors_at(call))
    ranks = sum(len(tensor.shape) for _, _, tensor in tensors_at(call))
    return size_of(call), ranks + attributes, precisions


def _simpler(value: Any, dtype: DType) -> Iterator[Any]:
    """Simpler values of a type to try in place of one, the simplest first."""
    match value:
        case bool():
            if value:
                yield False
        case int():
            for less in (0, 1, -1, -value, value // 2 if value > 0 else -(-value // 2)):
                simpler = (abs(less), less < 0) < (abs(value), value < 0)
                if simpler and dtype.low <= less <= dtype.high:
                    yield less
            if abs(value) > 2:
                yield value - (1 if value > 0 else -1)
        case float():
            for real in (0.0, 1.0, -1.0, 0.5):
                if real == value:
                    return
                yield real
        case _:
            pass


def tensors_at(call: ChosenCall) -> Iterator[tuple[str, int | None, Tensor]]:
    """Each tensor of a call, by its input and its place in a list of them."""
    for name, operand in call.inputs.items():
        if isinstance(operand, list):
            yield from zip([name] * len(operand), count(), operand, strict=False)
        elif operand is not None:
            yield name, None, operand


def with_tensor(call: ChosenCall, name: str, at: int | None, tensor: Tensor) -> ChosenCall:
    operand = call.inputs[name]
    if at is not None:
        assert isinstance(operand, list)
        return ChosenCall(
            {**call.inputs, name: [*operand[:at], tensor, *operand[at + 1 :]]}, call.attributes
        )
    return ChosenCall({**call.inputs, name: tensor}, call.attributes)
