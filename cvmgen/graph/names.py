"""How graphs name operators and attributes, beside the names of the formalization."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Final

from cvmgen.graph.reshape import target_shape
from cvmgen.graph.values import Value
from cvmgen.source import did_you_mean

Shape = tuple[int, ...]
Shapes = Sequence[Shape]
Attributes = Sequence[tuple[str, Value]]


@dataclass(frozen=True, slots=True)
class AttributeKind:
    """What an attribute must be: in words, and as a reader that gives None for other values.

    The reader gives a 1-tuple, so that None can be a value too.
    """

    words: str
    read: Callable[[Value], tuple[Value] | None]


@dataclass(frozen=True, slots=True)
class Passed:
    """An attribute that our operator takes under the name `name`.

    Where graphs may leave something open that the input shapes tell, `resolve` fills it in; its
    ValueErrors say why it cannot.
    """

    name: str
    kind: AttributeKind
    resolve: Callable[[Value, Shapes], Value] | None = None


@dataclass(frozen=True, slots=True)
class CheckedAttribute:
    """An attribute that only repeats what the input shapes say, or allows one value."""

    kind: AttributeKind
    expected: Callable[[Shapes], Value]


@dataclass(frozen=True, slots=True)
class GraphOperator:
    """An operator of graphs: our operator, its attributes, and what they are by default there."""

    operator: str
    attributes: dict[str, Passed | CheckedAttribute] = field(default_factory=dict)
    defaults: tuple[tuple[str, Value], ...] = ()
    outputs: int = 1


class AttributeFault(Exception):
    """An attribute of a graph that the operator cannot take, and why."""

    def __init__(self, attribute: str, rule: str) -> None:
        self.attribute = attribute
        self.rule = rule
        super().__init__(f"attribute {attribute}: {rule}")


def output_count(name: str) -> int | None:
    """How many outputs the operator `name` of graphs has; None when there is no such operator."""
    return OPERATORS[name].outputs if name in OPERATORS else None


def our_operator(name: str, attributes: Attributes, shapes: Shapes) -> tuple[str, dict[str, Value]]:
    """Our operator and its attributes, for the operator `name` of graphs on inputs of `shapes`.

    AttributeFault names an attribute that is unknown, of the wrong kind, or does not go with the
    shapes. Attributes that only repeat the shapes are left out: `check_shapes` looks at them.
    """
    known = OPERATORS[name]
    result = dict(known.defaults)
    for attribute, value in attributes:
        rule = known.attributes.get(attribute)
        if rule is None:
            names = ", ".join(known.attributes) or "none"
            hint = did_you_mean(attribute, known.attributes) or f"its attributes: {names}"
            raise AttributeFault(attribute, f"{name} has no such attribute; {hint}")
        read = _read(attribute, rule.kind, value)
        if isinstance(rule, Passed):
            result[rule.name] = _resolved(attribute, rule, read, shapes)
    return known.operator, result


def check_shapes(name: str, attributes: Attributes, shapes: Shapes) -> None:
    """AttributeFault for an attribute that disagrees with the shapes that the operator accepts."""
    for attribute, value in attributes:
        rule = OPERATORS[name].attributes[attribute]
        if isinstance(rule, Passed):
            continue
        expected = rule.expected(shapes)
        if _read(attribute, rule.kind, value) != expected:
            raise AttributeFault(attribute, f"is {value}, and the node needs {expected}")


def _read(attribute: str, kind: AttributeKind, value: Value) -> Value:
    read = kind.read(value)
    if read is None:
        raise AttributeFault(attribute, f"must be {kind.words}, not {value!r}")
    return read[0]


def _resolved(attribute: str, rule: Passed, value: Value, shapes: Shapes) -> Value:
    # A node without inputs is for the operator to refuse.
    if rule.resolve is None or not shapes:
        return value
    try:
        return rule.resolve(value, shapes)
    except ValueError as error:
        raise AttributeFault(attribute, f"is {value}: {error}") from error


# The kinds of attributes


def _integer(value: Value) -> tuple[int] | None:
    return (value,) if type(value) is int else None


def _optional_integer(value: Value) -> tuple[int | None] | None:
    return (None,) if value is None else _integer(value)


def _boolean(value: Value) -> tuple[bool] | None:
    truth: dict[Value, bool] = {True: True, False: False, "true": True, "false": False}
    return (truth[value],) if not isinstance(value, tuple) and value in truth else None


def _integers(value: Value) -> tuple[tuple[int, ...]] | None:
    if isinstance(value, tuple):
        return (value,)
    single = _integer(value)
    return None if single is None else (single,)


def _pair(value: Value) -> tuple[tuple[int, ...]] | None:
    return (value,) if isinstance(value, tuple) and len(value) == 2 else None


def _pair_or_one(value: Value) -> tuple[tuple[int, ...]] | None:
    """One number stands for both entries of a pooling's padding."""
    read = _integers(value)
    return (read[0] * 2,) if read is not None and len(read[0]) == 1 else _pair(value)


def _word(value: Value) -> tuple[str] | None:
    return (value,) if isinstance(value, str) else None


INTEGER: Final = AttributeKind("an integer", _integer)
OPTIONAL_INTEGER: Final = AttributeKind("an integer or None", _optional_integer)
BOOLEAN: Final = AttributeKind("True or False", _boolean)
INTEGERS: Final = AttributeKind("a list of integers", _integers)
PAIR: Final = AttributeKind("a pair of integers", _pair)
PAIR_OR_ONE: Final = AttributeKind("an integer or a pair of integers", _pair_or_one)
WORD: Final = AttributeKind("a word", _word)


# The tables


def _same(kind: AttributeKind, *names: str) -> dict[str, Passed | CheckedAttribute]:
    """Attributes of one kind that are called the same on both sides."""
    return {name: Passed(name, kind) for name in names}


def _always(kind: AttributeKind, value: Value) -> CheckedAttribute:
    return CheckedAttribute(kind, lambda shapes: value)


def _plain(*names: str) -> dict[str, GraphOperator]:
    """Operators without attributes that are called the same on both sides."""
    return {name: GraphOperator(name) for name in names}


def _target_shape(value: Value, shapes: Shapes) -> Value:
    assert isinstance(value, tuple), "the kind INTEGERS gives tuples"
    return target_shape(value, shapes[0])


_BIAS: Final = CheckedAttribute(BOOLEAN, lambda shapes: len(shapes) == 3)
_CHANNELS: Final = CheckedAttribute(INTEGER, lambda shapes: shapes[1][0])
_LAYOUT: Final = _always(WORD, "NCHW")
_SIGNED: Final = _always(BOOLEAN, True)

_REDUCE: Final = {
    "axis": Passed("axes", INTEGERS),
    **_same(BOOLEAN, "keepdims", "exclude"),
    "dtype": _always(WORD, "int32"),
}
_SHIFT: Final = {**_same(INTEGER, "precision", "shift_bit"), "is_sign": _SIGNED}

OPERATORS: Final = MappingProxyType(
    {
        **_plain("broadcast_add", "broadcast_sub", "broadcast_mul", "broadcast_div"),
        **_plain("broadcast_max", "broadcast_greater", "elemwise_add", "elemwise_sub"),
        **_plain("relu", "abs", "negative", "cvm_precision", "where"),
        "flatten": GraphOperator("batch_flatten"),
        "sum": GraphOperator("sum", _REDUCE),
        "max": GraphOperator("max", _REDUCE),
        "conv2d": GraphOperator(
            "conv2d",
            {
                "strides": Passed("stride", PAIR),
                **_same(PAIR, "padding", "dilation"),
                **_same(INTEGER, "groups"),
                "channels": _CHANNELS,
                "kernel_size": CheckedAttribute(PAIR, lambda shapes: shapes[1][2:]),
                "use_bias": _BIAS,
                "layout": _LAYOUT,
                "kernel_layout": _always(WORD, "OIHW"),
            },
        ),
        "dense": GraphOperator("dense", {"units": _CHANNELS, "use_bias": _BIAS}),
        "max_pool2d": GraphOperator(
            "max_pool2d",
            {
                **_same(PAIR, "pool_size", "strides"),
                "padding": Passed("padding", PAIR_OR_ONE),
                **_same(BOOLEAN, "ceil_mode"),
                "layout": _LAYOUT,
            },
        ),
        "upsampling": GraphOperator(
            "upsampling",
            {
                **_same(INTEGER, "scale"),
                "layout": _LAYOUT,
                "method": _always(WORD, "NEAREST_NEIGHBOR"),
            },
        ),
        "clip": GraphOperator("clip", _same(INTEGER, "a_min", "a_max")),
        "cvm_clip": GraphOperator("cvm_clip", {**_same(INTEGER, "precision"), "is_sign": _SIGNED}),
        "cvm_left_shift": GraphOperator("cvm_left_shift", _SHIFT),
        "cvm_right_shift": GraphOperator("cvm_right_shift", _SHIFT),
        "repeat": GraphOperator("repeat", _same(INTEGER, "axis", "repeats")),
        "tile": GraphOperator("tile", _same(INTEGERS, "reps")),
        "concatenate": GraphOperator("concatenate", _same(INTEGER, "axis"), (("axis", 1),)),
        "expand_dims": GraphOperator(
            "expand_dims", _same(INTEGER, "axis", "num_newaxis"), (("num_newaxis", 1),)
        ),
        "reshape": GraphOperator(
            "reshape", {"shape": Passed("target_shape", INTEGERS, _target_shape)}
        ),
        "squeeze": GraphOperator("squeeze", {"axis": Passed("axes", INTEGERS)}),
        "transpose": GraphOperator("transpose", _same(INTEGERS, "axes")),
        "strided_slice": GraphOperator(
            "slice",
            {**_same(INTEGERS, "begin", "end"), "stride": Passed("strides", INTEGERS)},
        ),
        "slice_like": GraphOperator("slice_like", {"axis": Passed("axes", INTEGERS)}),
        "take": GraphOperator("take", _same(OPTIONAL_INTEGER, "axis")),
        "cvm_lut": GraphOperator(
            "cvm_lut", {"in_dim": CheckedAttribute(INTEGER, lambda shapes: math.prod(shapes[1]))}
        ),
        "get_valid_counts": GraphOperator(
            "get_valid_count", _same(INTEGER, "score_threshold"), outputs=2
        ),
        "non_max_suppression": GraphOperator(
            "non_max_suppression",
            {
                **_same(INTEGER, "iou_threshold", "max_output_size", "top_k"),
                **_same(BOOLEAN, "force_suppress"),
                "return_indices": _always(BOOLEAN, False),
                "invalid_to_bottom": _always(BOOLEAN, True),
                "id_index": _always(INTEGER, 0),
                "score_index": _always(INTEGER, 1),
                "coord_start": _always(INTEGER, 2),
            },
        ),
    }
)
