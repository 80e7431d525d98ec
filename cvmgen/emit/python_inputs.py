"""The checks of an input in Python, and the names that its shape binds."""

from __future__ import annotations

from cvmgen.emit.places import Places
from cvmgen.emit.python_names import identifier
from cvmgen.emit.python_printer import PythonPrinter, indent
from cvmgen.emit.python_text import literal
from cvmgen.ir import nodes as i


class InputChecks:
    """Prints a TakeInput; `used` are the names that something reads later."""

    def __init__(self, printer: PythonPrinter, used: set[str]) -> None:
        self.printer = printer
        self.used = used

    def lines(self, statement: i.TakeInput) -> list[str]:
        item = statement.input
        name = identifier(item.name)
        if item.variadic:
            lines = [f"support.check_inputs(OPERATOR, {literal(item.name)}, {name})"]
            lines.append(f"{identifier(str(item.count))} = len({name})")
            shapes = identifier(str(item.extents[0].new))
            lines.append(f"{shapes} = tuple(each.shape for each in {name})")
            return lines
        lines = [
            f"support.check_input(OPERATOR, {literal(item.name)}, {name})",
            *self.shape(statement),
        ]
        if item.optional:
            return [f"if {name} is not None:", *indent(lines)]
        return lines

    def shape(self, statement: i.TakeInput) -> list[str]:
        item = statement.input
        name = identifier(item.name)
        where = f"OPERATOR, {literal(item.name)}, {name}.shape"
        extents = item.extents
        packs = [at for at, extent in enumerate(extents) if extent.pack]
        if len(extents) == 1 and packs and extents[0].new is None:
            wanted = statement.known[0]
            assert wanted is not None
            return [f"support.check_same_shape({where}, {self.printer.expr(wanted)})"]
        if packs and any(extents[at].new is None for at in packs):
            return self.parted(statement)
        least = len(extents) - len(packs)
        lines = []
        if not (packs and least == 0):
            lines.append(f"support.check_rank({where}, {least}, {bool(packs)})")
        if all(extent.new and not extent.pack for extent in extents):
            names = ", ".join(identifier(str(extent.new)) for extent in extents)
            return [*lines, f"{names}{',' * (len(extents) == 1)} = {name}.shape"]
        for at, extent in enumerate(extents):
            if extent.new and extent.new not in self.used:
                continue
            place = at if not packs or at < packs[0] else at - len(extents)
            if extent.pack:
                after = len(extents) - 1 - at
                part = f"[{at or ''}:{-after or ''}]" if at or after else ""
                lines.append(f"{identifier(str(extent.new))} = {name}.shape{part}")
            elif extent.new:
                lines.append(f"{identifier(extent.new)} = {name}.shape[{place}]")
            else:
                known = statement.known[at]
                assert known is not None
                wanted_text = self.printer.expr(known)
                term = extent.span.text
                lines.append(
                    f"support.check_extent({where}, {place}, {literal(term)}, {wanted_text})"
                )
        return lines

    def parted(self, statement: i.TakeInput) -> list[str]:
        """A shape with known lists among its slots."""
        item = statement.input
        name = identifier(item.name)
        where = f"OPERATOR, {literal(item.name)}, {name}.shape"
        lengths = {
            at: f"len({self.printer.expr(known)})"
            for at, known in enumerate(statement.known)
            if item.extents[at].pack and known is not None
        }
        places = Places(item.extents, lengths, f"len({name}.shape)")
        lines = [f"support.check_rank({where}, {places.least}, {places.open is not None})"]
        for at, (extent, known) in enumerate(zip(item.extents, statement.known, strict=True)):
            place = places.start(at)
            if known is None and extent.new not in self.used:
                continue
            if known is None:
                part = f"{place}:{places.start(at + 1)}" if extent.pack else place
                lines.append(f"{identifier(str(extent.new))} = {name}.shape[{part}]")
            elif extent.pack:
                lines.append(f"support.check_part({where}, {place}, {self.printer.expr(known)})")
            else:
                term = literal(extent.span.text)
                wanted = self.printer.expr(known)
                lines.append(f"support.check_extent({where}, {place}, {term}, {wanted})")
        return lines
