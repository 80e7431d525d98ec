"""What threads of a kernel may do together: they meet, join what they have, and store apart."""

from __future__ import annotations

import pytest

from cvmgen.ir import nodes as i
from cvmgen.ir.threads import BLOCK, BLOCKS, GRID, LANE, OF_BLOCK
from cvmgen.ir.uniform import thread_fault
from cvmgen.source import Source, Span

SPAN = Span(Source("test.cvm", "x"), 0, 1)
N, K, TOTAL = i.Var("N"), i.Var("k"), i.Var("total")
TEAM = i.Var("team")
MINE = i.Share("team", i.Member(i.Var("share"), "row"), i.Member(i.Var("share"), "rows"))


def element(tensor: str, at: i.Expr = K) -> i.Load:
    return i.Load(tensor, None, at)


def loop(index: str, *body: i.Stmt, share: i.Share | None = None, high: i.Expr = N) -> i.Loop:
    return i.Loop(index, i.ZERO, high, body, 0, SPAN, share=share)


def let(name: str, value: i.Expr, type_name: str = "i64") -> i.Let:
    return i.Let(name, type_name, value, SPAN)


def when(condition: i.Expr, *then: i.Stmt) -> i.If:
    return i.If(condition, then, (), SPAN)


def call(function: str, *arguments: i.Expr) -> i.Call:
    return i.Call(function, arguments)


def is_first(value: i.Expr) -> i.Expr:
    return i.Compare("==", value, i.ZERO)


WAIT = i.Barrier(SPAN)
STORE = i.Store(element("Y"), element("X"), SPAN)
RESULT = i.Store(element("Y", i.ZERO), TOTAL, SPAN)
BEGIN = let("total", i.ZERO)
ADD = i.Accumulate("total", "+", element("X"), SPAN)
VOTE = i.Assign("total", call("block_any", TOTAL), SPAN)
COMBINE = i.Assign("total", call("combine", TEAM, TOTAL), SPAN)
OWN = (let("team", call("team_of", N), "team"), let("share", call("share_of", TEAM), "share"))
SHARED = i.Array("box", "i8", 0, SPAN, "shared")
FILL = loop("k", i.Store(element("box"), element("X"), SPAN), share=OF_BLOCK)
TAKE = loop("j", i.Store(element("Y", i.Var("j")), element("box", N), SPAN), share=OF_BLOCK)
LAST = when(is_first(LANE), RESULT)

ROWS = [
    ((loop("k", STORE, share=GRID),), "", "a thread for each element"),
    ((loop("b", FILL, WAIT, LAST, share=BLOCKS),), "", "a block waits for its threads"),
    (
        (loop("k", WAIT, STORE, share=GRID),),
        "not all threads of a block reach a barrier, which waits for them",
        "threads of a grid make iterations of their own",
    ),
    (
        (loop("k", WAIT, STORE, share=OF_BLOCK),),
        "not all threads of a block reach a barrier, which waits for them",
        "some threads of a block make one iteration less",
    ),
    (
        (when(is_first(LANE), WAIT),),
        "not all threads of a block reach a barrier, which waits for them",
        "a test that one thread alone passes",
    ),
    ((when(is_first(BLOCK), WAIT),), "", "a test that a block passes or not"),
    (
        (let("x", element("X", LANE)), when(is_first(i.Var("x")), WAIT)),
        "not all threads of a block reach a barrier, which waits for them",
        "a test of what each thread has read for itself",
    ),
    ((let("x", element("X", N)), when(is_first(i.Var("x")), WAIT)), "", "all read one element"),
    (
        (let("x", LANE), loop("k", WAIT, high=i.Var("x"))),
        "not all threads of a block reach a barrier, which waits for them",
        "a loop that threads run differently often",
    ),
    (
        (when(is_first(LANE), i.Return(SPAN)), WAIT),
        "not all threads of a block reach a barrier, which waits for them",
        "a thread has left",
    ),
    (
        (loop("k", when(is_first(LANE), i.Break(SPAN)), WAIT),),
        "not all threads of a block reach a barrier, which waits for them",
        "a thread leaves the loop",
    ),
    (
        (let("x", i.ZERO), loop("k", WAIT, i.Assign("x", LANE, SPAN), high=i.Var("x"))),
        "",
        "how often a loop runs is asked before it",
    ),
    (
        (let("x", i.ZERO), loop("k", when(is_first(i.Var("x")), WAIT), i.Assign("x", LANE, SPAN))),
        "not all threads of a block reach a barrier, which waits for them",
        "what the iteration before has left",
    ),
    (
        (BEGIN, loop("k", ADD, share=GRID), LAST),
        "the loop k is divided among all threads, and carries total",
        "nobody joins what all threads have",
    ),
    (
        (BEGIN, loop("k", ADD, share=OF_BLOCK), LAST),
        "total is read, of which each thread has its own share",
        "a share is no total",
    ),
    ((BEGIN, loop("k", ADD, share=OF_BLOCK), VOTE, LAST), "", "a vote joins them"),
    (
        (BEGIN, loop("k", ADD, share=OF_BLOCK), when(is_first(LANE), VOTE)),
        "not all threads of a block reach block_any, which waits for them",
        "a vote of one",
    ),
    (
        (*OWN, BEGIN, loop("k", ADD, share=MINE), COMBINE, when(call("stores", TEAM), RESULT)),
        "",
        "a team makes a total",
    ),
    (
        (*OWN, BEGIN, loop("k", ADD, COMBINE, share=MINE)),
        "not all threads of a team reach combine, which waits for them",
        "each thread has another number of elements",
    ),
    (
        (*OWN, when(is_first(i.Member(TEAM, "result")), WAIT)),
        "not all threads of a block reach a barrier, which waits for them",
        "teams of a block make different results",
    ),
    (
        (*OWN, BEGIN, loop("k", ADD, share=MINE), COMBINE, RESULT),
        "all threads of a block store the same element of Y",
        "no thread is chosen to store",
    ),
    ((SHARED, loop("b", FILL, WAIT, TAKE, WAIT, share=BLOCKS)), "", "filled, then read"),
    (
        (SHARED, loop("b", FILL, TAKE, WAIT, share=BLOCKS)),
        "box is read before all threads of the block have written it",
        "read too early",
    ),
    (
        (SHARED, loop("b", FILL, WAIT, TAKE, share=BLOCKS)),
        "box is written anew before all threads have read it",
        "the next iteration begins too early",
    ),
]


@pytest.mark.parametrize(("body", "fault", "why"), ROWS, ids=[row[-1] for row in ROWS])
def test_threads(body: i.Block, fault: str, why: str) -> None:
    assert thread_fault(body) == fault, why
