"""The functions of a generated Python module that users call: they choose types, check, run."""

from __future__ import annotations

from cvmgen.analysis.moved import moved_inputs
from cvmgen.dtypes import CVM
from cvmgen.emit import interface
from cvmgen.emit.lines import Valued, indented
from cvmgen.emit.python_text import Imports, literal, literals
from cvmgen.ir import nodes as i
from cvmgen.ir.python_names import python_identifier
from cvmgen.spec.formula import Operator
from cvmgen.typing import choices


class Calls(Imports):
    """Prints `infer` and the function of the operator, and what they say of themselves."""

    held = "values"  # the member of an operand that holds its elements

    def __init__(self, program: i.Program) -> None:
        super().__init__()
        self.program = program
        self.operator = program.operator
        self.types = interface.typed_operand_names(self.operator)
        self.precise = self.operator.precise_outputs

    def prepare_parameters(self) -> list[str]:
        names = [item.name for item in self.operator.inputs]
        names += [attribute.name for attribute in self.operator.attributes]
        return [python_identifier(name) for name in names]

    def nest_name(self, number: int) -> str:
        tensor = self.program.nests[number].tensor
        same = [at for at, each in enumerate(self.program.nests) if each.tensor == tensor]
        suffix = f"_{same.index(number)}" if len(same) > 1 else ""
        return f"_nest_{tensor}{suffix}"

    def tensors(self, nest: i.Nest) -> list[str]:
        read = list(choices.inputs_read(self.program, nest))
        if nest.each is not None and nest.each[1] not in read:
            read.append(nest.each[1])  # how many there are is all that is asked of them
        scratch = choices.scratch_read(self.program, nest)
        return [*read, *scratch, *choices.written_tensors(self.program, nest)]

    def type_rows(self) -> str:
        """The choices of element types by operand."""
        if not self.types:
            return ""
        rows = [
            ", ".join(f'"{name}": "{dtype.name}"' for name, dtype in choice.items())
            for choice in self.operator.choices
        ]
        return "\n".join(["TYPES = (", *indented(f"{{{row}}}," for row in rows), ")", ""])

    def call_doc(self) -> list[str]:
        """What a docstring says of the arguments that every call has."""
        out = "out: an array to write to"
        if len(self.operator.output_names) > 1:
            out = "out: a tuple of arrays to write to"
        if not self.types:
            return [
                "precisions: declared precision by input name; otherwise measured from the data",
                f"dtype: int8 or int32, of the result; {out}",
                'check: "values" refuses data beyond their declared precision',
            ]
        kinds = "; ".join(
            f"{name} of {interface.types_text(self.operator, name)}"
            for name in self.operator.output_names
        )
        several = any(
            len({choice.get(name) for choice in self.operator.choices}) > 1
            for name in self.operator.output_names
        )
        decided = f", as {who_decides(self.operator)}" * several
        lines = [f"Gives {kinds}{decided}."]
        if any(item.dtype == CVM for item in self.operator.inputs):
            lines.append("precisions: declared precision by input name; otherwise measured")
        return [*lines, out]

    def infer(self) -> list[str]:
        lines = []
        names = [item.name for item in self.operator.inputs]
        lines.append(f"names = [{literals(names)}]")
        arguments = []
        for at, item in enumerate(self.operator.inputs):
            if item.variadic and item.dtype != CVM:
                arguments.append(
                    f"[support.described(OPERATOR, names[{at}], shape, None)"
                    f" for shape in shapes[{at}]]"
                )
            elif item.variadic:
                arguments.append(
                    f"[support.described(OPERATOR, names[{at}], shape, precision)"
                    f" for shape, precision in zip(shapes[{at}], precisions[{at}], strict=True)]"
                )
            else:
                arguments.append(
                    f"support.described(OPERATOR, names[{at}], shapes[{at}], precisions[{at}])"
                )
        arguments += [python_identifier(attribute.name) for attribute in self.operator.attributes]
        lines += ["plan = _prepare(", *indented(f"{each}," for each in arguments), ")"]
        shapes = ", ".join(f"plan.{name}_shape" for name in self.operator.output_names)
        found = ", ".join(
            f"plan.{name}_precision" if name in self.precise else "None"
            for name in self.operator.output_names
        )
        lines.append(f"return ({shapes},), ({found},)")
        return lines

    def run(self) -> list[str]:
        operator = self.operator
        names = [item.name for item in operator.inputs if item.dtype == CVM]
        lines = self.choose_types()
        lines += [f"declared = support.declared(OPERATOR, [{literals(names)}], precisions)"]
        if not names:
            lines[-1] = "support.declared(OPERATOR, [], precisions)"
        for item in operator.inputs:
            name = python_identifier(item.name)
            shown = literal(item.name)
            if item.dtype != CVM:
                made = self.called("typed.typed_operand", f"OPERATOR, {shown}, given[{shown}]")
                lines.append(Valued(f"{name} =", made))
                continue
            function = f"support.operand{'s' * item.variadic}"
            lines.append(f"{name} = {function}(OPERATOR, {shown}, {name}, declared.get({shown}))")
        lines.append(f"plan = _prepare({', '.join(self.prepare_parameters())})")
        if self.types:
            lines.append("plan.types = types")
        if names:
            lines.append('if check == "values":')
            lines += indented(line for name in names for line in self.check(name))
        return [*lines, *self.results(), *self.memory(), *self.nest_calls(), *self.finish()]

    def memory(self) -> list[str]:
        """The memory of selected lists and of lets, where the case holds that needs it."""
        lines: list[str] = []
        for each in self.program.scratch:
            given = (
                literal(each.owner),
                f"plan.{python_identifier(each.size)}",
                *self.elements(each),
            )
            made = f"support.memory(OPERATOR, {', '.join(given)})"
            if each.case is not None:
                made = f"{made} if plan.which_case == {each.case} else None"
            lines.append(Valued(f"{python_identifier(each.name)} =", made))
        return lines

    def elements(self, memory: i.Scratch) -> tuple[str, ...]:
        """The type of its elements, where it is an array."""
        return ()

    def nest_calls(self) -> list[str]:
        lines = []
        for number, nest in enumerate(self.program.nests):
            calls = [self.call(number, nest), *self.refusal(nest)]
            if nest.case is not None:
                calls = [f"if plan.which_case == {nest.case}:", *indented(calls)]
            lines += calls
        return lines

    @staticmethod
    def refusal(nest: i.Nest) -> list[str]:
        """The refusal of a call in which a nest finds that another one would read outside."""
        if nest.guarded is None:
            return []
        tensor = nest.guarded.tensor
        shape = nest.guarded.shape and f"plan.{python_identifier(nest.guarded.shape)}"
        where = f"OPERATOR, {literal(tensor)}, {python_identifier(nest.tensor)}, {shape}"
        if nest.guarded.rule:
            return [f"support.refuse_demand({where}, {literal(nest.guarded.rule)})"]
        return [f"support.refuse_outside({where})"]

    def choose_types(self) -> list[str]:
        """The row of the types that the inputs have, and the inputs as arrays."""
        if not self.types:
            return []
        items = [item for item in self.operator.inputs if item.dtype != CVM]
        pairs = ", ".join(f"{literal(item.name)}: {python_identifier(item.name)}" for item in items)
        chosen = "types, given" if items else "types, _"
        several = ", ".join(literal(item.name) for item in items if item.variadic)
        rest = f", [{several}]" if several else ""
        deciding = self.operator.deciding
        if deciding:
            words = (f"{literal(each.name)}: {python_identifier(each.name)}" for each in deciding)
            rest = f"{rest}, words={{{', '.join(words)}}}"
        found = self.called("typed.typed_operands", f"OPERATOR, TYPES, {{{pairs}}}{rest}")
        return [Valued(f"{chosen} =", found)]

    def check(self, tensor: str) -> list[str]:
        name = python_identifier(tensor)
        item = next(each for each in self.operator.inputs if each.name == tensor)
        if item.variadic:
            return [f"for each in {name}:", "    each.check_values()"]
        if item.optional:
            return [f"if {name} is not None:", f"    {name}.check_values()"]
        return [f"{name}.check_values()"]

    def results(self) -> list[str]:
        moved = moved_inputs(self.program)
        default = "support.INT32"
        if moved:
            arrays = []
            for item in self.operator.inputs:
                name = python_identifier(item.name)
                if item.name in moved:
                    each = f"*(each.array for each in {name})" if item.variadic else ""
                    optional = f"{name} and " if item.optional else ""
                    arrays.append(each or f"{optional}{name}.array")
            default = f"support.moved_dtype([{', '.join(arrays)}])"
        lines = self.out_checks()
        for output in self.operator.output_names:
            lines += self.values(output)
            if output not in self.precise:
                asked = "None" if self.precise else "dtype"
                wanted = f"OPERATOR, {literal(output)}, {asked}, types[{literal(output)}]"
                result = self.called("typed.typed_result", wanted)
                lines.append(Valued(f"{output}_dtype =", result))
                continue
            wanted = f"OPERATOR, {literal(output)}, dtype, plan.{output}_precision, {default}"
            lines.append(f"{output}_dtype = support.result_dtype({wanted})")
        return lines

    def values(self, output: str) -> list[str]:
        """The list that the values of an output go to."""
        return [f"{python_identifier(output)} = [0] * support.size(plan.{output}_shape)"]

    def out_checks(self) -> list[str]:
        """An output array of the caller fits and shares no memory with an input."""
        arrays = []
        for item in self.operator.inputs:
            name = python_identifier(item.name)
            if item.variadic:
                arrays.append(f"*(({literal(item.name)}, each.array) for each in {name})")
            elif item.optional:
                arrays.append(f"({literal(item.name)}, {name} and {name}.array)")
            else:
                arrays.append(f"({literal(item.name)}, {name}.array)")
        lines = ["if out is not None:", f"    arrays = [{', '.join(arrays)}]"]
        outputs = self.operator.output_names
        for at, output in enumerate(outputs):
            target = "out" if len(outputs) == 1 else f"out[{at}]"
            known = f"plan.{output}_shape, plan.{output}_precision, arrays"
            check = "support.check_out"
            if output not in self.precise:
                known = f"plan.{output}_shape, types[{literal(output)}], arrays"
                check = self.helper("typed.check_typed_out")
            lines.append(f"    {check}(OPERATOR, {literal(output)}, {target}, {known})")
        if len(outputs) == 1 and outputs[0] in self.precise:
            lines.append("    dtype = out.dtype")
        return lines

    def call(self, number: int, nest: i.Nest) -> str:
        arguments = ["plan", *map(self.argument, self.tensors(nest))]
        return f"{self.nest_name(number)}({', '.join(arguments)})"

    def argument(self, tensor: str) -> str:
        """A tensor of a nest, as what its elements are read from or written to."""
        item = next((each for each in self.operator.inputs if each.name == tensor), None)
        name = python_identifier(tensor)
        if item is None:
            return name
        if item.variadic:
            return f"[each.{self.held} for each in {name}]"
        return f"{name} and {name}.{self.held}" if item.optional else f"{name}.{self.held}"

    def finish(self) -> list[str]:
        outputs = self.operator.output_names
        arrays = []
        for output in outputs:
            shape = f"plan.{output}_shape"
            if output in self.precise:
                arrays.append(
                    f"support.stored({python_identifier(output)}, {shape}, {output}_dtype)"
                )
                continue
            values = f"OPERATOR, {literal(output)}, {python_identifier(output)}, {shape}"
            arrays.append(self.called("typed.stored_as", f"{values}, {output}_dtype"))
        if len(outputs) == 1:
            return [
                f"result = {arrays[0]}",
                "if out is None:",
                "    return result",
                "out[...] = result",
                "return out",
            ]
        joined = ", ".join(arrays)
        return [
            f"results = ({joined})",
            "if out is None:",
            "    return results",
            "for target, result in zip(out, results, strict=True):",
            "    target[...] = result",
            "return out",
        ]


def who_decides(operator: Operator) -> str:
    """What of a call chooses the types of its results, for people."""
    names = " and ".join(each.name for each in operator.deciding)
    if not names:
        return "the types of the inputs say"
    typed = any(item.dtype in operator.types.names for item in operator.inputs)
    return f"{'the types of the inputs and ' * typed}{names} say{'s' * (not typed)}"
