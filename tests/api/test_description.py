"""What operators say of themselves, to `inspect`, `help` and whoever calls them wrongly."""

from __future__ import annotations

import inspect
import pydoc
import re

import numpy as np
import pytest

import cvmgen
from cvmgen.api.description import KEYWORDS
from cvmgen.api.device_operator import DeviceOperator
from cvmgen.api.opsets import Operators

ALWAYS = "precisions=None, dtype=None, out=None, check=None)"
SIGNATURES = [
    ("cvm.abs", f"(X, *, {ALWAYS}"),
    ("cvm.dense", f"(X, W, B=None, *, {ALWAYS}"),
    ("cvm.clip", f"(X, *, a_min, a_max, {ALWAYS}"),
    ("cvm.take", f"(X, indices, *, axis=None, {ALWAYS}"),
    ("cvm.concatenate", f"(*I, axis, {ALWAYS}"),
    ("cvm.conv2d", "(X, W, B=None, *, padding=(0, 0), stride=(1, 1), dilation=(1, 1), groups=1, "
     + ALWAYS),
]  # fmt: skip


@pytest.fixture(scope="module")
def ops(generated: object) -> Operators:
    return cvmgen.load("numpy", folder=str(generated))


@pytest.mark.parametrize(("name", "expected"), SIGNATURES)
def test_signature(ops: Operators, name: str, expected: str) -> None:
    assert str(inspect.signature(ops[name])) == expected


def test_every_operator_describes_itself(ops: Operators) -> None:
    for operator in ops:
        names = inspect.signature(operator).parameters
        assert [*operator.inputs, *operator.attributes, *KEYWORDS] == list(names)
        doc = operator.__doc__ or ""
        for name in names:
            assert re.search(rf"^{name}: \S", doc, re.M), (operator.name, name)
        assert all(len(line) <= 140 for line in doc.partition("The formula")[0].splitlines())


def test_a_signature_binds_what_a_call_takes(ops: Operators) -> None:
    X, W = np.ones((1, 2), np.int8), np.ones((3, 2), np.int8)
    given = inspect.signature(ops.cvm.dense).bind(X, W=W, check="values", dtype=np.int32)
    assert ops.cvm.dense(*given.args, **given.kwargs).tolist() == [[2, 2, 2]]


def test_on_a_device_there_is_a_stream() -> None:
    assert list(DeviceOperator.KEYWORDS) == [*KEYWORDS, "stream"]


HELP = [
    ("cvm.dense", "X: array of int8 or int32", "an input with a precision"),
    ("cvm.dense", "B: array of int8 or int32, may be left out", "an optional one"),
    ("cvm.concatenate", "I: arrays of int8 or int32", "several"),
    ("tosa.reduce_sum", "input1: array of int32 or float32", "a choice of types"),
    ("cvm.conv2d", "padding: 2 integers in [min_attr, max_attr)", "of a fixed length"),
    ("cvm.sum", "axes: integers in [-N, N)", "a list"),
    ("cvm.max_pool2d", "ceil_mode: truth value", "a condition"),
    ("tosa.reduce_max", 'nan_mode: "PROPAGATE" or "IGNORE"', "words alone"),
    ("cvm.relu", "  Y[d...] = max(0, X[d...])", "the formula"),
    ("cvm.relu", 'check: "values" refuses data beyond their declared precision', "keywords"),
]


@pytest.mark.parametrize(("name", "line", "why"), HELP)
def test_help(ops: Operators, name: str, line: str, why: str) -> None:
    text = pydoc.plain(pydoc.render_doc(ops[name]))
    assert f"    {line}\n" in text, why
    assert "Method resolution order" not in text


def test_the_class_has_a_signature_of_its_own() -> None:
    from cvmgen.api.operator import Operator

    assert list(inspect.signature(Operator).parameters) == ["info", "backend"]
    with pytest.raises(AttributeError, match="'Operator' object has no attribute 'colour'"):
        Operator.__new__(Operator).colour  # noqa: B018


def test_what_there_is_in_a_namespace(ops: Operators) -> None:
    assert {"cvm", "systemml", "tosa"} <= set(dir(ops))
    assert {"dense", "conv2d", "strided_slice"} <= set(dir(ops.cvm))
    assert {"load", "load_model", "graph", "OperatorError"} <= set(dir(cvmgen))


MISSING = [
    (
        lambda ops: ops.conv2d,
        "did you mean ops.cvm.conv2d or ops.systemml.conv2d or ops.tosa.conv2d?",
    ),
    (
        lambda ops: ops["conv2d"],
        "did you mean ops.cvm.conv2d or ops.systemml.conv2d or ops.tosa.conv2d?",
    ),
    (
        lambda ops: ops.strided_slice,
        "did you mean ops.cvm.strided_slice or ops.tflite.strided_slice?",
    ),
    (lambda ops: ops.cmv, "did you mean 'cvm'?"),
    (lambda ops: ops.cvm.desne, "did you mean 'dense'?"),
]


@pytest.mark.parametrize(("ask", "hint"), MISSING)
def test_names_that_are_none(ops: Operators, ask: object, hint: str) -> None:
    with pytest.raises((AttributeError, KeyError), match=re.escape(hint)):
        ask(ops)  # type: ignore[operator]


X, W = np.ones((1, 2), np.int8), np.ones((3, 2), np.int8)
ARGUMENTS = [
    ({"bias": np.ones(3, np.int32)}, r"bias = shape \(3,\): .*; did you mean the input 'B'\?"),
    ({"b": 1}, "b = 1: .*; did you mean 'B'"),
    ({"zeal": 1}, "zeal = 1: .*; its attributes: none; its inputs: X, W, B"),
]


@pytest.mark.parametrize(("given", "rule"), ARGUMENTS)
def test_arguments_that_are_none(ops: Operators, given: dict[str, object], rule: str) -> None:
    with pytest.raises(cvmgen.OperatorError, match=rule):
        ops.cvm.dense(X, W, **given)
