"""Nodes whose inputs are known: arithmetic on shapes, and moves of constants."""

from __future__ import annotations

import math
from importlib import import_module
from typing import Final

import numpy as np

from cvmgen.graph.limits import MAX_EXTENT, MAX_SIZE, Array
from cvmgen.graph.onnx.node import Node

# Each of their operations on float32 is one that is rounded to the nearest.
ARITHMETIC: Final = frozenset(
    {
        "Abs",
        "Add",
        "And",
        "Div",
        "Equal",
        "Greater",
        "GreaterOrEqual",
        "Less",
        "LessOrEqual",
        "Max",
        "Min",
        "Mul",
        "Neg",
        "Not",
        "Or",
        "ReduceMax",
        "ReduceMin",
        "ReduceProd",
        "Sub",
        "Where",
    }
)
MOVES: Final = frozenset(
    {
        "Cast",
        "Concat",
        "ConstantOfShape",
        "Expand",
        "Flatten",
        "Gather",
        "Identity",
        "Range",
        "Reshape",
        "Shape",
        "Size",
        "Slice",
        "Split",
        "Squeeze",
        "Transpose",
        "Unsqueeze",
    }
)
CONSTANTS: Final = ("value_int", "value_ints", "value_float", "value_floats")


def folded(node: Node) -> list[Array] | None:
    """What a node gives, where that is known beforehand."""
    operator, known = node.node.operator, node.translated.known
    if node.node.domain:
        return None
    if operator == "Constant":
        return [_constant(node)]
    if operator in ("Shape", "Size") and node.input(0) not in known:
        return [shape_of(node)]
    names = [each for each in node.node.inputs if each]
    if operator not in (ARITHMETIC | MOVES) or not all(each in known for each in names):
        return None
    if (size := _size_of(node)) > MAX_EXTENT:
        node.refuse(f"a constant of {size} elements is too large")
    node.translated.folded += size
    if node.translated.folded > MAX_SIZE:
        node.refuse(f"constants that are computed have more than {MAX_SIZE} elements together")
    evaluator = import_module("onnx.reference").ReferenceEvaluator
    versions = {"": node.translated.graph.version}
    made = evaluator(node.node.proto, opsets=versions).run(
        None, {each: known[each] for each in names}
    )
    return [np.asarray(each) for each in made]


def _constant(node: Node) -> Array:
    attributes = node.node.attributes
    if isinstance(attributes.get("value"), np.ndarray):
        found: Array = attributes["value"]
        return found
    for name in CONSTANTS:
        if name in attributes:
            return np.array(attributes[name], np.int64 if "int" in name else np.float32)
    node.refuse("it has no value of numbers")


def shape_of(node: Node) -> Array:
    shape = node.shape(0)
    if node.node.operator == "Size":
        return np.array(math.prod(shape), np.int64)
    start, end = node.node.attributes.get("start"), node.node.attributes.get("end")
    return np.array(shape[start:end], np.int64)


def _size_of(node: Node) -> int:
    """How many elements an operator would make, at most; what moves none is a view of its input."""
    match node.node.operator:
        case "ConstantOfShape":
            return math.prod(node.integers(0))
        case "Expand":
            return math.prod(node.values(0).shape) * math.prod(node.integers(1))
        case "Range":
            first, last, by = (float(node.values(at).reshape(-1)[0]) for at in range(3))
            return abs(int((last - first) / by)) if by else 0
        case "Gather":
            data, places = node.values(0), node.values(1)
            axis = node.axis(node.attribute("axis", 0), data.ndim)
            return places.size * math.prod(data.shape[:axis] + data.shape[axis + 1 :])
        case "Concat":
            return sum(node.values(at).size for at in range(len(node.node.inputs)))
        case operator if operator in ARITHMETIC and not operator.startswith("Reduce"):
            shapes = [node.values(at).shape for at in range(len(node.node.inputs))]
            return math.prod(np.broadcast_shapes(*shapes))
        case _:
            return 0
