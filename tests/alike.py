"""Operators of the product whose kernels have the form of those of another one."""

from __future__ import annotations

from collections.abc import Iterable

from cvmgen.spec.formula import Operator

# They differ in the arithmetic of an element alone, which conformance and C's sanitizers see.
ALIKE = frozenset(
    (
        *("cvm.broadcast_sub", "cvm.broadcast_mul", "cvm.broadcast_max", "cvm.broadcast_greater"),
        *("cvm.abs", "cvm.elemwise_sub", "cvm.negative", "cvm.clip", "cvm.cvm_left_shift"),
        *("cvm.flatten", "cvm.batch_flatten", "cvm.expand_dims", "cvm.slice_like", "cvm.max"),
        *("systemml.bias_multiply", "systemml.sub", "systemml.mul", "systemml.intdiv"),
        *("systemml.mod", "systemml.neg", "tosa.reduce_all", "tosa.reduce_min"),
        "tosa.reduce_product",
    )
)

EACH = ("cvm", "mxnet", "systemml")
"""Opsets of which each operator is looked at, but for those above."""


def seldom(operators: Iterable[Operator]) -> frozenset[str]:
    """Operators of the product that say little that others do not: of further opsets, whose
    kernels are of the same classes, two of three."""
    further = [each.full_name for each in operators if each.opset not in EACH]
    return ALIKE | {name for at, name in enumerate(further) if at % 3}
