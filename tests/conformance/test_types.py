"""Element types of calls: the choice that is made, and what is refused, in Python and in C."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from cvmgen.api import Operators
from cvmgen.errors import OperatorError
from tests.conformance.calls import Array
from tests.targets import TARGETS

FIVE = "must be one of int8, int32, int64, float32, float64"
PAIRS = "the types of (X, Z) are (int8, int16), (int16, int8), (int32, int64), (int64, int64)"
TRIPLES = (
    "the types of (A, B, C) are (int16, int16, bool), (float64, float64, bool), "
    "(int16, int16, int8), (float64, float64, int8), (int16, int16, int32), "
    "(float64, float64, int32), (int16, int16, float32), ..."
)
NOT_PRECISE = "none of its inputs has a precision"


def zeros(dtype: Any, *shape: int) -> Array:
    return np.zeros(shape or (2,), dtype)


SQUARE = zeros("int8", 2, 2)
REALS, PAIR = zeros("float64"), [zeros("int32"), zeros("int32")]
# Operator, inputs, keywords, message, why.
REFUSED: list[tuple[str, list[Any], dict[str, Any], str, str]] = [
    ("exact_totals", [zeros("int16", 2, 2)], {}, f"X = dtype int16: {FIVE}", "another type"),
    ("exact_totals", [zeros("uint8", 2, 2)], {}, f"X = dtype uint8: {FIVE}", "no type of ours"),
    ("exact_totals", [zeros(">f4", 2, 2)], {}, f"X = dtype >f4: {FIVE}", "bytes in another order"),
    ("exact_totals", [np.array([["a"]])], {}, f"X = dtype <U1: {FIVE}", "texts"),
    ("exact_totals", [zeros("complex64", 2, 2)], {}, f"X = dtype complex64: {FIVE}", "complex"),
    ("verdicts", [SQUARE], {}, "X = dtype int8: must be bool", "one type alone"),
    (
        "floor_quotient",
        [zeros("float32"), REALS],
        {},
        "A = dtype float32: must be float64",
        "the first",
    ),
    (
        "floor_quotient",
        [REALS, zeros("int64")],
        {},
        "B = dtype int64: must be float64",
        "the second",
    ),
    (
        "narrowed",
        [zeros("float32"), zeros("int8")],
        {},
        "X = dtype float32: must be one of int8, int16, int32, int64",
        "each type of a column once",
    ),
    (
        "narrowed",
        [zeros("int8"), zeros("int8")],
        {},
        f"Z = dtype int8: must be int16: {PAIRS}",
        "types that do not go together",
    ),
    (
        "compared",
        [zeros("int16"), REALS, zeros("bool")],
        {},
        f"B = dtype float64: must be int16: {TRIPLES}",
        "two parameters are one table, whose end is left out",
    ),
    (
        "compared",
        [zeros("int16"), zeros("int16"), zeros("int16")],
        {},
        f"C = dtype int16: must be one of bool, int8, int32, float32: {TRIPLES}",
        "what is left for the third",
    ),
    (
        "stacked",
        [[zeros("int32"), REALS]],
        {},
        "X[1] = dtype float64: must be int32, as X[0]",
        "several tensors have one type",
    ),
    (
        "stacked",
        [[zeros("int8"), REALS]],
        {},
        "X[0] = dtype int8: must be one of int32, float64",
        "which the first decides",
    ),
    (
        "stacked",
        [PAIR, zeros("float64", 1)],
        {},
        "W = dtype float64: must be int32: the types of (X[0], W) are (int32, int32), "
        "(float64, float64)",
        "beside several",
    ),
    (
        "stacked",
        [[zeros("int32"), None]],
        {},
        "X[1] = NoneType: a numpy array, or an object with __dlpack__, is needed",
        "one of several is missing",
    ),
    ("stacked", [zeros("int32")], {}, "X = ndarray: a list of arrays is needed", "no list"),
    ("stacked", [[]], {}, "X: at least one input is needed", "an empty list"),
    (
        "dequantised",
        [zeros("int8"), zeros("float64", 1)],
        {},
        "S = dtype float64: must be float32",
        "beside cvm",
    ),
    (
        "dequantised",
        [zeros("int16"), zeros("float32", 1)],
        {},
        "X = dtype int16: elements must be int8 or int32",
        "of cvm itself",
    ),
    (
        "row_totals",
        [zeros("int16", 0, 3)],
        {},
        "X = dtype int16: must be one of int8, int64, float32",
        "without elements",
    ),
    # ------------------------------------------------------------ nested lists
    ("exact_totals", [[[True]]], {}, f"X = dtype bool: {FIVE}", "conditions"),
    ("exact_totals", [[["a"]]], {}, f"X = dtype <U1: {FIVE}", "a list of texts"),
    ("exact_totals", [[[None]]], {}, f"X = dtype object: {FIVE}", "a list of nothing"),
    ("exact_totals", [[[1j]]], {}, f"X = dtype complex128: {FIVE}", "a list of complex numbers"),
    (
        "exact_totals",
        [[[2**63]]],
        {},
        f"X = {2**63}: no element type holds this integer",
        "just beyond int64",
    ),
    (
        "exact_totals",
        [[[0, -(2**70)]]],
        {},
        f"X = {-(2**70)}: no element type holds this integer",
        "far beyond int64",
    ),
    ("exact_totals", [[[1], [2, 3]]], {}, "X = list: its rows differ in length", "ragged"),
    ("exact_totals", [7], {}, "X = shape (): a tensor has 1 to 16 dimensions", "a number"),
    ("verdicts", [[[1, 0]]], {}, "X = dtype int8: must be bool", "numbers are no conditions"),
    (
        "narrowed",
        [[1.5], [300]],
        {},
        "X = dtype float16: must be one of int8, int16, int32, int64",
        "real numbers",
    ),
    (
        "narrowed",
        [[300], zeros("int16", 1)],
        {},
        f"Z = dtype int16: must be one of int8, int64: {PAIRS}",
        "300 is no int8",
    ),
    (
        "stacked",
        [[zeros("int32"), [1.5, 2]]],
        {},
        "X[0] = dtype int32: must be float64: the types of (X[0], W) are (int32, int32), "
        "(float64, float64)",
        "the list needs another type",
    ),
    (
        "dot_products",
        [[[2**53 + 1]], [[1]]],
        {},
        "A = dtype int64: must be one of float32, float64",
        "no real number",
    ),
    # ------------------------------------------------------------ results
    (
        "exact_totals",
        [SQUARE],
        {"dtype": np.int32},
        "dtype = int32: Y is int8 here, as the inputs decide",
        "another type",
    ),
    (
        "exact_totals",
        [SQUARE],
        {"dtype": "int33"},
        "dtype = 'int33': Y is int8 here, as the inputs decide",
        "no type",
    ),
    (
        "converted",
        [REALS],
        {"dtype": "float32"},
        "dtype = float32: Z is int64 here, as the inputs decide",
        "of two outputs",
    ),
    (
        "quantised",
        [zeros("float32")],
        {"dtype": "float32"},
        "dtype = float32: elements must be int8 or int32",
        "of cvm",
    ),
    (
        "exact_totals",
        [SQUARE],
        {"out": zeros("int32")},
        "Y = dtype int32: must be int8",
        "out of another type",
    ),
    (
        "exact_totals",
        [SQUARE],
        {"out": zeros("int8", 3)},
        "Y = shape (3,): the shape must be (2,)",
        "out of another shape",
    ),
    (
        "exact_totals",
        [SQUARE],
        {"out": [0, 0]},
        "Y = list: a numpy array is needed",
        "out is a list",
    ),
    (
        "exact_totals",
        [SQUARE],
        {"out": SQUARE[0]},
        "Y: it shares memory with X",
        "out is the input",
    ),
    (
        "floor_quotient",
        [REALS, REALS],
        {"out": (zeros("float64"), zeros("float32"))},
        "R = dtype float32: must be float64",
        "the second out",
    ),
    (
        "quantised",
        [zeros("float32")],
        {"out": zeros("float32")},
        "Y = dtype float32: elements must be int8 or int32",
        "out of cvm",
    ),
    # ------------------------------------------------------------ precisions
    (
        "exact_totals",
        [SQUARE],
        {"precisions": {"X": 3}},
        f"precisions = 'X': {NOT_PRECISE}",
        "by name",
    ),
    ("exact_totals", [SQUARE], {"precisions": [3]}, f"precisions = 'X': {NOT_PRECISE}", "by place"),
    (
        "exact_totals",
        [SQUARE],
        {"precisions": {"Z": 3}},
        f"precisions = 'Z': {NOT_PRECISE}",
        "of no input",
    ),
    (
        "stacked",
        [PAIR],
        {"precisions": {"X": [3, 3]}},
        f"precisions = 'X': {NOT_PRECISE}",
        "several",
    ),
    (
        "dequantised",
        [zeros("int8"), zeros("float32", 1)],
        {"precisions": {"S": 3}},
        "precisions = 'S': inputs are X",
        "of one input alone",
    ),
    (
        "dequantised",
        [zeros("int8"), zeros("float32", 1)],
        {"precisions": (3, 4)},
        "precisions = 'S': inputs are X",
        "by place, of both",
    ),
]


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize(
    ("name", "inputs", "keywords", "message", "why"), REFUSED, ids=lambda each: None
)
def test_refused_types(
    libraries: dict[str, Operators],
    target: str,
    name: str,
    inputs: list[Any],
    keywords: dict[str, Any],
    message: str,
    why: str,
) -> None:
    with pytest.raises(OperatorError) as caught:
        libraries[target][f"extra.{name}"](*inputs, **keywords)
    assert str(caught.value) == f"extra.{name}: {message}", why


# Operator, inputs, keywords, the types of the results, why.
CHOSEN: list[tuple[str, list[Any], dict[str, Any], list[str], str]] = [
    ("reversed_types", [[[1, 2], [-128, 127]]], {}, ["int8"], "the first type that holds them"),
    ("reversed_types", [[1, 128]], {}, ["uint8"], "127 is the last of int8"),
    ("reversed_types", [[-(2**15)]], {}, ["int16"], "the least of int16"),
    ("reversed_types", [[2**15]], {}, ["uint16"], "beyond int16"),
    ("reversed_types", [[2**31, 0]], {}, ["int64"], "beyond int32"),
    ("reversed_types", [[-(2**63)]], {}, ["int64"], "the least of int64"),
    ("reversed_types", [[True, False]], {}, ["bool"], "conditions"),
    ("reversed_types", [[1.5, 2]], {}, ["float32"], "real numbers"),
    ("reversed_types", [[0.1, math.inf]], {}, ["float32"], "which are rounded"),
    ("reversed_types", [[0.1, 3.5e38]], {}, ["float64"], "as long as they do not become infinite"),
    ("reversed_types", [((1, 2), (3, 4))], {}, ["int8"], "tuples are lists too"),
    ("exact_totals", [[[1, 200]]], {}, ["int32"], "the first type of the operator"),
    ("dot_products", [[[1]], [[2]]], {}, ["float32"], "integers where real numbers are needed"),
    ("dot_products", [[[2**24]], [[2]]], {}, ["float32"], "as long as these hold them"),
    ("dot_products", [[[2**24 + 1]], [[2]]], {}, ["float64"], "else in 64 bits"),
    ("dot_products", [[[2]], [[-(2**53)]]], {}, ["float64"], "whichever it is"),
    ("narrowed", [[300], [1]], {}, ["int16"], "the first row that holds both"),
    ("narrowed", [[300], [300]], {}, ["int32"], "one further down"),
    ("narrowed", [[1], zeros("int8", 1)], {}, ["int16"], "beside an array"),
    ("stacked", [[[1.5, 2], [1, 2]], [3]], {}, ["float64"], "one type for all of several"),
    ("stacked", [[[1, 2], zeros("float64")]], {}, ["float64"], "that of an array beside them"),
    ("row_totals", [[[], []]], {}, ["int8"], "without elements any"),
    ("merged", [[1, 0], [1.5, 2.5], [3, 4]], {}, ["float32"], "a fixed type beside parameters"),
    ("dequantised", [[1, 2], [0.5]], {}, ["float32"], "beside cvm"),
    ("exact_totals", [SQUARE], {"dtype": "int8"}, ["int8"], "asked for what it is"),
    ("exact_totals", [SQUARE], {"precisions": {"X": None}}, ["int8"], "no precision declared"),
    ("exact_totals", [SQUARE], {"precisions": [None]}, ["int8"], "nor in a list"),
    ("exact_totals", [SQUARE], {"check": "values"}, ["int8"], "nothing to check"),
    (
        "dequantised",
        [zeros("int8"), zeros("float32", 1)],
        {"precisions": (3, None)},
        ["float32"],
        "of the one that has one",
    ),
    ("quantised", [zeros("float32")], {"dtype": np.int8}, ["int8"], "cvm as int8"),
    ("quantised", [zeros("float32")], {}, ["int32"], "cvm as it is without a wish"),
    ("converted", [zeros("bool")], {}, ["float32", "int64"], "of each output its own"),
]


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize(
    ("name", "inputs", "keywords", "types", "why"), CHOSEN, ids=lambda each: None
)
def test_chosen_types(
    libraries: dict[str, Operators],
    target: str,
    name: str,
    inputs: list[Any],
    keywords: dict[str, Any],
    types: list[str],
    why: str,
) -> None:
    found = libraries[target][f"extra.{name}"](*inputs, **keywords)
    results = found if isinstance(found, tuple) else (found,)
    assert [str(each.dtype) for each in results] == types, why


@pytest.mark.parametrize("target", TARGETS)
def test_lists_keep_their_numbers(libraries: dict[str, Operators], target: str) -> None:
    reverse = libraries[target].extra.reversed_types
    for values in ([2**63 - 1, -(2**63)], [True, False], [1.5, -0.0], [2**53 + 1, 0]):
        assert reverse([values]).ravel().tolist() == values
