"""Windows through shared memory on the CPU: each way a call can go, against the reference."""

from __future__ import annotations

from math import prod
from random import Random
from typing import Any

import numpy as np
import pytest

from cvmgen import driver
from cvmgen.api import Operator
from cvmgen.api.cuda_cpu_backend import ThreadOrder
from cvmgen.build import write_changed
from cvmgen.driver import operator_kernel_classes
from cvmgen.emit import cuda_support
from cvmgen.reference import Reference, Tensor
from cvmgen.source import Source
from cvmgen.spec import formula as f
from cvmgen.spec.check import check_files
from cvmgen.spec.files import SpecFile
from tests.conformance.calls import bits
from tests.emit.cuda_texts import operators
from tests.emit.on_cpu import OnCpu, quickly

SPEC = """
operator valid_sums {
  "Sums of windows whose places all exist."
  input  X : cvm[C, H, W]
  attr   window (KH, KW) in [1, 999)
  attr   strides (SH, SW) = (1, 1) in [1, 999)
  attr   dilations (DH, DW) = (1, 1) in [1, 999)
  require (KH - 1)*DH < H and (KW - 1)*DW < W : "the window is larger than the input"
  output Y : cvm[C, (H - (KH - 1)*DH - 1) div SH + 1, (W - (KW - 1)*DW - 1) div SW + 1]
  Y[c, y, x] = sum[i < KH, j < KW](X[c, y*SH + i*DH, x*SW + j*DW])
  example valid_sums([[[1, 2], [3, 4]]], window=(1, 2)) == [[[3], [7]]]
}

operator places {
  "The greatest difference of an element and the places that a window reads it at."
  input  X : cvm[D, H, W]
  attr   K in [1, 9)
  output Y : cvm[D, H, W] precision 32
  Y[d, y, x] = max[a < K, i < K, j < K if 0 <= d + a - 1 < D and 0 <= h < H and 0 <= w < W](
                 X[d + a - 1, h, w] - a*i - j)
    where h = y + i - 1, w = x + j - 1
  example places([[[5]]], K=2) == [[[3]]]
}

operator five_sides {
  "A window of more sides than tiles have."
  input  X : cvm[A, B, C, D, E]
  output Y : cvm[A, B, C, D, E] precision p(X)
  Y[a, b, c, d, e] = max[i < 2, j < 2, k < 2, l < 2, m < 2
                         if 0 <= a + i - 1 < A and 0 <= b + j - 1 < B and 0 <= c + k - 1 < C
                            and 0 <= d + l - 1 < D and 0 <= e + m - 1 < E](
                       X[a + i - 1, b + j - 1, c + k - 1, d + l - 1, e + m - 1])
  example five_sides([[[[[3]]]]]) == [[[[[3]]]]]
}
"""


OWN = {
    each.full_name: each for each in check_files([SpecFile(Source("windows.cvm", SPEC), "windows")])
}


@pytest.fixture(scope="module")
def own(tmp_path_factory: pytest.TempPathFactory) -> OnCpu:
    """The operators of this file on the CPU."""
    folder = tmp_path_factory.mktemp("windows")
    write_changed(folder, driver.generate(tuple(OWN.values()), ("cuda",)))
    return quickly(folder, ("-O1",))


# ---------------------------------------------------------------- calls

Attributes = dict[str, Any]
Shape = tuple[int, ...]
Launched = tuple[int, int] | None  # blocks and threads of tiles; None: a thread for each result
Row = tuple[Shape, Attributes, Launched, str]


def tensor(shape: Shape, source: Random, dtype: str) -> Tensor:
    values = [source.randint(-100, 100) for _ in range(prod(shape))]
    return Tensor.of(np.array(values, dtype).reshape(shape))


def check(
    operator: f.Operator,
    on_cpu: OnCpu,
    given: dict[str, Tensor],
    attributes: Attributes,
    launched: Launched,
) -> None:
    """The result on the grid that is launched, in other orders, and on a small grid."""
    found = Reference(operator).evaluate(given, attributes).outputs
    (expected,) = (found[name] for name in operator.output_names)
    precisions = {name: each.precision for name, each in given.items() if each.dtype != "float64"}
    arrays = {name: bits(each) for name, each in given.items()}
    called: Operator = getattr(getattr(on_cpu.operators, operator.opset), operator.name)
    state = on_cpu.backends[operator.opset].state
    orders: tuple[tuple[int, int, ThreadOrder], ...] = (
        (0, 0, "forward"),
        (0, 0, "reverse"),
        (0, 0, 1),
        (2, 7, "reverse"),
    )
    for blocks, threads, order in orders:
        on_cpu.fix(blocks, threads, order)
        result = called(**arrays, precisions=precisions, **attributes)
        assert result.tobytes() == bits(expected).tobytes(), (blocks, threads, order)
        if not blocks:
            usual = launched or (-(-expected.size // cuda_support.BLOCK), cuda_support.BLOCK)
            assert (state.ran_blocks, state.ran_threads) == usual
    on_cpu.free()


def rows(of: list[Row]) -> list[Any]:
    return [pytest.param(*row[:3], id=row[3]) for row in of]


POOLS: list[Row] = [
    ((2, 3, 20, 45), {"pool_size": (3, 3), "strides": (2, 2)}, (6, 224), "one tile a plane"),
    (
        (1, 2, 40, 70),
        {"pool_size": (3, 3), "padding": (1, 1)},
        (24, 256),
        "tiles with ragged ends",
    ),
    (
        (1, 2, 13, 15),
        {"pool_size": (3, 2), "strides": (2, 1), "ceil_mode": True},
        (2, 96),
        "windows beyond the end",
    ),
    ((1, 1, 90, 5), {"pool_size": (5, 3)}, (2, 160), "tall planes"),
    ((1, 2, 1, 600), {"pool_size": (1, 4)}, (6, 224), "one row: it is cut to long pieces"),
    (
        (1, 1, 43, 139),
        {"pool_size": (15, 15), "strides": (4, 4)},
        (2, 128),
        "rows are left out until the box is small enough",
    ),
    ((1, 2, 24, 24), {"pool_size": (2, 2), "strides": (2, 2)}, None, "windows do not overlap"),
    ((1, 1, 72, 71), {"pool_size": (70, 70)}, None, "a window is larger than boxes are"),
    ((1, 9, 6, 7), {"pool_size": (3, 3)}, None, "a plane keeps no warp busy"),
    (
        (1, 1, 40, 320),
        {"pool_size": (17, 17), "strides": (9, 9)},
        None,
        "boxes that are small enough keep no warp busy",
    ),
]


@pytest.mark.parametrize("dtype", ["int8", "int32"])
@pytest.mark.parametrize(("shape", "attributes", "launched"), rows(POOLS))
def test_pools(
    shape: Shape, attributes: Attributes, launched: Launched, dtype: str, on_cpu: OnCpu
) -> None:
    name = "cvm.max_pool2d"
    given = {"X": tensor(shape, Random(f"{shape}"), dtype)}
    check(operators()[name], on_cpu, given, attributes, launched)


# Of the shape (N, C, H, W, OC, IC, KH, KW).
CONVOLUTIONS: list[Row] = [
    ((2, 4, 14, 15, 4, 1, 3, 3), {"groups": 4, "padding": (1, 1)}, (8, 224), "depthwise"),
    ((1, 6, 19, 21, 12, 1, 3, 3), {"groups": 6, "stride": (2, 2)}, (12, 96), "two of each"),
    (
        (1, 2, 21, 23, 2, 1, 3, 3),
        {"groups": 2, "dilation": (2, 3)},
        (4, 160),
        "windows with gaps",
    ),
    ((1, 6, 20, 20, 2, 3, 5, 5), {"padding": (2, 2), "groups": 2}, (4, 224), "of several planes"),
    ((1, 1, 6, 7, 2, 1, 3, 3), {"padding": (9, 8)}, (4, 256), "windows without an element"),
    ((1, 999, 5, 5, 1, 999, 3, 3), {"padding": (1, 1)}, None, "too many planes"),
    ((1, 4, 16, 16, 4, 4, 1, 1), {}, None, "each element is read once"),
]


@pytest.mark.parametrize(("shape", "attributes", "launched"), rows(CONVOLUTIONS))
def test_convolutions(
    shape: Shape, attributes: Attributes, launched: Launched, on_cpu: OnCpu
) -> None:
    name, source = "cvm.conv2d", Random(f"{shape}")
    given = {"X": tensor(shape[:4], source, "int8"), "W": tensor(shape[4:], source, "int8")}
    check(operators()[name], on_cpu, given, attributes, launched)


SPECIAL = (0.0, -0.0, float("inf"), float("-inf"), float("nan"))
REALS: list[Row] = [
    ((3, 3), {"stride": (2, 2), "padding": (1, 1)}, (4, 64), "padded"),
    ((3, 5), {"stride": (1, 1), "padding": (0, 4)}, (4, 256), "long windows"),
    ((2, 2), {"stride": (2, 2), "padding": (0, 0)}, None, "windows do not overlap"),
]


@pytest.mark.parametrize("special", [False, True])
@pytest.mark.parametrize("name", ["systemml.max_pool", "systemml.avg_pool"])
@pytest.mark.parametrize(("pool_size", "attributes", "launched"), rows(REALS))
def test_real_numbers_keep_their_order(
    name: str,
    pool_size: Shape,
    attributes: Attributes,
    launched: Launched,
    special: bool,
    on_cpu: OnCpu,
) -> None:
    source = Random(name)
    values = [source.gauss(0, 1) * 10 ** source.randint(-9, 9) for _ in range(2 * 2 * 13 * 17)]
    if special:
        values = [source.choice((each, each, *SPECIAL)) for each in values]
    given = {"x": Tensor.of(np.array(values).reshape(2, -1), dtype="float64")}
    attributes = attributes | {"pool_size": pool_size, "input_shape": (2, 2, 13, 17)}
    check(operators()[name], on_cpu, given, attributes, launched)


OTHERS: list[tuple[str, Shape, Attributes, Launched, str]] = [
    ("valid_sums", (2, 20, 30), {"window": (3, 3)}, (4, 256), "no padding"),
    (
        "valid_sums",
        (2, 31, 33),
        {"window": (4, 4), "strides": (2, 2), "dilations": (3, 3)},
        (2, 160),
        "steps and gaps",
    ),
    ("valid_sums", (1, 9, 40), {"window": (9, 1)}, None, "a window as tall as the input"),
    ("places", (3, 8, 9), {"K": 3}, (1, 224), "three sides, and indices as values"),
    ("places", (5, 20, 40), {"K": 2}, (20, 224), "tiles along three sides"),
    ("five_sides", (2, 2, 3, 4, 5), {}, None, "more sides than tiles have"),
]


@pytest.mark.parametrize(
    ("name", "shape", "attributes", "launched"),
    [pytest.param(*row[:4], id=row[4]) for row in OTHERS],
)
def test_other_windows(
    name: str, shape: Shape, attributes: Attributes, launched: Launched, own: OnCpu
) -> None:
    name = f"windows.{name}"
    check(OWN[name], own, {"X": tensor(shape, Random(name), "int8")}, attributes, launched)


def test_the_classes_of_kernels() -> None:
    found = {name: set(operator_kernel_classes(each).values()) for name, each in OWN.items()}
    assert found == {
        "windows.valid_sums": {"window", "grid"},
        "windows.places": {"window", "grid"},
        "windows.five_sides": {"grid"},
    }
