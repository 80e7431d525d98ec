"""Contractions: nests in which each total is a sum of products of one element of each of two
inputs, as a product of matrices is.

The indices of an element are those that only the first factor depends on, those that only the
second does, and those of both: rows, columns, and batches of a product of matrices. Conditions
on a product become conditions on a factor, which is 0 where they fail. An index that one factor
sees only divided, as the output channel of a grouped convolution, becomes two: the quotient is a
batch, the remainder stays with the other factor.

A factor may be an element less a zero point, a number that is the same for all results. Where a
condition on it fails it is 0 then too, so that the element is taken for its zero point: x - z = 0.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from cvmgen import algebra
from cvmgen.analysis.facts import Facts
from cvmgen.analysis.magnitude import covers, last_indices, magnitude
from cvmgen.analysis.paths import Step
from cvmgen.analysis.quotients import DividedIndex, quotient_only, with_quotient
from cvmgen.analysis.sums_of_products import (
    Border,
    NoContraction,
    SumOfProducts,
    ZeroPoint,
    contraction_parts,
)
from cvmgen.dtypes import CVM, INT8, INT32, UINT8, DType
from cvmgen.ir import nodes as i
from cvmgen.ir.host import given_shapes
from cvmgen.ir.loops import product
from cvmgen.ir.rewrite import expanded
from cvmgen.ir.uses import assigned, names_in, nodes_in
from cvmgen.ir.visit import fresh, substitute

NAMES = ("first", "second")  # of the factors, as owners of indices
BATCH = "batch"


@dataclass(frozen=True, slots=True)
class ElementRuns:
    """Runs of `length` elements that a line consists of: that of a `number` begins `start` behind
    the first."""

    length: int
    number: str
    start: i.Expr


@dataclass(frozen=True, slots=True)
class Factor:
    """One factor: the loops over its lines, and how an element is found.

    `steps` are locals, and tests without which the element is 0, in the order in which they hold.
    Where the elements of a line follow each other in memory, all or in `runs`, `start` is the
    offset of the first.
    """

    lines: tuple[i.Loop, ...]
    steps: tuple[Step, ...]
    load: i.Load
    start: i.Expr | None
    runs: ElementRuns | None = None


@dataclass(frozen=True, slots=True)
class Contraction:
    """A nest as a product of matrices, for each of its batches.

    `reaches` are bounds of the magnitude of each index and offset, over host values. Elements of
    `after` may read the locals `before`. Where a test does not hold an element is 0, or what
    `border` says of its tensor; the factor is what it is above the `zero` point of its tensor.
    """

    batches: tuple[i.Loop, ...]
    rows: Factor
    columns: Factor
    summed: tuple[i.Loop, ...]
    total: i.Let
    before: tuple[i.Let, ...]
    after: i.Block
    divided: DividedIndex | None
    reaches: tuple[i.Expr, ...]
    border: Border | None = None
    zero: ZeroPoint | None = None


def contraction(
    loops: Sequence[i.Loop],
    body: i.Block,
    facts: Facts,
    sizes: Mapping[str, i.Expr],
) -> Contraction:
    """The nest of these parallel loops around `body` as a contraction; raises NoContraction.

    `sizes` are the numbers of elements of the inputs that may be factors.
    """
    found = contraction_parts(body)
    if any(loop.low != i.ZERO for loop in loops):
        raise NoContraction("an index of the result does not begin at 0")
    for each in found.factors:
        if each.tensor not in sizes:
            raise NoContraction(
                f"'{each.tensor}' is no input of int8",
                "declare it int8, or cvm where int32 may come too",
            )
    inner = {loop.index for loop in loops} | assigned(body)
    if names_in(tuple(loop.high for loop in (*loops, *found.summed))) & inner:
        raise NoContraction("how many terms are added is not the same for all results")
    if found.border is not None and names_in(found.border.value) & inner:
        raise NoContraction("what stands beyond the border differs between results")
    if found.zero is not None and names_in(found.zero.value) & inner:
        raise NoContraction("the zero point differs between results")
    return FactorReader(tuple(loops), found, facts, sizes).result()


def factor_sizes(
    program: i.Program, dtypes: Mapping[str, DType], *, unsigned: bool = False
) -> dict[str, i.Expr]:
    """How many elements each input has that may be a factor: of int8, or of int32 that may be as
    small, or `unsigned` of 8 bits."""
    bytes_ = (INT8, UINT8) if unsigned else (INT8,)
    small = {
        each.name
        for each in program.operator.inputs
        if not (each.optional or each.variadic or any(extent.pack for extent in each.extents))
        and (dtypes[each.name] in bytes_ or (dtypes[each.name] == INT32 and each.dtype == CVM))
    }
    return {name: product(shape) for name, shape in given_shapes(program).items() if name in small}


# ---------------------------------------------------------------- which index belongs where


class FactorReader:
    """Divides the indices of a nest among its factors."""

    def __init__(
        self,
        loops: tuple[i.Loop, ...],
        found: SumOfProducts,
        facts: Facts,
        sizes: Mapping[str, i.Expr],
    ) -> None:
        self.loops = loops
        self.found = found
        self.facts = facts
        self.sizes = sizes
        self.summed = {loop.index for loop in found.summed}
        self.extents = {loop.index: loop.high for loop in (*loops, *found.summed)}
        self.steps = (*found.before, *found.steps)
        self.taken = set(self.extents) | {each.name for each in self.lets()}
        self.taken |= names_in((self.steps, found.factors, found.after))
        facts.indices |= set(self.extents)
        # Where there is an element to compute, all its loops have iterations.
        facts.positive_names |= {
            high.name for high in self.extents.values() if isinstance(high, i.Var)
        }

    def lets(self) -> list[i.Let]:
        return [each for each in self.steps if isinstance(each, i.Let)]

    def expanded(self, expr: i.Expr) -> i.Expr:
        """An expression over indices and host values alone."""
        return substitute(expr, expanded(self.lets()))

    def result(self) -> Contraction:
        offsets = [self.expanded(load.offset) for load in self.found.factors]
        owners: dict[str, str] = {}
        divided: list[DividedIndex] = []
        for loop in self.loops:
            readers = [
                name
                for name, offset in zip(NAMES, offsets, strict=True)
                if loop.index in names_in(offset)
            ]
            owners[loop.index] = readers[0] if len(readers) == 1 else BATCH
            if len(readers) < 2:
                continue
            first, second = (quotient_only(each, loop.index, self.extents) for each in offsets)
            divisor = first if second is None else second
            if isinstance(divisor, i.Var) and (first is None) != (second is None):
                owners[loop.index] = NAMES[1] if second is None else NAMES[0]
                divided.append(self.divide(loop, divisor))
        if len(divided) > 1 or not set(NAMES) <= set(owners.values()):
            raise NoContraction("no index of the result belongs to one factor alone")
        return self.product(owners, divided[0] if divided else None)

    def divide(self, loop: i.Loop, divisor: i.Expr) -> DividedIndex:
        outer = fresh(f"{loop.index}_outer", self.taken)
        inner = fresh(f"{loop.index}_inner", self.taken)
        return DividedIndex(loop.index, divisor, loop.high, outer, inner)

    def product(self, owners: Mapping[str, str], divided: DividedIndex | None) -> Contraction:
        """The contraction in which each index has this owner."""
        batches = [loop for loop in self.loops if owners[loop.index] == BATCH]
        if divided is not None:
            (loop,) = (each for each in self.loops if each.index == divided.index)
            count = i.Binary("truncdiv", divided.extent, divided.divisor)
            batches.append(replace(loop, index=divided.outer, high=count))
            self.extents |= {divided.outer: count, divided.inner: divided.divisor}
            self.facts.indices |= {divided.outer, divided.inner}
        # Neighboring columns should be neighbors in the output, whose last index is the innermost.
        last = owners[self.loops[-1].index]
        names = NAMES if last == NAMES[1] else NAMES[::-1]
        rows, columns = (self.side(name, owners, divided) for name in names)
        reaches = self.reaches(rows, columns, batches)
        found = self.found
        for side in (rows, columns):
            own = found.border is None or side.load.tensor == found.border.tensor
            if not own and any(not isinstance(step, i.Let) for step in side.steps):
                raise NoContraction("a test of what has a border is one of the other factor too")
        return Contraction(
            tuple(batches),
            rows,
            columns,
            found.summed,
            found.total,
            found.before,
            found.after,
            divided,
            reaches,
            found.border,
            found.zero,
        )

    # -------------------------------------------------------- one factor

    def side(self, name: str, owners: Mapping[str, str], divided: DividedIndex | None) -> Factor:
        """The factor that owns the lines of this name."""
        load = self.found.factors[NAMES.index(name)]
        own = {index for index, owner in owners.items() if owner in (name, BATCH)} | self.summed
        others = {index for index, owner in owners.items() if owner != name} | self.summed
        shared: list[i.Expr] = []
        foreign = False
        steps = self.steps
        if divided is not None and owners[divided.index] != name:
            steps, load = with_quotient((steps, load), divided)
        for step in self.steps:
            if isinstance(step, i.Let):
                continue
            indices = names_in(self.expanded(step)) & set(self.extents)
            if indices <= own:
                shared += [step] if indices <= others else []
            elif indices <= others:
                foreign = True
            else:
                raise NoContraction("a condition joins indices of both factors")
        within = self.within(load)
        if foreign and not within:
            raise NoContraction(
                f"only a condition on the other factor keeps '{load.tensor}' inside"
            )
        # A test that both factors can make is made by the first, and by the second where its
        # elements may lie outside of the tensor without it.
        skipped = shared if within and name == NAMES[1] else []
        kept = self.needed(steps, load, own, skipped)
        lines = tuple(loop for loop in self.loops if owners[loop.index] == name)
        if divided is not None and owners[divided.index] == name:
            lines = tuple(
                replace(loop, index=divided.inner, high=divided.divisor)
                if loop.index == divided.index
                else loop
                for loop in lines
            )
        tests = any(not isinstance(step, i.Let) for step in kept)
        return Factor(lines, kept, load, None if tests else self.start(load))

    def needed(
        self,
        steps: tuple[Step, ...],
        load: i.Load,
        own: set[str],
        skipped: Iterable[i.Expr],
    ) -> tuple[Step, ...]:
        """The tests that a factor can make but for those skipped, and the locals that it reads."""
        tests = [
            step
            for step, before in zip(steps, self.steps, strict=True)
            if not isinstance(step, i.Let)
            and not isinstance(before, i.Let)
            and names_in(self.expanded(before)) & set(self.extents) <= own
            and before not in skipped
        ]
        names = set(names_in((load.offset, tuple(tests))))
        kept: list[Step] = []
        for step in reversed(steps):
            if isinstance(step, i.Let) and step.name in names:
                names |= names_in(step.value)
                kept.append(step)
            elif not isinstance(step, i.Let) and step in tests:
                kept.append(step)
        return tuple(reversed(kept))

    def within(self, load: i.Load) -> bool:
        """Whether an offset lies in the tensor for all values of its indices."""
        offset = self.expanded(load.offset)
        last = i.Binary("+", substitute(offset, last_indices(self.extents)), i.Const(1))
        size = self.sizes[load.tensor]
        if not algebra.equal(self.facts.expanded(last), self.facts.expanded(size)):
            return False
        return self.facts.not_negative(offset)

    def start(self, load: i.Load) -> i.Expr | None:
        """The part of an offset that is of the line alone, if the rest is the place in the sum."""
        first = dict.fromkeys(self.summed, i.ZERO)
        offset = self.expanded(load.offset)
        place = i.ZERO
        for loop in self.found.summed:
            place = i.Binary("+", i.Binary("*", place, loop.high), i.Var(loop.index))
        if not algebra.equal(offset, i.Binary("+", substitute(offset, first), place)):
            return None
        varying = {each.name for each in self.lets() if names_in(each.value) & self.summed}
        if names_in(load.offset) & varying:
            return None
        return algebra.simplify(substitute(load.offset, first))

    # -------------------------------------------------------- magnitudes

    def reaches(
        self, rows: Factor, columns: Factor, batches: Iterable[i.Loop]
    ) -> tuple[i.Expr, ...]:
        """What the indices and offsets of a contraction stay below, each for itself."""
        exprs: list[i.Expr] = []
        for side in (rows, columns):
            exprs.append(self.expanded(side.load.offset))
            tests = (step for step in side.steps if not isinstance(step, i.Let))
            exprs += [self.expanded(each) for test in tests for each in compared_integers(test)]
            lets = (step for step in side.steps if isinstance(step, i.Let) and step.type != "bool")
            exprs += [self.expanded(step.value) for step in lets]
        exprs += [self.expanded(each.offset) for each in nodes_in(self.found.after, i.Load)]
        bounds = [self.bound(each) for each in exprs]
        for loops in (rows.lines, columns.lines, self.found.summed, batches):
            bounds.append(algebra.product(loop.high for loop in loops))
        known = list(dict.fromkeys(each for each in bounds if each is not None))
        if None in bounds:
            raise NoContraction("no bound of a place is known")
        return tuple(
            each
            for each in known
            if not isinstance(each, i.Const)
            and not any(covers(other, each) for other in known if other != each)
        )

    def bound(self, expr: i.Expr) -> i.Expr | None:
        """A bound of an index expression: the size of the box where it is a place in one."""
        extents = {name: high for name, high in self.extents.items() if name in names_in(expr)}
        size = algebra.product(extents.values())
        last = i.Binary("+", substitute(expr, last_indices(extents)), i.Const(1))
        if algebra.equal(last, size) and self.facts.not_negative(expr):
            return size
        return magnitude(expr, self.extents, self.facts)


def compared_integers(test: i.Expr) -> list[i.Expr]:
    """The integers that a test compares."""
    match test:
        case i.Compare(left=left, right=right):
            return [left, right]
        case i.Logic(operands=operands):
            return [each for operand in operands for each in compared_integers(operand)]
        case i.Not(operand=operand):
            return compared_integers(operand)
        case _:
            return []
