"""Statements that do no more than to move elements, and the regions of tensors that they fill."""

from __future__ import annotations

from dataclasses import dataclass

from cvmgen import algebra
from cvmgen.analysis.in_bounds import Inside
from cvmgen.ir import nodes as i
from cvmgen.ir.uses import names_in
from cvmgen.ir.visit import substitute

STORED = (
    *("stored_f32", "canonical_f32", "stored_f64", "stored_float16", "of_float16"),
    *("stored_bfloat16", "of_bfloat16", "of_int4"),
)


def only_moves(statement: i.Stmt, inside: Inside) -> bool:
    """Whether a statement does no more than to move elements that are there."""
    match statement:
        case i.Loop(index=index, low=i.Const(value=0), high=high, body=(within,)):
            return only_moves(within, inside.within(index, high))
        case i.Store(value=value):
            while isinstance(value, i.Convert) or (
                isinstance(value, i.Call) and value.function in STORED
            ):
                value = value.operand if isinstance(value, i.Convert) else value.arguments[0]
            constant = isinstance(value, (i.Var, i.Const, i.Real))
            return constant or (isinstance(value, i.Load) and inside.element(value))
        case _:
            return False


@dataclass(frozen=True, slots=True)
class Region:
    """Elements of a tensor side by side."""

    tensor: str
    first: i.Expr
    length: i.Expr

    def is_same(self, other: Region) -> bool:
        pairs = (self.first, other.first), (self.length, other.length)
        return self.tensor == other.tensor and all(algebra.equal(*each) for each in pairs)


def region(statement: i.Stmt) -> Region | None:
    """What loops around one store fill, where that lies side by side."""
    match statement:
        case i.Store(target=i.Load(tensor=tensor, offset=offset)):
            return Region(tensor, offset, i.Const(1))
        case i.Loop(index=index, low=low, high=high, body=(inner,), step=1) if low is not None:
            found = region(inner)
        case _:
            return None
    if found is None or index in names_in(found.length):
        return None
    line = algebra.line(found.first, index)
    if line is None or not algebra.equal(line.step, found.length):
        return None
    first = substitute(found.first, {index: low})
    return Region(found.tensor, first, i.Binary("*", i.Binary("-", high, low), found.length))
