"""What the machine code of a kernel must keep to, by the class of the kernel."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from cvmgen.build.cuda import Resources
from cvmgen.build.machine_code import Instructions


@dataclass(frozen=True, slots=True)
class Gate:
    """`holds` must be true of every kernel of the classes (None: of every kernel)."""

    name: str
    classes: frozenset[str] | None
    holds: Callable[[Resources, Instructions], bool]


MOST_FOR_A_PRODUCT = 20
"""Instructions of a loop for each of its products of matrices, staging among them."""

GATES = (
    Gate("no spills", None, lambda resources, _: resources.spilled == 0),
    # One side may be narrower: four int8 beside four int32.
    Gate(
        "16-byte accesses",
        frozenset({"streaming"}),
        lambda _, found: found.loads.wide + found.stores.wide > 0,
    ),
    Gate(
        "tensor cores",
        frozenset({"contraction"}),
        lambda _, found: found.matrix_products > 0,
    ),
    Gate(
        "products outweigh staging",
        frozenset({"contraction"}),
        lambda _, found: not found.product_loop or found.product_loop.cost <= MOST_FOR_A_PRODUCT,
    ),
    Gate(
        "no local memory",  # where the exact way of a real function keeps its limbs in a stream
        frozenset({"contraction"}),
        lambda _, found: found.local == 0,
    ),
)


def broken_gates(
    kernel_class: str, resources: Resources, instructions: Instructions
) -> tuple[str, ...]:
    """The names of the gates that a kernel breaks."""
    return tuple(
        gate.name
        for gate in GATES
        if (gate.classes is None or kernel_class in gate.classes)
        and not gate.holds(resources, instructions)
    )
