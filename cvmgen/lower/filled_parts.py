"""Memory of lets is filled where it is read.

    for t < T, u < T: w[t, u] = exp(s[t, u])    and    for t < T: z[t] = sum[u < t + 1](w[t, u])

fills what nothing reads: the loop over u may end at t + 1. It does where every read of the memory
says so: its last index is one of a loop or of a reduction from 0 to an end that depends on the
other indices of the read, and that end is the same for all of them. What is not filled is not read,
since the last index of each read is below that end; what is filled is as it was, since each element
is computed by itself, so that recurrences are left alone. The end lies within the memory: it does
not fall as the other indices grow, and is no more than the extent at the last of them.

Lets are looked at from the last one to the first: where one is not filled, it reads nothing. What
is reduced stays whole, since blocks of it are made at once; blocks of products of real numbers end
where rows do.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from cvmgen import algebra
from cvmgen.ir import nodes as i
from cvmgen.ir.uses import assigned, bound_in, has, names_in, read_tensors
from cvmgen.ir.visit import children, substitute
from cvmgen.lower.scans import perfect

Ranges = Mapping[str, i.Expr | None]  # the ends of indices that begin at 0


def fill_what_is_read(program: i.Program) -> i.Program:
    """The nests of lets in memory end where what is read ends."""
    for nest in reversed(program.nests):
        memory = program.lets.get(nest.tensor)
        found = None if memory is None or memory.axis is not None else filled_part(program, nest)
        if found is not None:
            program = with_part(program, nest, found)
    return program


def with_part(program: i.Program, nest: i.Nest, part: i.FilledPart) -> i.Program:
    """The program with memory of which a nest fills that part."""
    loops, store = perfect(nest.body)
    assert store is not None
    body: i.Block = (store,)
    for each in reversed(loops):
        body = (replace(each, body=body, high=part.end if each is loops[-1] else each.high),)
    filled = replace(nest, body=body)
    memory = (replace(e, filled=part) if e.name == nest.tensor else e for e in program.scratch)
    nests = tuple(filled if each is nest else each for each in program.nests)
    return replace(program, nests=nests, scratch=tuple(memory))


def filled_part(program: i.Program, nest: i.Nest) -> i.FilledPart | None:
    """The part of memory that is read, if a nest may fill that alone."""
    loops, store = perfect(nest.body)
    if store is None or len(loops) < 2 or nest.each is not None:
        return None
    if stays_whole(store.value, program.lets[nest.tensor].kind):
        return None
    indices = tuple(loop.index for loop in loops)
    match store.target:
        case i.Access(index=index) if index == tuple((i.Var(each), False) for each in indices):
            pass
        case _:
            return None
    ends: set[i.Expr | None] = set()
    for reader in program.nests:
        if reader is not nest and nest.tensor in read_tensors((reader.body, reader.prologue)):
            own = assigned(reader.body) | bound_in(reader.body)
            ends |= {end_of(*each, indices, own) for each in reads(reader.body, nest.tensor, {})}
    if len(ends) != 1:
        return None
    (end,) = ends
    extents = {loop.index: loop.high for loop in loops[:-1]}
    if end is None or not is_within(end, extents, loops[-1].high):
        return None
    return i.FilledPart(indices, end)


def stays_whole(value: i.Expr, kind: str) -> bool:
    """Whether results are reduced, other than to sums of products of real numbers."""
    match value:
        case i.Fold(op="sum", element=i.Binary("*", i.Access(), i.Access()), condition=None):
            return kind != "real"
        case _:
            return has(value, i.Fold)


def reads(node: Any, tensor: str, ranges: Ranges) -> Iterator[tuple[i.Access, Ranges]]:
    """The places where a tensor is read, each with the ends of the indices around."""
    match node:
        case i.Loop(index=index, low=low, high=high, body=body):
            yield from reads((low, high), tensor, ranges)
            yield from reads(body, tensor, {**ranges, index: high if low == i.ZERO else None})
        case i.Fold(element=element, over=over, condition=test):
            for each in over:
                yield from reads(each, tensor, ranges)
                if isinstance(each, i.Over):
                    ranges = {**ranges, each.index: each.high if each.low == i.ZERO else None}
            yield from reads((element, test), tensor, ranges)
        case i.Access(tensor=own) if own == tensor:
            yield node, ranges
            yield from reads(node.index, tensor, ranges)
        case i.Load(tensor=own) if own == tensor:
            raise AssertionError("memory is read by its indices here")
        case _:
            for each in children(node):
                yield from reads(each, tensor, ranges)


def end_of(
    read: i.Access, ranges: Ranges, indices: tuple[str, ...], own: frozenset[str]
) -> i.Expr | None:
    """The end of the last index of a read, over the names of the other ones in memory; `own` are
    the names that mean something else there."""
    *others, (last, _) = read.index
    end = ranges.get(last.name) if isinstance(last, i.Var) else None
    if end is None:
        return None
    names = {
        each.name: i.Var(index)
        for (each, _), index in zip(others, indices, strict=False)
        if isinstance(each, i.Var)
    }
    varying = names_in(end) & own
    if not varying or not varying <= names.keys():
        return None
    return algebra.normal(substitute(end, names))


def is_within(end: i.Expr, extents: Mapping[str, i.Expr], extent: i.Expr) -> bool:
    """Whether an end does not fall with the indices, and is an extent at most."""
    found = algebra.plane(end, [*extents])
    if found is None or not all(_number(each) > 0 for each in found.steps.values()):
        return False
    last = {name: i.Binary("-", high, i.ONE) for name, high in extents.items()}
    return _number(algebra.normal(i.Binary("-", extent, substitute(end, last)))) >= 0


def _number(expr: i.Expr) -> int:
    return expr.value if isinstance(expr, i.Const) else -1
