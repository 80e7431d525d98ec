"""Guards and locals to where they belong: `x if c else 0` in a sum becomes a test around
the addition, and what does not depend on a loop moves in front of it."""

from __future__ import annotations

from dataclasses import replace
from itertools import takewhile

from cvmgen.analysis.definedness import is_defined
from cvmgen.ir import nodes as i
from cvmgen.ir.host import with_bodies
from cvmgen.ir.logic import conjunction, conjuncts, factors_in, merged_conditions, negated
from cvmgen.ir.rewrite import invariant, with_blocks, with_counted_lists, with_own_indices
from cvmgen.ir.uses import assigned, names_in
from cvmgen.ir.visit import rebuild


def place_guards(program: i.Program) -> i.Program:
    """Conditions and locals move out to where they belong."""
    reals = program.operator.has_reals

    def change(body: i.Block) -> i.Block:
        return with_own_indices(with_counted_lists(guarded_block(body, reals)))

    return with_bodies(program, change)


def guarded_block(statements: i.Block, reals: bool) -> i.Block:
    done: list[i.Stmt] = []
    for statement in reused(statements):
        done.extend(with_guards(statement, reals))
    return tuple(done)


def reused(statements: i.Block) -> i.Block:
    """After `let x = e`, the same e is read as x."""
    done: list[i.Stmt] = []
    rest = list(statements)
    while rest:
        statement = rest.pop(0)
        done.append(statement)
        if isinstance(statement, i.Let) and isinstance(statement.value, i.Binary):
            rest = list(read_as(tuple(rest), statement.value, i.Var(statement.name)))
    return tuple(done)


def read_as(statements: i.Block, value: i.Expr, name: i.Var) -> i.Block:
    """The statements with `name` for every `value`."""

    def change(node: i.Expr) -> i.Expr:
        return name if node == value else node

    return rebuild(statements, change)


def with_guards(statement: i.Stmt, reals: bool) -> i.Block:
    match with_blocks(statement, lambda body: guarded_block(body, reals)):
        case i.Accumulate(op="+") as total:
            return (guarded_sum(total, reals),)
        case i.Loop() | i.PackLoop() as loop:
            return hoisted(loop)
        case i.If() as test:
            return (merged_conditions(test),)
        case other:
            return (other,)


def guarded_sum(statement: i.Accumulate, reals: bool) -> i.Stmt:
    """total += (x if c else 0) * w  is  if c: total += x * w.

    Of real numbers w may be infinite, so that the product is not 0; but 0 alone adds nothing: a
    sum that begins with 0 never is -0.
    """
    factors = [statement.value] if reals else factors_in(statement.value)
    for at, factor in enumerate(factors):
        match factor if reals else with_zero_last(factor):
            case i.Select(condition=condition, then=then, otherwise=i.Const(value=0)):
                value = then
                rest = [*factors[:at], None, *factors[at + 1 :]]
                value = rebuilt_product(rest, then)
                inner = guarded_sum(replace(statement, value=value), reals)
                return merged_conditions(i.If(condition, (inner,), (), statement.span))
            case _:
                continue
    return statement


def with_zero_last(factor: i.Expr) -> i.Expr:
    """`0 if c else x` is `x if not c else 0`; not of reals, for NaN's sake."""
    match factor:
        case i.Select(condition=condition, then=i.Const(value=0) as zero, otherwise=value):
            return i.Select(negated(condition), value, zero)
        case _:
            return factor


def rebuilt_product(factors: list[i.Expr | None], filling: i.Expr) -> i.Expr:
    parts = [filling if factor is None else factor for factor in factors]
    result = parts[0]
    for part in parts[1:]:
        result = i.Binary("*", result, part)
    return result


def hoisted(loop: i.Loop | i.PackLoop) -> i.Block:
    """Locals and tests that do not depend on the loop, in front of it and around it."""
    before, kept = invariant(loop, is_defined)
    rest = replace(loop, body=kept)
    match kept:
        case (*locals_, i.If(otherwise=()) as test) if all(
            isinstance(each, i.Let) for each in locals_
        ):
            return (*before, guard_around(rest, locals_, test))
        case _:
            return (*before, rest)


def guard_around(loop: i.Loop | i.PackLoop, locals_: list[i.Stmt], test: i.If) -> i.Stmt:
    """Move the conjuncts that do not vary with the loop around it."""
    tests, varying = conjuncts(test.condition), assigned(loop)
    # Only leading conjuncts: a later one may rely on those before it.
    outer = tuple(takewhile(lambda each: is_defined(each) and not names_in(each) & varying, tests))
    inner = tests[len(outer) :]
    body: i.Block = test.then
    if inner:
        body = (replace(test, condition=conjunction(inner)),)
    smaller = replace(loop, body=(*locals_, *body))
    if not outer:
        return smaller
    return i.If(conjunction(outer), (smaller,), (), test.span)
