"""`cvmgen run --inputs`: each row as by itself, here and on a cluster; files that do not fit."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from cvmgen.build.progress import Progress
from cvmgen.cli.exits import UsageError
from cvmgen.cli.given import GivenModel
from cvmgen.cli.many import output_files, run_many
from cvmgen.cli.run import loaded
from tests.cli.conftest import Command
from tests.cli.test_commands import DIGITS

MODEL = (DIGITS / "digits.json", "--params", DIGITS / "digits.bin", "--target", "numpy")
ROWS = 300
"""More than are run together."""


@pytest.fixture
def pictures(tmp_path: Path) -> Path:
    drawn = np.random.default_rng(1).integers(0, 17, (ROWS, 1, 8, 8), np.int8)
    np.save(tmp_path / "pictures.npy", drawn)
    return tmp_path / "pictures.npy"


@pytest.fixture
def scores(pictures: Path) -> list[object]:
    network = loaded(GivenModel(DIGITS / "digits.json", DIGITS / "digits.bin"), "numpy")
    return [np.asarray(network(row[None])).tolist() for row in np.load(pictures)]


def test_each_row_as_by_itself(
    cvmgen: Command, pictures: Path, scores: list[object], tmp_path: Path
) -> None:
    given = ("run", *MODEL, "--inputs", pictures)
    outcome = cvmgen(*given, "--output", tmp_path / "y.npy", "--json")
    assert outcome.json == {"rows": ROWS, "files": [str(tmp_path / "y.npy")]}
    found = np.load(tmp_path / "y.npy")
    assert (found.dtype, found.tolist()) == (np.int32, scores)
    assert not list(tmp_path.glob(".cvmgen*"))


def test_on_a_cluster(pictures: Path, scores: list[object], tmp_path: Path) -> None:
    distributed, zarr = map(pytest.importorskip, ("distributed", "zarr"))
    network = loaded(GivenModel(DIGITS / "digits.json", DIGITS / "digits.bin"), "numpy")
    output = tmp_path / "y.zarr"
    with (
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, dashboard_address=None
        ) as cluster,
        Progress() as progress,
    ):
        address = cluster.scheduler_address
        assert run_many(network, [pictures], output, address, progress) == (ROWS, [output])
    assert zarr.open_array(output, mode="r")[:].tolist() == scores


def test_what_does_not_fit(cvmgen: Command, pictures: Path, tmp_path: Path) -> None:
    np.save(tmp_path / "wide.npy", np.zeros((3, 8, 9), np.int8))
    np.save(tmp_path / "none.npy", np.zeros((0, 1, 8, 8), np.int8))
    np.save(tmp_path / "objects.npy", np.array([{}]), allow_pickle=True)
    (tmp_path / "text.npy").write_text("text")
    np.savez(tmp_path / "several.npz", np.zeros(3))
    output = ("--output", tmp_path / "y.npy")
    refused = {
        "wide.npy": "wide.npy: shape (3, 8, 9): (N, 1, 1, 8, 8) is needed",
        "none.npy": "all inputs need as many rows, and at least one",
        "objects.npy": "not an array of numpy or zarr",
        "text.npy": "not an array of numpy or zarr",
        "several.npz": "not an array of numpy or zarr",
        "away.npy": "not an array of numpy or zarr",
    }
    for name, told in refused.items():
        outcome = cvmgen("run", *MODEL, "--inputs", tmp_path / name, *output)
        assert outcome.code == 1
        assert told in outcome.err
    many = ("run", *MODEL, "--inputs", pictures)
    (tmp_path / "own.zarr").mkdir()
    (tmp_path / "own.zarr/kept.txt").write_text("kept")
    told = cvmgen(*many, "--output", tmp_path / "own.zarr").err
    assert "a folder that is no array of zarr stays as it is" in told
    assert "go to a .npy file or a .zarr folder" in cvmgen(*many, "--output", tmp_path).err
    assert (tmp_path / "own.zarr/kept.txt").read_text() == "kept"
    assert "--inputs goes with --output" in cvmgen(*many).err
    assert "takes 1 inputs, not 2" in cvmgen(*many, pictures, *output).err
    alone = ("run", *MODEL, "--input", pictures, "--scheduler", "x")
    assert "--scheduler goes with --inputs" in cvmgen(*alone).err
    assert not [*tmp_path.glob("y*"), *tmp_path.glob(".cvmgen*")]


def test_several_results_have_numbers() -> None:
    assert output_files(Path("a/y.npy"), 2) == [Path("a/y_0.npy"), Path("a/y_1.npy")]


def test_a_stream_stays_on_one_machine(tmp_path: Path) -> None:
    class Stream:
        states = ("ring",)

    with pytest.raises(UsageError, match="a stream's rows run one after the other"):
        run_many(Stream(), [], tmp_path, "tcp://localhost:1", Progress())  # type: ignore[arg-type]
