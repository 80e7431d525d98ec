"""Operands with a storage type of their own, for generated Python operators: the choice of types
that a call makes, and results in their type.

The python target carries a copy of this file beside its operators.
"""

from __future__ import annotations

import importlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ._lists import unflatten
from ._rules import MOST_SHOWN, refuse, shape_text
from ._support import Operand, any_array, check_out_array, check_out_memory

# The least magnitudes that round to no finite number.
FLOAT32_END = (2.0 - 2.0**-24) * 2.0**127
FLOAT16_END = (2.0 - 2.0**-11) * 2.0**15
BFLOAT16_END = (2.0 - 2.0**-8) * 2.0**127
# The narrower ones first.
INTEGERS = ("int4", "uint4", "int8", "uint8", "int16", "uint16", "int32", "int64")
INFINITY = float("inf")
# What is finite in each type of real numbers is below the end; so many bits of integers are exact.
REALS = {
    "float16": (FLOAT16_END, 11),
    "bfloat16": (BFLOAT16_END, 8),
    "float32": (FLOAT32_END, 24),
    "float64": (INFINITY, 53),
}
# Types that numpy does not have; `ml_dtypes` brings them, and arrays of JAX and ONNX have these.
OF_ML_DTYPES = ("bfloat16", "int4", "uint4")
OF_FOUR_BITS = {"int4": (-8, 7), "uint4": (0, 15)}
NAN = float("nan")

NO_WORDS: Mapping[str, Any] = {}
# Rows of storage types by operand, and by attribute that decides one: the choices of types that an
# operator is made for.
Row = Mapping[str, str]


def typed_operands(
    operator: str,
    rows: Sequence[Row],
    given: Mapping[str, Any],
    several: Sequence[str] = (),
    words: Mapping[str, Any] = NO_WORDS,
) -> tuple[Row, dict[str, Any]]:
    """The row for the types of these inputs, and the inputs as arrays.

    `words` are attributes that decide types.

    Those named in `several` take a list of tensors, which have one type. Nested lists and
    numbers have no type of their own: they get one that holds them, in the first row that fits.
    """
    names: list[str] = []
    arrays: list[Any] = []
    for name, value in given.items():
        entries = [value]
        if name in several:
            if not isinstance(value, (list, tuple)):
                refuse(operator, name, type(value).__name__, "a list of arrays is needed")
            entries = list(value)
        for at, entry in enumerate(entries):
            shown = f"{name}[{at}]" if name in several else name
            names.append(shown)
            if entry is None and name not in several:
                arrays.append(None)
            elif isinstance(entry, (list, tuple, int, float)):
                arrays.append(listed(operator, shown, entry))
            else:
                arrays.append(any_array(operator, shown, entry))
    row = chosen_row(operator, rows, names, arrays, words)
    found = {
        name: array.array.astype(type_for(operator, name, row[column(name)]))
        if isinstance(array, Listed)
        else array
        for name, array in zip(names, arrays, strict=True)
    }
    return row, {
        name: [found[each] for each in names if column(each) == name]
        if name in several
        else found[name]
        for name in given
    }


@dataclass(frozen=True, slots=True)
class Listed:
    """Numbers that were given without a type, and the types that hold them."""

    array: Any
    kinds: Sequence[str]


def listed(operator: str, name: str, value: Any) -> Listed:
    """Nested lists of numbers, or one number; an integer that no type holds is refused."""
    alone = isinstance(value, (int, float))
    array = any_array(operator, name, [value] if alone else value)
    array = array.reshape(()) if alone else array
    if array.dtype.kind in "uO":
        for each in array.ravel().tolist():
            if isinstance(each, int) and not -(1 << 63) <= each < 1 << 63:
                refuse(operator, name, str(each), "no element type holds this integer")
    return Listed(array, holding(array))


def column(name: str) -> str:
    """The input that a tensor belongs to: X for X[1]."""
    return name.split("[", 1)[0]


def chosen_row(
    operator: str,
    rows: Sequence[Row],
    names: Sequence[str],
    arrays: Sequence[Any],
    words: Mapping[str, Any] = NO_WORDS,
) -> Row:
    """The first row that has the types of the arrays and the words, and holds the numbers of the
    lists. What is no type of a row is no word of its attribute, whose check refuses it."""
    kinds = {at: array.kinds for at, array in enumerate(arrays) if isinstance(array, Listed)}
    fitting = [
        number
        for number, row in enumerate(rows)
        if all(row[column(names[at])] in held for at, held in kinds.items())
    ]
    telling: dict[str, int] = {}  # of several tensors the first that has a type of its own
    for at, name in enumerate(names):
        known = telling.setdefault(column(name), at)
        if known in kinds and at not in kinds:
            telling[column(name)] = at
    dtypes: list[str | None] = []
    for at in telling.values():
        if at in kinds:
            held = kinds[at] or [str(arrays[at].array.dtype)]
            admitted = {row[column(names[at])] for row in rows}
            near = [each for each in held if each in admitted]
            near += [each for each in held if each not in OF_ML_DTYPES]
            dtypes.append(None if fitting else near[0])
        else:
            dtypes.append(None if arrays[at] is None else str(arrays[at].dtype))
    columns = [[row[name] for name in (*telling, *words)] for row in rows]
    shown = [*(names[at] for at in telling.values()), *words]
    dtypes += decided_types(rows, words)
    row = rows[row_of(operator, shown, dtypes, columns, fitting)]
    for name, array in zip(names, arrays, strict=True):
        wanted = row[column(name)]
        known = array is not None and not isinstance(array, Listed)
        if known and str(array.dtype) != wanted:
            rule = f"must be {wanted}, as {names[telling[column(name)]]}"
            refuse(operator, name, f"dtype {array.dtype}", rule)
    return row


def decided_types(rows: Sequence[Row], words: Mapping[str, Any]) -> list[str | None]:
    """The types that attributes name; None for one that is in no row."""
    known = {name: {row[name] for row in rows} for name in words}
    return [
        word if isinstance(word, str) and word in known[name] else None
        for name, word in words.items()
    ]


def row_of(
    operator: str,
    names: Sequence[str],
    dtypes: Sequence[str | None],
    rows: Sequence[Sequence[str]],
    among: Sequence[int] = (),
) -> int:
    """The first row that has these types; the first operand that no row admits is refused.

    None stands for an operand whose type is not known; the entries of a row follow `names`.
    `among` are the rows to choose from, where these are not all.
    """
    left = list(among) or list(range(len(rows)))
    for at, (name, dtype) in enumerate(zip(names, dtypes, strict=True)):
        if dtype is None:
            continue
        admitted = [number for number in left if rows[number][at] == dtype]
        if not admitted:
            refuse(operator, name, f"dtype {dtype}", types_rule(names, rows, left, at))
        left = admitted
    return left[0]


def types_rule(
    names: Sequence[str], rows: Sequence[Sequence[str]], left: Sequence[int], at: int
) -> str:
    """What the type of an operand may be, beside those of the operands before it."""
    allowed = list(dict.fromkeys(rows[number][at] for number in left))
    text = f"must be {allowed[0]}"
    if len(allowed) > 1:
        text = f"must be one of {', '.join(allowed)}"
    if len(left) < len(rows):
        text = f"{text}: the types of ({', '.join(names)}) are {table_text(rows)}"
    return text


def table_text(rows: Sequence[Sequence[str]]) -> str:
    """Rows of types, each once, the last ones left out of a long text."""
    text = ""
    for row in dict.fromkeys(map(tuple, rows)):
        if len(text) > MOST_SHOWN:
            return f"{text}, ..."
        text += f"{', ' * bool(text)}({', '.join(row)})"
    return text


def holding(array: np.ndarray[Any, Any]) -> list[str]:
    """The types that hold every number of nested lists; where there is none, all."""
    if array.size == 0:
        return ["bool", *INTEGERS, *REALS]
    if array.dtype == np.bool_:
        return ["bool"]
    if array.dtype == np.float64:
        most = np.abs(array[np.isfinite(array)]).max(initial=0.0)
        return [name for name, (end, _) in REALS.items() if most < end]
    if array.dtype != np.int64:
        return []
    found = []
    for name in INTEGERS:
        low, high = ends_of(name)
        if array.min() >= low and array.max() <= high:
            found.append(name)
    for name, (_, bits) in REALS.items():
        if -(1 << bits) <= array.min() and array.max() <= 1 << bits:
            found.append(name)
    return found


def typed_operand(operator: str, name: str, array: Any) -> Any:
    """An input with a storage type of its own; a list of them for one that takes several."""
    if isinstance(array, list):
        return [typed_operand(operator, f"{name}[{at}]", each) for at, each in enumerate(array)]
    return None if array is None else Operand(operator, name, array.shape, None, plain(array))


def plain(array: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """The elements in a type of numpy's own, which holds them all."""
    match array.dtype.name:
        case "bfloat16":
            return array.astype(np.float32)
        case "int4":  # ml_dtypes writes -8 to -1 as 8 to 15, others with the sign in front
            found = array.view(np.int8)
            return np.where((found > 7) & (found < 16), found - np.int8(16), found)
        case "uint4":
            return array.view(np.uint8)
        case _:
            return array


def kind_of(dtype: np.dtype[Any]) -> str:
    """What elements are, in numpy's letters: f, i, u or b."""
    letters = {"bfloat16": "f", "int4": "i", "uint4": "u"}
    return letters.get(dtype.name, dtype.kind)


def in_memory(dtype: np.dtype[Any]) -> np.dtype[Any]:
    """The type of numpy's own as which integers of a type are written: of four bits as a byte."""
    return {"int4": np.dtype(np.int8), "uint4": np.dtype(np.uint8)}.get(dtype.name, dtype)


def ends_of(dtype: str) -> tuple[int, int]:
    """The least and the greatest integer of an element type."""
    if dtype in OF_FOUR_BITS:
        return OF_FOUR_BITS[dtype]
    found = np.iinfo(dtype)
    return int(found.min), int(found.max)


def element_type(name: str) -> np.dtype[Any]:
    """The element type of this name; ImportError where `ml_dtypes` is needed and missing."""
    if name not in OF_ML_DTYPES:
        return np.dtype(name)
    found: np.dtype[Any] = np.dtype(getattr(importlib.import_module("ml_dtypes"), name))
    return found


def type_for(operator: str, name: str, wanted: str) -> np.dtype[Any]:
    try:
        return element_type(wanted)
    except ImportError:
        refuse(operator, name, f"dtype {wanted}", "the package ml_dtypes is needed")


def least(dtype: str) -> int | float:
    """The least value of an element type."""
    return -INFINITY if dtype in REALS else ends_of(dtype)[0]


def greatest(dtype: str) -> int | float:
    """The greatest value of an element type."""
    return INFINITY if dtype in REALS else ends_of(dtype)[1]


def typed_result(operator: str, name: str, dtype: Any, wanted: str) -> np.dtype[Any]:
    """The element type of an output, which the types of the inputs decide."""
    result = type_for(operator, name, wanted)
    if dtype is None:
        return result
    rule = f"{name} is {wanted} here, as the inputs decide"
    try:
        given = np.dtype(dtype)
    except TypeError:
        refuse(operator, "dtype", repr(dtype), rule)
    if given != result:
        refuse(operator, "dtype", str(given), rule)
    return result


def stored_as(
    operator: str, name: str, values: list[Any], shape: Sequence[int], dtype: np.dtype[Any]
) -> np.ndarray[Any, Any]:
    """Exact values as an array; the first one that an integer type does not hold is refused.

    A real number is rounded to nearest even; NaN has one form, the quiet one without a sign.
    """
    if kind_of(dtype) in "iu":
        low, high = ends_of(dtype.name)
        for position, value in enumerate(values):
            if not low <= value <= high:
                refuse(operator, name, "", overflow_rule(unflatten(position, shape), str(dtype)))
        return np.array(values, dtype=in_memory(dtype)).view(dtype).reshape(tuple(shape))
    if dtype.kind == "b":
        return np.array(values, dtype=np.bool_).reshape(tuple(shape))
    found = np.empty(tuple(shape), dtype)
    store_reals(found, np.array(values, dtype=np.float64).reshape(tuple(shape)))
    return found


def store_reals(found: np.ndarray[Any, Any], values: np.ndarray[Any, Any]) -> None:
    """Real numbers as elements, rounded once, to nearest even; NaN in its one form."""
    with np.errstate(all="ignore"):
        nowhere = np.isnan(values)
        if found.dtype.name == "bfloat16":  # whose package rounds to float32 first
            step = np.maximum(np.frexp(values)[1] - 8, -133)  # of neighbours
            values = np.ldexp(np.rint(np.ldexp(values, -step)), step).astype(np.float32)
        found[...] = values
    found[nowhere] = np.nan


def check_typed_out(
    operator: str,
    name: str,
    out: Any,
    shape: Sequence[int],
    dtype: str,
    inputs: Iterable[tuple[str, Any]],
) -> None:
    """An output array of the caller: writable, of the right shape and type, apart from inputs."""
    check_out_array(operator, name, out, shape)
    if out.dtype != type_for(operator, name, dtype):
        refuse(operator, name, f"dtype {out.dtype}", f"must be {dtype}")
    check_out_memory(operator, name, out, inputs)


def overflow_rule(index: Sequence[int], dtype: str) -> str:
    return f"element {shape_text(index)} does not fit {dtype}"
