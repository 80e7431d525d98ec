"""The two uses of index_array: prior boxes and positional encodings."""

from __future__ import annotations

import math
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from cvmgen.api import Operators
from examples.index_array.positional_encoding import positional_encoding
from examples.index_array.prior_boxes import prior_boxes
from tests.targets import TARGETS

ROOT = Path(__file__).resolve().parents[2]
FOLDER = ROOT / "examples" / "index_array"


@pytest.fixture(params=TARGETS)
def ops(request: pytest.FixtureRequest, libraries: dict[str, Operators]) -> Operators:
    return libraries[request.param]


def test_prior_boxes(ops: Operators) -> None:
    feature_map = np.ones((2, 3, 4, 5), np.float32)
    boxes = prior_boxes(ops.mxnet.index_array, feature_map, stride=16, size=(8, 6))
    assert (boxes.shape, boxes.dtype) == ((2, 3, 4, 4), np.float32)
    for n, i, j in np.ndindex(2, 3, 4):
        assert boxes[n, i, j].tolist() == [16 * i - 4, 16 * j - 3, 16 * i + 4, 16 * j + 3]


def test_prior_boxes_of_the_request(ops: Operators) -> None:
    """Its feature map, but for the number of channels, of which one is used."""
    feature_map = np.ones((8, 16, 16, 2), np.float32)
    boxes = prior_boxes(ops.mxnet.index_array, feature_map, stride=16, size=(8, 8))
    rows, columns = np.indices((16, 16)) * 16.0
    expected = np.stack([rows - 4, columns - 4, rows + 4, columns + 4], axis=-1)
    np.testing.assert_array_equal(boxes, np.broadcast_to(expected, (8, 16, 16, 4)))


def test_positional_encoding(ops: Operators) -> None:
    embeddings = np.ones((9, 2, 6), np.float32)
    encoding = positional_encoding(ops.mxnet.index_array, embeddings)
    assert (encoding.shape, encoding.dtype) == (embeddings.shape, np.float32)
    for t, n, c in np.ndindex(9, 2, 6):
        angle = t / 10000 ** (2 * (c // 2) / 6)
        expected = math.sin(angle) if c % 2 == 0 else math.cos(angle)
        assert encoding[t, n, c] == pytest.approx(expected, abs=1e-5)


def test_positional_encoding_of_the_request(ops: Operators) -> None:
    embeddings = np.ones((65, 1, 32), np.float32)
    encoding = positional_encoding(ops.mxnet.index_array, embeddings)[:, 0]
    angles = np.arange(65)[:, None] / 10000 ** (np.arange(0, 32, 2) / 32)
    np.testing.assert_allclose(encoding[:, 0::2], np.sin(angles), atol=1e-4)
    np.testing.assert_allclose(encoding[:, 1::2], np.cos(angles), atol=1e-4)


@pytest.mark.parametrize(
    ("script", "last"),
    [("prior_boxes.py", "( 28,  44,  36,  52)"), ("positional_encoding.py", "++++")],
)
@pytest.mark.parametrize("target", sorted({*TARGETS} - {"cuda-cpu"}))
def test_the_scripts_run(script: str, last: str, target: str) -> None:
    """In a process of their own, which would compile CUDA anew; above they are tried with it."""
    run = subprocess.run(
        [sys.executable, str(FOLDER / script), "--target", target],
        env=os.environ | {"PYTHONPATH": str(ROOT)},
        capture_output=True,
        check=True,
        text=True,
    )
    assert last in run.stdout.splitlines()[-1]
