"""Calls that formulas refuse: the reference and every target say exactly the same."""

from __future__ import annotations

from typing import Any

import pytest

from tests.conformance.calls import Conformance
from tests.conformance.refused import RANK_17, Refused, check_refusal, wide, zeros

X4, W4 = zeros(1, 4, 5, 5), zeros(2, 4, 3, 3)

CALLS: list[Refused] = [
    # Inputs that are missing, of the wrong rank, or that disagree.
    ("conv2d", [X4], {}, "W: this input is missing"),
    *(
        (name, [None], {}, "X: this input is missing")
        for name in ("abs", "cvm_precision", "negative", "relu", "flatten")
    ),
    ("conv2d", [X4[0], W4], {}, "X = shape (4, 5, 5): 4 dimensions needed"),
    ("conv2d", [X4, W4[0]], {}, "W = shape (4, 3, 3): 4 dimensions needed"),
    ("conv2d", [X4, W4, zeros(2, 1)], {}, "B = shape (2, 1): 1 dimension needed"),
    ("conv2d", [X4, W4, zeros(3)], {}, "B = shape (3,): extent 0 must be OC = 2"),
    ("dense", [zeros(2, 3), zeros(4, 5)], {}, "W = shape (4, 5): extent 1 must be K = 3"),
    ("dense", [zeros(2, 3), zeros(4, 3), zeros(5)], {}, "B = shape (5,): extent 0 must be N = 4"),
    ("dense", [zeros(2), zeros(4, 3)], {}, "X = shape (2,): 2 dimensions needed"),
    ("elemwise_add", [zeros(2), zeros(3)], {}, "B = shape (3,): the shape must be (2,)"),
    ("elemwise_sub", [zeros(2, 3), zeros(2)], {}, "B = shape (2,): the shape must be (2, 3)"),
    ("elemwise_sub", [zeros(2), zeros(1, 2)], {}, "B = shape (1, 2): the shape must be (2,)"),
    ("max_pool2d", [zeros(3)], {"pool_size": (1, 1)}, "X = shape (3,): 4 dimensions needed"),
    ("upsampling", [zeros(1, 2)], {"scale": 2}, "X = shape (1, 2): 4 dimensions needed"),
    ("batch_flatten", [zeros(0)], {}, "X = shape (0,): every extent must be at least 1"),
    *(
        (name, [zeros()], {}, "X = shape (): a tensor has 1 to 16 dimensions")
        for name in ("abs", "cvm_precision", "negative", "relu", "sum")
    ),
    ("abs", [zeros(*RANK_17)], {}, f"X = shape {RANK_17}: a tensor has 1 to 16 dimensions"),
    ("abs", [zeros(2, 0, 3)], {}, "X = shape (2, 0, 3): every extent must be at least 1"),
    ("elemwise_add", [zeros(2), zeros(0)], {}, "B = shape (0,): every extent must be at least 1"),
    # Shapes that do not broadcast: aligned on the right.
    *(
        (
            f"broadcast_{name}",
            [zeros(2, 3), zeros(2)],
            {},
            "the shapes do not broadcast (Q = 2, em = (2, 3), en = (1, 2))",
        )
        for name in ("add", "sub", "mul", "div", "max", "greater")
    ),
    (
        "broadcast_add",
        [zeros(4), zeros(2, 1, 3)],
        {},
        "the shapes do not broadcast (Q = 3, em = (1, 1, 4), en = (2, 1, 3))",
    ),
    # Attributes that are missing or out of range.
    ("clip", [zeros(2)], {"a_max": 3}, "a_min: this attribute is missing"),
    ("clip", [zeros(2)], {"a_min": 3}, "a_max: this attribute is missing"),
    *(
        (
            "clip",
            [zeros(2)],
            {"a_min": end, "a_max": 3},
            f"a_min = {end}: must be in (-2147483648, 2147483648)",
        )
        for end in (-(2**31) - 1, -(2**31), 2**31)
    ),
    ("cvm_clip", [zeros(2)], {}, "precision: this attribute is missing"),
    ("max_pool2d", [X4], {}, "pool_size: this attribute is missing"),
    ("upsampling", [X4], {}, "scale: this attribute is missing"),
    ("cvm_right_shift", [zeros(2)], {"precision": 8}, "shift_bit: this attribute is missing"),
    (
        "clip",
        [zeros(2)],
        {"a_min": 3, "a_max": 3},
        "a_min must be below a_max (a_min = 3, a_max = 3)",
    ),
    (
        "clip",
        [zeros(2)],
        {"a_min": 4, "a_max": -3},
        "a_min must be below a_max (a_min = 4, a_max = -3)",
    ),
    ("cvm_clip", [zeros(2)], {"precision": 0}, "precision = 0: must be in [1, 33)"),
    ("cvm_clip", [zeros(2)], {"precision": 33}, "precision = 33: must be in [1, 33)"),
    ("cvm_clip", [zeros(2)], {"precision": -1}, "precision = -1: must be in [1, 33)"),
    *(
        (
            name,
            [zeros(2)],
            {"precision": 8, "shift_bit": shift},
            f"shift_bit = {shift}: must be in [1, 33)",
        )
        for name in ("cvm_right_shift", "cvm_left_shift")
        for shift in (0, 33)
    ),
    *(
        (
            name,
            [zeros(2)],
            {"precision": bits, "shift_bit": 1},
            f"precision = {bits}: must be in [1, 33)",
        )
        for name in ("cvm_right_shift", "cvm_left_shift")
        for bits in (0, 33)
    ),
    (
        "cvm_left_shift",
        [wide(20, 2)],
        {"precision": 8, "shift_bit": 13},
        "the shifted value must fit 32 bits (p(X) = 20, shift_bit = 13)",
    ),
    (
        "conv2d",
        [X4, W4],
        {"padding": (4096, 0)},
        "padding = (4096, 0): must be in [0, 4096)",
    ),
    (
        "conv2d",
        [X4, W4],
        {"padding": (0, -1)},
        "padding = (0, -1): must be in [0, 4096)",
    ),
    ("conv2d", [X4, W4], {"stride": (1, 0)}, "stride = (1, 0): must be in [1, 4096)"),
    ("conv2d", [X4, W4], {"stride": (4096, 1)}, "stride = (4096, 1): must be in [1, 4096)"),
    ("conv2d", [X4, W4], {"dilation": (0, 0)}, "dilation = (0, 0): must be in [1, 4096)"),
    ("conv2d", [X4, W4], {"dilation": (1, 4096)}, "dilation = (1, 4096): must be in [1, 4096)"),
    ("conv2d", [X4, W4], {"groups": 0}, "groups = 0: must be in [1, C] (C = 4)"),
    ("conv2d", [X4, W4], {"groups": 5}, "groups = 5: must be in [1, C] (C = 4)"),
    ("max_pool2d", [X4], {"pool_size": (0, 1)}, "pool_size = (0, 1): must be in [1, 2147483648)"),
    (
        "max_pool2d",
        [X4],
        {"pool_size": (1, 1), "strides": (0, 1)},
        "strides = (0, 1): must be in [1, 4096)",
    ),
    (
        "max_pool2d",
        [X4],
        {"pool_size": (1, 1), "padding": (0, 4096)},
        "padding = (0, 4096): must be in [0, 4096)",
    ),
    ("upsampling", [X4], {"scale": 0}, "scale = 0: must be in [1, 4096)"),
    ("upsampling", [X4], {"scale": 4096}, "scale = 4096: must be in [1, 4096)"),
    # Lists of the wrong length.
    ("conv2d", [X4, W4], {"padding": (1,)}, "padding = (1,): 2 entries needed"),
    ("conv2d", [X4, W4], {"stride": (1, 1, 1)}, "stride = (1, 1, 1): 2 entries needed"),
    ("max_pool2d", [X4], {"pool_size": ()}, "pool_size = (): 2 entries needed"),
    ("sum", [zeros(2)], {"axes": (0,) * 17}, "axes = 17 entries: at most 16 entries"),
    # Axes.
    ("sum", [zeros(2, 3)], {"axes": (2,)}, "axes = (2,): must be in [-N, N) (N = 2)"),
    ("max", [zeros(2, 3)], {"axes": (0, -3)}, "axes = (0, -3): must be in [-N, N) (N = 2)"),
    ("sum", [zeros(2, 3)], {"axes": (1, 1)}, "axes must be different (axes = (1, 1))"),
    (
        "max",
        [zeros(2, 3)],
        {"axes": (-1, 1), "exclude": True},
        "axes must be different (axes = (-1, 1))",
    ),
    # Groups, kernels and windows that do not fit.
    (
        "conv2d",
        [X4, W4],
        {"groups": 2},
        "the channels must split into the groups (C = 4, IC = 4, groups = 2, OC = 2)",
    ),
    (
        "conv2d",
        [X4, zeros(3, 2, 1, 1)],
        {"groups": 2},
        "the channels must split into the groups (C = 4, IC = 2, groups = 2, OC = 3)",
    ),
    (
        "conv2d",
        [X4, zeros(1, 4, 6, 5)],
        {},
        "the kernel is larger than the padded input (YH = 0, YW = 1)",
    ),
    (
        "conv2d",
        [X4, zeros(1, 4, 1, 3)],
        {"dilation": (1, 4095)},
        "the kernel is larger than the padded input (YH = 5, YW = -8185)",
    ),
    (
        "max_pool2d",
        [X4],
        {"pool_size": (6, 1)},
        "the window is larger than the padded input "
        "(PSH = 6, H = 5, PH = 0, PSW = 1, W = 5, PW = 0)",
    ),
    (
        "max_pool2d",
        [X4],
        {"pool_size": (2, 2), "padding": (2, 1)},
        "the padding must be smaller than the window (PSH = 2, PH = 2, PSW = 2, PW = 1)",
    ),
    (
        "max_pool2d",
        [X4],
        {"pool_size": (1, 1), "strides": (6, 1), "ceil_mode": True},
        "ceil_mode leaves a window without an element "
        "(YH = 2, SH = 6, PH = 0, H = 5, YW = 5, SW = 1, PW = 0, W = 5)",
    ),
    # Output precisions above 32 name the rule and its terms.
    (
        "elemwise_add",
        [wide(32, 2), wide(3, 2)],
        {},
        "Y = precision 33 (p(A) = 32, p(B) = 3): "
        "its precision wider(p(A), p(B)) must be in [1, 32]",
    ),
    (
        "broadcast_mul",
        [wide(16, 2), wide(17, 2)],
        {},
        "Y = precision 33 (p(A) = 16, p(B) = 17): "
        "its precision product_precision(p(A), p(B)) must be in [1, 32]",
    ),
    (
        "sum",
        [wide(31, 2)],
        {},
        "Y = precision 33 (p(X) = 31, Z = 2): "
        "its precision sum_precision(p(X), Z) must be in [1, 32]",
    ),
    (
        "dense",
        [wide(14, 1, 16), wide(14, 1, 16)],
        {},
        "Y = precision 33 (p(X) = 14, p(W) = 14, K = 16): its precision "
        "wider(p(X) + p(W) + bits(K), p(B)) if present(B) else p(X) + p(W) + bits(K) "
        "must be in [1, 32]",
    ),
    (
        "dense",
        [wide(2, 1, 1), wide(2, 1, 1), wide(32, 1)],
        {},
        "Y = precision 33 (p(X) = 2, p(W) = 2, K = 1, p(B) = 32): its precision "
        "wider(p(X) + p(W) + bits(K), p(B)) if present(B) else p(X) + p(W) + bits(K) "
        "must be in [1, 32]",
    ),
    (
        "clip",
        [zeros(2)],
        {"a_min": -5, "a_max": 2**31 - 1},
        "Y = precision 33 (a_min = -5, a_max = 2147483647): its precision "
        "bits(max(abs(a_min), abs(a_max)) + 1) + 1 must be in [1, 32]",
    ),
]


@pytest.mark.parametrize(("name", "inputs", "attributes", "message"), CALLS, ids=lambda each: None)
def test_refused_calls(
    conformance: Conformance, name: str, inputs: list[Any], attributes: dict[str, Any], message: str
) -> None:
    check_refusal(conformance, name, inputs, attributes, message)
