"""Recurrences that combine all elements so far: running sums, products, maxima and minima.

    let S[n, k] = X[n, k] + (S[n, k - 1] if k > 0 else 0)

For numpy they are what `accumulate` makes of the terms. In C and CUDA the result so far is a local
of the loop over k; where one output alone reads the `let`, each element at its own place, the loop
stores that instead, and there is no memory for the `let`. The operations stay the same, in their
order: of real numbers, + and * have the same result in either order of their two operands, -0 + x
is x, and 1 * x is. `sum[j < k + 1](X[n, j])` is such a result as it stands: that of k is that of
k - 1 and one term more; so is `sum[j < k](X[n, j])`, of which that is the term of k - 1, and of the
first one 0. What a condition leaves out of a sum of integers is a term of 0.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

from cvmgen.ir import nodes as i
from cvmgen.ir.logic import opposite
from cvmgen.ir.uses import bound_in, names_in, nodes_in, read_tensors
from cvmgen.ir.visit import fresh, rebuild, replaced, substitute
from cvmgen.lower.widths import Widths, host_ranges

STARTS: dict[str, tuple[i.Expr, i.Expr]] = {
    "+": (i.ZERO, i.Real("-0.0")),
    "*": (i.ONE, i.Real("1.0")),
    "max": (i.Call("lowest", ()), i.Call("lowest", ())),
    "min": (i.Call("highest", ()), i.Call("highest", ())),
}


FOLDS = {"+": "sum", "*": "prod", "max": "max", "min": "min"}
NEUTRAL: dict[str, i.Expr] = {"+": i.ZERO, "*": i.ONE}  # of integers


@dataclass(frozen=True, slots=True)
class Scan:
    """Element k is the one before it `op` the `term` of k; the first one is `start op` its term,
    or its term where there is no `start`. `loops` are those of the nest, that over k innermost."""

    loops: tuple[i.Loop, ...]
    store: i.Store
    op: str
    term: i.Expr
    start: i.Expr | None


def scan_of(program: i.Program, nest: i.Nest) -> Scan | None:
    """What a nest is as a running reduction, if it is one."""
    memory = program.lets.get(nest.tensor)
    if memory is None or memory.axis is None or not memory.apart:
        return None
    loops, store = perfect(nest.body)
    if store is None or len(loops) != len(memory.shape):
        return None
    own, index = nest.tensor, i.Var(loops[-1].index)
    assert isinstance(store.target, i.Access)
    before = i.Binary("-", index, i.ONE)
    places = ((before if value == index else value, pack) for value, pack in store.target.index)
    earlier = replace(store.target, index=tuple(places))
    match first_apart(store.value, index):
        case i.Select(then=then, otherwise=first):
            found = _with_earlier(then, earlier, first=True)
            good = found is not None and found[1] == first
            start = None
        case value:
            found = _with_earlier(value, earlier, index=index)
            good, start = True, None if found is None else found[2]
    if found is None or not good or own in read_tensors(found[1]):
        return None
    return Scan(loops, store, found[0], found[1], start)


def perfect(body: i.Block) -> tuple[tuple[i.Loop, ...], i.Store | None]:
    """The loops around one store."""
    loops: list[i.Loop] = []
    while len(body) == 1 and isinstance(body[0], i.Loop) and body[0].low == i.ZERO:
        loops.append(body[0])
        body = body[0].body
    match body:
        case (i.Store() as store,):
            return tuple(loops), store
        case _:
            return tuple(loops), None


def always_asked(expr: i.Expr) -> Iterator[i.Fold]:
    """The reductions of an expression whose values are asked for whatever the others are."""
    match expr:
        case i.Fold():
            yield expr
        case i.Bind(value=value, body=body):
            yield from always_asked(value)
            yield from always_asked(body)
        case i.Select(condition=condition):
            yield from always_asked(condition)
        case i.Logic(operands=(first, *_)):
            yield from always_asked(first)
        case i.Binary(left=left, right=right) | i.Compare(left=left, right=right):
            yield from always_asked(left)
            yield from always_asked(right)
        case i.Not(operand=operand):
            yield from always_asked(operand)
        case i.Call(arguments=arguments):
            for each in arguments:
                yield from always_asked(each)
        case i.Access(which=None, index=index):
            for each, _ in index:
                yield from always_asked(each)
        case _:
            pass


def first_apart(value: i.Expr, index: i.Expr) -> i.Expr:
    """A choice that asks whether there is an element before, with that one first."""
    match value:
        case i.Select(condition=condition, then=then, otherwise=otherwise):
            if _is_behind(condition, index):
                return value
            if _is_behind(opposite(condition), index):
                return i.Select(opposite(condition), otherwise, then)
        case _:
            pass
    return value


def _is_behind(condition: i.Expr, index: i.Expr) -> bool:
    """Whether a condition says that an index is above 0."""
    tests = ((">", i.ZERO), ("!=", i.ZERO), (">=", i.ONE))
    return any(condition == i.Compare(op, index, end) for op, end in tests)


Found = tuple[str, i.Expr, i.Expr | None]  # an operation, the term, what stands for no element


def _with_earlier(
    value: i.Expr, earlier: i.Expr, *, first: bool = False, index: i.Expr = i.ZERO
) -> Found | None:
    """An operation on the element before and a term; with `first` where there surely is one, else
    behind a choice that stands for none."""
    match value:
        case i.Binary(op="+" | "*" as op, left=left, right=right):
            pairs = ((left, right), (right, left))
        case i.Call(function="max" | "min" as op, arguments=(left, right)):
            pairs = ((left, right), (right, left))
        case _:
            return None
    for one, term in pairs:
        if first and one == earlier:
            return op, term, None
        match first_apart(one, index):
            case i.Select(condition=condition, then=then, otherwise=start) if (
                not first and then == earlier and _is_behind(condition, index)
            ):
                return op, term, start
            case _:
                continue
    return None


# ---------------------------------------------------------------- C, CUDA


def carry_scans(program: i.Program) -> i.Program:
    """Running reductions that one output alone stores keep the result so far in a local.

    They go along the last index, and the output's own loop stores each result. So do reductions of
    all elements up to that at hand, which are the same sums of one term more each.
    """
    reals = program.operator.has_reals
    nests = tuple(_with_prefix(each, reals=reals) for each in program.nests)
    if nests != program.nests:
        program = replace(program, nests=nests)
    for memory in program.lets.values():
        (nest,) = (each for each in program.nests if each.tensor == memory.name)
        found = scan_of(program, nest)
        if found is not None and is_bounded(program, nest, memory):
            program = _carried(program, nest, memory, found)
    return program


def _with_prefix(nest: i.Nest, *, reals: bool) -> i.Nest:
    """A nest that reduces all terms up to each index goes along it with the result so far, which
    each result asks for: where some do not, the others' terms may lie outside of what they read."""
    loops, store = perfect(nest.body)
    if store is None or nest.each is not None or nest.guarded is not None:
        return nest
    for loop in loops:
        folds = dict.fromkeys(always_asked(store.value))
        found = [each for each in (prefix_of(e, loop, reals=reals) for e in folds) if each]
        if len(found) == 1 and not any(loop.index in names_in(each.high) for each in loops):
            outer = [each for each in loops if each is not loop]
            return replace(nest, body=_along(loop, outer, found[0], store))
    return nest


@dataclass(frozen=True, slots=True)
class Prefix:
    """A reduction of the terms up to that of a loop's index, or to the one before: by which
    operation, and what it combines for that index."""

    fold: i.Fold
    op: str
    term: i.Expr


def prefix_of(fold: i.Fold, loop: i.Loop, *, reals: bool) -> Prefix | None:
    """What a reduction is along a loop, if it goes from the first term to that of its index."""
    match fold:
        case i.Fold(
            op="sum" | "prod" | "max" | "min" | "count",
            over=(i.Over(index=index, low=i.Const(value=0), high=high),),
        ) if loop.index not in names_in((fold.element, fold.condition)):
            at = i.Var(loop.index)
        case _:
            return None
    term, test, before = fold.element, fold.condition, high == at
    op = "+" if fold.op == "count" else next(op for op, name in FOLDS.items() if name == fold.op)
    if not before and high not in (i.Binary("+", at, i.ONE), i.Binary("+", i.ONE, at)):
        return None
    some = before or test is not None
    if some and (op not in NEUTRAL or reals):  # of no terms there is no extreme
        return None
    if fold.op == "count":
        term = i.Select(term, i.ONE, i.ZERO)
    if test is not None:
        term = i.Select(test, term, NEUTRAL[op])
    if not before:
        return Prefix(fold, op, substitute(term, {index: at}))
    term = substitute(term, {index: i.Binary("-", at, i.ONE)})
    return Prefix(fold, op, i.Select(i.Compare(">", at, i.ZERO), term, NEUTRAL[op]))


def _along(loop: i.Loop, outer: list[i.Loop], found: Prefix, store: i.Store) -> i.Block:
    """The loops with that over the terms innermost, behind the others."""
    taken = set(names_in((loop, store))) | bound_in((loop, *outer, store))
    running = fresh(RUNNING[found.op], taken)
    value = replaced(store.value, lambda node: i.Var(running) if node == found.fold else node)
    step = i.Accumulate(running, found.op, found.term, store.span)
    inner = replace(loop, body=(step, replace(store, value=value)))
    body: i.Block = (i.Let(running, "int", STARTS[found.op][0], store.span), inner)
    for each in reversed(outer):
        body = (replace(each, body=body),)
    return body


def is_bounded(program: i.Program, nest: i.Nest, memory: i.Scratch) -> bool:
    """Whether it is known of integers how large they get, so that memory could hold them too: what
    is refused does not depend on where they are."""
    if memory.kind != "int":
        return True
    widths = Widths(program, nest, host_ranges(program))
    widths.largest()
    return widths.kept[memory.name].fits(64)


def _carried(program: i.Program, nest: i.Nest, memory: i.Scratch, scan: Scan) -> i.Program:
    """The program without this memory, where it can do without."""
    readers = [each for each in program.nests if memory.name in read_tensors(each.body)]
    readers = [each for each in readers if each.tensor != memory.name]
    starts = STARTS[scan.op]
    last = scan.store.target
    assert isinstance(last, i.Access)
    innermost = last.index[-1] == (i.Var(scan.loops[-1].index), False)
    if len(readers) != 1 or scan.start not in (None, *_zeros(scan.op)) or not innermost:
        return program
    (reader,) = readers
    real = memory.kind == "real"
    start = starts[real] if scan.start is None else scan.start
    body = None if reader.case != memory.case else stored_on_the_way(reader, scan, start)
    if body is None:
        return program
    nests = tuple(
        replace(each, body=body, more=(*each.more, program.quoted(nest)))
        if each is reader
        else each
        for each in program.nests
        if each.tensor != memory.name
    )
    scratch = tuple(each for each in program.scratch if each is not memory)
    prepare = without_let(program.prepare, memory.size)
    return replace(program, nests=nests, scratch=scratch, prepare=prepare)


def _zeros(op: str) -> tuple[i.Expr, ...]:
    """What may be written for the sum or the product of nothing."""
    return {"+": (i.ZERO, i.Real("0.0")), "*": (i.ONE, i.Real("1.0"))}.get(op, ())


def stored_on_the_way(reader: i.Nest, scan: Scan, start: i.Expr) -> i.Block | None:
    """The loops of the recurrence, which store what the other nest makes of each element: that
    has the same loops, in any order, and reads each element where it is alone."""
    loops, store = perfect(reader.body)
    if store is None or reader.each is not None or len(loops) != len(scan.loops):
        return None
    own = scan.store.target
    assert isinstance(own, i.Access)
    reads = {e.index for e in _accesses(store.value) if e.tensor == own.tensor}
    if len(reads) != 1 or any(e.tensor == own.tensor for e in _accesses(store.target)):
        return None
    (index,) = reads
    highs: dict[i.Expr, i.Expr] = {i.Var(each.index): each.high for each in loops}
    wanted = {value: _extent_of(scan, value) for value, _ in own.index}
    pairs = list(zip(index, own.index, strict=True))
    if any(highs.get(mine) != wanted[theirs] for (mine, _), (theirs, _) in pairs):
        return None
    names = {mine.name: theirs for (mine, _), (theirs, _) in pairs if isinstance(mine, i.Var)}
    if len(names) != len(loops) or bound_in(store) & {each.index for each in scan.loops}:
        return None
    taken = set(names_in((scan.loops[0], store))) | bound_in((scan.loops[0], store))
    running = fresh(RUNNING[scan.op], taken)
    moved = substitute(store, names)

    def change(node: Any) -> Any:
        own_read = isinstance(node, i.Access) and node.tensor == own.tensor
        return i.Var(running) if own_read else node

    step = i.Accumulate(running, scan.op, scan.term, scan.store.span)
    *outer, inner = scan.loops
    body: i.Block = (replace(inner, body=(step, rebuild(moved, change))),)
    body = (i.Let(running, "int", start, scan.store.span), *body)
    for loop in reversed(outer):
        body = (replace(loop, body=body),)
    return body


RUNNING = {"+": "total", "*": "product", "max": "largest", "min": "smallest"}


def _accesses(node: Any) -> list[i.Access]:
    return [*nodes_in(node, i.Access)]


def _extent_of(scan: Scan, index: i.Expr) -> i.Expr:
    return next(loop.high for loop in scan.loops if i.Var(loop.index) == index)


def without_let(statements: i.Block, name: str) -> i.Block:
    """Host statements without a local that nothing reads."""
    kept: list[i.Stmt] = []
    for each in statements:
        match each:
            case i.Let(name=own) if own == name:
                continue
            case i.Cases(branches=branches):
                inner = tuple((test, without_let(body, name)) for test, body in branches)
                kept.append(replace(each, branches=inner))
            case _:
                kept.append(each)
    return tuple(kept)
