"""What generated Python operators call: checks, wording of refusals, lists, results.

This file needs numpy alone. The python target carries a copy of it beside its operators.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from itertools import product as _product
from math import prod
from typing import Any, NamedTuple, NoReturn

import numpy as np

MAX_RANK = 16
MAX_SIZE = 1 << 40
MAX_PRECISION = 32
MOST_NAMED = 1 << 62  # of an integer that the host code of a call gives a name
FAR_PRECISION = 64  # from here on targets may count the bits of bounds differently
MAX_INPUTS = 64
INT8: np.dtype[Any] = np.dtype(np.int8)
INT32: np.dtype[Any] = np.dtype(np.int32)
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
BEYOND_INT64 = "a number of at most 64 bits is needed"
INPUTS_NEEDED = "at least one input is needed"
INPUTS_LIMIT = "at most 64 inputs"
NO_CASE = "no case of the operator applies"
NOT_THERE = "something is read that the call does not have"
NO_PRECISION = "its precision is neither declared nor measurable"
UNHELD = "no precision up to 32 holds this value"


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


def refuse_outside(
    operator: str, name: str, found: Iterable[int], shape: Sequence[int] | None
) -> None:
    """Refuse a call in which the least of these elements reads outside, if there is one."""
    position = int(min(found))
    if position < MAX_SIZE:
        index = None if shape is None else unflatten(position, shape)
        refuse(operator, name, "", outside_rule(index))


# ---------------------------------------------------------------- wording


def outside_rule(index: Sequence[int] | None) -> str:
    """Without an index the formula does not go through elements in their order."""
    if index is None:
        return "its formula reads or writes outside of its tensors"
    return f"element {shape_text(index)} reads outside of its tensors"


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


def with_terms(rule: str, shown: str) -> str:
    return f"{rule} ({shown})" if shown else rule


# ---------------------------------------------------------------- operands


class Operand:
    """An input: its shape, and row-major values once they are asked for."""

    __slots__ = ("_precision", "_values", "array", "name", "operator", "shape")

    def __init__(
        self,
        operator: str,
        name: str,
        shape: Sequence[int],
        precision: int | None,
        array: np.ndarray[Any, Any] | None,
    ) -> None:
        self.operator = operator
        self.name = name
        self.shape = tuple(int(extent) for extent in shape)
        self.array = array
        self._precision = precision
        self._values: list[int] | None = None

    @property
    def values(self) -> list[int]:
        """The elements as Python integers, row-major."""
        if self._values is None:
            assert self.array is not None
            self._values = self.array.reshape(-1).tolist()
        return self._values

    @property
    def precision(self) -> int:
        """As declared, or the smallest that holds every element."""
        if self._precision is None and 0 in self.shape:
            self._precision = 1
        if self._precision is None:
            if self.array is None:
                refuse(self.operator, self.name, "", NO_PRECISION)
            self._precision = measured(self.operator, self.name, self.array)
        return self._precision

    def check_values(self) -> None:
        """Refuse the first element that the declared precision does not hold."""
        if self._precision is None or self.array is None:
            return
        most = (1 << (self._precision - 1)) - 1
        wrong = np.flatnonzero((self.array < -most) | (self.array > most))
        if wrong.size == 0:
            return
        index = np.unravel_index(int(wrong[0]), self.shape)
        value = int(self.array[index])
        at = shape_text([int(entry) for entry in index])
        rule = f"precision {self._precision} holds [{-most}, {most}]"
        refuse(self.operator, self.name, f"{value} at {at}", rule)


def measured(operator: str, name: str, array: np.ndarray[Any, Any]) -> int:
    """The smallest precision that holds every element of an array."""
    if array.size == 0:
        return 1
    most = max(abs(int(array.max())), abs(int(array.min())))
    precision = most.bit_length() + 1
    if precision > MAX_PRECISION:
        refuse(operator, name, str(-most), UNHELD)
    return precision


def any_array(operator: str, name: str, value: Any) -> np.ndarray[Any, Any]:
    """An array in host memory: numpy, DLPack, the array interface, or lists."""
    if isinstance(value, np.ndarray):
        array = value
    elif hasattr(value, "__dlpack__"):
        array = np.from_dlpack(value)
    elif hasattr(value, "__array_interface__") or isinstance(value, (list, tuple)):
        try:
            array = np.asarray(value)
        except ValueError:
            refuse(operator, name, type(value).__name__, "its rows differ in length")
    else:
        rule = "a numpy array, or an object with __dlpack__, is needed"
        refuse(operator, name, type(value).__name__, rule)
    return array


def as_array(operator: str, name: str, value: Any) -> np.ndarray[Any, Any]:
    """An int8 or int32 array in host memory: numpy, DLPack, the array interface, or lists."""
    array = any_array(operator, name, value)
    if isinstance(value, (list, tuple)) and array.dtype == np.int64:
        narrow = array.astype(np.int32)
        if (narrow == array).all():
            array = narrow
    if array.dtype not in (np.int8, np.int32) or not array.dtype.isnative:
        refuse(operator, name, f"dtype {array.dtype}", ELEMENT_TYPES)
    return array


def operand(operator: str, name: str, value: Any, precision: int | None) -> Operand | None:
    """An input of a call; None stands for one that is not given."""
    if value is None:
        return None
    array = as_array(operator, name, value)
    return Operand(operator, name, array.shape, precision, array)


def operands(operator: str, name: str, values: Any, precision: Any) -> list[Operand | None]:
    """The tensors of an input that takes several; one precision may stand for all."""
    if not isinstance(values, (list, tuple)):
        refuse(operator, name, type(values).__name__, "a list of arrays is needed")
    given = precision if isinstance(precision, (list, tuple)) else [precision] * len(values)
    if len(given) != len(values):
        refuse(operator, "precisions", f"{name}: {precision!r}", f"{len(values)} entries needed")
    return [
        operand(operator, f"{name}[{at}]", value, declared_precision)
        for at, (value, declared_precision) in enumerate(zip(values, given, strict=True))
    ]


def described(
    operator: str, name: str, shape: Sequence[int] | None, precision: int | None
) -> Operand | None:
    """An input of which only shape and precision are known."""
    return None if shape is None else Operand(operator, name, shape, precision, None)


def declared(operator: str, names: Sequence[str], given: Any) -> dict[str, Any]:
    """The `precisions` of a call, by input name: an integer, or a list for several tensors."""
    if given is None:
        return {}
    found: dict[str, Any] = {}
    for name, value in dict(given).items():
        if name not in names:
            rule = "none of its inputs has a precision"
            if names:
                rule = f"inputs are {', '.join(names)}"
            refuse(operator, "precisions", repr(name), rule)
        if value is None:
            continue
        entries = value if isinstance(value, (list, tuple)) else [value]
        for entry in entries:
            if not (entry is None and entries is value) and not is_integer(entry):
                refuse(operator, "precisions", f"{name}: {value!r}", "a precision is an integer")
        numbers = [None if entry is None else int(entry) for entry in entries]
        found[name] = numbers if entries is value else numbers[0]
    return found


# ---------------------------------------------------------------- checks of inputs


class Limits(NamedTuple):
    """The least rank and the least extent of a tensor, and how they are told."""

    rank: int
    extent: int
    rank_rule: str
    extent_rule: str


INPUT = Limits(1, 1, RANK_LIMIT, EXTENT_POSITIVE)
INPUT_OR_EMPTY = Limits(0, 0, RANK_LIMIT_OR_EMPTY, EXTENT_NEGATIVE)
OUTPUT = Limits(1, 1, RANK_LIMIT, OUTPUT_EXTENT)
OUTPUT_OR_EMPTY = Limits(1, 0, RANK_LIMIT, OUTPUT_NEGATIVE)


def check_input(operator: str, name: str, given: Operand | None, limits: Limits = INPUT) -> None:
    if given is None:
        refuse(operator, name, "", INPUT_MISSING)
    check_shape(operator, name, given.shape, limits)
    precision = given._precision
    if precision is not None and not 1 <= precision <= MAX_PRECISION:
        refuse(operator, name, f"precision {precision}", PRECISION_RANGE)


def check_shape(operator: str, name: str, shape: Sequence[int], limits: Limits) -> None:
    """The limits that a shape keeps; its strides keep that of the size too."""
    text = f"shape {shape_text(shape)}"
    if not limits.rank <= len(shape) <= MAX_RANK:
        refuse(operator, name, text, limits.rank_rule)
    if any(extent < limits.extent for extent in shape):
        refuse(operator, name, text, limits.extent_rule)
    if prod(max(extent, 1) for extent in shape) >= MAX_SIZE:
        refuse(operator, name, text, SIZE_LIMIT)


def check_rank(operator: str, name: str, shape: Sequence[int], rank: int, open_: bool) -> None:
    if len(shape) == rank or (open_ and len(shape) > rank):
        return
    rule = rank_rule(rank, "at least " if open_ else "")
    refuse(operator, name, f"shape {shape_text(shape)}", rule)


def check_same_shape(operator: str, name: str, shape: Sequence[int], wanted: Sequence[int]) -> None:
    if tuple(shape) != tuple(wanted):
        rule = f"the shape must be {shape_text(wanted)}"
        refuse(operator, name, f"shape {shape_text(shape)}", rule)


def check_part(
    operator: str, name: str, shape: Sequence[int], start: int, wanted: Sequence[int]
) -> None:
    if tuple(shape[start : start + len(wanted)]) != tuple(wanted):
        rule = f"the extents from {start} on must be {shape_text(wanted)}"
        refuse(operator, name, f"shape {shape_text(shape)}", rule)


def check_extent(
    operator: str, name: str, shape: Sequence[int], dimension: int, term: str, wanted: int
) -> None:
    if shape[dimension] != wanted:
        text = term if term == str(wanted) else f"{term} = {extent_text(wanted)}"
        rule = f"extent {dimension % len(shape)} must be {text}"
        refuse(operator, name, f"shape {shape_text(shape)}", rule)


def check_inputs(
    operator: str, name: str, given: Sequence[Operand | None], limits: Limits = INPUT
) -> None:
    """The tensors of an input that takes several."""
    if not given:
        refuse(operator, name, "", INPUTS_NEEDED)
    if len(given) > MAX_INPUTS:
        refuse(operator, name, str(len(given)), INPUTS_LIMIT)
    for at, each in enumerate(given):
        check_input(operator, f"{name}[{at}]", each, limits)


# ---------------------------------------------------------------- attributes


def is_integer(value: Any) -> bool:
    return isinstance(value, (int, np.integer)) and not isinstance(value, bool)


def integer(operator: str, name: str, value: Any, words: Sequence[str] = ()) -> int:
    """An integer attribute; `words` are what it could be given instead."""
    if not is_integer(value):
        refuse(operator, name, repr(value), needed("an integer", words))
    return in_64_bits(operator, name, int(value))


def in_64_bits(operator: str, name: str, value: int) -> int:
    """The value; one that the C interface cannot hold is refused everywhere."""
    if not LOWEST <= value <= HIGHEST:
        refuse(operator, name, str(value), BEYOND_INT64)
    return value


def boolean(operator: str, name: str, value: Any) -> bool:
    if isinstance(value, (bool, np.bool_)):
        return bool(value)
    if isinstance(value, (int, np.integer)) and value in (0, 1):
        return bool(value)
    refuse(operator, name, repr(value), "true or false is needed")


def word(operator: str, name: str, value: Any, words: Sequence[str]) -> str:
    """An attribute that is given one of its words."""
    if not isinstance(value, str) or value not in words:
        refuse(operator, name, repr(value), needed("", words))
    return str(value)


def integer_or_word(
    operator: str, name: str, value: Any, words: Sequence[str]
) -> tuple[int, str | None]:
    """An integer attribute, 0 where it is given a word; and the word."""
    if isinstance(value, str) and value in words:
        return 0, str(value)
    return integer(operator, name, value, words), None


def integers_or_word(
    operator: str, name: str, value: Any, length: int | None, words: Sequence[str]
) -> tuple[tuple[int, ...], str | None]:
    """A list attribute, with entries of 0 where it is given a word; and the word."""
    if isinstance(value, str) and value in words:
        return (0,) * (length or 0), str(value)
    return integers(operator, name, value, length, words), None


def integers(
    operator: str, name: str, value: Any, length: int | None, words: Sequence[str] = ()
) -> tuple[int, ...]:
    """A list attribute; of a fixed length unless `length` is None.

    One integer stands for every entry of a list of fixed length; `words` are what the attribute
    could be given instead.
    """
    rule = needed("a tuple of integers", words)
    if length is not None and is_integer(value):
        value = (value,) * length
    try:
        entries = tuple(value)
    except TypeError:
        refuse(operator, name, repr(value), rule)
    if isinstance(value, bytes) or not all(map(is_integer, entries)):
        refuse(operator, name, repr(value), rule)
    result = tuple(in_64_bits(operator, name, int(entry)) for entry in entries)
    if length is not None and len(result) != length:
        refuse(operator, name, shape_text(result), f"{length} entries needed")
    if length is None and len(result) > MAX_RANK:
        refuse(operator, name, f"{len(result)} entries", LIST_LIMIT)
    return result


def check_range(
    operator: str, name: str, value: Any, low: int, high: int, shown: str, named: str = ""
) -> None:
    """Every entry (or the value itself) in low <= entry < high."""
    entries = value if isinstance(value, tuple) else (value,)
    if all(low <= entry < high for entry in entries):
        return
    text = shape_text(value) if isinstance(value, tuple) else str(value)
    refuse(operator, name, text, with_terms(f"must be in {shown}", named))


# ---------------------------------------------------------------- lists and sets


def ascending(entries: Iterable[int]) -> tuple[int, ...]:
    """A set: each entry once, in ascending order."""
    return tuple(sorted(set(entries)))


def difference(one: Sequence[int], other: Sequence[int]) -> tuple[int, ...]:
    return tuple(entry for entry in one if entry not in other)


def union(one: Sequence[int], other: Sequence[int]) -> tuple[int, ...]:
    return ascending((*one, *other))


def size(extents: Sequence[int]) -> int:
    return prod(extents)


def strides(extents: Sequence[int]) -> list[int]:
    """Row-major strides, in elements."""
    found = [1] * len(extents)
    for at in range(len(extents) - 2, -1, -1):
        found[at] = found[at + 1] * extents[at + 1]
    return found


def indices(extents: Sequence[int]) -> Iterator[tuple[int, ...]]:
    """Every multi-index of a box, the last dimension fastest."""
    return _product(*map(range, extents))


def placed(
    slots: Sequence[int], extents: Sequence[int], around: Sequence[int] = ()
) -> Iterator[list[int]]:
    """Every multi-index of a box, its entries at these places of a pack; `around` has others."""
    for index in indices(extents):
        pack = [*around, *[0] * (MAX_RANK - len(around))]
        for slot, entry in zip(slots, index, strict=True):
            pack[slot] = entry
        yield pack


def dot(steps: Sequence[int], index: Sequence[int]) -> int:
    return sum(step * entry for step, entry in zip(steps, index, strict=False))


def flatten_index(index: Sequence[int], extents: Sequence[int]) -> int:
    position = 0
    for entry, extent in zip(index, extents, strict=True):
        position = position * extent + entry
    return position


def unflatten(position: int, extents: Sequence[int]) -> tuple[int, ...]:
    index = []
    for extent in reversed(extents):
        position, entry = divmod(position, extent)
        index.append(entry)
    return tuple(reversed(index))


def among(value: int, values: list[int], start: int, count: int) -> bool:
    """Whether a value is among the `count` ascending ones from `start` on."""
    at = bisect_left(values, value, start, start + count)
    return at < start + count and values[at] == value


def sort(values: list[int], start: int, count: int, keys: list[int], width: int) -> None:
    """Put values[start : start + count] in ascending order of their keys; equal keys keep theirs.

    The key of values[r] is the row keys[r * width : (r + 1) * width], as it stands at the call.
    """
    rows = range(start, start + count)
    if width == 1:
        order = sorted(rows, key=keys.__getitem__)
    else:
        order = sorted(rows, key=lambda row: keys[row * width : (row + 1) * width])
    values[start : start + count] = [values[row] for row in order]


# ---------------------------------------------------------------- scalars


def truncdiv(left: int, right: int) -> int:
    """Quotient toward zero."""
    quotient = abs(left) // abs(right)
    return quotient if (left < 0) == (right < 0) else -quotient


def floordiv(value: int, divisor: int) -> int:
    """The quotient rounded down; by 0, of which no element comes, 0."""
    return value // divisor if divisor else 0


def mod(value: int, divisor: int) -> int:
    """What a quotient rounded down leaves."""
    return value % divisor if divisor else 0


def ceildiv(left: int, right: int) -> int:
    return -(-left // right)


def floor_log2(value: int) -> int:
    return value.bit_length() - 1


def ceil_log2(value: int) -> int:
    return (value - 1).bit_length()


# ---------------------------------------------------------------- results


def check_output_shape(
    operator: str, name: str, shape: Sequence[int], limits: Limits = OUTPUT
) -> None:
    """The shape that an output would have."""
    if len(shape) > MAX_RANK:
        refuse(operator, name, f"rank {len(shape)}", RANK_LIMIT)
    check_shape(operator, name, shape, limits)


def precision_text(precision: int, far: int) -> str:
    """A precision; of one from `far` on it is not counted how far."""
    if precision >= far:
        return f"{far} or more"
    return f"below -{far}" if precision < -far else str(precision)


def check_output(
    operator: str,
    name: str,
    shape: Sequence[int],
    precision: int,
    rule: str,
    shown: str,
    limits: Limits = OUTPUT,
    far: int = MOST_NAMED,
) -> None:
    """The shape and precision that an output would have."""
    check_output_shape(operator, name, shape, limits)
    if not 1 <= precision <= MAX_PRECISION:
        text = with_terms(f"precision {precision_text(precision, far)}", shown)
        refuse(operator, name, text, f"its precision {rule} must be in [1, {MAX_PRECISION}]")


def moved_dtype(arrays: Iterable[Any]) -> np.dtype[Any]:
    """The element type of a result that consists of elements of these arrays."""
    found = [array.dtype for array in arrays if array is not None]
    return INT8 if found and all(dtype == INT8 for dtype in found) else INT32


def result_dtype(
    operator: str, name: str, dtype: Any, precision: int, default: Any
) -> np.dtype[Any]:
    """The element type of an output: the one asked for, if it holds the precision."""
    try:
        wanted = np.dtype(default if dtype is None else dtype)
    except TypeError:
        refuse(operator, "dtype", repr(dtype), ELEMENT_TYPES)
    if wanted not in (np.int8, np.int32):
        refuse(operator, "dtype" if dtype is not None else name, str(wanted), ELEMENT_TYPES)
    if wanted == np.int8 and precision > 8:
        refuse(operator, name, "int8", f"int8 does not hold precision {precision}")
    result: np.dtype[Any] = wanted
    return result


def stored(values: list[int], shape: Sequence[int], dtype: np.dtype[Any]) -> np.ndarray[Any, Any]:
    """Exact values as an array; those beyond the type wrap in two's complement."""
    try:
        exact = np.array(values, dtype=np.int64)
    except OverflowError:
        exact = np.array([(value + (1 << 63)) % (1 << 64) - (1 << 63) for value in values])
    return exact.astype(dtype).reshape(tuple(shape))


def check_out(
    operator: str,
    name: str,
    out: Any,
    shape: Sequence[int],
    precision: int,
    inputs: Iterable[tuple[str, Any]],
) -> None:
    """An output array of the caller: writable, of the right shape and type, apart from inputs."""
    check_out_array(operator, name, out, shape)
    if out.dtype not in (np.int8, np.int32):
        refuse(operator, name, f"dtype {out.dtype}", ELEMENT_TYPES)
    if out.dtype == np.int8 and precision > 8:
        refuse(operator, name, "int8", f"int8 does not hold precision {precision}")
    check_out_memory(operator, name, out, inputs)


def check_out_array(operator: str, name: str, out: Any, shape: Sequence[int]) -> None:
    if not isinstance(out, np.ndarray):
        refuse(operator, name, type(out).__name__, "a numpy array is needed")
    check_same_shape(operator, name, out.shape, shape)


def check_out_memory(operator: str, name: str, out: Any, inputs: Iterable[tuple[str, Any]]) -> None:
    if not out.flags.writeable:
        refuse(operator, name, "", "it is read-only")
    for other, array in inputs:
        if array is not None and np.may_share_memory(out, array):
            refuse(operator, name, "", f"it shares memory with {other}")
