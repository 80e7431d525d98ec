"""Contractions whose elements stand at affine places: what the register tile needs to know.

The elements of one factor, w, are packed into panels of columns; those of the other, x, are staged
as an image of the places that its lines lead to. A test of a place, as that of a padded
convolution, becomes the border of the image.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from cvmgen import algebra
from cvmgen.analysis.contraction import (
    Contraction,
    Factor,
    contraction,
)
from cvmgen.analysis.facts import Facts
from cvmgen.analysis.grid import grid
from cvmgen.analysis.quotients import DividedIndex
from cvmgen.analysis.sums_of_products import NoContraction
from cvmgen.ir import nodes as i
from cvmgen.ir.logic import at_least_zero, conjuncts
from cvmgen.ir.remember import remembered
from cvmgen.ir.rewrite import with_offsets, without_dead
from cvmgen.ir.text import text
from cvmgen.ir.uses import names_in, nodes_in, read_tensors
from cvmgen.ir.visit import rebuild, substitute

TOTAL = "i32"  # the type of those that the register tile stores
AffineSteps = Mapping[str, i.Expr]  # what an index adds to an affine expression, by its name


@dataclass(frozen=True, slots=True)
class RowIndex:
    """An index of rows: places `start + step * index + tap_step * tap` of an axis of x, of which
    those in 0..places-1 exist; from one to the next it is `x_step` elements."""

    loop: i.Loop
    step: i.Expr
    tap: str | None
    tap_step: i.Expr
    start: i.Expr
    places: i.Expr
    x_step: i.Expr


@dataclass(frozen=True, slots=True)
class StoredTotals:
    """Totals that are stored as they are if elements have their type, where these optional inputs
    are not given: each in the element of `tensor` that the steps of its indices lead to from
    `start`."""

    tensor: str
    type: str  # of its elements
    without: tuple[str, ...]
    start: i.Expr
    steps: AffineSteps


@dataclass(frozen=True, slots=True)
class Tiling:
    """A contraction as the register tile computes it, by steps over host values.

    `turned` says that the rows, not the columns, are neighbours in the output. `flat` are the
    sides of which the statements behind the totals know only the position among all lines.
    """

    found: Contraction
    x: Factor
    w: Factor
    x_start: i.Expr
    w_start: i.Expr
    x_steps: AffineSteps
    w_steps: AffineSteps
    lines: tuple[RowIndex, ...]
    turned: bool
    stored: StoredTotals | None
    sizes: AffineSteps = field(
        default_factory=dict
    )  # the elements of inputs, both tensors among them
    worth: i.Expr | None = None  # whether there is enough to do
    others: tuple[i.Expr, ...] = ()  # where one of these holds, the nest has another way


def find_contraction(
    body: i.Block, facts: Facts, sizes: Mapping[str, i.Expr], *, shifted: bool = False
) -> Contraction | None:
    """A nest as a contraction of factors of these sizes; None if it is none, or has a border or a
    zero point, unless factors may be `shifted` so."""
    found = _contraction(body, facts, sizes)
    plain = found is not None and found.border is None and found.zero is None
    return found if shifted or plain else None


@remembered  # to choose a nest's class, and again for its tiles
def _contraction(body: i.Block, facts: Facts, sizes: Mapping[str, i.Expr]) -> Contraction | None:
    outer = grid(body)
    try:
        return contraction(outer.loops, outer.body, facts, sizes)
    except NoContraction:
        return None


def tiling(found: Contraction, facts: Facts, unsigned: Collection[str] = ()) -> Tiling | None:
    """The tiling of a contraction; None where places are not affine, or where both factors are
    one tensor, or one is read behind the sum too: the functions that run tiles call each of them
    by its name. Panels are bytes with a sign: what is `unsigned` is staged."""
    if factors_behind(found):
        return None
    sides = [(found.rows, found.columns, False), (found.columns, found.rows, True)]
    # What is tested is staged; else what has more lines, as those of a window.
    sides.sort(key=lambda pair: (is_tested(pair[1]), len(pair[1].lines) > len(pair[0].lines)))
    for x, w, turned in sides:
        shifts = [each.tensor for each in (found.border, found.zero) if each is not None]
        staged = all(each == x.load.tensor for each in shifts)
        packs = staged and not is_tested(w) and w.load.tensor not in unsigned
        made = sides_tiling(found, facts, x, w, turned) if packs else None
        if made is not None and made.x.load.tensor != made.w.load.tensor:
            return made
    return None


def factors_behind(found: Contraction) -> frozenset[str]:
    """The factors of which elements are read behind the sum."""
    factors = {side.load.tensor for side in (found.rows, found.columns)}
    return read_tensors(found.after) & factors


def is_tested(side: Factor) -> bool:
    return any(not isinstance(step, i.Let) for step in side.steps)


def sides_tiling(
    found: Contraction, facts: Facts, x: Factor, w: Factor, turned: bool
) -> Tiling | None:
    of_x, of_w = (affine(found, side, side.load.offset) for side in (x, w))
    if of_x is None or of_w is None:
        return None
    (x_steps, x_start), (w_steps, w_start) = of_x, of_w
    lines = image_lines(found, facts, x, x_steps)
    if lines is None:
        return None
    result = totals_store(found, x if turned else w)
    return Tiling(found, x, w, x_start, w_start, x_steps, w_steps, lines, turned, result)


def side_indices(found: Contraction, side: Factor) -> list[str]:
    return [loop.index for loop in (*found.batches, *side.lines, *found.summed)]


def affine(found: Contraction, side: Factor, expr: i.Expr) -> tuple[AffineSteps, i.Expr] | None:
    """The steps of the indices in an expression of a side, and its value where they are 0."""
    names = side_indices(found, side)
    values: dict[str, i.Expr] = {}
    divided = found.divided
    if divided is not None and divided.index not in names:
        values[divided.index] = divided.whole
    for step in side.steps:
        if isinstance(step, i.Let):
            values[step.name] = index_without_conversions(substitute(step.value, values))
    return readable_plane(substitute(expr, values), names)


def readable_plane(expr: i.Expr, names: Sequence[str]) -> tuple[AffineSteps, i.Expr] | None:
    """The steps of indices in an expression, and its value where they are 0."""
    made = algebra.plane(with_step_of_choice(index_without_conversions(expr), names), names)
    if made is None:
        return None
    steps = {name: with_readable_signs(step) for name, step in made.steps.items()}
    return steps, with_readable_signs(made.rest)


def with_step_of_choice(expr: i.Expr, names: Sequence[str]) -> i.Expr:
    """An expression whose indices, where host values choose between one and 0, have a step that is
    1 or 0."""

    def change(node: i.Expr) -> i.Expr:
        match node:
            case i.Select(condition=test, then=then, otherwise=i.Const(value=0)) if names_in(
                then
            ) & set(names) and not names_in(test) & set(names):
                return i.Binary("*", replace(node, then=i.ONE), then)
            case _:
                return node

    return rebuild(expr, change)


def with_readable_signs(expr: i.Expr) -> i.Expr:
    """An expression with signs as a person would write them."""

    def change(node: i.Expr) -> i.Expr:
        match node:
            case i.Binary(op="*", left=i.Const(value=-1), right=right):
                return i.Binary("-", i.ZERO, right)
            case _:
                return node

    return rebuild(expr, change)


def index_without_conversions(expr: i.Expr) -> i.Expr:
    """An index without its conversions, which never change it."""

    def change(node: i.Expr) -> i.Expr:
        return node.operand if isinstance(node, i.Convert) and node.type == "i64" else node

    return rebuild(expr, change)


def tiling_lines(made: Tiling) -> list[str]:
    """What is staged and what is packed, for people."""
    lines = [f"stages {made.x.load.tensor} as bytes, from {text(made.x_start)}"]
    for line in made.lines:
        moves = {line.loop.index: line.step}
        if line.tap is not None:
            moves[line.tap] = line.tap_step
        place = text(readable_sum(moves, line.start))
        lines.append(f"  places 0 <= {place} < {text(line.places)}, {text(line.x_step)} apart")
    if made.found.border is not None:
        lines.append(f"  beyond them {text(made.found.border.value)}")
    if made.found.zero is not None:
        lines.append(f"  less {text(made.found.zero.value)}")
    taps = {line.tap for line in made.lines}
    within = {
        loop.index: made.x_steps.get(loop.index, i.ZERO)
        for loop in made.found.summed
        if loop.index not in taps
    }
    lines.append(f"  in each of them {text(readable_sum(within, i.ZERO))}")
    lines.append(f"packs {made.w.load.tensor} at {text(readable_sum(made.w_steps, made.w_start))}")
    if made.stored is not None and made.stored.type == TOTAL:
        place = text(readable_sum(made.stored.steps, made.stored.start))
        unless = " or ".join(f"{name} is given" for name in made.stored.without)
        where = f"stores totals as they are in {made.stored.tensor} at {place}"
        lines.append(f"{where}, unless {unless}" if unless else where)
    return lines


def readable_sum(steps: AffineSteps, start: i.Expr) -> i.Expr:
    """An affine expression as a person would write it."""
    parts = [algebra.product([i.Var(name), step]) for name, step in steps.items()]
    match start:
        case i.Binary(op="-", left=i.Const(value=0), right=right):
            return i.Binary("-", algebra.total(parts), right)
        case _:
            return algebra.total([*parts, start])


# ---------------------------------------------------------------- rows


def image_lines(
    found: Contraction, facts: Facts, side: Factor, steps: AffineSteps
) -> tuple[RowIndex, ...] | None:
    """The lines of the image; None where a test is none of a place that a line leads to."""
    axes = tested_axes(found, facts, side)
    if axes is None:
        return None
    lines = []
    for loop in side.lines:
        moved = steps.get(loop.index, i.ZERO)
        axis = axes.pop(loop.index, None)
        if axis is None:
            lines.append(RowIndex(loop, i.ONE, None, i.ZERO, i.ZERO, loop.high, moved))
            continue
        x_step = algebra.quotient(moved, axis.steps[loop.index])
        tap = next((name for name in axis.steps if name != loop.index), None)
        tap_step = i.ZERO if tap is None else axis.steps[tap]
        if x_step is None:
            return None
        if tap is not None and not algebra.equal(
            steps.get(tap, i.ZERO), i.Binary("*", tap_step, x_step)
        ):
            return None
        lines.append(
            RowIndex(loop, axis.steps[loop.index], tap, tap_step, axis.start, axis.places, x_step)
        )
    taps = [line.tap for line in lines if line.tap is not None]
    return tuple(lines) if not axes and len(taps) == len(set(taps)) else None


@dataclass(frozen=True, slots=True)
class TestedPlace:
    """A place that is tested for 0 <= place < places: affine in a line and in a summed index."""

    steps: AffineSteps
    start: i.Expr
    places: i.Expr


def tested_axes(found: Contraction, facts: Facts, side: Factor) -> dict[str, TestedPlace] | None:
    """The tested places, by the index of the line that each depends on."""
    lows: list[tuple[AffineSteps, i.Expr]] = []
    highs: list[tuple[AffineSteps, i.Expr]] = []
    for step in side.steps:
        for test in () if isinstance(step, i.Let) else conjuncts(step):
            bound = at_least_zero(test)
            made = None if bound is None else affine(found, side, bound)
            if made is None:
                return None
            if all(map(facts.positive, made[0].values())):
                lows.append(made)
            else:
                highs.append(made)
    axes: dict[str, TestedPlace] = {}
    for steps, start in lows:
        pair = next((each for each in highs if opposite_signs(steps, each[0])), None)
        lines = [loop.index for loop in side.lines if loop.index in steps]
        taps = [loop.index for loop in found.summed if loop.index in steps]
        if pair is None or len(lines) != 1 or len(taps) > 1 or len(steps) != 1 + len(taps):
            return None
        highs.remove(pair)
        places = with_readable_signs(algebra.normal(algebra.total([start, pair[1], i.ONE])))
        if lines[0] in axes:
            return None
        axes[lines[0]] = TestedPlace(steps, start, places)
    return None if highs else axes


def opposite_signs(steps: AffineSteps, others: AffineSteps) -> bool:
    return steps.keys() == others.keys() and all(
        algebra.equal(algebra.total([step, others[name]]), i.ZERO) for name, step in steps.items()
    )


# ---------------------------------------------------------------- behind the totals


def totals_store(found: Contraction, inner: Factor) -> StoredTotals | None:
    """Where totals are stored as they are if elements have their type, those of neighbouring lines
    of `inner` side by side; None where there is more to do with them."""
    match found.after:
        case (i.Store(target=i.Load(which=None) as target, value=value),):
            stored_as = TOTAL
            if isinstance(value, i.Convert) and value.type[0] in "iu":  # as a store does anyway
                stored_as, value = value.type, value.operand
            without = only_total(value, found.total.name)
        case _:
            return None
    if without is None or names_in(target.offset) & {each.name for each in found.before}:
        return None
    divided = found.divided
    values = {} if divided is None else {divided.index: divided.whole}
    names = [loop.index for loop in (*found.batches, *found.rows.lines, *found.columns.lines)]
    made = readable_plane(substitute(target.offset, values), names)
    if made is None:
        return None
    steps, start = made
    if not inner.lines or not algebra.equal(steps.get(inner.lines[-1].index, i.ZERO), i.ONE):
        return None
    return StoredTotals(target.tensor, stored_as, without, start, steps)


def only_total(value: i.Expr, total: str) -> tuple[str, ...] | None:
    """The optional inputs without which a value of 32 bits is the total and nothing else; None
    where it is another."""
    match value:
        case i.Var(name=name) if name == total:
            return ()
        case i.Convert(type="i32" | "u32", operand=operand):
            return only_total(operand, total)
        case i.Binary(op="+", left=left, right=right):
            for one, other in ((left, right), (right, left)):
                first, second = only_total(one, total), zero_without(other)
                if first is not None and second is not None:
                    return (*first, *second)
            return None
        case _:
            return None


def zero_without(value: i.Expr) -> tuple[str, ...] | None:
    """The optional inputs without which a value is 0; None where it need not be."""
    match value:
        case i.Const(value=0):
            return ()
        case i.Convert(operand=operand):
            return zero_without(operand)
        case i.Select(condition=i.Given(name=name), otherwise=otherwise):
            rest = zero_without(otherwise)
            return None if rest is None else (name, *rest)
        case _:
            return None


@dataclass(frozen=True, slots=True)
class Flat:
    """Statements in which the index of the last of `lines` stands for the position among the last
    `count` of them, the others of which are 0."""

    statements: i.Block
    lines: tuple[i.Loop, ...]
    count: int

    @property
    def outer(self) -> tuple[i.Loop, ...]:
        return self.lines[: len(self.lines) - self.count]

    @property
    def inner(self) -> tuple[i.Loop, ...]:
        return self.lines[len(self.lines) - self.count :]


def flat_lines(
    statements: i.Block,
    lines: tuple[i.Loop, ...],
    divided: DividedIndex | None,
    facts: Facts,
) -> Flat:
    """The statements with as many lines as can be flattened; none if one is part of an index."""
    if divided is not None and any(loop.index == divided.inner for loop in lines):
        return Flat(statements, lines, 1)
    for count in range(len(lines), 1, -1):
        inner = lines[len(lines) - count :]
        if are_flat(statements, inner, facts):
            zeros = dict.fromkeys((loop.index for loop in inner[:-1]), i.ZERO)
            return Flat(with_offsets(substitute(statements, zeros), algebra.simplify), lines, count)
    return Flat(statements, lines, 1)


def are_flat(statements: i.Block, lines: Sequence[i.Loop], facts: Facts) -> bool:
    """Whether statements need the position among all of some lines only."""
    names = [loop.index for loop in lines]
    if set(names) & names_in(with_offsets(statements, lambda _: i.ZERO)):
        return False
    factors = [algebra.product(loop.high for loop in lines[at + 1 :]) for at in range(len(lines))]
    for load in nodes_in(statements, i.Load):
        made = algebra.plane(index_without_conversions(load.offset), names)
        if made is None:
            return False
        for name, factor in zip(names, factors, strict=True):
            wanted = i.Binary("*", made.step(names[-1]), factor)
            if not algebra.equal(facts.expanded(made.step(name)), facts.expanded(wanted)):
                return False
    return True


def read_locals(before: Iterable[i.Let], after: i.Block) -> tuple[i.Let, ...]:
    """The locals in front of a sum that the statements behind it read."""
    kept = without_dead(tuple(before), after)
    return tuple(each for each in kept if isinstance(each, i.Let))
