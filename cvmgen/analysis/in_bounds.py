"""Elements that lie inside their tensors, whatever tests stand before them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from cvmgen.ir import nodes as i
from cvmgen.spec import nodes as n
from cvmgen.spec.formula import Input, Operator


@dataclass(frozen=True, slots=True)
class Inside:
    """What is known where some loops run: the extents of tensors, the ends of indices from 0 on.

    Answers are proofs: False means "not known".
    """

    extents: Mapping[str, tuple[i.Expr, ...]]
    ends: Mapping[str, i.Expr] = field(default_factory=dict)

    @classmethod
    def of(cls, operator: Operator) -> Inside:
        known = {item.name: input_extents(item) for item in operator.inputs}
        return cls({name: found for name, found in known.items() if found is not None})

    def within(self, index: str, end: i.Expr) -> Inside:
        return replace(self, ends={**self.ends, index: end})

    def element(self, load: i.Load) -> bool:
        """Whether an element lies in its tensor: each of its indices ends with its dimension."""
        box = self.extents.get(load.tensor, ())
        offset = load.offset
        while len(box) > 1:
            offset, index = last_index(offset, box[-1])
            if not self.below(index, box[-1]):
                return False
            box = box[:-1]
        return bool(box) and self.below(offset, box[0])

    def below(self, index: i.Expr, extent: i.Expr) -> bool:
        match index, extent:
            case i.Const(value=value), i.Const(value=end):
                return 0 <= value < end
            case i.Const(value=0), _:
                return True
            case i.Var(name=name), _:
                return self.ends.get(name) == extent
            case _:
                return False

    def same_row(self, load: i.Load, other: i.Load) -> bool:
        """Whether two elements lie in one row of their tensor, if one of them lies in it."""
        if load.tensor != other.tensor or load.tensor not in self.extents:
            return False
        extent = self.extents[load.tensor][-1]
        one, first = last_index(load.offset, extent)
        two, second = last_index(other.offset, extent)
        return one == two and self.below(first, extent) and self.below(second, extent)


def last_index(offset: i.Expr, extent: i.Expr) -> tuple[i.Expr, i.Expr]:
    """The offset of a row of this extent, in rows, and the place in the row."""
    match offset:
        case i.Binary(op="+", left=i.Binary(op="*", left=row, right=right), right=index) if (
            right == extent
        ):
            return row, index
        case i.Binary(op="*", left=row, right=right) if right == extent:
            return row, i.ZERO
        case _:
            return i.ZERO, offset


def input_extents(item: Input) -> tuple[i.Expr, ...] | None:
    """The extents of an input that has one shape, all of them at least 1."""
    if item.empty or item.optional or item.variadic or not item.extents:
        return None
    found: list[i.Expr] = []
    for extent in item.extents:
        if extent.pack:
            return None
        if extent.new is not None:
            found.append(i.Var(extent.new))
        elif isinstance(extent.value, n.Number):
            found.append(i.Const(extent.value.value))
        elif isinstance(extent.value, n.Ref):
            found.append(i.Var(extent.value.name))
        else:
            return None
    return tuple(found)
