"""Greedy selections: lists whose candidates are ruled out one by one by the entries before them.

`{p for p < N if A(p) and all[q in U if q < p](B(p, q))}` asks of the list so far only whether
some entry rules p out. Whether q would do so depends on p and q alone: all pairs can be tested
at once, into a mask of bits, and what is left to do in order is to go through the mask.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from cvmgen.analysis.list_loops import decision, list_counter, loads_of
from cvmgen.ir import nodes as i
from cvmgen.ir.logic import conjunction, conjuncts, merged_conditions
from cvmgen.ir.uses import assigned, carried, has, names_in, reassigned
from cvmgen.ir.visit import substitute, walk
from cvmgen.typing.decided_tests import without_known_tests


@dataclass(frozen=True, slots=True)
class Greedy:
    """What a nest does, below the loops over the indices of its list.

    In front of the `loop` over candidates stand `locals`. A candidate itself must meet
    `condition`, which follows the statements `own`. The loop `test` looks for an entry so far
    that rules it out; without one `store` appends it, and `counter` counts up. The statements
    `behind` follow the loop.
    """

    locals: i.Block
    loop: i.Loop
    own: i.Block
    condition: i.Expr
    test: i.Loop
    store: i.Store
    counter: str
    behind: i.Block

    def against(self, ruled_out: i.Stmt) -> i.Block:
        """What tests a candidate against one entry; the statement runs where that rules it out."""
        return test_prefix(self.loop.body, self.test, ruled_out)


def find_greedy(body: i.Block, own: frozenset[str]) -> Greedy | None:
    """The selection of a nest that fills the memory `own`, if it is greedy."""
    at = next((at for at, each in enumerate(body) if not isinstance(each, i.Let)), 0)
    match body[at:]:
        case (i.Loop() as loop, *behind) if (test := only_test(loop, own)) is not None:
            return taken_apart(body[:at], loop, test, tuple(behind))
        case _:
            return None


def only_test(loop: i.Loop, own: frozenset[str]) -> i.Loop | None:
    """The one place in a loop over candidates that reads the list so far: a loop that looks for
    an entry that decides."""
    reads = loads_of(loop, own)
    for each in walk(loop.body):
        match each:
            case i.Loop(low=None, high=i.Entries(first=first)) if reads == [first]:
                return each if decision(each) is not None else None
            case _:
                pass
    return None


def taken_apart(locals_: i.Block, loop: i.Loop, test: i.Loop, behind: i.Block) -> Greedy | None:
    """The parts of a loop that appends what passes, unless an entry decides; else None."""
    found = decision(test)
    alone = without_known_tests(with_test(loop.body, test, ()))
    counter = list_counter(alone)
    if found is None or counter is None or carried(loop) != {counter}:
        return None
    if has(without_known_tests(branch_taken(loop.body, test, found)), i.Store):
        return None  # an entry that decides may let the candidate pass
    match alone:
        case (*before, i.If(condition=condition, then=(i.Store() as store, i.Accumulate()))):
            asked: i.Stmt = i.If(condition, (), (), loop.span)
            *first, asked = tested_at_once((*relevant(tuple(before), (asked,)), asked))
            assert isinstance(asked, i.If)
            condition = asked.condition
        case (i.Store() as store, i.Accumulate()):
            first, condition = [], i.Const(True)
        case _:
            return None
    against = test_prefix(loop.body, test, i.Break(loop.span))
    read = (*first, i.If(condition, against, (), loop.span))
    known = not has(read, i.Append, i.SetAt, i.AddAt)
    if store.value != i.Var(loop.index) or counter in names_in(read) or not known:
        return None
    return Greedy(locals_, loop, tuple(first), condition, test, store, counter, behind)


# ---------------------------------------------------------------- blocks around the test


def tested_under(statement: i.Stmt, test: i.Loop) -> bool:
    """Whether the test stands in the branch of a condition that holds."""
    then = statement.then if isinstance(statement, i.If) else ()
    return any(each is test for each in walk(then))


def with_test(body: i.Block, test: i.Loop, by: i.Block) -> i.Block:
    done: list[i.Stmt] = []
    for each in body:
        if each is test:
            done += by
        elif isinstance(each, i.If) and tested_under(each, test):
            done.append(replace(each, then=with_test(each.then, test, by)))
        else:
            done.append(each)
    return tuple(done)


def branch_taken(body: i.Block, test: i.Loop, found: i.Assign) -> i.Block:
    """What runs where an entry decides: the conditions on the way to the test hold."""
    done: list[i.Stmt] = []
    for each in body:
        if each is test:
            done.append(found)
        elif isinstance(each, i.If) and tested_under(each, test):
            done += branch_taken(each.then, test, found)
        else:
            done.append(each)
    return tuple(done)


def test_prefix(body: i.Block, test: i.Loop, ruled_out: i.Stmt) -> i.Block:
    """What leads to the test of one entry, and the test."""
    for at, each in enumerate(body):
        last: i.Block = ()
        if each is test:
            last = deciding(test.body, ruled_out)
        elif isinstance(each, i.If) and tested_under(each, test):
            last = (replace(each, then=test_prefix(each.then, test, ruled_out), otherwise=()),)
        if last:
            return tested_at_once(without_known_tests((*relevant(body[:at], last), *last)))
    return ()


def deciding(body: i.Block, ruled_out: i.Stmt) -> i.Block:
    """The tests of an entry with a statement behind them."""
    *before, decides = body
    assert isinstance(decides, i.If)
    if isinstance(decides.then[-1], i.Break):
        return (*before, replace(decides, then=(ruled_out,)))
    return (*before, replace(decides, then=deciding(decides.then, ruled_out)))


def relevant(before: i.Block, last: i.Block) -> i.Block:
    """The statements that set what the last ones read."""
    kept: list[i.Stmt] = []
    wanted = set(names_in(last))
    for each in reversed(before):
        if assigned((each,)) & wanted:
            kept.insert(0, each)
            wanted |= names_in(each)
    return tuple(kept)


def tested_at_once(body: i.Block) -> i.Block:
    """A truth value that the last statement alone asks for stands in its condition."""
    match body:
        case (*before, i.Let(name=name, value=value), i.If() as last) if (
            sum(each == i.Var(name) for each in walk(last)) == 1
            and name in names_in(last.condition)
            and name not in reassigned(body)
        ):
            tests = conjuncts(substitute(last.condition, {name: value}))
            merged = merged_conditions(replace(last, condition=conjunction(tests)))
            return tested_at_once((*before, merged))
        case _:
            return body
