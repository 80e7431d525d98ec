"""Elements that are there for every point of a loop are loaded before a choice between them.

`A[d...] if c else B[d...]` reads one of the two. Where both lie at the place of the loop itself,
loading both costs a load and saves the branch: a compiler can then choose for many elements at
once, which it may not where a load could leave its tensor.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from cvmgen.ir import nodes as i
from cvmgen.ir.host import with_bodies
from cvmgen.ir.uses import names_in
from cvmgen.ir.visit import fresh, rebuild


def speculate_loads(program: i.Program) -> i.Program:
    """Elements at the place of the loop are loaded before a choice between them.

    For targets whose compilers vectorise: after `offsets`, before `flatten`.
    """
    return with_bodies(program, lambda body: rebuild(body, speculated))


def speculated(node: Any) -> Any:
    """A loop over a box whose store chooses between elements at the place of the loop."""
    match node:
        case i.PackLoop(slots=None, body=(i.Store(value=i.Select() as choice) as store,)):
            found = [each for each in branches(choice) if at_place(each, node.pack)]
        case _:
            return node
    if len(found) < 2:
        return node
    taken = set(names_in(node))
    lets, values = [], {}
    for load in dict.fromkeys(found):
        assert isinstance(load, i.Load)
        name = fresh(load.tensor.lower(), taken)
        lets.append(i.Let(name, "int", load, store.span))
        values[load] = i.Var(name)
    value = rebuild(choice, lambda each: values.get(each, each))
    return replace(node, body=(*lets, replace(store, value=value)))


def branches(choice: i.Select) -> list[i.Expr]:
    """The values of a choice between choices."""
    found: list[i.Expr] = []
    for each in (choice.then, choice.otherwise):
        found += branches(each) if isinstance(each, i.Select) else [each]
    return found


def at_place(value: i.Expr, pack: str) -> bool:
    """An element at the loop's own position: the tensor has the extents of the box."""
    return isinstance(value, i.Load) and value.offset == i.Dot(pack, None)
