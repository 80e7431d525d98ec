"""Shapes and precisions that `infer` refuses, with the exact message; no data is needed for it."""

from __future__ import annotations

from typing import Any

import pytest

from cvmgen.api import Operators
from cvmgen.errors import OperatorError
from cvmgen.reference import Reference, Tensor
from tests.conformance.refused import RANK_17
from tests.targets import TARGETS

# Operator, shapes, precisions, attributes, message.
INFERRED: list[tuple[str, list[Any], list[Any], dict[str, Any], str]] = [
    (
        "abs",
        [(2**40,)],
        [8],
        {},
        "X = shape (1099511627776,): a tensor has less than 2^40 elements",
    ),
    (
        "abs",
        [(2**20, 2**20)],
        [8],
        {},
        "X = shape (1048576, 1048576): a tensor has less than 2^40 elements",
    ),
    (
        "abs",
        [(2**62, 8, 8)],
        [8],
        {},
        f"X = shape ({2**62}, 8, 8): a tensor has less than 2^40 elements",
    ),
    (
        "abs",
        [(2**64 + 3,)],
        [8],
        {},
        "X = shape (more than 2^62,): a tensor has less than 2^40 elements",
    ),
    ("abs", [RANK_17], [8], {}, f"X = shape {RANK_17}: a tensor has 1 to 16 dimensions"),
    ("abs", [(2, -1)], [8], {}, "X = shape (2, -1): every extent must be at least 1"),
    ("abs", [(2,)], [0], {}, "X = precision 0: a precision is in [1, 32]"),
    ("abs", [(2,)], [33], {}, "X = precision 33: a precision is in [1, 32]"),
    ("abs", [(2,)], [-1], {}, "X = precision -1: a precision is in [1, 32]"),
    (
        "elemwise_add",
        [(2,), (2,)],
        [32, 32],
        {},
        "Y = precision 33 (p(A) = 32, p(B) = 32): "
        "its precision wider(p(A), p(B)) must be in [1, 32]",
    ),
    (
        "broadcast_add",
        [(2**20, 1), (1, 2**20)],
        [8, 8],
        {},
        "Y = shape (1048576, 1048576): a tensor has less than 2^40 elements",
    ),
    (
        "upsampling",
        [(1, 1, 2**20, 2**18)],
        [8],
        {"scale": 4095},
        f"Y = shape (1, 1, {2**20 * 4095}, {2**18 * 4095}): a tensor has less than 2^40 elements",
    ),
    (
        "repeat",
        [(2**20, 2**10)],
        [8],
        {"axis": -1, "repeats": 2**31 - 1},
        f"Y = shape ({2**20}, {2**10 * (2**31 - 1)}): a tensor has less than 2^40 elements",
    ),
    (
        "tile",
        [(2**30,)],
        [8],
        {"reps": (1024,)},
        f"Y = shape ({2**40},): a tensor has less than 2^40 elements",
    ),
    (
        "take",
        [(2**20, 2), (2**20,)],
        [8, 8],
        {"axis": 1},
        "Y = shape (1048576, 1048576): a tensor has less than 2^40 elements",
    ),
    (
        "reshape",
        [(2**39,)],
        [8],
        {"target_shape": (2**20, 2**20)},
        f"the sizes must agree (target_shape = (1048576, 1048576), n = ({2**39},))",
    ),
    (
        "concatenate",
        [[(2**39,), (2**39,)]],
        [8],
        {"axis": 0},
        f"Y = shape ({2**40},): a tensor has less than 2^40 elements",
    ),
    (
        "sum",
        [(2**26, 2**5)],
        [1],
        {},
        "Y = precision 33 (p(X) = 1, Z = 2147483648): "
        "its precision sum_precision(p(X), Z) must be in [1, 32]",
    ),
    (
        "conv2d",
        [(1, 2**13, 2**13, 1), (1, 2**13, 2**13, 1)],
        [3, 3],
        {},
        "Y = precision 33 (p(X) = 3, p(W) = 3, IC = 8192, KH = 8192, KW = 1): its precision "
        "wider(p(X) + p(W) + bits(IC*KH*KW), p(B)) if present(B) else p(X) + p(W) + bits(IC*KH*KW) "
        "must be in [1, 32]",
    ),
]


@pytest.mark.parametrize(
    ("name", "shapes", "precisions", "attributes", "message"), INFERRED, ids=lambda each: None
)
@pytest.mark.parametrize("target", ["reference", *TARGETS])
def test_refused_shapes(
    references: dict[str, Reference],
    libraries: dict[str, Operators],
    target: str,
    name: str,
    shapes: list[Any],
    precisions: list[Any],
    attributes: dict[str, Any],
    message: str,
) -> None:
    def infer() -> None:
        if target == "reference":
            infer_with(references[f"cvm.{name}"], shapes, precisions, attributes)
        else:
            libraries[target][f"cvm.{name}"].infer(shapes, precisions, **attributes)

    with pytest.raises(OperatorError) as caught:
        infer()
    assert str(caught.value) == f"cvm.{name}: {message}"


def infer_with(
    reference: Reference, shapes: list[Any], precisions: list[Any], attributes: dict[str, Any]
) -> None:
    inputs: dict[str, Any] = {}
    operands = zip(reference.operator.inputs, shapes, precisions, strict=False)
    for item, shape, precision in operands:
        several = [Tensor(each, [], precision) for each in (shape if item.variadic else [shape])]
        inputs[item.name] = several if item.variadic else several[0]
    reference.infer(inputs, attributes)


@pytest.mark.parametrize("target", TARGETS)
def test_the_largest_shapes_that_are_accepted(libraries: dict[str, Operators], target: str) -> None:
    cvm = libraries[target].cvm
    assert cvm.abs.infer([(2**40 - 1,)], [8]).shapes == ((2**40 - 1,),)
    assert cvm.abs.infer([(2,) * 15 + (2**24,)], [8]).shapes == ((2,) * 15 + (2**24,),)
    assert cvm.flatten.infer([(2**20, 2**19)], [8]).shapes == ((2**39,),)
    assert cvm.reshape.infer([(2**39,)], [8], target_shape=(2**20, 2**19)).shapes == (
        (2**20, 2**19),
    )
    assert cvm.slice.infer([(2**39,)], [8], begin=(-1,)).shapes == ((1,),)
    assert cvm.repeat.infer([(2**20,)], [8], axis=0, repeats=2**19).shapes == ((2**39,),)
    assert cvm.sum.infer([(2**30, 2)], [1], axes=(0,)) == (((2,),), (32,))
