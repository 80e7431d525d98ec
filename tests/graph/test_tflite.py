"""Models of TensorFlow Lite on every target, against what its kernels for microcontrollers gave.

`tflite_samples.npz` holds models of one operator each and two of several, inputs of calls one
after the other, and what the interpreter of the package `tflite-micro` made of them;
`tflite_roundings.npz` holds what LiteRT's reference kernels and XNNPACK make of models, mostly in
calls in which they give something else. `make tflite-samples` writes both anew.
"""

from __future__ import annotations

import math
import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from cvmgen import paths
from cvmgen.api import Operators
from cvmgen.errors import ModelError
from cvmgen.graph import load
from cvmgen.graph.network import Network
from cvmgen.graph.tflite import TfliteModel
from cvmgen.graph.tflite.operators import OPERATORS, ROUNDINGS
from cvmgen.graph.tflite.scales import activation_ends, multiplier_of, padding_of, rounded
from cvmgen.model.build import make_files
from tests.targets import TARGETS

Array = np.ndarray[Any, Any]
STORED = np.load(Path(__file__).with_name("tflite_samples.npz"))
SAMPLES = sorted({name.partition("/")[0] for name in STORED.files})
ROUNDED = np.load(Path(__file__).with_name("tflite_roundings.npz"))
ROUNDED_SAMPLES = sorted({name.partition("/")[0] for name in ROUNDED.files})
STREAM, SMALL = "stream", "small network"


def model_of(sample: str) -> TfliteModel:
    return TfliteModel(STORED[f"{sample}/model"].tobytes(), f"{sample}.tflite")


def arrays(sample: str, kind: str, stored: Any = STORED) -> list[Array]:
    """The inputs or results of a sample; the first index is that of the call."""
    names = (f"{sample}/{kind}{at}" for at in range(99))
    return [stored[name] for name in names if name in stored.files]


def results(network: Network, sample: str, stored: Any = STORED) -> list[tuple[Array, ...]]:
    found = []
    for given in zip(*arrays(sample, "in", stored), strict=True):
        made = network(*given)
        found.append(made if isinstance(made, tuple) else (made,))
    return found


def same_as_stored(network: Network, sample: str) -> None:
    wanted = zip(*arrays(sample, "out"), strict=True)
    for found, expected in zip(results(network, sample), wanted, strict=True):
        for one, other in zip(found, expected, strict=True):
            assert one.dtype == other.dtype, sample
            assert one.tobytes() == other.tobytes(), sample


@pytest.mark.parametrize("target", TARGETS)
def test_models_give_what_their_interpreter_gives(
    libraries: dict[str, Operators], target: str
) -> None:
    for sample in SAMPLES:
        same_as_stored(Network(model_of(sample), libraries[target]), sample)


def rounded_as(sample: str, rounding: str) -> TfliteModel:
    return TfliteModel(ROUNDED[f"{sample}/model"].tobytes(), f"{sample}.tflite", rounding)


def equal_to_stored(network: Network, sample: str) -> bool:
    (wanted,) = arrays(sample, "out", ROUNDED)
    found = np.stack([each for (each,) in results(network, sample, ROUNDED)])
    return found.dtype == wanted.dtype and found.tobytes() == wanted.tobytes()


@pytest.mark.parametrize("target", TARGETS)
def test_models_give_what_the_kernels_give_that_they_are_meant_for(
    libraries: dict[str, Operators], target: str
) -> None:
    for sample in ROUNDED_SAMPLES:
        model = rounded_as(sample, sample.partition(" ")[0])
        assert equal_to_stored(Network(model, libraries[target]), sample), sample


@pytest.mark.parametrize("target", ["c", "cuda"])
def test_what_runs_can_be_built(target: str) -> None:
    """A model of each operator that rounds otherwise: no result may be beyond its type."""
    for sample in ROUNDED_SAMPLES:
        if sample.endswith(" 0"):
            made = make_files(
                rounded_as(sample, sample.partition(" ")[0]), None, "net", target=target
            )
            assert made.steps


def test_kernels_of_others_do_not_give_the_same(libraries: dict[str, Operators]) -> None:
    differing = {
        sample.rpartition(" ")[0]
        for sample in ROUNDED_SAMPLES
        if not equal_to_stored(Network(rounded_as(sample, "tflm"), libraries["c"]), sample)
    }
    own = {f"{name} {each}" for name in ("litert", "xnnpack") for each in changed_by(name)}
    assert differing >= own - {"xnnpack SUB"}, "none was found for SUB"


def test_roundings_are_those_that_commands_know() -> None:
    assert tuple(ROUNDINGS) == paths.ROUNDINGS[".tflite"]


def changed_by(rounding: str) -> set[str]:
    return {name for name, each in ROUNDINGS[rounding].items() if each is not OPERATORS[name]}


def test_every_operator_that_is_read_has_a_sample() -> None:
    assert {sample.split(" ")[0] for sample in SAMPLES} >= {*OPERATORS} - {"SHAPE"}


@pytest.fixture(scope="module")
def numpy_operators(libraries: dict[str, Operators]) -> Operators:
    return libraries["numpy"]


def test_states_live_on_and_begin_again(numpy_operators: Operators) -> None:
    network = Network(model_of(STREAM), numpy_operators)
    assert network.states == ("ring",)
    first = results(network, STREAM)
    assert any(
        (one[0] != other[0]).any()
        for one, other in zip(first, results(network, STREAM), strict=True)
    )
    network.reset()
    same_as_stored(network, STREAM)


def test_what_a_layer_remembers_must_be_a_variable(numpy_operators: Operators) -> None:
    assert Network(model_of("SVDF 1"), numpy_operators).states == ("t4",)
    tflite = pytest.importorskip("tflite")
    data = bytearray(model_of("SVDF 1").data)
    state = tflite.Model.GetRootAs(data, 0).Subgraphs(0).Tensors(4)._tab
    data[state.Pos + state.Offset(14)] = 0
    with pytest.raises(ModelError, match="node 0 SVDF t5: nothing makes input 4, t4, before"):
        TfliteModel(bytes(data)).plan(numpy_operators)


def test_a_network_says_what_goes_in_and_out(numpy_operators: Operators, tmp_path: Path) -> None:
    path = tmp_path / "small.tflite"
    path.write_bytes(model_of(SMALL).data)
    network = load(path, operators=numpy_operators)
    assert network.input_names == ("image",)
    assert (network.input_shape, network.input_precision) == ((1, 10, 8, 3), None)
    assert network.output_dtypes == (np.int8,)
    assert 0 < network.peak_bytes < network.total_bytes
    same_as_stored(network, SMALL)
    assert "tflite.conv_2d" not in repr(network)
    with pytest.raises(ModelError, match="input image: must hold elements of int8, not of int32"):
        network(np.zeros((1, 10, 8, 3), np.int32))
    with pytest.raises(ModelError, match=r"must have shape \(1, 10, 8, 3\), not \(10, 8, 3\)"):
        network(np.zeros((10, 8, 3), np.int8))
    with pytest.raises(ModelError, match="takes 1 inputs, not 2"):
        network(np.zeros(1), np.zeros(1))
    with pytest.raises(ModelError, match="holds its parameters itself"):
        load(path, {}, operators=numpy_operators)
    with pytest.raises(ModelError, match="is rounded as tflm or litert or xnnpack, not as 'ort'"):
        load(path, operators=numpy_operators, rounding="ort")
    assert "xnnpack_conv_2d" in {
        step.operator for step in load(path, operators=numpy_operators, rounding="xnnpack").nodes
    }


# ---------------------------------------------------------------- what cannot be used


def changed(sample: str, old: bytes, new: bytes) -> TfliteModel:
    data = model_of(sample).data
    assert data.count(old) >= 1
    return TfliteModel(data.replace(old, new), "changed.tflite")


def test_all_operators_that_are_refused_are_told_at_once(numpy_operators: Operators) -> None:
    import tflite

    model = model_of(SMALL)
    data = bytearray(model.data)
    root = tflite.Model.GetRootAs(data, 0)
    names = {"AVERAGE_POOL_2D": 255, "SOFTMAX": tflite.BuiltinOperator.RESIZE_NEAREST_NEIGHBOR}
    for at in range(root.OperatorCodesLength()):
        code = root.OperatorCodes(at)
        for name, other in names.items():
            if code.BuiltinCode() == getattr(tflite.BuiltinOperator, name):
                for offset in (4, 10):
                    place = code._tab.Offset(offset)
                    if place:
                        data[code._tab.Pos + place] = min(other, 127) if offset == 4 else other
    with pytest.raises(ModelError) as caught:
        TfliteModel(bytes(data), "changed.tflite").plan(numpy_operators)
    first, second = str(caught.value).split("; ")
    start = "changed.tflite: 2 of 8 operators cannot be used: node 4 operator 255 "
    assert first.startswith(start)
    assert second.startswith("node 7 RESIZE_NEAREST_NEIGHBOR probabilities: no formula")


def test_damaged_files_are_refused_with_a_place(numpy_operators: Operators) -> None:
    """Whatever a byte is changed to, or where a file ends: a plan, or a ModelError."""
    refused = []
    for sample in (STREAM, "CONV_2D 0", "CUMSUM 0"):
        data = model_of(sample).data
        dice = random.Random(sample)
        for _ in range(120):
            broken = bytearray(data)
            for _ in range(dice.choice((1, 1, 3))):
                broken[dice.randrange(len(data))] = dice.choice((0, 1, 127, 128, 255))
            if dice.random() < 0.2:
                del broken[dice.randrange(len(data)) :]
            try:
                TfliteModel(bytes(broken), "broken").plan(numpy_operators)
            except ModelError as error:
                refused.append(str(error))
    assert len(refused) > 60
    assert all(each.startswith("broken: ") for each in refused)


def test_no_model_at_all(numpy_operators: Operators) -> None:
    with pytest.raises(ModelError, match=r"byte 4: the identifier is b'', not b'TFL3'"):
        TfliteModel(b"abc", "x").plan(numpy_operators)
    with pytest.raises(ModelError, match="x: the model: is damaged: a table reaches beyond"):
        TfliteModel(model_of(SMALL).data[:10], "x").plan(numpy_operators)
    with pytest.raises(ModelError, match="is rounded as tflm or litert or xnnpack, not as 'half'"):
        TfliteModel(model_of(SMALL).data, rounding="half").plan(numpy_operators)


# ---------------------------------------------------------------- scales


def test_multipliers_are_real_factors() -> None:
    assert multiplier_of(0.0) == (0, 0)
    assert multiplier_of(0.5) == (1 << 30, 0)
    assert multiplier_of(1.0) == (1 << 30, 1)
    assert multiplier_of(math.ldexp(1 - 2.0**-40, 5)) == (1 << 30, 6)
    assert multiplier_of(2.0**-40) == (0, 0)
    for real in (0.1, 3.7e-5, 12.5):
        multiplier, shift = multiplier_of(real)
        assert 1 << 30 <= multiplier < 1 << 31
        assert math.isclose(multiplier * 2.0 ** (shift - 31), real, rel_tol=2.0**-31)
    assert [rounded(x) for x in (0.5, -0.5, 1.5, -2.4)] == [1, -1, 2, -2]


def test_activations_and_padding() -> None:
    assert activation_ends("NONE", 0.1, 3) == (-128, 127)
    assert activation_ends("RELU", 0.1, 3) == (3, 127)
    assert activation_ends("RELU6", 0.1, -28) == (-28, 32)
    assert activation_ends("RELU_N1_TO_1", 0.1, 0) == (-10, 10)
    assert padding_of("VALID", 7, 3, 2) == (0, 0)
    assert padding_of("SAME", 7, 3, 2) == (1, 1)
    assert padding_of("SAME", 8, 3, 2) == (0, 1)
