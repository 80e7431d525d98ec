"""Calls that are larger than those a prover looks at: too many elements to ask for all values in
each of them, but not to compute with numbers. Those in which something else comes out are asked."""

from __future__ import annotations

from collections.abc import Iterator
from math import prod

from cvmgen.errors import OperatorError
from cvmgen.reference.failures import FormulaError, WorkLimit
from cvmgen.reference.sampling import EXTENTS, Sampler, Tape
from cvmgen.spec.formula import Operator
from cvmgen.verification.values.calls import ChosenCall, tensors_of, with_types

TRIES, BASES = 64, 12  # calls of which each extent by itself is made a long one
PAIRS = 1  # of which two extents are made so
MIDDLE = (5, 17, 20, 33)  # extents of calls that come to tiles
LONG = (130, 4100)  # beyond a byte, and beyond a byte of blocks
MOST_ELEMENTS = 20_000
STEPS = 50_000  # of the evaluator for one call
TYPES = ("int8", "int32")
OF_ELEMENTS = ("data(", "p(", "types")  # draws that are no extents and no attributes


class FarSampler(Sampler):
    """A sampler whose extents are drawn from a few."""

    def __init__(self, operator: Operator) -> None:
        super().__init__(operator)
        self.extents: tuple[int, ...] = EXTENTS
        self.most_forced = max(LONG)

    def extent(self) -> int:
        return self.random.choice(self.extents)

    def integer(self, low: int, high: int) -> int:
        """An attribute that may be an extent often is drawn as one."""
        if low == 1 and high > max(LONG) and self.random.random() < 0.5:
            return self.extent()
        return super().integer(low, high)

    def call(self, tape: Tape) -> ChosenCall | None:
        """The call of a tape, which is completed and mended; None where there is none, or one that
        is too large."""
        try:
            accepted = self.accepted(STEPS, compute=False, tape=tape)
        except (FormulaError, WorkLimit, OperatorError):
            return None
        if accepted is None:
            return None
        _, result = accepted
        call = ChosenCall(dict(result.env["$inputs"]), dict(result.env["$attributes"]))
        shapes = [tensor.shape for _, tensor in tensors_of(call)]
        shapes += [tensor.shape for tensor in result.outputs.values()]
        return call if sum(map(prod, shapes)) <= MOST_ELEMENTS else None

    def others(self, tape: Tape) -> Iterator[Tape]:
        """The same draws with elements of other types, and each with one number that is large."""
        for row in range(len(self.table.rows)):
            yield from self.longer({**tape, "types": row})

    def longer(self, tape: Tape) -> Iterator[Tape]:
        yield tape
        for length in LONG:
            yield from self.with_one(tape, length)

    def with_one(self, tape: Tape, length: int) -> Iterator[Tape]:
        for name in sorted(name for name in tape if not name.startswith(OF_ELEMENTS)):
            value = tape[name]
            if isinstance(value, int) and not isinstance(value, bool):
                yield {**tape, name: length}
            elif isinstance(value, tuple) and all(isinstance(each, int) for each in value):
                for at in range(len(value)):
                    yield {**tape, name: (*value[:at], length, *value[at + 1 :])}

    def with_two(self, tape: Tape) -> Iterator[Tape]:
        for each in self.with_one(tape, LONG[0]):
            yield from self.with_one(each, LONG[0])


def far_calls(operator: Operator) -> list[ChosenCall]:
    """Some of an operator, the smaller ones first."""
    sampler, found = FarSampler(operator), dict[str, ChosenCall]()
    bases = 0
    for number in range(TRIES):
        sampler.extents = MIDDLE if number % 2 else EXTENTS
        tape: Tape = {}
        if sampler.call(tape) is None:
            continue
        if (bases := bases + 1) > BASES:
            break
        several = [*sampler.others(tape), *(sampler.with_two(tape) if bases <= PAIRS else ())]
        for each in several:
            if (call := sampler.call(dict(each))) is not None:
                found |= {typed.text(): typed for typed in (with_types(call, e) for e in TYPES)}
    return sorted(found.values(), key=elements)


def elements(call: ChosenCall) -> int:
    return sum(tensor.size for _, tensor in tensors_of(call))
