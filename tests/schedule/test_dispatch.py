"""Calls as statements of the host: faults planted into them are refused, and tests that others
decide are left out."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import cache
from typing import Any

import pytest

from cvmgen.driver import TARGETS, kernels_or_program, lower
from cvmgen.ir import nodes as i
from cvmgen.ir.logic import undecided
from cvmgen.ir.visit import rebuild
from cvmgen.schedule.dispatch import NARROW_RESULT
from cvmgen.schedule.dispatch_fault import dispatch_fault
from cvmgen.schedule.kernels import Kernels
from cvmgen.schedule.schedules import packaged
from tests.specs import operator

OPERATORS = {
    "copied": "input X : cvm[N]\noutput Y : cvm[N] precision p(X)\nY[i] = X[i]",
    "product": "input X : cvm[M, K]\ninput W : cvm[N, K]\noutput Y : cvm[M, N] precision 32\n"
    "Y[i, j] = sum[k < K](X[i, k] * W[j, k])",
    "typed": "type T in int16, int32, float64\ninput X : T[N]\noutput Y : T[N]\nY[i] = X[i]",
}
KERNEL = {"c": (i.Invoke,), "cuda": (i.Launch,)}


@cache
def kernels(name: str, target: str) -> Kernels:
    lowered = lower(operator(f'"Test."\n{OPERATORS[name]}'), TARGETS[target].passes)
    found = kernels_or_program(lowered, target, packaged())
    assert isinstance(found, Kernels)
    return found


def starts(node: Any) -> bool:
    """Whether a statement starts a kernel."""
    if isinstance(node, i.Launch):
        return True
    return isinstance(node, i.Invoke) and "free" not in node.call.function


def unknown(node: Any) -> Any:
    match node:
        case i.Invoke() if starts(node):
            return replace(node, call=replace(node.call, function="other"))
        case i.Launch():
            return replace(node, kernel="other")
        case _:
            return node


def given(change: Callable[[tuple[i.Expr, ...]], tuple[i.Expr, ...]], node: Any) -> Any:
    match node:
        case i.Invoke(call=call) if starts(node):
            return replace(node, call=replace(call, arguments=change(call.arguments)))
        case i.Launch(arguments=arguments):
            return replace(node, arguments=change(arguments))
        case _:
            return node


def one_less(node: Any) -> Any:
    return given(lambda arguments: arguments[:-1], node)


def turned_around(node: Any) -> Any:
    return given(lambda arguments: arguments[::-1], node)


def exchanged(node: Any) -> Any:
    match node:
        case i.If(then=then, otherwise=otherwise) if then and otherwise:
            return replace(node, then=otherwise, otherwise=then)
        case _:
            return node


def without_last(node: Any) -> Any:
    match node:
        case i.If(otherwise=(*_, last)) if starts(last):
            return replace(node, otherwise=())
        case _:
            return node


def other_test(node: Any) -> Any:
    return i.Not(node) if node == NARROW_RESULT else node


def other_row(node: Any) -> Any:
    match node:
        case i.Call(function="row", arguments=(i.Const(value=0),)):
            return replace(node, arguments=(i.ONE,))
        case _:
            return node


def unbound(node: Any) -> Any:
    match node:
        case i.Let(type="status"):
            return replace(node, name="@other")
        case _:
            return node


FAULTS = [
    ("copied", unknown, "it starts other, which is no kernel"),
    ("copied", one_less, "is given"),
    ("copied", turned_around, "which is"),
    ("copied", exchanged, "for the element types"),
    ("copied", without_last, "it starts no kernel where f_Y_int32_int32"),
    ("copied", other_test, "for the element types"),
    ("typed", other_row, "for the element types"),
    ("typed", without_last, "it starts no kernel where f_Y_float64"),
    ("product", one_less, "is given"),
    ("product", unbound, "@status"),
]


@pytest.mark.parametrize("target", ["c", "cuda"])
@pytest.mark.parametrize(("name", "change", "said"), FAULTS)
def test_faults_in_calls_are_refused(
    name: str, change: Callable[[Any], Any], said: str, target: str
) -> None:
    made = kernels(name, target)
    assert not dispatch_fault(made)
    assert said in dispatch_fault(replace(made, call=rebuild(made.call, change)))


A, B, C = (i.Var(name) for name in "abc")
UNDECIDED = [
    ((A, B), [], (A, B), "nothing has failed"),
    ((A, i.Not(B)), [(A, B)], (A,), "b alone was left to fail"),
    ((i.Not(A), B), [(A, B), (A, i.Not(B))], (B,), "where b holds, a was left to fail"),
    ((i.Not(A), B), [(A,)], (B,), "a has failed"),
    ((i.Not(A), i.Not(B)), [(A, B), (A, i.Not(B)), (i.Not(A), B)], (i.Not(B),), "one of the two"),
    ((A, i.Not(B)), [(C, B)], (A, i.Not(B)), "c may have been what failed"),
]


@pytest.mark.parametrize(("tests", "failed", "left", "why"), UNDECIDED)
def test_decided_tests_are_left_out(
    tests: tuple[i.Expr, ...], failed: list[tuple[i.Expr, ...]], left: tuple[i.Expr, ...], why: str
) -> None:
    assert undecided(tests, failed) == left, why
