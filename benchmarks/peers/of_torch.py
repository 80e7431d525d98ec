"""PyTorch on the CPU, writing into memory that is there where it can."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import torch

from benchmarks.cases import Call, Problem
from benchmarks.peers import Peer, Ways
from benchmarks.peers.of_numpy import import_time
from benchmarks.peers.resnet import torch_network

NAME = "torch"


def peer(threads: int) -> Peer:
    torch.set_num_threads(threads)
    torch.set_grad_enabled(False)
    return Peer(NAME, torch.__version__, WAYS)


def tensors(problem: Problem) -> list[Any]:
    return [torch.from_numpy(each) for each in problem.arrays]


def writing(make: Callable[[list[Any], Any, Any], Callable[[], object]]) -> Ways:
    """Ways of a `make(inputs, out, attributes)` that gives what writes into `out`."""

    def ways(problem: Problem) -> Iterator[Call]:
        out = problem.empty()
        run = make(tensors(problem), torch.from_numpy(out), problem.attributes)
        yield Call(NAME, run, lambda: out)

    return ways


def moved(view: Callable[[Any, Any, Any], tuple[Any, Any]]) -> Ways:
    """A copy of one view to another: `view(x, out, attributes)` gives target and source."""

    def make(inputs: list[Any], out: Any, attributes: Any) -> Callable[[], object]:
        target, source = view(inputs[0], out, attributes)
        return partial(target.copy_, source)

    return writing(make)


@writing
def absolute(inputs: list[Any], out: Any, attributes: Any) -> Callable[[], object]:
    return partial(torch.abs, inputs[0], out=out)


@writing
def clip(inputs: list[Any], out: Any, attributes: Any) -> Callable[[], object]:
    return partial(torch.clamp, inputs[0], attributes["a_min"], attributes["a_max"], out=out)


@writing
def right_shift(inputs: list[Any], out: Any, attributes: Any) -> Callable[[], object]:
    shift, most = attributes["shift_bit"], (1 << (attributes["precision"] - 1)) - 1

    def run() -> None:
        torch.bitwise_right_shift(inputs[0], shift - 1, out=out)
        out.add_(1).bitwise_right_shift_(1).clamp_(-most, most)

    return run


@writing
def add(inputs: list[Any], out: Any, attributes: Any) -> Callable[[], object]:
    return partial(torch.add, *inputs, out=out)


@writing
def total(inputs: list[Any], out: Any, attributes: Any) -> Callable[[], object]:
    axes = attributes["axes"]
    kept = out.reshape(()) if len(axes) == inputs[0].ndim else out
    return partial(torch.sum, inputs[0], axes, dtype=torch.int32, out=kept)


@writing
def greatest(inputs: list[Any], out: Any, attributes: Any) -> Callable[[], object]:
    axes = attributes["axes"]
    kept = out.reshape(()) if len(axes) == inputs[0].ndim else out
    return partial(torch.amax, inputs[0], axes, out=kept)


def max_pool(problem: Problem) -> Iterator[Call]:
    """On floating-point numbers, which hold these integers."""
    (x,), given = tensors(problem), problem.attributes
    run = partial(
        torch.nn.functional.max_pool2d, x.float(), given["pool_size"], given["strides"],
        given["padding"],
    )  # fmt: skip
    yield Call(NAME, run, lambda: run().int().numpy(), "float32")


def upsampling(problem: Problem) -> Iterator[Call]:
    (x,), scale = tensors(problem), problem.attributes["scale"]
    run = partial(torch.nn.functional.interpolate, x.float(), scale_factor=scale)
    yield Call(NAME, run, lambda: run().int().numpy(), "float32")
    n, c, h, w = x.shape
    out = problem.empty()
    split = torch.from_numpy(out).reshape(n, c, h, scale, w, scale)
    yield Call(NAME, partial(split.copy_, x[:, :, :, None, :, None]), lambda: out, "copy")


@writing
def concatenate(inputs: list[Any], out: Any, attributes: Any) -> Callable[[], object]:
    return partial(torch.cat, inputs, attributes["axis"], out=out)


@writing
def lut(inputs: list[Any], out: Any, attributes: Any) -> Callable[[], object]:
    return partial(torch.index_select, inputs[1], 0, inputs[0], out=out)


@writing
def take(inputs: list[Any], out: Any, attributes: Any) -> Callable[[], object]:
    return partial(torch.index_select, inputs[0], attributes["axis"], inputs[1], out=out)


def transposed(x: Any, out: Any, attributes: Any) -> tuple[Any, Any]:
    return out, x.permute(attributes["axes"])


def tiled(x: Any, out: Any, attributes: Any) -> tuple[Any, Any]:
    reps = attributes["reps"]
    pairs = [extent for pair in zip(reps, x.shape, strict=True) for extent in pair]
    return out.reshape(pairs), x.reshape([each for length in x.shape for each in (1, length)])


def repeated(x: Any, out: Any, attributes: Any) -> tuple[Any, Any]:
    axis, count = attributes["axis"], attributes["repeats"]
    split = out.reshape(*x.shape[: axis + 1], count, *x.shape[axis + 1 :])
    return split, x.unsqueeze(axis + 1)


def sliced(x: Any, out: Any, attributes: Any) -> tuple[Any, Any]:
    return out, x[tuple(map(slice, attributes["begin"], attributes["end"]))]


def dense(problem: Problem) -> Iterator[Call]:
    """int8 to int32, which oneDNN computes inside."""
    (x, w), out = tensors(problem), problem.empty()
    turned = w.t()
    run = partial(torch._int_mm, x, turned, out=torch.from_numpy(out))
    yield Call(NAME, run, lambda: out, "_int_mm")
    packed = turned.contiguous()
    held = problem.empty()
    again = partial(torch._int_mm, x, packed, out=torch.from_numpy(held))
    yield Call(NAME, again, lambda: held, "_int_mm, other layout")


def conv2d(problem: Problem) -> Iterator[Call]:
    """Quantised: packed weights, results rounded to 8 bits."""
    (x, w), given = tensors(problem), problem.attributes
    stride, padding = given.get("stride", (1, 1)), given.get("padding", (0, 0))
    groups = given.get("groups", 1)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # quantised tensors are to be replaced
        image = torch._make_per_tensor_quantized_tensor((x.int() + 128).to(torch.uint8), 1.0, 128)
        filters = torch._make_per_tensor_quantized_tensor(w, 1.0, 0)
    for engine in torch.backends.quantized.supported_engines:
        if engine not in ("onednn", "x86", "fbgemm"):
            continue
        torch.backends.quantized.engine = engine
        packed = torch.ops.quantized.conv2d_prepack(
            filters, None, list(stride), list(padding), [1, 1], groups
        )
        for name, given_image in (
            (engine, image),
            (f"{engine}, NHWC", image.contiguous(memory_format=torch.channels_last)),
        ):
            run = partial(torch.ops.quantized.conv2d, given_image, packed, 1024.0, 128)
            yield Call(NAME, run, None, name, beside="NHWC" in name)


@writing
def bound_call(inputs: list[Any], out: Any, attributes: Any) -> Callable[[], object]:
    return partial(torch.clamp_min, inputs[0], 0, out=out)


def free_call(problem: Problem) -> Iterator[Call]:
    (x,) = tensors(problem)
    yield Call(NAME, partial(torch.relu, x), lambda: torch.relu(x).numpy())


def loading(problem: Problem) -> Iterator[Call]:
    yield import_time(NAME)


def resnet(problem: Problem) -> Iterator[Call]:
    """A network of the same shape, on float32."""
    network, picture = torch_network()
    yield Call(NAME, partial(network, picture), None, "float32, eager")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # its own about deprecated parts of itself
        traced = torch.jit.freeze(torch.jit.trace(network, picture))
    yield Call(NAME, partial(traced, picture), None, "float32, traced")


WAYS: dict[str, Ways] = {
    "cvm.abs": absolute,
    "cvm.clip": clip,
    "cvm.cvm_right_shift": right_shift,
    "cvm.elemwise_add": add,
    "cvm.broadcast_add": add,
    "cvm.sum": total,
    "cvm.max": greatest,
    "cvm.max_pool2d": max_pool,
    "cvm.transpose": moved(transposed),
    "cvm.cvm_lut": lut,
    "cvm.take": take,
    "cvm.tile": moved(tiled),
    "cvm.repeat": moved(repeated),
    "cvm.upsampling": upsampling,
    "cvm.concatenate": concatenate,
    "cvm.slice": moved(sliced),
    "cvm.dense": dense,
    "cvm.conv2d": conv2d,
    "bound call": bound_call,
    "free call": free_call,
    "load": loading,
    "graph": resnet,
    "model": resnet,
}
