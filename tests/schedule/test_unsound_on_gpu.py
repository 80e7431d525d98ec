"""Faults planted into kernels that mappings made, and into what the host does: each is refused."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import cache
from typing import Any

import pytest

from cvmgen.driver import mapped_kernels
from cvmgen.ir import nodes as i
from cvmgen.ir.threads import GRID, LANE
from cvmgen.ir.visit import rebuild
from cvmgen.schedule.gpu.choice import unsound_on_gpu
from cvmgen.schedule.kernels import Kernel
from tests.specs import operator

OPERATORS = {
    "sums": "input X : cvm[N, K]\noutput Y : cvm[N] precision 32\nY[i] = sum[k < K](X[i, k])",
    "windows": "input X : cvm[H, W]\noutput Y : cvm[H, W] precision 32\n"
    "Y[i, j] = sum[a < 3, b < 3](X[min(i + a, H - 1), min(j + b, W - 1)])",
    "pooled": "input X : cvm[C, H, W]\nattr size (KH, KW) = (2, 2) in [1, 9)\n"
    'require H >= KH and W >= KW : "small"\n'
    "output Y : cvm[C, H - KH + 1, W - KW + 1] precision p(X)\n"
    "Y[c, i, j] = max[a < KH, b < KW](X[c, i + a, j + b])",
    "product": "input X : cvm[M, K]\ninput W : cvm[N, K]\noutput Y : cvm[M, N] precision 32\n"
    "Y[i, j] = sum[k < K](X[i, k] * W[j, k])",
    "scaled": "input X : float32[N]\noutput Y : float32[N]\nY[i] = X[i] * 2.0",
}


@cache
def kernels(name: str) -> tuple[Kernel, ...]:
    return mapped_kernels(operator(f'"Test."\n{OPERATORS[name]}'), None).kernels


def faults(name: str, change: Callable[[Any], Any]) -> str:
    """What is wrong with the kernels of an operator after a change of their nodes."""
    found = []
    for kernel in kernels(name):
        assert kernel.mapped is not None
        functions = tuple(
            replace(each, body=rebuild(each.body, change)) for each in kernel.mapped.functions
        )
        before, start = rebuild((kernel.mapped.before, kernel.mapped.start), change)
        mapped = replace(kernel.mapped, functions=functions, before=before, start=start)
        found += unsound_on_gpu(replace(kernel, mapped=mapped))
    return "\n".join(found)


def narrower(node: Any) -> Any:
    match node:
        case i.Let(type="u32" | "i32" | "i64", value=i.Const()):
            return replace(node, type="i8")
        case _:
            return node


def function_of_reals(node: Any) -> Any:
    match node:
        case i.Lambda(parameters=(i.Typed(type="i64" | "i32") as one, *others)):
            return replace(node, parameters=(replace(one, type="f64"), *others))
        case _:
            return node


def unbound(node: Any) -> Any:
    match node:
        case i.Store(target=i.Load() as place):
            return replace(node, target=replace(place, offset=i.Var("nowhere")))
        case _:
            return node


def stored_by_all(node: Any) -> Any:
    match node:
        case i.If(then=(*_, i.Store())):
            return replace(node, condition=i.Const(True))
        case _:
            return node


def barrier_for_some(node: Any) -> Any:
    match node:
        case i.Barrier(span=span):
            return i.If(i.Compare("==", LANE, i.ZERO), (node,), (), span)
        case _:
            return node


def no_barrier(node: Any) -> Any:
    return i.If(i.Const(True), (), (), node.span) if isinstance(node, i.Barrier) else node


def divided(node: Any) -> Any:
    match node:
        case i.Loop(body=(*_, i.Accumulate()), share=None):
            return replace(node, share=GRID)
        case _:
            return node


def no_kernel(node: Any) -> Any:
    return replace(node, kernel="_of_none") if isinstance(node, i.Launch) else node


def too_much(node: Any) -> Any:
    return replace(node, arguments=(i.ONE,) * 9) if isinstance(node, i.Launch) else node


def counted_in_reals(node: Any) -> Any:
    return replace(node, count=i.Real("0.5")) if isinstance(node, i.Launch) else node


def lane_of_reals(node: Any) -> Any:
    match node:
        case i.SetAt(value=value):
            return replace(node, value=i.Convert("i32", value))
        case _:
            return node


PLANTED = [
    ("sums", narrower, "of i8 is given", "a sum in a type that does not hold it"),
    ("product", function_of_reals, "f64", "what a helper gives to a function, of another type"),
    ("scaled", lane_of_reals, "is given i32", "an integer in a vector of real numbers"),
    ("windows", unbound, "nowhere is read where nothing binds it", "a name of nothing"),
    ("sums", stored_by_all, "all threads of a block store", "a result of each thread"),
    ("pooled", barrier_for_some, "not all threads of a block reach a barrier", "a barrier"),
    ("pooled", no_barrier, "before all threads", "what a block shares, read at once"),
    ("windows", divided, "is divided among all threads, and carries", "a sum of all threads"),
    ("sums", no_kernel, "kernel_of_none is started", "a kernel that is not there"),
    ("sums", too_much, "is started with 9 arguments", "arguments for no parameter"),
    ("sums", counted_in_reals, "an index is f64", "half a thread"),
]


@pytest.mark.parametrize("name", OPERATORS)
def test_what_mappings_make_is_sound(name: str) -> None:
    assert faults(name, lambda node: node) == ""


@pytest.mark.parametrize(
    ("name", "change", "part", "why"), PLANTED, ids=[row[3] for row in PLANTED]
)
def test_planted(name: str, change: Callable[[Any], Any], part: str, why: str) -> None:
    assert part in faults(name, change), why
