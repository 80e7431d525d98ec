"""What the types of a call decide: an integer is never NaN, so tests for it and their locals go."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from typing import Any

from cvmgen.ir import nodes as i
from cvmgen.ir.host import with_bodies
from cvmgen.ir.rewrite import inner_blocks, rewritten, with_blocks, without_dead
from cvmgen.ir.uses import names_in
from cvmgen.ir.visit import rebuild, substitute, walk
from cvmgen.typing.machine_types import is_constant_test, joined_tests


def without_known_tests(statements: i.Block) -> i.Block:
    """Typed statements without conditions that are known and without locals that nothing reads."""
    while True:
        done = decided_block(rebuild(statements, simpler))
        done = with_values(done, known_truths(done))
        done = without_dead(done)
        if done == statements:
            return done
        statements = done


def without_known(program: i.Program) -> i.Program:
    """Nests without what conditions that are written out leave aside, and without the values that
    only this reads: names that nothing reads would be faults in C."""

    def change(node: Any) -> Any:
        node = simpler(node)
        if isinstance(node, i.Bind) and node.name not in names_in(node.body):
            return node.body
        return node

    return with_bodies(program, lambda body: rebuild(body, change))


def simpler(node: Any) -> Any:
    """An expression whose conditions are partly known."""
    match node:
        case i.Logic(op=op, operands=operands):
            return joined_tests(op, operands)
        case i.Not(operand=i.Const(value=bool(truth))):
            return i.Const(not truth)
        case i.Select(condition=i.Const(value=bool(truth)), then=then, otherwise=otherwise):
            return then if truth else otherwise
        case _:
            return node


def decided_block(statements: i.Block) -> i.Block:
    """Of each condition that is known only the branch that is taken, and no empty statement."""
    done: list[i.Stmt] = []
    for statement in statements:
        match statement:
            case i.If(condition=i.Const(value=bool(holds)), then=then, otherwise=otherwise):
                done += decided_block(then if holds else otherwise)
            case i.If(
                condition=i.Var(name=test), then=(i.Assign(name=name, value=value) as last,)
            ) if name == test and is_constant_test(value, False) and not statement.otherwise:
                done.append(last)  # a condition that is taken back where it held
            case i.If(
                condition=i.Not(operand=i.Var(name=test)), then=(i.Assign(name=name) as last,)
            ) if name == test and is_constant_test(last.value, True) and not statement.otherwise:
                done.append(last)  # one that is granted where it did not hold
            case i.If(condition=i.Var(name=test), then=(i.Assign(name=name, value=value),)) if (
                name == test and is_constant_test(value, True) and not statement.otherwise
            ):
                pass
            case i.If() | i.Loop():
                inner = with_blocks(statement, decided_block)
                if any(inner_blocks(inner)):
                    done.append(inner)
            case _:
                done.append(statement)
    return sunk_declarations(merged_initial_values(tuple(done)))


def merged_initial_values(statements: i.Block) -> i.Block:
    """A truth value that is tested, or given anew, right after a local begins with another."""
    done = list(statements)
    for at, (first, second) in enumerate(pairwise(statements)):
        match first, second:
            case i.Let(name=name), i.Assign(name=other, value=i.Const(value=bool())) if (
                name == other
            ):
                done[at : at + 2] = [replace(first, value=second.value)]
                return merged_initial_values(tuple(done))
            case i.Let(name=name, value=i.Const(value=bool(truth))), i.If(
                condition=i.Var(name=test), then=then, otherwise=otherwise
            ) if name == test:
                done[at + 1 : at + 2] = then if truth else otherwise
                return merged_initial_values(tuple(done))
            case _:
                pass
    return statements


def sunk_declarations(statements: i.Block) -> i.Block:
    """A local that is set once, before anything reads it, begins there; a second name goes."""
    for at, first in enumerate(statements):
        if not isinstance(first, i.Let):
            continue
        before, rest = statements[:at], statements[at + 1 :]
        if isinstance(first.value, i.Var) and not changes(rest, first.name, first.value.name):
            return sunk_declarations((*before, *substitute(rest, {first.name: first.value})))
        found = [each for each in rest if isinstance(each, i.Assign) and each.name == first.name]
        if len(found) != 1:
            continue
        (setting,) = found
        between = rest[: rest.index(setting)]
        behind = rest[len(between) + 1 :]
        read = first.name in names_in((*between, setting.value))
        if not read and not changes((*between, *behind), first.name):
            return sunk_declarations(
                (*before, *between, replace(first, value=setting.value), *behind)
            )
    return statements


def changes(statements: i.Block, *names: str) -> bool:
    """Whether statements give one of the locals another value."""
    return any(
        isinstance(each, (i.Assign, i.Accumulate)) and each.name in names
        for each in walk(statements)
    )


def known_truths(statements: i.Block) -> dict[str, i.Expr]:
    """The locals that never have but one truth value."""
    values: dict[str, set[bool | None]] = {}
    for each in walk(statements):
        match each:
            case i.Let(name=name, value=i.Const(value=bool(truth))):
                values.setdefault(name, set()).add(truth)
            case i.Assign(name=name, value=i.Const(value=bool(truth))):
                values.setdefault(name, set()).add(truth)
            case i.Accumulate(name=name, op="or", value=i.Const(value=False)):
                pass
            case i.Accumulate(name=name, op="and", value=i.Const(value=True)):
                pass
            case i.Let(name=name) | i.Assign(name=name) | i.Accumulate(name=name):
                values.setdefault(name, set()).add(None)
            case _:
                pass
    found = {name: next(iter(truths)) for name, truths in values.items() if len(truths) == 1}
    return {name: i.Const(truth) for name, truth in found.items() if truth is not None}


def with_values(statements: i.Block, known: dict[str, i.Expr]) -> i.Block:
    """The statements with the values of these locals in their places."""
    sets = (i.Let, i.Assign, i.Accumulate)

    def change(statement: i.Stmt) -> i.Block | None:
        return () if isinstance(statement, sets) and statement.name in known else None

    return rewritten(substitute(statements, known), change)
