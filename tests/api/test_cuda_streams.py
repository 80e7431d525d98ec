"""Streams, graphs, memory and what goes wrong with them, on a device that is not there."""

from __future__ import annotations

import ctypes
import gc
import os
import pickle
import sys
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import cvmgen
from cvmgen.api import Operators, driver
from cvmgen.api.device import Device
from cvmgen.api.device_array import DeviceArray
from cvmgen.api.library import load_on_device
from cvmgen.api.manifest import read_manifest
from cvmgen.errors import CvmgenError, OperatorError
from tests.api.fake_cupy import Cupy, ndarray
from tests.api.fake_torch import Stream, Tensor, Torch
from tests.api.refusals import refusal
from tests.fake_gpu import A_STREAM, Capture, State, fake_backend, has_nvrtc

pytestmark = pytest.mark.skipif(not has_nvrtc(), reason="no CUDA compiler, see `cvmgen[cuda]`")

X = np.array([[1, 2], [-3, 4]], np.int8)
W = np.array([[3, 4], [5, 6]], np.int8)
PRODUCT = [[11, 17], [7, 9]]


@pytest.fixture
def trace(library: Path) -> Any:
    """What streams waited for, and where memory was released, since it was asked last."""
    found = ctypes.CDLL(str(library)).fake_driver_trace
    found.restype = ctypes.c_char_p

    def told() -> str:
        gc.collect()
        return str(found().decode())

    told()
    return told


@pytest.fixture
def torch(device: Device, monkeypatch: pytest.MonkeyPatch) -> Torch:
    made = Torch(device)
    monkeypatch.setitem(sys.modules, "torch", made)  # type: ignore[arg-type]
    monkeypatch.setattr(made.cuda, "now", Stream(0))
    return made


# ---------------------------------------------------------------- memory goes back


def test_memory_waits_for_streams_that_were_told_of_it(
    ops: Operators, device: Device, state: State, stream: int, trace: Any
) -> None:
    """A result that is taken on another stream and dropped there."""
    found = ops.cvm.relu(DeviceArray.of(device, X), precisions=[8])
    taken = found.__dlpack__(stream=A_STREAM)
    assert trace() == "free in (nil); 0x51 after (nil); ", "the input is dropped"
    del found
    assert trace() == "", "the capsule has it"
    del taken
    assert trace() == "(nil) after 0x51; free in (nil); "


def test_memory_waits_for_operators_on_other_streams(
    ops: Operators, device: Device, state: State, stream: int, trace: Any
) -> None:
    x = DeviceArray.of(device, X)
    found = ops.cvm.relu(x, precisions=[8], stream=A_STREAM)
    trace()
    del x
    assert trace() == "(nil) after 0x51; free in (nil); "
    assert found.to_numpy().tolist() == [[1, 2], [0, 4]]
    del found
    assert trace() == "free in 0x51; "


def test_results_in_an_array_of_another_stream(
    ops: Operators, device: Device, state: State, stream: int, trace: Any
) -> None:
    x, out = DeviceArray.of(device, X, A_STREAM), DeviceArray.empty(device, X.shape, np.int8)
    ops.cvm.relu(x, precisions=[8], out=out, stream=A_STREAM)
    assert trace() == "0x51 after (nil); (nil) after 0x51; ", "to_numpy() waits for the default one"
    assert out.to_numpy().tolist() == [[1, 2], [0, 4]]


def test_what_cannot_be_released_is_no_error_of_its_own(
    ops: Operators, device: Device, state: State, capfd: pytest.CaptureFixture[str]
) -> None:
    """After a failure that stays, finalizers are silent: each later call tells it."""
    x = DeviceArray.of(device, X)
    found = ops.cvm.relu(x, precisions=[8])
    memory = found._owner
    state.fail_late = 700
    del found
    gc.collect()
    assert capfd.readouterr().err == ""
    text = refusal(ops.cvm.relu, x, precisions=[8])
    assert text.startswith("cvm.relu: CUDA: CUDA_ERROR_ILLEGAL_ADDRESS: an illegal memory access")
    assert "an earlier one may be to blame: CVMGEN_CUDA_SYNC=1, or load('cuda', wait=True)" in text
    state.fail_late = 0
    device.pool.release(memory)


def test_a_fork_says_so(ops: Operators, device: Device, state: State, stream: int) -> None:
    """In a child that inherits a driver, calls say what is wrong and finalizers nothing."""
    x = DeviceArray.of(device, X)
    bound = ops.cvm.relu.bind(x, precisions=[8])
    reader, writer = os.pipe()
    if (child := os.fork()) == 0:
        try:
            texts = [refusal(bound), refusal(ops.cvm.relu, x, precisions=[8])]
            del bound, x
            gc.collect()
            os.write(writer, "\n".join(texts).encode())
        finally:
            os._exit(0)
    os.waitpid(child, 0)
    os.close(writer)
    with os.fdopen(reader) as file:
        told = file.read().splitlines()
    assert len(told) == 2
    assert all("this process was forked from one that used CUDA" in each for each in told)
    assert all("spawn" in each for each in told)


def test_the_pool_is_our_own(device: Device, state: State) -> None:
    assert state.threshold == -1, "free memory stays with the process"
    trims = state.trims
    device.trim()
    assert state.trims == trims + 1


def test_arrays_stay_in_their_process(device: Device, state: State) -> None:
    with pytest.raises(
        TypeError, match=r"device array \(2, 2\) int8.*send what to_numpy\(\) gives"
    ):
        pickle.dumps(DeviceArray.of(device, X))


# ---------------------------------------------------------------- graphs


def test_graphs_capture_bound_calls(
    ops: Operators, device: Device, library: Path, state: State, stream: int
) -> None:
    x, w = DeviceArray.of(device, X, stream), DeviceArray.of(device, W, stream)
    bound = ops.cvm.dense.bind(x, w, precisions=[8, 8], stream=stream)
    bound()
    found = state.found
    with Capture(device, library, stream) as graph:
        bound()
    assert state.found == found, "kernels are known before they are launched"
    for values in (X, -X):
        x.copy_from(values)
        graph.replay()
        wanted = values.astype(np.int32) @ W.T
        assert bound.result.to_numpy().tolist() == wanted.tolist()
    graph.drop()


def test_graphs_capture_calls_that_allocate_and_load(
    backend: Any, generated: Path, library: Path, state: State, stream: int
) -> None:
    """Nothing was prepared: kernels are loaded and results made while the stream is captured, and
    what is between two operators goes away meanwhile."""
    fresh = fake_backend(generated)
    ops, device = load_on_device(read_manifest(generated), fresh), fresh.device
    elsewhere = DeviceArray.of(
        device, W.astype(np.int32)
    )  # of the default stream, which may not be touched now
    x = DeviceArray.of(device, X, stream)
    allocations = state.allocations
    with Capture(device, library, stream) as graph:
        between = ops.cvm.relu(x, precisions=[8], stream=stream)
        result = ops.cvm.dense(between, elsewhere, precisions=[8, 8], stream=stream)
        result.__dlpack__(stream=stream)
        del between
        gc.collect()
    gc.collect()
    device.trim()
    assert state.allocations == allocations + 2, "the graph uses both"
    for values in (X, -X):
        x.copy_from(values)
        graph.replay()
        wanted = np.maximum(values, 0).astype(np.int32) @ W.T
        assert result.to_numpy().tolist() == wanted.tolist()
    graph.drop()
    device.trim()
    assert state.allocations == allocations + 1, "what was between goes with the graph"
    assert result.to_numpy().tolist() == wanted.tolist()


def test_arrays_that_are_dropped_while_a_stream_is_captured(
    ops: Operators, device: Device, library: Path, state: State, stream: int, trace: Any
) -> None:
    """They go back when something can be awaited in their stream again."""
    x = DeviceArray.of(device, X, stream)
    with Capture(device, library, stream) as graph:
        del x
        assert trace() == ""
    device.trim()
    assert trace() == "free in 0x51; "
    graph.drop()


def test_threads_give_back_what_had_to_wait(
    device: Device, library: Path, state: State, stream: int
) -> None:
    """Each block once, though all threads look for some."""
    blocks = [DeviceArray.empty(device, (4,), np.int8, stream) for _ in range(200)]
    with Capture(device, library, stream) as graph:
        blocks.clear()
        gc.collect()
    waiting = list(device.pool._waiting)
    assert len(waiting) == 200
    threads = [threading.Thread(target=device.trim) for _ in range(8)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    assert not device.pool._waiting
    graph.drop()


def test_waiting_after_each_call(
    generated: Path, library: Path, state: State, monkeypatch: pytest.MonkeyPatch, stream: int
) -> None:
    monkeypatch.setattr(driver, "LIBRARY", str(library))
    for loaded in (
        cvmgen.load("cuda", folder=generated, library=library, wait=True),
        loaded_with(monkeypatch, generated, library),
    ):
        there = loaded.device
        assert there is not None
        x = DeviceArray.of(there, X, stream)
        bound = loaded.cvm.relu.bind(x, precisions=[8], stream=stream)
        bound()
        with Capture(there, library, stream) as graph:
            bound()
        graph.drop()
        monkeypatch.setattr(there, "synchronize", failing(there))
        assert refusal(bound) == (
            "cvm.relu: CUDA: CUDA_ERROR_ILLEGAL_ADDRESS: an illegal memory access was encountered "
            "(cuStreamSynchronize): a kernel of this call failed"
        )
        monkeypatch.undo()
        monkeypatch.setattr(driver, "LIBRARY", str(library))


def loaded_with(monkeypatch: pytest.MonkeyPatch, generated: Path, library: Path) -> Operators:
    monkeypatch.setenv("CVMGEN_CUDA_SYNC", "1")
    return cvmgen.load("cuda", folder=generated, library=library)


def failing(device: Device) -> Any:
    def synchronize(stream: int = 0) -> None:
        meaning = device.driver.meaning(700)
        raise driver.DriverError(f"CUDA: {meaning} (cuStreamSynchronize){driver.LATE}", 700)

    return synchronize


# ---------------------------------------------------------------- arrays of a framework


def test_results_are_arrays_of_the_caller(
    ops: Operators, torch: Torch, state: State, stream: int
) -> None:
    """Made by the framework in its current stream, where the kernels run too."""
    torch.cuda.now = Stream(stream)
    found = ops.cvm.dense(torch.tensor(X), torch.tensor(W), precisions=[8, 8])
    assert type(found) is Tensor
    assert (torch.made, state.stream) == ([stream], stream)
    assert found.numpy().tolist() == PRODUCT
    rows = torch.tensor(np.array([[[0, 5], [1, 0], [2, 7]]], np.int32))
    count, kept = ops.cvm.get_valid_count(rows, score_threshold=1, precisions=[8])
    assert (type(count), type(kept)) == (Tensor, Tensor)
    assert count.numpy().tolist() == [2]


def test_a_bound_call_goes_with_the_current_stream(
    ops: Operators, torch: Torch, state: State, stream: int
) -> None:
    bound = ops.cvm.relu.bind(torch.tensor(X), precisions=[8])
    for now in (0, stream, 0):
        torch.cuda.now = Stream(now)
        bound()
        assert (state.stream or 0) == now


def test_a_stream_that_is_not_the_current_one(
    ops: Operators, torch: Torch, state: State, stream: int
) -> None:
    x = torch.tensor(X)
    found = ops.cvm.relu(x, precisions=[8], stream=stream)
    assert torch.made == [stream], "the result belongs there"
    assert x.streams == [stream], "and the input is kept for it"
    assert found.numpy().tolist() == [[1, 2], [0, 4]]
    torch.cuda.now = Stream(stream)
    ops.cvm.relu(x, precisions=[8], stream=0)
    assert torch.made == [stream, 0]


def test_strided_arrays(ops: Operators, torch: Torch, state: State, stream: int) -> None:
    """They are copied before each call, and results after it, in the stream of the call."""
    torch.cuda.now = Stream(stream)
    x, w, out = torch.tensor(X.T), torch.tensor(W), torch.tensor(np.zeros((2, 2), np.int32))
    assert ops.cvm.dense(x.t(), w, precisions=[8, 8]).numpy().tolist() == PRODUCT
    bound = ops.cvm.dense.bind(x.t(), w, precisions=[8, 8], out=out.t())
    torch.cuda.copies.clear()
    assert bound().numpy().tolist() == PRODUCT
    assert out.numpy().tolist() == np.transpose(PRODUCT).tolist()
    x.array.copy_from(np.ascontiguousarray(-X.T))
    assert bound().numpy().tolist() == (-np.array(PRODUCT)).tolist()
    assert torch.cuda.copies == [stream] * 4


def test_arrays_of_cupy(
    ops: Operators, device: Device, state: State, stream: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    cupy = Cupy(device)
    monkeypatch.setitem(sys.modules, "cupy", cupy)  # type: ignore[arg-type]
    found = ops.cvm.dense(cupy.array(X), cupy.array(W), precisions=[8, 8])
    assert (type(found), found.get().tolist()) == (ndarray, PRODUCT)
    turned = ops.cvm.dense(cupy.array(X.T).T, cupy.array(W), precisions=[8, 8])
    assert turned.get().tolist() == PRODUCT
    ops.cvm.relu(cupy.array(X), precisions=[8], stream=stream)
    assert (cupy.made[-1], state.stream) == (stream, stream)
    layer = ops.cvm.relu.bind((2, 2), precisions=[8])
    assert [layer(cupy.array(X)).get().tolist() for _ in range(2)] == [[[1, 2], [0, 4]]] * 2


def test_arrays_that_do_not_share(ops: Operators, torch: Torch, state: State) -> None:
    x = torch.tensor(X)
    x.refused = "Can't export tensors that require gradient, use tensor.detach()"
    assert refusal(ops.cvm.relu, x, precisions=[8]) == (
        f"cvm.relu: X = Tensor: it does not share its memory: {x.refused}"
    )


# ---------------------------------------------------------------- shapes now, arrays later


@pytest.mark.parametrize("kind", ["device", "torch"])
def test_open_calls(
    ops: Operators, device: Device, torch: Torch, state: State, stream: int, kind: str
) -> None:
    make = torch.tensor if kind == "torch" else lambda each: DeviceArray.of(device, each)
    read = "numpy" if kind == "torch" else "to_numpy"
    layer = ops.cvm.dense.bind((2, 2), W=make(W), precisions={"X": 8, "W": 8})
    assert layer.inputs == ("X",)
    for values in (X, -X):
        found = layer(make(values))
        assert getattr(found, read)().tolist() == (values.astype(np.int32) @ W.T).tolist()
    assert layer(make(X)) is not layer(make(X)), "a result of each call's own"
    out = make(np.zeros((2, 2), np.int32))
    assert layer(make(X), out=out) is out
    assert getattr(out, read)().tolist() == PRODUCT
    assert refusal(layer, make(X[:1])) == (
        "cvm.dense: X = shape (1, 2): the call is bound to shape (2, 2)"
    )
    turned = ops.cvm.dense.bind((2, 2), W=make(W), precisions={"X": 8, "W": 8}, stream=stream)
    turned(make(X))
    assert state.stream == stream
    assert "its precision must be declared" in refusal(ops.cvm.dense.bind, (2, 2), W=make(W))
    with pytest.raises(CvmgenError, match="an object with __cuda_stream__, is needed"):
        ops.cvm.dense.bind((2, 2), W=make(W), precisions={"X": 8, "W": 8}, stream="0")


def test_open_calls_check_a_kind_of_arrays_once(
    ops: Operators,
    backend: Any,
    torch: Torch,
    state: State,
    stream: int,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The current stream, gaps and element types are seen all the same."""
    layer = ops.cvm.relu.bind((2, 2), precisions=[8])
    layer(torch.tensor(X))
    with monkeypatch.context() as patch:
        patch.setattr(backend, "infer", None)
        assert layer(torch.tensor(-X)).numpy().tolist() == [[0, 0], [3, 0]]
        torch.cuda.now = Stream(stream)
        assert layer(torch.tensor(X)).numpy().tolist() == [[1, 2], [0, 4]]
        assert state.stream == stream
    assert layer(torch.tensor(X).t()).numpy().tolist() == [[1, 0], [2, 4]]
    wide = layer(torch.tensor(X.astype(np.int32)))
    assert wide.numpy().tolist() == [[1, 2], [0, 4]]
    with pytest.raises(OperatorError, match="bound to shape"):
        layer(torch.tensor(X[:1]))
    with pytest.raises(OperatorError, match="memory of the device is needed"):
        layer(X)
    with pytest.raises(OperatorError, match="takes X, in this order, and out"):
        layer(torch.tensor(X), stream=0)


@pytest.mark.parametrize("kind", ["device", "torch"])
def test_calls_like_one_before_are_not_checked_again(
    generated: Path,
    backend: Any,
    device: Device,
    torch: Torch,
    state: State,
    stream: int,
    monkeypatch: pytest.MonkeyPatch,
    kind: str,
) -> None:
    """Whatever makes a call another one is seen all the same."""
    make = torch.tensor if kind == "torch" else lambda each: DeviceArray.of(device, each)
    read = "numpy" if kind == "torch" else "to_numpy"
    ops = load_on_device(read_manifest(generated), backend)  # which had no calls yet
    dense, declared = ops.cvm.dense, {"X": 8, "W": 8}
    x, w, out = make(X), make(W), make(np.zeros((2, 2), np.int32))
    first = dense(x, w, precisions=declared)
    dense(x, w, precisions=declared, out=out)
    joined = ops.cvm.concatenate([x, w], axis=0, precisions={"I": [8, 8]})
    with monkeypatch.context() as patch:
        patch.setattr(backend, "infer", None)
        again = dense(make(-X), w, precisions=declared)
        assert getattr(again, read)().tolist() == (-np.array(PRODUCT)).tolist()
        assert getattr(first, read)().tolist() == PRODUCT, "a result of each call's own"
        assert dense(w, w, precisions=declared, out=out) is out
        assert getattr(out, read)().tolist() == [[25, 39], [39, 61]]
        joined = ops.cvm.concatenate([w, x], axis=0, precisions={"I": [8, 8]})
        assert getattr(joined, read)().tolist() == [*W.tolist(), *X.tolist()]
    for other, rule in (
        ({"precisions": {"X": 8}}, "W: its precision must be declared"),
        ({"precisions": declared, "check": "all"}, "check = 'all': None or 'values' is needed"),
        ({"precisions": declared, "out": make(np.zeros((2, 1), np.int32))}, "shape (2, 1)"),
        ({"precisions": declared, "out": x}, "Y"),
    ):
        assert rule in refusal(dense, x, w, **other)
    assert "W = shape" in refusal(dense, x, make(W[:, :1]), precisions=declared)
    assert "memory of the device is needed" in refusal(dense, x, W, precisions=declared)
    with pytest.raises(CvmgenError, match="an object with __cuda_stream__, is needed"):
        dense(x, w, precisions=declared, stream=True)
    dense(x, w, precisions=declared, stream=stream)
    assert state.stream == stream
    state.memory = 3
    if kind == "device":
        assert "CUDA_ERROR_OUT_OF_MEMORY" in refusal(dense, x, w, precisions=declared)
