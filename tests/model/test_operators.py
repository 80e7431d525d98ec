"""Every operator of graphs as a model of one node: the C of a model gives what the formula says.

The rows are those of the networks; all models are one library.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from cvmgen.build import write_changed
from cvmgen.graph import load_model
from cvmgen.graph.limits import Array
from cvmgen.graph.symbol import NodeOutput, SymbolGraph
from cvmgen.model.build import make_files
from tests.conformance.calls import Conformance
from tests.graph.test_operators import ROWS, named, one_node

PLACES = range(len(ROWS))


@pytest.fixture(scope="module")
def folder(conformance: Conformance, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The files of all models."""
    files: dict[str, str] = {}
    for at in PLACES:
        symbol, arrays = model(conformance, at)
        files |= make_files(symbol, arrays, f"model{at}", conformance.libraries["python"]).all()
    place = tmp_path_factory.mktemp("models")
    write_changed(place, files)
    return place


def model(conformance: Conformance, at: int) -> tuple[SymbolGraph, dict[str, Array]]:
    name, texts, ours = ROWS[at]
    outputs = [
        NodeOutput(each.shape, each.precision) for each in conformance.expected(ours).outputs
    ]
    return one_node(name, texts, ours, outputs)


@pytest.mark.parametrize("at", PLACES, ids=named(ROWS))
def test_a_model_of_one_node(conformance: Conformance, folder: Path, at: int) -> None:
    _, arrays = model(conformance, at)
    outputs = conformance.expected(ROWS[at][2]).outputs
    found = load_model(folder, f"model{at}")(arrays["data"])
    results = found if isinstance(found, tuple) else (found,)
    assert len(results) == len(outputs)
    for result, output in zip(results, outputs, strict=True):
        assert result.shape == output.shape
        assert result.ravel().tolist() == output.values
