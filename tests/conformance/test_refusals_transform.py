"""Calls of the transform operators that their formulas refuse."""

from __future__ import annotations

from typing import Any

import pytest

from tests.conformance.calls import Conformance
from tests.conformance.refused import ANY, RANK_17, Refused, check_refusal, zeros

X = zeros(2, 3)
RANK_16 = zeros(*RANK_17[1:])
MOST_16 = "at most 16 entries"
OVER_16 = "a tensor has 1 to 16 dimensions"
DIFFERENT = "axes must be different"

REPETITIONS: list[Refused] = [
    ("repeat", [X], {"repeats": 2}, "axis: this attribute is missing"),
    ("repeat", [X], {"axis": 0}, "repeats: this attribute is missing"),
    ("repeat", [X], {"axis": 2, "repeats": 2}, "axis = 2: must be in [-N, N) (N = 2)"),
    ("repeat", [X], {"axis": -3, "repeats": 2}, "axis = -3: must be in [-N, N) (N = 2)"),
    ("repeat", [X], {"axis": 0, "repeats": 0}, "repeats = 0: must be in [1, 2147483648)"),
    (
        "repeat",
        [X],
        {"axis": 0, "repeats": 2**31},
        "repeats = 2147483648: must be in [1, 2147483648)",
    ),
    ("repeat", [X], {"axis": 0, "repeats": -1}, "repeats = -1: must be in [1, 2147483648)"),
    (
        "repeat",
        [zeros(2**10)],
        {"axis": 0, "repeats": 2**30},
        f"Y = shape ({2**40},): a tensor has less than 2^40 elements",
    ),
    (
        "repeat",
        [zeros()],
        {"axis": 0, "repeats": 1},
        "X = shape (): a tensor has 1 to 16 dimensions",
    ),
    ("tile", [X], {}, "reps: this attribute is missing"),
    ("tile", [X], {"reps": (0,)}, "reps = (0,): must be in [1, 4096)"),
    ("tile", [X], {"reps": (1, -1)}, "reps = (1, -1): must be in [1, 4096)"),
    ("tile", [X], {"reps": (4096, 1)}, "reps = (4096, 1): must be in [1, 4096)"),
    ("tile", [X], {"reps": (1,) * 17}, f"reps = 17 entries: {MOST_16}"),
    (
        "tile",
        [X],
        {"reps": (4095,) * 4},
        "Y = shape (4095, 4095, 8190, 12285): a tensor has less than 2^40 elements",
    ),
    ("flatten", [zeros(0)], {}, "X = shape (0,): every extent must be at least 1"),
    ("batch_flatten", [zeros(2, 0)], {}, "X = shape (2, 0): every extent must be at least 1"),
    ("batch_flatten", [zeros()], {}, "X = shape (): a tensor has 1 to 16 dimensions"),
]

JOINS: list[Refused] = [
    ("concatenate", [[X]], {}, "axis: this attribute is missing"),
    ("concatenate", [[X]], {"axis": 2}, "axis = 2: must be in [-N, N) (N = 2)"),
    ("concatenate", [[X, zeros(2)]], {"axis": -3}, "axis = -3: must be in [-N, N) (N = 2)"),
    (
        "concatenate",
        [[X, zeros(2)]],
        {"axis": 0},
        "all inputs must have the rank of the first (M = 2, n = ((2, 3), (2,)), N = 2)",
    ),
    (
        "concatenate",
        [[X, X, zeros(2, 2)]],
        {"axis": 0},
        "the shapes may differ along the axis only "
        "(M = 3, N = 2, n = ((2, 3), (2, 3), (2, 2)), a = 0)",
    ),
    (
        "concatenate",
        [[zeros(1, 1, 2), *[X] * 63]],
        {"axis": 0},
        "all inputs must have the rank of the first "
        f"(M = 64, n = ((1, 1, 2), {'(2, 3), ' * 19}...), N = 3)",
    ),
    (
        "concatenate",
        [[X, zeros(1, 3)]],
        {"axis": -1},
        "the shapes may differ along the axis only (M = 2, N = 2, n = ((2, 3), (1, 3)), a = 1)",
    ),
    (
        "concatenate",
        [[X, zeros(2, 0)]],
        {"axis": 1},
        "I[1] = shape (2, 0): every extent must be at least 1",
    ),
]

SELECTIONS: list[Refused] = [
    ("transpose", [X], {"axes": (0, 2)}, "axes = (0, 2): must be in [-N, N) (N = 2)"),
    ("transpose", [X], {"axes": (-3, 0)}, "axes = (-3, 0): must be in [-N, N) (N = 2)"),
    ("transpose", [X], {"axes": (1, 1)}, f"{DIFFERENT} (axes = (1, 1))"),
    ("transpose", [X], {"axes": (1, -1)}, f"{DIFFERENT} (axes = (1, -1))"),
    ("transpose", [X], {"axes": (0, 1, 0)}, f"{DIFFERENT} (axes = (0, 1, 0))"),
    (
        "transpose",
        [X],
        {"axes": (1,)},
        "axes must be empty or name every dimension (axes = (1,), N = 2)",
    ),
    ("transpose", [X], {"axes": (0,) * 17}, f"axes = 17 entries: {MOST_16}"),
    (
        "slice",
        [X],
        {"begin": (0, 0, 0), "end": (1,)},
        "begin, end and strides have at most one entry for each dimension "
        "(begin = (0, 0, 0), N = 2, end = (1,), strides = ())",
    ),
    (
        "slice",
        [X],
        {"strides": (1, 1, 1)},
        "begin, end and strides have at most one entry for each dimension "
        "(begin = (), N = 2, end = (), strides = (1, 1, 1))",
    ),
    ("slice", [X], {"end": (1,) * 17}, f"end = 17 entries: {MOST_16}"),
    ("slice", [X], {"strides": (1, 0)}, "strides must not be 0 (N = 2, s = (1, 0))"),
    (
        "slice",
        [X],
        {"begin": (1,), "end": (1,)},
        "the slice is empty (N = 2, b = (1, 0), e = (1, 3), s = (1, 1))",
    ),
    (
        "slice",
        [X],
        {"begin": (0, 3)},
        "the slice is empty (N = 2, b = (0, 3), e = (2, 3), s = (1, 1))",
    ),
    (
        "slice",
        [X],
        {"begin": (0, 2), "end": (2, -1), "strides": (1, -1)},
        "the slice is empty (N = 2, b = (0, 2), e = (2, 2), s = (1, -1))",
    ),
    (
        "slice",
        [X],
        {"begin": (-9,), "strides": (-1,)},
        "the slice is empty (N = 2, b = (-1, 0), e = (-1, 3), s = (-1, 1))",
    ),
    ("slice", [X], {"begin": (2**31,)}, f"begin = ({2**31},): {ANY}"),
    ("slice", [X], {"strides": (1, -(2**31) - 1)}, f"strides = (1, {-(2**31) - 1}): {ANY}"),
    (
        "slice_like",
        [X, zeros(2)],
        {},
        "without axes, the ranks must be the same (axes = (), M = 1, N = 2)",
    ),
    (
        "slice_like",
        [X, zeros(2, 3, 1)],
        {},
        "without axes, the ranks must be the same (axes = (), M = 3, N = 2)",
    ),
    (
        "slice_like",
        [X, zeros(2, 4)],
        {},
        "shape_like is larger than X along a sliced axis (axes = (), m = (2, 4), n = (2, 3))",
    ),
    (
        "slice_like",
        [X, zeros(3, 3)],
        {"axes": (1, -2)},
        "shape_like is larger than X along a sliced axis (axes = (1, -2), m = (3, 3), n = (2, 3))",
    ),
    (
        "slice_like",
        [X, zeros(2)],
        {"axes": (1,)},
        "shape_like has no such axis (axes = (1,), M = 1)",
    ),
    (
        "slice_like",
        [X, zeros(2)],
        {"axes": (0, -1)},
        "shape_like has no such axis (axes = (0, -1), M = 1)",
    ),
    ("slice_like", [X, X], {"axes": (2,)}, "axes = (2,): must be in [-N, N) (N = 2)"),
    ("slice_like", [X, X], {"axes": (-2, 0)}, f"{DIFFERENT} (axes = (-2, 0))"),
    ("slice_like", [X], {}, "shape_like: this input is missing"),
    ("slice_like", [X, zeros(0)], {}, "shape_like = shape (0,): every extent must be at least 1"),
    ("take", [X, X], {"axis": 2}, "axis = 2: must be in [-N, N) (N = 2)"),
    ("take", [X, X], {"axis": -3}, "axis = -3: must be in [-N, N) (N = 2)"),
    ("take", [RANK_16, X], {"axis": 0}, f"Y = rank 17: {OVER_16}"),
    ("take", [X], {}, "indices: this input is missing"),
    ("take", [X, zeros()], {}, "indices = shape (): a tensor has 1 to 16 dimensions"),
    ("cvm_lut", [X], {}, "table: this input is missing"),
    ("cvm_lut", [X, zeros(0)], {}, "table = shape (0,): every extent must be at least 1"),
    ("cvm_lut", [zeros(), X], {}, "indices = shape (): a tensor has 1 to 16 dimensions"),
]

SHAPES: list[Refused] = [
    ("expand_dims", [X], {}, "axis: this attribute is missing"),
    ("expand_dims", [X], {"axis": 3}, "axis = 3: must be in [-N - 1, N + 1) (N = 2)"),
    ("expand_dims", [X], {"axis": -4}, "axis = -4: must be in [-N - 1, N + 1) (N = 2)"),
    (
        "expand_dims",
        [X],
        {"axis": 0, "num_newaxis": -1},
        "num_newaxis = -1: must be in [0, 4096)",
    ),
    (
        "expand_dims",
        [X],
        {"axis": 0, "num_newaxis": 4096},
        "num_newaxis = 4096: must be in [0, 4096)",
    ),
    ("expand_dims", [X], {"axis": 0, "num_newaxis": 15}, f"Y = rank 17: {OVER_16}"),
    (
        "expand_dims",
        [X],
        {"axis": 2, "num_newaxis": 4095},
        f"Y = rank 4097: {OVER_16}",
    ),
    ("reshape", [X], {}, "target_shape: this attribute is missing"),
    ("reshape", [X], {"target_shape": (0,)}, "target_shape = (0,): must be in [1, 2147483648)"),
    ("reshape", [X], {"target_shape": (-1,)}, "target_shape = (-1,): must be in [1, 2147483648)"),
    (
        "reshape",
        [X],
        {"target_shape": (2, 4)},
        "the sizes must agree (target_shape = (2, 4), n = (2, 3))",
    ),
    (
        "reshape",
        [X],
        {"target_shape": (2**31 - 1, 2**31 - 1, 2**31 - 1)},
        "the sizes must agree (target_shape = (2147483647, 2147483647, 2147483647), n = (2, 3))",
    ),
    ("reshape", [X], {"target_shape": ()}, "the sizes must agree (target_shape = (), n = (2, 3))"),
    ("reshape", [zeros(1)], {"target_shape": ()}, "Y = shape (): a tensor has 1 to 16 dimensions"),
    ("reshape", [zeros(1)], {"target_shape": RANK_17}, f"target_shape = 17 entries: {MOST_16}"),
    (
        "squeeze",
        [X],
        {"axes": (0,)},
        "only dimensions of extent 1 can be squeezed (axes = (0,), n = (2, 3))",
    ),
    (
        "squeeze",
        [zeros(2, 1)],
        {"axes": (1, -2)},
        "only dimensions of extent 1 can be squeezed (axes = (1, -2), n = (2, 1))",
    ),
    ("squeeze", [zeros(2, 1)], {"axes": (2,)}, "axes = (2,): must be in [-N, N) (N = 2)"),
    ("squeeze", [zeros(2, 1)], {"axes": (-3,)}, "axes = (-3,): must be in [-N, N) (N = 2)"),
    ("squeeze", [zeros(2, 1)], {"axes": (1, -1)}, f"{DIFFERENT} (axes = (1, -1))"),
    ("squeeze", [RANK_16], {"axes": (0,) * 17}, f"axes = 17 entries: {MOST_16}"),
]

CONDITION = "Cond must have the shape of A, or one dimension, of A's first extent"
CHOICES: list[Refused] = [
    ("where", [zeros(3), X, X], {}, f"{CONDITION} (M = 1, N = 2, c = (3,), n = (2, 3))"),
    ("where", [zeros(1), X, X], {}, f"{CONDITION} (M = 1, N = 2, c = (1,), n = (2, 3))"),
    ("where", [zeros(2, 1), X, X], {}, f"{CONDITION} (M = 2, N = 2, c = (2, 1), n = (2, 3))"),
    ("where", [zeros(2, 3, 1), X, X], {}, f"{CONDITION} (M = 3, N = 2, c = (2, 3, 1), n = (2, 3))"),
    ("where", [X, zeros(2), zeros(2)], {}, f"{CONDITION} (M = 2, N = 1, c = (2, 3), n = (2,))"),
    ("where", [X, X, zeros(2)], {}, "B = shape (2,): the shape must be (2, 3)"),
    ("where", [X, X, zeros(1, 3)], {}, "B = shape (1, 3): the shape must be (2, 3)"),
    ("where", [X, X], {}, "B: this input is missing"),
    ("where", [None, X, X], {}, "Cond: this input is missing"),
]

CALLS = [*REPETITIONS, *JOINS, *SELECTIONS, *SHAPES, *CHOICES]


@pytest.mark.parametrize(("name", "inputs", "attributes", "message"), CALLS, ids=lambda each: None)
def test_refused_calls(
    conformance: Conformance, name: str, inputs: list[Any], attributes: dict[str, Any], message: str
) -> None:
    check_refusal(conformance, name, inputs, attributes, message)
