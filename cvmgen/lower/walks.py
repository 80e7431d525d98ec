"""Boxes of open rank to two loops: rows of the box, and a strided run along its last dimension.

For targets without multi-index loops. Before the rows are counted, neighbouring
dimensions that every tensor walks alike are merged, so a walk over contiguous tensors is
one run. Where entries of the multi-index are used one by one, the walk goes through linear
positions instead and unravels each.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

from cvmgen.ir import nodes as i
from cvmgen.ir.host import with_host_part
from cvmgen.ir.rewrite import with_blocks
from cvmgen.ir.uses import names_in, nodes_in
from cvmgen.ir.visit import fresh, rebuild, walk


def walk_boxes(program: i.Program) -> i.Program:
    """A box of open rank becomes rows and a strided run."""
    taken = set(names_in((program.prepare, tuple(nest.body for nest in program.nests))))
    shared = shared_steps(program)

    def change(nest: i.Nest) -> tuple[i.Nest, list[i.Stmt]]:
        walks = Walks(taken, shared)
        return replace(nest, body=walks.block(nest_of_one_tensor(nest))), walks.host

    return with_host_part(program, change)


def nest_of_one_tensor(nest: i.Nest) -> i.Block:
    """A nest over a variadic input reads the tensor that it is given."""
    if nest.each is None:
        return nest.body
    index = i.Var(nest.each[0])

    def change(node: i.Expr) -> i.Expr:
        if isinstance(node, i.Load) and node.which == index:
            return replace(node, which=None)
        return node

    return rebuild(nest.body, change)


def shared_steps(program: i.Program) -> set[str]:
    """Step lists that more than one loop walks by, or that other lists are made from."""
    users: Counter[tuple[int, str]] = Counter()
    for number, nest in enumerate(program.nests):
        for each in walk(nest.body):
            if isinstance(each, i.PackLoop):
                users.update((number, name) for name in set(_steps(each)))
    shared = {name for (_, name), loops in users.items() if loops > 1}
    names = {name for _, name in users}
    read = names_in((program.prepare, tuple(nest.prologue for nest in program.nests)))
    changed = {each.name for each in nodes_in(program.prepare, i.AddAt)}
    for nest in program.nests:
        changed |= {each.name for each in nodes_in(nest.prologue, i.AddAt)}
    return shared | ((names & read) - changed)


class Walks:
    def __init__(self, taken: set[str], shared: set[str]) -> None:
        self.taken = taken
        self.shared = shared
        self.host: list[i.Stmt] = []
        self.open_packs: set[str] = set()  # bound in parts by the loops around

    def fresh(self, name: str) -> str:
        return fresh(name, self.taken)

    def block(self, statements: i.Block) -> i.Block:
        return tuple(self.statement(statement) for statement in statements)

    def statement(self, statement: i.Stmt) -> i.Stmt:
        if isinstance(statement, i.PackLoop):
            return self.strided(statement) if strided(statement) else self.unravelled(statement)
        return with_blocks(statement, self.block)

    def strided(self, loop: i.PackLoop) -> i.Stmt:
        span, pack = loop.span, loop.pack
        box = self.fresh(f"{pack}_box")
        self.host.append(i.Let(box, "list", loop.extents, span))
        steps = list(dict.fromkeys(_steps(loop)))
        own = {name: self.own(name, loop) for name in steps}
        self.host.append(i.Merge(box, tuple(own.values()), False, span))
        rows, run = self.fresh(f"{pack}_rows"), self.fresh(f"{pack}_run")
        self.host.append(i.Let(rows, "int", i.Call("rows", (i.Var(box),)), span))
        self.host.append(i.Let(run, "int", i.Call("last", (i.Var(box),)), span))
        row = f"{pack}_row"
        starts: list[i.Stmt] = []
        values: dict[i.Expr, i.Expr] = {}
        position = i.Binary("+", i.Binary("*", i.Var(row), i.Var(run)), i.Var(pack))
        values[i.Dot(pack, None)] = position
        for name in steps:
            tensor = own[name].replace("_steps", "")
            start, step = self.fresh(f"{tensor}_row"), self.fresh(f"{tensor}_step")
            last = i.Call("last", (i.Var(own[name]),))
            self.host.append(i.Let(step, "int", last, span))
            at = i.Call("walk_offset", (i.Var(row), i.Var(box), i.Var(own[name])))
            starts.append(i.Let(start, "int", at, span))
            moved = i.Binary("*", i.Var(pack), i.Var(step))
            values[i.Dot(pack, i.Var(name))] = i.Binary("+", i.Var(start), moved)
        body = rebuild(self.block(loop.body), lambda node: values.get(node, node))
        inner = i.Loop(pack, i.Const(0), i.Var(run), body, 0, span)
        return i.Loop(row, i.Const(0), i.Var(rows), (*starts, inner), 0, span)

    def own(self, name: str, loop: i.PackLoop) -> str:
        """A step list of this loop alone, since merging changes it."""
        if name not in self.shared:
            return name
        copy = self.fresh(f"{name.split('_')[0]}_steps")
        self.host.append(i.Let(copy, "list", i.Var(name), loop.span))
        return copy

    def unravelled(self, loop: i.PackLoop) -> i.Stmt:
        """Every position, its multi-index in a local list."""
        span, pack = loop.span, loop.pack
        size = self.fresh(f"{pack}_size")
        self.host.append(i.Let(size, "int", i.Call("size", (loop.extents,)), span))
        at = f"{pack}_at"
        index = i.Call("unflatten", (i.Var(at), loop.extents))
        statements: list[i.Stmt] = [i.Let(pack, "list", index, span)]
        opened = False
        if loop.slots is not None:
            whole = loop.whole
            opened = whole not in self.open_packs
            if opened:
                zeros = i.Call("zeros", (i.Call("max_rank", ()),))
                statements.append(i.Let(whole, "list", zeros, span))
                self.open_packs.add(whole)
            statements += self.scattered(loop)
        values: dict[i.Expr, i.Expr] = {i.Dot(pack, None): i.Var(at)}

        def change(node: i.Expr) -> i.Expr:
            if isinstance(node, i.Dot) and node.pack == pack and node.steps is not None:
                return i.Call("dot", (i.Var(pack), node.steps))
            return values.get(node, node)

        body = rebuild(self.block(loop.body), change)
        if opened:
            self.open_packs.discard(whole)
        return i.Loop(at, i.Const(0), i.Var(size), (*statements, *body), 0, span)

    def scattered(self, loop: i.PackLoop) -> list[i.Stmt]:
        """Write the entries of a part into the pack of the formula."""
        assert loop.slots is not None
        span = loop.span
        whole = loop.whole
        place = i.Item(loop.slots, i.Var("slot"))
        entry = i.Item(i.Var(loop.pack), i.Var("slot"))
        write = i.SetAt(whole, place, entry, span)
        count = i.Call("len", (loop.slots,))
        return [i.Loop("slot", i.Const(0), count, (write,), 0, span)]


def _steps(loop: i.PackLoop) -> list[str]:
    return [
        each.steps.name
        for each in nodes_in(loop.body, i.Dot)
        if each.pack == loop.pack and isinstance(each.steps, i.Var)
    ]


def strided(loop: i.PackLoop) -> bool:
    """Whether the multi-index is used through strides only."""
    others = rebuild(
        loop.body,
        lambda node: i.Const(0) if isinstance(node, i.Dot) and node.pack == loop.pack else node,
    )
    names = names_in(others)
    if loop.pack in names:
        return False
    return loop.slots is None or loop.whole not in names
