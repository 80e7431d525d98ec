"""The C target gives the same bits whatever instructions the register tile uses, for contractions
of every size: also for those that are too small for tiles to pay."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pytest

import cvmgen
from cvmgen.api import Operators
from cvmgen.api.library import library_sources
from cvmgen.api.manifest import read_manifest
from cvmgen.build import compile_library
from cvmgen.errors import CvmgenError
from tests.conformance.calls import Conformance, Given, compare, wanted_dtype
from tests.conformance.random_calls import call

CALLS = 32
LEAST = re.compile(r"(LEAST_(?:DEPTH|COLUMNS|USES) = |if \([\w *]+ < (?=8192))\d+")
CONTRACTIONS = ("cvm.conv2d", "cvm.dense", "extra.scaled_product", "extra.batched_product")


def always_tiled(folder: Path) -> Path:
    # Of all operators those alone; instructions are the same however they are optimised.
    operators = {f"{each.opset}/{each.name}.c" for each in read_manifest(folder).operators}
    left_out = operators - {f"{name.replace('.', '/')}.c" for name in CONTRACTIONS}
    sources = {
        name: LEAST.sub(r"\g<1>0", text)
        for name, text in library_sources(folder).items()
        if name not in left_out
    }
    return compile_library(sources, name="tiled", flags=("-O1",))


@pytest.fixture(scope="module")
def tiled(generated: Path, extra_generated: Path) -> Iterator[dict[str, Operators]]:
    """The operators by opset, by tiles whatever the size."""
    found = {}
    for folder in (generated, extra_generated):
        loaded = cvmgen.load("c", folder=folder, library=always_tiled(folder))
        found |= dict.fromkeys(dir(loaded), loaded)
    yield found
    for loaded in found.values():
        loaded.variant = None


def variants() -> tuple[str, ...]:
    try:
        return cvmgen.load("c").variants
    except CvmgenError:
        return ()


@pytest.mark.parametrize("variant", variants())
@pytest.mark.parametrize("name", CONTRACTIONS)
def test_every_variant(
    conformance: Conformance, tiled: dict[str, Operators], name: str, variant: str
) -> None:
    operators = tiled[name.split(".")[0]]
    operators.variant = variant
    assert operators.variant == variant
    random = Random(f"{name} variants")
    tried = 0
    for each in [call(name, random) for _ in range(CALLS)]:
        expected = conformance.expected(each)
        if expected.refusal:
            continue
        for inputs in (each.inputs, tuple(map(narrow, each.inputs))):
            found = operators[name](*inputs, precisions=each.precisions, **each.attributes)
            compare(found, expected, wanted_dtype(each, None), f"{variant}: {each}")
            tried += 1
    assert tried > CALLS


def narrow(given: Given) -> Given:
    """An array as int8, where its elements fit."""
    fits = isinstance(given, np.ndarray) and (given == given.astype(np.int8)).all()
    return given.astype(np.int8) if isinstance(given, np.ndarray) and fits else given


WHOLE = [
    ((2, 32, 5, 7), (48, 16, 3, 3), {"padding": (1, 1), "groups": 2}),
    ((1, 16, 9, 8), (40, 16, 1, 1), {}),
    ((70, 20), (48, 20), {}),
    # Threads read rows where they lie, but for those whose quads go on behind the last.
    ((70, 84), (50, 84), {}),
    ((70, 86), (48, 86), {}),
    ((520, 2052), (17, 2052), {}),
]


@pytest.mark.parametrize(("of_x", "of_w", "attributes"), WHOLE)
@pytest.mark.parametrize("with_bias", [False, True])
def test_totals_by_whole_panels(
    of_x: tuple[int, ...], of_w: tuple[int, ...], attributes: dict[str, Any], with_bias: bool
) -> None:
    """They are stored as they are where nothing is added."""
    random = np.random.default_rng(1)
    x, w = (random.integers(-128, 128, of).astype(np.int8) for of in (of_x, of_w))
    more = (random.integers(-999, 999, of_w[0]).astype(np.int32),) if with_bias else ()
    name = "dense" if len(of_x) == 2 else "conv2d"
    wanted = getattr(cvmgen.load("numpy").cvm, name)(x, w, *more, **attributes)
    loaded = cvmgen.load("c")
    for threads in (1, 3):
        loaded.threads = threads
        for variant in loaded.variants:
            loaded.variant = variant
            found = getattr(loaded.cvm, name)(x, w, *more, **attributes)
            np.testing.assert_array_equal(found, wanted, f"{variant}, {threads} threads")
    loaded.variant, loaded.threads = None, 0


UNSIGNED = [
    ("matmul_integer", (1, 70, 84), (1, 84, 33), {}),
    ("matmul_integer", (3, 9, 22), (3, 22, 17), {}),
    ("matmul_integer", (3, 9, 24), (1, 24, 16), {}),
    ("qlinear_matmul", (2, 40, 70), (1, 70, 20), {"za": 255, "zb": -3, "zy": 7, "sy": 40.0}),
    ("qlinear_matmul", (1, 70, 64), (1, 64, 48), {"zy": 128, "sy": 90.0}),
    ("conv_integer", (1, 8, 9, 7), (20, 8, 3, 3), {"pads": (1, 0, 2, 1), "strides": (2, 1)}),
    ("conv_integer", (2, 12, 6, 6), (10, 6, 1, 1), {"group": 2}),
    (
        "qlinear_conv",
        (1, 16, 9, 8),
        (24, 8, 3, 3),
        {"group": 2, "pads": (1, 1, 1, 1), "zx": 3, "zw": 1},
    ),
    ("qlinear_conv", (1, 5, 12, 12), (16, 5, 3, 3), {"pads": (2, 2, 2, 2), "zx": 255, "sy": 99.0}),
]


@pytest.mark.parametrize(("name", "of_x", "of_w", "attributes"), UNSIGNED)
def test_bytes_without_a_sign_are_rows(
    name: str, of_x: tuple[int, ...], of_w: tuple[int, ...], attributes: dict[str, Any]
) -> None:
    random = np.random.default_rng(2)
    scale = (np.full(1, 0.5, np.float32),) if name.startswith("qlinear") else ()
    loaded, exact = cvmgen.load("c"), getattr(cvmgen.load("numpy").onnx, name)
    for low, high, dtype in ((0, 256, np.uint8), (-128, 128, np.int8)):
        x = random.choice([low, high - 1, *range(low, high)], of_x).astype(dtype)
        w = random.choice([-128, 127, *range(-128, 128)], of_w).astype(np.int8)
        zeros = (np.array([high - 3], dtype), np.array([5], np.int8)) if not scale else ()
        given = {**attributes, **{k: min(v, high - 1) for k, v in attributes.items() if k == "zx"}}
        for more in ((*scale, *zeros), scale):
            wanted = exact(x, w, *more, **given)
            for threads in (1, 3):
                loaded.threads = threads
                for variant in loaded.variants:
                    loaded.variant = variant
                    found = getattr(loaded.onnx, name)(x, w, *more, **given)
                    np.testing.assert_array_equal(found, wanted, f"{variant}, {threads} threads")
    loaded.variant, loaded.threads = None, 0


def test_a_variant_that_is_not_there() -> None:
    operators = cvmgen.load("c")
    with pytest.raises(CvmgenError, match=r"variant='mmx': this processor has .*generic"):
        operators.variant = "mmx"
    with pytest.raises(CvmgenError, match="the target 'python' has no variants"):
        cvmgen.load("python", variant="avx2")
    assert cvmgen.load("python").variants == ()
    assert operators.variant in operators.variants
