"""What several processes make of operators is what one makes."""

from __future__ import annotations

from pathlib import Path

import pytest

from cvmgen.build import helpers

from .conftest import Command, contents

OUTSIDE = """
operator outside {
  "Reads beyond its input."
  input  X : cvm[N]
  output Y : cvm[N] precision p(X)
  Y[i] = X[i + 1]
}
"""


@pytest.mark.parametrize(
    ("more", "target"), [("", "cuda"), (OUTSIDE, "python")], ids=["sound", "unsound"]
)
def test_as_one_process_makes_them(
    cvmgen: Command,
    spec: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    more: str,
    target: str,
) -> None:
    monkeypatch.setattr(helpers, "FEW", 2)
    with (spec / "toy/numbers.cvm").open("a") as file:
        file.write(more)
    found = []
    for jobs in (1, 2):
        out = tmp_path / f"out{jobs}"
        monkeypatch.setenv("CVMGEN_CACHE", str(tmp_path / f"cache{jobs}"))
        line = ("build", "--target", target, "--spec", spec, "--out", out)
        outcome = cvmgen(*line, "-j", jobs)
        again = cvmgen(*line, "-j", 1, "--check")
        assert again.code == (1 if more else 0)
        found.append((outcome.code, outcome.err, again.err, contents(out) if out.exists() else {}))
    assert found[0] == found[1]
    assert found[0][0] == (1 if more else 0)
