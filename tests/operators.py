"""The operators that tests are about, and those that stand for all of them."""

from __future__ import annotations

import functools
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from cvmgen.cli.checked import checked
from cvmgen.errors import Strict
from cvmgen.source import Source, Span
from cvmgen.spec.files import SpecFile, read_folder
from cvmgen.spec.formula import Operator

if TYPE_CHECKING:
    from _pytest.mark import ParameterSet

ROOT = Path(__file__).resolve().parents[1]
EXTRA = ROOT / "tests" / "data" / "extra"


@functools.cache
def product() -> tuple[Operator, ...]:
    return checked(read_folder(ROOT / "spec"), Strict())


@functools.cache
def extra() -> tuple[Operator, ...]:
    """Operators that use what the language has and the product's operators do not."""
    shared = [file for file in read_folder(ROOT / "spec") if not file.opset]
    own = [
        SpecFile(Source(f"tests/data/extra/{path.name}", path.read_text(encoding="utf-8")), "extra")
        for path in sorted(EXTRA.glob("*.cvm"))
    ]
    return checked([*shared, *own], Strict())


# ---------------------------------------------------------------- a sample

# Of those whose kernels have a form that no formula tells of, one for each.
OWN = (
    *("cvm.broadcast_div", "cvm.conv2d", "cvm.dense", "cvm.max_pool2d", "cvm.transpose"),
    *("cvm.get_valid_count", "cvm.upsampling", "onnx.logical_and", "onnx.pad"),
    *("onnx.qlinear_leaky_relu", "systemml.avg_pool", "tflite.logistic"),
    *("tflite.space_to_batch_nd", "tosa.cast_int8", "tosa.exp", "tosa.logical_xor"),
    *("tosa.reduce_any", "tosa.reduce_product", "extra.chosen_rows", "extra.dot_products"),
    *("extra.first_extents", "extra.scores", "extra.unique"),
)

FOLDERS = [
    "sample_generated",
    pytest.param("generated", marks=pytest.mark.slow),
    pytest.param("extra_generated", marks=pytest.mark.slow),
]
"""Fixtures: folders like generated/, of these operators and, slow, of all."""


@functools.cache
def sample() -> frozenset[str]:
    """The operators above and, of others, as many as say all that formulas say: first those of the
    product, of the language's own ones what these leave."""
    have = {each.full_name: frozenset(constructs(each)) for each in (*product(), *extra())}
    ours = {each.full_name: have[each.full_name] for each in product()}
    found = covering(ours, [name for name in OWN if name in ours])
    return frozenset(covering(have, [*found, *OWN]))


def covering(have: Mapping[str, frozenset[Any]], chosen: Sequence[str]) -> list[str]:
    """The chosen ones and, for what they do not have, those with the most of it."""
    found = list(chosen)
    left = set().union(*have.values()).difference(*(have[name] for name in found))
    while left:
        found.append(max(have, key=lambda name: len(have[name] & left)))
        left -= have[found[-1]]
    return found


def constructs(node: object, *, words: bool = True) -> Iterator[tuple[str, ...]]:
    """The kind of each node of a tree with that of the one around it and, of `words`, its own."""
    for around, each in pairs(node):
        kind = type(each).__name__
        yield around, kind
        for field in fields(each) if words else ():
            value = getattr(each, field.name)
            if value is True:
                yield kind, field.name
            elif isinstance(value, str) and field.name in ("op", "function", "kind"):
                yield kind, field.name, value


def pairs(node: object, around: str = "") -> Iterator[tuple[str, Any]]:
    """Each node of a tree behind the kind of the one that it is in."""
    if isinstance(node, tuple):
        for each in node:
            yield from pairs(each, around)
    elif is_dataclass(node) and not isinstance(node, Span):
        yield around, node
        for field in fields(node):
            yield from pairs(getattr(node, field.name), type(node).__name__)


def sweeps(names: Collection[str]) -> list[ParameterSet]:
    """Some operators together as the parameter of a test: those of the sample and, slow, all."""
    own = [name for name in names if name in sample()]
    return [
        pytest.param(own, id="sample"),
        pytest.param(list(names), id="all", marks=pytest.mark.slow),
    ]


def sampled(names: Iterable[str]) -> list[ParameterSet]:
    """Operators as parameters of a test; all but the sample are slow."""
    return [
        pytest.param(name, marks=() if name in sample() else pytest.mark.slow) for name in names
    ]
