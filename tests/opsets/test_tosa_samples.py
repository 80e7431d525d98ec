"""Operators of TOSA on every target, against what Arm's reference model gave.

`tools/tosa_samples.py` drew the calls of `tosa_samples.npz` and ran the model.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from cvmgen.api import Operators
from tests.conformance.tosa_calls import DRAW
from tests.targets import TARGETS

STORED = np.load(Path(__file__).with_name("tosa_samples.npz"))
CALLS = sorted({name.partition("/")[0] for name in STORED.files})


def inputs(call: str) -> list[Any]:
    """Those of a call; several tensors under one name are a list."""
    found: dict[str, Any] = {}
    for name in STORED.files:
        which, _, rest = name.partition("/")
        if which == call and rest.startswith("in"):
            place, _, part = rest.partition("/")
            found[place] = [*found.get(place, []), STORED[name]] if part else STORED[name]
    return [found[place] for place in sorted(found)]


@pytest.fixture(scope="module")
def samples() -> list[tuple[str, list[Any], dict[str, Any], Any]]:
    return [
        (
            call,
            inputs(call),
            {
                name: tuple(value) if isinstance(value, list) else value
                for name, value in json.loads(STORED[f"{call}/attributes"].tobytes()).items()
            },
            STORED[f"{call}/out"],
        )
        for call in CALLS
    ]


@pytest.mark.parametrize("target", TARGETS)
def test_operators_give_what_the_reference_model_gives(
    libraries: dict[str, Operators],
    samples: list[tuple[str, list[Any], dict[str, Any], Any]],
    target: str,
) -> None:
    for call, given, attributes, expected in samples:
        found = np.asarray(libraries[target][call.split()[0]](*given, **attributes))
        assert found.dtype == expected.dtype, call
        assert np.array_equal(found, expected), (call, attributes)


def test_every_operator_on_integers_has_samples() -> None:
    assert {call.split()[0] for call in CALLS} == {*DRAW}
