"""What generated Python operators call: checks of a call's arguments and of its results.

The limits and the wording of refusals are those of `rules`, what loops compute with is in `lists`:
operators call all of it under the name of this file, of which the python target carries a copy
beside them.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import prod
from typing import Any

import numpy as np

from ._attributes import (  # noqa: F401
    boolean,
    check_range,
    integer,
    integer_or_word,
    integers,
    integers_or_word,
    is_integer,
    real,
    reals,
    word,
)
from ._lists import (  # noqa: F401
    among,
    ascending,
    ceil_log2,
    ceildiv,
    difference,
    dot,
    flatten_index,
    floor_log2,
    floordiv,
    indices,
    isqrt,
    mod,
    placed,
    size,
    sort,
    strides,
    truncdiv,
    unflatten,
    union,
)
from ._rules import (  # noqa: F401
    ABOVE_ALL,
    ATTRIBUTE_MISSING,
    BELOW_ALL,
    BEYOND_INT64,
    ELEMENT_TYPES,
    FAR_PRECISION,
    HIGHEST,
    INPUT,
    INPUT_MISSING,
    INPUT_OR_EMPTY,
    INPUTS_LIMIT,
    INPUTS_NEEDED,
    LIST_LIMIT,
    LOWEST,
    MAX_INPUTS,
    MAX_PRECISION,
    MAX_RANK,
    MAX_SIZE,
    MOST_NAMED,
    NO_CASE,
    NO_MEMORY,
    NO_PRECISION,
    OUTPUT,
    OUTPUT_OR_EMPTY,
    PRECISION_RANGE,
    SIZE_LIMIT,
    UNHELD,
    Limits,
    OperatorError,
    demand_rule,
    extent_rule,
    extent_text,
    needed,
    outside_rule,
    part_rule,
    precision_rule,
    precision_text,
    raise_as,
    range_rule,
    rank_rule,
    real_text,
    reals_text,
    refuse,
    shape_rule,
    shape_text,
    terms,
    with_terms,
)

INT8: np.dtype[Any] = np.dtype(np.int8)
INT32: np.dtype[Any] = np.dtype(np.int32)


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
        try:
            array = np.from_dlpack(value)
        except (BufferError, RuntimeError) as error:  # another device, or elements such as bfloat16
            refuse(operator, name, type(value).__name__, f"numpy does not take it: {error}")
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
        refuse(operator, name, f"shape {shape_text(shape)}", shape_rule(shape_text(wanted)))


def check_part(
    operator: str, name: str, shape: Sequence[int], start: int, wanted: Sequence[int]
) -> None:
    if tuple(shape[start : start + len(wanted)]) != tuple(wanted):
        rule = part_rule(start, shape_text(wanted))
        refuse(operator, name, f"shape {shape_text(shape)}", rule)


def check_extent(
    operator: str, name: str, shape: Sequence[int], dimension: int, term: str, wanted: int
) -> None:
    if shape[dimension] != wanted:
        text = term if term == str(wanted) else f"{term} = {extent_text(wanted)}"
        rule = extent_rule(dimension % len(shape), text)
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


# ---------------------------------------------------------------- results


def refuse_outside(
    operator: str, name: str, found: Iterable[int], shape: Sequence[int] | None
) -> None:
    """Refuse a call in which the least of these elements reads outside, if there is one."""
    position = int(min(found))
    if position < MAX_SIZE:
        index = None if shape is None else unflatten(position, shape)
        refuse(operator, name, "", outside_rule(index))


def refuse_demand(
    operator: str, name: str, found: Iterable[int], shape: Sequence[int] | None, rule: str
) -> None:
    """Refuse a call in which a rule does not hold of elements, by the least position found."""
    position = int(min(found))
    if position < MAX_SIZE:
        index = None if shape is None else unflatten(position, shape)
        refuse(operator, name, "", demand_rule(rule, index))


def memory(operator: str, name: str, count: int, dtype: Any = None) -> Any:
    """What a call keeps for itself under a name: a list of so many zeros, or an array of them."""
    try:
        if count < MAX_SIZE:
            return [0] * count if dtype is None else np.zeros(count, dtype)
    except MemoryError:
        pass
    refuse(operator, name, f"{extent_text(count)} elements", NO_MEMORY)


def check_output_shape(
    operator: str, name: str, shape: Sequence[int], limits: Limits = OUTPUT
) -> None:
    """The shape that an output would have."""
    if len(shape) > MAX_RANK:
        refuse(operator, name, f"rank {len(shape)}", limits.rank_rule)
    check_shape(operator, name, shape, limits)


def check_precision(
    operator: str, name: str, precision: int, rule: str, shown: str, far: int = MOST_NAMED
) -> None:
    """The precision that an output would have."""
    if not 1 <= precision <= MAX_PRECISION:
        text = with_terms(f"precision {precision_text(precision, far)}", shown)
        refuse(operator, name, text, precision_rule(rule))


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
