"""Operators of JAX: compiled, batched, refused; results are those of numpy."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import cvmgen
from cvmgen.api import Operators
from cvmgen.api.device import Device
from cvmgen.api.device_array import DeviceArray
from cvmgen.build import c_compiler, compile_library
from cvmgen.errors import BuildError
from tests.docs.documents import ROOT, run_block
from tests.fake_gpu import State, has_nvrtc

jax = pytest.importorskip("jax")
module = pytest.importorskip("cvmgen.jax")
programs = module.ops
pytestmark = pytest.mark.filterwarnings("ignore")  # of a library that warns of itself


@pytest.fixture(autouse=True)
def compiler() -> None:
    try:
        c_compiler()
    except BuildError as error:
        pytest.skip(str(error))


def test_the_document() -> None:
    run_block(ROOT / "docs/clients.md", "import cvmgen.jax")


def test_programs_give_what_calls_give() -> None:
    cvm, tosa, plain = programs("cvm"), programs("tosa"), cvmgen.load("c")
    image = np.arange(50, dtype=np.int8).reshape(1, 2, 5, 5)
    kernel, bias = np.ones((3, 2, 3, 3), np.int8), np.arange(3, dtype=np.int32)
    rows = np.array([[1, 2], [-3, 4]], np.int32)
    of_conv = {"precisions": {"X": 8, "W": 8, "B": 8}, "padding": (1, 1)}
    calls = [
        (cvm.conv2d, plain.cvm.conv2d, (image, kernel, bias), of_conv, "all inputs"),
        (cvm.conv2d, plain.cvm.conv2d, (image, kernel), {"precisions": [8, 8]}, "one is left away"),
        (cvm.concatenate, plain.cvm.concatenate, ([rows, rows],), CONCATENATE, "several tensors"),
        (tosa.reduce_sum, plain.tosa.reduce_sum, (rows,), {"axes": (1,)}, "no precision"),
    ]
    for operator, own, inputs, keywords, why in calls:
        program = jax.jit(lambda *given, op=operator, more=keywords: op(*given, **more))
        wanted = own(*inputs, **keywords)
        for _ in range(2):
            found = program(*inputs)
            assert (found.dtype, found.tolist()) == (wanted.dtype, wanted.tolist()), why
    batch = np.stack([rows, rows + 1, rows + 2])
    found = jax.jit(jax.vmap(lambda x: tosa.reduce_sum(x, axes=[0])))(batch)
    assert found.tolist() == [plain.tosa.reduce_sum(x, axes=[0]).tolist() for x in batch]


CONCATENATE = {"axis": 0, "precisions": {"I": [8, 9]}}


def test_what_is_refused() -> None:
    cvm, tosa = programs("cvm"), programs("tosa")
    rows = np.array([[1, 2], [3, 4]], np.int32)
    with pytest.raises(cvmgen.OperatorError, match=r"dense: X: its precision must be declared"):
        jax.jit(cvm.dense)(rows, rows)
    with pytest.raises(cvmgen.OperatorError, match=r"concatenate: I: its precision must be decl"):
        cvm.concatenate([rows, rows], axis=0, precisions={"I": [8, None]})
    with pytest.raises(cvmgen.OperatorError, match="jax_enable_x64"):
        programs("mxnet").index_array(rows)
    with pytest.raises(cvmgen.OperatorError, match=r"tosa\.reduce_sum: gradient: it has none"):
        jax.grad(lambda x: tosa.reduce_sum(x, axes=[0]).sum())(np.ones((2, 2), np.float32))
    mixed = jax.grad(lambda x: (x * cvm.relu(x.astype(np.int8), precisions=[8])).sum())
    assert mixed(np.array([2.0, -2.0], np.float32)).tolist() == [2, 0], (
        "what is cut off is constant"
    )
    large = np.full(2, 2**31 - 1, np.int32)
    with pytest.raises(Exception, match=r"tosa.reduce_sum: output1: element \(0,\) does not fit"):
        jax.block_until_ready(tosa.reduce_sum(large, axes=[0]))
    program = jax.ffi.ffi_call("cvmgen_call", jax.ShapeDtypeStruct((2,), np.int32))
    for number in (np.int64(-1), np.int64(1 << 40), np.int64(0), np.int32(0)):
        with pytest.raises(Exception, match="a program of another process"):
            jax.block_until_ready(program(number=number))


FRAME = Path(__file__).parent / "jax_frame.c"


@pytest.fixture
def frame(ops: Operators, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Calls the handler for GPUs as XLA does, on a device that is not there."""
    monkeypatch.setattr(module, "gpus", lambda: (ops,))
    header = Path(jax.ffi.include_dir()) / module.XLA_HEADER
    texts = {FRAME.name: FRAME.read_text(), module.XLA_HEADER: header.read_text()}
    function = ctypes.CDLL(str(compile_library(texts, name="frame"))).frame_call
    function.restype = ctypes.c_char_p

    def call(number: int, stream: int, device: int, *data: DeviceArray) -> str:
        places = (ctypes.c_void_p * len(data))(*(each.data for each in data))
        told = function(
            module.handler().library.cvmgen_jax_call_gpu,
            ctypes.c_int64(number),
            ctypes.c_void_p(stream),
            device,
            ctypes.c_int64(len(data) - 1),
            ctypes.c_int64(1),
            places,
        )
        return str(told.decode())

    return call


@pytest.mark.skipif(not has_nvrtc(), reason="no CUDA compiler, see `cvmgen[cuda]`")
def test_programs_on_a_gpu(
    frame: Callable[..., str], device: Device, state: State, stream: int
) -> None:
    """Addresses and the stream come with each call, and refusals go to XLA or are told late."""
    x, w = np.array([[1, 2], [-3, 4]], np.int8), np.array([[3, 4], [5, 6]], np.int8)
    there = [DeviceArray.of(device, each) for each in (x, w)]
    y = DeviceArray.empty(device, (2, 2), np.int32)
    plain = cvmgen.load("c")
    dense, sums = module.Call(plain["cvm.dense"]), module.Call(plain["tosa.reduce_sum"])
    number, (result,) = dense._kept([x, w], [8, 8], None, {})
    assert (result.shape, result.dtype) == (y.shape, y.dtype)
    for first, wanted in ((there[0], x), (there[1], w)):
        assert frame(number, stream, 0, first, there[1], y) == ""
        assert state.stream == stream
        assert y.to_numpy().tolist() == (wanted.astype(np.int32) @ w.T).tolist()
    assert frame(number, stream, 0, y, y) == frame(-1, 0, 0, *there, y)
    assert frame(number, 0, 1, *there, y) == "cvmgen: the call was traced without this GPU"
    state.fail_launches = 1
    assert frame(number, 0, 0, *there, y).startswith("cvm.dense: CUDA: CUDA_ERROR_LAUNCH_FAILED")
    state.fail_launches = 0
    number, _ = sums._kept([np.zeros((2, 2), np.int32)], None, None, {"axes": [0]})
    large = DeviceArray.of(device, np.full((2, 2), 2**31 - 1, np.int32))
    assert frame(number, 0, 0, large, DeviceArray.empty(device, (1, 2), np.int32)) == ""
    with pytest.raises(cvmgen.OperatorError, match=r"tosa\.reduce_sum: output1: element \(0, 0\)"):
        device.synchronize()
