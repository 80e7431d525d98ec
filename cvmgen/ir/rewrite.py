"""Clean-ups that passes, schedules and emitters have in common, each of them once."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from operator import is_
from typing import Any, TypeVar

from cvmgen.errors import InternalError
from cvmgen.ir import arrays as a
from cvmgen.ir import nodes as i
from cvmgen.ir.loops import extent
from cvmgen.ir.uses import assigned, names_in, reassigned
from cvmgen.ir.visit import fresh, rebuild, substitute, walk

Tree = TypeVar("Tree")


def inner_blocks(statement: i.Stmt) -> tuple[i.Block, ...]:
    """The blocks right in a statement of a nest."""
    match statement:
        case i.Loop(body=body) | i.PackLoop(body=body) | a.Blocks(body=body):
            return (body,)
        case i.If(then=then, otherwise=otherwise) | a.Choose(then=then, otherwise=otherwise):
            return (then, otherwise)
        case _:
            return ()


def with_blocks(statement: i.Stmt, change: Callable[[i.Block], i.Block]) -> i.Stmt:
    """A statement of a nest with what `change` makes of the blocks right in it."""
    before = inner_blocks(statement)
    after = tuple(map(change, before))
    if all(map(is_, before, after)):
        return statement  # itself, of which more is remembered than of one like it
    match statement:
        case i.Loop() | i.PackLoop() | a.Blocks():
            return replace(statement, body=after[0])
        case i.If() | a.Choose():
            return replace(statement, then=after[0], otherwise=after[1])
        case _:
            return statement


def rewritten(body: i.Block, change: Callable[[i.Stmt], i.Block | None]) -> i.Block:
    """A block with what `change` makes of each statement, those around others first; where that is
    None, of those in it."""

    def inside(block: i.Block) -> i.Block:
        return rewritten(block, change)

    done: list[i.Stmt] = []
    for each in body:
        made = change(each)
        done += (with_blocks(each, inside),) if made is None else made
    return unchanged(body, done)


def unchanged(before: i.Block, after: Sequence[i.Stmt]) -> i.Block:
    """What became of a block: itself where that has the same statements."""
    return before if len(after) == len(before) and all(map(is_, before, after)) else tuple(after)


def with_offsets(tree: Tree, change: Callable[[i.Expr], i.Expr]) -> Tree:
    """The tree with what `change` makes of the offsets of elements that it reads, writes or names,
    those inside others first."""

    def placed(each: Any) -> Any:
        if isinstance(each, (i.Load, i.Overflow)):
            return replace(each, offset=change(each.offset))
        return each

    return rebuild(tree, placed)


def renamed(tree: Tree, names: Mapping[str, str]) -> Tree:
    """The tree with other names for locals, indices and arrays, where they are made too."""

    def change(node: Any) -> Any:
        match node:
            case i.Var(name=name) | i.Let(name=name) | i.Array(name=name) if name in names:
                return replace(node, name=names[name])
            case i.Assign(name=name) | i.Accumulate(name=name) if name in names:
                return replace(node, name=names[name])
            case i.Loop(index=index) if index in names:
                return replace(node, index=names[index])
            case i.Load(tensor=tensor) if tensor in names:
                return replace(node, tensor=names[tensor])
            case _:
                return node

    return rebuild(tree, change)


def with_own_indices(body: i.Block, around: frozenset[str] = frozenset()) -> i.Block:
    """Statements in which no index hides a local: what has left a loop may stand behind a local
    that is called as an index of its own, and Python has one scope for all of them."""
    done: list[i.Stmt] = []
    for each in body:
        if isinstance(each, i.Loop) and each.index in around:
            taken = {*around, *names_in(each), *assigned((each,))}
            each = renamed(each, {each.index: fresh(each.index, taken)})
        if isinstance(each, i.Let):
            around |= {each.name}
        done.append(with_blocks(each, partial(with_own_indices, around=around)))
    return tuple(done)


def with_counted_lists(body: i.Block) -> i.Block:
    """Statements whose loops over lists read entries: where none is read, their number says how
    often a loop runs, and the list itself need not be there."""

    def change(node: Any) -> Any:
        match node:
            case i.Loop(index=index, low=None) if index not in names_in(node.body):
                return replace(node, low=i.ZERO, high=extent(node))
            case _:
                return node

    counted: i.Block = rebuild(body, change)
    return counted


def expanded(locals_: Iterable[i.Let]) -> dict[str, i.Expr]:
    """The values of locals, in which none of those before stands by its name."""
    values: dict[str, i.Expr] = {}
    for each in locals_:
        values[each.name] = substitute(each.value, values)
    return values


def index_values(statements: Iterable[object]) -> dict[str, i.Expr]:
    """The values of those locals that are only names for sums and products of indices."""
    lets = (each for each in statements if isinstance(each, i.Let))
    return expanded(each for each in lets if is_name_arithmetic(each.value))


def is_name_arithmetic(value: i.Expr) -> bool:
    """Whether a value is made of names and numbers by arithmetic alone."""
    return all(isinstance(each, (i.Var, i.Const, i.Binary)) for each in walk(value))


def inlined(body: i.Block) -> i.Block:
    """A block without locals that are only names for sums and products of indices."""
    mutable = reassigned(body)
    lets = (each for each in body if isinstance(each, i.Let) and each.name not in mutable)
    values = index_values(lets)
    kept = (each for each in body if not (isinstance(each, i.Let) and each.name in values))
    return tuple(substitute(each, values) for each in kept)


def invariant(
    loop: i.Loop | i.PackLoop, sure: Callable[[i.Expr], bool]
) -> tuple[tuple[i.Let, ...], i.Block]:
    """The body of a loop in two: the locals that are the same in each iteration, and the rest.

    In front of the loop those have values too if these are `sure`, whatever is not asked for by a
    loop without iterations.
    """
    varying, mutable = set(assigned(loop)), reassigned(loop.body)
    before: list[i.Let] = []
    kept: list[i.Stmt] = []
    for each in loop.body:
        match each:
            case i.Let(name=name, value=value) if (
                name not in mutable and not names_in(value) & varying and sure(value)
            ):
                varying.discard(name)
                before.append(each)
            case _:
                kept.append(each)
    return tuple(before), tuple(kept)


def without_dead(body: i.Block, others: object = ()) -> i.Block:
    """Without dead locals: what stands behind them in their block neither reads nor changes them,
    nor do others."""
    used = names_in(others)
    kept: list[i.Stmt] = []
    for each in reversed(body):
        if isinstance(each, i.Let) and each.name not in used:
            continue
        each = with_blocks(each, without_dead)
        used |= names_in(each) | reassigned(each)
        kept.append(each)
    return tuple(reversed(kept))


def locals_reached(node: object, locals_: Mapping[str, i.Let]) -> set[str]:
    """The locals that a node reads, and those that these are made of."""
    found: set[str] = set()
    new = names_in(node) & locals_.keys()
    while new:
        found |= new
        new = names_in(tuple(locals_[name] for name in new)) & locals_.keys() - found
    return found


def folded_totals(body: i.Block) -> i.Block:
    """What is added to a total right behind its start is one expression with that."""
    done: list[i.Stmt] = []
    for each in body:
        match each, done[-1:]:
            case i.Accumulate(name=name, op=op, value=value), [i.Let() as start] if (
                start.name == name and start.type in LEAST and name not in names_in(value)
            ):
                begun = identity_element(op, start.type) == start.value
                whole = value if begun else updated(op, start.type, start.value, value)
                done[-1] = replace(start, value=whole)
            case _:
                done.append(with_blocks(each, folded_totals))
    return tuple(done)


WIDEST = 126  # of the power of two that integers of 128 bits are kept within
LEAST = {"i32": -(1 << 31), "i64": -(1 << 63), "u32": 0, "u64": 0}


def identity_element(op: str, type_name: str = "i64") -> i.Expr:
    """What leaves every integer of a type, or every condition, as it is."""
    match op:
        case "+" | "|":
            return i.Const(0)
        case "*":
            return i.Const(1)
        case "and" | "or":
            return i.Const(op == "and")
        case "max" | "min" if type_name == "i128":
            most = i.Binary("shl", i.Convert("i128", i.Const(1)), i.Const(WIDEST))
            return most if op == "min" else i.Binary("-", i.Const(0), most)
        case "max":
            return i.Const(LEAST[type_name])
        case "min":
            return i.Const(LEAST[type_name] + (1 << int(type_name[1:])) - 1)
        case _:
            raise InternalError(f"nothing leaves all as it is under '{op}'")


def updated(op: str, type_name: str, left: i.Expr, right: i.Expr) -> i.Expr:
    """What an accumulator becomes."""
    match op:
        case "+" | "*":
            return i.Binary(op, left, right)
        case "max" | "min":
            return i.Call(f"{op}_{type_name}", (left, right))
        case "and" | "or":
            return i.Logic(op, (left, right))
        case "|":
            return i.Binary(op, left, right)
        case _:
            raise InternalError(f"no form for the accumulation '{op}'")
