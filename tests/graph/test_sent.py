"""Networks and models that are copied and sent to other processes."""

from __future__ import annotations

import copy
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import cvmgen
from cvmgen.build import write_changed
from cvmgen.errors import ModelError
from cvmgen.graph import Network, load, load_model, read_parameters, read_symbol
from cvmgen.model.build import make_files
from tests.api.sent import called, mapped

DIGITS = Path(__file__).resolve().parents[2] / "examples/digits"
COPIES = [copy.copy, copy.deepcopy, lambda each: pickle.loads(pickle.dumps(each))]


@pytest.fixture(scope="module", params=["c", "numpy"])
def network(generated: Path, request: pytest.FixtureRequest) -> Network:
    operators = cvmgen.load(request.param, folder=generated)
    return load(DIGITS / "digits.json", DIGITS / "digits.bin", operators=operators)


@pytest.fixture(scope="module")
def folder(generated: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The digits network as a model in C."""
    place = tmp_path_factory.mktemp("model")
    symbol, parameters = read_symbol(DIGITS / "digits.json"), read_parameters(DIGITS / "digits.bin")
    python = cvmgen.load("python", folder=generated)
    write_changed(place, make_files(symbol, parameters, "digits", python).all())
    return place


def picture(model: Any) -> np.ndarray:
    return np.random.default_rng(3).integers(0, 127, model.input_shape, np.int32)


def same_elsewhere(model: Any) -> None:
    x = picture(model)
    expected = model(x)
    for make in COPIES:
        other = make(model)
        assert other is not model
        np.testing.assert_array_equal(other(x), expected)
    for method in ("fork", "spawn"):
        for found in mapped(method, called, [(model, x)] * 3):
            np.testing.assert_array_equal(found, expected)


def test_a_network_elsewhere(network: Network) -> None:
    same_elsewhere(network)


def test_what_a_network_refuses_in_a_pool(network: Network) -> None:
    with pytest.raises(ModelError, match="node data"):
        mapped("spawn", called, [(network, np.zeros((1, 2)))])


def test_a_model_elsewhere(folder: Path) -> None:
    model = load_model(folder, threads=2)
    same_elsewhere(model)
    assert pickle.loads(pickle.dumps(model))._threads.value == 2


def test_another_model_is_refused(folder: Path, tmp_path: Path) -> None:
    for path in folder.iterdir():
        if path.is_file():
            (tmp_path / path.name).write_bytes(path.read_bytes())
    sent = pickle.dumps(load_model(tmp_path))
    path = next(tmp_path.glob("*.c"))
    path.write_text(path.read_text() + "\n")
    with pytest.raises(ModelError, match="not what it was when the model was sent"):
        pickle.loads(sent)
