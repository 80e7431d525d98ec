"""The numpy target: nests as operations on whole arrays, importable with numpy alone.

A nest is printed from the form before its reductions are loops. One that array operations do not
express, such as one that makes sets of elements, becomes loops over Python's integers.
"""

from __future__ import annotations

from dataclasses import replace

from cvmgen import arrays, indices, vectors
from cvmgen.emit import python
from cvmgen.emit.needed import needed, reads
from cvmgen.emit.numpy_calls import ArrayCalls
from cvmgen.emit.numpy_loops import LoopPrinter
from cvmgen.emit.numpy_nests import NestPrinter, mentions
from cvmgen.emit.numpy_printer import NotAnArray, OneByOne
from cvmgen.emit.python import PythonEmitter, emit_header, is_python, read, uses
from cvmgen.emit.python_names import identifier
from cvmgen.emit.python_printer import indent
from cvmgen.emit.python_text import comment, unpacked
from cvmgen.emit.wrap import wrap_python
from cvmgen.ir import nodes as i
from cvmgen.ir.uses import names_in
from cvmgen.ir.visit import walk
from cvmgen.lower.guards import place_guards
from cvmgen.lower.idioms import with_idioms
from cvmgen.lower.unfold import unfold_bindings, unfold_nests
from cvmgen.lower.widths import Width, host_ranges, nest_width

__all__ = ["emit_header", "emit_operator", "emit_support"]


def emit_operator(program: i.Program) -> str:
    """The module of an operator whose program has reductions and multi-indices."""
    return is_python(NumpyEmitter(program).text())


def emit_support() -> dict[str, str]:
    """The modules that operators import: copies of cvmgen's own."""
    return {
        **python.emit_support(),
        "_arrays.py": relative(read(arrays)),
        "_indices.py": read(indices),
        "_vectors.py": relative(read(vectors)),
    }


def relative(text: str) -> str:
    """A module that stands beside those that it imports."""
    for name in ("arrays", "indices", "support", "typed"):
        text = text.replace(f"from cvmgen.{name} import", f"from ._{name} import")
    return text.replace("from cvmgen import reals", "from . import _reals as reals")


class NumpyEmitter(PythonEmitter):
    """Assembles the module of one operator; the host's part is that of the python target."""

    def __init__(self, program: i.Program) -> None:
        super().__init__(program)
        self.calls = ArrayCalls(self)
        self.ranges = host_ranges(program)
        self.inner = [self.body(nest) for nest in program.nests]
        self.unpacked = [
            self.members(nest, lines)
            for nest, (_, lines) in zip(program.nests, self.inner, strict=True)
        ]
        read = {each.size for each in program.scratch}.union(*self.unpacked)
        self.fields = [name for name in self.fields if name in read]
        self.used = needed(program.prepare, {*self.fields, *reads(self.prologues)})

    def also_read(self) -> frozenset[str]:
        """The extents of the memory of lists."""
        return names_in(tuple(each.shape for each in self.program.scratch))

    def libraries(self, nests: str) -> str:
        return "\nimport numpy as np\n"

    def exact_integers(self, output: str) -> str:
        """The type in which an output holds every integer that its nests store."""
        widths = [
            width
            for nest, (width, _) in zip(self.program.nests, self.inner, strict=True)
            if nest.tensor == output
        ]
        narrow = all(width.name in ("int32", "int64") for width in widths)
        return "np.int64" if narrow else "object"

    def more_imports(self, nests: str) -> str:
        results = self.operator.output_names != self.operator.precise_outputs
        used = ["arrays"] * uses("arrays", nests)
        used += ["vectors"] * (results or uses("vectors", nests))
        lines = [f"from . import _{name} as {name}" for name in used]
        return super().more_imports(nests) + "".join(f"{line}\n" for line in lines)

    def tensors(self, nest: i.Nest) -> list[str]:
        """The tensors of a nest; sorting needs no memory here."""
        spare = {each.name for each in self.program.scratch if each.name.endswith("_spare")}
        return [name for name in super().tensors(nest) if name not in spare]

    # -------------------------------------------------------- nests

    def nest(self, number: int, nest: i.Nest) -> str:
        return self.function(number, nest, self.inner[number][1])

    def body(self, nest: i.Nest) -> tuple[Width, list[str]]:
        """The integers of a nest, and its statements."""
        simple = with_idioms(self.program, nest, self.ranges)
        width = nest_width(self.program, simple, self.ranges)
        try:
            return width, self.array_nest(simple, width)
        except NotAnArray:
            return Width("object"), self.loop_nest(nest)

    def function(self, number: int, nest: i.Nest, inner: list[str]) -> str:
        """The function of a nest, after the members of the plan that it reads."""
        lines = [comment(self.program.quoted(nest))]
        if self.unpacked[number]:
            lines += unpacked([identifier(name) for name in self.unpacked[number]])
        listed = ", ".join(identifier(tensor) for tensor in self.tensors(nest))
        body = wrap_python(indent([*lines, *inner]))
        return "\n".join([f"def {self.nest_name(number)}(plan, {listed}):", *body])

    def members(self, nest: i.Nest, inner: list[str]) -> list[str]:
        """The members of the plan that a nest reads."""
        tensors = self.tensors(nest)
        shown = "\n".join(inner)
        names = names_in(nest.body) | names_in(nest.prologue)
        names |= {each.name for each in walk(nest.body) if isinstance(each, i.Given)}
        for each in self.program.scratch:
            if each.name in tensors:
                names |= names_in(each.shape)
        if nest.each is not None:
            names |= names_in(nest.each[2])
        return [name for name in self.fields if name in names and mentions(shown, identifier(name))]

    def array_nest(self, nest: i.Nest, width: Width) -> list[str]:
        integer = {"checked": "integer"}.get(width.name, f"np.{width.name}")
        integer = "object" if width.name == "object" else integer
        single: frozenset[str] = frozenset()
        while True:
            printer = NestPrinter(self.program, nest, integer, single)
            try:
                printer.statements(nest.body)
            except OneByOne as found:
                if found.names <= single:
                    raise NotAnArray("loops that depend on each other") from None
                single |= found.names
            else:
                lines = printer.read_lines()
                head = self.head(nest, width, integer, printer.computed)
                if printer.elementwise():
                    return self.by_blocks(nest, printer, head, lines)
                return self.around(nest, head, lines)

    def head(
        self, nest: i.Nest, width: Width, integer: str, computed: set[str], *, loops: bool = False
    ) -> list[str]:
        """The tensors that a nest computes with, as arrays of the type that it does so in."""
        lines = []
        loaded = [each for each in self.tensors(nest) if each in self.printer.tensors & computed]
        scratch = {each.name: each for each in self.program.scratch}
        for name in self.tensors(nest):
            if name in scratch:
                shape = ", ".join(self.printer.expr(each) for each in scratch[name].shape)
                lines.append(f"{identifier(name)} = {identifier(name)}.reshape({shape})")
        if width.name == "checked":
            values = [identifier(name) for name in loaded]
            values += [identifier(name) for name in self.fields if name in names_in(nest.body)]
            lines.append(f"integer = arrays.integers({width.bits}, {', '.join(values)})")
        for name in loaded:
            item = next(each for each in self.operator.inputs if each.name == name)
            local = identifier(name)
            convert = "arrays.numbers({0})" if loops else f"arrays.elements({{0}}, {integer})"
            made = convert.format(local)
            if item.variadic:
                made = f"[{convert.format('each')} for each in {local}]"
            lines.append(f"{local} = {made}")
        return lines

    def by_blocks(
        self, nest: i.Nest, printer: NestPrinter, head: list[str], lines: list[str]
    ) -> list[str]:
        """What a nest does to each block of elements of the tensors that it goes through."""
        walked = [each for each in self.tensors(nest) if each in printer.walked]
        elements = self.printer.tensors & printer.computed
        computed = [identifier(each) for each in walked if each in elements]
        kept = [identifier(each) for each in walked if each not in elements]
        converted = tuple(f"{each} = arrays.elements(" for each in computed)
        first = [line for line in head if not line.startswith(converted)]
        arguments = [f"[{', '.join(computed)}]", f"[{', '.join(kept)}]"]
        arguments += [printer.integer] * bool(computed)
        names = ", ".join([*computed, *kept])
        names += "," * ("," not in names)
        loop = f"for {names} in arrays.blocks({', '.join(arguments)}):"
        return [*first, loop, *indent(lines)]

    def around(self, nest: i.Nest, head: list[str], lines: list[str]) -> list[str]:
        """What a nest does, for each tensor of a variadic input."""
        if nest.each is None:
            return [*head, *lines]
        index, tensor, _ = nest.each
        name = identifier(tensor)
        prologue = self.printer.block(unfold_bindings(nest.prologue))
        loop = f"for {identifier(index)} in range(len({name})):"
        return [*head, loop, *indent([*prologue, *lines])]

    def loop_nest(self, nest: i.Nest) -> list[str]:
        """A nest as loops over Python's integers."""
        program = place_guards(unfold_nests(replace(self.program, nests=(nest,))))
        (nest,) = program.nests
        body = unfold_bindings(nest.body)
        printer = LoopPrinter(program)
        printer.reals = self.operator.has_reals
        head = self.head(nest, Width("object"), "object", self.printer.tensors, loops=True)
        return self.around(nest, head, [*self.whole_packs(body), *printer.block(body)])
