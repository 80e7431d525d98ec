"""Operands with a storage type of their own in C: the table of types, and the checks by it."""

from __future__ import annotations

from collections.abc import Iterable

from cvmgen.dtypes import CVM
from cvmgen.emit import interface
from cvmgen.emit.c_spelling import c_string
from cvmgen.emit.c_text import wrapped_list
from cvmgen.emit.lines import Leaving
from cvmgen.spec.formula import Attribute, Input, Operator


class TypesPrinter:
    """Prints what an operator does about the types of its operands; `tensors` are all of them."""

    def __init__(self, operator: Operator) -> None:
        self.operator = operator
        self.tensors = interface.typed_operand_names(operator)
        self.inputs = [item for item in operator.inputs if item.dtype != CVM]
        self.telling = [*map(self.shown, self.inputs), *(each.name for each in operator.deciding)]
        self.rows = f"{operator.name}_rows"
        self.types = f"{operator.name}_types"

    def declaration(self) -> list[str]:
        """The rows, and what choosing one of them needs."""
        if not self.tensors:
            return []
        choices = self.operator.choices
        lines = [
            f"/* The element types of {', '.join(self.tensors)}. */",
            f"static const int32_t {self.rows}[{len(choices)}][{len(self.tensors)}] = {{",
        ]
        for choice in choices:
            codes = [f"CVMGEN_{dtype.name.upper()}" for dtype in choice.values()]
            lines += wrapped_list("    {", codes, "},")
        lines.append("};")
        if len(choices) > 1:
            lines += wrapped_list("enum { ", interface.row_names(self.operator), " };")
        if self.telling:
            names = [c_string(name) for name in self.telling]
            sizes = [str(len(each)) for each in (self.tensors, self.telling, choices)]
            values = [*sizes, f"{self.rows}[0]", f"{self.types}_names"]
            lines += [
                *wrapped_list(f"static const char *const {self.types}_names[] = {{", names, "};"),
                *wrapped_list(f"static const cvmgen_types {self.types} = {{", values, "};"),
            ]
        return [*lines, ""]

    def choose(self, fail: str) -> list[str]:
        """Find the row of the inputs."""
        if not self.telling:
            return ["const int types = 0;"] if self.tensors else []
        decided = [f"&{item.name}_type" for item in self.operator.deciding]
        typed = [*map(self.first, self.inputs), *decided]
        lines = [
            *(line for item in self.operator.deciding for line in self.decided(item)),
            *wrapped_list("const cvmgen_tensor *const typed[] = {", typed, "};"),
            "int types = 0;",
            Leaving(f"if (cvmgen_choose_types(error, &{self.types}, typed, &types))", fail),
        ]
        for item in self.inputs:
            if item.variadic:
                arguments = f"args->{item.name}, args->{item.name}_count"
                test = f"cvmgen_check_alike(error, {c_string(item.name)}, {arguments})"
                lines.append(Leaving(f"if ({test})", fail))
        return lines

    def decided(self, item: Attribute) -> list[str]:
        """The type that the word of an attribute stands for; 0 where it is no word of it."""
        codes = [f"CVMGEN_{word.upper()}" for word in item.words]
        given = f"args->{item.name}"
        inside = f"{given} >= 1 && {given} <= {len(codes)}"
        return [
            *wrapped_list(f"static const int32_t {item.name}_codes[] = {{", codes, "};"),
            f"const int32_t {item.name}_code = {inside} ? {item.name}_codes[{given} - 1] : 0;",
            f"const cvmgen_tensor {item.name}_type = {{.dtype = {item.name}_code}};",
        ]

    def shown(self, item: Input) -> str:
        return f"{item.name}[0]" if item.variadic else item.name

    def first(self, item: Input) -> str:
        """The tensor whose type counts; of several the first."""
        name = f"args->{item.name}"
        return f"{name} == NULL || {name}_count < 1 ? NULL : {name}[0]" if item.variadic else name

    def dtype(self, name: str, plan: str) -> str:
        """The code of an operand's type in the row that was chosen."""
        return f"{self.rows}[{plan}types][{self.tensors.index(name)}]"

    def set_output(self, output: str) -> str:
        arguments = f"args->{output}, &plan.{output}_shape"
        dtype = self.dtype(output, "plan.")
        return f"cvmgen_set_typed_output({arguments}, plan.types < 0 ? 0 : {dtype});"


def dtype_names(codes: Iterable[tuple[str, int]]) -> str:
    """The names of the types as a C list of texts, at their codes."""
    by_code = {code: name for name, code in codes}
    return ", ".join(c_string(by_code.get(code, "none")) for code in range(max(by_code) + 1))
