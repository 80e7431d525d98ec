"""Speed of the CUDA target on a GPU, beside a copy on the same device in the same run.

    python -m benchmarks.gpu [--out benchmarks/gpu.json] [--device N]
    python -m benchmarks.gpu --stale [--out benchmarks/gpu.json]

Medians of times between events. GB/s counts each operand once; `of copy` is the share of what a
copy of 512 MB reaches, `of peak` that of what the device's memory can do by its clock, or where a
row has TOP/s, its tensor cores. TOP/s counts a product and a sum as two. `torch` is how many times
as fast as PyTorch's operation ours is, where it has one for int8, else one of half precision. Each
row keeps a hash of
its operator's machine code: `--stale`, which needs no GPU, shows the rows whose code has changed.
"""

from __future__ import annotations

import argparse
import ctypes
import hashlib
import json
import statistics
import sys
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks import gpu_peers
from cvmgen.api.cuda_backend import CudaBackend
from cvmgen.api.device import Device, open_device
from cvmgen.api.device_array import DeviceArray
from cvmgen.api.library import compiled_operators, load_on_device
from cvmgen.api.manifest import read_manifest
from cvmgen.build import compile_cuda
from cvmgen.errors import CvmgenError
from cvmgen.paths import generated_folder

ROUNDS = 15
LEAST_MS = 5.0  # of a round: a launch alone is too short to be told from its neighbours
COPIED = 256 << 20  # bytes, read and written
OUT = Path(__file__).with_name("gpu.json")


@dataclass(frozen=True)
class Row:
    """Microseconds of a call, and what follows from them."""

    workload: str
    operator: str
    us: float
    gb_per_s: float
    of_copy: float
    of_peak: float | None
    tops: float | None
    torch_us: float | None
    cubin: str  # sha256

    @property
    def of_torch(self) -> float | None:
        """How many times as fast as PyTorch."""
        return self.torch_us / self.us if self.torch_us else None


@dataclass(frozen=True)
class Workload:
    """An operator on inputs, each a shape, a type and a precision; `work`: its products."""

    name: str
    operator: str
    inputs: tuple[tuple[tuple[int, ...], str, int], ...]
    attributes: dict[str, Any]
    work: int = 0


class Timer:
    """Times on a device, by events in the default stream."""

    def __init__(self, device: Device) -> None:
        self.driver, self.device = device.driver, device
        with device.current():
            self.events = [self.driver.handle("cuEventCreate", 0) for _ in range(2)]

    def milliseconds(self, function: Callable[[], object], repeats: int) -> float:
        """Of one call among so many."""
        first, last = self.events
        found = ctypes.c_float()
        with self.device.current():
            self.driver.call("cuEventRecord", first, 0)
            for _ in range(repeats):
                function()
            self.driver.call("cuEventRecord", last, 0)
            self.driver.call("cuEventSynchronize", last)
            self.driver.call("cuEventElapsedTime", ctypes.byref(found), first, last)
        return found.value / repeats

    def median(self, function: Callable[[], object]) -> float:
        """Milliseconds of a call; the first ones, which load its code, do not count."""
        once = self.milliseconds(function, 2)
        repeats = max(1, int(LEAST_MS / max(once, 1e-4)))
        return statistics.median(self.milliseconds(function, repeats) for _ in range(ROUNDS))


def workloads(scale: int = 1) -> tuple[Workload, ...]:
    """What is measured; `scale` divides the sizes of what streams through memory."""
    n, rows = (1 << 26) // scale, 4096 // min(scale, 1024)
    side, batch = 4096 // min(scale, 64), max(1, 64 // scale)
    wide, narrow = ((n,), "int32", 16), ((n,), "int8", 8)
    edge = 56 if scale == 1 else 8
    image = ((batch, 64, edge, edge), "int8", 8)
    return (
        Workload("relu, int32", "cvm.relu", (wide,), {}),
        Workload("relu, int8", "cvm.relu", (narrow,), {}),
        Workload("elemwise_add, int32", "cvm.elemwise_add", (wide, wide), {}),
        Workload("broadcast_add, a column", "cvm.broadcast_add",
                 (((rows, 16384), "int32", 16), ((rows, 1), "int32", 16)), {}),
        Workload("cvm_right_shift, int32", "cvm.cvm_right_shift", (wide,),
                 {"precision": 8, "shift_bit": 4}),
        Workload("transpose", "cvm.transpose", (((rows, 16384), "int32", 16),), {}),
        Workload("concatenate, two by columns", "cvm.concatenate",
                 (((rows, 8192), "int32", 16), ((rows, 8192), "int32", 16)), {"axis": 1}),
        Workload("sum of rows", "cvm.sum", (((rows, 16384), "int32", 16),), {"axes": (1,)}),
        Workload("sum of columns", "cvm.sum", (((rows, 16384), "int32", 16),), {"axes": (0,)}),
        Workload("sum of all", "cvm.sum", (((rows, 16384), "int32", 5),), {"axes": (0, 1)}),
        Workload("max_pool2d 3x3 by 2", "cvm.max_pool2d", (image,),
                 {"pool_size": (3, 3), "strides": (2, 2), "padding": (1, 1)}),
        Workload("upsampling by 2", "cvm.upsampling", (image,), {"scale": 2}),
        Workload("reduce_sum of rows, float32", "tosa.reduce_sum",
                 (((rows, 16384), "float32", 0),), {"axis": 1}),
        Workload(f"dense {side}x{side}x{side}, int8", "cvm.dense",
                 (((side, side), "int8", 8), ((side, side), "int8", 8)), {}, side**3),
        Workload(f"conv2d 3x3, 64 to 64 of {edge}x{edge}, int8", "cvm.conv2d",
                 (image, ((64, 64, 3, 3), "int8", 8)), {"padding": (1, 1)},
                 batch * edge**2 * 64 * 576),
        Workload("conv2d 3x3 of each channel, int8", "cvm.conv2d",
                 (image, ((64, 1, 3, 3), "int8", 8)), {"padding": (1, 1), "groups": 64},
                 batch * edge**2 * 64 * 9),
    )  # fmt: skip


def data(random: np.random.Generator, shape: tuple[int, ...], dtype: str, bits: int) -> Any:
    if dtype.startswith("float"):
        return random.normal(size=shape).astype(dtype)
    most = (1 << (bits - 1)) - 1
    return random.integers(-most, most, shape, dtype=np.int32, endpoint=True).astype(dtype)


def copy_speed(device: Device, timer: Timer, size: int = COPIED) -> float:
    """GB/s of a copy on the device, read and written."""
    source, target = (DeviceArray.empty(device, (size,), np.int8) for _ in range(2))

    def copy() -> None:
        device.driver.call("cuMemcpyDtoDAsync_v2", target.data, source.data, size, 0)

    return 2 * size / timer.median(copy) / 1e6


# CUdevice_attribute: clocks in kHz, the width of the memory's bus in bits, multiprocessors.
CLOCK, MEMORY_CLOCK, BUS_WIDTH, PROCESSORS = 13, 36, 37, 16

INT8_PER_CLOCK = {"sm_80": 4096, "sm_86": 2048, "sm_89": 2048, "sm_90": 8192}
"""Operations of the tensor cores of one multiprocessor, a product and a sum counted as two."""


@dataclass(frozen=True)
class Peak:
    """What a device can do by its data sheet; None where that is not known."""

    gb_per_s: float | None
    tops: float | None

    def share(self, gb_per_s: float, tops: float | None) -> float | None:
        if tops is not None:
            return tops / self.tops if self.tops else None
        return gb_per_s / self.gb_per_s if self.gb_per_s else None


def peak(device: Device) -> Peak:
    clock, memory, width, count = map(
        device.attribute, (CLOCK, MEMORY_CLOCK, BUS_WIDTH, PROCESSORS)
    )
    per_clock = INT8_PER_CLOCK.get(device.architecture)
    return Peak(
        2 * memory * width / 8 / 1e6 or None,
        count * clock * per_clock / 1e9 if per_clock and clock else None,
    )


def rows(backend: CudaBackend, scale: int = 1) -> Iterator[Row]:
    """All workloads on the device of a backend, in their order."""
    device, random = backend.device, np.random.default_rng(7)
    manifest = read_manifest(backend.folder)
    known = {info.full_name: info for info in manifest.operators}
    operators, timer = load_on_device(manifest, backend), Timer(device)
    copied, most = copy_speed(device, timer, COPIED // scale), peak(device)
    for each in workloads(scale):
        info = known[each.operator]
        values = [data(random, *given) for given in each.inputs]
        arrays = [DeviceArray.of(device, one) for one in values]
        bits = [given[2] or None for given in each.inputs]
        variadic = operators[each.operator].variadic is not None
        run = operators[each.operator].bind(
            *([arrays] if variadic else arrays),
            precisions=[bits] if variadic else bits,
            **each.attributes,
        )
        time = timer.median(run)
        moved = sum(array.nbytes for array in (*arrays, run.result))
        speed, tops = moved / time / 1e6, 2 * each.work / time / 1e9 if each.work else None
        peer = gpu_peers.milliseconds(each.name, values)
        yield Row(
            each.name,
            each.operator,
            time * 1e3,
            speed,
            speed / copied,
            most.share(speed, tops),
            tops,
            peer * 1e3 if peer else None,
            hashlib.sha256(backend.code(info).code).hexdigest(),
        )


NAMES = ("us", "GB/s", "of copy", "of peak", "TOP/s", "torch")
HEADER = f"{'workload':38} {NAMES[0]:>10} " + " ".join(f"{each:>8}" for each in NAMES[1:])


def line(row: Row) -> str:
    """A row as people read it."""
    share, tops, torch = (
        "" if each is None else f"{each:.{digits}f}"
        for each, digits in ((row.of_peak, 2), (row.tops, 1), (row.of_torch, 2))
    )
    return (
        f"{row.workload:38} {row.us:10.1f} {row.gb_per_s:8.0f} {row.of_copy:8.2f} "
        f"{share:>8} {tops:>8} {torch:>8}"
    )


def measure(ordinal: int, out: Path) -> int:
    try:
        device = open_device(ordinal)
    except CvmgenError as error:
        print(f"nothing was measured: {error}", file=sys.stderr)
        return 1
    folder = generated_folder()
    backend = CudaBackend(compiled_operators(folder, "cuda"), read_manifest(folder), folder, device)
    print(f"{device.name}, {device.architecture}")
    print(HEADER)
    found = []
    for row in rows(backend):
        found.append(row)
        print(line(row), flush=True)
    stored = {
        "device": device.name,
        "architecture": device.architecture,
        "rows": [asdict(row) for row in found],
    }
    out.write_text(json.dumps(stored, indent=2) + "\n")
    print(f"stored in {out}")
    return 0


def stale(out: Path) -> int:
    """Say which stored rows are of code that the formulas no longer give."""
    try:
        stored = json.loads(out.read_text())
    except FileNotFoundError:
        print(f"{out}: no numbers are stored here", file=sys.stderr)
        return 1
    root = generated_folder() / "cuda"
    headers = {path.name: path.read_text() for path in sorted(root.glob("cvmgen*.h"))}
    changed = 0
    for row in stored["rows"]:
        name = f"{row['operator'].replace('.', '/')}.cu"
        cubin = compile_cuda(
            (root / name).read_text(),
            architecture=stored["architecture"],
            includes=headers,
            name=name,
        )
        if hashlib.sha256(cubin).hexdigest() != row["cubin"]:
            changed += 1
            print(f"stale: {row['workload']}")
    print(f"{changed} of {len(stored['rows'])} rows on {stored['device']} are stale")
    return int(changed > 0)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, default=OUT, help="where the numbers are stored")
    parser.add_argument("--device", type=int, default=0, help="the GPU, counted from 0")
    parser.add_argument("--stale", action="store_true", help="measure nothing: check stored rows")
    given = parser.parse_args()
    return stale(given.out) if given.stale else measure(given.device, given.out)


if __name__ == "__main__":
    sys.exit(main())
