"""The parts of `gpu_first`: python -m benchmarks.gpu_parts PART. Each tells all that is wrong."""

from __future__ import annotations

import concurrent.futures
import contextlib
import ctypes
import dataclasses
import functools
import gc
import importlib
import importlib.metadata
import json
import multiprocessing
import os
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from random import Random
from typing import Any

import numpy as np

import cvmgen
from benchmarks.gpu_first import SKIPPED
from cvmgen.api import Operators
from cvmgen.api.cuda_backend import CudaBackend
from cvmgen.api.device import Device, open_device
from cvmgen.api.device_array import DeviceArray
from cvmgen.api.driver import LIBRARY
from cvmgen.api.library import cuda_backend, load_on_device
from cvmgen.api.manifest import OperatorInfo, read_manifest
from cvmgen.build import c_compiler, compile_for_device, cpp_compiler, cuda_compiler
from cvmgen.errors import BuildError, CvmgenError, OperatorError
from cvmgen.paths import generated_folder

Array = np.ndarray[Any, Any]

SHORT = os.environ.get("CVMGEN_GPU_SHORT") == "1"
MOST_TOLD = 20


class Skipped(Exception):
    """A part cannot run here; the text says why."""


class Checks:
    """What was compared; what was wrong is printed at once."""

    def __init__(self) -> None:
        self.right = 0
        self.wrong: list[str] = []
        self.notes: dict[str, Any] = {}

    def check(self, what: str, work: Callable[..., str | None], *given: Any) -> None:
        """`work` raises, or gives a text that says what is wrong."""
        try:
            told = work(*given)
        except (CvmgenError, AssertionError, ValueError, RuntimeError, TypeError) as error:
            told = f"{type(error).__name__}: {error}"
        if told:
            self.wrong.append(f"{what}: {told}")
            if len(self.wrong) <= MOST_TOLD:
                print(self.wrong[-1], flush=True)
        else:
            self.right += 1

    def found(self) -> dict[str, Any]:
        return {"right": self.right, "wrong": self.wrong[: 5 * MOST_TOLD], **self.notes}


def differs(found: Any, wanted: Any) -> str:
    """What two arrays, or lists of them, do not have in common, bit for bit."""
    pairs = zip(several(found), several(wanted), strict=True)
    for at, (one, other) in enumerate(pairs):
        one = one if isinstance(one, np.ndarray) else one.to_numpy()
        if one.shape != other.shape or one.dtype != other.dtype:
            return f"result {at} is {one.dtype}{one.shape}, not {other.dtype}{other.shape}"
        if one.tobytes() != other.tobytes():
            bits = f"u{one.dtype.itemsize}"
            first, second = (np.ascontiguousarray(each).view(bits) for each in (one, other))
            places = np.argwhere(first != second)
            place = tuple(map(int, places[0]))
            return (
                f"result {at}: {len(places)} of {one.size} elements differ, the first at {place}: "
                f"{one[place]!r} ({int(first[place]):#x}), not {other[place]!r} "
                f"({int(second[place]):#x})"
            )
    return ""


def several(result: Any) -> tuple[Any, ...]:
    return tuple(result) if isinstance(result, (tuple, list)) else (result,)


# ---------------------------------------------------------------- operators


@functools.cache
def device() -> Device:
    return open_device()


@functools.cache
def backend() -> CudaBackend:
    folder = generated_folder()
    library = os.environ.get("CVMGEN_GPU_LIBRARY")
    return cuda_backend(read_manifest(folder), folder, library, device())


@functools.cache
def there() -> Operators:
    """On arrays of the device."""
    return load_on_device(read_manifest(generated_folder()), backend())


@functools.cache
def copying() -> Operators:
    """On arrays of the host."""
    return load_on_device(read_manifest(generated_folder()), backend(), transfer=True)


@functools.cache
def exact() -> Operators:
    """What all is compared with: it needs no compiler."""
    return cvmgen.load("numpy")


def infos() -> tuple[OperatorInfo, ...]:
    """All operators, or in a rehearsal some of each opset."""
    return tuple(read_manifest(generated_folder()).operators)[:: 9 if SHORT else 1]


def integers(random: np.random.Generator, shape: tuple[int, ...], bits: int, dtype: Any) -> Array:
    most = (1 << (bits - 1)) - 1
    return random.integers(-most, most, shape, dtype=np.int64, endpoint=True).astype(dtype)


class Stream:
    """A stream that waits for no other one."""

    def __init__(self) -> None:
        self.cuda = ctypes.CDLL(LIBRARY)
        made = ctypes.c_void_p()
        with device().current():
            assert self.cuda.cuStreamCreate(ctypes.byref(made), 1) == 0
        self.cuda_stream = made.value or 0

    @contextlib.contextmanager
    def captured(self) -> Iterator[list[Graph]]:
        """The graph of what is started in the stream meanwhile."""
        made: list[Graph] = []
        graph = ctypes.c_void_p()
        with device().current():
            check_status(self.cuda.cuStreamBeginCapture_v2(ctypes.c_void_p(self.cuda_stream), 0))
        try:
            yield made
        finally:
            with device().current():
                status = self.cuda.cuStreamEndCapture(
                    ctypes.c_void_p(self.cuda_stream), ctypes.byref(graph)
                )
        check_status(status)
        made.append(Graph(self, graph))


class Graph:
    def __init__(self, stream: Stream, graph: ctypes.c_void_p) -> None:
        self.stream, self.made = stream, ctypes.c_void_p()
        instantiate = stream.cuda.cuGraphInstantiateWithFlags
        with device().current():
            check_status(instantiate(ctypes.byref(self.made), graph, ctypes.c_uint64(0)))
            check_status(stream.cuda.cuGraphDestroy(graph))

    def start(self) -> None:
        with device().current():
            handle = ctypes.c_void_p(self.stream.cuda_stream)
            check_status(self.stream.cuda.cuGraphLaunch(self.made, handle))

    def drop(self) -> None:
        with device().current():
            check_status(self.stream.cuda.cuGraphExecDestroy(self.made))


def check_status(status: int) -> None:
    if status:
        raise RuntimeError(f"CUDA: {device().driver.meaning(status)}")


# ---------------------------------------------------------------- parts


def machine(checks: Checks) -> None:
    """All that results may depend on."""
    driver = device().driver
    checks.notes |= {
        "device": device().name,
        "architecture": device().architecture,
        "driver": ".".join(map(str, driver.version)),
        "CUDA compiler": asdict_of(lambda: cuda_compiler(driver=driver.version)),
        "C compiler": asdict_of(c_compiler),
        "C++ compiler": asdict_of(cpp_compiler),
        "packages": {name: version(name) for name in ("numpy", "torch", "cupy-cuda13x", "jax")},
        "host code": os.environ.get("CVMGEN_GPU_LIBRARY", "compiled here"),
    }
    checks.notes["text"] = "\n".join(f"{key}: {each}" for key, each in checks.notes.items())
    checks.right += 1


def asdict_of(find: Callable[[], Any]) -> Any:
    try:
        found = dataclasses.asdict(find())
    except BuildError as error:
        return str(error)
    return {key: str(each) for key, each in found.items() if key != "as_written"}


def version(name: str) -> str:
    try:
        return importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        return "not here"


def compile_all(checks: Checks) -> None:
    """The host code, then each operator for this device, in as many processes as there are."""
    began = time.monotonic()
    backend()
    checks.notes["host code, s"] = round(time.monotonic() - began, 1)
    wanted = (device().architecture, device().driver.version)
    context = multiprocessing.get_context("spawn")
    with concurrent.futures.ProcessPoolExecutor(os.cpu_count(), mp_context=context) as pool:
        made = {
            pool.submit(compile_one, f"{info.opset}/{info.name}.cu", *wanted): info
            for info in infos()
        }
        for each in concurrent.futures.as_completed(made):
            checks.check(f"compile {made[each].full_name}", result_of, each)
    checks.notes["all, s"] = round(time.monotonic() - began, 1)
    for info in infos():
        checks.check(f"load {info.full_name}", loaded, info)


def result_of(job: concurrent.futures.Future[str]) -> None:
    job.result()


def loaded(info: OperatorInfo) -> None:
    backend().module(info)


def compile_one(name: str, architecture: str, driver: tuple[int, int]) -> str:
    folder = generated_folder() / "cuda"
    made = compile_for_device(
        (folder / name).read_text(encoding="utf-8"),
        architecture=architecture,
        driver=driver,
        includes={path.name: path.read_text(encoding="utf-8") for path in folder.glob("cvmgen*.h")},
        name=name,
    )
    return made.compiler.kind


def calls(checks: Checks, most: int = 60, operators: Operators | None = None) -> None:
    """The calls that tests of conformance draw, on the device and by numpy."""
    from tests.conformance.random_calls import DRAW, call

    run = operators or copying()
    known = {info.full_name for info in infos()}
    for name in sorted(known & set(DRAW)):
        random = Random(f"first {name}")
        for number in range(2 if SHORT else most):
            drawn = call(name, random)
            checks.check(f"{number}: {drawn}", same_call, run, drawn)


def same_call(operators: Operators, drawn: Any) -> str:
    """Like numpy's, also in what is refused."""
    more = {"precisions": drawn.precisions, **drawn.attributes}
    try:
        wanted = exact()[drawn.operator](*drawn.inputs, **more)
    except OperatorError as error:
        try:
            operators[drawn.operator](*drawn.inputs, **more)
        except OperatorError as found:
            return "" if str(found) == str(error) else f"refused by {found!r}, not by {error!r}"
        return f"accepted; numpy: {error}"
    return differs(operators[drawn.operator](*drawn.inputs, **more), wanted)


SPECIAL = (0x7FC00000, 0xFFC00000, 0x7FFFFFFF, 0x7F800001, 0xFFFFFFFF, 0x7F800000, 0xFF800000,
           0x80000000, 0x00000000, 0x00000001, 0x80000001, 0x007FFFFF, 0x7F7FFFFF, 0x3F800000,
           0xBF800000, 0x4B800001)  # fmt: skip
"""float32 in bits: NaN in many forms, infinities, zeros, subnormals, the greatest, others."""


def specials(random: np.random.Generator, shape: tuple[int, ...], dtype: Any) -> Array:
    bits = np.array(SPECIAL, np.uint32)
    values = bits.view(np.float32)[random.integers(0, len(bits), shape)]
    with np.errstate(invalid="ignore"):
        return np.ascontiguousarray(values.astype(dtype))


ONE_NAN = {2: "0x7e00", 4: "0x7fc00000", 8: "0x7ff8000000000000"}


def nan(checks: Checks) -> None:
    """Operators on real numbers, on all that is special of them: bits as numpy's, one NaN."""
    from tests.conformance.random_calls import DRAW, call

    numbers = np.random.default_rng(1)
    for name in sorted({info.full_name for info in infos()} & set(DRAW)):
        random = Random(f"nan {name}")
        for number in range(3 if SHORT else 40):
            drawn = call(name, random)
            if any(is_real(one) for given in drawn.inputs for one in several(given)):
                inputs = tuple(special(numbers, given) for given in drawn.inputs)
                changed = dataclasses.replace(drawn, inputs=inputs)
                checks.check(f"{number}: {drawn}", same_call, copying(), changed)
                checks.check(f"{number}: {drawn}, its NaN", one_nan, changed)
    assert checks.right + len(checks.wrong) > 5, "no operator was compared"


def is_real(given: Any) -> bool:
    return isinstance(given, np.ndarray) and given.dtype.kind == "f"


def special(numbers: np.random.Generator, given: Any) -> Any:
    """Special numbers in place of an input's real ones."""
    if isinstance(given, list):
        return [special(numbers, one) for one in given]
    return specials(numbers, given.shape, given.dtype) if is_real(given) else given


def one_nan(drawn: Any) -> str | None:
    try:
        found = copying()[drawn.operator](*drawn.inputs, **drawn.attributes)
    except OperatorError:  # told by the other check
        return None
    for each in filter(is_real, several(found)):
        bits = each.view(f"u{each.dtype.itemsize}")[np.isnan(each)]
        forms = {hex(int(one)) for one in np.unique(bits)}
        if forms - {ONE_NAN[each.dtype.itemsize]}:
            return f"NaN is stored as {', '.join(sorted(forms))}"
    return None


def power(checks: Checks) -> None:
    """systemml.pow on random and special operands, as each other target that is here gives it."""
    random, size = np.random.default_rng(2), 1 << (8 if SHORT else 18)
    ends = np.array([0.0, -0.0, 1, -1, 2, 0.5, 3, -3, np.inf, -np.inf, np.nan, 5e-324, 1e308,
                     1 - 2.0**-53, 1 + 2.0**-52, 2.0**-1022, 1e15 + 1])  # fmt: skip
    draws = {
        "special": tuple(map(np.ravel, np.meshgrid(ends, ends))),
        "around 1": (1 + random.normal(size=size) * 1e-3, random.normal(size=size) * 1e5),
        "positive": (np.exp(random.normal(size=size) * 20), random.normal(size=size) * 10),
        "integers": (random.normal(size=size) * 9, random.integers(-30, 30, size).astype(float)),
    }
    targets = {"numpy": exact()}
    with contextlib.suppress(CvmgenError):  # no C compiler
        targets["c"] = cvmgen.load("c")
    for name, (x, y) in draws.items():
        found = copying().systemml.pow(x, y)
        for target, operators in targets.items():
            wanted = operators.systemml.pow(x, y)
            what = f"pow, {name}, as {target}"
            checks.check(what, differs, found, wanted)
            checks.notes[f"{what}: most ulp"] = most_ulp(found, wanted)


def most_ulp(found: Array, wanted: Array) -> int:
    """How far apart two arrays of binary64 are, where both are finite."""
    finite = np.isfinite(found) & np.isfinite(wanted)
    if not finite.any():
        return 0
    first, second = (each[finite].view(np.int64) for each in (found, wanted))
    ordered = [np.where(each < 0, np.int64(-(2**63)) - each, each) for each in (first, second)]
    return int(np.abs(ordered[0] - ordered[1]).max())


def bench(checks: Checks) -> None:
    """gpu.json's rows, beside PyTorch where it is here."""
    from benchmarks import gpu

    if SHORT:
        gpu.ROUNDS, gpu.LEAST_MS = 1, 0.1
    found, lines = [], [gpu.HEADER]
    for row in gpu.rows(backend(), scale=1 << 14 if SHORT else 1):
        found.append(dataclasses.asdict(row))
        lines.append(gpu.line(row))
        print(lines[-1], flush=True)
        # A part that is stopped keeps its rows.
        checks.right += 1
        checks.notes |= {"rows": found, "text": "\n".join(lines)}
        store(checks.found())


def alignments(checks: Checks) -> None:
    """Operands and results that begin k bytes behind a boundary of 256."""
    random = np.random.default_rng(3)
    image = integers(random, (1, 5, 9, 11), 8, np.int8)
    cases: list[tuple[str, list[Array], dict[str, Any]]] = [
        ("cvm.relu", [integers(random, (3, 67), 8, np.int8)], {}),
        ("cvm.relu", [integers(random, (3, 67), 16, np.int32)], {}),
        ("cvm.elemwise_add", [integers(random, (257,), 8, np.int8) for _ in range(2)], {}),
        ("cvm.dense", [integers(random, (33, 67), 8, np.int8) for _ in range(2)], {}),
        ("cvm.dense", [integers(random, (160, 192), 8, np.int8) for _ in range(2)], {}),
        ("cvm.sum", [integers(random, (5, 301), 8, np.int8)], {"axes": (1,)}),
        ("cvm.transpose", [integers(random, (37, 65), 8, np.int8)], {}),
        ("cvm.conv2d", [image, integers(random, (6, 5, 3, 3), 8, np.int8)], {"padding": (1, 1)}),
        ("cvm.max_pool2d", [image], {"pool_size": (2, 2), "strides": (1, 1)}),
    ]
    for name, arrays, more in cases:
        wanted = exact()[name](*arrays, **more)
        for shift in range(1, 4 if SHORT else 16):
            checks.check(
                f"{name}{[each.shape for each in arrays]} of {arrays[0].dtype}, {shift} bytes",
                shifted_call,
                name,
                arrays,
                more,
                wanted,
                shift,
            )


def shifted_call(name: str, arrays: list[Array], more: Any, wanted: Array, shift: int) -> str:
    inputs = [shifted(each.shape, each.dtype, shift) for each in arrays]
    for there_now, each in zip(inputs, arrays, strict=True):
        there_now.copy_from(each)
    out = shifted(wanted.shape, wanted.dtype, shift)
    bits = [8 if each.dtype == np.int8 else 16 for each in arrays]
    there()[name](*inputs, precisions=bits, out=out, **more)
    return differs(out, wanted)


def shifted(shape: tuple[int, ...], dtype: Any, shift: int) -> DeviceArray:
    """An array that begins so many elements or, if they are bytes, bytes behind a boundary."""
    kind = np.dtype(dtype)
    size = int(np.prod(shape)) * kind.itemsize
    block = DeviceArray.empty(device(), (size + 16 * kind.itemsize,), np.int8)
    place = block.data + shift * kind.itemsize
    return DeviceArray(device(), place, shape, kind, owner=block)


def graph_cases(random: np.random.Generator) -> list[tuple[str, list[Array], dict[str, Any]]]:
    image = integers(random, (2, 8, 16, 16), 8, np.int8)
    boxes = integers(random, (1, 40, 6), 8, np.int32)
    return [
        ("cvm.relu", [integers(random, (1000,), 8, np.int8)], {}),
        ("cvm.dense", [integers(random, (200, 300), 8, np.int8),
                       integers(random, (160, 300), 8, np.int8)], {}),
        ("cvm.conv2d", [image, integers(random, (8, 8, 3, 3), 8, np.int8)], {"padding": (1, 1)}),
        ("cvm.sum", [integers(random, (100, 300), 8, np.int32)], {"axes": (1,)}),
        ("cvm.get_valid_count", [boxes], {"score_threshold": 1}),
        ("tosa.reduce_sum", [integers(random, (50, 60), 8, np.int32)], {"axis": 1}),
        ("tosa.reduce_sum", [random.normal(size=(50, 60)).astype(np.float32)], {"axis": 1}),
    ]  # fmt: skip


def graphs(checks: Checks) -> None:
    """Bound before and in the capture; started with other elements; dropped."""
    random = np.random.default_rng(4)
    for name, arrays, more in graph_cases(random):
        for prepared in (True, False):
            checks.check(
                f"{name} of {arrays[0].dtype}, {'bound before' if prepared else 'not prepared'}",
                captured_call,
                name,
                arrays,
                more,
                prepared,
            )


def captured_call(name: str, arrays: list[Array], more: Any, prepared: bool) -> str:
    stream = Stream()
    inputs = [DeviceArray.of(device(), each, stream) for each in arrays]
    device().synchronize(stream.cuda_stream)
    declared = declared_of(name, arrays)
    # A library of its own, whose kernels nothing has loaded.
    operators = there() if prepared else load_on_device(read_manifest(generated_folder()), fresh())
    call = {**declared, **more, "stream": stream}
    if prepared:
        bound = operators[name].bind(*inputs, **call)
        bound()
        with stream.captured() as made:
            bound()
        result = bound.result
    else:
        with stream.captured() as made:
            result = operators[name](*inputs, **call)
    (graph,) = made
    for values in (arrays, [each[::-1].copy() for each in arrays]):
        for place, each in zip(inputs, values, strict=True):
            place.copy_from(each)
        graph.start()
        if told := differs(result, exact()[name](*values, **more)):
            return told
    graph.drop()
    return ""


def refusals(checks: Checks) -> None:
    """Sums that do not fit: the first of many places is told, once, of calls and graphs alike."""
    rows = 1 << (8 if SHORT else 22)
    for first in (0, 1, rows // 3, rows - 1):
        what = f"{rows - first} of {rows} elements do not fit"
        checks.check(what, refused_call, np.ones((rows, 2), np.int32), first)


def refused_call(good: Array, first: int) -> str:
    bad, stream = good.copy(), Stream()
    bad[first:] = 1 << 30
    x, sums = DeviceArray.of(device(), good, stream), good.sum(1, np.int32, keepdims=True)
    bound = there().tosa.reduce_sum.bind(x, axis=1, stream=stream)
    bound()
    with stream.captured() as made:
        bound()
    (graph,) = made
    for start in (bound, graph.start, bound):
        x.copy_from(bad)
        start()
        told = refusal_of(bound.result)
        if told != f"tosa.reduce_sum: output1: element ({first}, 0) does not fit int32":
            return f"told {told!r}"
        x.copy_from(good)
        start()
        if told := refusal_of(bound.result) or differs(bound.result, sums):
            return f"behind a refusal: {told}"
    graph.drop()
    return ""


def refusal_of(result: DeviceArray) -> str:
    try:
        result.to_numpy()
    except OperatorError as error:
        return str(error)
    return ""


def declared_of(name: str, arrays: list[Array]) -> dict[str, Any]:
    return {"precisions": [8] * len(arrays)} if name.startswith("cvm.") else {}


def fresh() -> CudaBackend:
    folder, known = generated_folder(), backend()
    return CudaBackend(known.path, read_manifest(folder), folder, device())


class Foreign:
    """An array as another library would show it."""

    def __init__(self, array: DeviceArray) -> None:
        self.array: DeviceArray | None = array

    def __dlpack_device__(self) -> tuple[int, int]:
        assert self.array is not None
        return self.array.__dlpack_device__()

    def __dlpack__(self, *, stream: Any = None, max_version: Any = None) -> Any:
        assert self.array is not None
        return self.array.__dlpack__(stream=stream, max_version=max_version)


def drops(checks: Checks) -> None:
    """A result is taken on another stream, dropped, and its memory asked for again at once."""
    random = np.random.default_rng(5)
    size, rounds = (1 << 10, 3) if SHORT else (1 << 24, 60)
    relu, values = there().cvm.relu, integers(random, (size,), 8, np.int8)
    x = DeviceArray.of(device(), values)
    side, wanted = Stream(), np.maximum(values, 0)
    junk = np.full(size, -1, np.int8)
    out = DeviceArray.empty(device(), (size,), np.int8, side)

    def one() -> str:
        result = Foreign(relu(x, precisions=[8], dtype=np.int8))
        for _ in range(4):  # so that the other stream is busy when the result goes
            relu(result, precisions=[8], out=out, stream=side)
        result.array = None
        gc.collect()
        again = DeviceArray.of(device(), junk)
        told = differs(out.to_numpy(), wanted)
        del again
        return told

    for number in range(rounds):
        checks.check(f"round {number}", one)


def threads(checks: Checks) -> None:
    """Each thread has a stream, and calls of its own."""
    random = np.random.default_rng(6)
    cases = graph_cases(random)
    rounds = 2 if SHORT else 100

    def work(mine: Checks) -> None:
        stream = Stream()
        for number in range(rounds):
            name, arrays, more = cases[number % len(cases)]
            mine.check(
                f"{name}, round {number}",
                streamed,
                name,
                arrays,
                more,
                stream,
            )

    each = [Checks(), Checks()]
    runs = [threading.Thread(target=work, args=(mine,)) for mine in each]
    for run in runs:
        run.start()
    for run in runs:
        run.join()
    for mine in each:
        checks.right += mine.right
        checks.wrong += mine.wrong


def streamed(name: str, arrays: list[Array], more: Any, stream: Stream) -> str:
    inputs = [DeviceArray.of(device(), each, stream) for each in arrays]
    declared: dict[str, Any] = declared_of(name, arrays)
    found = there()[name](*inputs, stream=stream, **declared, **more)
    return differs(found, exact()[name](*arrays, **more))


def of_torch(checks: Checks) -> None:
    """Its tensors in and out, on its current stream, with gaps, captured by its own graphs."""
    try:
        torch = importlib.import_module("torch")
    except ImportError as error:
        raise Skipped(f"no PyTorch: {error}") from None
    if not torch.cuda.is_available():
        raise Skipped("this PyTorch sees no GPU")
    ops = there()
    x = torch.randint(-9, 9, (64, 256), dtype=torch.int8, device="cuda")
    w = torch.randint(-9, 9, (32, 256), dtype=torch.int8, device="cuda")
    wanted = x.cpu().int() @ w.cpu().int().t()

    def is_right(found: Any, product: Any = wanted) -> str:
        return "" if torch.equal(found.cpu(), product) else "another product"

    def on_side(work: Callable[[], Any]) -> Any:
        side = torch.cuda.Stream()
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            found = work()
        side.synchronize()
        return found

    def in_graph() -> str:
        layer = ops.cvm.dense.bind((64, 256), W=w, precisions=[8, 8])
        layer(x)
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            found = layer(x)
            positive = ops.cvm.relu(found, precisions=[32])
        for sign in (1, -1):
            x.copy_(x * sign)
            graph.replay()
            product = x.cpu().int() @ w.cpu().int().t()
            told = is_right(found, product) or is_right(positive, product.clamp(min=0))
            if told:
                return f"{told}, start {sign}"
        return ""

    def both() -> Any:
        return ops.cvm.dense(x, w, precisions=[8, 8])

    turned = x.t().contiguous().t()
    checks.check("tensors", lambda: is_right(both()))
    checks.check("on a stream of its own", lambda: is_right(on_side(both)))
    checks.check("with gaps", lambda: is_right(ops.cvm.dense(turned, w, precisions=[8, 8])))
    out = torch.empty((32, 64), dtype=torch.int32, device="cuda").t()
    ops.cvm.dense(x, w, precisions=[8, 8], out=out)
    checks.check("into gaps", lambda: is_right(out))
    given = DeviceArray.of(device(), x.cpu().numpy())
    checks.check("from_dlpack", lambda: is_right(torch.from_dlpack(given), x.cpu()))
    checks.check("a graph", in_graph)


LARGE = (1 << 31) + 5
PERIOD = 251  # of elements: no power of 2 divides it


def large(checks: Checks) -> None:
    """Elements behind the first 2^31: places are 64 bits wide wherever they have to be."""
    size = (1 << 12) + 5 if SHORT else LARGE
    pattern = (np.arange(PERIOD) % PERIOD - 125).astype(np.int8)
    piece = np.tile(pattern, 7 if SHORT else 1 << 18)
    try:
        x, y = (DeviceArray.empty(device(), (size,), np.int8) for _ in range(2))
    except CvmgenError as error:
        raise Skipped(str(error)) from None
    for start in range(0, size, piece.size):
        part(x, start, min(piece.size, size - start)).copy_from(piece[: size - start])

    def compare(wanted: Array, what: DeviceArray, shift: int = 0) -> str:
        for start in range(0, what.size, piece.size):
            found = part(what, start, min(piece.size, what.size - start)).to_numpy()
            places = (np.arange(start + shift, start + shift + PERIOD)) % PERIOD
            expected = np.tile(wanted[places], piece.size // PERIOD)[: found.size]
            if told := differs(found, expected):
                return f"from {start} on: {told}"
        return ""

    def relu() -> str:
        there().cvm.relu(x, precisions=[8], out=y)
        return compare(np.maximum(pattern, 0), y)

    def move() -> str:
        end = part(y, 0, size - 3)
        there().cvm.slice(x, begin=(3,), end=(size,), precisions=[8], out=end)
        return compare(pattern, end, 3)

    def join() -> str:
        halves = [part(x, 0, size // 2), part(x, size // 2, size - size // 2)]
        there().cvm.concatenate(*halves, axis=0, precisions=[[8, 8]], out=y)
        return compare(pattern, y)

    for name, work in (("relu", relu), ("slice", move), ("concatenate", join)):
        checks.check(f"{name} of {size} elements", work)


def part(array: DeviceArray, start: int, count: int) -> DeviceArray:
    return DeviceArray(device(), array.data + start, (count,), np.int8, array.stream, array)


def sanitized(checks: Checks) -> None:
    """Few calls of each operator: tools make them a hundred times as slow."""
    calls(checks, most=2)


PARTS: dict[str, Callable[[Checks], None]] = {
    "machine": machine,
    "compile": compile_all,
    "calls": calls,
    "nan": nan,
    "power": power,
    "bench": bench,
    "alignments": alignments,
    "graphs": graphs,
    "refusals": refusals,
    "drops": drops,
    "threads": threads,
    "torch": of_torch,
    "large": large,
    "sanitized": sanitized,
}


def store(found: Any) -> None:
    """For whoever started this part."""
    if place := os.environ.get("CVMGEN_GPU_FOUND"):
        Path(place).write_text(json.dumps(found), encoding="utf-8")


def main(arguments: Sequence[str]) -> int:
    checks = Checks()
    try:
        PARTS[arguments[0]](checks)
    except Skipped as reason:
        print(reason)
        return SKIPPED
    except CvmgenError as error:
        print(error)
        checks.wrong.append(str(error))
    store(checks.found())
    print(f"{checks.right} right, {len(checks.wrong)} wrong")
    return int(bool(checks.wrong))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
