"""Which names statements and expressions read, set and change, and which elements.

Passes and schedules ask this of nearly the same tree again and again. Nodes never change, so what
was found of one is remembered by the node itself (not by its value, which takes a walk to compare).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, TypeVar

from cvmgen.functions import REAL_FUNCTIONS
from cvmgen.ir import nodes as i
from cvmgen.ir.checks import NOTED
from cvmgen.ir.visit import children, walk

Names = frozenset[str]
Node = TypeVar("Node")
NONE: Names = frozenset()


class Uses:
    """What stands anywhere below a node. Of what is made of other nodes it is what stands below
    these, put together when it is asked for first: most is never asked for."""

    __slots__ = (
        *("parts", "read", "assigned", "made", "changed"),
        *("loaded", "stored", "named", "kinds", "nodes"),
    )
    parts: tuple[Uses, ...]
    read: Names  # names that are read, bound there or not
    assigned: Names  # names that are set
    made: Names  # locals, indices and arrays that are declared
    changed: Names  # locals that get a second value
    loaded: Names  # tensors and arrays of which elements are read or written
    stored: Names  # those of which elements are written
    named: Names  # tensors that are asked for, and what outlined functions capture
    kinds: frozenset[type]  # the classes of all nodes
    nodes: int

    def __init__(self, parts: tuple[Uses, ...]) -> None:
        self.parts = parts

    def __getattr__(self, field: str) -> Any:
        """What nobody has asked for yet."""
        found: Any = [each for part in self.parts if (each := getattr(part, field))]
        if field == "nodes":
            found = sum(found)
        else:
            found = found[0] if len(found) == 1 else NONE.union(*found)
        setattr(self, field, found)
        return found


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
        if node.__class__ is tuple:
            left += node[::-1]
        elif isinstance(node, (i.Loop, i.If)):
            if isinstance(node, kind):
                yield node
            left += [*children(node)][::-1]
        else:
            yield from (each for each in walk(node) if isinstance(each, kind))


# What is made of nodes of which more is asked by themselves.
PARTED = frozenset((i.Loop, i.PackLoop, i.If))
TELLING = frozenset(
    (
        *(i.Var, i.Dot, i.Load, i.Access, i.Address, i.Let, i.Array, i.Loop, i.PackLoop),
        *(i.Assign, i.SetAt, i.Append, i.Capture, i.Typed, i.Given, i.Overflow),
        *(i.Accumulate, i.AddAt, i.Store, i.Copy, i.Move, i.Turn, i.Slide, i.Apply),
        *(i.Products, i.Fill, i.Tile, i.Sort),
    )
)
REMEMBERED: dict[int, tuple[object, Uses]] = {}
MOST = 1 << 17  # nodes; each keeps its own alive, so that its number means no other


def uses(node: Any) -> Uses:
    """What stands below a node."""
    known = REMEMBERED.get(id(node))
    if known is not None and known[0] is node:
        return known[1]
    assert node.__class__ not in (list, set), "blocks are tuples; nothing is found in others"
    if node.__class__ is tuple:
        found = Uses(tuple(map(uses, node)))
    elif node.__class__ in PARTED:
        found = Uses((uses_of((node,)), *map(uses, children(node))))
    else:
        found = uses_of(walk(node))
    if len(REMEMBERED) >= MOST:
        REMEMBERED.clear()
    REMEMBERED[id(node)] = node, found
    return found


def uses_of(nodes: Iterable[Any]) -> Uses:
    """What nodes say by themselves, all together."""
    read: set[str] = set()  # (to call `set[str]` takes ten times as long)
    set_: set[str] = set()
    made: set[str] = set()
    changed_: set[str] = set()
    loaded: set[str] = set()
    stored: set[str] = set()
    named: set[str] = set()
    kinds: list[type] = []
    for each in nodes:
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
    found = Uses(())
    found.kinds, found.nodes = frozenset(kinds), len(kinds)
    if read:
        found.read = frozenset(read)
    if loaded:
        found.loaded = frozenset(loaded)
    if set_ or made or changed_:
        found.assigned, found.made, found.changed = map(frozenset, (set_, made, changed_))
    if stored:
        found.stored = frozenset(stored)
    if named:
        found.named = frozenset(named)
    return found


def may_be_real(node: object) -> bool:
    """Whether a part of an expression can be a real number, or makes one an integer."""
    called = isinstance(node, i.Call) and node.function in REAL_FUNCTIONS
    return called or isinstance(node, (i.Load, i.Access, i.Real, i.Limit))
