"""What bodies for several element types have in common."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from cvmgen.driver import C, kernels_or_program, lower
from cvmgen.ir import nodes as i
from cvmgen.ir.visit import rebuild
from cvmgen.schedule.generic import DifferentError, SideBySide, unsound_family
from cvmgen.schedule.kernels import Kernels
from cvmgen.schedule.schedules import packaged
from cvmgen.source import Source, Span
from tests.specs import operator

SPAN = Span(Source("a.cvm", "x"), 0, 1)
TYPES = {"result_t": ("i8", "i32")}
KINDS = [lambda value: "i32"] * 2  # each side calculates in int32 where it does not convert
X = i.Load("X", None, i.Var("d"))


def store(value: i.Expr) -> i.Store:
    return i.Store(i.Load("Y", None, i.Var("d")), value, SPAN)


ALIKE = [
    (X, X, X, "the same"),
    (
        store(i.Convert("i8", X)),
        store(i.Convert("i32", X)),
        store(i.Convert("result_t", X)),
        "types",
    ),
    (
        i.Array("box", "i8", 4, SPAN),
        i.Array("box", "i32", 4, SPAN),
        i.Array("box", "result_t", 4, SPAN),
        "arrays of elements",
    ),
    (
        i.Binary("+", X, i.ONE),
        i.Binary("+", i.Convert("u32", X), i.Convert("u32", i.ONE)),
        i.Binary("+", i.Convert("wide_t", X), i.Convert("wide_t", i.ONE)),
        "sums that could overflow for one of two types",
    ),
]
DIFFERENT = [
    (i.Convert("i32", X), i.Convert("f64", X), "types that are no elements'"),
    (i.Convert("i32", X), i.Convert("i8", X), "types the other way around"),
    (store(i.Const(4)), store(i.Const(16)), "numbers"),
    (i.Call("max_i32", (X, X)), i.Call("max_i64", (X, X)), "helpers"),
    (X, i.ONE, "other nodes"),
    (X, i.Convert("f64", X), "a real number for one of two"),
    ((store(X),), (store(X), store(X)), "more statements"),
]


@pytest.mark.parametrize(("one", "other", "both", "why"), ALIKE, ids=[row[-1] for row in ALIKE])
def test_types_become_parameters(one: object, other: object, both: object, why: str) -> None:
    assert SideBySide(TYPES, KINDS).unified((one, other)) == both, why


@pytest.mark.parametrize(("one", "other", "why"), DIFFERENT, ids=[row[-1] for row in DIFFERENT])
def test_what_differs_in_more_is_not_one(one: object, other: object, why: str) -> None:
    with pytest.raises(DifferentError):
        SideBySide(TYPES, KINDS).unified((one, other))
    assert why


def changed_field(kind: type, name: str, before: str, after: str) -> Callable[[Any], Any]:
    def change(node: Any) -> Any:
        found = isinstance(node, kind) and getattr(node, name) == before
        return replace(node, **{name: after}) if found else node

    return change


WRONG = [
    (lambda node: node, 0, "nothing changed"),
    (changed_field(i.Convert, "type", "wide_t", "result_t"), 3, "sums in the type of the result"),
    (changed_field(i.Convert, "type", "result_t", "element_t"), 2, "the result as an operand"),
    (changed_field(i.Let, "type", "u32", "i32"), 4, "int32 for a local that may overflow"),
    (changed_field(i.Binary, "op", "*", "+"), 4, "another operation"),
]


@pytest.mark.parametrize(("change", "faults", "why"), WRONG, ids=[row[-1] for row in WRONG])
def test_a_body_that_is_not_that_of_its_kernels(
    change: Callable[[Any], Any], faults: int, why: str
) -> None:
    text = "input X : cvm[N, K]\noutput Y : cvm[N]\nY[i] = sum[k < K](X[i, k] * X[i, k]) - 1"
    found = kernels_or_program(lower(operator(text), C), "c", packaged())
    assert isinstance(found, Kernels)
    (family,) = found.families
    wrong = replace(
        family,
        outlined=rebuild(family.outlined, change),
        parts=rebuild(family.parts, change),
    )
    assert len(list(unsound_family(wrong))) == faults, why
