"""Limits of tensors and calls, and how refusals of calls are worded, in all targets alike.

This file needs Python alone. The python target carries a copy of it beside its operators.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple, NoReturn

MAX_RANK = 16
MAX_SIZE = 1 << 40
MAX_PRECISION = 32
MOST_NAMED = 1 << 62  # of an integer that the host code of a call gives a name
FAR_PRECISION = 64  # from here on targets may count the bits of bounds differently
MAX_INPUTS = 64
LOWEST = -(1 << 63)
HIGHEST = (1 << 63) - 1
MOST_SHOWN = 160  # characters of a list of shapes before it is cut
# Where a maximum and a minimum of integers begin: no element of a formula is beyond.
BELOW_ALL = -(1 << 126)
ABOVE_ALL = 1 << 126

EXTENT_POSITIVE = "every extent must be at least 1"
EXTENT_NEGATIVE = "no extent may be negative"
SIZE_LIMIT = "a tensor has less than 2^40 elements"
RANK_LIMIT = "a tensor has 1 to 16 dimensions"
RANK_LIMIT_OR_EMPTY = "this tensor has 0 to 16 dimensions"
PRECISION_RANGE = "a precision is in [1, 32]"
ELEMENT_TYPES = "elements must be int8 or int32"
INPUT_MISSING = "this input is missing"
ATTRIBUTE_MISSING = "this attribute is missing"
OUTPUT_EXTENT = "the result would be empty"
OUTPUT_NEGATIVE = "an extent of the result would be negative"
LIST_LIMIT = "at most 16 entries"
REAL_NEEDED = "a real number is needed"
REAL_BEYOND = "an integer of at most 53 bits, or a number with a point, is needed"
REALS_NEEDED = "a tuple of real numbers is needed"
BEYOND_INT64 = "a number of at most 64 bits is needed"
INPUTS_NEEDED = "at least one input is needed"
INPUTS_LIMIT = "at most 64 inputs"
NO_CASE = "no case of the operator applies"
NOT_THERE = "something is read that the call does not have"
NO_PRECISION = "its precision is neither declared nor measurable"
UNHELD = "no precision up to 32 holds this value"
NO_MEMORY = "there is no memory for so many"
EMPTY_REDUCTION = "the maximum or minimum of no element has no value"


class Limits(NamedTuple):
    """The least rank and the least extent of a tensor, and how they are told."""

    rank: int
    extent: int
    rank_rule: str
    extent_rule: str


INPUT = Limits(1, 1, RANK_LIMIT, EXTENT_POSITIVE)
INPUT_OR_EMPTY = Limits(0, 0, RANK_LIMIT_OR_EMPTY, EXTENT_NEGATIVE)
OUTPUT = Limits(1, 1, RANK_LIMIT, OUTPUT_EXTENT)
OUTPUT_OR_EMPTY = Limits(0, 0, RANK_LIMIT_OR_EMPTY, OUTPUT_NEGATIVE)


def outside_rule(index: Sequence[int] | None) -> str:
    """Without an index the formula does not go through elements in their order."""
    if index is None:
        return "its formula reads or writes outside of its tensors"
    return f"element {shape_text(index)} reads outside of its tensors"


def demand_rule(rule: str, index: Sequence[int] | None) -> str:
    """A rule of elements that does not hold at an index; without one, of all of them."""
    return f"{rule}, at {shape_text(index)}" if index else rule


def extent_text(extent: int) -> str:
    """An extent; of one that a formula made very large it is not told how large."""
    if extent > MOST_NAMED:
        return "more than 2^62"
    return "less than -2^62" if extent < -MOST_NAMED else str(extent)


def shape_text(extents: Sequence[int]) -> str:
    """A shape as users write it: (2, 3), (4,)."""
    return f"({', '.join(map(extent_text, extents))}{',' * (len(extents) == 1)})"


def shapes_text(shapes: Sequence[Sequence[int]]) -> str:
    """Shapes as one list, the last ones left out of a long text."""
    text = ""
    for shape in shapes:
        if len(text) > MOST_SHOWN:
            return f"({text}, ...)"
        text += ", " * bool(text) + shape_text(shape)
    return f"({text}{',' * (len(shapes) == 1)})"


def rank_rule(rank: int, least: str = "") -> str:
    return f"{least}{rank} dimension{'s' * (rank != 1)} needed"


def terms(pairs: Iterable[tuple[str, Any]]) -> str:
    """`C = 3, n = (2, 3)`: named values; those that are None are left out."""
    shown = []
    for name, value in pairs:
        if value is None:
            continue
        if isinstance(value, bool):
            value = str(value).lower()
        elif isinstance(value, str):
            value = f'"{value}"'
        elif isinstance(value, (list, tuple)):
            nested = len(value) > 0 and isinstance(value[0], (list, tuple))
            value = shapes_text(value) if nested else shape_text(value)
        shown.append(f"{name} = {value}")
    return ", ".join(shown)


def needed(what: str, words: Sequence[str] = ()) -> str:
    """`an integer is needed`, `"A" or "B" is needed`: what an attribute can be given."""
    choices = [what] if what else []
    *before, last = [*choices, *(f'"{word}"' for word in words)]
    return f"{', '.join(before)} or {last} is needed" if before else f"{last} is needed"


def precision_text(precision: int, far: int) -> str:
    """A precision; of one from `far` on it is not counted how far."""
    if precision >= far:
        return f"{far} or more"
    return f"below -{far}" if precision < -far else str(precision)


def with_terms(rule: str, shown: str) -> str:
    return f"{rule} ({shown})" if shown else rule


def real_text(value: float) -> str:
    """A real number, by six digits where these tell it from all others."""
    short = f"{value:.6g}"
    return short if float(short) == value or value != value else f"{value:.17g}"


def reals_text(values: Iterable[float]) -> str:
    """A list of real numbers as users write it: (0.5, 2), (0.5,)."""
    texts = [real_text(float(value)) for value in values]
    return f"({', '.join(texts)}{',' * (len(texts) == 1)})"


def range_rule(text: str) -> str:
    return f"must be in {text}"


def extent_rule(dimension: int, term: str) -> str:
    return f"extent {dimension} must be {term}"


def shape_rule(term: str) -> str:
    return f"the shape must be {term}"


def part_rule(dimension: int, term: str) -> str:
    return f"the extents from {dimension} on must be {term}"


def precision_rule(term: str) -> str:
    return f"its precision {term} must be in [1, {MAX_PRECISION}]"


# ---------------------------------------------------------------- refusals


class OperatorError(ValueError):
    """A call that an operator refuses: which argument, which value, which rule."""

    def __init__(self, operator: str, argument: str, value: str, rule: str) -> None:
        self.operator = operator
        self.argument = argument
        self.value = value
        self.rule = rule
        if argument:
            subject = f"{argument} = {value}" if value else argument
            text = f"{subject}: {rule}"
        else:
            text = f"{rule} ({value})" if value else rule
        super().__init__(f"{operator}: {text}")

    def __reduce__(self) -> tuple[Any, ...]:
        return error_again, (type(self), self.args, self.__dict__)


def error_again(kind: type[Exception], message: tuple[Any, ...], fields: dict[str, Any]) -> Any:
    """An error of another process."""
    made = kind.__new__(kind, *message)
    made.__dict__.update(fields)
    return made


_raised: type[OperatorError] = OperatorError


def raise_as(kind: type[OperatorError]) -> None:
    """Let refusals be raised as a class of the program around the operators."""
    global _raised
    _raised = kind


def refuse(operator: str, argument: str, value: str, rule: str) -> NoReturn:
    raise _raised(operator, argument, value, rule)
