"""What a nest needs of lists is computed once a call: sizes, single extents, lengths."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from cvmgen.ir import nodes as i
from cvmgen.ir.host import with_host_part
from cvmgen.ir.uses import assigned, has, names_in, nodes_in
from cvmgen.ir.visit import fresh, rebuild, walk
from cvmgen.lower.lift import of_nests


def host_values(program: i.Program) -> i.Program:
    """What nests need of lists is computed once a call.

    Nests read scalars; the lists stay with the host, except in walks of open rank.
    """
    taken = set(names_in(program.prepare)) | assigned(program.prepare)
    added: set[tuple[int | None, i.Stmt]] = set()
    known: dict[i.Expr, str] = {}
    shapes = shapes_of_several(program)
    lists = frozenset(
        each.name
        for each in program.operator.attributes
        if each.is_listed and (each.optional or each.kind == "real")
    )

    def change(nest: i.Nest) -> tuple[i.Nest, list[i.Stmt]]:
        values = HostValues(nest, taken, known if nest.each is None else {}, shapes, lists)
        body: i.Block = rebuild(nest.body, values.change)
        if nest.each is not None:
            body = rebuild(body, values.whole_shape)
            return replace(nest, body=body), values.lets
        lets = [each for each in values.lets if (nest.case, each) not in added]
        added.update((nest.case, each) for each in lets)
        return replace(nest, body=body), lets

    return with_host_part(program, change)


class HostValues:
    """Names for the scalars that one nest takes from lists; `known` are those of other nests.

    `shapes` are lists of lists: one for each tensor of a variadic input. Of `lists` nests read
    entries themselves: these are real numbers, or may not be there.
    """

    def __init__(
        self,
        nest: i.Nest,
        taken: set[str],
        known: dict[i.Expr, str],
        shapes: frozenset[str],
        lists: frozenset[str],
    ) -> None:
        self.shapes, self.lists = shapes, lists
        self.inner = assigned(nest.body) | comprehended(nest.body) | packs(nest.body)
        self.guarded = guarded_items(nest.body)
        self.taken = taken
        self.known = known
        self.span = nest.span
        self.local: dict[i.Expr, str] = {}
        self.lets: list[i.Stmt] = []

    def whole_shape(self, node: i.Expr) -> i.Expr:
        """The shape of the tensor at hand, of which the nest picks entries, as a list."""
        match node:
            case i.Item(sequence=i.Var(name=name), index=i.Var(name=index)) if name in self.shapes:
                if node not in self.local:
                    self.local[node] = fresh(f"{name}_{index}", self.taken)
                    self.lets.append(i.Let(self.local[node], "list", node, self.span))
                return i.Var(self.local[node])
            case _:
                return node

    def change(self, node: i.Expr) -> i.Expr:
        if (
            not is_host_scalar(node, self.shapes)
            or names_in(node) & (self.inner | self.lists)
            or node in self.guarded
        ):
            return node
        if node not in self.local:
            name = self.known.get(node) or fresh(name_for(node), self.taken)
            self.known[node] = self.local[node] = name
            self.lets.append(i.Let(name, "int", node, self.span))
        return i.Var(self.local[node])


def guarded_items(statements: i.Block) -> set[i.Expr]:
    """The entries of lists that are read only where a condition holds, or in terms of which there
    may be none: the list may be too short for them in other calls."""

    def unguarded(node: Any) -> Any:
        match node:
            case i.Select(condition=condition):
                return condition
            case i.If():
                return replace(node, then=(), otherwise=())
            case i.Logic(operands=(first, *_)):
                return first
            case i.Fold(over=over) | i.Gather(over=over):
                return replace(node, element=i.Const(0), condition=None, over=over[:1])
            case i.Loop(body=body) | i.PackLoop(body=body) if not stores_free_indices(body):
                return replace(node, body=())
            case _:
                return node

    return items_in(statements) - items_in(rebuild(statements, unguarded))


def stores_free_indices(statements: i.Block) -> bool:
    """Whether statements are of the free indices, not of a reduction."""
    return has(statements, i.Store)


def items_in(statements: i.Block) -> set[i.Expr]:
    return {*nodes_in(statements, i.Item)}


def comprehended(statements: i.Block) -> set[str]:
    """The indices of comprehensions."""
    indices = {each.index for each in nodes_in(statements, i.Over)}
    return indices | {each.pack for each in nodes_in(statements, i.OverPack)}


def packs(statements: i.Block) -> set[str]:
    """The packs that loops bind in parts."""
    loops = nodes_in(statements, i.PackLoop)
    return {loop.whole for loop in loops if loop.slots is not None}


def shapes_of_several(program: i.Program) -> frozenset[str]:
    """The names of the shapes of variadic inputs."""
    items = (item for item in program.operator.inputs if item.variadic)
    return frozenset(str(extent.new) for item in items for extent in item.extents)


def is_host_scalar(node: i.Expr, shapes: frozenset[str]) -> bool:
    """A scalar taken from a host list."""
    match node:
        case i.Item(sequence=i.Var(name=name)) if name in shapes:
            return False
        case i.Item(sequence=i.Item(sequence=i.Var()), index=i.Const() | i.Var()):
            return True
        case i.Call(function="size" | "len", arguments=(argument,)):
            return not any(map(of_nests, walk(argument)))
        case i.Item(sequence=i.Var(), index=i.Const() | i.Var()):
            return True
        case _:
            return False


def name_for(node: i.Expr) -> str:
    match node:
        case i.Call(function=function, arguments=(i.Var(name=name),)):
            return f"{name}_{function}"
        case i.Call(function=function, arguments=(i.Part(sequence=i.Var(name=name)),)):
            return f"{name}_part_{function}"
        case i.Item(sequence=i.Item() as sequence, index=i.Const(value=value)):
            return f"{name_for(sequence)}_{value}"
        case i.Item(sequence=i.Item() as sequence, index=i.Var(name=index)):
            return f"{name_for(sequence)}_{index}"
        case i.Item(sequence=i.Var(name=name), index=i.Const(value=value)):
            return f"{name}_{value}"
        case i.Item(sequence=i.Var(name=name), index=i.Var(name=index)):
            return f"{name}_{index}"
        case _:
            return "length"
