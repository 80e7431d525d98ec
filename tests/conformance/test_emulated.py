"""Calls of generated C on other processors, which qemu emulates, answered as on this one."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pytest

from cvmgen.reference import Reference
from tests.conformance.calls import Array, Call, Conformance, compare, wanted_dtype
from tests.conformance.random_calls import DRAW, call
from tests.conformance.recorded import Recorder
from tests.emulated import ARM, BIG_ENDIAN, Machine

REPLAY = Path(__file__).with_name("replay.c")
CALLS = 6


def small_calls(recorder: Recorder) -> Iterator[Call]:
    for name in DRAW:
        if name in recorder.names:
            random = Random(f"{name} emulated")
            yield from (call(name, random) for _ in range(CALLS))


def integers(*shape: int, low: int = -127, high: int = 127, dtype: Any = np.int8) -> Array:
    return np.random.default_rng(shape).integers(low, high, shape, dtype, endpoint=True)


def real(*shape: int) -> Array:
    return np.random.default_rng(shape).standard_normal(shape)


def words(*shape: int) -> Array:
    return integers(*shape, low=-3000, high=3000, dtype=np.int32)


def large_calls() -> Iterator[Call]:
    """Calls that are worth tiles, vectors, squares of cache lines and memory for windows."""
    image, bias = integers(1, 24, 9, 10), words(40)
    same = {"padding": (1, 1)}
    for each in (image, image.astype(np.int32), words(1, 24, 9, 10)):
        yield Call("cvm.conv2d", (each, integers(40, 24, 3, 3), bias), same)
        yield Call("cvm.conv2d", (each, integers(24, 1, 3, 3), None), {**same, "groups": 24})
        yield Call("cvm.max_pool2d", (each,), {"pool_size": (3, 2), "strides": (2, 2)})
        yield Call("cvm.dense", (each.reshape(27, 80), integers(40, 80), bias))
        yield Call("cvm.sum", (each,), {"axes": (1,)})
        yield Call("cvm.max", (each,), {"axes": (2, 3)})
        yield Call("cvm.upsampling", (each,), {"scale": 2})
        yield Call("cvm.cvm_right_shift", (each,), {"precision": 8, "shift_bit": 3})
        yield Call("cvm.clip", (each,), {"a_min": -50, "a_max": 70})
        yield Call("cvm.broadcast_div", (each, integers(24, 1, 1)))
        for axes in ((0, 2, 3, 1), (3, 2, 1, 0)):
            yield Call("cvm.transpose", (each,), {"axes": axes})
    yield Call("cvm.conv2d", (image, integers(24, 12, 3, 3), None), {"stride": (2, 2), "groups": 2})
    yield Call("cvm.cvm_lut", (words(3000), integers(900)))
    yield Call("cvm.take", (words(60, 50), integers(40, low=0, high=59)), {"axis": 0})
    for axis in (0, 1):
        single = real(70, 90).astype(np.float32)
        yield Call("tosa.reduce_sum", (single,), {"axis": axis})
        yield Call("tosa.reduce_max", (single,), {"axis": axis})
    window = {"input_shape": (2, 3, 9, 8), "stride": (1, 1), "padding": (1, 1)}
    filters = {**window, "filter_shape": (5, 3, 3, 3)}
    yield Call("systemml.conv2d", (real(2, 216), real(5, 27)), filters)
    yield Call("systemml.avg_pool", (real(2, 216),), {**window, "pool_size": (3, 3)})


@pytest.fixture(
    scope="module", params=[ARM, pytest.param(BIG_ENDIAN, marks=pytest.mark.slow)], ids=str
)
def machine(request: pytest.FixtureRequest) -> Machine:
    return request.param.found()


@pytest.fixture(scope="module")
def recorder(generated: Path, references: dict[str, Reference]) -> Recorder:
    """Calls of every operator: small ones, which the reference confirms, and large ones."""
    recorder, conformance = Recorder(generated), Conformance(references, {})
    for each in small_calls(recorder):
        if results := recorder.record(each):
            compare(results, conformance.expected(each), wanted_dtype(each, None), str(each))
    for each in large_calls():
        assert recorder.record(each), each
    return recorder


def test_answers(machine: Machine, recorder: Recorder, generated: Path, tmp_path: Path) -> None:
    calls, folder = tmp_path / "calls.c", generated / "c"
    calls.write_text(recorder.program())
    sources = (REPLAY, calls, *sorted(folder.rglob("*.c")))
    flags = ("-O3", f"-I{folder}", f"-I{REPLAY.parent}")
    machine.check_variants(machine.compile(tmp_path / "replay", sources, *flags))
