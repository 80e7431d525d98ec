"""ONNX Runtime: a model of one operator for each workload, bound to memory that is there."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
import onnx
import onnxruntime
from onnx import helper, numpy_helper

from benchmarks import nets
from benchmarks.cases import Array, Call, Problem
from benchmarks.peers import Peer, Ways
from benchmarks.peers.of_numpy import import_time
from benchmarks.peers.resnet import PICTURE, onnx_model

NAME = "onnxruntime"
OPSET = 18
ZERO_POINT = 128  # of activations as uint8: x + 128

OPTIONS = onnxruntime.SessionOptions()


def peer(threads: int) -> Peer:
    OPTIONS.intra_op_num_threads = threads
    OPTIONS.inter_op_num_threads = 1
    onnxruntime.set_default_logger_severity(3)
    return Peer(NAME, onnxruntime.__version__, WAYS)


def session(model: Any) -> Any:
    return onnxruntime.InferenceSession(
        model.SerializeToString(), OPTIONS, providers=["CPUExecutionProvider"]
    )


def bound(model: Any, inputs: Mapping[str, Array], out: Array) -> Callable[[], object]:
    """A run of the model on these arrays, which it keeps, into `out`."""
    made = session(model)
    binding = made.io_binding()
    for name, array in inputs.items():
        binding.bind_ortvalue_input(name, onnxruntime.OrtValue.ortvalue_from_numpy(array))
    pointer = out.ctypes.data
    binding.bind_output(made.get_outputs()[0].name, "cpu", 0, out.dtype, out.shape, pointer)

    def run(kept: Any = (inputs, out)) -> None:
        made.run_with_iobinding(binding)

    return run


def operator(
    name: str,
    inputs: Mapping[str, Array],
    constants: Mapping[str, Any],
    out: Array,
    order: Sequence[str] = (),
    **attributes: Any,
) -> Callable[[], object]:
    """A run of one operator on inputs and constants, in `order` where it is not this one."""
    declared = [
        helper.make_tensor_value_info(
            key, helper.np_dtype_to_tensor_dtype(array.dtype), array.shape
        )
        for key, array in inputs.items()
    ]
    held = [numpy_helper.from_array(np.asarray(value), key) for key, value in constants.items()]
    node = helper.make_node(name, list(order) or [*inputs, *constants], ["out"], **attributes)
    kind = helper.np_dtype_to_tensor_dtype(out.dtype)
    result = helper.make_tensor_value_info("out", kind, out.shape)
    graph = helper.make_graph([node], name, declared, [result], held)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", OPSET)], ir_version=8)
    onnx.checker.check_model(model)
    return bound(model, inputs, out)


Builder = Callable[[Problem, Array], Callable[[], object]]


def exact(build: Builder) -> Ways:
    """Ways of a builder whose run writes int32 into its second argument."""

    def ways(problem: Problem) -> Iterator[Call]:
        out = problem.empty()
        yield Call(NAME, build(problem, out), lambda: out)

    return ways


def plain(name: str) -> Ways:
    """An operator of ONNX that takes the inputs as they are, and nothing else."""

    def build(problem: Problem, out: Array) -> Callable[[], object]:
        inputs = {f"x{at}": each for at, each in enumerate(problem.arrays)}
        return operator(name, inputs, {}, out)

    return exact(build)


@exact
def clip(problem: Problem, out: Array) -> Callable[[], object]:
    ends = {key: np.int32(problem.attributes[key]) for key in ("a_min", "a_max")}
    return operator("Clip", {"x": problem.arrays[0]}, ends, out)


def reduction(name: str) -> Ways:
    """Of all axes: with dimensions of extent 1, since a result without any cannot be bound."""

    def build(problem: Problem, out: Array) -> Callable[[], object]:
        axes = np.array(problem.attributes["axes"], np.int64)
        kept = int(len(axes) == problem.arrays[0].ndim)
        target = out.reshape((1,) * len(axes)) if kept else out
        return operator(name, {"x": problem.arrays[0]}, {"axes": axes}, target, keepdims=kept)

    return exact(build)


def max_pool(problem: Problem) -> Iterator[Call]:
    """On floating-point numbers, which hold these integers."""
    given, out = problem.attributes, problem.empty().astype(np.float32)
    run = operator(
        "MaxPool", {"x": problem.arrays[0].astype(np.float32)}, {}, out,
        kernel_shape=given["pool_size"], strides=given["strides"], pads=given["padding"] * 2,
    )  # fmt: skip
    yield Call(NAME, run, lambda: out.astype(np.int32), "float32")


@exact
def transpose(problem: Problem, out: Array) -> Callable[[], object]:
    inputs = {"x": problem.arrays[0]}
    return operator("Transpose", inputs, {}, out, perm=problem.attributes["axes"])


@exact
def lut(problem: Problem, out: Array) -> Callable[[], object]:
    indices, table = problem.arrays
    return operator("Gather", {"i": indices}, {"table": table}, out, ("table", "i"), axis=0)


@exact
def take(problem: Problem, out: Array) -> Callable[[], object]:
    x, indices = problem.arrays
    axis = problem.attributes["axis"]
    return operator("Gather", {"i": indices}, {"x": x}, out, ("x", "i"), axis=axis)


@exact
def tile(problem: Problem, out: Array) -> Callable[[], object]:
    reps = np.array(problem.attributes["reps"], np.int64)
    return operator("Tile", {"x": problem.arrays[0]}, {"reps": reps}, out)


def enlarged(problem: Problem, out: Array, scales: Sequence[float]) -> Callable[[], object]:
    factors = {"scales": np.array(scales, np.float32)}
    return operator(
        "Resize", {"x": problem.arrays[0]}, factors, out, ("x", "", "scales"),
        mode="nearest", coordinate_transformation_mode="asymmetric", nearest_mode="floor",
    )  # fmt: skip


@exact
def upsampling(problem: Problem, out: Array) -> Callable[[], object]:
    scale = float(problem.attributes["scale"])
    return enlarged(problem, out, (1.0, 1.0, scale, scale))


@exact
def repeat(problem: Problem, out: Array) -> Callable[[], object]:
    scales = [1.0] * problem.arrays[0].ndim
    scales[problem.attributes["axis"]] = float(problem.attributes["repeats"])
    return enlarged(problem, out, scales)


@exact
def concatenate(problem: Problem, out: Array) -> Callable[[], object]:
    inputs = {f"x{at}": each for at, each in enumerate(problem.arrays)}
    return operator("Concat", inputs, {}, out, axis=problem.attributes["axis"])


@exact
def strided_slice(problem: Problem, out: Array) -> Callable[[], object]:
    ends = {key: np.array(problem.attributes[key], np.int64) for key in ("begin", "end")}
    return operator("Slice", {"x": problem.arrays[0]}, ends, out)


def dense(problem: Problem) -> Iterator[Call]:
    """Weights as a constant; activations of int8, and of uint8 with a zero point."""
    x, w = problem.arrays
    held = {"w": np.ascontiguousarray(w.T)}
    out = problem.empty()
    run = operator("MatMulInteger", {"x": x}, held, out)
    yield Call(NAME, run, lambda: out, "MatMulInteger of int8")
    again = problem.empty()
    held["zero"] = np.uint8(ZERO_POINT)  # type: ignore[assignment]
    run = operator("MatMulInteger", {"x": unsigned(x)}, held, again)
    yield Call(NAME, run, lambda: again, "MatMulInteger of uint8")


def conv2d(problem: Problem) -> Iterator[Call]:
    """Weights as a constant: results of 32 bits, and rounded to 8."""
    (x, w), given = problem.arrays, problem.attributes
    attributes = {
        "kernel_shape": w.shape[2:], "group": given.get("groups", 1),
        "strides": given.get("stride", (1, 1)), "pads": given.get("padding", (0, 0)) * 2,
    }  # fmt: skip
    out = problem.empty()
    held: dict[str, Any] = {"w": w, "zero": np.uint8(ZERO_POINT)}
    run = operator("ConvInteger", {"x": unsigned(x)}, held, out, **attributes)
    yield Call(NAME, run, lambda: out, "ConvInteger")
    rounded = np.zeros(out.shape, np.uint8)
    held = {
        "s": np.float32(1), "z": np.uint8(ZERO_POINT), "w": w, "t": np.float32(1),
        "v": np.int8(0), "r": np.float32(1024),
    }  # fmt: skip
    order = ("x", "s", "z", "w", "t", "v", "r", "z")
    run = operator("QLinearConv", {"x": unsigned(x)}, held, rounded, order, **attributes)
    yield Call(NAME, run, None, "QLinearConv")


def unsigned(x: Array) -> Array:
    found: Array = (x.astype(np.int32) + ZERO_POINT).astype(np.uint8)
    return found


def suppression(problem: Problem) -> Iterator[Call]:
    """It gives the places of the boxes that stay, in the order of their scores."""
    rows = problem.arrays[0][0]
    inputs = {
        "boxes": rows[None, :, [3, 2, 5, 4]].astype(np.float32),
        "scores": rows[None, None, :, 1].astype(np.float32),
    }
    made = session(suppression_model(problem, inputs))
    run = partial(made.run, None, inputs)

    def result() -> Array:
        found = np.full_like(problem.expected[0], -1)
        places = run()[0][:, 2]
        found[0, : len(places)] = rows[places]
        return found

    yield Call(NAME, run, result)


def suppression_model(problem: Problem, inputs: Mapping[str, Array]) -> Any:
    """A box goes from a threshold on here, and above it there: half a hundredth less is both."""
    held = {
        "most": np.int64(inputs["boxes"].shape[1]),
        "threshold": np.float32((problem.attributes["iou_threshold"] - 1e-4) / 100),
    }
    declared = [
        helper.make_tensor_value_info(key, onnx.TensorProto.FLOAT, array.shape)
        for key, array in inputs.items()
    ]
    node = helper.make_node("NonMaxSuppression", [*inputs, *held], ["out"])
    result = helper.make_tensor_value_info("out", onnx.TensorProto.INT64, (None, 3))
    constants = [numpy_helper.from_array(np.asarray(each), key) for key, each in held.items()]
    graph = helper.make_graph([node], "suppression", declared, [result], constants)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", OPSET)], ir_version=8)


@exact
def bound_call(problem: Problem, out: Array) -> Callable[[], object]:
    return operator("Relu", {"x": problem.arrays[0]}, {}, out)


def loading(problem: Problem) -> Iterator[Call]:
    yield import_time(NAME)


def resnet(problem: Problem) -> Iterator[Call]:
    """A network of the same shape, on int8 and on float32."""
    random = np.random.default_rng(7)
    picture: Array = random.integers(0, 255, PICTURE, dtype=np.uint8, endpoint=True)
    for variant, given in (("int8", picture), ("float32", picture.astype(np.float32))):
        made = session(onnx_model(quantized=variant == "int8"))
        yield Call(NAME, partial(made.run, None, {"data": given}), None, variant)


def quantized_net(problem: Problem) -> Iterator[Call]:
    """The same network, which gives the same bytes."""
    made, given = session(nets.net(problem.attributes["net"]).model), {"image": nets.picture()}
    run = partial(made.run, None, given)
    yield Call(NAME, run, lambda: run()[0])


WAYS: dict[str, Ways] = {
    "cvm.abs": plain("Abs"),
    "cvm.clip": clip,
    "cvm.elemwise_add": plain("Add"),
    "cvm.broadcast_add": plain("Add"),
    "cvm.sum": reduction("ReduceSum"),
    "cvm.max": reduction("ReduceMax"),
    "cvm.max_pool2d": max_pool,
    "cvm.transpose": transpose,
    "cvm.cvm_lut": lut,
    "cvm.take": take,
    "cvm.tile": tile,
    "cvm.repeat": repeat,
    "cvm.upsampling": upsampling,
    "cvm.concatenate": concatenate,
    "cvm.slice": strided_slice,
    "cvm.dense": dense,
    "cvm.conv2d": conv2d,
    "cvm.non_max_suppression": suppression,
    "bound call": bound_call,
    "load": loading,
    "graph": resnet,
    "model": resnet,
    "onnx model": quantized_net,
}
