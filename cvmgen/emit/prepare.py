"""The host part of an operator in C, which is lowered: what is before a call's kernels, and before
those for each tensor of several. The C and the CUDA target share it."""

from __future__ import annotations

from cvmgen.emit.c_types import TypesPrinter
from cvmgen.emit.host_printer import HostPrinter
from cvmgen.ir import nodes as i


def prepare_lines(host: i.Program) -> list[str]:
    """The body of `<operator>_prepare`."""
    types = TypesPrinter(host.operator)
    lines = [
        *types.choose("return CVMGEN_REFUSED;"),
        *HostPrinter(host.operator).part(host.prepare),
    ]
    lines += ["plan->types = types;"] if types.tensors else []
    return [*lines, "return CVMGEN_OK;"]


def prologue_lines(host: i.Program, number: int, plan: str) -> list[str]:
    """The host code for one tensor, written into the plan."""
    return HostPrinter(host.operator, plan, named=False).part(host.nests[number].prologue)
