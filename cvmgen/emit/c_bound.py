"""Bound calls in C: what an operator keeps of a call that is checked once."""

from __future__ import annotations

from collections.abc import Sequence

from cvmgen.emit import interface
from cvmgen.emit.c_text import wrapped_list
from cvmgen.emit.lines import indented
from cvmgen.spec.formula import Attribute, Operator


def bind_head(operator: Operator, end: str) -> list[str]:
    """The head of the function that binds a call."""
    function = interface.c_name(operator)
    parameters = [
        f"const {function}_args *args",
        "uint64_t constants",
        "cvmgen_bound **bound",
        "cvmgen_error *error",
    ]
    return wrapped_list(f"int {function}_bind(", parameters, f"){end}")


def bound_text(operator: Operator, packed: Sequence[int], count: int) -> str:
    """The functions that bind and run a call, which keeps `count` workspaces; the first of them are
    those of nests that pack an input, of which `packed` has the places."""
    name, function = operator.name, interface.c_name(operator)
    spaces = f"cvmgen_workspace spaces[{count}];"
    own = "bound->spaces, " if count else ""
    return "\n".join(
        [
            f"typedef struct {name}_bound {{",
            *indented(["cvmgen_bound common;", f"{function}_args args;", f"{name}_plan plan;"]),
            *(indented([spaces]) if count else []),
            f"}} {name}_bound;",
            "",
            f"static int {name}_run_bound(cvmgen_bound *common, cvmgen_error *error) {{",
            f"    {name}_bound *const bound = ({name}_bound *)common;",
            f'    cvmgen_begin(error, "{operator.full_name}");',
            f"    return {name}_run(&bound->args, &bound->plan, {own}error);",
            "}",
            "",
            *bind_head(operator, " {"),
            *indented(binding(operator, packed, count)),
            "}",
        ]
    )


def binding(operator: Operator, packed: Sequence[int], count: int) -> list[str]:
    name = operator.name
    counts = [f"args->{each.name}_count" for each in operator.inputs if each.variadic]
    single = len(operator.output_names) + sum(not each.variadic for each in operator.inputs)
    tensors = " + ".join([*counts, str(single)])
    numbers = sum(each.optional and is_number_pointer(each) for each in operator.attributes)
    lines = [
        f"{name}_plan plan;",
        "*bound = NULL;",
        f"if ({name}_prepare(args, &plan, error)) return CVMGEN_REFUSED;",
        *wrapped_list(
            f"{name}_bound *const made = cvmgen_new_bound(",
            ["error", "sizeof *made", tensors, " + ".join(counts) or "0", str(numbers)],
            ");",
            92,
        ),
        "if (made == NULL) return CVMGEN_NO_MEMORY;",
        "cvmgen_bound *const common = &made->common;",
        f"common->run = {name}_run_bound;",
        "made->args = *args;",
        "made->plan = plan;",
    ]
    for item in operator.inputs:
        kept = f"cvmgen_keep_tensor(common, args->{item.name})"
        if item.variadic:
            kept = f"cvmgen_keep_tensors(common, args->{item.name}, args->{item.name}_count)"
        lines.append(f"made->args.{item.name} = {kept};")
    lines += [
        f"made->args.{each} = cvmgen_keep_tensor(common, args->{each});"
        for each in operator.output_names
    ]
    for attribute in operator.attributes:
        if attribute.optional and is_number_pointer(attribute):
            member = attribute.name
            kept = "real" if attribute.kind == "real" else "number"
            lines.append(f"made->args.{member} = cvmgen_keep_{kept}(common, args->{member});")
    if count:
        lines += ["common->spaces = made->spaces;", f"common->space_count = {count};"]
    lines += [
        f"made->spaces[{at}].keeps_w = {presence_bit(number)};" for at, number in enumerate(packed)
    ] or ["(void)constants;"]
    return [*lines, "*bound = common;", "return CVMGEN_OK;"]


def presence_bit(number: int) -> str:
    return f"constants >> {number} & 1" if number else "constants & 1"


def is_number_pointer(attribute: Attribute) -> bool:
    """Whether an attribute that is optional is a pointer to a number."""
    return not attribute.is_list and not attribute.components and attribute.kind != "word"
