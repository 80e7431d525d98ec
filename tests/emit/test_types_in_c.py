"""Element types in the plain C interface: tables of types, types that are not known, DLPack."""

from __future__ import annotations

import ctypes
from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest

from cvmgen.api import Operator, Operators
from cvmgen.api.c_backend import CBackend, ErrorStruct, TensorStruct
from cvmgen.dtypes import DTYPES
from cvmgen.errors import OperatorError
from cvmgen.typed import element_type
from tests.conformance.calls import Array, Call
from tests.emit.raw import Raw

NONE, UNKNOWN = 0, 77  # codes: of a type that is not known, and of none at all
INFERRED = "inferred"


def codes(**types: Any) -> dict[str, int]:
    """The code of each operand's type, which is named or a number."""
    return {name: DTYPES[each].code if each in DTYPES else each for name, each in types.items()}


def zeros(dtype: str, *shape: int) -> Array:
    return np.zeros(shape or (2,), dtype)


def spoilt(operators: Operators, name: str, inputs: list[Any], types: Mapping[str, int]) -> Raw:
    """A call in which operands have other types than their data."""
    raw = Raw(operators[f"extra.{name}"], Call(f"extra.{name}", tuple(inputs)))
    for key, code in types.items():
        tensor, _, at = key.partition("_")
        place = getattr(raw.args, tensor)
        (place[int(at)] if at else place).contents.dtype = code
    return raw


def refusal(raw: Raw, function: Any) -> str:
    error = ErrorStruct()
    status = function(ctypes.byref(raw.args), ctypes.byref(error))
    assert status == error.status
    fields = (error.argument, error.value, error.rule)
    argument, value, rule = (field.decode() for field in fields)
    return f"{argument} = {value}: {rule}" if status else ""


SQUARE, PAIR = [zeros("int8", 2, 2)], [zeros("int8"), zeros("int16")]
REALS = [zeros("float64"), zeros("float64")]
TRIPLE = [zeros("int16"), zeros("int16"), zeros("bool")]
SEVERAL = [[zeros("int32"), zeros("int32")], zeros("int32", 1)]
EMPTY = [zeros("int8", 3, 0)]
FIVE = "must be one of int8, int32, int64, float32, float64"
PAIRS = "the types of (X, Z) are (int8, int16), (int16, int8), (int32, int64), (int64, int64)"
TRIPLES = (
    "the types of (A, B, C) are (int16, int16, bool), (float64, float64, bool), "
    "(int16, int16, int8), (float64, float64, int8), (int16, int16, int32), "
    "(float64, float64, int32), (int16, int16, float32), ..."
)
NO_TYPE = "there is no such element type"
# Operator, inputs, types that operands have instead, what a call says ("": it is made), what
# inferring says, where it is something else.
ROWS: list[tuple[str, list[Any], dict[str, int], str, str]] = [
    ("exact_totals", SQUARE, codes(X="int16"), f"X = dtype int16: {FIVE}", ""),
    ("exact_totals", SQUARE, codes(X=UNKNOWN), f"X = dtype 77: {FIVE}", ""),
    ("exact_totals", SQUARE, codes(X=-1), f"X = dtype -1: {FIVE}", ""),
    ("exact_totals", SQUARE, codes(X=NONE), f"X = dtype 0: {NO_TYPE}", INFERRED),
    ("exact_totals", SQUARE, codes(Y="int32"), "Y = dtype int32: must be int8", INFERRED),
    ("exact_totals", SQUARE, codes(Y=NONE), "Y = dtype 0: must be int8", INFERRED),
    ("verdicts", [zeros("bool", 2, 2)], codes(X="int8"), "X = dtype int8: must be bool", ""),
    ("verdicts", [zeros("bool", 2, 2)], codes(X=NONE), f"X = dtype 0: {NO_TYPE}", INFERRED),
    ("floor_quotient", REALS, codes(B="float32"), "B = dtype float32: must be float64", ""),
    ("narrowed", PAIR, codes(Z="int8"), f"Z = dtype int8: must be int16: {PAIRS}", ""),
    ("narrowed", PAIR, codes(X="int16"), f"Z = dtype int16: must be int8: {PAIRS}", ""),
    (
        "narrowed",
        PAIR,
        codes(X="bool"),
        "X = dtype bool: must be one of int8, int16, int32, int64",
        "",
    ),
    ("narrowed", PAIR, codes(X=NONE), f"X = dtype 0: {NO_TYPE}", INFERRED),
    (
        "narrowed",
        PAIR,
        codes(X=NONE, Z=UNKNOWN),
        "Z = dtype 77: must be one of int16, int8, int64",
        "",
    ),
    ("compared", TRIPLE, codes(B="float64"), f"B = dtype float64: must be int16: {TRIPLES}", ""),
    (
        "stacked",
        SEVERAL,
        codes(X_1="float64"),
        "X[1] = dtype float64: must be int32, as X[0]",
        "",
    ),
    (
        "stacked",
        SEVERAL,
        codes(W="float64"),
        "W = dtype float64: must be int32: the types of (X[0], W) are (int32, int32), "
        "(float64, float64)",
        "",
    ),
    ("stacked", SEVERAL, codes(X_0="int8"), "X[0] = dtype int8: must be one of int32, float64", ""),
    ("stacked", SEVERAL, codes(X_0=NONE), f"X = dtype 0: {NO_TYPE}", INFERRED),
    ("stacked", SEVERAL, codes(X_1=NONE), f"X = dtype 0: {NO_TYPE}", INFERRED),
    ("stacked", SEVERAL, codes(X_1=UNKNOWN), "X[1] = dtype 77: must be int32, as X[0]", ""),
    ("stacked", SEVERAL, codes(W=NONE), f"W = dtype 0: {NO_TYPE}", INFERRED),
    ("row_totals", EMPTY, codes(X=NONE), f"X = dtype 0: {NO_TYPE}", INFERRED),
    (
        "row_totals",
        EMPTY,
        codes(X=UNKNOWN),
        "X = dtype 77: must be one of int8, int64, float32",
        "",
    ),
    ("row_totals", EMPTY, {}, "", INFERRED),
]


@pytest.mark.parametrize(
    ("name", "inputs", "types", "said", "inferred"), ROWS, ids=lambda each: None
)
def test_types_in_c(
    libraries: dict[str, Operators],
    name: str,
    inputs: list[Any],
    types: dict[str, int],
    said: str,
    inferred: str,
) -> None:
    raw = spoilt(libraries["c"], name, inputs, types)
    assert refusal(raw, raw.function) == said
    assert refusal(raw, raw.infer) == ("" if inferred == INFERRED else inferred or said)


# Operator, inputs, the types that are not known, the types of the outputs, why.
UNTOLD: list[tuple[str, list[Any], dict[str, int], list[str], str]] = [
    ("exact_totals", SQUARE, {}, ["int8"], "all are known"),
    ("exact_totals", SQUARE, codes(X=NONE), [""], "which it is is not known"),
    ("verdicts", [zeros("bool", 2, 2)], codes(X=NONE), ["bool"], "there is no other"),
    ("narrowed", PAIR, codes(Z=NONE), ["int8"], "the first tells the second"),
    ("narrowed", PAIR, codes(X=NONE), ["int8"], "the second tells the first"),
    ("narrowed", [zeros("int64"), zeros("int64")], codes(X=NONE), [""], "or it does not"),
    ("compared", TRIPLE, codes(A=NONE), ["bool", "bool"], "B is of the same parameter"),
    ("compared", TRIPLE, codes(A=NONE, B=NONE), ["", ""], "no choice is made in part"),
    ("stacked", SEVERAL, codes(X_0=NONE), ["int32"], "W tells the type of X"),
    ("stacked", SEVERAL, codes(X_0=NONE, W=NONE), [""], "nothing tells it"),
    ("stacked", SEVERAL, codes(X_1=NONE), ["int32"], "the first of several tells it"),
    ("stacked", [SEVERAL[0], None], {}, ["int32"], "without the optional one"),
]


@pytest.mark.parametrize(
    ("name", "inputs", "types", "outputs", "why"), UNTOLD, ids=[row[-1] for row in UNTOLD]
)
def test_inferring_without_types(
    libraries: dict[str, Operators],
    name: str,
    inputs: list[Any],
    types: dict[str, int],
    outputs: list[str],
    why: str,
) -> None:
    raw = spoilt(libraries["c"], name, inputs, types)
    names = libraries["c"][f"extra.{name}"].outputs
    for output in names:
        getattr(raw.args, output).contents.dtype = UNKNOWN
    assert refusal(raw, raw.infer) == ""
    found = [getattr(raw.args, output).contents.dtype for output in names]
    assert found == [DTYPES[each].code if each else NONE for each in outputs], why


def test_shapes_are_inferred_without_types(libraries: dict[str, Operators]) -> None:
    for operators in libraries.values():
        operator: Operator = operators["extra.exact_totals"]
        assert operator.infer([(3, 4)]).shapes == ((3,),)
        assert operator.infer([(3, 4)], [None]).precisions == (None,)
        with pytest.raises(OperatorError, match="none of its inputs has a precision"):
            operator.infer([(3, 4)], [5])


# ---------------------------------------------------------------- DLPack


class DLTensor(ctypes.Structure):
    """cvmgen_dlpack_tensor."""

    _fields_ = (
        ("data", ctypes.c_void_p),
        ("device_type", ctypes.c_int32),
        ("device_id", ctypes.c_int32),
        ("ndim", ctypes.c_int32),
        ("code", ctypes.c_uint8),
        ("bits", ctypes.c_uint8),
        ("lanes", ctypes.c_uint16),
        ("shape", ctypes.POINTER(ctypes.c_int64)),
        ("strides", ctypes.POINTER(ctypes.c_int64)),
        ("byte_offset", ctypes.c_uint64),
    )


ELEMENTS = (
    "elements must be bool, int8, uint8, int16, uint16, int32, int64, float16, bfloat16, float32"
    " or float64"
)
# Code, bits and lanes of an element, and its type; "" where there is none.
DLPACK = [
    (0, 8, 1, "int8"),
    (0, 16, 1, "int16"),
    (0, 32, 1, "int32"),
    (0, 64, 1, "int64"),
    (2, 32, 1, "float32"),
    (2, 64, 1, "float64"),
    (6, 8, 1, "bool"),
    (0, 4, 1, ""),
    (1, 8, 1, "uint8"),
    (1, 16, 1, "uint16"),
    (1, 32, 1, ""),
    (2, 8, 1, ""),
    (2, 16, 1, "float16"),
    (4, 16, 1, "bfloat16"),
    (5, 64, 1, ""),  # complex
    (6, 1, 1, ""),
    (0, 8, 4, ""),
    (0, 8, 0, ""),
]


@pytest.mark.parametrize(("code", "bits", "lanes", "name"), DLPACK)
def test_types_of_dlpack(
    libraries: dict[str, Operators], code: int, bits: int, lanes: int, name: str
) -> None:
    backend = libraries["c"]["extra.reversed_types"]._backend
    assert isinstance(backend, CBackend)
    memory, shape = np.arange(64, dtype=np.uint8), (ctypes.c_int64 * 2)(2, 3)
    source = DLTensor(memory.ctypes.data, 1, 0, 2, code, bits, lanes, shape, None, 8)
    made, error = TensorStruct(), ErrorStruct()
    convert = backend.function("cvmgen_from_dlpack")
    status = convert(ctypes.byref(source), 0, ctypes.byref(made), ctypes.byref(error))
    if not name:
        assert (status, error.argument, error.rule.decode()) == (1, b"dtype", ELEMENTS)
        assert error.value.decode() == f"code {code} of {bits} bits"
        return
    assert status == 0, error.rule
    assert (made.dtype, made.rank, made.precision) == (DTYPES[name].code, 2, 0)
    assert made.data == memory.ctypes.data + 8
    dtype = element_type(name)
    X = memory[8 : 8 + 6 * dtype.itemsize].view(dtype).reshape(2, 3)
    raw = Raw(libraries["c"]["extra.reversed_types"], Call("extra.reversed_types", (X,)))
    raw.args.X = ctypes.pointer(made)
    assert refusal(raw, raw.function) == ""
    assert raw.kept[-1].tobytes() == libraries["c"]["extra.reversed_types"](X).tobytes()
