"""Whether an expression has a value whatever a call is: then it may be computed where nothing asks
for it, as in front of a loop that has no iteration in some calls."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from cvmgen.functions import REAL_FUNCTIONS
from cvmgen.ir import nodes as i
from cvmgen.ir.visit import children, walk

DIVISIONS = ("floordiv", "truncdiv", "mod", "rem")
SHIFTS = ("shl", "shr")
# Functions with a value for all arguments, by their names before types end them.
TOTAL = REAL_FUNCTIONS | {"min", "max", "abs", "size", "len", "flatten_index", "walk_offset"}
SCOPES = (i.Fold, i.Gather, i.Bind)  # what binds names of its own
EXTREMES = ("max", "min")
MOST_BITS = 62  # by which a shift of 1 fits everywhere
TYPES = ("i32", "i64", "i128", "f64")


def may_fail(node: object) -> bool:
    """Whether a node may have no value in a call: a divisor of 0, an element that is not there."""
    match node:
        case i.Binary(op=op, right=i.Const(value=value)) if op in DIVISIONS:
            return value == 0
        case i.Binary(op=op, right=i.Const(value=value)) if op in SHIFTS:
            return value < 0
        case i.Binary(op=op, right=right) if op in SHIFTS:
            low, high = visible_ends(right)
            return low is None or high is None or low < 0 or high > MOST_BITS
        case i.Binary(op=op):
            return op in DIVISIONS
        case i.Call(function=function):
            name, _, type_name = function.rpartition("_")
            return (name if type_name in TYPES else function) not in TOTAL
        case i.Fold(op=op):
            return op in ("max", "min")
        case i.Load() | i.Access() | i.Item() | i.Dot():
            return True
        case _:
            return False


def visible_ends(expr: i.Expr) -> tuple[int | None, int | None]:
    """The least and the greatest value of an integer, as far as numbers beside it in `min` and
    `max` tell; None where they do not."""
    match expr:
        case i.Const(value=value):
            return value, value
        case i.Call(function=function, arguments=arguments) if function in EXTREMES:
            lows, highs = zip(*map(visible_ends, arguments), strict=True)
            if function == "max":
                return max(known(lows), default=None), None if None in highs else max(known(highs))
            return None if None in lows else min(known(lows)), min(known(highs), default=None)
        case _:
            return None, None


def known(ends: Iterable[int | None]) -> list[int]:
    """The ends that are known."""
    return [each for each in ends if each is not None]


def direct_operands(node: object) -> Iterator[i.Expr]:
    """The expressions right below one that binds nothing."""
    for each in () if isinstance(node, SCOPES) else children(node):
        if isinstance(each, tuple):
            yield from direct_operands(each)
        elif isinstance(each, i.Expr):
            yield each


def always_evaluated(expr: i.Expr) -> Iterator[i.Expr]:
    """The parts of an expression that are evaluated whenever it is, itself first."""
    yield expr
    match expr:
        case i.Select(condition=condition):
            yield from always_evaluated(condition)
        case i.Logic(operands=(first, *_)):
            yield from always_evaluated(first)
        case _:
            for each in direct_operands(expr):
                yield from always_evaluated(each)


def is_defined(expr: i.Expr) -> bool:
    """Whether an expression has a value whatever the call is."""
    return not any(map(may_fail, walk(expr)))
