"""`cvmgen verify`: a table, what is open with its place, and obligations in mathematics."""

import json
from pathlib import Path

import pytest

from tests.clang import needs_clang

pytest.importorskip("z3")
pytest.importorskip("cvc5")

ROOT = Path(__file__).parents[2]
DIGITS = tuple(ROOT / "examples" / "digits" / f"digits.{each}" for each in ("json", "bin"))
MATMUL = """operator matmul {
  "A product."
  input X : cvm[M, K]
  input W : cvm[N, K]
  output Y : cvm[M, N]
  Y[i, j] = sum[k < K](X[i, k] * W[j, k])
}
"""


@pytest.fixture
def spec(tmp_path: Path) -> Path:
    (tmp_path / "toy").mkdir()
    (tmp_path / "toy" / "matmul.cvm").write_text(MATMUL)
    return tmp_path


def test_a_table(cvmgen, spec: Path) -> None:
    outcome = cvmgen("verify", "--spec", spec)
    assert "toy.matmul" in outcome.out
    assert "12 by intervals" in outcome.out
    assert "open" not in outcome.out


def test_mathematics(cvmgen, spec: Path) -> None:
    outcome = cvmgen("verify", "matmul", "--explain", "--spec", spec)
    assert "X@[i * K + k]: by intervals" in outcome.out
    assert "  given i < M\n" in outcome.out
    assert "  proved i < M\n" in outcome.out


def test_what_stands_where_a_property_is_open(
    cvmgen, spec: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without a solver products of extents stay open."""
    monkeypatch.setattr("cvmgen.verification.solvers.find_spec", lambda _: None)
    wrong = MATMUL.replace("X[i, k]", "X[i, k * (N div N)]")
    (spec / "toy" / "matmul.cvm").write_text(wrong)
    told = cvmgen("verify", "matmul", "--explain", "--spec", spec).out
    assert "  bounds: each element that is read or written lies in its tensor\n" in told
    assert "  instead: " in told


def test_data(cvmgen, spec: Path) -> None:
    told = json.loads(cvmgen("verify", "--spec", spec, "--json").out)
    assert {each["status"] for each in told} == {"proved"}
    assert {each["property"] for each in told} == {"bounds", "once", "vacuity", "widths", "written"}


def test_all_cannot_be_explained_at_once(cvmgen, spec: Path) -> None:
    assert "name an operator" in cvmgen("verify", "--explain", "--spec", spec).err


def test_steps_of_a_model(cvmgen) -> None:
    outcome = cvmgen("verify", "--model", *DIGITS)
    assert outcome.code == 0, outcome.err
    assert "relu0_step" in outcome.out
    assert "within the memory of a run: 6 by intervals" in outcome.out
    assert "open" not in outcome.out


def test_a_step_in_mathematics(cvmgen) -> None:
    told = cvmgen("verify", "relu0_step", "--model", *DIGITS, "--explain").out
    assert "  bounds: each element that is read or written lies in its tensor\n" in told
    assert "  elements: what is stored is in the range" in told
    assert "pool0_step" not in told


def test_model_goes_with_little(cvmgen) -> None:
    assert "names of steps alone" in cvmgen("verify", "--model", *DIGITS, "--ledger").err
    assert (
        "has no step 'relu_step'; did you mean"
        in cvmgen("verify", "relu_step", "--model", *DIGITS).err
    )


RELU = """operator relu {
  "Nothing below 0."
  input X : cvm[n...]
  output Y : cvm[n...]
  Y[d...] = max(0, X[d...])
}
"""


def test_threads(cvmgen, spec: Path) -> None:
    (spec / "toy" / "relu.cvm").write_text(RELU)
    outcome = cvmgen("verify", "relu", "--target", "cuda", "--spec", spec)
    assert "toy.relu" in outcome.out
    assert "races 2 proved" in outcome.out
    assert "proved by cvc5 and z3: " in outcome.out
    assert "who comes there: two threads" in outcome.out
    told = json.loads(cvmgen("verify", "relu", "--target", "cuda", "--spec", spec, "--json").out)
    assert {each["status"] for each in told} == {"proved"}
    assert {each["reached"] for each in told if "reached" in each} == {"two threads"}
    assert {each["property"] for each in told} == {"bounds", "races", "widths"}


def test_threads_in_mathematics(cvmgen, spec: Path) -> None:
    (spec / "toy" / "relu.cvm").write_text(RELU)
    outcome = cvmgen("verify", "relu", "--explain", "--target", "cuda", "--spec", spec)
    assert "Y[d + element]: by cvc5 and z3\n" in outcome.out
    assert "    lane != lane~\n" in outcome.out
    assert "    block != block~\n" in outcome.out


@needs_clang
def test_values_of_cuda(cvmgen) -> None:
    folders = ("--spec", ROOT / "spec", "--generated", ROOT / "generated")
    outcome = cvmgen("verify", "cvm.abs", "--values", "1", "--target", "cuda", *folders)
    assert "validated" in outcome.out


def test_values_of_an_operator_that_the_folder_has_no_text_of(cvmgen, spec: Path) -> None:
    (spec / "toy" / "relu.cvm").write_text(RELU)
    outcome = cvmgen("verify", "toy.relu", "--values", "1", "--spec", spec)
    assert outcome.code == 2
    assert "has no text of toy.relu: `cvmgen build --spec SPEC --out DIR` writes it" in outcome.err


@needs_clang
def test_actions(cvmgen) -> None:
    """What each action leaves is what the formula says, and is told with its nest."""
    folders = ("--spec", ROOT / "spec", "--generated", ROOT / "generated")
    outcome = cvmgen("verify", "cvm.upsampling", "--actions", "1", *folders)
    first, *rest = outcome.out.splitlines()
    assert first.split(maxsplit=2)[1:] == ["validated", "the nests as they are lowered"]
    assert rest
    assert all(each.split()[1:3] == ["validated", "Y:"] for each in rest)


def test_processes_find_the_same(cvmgen, spec: Path) -> None:
    file = spec / "toy" / "matmul.cvm"
    file.write_text("".join(MATMUL.replace("matmul", f"matmul{at}") for at in range(6)))
    outcomes = [cvmgen("verify", "--spec", spec, "-j", jobs, "--json").out for jobs in ("1", "2")]
    assert outcomes[0] == outcomes[1]
    assert len({each["operator"] for each in json.loads(outcomes[0])}) == 6
