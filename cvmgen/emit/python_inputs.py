"""The checks of an input in Python, and the names that its shape binds."""

from __future__ import annotations

from cvmgen.emit.python_printer import PythonPrinter, indent
from cvmgen.emit.python_text import literal
from cvmgen.emit.shape_slots import Places
from cvmgen.ir import nodes as i
from cvmgen.ir.python_names import identifier


class InputChecks:
    """Prints a TakeInput; `used` are the names that something reads later."""

    def __init__(self, printer: PythonPrinter, used: set[str]) -> None:
        self.printer = printer
        self.used = used

    def lines(self, statement: i.TakeInput) -> list[str]:
        item = statement.input
        name = identifier(item.name)
        limits = ", support.INPUT_OR_EMPTY" if item.empty else ""
        if item.variadic:
            lines = [f"support.check_inputs(OPERATOR, {literal(item.name)}, {name}{limits})"]
            lines.append(f"{identifier(str(item.count))} = len({name})")
            shapes = identifier(str(item.extents[0].new))
            lines.append(f"{shapes} = tuple(each.shape for each in {name})")
            return lines
        lines = [
            f"support.check_input(OPERATOR, {literal(item.name)}, {name}{limits})",
            *self.shape(statement),
        ]
        if item.optional:
            return [f"if {name} is not None:", *indent(lines)]
        return lines

    def shape(self, statement: i.TakeInput) -> list[str]:
        """Check the rank and what is known of the shape; bind the new names."""
        item = statement.input
        name = identifier(item.name)
        where = f"OPERATOR, {literal(item.name)}, {name}.shape"
        if len(item.extents) == 1 and item.extents[0].pack:
            return self.whole_shape(statement)
        lengths = {
            at: f"len({self.printer.expr(known)})"
            for at, known in enumerate(statement.known)
            if item.extents[at].pack and known is not None
        }
        places = Places(item.extents, lengths, f"len({name}.shape)", negative=True)
        lines = [f"support.check_rank({where}, {places.least}, {places.open is not None})"]
        if all(extent.new and not extent.pack for extent in item.extents):
            names = ", ".join(identifier(str(extent.new)) for extent in item.extents)
            return [*lines, f"{names}{',' * (len(item.extents) == 1)} = {name}.shape"]
        for at, (extent, known) in enumerate(zip(item.extents, statement.known, strict=True)):
            place, end = places.start(at), places.start(at + 1)
            if known is not None and extent.pack:
                lines.append(f"support.check_part({where}, {place}, {self.printer.expr(known)})")
            elif known is not None:
                term = literal(extent.span.code)
                wanted = self.printer.expr(known)
                lines.append(f"support.check_extent({where}, {place}, {term}, {wanted})")
            elif extent.new in self.used:
                part = f"{place}:{end}" if extent.pack else place
                lines.append(f"{identifier(str(extent.new))} = {name}.shape[{part}]")
        return lines

    def whole_shape(self, statement: i.TakeInput) -> list[str]:
        """A shape that is one list."""
        item = statement.input
        name = identifier(item.name)
        (extent,), (known,) = item.extents, statement.known
        if known is not None:
            where = f"OPERATOR, {literal(item.name)}, {name}.shape"
            return [f"support.check_same_shape({where}, {self.printer.expr(known)})"]
        if extent.new not in self.used:
            return []
        return [f"{identifier(str(extent.new))} = {name}.shape"]
