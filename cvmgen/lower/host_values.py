"""What a nest needs of lists is computed once a call: sizes, single extents, lengths."""

from __future__ import annotations

from dataclasses import replace

from cvmgen.ir import nodes as i
from cvmgen.ir.visit import names_in, rebuild, walk
from cvmgen.lower.guards import assigned
from cvmgen.lower.offsets import insert


def host_values(program: i.Program) -> i.Program:
    """Nests read scalars; the lists stay with the host, except in walks of open rank."""
    taken = set(names_in(program.prepare)) | assigned(program.prepare)
    added: dict[int | None, list[i.Stmt]] = {}
    known: dict[i.Expr, str] = {}
    nests = []
    for nest in program.nests:
        if nest.each is not None:
            known = {}
        inner = assigned(nest.body) | comprehended(nest.body)
        prologue: list[i.Stmt] = []
        local: dict[i.Expr, str] = {}

        def change(
            node: i.Expr,
            inner: set[str] = inner,
            nest: i.Nest = nest,
            local: dict[i.Expr, str] = local,
            prologue: list[i.Stmt] = prologue,
        ) -> i.Expr:
            if not is_list_value(node) or names_in(node) & inner:
                return node
            if node not in local:
                name = known.get(node) or fresh(name_for(node), taken)
                known[node] = local[node] = name
                let = i.Let(name, "int", node, nest.span)
                (prologue if nest.each else added.setdefault(nest.case, [])).append(let)
            return i.Var(local[node])

        body = outermost(nest.body, change)
        nests.append(replace(nest, body=body, prologue=(*nest.prologue, *unique(prologue))))
    prepare = insert(program.prepare, {case: unique(lets) for case, lets in added.items()})
    return replace(program, prepare=prepare, nests=tuple(nests))


def outermost(
    statements: tuple[i.Stmt, ...], change: object
) -> tuple[i.Stmt, ...]:
    result: tuple[i.Stmt, ...] = rebuild(statements, change)  # type: ignore[arg-type]
    return result


def comprehended(statements: tuple[i.Stmt, ...]) -> set[str]:
    """The indices of comprehensions."""
    return {each.index for each in walk(statements) if isinstance(each, i.Over)}


def is_list_value(node: i.Expr) -> bool:
    """A scalar taken from a host list."""
    match node:
        case i.Call(function="size" | "len", arguments=(argument,)):
            return not any(isinstance(each, (i.Load, i.Access)) for each in walk(argument))
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
        case i.Item(sequence=i.Var(name=name), index=i.Const(value=value)):
            return f"{name}_{value}"
        case i.Item(sequence=i.Var(name=name), index=i.Var(name=index)):
            return f"{name}_{index}"
        case _:
            return "length"


def fresh(name: str, taken: set[str]) -> str:
    local, number = name, 2
    while local in taken:
        local, number = f"{name}_{number}", number + 1
    taken.add(local)
    return local


def unique(lets: list[i.Stmt]) -> list[i.Stmt]:
    return list(dict.fromkeys(lets))


