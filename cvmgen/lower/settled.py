"""What the types of a call decide: an integer is never NaN, so tests for it and their locals go."""

from __future__ import annotations

from dataclasses import replace

from cvmgen.ir import nodes as i
from cvmgen.ir.visit import names_in, walk


def settled(statements: tuple[i.Stmt, ...]) -> tuple[i.Stmt, ...]:
    """Typed statements without conditions that are known and without locals that nothing reads."""
    done = block(statements)
    while True:
        used = {*names_in(done)} | {each.name for each in walk(done) if isinstance(each, i.Assign)}
        left = needed(done, used)
        if left == done:
            return done
        done = left


def block(statements: tuple[i.Stmt, ...]) -> tuple[i.Stmt, ...]:
    """Of each condition that is known only the branch that is taken."""
    done: list[i.Stmt] = []
    for statement in statements:
        match statement:
            case i.If(condition=i.Const(value=bool(holds)), then=then, otherwise=otherwise):
                done += block(then if holds else otherwise)
            case i.If(then=then, otherwise=otherwise):
                done.append(replace(statement, then=block(then), otherwise=block(otherwise)))
            case i.Loop(body=body):
                done.append(replace(statement, body=block(body)))
            case _:
                done.append(statement)
    return tuple(done)


def needed(statements: tuple[i.Stmt, ...], used: set[str]) -> tuple[i.Stmt, ...]:
    """Without locals that nothing reads or sets."""
    done: list[i.Stmt] = []
    for statement in statements:
        match statement:
            case i.Let(name=name) if name not in used:
                pass
            case i.If(then=then, otherwise=otherwise):
                branches = needed(then, used), needed(otherwise, used)
                done.append(replace(statement, then=branches[0], otherwise=branches[1]))
            case i.Loop(body=body):
                done.append(replace(statement, body=needed(body, used)))
            case _:
                done.append(statement)
    return tuple(done)
