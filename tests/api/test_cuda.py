"""The CUDA target on a device: with a driver that is made for the tests, on every machine."""

from __future__ import annotations

import ctypes
import gc
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import cvmgen
from cvmgen.api import Operators, device_array, dlpack, driver
from cvmgen.api.device import Device, open_device
from cvmgen.api.device_array import DeviceArray
from cvmgen.api.driver import Driver
from cvmgen.api.library import load_on_device
from cvmgen.api.manifest import read_manifest
from cvmgen.api.streams import stream_handle
from cvmgen.build import cuda_compiler
from cvmgen.errors import BuildError, CvmgenError, OperatorError
from cvmgen.graph import load
from cvmgen.typed import element_type
from tests.api.refusals import refusal
from tests.fake_gpu import A_STREAM, State, fake_backend, has_nvrtc
from tests.graph.stubs import graph, use, variable

pytestmark = pytest.mark.skipif(not has_nvrtc(), reason="no CUDA compiler, see `cvmgen[cuda]`")


class Foreign:
    """An array of another library: it shows another's memory through DLPack alone."""

    def __init__(self, array: DeviceArray, device: tuple[int, int] | None = None) -> None:
        self.array = array
        self.device = device or array.__dlpack_device__()
        self.asked: list[Any] = []

    def __dlpack_device__(self) -> tuple[int, int]:
        return self.device

    def __dlpack__(self, *, stream: Any = None) -> Any:
        self.asked.append(stream)
        return self.array.__dlpack__(stream=stream)


class Interface:
    """An array that shows its memory through the CUDA array interface alone."""

    def __init__(self, array: DeviceArray, **changes: Any) -> None:
        self.array = array
        self.__cuda_array_interface__ = {**array.__cuda_array_interface__, **changes}


X = np.array([[1, 2], [-3, 4]], np.int8)
W = np.array([[3, 4], [5, 6]], np.int8)
B = np.array([10, 20], np.int32)
WANTED = [[21, 37], [17, 29]]
PRECISIONS = {"X": 8, "W": 8, "B": 8}


def dense(ops: Operators, device: Device, wrap: Any = lambda array: array, **more: Any) -> Any:
    arrays = [wrap(DeviceArray.of(device, each)) for each in (X, W, B)]
    return ops.cvm.dense(*arrays, precisions=PRECISIONS, **more)


# ---------------------------------------------------------------- arrays of the device


@pytest.mark.parametrize("wrap", [lambda array: array, Foreign, Interface])
def test_arrays_of_the_device_are_used_where_they_lie(
    ops: Operators, device: Device, state: State, wrap: Any
) -> None:
    before = state.launches
    found = dense(ops, device, wrap)
    assert isinstance(found, DeviceArray)
    assert (found.shape, found.dtype) == ((2, 2), np.int32)
    assert found.to_numpy().tolist() == WANTED
    assert state.launches == before + 1
    assert state.kernel.startswith(b"cvm_dense_Y_int8_int32")
    assert repr(found) == "<device array (2, 2) int32 on cuda:0>"


@pytest.mark.parametrize("wrap", [lambda array: array, Foreign, Interface])
def test_results_go_where_the_caller_says(
    ops: Operators, device: Device, state: State, wrap: Any
) -> None:
    made = DeviceArray.empty(device, (2, 2), np.int32)
    out = wrap(made)
    assert dense(ops, device, out=out) is out
    assert made.to_numpy().tolist() == WANTED


def test_results_are_for_other_libraries(ops: Operators, device: Device, state: State) -> None:
    found = dense(ops, device)
    assert found.__dlpack_device__() == (dlpack.CUDA, 0)
    for version in (None, (0, 8), (1, 0)):
        view = dlpack.view_of(found.__dlpack__(max_version=version))
        assert (view.data, view.device) == (found.data, (dlpack.CUDA, 0))
        assert (view.shape, view.dtype, view.read_only) == ((2, 2), "int32", False)
    shown = found.__cuda_array_interface__
    assert shown["data"] == (found.data, False)
    assert (shown["typestr"], shown["shape"], shown["strides"]) == ("<i4", (2, 2), None)
    with pytest.raises(BufferError):
        found.__dlpack__(copy=True)
    with pytest.raises(BufferError):
        found.__dlpack__(dl_device=(dlpack.CPU, 0))


@pytest.mark.parametrize(
    "dtype",
    ["bool", "int8", "int16", "int32", "int64", "float16", "bfloat16", "float32", "float64"],
)
def test_a_capsule_is_made_without_reading(dtype: str) -> None:
    """No page is mapped at this address."""
    for shape in ((2, 3), (0, 3), ()):
        capsule = dlpack.capsule_of(0x1000, shape, element_type(dtype), 3, object())
        view = dlpack.view_of(capsule)
        assert (view.data, view.device, view.shape) == (0x1000, (dlpack.CUDA, 3), shape)
        assert view.dtype == dtype


def test_a_capsule_keeps_the_memory(ops: Operators, device: Device, state: State) -> None:
    before = state.allocations
    capsule = dense(ops, device).__dlpack__()
    gc.collect()
    assert state.allocations == before + 1
    del capsule
    gc.collect()
    assert state.allocations == before


def test_a_bound_call_reads_anew(ops: Operators, device: Device, state: State) -> None:
    x, w = DeviceArray.of(device, X), DeviceArray.of(device, W)
    bound = ops.cvm.dense.bind(x, w, precisions=[8, 8])
    first = bound().to_numpy()
    x.copy_from(-X)
    assert bound() is bound.result
    assert (bound.result.to_numpy() == -first).all()


def test_lists_types_and_empty_arrays(ops: Operators, device: Device, state: State) -> None:
    parts = [DeviceArray.of(device, each) for each in (X, W)]
    joined = ops.cvm.concatenate(*parts, axis=0, precisions=[[8, 8]])
    assert joined.dtype == np.int8
    assert joined.to_numpy().tolist() == [*X.tolist(), *W.tolist()]
    real = DeviceArray.of(device, np.array([[1.5, 2.25]], np.float32))
    assert ops.tosa.reduce_sum(real, axis=1).to_numpy().tolist() == [[3.75]]
    flags = DeviceArray.of(device, np.array([[False, True]]))
    assert ops.tosa.reduce_any(Foreign(flags), axis=1).to_numpy().tolist() == [[True]]
    wide = DeviceArray.of(device, np.array([[1 << 30, 1 << 30]], np.int32))
    with pytest.raises(OperatorError, match="does not fit int32"):
        ops.tosa.reduce_sum(wide, axis=1).to_numpy()
    rows = DeviceArray.of(device, np.array([[[0, 5], [1, 0], [2, 7]]], np.int32))
    count, kept = ops.cvm.get_valid_count(rows, score_threshold=1, precisions=[8])
    assert (count.to_numpy().tolist(), kept.to_numpy().tolist()) == (
        [2],
        [[[0, 5], [2, 7], [-1, -1]]],
    )


def test_a_product_in_tiles(copying: Operators, state: State) -> None:
    """A kernel with dynamic shared memory."""
    x, w = (np.arange(size, dtype=np.int32) % 255 - 127 for size in (200 * 300, 160 * 300))
    x, w = x.reshape(200, 300).astype(np.int8), w.reshape(160, 300).astype(np.int8)
    found = copying.cvm.dense(x, w)
    assert state.kernel == b"cvm_dense_Y_int8_int32"
    assert (found == x.astype(np.int32) @ w.T.astype(np.int32)).all()


class Asked(ctypes.Structure):
    """fake_driver_asked."""

    _fields_ = (("kernel", ctypes.c_char_p), ("bytes", ctypes.c_int64))


@pytest.mark.parametrize(("size", "status"), [(64, 0), (99, 0), (100, 1)])
def test_shared_memory_beyond_what_kernels_get(
    backend: Any, generated: Path, state: State, size: int, status: int
) -> None:
    info = next(each for each in read_manifest(generated).operators if each.name == "dense")
    ask = ctypes.cast(backend.library.fake_driver_ask, ctypes.c_void_p)
    table, module = ctypes.byref(backend.device.table), ctypes.byref(backend.module(info))
    asked = ctypes.byref(Asked(b"cvm_dense_Y_int8_int32", size << 10))
    call = backend._host.call
    found = call(table, backend.device.context, module, ask, asked, None, None)
    assert found == status


# ---------------------------------------------------------------- streams


class ByProtocol:
    def __cuda_stream__(self) -> tuple[int, int]:
        return 0, A_STREAM


class ByProperty:
    __cuda_stream__ = (0, A_STREAM)


class OfTorch:
    cuda_stream = A_STREAM


class OfCupy:
    ptr = A_STREAM


@pytest.mark.parametrize("kind", [ByProtocol, ByProperty, OfTorch, OfCupy])
def test_streams_of_other_libraries(
    ops: Operators, device: Device, state: State, stream: int, kind: Any
) -> None:
    x, w = DeviceArray.of(device, X), Foreign(DeviceArray.of(device, W))
    waits = state.waits
    found = ops.cvm.dense(x, w, precisions=[8, 8], stream=kind())
    assert state.stream == A_STREAM
    assert w.asked == [A_STREAM]
    assert state.waits == waits + 2, "what comes from the default stream is waited for"
    assert found.to_numpy().tolist() == [[11, 17], [7, 9]]
    found.__dlpack__(stream=A_STREAM)
    found.__dlpack__(stream=-1)
    assert state.waits == waits + 2
    found.__dlpack__(stream=1)
    assert state.waits == waits + 3
    state.stream = None
    del found
    gc.collect()
    assert state.stream == A_STREAM, "memory goes back in the stream's turn"


def test_the_default_stream(ops: Operators, device: Device, state: State) -> None:
    x = Foreign(DeviceArray.of(device, X))
    ops.cvm.relu(x, precisions=[8])
    assert x.asked == [1], "DLPack's name of the default stream"
    assert [stream_handle(None), stream_handle(0), stream_handle(2)] == [0, 0, 2]


@pytest.mark.parametrize("given", ["0", True, -1, 1.5, object()])
def test_what_is_no_stream(ops: Operators, device: Device, state: State, given: Any) -> None:
    with pytest.raises(CvmgenError, match="an object with __cuda_stream__, is needed"):
        ops.cvm.relu(DeviceArray.of(device, X), precisions=[8], stream=given)


def test_a_stream_that_is_not_there(ops: Operators, device: Device, state: State) -> None:
    x, y = DeviceArray.of(device, X), DeviceArray.empty(device, X.shape, np.int8)
    with pytest.raises(OperatorError) as caught:
        ops.cvm.relu(x, precisions=[8], out=y, stream=0x99)
    assert str(caught.value).startswith("cvm.relu: CUDA: CUDA_ERROR_INVALID_HANDLE: invalid")


# ---------------------------------------------------------------- refusals


REFUSED = [
    (X, "X = ndarray: memory of the device is needed; load('cuda', transfer=True) takes arrays"),
    (X.tolist(), "X = list: memory of the device is needed"),
    (3, "X = int: memory of the device is needed"),
]


@pytest.mark.parametrize(("given", "message"), REFUSED)
def test_memory_of_the_host(ops: Operators, state: State, given: Any, message: str) -> None:
    with pytest.raises(OperatorError) as caught:
        ops.cvm.relu(given, precisions=[8])
    assert str(caught.value).startswith(f"cvm.relu: {message}")


def test_what_is_refused_of_arrays(ops: Operators, device: Device, state: State) -> None:
    x = DeviceArray.of(device, X)
    relu = ops.cvm.relu
    assert refusal(relu, x) == (
        "cvm.relu: X: its precision must be declared: device memory is not measured"
    )
    declared = {"precisions": [8]}
    other = Foreign(x, (dlpack.CUDA, 1))
    assert refusal(relu, other, **declared) == "cvm.relu: X = cuda:1: memory of cuda:0 is needed"
    pinned = Foreign(x, (dlpack.CUDA_HOST, 0))
    assert "X = Foreign: memory of the device is needed" in refusal(relu, pinned, **declared)
    turned = Interface(x, strides=(1, 2))
    assert refusal(relu, turned, **declared) == (
        "cvm.relu: X = strides (1, 2): the array must be row-major without gaps"
    )
    elsewhere = Interface(x, data=(X.ctypes.data, False))
    assert refusal(relu, elsewhere, **declared) == "cvm.relu: X: memory of cuda:0 is needed"
    wide = DeviceArray.of(device, X.astype(np.int64))
    assert refusal(relu, wide, **declared) == (
        "cvm.relu: X = dtype int64: elements must be int8 or int32"
    )
    assert refusal(relu, x, check="values", **declared) == (
        "cvm.relu: check_values = 1: must be 0: values in device memory are not checked"
    )
    mixed = (x, DeviceArray.of(device, W.astype(np.int32)))
    assert refusal(ops.cvm.dense, *mixed, precisions=[8, 8]) == (
        "cvm.dense: W = int32: on a device its element type must be that of X"
    )


def test_what_is_refused_of_results(ops: Operators, device: Device, state: State) -> None:
    x = DeviceArray.of(device, X)
    call = {"precisions": [8]}
    relu = ops.cvm.relu
    assert refusal(relu, x, out=x, **call) == "cvm.relu: Y: it shares memory with X"
    small = DeviceArray.empty(device, (2,), np.int8)
    assert refusal(relu, x, out=small, **call) == (
        "cvm.relu: Y = shape (2,): the shape must be (2, 2)"
    )
    real = DeviceArray.empty(device, (2, 2), np.float32)
    assert refusal(relu, x, out=real, **call) == (
        "cvm.relu: Y = dtype float32: elements must be int8 or int32"
    )
    narrow = DeviceArray.empty(device, (2, 2), np.int8)
    assert refusal(relu, x, out=narrow, dtype=np.int32, **call) == (
        "cvm.relu: Y = dtype int8: must be int32"
    )
    fixed = Interface(narrow, data=(narrow.data, True))
    assert refusal(relu, x, out=fixed, **call) == "cvm.relu: Y: it is read-only"
    assert refusal(relu, x, out=X, **call).startswith("cvm.relu: Y = ndarray: memory of the device")


# ---------------------------------------------------------------- a device that fails


def test_a_launch_that_fails(ops: Operators, device: Device, state: State) -> None:
    x = DeviceArray.of(device, X)
    state.fail_launches = 1
    assert refusal(ops.cvm.relu, x, precisions=[8]).startswith(
        "cvm.relu: CUDA: CUDA_ERROR_LAUNCH_FAILED: unspecified launch failure, in cvm_relu_Y_int8_"
    )
    state.fail_launches = 0
    assert ops.cvm.relu(x, precisions=[8]).to_numpy().tolist() == [[1, 2], [0, 4]]


def test_memory_that_is_not_there(
    ops: Operators, copying: Operators, device: Device, state: State
) -> None:
    x = DeviceArray.of(device, X)
    state.memory = 3
    text = "cvm.relu: CUDA: CUDA_ERROR_OUT_OF_MEMORY: out of memory"
    assert refusal(ops.cvm.relu, x, precisions=[8]) == f"{text} (cuMemAllocFromPoolAsync)"
    assert refusal(copying.cvm.relu, X) == f"{text} (cuMemAllocFromPoolAsync)"


def test_a_list_that_finds_no_memory(ops: Operators, device: Device, state: State) -> None:
    """Memory that the host code of an operator asks for."""
    rows = DeviceArray.of(device, np.zeros((1, 40, 2), np.int8))
    out = [DeviceArray.empty(device, shape, np.int32) for shape in ((1,), (1, 40, 2))]
    state.memory = 100
    found = refusal(ops.cvm.get_valid_count, rows, precisions=[8], out=out)
    assert found == "cvm.get_valid_count: CUDA: CUDA_ERROR_OUT_OF_MEMORY: out of memory"


def test_nvcc_compiles_what_a_device_runs(
    backend: Any, generated: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    try:
        compiler = cuda_compiler("nvcc")
    except BuildError as error:
        pytest.skip(str(error))
    monkeypatch.setattr("cvmgen.build.cuda.cuda_compiler", lambda *_, **__: compiler)
    info = {each.full_name: each for each in read_manifest(generated).operators}["cvm.relu"]
    made = backend.code(info)
    assert made.code.startswith(b"\x7fELF")
    assert made.origin.startswith("nvcc")


def test_a_kernel_that_the_cubin_has_not(backend: Any, generated: Path, state: State) -> None:
    info = {each.full_name: each for each in read_manifest(generated).operators}
    other = fake_backend(generated)
    other.code = lambda asked: backend.code(info["cvm.abs"])
    ops = load_on_device(read_manifest(generated), other, transfer=True)
    assert ops.cvm.abs(X).tolist() == np.abs(X).tolist()
    assert refusal(ops.cvm.relu, X).startswith(
        "cvm.relu: CUDA: CUDA_ERROR_NOT_FOUND: named symbol not found, in cvm_relu_Y_int8_"
    )


# ---------------------------------------------------------------- arrays of the host


def test_arrays_of_the_host_are_copied(copying: Operators, state: State) -> None:
    assert copying.cvm.dense(X, W, B).tolist() == WANTED
    assert copying.cvm.dense(X.astype(np.int32), W, B.astype(np.int8)).tolist() == WANTED
    out = np.zeros((2, 2), np.int32)
    assert copying.cvm.dense(X.tolist(), W[:, ::-1].copy()[:, ::-1], B, out=out) is out
    assert out.tolist() == WANTED
    assert refusal(copying.cvm.relu, [[9]], precisions=[3], check="values") == (
        "cvm.relu: X = 9 at (0, 0): precision 3 holds [-3, 3]"
    )


# ---------------------------------------------------------------- networks


def test_a_network_stays_on_the_device(ops: Operators, state: State) -> None:
    """Only the input and the heads are copied; values between operators share memory."""
    nodes = [variable("data", (2, 3), 4), variable("b", (2, 3), 4)]
    nodes += [use("n", "negative", [0], (2, 3)), use("s", "elemwise_add", [2, 1], (2, 3))]
    parameters = {"b": np.array([[1, 2, 3], [4, 5, 6]], np.int32)}
    network = load(graph(*nodes, heads=[(3, 0), (0, 0)]), parameters, operators=ops)
    allocations = state.allocations
    for x in (np.array([[9, -2, 3], [0, 5, -6]]), np.ones((2, 3), np.int8)):
        clamped = np.clip(x, -7, 7)
        total, data = network(x)
        assert total.tolist() == (parameters["b"] - clamped).tolist()
        assert data.tolist() == clamped.tolist()
    assert state.allocations == allocations, "a call allocates nothing"


# ---------------------------------------------------------------- what is missing


def test_no_driver(monkeypatch: pytest.MonkeyPatch, generated: Path) -> None:
    monkeypatch.setattr(driver, "LIBRARY", "libno-such-driver.so")
    with pytest.raises(CvmgenError) as caught:
        cvmgen.load("cuda", folder=generated)
    message = str(caught.value)
    assert message.startswith("no CUDA driver (libno-such-driver.so: ")
    assert "install NVIDIA's driver" in message
    assert "'cuda-cpu' runs the same kernels on the CPU" in message


def test_a_driver_that_is_too_old(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(CvmgenError, match=r"the CUDA driver is too old \(.*cuInit"):
        Driver("libc.so.6")


def test_no_device(library: Path, state: State) -> None:
    state.devices = 0
    with pytest.raises(CvmgenError) as caught:
        Driver(str(library))
    assert str(caught.value).startswith("no CUDA device (CUDA_ERROR_NO_DEVICE: no CUDA-capable")


def test_loading(
    monkeypatch: pytest.MonkeyPatch, library: Path, generated: Path, state: State
) -> None:
    monkeypatch.setattr(driver, "LIBRARY", str(library))
    loaded = cvmgen.load("cuda", folder=generated, library=library)
    assert loaded.target == "cuda"
    device = open_device()
    assert repr(device) == "<cuda:0, a device of fibers, sm_80>"
    assert dense(loaded, device).to_numpy().tolist() == WANTED
    assert cvmgen.load("cuda", folder=generated, library=library, transfer=True).cvm.relu(
        X
    ).tolist() == [[1, 2], [0, 4]]
    for wrong in (1, -1, True):
        with pytest.raises(CvmgenError, match=f"device={wrong}: this machine has 1, counted from"):
            cvmgen.load("cuda", folder=generated, library=library, device=wrong)
    assert state.threshold == -1, "free memory stays with the process"


@pytest.mark.parametrize(("name", "value"), [("device", 1), ("transfer", True)])
def test_what_other_targets_have_not(generated: Path, name: str, value: Any) -> None:
    with pytest.raises(CvmgenError) as caught:
        cvmgen.load("python", folder=generated, **{name: value})
    assert str(caught.value) == f"{name}={value}: the target 'python' runs on the CPU"


@pytest.mark.parametrize("dtype", ["int4", "uint4"])
def test_packed_elements_are_refused(dtype: str) -> None:
    """DLPack has two of them in a byte."""
    with pytest.raises(OperatorError, match="two elements of four bits share a byte there"):
        device_array._dtype("cvm.dense", "X", dtype)
