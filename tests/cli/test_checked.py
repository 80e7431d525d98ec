"""What an edit of a spec folder checks again, and that the rest stays as it was."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from cvmgen.cli import checked as module
from cvmgen.cli.checked import checked
from cvmgen.errors import Strict
from cvmgen.source import SpecErrors
from cvmgen.spec.files import SpecFile, read_folder
from cvmgen.spec.formula import Operator

OPERATOR = 'operator {name} {{ "{name}." input X : int8[N] output Y : int32[N] Y[i] = {value} }}\n'
FILES = {
    "shared.cvm": "def twice(x) = 2*x\n",
    "lender/own.cvm": "def next_of(x) = x + 1\n" + OPERATOR.format(name="f", value="X[i]"),
    "borrower/own.cvm": "import next_of from lender\n"
    + OPERATOR.format(name="g", value="next_of(X[i])"),
    "alone/own.cvm": "# Not as lender has it.\n" + OPERATOR.format(name="h", value="twice(X[i])"),
}
# What is edited, and the opsets of which it decides.
EDITS = [
    ("shared.cvm", "2*x", {"lender", "borrower", "alone"}),
    ("lender/own.cvm", "x + 1", {"lender", "borrower"}),
    ("borrower/own.cvm", "next_of(X[i])", {"borrower"}),
    ("alone/own.cvm", "twice(X[i])", {"alone"}),
]


@pytest.fixture
def folder(tmp_path: Path, cache: Path) -> Path:
    for name, text in FILES.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    checked(read_folder(tmp_path), Strict())
    return tmp_path


@pytest.mark.parametrize(("file", "old", "opsets"), EDITS, ids=[row[0] for row in EDITS])
def test_what_is_checked_again(
    folder: Path, file: str, old: str, opsets: set[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    again = set[str]()
    check_opset = module.check_opset

    def noted(files: Sequence[SpecFile], opset: str) -> tuple[Operator, ...]:
        again.add(opset)
        return check_opset(files, opset)

    monkeypatch.setattr(module, "check_opset", noted)
    path = folder / file
    path.write_text(path.read_text().replace(old, f"{old} + {len(file)}"))
    files = read_folder(folder)
    found = checked(files, Strict())
    assert again == opsets
    whole = module.check_anew(files, Strict())
    assert [each.full_name for each in found] == ["alone.h", "borrower.g", "lender.f"]
    assert found == whole
    assert [each.text for each in found] == [each.text for each in whole]
    again.clear()
    assert all(one is other for one, other in zip(checked(files, Strict()), found, strict=True))
    assert not again


def test_errors_of_all_opsets_are_told_together(folder: Path) -> None:
    for name in ("lender", "alone"):
        path = folder / name / "own.cvm"
        path.write_text(path.read_text().replace("X[i]", "Z[i]"))
    with pytest.raises(SpecErrors) as caught:
        checked(read_folder(folder), Strict())
    assert len(caught.value.errors) == 2
    kept = list(caught.value.errors[:0])
    assert [each.full_name for each in checked(read_folder(folder), Strict(), kept)] == [
        "borrower.g"
    ]
    assert len(kept) == 2
