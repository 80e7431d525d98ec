"""Results that do not fit their type, on a device that is not there: no call waits for them, and
whoever could see them is told."""

from __future__ import annotations

import gc
import os
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from cvmgen.api import Operators
from cvmgen.api.device import Device
from cvmgen.api.device_array import DeviceArray
from cvmgen.api.library import load_on_device
from cvmgen.api.manifest import read_manifest
from cvmgen.errors import OperatorError
from tests.api.fake_torch import Stream, Torch
from tests.api.late.operators import (
    B_STREAM,
    BAD,
    EARLIER,
    GOOD,
    LARGE,
    LEAST,
    REFUSED,
    SUMS,
    WORSE,
    refusal,
)
from tests.fake_gpu import (
    A_STREAM,
    Capture,
    State,
    has_nvrtc,
)

pytestmark = pytest.mark.skipif(not has_nvrtc(), reason="no CUDA compiler, see `cvmgen[cuda]`")


# ---------------------------------------------------------------- who is told


WAYS: dict[str, Callable[[Any], Any]] = {
    "to_numpy": lambda y: y.to_numpy(),
    "DLPack": lambda y: y.__dlpack__(),
    "DLPack, on another stream": lambda y: y.__dlpack__(stream=A_STREAM),
    "the interface of arrays": lambda y: y.__cuda_array_interface__,
    "waiting for the stream": lambda y: y.device.synchronize(0),
    "waiting for the device": lambda y: y.device.synchronize(),
}


@pytest.mark.parametrize("way", WAYS)
def test_whoever_sees_results_is_told_once(
    ops: Operators, device: Device, state: State, way: str
) -> None:
    found = ops.late.sums(DeviceArray.of(device, BAD))
    assert refusal(WAYS[way], found) == REFUSED
    WAYS[way](found)


def test_a_call_does_not_wait(ops: Operators, device: Device, state: State) -> None:
    """It allocates nothing, and copies nothing back."""
    bound = ops.late.sums.bind(DeviceArray.of(device, GOOD))
    before = (state.allocations, state.syncs, state.launches)
    bound()
    bound()
    assert (state.allocations, state.syncs, state.launches - 2) == before
    assert bound.result.to_numpy().tolist() == SUMS


def test_a_good_call_after_one_that_is_refused(
    ops: Operators, device: Device, state: State
) -> None:
    x = DeviceArray.of(device, BAD)
    bound = ops.late.sums.bind(x)
    bound()
    assert refusal(bound) == REFUSED, "the next call tells it, and computes nothing"
    x.copy_from(GOOD)
    assert bound().to_numpy().tolist() == SUMS
    x.copy_from(BAD)
    assert refusal(bound().to_numpy) == REFUSED
    x.copy_from(GOOD)
    assert bound().to_numpy().tolist() == SUMS


def test_a_call_that_is_not_done_is_not_known_to_be_refused(
    ops: Operators, device: Device, state: State
) -> None:
    state.late = 1
    bound = ops.late.sums.bind(DeviceArray.of(device, BAD))
    syncs = state.syncs
    bound()
    bound()
    assert state.syncs == syncs
    assert refusal(bound.result.to_numpy) == REFUSED
    assert bound.result.to_numpy()[0] == 3


def test_the_first_element_of_all_is_known_when_all_are_done(
    ops: Operators, device: Device, state: State, run: Any
) -> None:
    """The second call, of which a lesser place is refused, is not done when the first one is."""
    state.late = 1
    x = DeviceArray.of(device, BAD, A_STREAM)
    bound = ops.late.sums.bind(x, stream=A_STREAM)
    bound()
    x.copy_from(WORSE)
    bound()
    run(A_STREAM, 2)  # the copy, and the first of the calls
    assert refusal(bound) == EARLIER


TWO = [
    ([[LARGE, LARGE]], "late.both: Y: element (0,) does not fit int32"),
    ([[1, 2], [LEAST, -1]], "late.both: Y: element (1,) does not fit int32"),
    ([[1, 2], [LEAST, 1]], "late.both: Z: element (1,) does not fit int32"),
    ([[5, 5], [LARGE + 9, -LARGE]], "late.both: Z: element (1,) does not fit int32"),
    ([[LARGE, -LARGE], [LARGE, LARGE]], "late.both: Y: element (1,) does not fit int32"),
]


@pytest.mark.parametrize(("rows", "text"), TWO)
def test_of_two_outputs(
    ops: Operators, device: Device, state: State, rows: list[list[int]], text: str
) -> None:
    """One refusal for a call, by the first output that has one."""
    found = ops.late.both(DeviceArray.of(device, np.array(rows, np.int32)))
    assert refusal(found.Z.to_numpy) == text
    assert found.Y.to_numpy().shape == (len(rows),)


def test_what_is_made_of_refused_results(ops: Operators, device: Device, state: State) -> None:
    """They are in no array that anybody reads; in a stream of their own, too."""
    x = DeviceArray.of(device, BAD)
    assert refusal(ops.late.positive(ops.late.sums(x)).to_numpy) == REFUSED
    between = ops.late.sums(x)
    last = ops.late.positive(between, stream=A_STREAM)
    assert refusal(last.to_numpy) == REFUSED
    assert between.to_numpy()[0] == 3


def test_results_in_an_array_of_another_stream(
    ops: Operators, device: Device, state: State
) -> None:
    out = DeviceArray.empty(device, (3,), np.int32, B_STREAM)
    ops.late.sums(DeviceArray.of(device, BAD, A_STREAM), out=out, stream=A_STREAM)
    assert refusal(out.to_numpy) == REFUSED


def test_another_stream_is_not_to_blame(ops: Operators, device: Device, state: State) -> None:
    state.late = 1
    arrays = [DeviceArray.of(device, each, at) for each, at in ((BAD, A_STREAM), (GOOD, B_STREAM))]
    bad, good = (ops.late.sums(each, stream=each.stream) for each in arrays)
    assert good.to_numpy().tolist() == SUMS
    device.synchronize(B_STREAM)
    assert refusal(device.synchronize, A_STREAM) == REFUSED
    assert bad.to_numpy()[0] == 3


def test_open_calls_have_words_of_their_own(ops: Operators, device: Device, state: State) -> None:
    layer = ops.late.sums.bind((3, 2))
    x = [DeviceArray.of(device, each) for each in (GOOD, BAD, GOOD, WORSE)]
    first = layer(x[0])
    state.late = 1
    found = [layer(each) for each in x[1:]]
    assert [refusal(found[at].to_numpy) for at in (2, 0)] == [EARLIER, REFUSED]
    assert found[1].to_numpy().tolist() == first.to_numpy().tolist() == SUMS


def test_threads_are_told_of_their_own_calls(ops: Operators, device: Device, state: State) -> None:
    """Though both use the default stream."""
    x = DeviceArray.of(device, BAD)
    turn = [threading.Event(), threading.Event()]
    told: list[str] = []

    def work() -> None:
        found = ops.late.sums(x)
        turn[0].set()
        turn[1].wait(20)
        told.append(refusal(found.to_numpy))

    other = threading.Thread(target=work)
    other.start()
    turn[0].wait(20)
    good = ops.late.sums(DeviceArray.of(device, GOOD))
    assert good.to_numpy().tolist() == SUMS
    device.synchronize(0)
    turn[1].set()
    other.join()
    assert told == [REFUSED]


def test_a_thread_that_has_ended_tells_nobody(ops: Operators, device: Device, state: State) -> None:
    x = DeviceArray.of(device, BAD)
    thread = threading.Thread(target=lambda: ops.late.sums(x))
    thread.start()
    thread.join()
    assert refusal(device.synchronize, 0) == REFUSED


def test_threads_with_one_bound_call(ops: Operators, device: Device, state: State) -> None:
    """Each refusal is told at most once, and none is invented."""
    x = DeviceArray.of(device, BAD)
    bound = ops.late.sums.bind(x)
    told: list[str] = []
    calls = 60

    def work() -> None:
        for _ in range(calls):
            try:
                bound().to_numpy()
            except OperatorError as error:
                told.append(str(error))

    threads = [threading.Thread(target=work) for _ in range(3)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    assert set(told) == {REFUSED}
    x.copy_from(GOOD)
    told.clear()
    work()
    assert told in ([], [REFUSED]), "of the last call before"


# ---------------------------------------------------------------- what is dropped


def test_words_are_used_again(ops: Operators, device: Device, state: State) -> None:
    x = DeviceArray.of(device, GOOD)
    pages = None
    for _ in range(1500):
        ops.late.sums(x)
        pages = pages or len(device.refusals._pages)
    assert len(device.refusals._pages) == pages
    assert not device.refusals._noted


def test_calls_that_are_dropped_before_they_are_done(
    ops: Operators, device: Device, state: State
) -> None:
    """Their words are nobody else's before that; what is refused of them is told."""
    state.late = 1
    x = DeviceArray.of(device, BAD, A_STREAM)
    ops.late.sums(x, stream=A_STREAM)
    (first,) = device.refusals._noted.values()
    found = ops.late.sums(DeviceArray.of(device, GOOD, B_STREAM), stream=B_STREAM)
    assert found.notes is not None
    assert found.notes.noted.address != first.address
    assert found.to_numpy().tolist() == SUMS
    assert refusal(device.synchronize, A_STREAM) == REFUSED


def test_the_next_call_tells_what_nobody_can_ask_for(
    ops: Operators, device: Device, state: State, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Results that are tensors of another library have nothing that could tell it."""
    torch = Torch(device)
    monkeypatch.setitem(sys.modules, "torch", torch)  # type: ignore[arg-type]
    monkeypatch.setattr(torch.cuda, "now", Stream(A_STREAM))
    good, bad = torch.tensor(GOOD), torch.tensor(BAD)
    monkeypatch.setattr(device.refusals, "seen", lambda stream, notes=None: None)
    found = ops.late.sums(bad)
    assert refusal(ops.late.sums, good) == REFUSED
    assert ops.late.sums(good).numpy().tolist() == SUMS
    layer = ops.late.sums.bind((3, 2))
    found = layer(good)
    found = layer(bad)
    assert refusal(layer, good) == REFUSED
    found = layer(bad)
    assert refusal(device.synchronize) == REFUSED
    del found


def test_arrays_that_are_dropped_while_another_stream_is_captured(
    ops: Operators, device: Device, library: Path, state: State
) -> None:
    """The default stream may not be touched before the capture ends."""
    found = ops.late.sums(DeviceArray.of(device, GOOD))
    with Capture(device, library, A_STREAM) as graph:
        del found
        gc.collect()
        assert len(device.refusals._noted) == 1
    graph.drop()


# ---------------------------------------------------------------- other ways to call


def test_arrays_of_the_host(backend: Any, folder: Path, state: State) -> None:
    """The call itself tells it; of several threads each its own."""
    sums = load_on_device(read_manifest(folder), backend, transfer=True).late.sums
    assert refusal(sums, BAD) == REFUSED
    assert sums(GOOD).tolist() == SUMS
    told: dict[int, list[str]] = {0: [], 1: []}

    def work(number: int) -> None:
        for _ in range(40):
            try:
                assert sums((GOOD, BAD)[number]).tolist() == SUMS
            except OperatorError as error:
                told[number].append(str(error))

    threads = [threading.Thread(target=work, args=(number,)) for number in told]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    assert told == {0: [], 1: [REFUSED] * 40}


def test_calls_that_wait(
    backend: Any, ops: Operators, device: Device, state: State, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(backend, "wait", True)
    x = DeviceArray.of(device, BAD, A_STREAM)
    assert refusal(ops.late.sums, x, stream=A_STREAM) == REFUSED
    x.copy_from(GOOD)
    assert ops.late.sums(x, stream=A_STREAM).to_numpy().tolist() == SUMS


def test_real_numbers_need_no_words(ops: Operators, device: Device, state: State) -> None:
    found = ops.late.sums(DeviceArray.of(device, np.array([[1.5, 3e38]], np.float32)))
    assert found.notes is None
    assert found.to_numpy().tolist() == [np.float32(3e38)]
    assert ops.late.positive(DeviceArray.of(device, GOOD)).notes is None, "nor what always fits"


def test_a_device_that_fails(ops: Operators, device: Device, state: State) -> None:
    """It is told as it is, and refuses nothing."""
    bound = ops.late.sums.bind(DeviceArray.of(device, GOOD))
    state.fail_launches = 1
    assert "CUDA_ERROR_LAUNCH_FAILED" in refusal(bound)
    state.fail_launches = 0
    assert bound().to_numpy().tolist() == SUMS
    state.fail_late = 700
    assert "CUDA_ERROR_ILLEGAL_ADDRESS" in refusal(bound)
    (noted,) = device.refusals._noted.values()
    assert not device.refusals._settled(noted)
    state.fail_late = 0


def test_a_fork_reads_no_words(ops: Operators, device: Device, state: State) -> None:
    """They are memory that a child may not have."""
    found = ops.late.sums(DeviceArray.of(device, BAD))
    assert found.notes is not None
    noted = found.notes.noted
    if (child := os.fork()) == 0:
        try:
            noted.words = None  # type: ignore[assignment]
            device.refusals._pages.clear()
            device.refusals._pages.append(None)  # type: ignore[arg-type]
            device.refusals.seen(0, found.notes)
            del found
            gc.collect()
            os._exit(0)
        finally:
            os._exit(1)
    assert os.waitpid(child, 0)[1] == 0
    assert refusal(found.to_numpy) == REFUSED
