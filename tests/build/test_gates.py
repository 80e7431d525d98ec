"""What kernels must keep to, by class."""

from __future__ import annotations

import pytest

from cvmgen.build import Accesses, Instructions, Resources, broken_gates
from cvmgen.build.product_loops import ProductLoop

NONE = Accesses(0, 0)

ROWS = [
    ("grid", 0, Accesses(4, 0), Accesses(1, 0), (), "a grid may be narrow"),
    ("grid", 8, Accesses(4, 0), Accesses(1, 0), ("no spills",), "nothing may spill"),
    ("streaming", 0, Accesses(4, 0), Accesses(1, 0), ("16-byte accesses",), "scalars alone"),
    ("streaming", 0, Accesses(4, 2), Accesses(1, 0), (), "wide loads"),
    ("streaming", 0, Accesses(4, 0), Accesses(2, 1), (), "wide stores of what is widened"),
    ("streaming", 0, NONE, Accesses(2, 1), (), "a fill loads nothing"),
    ("streaming", 4, NONE, NONE, ("no spills", "16-byte accesses"), "both"),
]


TIGHT, LOOSE = ProductLoop(121, 32), ProductLoop(1200, 32)
CONTRACTIONS = [
    (16, 0, TIGHT, ()),
    (16, 0, None, ()),  # in PTX
    (0, 0, None, ("tensor cores",)),
    (16, 0, LOOSE, ("products outweigh staging",)),
    (16, 3, TIGHT, ("no local memory",)),
]


@pytest.mark.parametrize(("products", "local", "loop", "broken"), CONTRACTIONS)
def test_contractions(
    products: int, local: int, loop: ProductLoop | None, broken: tuple[str, ...]
) -> None:
    resources = Resources(registers=32, stack=0, spilled=0, shared=0)
    instructions = Instructions(NONE, NONE, products, 512, 2, local, loop)
    assert broken_gates("contraction", resources, instructions) == broken


@pytest.mark.parametrize(("kind", "spilled", "loads", "stores", "broken", "why"), ROWS)
def test_gates(
    kind: str, spilled: int, loads: Accesses, stores: Accesses, broken: tuple[str, ...], why: str
) -> None:
    resources = Resources(registers=32, stack=0, spilled=spilled, shared=0)
    instructions = Instructions(loads, stores, 0, 0, 0)
    assert broken_gates(kind, resources, instructions) == broken, why
