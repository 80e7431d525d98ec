"""Graphs in which every operator of the format takes part, against the formulas node by node."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from math import prod
from typing import Any

import numpy as np
import pytest

from cvmgen.errors import OperatorError
from cvmgen.graph import load
from cvmgen.graph.names import OPERATORS
from cvmgen.graph.symbol import NodeOutput, OutputReference, SymbolGraph, SymbolNode
from cvmgen.graph.symbol_file import format_symbol, parse_symbol
from cvmgen.graph.values import Value
from cvmgen.reference import Reference as Formula
from cvmgen.reference import Tensor
from tests.conformance.calls import Array, Conformance
from tests.targets import TARGETS

Attributes = Mapping[str, Value]


@dataclass
class Model:
    """A graph that grows node by node, with the exact value of every output."""

    formulas: Mapping[str, Formula]
    nodes: list[SymbolNode] = field(default_factory=list)
    values: dict[OutputReference, Tensor] = field(default_factory=dict)
    arrays: dict[str, Array] = field(default_factory=dict)

    def variable(self, name: str, *shape: int, precision: int = 8) -> OutputReference:
        """Values of a fixed seed from all over the precision."""
        limit = (1 << (precision - 1)) - 1
        seed = np.random.default_rng(len(self.nodes))
        array = seed.integers(-limit, limit + 1, shape, dtype=np.int32)
        self.arrays[name] = array
        return self.add(name, [Tensor(shape, array.ravel().tolist(), precision, "int32")])[0]

    def use(
        self,
        name: str,
        *sources: OutputReference,
        ours: str = "",
        to: Attributes | None = None,
        **of: Value,
    ) -> Any:
        """A node of the operator `name` with the attributes `of`.

        It stands for the operator `ours` of the formulas with the attributes `to`; both are the
        same unless they are given. Gives its output, or a tuple where there are several.
        """
        full_name = f"cvm.{ours or name}"
        if full_name not in self.formulas:
            pytest.skip(f"there is no formula of the operator {full_name} yet")
        formula = self.formulas[full_name]
        given = [self.values[source] for source in sources]
        items = formula.operator.inputs
        operands = (
            {items[0].name: given}
            if items[0].variadic
            else dict(
                zip((item.name for item in items), [*given, *[None] * len(items)], strict=False)
            )
        )
        try:
            results = formula.evaluate(operands, of if to is None else to).outputs.values()
        except OperatorError as error:
            pytest.fail(f"the graph must be one that the formulas admit: {error}")
        outputs = self.add(f"{name}_{len(self.nodes)}", list(results), name, sources, of)
        return outputs[0] if len(outputs) == 1 else outputs

    def add(
        self,
        name: str,
        results: list[Tensor],
        operator: str | None = None,
        sources: tuple[OutputReference, ...] = (),
        attributes: Attributes | None = None,
    ) -> tuple[OutputReference, ...]:
        entries = tuple(NodeOutput(each.shape, each.precision) for each in results)
        self.nodes.append(
            SymbolNode(name, entries, operator, sources, tuple((attributes or {}).items()))
        )
        outputs = tuple(OutputReference(len(self.nodes) - 1, at) for at in range(len(results)))
        self.values |= dict(zip(outputs, results, strict=True))
        return outputs

    def symbol(self, *heads: OutputReference) -> SymbolGraph:
        """The graph, as reading its file gives it."""
        return parse_symbol(format_symbol(SymbolGraph(tuple(self.nodes), heads)))

    @property
    def operators(self) -> set[str]:
        return {node.operator for node in self.nodes if node.operator}


def features(m: Model) -> Any:
    """Two scales of an image, joined: 8 channels of 6 x 6."""
    x = m.variable("data", 1, 4, 6, 6)
    conv = m.use(
        "conv2d",
        x,
        m.variable("w", 4, 2, 3, 3, precision=4),
        m.variable("b", 4, precision=12),
        to={"padding": (1, 1), "groups": 2},
        padding=(1, 1),
        groups=2,
        channels=4,
        kernel_size=(3, 3),
        use_bias=True,
    )
    fine = m.use("relu", m.use("cvm_right_shift", conv, precision=8, shift_bit=4))
    pooled = m.use("max_pool2d", fine, pool_size=(2, 2), strides=(2, 2))
    coarse = m.use("upsampling", pooled, scale=2)
    scale = m.variable("scale", 4, 1, 1, precision=3)
    scaled = m.use("broadcast_mul", m.use("negative", coarse), scale)
    narrow = m.use("cvm_clip", scaled, precision=9)
    shifted = m.use("cvm_left_shift", narrow, precision=10, shift_bit=1)
    total = m.use("elemwise_add", fine, shifted)
    apart = m.use("abs", m.use("elemwise_sub", fine, shifted))
    divisors = m.variable("divisors", 6, precision=3)
    mean = m.use("broadcast_div", m.use("broadcast_add", total, scale), divisors)
    most = m.use("broadcast_max", m.use("broadcast_sub", mean, scale), shifted)
    chosen = m.use("where", m.use("broadcast_greater", apart, fine), most, fine)
    cut = m.use("clip", chosen, a_min=-100, a_max=400)
    return m.use("concatenate", cut, m.use("cvm_precision", mean), to={"axis": 1})


def answers(m: Model, joined: OutputReference) -> list[OutputReference]:
    """Moved about, looked up, reduced and classified."""
    rows = m.use("transpose", joined, axes=(0, 2, 3, 1))
    flat = m.use("reshape", rows, to={"target_shape": (1, 36, 8)}, shape=(0, -3, -2))
    some = m.use(
        "strided_slice",
        flat,
        ours="slice",
        to={"begin": (0, -1), "end": (1, 0, 6), "strides": (1, -3)},
        begin=(0, -1),
        end=(1, 0, 6),
        stride=(1, -3),
    )
    like = m.use("slice_like", some, m.variable("like", 1, 5, 1), to={"axes": (1,)}, axis=1)
    thin = m.use("squeeze", like, to={"axes": (0,)}, axis=0)
    wide = m.use(
        "expand_dims",
        m.use("repeat", thin, axis=1, repeats=2),
        axis=-1,
        to={"axis": -1, "num_newaxis": 1},
    )
    tiled = m.use("tile", wide, reps=(2, 1, 1, 3))
    taken = m.use("take", tiled, m.variable("places", 3, precision=4), axis=2)
    looked = m.use("cvm_lut", taken, m.variable("table", 17, precision=6), in_dim=17, to={})
    rolled = m.use("flatten", looked, ours="batch_flatten")
    classes = m.use("dense", rolled, m.variable("classes", 7, 45, precision=6), units=7)
    sums = m.use("sum", joined, axis=(2, 3), keepdims=True, to={"axes": (2, 3), "keepdims": True})
    highest = m.use("max", joined, axis=1, exclude=True, to={"axes": (1,), "exclude": True})
    return [classes, sums, highest]


def detections(m: Model, joined: OutputReference) -> list[OutputReference]:
    """Every two pixels a box, with the class and the score in front."""
    boxes = m.use("reshape", joined, to={"target_shape": (1, 48, 6)}, shape=(0, -1, 6))
    count, kept = m.use("get_valid_counts", boxes, ours="get_valid_count", score_threshold=5)
    best = m.use(
        "non_max_suppression",
        kept,
        count,
        iou_threshold=40,
        max_output_size=10,
        force_suppress=True,
        top_k=30,
    )
    return [best, count]


def check(
    conformance: Conformance, target: str, model: Model, heads: list[OutputReference]
) -> None:
    network = load(model.symbol(*heads), model.arrays, operators=conformance.libraries[target])
    found = network(model.arrays["data"])
    assert isinstance(found, tuple)
    for head, result in zip(heads, found, strict=True):
        expected = model.values[head]
        assert result.shape == expected.shape
        assert result.ravel().tolist() == expected.values
        assert len(set(expected.values)) >= min(3, prod(expected.shape)), "they say too little"


@pytest.mark.parametrize("target", TARGETS)
def test_features_and_answers(conformance: Conformance, target: str) -> None:
    model = Model(conformance.references)
    check(conformance, target, model, answers(model, features(model)))
    assert set(OPERATORS) - model.operators == {"get_valid_counts", "non_max_suppression"}


@pytest.mark.parametrize("target", TARGETS)
def test_features_and_detections(conformance: Conformance, target: str) -> None:
    model = Model(conformance.references)
    check(conformance, target, model, detections(model, features(model)))
