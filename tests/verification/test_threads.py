"""Threads of kernels: of right ones it is proved that they do not race and meet at barriers; each
planted fault is refuted by two threads."""

from collections.abc import Callable
from dataclasses import replace
from functools import cache
from typing import Any

import pytest

from cvmgen.driver import mapped_kernels
from cvmgen.ir import nodes as i
from cvmgen.ir.threads import LANE, LANES, THREAD, own
from cvmgen.ir.visit import rebuild, walk
from cvmgen.schedule.kernels import Kernels
from cvmgen.verification.proofs import Prover
from cvmgen.verification.threads import ThreadFindings, races_of
from cvmgen.verification.threads_pairs import DEAD, TWO
from tests.specs import operator

pytest.importorskip("z3")
pytest.importorskip("cvc5")
PROVER = Prover()

RELU = """
  input X : cvm[n...]
  output Y : cvm[n...]
  Y[d...] = max(0, X[d...])
"""
POOL = """
  input X : cvm[C, H, W]
  output Y : cvm[C, H - 2, W - 2]
  Y[c, y, x] = max[i < 3, j < 3](X[c, y + i, x + j])
"""
ROWS = """
  input X : cvm[M, K]
  output Y : cvm[M]
  Y[i] = sum[k < K](X[i, k])
"""
PRODUCT = """
  input X : cvm[M, K]
  input W : cvm[N, K]
  output Y : cvm[M, N]
  Y[i, j] = sum[k < K](X[i, k] * W[j, k])
"""
TURNED = """
  input X : cvm[M, N]
  output Y : cvm[N, M]
  Y[j, i] = X[i, j]
"""
# What the solvers give up on: where parts of results lie that several blocks make.
LEFT = {"rows": {"memory of parts"}}
FORMULAS = {"relu": RELU, "pool": POOL, "rows": ROWS, "product": PRODUCT, "turned": TURNED}


@cache
def kernels(formula: str) -> Kernels:
    return mapped_kernels(operator(formula))


def results(
    formula: str, number: int = 0, change: Callable[[i.Block], i.Block] = tuple
) -> list[ThreadFindings]:
    """Of one function of the first kernel, with something changed."""
    made = kernels(formula)
    kernel = made.kernels[0]
    assert kernel.mapped is not None
    function = kernel.mapped.functions[number]
    changed = replace(function, body=change(function.body))
    assert change is tuple or changed.body != function.body, "nothing is changed"
    return list(races_of(made.program, kernel, changed, PROVER))


@pytest.mark.parametrize(
    "name",
    [pytest.param(e, marks=[pytest.mark.slow] if e == "product" else []) for e in FORMULAS],
)
def test_right_kernels_are_proved(name: str) -> None:
    mapped = kernels(FORMULAS[name]).kernels[0].mapped
    assert mapped is not None
    for number in range(len(mapped.functions)):
        found = results(FORMULAS[name], number)
        unproved = {each.shown for each in found if each.status != "proved"}
        assert unproved <= LEFT.get(name, set()), [str(each.verdict) for each in found]
        assert found


def nobody(body: i.Block) -> i.Block:
    """A kernel of which no thread does anything, though the text alone does not say so."""
    return tuple(
        i.If(i.Compare("<", LANE, i.ZERO), (each,), (), each.span)
        if isinstance(each, i.Loop)
        else each
        for each in body
    )


def test_what_nobody_comes_to_is_not_proved() -> None:
    found = results(RELU, 0, nobody)
    assert {each.status for each in found} == {DEAD}


def test_who_comes_to_the_places_of_proofs() -> None:
    assert {each.reached for each in results(POOL)} == {TWO}


def everywhere(change: Callable[[Any], Any]) -> Callable[[i.Block], i.Block]:
    return lambda body: rebuild(body, change)


def without(kind: type, which: int) -> Callable[[i.Block], i.Block]:
    """The kernel without one of its statements of a kind."""

    def changed(body: i.Block) -> i.Block:
        lost = [each for each in walk(body) if isinstance(each, kind)][which]

        def kept(node: Any) -> Any:
            if isinstance(node, i.Loop):
                return replace(node, body=tuple(each for each in node.body if each is not lost))
            return node

        return rebuild(body, kept)

    return changed


def first_lanes(node: Any) -> Any:
    """A barrier that only some lanes come to."""
    if isinstance(node, i.Barrier):
        return i.If(i.Compare("<", LANE, i.Const(16)), (node,), (), node.span)
    return node


def shared_by(name: str, first: i.Expr, step: i.Expr) -> Callable[[Any], Any]:
    """A loop that is divided otherwise."""

    def changed(node: Any) -> Any:
        if isinstance(node, i.Share) and node.among == name:
            return i.Share(name, first, step)
        return node

    return changed


def vectors_of_15(node: Any) -> Any:
    match node:
        case i.Let(name="d", value=i.Binary(op="*", left=left)):
            return replace(node, value=i.Binary("*", left, i.Const(15)))
        case _:
            return node


def one_place(node: Any) -> Any:
    """All threads store to the first place of the box."""
    match node:
        case i.Store(target=i.Load(tensor="X_box") as target):
            return replace(node, target=replace(target, offset=i.ZERO))
        case _:
            return node


def all_store(node: Any) -> Any:
    """No test of who stores the result of a team."""
    match node:
        case i.Call(function="stores"):
            return i.Const(True)
        case _:
            return node


def columns_of_rows(node: Any) -> Any:
    """The stride of rows is that of columns."""
    match node:
        case i.Store(target=i.Load(offset=i.Binary(op="+", left=i.Binary() as row)) as target):
            swapped = replace(row, right=i.Var("M"))
            offset = replace(target.offset, left=swapped)
            return replace(node, target=replace(target, offset=offset))
        case _:
            return node


THREADS = own("threads")
# formula, number of the function, the fault, what is refuted
PLANTED = {
    "vectors that overlap": (RELU, 0, everywhere(vectors_of_15), "race"),
    "threads begin before the last one ends": (
        *(RELU, 0),
        everywhere(shared_by("grid", THREAD, i.Binary("-", THREADS, i.ONE))),
        "race",
    ),
    "the lane for the thread": (RELU, 0, everywhere(shared_by("grid", LANE, THREADS)), "race"),
    "no barrier behind the box": (POOL, 0, without(i.Barrier, 0), "race"),
    "no barrier in front of the next box": (POOL, 0, without(i.Barrier, 1), "race"),
    "a barrier of 16 lanes": (POOL, 0, everywhere(first_lanes), "barrier"),
    "all lanes at one place": (POOL, 0, everywhere(one_place), "race"),
    "lanes that make iterations of their neighbours": (
        *(POOL, 0),
        everywhere(shared_by("block", LANE, i.Binary("-", LANES, i.ONE))),
        "race",
    ),
    "all threads of a team store": (ROWS, 0, everywhere(all_store), "race"),
    "rows that overlap": (PRODUCT, 1, everywhere(columns_of_rows), "race"),
}


@pytest.mark.parametrize("name", PLANTED)
def test_planted_races_are_refuted(name: str) -> None:
    formula, number, change, kind = PLANTED[name]
    found = results(formula, number, change)
    refuted = [each for each in found if each.verdict.status == "refuted" and each.kind == kind]
    assert refuted, [str(each.verdict) for each in found]
    for each in refuted:
        model = each.verdict.model
        one = model["lane"], model.get("block", 0)
        other = model.get("lane~", one[0]), model.get("block~", one[1])
        assert one != other, "two threads"
        assert "lane" in str(each.verdict)
        assert kind != "race" or each.verdict.address is not None
