"""Calls of the vision operators that their formulas refuse."""

from __future__ import annotations

from typing import Any

import pytest

from tests.conformance.calls import Conformance
from tests.conformance.refused import ANY, Refused, check_refusal, zeros

ROWS, COUNTS = zeros(2, 3, 6), zeros(2)
ENTRIES = "a row has 2 to 32 entries: an id, a score, and more"
NMS = "non_max_suppression"

CALLS: list[Refused] = [
    ("get_valid_count", [zeros(2, 3)], {}, "X = shape (2, 3): 3 dimensions needed"),
    ("get_valid_count", [zeros(1, 2, 3, 4)], {}, "X = shape (1, 2, 3, 4): 3 dimensions needed"),
    (
        "get_valid_count",
        [zeros(2, 0, 6)],
        {},
        "X = shape (2, 0, 6): every extent must be at least 1",
    ),
    ("get_valid_count", [zeros(2, 3, 1)], {}, f"{ENTRIES} (K = 1)"),
    ("get_valid_count", [zeros(2, 3, 33)], {}, f"{ENTRIES} (K = 33)"),
    (
        "get_valid_count",
        [ROWS],
        {"score_threshold": 2**31},
        f"score_threshold = {2**31}: {ANY}",
    ),
    (NMS, [zeros(3, 6), COUNTS], {}, "X = shape (3, 6): 3 dimensions needed"),
    (NMS, [zeros(2, 3, 5), COUNTS], {}, "X = shape (2, 3, 5): extent 2 must be 6"),
    (NMS, [zeros(2, 3, 7), COUNTS], {}, "X = shape (2, 3, 7): extent 2 must be 6"),
    (NMS, [ROWS, zeros(3)], {}, "valid_count = shape (3,): extent 0 must be B = 2"),
    (NMS, [ROWS, zeros(2, 1)], {}, "valid_count = shape (2, 1): 1 dimension needed"),
    (NMS, [ROWS], {}, "valid_count: this input is missing"),
    (NMS, [ROWS, COUNTS], {"iou_threshold": 0}, "iou_threshold = 0: must be in [1, 2147483648)"),
    (
        NMS,
        [ROWS, COUNTS],
        {"iou_threshold": -101},
        "iou_threshold = -101: must be in [1, 2147483648)",
    ),
    (NMS, [ROWS, COUNTS], {"max_output_size": 2**31}, f"max_output_size = {2**31}: {ANY}"),
    (NMS, [ROWS, COUNTS], {"top_k": -(2**31) - 1}, f"top_k = {-(2**31) - 1}: {ANY}"),
]


@pytest.mark.parametrize(("name", "inputs", "attributes", "message"), CALLS, ids=lambda each: None)
def test_refused_calls(
    conformance: Conformance, name: str, inputs: list[Any], attributes: dict[str, Any], message: str
) -> None:
    check_refusal(conformance, name, inputs, attributes, message)
