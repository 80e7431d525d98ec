"""What generated numpy operators compute with: arithmetic and reductions, exact in any order.

Integers are int32 or int64 where every value fits, else Python's own. Real numbers are binary64
and keep the order of their sums and products. What numpy leaves open is settled here: the maximum
of -0 and +0 is +0, NaN is stored in one form.

Sums of products, the `dot` of operators, are those of `matrices`.

The numpy target carries a copy of this file beside its operators.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from math import prod
from typing import Any

import numpy as np

from cvmgen import reals
from cvmgen.arrays import conditions, peak, wrapped
from cvmgen.indices import Array, Index, axis_counts
from cvmgen.lists import unflatten
from cvmgen.matrices import MOST_EXACT
from cvmgen.matrices import dot as dot
from cvmgen.quick_reals import erf as erf
from cvmgen.quick_reals import exp as exp
from cvmgen.quick_reals import log as log
from cvmgen.quick_reals import sigmoid as sigmoid
from cvmgen.quick_reals import tanh as tanh
from cvmgen.rules import refuse
from cvmgen.typed import ends_of, in_memory, kind_of, overflow_rule, store_reals

MOST_ROOT = math.isqrt(reals.INT64_HIGH)
SMALL = 1 << 12  # elements below which one call counts more than their time

# ---------------------------------------------------------------- scalars, element by element


def values(value: Any, integer: Any) -> Array:
    """An index or a number as what to compute with: integers in the type of the elements."""
    array = as_array(value)
    return array.astype(integer) if array.dtype.kind in "iu" else array


def unflattened(position: Any, extents: Sequence[int]) -> tuple[Any, ...]:
    """The multi-indices at row-major positions; in an empty box there are none, and any will do."""
    index: list[Any] = []
    for extent in reversed(extents):
        index.append(position % max(extent, 1))
        position = position // max(extent, 1)
    return tuple(reversed(index))


def as_array(value: Any) -> Array:
    """An array; of Python's integers where a number is beyond int64."""
    return np.asarray(as_operand(value))


def as_operand(value: Any) -> Any:
    """A value as functions of numpy take it: they want a number beyond int64 in an array."""
    beyond = isinstance(value, int) and not reals.INT64_LOW <= value <= reals.INT64_HIGH
    return np.asarray(value, object) if beyond else value


def where(condition: Any, then: Any, otherwise: Any) -> Any:
    """One of two values: numbers of one type by the bits of a mask, which unlike np.where takes the
    same time whatever the condition."""
    condition, then, otherwise = np.asarray(condition), as_array(then), as_array(otherwise)
    kind = common(then, otherwise)
    small = condition.size < SMALL or kind.kind not in "ifb"
    if small or condition.shape != np.broadcast_shapes(
        condition.shape, then.shape, otherwise.shape
    ):
        return np.where(condition, then.astype(kind), otherwise.astype(kind))
    bits = np.dtype(f"i{kind.itemsize}")
    then, otherwise = (each.astype(kind, copy=False).view(bits) for each in (then, otherwise))
    mask = condition.astype(bits)
    np.negative(mask, out=mask)
    mask &= then ^ otherwise
    mask ^= otherwise
    return mask.view(kind)


def common(one: Array, other: Array) -> np.dtype[Any]:
    """The type of two values; one integer by itself has that of the elements beside it."""
    kind: np.dtype[Any] = np.result_type(one, other)
    if kind.kind == "i" and (one.ndim == 0) != (other.ndim == 0):
        kind = one.dtype if one.ndim else other.dtype
    return kind


def choose(condition: Any, then: Any, otherwise: Any, integer: Any) -> Any:
    """One of two values, in the type of the elements."""
    found = where(condition, then, otherwise)
    return found.astype(integer) if found.dtype.kind in "iu" else found


def is_real(*operands: Any) -> bool:
    return any(np.asarray(each).dtype.kind == "f" for each in operands)


def maximum(*operands: Any) -> Any:
    """The greatest; NaN where one is NaN, and +0 above -0."""
    if all(isinstance(each, int) for each in operands):
        return max(operands)
    result, *rest = map(as_operand, operands)
    for each in rest:
        larger = np.maximum(result, each)
        if is_real(larger):
            larger = where((result == 0) & (each == 0), np.add(result, each), larger)
        result = larger
    return result


def minimum(*operands: Any) -> Any:
    """The least; NaN where one is NaN, and -0 below +0."""
    if all(isinstance(each, int) for each in operands):
        return min(operands)
    result, *rest = map(as_operand, operands)
    for each in rest:
        less = np.minimum(result, each)
        if is_real(less):
            sum_of_zeros = np.negative(np.add(np.negative(result), np.negative(each)))
            less = where((result == 0) & (each == 0), sum_of_zeros, less)
        result = less
    return result


def divisor(value: Any) -> Any:
    """A divisor without 0, for a quotient that is only used where the divisor is not 0."""
    return as_operand(value) + (value == 0)


def quotient_type(left: Any, right: Any) -> Any:
    """binary64 where it gives quotients before rounding down or toward zero their exact place
    between integers: of integers below 2^52, which are apart by more than a rounding."""
    if np.size(left) < SMALL or object in (np.asarray(left).dtype, np.asarray(right).dtype):
        return None
    return np.float64 if max(peak(left), peak(right)) < MOST_EXACT[np.float64] >> 1 else None


def floordiv(left: Any, right: Any) -> Any:
    """Quotient rounded down."""
    left, right = as_operand(left), divisor(right)
    if quotient_type(left, right):
        return np.floor(np.true_divide(left, right)).astype(np.int64)
    return left // right


def mod(left: Any, right: Any) -> Any:
    return as_operand(left) % divisor(right)


def ceildiv(left: Any, right: Any) -> Any:
    """Quotient rounded up, without a negated operand: the least integer has none."""
    return floordiv(left, right) + (mod(left, right) != 0)


def truncdiv(left: Any, right: Any) -> Any:
    """Quotient toward zero."""
    left, right = as_operand(left), divisor(right)
    if quotient_type(left, right):
        return np.trunc(np.true_divide(left, right)).astype(np.int64)
    quotient = left // right
    return quotient + ((quotient < 0) & (quotient * right != left))


def power_of_two(exponent: Any, integer: Any) -> Any:
    """2^exponent; where the formula has no value, any number."""
    shift = minimum(maximum(exponent, 0), 200 if integer is object else 63)
    return np.asarray(1).astype(integer) << np.asarray(shift).astype(integer)


def power(base: Any, exponent: Any) -> Any:
    """A power of integers, or of real numbers, element by element."""
    if not is_real(base, exponent):
        return as_operand(base) ** maximum(exponent, 0)
    base, exponent = np.broadcast_arrays(
        np.asarray(base, np.float64), np.asarray(exponent, np.float64)
    )
    if (exponent == 2).all():
        return base * base
    pairs = zip(base.reshape(-1).tolist(), exponent.reshape(-1).tolist(), strict=True)
    return np.array([reals.power(*pair) for pair in pairs], np.float64).reshape(base.shape)


def fma(a: Any, b: Any, c: Any) -> Any:
    """a * b + c, of which only the whole is rounded."""
    found = np.frompyfunc(reals.fma, 3, 1)(as_array(a), as_array(b), as_array(c))
    return np.asarray(found, np.float64)


def floor_log2(value: Any) -> Any:
    """How often a positive integer can be halved."""
    return bit_length(maximum(value, 1)) - 1


def ceil_log2(value: Any) -> Any:
    return bit_length(maximum(value, 1) - 1)


def bit_length(value: Any, out: Any = None, casting: Any = "unsafe") -> Any:
    """How many bits the magnitudes of integers take."""
    value = as_array(value)
    if value.dtype == object:
        return np.frompyfunc(int.bit_length, 1, 1)(value)
    number = np.array(value, np.float64)
    np.abs(number, out=number)
    exponent = number.view(np.int64)  # above 52 bits that are cut off; there is no sign
    exponent >>= 52
    length = np.subtract(exponent, 1022, out=exponent if out is None else out, casting=casting)
    np.maximum(length, 0, out=length)
    if value.itemsize > 4 and peak(value) >= MOST_EXACT[np.float64]:
        # The number may have been rounded up to a power of two.
        least = np.left_shift(np.uint64(1), np.maximum(length - 1, 0).astype(np.uint64))
        length -= least > np.maximum(np.abs(value).view(np.uint64), 1)
    return length


def isqrt(value: Any) -> Any:
    """The square root rounded down; where the formula has no value, 0."""
    value = as_array(maximum(value, 0))
    if value.dtype == object:
        return np.frompyfunc(math.isqrt, 1, 1)(value)
    root = np.sqrt(value).astype(np.int64)
    if value.itemsize > 4 and peak(value) >= MOST_EXACT[np.float64] >> 1:
        # The number may have been rounded: the root is one too large, or one too small.
        np.minimum(root, MOST_ROOT, out=root)
        root -= root * root > value
        root += value - root * root > 2 * root
    return root


def round_away(value: Any) -> Any:
    """The nearest integer, of two the one farther from 0: what is added to it is less than a half,
    so that nothing below a half becomes 1, and a half does as the sum is rounded."""
    return np.trunc(value + np.copysign(0.49999999999999994, value))


def over(left: Any, right: Any) -> Any:
    return np.true_divide(np.asarray(left, np.float64), np.asarray(right, np.float64))


def real(value: Any) -> Any:
    """The nearest number of 64 bits."""
    return np.asarray(value).astype(np.float64)


def to_float32(value: Any) -> Any:
    """Rounded to 32 bits."""
    return np.asarray(value).astype(np.float32).astype(np.float64)


def to_int(value: Any, integer: Any) -> Any:
    """Toward zero; 0 of NaN, and the nearest end of int64 beyond it."""
    value = np.asarray(value)
    if value.dtype.kind != "f":
        return value.astype(integer)
    inside = (value > -(2.0**63)) & (value < 2.0**63)
    whole = np.where(inside, value, 0.0).astype(np.int64)
    low, high = np.int64(reals.INT64_LOW), np.int64(reals.INT64_HIGH)
    ends = np.where(value >= 2.0**63, high, np.where(value <= -(2.0**63), low, whole))
    return ends.astype(integer)


def order(value: Any) -> Any:
    """Integers that are the greater, the greater the numbers are: -0 below +0, NaN above all."""
    bits = np.asarray(value, np.float64).view(np.int64)
    found = np.where(bits >= 0, bits, bits ^ np.int64(reals.INT64_HIGH))
    return np.where(np.not_equal(value, value), np.int64(reals.INT64_HIGH), found)


def isnan(value: Any) -> Any:
    return np.not_equal(value, value)


def among(value: Any, collection: Sequence[int]) -> Any:
    """Whether integers are in a list of the call."""
    return np.isin(as_array(value), np.asarray(collection, np.int64))


# ---------------------------------------------------------------- reductions over axes


def spread(array: Array, over: Sequence[Any]) -> tuple[Array, tuple[int, ...]]:
    """An array with all values along the axes of reduced indices, and the axes as numpy's."""
    counts = axis_counts(over)
    rank = max(array.ndim, *(axis + 1 for axis in counts)) if counts else array.ndim
    shape = [1] * (rank - array.ndim) + list(array.shape)
    for axis, count in counts.items():
        shape[rank - 1 - axis] = count
    return np.broadcast_to(array, shape), tuple(rank - 1 - axis for axis in counts)


def masked(term: Any, only: Any, neutral: Any) -> Array:
    """The term where a condition holds, else what changes nothing."""
    array = as_array(term)
    return array if only is None else where(only, array, np.asarray(neutral, array.dtype))


def lowest(term: Any) -> Any:
    """What is below all elements of the term's type."""
    return ends(term)[0]


def highest(term: Any) -> Any:
    return ends(term)[1]


def ends(term: Any) -> tuple[Any, Any]:
    dtype = as_array(term).dtype
    if dtype.kind == "f":
        return -np.inf, np.inf
    return (
        (-(1 << 200), 1 << 200) if dtype.kind == "O" else (np.iinfo(dtype).min, np.iinfo(dtype).max)
    )


def total(term: Any, *over: Index, only: Any = None) -> Any:
    """The sum along the axes of the reduced indices; of real numbers in their order."""
    array, axis = spread(masked(term, only, 0), over)
    if array.dtype.kind == "f":
        return in_order(np.add, array, axis, 0.0)
    return array.sum(axis=axis, dtype=array.dtype)


def product(term: Any, *over: Index, only: Any = None) -> Any:
    array, axis = spread(masked(term, only, 1), over)
    if array.dtype.kind == "f":
        return in_order(np.multiply, array, axis, 1.0)
    return array.prod(axis=axis, dtype=array.dtype)


def in_order(combine: np.ufunc, array: Array, axis: tuple[int, ...], start: float) -> Any:
    """Real numbers along leading axes combined one after the other, row-major."""
    count = prod(array.shape[each] for each in axis)
    rows = array.reshape(count, *array.shape[len(axis) :])
    found = np.full(rows.shape[1:], start)
    if count > found.size:
        return combine(start, combine.accumulate(rows, axis=0)[-1])
    for row in rows:
        found = combine(found, row)
    return found


def greatest(term: Any, *over: Index, only: Any = None) -> Any:
    """The maximum along the axes of the reduced indices."""
    array, axis = spread(masked(term, only, lowest(term)), over)
    return zero_if_any(0.0, array, axis, array.max(axis=axis, initial=lowest(array)))


def least(term: Any, *over: Index, only: Any = None) -> Any:
    array, axis = spread(masked(term, only, highest(term)), over)
    return zero_if_any(-0.0, array, axis, array.min(axis=axis, initial=highest(array)))


def zero_if_any(zero: float, array: Array, axis: tuple[int, ...], found: Any) -> Any:
    """A maximum or minimum; of zeros the one of this sign, where there is one."""
    if array.dtype.kind != "f":
        return found
    same = (array == 0) & (np.signbit(array) == np.signbit(zero))
    return np.where((found == 0) & same.any(axis=axis), zero, found)


def holds_any(term: Any, *over: Index, only: Any = None) -> Any:
    array, axis = spread(masked(term, only, False), over)
    return array.any(axis=axis)


def holds_all(term: Any, *over: Index, only: Any = None) -> Any:
    array, axis = spread(masked(term, only, True), over)
    return array.all(axis=axis)


def count(term: Any, *over: Index, only: Any = None) -> Any:
    array, axis = spread(masked(term, only, False), over)
    return array.sum(axis=axis, dtype=np.int64)


# ---------------------------------------------------------------- reductions term by term


def combined(combine: np.ufunc, found: Any, term: Array) -> Array:
    """One more term, in place where the array of those before has its shape and type."""
    if found is None:
        return term.copy()
    if found.dtype == term.dtype and np.broadcast_shapes(found.shape, term.shape) == found.shape:
        combine(found, term, out=found)
        return found  # type: ignore[no-any-return]
    return np.asarray(combine(found, term), np.result_type(found, term))


def add(found: Any, term: Any, only: Any = None) -> Array:
    """A sum with one more term; None is a sum without terms."""
    term = masked(term, only, 0)
    if found is None and is_real(term):
        return np.asarray(term + 0.0)  # 0 + -0 is 0
    return combined(np.add, found, term)


def times(found: Any, term: Any, only: Any = None) -> Array:
    return combined(np.multiply, found, masked(term, only, 1))


def larger(found: Any, term: Any, only: Any = None) -> Any:
    """A maximum with one more term; None is that of none."""
    term = masked(term, only, lowest(term))
    if found is not None and is_real(term):
        return maximum(found, term)
    return combined(np.maximum, found, term)


def smaller(found: Any, term: Any, only: Any = None) -> Any:
    term = masked(term, only, highest(term))
    if found is not None and is_real(term):
        return minimum(found, term)
    return combined(np.minimum, found, term)


def either(found: Any, term: Any, only: Any = None) -> Array:
    return combined(np.logical_or, found, masked(term, only, False))


def both(found: Any, term: Any, only: Any = None) -> Array:
    return combined(np.logical_and, found, masked(term, only, True))


def counted(found: Any, term: Any, only: Any = None) -> Array:
    return combined(np.add, found, masked(term, only, False).astype(np.int64))


def done(found: Any, neutral: Any) -> Any:
    """The result of a reduction term by term: `neutral` where there was no term."""
    return neutral if found is None else found


# ---------------------------------------------------------------- results


def working(dtype: np.dtype[Any], integer: Any) -> Any:
    """The type that holds the exact values of an output before they are stored in its own."""
    return {"f": np.float64, "b": np.bool_}.get(kind_of(dtype), integer)


def result(
    operator: str, name: str, values: Array, dtype: np.dtype[Any], out: Array | None
) -> Array:
    """Values in the type of an output; the first integer that it does not hold is refused.

    Real numbers are rounded to nearest even; NaN has one form, the quiet one without a sign.
    """
    if kind_of(dtype) in "iu" and values.dtype != dtype:
        low, high = ends_of(dtype.name)
        beyond = np.flatnonzero((values < low) | (values > high))
        if beyond.size:
            place = unflatten(int(beyond[0]), values.shape)
            refuse(operator, name, "", overflow_rule(place, str(dtype)))
    found = np.empty(values.shape, dtype) if out is None else out
    if kind_of(dtype) == "f":
        store_reals(found, values)
        return found
    if dtype.kind == "b":
        values = conditions(values)
    kept = in_memory(dtype)
    found.view(kept)[...] = wrapped(values, kept)
    return found
