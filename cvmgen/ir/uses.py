"""Which names statements and expressions read, set and change, and which elements.

Passes and schedules ask this of nearly the same tree again and again. Nodes never change, so what
was found of one is remembered by the node itself (not by its value, which takes a walk to compare).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple, TypeVar

from cvmgen.functions import REAL_FUNCTIONS
from cvmgen.ir import nodes as i
from cvmgen.ir.checks import NOTED
from cvmgen.ir.visit import children, walk

Names = frozenset[str]
Node = TypeVar("Node")
NONE: Names = frozenset()


class Uses(NamedTuple):
    """What stands anywhere below a node."""

    read: Names = NONE  # names that are read, bound there or not
    assigned: Names = NONE  # names that are set
    made: Names = NONE  # locals, indices and arrays that are declared
    changed: Names = NONE  # locals that get a second value
    loaded: Names = NONE  # tensors and arrays of which elements are read or written
    stored: Names = NONE  # those of which elements are written
    named: Names = NONE  # tensors that are asked for, and what outlined functions capture
    kinds: frozenset[type] = frozenset()  # the classes of all nodes
    nodes: int = 0


NOTHING = Uses()
LOOP, IF = frozenset((i.Loop,)), frozenset((i.If,))


def names_in(node: Any) -> Names:
    """The names that expressions and statements read (bound inside or not)."""
    return uses(node).read


def assigned(node: Any) -> Names:
    """The names that a block sets."""
    return uses(node).assigned


def bound_in(node: Any) -> Names:
    """The names that expressions bind: of values, and the indices of folds and comprehensions."""
    found = set()
    for each in walk(node):
        match each:
            case i.Over(index=name) | i.OverPack(pack=name) | i.Bind(name=name):
                found.add(name)
            case _:
                pass
    return frozenset(found)


def reassigned(node: Any) -> Names:
    """The locals that a block gives a second value."""
    return uses(node).changed


def carried(node: Any) -> Names:
    """The locals that a block changes and does not declare: of a loop's iteration what it leaves
    for the next."""
    found = uses(node)
    return found.changed - found.made


def read_tensors(node: Any) -> Names:
    """The tensors and arrays that are read or written."""
    return uses(node).loaded


def stored_tensors(node: Any) -> Names:
    """The tensors and arrays that are written."""
    return uses(node).stored


def all_names(node: Any) -> Names:
    """Every name that stands below: of locals and indices, of tensors and arrays."""
    found = uses(node)
    return found.read | found.assigned | found.loaded | found.named


def made_in(node: Any) -> Names:
    """The locals, indices and arrays that a block makes."""
    return uses(node).made


def has(node: Any, *kinds: type) -> bool:
    """Whether a node of these classes stands anywhere below."""
    return not uses(node).kinds.isdisjoint(kinds)


def nodes_in(node: Any, kind: type[Node]) -> Iterator[Node]:
    """The nodes of a class, parents first; blocks without one are not walked through."""
    left = [node]
    while left:
        node = left.pop()
        if kind not in uses(node).kinds:
            continue
        if isinstance(node, (tuple, i.Loop, i.If)):
            if isinstance(node, kind):
                yield node
            left += [*children(node)][::-1]
        else:
            yield from (each for each in walk(node) if isinstance(each, kind))


TELLING = frozenset(
    (
        *(i.Var, i.Dot, i.Load, i.Access, i.Address, i.Let, i.Array, i.Loop, i.PackLoop),
        *(i.Assign, i.SetAt, i.Append, i.Capture, i.Typed, i.Given, i.Overflow),
        *(i.Accumulate, i.AddAt, i.Store, i.Copy, i.Move, i.Turn, i.Slide, i.Apply),
        *(i.Products, i.Fill, i.Tile, i.Sort),
    )
)
REMEMBERED: dict[int, tuple[object, Uses]] = {}
MOST = 1 << 16  # nodes; each keeps its own alive, so that its number means no other


def uses(node: Any) -> Uses:
    """What stands below a node."""
    known = REMEMBERED.get(id(node))
    if known is not None and known[0] is node:
        return known[1]
    found = collected(node)
    if len(REMEMBERED) >= MOST:
        REMEMBERED.clear()
    REMEMBERED[id(node)] = node, found
    return found


def collected(node: Any) -> Uses:
    """The same, from what is remembered of the statements of blocks."""
    assert not isinstance(node, (list, set)), "blocks are tuples; nothing is found in others"
    match node:
        case tuple():
            return union_of_uses(map(uses, node))
        case i.Loop(index=index, low=low, high=high, body=body):
            own = Uses(assigned=(name := frozenset((index,))), made=name, kinds=LOOP, nodes=1)
            return union_of_uses((own, *map(uses, (low, high, node.worth, node.share, body))))
        case i.If(condition=condition, then=then, otherwise=otherwise):
            own = Uses(kinds=IF, nodes=1)
            return union_of_uses((own, *map(uses, (condition, then, otherwise))))
        case _:
            return uses_by_walk(node)


def union_of_uses(several: Iterable[Uses]) -> Uses:
    found = [each for each in several if each.nodes]
    if len(found) <= 1:
        return found[0] if found else NOTHING
    *sets, nodes = zip(*found, strict=True)
    return Uses._make([*[NONE.union(*each) if any(each) else NONE for each in sets], sum(nodes)])


def uses_by_walk(node: Any) -> Uses:
    """The same by a walk through all nodes."""
    read, set_, made, changed_ = set[str](), set[str](), set[str](), set[str]()
    loaded, stored, named = set[str](), set[str](), set[str]()
    kinds: list[type] = []
    for each in walk(node):
        kinds.append(each.__class__)
        if each.__class__ not in TELLING:
            continue
        if isinstance(each, i.Capture):
            named.add(each.name)
        match each:
            case i.Var(name=name) | i.Dot(pack=name):
                read.add(name)
            case i.Load(tensor=tensor) | i.Access(tensor=tensor):
                loaded.add(tensor)
            case i.Typed(name=name):
                set_.add(name)
                made.add(name)
            case i.Address(place=i.Var(name=name)):
                set_.add(name)
                changed_.add(name)
            case i.Let(name=name) | i.Loop(index=name) | i.PackLoop(pack=name):
                set_.add(name)
                made.add(name)
            case i.Array(name=name):
                made.add(name)
            case i.Given(name=name):
                named.add(name)
            case i.Overflow():
                named.add(NOTED)
            case i.Assign(name=name) | i.SetAt(name=name) | i.Append(name=name):
                set_.add(name)
                changed_.add(name)
            case i.Accumulate(name=name) | i.AddAt(name=name) | i.Capture(name=name, kind="total"):
                read.add(name)
                set_.add(name)
                changed_.add(name)
            case i.Store(target=target) | i.Copy(target=target) | i.Move(target=target):
                stored.add(target.tensor)
            case i.Turn(target=target) | i.Slide(target=target) | i.Fill(target=target):
                stored.add(target.tensor)
            case i.Tile(totals=target) | i.Products(totals=target) | i.Apply(values=target):
                stored.add(target.tensor)
            case i.Sort():
                below = (part for part in walk(each) if isinstance(part, (i.Load, i.Access)))
                stored |= {part.tensor for part in below}
            case _:
                pass
    return Uses(
        frozenset(read),
        frozenset(set_),
        frozenset(made),
        frozenset(changed_),
        frozenset(loaded),
        frozenset(stored),
        frozenset(named),
        frozenset(kinds),
        len(kinds),
    )


def may_be_real(node: object) -> bool:
    """Whether a part of an expression can be a real number, or makes one an integer."""
    called = isinstance(node, i.Call) and node.function in REAL_FUNCTIONS
    return called or isinstance(node, (i.Load, i.Access, i.Real, i.Limit))
