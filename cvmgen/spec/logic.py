"""How tests of formulas are combined."""

from __future__ import annotations

from collections.abc import Iterator

from cvmgen.spec import nodes as n


def conjuncts(condition: n.Expr | None) -> Iterator[n.Expr]:
    """The conditions that `and` joins."""
    match condition:
        case None:
            pass
        case n.Logic(word="and", operands=operands):
            for operand in operands:
                yield from conjuncts(operand)
        case _:
            yield condition


def conjunction(first: n.Expr, *others: n.Expr | None) -> n.Expr:
    """The condition that all of these hold, each of their parts once."""
    flat = tuple(dict.fromkeys(part for each in (first, *others) for part in conjuncts(each)))
    return flat[0] if len(flat) == 1 else n.Logic("and", flat, flat[0].span)
