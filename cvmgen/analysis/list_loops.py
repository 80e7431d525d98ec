"""What the loops of a nest that fills a selected list do: look, decide, or append."""

from __future__ import annotations

from cvmgen.ir import nodes as i
from cvmgen.ir.uses import has, names_in, nodes_in, reassigned
from cvmgen.ir.visit import walk


def loads_of(node: i.Stmt | i.Block, own: frozenset[str]) -> list[i.Load]:
    """The elements of some memory that statements read; a sort reads all of it."""
    stored = {id(each.target) for each in nodes_in(node, i.Store)}
    loads = nodes_in(node, i.Load)
    return [each for each in loads if each.tensor in own and id(each) not in stored]


def reads_so_far(loop: i.Loop, counter: str, own: frozenset[str]) -> bool:
    """Whether a selection reads what it has found so far, or how much of it there is."""
    *before, last = loop.body
    tests = (*before, last.condition) if isinstance(last, i.If) else tuple(before)
    stores = {id(each) for each in walk(loop.body) if isinstance(each, (i.Store, i.Accumulate))}
    counted = any(counter in names_in(each) for each in tests if id(each) not in stores)
    return counted or bool(loads_of(loop, own))


def decision(loop: i.Loop) -> i.Assign | None:
    """The assignment of a loop that does nothing but look for an element that decides."""
    return sole_assignment(loop.body)


def sole_assignment(body: i.Block) -> i.Assign | None:
    """The assignment behind tests one in the other, before which nothing but locals is set."""
    match body:
        case (*before, i.If(then=then, otherwise=())):
            own = {each.name for each in nodes_in(tuple(before), i.Let)}
            if has(tuple(before), i.Store) or not reassigned(tuple(before)) <= own:
                return None
            match then:
                case (i.Assign() as found, i.Break()):
                    return found
                case _:
                    return sole_assignment(then)
        case _:
            return None


def list_counter(body: i.Block) -> str | None:
    """The local that counts what the body of a loop appends to a list."""
    match body:
        case (*_, i.If(then=(*_, i.Store(), i.Accumulate(name=name)), otherwise=())):
            return name
        case (*_, i.Store(), i.Accumulate(name=name)):
            return name
        case _:
            return None
