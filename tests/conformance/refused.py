"""What the tables of refused calls share."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tests.conformance.calls import Array, Call, Conformance

RANK_17 = (1,) * 17
ANY = "must be in [-2147483648, 2147483648)"  # of an attribute without a range of its own

# Operator, inputs, attributes, message.
Refused = tuple[str, list[Any], dict[str, Any], str]


def zeros(*shape: int) -> Array:
    return np.zeros(shape, np.int8)


def wide(bits: int, *shape: int) -> Array:
    """A tensor whose data take so many bits."""
    return np.full(shape, (1 << (bits - 1)) - 1, np.int32)


def check_refusal(
    conformance: Conformance, name: str, inputs: Sequence[Any], attributes: Any, message: str
) -> None:
    """The reference, c and python refuse a call of a CVM operator with this message."""
    operator = conformance.references[f"cvm.{name}"].operator
    operands = (*inputs, *[None] * (len(operator.inputs) - len(inputs)))
    expected = conformance.check(Call(f"cvm.{name}", operands, attributes))
    assert expected.refusal == f"cvm.{name}: {message}"
