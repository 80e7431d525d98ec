"""Greatest and least real numbers in C, found as integers.

The bits of a real number, read as an integer, keep the order of numbers once those of negative ones
are turned around; a shift then puts every NaN above all of them, or below. So the greatest integer
says the greatest number, with NaN where one is NaN and -0 below +0: what the comparison of real
numbers takes many steps for. Integers have instructions for that, in any order of elements.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from cvmgen.dtypes import DType
from cvmgen.ir import nodes as i
from cvmgen.ir.uses import nodes_in
from cvmgen.ir.visit import rebuild, replaced, walk

NEUTRAL = {"max": i.Real("-inf"), "min": i.Real("inf")}
# What a number has instead of its own type: the key's type, and its least and greatest value.
KEYS: Mapping[str, tuple[str, int, int]] = {
    "f32": ("i32", -(1 << 31), (1 << 31) - 1),
    "f64": ("i64", -(1 << 63), (1 << 63) - 1),
}


def integer_extremes(body: i.Block, dtypes: Mapping[str, DType]) -> i.Block:
    """A typed body with integers for accumulators that begin with the neutral real number and
    change only by greater, or only by lesser, ones; the elements of float32 take 32 bits."""
    lets = [*nodes_in(body, i.Let)]
    for each in lets:
        op = next((op for op, value in NEUTRAL.items() if each.value == value), None)
        if op is not None and sum(other.name == each.name for other in lets) == 1:
            values = accumulated_values(body, each.name, op)
            if values:
                short = all(from_float32(value, dtypes) for value in values)
                body = with_keys(body, each.name, op, "f32" if short else "f64")
    return body


def accumulated_values(body: i.Block, name: str, op: str) -> list[i.Expr]:
    """What an accumulator takes in; nothing where it also changes in another way."""
    found = []
    for each in walk(body):
        match each:
            case i.Accumulate(name=changed, op=by, value=value) if changed == name:
                if by != op:
                    return []
                found.append(value)
            case i.Assign(name=changed) if changed == name:
                return []
            case _:
                pass
    return found


def from_float32(value: i.Expr, dtypes: Mapping[str, DType]) -> bool:
    match value:
        case i.Convert(type="f64", operand=i.Load(tensor=tensor)) if tensor in dtypes:
            return dtypes[tensor].kind == "real" and dtypes[tensor].bits == 32
        case _:
            return False


def with_keys(body: i.Block, name: str, op: str, kind: str) -> i.Block:
    key_type, least, greatest = KEYS[kind]
    neutral = i.Const(least if op == "max" else greatest)

    def key(value: i.Expr) -> i.Expr:
        bare = value.operand if kind == "f32" and isinstance(value, i.Convert) else value
        return i.Call(f"{op}_key_{kind}", (bare,))

    def number(node: object) -> object:
        match node:
            case i.Var(name=read) if read == name:
                return i.Call(f"of_{op}_key_{kind}", (node,))
            case _:
                return node

    def change(node: object) -> object:
        match node:
            case i.Let(name=own) if own == name:
                return replace(node, type=key_type, value=neutral)
            case i.Accumulate(name=own, value=value) if own == name:
                return replace(node, value=key(value))
            case _:
                return node

    return rebuild(replaced(body, number), change)
