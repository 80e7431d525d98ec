"""Attributes that are given by words: what they mean, and what is refused, on every target."""

from __future__ import annotations

import ctypes
from typing import Any

import numpy as np
import pytest

from cvmgen.api import Operators
from cvmgen.api.c_backend import CBackend, ErrorStruct
from cvmgen.api.calls import Described
from cvmgen.errors import OperatorError
from tests.conformance.calls import Call, Conformance
from tests.conformance.refused import zeros
from tests.targets import TARGETS

X = np.arange(12, dtype=np.int32).reshape(3, 4)
SIDE = '"MAX" or "MIN" is needed'
PADDING = 'a tuple of integers, "valid", "same" or "full" is needed'
BY = 'an integer, "half" or "whole" is needed'

# Operator, attributes, the message after the name of the operator.
REFUSED: list[tuple[str, dict[str, Any], str]] = [
    ("row_extreme", {"side": "min"}, f"side = 'min': {SIDE}"),
    ("row_extreme", {"side": ""}, f"side = '': {SIDE}"),
    ("padded_sums", {"window": (2, 2), "padding": "sam"}, f"padding = 'sam': {PADDING}"),
    ("padded_sums", {"window": (2, 2), "padding": (0, 4096)}, "padding = (0, 4096): must be in "),
    (
        "padded_sums",
        {"window": (2, 2), "padding": (2, 0)},
        "the padding must be smaller than the window (GH = 2, KH = 2, GW = 0, KW = 2)",
    ),
    (
        "padded_sums",
        {"window": (2, 3), "padding": "same"},
        'same padding needs a middle (padding = "same", KH = 2, KW = 3)',
    ),
    ("turned", {"by": 1}, "direction: this attribute is missing"),
    ("turned", {"direction": "left"}, "by: this attribute is missing"),
    ("turned", {"by": 0, "direction": "left"}, "by = 0: must be in [1, 8)"),
    ("turned", {"by": "all", "direction": "left"}, f"by = 'all': {BY}"),
    ("limited", {"limit": 99}, "99 is a limit of magnitudes (limit = 99)"),
    (
        "limited",
        {"limit": 99, "sign": "keep"},
        '99 is a limit of magnitudes (sign = "keep", limit = 99)',
    ),
    ("totals", {"axes": "none"}, "axes = 'none': a tuple of integers, "),
    ("totals", {"axes": (0, 2)}, "axes = (0, 2): must be in [0, N) (N = 2)"),
    ("totals", {"sign": "plus"}, 'sign = \'plus\': "positive" or "negative" is needed'),
]


@pytest.mark.parametrize(("name", "attributes", "message"), REFUSED, ids=lambda each: None)
def test_refused_calls(
    conformance: Conformance, name: str, attributes: dict[str, Any], message: str
) -> None:
    call = Call(f"extra.{name}", (X,), attributes)
    assert conformance.check(call).refusal.startswith(f"extra.{name}: {message}")


def test_a_refused_half(conformance: Conformance) -> None:
    call = Call("extra.turned", (zeros(3),), {"by": "half", "direction": "left"})
    said = 'extra.turned: half of the extent is no integer (by = "half", K = 3)'
    assert conformance.check(call).refusal == said


OTHERS = [
    *(("row_extreme", "side", value, SIDE) for value in (1, True, b"MAX", ("MAX",), 0.5)),
    *(("padded_sums", "padding", value, PADDING) for value in (0.5, b"same", ("same", "same"))),
    *(("turned", "by", value, BY) for value in (1.5, True, ("half",), b"half")),
    ("padded_sums", "window", "same", "a tuple of integers is needed"),
]


@pytest.mark.parametrize(("name", "attribute", "value", "rule"), OTHERS, ids=lambda each: None)
def test_values_of_other_types(
    libraries: dict[str, Operators], name: str, attribute: str, value: Any, rule: str
) -> None:
    needed = {"padded_sums": {"window": 1}, "turned": {"direction": "left"}}.get(name, {})
    for target in TARGETS:
        with pytest.raises(OperatorError) as caught:
            libraries[target][f"extra.{name}"](X, **{**needed, attribute: value})
        assert str(caught.value) == f"extra.{name}: {attribute} = {value!r}: {rule}"


@pytest.mark.parametrize("target", TARGETS)
def test_what_is_given(libraries: dict[str, Operators], target: str) -> None:
    extra = libraries[target].extra
    assert extra.row_extreme.signature == "row_extreme(X, *, side='MAX')"
    assert extra.row_extreme(X, side=None).tolist() == [3, 7, 11]
    assert extra.row_extreme(X, side=np.str_("MIN")).tolist() == [0, 4, 8]
    assert extra.padded_sums(X, window=1, padding=0).tolist() == X.tolist()
    assert extra.totals(X).tolist() == [[66]]
    assert extra.totals(X, sign="negative").tolist() == [[-66]]
    assert extra.totals(X, axes=()).tolist() == X.tolist()
    shapes, _ = extra.padded_sums.infer([(5, 6)], [8], window=(3, 3), padding="full")
    assert shapes == ((7, 8),)


# ---------------------------------------------------------------- codes in C

# Operator, its attributes, the member that is set to a wrong code, and the error.
CODES: list[tuple[str, dict[str, Any], str, int, tuple[str, str, str]]] = [
    ("row_extreme", {}, "side", 0, ("side", "0", SIDE)),
    ("row_extreme", {}, "side", 3, ("side", "3", SIDE)),
    ("row_extreme", {}, "side", -1, ("side", "-1", SIDE)),
    ("padded_sums", {"window": 1}, "padding_word", 4, ("padding", "word 4", PADDING)),
    ("padded_sums", {"window": 1}, "padding_word", -1, ("padding", "word -1", PADDING)),
    (
        "turned",
        {"by": 1, "direction": "left"},
        "direction",
        0,
        ("direction", "", "this attribute is missing"),
    ),
    ("totals", {}, "sign", 3, ("sign", "3", '"positive" or "negative" is needed')),
]


@pytest.mark.parametrize(("name", "given", "member", "code", "said"), CODES, ids=lambda each: None)
def test_codes_out_of_range(
    libraries: dict[str, Operators],
    name: str,
    given: dict[str, Any],
    member: str,
    code: int,
    said: tuple[str, str, str],
) -> None:
    status, error = infer_in_c(libraries, name, given, {member: code})
    assert status == 1
    assert (error.argument.decode(), error.value.decode(), error.rule.decode()) == said


def test_a_word_counts_before_numbers(libraries: dict[str, Operators]) -> None:
    """Members that a C program leaves behind: with a word, no number is looked at."""
    given = {"by": "whole", "direction": "left"}
    assert infer_in_c(libraries, "turned", given, {"by": 99})[0] == 0
    assert infer_in_c(libraries, "turned", given, {"by": 99, "by_word": 0})[0] == 1


def infer_in_c(
    libraries: dict[str, Operators], name: str, given: dict[str, Any], changed: dict[str, int]
) -> tuple[int, ErrorStruct]:
    """The status and the error of a call whose structure is changed before it is made."""
    operator = libraries["c"][f"extra.{name}"]
    backend, info = operator._backend, operator._info
    assert isinstance(backend, CBackend)
    values = operator._complete(given)
    args, kept = backend.arguments(info, Described([X.shape], [8], values), [None])
    for member, code in changed.items():
        setattr(args, member, code)
    error = ErrorStruct()
    status = backend.function(f"{info.function}_infer")(ctypes.byref(args), ctypes.byref(error))
    del kept
    return status, error
