"""What the CPU gives to CUDA text, by CUDA's own rules: lanes, atomics, memory, dimensions."""

from __future__ import annotations

import ctypes
import math
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from cvmgen.api.c_backend import ErrorStruct
from cvmgen.api.cuda_cpu_backend import FORWARD, PRELUDE, RANDOM, REVERSE, State
from cvmgen.build import compile_library, cuda_compiler, cuda_resources
from cvmgen.emit import cuda_support
from cvmgen.errors import BuildError

SOURCE = Path(__file__).with_name("device.cu")
TURNS = (FORWARD, REVERSE, RANDOM)
SWITCHES = [(), ("-DCVMGEN_CPU_UCONTEXT",)]


class Device:
    """The functions of device.cu."""

    def __init__(self, library: Path) -> None:
        self.library = ctypes.CDLL(str(library))
        self.library.cvmgen_cpu_this_thread.restype = ctypes.POINTER(State)
        self.state: State = self.library.cvmgen_cpu_this_thread().contents

    def status(self, name: str, *arguments: Any) -> tuple[int, str]:
        error = ErrorStruct()
        status = self.library[name](ctypes.byref(error), *map(argument, arguments))
        assert self.state.pending_error == 0
        return status, error.rule.decode()

    def run(self, name: str, *arguments: Any) -> None:
        assert self.status(name, *arguments) == (0, "")


def argument(value: Any) -> Any:
    return ctypes.c_int64(value) if isinstance(value, int) else ctypes.c_void_p(value.ctypes.data)


@pytest.fixture(scope="module", params=SWITCHES, ids=["own switch", "ucontext"])
def loaded(request: pytest.FixtureRequest) -> Device:
    sources = {**cuda_support.emit_support(), SOURCE.name: SOURCE.read_text()}
    return Device(
        compile_library(sources, name="device", prelude=PRELUDE, flags=request.param, threads=False)
    )


@pytest.fixture(params=TURNS, ids=["forward", "reverse", "random"])
def device(loaded: Device, request: pytest.FixtureRequest) -> Iterator[Device]:
    loaded.state.order, loaded.state.seed = request.param, 3
    yield loaded
    loaded.state.order = FORWARD


# ---------------------------------------------------------------- lanes

Values = Sequence[int]


def shuffled(source: Callable[[int], int]) -> Callable[[Values], list[int]]:
    """Each lane has the value of another."""
    return lambda values: [values[source(lane)] for lane in range(32)]


def all_alike(function: Callable[[Values], int]) -> Callable[[Values], list[int]]:
    return lambda values: [function(values)] * 32


def word(value: int) -> int:
    return value % 2**32


def int8(value: int) -> int:
    return (value + 128) % 256 - 128


def folded(values: Values, operation: Callable[[int, int], int]) -> int:
    result = word(values[0])
    for value in values[1:]:
        result = operation(result, word(value))
    return result


LANES = [
    (shuffled(lambda lane: (lane + 5) % 32), "the fifth on, around"),
    (shuffled(lambda lane: lane // 8 * 8 + 3), "the third of eight, 8 bytes"),
    (
        lambda values: [word(values[lane - 3 if lane >= 3 else lane]) for lane in range(32)],
        "up by three",
    ),
    (shuffled(lambda lane: lane - 1 if lane % 4 else lane), "up by one among four"),
    (shuffled(lambda lane: lane + 30 if lane < 2 else lane), "down by thirty"),
    (shuffled(lambda lane: lane + 2 if lane % 16 < 14 else lane), "down by two, real"),
    (shuffled(lambda lane: lane ^ 9), "another bit"),
    (shuffled(lambda lane: lane ^ 4 if lane & 4 else lane), "out of the group"),
    (
        lambda values: [
            100 * ((values[lane ^ 1] > 0) - int(math.fmod(int8(values[lane ^ 1]), 2)))
            + (7 in values)
            + 2 * (max(values) < 1000)
            for lane in range(32)
        ],
        "small types, votes",
    ),
    (
        all_alike(lambda values: sum((value % 3 == 0) << at for at, value in enumerate(values))),
        "a ballot",
    ),
    (all_alike(sum), "a sum"),
    (all_alike(lambda values: min(values) + min(map(word, values))), "the least"),
    (all_alike(lambda values: max(values) + max(map(word, values))), "the greatest"),
    (all_alike(lambda values: folded(values, int.__and__)), "and"),
    (
        all_alike(
            lambda values: word(folded(values, int.__or__) - folded(values, int.__xor__)),
        ),
        "or, exclusive or",
    ),
    (
        lambda values: [values[31 - (lane ^ 1)] if lane % 2 else -1 for lane in range(32)],
        "half of the lanes",
    ),
]


def test_lanes(device: Device) -> None:
    x = np.random.default_rng(5).integers(-500, 500, 64)
    x[40] = 7
    found = np.zeros((64, 16), np.int64)
    device.run("run_lanes", x, found)
    for column, (expected, why) in enumerate(LANES):
        wanted = [*expected(x[:32].tolist()), *expected(x[32:].tolist())]
        assert found[:, column].tolist() == wanted, why


# ---------------------------------------------------------------- integers


def test_atomics(device: Device) -> None:
    x = np.random.default_rng(6).integers(0, 2**40, 100)
    low = x.astype(np.int32)
    ints = np.array([0, 2**31 - 1, -(2**31), 0, -1], np.int32)
    words = np.array([2**32 - 1, 0, 0, 0, 5], np.uint32)
    wide = np.array([0, 2**64 - 1, 0], np.uint64)
    device.run("run_atomics", x, ints, words, wide)
    first = {FORWARD: low[0], REVERSE: low[-1]}.get(device.state.order, ints[4])
    assert ints.tolist() == [low.sum(dtype=np.int32), low.min(), low.max(), 1, first]
    assert ints[4] in low
    assert words.tolist() == [0, 2**32 - 1, low.view(np.uint32).max(), 5, 99]
    assert wide.tolist() == [x.sum(), x.min(), x.max()]


def test_integers(device: Device) -> None:
    ends = [0, 1, -1, 2**31 - 1, -(2**31), 2**63 - 1, -(2**63), 2**32, 0x80FF017F, 0x7F80FF01]
    x = np.array([(a, b) for a in ends for b in ends], np.int64)
    found = np.zeros((len(x), 16), np.int64)
    device.run("run_integers", x, found, len(x))
    for (a, b), row in zip(x.tolist(), found.tolist(), strict=True):
        assert row[:12] == integers(a, b), (a, b)


def integers(a: int, b: int) -> list[int]:
    """What device_integers finds, in Python's integers."""
    low, other = word(a), word(b)
    wide, wide_other = a % 2**64, b % 2**64
    signed = [bytes_of(each, signed=True) for each in (low, other)]
    unsigned = [bytes_of(each, signed=False) for each in (low, other)]
    return [
        low.bit_count() + 100 * wide.bit_count(),
        (low & -low).bit_length() + 100 * (wide & -wide).bit_length(),
        32 - low.bit_length() + 100 * (64 - wide.bit_length()),
        narrow(low) * narrow(other) >> 32,
        low * other >> 32,
        np.uint64(wide * wide_other >> 64).astype(np.int64).item(),
        a * b >> 64,
        narrow(7 + sum(map(int.__mul__, *signed))),
        word(7 + sum(map(int.__mul__, *unsigned))),
        narrow(low + 127 - 10 - 18 + 128 * 128),
        word(low + 255 + 10 + 18 + 255 * 255),
        a,
    ]


def narrow(value: int) -> int:
    return (value + 2**31) % 2**32 - 2**31


def bytes_of(value: int, *, signed: bool) -> list[int]:
    return np.array([value], np.uint32).view(np.int8 if signed else np.uint8).tolist()


# ---------------------------------------------------------------- blocks


def test_three_dimensions(device: Device) -> None:
    found = np.zeros(24 * 60, np.int64)
    device.run("run_places", found)
    assert found.tolist() == [1000 * block + thread for block in range(24) for thread in range(60)]


SHAPES = [
    ((1024, 1, 1), True, "as many as there may be"),
    ((16, 1, 64), True, "in depth"),
    ((1025, 1, 1), False, "one more"),
    ((32, 33, 1), False, "more in two dimensions"),
    ((1, 1, 65), False, "too deep"),
    ((1, 0, 1), False, "none"),
]


@pytest.mark.parametrize(("shape", "there", "why"), SHAPES, ids=[row[-1] for row in SHAPES])
def test_shapes_of_blocks(
    device: Device, shape: tuple[int, int, int], there: bool, why: str
) -> None:
    found = np.zeros(1100, np.int64)
    status = device.status("run_shape", *shape, found)
    refused = (3, "CUDA: invalid configuration argument")
    assert status == ((0, "") if there else refused), why


# Entries of 16 bytes, the bytes that the kernel is allowed (0: it does not ask), the outcome.
DYNAMIC = [
    (100, 0, "", "few"),
    (3072, 0, "", "48 KB"),
    (3073, 0, "CUDA: invalid argument", "more, and nobody asked"),
    (3073, 50000, "", "more, and allowed"),
    (3200, 50000, "CUDA: invalid argument", "more than allowed"),
    (6336, 101376, "", "as much as there is on any device"),
    (6336, 101377, "CUDA: invalid argument", "more than that"),
]


@pytest.mark.parametrize(
    ("count", "allowed", "rule", "why"), DYNAMIC, ids=[row[-1] for row in DYNAMIC]
)
def test_dynamic_memory(count: int, allowed: int, rule: str, why: str, request: Any) -> None:
    # What a kernel is allowed stays: so a library of its own, whose name nobody else asks for.
    sources = {**cuda_support.emit_support(), SOURCE.name: SOURCE.read_text()}
    flags = (f"-DCASE={DYNAMIC.index((count, allowed, rule, why))}",)
    device = Device(compile_library(sources, name="device", prelude=PRELUDE, flags=flags))
    x = np.arange(4 * count, dtype=np.int32)
    y = np.empty_like(x)
    assert device.status("run_reverse", x, y, count, allowed) == (3 if rule else 0, rule), why
    if not rule:
        assert (y == x[::-1]).all()


# ---------------------------------------------------------------- faults

BESIDE = [(0, "", "the first"), (4, "", "the last")]
BESIDE += [(at, "behind", f"{at - 5} behind") for at in (5, 12)]
BESIDE += [(at, "in front of", f"{-at} in front") for at in (-1, -8)]


@pytest.mark.parametrize(("at", "side", "why"), BESIDE, ids=[row[-1] for row in BESIDE])
def test_writes_beside_memory(device: Device, at: int, side: str, why: str) -> None:
    rule = f"CUDA: a kernel wrote {side} its memory of 40 bytes" if side else ""
    assert device.status("run_beside", at) == (3 if side else 0, rule), why
    assert device.state.allocations == 0


def test_memory_that_was_not_allocated(device: Device) -> None:
    own = np.zeros(3, np.int64)
    assert device.status("run_free", own) == (3, "CUDA: invalid argument")


FAULTS = [
    ("for the lanes 0x00000001, and is not one of them", "lanes of others"),
    (
        "for thread 4, which waits at device.cu:{line} for the lanes 0x000000fe",
        "unequal lanes",
    ),
    ("for the value of lane 8, which is not one of the lanes 0x000000ff", "an absent value"),
    ("for thread 0, which has ended", "a warp that went elsewhere"),
]


@pytest.mark.parametrize(("text", "why"), FAULTS, ids=[row[-1] for row in FAULTS])
def test_what_warps_do_wrong(device: Device, text: str, why: str) -> None:
    which = [row[-1] for row in FAULTS].index(why)
    status, rule = device.status("run_fault", which, np.zeros(64, np.int64))
    lines = SOURCE.read_text().splitlines()
    start = [at for at, each in enumerate(lines) if each.startswith("KERNEL")][-4 + which]
    end = start + lines[start:].index("}") if lines[start].endswith("{") else start
    barrier = max(at for at in range(start, end + 1) if "sync" in lines[at]) + 1
    head, _, what = rule.partition(f" waits at device.cu:{barrier} ")
    assert status == 3
    assert head.startswith("CUDA: block 0: thread ")
    assert what == text.format(line=barrier), why


# ---------------------------------------------------------------- compilation


def test_it_is_cuda() -> None:
    """What the CPU runs, a compiler for devices takes too."""
    try:
        kind = cuda_compiler(None).kind
    except BuildError as error:
        pytest.skip(str(error))
    found = cuda_resources(
        SOURCE.read_text(),
        includes=cuda_support.emit_support(),
        name=SOURCE.name,
        flags=("--device-int128",) if kind == "nvrtc" else (),
    )
    assert len(found) == SOURCE.read_text().count("KERNEL device_")
