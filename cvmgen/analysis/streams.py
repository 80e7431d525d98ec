"""Streams: nests whose innermost loop, the run, stores neighboring elements one after the other.

Elements that are read from places affine in the index of the run can be read several at a time,
and so can elements be stored; the rest of the formula is computed for each element by itself.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, replace
from typing import Any

from cvmgen import algebra
from cvmgen.ir import nodes as i
from cvmgen.ir.logic import conjunction, opposite
from cvmgen.ir.loops import extent
from cvmgen.ir.rewrite import inlined, invariant, is_name_arithmetic, with_offsets
from cvmgen.ir.uses import names_in, nodes_in
from cvmgen.ir.visit import children, rebuild, substitute, walk

NOWHERE = i.Load("", None, i.ZERO)


@dataclass(frozen=True, slots=True)
class StreamRead:
    """Elements along the run: that of the run's index lies at `place`, the next a step behind.

    They may be read where the guard holds, which is the same for the whole run.
    """

    load: i.Load  # as it stands in the body
    place: i.Load
    step: i.Expr
    guard: i.Expr | None
    near: bool  # whether they can be neighbors


@dataclass(frozen=True, slots=True)
class Stream:
    """The loops around a run, what a run fixes, what it reads, and what it does by element."""

    loops: tuple[i.Loop, ...]
    run: i.Loop
    extents: tuple[i.Expr, ...]  # of the loops that the run is made of
    fixed: i.Block
    reads: tuple[StreamRead, ...]
    body: i.Block
    target: i.Load
    step: i.Expr


def walk_steps(program: i.Program) -> frozenset[str]:
    """The steps by which boxes are walked along their last dimension: most are 1 in a call."""
    host = (program.prepare, tuple(nest.prologue for nest in program.nests))
    return frozenset(
        each.name
        for each in nodes_in(host, i.Let)
        if isinstance(each.value, i.Call) and each.value.function == "last"
    )


def stream(loops: Sequence[i.Loop], body: i.Block, steps: frozenset[str]) -> Stream | None:
    """The stream that parallel loops and their typed body are, if they are one.

    `steps` are names of steps that can be 1.
    """
    if not loops or not all(isinstance(each, (i.Let, i.Store, i.If)) for each in body):
        return None
    longest = merged_loops(tuple(loops), body)
    *around, run = longest.loops
    fixed, varying = invariant(replace(run, body=longest.body), lambda value: True)
    found = Finder(run.index, longest.body, varying, steps)
    target = found.target()
    step = None if target is None else found.step(target)
    if target is None or step is None or not found.near(step):
        return None
    reads = found.reads(target.tensor)
    if reads is None or any(isinstance(each, i.Let) and each.type == "list" for each in varying):
        return None
    place = found.resolved(target)
    return Stream(tuple(around), run, longest.extents, fixed, tuple(reads), varying, place, step)


class Finder:
    """What the statements for an element read and store along the run."""

    def __init__(
        self,
        index: str,
        body: i.Block,
        varying: i.Block,
        steps: frozenset[str],
    ) -> None:
        self.index, self.steps = index, steps
        self.varying = varying
        # Products of locals of 32 bits might need more.
        self.narrow = {each.name for each in nodes_in(body, i.Let) if each.type == "i32"}
        self.values: dict[str, i.Expr] = {}  # of locals that only name places
        self.varies = {index}
        for each in walk(varying):
            if isinstance(each, i.Let):
                self.varies.add(each.name)
                if is_name_arithmetic(each.value) and each.type == "i64":
                    self.values[each.name] = substitute(each.value, self.values)

    def target(self) -> i.Load | None:
        """Where each element is stored, if every way through the statements has one store there.

        An element whose value does not fit is noted instead.
        """
        targets = {each.target for each in nodes_in(self.varying, i.Store)}
        if len(targets) != 1 or not ends_in_store(self.varying):
            return None
        (target,) = targets
        return target if isinstance(target, i.Load) and target.which is None else None

    def resolved(self, place: i.Load) -> i.Load:
        """A place by the index of the run, and by what the run fixes."""
        return replace(place, offset=substitute(place.offset, self.values))

    def step(self, place: i.Load) -> i.Expr | None:
        """How far apart the elements of two neighboring indices lie."""
        return named_step(self.resolved(place).offset, self.index, self.narrow, self.varies)

    def near(self, step: i.Expr) -> bool:
        """Whether a step can be 1."""
        return step == i.ONE or (isinstance(step, i.Var) and step.name in self.steps)

    # -------------------------------------------------------- reads

    def reads(self, target: str) -> list[StreamRead] | None:
        """The elements to be read along the run; None where the result is read."""
        guards: dict[i.Load, i.Expr | None] = {}
        for load, conditions in self.loads(self.varying, ()):
            if load.tensor == target:
                return None
            guard = conjunction(conditions) if conditions else None
            if load in guards:
                before = guards[load]
                joint = None if guard is None or before is None else i.Logic("or", (before, guard))
                guard = guard if guard == before else joint
            guards[load] = guard
        return [
            StreamRead(load, self.resolved(load), step, guard, self.near(step))
            for load, guard in guards.items()
            if load.which is None
            and (step := self.step(load)) is not None
            and step != i.ZERO
            and not names_in(guard) & self.varies
        ]

    def loads(
        self, node: object, conditions: tuple[i.Expr, ...]
    ) -> Iterator[tuple[i.Load, tuple[i.Expr, ...]]]:
        """Elements that are read, each with the conditions under which it is."""
        match node:
            case (
                i.Select(condition=condition, then=then, otherwise=otherwise)
                | i.If(condition=condition, then=then, otherwise=otherwise)
            ):
                yield from self.loads(condition, conditions)
                yield from self.loads(then, (*conditions, condition))
                yield from self.loads(otherwise, (*conditions, unless(condition)))
            case i.Logic(op=op, operands=operands):
                for operand in operands:
                    yield from self.loads(operand, conditions)
                    conditions = (*conditions, operand if op == "and" else unless(operand))
            case i.Store(value=value):
                yield from self.loads(value, conditions)
            case i.Load(offset=offset):
                yield from self.loads(offset, conditions)
                yield node, conditions
            case _:
                for child in children(node):
                    yield from self.loads(child, conditions)


def named_step(
    offset: i.Expr, index: str, narrow: Set[str], varying: Iterable[str] = ()
) -> i.Expr | None:
    """How far apart neighbouring iterations have an element, by names none of which is `narrow`:
    products of those might need more bits."""
    found = algebra.line(offset, index, varying)
    if found is None or not is_name_arithmetic(found.step) or names_in(found.step) & narrow:
        return None
    return found.step


def unless(test: i.Expr) -> i.Expr:
    """That a test does not hold; comparisons of order are not turned around, because of NaN."""
    match test:
        case i.Compare(op="==" | "!=") | i.Not():
            return opposite(test)
        case _:
            return i.Not(test)


def ends_in_store(statements: i.Block) -> bool:
    """Whether every way through statements ends with its only store, or a note of overflow."""
    match statements:
        case (*before, i.Store() | i.Overflow()):
            return all(isinstance(each, i.Let) for each in before)
        case (*before, i.If(then=then, otherwise=otherwise)):
            return (
                all(isinstance(each, i.Let) for each in before)
                and ends_in_store(then)
                and ends_in_store(otherwise)
            )
        case _:
            return False


# ---------------------------------------------------------------- longer runs


@dataclass(frozen=True, slots=True)
class Joined:
    """Loops of which the innermost may stand for several, and these loops' extents."""

    loops: tuple[i.Loop, ...]
    extents: tuple[i.Expr, ...]
    body: i.Block


def merged_loops(loops: tuple[i.Loop, ...], body: i.Block) -> Joined:
    """The innermost loops as one where the store walks them without a gap.

    Either all elements are walked so, or nothing but the store depends on the inner loop: then
    it repeats what it stores, and is often short.
    """
    loops, body = without_units(loops, body)
    extents: tuple[i.Expr, ...] = (extent(loops[-1]),)
    while len(loops) > 1:
        outer, inner = loops[-2:]
        longer = merged_pair(outer, inner, body) or repeating(outer, inner, body)
        if longer is None:
            break
        index = inner.index.removesuffix("_inner")
        if index not in names_in(longer) | {each.index for each in loops}:
            longer = substitute(longer, {inner.index: i.Var(index)})
            inner = replace(inner, index=index)
        whole = replace(inner, high=algebra.product([outer.high, inner.high]))
        loops, extents, body = (*loops[:-2], whole), (outer.high, *extents), longer
    return Joined(loops, extents, body)


def without_units(loops: tuple[i.Loop, ...], body: i.Block) -> tuple[tuple[i.Loop, ...], i.Block]:
    """The loops without those of one iteration, but for a last one."""
    for loop in loops:
        if len(loops) > 1 and loop.low == i.ZERO and loop.high == i.ONE:
            loops = tuple(each for each in loops if each is not loop)
            body = with_offsets(substitute(body, {loop.index: i.ZERO}), algebra.simplify)
    return loops, body


def merged_pair(outer: i.Loop, inner: i.Loop, body: i.Block) -> i.Block | None:
    """The body by the index of one loop for both, if all elements are walked alike."""
    body = inlined(body)
    offsets = {each.offset for each in walk(body) if isinstance(each, (i.Load, i.Overflow))}
    return joint(outer, inner, body, offsets, {outer.index, inner.index})


def repeating(outer: i.Loop, inner: i.Loop, body: i.Block) -> i.Block | None:
    """The body by the index of one loop for both, if only the store depends on the inner one."""
    body = inlined(body)

    def unplaced(node: Any) -> Any:
        if isinstance(node, i.Store):
            return replace(node, target=NOWHERE)
        return replace(node, offset=i.ZERO) if isinstance(node, i.Overflow) else node

    if inner.index in names_in(rebuild(body, unplaced)):
        return None
    targets = [each.target for each in nodes_in(body, i.Store)]
    offsets = {each.offset for each in targets if isinstance(each, i.Load)}
    offsets |= {each.offset for each in nodes_in(body, i.Overflow)}
    found = joint(outer, inner, body, offsets, set())
    if found is None:
        return None
    index = i.Call("quotient", (i.Var(inner.index), inner.high))
    return (i.Let(outer.index, "i64", index, outer.span), *found)


def joint(
    outer: i.Loop,
    inner: i.Loop,
    body: i.Block,
    offsets: set[i.Expr],
    hidden: set[str],
) -> i.Block | None:
    """The body by the inner index alone, if it walks the offsets through both without a gap.

    None if not, or if something else depends on what is `hidden`.
    """
    if outer.low != i.ZERO or inner.low != i.ZERO:
        return None
    if not all(gapless(outer, inner, each) for each in offsets):
        return None
    if names_in(with_moved_offsets(body, dict.fromkeys(offsets, i.ZERO))) & hidden:
        return None
    alone: dict[str, i.Expr] = {outer.index: i.ZERO}
    return with_moved_offsets(
        body, {each: algebra.simplify(substitute(each, alone)) for each in offsets}
    )


def gapless(outer: i.Loop, inner: i.Loop, offset: i.Expr) -> bool:
    """Whether the inner loop ends one step before the next iteration of the outer one begins."""
    found = algebra.plane(offset, [outer.index, inner.index])
    if found is None:
        return False
    wanted = i.Binary("*", found.step(inner.index), inner.high)
    return algebra.equal(found.step(outer.index), wanted)


def with_moved_offsets(body: i.Block, offsets: Mapping[i.Expr, i.Expr]) -> i.Block:
    """The body with other offsets in their place."""
    return with_offsets(body, lambda offset: offsets.get(offset, offset))
