"""`split`: a loop as blocks of so many iterations and a loop over each."""

from __future__ import annotations

from dataclasses import replace

from cvmgen.algebra import simplify
from cvmgen.ir import nodes as i
from cvmgen.ir.rewrite import rewritten
from cvmgen.ir.uses import nodes_in
from cvmgen.ir.visit import fresh, substitute
from cvmgen.schedule.forms import Use
from cvmgen.schedule.rewriting import loops
from cvmgen.schedule.subject import Subject


def split(subject: Subject, use: Use) -> Subject:
    """A loop over blocks around one over each block, whose number of iterations is a local; of
    loops in each other the innermost.

    The order of iterations stays, so that this is legal for every loop over a range, one by one to
    its end. One that is known to have no more iterations is a block by itself.
    """
    names, size = set(use.loops(subject, 0)), use.number(1)
    old = f"_{use.roles(0)[0]}"
    block, within = use.roles(2)[0], use.roles(3)[0]
    used = subject.taken
    blocks: dict[str, None] = {}
    inner: dict[str, None] = {}

    def change(statement: i.Stmt) -> i.Block | None:
        match statement:
            case i.Loop(index=index, low=low, body=within_it) if index in names:
                if low is None or any(True for _ in loops(within_it, names)):
                    return None
                use.one_by_one(statement, subject)
                if is_block(statement, size):
                    inner[index] = None
                    return (statement,)
                base = index.removesuffix(old)
                outer, lane = (fresh(f"{base}_{each}", used) for each in (block, within))
                count = fresh(f"{lane}s", used)
                blocks[outer], inner[lane] = None, None
                return (in_blocks(statement, size, outer, lane, count),)
            case _:
                return None

    body = rewritten(subject.body, change)
    return subject.with_body(body).with_roles({block: tuple(blocks), within: tuple(inner)})


def is_block(loop: i.Loop, most: int) -> bool:
    """Whether a loop is known to have no more iterations than that, from 0 on."""
    match loop.low, loop.high:
        case i.Const(value=0), i.Const(value=int(high)):
            return high <= most
        case _:
            return False


def in_blocks(loop: i.Loop, size: int, outer: str, lane: str, count: str) -> i.Loop:
    rest = i.Binary("-", loop.high, i.Var(outer))
    most = i.Call("min_i64", (i.Const(size), simplify(rest)))
    place = i.Binary("+", i.Var(outer), i.Var(lane))
    body = substitute(loop.body, {loop.index: place})
    lanes = i.Loop(lane, i.Const(0), i.Var(count), body, 0, loop.span)
    inner = (i.Let(count, "i64", most, loop.span), lanes)
    return replace(loop, index=outer, body=inner, step=size)


def array_length(subject: Subject, use: Use, loop: i.Loop) -> int:
    """The length of an array with an element for each iteration of a loop, if it can have one."""
    most = most_iterations(subject.body, loop)
    hint = f"split it, and {use.action.name} over the inner loop"
    if most is None:
        use.refuse(
            f"nothing limits how often the loop {loop.index} runs: an array has a size", hint
        )
    if not counts_up(subject.body, loop):
        use.refuse(f"the loop {loop.index} does not begin at 0, as an array does", hint)
    return use.room(most)


def most_iterations(body: i.Block, loop: i.Loop) -> int | None:
    """How many iterations a loop has at most, where that is known when kernels are made."""
    match loop.high:
        case i.Const(value=int(value)):
            return value
        case i.Var(name=name):
            most = [_known_limit(each.value) for each in lets(body, name)]
            known = [each for each in most if each is not None]
            return max(known) if most and len(known) == len(most) else None
        case _:
            return None


def _known_limit(value: i.Expr) -> int | None:
    match value:
        case i.Call(function="min_i64", arguments=(i.Const(value=int(most)), _)):
            return most
        case _:
            return None


def counts_up(body: i.Block, loop: i.Loop) -> bool:
    """Whether a loop begins at 0 or behind it, as an array does that it goes through."""
    match loop.low:
        case i.Const(value=int(low)):
            return low >= 0
        case i.Var(name=name):
            return bool(lets(body, name))  # ends that actions found in a range from 0 on
        case _:
            return False


def lets(body: i.Block, name: str) -> list[i.Let]:
    return [each for each in nodes_in(body, i.Let) if each.name == name]
