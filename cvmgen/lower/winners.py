"""The last one, or the first one, of what names a place: one walk for all places.

    for i < N: Y[i] = f(max[k < K](k if I[k] == i else -1))

asks each k for each place. For all places at once it is

    for i < N: last[i] = -1
    for k < K: if 0 <= I[k] < N: last[I[k]] = k
    for i < N: Y[i] = f(last[i])

since k grows: what is stored last is the greatest. For the least one, k runs from the end. It takes
N + K steps for N * K. The walk is made in its order, whatever a schedule says.

Each result has to ask for it whatever else it finds, as the walk reads what names places for all of
them. What it reads is what a result read: tests are made in the order of the formula.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from cvmgen import algebra
from cvmgen.ir import nodes as i
from cvmgen.ir.host import insert
from cvmgen.ir.logic import conjunction, conjuncts
from cvmgen.ir.uses import bound_in, names_in
from cvmgen.ir.visit import fresh, replaced, substitute
from cvmgen.lower.list_nests import box_size
from cvmgen.lower.scans import always_asked, perfect

WHY = "which one a place has, found in one walk"


@dataclass(frozen=True, slots=True)
class Choice:
    """For each index of the loop `over` places, the index of the `walk` at which the tests hold and
    `place` is that of the loop: those `before` it, then those `behind`; `none` where there is no
    such index. The other loops that it depends on are `outer`."""

    fold: i.Fold
    outer: tuple[i.Loop, ...]
    over: i.Loop
    walk: i.Over
    place: i.Expr
    before: tuple[i.Expr, ...]
    behind: tuple[i.Expr, ...]
    none: i.Expr


def choose_by_place(program: i.Program) -> i.Program:
    """Indices that are chosen for each place become memory of the call, filled by one walk."""
    for nest in program.nests:
        loops, store = perfect(nest.body)
        if store is None or nest.each is not None or nest.guarded is not None:
            continue
        for fold in dict.fromkeys(always_asked(store.value)):
            found = choice_of(fold, loops)
            if found is not None:
                program = with_walk(program, nest, found)
                (nest,) = (
                    e for e in program.nests if e.tensor == nest.tensor and e.span == nest.span
                )
    return program


def choice_of(fold: i.Fold, loops: tuple[i.Loop, ...]) -> Choice | None:
    """What a reduction chooses for each place, if it is such a choice."""
    match fold:
        case i.Fold(
            op="max" | "min",
            element=i.Select(condition=test, then=i.Var(name=name), otherwise=none),
            over=(i.Over(index=index, low=i.Const(value=0), high=high) as walk,),
            condition=None,
        ) if name == index and index not in names_in(none):
            pass
        case _:
            return None
    if not gives_way(none, fold.op, high):
        return None
    own = {loop.index for loop in loops}
    outer = tuple(loop for loop in loops if loop.index in names_in(fold))
    tests = conjuncts(test)
    if names_in((high, none, tuple(loop.high for loop in loops))) & own:
        return None
    for at, each in enumerate(tests):
        before, behind = tests[:at], tests[at + 1 :]
        for over in outer:
            place = place_of(each, over.index)
            free = place is not None and over.index not in names_in((place, before, behind))
            if place is not None and free and index in names_in(place):
                rest = tuple(loop for loop in outer if loop is not over)
                return Choice(fold, rest, over, walk, place, before, behind, none)
    return None


def gives_way(none: i.Expr, op: str, high: i.Expr) -> bool:
    """Whether what stands for no index is no greater than any index, or for `min` no less: an index
    that fails a test brings it in beside those that pass."""
    above = i.Binary("-", i.ZERO, none) if op == "max" else i.Binary("-", none, high)
    match algebra.normal(above):
        case i.Const(value=number):
            return number >= (0 if op == "max" else -1)
        case _:
            return False


def place_of(test: i.Expr, index: str) -> i.Expr | None:
    """What a test says that an index is."""
    match test:
        case i.Compare(op="==", left=i.Var(name=name), right=place) if name == index:
            return place
        case i.Compare(op="==", left=place, right=i.Var(name=name)) if name == index:
            return place
        case i.Compare(op="==", left=left, right=right) if index in names_in(test):
            for one, other in ((left, right), (right, left)):
                line = algebra.line(i.Binary("-", one, other), index)
                if line is not None and line.step == i.Const(-1):
                    return line.rest
        case _:
            pass
    return None


def with_walk(program: i.Program, nest: i.Nest, choice: Choice) -> i.Program:
    """The program with memory for what is chosen, which the nest reads."""
    taken = {name for each in program.nests for name in names_in(each.body) | bound_in(each)}
    taken |= set(names_in(program.prepare)) | set(program.operator.type_of)
    taken |= {each.name for each in program.scratch} | {e.tensor for e in program.nests}
    name = fresh("last" if choice.fold.op == "max" else "first", taken)
    loops = (*choice.outer, choice.over)
    shape = tuple(loop.high for loop in loops)
    memory = i.Scratch(name, name, shape, nest.case, "int", WHY, in_turn=True)
    size = i.Let(memory.size, "int", box_size(shape), nest.span)
    index = tuple((i.Var(loop.index), False) for loop in loops)
    chosen = i.Access(name, None, index)
    body = replaced(nest.body, lambda node: chosen if node == choice.fold else node)
    walk = replace(nest, tensor=name, body=walked(choice, chosen, taken, nest))
    nests = (
        (walk, replace(nest, body=body)) if each is nest else (each,) for each in program.nests
    )
    return replace(
        program,
        prepare=insert(program.prepare, {nest.case: [size]}),
        scratch=(*program.scratch, memory),
        nests=tuple(made for several in nests for made in several),
    )


def walked(choice: Choice, chosen: i.Access, taken: set[str], nest: i.Nest) -> i.Block:
    """The loops that fill memory: with what stands for none, then in the order of the walk."""
    span, walk = nest.span, choice.walk
    place = i.Var(fresh("place", taken))
    at: i.Expr = i.Var(walk.index)
    if choice.fold.op == "min":
        at = i.Binary("-", i.Binary("-", walk.high, i.ONE), at)
    inside = i.Logic(
        "and",
        (i.Compare("<=", i.ZERO, place), i.Compare("<", place, choice.over.high), *choice.behind),
    )
    target = replace(chosen, index=(*chosen.index[:-1], (place, False)))
    kept: i.Block = (
        i.Let(place.name, "int", choice.place, span),
        i.If(inside, (i.Store(target, i.Var(walk.index), span),), (), span),
    )
    if choice.before:
        kept = (i.If(conjunction(choice.before), kept, (), span),)
    if choice.fold.op == "min":
        kept = substitute(kept, {walk.index: at})
    fill = replace(choice.over, body=(i.Store(chosen, choice.none, span),))
    body: i.Block = (fill, i.Loop(walk.index, i.ZERO, walk.high, kept, 0, span))
    for loop in reversed(choice.outer):
        body = (replace(loop, body=body),)
    return body
