"""Each workload at a tiny size: its data, its probe, and the integers of every library here."""

from __future__ import annotations

import ctypes
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from benchmarks import nets, ours
from benchmarks.cases import Call, Input, Problem, Workload
from benchmarks.peers import Peer, find_peers
from benchmarks.probes import Probes, products
from benchmarks.worker import agrees, peer_calls, prepare
from benchmarks.workloads import NET_PRODUCTS, WORKLOADS, by_name, chosen
from cvmgen.build import c_compiler
from cvmgen.errors import BuildError

Array = np.ndarray[Any, Any]
WHOLE = ("graph", "model", "onnx model", "load")
TINY = [each for each in WORKLOADS if each.kind not in WHOLE]


def pointer(array: Array) -> ctypes.c_void_p:
    return ctypes.c_void_p(array.ctypes.data)


@pytest.fixture(scope="module", autouse=True)
def compiler() -> None:
    try:
        c_compiler()
    except BuildError as error:
        pytest.skip(str(error))


@pytest.fixture(scope="module")
def probes() -> Probes:
    return Probes(2)


@pytest.fixture(scope="module")
def peers() -> list[Peer]:
    return find_peers(1)[0]


def test_names_are_different() -> None:
    assert len({each.name for each in WORKLOADS}) == len(WORKLOADS)
    assert by_name("no such workload") is None
    assert [each.name for each in chosen("^dense 64")] == ["dense 64x1024x1024"]


# Other libraries warn of what they are about to change.
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("workload", TINY, ids=lambda each: each.name)
def test_every_library_has_our_integers(
    workload: Workload, peers: list[Peer], probes: Probes
) -> None:
    problem = workload.problem(tiny=True)
    for given, array in zip(problem.inputs, problem.arrays, strict=True):
        assert (array.shape, array.dtype) == (given.shape, np.dtype(given.dtype))
        if array.dtype.kind == "i":
            assert np.abs(array).max() < 1 << (given.bits - 1), "what the precision holds"
    mine = prepare(problem)
    calls, failed = peer_calls(problem, peers)
    assert not failed
    assert (
        "numpy" in {call.library for call in calls}
        or "conv2d" in workload.name
        or workload.kind.startswith(("cvm.non_max_suppression", "tflite."))
    ), "numpy is always there, but has no convolution, no suppression and no quantized layers"
    assert [call.name for call in (*mine, *calls) if not agrees(call, problem)] == []
    limit = probes.limit(problem)
    assert (limit is None) == (workload.limit is None)
    if limit is not None:
        limit.call.run()
        assert limit.scale > 0


def test_other_targets_are_shown_beside() -> None:
    workload = by_name("abs, 16 M")
    assert workload is not None
    problem = workload.problem(tiny=True)
    first, other = prepare(problem, also=("python",))
    assert (first.name, first.beside) == ("cvmgen", False)
    assert (other.name, other.beside) == ("cvmgen, python", True)
    assert agrees(other, problem)


class Doubling:
    """An operator that can be bound to constants: it multiplies by them."""

    variadic = None

    def __init__(self) -> None:
        self.bindings: list[tuple[Any, ...]] = []

    def bind(self, *given: Any, precisions: Any) -> Any:
        self.bindings.append(given)

        def run(x: Array, out: Array | None = None) -> Array:
            return np.multiply(x, given[1], out=out)

        return run


def test_constants_are_bound_once_with_the_shapes_of_the_rest(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    operator = Doubling()
    monkeypatch.setattr(ours, "operator_of", lambda problem, target: operator)
    inputs = Input((2, 3)), Input((3,), constant=True)
    workload = Workload("scale", "cvm.scale", inputs, tiny=((2, 3), (3,)))
    problem = workload.problem(tiny=True)
    (call,) = prepare(problem)
    x, w = problem.arrays
    ((shape, constant),) = operator.bindings
    assert shape == (2, 3)
    assert constant is w
    x += 1
    assert not agrees(call, problem), "each call reads the other inputs"
    assert call.result is not None
    assert np.array_equal(call.result()[0], x * w)


def test_what_differs_is_seen() -> None:
    workload = by_name("abs, 16 M")
    assert workload is not None
    problem = workload.problem(tiny=True)
    prepare(problem)
    other = problem.empty()
    assert not agrees(Call("peer", lambda: None, lambda: other), problem)
    assert agrees(Call("peer", lambda: None), problem), "it makes no integers that could be ours"


def test_a_library_that_refuses_does_not_end_the_measurement() -> None:
    def refuse(problem: Problem) -> list[Call]:
        raise RuntimeError("not on this machine\nand more")

    workload = by_name("abs, 16 M")
    assert workload is not None
    problem = workload.problem(tiny=True)
    prepare(problem)
    calls, failed = peer_calls(problem, [Peer("other", "1", {workload.kind: refuse})])
    assert (calls, failed) == ([], {"other": "not on this machine"})


def test_products() -> None:
    dense, depthwise = by_name("dense 64x1024x1024"), by_name("conv2d 3x3 depthwise, 128 of 56x56")
    assert dense is not None
    assert depthwise is not None
    problem = dense.problem(tiny=True)
    prepare(problem)
    assert products(problem) == 3 * 24 * 17
    problem = depthwise.problem(tiny=True)
    prepare(problem)
    assert products(problem) == 128 * 7 * 5 * 9
    assert products(replace(problem, workload=replace(dense, products=5))) == 5


def test_products_of_networks() -> None:
    pytest.importorskip("onnx")
    assert {name: nets.net(name).products for name in nets.NETS} == NET_PRODUCTS


def test_probes_count_what_they_do(probes: Probes) -> None:
    for name in ("dot", "multiply_add"):
        once, twice = (probes.arithmetic(name, steps)[1] for steps in (1, 2))
        assert twice == 2 * once > 0


def test_streams_touch_all_that_they_are_given(probes: Probes) -> None:
    for read, written in ((10_000, 1), (10_000, 300), (300, 10_000), (1, 1), (5000, 5000)):
        x, y, sums = np.ones(read, np.int32), np.zeros(written, np.int32), np.zeros(7, np.int32)
        sizes = ctypes.c_int64(read), ctypes.c_int64(written), ctypes.c_int64(len(sums))
        probes.library.probe_stream(
            pointer(x), sizes[0], pointer(y), sizes[1], pointer(sums), sizes[2]
        )
        assert sums.sum() == read
        assert written > read or (y > 0).all()


@pytest.mark.parametrize("name", ["ResNet-20, graph runtime", "ResNet-20, generated model"])
def test_a_workload_without_its_model_is_missing(
    monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.setattr(ours, "MODEL", ours.ROOT / "no such folder")
    workload = by_name(name)
    assert workload is not None
    with pytest.raises(ours.Missing, match="CVMGEN_BENCH_MODEL"):
        prepare(workload.problem())
