"""The digits example: the committed model reads pictures that its training never saw."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from cvmgen.graph import load

ROOT = Path(__file__).resolve().parents[2]
FOLDER = ROOT / "examples" / "digits"
FILES = FOLDER / "digits.json", FOLDER / "digits.bin"


@pytest.fixture(scope="module")
def pictures() -> tuple[np.ndarray, np.ndarray]:
    with np.load(FOLDER / "digits_test.npz") as test:
        return test["images"][:, np.newaxis, np.newaxis], test["labels"]


def test_it_reads_most_pictures(pictures: tuple[np.ndarray, np.ndarray]) -> None:
    images, labels = pictures
    network = load(*FILES, target="c")
    answers = np.concatenate([network(image) for image in images]).argmax(1)
    assert len(labels) == 360
    assert (answers == labels).mean() > 0.9


def test_both_targets_give_the_same_integers(pictures: tuple[np.ndarray, np.ndarray]) -> None:
    compiled, interpreted = load(*FILES, target="c"), load(*FILES, target="python")
    for image in pictures[0][:3]:
        np.testing.assert_array_equal(compiled(image), interpreted(image))


def test_the_files_are_small() -> None:
    assert sum(path.stat().st_size for path in FOLDER.glob("digits*")) < 200_000


@pytest.mark.parametrize(("encoding", "brightest"), [("utf-8", "█"), ("ascii", "#")])
def test_the_demo_draws_what_the_terminal_can_show(encoding: str, brightest: str) -> None:
    run = subprocess.run(
        [sys.executable, str(FOLDER / "demo.py")],
        env=os.environ | {"PYTHONIOENCODING": encoding, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        check=True,
    )
    text = run.stdout.decode(encoding)
    assert brightest * 2 in text
    assert "of 360 right (9" in text
    assert "ms a picture" in text


@pytest.mark.slow
def test_training_again_reaches_its_goal(tmp_path: Path) -> None:
    """The files need not be the committed ones: sums of floats differ between machines."""
    pytest.importorskip("sklearn", reason="training takes its pictures from scikit-learn")
    (tmp_path / "train.py").write_bytes((FOLDER / "train.py").read_bytes())
    subprocess.run(
        [sys.executable, str(tmp_path / "train.py")],
        env=os.environ | {"PYTHONPATH": str(ROOT)},
        capture_output=True,
        check=True,
    )
    network = load(tmp_path / "digits.json", tmp_path / "digits.bin")
    with np.load(tmp_path / "digits_test.npz") as test:
        images, labels = test["images"][:, np.newaxis, np.newaxis], test["labels"]
    answers = np.concatenate([network(image) for image in images]).argmax(1)
    assert (answers == labels).mean() >= 0.95


def test_the_demonstration_needs_numpy_alone() -> None:
    """Neither what training needs nor the tools of developers."""
    program = (
        "import runpy, sys;"
        "runpy.run_path(sys.argv[1]);"
        "heavy = {'sklearn', 'scipy', 'sympy', 'lark', 'jinja2', 'pytest'};"
        "print(sorted(heavy & sys.modules.keys()))"
    )
    command = [sys.executable, "-c", program, str(FOLDER / "demo.py")]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"
