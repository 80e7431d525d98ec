"""Boxes of any rank: those of right host code lie in their tensors; with a fault planted in the
host code none is proved. What the proof says of merging is tried with numbers."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import cache
from itertools import product
from random import Random

import pytest

from cvmgen.ir import nodes as i
from cvmgen.ir.text import block_lines, text
from cvmgen.ir.uses import nodes_in
from cvmgen.ir.visit import rebuild
from cvmgen.schedule.kernels import Kernel, Kernels
from cvmgen.schedule.schedules import packaged
from cvmgen.verification.boxes import Boxes
from cvmgen.verification.obligations import WALKS, Obligation
from cvmgen.verification.proofs import Prover
from cvmgen.verification.verify import KernelProofs, scheduled_kernels
from tests.specs import operator
from tests.verification.test_bounds import mutated

pytest.importorskip("z3")
pytest.importorskip("cvc5")
PROVER = Prover()

BROADCAST = """
  input A : cvm[m...]
  input B : cvm[n...]
  let M = len(m)
  let N = len(n)
  let Q = max(M, N)
  let em = (1 if i < Q - M else m[i - (Q - M)] for i < Q)
  let en = (1 if i < Q - N else n[i - (Q - N)] for i < Q)
  require all[i < Q](em[i] == en[i] or em[i] == 1 or en[i] == 1) : "the shapes do not broadcast"
  output Y : cvm[(max(em[i], en[i]) for i < Q)...]
  Y[d...] = max(A[(d[Q - M + j] if m[j] != 1 else 0 for j < M)...],
                B[(d[Q - N + j] if n[j] != 1 else 0 for j < N)...])
"""
REVERSED = """
  input X : cvm[n...]
  let N = len(n)
  let R = (N - 1 - i for i < N)
  output Y : cvm[(n[R[i]] for i < N)...]
  Y[(d[R[i]] for i < N)...] = X[d...] + 1 forall d... < n...
"""
CROPPED = """
  input X : cvm[n...]
  attr begin : int list = () in [0, inf)
  let N = len(n)
  require len(begin) == N : "one beginning for each dimension"
  output Y : cvm[(n[i] - begin[i] for i < N)...]
  Y[d...] = X[(d[i] + begin[i] for i < N)...] + 1
"""
REDUCED = """
  input X : cvm[n...]
  let N = len(n)
  attr axes : int list = () in [0, N)
  let R = {a for a in axes}
  let U = {i for i < N}
  let K = U - R
  require count(K) > 0 : "one dimension is left"
  output Y : cvm[(n[i] for i in K)...]
  Y[(d[i] for i in K)...] = max[d[j] < n[j] for j in R](X[d...])
"""
SPREAD = """
  input X : cvm[n...]
  let N = len(n)
  attr a in [0, N + 1)
  output Y : cvm[n[:a]..., (1 for i < 2)..., n[a:]...]
  Y[(d[j] if j < a else (0 if j < a + 2 else d[j - 2]) for j < N + 2)...] = X[d...]
    forall d... < n...
"""
KEPT = """
  input X : cvm[n...]
  let N = len(n)
  attr axes : int list = () in [0, N)
  let R = {a for a in axes}
  let K = {i for i < N} - R
  require count(K) > 0 : "one dimension is left"
  output Y : cvm[(1 if i in R else n[i] for i < N)...]
  Y[(0 if i in R else d[i] for i < N)...] = max[d[j] < n[j] for j in R](X[d...])
    forall d[i] < n[i] for i in K
"""
PERMUTED = """
  input X : cvm[n...]
  let N = len(n)
  attr axes : int list = () in [0, N)
  let T = {a for a in axes}
  require count(T) == len(axes) and len(axes) == N : "every axis once"
  output Y : cvm[(n[axes[i]] for i < N)...]
  Y[(d[axes[i]] for i < N)...] = X[d...] + 1 forall d... < n...
"""
CHOSEN = """
  input A : cvm[m...] or empty
  input B : cvm[n...] or empty
  let R = len(m)
  require len(n) == R : "the ranks must be the same"
  require all[i < R](m[i] >= 1) and all[i < R](n[i] >= 1) : "extents must be at least 1"
  let y = (max(m[i], n[i]) for i < R)
  require all[i < R](m[i] in (1, y[i]) and n[i] in (1, y[i])) : "the shapes do not broadcast"
  output Y : cvm[y...] or empty
  Y[d...] = max(A[(d[i] if m[i] != 1 else 0 for i < R)...],
                B[(d[i] if n[i] != 1 else 0 for i < R)...])
"""
RIGHT = {"broadcast": BROADCAST, "reversed": REVERSED, "cropped": CROPPED, "reduced": REDUCED}
RIGHT |= {"chosen": CHOSEN}
WRITTEN = {"reversed": REVERSED, "spread": SPREAD, "kept": KEPT, "permuted": PERMUTED}


@cache
def kernels_of(name: str) -> Kernels:
    return scheduled_kernels(operator((RIGHT | WRITTEN)[name]), packaged())


def walks(kernels: Kernels, kernel: Kernel) -> list[Obligation]:
    found = KernelProofs(kernels, kernel, PROVER).boxes
    return [each for each in found if each.about == WALKS]


@pytest.mark.parametrize("name", RIGHT)
def test_boxes_of_right_host_code_are_proved(name: str) -> None:
    kernels = kernels_of(name)
    found = walks(kernels, kernels.widest(0))
    assert found
    assert [(each.shown, each.why) for each in found if each.status != "proved"] == []


@pytest.mark.parametrize("name", RIGHT)
def test_what_proofs_begin_with_can_be(name: str) -> None:
    """Of no claim can the hypotheses not hold at once: it would be shown whatever it says."""
    kernels = kernels_of(name)
    proofs = KernelProofs(kernels, kernels.widest(0), PROVER)
    for demand, walk in proofs.walked.items():
        for path, _ in Boxes(proofs.call, demand.tensor, walk).claims() or ():
            assert PROVER.possible(proofs.symbols, path).status != "refuted"


# ---------------------------------------------------------------- mutants


def next_stride(node: object) -> Iterator[object]:
    """The stride of the next dimension."""
    if isinstance(node, i.Item) and "strides" in text(node.sequence):
        yield replace(node, index=i.Binary("+", node.index, i.ONE))


def next_step(node: object) -> Iterator[object]:
    """A step of the box's next dimension."""
    if isinstance(node, i.AddAt):
        yield replace(node, index=i.Binary("+", node.index, i.ONE))


def twice(node: object) -> Iterator[object]:
    """A step of two strides."""
    if isinstance(node, i.AddAt):
        yield replace(node, value=i.Binary("*", i.Const(2), node.value))


def added_again(node: object) -> Iterator[object]:
    """Each step is added a second time."""
    if isinstance(node, i.Loop) and any(nodes_in(node, i.AddAt)):
        yield replace(node, body=(*node.body, *node.body))


def without_test(node: object) -> Iterator[object]:
    """A step is added where the dimension is not walked."""
    if isinstance(node, i.If) and any(nodes_in(node, i.AddAt)):
        yield replace(node, condition=i.Const(True))


def larger(node: object) -> Iterator[object]:
    """The box is larger than what is read."""
    if isinstance(node, i.Append) and node.name.startswith("entries"):
        yield replace(node, value=i.Binary("+", node.value, i.ONE))


def unchecked(node: object) -> Iterator[object]:
    """A requirement of the shapes is not checked."""
    if isinstance(node, i.Require):
        yield replace(node, condition=i.Const(True))


def one_too_many(node: object) -> Iterator[object]:
    """A loop over dimensions runs once more."""
    if isinstance(node, i.Loop) and node.low is not None and any(nodes_in(node, i.AddAt)):
        yield replace(node, high=i.Binary("+", node.high, i.ONE))


def overlapping(node: object) -> Iterator[object]:
    """What is reduced is kept as well."""
    if isinstance(node, i.Binary) and node.op == "difference":
        yield node.left


MUTANTS = [
    ("broadcast", next_stride, "a row is as far away as the tensor is long"),
    ("broadcast", next_step, "tensors are aligned at their last dimension"),
    ("broadcast", twice, "every second element lies beyond the last one"),
    ("broadcast", added_again, "the same"),
    ("broadcast", without_test, "an extent of 1 has one element"),
    ("broadcast", larger, "the last element has no other behind it"),
    ("broadcast", unchecked, "extents of 2 and 3 do not broadcast"),
    ("broadcast", one_too_many, "there is no dimension behind the last one"),
    ("reversed", next_stride, "the strides are those of other dimensions"),
    ("reversed", next_step, "the box has another extent there"),
    ("reversed", twice, "every second element lies beyond the last one"),
    ("reversed", one_too_many, "there is no dimension behind the last one"),
    ("cropped", twice, "every second element lies beyond the last one"),
    ("cropped", next_stride, "a row is as far away as the tensor is long"),
    ("cropped", larger, "the last element has no other behind it"),
    ("cropped", unchecked, "begin has fewer entries than the shape"),
    ("reduced", next_stride, "a row is as far away as the tensor is long"),
    ("reduced", overlapping, "a dimension has two digits"),
]


@pytest.mark.parametrize(("name", "change", "why"), MUTANTS)
def test_mutants_are_not_proved(
    name: str, change: Callable[[object], Iterator[object]], why: str
) -> None:
    kernels = kernels_of(name)
    prepare = kernels.program.prepare
    places = sum(len(list(change(node))) for node in all_nodes(prepare))
    assert places
    for wanted in range(places):
        program = replace(kernels.program, prepare=mutated(prepare, change, wanted))
        other = replace(kernels, program=program)
        assert any(each.status != "proved" for each in walks(other, kernels.widest(0))), why


# ---------------------------------------------------------------- what is written


def written(kernels: Kernels) -> set[str]:
    kernel = next(each for each in kernels.kernels if not each.nest.guarded)
    found = {each.status for each in KernelProofs(kernels, kernel, PROVER).written()}
    assert found
    return found


@pytest.mark.parametrize("name", WRITTEN)
def test_each_element_is_one_place_of_a_box(name: str) -> None:
    assert written(kernels_of(name)) == {"proved"}


def one_too_few(node: object) -> Iterator[object]:
    """A dimension of the tensor has no step: all is written there to one place."""
    if isinstance(node, i.Loop) and node.low is not None and any(nodes_in(node, i.AddAt)):
        yield replace(node, high=i.Binary("-", node.high, i.ONE))
        yield replace(node, low=i.Binary("+", node.low, i.ONE))


def along_one(node: object) -> Iterator[object]:
    """Steps of all dimensions are added up along one: a diagonal of the tensor is written."""
    if isinstance(node, i.AddAt):
        yield replace(node, index=i.ZERO)


def backward(node: object) -> Iterator[object]:
    """The box has its extents in another order than its steps."""
    if isinstance(node, i.AddAt) and isinstance(node.index, i.Item):
        yield replace(node, index=node.value.index)


def not_checked(node: object) -> Iterator[object]:
    """An axis may stand there twice, or be missing."""
    if isinstance(node, i.Require) and "axes" in text(node.condition):
        yield replace(node, condition=i.Const(True))


LOST = [
    ("reversed", one_too_few),
    ("reversed", along_one),
    ("reversed", backward),
    ("reversed", twice),
    ("spread", one_too_few),
    ("spread", along_one),
    ("spread", next_step),
    ("kept", one_too_few),
    ("kept", along_one),
    ("permuted", not_checked),
    ("permuted", added_again),
]


@pytest.mark.parametrize(("name", "change"), LOST)
def test_elements_that_are_left_out_or_written_twice_are_found(
    name: str, change: Callable[[object], Iterator[object]]
) -> None:
    """What the host adds to the steps of the result; those of what is read change nothing."""
    kernels = kernels_of(name)
    prepare = kernels.program.prepare
    changed = 0
    for wanted in range(sum(len(list(change(node))) for node in all_nodes(prepare))):
        other = mutated(prepare, change, wanted)
        if steps_of(other, "Y") != steps_of(prepare, "Y") or change is not_checked:
            changed += 1
            found = replace(kernels, program=replace(kernels.program, prepare=other))
            assert written(found) != {"proved"}, block_lines(other)
    assert changed


def steps_of(body: i.Block, tensor: str) -> list[object]:
    """The statements that make steps of a tensor."""
    loops = [each for each in all_nodes(body) if isinstance(each, i.Loop)]
    return [e for e in loops if any(tensor in each.name for each in nodes_in(e, i.AddAt))]


def all_nodes(body: i.Block) -> list[object]:
    found: list[object] = []

    def seen(node: object) -> object:
        found.append(node)
        return node

    rebuild(body, seen)
    return found


# ---------------------------------------------------------------- merging


def offsets(box: list[int], walks: list[list[int]]) -> list[tuple[int, ...]]:
    places = product(*map(range, box))
    return [tuple(sum(map(int.__mul__, each, steps)) for steps in walks) for each in places]


def merged(box: list[int], walks: list[list[int]]) -> tuple[list[int], list[list[int]]]:
    """As the host does it: dimensions of extent 1 go, neighbours that all walk alike are one."""
    kept: list[tuple[int, list[int]]] = []
    for at, extent in enumerate(box):
        steps = [each[at] for each in walks]
        if extent == 1:
            continue
        if kept and kept[-1][1] == [each * extent for each in steps]:
            extent *= kept.pop()[0]
        kept.append((extent, steps))
    kept = kept or [(1, [0] * len(walks))]
    return [extent for extent, _ in kept], [
        list(e) for e in zip(*(s for _, s in kept), strict=True)
    ]


@pytest.mark.parametrize("seed", range(40))
def test_merging_keeps_offsets(seed: int) -> None:
    random = Random(seed)
    box = [random.choice((0, 1, 1, 2, 2, 3)) for _ in range(random.randint(1, 5))]
    whole = [1]
    for extent in reversed(box):
        whole.insert(0, whole[0] * max(extent, 1))
    kinds = [whole[1:], [random.choice((0, 1, -2)) * each for each in whole[1:]]]
    small, fewer = merged(box, kinds)
    assert offsets(small, fewer) == offsets(box, kinds)
    for extent, steps in zip(small, zip(*fewer, strict=True), strict=True):
        assert extent != 1 or not any(steps)  # what `boxes.py` says of the last step
