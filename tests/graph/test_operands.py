"""The inputs of a node, sorted to those of its operator."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from cvmgen.graph import load
from cvmgen.graph.operators import sorted_inputs
from cvmgen.graph.plan import make_plan
from cvmgen.graph.symbol import NodeOutput
from tests.graph.stubs import LIBRARY, Stub, graph, same, use, variable

ROWS: list[tuple[str, str | None, list[int], list[Any], str]] = [
    ("X", None, [1], [1], "each its own"),
    ("AB", None, [1, 2], [1, 2], "in their order"),
    ("XWB", None, [1, 2], [1, 2, None], "the last ones may be left out"),
    ("A", None, [1, 2], [1, 2], "too many are the operator's to refuse"),
    ("I", "I", [1, 2, 3], [[1, 2, 3]], "a variadic input takes all"),
    ("I", "I", [1], [[1]], "one alone is a list too"),
    ("I", "I", [], [[]], "none is an empty list, the operator's to refuse"),
    ("AI", "I", [1, 2, 3], [1, [2, 3]], "all that the input before it leaves"),
    ("IA", "I", [1, 2, 3], [[1, 2], 3], "all that the input after it leaves"),
    ("AIB", "I", [1, 2], [1, [], 2], "nothing is left"),
    ("AIB", "I", [1], [1, [], None], "nothing is left and one is missing"),
]


@pytest.mark.parametrize(("names", "variadic", "given", "expected", "why"), ROWS)
def test_sorted(
    names: str, variadic: str | None, given: list[int], expected: list[Any], why: str
) -> None:
    operator = Stub("any", tuple(names), same, lambda x: x, variadic)
    assert sorted_inputs(operator, given) == expected, why


SHAPE = (2, 3)
DATA, W = variable("data", SHAPE, 4), variable("w", (2, 1), 7)


def test_a_node_with_several_inputs_for_one() -> None:
    """Of different shapes and precisions, the result of another node and one tensor twice."""
    symbol = graph(
        DATA,
        W,
        use("n", "negative", [0], SHAPE),
        use("c", "concatenate", [0, 1, 2, 0], NodeOutput((2, 10), 7), axis=1),
    )
    w = np.array([[60], [-60]], np.int8)
    x = np.array([[1, 2, 3], [4, 5, 6]])
    network = load(symbol, {"w": w}, operators=LIBRARY)
    np.testing.assert_array_equal(network(x), np.concatenate([x, w, -x, x], 1))
    assert network.output_precisions == (7,)


def test_no_step_writes_over_one_of_several_inputs() -> None:
    nodes = [use(f"n{index}", "negative", [0], SHAPE) for index in range(4)]
    joined = use("c", "concatenate", [1, 2, 3, 4], (8, 3), axis=0)
    plan = make_plan(graph(DATA, *nodes, joined), LIBRARY)
    offsets = [plan.layout.offsets[index] for index in (1, 2, 3, 4, 5)]
    assert len(set(offsets)) == 5
