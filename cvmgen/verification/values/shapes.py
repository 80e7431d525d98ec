"""Calls at the edges of an operator's schedules: each number that its text compares, divides or
steps by is an extent, and so are its neighbours. What comes to blocks of the text that no call came
to before is looked at for neighbours that come further."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from math import prod
from typing import Any

from cvmgen.errors import OperatorError
from cvmgen.reference.failures import FormulaError, WorkLimit
from cvmgen.reference.sampling import Sampler, Tape
from cvmgen.spec.formula import Operator
from cvmgen.verification.values.calls import ChosenCall, tensors_of, with_types
from cvmgen.verification.values.coverage import OF_CALL, SEVERAL, Feature

MOST_ELEMENTS = 2000  # of the inputs and the outputs of a call together
MOST_OF_LONG = 20_000  # of those of a call with a long extent
STEPS = 50_000  # of the evaluator for one call
MOST_EDGE = 130
SMALL_BLOCK = 4
WIDE = (8, 9, 31)  # bits of elements that fill a byte, that no byte holds, that fill an int32
PRECISIONS = (8, 8, 9, 13, 16, 24, 31, 31, 32)
BYTE = 128  # the first extent that a signed byte does not hold
LONGEST = 10_000
LEAST_THRESHOLD, MOST_THRESHOLD, SMALL = 200, 1 << 20, 8
_THRESHOLD = re.compile(r">= (\d+)\b")
_NUMBER = re.compile(r"(?:[<>]=?|\+=|[-/%*+]|min_i64\() ?(\d+)\b")


def edges_of(text: str) -> list[int]:
    """The numbers of a text from 2 on, each with its neighbours; of a large one, which a product of
    extents reaches, its roots."""
    found = numbers_of(text)
    roots = {round(each ** (1 / n)) for each in found if each >= MOST_EDGE for n in (2, 3, 4)}
    near = {each + step for each in found | roots if 2 <= each < MOST_EDGE for step in (-1, 0, 1)}
    return sorted(near | {1, 2, 3})


def blocks_of(text: str) -> list[int]:
    """The numbers of a text by which it may part extents; and the largest signed byte."""
    return sorted({each for each in numbers_of(text) if SMALL_BLOCK <= each < BYTE} | {BYTE - 1})


def long_edges_of(text: str) -> list[int]:
    """The large numbers of a text that an extent by itself can reach, with what is behind them; and
    an extent that a signed byte does not hold."""
    found = {each for each in numbers_of(text) if MOST_EDGE <= each <= LONGEST}
    return sorted({each + step for each in found for step in (0, 1)} | {BYTE + 1})


def numbers_of(text: str) -> set[int]:
    return {int(each) for each in _NUMBER.findall(text)}


def thresholds_of(text: str) -> dict[int, int]:
    """What may stand for the numbers from which on a text has enough to do. A test for such a
    number, and one for less than it, are the same ones."""
    found = {int(each) for each in _THRESHOLD.findall(text)}
    return {
        each - less: SMALL - less
        for each in found
        if LEAST_THRESHOLD <= each <= MOST_THRESHOLD
        for less in (0, 1)
    }


def features(call: ChosenCall, ran: set[Feature], edges: Iterable[int]) -> set[Feature]:
    """What ran, and what the call is like: whether it has several of everything, which extents are
    at edges of the text and beyond, how wide elements are, which small numbers attributes are."""
    told = [
        f"{name} {at} is {max(-2, min(each, 3))}"
        for name, value in call.attributes.items()
        for at, each in enumerate(value if isinstance(value, tuple) else (value,))
        if isinstance(each, int)
    ]
    edges = [*edges]
    for name, tensor in tensors_of(call):
        about = f"{name} of {tensor.dtype}"
        told += [f"{about} has {each} bits" for each in WIDE if (tensor.precision or 0) >= each]
        for axis, extent in enumerate(tensor.shape):
            told += [f"{about} {axis} is at {edge}" for edge in edges if extent == edge]
            told += [f"{about} {axis} is beyond {edge}" for edge in edges if extent > edge]
    several = ran if has_several(call) else ()
    found = ran | {(name, block, SEVERAL) for name, block, _ in several}
    return found | {(each, OF_CALL, 1) for each in told}


def has_several(call: ChosenCall) -> bool:
    """Whether no extent is 1 and no tensor has two that are alike: steps along one axis that are
    taken along another one lead elsewhere."""
    shapes = [tensor.shape for _, tensor in tensors_of(call)]
    return all(min(shape, default=2) > 1 and len({*shape}) == len(shape) for shape in shapes)


class EdgeSampler(Sampler):
    """A sampler whose extents are at edges, more often in later calls."""

    def __init__(self, operator: Operator, text: str) -> None:
        super().__init__(operator)
        self.edges, self.long, self.often = edges_of(text), long_edges_of(text), 0.0
        self.several = self.wide = False
        self.names = {each.new for item in operator.inputs for each in item.extents if each.new}

    def extent(self) -> int:
        if self.random.random() < self.often:
            return self.edge()
        return self.random.choice(EXTENTS) if self.several else super().extent()

    def bits(self) -> int:
        return self.random.choice(PRECISIONS) if self.wide else super().bits()

    def edge(self) -> int:
        pick = self.random
        if self.long and pick.random() < LONG:
            return pick.choice(self.long)
        return min(pick.choice(self.edges) for _ in range(pick.choice((1, 2, 3))))

    def neighbour(self, tape: Tape) -> Tape:
        """The same draws, but for one or two: an extent at another edge, an attribute anew."""
        found, pick = dict(tape), self.random
        names = sorted(name for name in tape if not name.startswith(("data(", "p(")))
        for name in pick.sample(names, min(len(names), pick.choice((1, 1, 2)))):
            value = found.pop(name)
            if name not in self.names or pick.random() < 0.2:
                continue
            if isinstance(value, int):
                found[name] = self.edge()
            elif isinstance(value, tuple) and value and all(isinstance(e, int) for e in value):
                at = pick.randrange(len(value))
                found[name] = (*value[:at], self.edge(), *value[at + 1 :])
        return found


EXTENTS = (2, 2, 3, 3, 4, 5)  # of calls that have several of everything
TYPES = ("int8", "int32")
PATIENCE = 150  # calls in a row that come to nothing new, behind which no more are tried
LONG = 0.05  # how often an extent is a long one


@dataclass(frozen=True, slots=True)
class Drawing:
    """A call, and the draws that it was made by."""

    call: ChosenCall
    tape: Tape


Came = Callable[[ChosenCall], bool | None]
"""Whether a call came to what no call came to before; None where there were enough."""


def searched(operator: Operator, text: str, tries: int, came: Came) -> None:
    """Try calls with inputs of int8 and of int32, `text` being the kernel's: a third of them at
    edges, then neighbours of those that came to something new, the last ones more often; no more
    where for long none came to anything new."""
    sampler = EdgeSampler(operator, text)
    seen, good, last = set[str](), list[Tape](), 0

    def new(call: ChosenCall, dtype: str) -> bool | None:
        typed = with_types(call, dtype)
        if typed.text() in seen:
            return False
        seen.add(typed.text())
        return came(typed)

    for number in range(2 * tries):
        sampler.often = min(0.8, 3 * number / tries)
        sampler.several, sampler.wide = number % 4 == 0, number % 3 != 0
        near = 3 * number > tries and good and sampler.random.random() < 0.8
        at = int(len(good) * sampler.random.random() ** 0.5)
        tape = sampler.neighbour(good[at]) if near else {}
        for drawing in _small(_accepted(sampler, tape)):
            one, other = TYPES if number % 2 else TYPES[::-1]
            came_further = new(drawing.call, one)
            if came_further is None:
                return
            if came_further:
                good.append(drawing.tape)
                new(drawing.call, other)
                last = len(seen)
        if len(seen) >= min(tries, last + PATIENCE):
            return


def _accepted(sampler: Sampler, tape: Tape) -> tuple[Tape, Any] | None:
    try:
        return sampler.accepted(STEPS, compute=False, tape=tape)
    except (FormulaError, WorkLimit, OperatorError):
        return None


def _small(accepted: tuple[Tape, Any] | None) -> Iterator[Drawing]:
    """The call of a result, if there is one and it is not too large to look at."""
    if accepted is None:
        return
    tape, result = accepted
    call = ChosenCall(dict(result.env["$inputs"]), dict(result.env["$attributes"]))
    shapes = [tensor.shape for _, tensor in tensors_of(call)]
    shapes += [tensor.shape for tensor in result.outputs.values()]
    long = any(extent >= MOST_EDGE for shape in shapes for extent in shape)
    if sum(map(prod, shapes)) <= (MOST_OF_LONG if long else MOST_ELEMENTS):
        yield Drawing(call, dict(tape))
