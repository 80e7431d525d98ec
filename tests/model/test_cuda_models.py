"""Models for CUDA: the bits of C, from kernels that run on the CPU, under sanitizers and the
detector of races, on a device that is not there; and what compilers make of them."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import cvmgen
from cvmgen.api import Operators
from cvmgen.api.cuda_cpu_backend import ThreadOrder
from cvmgen.api.device import Device
from cvmgen.api.device_array import DeviceArray
from cvmgen.api.driver import Driver
from cvmgen.build import compile_library, cuda_resources, write_changed
from cvmgen.errors import ModelError
from cvmgen.graph import CompiledModel, load, load_model
from cvmgen.graph.compiled import PRELUDE, model_sources
from cvmgen.graph.device_model import CudaCpuModel, DeviceModel
from cvmgen.graph.limits import Array
from cvmgen.model.build import make_files
from cvmgen.model.device_tiles import progressions
from tests.emit.test_cuda_sanitized import ADDRESSES, QUICK, linux, report_of
from tests.fake_gpu import SOURCE, fake_state, has_nvrtc
from tests.graph.test_tflite import SMALL, STREAM, model_of
from tests.model.byte_models import ByteModel
from tests.model.golden import DIGITS
from tests.model.invented import MODELS, Sketch
from tests.model.test_models import RESNET, inputs, results

ORDERS: Sequence[ThreadOrder] = ("forward", "reverse", 7)
nvrtc = pytest.mark.skipif(not has_nvrtc(), reason="no CUDA compiler, see `cvmgen[cuda]`")


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, Path]:
    """The invented models, those of TensorFlow Lite and the digits for CUDA, and the same in C."""
    python = cvmgen.load("python")
    found = {target: tmp_path_factory.mktemp(target) for target in ("c", "cuda")}
    models = [*drawn(python)]
    for target, folder in found.items():
        files: dict[str, str] = {}
        for name, symbol, arrays in models:
            files |= make_files(symbol, arrays, name, python, target=target).all()
        write_changed(folder, files)
    return found


def drawn(operators: Operators) -> Iterator[tuple[str, Any, Any]]:
    for seed, (name, draw) in enumerate(MODELS.items()):
        sketch = Sketch(operators, seed)
        yield name, draw(sketch), sketch.arrays
    for sample in (SMALL, STREAM):
        yield sample.replace(" ", "_"), model_of(sample), None
    yield "digits", DIGITS / "digits.json", DIGITS / "digits.bin"
    yield "bytes", ByteModel(), None


NAMES = (*MODELS, SMALL.replace(" ", "_"), STREAM.replace(" ", "_"), "digits", "bytes")


@cache
def library(folder: Path, sanitizers: Sequence[str] = ()) -> Path:
    """The models of a folder for the CPU, not optimised."""
    return compile_library(
        model_sources(folder, "cuda"),
        name="model-cuda",
        flags=QUICK,
        threads=False,
        prelude=PRELUDE,
        sanitizers=sanitizers,
    )


def on_cpu(
    folder: Path, name: str, order: ThreadOrder = "forward", sanitizers: Sequence[str] = ()
) -> CudaCpuModel:
    described = json.loads((folder / f"{name}.json").read_text())
    return CudaCpuModel(folder, described, order, library(folder, sanitizers))


def calls(model: CompiledModel, count: int = 2) -> Iterator[tuple[Array, ...]]:
    """Inputs of a model: the ends of their types, and values from all over them."""
    random = np.random.default_rng(5)
    for number in range(count):
        given = []
        for shape, dtype in zip(model.input_shapes, model.input_dtypes, strict=True):
            if dtype.kind == "f":
                given.append(random.normal(size=shape).astype(dtype))
                continue
            ends = [np.iinfo(dtype).min, np.iinfo(dtype).max]
            low, high = (max(ends[0], -(1 << 20)), min(ends[1], 1 << 20))
            given.append(
                random.choice(ends, shape).astype(dtype)
                if number == 0
                else random.integers(low, high, shape, dtype, endpoint=True)
            )
        yield tuple(given)


def assert_same(found: Any, expected: Any) -> None:
    for one, other in zip(results(found), results(expected), strict=True):
        assert one.dtype == other.dtype
        assert one.tobytes() == other.tobytes()


@pytest.mark.parametrize("name", NAMES)
def test_the_bits_of_c(folders: Mapping[str, Path], name: str) -> None:
    """In every order of threads, by the instructions of tensor cores and without, with zero points
    too; a stream goes on where its last call ended, and begins anew."""
    c, models = load_model(folders["c"], name), [on_cpu(folders["cuda"], name, e) for e in ORDERS]
    assert models[0].input_dtypes == c.input_dtypes
    assert models[0].output_shapes == c.output_shapes
    for _ in range(2):
        for given in calls(c):
            expected = c(*given)
            for at, each in enumerate(models):
                each.state.tensor_cores = at % 2
                assert_same(each(*given), expected)
        for model in (c, *models):
            model.reset()


@pytest.mark.skipif(not RESNET.is_dir(), reason="the published model is not beside the repository")
def test_a_published_model(tmp_path: Path) -> None:
    graph = RESNET / "symbol.json", RESNET / "params.bin"
    write_changed(tmp_path, make_files(*graph, "resnet", target="cuda").all())
    text = (tmp_path / "resnet.cu").read_text()
    assert text.count("cvmgen_contract<") == 22, "the convolutions and the dense layer"
    network = load(*graph, target="c")
    x = inputs(network, 1)[-1]
    assert_same(on_cpu(tmp_path, "resnet")(x), network(x))


# ---------------------------------------------------------------- what they may not do


@linux
@pytest.mark.parametrize("name", NAMES)
def test_no_races(folders: Mapping[str, Path], name: str) -> None:
    """On few blocks too, whose threads go from one place to the next."""
    c, model = load_model(folders["c"], name), on_cpu(folders["cuda"], name, 3, ("thread",))
    for given in calls(c):
        assert_same(model(*given), c(*given))


@linux
def test_sanitized(folders: Mapping[str, Path]) -> None:
    path = library(folders["cuda"], ADDRESSES)
    report = report_of("-m", "tests.model.run_cuda_models", folders["cuda"], path)
    assert not report, report


# ---------------------------------------------------------------- machine code


@nvrtc
@pytest.mark.parametrize("architecture", ["sm_80", "sm_90a", "sm_120"])
@pytest.mark.parametrize("name", ["chain", "boxes", "small_network", "stream"])
def test_what_gpus_run(folders: Mapping[str, Path], name: str, architecture: str) -> None:
    """Every kernel compiles, and has its values in registers."""
    sources = model_sources(folders["cuda"], "cuda")
    headers = {each: text for each, text in sources.items() if each.endswith(".h")}
    found = cuda_resources(
        sources[f"{name}.cu"], architecture=architecture, includes=headers, name=f"{name}.cu"
    )
    assert len(found) == sources[f"{name}.cu"].count("__global__ ")
    assert not {kernel for kernel, each in found.items() if each.spilled or each.stack}


# ---------------------------------------------------------------- on a device


@pytest.fixture(scope="module")
def device_library(folders: Mapping[str, Path]) -> Path:
    """The host code of the models, with a driver in it."""
    sources = {**model_sources(folders["cuda"], "cuda"), "fake_driver.cc": SOURCE.read_text()}
    return compile_library(sources, name="model-fake", flags=QUICK, threads=False, prelude=PRELUDE)


def on_device(folder: Path, name: str, library: Path) -> DeviceModel:
    described = json.loads((folder / f"{name}.json").read_text())
    return DeviceModel(folder, described, Device(Driver(str(library)), 0), library)


@nvrtc
@pytest.mark.parametrize("name", ["pyramid", "stream"])
def test_on_a_device(folders: Mapping[str, Path], device_library: Path, name: str) -> None:
    """By launches and by a graph, on whatever stream, into new arrays and given ones."""
    c, model = load_model(folders["c"], name), on_device(folders["cuda"], name, device_library)
    with model.device.relaxed():
        another = model.device.driver.handle("cuStreamCreate", 0)
    for stream in (None, another):
        for given in calls(c):
            there = [DeviceArray.of(model.device, each) for each in given]
            expected = c(*given)
            found = model(*there, stream=stream)
            assert_same(tuple(each.to_numpy() for each in found), expected)
    for each in (c, model):
        each.reset()
    ends = zip(c.input_shapes, c.input_dtypes, strict=True)
    there = [DeviceArray.empty(model.device, *each) for each in ends]
    bound = model.bind(*there)
    before = fake_state(device_library).launches
    for given in calls(c):
        for each, values in zip(there, given, strict=True):
            each.copy_from(values)
        found = bound()
        assert_same(tuple(each.to_numpy() for each in found), c(*given))
    steps = json.loads((folders["cuda"] / f"{name}.json").read_text())["steps"]
    assert fake_state(device_library).launches - before == 2 * steps


@nvrtc
def test_what_a_device_refuses(folders: Mapping[str, Path], device_library: Path) -> None:
    model = on_device(folders["cuda"], "chain", device_library)
    x = DeviceArray.empty(model.device, model.input_shape, np.int8)
    for given, rule in (
        ((x, x), "takes 1 inputs, not 2"),
        ((np.zeros(model.input_shape, np.int8),), "data: ndarray: memory of the device is needed$"),
        ((DeviceArray.empty(model.device, (1,), np.int8),), "must be int8 of shape"),
        ((DeviceArray.empty(model.device, model.input_shape, np.int32),), "not int32 of shape"),
    ):
        with pytest.raises(ModelError, match=rule):
            model(*given)
    with pytest.raises(ModelError, match="output head"):
        model(x, out=x)


# ---------------------------------------------------------------- loading


def test_other_targets(folders: Mapping[str, Path]) -> None:
    with pytest.raises(ModelError, match='was built for target="cuda" or "cuda-cpu", not \'c\''):
        load_model(folders["cuda"], "chain")
    with pytest.raises(ModelError, match="was built for target=\"c\", not 'cuda-cpu'"):
        load_model(folders["c"], "chain", target="cuda-cpu")


STARTS = [
    ((0,), ()),
    ((0, 5, 10), ((3, 5),)),
    ((0, 1, 9, 10, 18, 19), ((3, 9), (2, 1))),
    ((-4, 0, 4), ((3, 4),)),
    ((0, 1, 3), None),
    ((0, 1, 9, 11), None),
]


@pytest.mark.parametrize(("starts", "steps"), STARTS)
def test_progressions(starts: tuple[int, ...], steps: Any) -> None:
    assert progressions(starts) == steps
