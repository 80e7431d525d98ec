"""Results that do not fit their type, in graphs that are replayed and in calls in any order: no
refusal is lost, and none is invented."""

from __future__ import annotations

import gc
from pathlib import Path
from typing import Any

import pytest

from cvmgen.api import Operators
from cvmgen.api.device import Device
from cvmgen.api.device_array import DeviceArray
from cvmgen.api.library import load_on_device
from cvmgen.api.manifest import read_manifest
from tests.api.late.operators import (
    BAD,
    GOOD,
    REFUSED,
    SUMS,
    Session,
    refusal,
)
from tests.fake_gpu import (
    A_STREAM,
    Capture,
    State,
    fake_backend,
    has_nvrtc,
)

pytestmark = pytest.mark.skipif(not has_nvrtc(), reason="no CUDA compiler, see `cvmgen[cuda]`")


def test_graphs_that_are_replayed(
    ops: Operators, device: Device, library: Path, state: State
) -> None:
    """Bound before; told where their end is awaited, as often as they are started."""
    x = DeviceArray.of(device, GOOD, A_STREAM)
    bound = ops.late.sums.bind(x, stream=A_STREAM)
    with Capture(device, library, A_STREAM) as graph:
        bound()
        bound()
    for _ in range(2):
        x.copy_from(BAD)
        graph.replay()
        assert refusal(bound.result.to_numpy) == REFUSED
        x.copy_from(GOOD)
        graph.replay()
        assert bound.result.to_numpy().tolist() == SUMS
    x.copy_from(BAD)
    graph.replay()
    assert refusal(bound) == REFUSED
    graph.drop()


def test_graphs_of_calls_that_were_not_prepared(
    folder: Path, library: Path, device: Device, state: State
) -> None:
    """Words are made, and kept for the graph, while the stream is captured."""
    fresh = fake_backend(folder)
    ops, there = load_on_device(read_manifest(folder), fresh), fresh.device
    x = DeviceArray.of(there, GOOD, A_STREAM)
    with Capture(there, library, A_STREAM) as graph:
        found = ops.late.positive(ops.late.sums(x, stream=A_STREAM), stream=A_STREAM)
    gc.collect()
    (noted,) = there.refusals._noted.values()
    x.copy_from(BAD)
    graph.replay()
    assert refusal(found.to_numpy) == REFUSED
    graph.replay()
    assert refusal(there.synchronize) == REFUSED
    x.copy_from(GOOD)
    graph.replay()
    assert found.to_numpy().tolist() == SUMS
    there.refusals._collect()
    assert there.refusals._noted == {noted.address: noted}, "the graph may write them"
    graph.drop()
    there.trim()
    there.refusals._collect()
    assert not there.refusals._noted


def test_a_refusal_before_a_capture_waits_for_its_end(
    ops: Operators, device: Device, library: Path, state: State
) -> None:
    x = DeviceArray.of(device, BAD, A_STREAM)
    bound = ops.late.sums.bind(x, stream=A_STREAM)
    bound()
    with Capture(device, library, A_STREAM) as graph:
        bound()
        bound.result.__dlpack__(stream=A_STREAM)
    assert refusal(bound.result.to_numpy) == REFUSED
    graph.drop()


# ---------------------------------------------------------------- anything in any order


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize("late", [0, 1])
def test_calls_in_any_order(
    ops: Operators, device: Device, state: State, run: Any, seed: int, late: int
) -> None:
    """No refusal is lost, none is told twice, and none is invented."""
    state.late = late
    session = Session(ops, device, seed)
    for _ in range(80):
        step = session.random.choice(["call", "call", "call", "read", "drop", "wait", "run", "run"])
        if step == "run":
            run(session.random.choice(session.streams), session.random.randrange(9))
        else:
            getattr(session, step)()
    session.end()
