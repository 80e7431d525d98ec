"""Every fault that changes what a kernel computes is refuted, by values that show it.

The usual run puts in a few; `make mutants` some of each kind, and runs each under sanitizers, and
`python -m tests.verification.mutants` says what became of them.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.clang import has_clang
from tests.verification.mutants.judged import judged
from tests.verification.mutants.made import (
    COUNT,
    DEVICE,
    FORMULA,
    GPU,
    KERNEL,
    LAYERS,
    TEXT,
    mutants,
)

pytest.importorskip("z3")
pytest.importorskip("cvc5")

KINDS = [(layer, kind) for layer, kinds in LAYERS.items() for kind in kinds]
FEW = [
    (KERNEL, "index one off"),
    (FORMULA, "another operator"),
    (TEXT, "an element beside"),
    (DEVICE, "an element beside"),
    (GPU, "a barrier of some threads"),
]


@pytest.mark.parametrize(("layer", "kind"), FEW)
def test_a_fault_is_refuted(layer: str, kind: str, tmp_path: Path) -> None:
    if layer != GPU and not has_clang():
        pytest.skip("no clang: cvmgen[zig] brings one")
    (found,) = judged(mutants(layer, kind, 1), tmp_path, run=False)
    assert found.refuted, found


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """For the right text of all formulas, which is made once."""
    return tmp_path_factory.mktemp("mutants")


@pytest.mark.slow
@pytest.mark.parametrize(("layer", "kind"), KINDS)
def test_no_mutant_survives_without_a_reason(layer: str, kind: str, folder: Path) -> None:
    if not has_clang():
        pytest.skip("no clang: cvmgen[zig] brings one")
    several = mutants(layer, kind, COUNT)
    assert several
    found = judged(several, folder)
    left = [str(each) for each in found if each.verdict not in ("refused", "refuted")]
    assert left == [str(each) for each in found if each.reason]


def test_there_are_enough_mutants_and_kinds() -> None:
    changes = (Path(__file__).parents[3] / "CHANGELOG.md").read_text(encoding="utf-8")
    assert f"faults of {len({kind for _, kind in KINDS})} kinds" in changes
    assert len(KINDS) * COUNT >= 150
