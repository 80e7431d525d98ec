"""The CUDA target on a GPU, with its own arrays and those of the libraries that users have."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pytest

import cvmgen
from cvmgen.api import Operators
from cvmgen.api.device import Device, open_device
from cvmgen.api.device_array import DeviceArray
from cvmgen.errors import OperatorError
from tests.conformance.random_calls import DRAW, call

pytestmark = pytest.mark.gpu


@pytest.fixture(scope="module")
def device() -> Device:
    return open_device()


@pytest.fixture(scope="module")
def ops(generated: Path, extra_generated: Path) -> Operators:
    """All operators, on arrays of the device."""
    opsets = {}
    for folder in (generated, extra_generated):
        loaded = cvmgen.load("cuda", folder=folder)
        opsets |= {name: getattr(loaded, name) for name in dir(loaded)}
    return Operators("cuda", opsets)


@pytest.fixture(scope="module")
def exact(generated: Path, extra_generated: Path) -> Operators:
    opsets = {}
    for folder in (generated, extra_generated):
        loaded = cvmgen.load("c", folder=folder)
        opsets |= {name: getattr(loaded, name) for name in dir(loaded)}
    return Operators("c", opsets)


def there(device: Device, given: Any) -> Any:
    if given is None:
        return None
    if isinstance(given, list):
        return [there(device, each) for each in given]
    return DeviceArray.of(device, np.ascontiguousarray(given))


def arrays(given: Sequence[Any]) -> list[Any]:
    return [one for each in given for one in (each if isinstance(each, list) else [each])]


@pytest.mark.parametrize("name", DRAW)
def test_random_calls(ops: Operators, exact: Operators, device: Device, name: str) -> None:
    """Bit for bit what C gives; kernels read the element types that they are given."""
    random, compared = Random(f"gpu {name}"), 0
    for _ in range(40):
        drawn = call(name, random)
        operator = exact[name]
        precise = [operator._info.has_precision(each) for each in operator.inputs]
        inputs = [
            given
            if given is None or not is_precise
            else [one.astype(np.int32) for one in given]
            if isinstance(given, list)
            else given.astype(np.int32)
            for given, is_precise in zip(drawn.inputs, precise, strict=False)
        ]
        try:
            wanted = operator(*inputs, precisions=drawn.precisions, **drawn.attributes)
        except OperatorError:
            continue
        found = ops[name](
            *(there(device, each) for each in inputs),
            precisions=drawn.precisions
            or [
                precision(given) if is_precise else None
                for given, is_precise in zip(inputs, precise, strict=False)
            ],
            **drawn.attributes,
        )
        pairs = zip(several(found), several(wanted), strict=True)
        assert all(a.to_numpy().tobytes() == b.tobytes() for a, b in pairs), str(drawn)
        compared += 1
    assert compared > 0


def several(result: Any) -> tuple[Any, ...]:
    return result if isinstance(result, tuple) else (result,)


def precision(given: Any) -> Any:
    """The precision that holds an operand's integers."""
    if isinstance(given, list):
        return [precision(each) for each in given]
    if given is None:
        return None
    return int(np.abs(given.astype(np.int64)).max(initial=0)).bit_length() + 1


def test_more_elements_than_a_grid_has_threads(ops: Operators, device: Device) -> None:
    count = (1 << 16) * 256 * 2 + 5
    X = np.arange(count, dtype=np.int32) % 251 - 125
    found = ops.cvm.relu(DeviceArray.of(device, X), precisions=[8])
    assert (found.to_numpy() == np.maximum(X, 0)).all()


def test_an_address_that_is_none(ops: Operators, device: Device) -> None:
    """Memory of the host behind an array that claims the device: refused before a kernel runs."""
    X = np.zeros(4, np.int32)

    class Wrong:
        def __init__(self) -> None:
            self.__cuda_array_interface__ = {
                **DeviceArray.empty(device, (4,), np.int32).__cuda_array_interface__,
                "data": (X.ctypes.data, False),
            }

    with pytest.raises(OperatorError, match="memory of cuda:0 is needed"):
        ops.cvm.relu(Wrong(), precisions=[8])


@pytest.mark.parametrize("side", [False, True])
def test_pytorch(ops: Operators, side: bool) -> None:
    torch = pytest.importorskip("torch")
    if not torch.cuda.is_available():
        pytest.skip("this PyTorch has no CUDA")
    stream = torch.cuda.Stream() if side else torch.cuda.current_stream()
    with torch.cuda.stream(stream):
        x = torch.randint(-9, 9, (64, 256), dtype=torch.int8, device="cuda")
        w = torch.randint(-9, 9, (32, 256), dtype=torch.int8, device="cuda")
        y = torch.from_dlpack(ops.cvm.dense(x, w, precisions=[8, 8], stream=stream))
        out = torch.empty_like(y)
        assert ops.cvm.dense(x, w, precisions=[8, 8], out=out, stream=stream) is out
        wanted = (x.cpu().to(torch.int32) @ w.cpu().to(torch.int32).t()).tolist()
    stream.synchronize()
    assert y.tolist() == wanted
    assert out.tolist() == wanted
    assert isinstance(ops.cvm.relu(x, precisions=[8]), torch.Tensor)
    turned = ops.cvm.relu(x.t(), precisions=[8])
    assert turned.tolist() == x.t().clamp(min=0).tolist()


def test_cupy(ops: Operators) -> None:
    cupy = pytest.importorskip("cupy")
    x = cupy.arange(-8, 8, dtype=cupy.int32).reshape(4, 4)
    stream = cupy.cuda.Stream(non_blocking=True)
    y = cupy.from_dlpack(ops.cvm.relu(x, precisions=[8], stream=stream))
    assert y.tolist() == cupy.maximum(x, 0).tolist()
