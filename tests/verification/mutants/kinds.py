"""Kinds of faults in kernels: each finds all places in a typed nest where it can be put."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from cvmgen.ir import nodes as i
from cvmgen.ir.text import block_lines, text
from cvmgen.ir.threads import LANE, LANES
from cvmgen.ir.visit import rebuild

Change = Callable[[Any], Iterator[Any]]  # what stands in the place of a node


def plus(expr: i.Expr, by: int) -> i.Expr:
    return i.Binary("+" if by > 0 else "-", expr, i.Const(abs(by)))


def inside(expr: i.Expr, change: Change) -> Iterator[i.Expr]:
    """The expression with each single part changed."""
    for _, made in sites(expr, change):
        yield made


def beside(node: Any) -> Iterator[Any]:
    """An element beside the one that is meant."""
    if isinstance(node, i.Load):
        for by in (1, -1):
            yield replace(node, offset=plus(node.offset, by))


def other_stride(node: Any) -> Iterator[Any]:
    """Rows as long as those of another tensor are."""

    def swapped(part: Any) -> Iterator[Any]:
        match part:
            case i.Binary(op="*", right=i.Var(name=name)):
                for other in sorted({"H", "K", "M", "N", "W"} - {name}):
                    yield replace(part, right=i.Var(other))

    if isinstance(node, i.Load):
        for offset in inside(node.offset, swapped):
            yield replace(node, offset=offset)


def other_index(node: Any) -> Iterator[Any]:
    """The parts of a place in another order."""

    def swapped(part: Any) -> Iterator[Any]:
        match part:
            case i.Binary(
                op="+", left=i.Binary(op="*", left=i.Var(name=a)) as row, right=i.Var(name=b)
            ):
                if a != b:
                    yield i.Binary("+", replace(row, left=i.Var(b)), i.Var(a))

    if isinstance(node, i.Load):
        for offset in inside(node.offset, swapped):
            yield replace(node, offset=offset)


def other_end(node: Any) -> Iterator[Any]:
    """A loop that makes an iteration more, or less, at its end."""
    if isinstance(node, i.Loop):
        for by in (1, -1):
            yield replace(node, high=plus(node.high, by))


def other_begin(node: Any) -> Iterator[Any]:
    if isinstance(node, i.Loop) and node.low is not None:
        for by in (1, -1):
            yield replace(node, low=plus(node.low, by))


def other_step(node: Any) -> Iterator[Any]:
    """Blocks that overlap, or leave something between."""
    if isinstance(node, i.Loop) and node.step > 1:
        for by in (1, -1):
            yield replace(node, step=node.step + by)


def no_remainder(node: Any) -> Iterator[Any]:
    """The last block is as long as the others, or one shorter than what is left."""
    match node:
        case i.Call(function="min_i64", arguments=(i.Const() as most, i.Binary(op="-") as rest)):
            yield most
            yield replace(node, arguments=(most, plus(rest, -1)))


def no_guard(node: Any) -> Iterator[Any]:
    """A test that is made no longer, or a part of it."""
    match node:
        case i.Select() | i.If():
            yield replace(node, condition=i.Const(True))
        case i.Logic(operands=(_, _, *_) as operands):
            for at in range(len(operands)):
                rest = (*operands[:at], *operands[at + 1 :])
                yield rest[0] if len(rest) == 1 else replace(node, operands=rest)


LOOSER = {"<": "<=", "<=": "<", ">": ">=", ">=": ">"}


def other_comparison(node: Any) -> Iterator[Any]:
    """<= where < was meant."""
    if isinstance(node, i.Compare) and node.op in LOOSER:
        yield replace(node, op=LOOSER[node.op])


def other_branch(node: Any) -> Iterator[Any]:
    match node:
        case i.Select(then=then, otherwise=otherwise):
            yield replace(node, then=otherwise, otherwise=then)
        case i.If(then=then, otherwise=(_, *_) as otherwise):
            yield replace(node, then=otherwise, otherwise=then)


def other_start(node: Any) -> Iterator[Any]:
    """An accumulator that begins with what changes the total."""
    match node:
        case i.Let(type="u32" | "i32" | "i64" | "u64", value=i.Const(value=value)):
            yield replace(node, value=i.Const(0 if value else 1))
        case i.Store(value=i.Const(value=value)):
            yield replace(node, value=i.Const(0 if value else 1))


EXTREMES = {"min": "max", "max": "min"}


def other_extreme(node: Any) -> Iterator[Any]:
    match node:
        case i.Call(function=name) if name[:4] in ("min_", "max_"):
            yield replace(node, function=EXTREMES[name[:3]] + name[3:])
        case i.Accumulate(op="min" | "max" as op):
            yield replace(node, op=EXTREMES[op])


def no_clamp(node: Any) -> Iterator[Any]:
    """A limit that is left out."""
    match node:
        case i.Call(function=name, arguments=(one, other)) if name[:4] in ("min_", "max_"):
            yield one
            yield other


SIGNS = {"+": "-", "-": "+"}


def other_sign(node: Any) -> Iterator[Any]:
    """A difference of values where the sum is meant."""
    match node:
        case i.Binary(op="+" | "-" as op, left=i.Convert() | i.Load() | i.Var(name="total")):
            yield replace(node, op=SIGNS[op])
        case i.Accumulate(op="+", value=value):
            yield replace(node, value=i.Binary("-", i.Const(0), value))


def other_rounding(node: Any) -> Iterator[Any]:
    """Quotients that are rounded another way."""
    match node:
        case i.Binary(op="truncdiv", left=left, right=right):
            yield i.Call("ceildiv", (left, right))
        case i.Binary(op="shr", right=i.Const(value=by)):
            yield replace(node, op="truncdiv", right=i.Const(1 << by))
        case i.Call(function="floor_div" | "ceildiv", arguments=(left, right)):
            yield i.Binary("truncdiv", left, right)
        case i.Call(function="floor_mod", arguments=(left, right)):
            yield i.Binary("rem", left, right)


def swapped(node: Any) -> Iterator[Any]:
    """Operands in the other order."""
    match node:
        case i.Binary(op="-" | "truncdiv" | "rem" | "shl" | "shr", left=left, right=right):
            yield replace(node, left=right, right=left)
        case i.Compare(op="<" | "<=" | ">" | ">=", left=left, right=right):
            yield replace(node, left=right, right=left)


def narrower(node: Any) -> Iterator[Any]:
    """A value that goes through a type that does not hold it."""
    match node:
        case i.Convert(type="u32" | "i32" | "i64" as kind, operand=operand):
            for less in ("i8",) if kind != "i64" else ("i32",):
                yield i.Convert(kind, i.Convert(less, operand))


def unsigned(node: Any) -> Iterator[Any]:
    """The sign of an element is lost: as a shift of an unsigned number loses it."""
    match node:
        case i.Convert(type="u32" | "i32" | "i64", operand=i.Load() as operand):
            yield replace(node, operand=i.Convert("u8", operand))
        case i.Binary(op="shr", left=left):
            yield i.Convert("i32", i.Binary("shr", i.Convert("u32", left), node.right))


def no_wrap(node: Any) -> Iterator[Any]:
    """Signed arithmetic where it is meant to wrap."""
    match node:
        case i.Convert(type="i32", operand=i.Binary(op="+" | "-" | "*" as op, left=one, right=two)):
            match one, two:
                case i.Convert(type="u32", operand=left), i.Convert(type="u32", operand=right):
                    yield i.Binary(op, left, right)


def in_blocks(node: Any, change: Callable[[Any], Iterator[i.Block]]) -> Iterator[Any]:
    """A loop or a branch with each of its statements changed."""
    match node:
        case i.Loop(body=body):
            for at, each in enumerate(body):
                for made in change(each):
                    yield replace(node, body=(*body[:at], *made, *body[at + 1 :]))
        case i.If(then=body):
            for at, each in enumerate(body):
                for made in change(each):
                    yield replace(node, then=(*body[:at], *made, *body[at + 1 :]))


def left_out(node: Any) -> Iterator[Any]:
    """A step that is not made: a store, a term of a sum, what fills memory, a whole loop."""

    def without(each: Any) -> Iterator[i.Block]:
        if isinstance(each, (i.Store, i.Accumulate, i.Assign, i.SetAt, i.Loop, i.If)):
            yield ()

    match node:
        case i.Loop(body=(_, _, *_)) | i.If(then=(_, _, *_)):  # of one step the whole goes
            yield from in_blocks(node, without)


def twice(node: Any) -> Iterator[Any]:
    """A term that is added two times."""

    def doubled(each: Any) -> Iterator[i.Block]:
        if isinstance(each, i.Accumulate):
            yield (each, each)

    return in_blocks(node, doubled)


def other_value(node: Any) -> Iterator[Any]:
    """A constant that is one off."""
    match node:
        case i.Select(otherwise=i.Const(value=int(value))) if not isinstance(value, bool):
            yield replace(node, otherwise=i.Const(value + 1))
        case i.Binary(op="*" | "+" | "shr" | "shl", right=i.Const(value=value)):
            yield replace(node, right=i.Const(value + 1))
        case i.Convert(type="u32", operand=i.Const(value=int(value))):
            yield replace(node, operand=i.Const(value + 1))


def at_once(node: Any) -> Iterator[Any]:
    """Threads for iterations that need those before them."""
    if isinstance(node, i.Loop) and not node.parallel:
        yield replace(node, parallel=1)


KINDS: Mapping[str, Change] = {
    "index one off": beside,
    "another stride": other_stride,
    "indices in another order": other_index,
    "end one off": other_end,
    "begin one off": other_begin,
    "step one off": other_step,
    "remainder": no_remainder,
    "no guard": no_guard,
    "< for <=": other_comparison,
    "the other branch": other_branch,
    "another start": other_start,
    "min for max": other_extreme,
    "no clamp": no_clamp,
    "another sign": other_sign,
    "another rounding": other_rounding,
    "operands swapped": swapped,
    "too narrow": narrower,
    "sign lost": unsigned,
    "no wrap": no_wrap,
    "left out": left_out,
    "twice": twice,
    "constant one off": other_value,
    "at once": at_once,
}


# ---------------------------------------------------------------- kernels of a GPU


def no_barrier(node: Any) -> Iterator[Any]:
    def without(each: Any) -> Iterator[i.Block]:
        if isinstance(each, i.Barrier):
            yield ()

    return in_blocks(node, without)


def barrier_of_some(node: Any) -> Iterator[Any]:
    """A barrier that some threads do not come to."""
    if isinstance(node, i.Barrier):
        yield i.If(i.Compare("<", LANE, i.Const(16)), (node,), (), node.span)


def other_share(node: Any) -> Iterator[Any]:
    """A loop that is divided otherwise."""
    if isinstance(node, i.Share):
        yield replace(node, step=plus(node.step, -1))
        yield replace(node, step=i.ONE)
        yield replace(node, first=LANE, step=LANES)
        yield replace(node, first=i.ZERO)


def not_shared(node: Any) -> Iterator[Any]:
    """Every thread makes all iterations."""
    if isinstance(node, i.Loop) and node.share is not None:
        yield replace(node, share=None)


def one_place(node: Any) -> Iterator[Any]:
    """All threads store to one place."""
    if isinstance(node, i.Store) and isinstance(node.target, i.Load):
        yield replace(node, target=replace(node.target, offset=i.ZERO))


def all_store(node: Any) -> Iterator[Any]:
    """No test of who stores the result of a team."""
    if isinstance(node, i.Call) and node.function == "stores":
        yield i.Const(True)


GPU_KINDS: Mapping[str, Change] = {
    "no barrier": no_barrier,
    "a barrier of some threads": barrier_of_some,
    "another share": other_share,
    "not shared": not_shared,
    "one place": one_place,
    "all store": all_store,
    "no guard": no_guard,
}


# ---------------------------------------------------------------- places


@dataclass(frozen=True)
class Site:
    """What stood at a place, and what stands there now."""

    before: str
    after: str


def shown(node: Any) -> str:
    """A node in one line, as people read it."""
    match node:
        case i.Loop() | i.If() | i.Store() | i.Let() | i.Accumulate() | i.Barrier():
            return " ".join(" ".join(block_lines((node,))).split())
        case i.Share():
            return f"share {node.among}: {text(node.first)} by {text(node.step)}"
        case _:
            return text(node)


@dataclass(frozen=True)
class Place:
    """A place where a fault can be put, and what would stand there; the tree is made when asked."""

    tree: Any
    change: Change
    number: int
    before: Any
    after: Any

    def site(self) -> Site:
        return Site(shown(self.before), shown(self.after))

    def changed(self) -> Any:
        return changed(self.tree, self.change, self.number)


def places(tree: Any, change: Change) -> list[Place]:
    """In the order of the text."""
    found: list[tuple[Any, Any]] = []

    def count(node: Any) -> Any:
        found.extend((node, other) for other in change(node))
        return node

    rebuild(tree, count)
    return [
        Place(tree, change, number, before, after)
        for number, (before, after) in enumerate(found)
        if before != after
    ]


def sites(tree: Any, change: Change) -> Iterator[tuple[Site, Any]]:
    """The tree with each single place changed."""
    for place in places(tree, change):
        yield place.site(), place.changed()


def changed(tree: Any, change: Change, wanted: int) -> Any:
    seen = -1

    def at(node: Any) -> Any:
        nonlocal seen
        for other in change(node):
            seen += 1
            if seen == wanted:
                seen += sum(1 for _ in change(node))
                return other
        return node

    return rebuild(tree, at)
