"""ONNX models on two targets, against what ONNX Runtime gave, and files that cannot be used.

`onnx_samples.npz` holds models, their inputs and what ONNX Runtime made of them, and some of
ONNX's own tests of its nodes: `tools/onnx_samples.py` writes it.
"""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from cvmgen.api import Operators
from cvmgen.errors import ModelError
from cvmgen.graph import load
from cvmgen.graph.network import Network

onnx = pytest.importorskip("onnx")

from cvmgen.graph.onnx import OnnxModel  # noqa: E402
from cvmgen.graph.onnx.operators import OPERATORS  # noqa: E402

Array = np.ndarray[Any, Any]
STORED = np.load(Path(__file__).with_name("onnx_samples.npz"))
SAMPLES = sorted({name.partition("/")[0] for name in STORED.files})
NETWORK = "network 0"
BESIDE = onnx.TensorProto.EXTERNAL


def model_of(sample: str) -> OnnxModel:
    return OnnxModel(STORED[f"{sample}/model"].tobytes(), f"{sample}.onnx")


def arrays(sample: str, kind: str) -> list[Array]:
    names = (f"{sample}/{kind}{at}" for at in range(9))
    return [STORED[name] for name in names if name in STORED.files]


@pytest.mark.parametrize("target", ["c", "numpy"])
def test_models_give_what_onnx_runtime_gives(libraries: dict[str, Operators], target: str) -> None:
    for sample in SAMPLES:
        network = Network(model_of(sample), libraries[target])
        made = network(*map(np.atleast_1d, arrays(sample, "in")))
        results = made if isinstance(made, tuple) else (made,)
        for one, other in zip(results, arrays(sample, "out"), strict=True):
            assert one.dtype == other.dtype, sample
            assert one.tobytes() == other.tobytes(), sample


def test_every_operator_that_is_read_has_a_sample() -> None:
    known = {name.rpartition(".")[2] for name in OPERATORS}
    assert {sample.split(" ")[0] for sample in SAMPLES} >= known


@pytest.fixture(scope="module")
def numpy_operators(libraries: dict[str, Operators]) -> Operators:
    return libraries["numpy"]


def test_quantized_operators_stand_for_chains(numpy_operators: Operators, tmp_path: Path) -> None:
    path = tmp_path / "small.onnx"
    path.write_bytes(model_of(NETWORK).data)
    network = load(path, operators=numpy_operators)
    assert (network.input_names, network.input_shape) == (("image",), (1, 3, 9, 8))
    moves = ("reshape", "transpose")
    assert [each.operator for each in network.nodes if each.operator not in moves] == [
        "quantize_linear",
        "qlinear_conv",
        "qlinear_conv",
        "qlinear_add",
        "max_pool",
        "qlinear_global_average_pool",
        "qlinear_matmul",
        "dequantize_linear",
    ]
    with pytest.raises(ModelError, match="holds its parameters itself"):
        load(path, {}, operators=numpy_operators)


# ---------------------------------------------------------------- what cannot be used


def graph_of(*nodes: Any, **given: Any) -> Any:
    """A model from x to y."""
    value = onnx.helper.make_tensor_value_info
    shape = given.get("shape", [2, 3])
    graph = onnx.helper.make_graph(
        [*nodes],
        "g",
        [value("x", onnx.TensorProto.FLOAT, shape)],
        [value("y", onnx.TensorProto.FLOAT, None)],
        given.get("constants", []),
    )
    return onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 17)])


def node(operator: str, inputs: str, outputs: str, **attributes: Any) -> Any:
    return onnx.helper.make_node(operator, inputs.split(), outputs.split(), **attributes)


def tensor(name: str, **members: Any) -> Any:
    made = onnx.TensorProto(name=name, data_type=onnx.TensorProto.FLOAT, dims=[2])
    for member, value in members.items():
        if member in ("location", "length"):
            made.data_location = BESIDE
            made.external_data.add(key=member, value=value)
        elif member == "dims":
            made.dims[:] = value
        else:
            setattr(made, member, value)
    return made


BRANCH = onnx.helper.make_graph([], "branch", [], [])
ADDED = node("Add", "x c", "y")
PLACES = onnx.helper.make_tensor("p", onnx.TensorProto.INT64, [1 << 13], [0] * (1 << 13))
REFUSED = [
    (
        graph_of(node("Gelu", "x", "a"), node("Erf", "a", "b"), node("Softmax", "x", "y")),
        "3 of 3 operators cannot be used: node 0 Gelu a: no formula of the opset onnx; did you "
        "mean 'Relu'?; node 1 Erf b: no formula of the opset onnx; node 2 Softmax y: no formula",
    ),
    (
        graph_of(node("If", "x", "y", then_branch=BRANCH, else_branch=BRANCH)),
        "1 of 1 operators cannot be used: node 0 If y: holds a graph of its own, and which part "
        "runs is not known beforehand",
    ),
    (
        graph_of(node("MatMul", "x x", "y")),
        "node 0 MatMul y: there is no formula for real numbers; nearest is the quantized one",
    ),
    (graph_of(node("Relu", "b", "a"), node("Relu", "a", "b")), "nothing makes b before"),
    (graph_of(node("Relu", "x", "x")), "node 0 Relu x: x is made twice"),
    (graph_of(node("Relu", "x", "a")), "output y: nothing makes y before"),
    (graph_of(node("Relu", "x", "y"), shape=["N", 3]), "input x must be fixed, and is (N, 3)"),
    (graph_of(node("Relu", "x", "y"), shape=[1 << 40, 3]), "extent 1099511627776 of dimension 0"),
    (
        graph_of(
            node("ConstantOfShape", "c", "a"),
            node("Add", "x a", "y"),
            constants=[
                onnx.helper.make_tensor("c", onnx.TensorProto.INT64, [2], [1 << 30, 1 << 30])
            ],
        ),
        "node 0 ConstantOfShape a: a constant of 1152921504606846976 elements is too large",
    ),
    *(
        (
            graph_of(made, constants=[tensor("c", dims=dims, raw_data=bytes(1 << 15)), PLACES]),
            f"a constant of {1 << 26} elements is too large",
        )
        for made, dims in (
            (node("Greater", "c p", "y"), [1 << 13, 1]),
            (node("Gather", "c p", "y"), [1, 1 << 13]),
            (node("Concat", " ".join(["c"] * (1 << 13)), "y", axis=0), [1 << 13]),
        )
    ),
    (
        graph_of(
            node("QuantizeLinear", "x s", "q"),
            node("DequantizeLinear", "q s", "a"),
            node("Add", "a a", "b"),
            node("Relu", "b", "r", domain="other"),
            node("QuantizeLinear", "r s", "y"),
            constants=[tensor("s", dims=[], raw_data=b"\0\0\x80\x3f")],
        ),
        "1 of 5 operators cannot be used: node 3 Relu r: no formula of the opset onnx",
    ),
    (
        graph_of(ADDED, constants=[tensor("c", dims=[1 << 40], raw_data=b"1234")]),
        "constant c: is damaged: 1099511627776 elements are more than",
    ),
    (
        graph_of(ADDED, constants=[tensor("c", raw_data=b"1234")]),
        "constant c: is damaged: its 4 bytes are not the 8 of shape (2,)",
    ),
    *(
        (
            graph_of(ADDED, constants=[tensor("c", location=path)]),
            "which is no file of the folder",
        )
        for path in ("../secret", "/etc/passwd", "missing", "link")
    ),
    (
        graph_of(ADDED, constants=[tensor("c", location="data", length="99")]),
        "bytes 0 to 99 of 'data' are not there",
    ),
]


@pytest.mark.parametrize(("model", "rule"), REFUSED, ids=[row[1][:40] for row in REFUSED])
def test_what_is_refused(model: Any, rule: str, numpy_operators: Operators, tmp_path: Path) -> None:
    folder = tmp_path / "models"
    folder.mkdir()
    (tmp_path / "secret").write_bytes(bytes(8))
    (folder / "data").write_bytes(bytes(8))
    (folder / "link").symlink_to(tmp_path / "secret")
    (folder / "m.onnx").write_bytes(model.SerializeToString())
    with pytest.raises(ModelError) as caught:
        load(folder / "m.onnx", operators=numpy_operators)
    assert rule in str(caught.value)


def test_data_beside_the_file(numpy_operators: Operators, tmp_path: Path) -> None:
    constant = tensor("c", location="data")
    constant.dims[:] = [3]
    (tmp_path / "data").write_bytes(np.array([1, 2, 3], np.float32).tobytes())
    (tmp_path / "m.onnx").write_bytes(graph_of(ADDED, constants=[constant]).SerializeToString())
    network = load(tmp_path / "m.onnx", operators=numpy_operators)
    assert network(np.zeros((2, 3), np.float32)).tolist() == [[1, 2, 3]] * 2  # type: ignore[union-attr]


def test_damaged_files_are_refused_with_a_place(numpy_operators: Operators) -> None:
    """Whatever a byte is changed to, or where a file ends: a plan, or a ModelError."""
    refused = []
    for sample in (NETWORK, "Slice 0", "QLinearConv 0"):
        data = model_of(sample).data
        dice = random.Random(sample)
        for _ in range(80):
            broken = bytearray(data)
            for _ in range(dice.choice((1, 1, 3))):
                broken[dice.randrange(len(data))] = dice.choice((0, 1, 127, 128, 255))
            if dice.random() < 0.2:
                del broken[dice.randrange(len(data)) :]
            try:
                OnnxModel(bytes(broken), "broken").plan(numpy_operators)
            except ModelError as error:
                refused.append(str(error))
    assert len(refused) > 40
    assert all(each.startswith("broken: ") for each in refused)
