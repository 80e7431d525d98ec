"""What an array of extremes is not below, or not above, once a nest has gone through all of it.

Such an array begins with the least integer there is; every element that is the maximum of itself
and a value is not below that value from then on, until something else is stored there.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from cvmgen.ir import nodes as i
from cvmgen.ir.uses import stored_tensors
from cvmgen.ir.visit import walk

STORING = (i.Array, i.Copy, i.Fill, i.Move, i.Slide, i.Apply, i.Products, i.Sort, i.Store, i.Tile)


@dataclass(frozen=True)
class Extreme:
    """Every element of an array becomes the maximum, or the minimum, of itself and a value."""

    array: str
    word: str
    value: i.Expr


def own_extreme(statement: i.Stmt) -> Extreme | None:
    """A store of the extreme of an element and a value in the element's place."""
    match statement:
        case i.Store(
            target=i.Load(tensor=name) as place,
            value=i.Call(function=function, arguments=(own, value)),
        ) if own == place and (word := function.partition("_")[0]) in ("max", "min"):
            return Extreme(name, word, value)
        case _:
            return None


def of_all(loop: i.Loop, lengths: Mapping[str, int | None]) -> Extreme | None:
    """What a loop does with every element of an array, if it does that in any case."""
    whole: dict[str, int] = {}
    body: i.Block = (loop,)
    while True:
        match body:
            case (i.Loop(low=i.Const(value=low), high=i.Const(value=high), step=1) as each,):
                if low >= high:
                    return None
                if low == 0:
                    whole[each.index] = int(high)
                body = each.body
            case (i.Store(target=i.Load(tensor=name, offset=i.Var(name=index))) as store,):
                length = lengths.get(name)
                full = length is not None and whole.get(index) == length
                return own_extreme(store) if full else None
            case _:
                return None


def stored_otherwise(node: i.Stmt) -> Iterator[str]:
    """The arrays of which elements are set to anything else."""
    for each in walk(node):
        if isinstance(each, STORING) and own_extreme(each) is None:
            yield from (each.name,) if isinstance(each, i.Array) else stored_tensors((each,))
