"""Models of ONNX and what ONNX Runtime makes of them, for tests/graph/onnx_samples.npz.

    python -m venv ENV; ENV/bin/pip install onnx onnxruntime
    ENV/bin/python tools/onnx_samples.py tests/graph/onnx_samples.npz [SEED]

Each operator has some models with random inputs, scales with ties among them, some tests are those
of ONNX for its own nodes, and the networks have what quantizing tools make. With a seed, models and
inputs are drawn with it, and all of ONNX's tests of nodes are there: `make peers-conformance`.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import onnx
import onnxruntime
from onnx import helper, numpy_helper

Array = np.ndarray[Any, Any]
SEED = sys.argv[2:3]
dice = np.random.default_rng(int(SEED[0]) if SEED else 7)
SCALES = (0.5, 0.25, 1.0, 2.0, 0.1, 0.02, 0.3, 0.0075)
MICROSOFT = "com.microsoft"
NODES = (
    "test_quantizelinear_axis",
    "test_quantizelinear",
    "test_dequantizelinear_axis",
    "test_dequantizelinear",
    "test_dynamicquantizelinear",
    "test_qlinearconv",
    "test_qlinearmatmul_2D_uint8_float32",
    "test_qlinearmatmul_3D_uint8_float32",
    "test_matmulinteger",
    "test_convinteger_without_padding",
    "test_maxpool_2d_same_lower",
    "test_maxpool_2d_pads",
    "test_gather_negative_indices",
    "test_slice_neg_steps",
    "test_slice_negative_axes",
    "test_where_long_example",
    "test_split_equal_parts_1d_opset13",
    "test_unsqueeze_two_axes",
)
SETTINGS = ("scale", "zero_point", "starts", "ends", "axes", "steps")
"""Parts of the names of inputs that are constants in models."""


def scale() -> Array:
    return np.array(dice.choice(SCALES), np.float32)


def values(dtype: str, *shape: int) -> Array:
    if dtype == "bool":
        return dice.integers(0, 2, shape) > 0
    if dtype == "float32":
        return np.asarray(dice.normal(size=shape) * 4, np.float32)
    ends = np.iinfo(dtype) if dtype.endswith("int8") else np.iinfo("int16")
    return dice.integers(ends.min, ends.max, shape, endpoint=True).astype(dtype)


class Fixed:
    """An input that the file holds."""

    def __init__(self, values: Any, dtype: str | None = None) -> None:
        self.values = np.asarray(values, dtype)


def zero(dtype: str) -> Fixed:
    return Fixed(values(dtype, 1)[0])


def single(
    operator: str, *inputs: Any, outputs: int = 1, domain: str = "", **attributes: Any
) -> Any:
    """A model of one node, and what it is given."""
    names = [f"in{at}" for at in range(len(inputs))]
    made = [f"out{at}" for at in range(outputs)]
    given = ["" if each is None else name for name, each in zip(names, inputs, strict=True)]
    node = helper.make_node(operator, given, made, domain=domain, **attributes)
    fixed = {
        n: each.values for n, each in zip(names, inputs, strict=True) if isinstance(each, Fixed)
    }
    feeds = {n: each for n, each in zip(names, inputs, strict=True) if isinstance(each, np.ndarray)}
    return model_of([node], fixed, feeds, made), feeds


def model_of(
    nodes: list[Any], fixed: dict[str, Array], feeds: dict[str, Array], made: list[str]
) -> Any:
    inputs = [
        helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(each.dtype), each.shape)
        for name, each in feeds.items()
    ]
    constants = [numpy_helper.from_array(each, name) for name, each in fixed.items()]
    outputs = [helper.make_empty_tensor_value_info(name) for name in made]
    graph = helper.make_graph(nodes, "sample", inputs, outputs, constants)
    versions = [helper.make_opsetid("", 19), helper.make_opsetid(MICROSOFT, 1)]
    return helper.make_model(graph, opset_imports=versions, ir_version=9)


def linear(operator: str, dtype: str, shape: tuple[int, ...], **attributes: Any) -> Any:
    points = (Fixed(scale()), zero(dtype), Fixed(scale()), zero(dtype))
    return single(operator, values(dtype, *shape), *points, domain=MICROSOFT, **attributes)


def pair(operator: str, dtype: str, *shapes: tuple[int, ...]) -> Any:
    sides = [(values(dtype, *each), Fixed(scale()), zero(dtype)) for each in shapes]
    points = (Fixed(scale()), zero(dtype))
    return single(operator, *sides[0], *sides[1], *points, domain=MICROSOFT)


def conv(
    x: str, w: str, shape: tuple[int, ...], weights: tuple[int, ...], **attributes: Any
) -> Any:
    channels = weights[0]
    count = int(dice.choice((1, channels)))
    scales = np.array([scale() for _ in range(count)], np.float32) / 16
    point = np.full(count, 0 if w == "int8" else values(w, 1)[0], w)
    row = (
        (values(x, *shape), Fixed(scale()), zero(x)),
        (Fixed(values(w, *weights)), Fixed(scales), Fixed(point)),
        (Fixed(scale() * 16), zero(x), Fixed(values("int32", channels))),
    )
    return single("QLinearConv", *(each for part in row for each in part), **attributes)


def matmul(a: str, b: str, one: tuple[int, ...], other: tuple[int, ...]) -> Any:
    scales = np.array([scale() for _ in range(other[-1])], np.float32) / 16
    first = (values(a, *one), Fixed(scale()), zero(a))
    point = np.full(other[-1], 0 if b == "int8" else values(b, 1)[0], b)
    if len(other) > 2:
        scales, point = scales[:1].reshape(()), point[:1].reshape(())
    second = (Fixed(values(b, *other)), Fixed(scales), Fixed(point))
    return single("QLinearMatMul", *first, *second, Fixed(scale() * 16), zero(a))


def samples() -> dict[str, Callable[[], Any]]:
    """How models are made, by their names: the operator stands in front."""
    made: dict[str, Callable[[], Any]] = {}

    def add(name: str, *ways: Callable[[], Any]) -> None:
        made.update({f"{name} {at}": way for at, way in enumerate(ways)})

    for at, (x, w) in enumerate((("uint8", "int8"), ("uint8", "uint8"), ("int8", "int8"))):
        made[f"QLinearConv {at}"] = lambda x=x, w=w: conv(
            x, w, (2, 4, 6, 5), (6, 2, 3, 2), group=2, pads=[1, 0, 1, 1], strides=[2, 1]
        )
        made[f"QLinearMatMul {at}"] = lambda x=x, w=w: matmul(x, w, (2, 3, 17), (17, 4))
        made["MatMulInteger 0"] = lambda x=x, w=w: single(
            "MatMulInteger",
            values(x, 3, 9),
            Fixed(values(w, 9, 4)),
            values(x, 1)[0:1].reshape(()),
            zero(w),
        )
        if x == "uint8":
            made[f"ConvInteger {at}"] = lambda x=x, w=w: single(
                "ConvInteger", values(x, 1, 2, 5, 4), Fixed(values(w, 3, 2, 2, 2)), zero(x), zero(w)
            )
    made["QLinearConv 3"] = lambda: conv(
        "uint8", "int8", (1, 3, 5, 5), (3, 1, 3, 3), group=3, auto_pad="SAME_UPPER", strides=[2, 1]
    )
    made["QLinearMatMul 3"] = lambda: matmul("uint8", "uint8", (2, 3, 9), (2, 9, 4))
    for at, dtype in enumerate(("int8", "uint8")):
        for operator in ("QLinearAdd", "QLinearMul"):
            made[f"{operator} {at}"] = lambda o=operator, d=dtype: pair(o, d, (2, 60), (2, 60))
            made[f"{operator} {at + 2}"] = lambda o=operator, d=dtype: pair(o, d, (1, 40), (3, 1))
        for operator in ("QLinearSigmoid", "QLinearLeakyRelu"):
            made[f"{operator} {at}"] = lambda o=operator, d=dtype: linear(o, d, (1, 128))
        made[f"QLinearGlobalAveragePool {at}"] = lambda d=dtype: linear(
            "QLinearGlobalAveragePool", d, (1, 9, 5, 7), channels_last=0
        )
        made[f"QuantizeLinear {at}"] = lambda d=dtype: single(
            "QuantizeLinear", values("float32", 99), Fixed(scale()), zero(d)
        )
        made[f"DequantizeLinear {at}"] = lambda d=dtype: single(
            "DequantizeLinear", values(d, 99), Fixed(scale()), zero(d)
        )
    add(
        "DynamicQuantizeLinear",
        *[lambda: single("DynamicQuantizeLinear", values("float32", 3, 20), outputs=3)] * 2,
    )
    for operator in ("Add", "Sub", "Mul"):
        add(
            operator,
            *(
                lambda o=operator, d=d: single(o, values(d, 3, 1, 4), values(d, 2, 4))
                for d in ("int32", "float32")
            ),
        )
    add("Div", lambda: single("Div", values("float32", 3, 4), values("float32", 4)))
    for operator in ("Max", "Min"):
        add(
            operator,
            *(
                lambda o=operator, d=d: single(o, values(d, 3, 4), values(d, 4))
                for d in ("uint8", "float32")
            ),
        )
    for operator in ("Equal", "Less", "LessOrEqual", "Greater", "GreaterOrEqual"):
        add(
            operator,
            *(
                lambda o=operator, d=d: single(o, values(d, 9) // 16384, values(d, 9) // 16384)
                for d in ("int64",)
            ),
        )
    for operator in ("And", "Or"):
        add(operator, lambda o=operator: single(o, values("bool", 9), values("bool", 9)))
    add("Not", lambda: single("Not", values("bool", 9)))
    for operator in ("Abs", "Neg", "Relu"):
        add(operator, lambda o=operator: single(o, values("float32", 9)))
    add(
        "Clip",
        lambda: single("Clip", values("int8", 20), Fixed(-9, "int8"), Fixed(50, "int8")),
        lambda: single("Clip", values("float32", 20), None, Fixed(1.5, "float32")),
    )
    for at, (given, to) in enumerate((("int8", 1), ("int32", 1), ("uint8", 6), ("int64", 6))):
        made[f"Cast {at}"] = lambda given=given, to=to: single("Cast", values(given, 9), to=to)
    add(
        "Where",
        *(
            lambda d=d: single("Where", values("bool", 3, 1), values(d, 4), values(d, 3, 4))
            for d in ("float32",)
        ),
    )
    add("Identity", lambda: single("Identity", values("int8", 4)))
    for operator in ("ReduceMax", "ReduceMin"):
        add(
            operator,
            *(
                lambda o=operator, d=d: single(
                    o, values(d, 3, 4, 2), Fixed([0, -1], "int64"), keepdims=0
                )
                for d in ("int8",)
            ),
        )
    add(
        "ReduceSum",
        lambda: single("ReduceSum", values("int32", 3, 4), Fixed([1], "int64")),
        lambda: single("ReduceSum", values("int64", 3, 4), keepdims=0),
    )
    for operator in ("ArgMax", "ArgMin"):
        add(
            operator,
            *(
                lambda o=operator, d=d: single(o, values(d, 3, 40) // 8, axis=1, keepdims=0)
                for d in ("int8",)
            ),
        )
    add(
        "MaxPool",
        *(
            lambda d=d, c=c: single(
                "MaxPool",
                values(d, 1, 2, 7, 6),
                kernel_shape=[3, 2],
                strides=[2, 2],
                pads=[1, 0, 1, 1],
                ceil_mode=c,
            )
            for d, c in (("int8", 0), ("uint8", 1), ("float32", 1))
        ),
    )
    add("Reshape", lambda: single("Reshape", values("int8", 2, 3, 4), Fixed([0, -1], "int64")))
    add("Flatten", lambda: single("Flatten", values("int8", 2, 3, 4), axis=-1))
    add("Squeeze", lambda: single("Squeeze", values("int8", 2, 1, 4), Fixed([1], "int64")))
    add("Unsqueeze", lambda: single("Unsqueeze", values("int8", 2, 4), Fixed([0, -1], "int64")))
    add(
        "Transpose",
        lambda: single("Transpose", values("float32", 2, 3, 4), perm=[2, 0, 1]),
        lambda: single("Transpose", values("int8", 2, 3)),
    )
    add("Concat", lambda: single("Concat", values("int8", 2, 3), values("int8", 2, 1), axis=-1))
    add(
        "Split",
        lambda: single("Split", values("int8", 2, 5), Fixed([2, 3], "int64"), outputs=2, axis=1),
    )
    add(
        "Slice",
        lambda: single(
            "Slice",
            values("int8", 5, 6),
            Fixed([4, 1], "int64"),
            Fixed([-9, 99], "int64"),
            Fixed([0, 1], "int64"),
            Fixed([-2, 2], "int64"),
        ),
    )
    add(
        "Gather",
        lambda: single("Gather", values("int8", 5, 6), np.array([[0, -1], [3, 2]]), axis=1),
        lambda: single("Gather", values("float32", 5, 6), np.array(-2, np.int64)),
    )
    add(
        "Pad",
        lambda: single(
            "Pad", values("float32", 2, 3), Fixed([1, 0, 0, 2], "int64"), Fixed(1.5, "float32")
        ),
        lambda: single(
            "Pad", values("int8", 2, 3), Fixed([1, 2], "int64"), None, Fixed([1], "int64")
        ),
    )
    add("Expand", lambda: single("Expand", values("int64", 3, 1), Fixed([2, 1, 4], "int64")))
    add("Tile", lambda: single("Tile", values("float32", 2, 3), Fixed([2, 1], "int64")))
    made["network 0"] = lambda: network("uint8", "int8")
    made["network 1"] = lambda: network("int8", "int8")
    return made


def network(x: str, w: str) -> Any:
    """Convolutions, a sum, pooling and a layer, as quantizing tools write them."""
    nodes: list[Any] = []
    fixed: dict[str, Array] = {}
    least = int(np.iinfo(x).min)

    def point(name: str, size: float, at: int) -> list[str]:
        fixed[f"{name}_s"], fixed[f"{name}_z"] = np.array(size, np.float32), np.array(at, x)
        return [f"{name}_s", f"{name}_z"]

    def add(operator: str, inputs: list[str], output: str, **attributes: Any) -> str:
        nodes.append(helper.make_node(operator, inputs, [output], output, **attributes))
        return output

    def rounded(name: str, size: float, at: int) -> str:
        q = add("QuantizeLinear", [name, *point(name, size, at)], f"{name}_q")
        return add("DequantizeLinear", [q, f"{name}_s", f"{name}_z"], f"{name}_d")

    def weights(name: str, shape: tuple[int, ...], sx: float, axis: int) -> list[str]:
        channels = shape[axis]
        scales = np.array([scale() for _ in range(channels)], np.float32) / 64
        fixed[name], fixed[f"{name}_s"] = values(w, *shape), scales
        fixed[f"{name}_z"] = np.zeros(channels, w)
        fixed[f"{name}_b"], fixed[f"{name}_bs"] = (
            values("int32", channels) // 64,
            scales * np.float32(sx),
        )
        fixed[f"{name}_bz"] = np.zeros(channels, np.int32)
        inner = [name, f"{name}_s", f"{name}_z"]
        bias = [f"{name}_b", f"{name}_bs", f"{name}_bz"]
        return [
            add("DequantizeLinear", inner, f"{name}_d", axis=axis),
            add("DequantizeLinear", bias, f"{name}_bd", axis=0),
        ]

    x0 = rounded("image", 0.05, least + 128)
    one = add(
        "Relu",
        [
            add(
                "Conv",
                [x0, *weights("w1", (8, 3, 3, 3), 0.05, 0)],
                "c1",
                pads=[1] * 4,
                strides=[2, 2],
            )
        ],
        "r1",
    )
    d1 = rounded(one, 0.1, least)
    two = rounded(add("Conv", [d1, *weights("w2", (8, 8, 1, 1), 0.1, 0)], "c2"), 0.3, least + 120)
    total = rounded(add("Add", [d1, two], "sum"), 0.3, least + 100)
    pooled = rounded(
        add("MaxPool", [total], "pool", kernel_shape=[2, 2], strides=[2, 2]), 0.3, least + 100
    )
    fixed["sum_s"], fixed["sum_z"] = fixed["pool_s"], fixed["pool_z"]
    mean = rounded(add("GlobalAveragePool", [pooled], "gap"), 0.1, least + 90)
    fixed["minus"] = np.array([-1], np.int64)
    fixed["zero"] = np.array(0, np.int64)
    shape = add("Shape", [mean], "shape")
    batch = add("Unsqueeze", [add("Gather", [shape, "zero"], "batch"), "front"], "batches")
    fixed["front"] = np.array([0], np.int64)
    flat = rounded(
        add("Reshape", [mean, add("Concat", [batch, "minus"], "target", axis=0)], "flat"),
        0.1,
        least + 90,
    )
    layer = rounded(
        add("Gemm", [flat, *weights("w3", (10, 8), 0.1, 0)], "layer", transB=1), 0.5, least + 99
    )
    feeds = {"image": values("float32", 1, 3, 9, 8)}
    nodes.append(helper.make_node("Identity", [layer], ["result"], "end"))
    return model_of(nodes, fixed, feeds, ["result"]), feeds


def is_setting(name: str, values: Array, first: str) -> bool:
    """Whether an input of a test is a constant of its model: a list of places or extents."""
    short = bool(SEED) and name != first and values.dtype == np.int64 and values.ndim <= 1
    return short or any(part in name for part in SETTINGS)


def node_tests() -> dict[str, tuple[Any, list[Array], list[Array]]]:
    """Tests of ONNX for its own nodes, by name."""
    from onnx.backend.test.case.node import collect_testcases

    found = {}
    for case in collect_testcases(None):
        if (SEED or case.name in NODES) and case.data_sets:
            given, expected = case.data_sets[0]
            if not all(isinstance(each, np.ndarray) for each in (*given, *expected)):
                continue  # a sequence, a map or none
            model = onnx.ModelProto.FromString(case.model.SerializeToString())
            named = dict(zip([each.name for each in model.graph.input], given, strict=True))
            fixed = [name for name in named if is_setting(name, named[name], next(iter(named)))]
            for name in fixed:
                model.graph.initializer.append(numpy_helper.from_array(named.pop(name), name))
            found[f"node {case.name}"] = (model, list(named.values()), list(expected))
    return found


def stored(model: Any, feeds: dict[str, Array]) -> tuple[Any, list[Array]]:
    """A model with the types of its results, and these."""
    session = onnxruntime.InferenceSession(
        model.SerializeToString(), providers=["CPUExecutionProvider"]
    )
    results = [np.asarray(each) for each in session.run(None, feeds)]
    for output, result in zip(model.graph.output, results, strict=True):
        dtype = helper.np_dtype_to_tensor_dtype(result.dtype)
        output.CopyFrom(helper.make_tensor_value_info(output.name, dtype, result.shape))
    return model, results


def main(path: str) -> None:
    onnxruntime.set_default_logger_severity(3)
    found: dict[str, Array] = {}

    def keep(name: str, model: Any, given: list[Array], expected: list[Array]) -> None:
        found[f"{name}/model"] = np.frombuffer(model.SerializeToString(), np.uint8)
        found.update({f"{name}/in{at}": each for at, each in enumerate(given)})
        found.update({f"{name}/out{at}": each for at, each in enumerate(expected)})

    for name, make in samples().items():
        model, feeds = make()
        model, results = stored(model, feeds)
        keep(name, model, list(feeds.values()), results)
    for name, (model, given, expected) in node_tests().items():
        keep(name, model, given, expected)
    np.savez_compressed(path, **found)  # type: ignore[arg-type]
    print(f"{len({each.split('/')[0] for each in found})} models in {path}")


if __name__ == "__main__":
    main(sys.argv[1])
