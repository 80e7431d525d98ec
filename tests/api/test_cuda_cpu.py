"""The CUDA text on the CPU, from Python: orders, element types, threads, what kernels do wrong."""

from __future__ import annotations

import re
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import cvmgen
from cvmgen import driver
from cvmgen.api import Operators
from cvmgen.build import write_changed
from cvmgen.errors import BuildError, CvmgenError, OperatorError
from cvmgen.spec.formula import Operator
from tests.emit import on_cpu

ORDERS: list[Any] = ["forward", "reverse", 0, 12345, (1 << 64) - 1]


@pytest.mark.parametrize("order", ORDERS, ids=str)
def test_orders_give_one_result(generated: Path, order: Any) -> None:
    operators = cvmgen.load("cuda-cpu", folder=generated, order=order)
    X = np.random.default_rng(1).integers(-99, 99, (3, 7, 50), dtype=np.int32)
    assert (operators.cvm.sum(X, axes=(1,)) == X.sum(1)).all()
    boxes = np.random.default_rng(2).integers(-3, 4, (2, 300, 6), dtype=np.int32)
    count, _ = operators.cvm.get_valid_count(boxes)
    assert count.tolist() == (boxes[:, :, 1] > 0).sum(1).tolist()


@pytest.mark.slow
def test_kernels_compile_optimised(generated: Path) -> None:
    """As users have them; other tests take them as they are, for which less is to be compiled."""
    assert on_cpu.library(generated, ("-O2",))


@pytest.mark.parametrize("order", ["backward", -1, 1 << 64, True, 1.5, None])
def test_what_is_no_order(generated: Path, order: Any) -> None:
    with pytest.raises(CvmgenError) as caught:
        cvmgen.load("cuda-cpu", folder=generated, order=order)
    needed = "'forward', 'reverse' or a seed in [0, 2^64) is needed"
    assert str(caught.value) == f"order={order!r}: {needed}"


@pytest.mark.parametrize("target", ["c", "python"])
def test_other_targets_have_no_order(generated: Path, target: str) -> None:
    with pytest.raises(CvmgenError, match="has no order of threads"):
        cvmgen.load(target, folder=generated, order="reverse")


def test_two_orders_side_by_side(generated: Path) -> None:
    """They share a library, which a thread of the host tells its order each time."""
    first = cvmgen.load("cuda-cpu", folder=generated)
    second = cvmgen.load("cuda-cpu", folder=generated, order=7)
    backend = first.cvm.relu._backend
    X = np.arange(-5, 5, dtype=np.int32)
    for _ in range(2):
        first.cvm.relu(X)
        assert backend.state.order == 0
        second.cvm.relu(X)
        assert (backend.state.order, backend.state.seed) == (2, 7)


def test_bound_inputs_are_read_anew_each_time(libraries: dict[str, Operators]) -> None:
    """Though kernels for one element type get a copy of the narrow one."""
    narrow, wide = np.array([1, 2], np.int8), np.array([300, 300], np.int32)
    bound = libraries["cuda-cpu"].cvm.elemwise_add.bind(narrow, wide, precisions=[8, 10])
    assert bound().tolist() == [301, 302]
    narrow[:], wide[1] = [5, 6], 0
    assert bound().tolist() == [305, 6]


def test_threads_of_the_host_take_turns(libraries: dict[str, Operators]) -> None:
    operators = libraries["cuda-cpu"].cvm
    boxes = [
        np.random.default_rng(n).integers(-9, 9, (1, 400, 6), dtype=np.int32) for n in range(8)
    ]
    expected = [operators.get_valid_count(each) for each in boxes]
    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(operators.get_valid_count, boxes * 5))
    for result, wanted in zip(found, expected * 5, strict=True):
        assert all(map(np.array_equal, result, wanted))


def test_no_compiler(generated: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CXX", "no-such-compiler")
    message = r"no C\+\+ compiler: CXX=no-such-compiler names no program that can be run"
    with pytest.raises(BuildError, match=message):
        cvmgen.load("cuda-cpu", folder=generated)


# What each kernel does first, and what becomes of it.
FAULTS = [
    (
        "if (threadIdx.x > 0) __syncthreads();",
        "CUDA: block 0: thread 1 waits at cvm/relu.cu:{line} for thread 0, which has ended",
    ),
    (
        "__shfl_sync(1u << threadIdx.x, 5, 0);",
        "CUDA: block 0: thread 1 waits at cvm/relu.cu:{line} for the value of lane 0, which is "
        "not one of the lanes 0x00000002",
    ),
]


@pytest.mark.parametrize(("fault", "rule"), FAULTS, ids=["a barrier", "a lane"])
def test_a_kernel_that_fails(
    formulas: dict[str, Operator], tmp_path: Path, fault: str, rule: str
) -> None:
    few = [formulas["cvm.relu"], formulas["cvm.abs"]]
    write_changed(tmp_path, driver.generate(few, ("cuda",)))
    source = tmp_path / "cuda/cvm/relu.cu"
    text = re.sub(r"(__global__[^{]*{\n)", rf"\1    {fault}\n", source.read_text())
    source.write_text(text)
    operators = cvmgen.load("cuda-cpu", folder=tmp_path)
    lines = [at for at, each in enumerate(text.splitlines(), 1) if fault in each]
    for _ in range(2):
        with pytest.raises(OperatorError) as caught:
            operators.cvm.relu(np.arange(4, dtype=np.int32))
        assert caught.value.rule in [rule.format(line=line) for line in lines]
    assert operators.cvm.abs(np.array([-3], np.int8)).tolist() == [3], "the device works on"
