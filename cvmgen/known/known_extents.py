"""What the host knows of the shape of each tensor, slot by slot."""

from __future__ import annotations

from cvmgen.ir import nodes as i
from cvmgen.ir.host import outputs

Slots = tuple[tuple[i.Expr, bool], ...]  # an extent, or True: a list of them


class KnownExtents:
    """The extents of inputs, outputs and the memory of lists, as expressions of the host."""

    def __init__(self, program: i.Program, case: int | None) -> None:
        self.known: dict[str, Slots] = {}
        for statement in program.prepare:
            if isinstance(statement, i.TakeInput) and not statement.input.variadic:
                self.known[statement.input.name] = slots_of(statement)
        for output in outputs(program.prepare, case):
            self.known[output.tensor] = flattened(output.extents)
        for each in program.scratch:
            self.known[each.name] = tuple((extent, False) for extent in each.shape)

    def of(self, tensor: str) -> Slots | None:
        return self.known.get(tensor)

    def flattened(self, access: i.Access) -> i.Expr | None:
        """Where the last slots of an access are the multi-index at a position in row-major order:
        the position, if it is one in just the dimensions that are left."""
        match access.index:
            case (*front, (i.Call(function="unflatten", arguments=(position, extents)), True)):
                if any(spread for _, spread in front):
                    return None
            case _:
                return None
        match self.of(access.tensor):
            case ((whole, True),):
                part: i.Expr = i.Part(whole, i.Const(len(front)), None)
                if extents == part or (not front and extents == whole):
                    return position
            case _:
                pass
        return None


def slots_of(statement: i.TakeInput) -> Slots:
    """The extents of an input: what it must equal, or the names that it gives."""
    pairs = zip(statement.known, statement.input.extents, strict=True)
    return tuple((known or i.Var(str(extent.new)), extent.pack) for known, extent in pairs)


def flattened(extents: i.Expr) -> Slots:
    return extents.entries if isinstance(extents, i.ListOf) else ((extents, True),)
