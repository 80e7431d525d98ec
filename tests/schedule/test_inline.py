"""Inline functions: branches that do the same for known values of the call say it once."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import cache
from typing import Any

import pytest

from cvmgen.driver import C, kernels_or_program, lower
from cvmgen.ir import nodes as i
from cvmgen.ir.visit import rebuild, walk
from cvmgen.schedule.inline import same_but_for_names, unsound_inline
from cvmgen.schedule.kernels import Family, Kernels
from cvmgen.schedule.schedules import packaged
from cvmgen.source import Source, Span
from tests.operators import product

SPAN = Span(Source("a.cvm", "x"), 0, 1)


@cache
def family() -> Family:
    pooling = next(each for each in product() if each.full_name == "cvm.max_pool2d")
    found = kernels_or_program(lower(pooling, C), "c", packaged())
    assert isinstance(found, Kernels)
    return found.families[0]


def test_branches_become_calls_with_what_they_know() -> None:
    inlined = family().inlined
    assert inlined is not None
    (function,) = inlined.functions
    assert function.name == "max_pool2d_Y_branch"
    assert function.parameters == ("SW",)
    assert function.in_threads
    bodies = tuple(each.body for each in inlined.parts)
    calls = [each for each in walk(bodies) if isinstance(each, i.CallInline)]
    assert [each.values for each in calls] == [(i.Const(1),), (i.Const(2),), (i.Var("SW"),)]
    assert not unsound_inline(family())


def changed(kind: type, **fields: object) -> Callable[[Any], Any]:
    return lambda node: replace(node, **fields) if isinstance(node, kind) else node


PLANTED = [
    (changed(i.CallInline, values=(i.ONE,)), "are not what branches do", "another value"),
    (changed(i.Accumulate, op="min"), "are not what branches do", "another operation"),
    (changed(i.Let, name="other"), "reads|binds|changes|are not what", "a local that nobody sets"),
    (changed(i.Load, tensor="Z"), "elements of Z, which is no array there", "another tensor"),
]


@pytest.mark.parametrize(("change", "said", "why"), PLANTED, ids=[row[-1] for row in PLANTED])
def test_faults_are_found(change: Callable[[Any], Any], said: str, why: str) -> None:
    inlined = family().inlined
    assert inlined is not None
    functions = tuple(replace(each, body=rebuild(each.body, change)) for each in inlined.functions)
    parts = tuple(each.with_body(rebuild(each.body, calls_only(change))) for each in inlined.parts)
    wrong = replace(inlined, functions=functions, parts=parts)
    found = " ".join(unsound_inline(replace(family(), inlined=wrong)))
    assert any(each in found for each in said.split("|")), why


def calls_only(change: Callable[[Any], Any]) -> Callable[[Any], Any]:
    return lambda node: change(node) if isinstance(node, i.CallInline) else node


def let(name: str, value: i.Expr) -> i.Block:
    return (i.Let(name, "i64", value, SPAN), i.Store(i.Load("Y", None, i.ZERO), i.Var(name), SPAN))


TIMES_ONE = i.Binary("*", i.Var("x"), i.ONE)
ALIKE = [
    (let("a", i.Var("x")), let("b", i.Var("x")), True, "other names"),
    (let("a", TIMES_ONE), let("a", i.Var("x")), True, "neutral factors"),
    (let("a", i.Var("x")), let("a", i.Var("y")), False, "another value"),
    (let("a", i.Var("x")), let("x", i.Var("x")), False, "a name that hides what is read"),
    (let("a", i.Var("x")), let("a", i.Var("x"))[:1], False, "fewer statements"),
]


@pytest.mark.parametrize(("one", "other", "same", "why"), ALIKE, ids=[row[-1] for row in ALIKE])
def test_statements_are_alike(one: i.Block, other: i.Block, same: bool, why: str) -> None:
    assert same_but_for_names(one, other) == same, why
