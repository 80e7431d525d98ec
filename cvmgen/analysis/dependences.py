"""What one iteration of a loop leaves for the next, which decides what actions are legal."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from cvmgen import algebra
from cvmgen.analysis.reductions import ANY_ORDER
from cvmgen.ir import nodes as i
from cvmgen.ir.loops import leaves_loop
from cvmgen.ir.uses import assigned, carried, has, names_in, nodes_in, read_tensors, stored_tensors
from cvmgen.ir.visit import walk

# What no vector instruction does.
SCALAR = (
    *(
        i.Loop,
        i.Copy,
        i.Turn,
        i.Slide,
        i.Apply,
        i.Products,
        i.Fetch,
        i.Fill,
        i.Sort,
        i.Tile,
        i.Break,
    ),
    i.Overflow,
)
# What goes over many elements at once, or orders them.
REGIONS = (i.Copy, i.Move, i.Turn, i.Slide, i.Apply, i.Products, i.Fill, i.Sort, i.Tile)


@dataclass(frozen=True, slots=True)
class Locals:
    """The machine types of a nest's locals: those of scalars, and those of arrays' elements; where
    sums are `exact`, their types hold every partial sum, and vectors may add in any order."""

    types: Mapping[str, str]
    arrays: Mapping[str, str]
    exact: bool = False

    @classmethod
    def of(cls, body: i.Block, *, exact: bool = False) -> Locals:
        types = {each.name: each.type for each in nodes_in(body, i.Let)}
        arrays = {each.name: each.type for each in nodes_in(body, i.Array)}
        return cls(types, arrays, exact)


def reduction_operations(loop: i.Loop | i.If, types: Mapping[str, str]) -> dict[str, str] | None:
    """The operation by which a loop changes each local that it carries, where threads can join
    shares of it and every order gives the same bits; None where the order counts."""
    found = accumulations(loop) or {}
    fit = all(types.get(name) in ANY_ORDER[op] - {"f64"} for name, op in found.items())
    return found if fit and found.keys() == carried(loop) else None


def accumulations(loop: i.Loop | i.If) -> dict[str, str] | None:
    """The operation by which a loop changes each local that it carries; None where there is more
    than one, or a local is read or set on the way."""
    found: dict[str, str] = {}
    lost = carried(loop)
    uses = [each for each in walk(loop) if getattr(each, "name", None) in lost] if lost else []
    for each in uses:
        if not isinstance(each, i.Accumulate):
            return None
        if found.setdefault(each.name, each.op) != each.op:
            return None
    return found


def conflict(loop: i.Loop, locals_: Locals) -> str:
    """Why iterations may not run at once, as what the loop does; empty where they may.

    They may share accumulators that come out the same in every order; of the arrays around the
    loop each must have an element of its own. (Results are stored once each, by whatever loops.)
    """
    if leaves_loop(loop.body):
        return "may end early"
    arrays = stored_tensors(loop) & locals_.arrays.keys()
    own = {each.name for each in nodes_in(loop, i.Array)}
    for array in sorted(arrays - own):
        if own_place((loop,), array, loop.index) is None:
            return f"changes the same elements of {array} in every iteration"
    if locals_.exact and accumulations(loop) is not None:
        return ""
    if reduction_operations(loop, locals_.types) is None:
        names = " and ".join(sorted(carried(loop)))
        return f"carries {names}, which depends on the order of iterations"
    return ""


def own_place(body: i.Block, tensor: str, index: str) -> i.Expr | None:
    """Where each iteration has its only element of a tensor, another one than all others have;
    None where it has none, or where a statement goes over many elements."""
    places = {each.offset for each in nodes_in(body, i.Load) if each.tensor == tensor}
    many = has(body, *REGIONS) and any(
        tensor in read_tensors(each) for each in walk(body) if isinstance(each, REGIONS)
    )
    if len(places) != 1 or many:
        return None
    (place,) = places
    line = algebra.line(place, index, assigned(body))
    moves = line is not None and isinstance(line.step, i.Const) and line.step != i.ZERO
    return place if moves else None


def have_room(body: i.Block, loop: i.Loop, count: int) -> bool:
    """Whether the arrays of a nest that a loop goes through have elements for so many iterations:
    where they have not, it never has as many, and compilers warn of what never runs."""
    lengths = {each.name: each.length for each in nodes_in(body, i.Array)}
    for each in walk(loop.body):
        if not isinstance(each, i.Load) or loop.index not in names_in(each.offset):
            continue
        if count <= lengths.get(each.tensor, count):
            continue
        line = algebra.line(each.offset, loop.index, assigned(loop.body))
        if line is None or line.step != i.ZERO:
            return False
    return True


def steady_range(loop: i.Loop) -> bool:
    """Whether the loop itself leaves alone what says how often it runs."""
    ends = (loop.low, loop.high)
    return not (names_in(ends) & assigned((loop,)) or read_tensors(ends) & stored_tensors(loop))
