"""What kernels must keep to, by class."""

from __future__ import annotations

import pytest

from cvmgen.build import Accesses, Instructions, Resources, broken_gates

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


@pytest.mark.parametrize(
    ("products", "broken"), [(16, ()), (0, ("tensor cores",))], ids=["products", "none"]
)
def test_contractions_use_tensor_cores(products: int, broken: tuple[str, ...]) -> None:
    resources = Resources(registers=32, stack=0, spilled=0, shared=0)
    instructions = Instructions(NONE, NONE, products, 512, 2)
    assert broken_gates("contraction", resources, instructions) == broken


@pytest.mark.parametrize(("kind", "spilled", "loads", "stores", "broken", "why"), ROWS)
def test_gates(
    kind: str, spilled: int, loads: Accesses, stores: Accesses, broken: tuple[str, ...], why: str
) -> None:
    resources = Resources(registers=32, stack=0, spilled=spilled, shared=0)
    instructions = Instructions(loads, stores, 0, 0, 0)
    assert broken_gates(kind, resources, instructions) == broken, why
