"""A published ResNet-20, which lies beside the repository: the same integers on every target."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from cvmgen.graph import Network, load, read_parameters, read_symbol, write_symbol
from cvmgen.graph.parameters import format_parameters

ROOT = Path(__file__).resolve().parents[2]
MODEL = ROOT.parent / "shared" / "models" / "cifar10_resnet20_v2"
SYMBOL, PARAMS, CASES = MODEL / "symbol.json", MODEL / "params.bin", MODEL / "cases.npz"
EXPECTED = [20, 53, -18, -4, -48, -17, -32, -29, -14, 89]


@pytest.fixture(scope="module", autouse=True)
def model() -> None:
    if not CASES.is_file():
        pytest.skip(f"the published model is not beside the repository: {CASES} is missing")


@pytest.fixture(scope="module")
def network() -> Network:
    return load(SYMBOL, PARAMS, target="c")


def test_what_the_files_hold() -> None:
    symbol = read_symbol(SYMBOL)
    operators = Counter(node.operator for node in symbol.nodes if node.operator)
    assert len(symbol.nodes) == 333
    assert operators == {
        "cvm_right_shift": 68,
        "broadcast_mul": 54,
        "cvm_clip": 38,
        "conv2d": 32,
        "relu": 19,
        "elemwise_add": 9,
        "flatten": 2,
        "sum": 1,
        "dense": 1,
    }
    assert len(read_parameters(PARAMS)) == 108


def test_writing_the_files_loses_nothing(tmp_path: Path) -> None:
    symbol = read_symbol(SYMBOL)
    write_symbol(tmp_path / "symbol.json", symbol)
    assert read_symbol(tmp_path / "symbol.json") == symbol
    assert format_parameters(read_parameters(PARAMS)) == PARAMS.read_bytes()


def test_stated_precisions_are_the_inferred_ones(network: Network) -> None:
    """Loading compares them; this says that there is something to compare."""
    symbol = read_symbol(SYMBOL)
    stated = [
        node.name
        for node in symbol.nodes
        if node.operator and node.outputs[0].precision is not None
    ]
    assert len(stated) == 106
    assert network.input_shape == (1, 3, 32, 32)
    assert network.output_shapes == ((1, 10),)
    assert network.output_precisions == (8,)
    assert len(network.nodes) == 224


def test_the_published_answer(network: Network) -> None:
    result = network(np.load(MODEL / "input.npy"))
    assert isinstance(result, np.ndarray)
    assert result.dtype == np.int8
    assert result.ravel().tolist() == EXPECTED


@pytest.mark.parametrize("case", range(24))
def test_every_case_has_the_integers_of_the_existing_runtime(network: Network, case: int) -> None:
    with np.load(CASES) as cases:
        result = network(cases["inputs"][case : case + 1])
        np.testing.assert_array_equal(result, cases["outputs"][case : case + 1])


def test_cases_on_the_cuda_text() -> None:
    on_cpu = load(SYMBOL, PARAMS, target="cuda-cpu")
    assert np.ravel(on_cpu(np.load(MODEL / "input.npy"))).tolist() == EXPECTED
    with np.load(CASES) as cases:
        for case in range(3):
            result = on_cpu(cases["inputs"][case : case + 1])
            np.testing.assert_array_equal(result, cases["outputs"][case : case + 1])


def test_buffers_are_shared(network: Network) -> None:
    assert network.peak_bytes <= 3 * 16 * 32 * 32 * 4, "three tensors of the widest stage"
    assert network.total_bytes > 40 * network.peak_bytes


@pytest.mark.slow
def test_one_case_on_the_python_target() -> None:
    result = load(SYMBOL, PARAMS, target="python")(np.load(MODEL / "input.npy"))
    assert np.ravel(result).tolist() == EXPECTED
