"""The host part of an operator in C, which is lowered; the C and the CUDA target share it."""

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
