"""Conditions and products taken apart and put together."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from cvmgen.functions import OPPOSITE
from cvmgen.ir import nodes as i


def conjuncts(condition: i.Expr) -> tuple[i.Expr, ...]:
    """The tests that a condition asks for all at once."""
    match condition:
        case i.Logic(op="and", operands=operands):
            return tuple(each for operand in operands for each in conjuncts(operand))
        case _:
            return (condition,)


def conjunction(tests: Iterable[i.Expr]) -> i.Expr:
    """The test that all of some hold."""
    return combination("and", tests)


def disjunction(tests: Iterable[i.Expr]) -> i.Expr:
    """The test that one of some holds."""
    return combination("or", tests)


def combination(op: str, tests: Iterable[i.Expr]) -> i.Expr:
    """Tests by `and` or `or`; one alone as it is."""
    tests = tuple(tests)
    return tests[0] if len(tests) == 1 else i.Logic(op, tests)


def merged_conditions(statement: i.If) -> i.If:
    """`if a: if b:` is `if a and b:`."""
    match statement:
        case i.If(otherwise=(), then=(i.If(otherwise=()) as inner,)):
            tests = (*conjuncts(statement.condition), *conjuncts(inner.condition))
            return replace(statement, condition=conjunction(tests), then=inner.then)
        case _:
            return statement


def opposite(test: i.Expr) -> i.Expr:
    """The test that holds where another one does not, of integers (not of real numbers: NaN)."""
    match test:
        case i.Compare(op=op, left=left, right=right):
            return i.Compare(OPPOSITE[op], left, right)
        case i.Not(operand=operand):
            return operand
        case _:
            return i.Not(test)


def negated(test: i.Expr) -> i.Expr:
    """The opposite of a test, in which only what is no comparison is negated."""
    match test:
        case i.Logic(op="and" | "or" as op, operands=operands):
            return combination("or" if op == "and" else "and", map(negated, operands))
        case _:
            return opposite(test)


def undecided(
    tests: tuple[i.Expr, ...], failed: Iterable[tuple[i.Expr, ...]]
) -> tuple[i.Expr, ...]:
    """Those of some tests that must be made where each of several conjunctions has failed: `not a`
    need not be where `a` alone was left to fail."""
    for test in tests:
        others = tuple(each for each in tests if each != test)
        decided = {*others, opposite(test)}
        if any(opposite(test) in each and {*each} <= decided for each in failed):
            return undecided(others, failed)
    return tests


def at_least_zero(test: i.Expr) -> i.Expr | None:
    """What is 0 or more exactly where a comparison of order holds; None for other tests."""
    match test:
        case i.Compare(op="<=", left=left, right=right):
            return i.Binary("-", right, left)
        case i.Compare(op=">=", left=left, right=right):
            return i.Binary("-", left, right)
        case i.Compare(op="<", left=left, right=right):
            return i.Binary("-", i.Binary("-", right, left), i.ONE)
        case i.Compare(op=">", left=left, right=right):
            return i.Binary("-", i.Binary("-", left, right), i.ONE)
        case _:
            return None


def factors_in(expr: i.Expr) -> list[i.Expr]:
    """The factors of a product as they are written; of any other expression itself."""
    match expr:
        case i.Binary(op="*", left=left, right=right):
            return [*factors_in(left), *factors_in(right)]
        case _:
            return [expr]
