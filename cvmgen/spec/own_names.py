"""The names that a definition itself binds, its parameters and indices, and others for them."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import replace
from itertools import count
from typing import Any

from cvmgen.spec import declarations as d
from cvmgen.spec import nodes as n
from cvmgen.spec.builder import BINDERS
from cvmgen.tree import Tree


def own_names(macro: d.Definition) -> set[str]:
    """The names of its parameters and of the indices that its body binds."""
    return {each.name for each in macro.parameters} | bound_indices(macro.body)


def bound_indices(tree: Any) -> set[str]:
    """The indices that binders in a tree, as parsed, bind."""
    binders = (each for each in n.walk(tree) if isinstance(each, BINDERS))
    return {each.target.text for each in binders if isinstance(each.target, n.Name)}


def names_in(tree: Any) -> set[str]:
    return {each.text for each in n.walk(tree) if isinstance(each, n.Name)}


def names_behind(name: str, where: Mapping[str, d.Definition]) -> set[str]:
    """The names that a definition of `where`, and those that it uses, speak of or bind."""
    found, left = set[str](), [name]
    while left:
        macro = where.get(left.pop())
        if macro is None:
            continue
        called = {each.function for each in n.walk(macro.body) if isinstance(each, n.Call)}
        more = (names_in(macro.body) | own_names(macro) | called) - found
        found |= more
        left += more
    return found


def other_names(names: Iterable[str], taken: Collection[str]) -> dict[str, str]:
    """For each name one like it that is not taken."""
    return {name: other_name(name, taken) for name in names}


def other_name(name: str, taken: Collection[str]) -> str:
    return next(each for at in count(2) if (each := f"{name}_{at}") not in taken)


def with_others(macro: d.Definition, others: Mapping[str, str]) -> d.Definition:
    """The definition with other names for names that it binds. Where it does not bind them they
    mean something else, and stay."""
    given = {each.name for each in macro.parameters}
    parameters = tuple(
        replace(each, name=others.get(each.name, each.name)) for each in macro.parameters
    )
    body = renamed(macro.body, {name: others[name] for name in given & others.keys()})

    def change(node: Any) -> Any:
        match node:
            case n.Reduction(binders=binders) | n.Listing(binders=binders):
                pass
            case n.SetOf(binders=binders) | n.Sorted(binders=binders):
                pass
            case _:
                return node
        bound = bound_indices((binders.items, binders.over)) & others.keys()
        return renamed(node, {name: others[name] for name in bound})

    return replace(macro, parameters=parameters, body=n.rebuild(body, change))


def renamed(tree: Tree, others: Mapping[str, str]) -> Tree:
    """A tree, as parsed, with other names for these, and for lets of these names."""

    def change(node: Any) -> Any:
        match node:
            case n.Name(text=name) if name in others:
                return replace(node, text=others[name])
            case d.LetDecl(name=name) if name in others:
                return replace(node, name=others[name])
            case _:
                return node

    return n.rebuild(tree, change) if others else tree
