"""`narrow`: totals of products in fewer bits, where all of them fit."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from cvmgen.analysis.sums_of_products import NoContraction, SumOfProducts, contraction_parts
from cvmgen.ir import nodes as i
from cvmgen.ir.logic import conjunction
from cvmgen.ir.loops import product
from cvmgen.ir.uses import assigned, has, names_in, nodes_in
from cvmgen.ir.visit import fresh, rebuild
from cvmgen.schedule.forms import Use
from cvmgen.schedule.subject import Subject

ZERO_POINTS = (-128, 127)
MOST_PRODUCTS = (1 << 16) - 1  # each is at most (127 + 128) * 128, and all of them are below 2^31


def narrow(subject: Subject, use: Use) -> Subject:
    """A copy of loops in which each result is a sum of products of int8, with totals of 32 bits.

    Legal for every loop: the copy runs where the zero point is one of int8 and there are so few
    products that no total, nor one on the way, is beyond 32 bits.
    """
    totals, (role,) = set(use.loops(subject, 0)), use.roles(0)
    used = subject.taken
    made: list[str] = []

    def change(loop: i.Loop) -> i.Block | None:
        try:
            found = contraction_parts(loop.body)
        except NoContraction:
            return (loop,)
        test = fits(found, loop, subject)
        if test is None or found.total.name not in totals or found.total.type in ("i32", "u32"):
            return (loop,)
        name = fresh(found.total.name, used)
        made.append(name)
        copy = replace(loop, body=narrowed(loop.body, found, name))
        return (i.If(test, (copy,), (loop,), loop.span),)

    done = subject.with_loops(use.loops(subject, 1), change)
    return done.with_roles({role: (*subject.roles[role], *made)})


def fits(found: SumOfProducts, loop: i.Loop, subject: Subject) -> i.Expr | None:
    """The test that 32 bits hold each total; None where factors are not of int8, or chosen for each
    product, and where what decides it varies, or is an element that need not be there."""
    depth = product([each.high for each in found.summed])
    zero = i.ZERO if found.zero is None else found.zero.value
    small = all(subject.outside.tensors.get(each.tensor) == "i8" for each in found.factors)
    added = (each for each in nodes_in(loop.body, i.Accumulate) if each.name == found.total.name)
    if not small or has(tuple(added), i.Select) or names_in((depth, zero)) & assigned((loop,)):
        return None
    if not all(is_there(each, subject) for each in nodes_in(zero, i.Load)):
        return None
    tests: list[i.Expr] = [i.Compare("<=", depth, i.Const(MOST_PRODUCTS))]
    if found.zero is not None:
        least, most = map(i.Const, ZERO_POINTS)
        tests += [i.Compare(">=", zero, least), i.Compare("<=", zero, most)]
    return conjunction(tests)


def is_there(load: i.Load, subject: Subject) -> bool:
    """Whether a tensor has an element in every call."""
    match load.offset, subject.sizes.get(load.tensor):
        case i.Const(value=place), i.Const(value=size):
            return 0 <= place < size
        case _:
            return False


def narrowed(body: i.Block, found: SumOfProducts, name: str) -> i.Block:
    """The statements with a total of 32 bits, of this name."""
    total = found.total
    x, w = found.factors
    above: i.Expr = x
    if found.zero is not None:
        above = i.Binary("-", x, i.Convert("i32", found.zero.value))
    value = i.Binary("*", above, w)
    whole = i.Convert(total.type, i.Var(name))

    def change(node: Any) -> Any:
        match node:
            case i.Let() if node == total:
                return replace(node, name=name, type="i32", value=i.ZERO)
            case i.Accumulate() if node.name == total.name:
                return replace(node, name=name, value=value)
            case i.Var() if node.name == total.name:
                return whole
            case _:
                return node

    made: i.Block = rebuild(body, change)
    return made
