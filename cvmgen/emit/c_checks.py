"""C text that refuses calls for the memory of their inputs and outputs."""

from __future__ import annotations

from cvmgen.dtypes import CVM
from cvmgen.emit.c_spelling import c_string
from cvmgen.emit.c_types import TypesPrinter
from cvmgen.spec.formula import Operator


def input_checks(operator: Operator) -> list[str]:
    """Whether the inputs have elements, and those within their precision if that is asked."""
    lines = []
    fail = "return CVMGEN_REFUSED;"
    for item in operator.inputs:
        name, text = f"args->{item.name}", c_string(item.name)
        if item.variadic and item.dtype != CVM:
            lines += [
                f"for (int64_t at = 0; at < {name}_count; ++at)",
                f"    if (cvmgen_check_data(error, {text}, {name}[at])) {fail}",
            ]
            continue
        if item.variadic:
            lines += [
                f"for (int64_t at = 0; at < {name}_count; ++at) {{",
                f"    if (cvmgen_check_data(error, {text}, {name}[at])) {fail}",
                "    if (args->check_values &&",
                f"        cvmgen_check_values(error, {text}, {name}[at], "
                f"cvmgen_declared({name}[at]))) {fail}",
                "}",
            ]
            continue
        guard = f"{name} != NULL && " if item.optional else ""
        lines.append(f"if ({guard}cvmgen_check_data(error, {text}, {name})) {fail}")
        if item.dtype != CVM:
            continue
        lines += [
            f"if (args->check_values && {guard}".rstrip(),
            f"    cvmgen_check_values(error, {text}, {name}, cvmgen_declared({name}))) {fail}",
        ]
    return lines


def output_checks(operator: Operator, types: TypesPrinter, plan: str) -> list[str]:
    """Whether there is memory for the outputs, apart from that of everything else; `plan` stands
    before its members."""
    lines: list[str] = []
    fail = "return CVMGEN_REFUSED;"
    for output in operator.output_names:
        name, text = f"args->{output}", c_string(output)
        arguments = f"{name}, &{plan}{output}_shape, {plan}{output}_precision"
        if output in operator.precise_outputs:
            lines.append(f"if (cvmgen_check_output(error, {text}, {arguments})) {fail}")
        else:
            lines += types.check_output(output, fail, plan)
        others = [each.name for each in operator.inputs if not each.variadic]
        at = operator.output_names.index(output)
        others += operator.output_names[:at]
        for other in others:
            call = f"cvmgen_check_apart(error, {text}, {name}, {c_string(other)}, args->{other})"
            lines.append(f"if ({call}) {fail}")
        for each in operator.inputs:
            if each.variadic:
                call = (
                    f"cvmgen_check_apart(error, {text}, {name}, {c_string(each.name)}, "
                    f"args->{each.name}[at])"
                )
                lines.append(f"for (int64_t at = 0; at < args->{each.name}_count; ++at)")
                lines.append(f"    if ({call}) {fail}")
    return lines
