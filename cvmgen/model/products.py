"""Kernels whose total is a sum of products with a parameter: what a register tile computes.

The loops of such a kernel are those that only the data see (rows), those that only the parameter
sees (columns), and those of both (batches), as a product of matrices has them. Tests that an
element of the data is inside its tensor are left to a border around it, of the zero point that is
subtracted from each of them. What is subtracted from the parameter is so when it is packed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import product as combinations
from itertools import takewhile
from math import prod

import numpy as np

from cvmgen.analysis.sums_of_products import above_zero_point
from cvmgen.graph.limits import Array
from cvmgen.ir import nodes as i
from cvmgen.ir.uses import assigned, names_in
from cvmgen.known.constant_loops import single_statement_nest
from cvmgen.known.linear import Linear, as_linear, linear_at_least_zero, linear_range
from cvmgen.model.kernels import Loops, Model, ModelKernel, weight
from cvmgen.ranges import Range
from cvmgen.schedule.intrinsics import DOT4

LEAST_COLUMNS = 6  # fewer leave most of a panel empty
LEAST_SUMMED = 8
BYTE = Range(-128, 127)
BYTES = (BYTE, Range(0, 255))
PRODUCTS = 16  # of a tile, which take as long as a statement for a result


@dataclass(frozen=True, slots=True)
class Product:
    """The parts of a kernel: its loops by what sees them, both factors and the zero points that
    are subtracted from them, what follows. The data are bytes of this range."""

    rows: Loops
    batches: Loops
    column: tuple[str, int]
    summed: Loops
    data: i.Access
    weights: i.Access
    zero: int
    weights_zero: int
    total: i.Let
    after: tuple[i.Stmt, ...]
    bytes: Range = BYTE

    @property
    def shift(self) -> int:
        """How far the range of the data lies above that of bytes with a sign."""
        return self.bytes.low - BYTE.low

    @property
    def signed_zero(self) -> int:
        """The zero point among bytes with a sign."""
        return self.zero - self.shift

    def of_bytes(self, known: Range, *, bordered: bool) -> Product | None:
        """The product of data with this range, by which all products of a tensor have the same
        bytes; None where there are none for it, or for the border."""
        found = next((each for each in BYTES if each.join(known) == each), None)
        if found is None or (bordered and not found.low <= self.zero <= found.high):
            return None
        return replace(self, bytes=found)

    def order(self) -> tuple[int, ...]:
        """The dimensions of the data, those last that only the sum walks."""
        names = {name for name, _ in self.rows}
        rows = [at for at, (entry, _) in enumerate(self.data.index) if names & names_in(entry)]
        rest = [at for at in range(len(self.data.index)) if at not in rows]
        walked = {name for name, _ in self.summed}
        fixed = [at for at in rest if not walked & names_in(self.data.index[at][0])]
        return (*fixed, *rows, *(at for at in rest if at not in fixed))

    def measures(self, kernel: ModelKernel) -> dict[str, int]:
        """How much there is to do; 16 products take as long as a statement for a result."""
        products = kernel.iterations * prod(extent for _, extent in self.summed)
        work = kernel.iterations * weight(self.after) + products // PRODUCTS
        return {"results": kernel.iterations, "work": work}

    def reach(self) -> tuple[Range, ...]:
        """The indices that the data is read at, in each dimension."""
        ranges = loop_ranges((*self.rows, *self.batches, *self.summed))
        found = [linear_range(as_linear(entry, ranges), ranges) for entry, _ in self.data.index]
        assert all(each is not None for each in found)
        return tuple(each for each in found if each is not None)


def loop_ranges(loops: Loops) -> dict[str, Range]:
    return {name: Range(0, extent - 1) for name, extent in loops}


def find_product(kernel: ModelKernel, model: Model) -> Product | None:
    """The kernel as a product, where it is one. Locals in front of its sum may stand behind it."""
    locals_ = tuple(takewhile(lambda each: isinstance(each, i.Let), kernel.body))
    before = locals_[:-1]
    match kernel.body[len(before) :]:
        case (i.Let(value=i.Const(value=0)) as total, (i.Loop() | i.If()) as nest, *after):
            after = [*before, *after]
        case _:
            return None
    found = single_statement_nest(nest)
    if found is None:
        return None
    summed, tests, add = found
    match add:
        case i.Accumulate(
            name=name,
            op="+",
            value=i.Binary(op="*", left=one, right=other),
        ) if name == total.name and not set(assigned(before)) & names_in(nest):
            pass
        case _:
            return None
    first, second = above_number(one), above_number(other)
    if first is None or second is None:
        return None
    for data, weights in ((first, second), (second, first)):
        if is_parameter(model, weights[0]) and not is_parameter(model, data[0]):
            made = sorted_loops(kernel, summed, data, weights, total, tuple(after))
            if made is not None and admissible(made, tests, model):
                return made
    return None


AboveNumber = tuple[i.Access, int]


def above_number(factor: i.Expr) -> AboveNumber | None:
    """A factor as an element, and the number that is subtracted from it; None if it is none."""
    match above_zero_point(factor):
        case i.Access() as element, None:
            return element, 0
        case i.Access() as element, i.Const(value=int(zero)):
            return element, zero
        case _:
            return None


def is_parameter(model: Model, access: i.Access) -> bool:
    return model.tensors[access.tensor].values is not None


def sorted_loops(
    kernel: ModelKernel,
    summed: Loops,
    above: AboveNumber,
    by: AboveNumber,
    total: i.Let,
    after: tuple[i.Stmt, ...],
) -> Product | None:
    """The outer loops by which of the factors sees them; the data are `above` a zero point,
    and so are the weights."""
    (data, zero), (weights, weights_zero) = above, by
    seen, known = names_in(data), names_in(weights)
    rows = tuple(each for each in kernel.loops if each[0] in seen and each[0] not in known)
    batches = tuple(each for each in kernel.loops if each[0] in seen & known)
    columns = [each for each in kernel.loops if each[0] in known and each[0] not in seen]
    both = all(name in seen and name in known for name, _ in summed)
    if len(columns) != 1 or not both or len(rows) + len(batches) + 1 != len(kernel.loops):
        return None
    return Product(
        rows, batches, columns[0], summed, data, weights, zero, weights_zero, total, tuple(after)
    )


def admissible(made: Product, tests: Sequence[i.Expr], model: Model) -> bool:
    """Bytes on both sides, enough of them, plain indices, and tests that a border replaces."""
    values = model.tensors[made.weights.tensor].values
    assert values is not None
    if made.column[1] < LEAST_COLUMNS or prod(n for _, n in made.summed) < LEAST_SUMMED:
        return False
    kinds = {model.tensors[each.tensor].kind for each in (made.data, made.weights)}
    least, most = (int(each) - made.weights_zero for each in (values.min(), values.max()))
    if kinds != {"int"} or BYTE.join(Range(least, most)) != BYTE:
        return False
    plain = all(is_plain_entry(entry) for entry, _ in (*made.data.index, *made.weights.index))
    shape = model.tensors[made.data.tensor].shape
    return plain and all(is_inside(test, made.data, shape) for test in tests)


def is_plain_entry(entry: i.Expr) -> bool:
    return all(isinstance(term, i.Var) for term in as_linear(entry, {}).factors)


def is_inside(test: i.Expr, data: i.Access, shape: tuple[int, ...]) -> bool:
    """Whether a test says that an index of the data is not negative, or below the extent."""
    least = linear_at_least_zero(test)
    for (entry, _), extent in zip(data.index, shape, strict=True):
        index = as_linear(entry, {})
        if least in (index, Linear(extent - 1).plus(index.scaled(-1))):
            return True
    return False


# ---------------------------------------------------------------- packing


@dataclass(frozen=True, slots=True)
class Runs:
    """The bytes that a row reads: from each start on, `quads` * 4 of them, in this order of the
    indices that are summed; None where a byte counts nothing."""

    starts: tuple[int, ...]
    quads: int
    terms: tuple[tuple[int, ...] | None, ...]


def find_runs(made: Product, strides: Sequence[int], step: int = 4) -> Runs | None:
    """The runs of the data for these strides, each of a multiple of `step` bytes; None where they
    are not of one length."""
    whole = Linear(0)
    for (entry, _), stride in zip(made.data.index, strides, strict=True):
        whole = whole.plus(as_linear(entry, {}).scaled(stride))
    factors = [whole.factors.get(i.Var(name), 0) for name, _ in made.summed]
    places = {
        sum(factor * at for factor, at in zip(factors, term, strict=True)): term
        for term in combinations(*(range(extent) for _, extent in made.summed))
    }
    starts: list[int] = []
    lengths: list[int] = []
    for place in sorted(places):
        if starts and place == starts[-1] + lengths[-1]:
            lengths[-1] += 1
        else:
            starts.append(place)
            lengths.append(1)
    if len(places) != prod(extent for _, extent in made.summed) or len(set(lengths)) != 1:
        return None
    quads = -(-lengths[0] // step) * step // 4
    terms = tuple(
        places[start + at] if at < lengths[0] else None
        for start in starts
        for at in range(4 * quads)
    )
    return Runs(tuple(starts), quads, terms)


PANEL = DOT4.columns


def columns_of(made: Product, runs: Runs, values: Array) -> Array:
    """The parameter as what it is multiplied by lies: for each batch and column a byte for each of
    the runs."""
    place = flat_place(made, values)
    name, extent = made.column
    counts = np.array([each is not None for each in runs.terms])
    terms = np.array([each or (0,) * len(made.summed) for each in runs.terms])
    across = terms @ np.array([place.factors.get(i.Var(index), 0) for index, _ in made.summed])
    step, starts = place.factors.get(i.Var(name), 0), batch_starts(made, place)
    made_of = np.empty((len(starts), extent, len(terms)), np.int8)
    for start, batch in zip(starts, made_of, strict=True):
        for first in range(0, extent, PANEL):  # whose places do not take much memory
            columns = start + step * np.arange(first, min(first + PANEL, extent))
            found = values.ravel()[columns[:, None] + across * counts].astype(np.int64)
            found -= made.weights_zero
            batch[first : first + PANEL] = np.where(counts, found, 0)
    return made_of


def packed(made: Product, runs: Runs, values: Array) -> Array:
    """The panels of all batches, one behind the other, as cvmgen_tile.h describes them."""
    panels = [
        packed_panel(batch[first : first + PANEL])
        for batch in columns_of(made, runs, values)
        for first in range(0, made.column[1], PANEL)
    ]
    return np.concatenate(panels)


def packed_panel(columns: Array) -> Array:
    """The sums of the columns, then their quads side by side; missing columns are 0."""
    panel = np.zeros((PANEL, columns.shape[1]), np.int8)
    panel[: len(columns)] = columns
    sums = panel.sum(1, dtype=np.int32)
    quads = panel.reshape(PANEL, -1, 4).transpose(1, 0, 2)
    return np.concatenate([sums.astype("<i4").view(np.int8), quads.ravel()])


def flat_place(made: Product, values: Array) -> Linear:
    """Where the parameter's element is in row-major order."""
    whole = Linear(0)
    for at, (entry, _) in enumerate(made.weights.index):
        whole = whole.plus(as_linear(entry, {}).scaled(prod(values.shape[at + 1 :])))
    return whole


def batch_starts(made: Product, place: Linear) -> list[int]:
    """Where the parameter of each batch begins."""
    factors = [place.factors.get(i.Var(name), 0) for name, _ in made.batches]
    return [
        place.constant + sum(n * at for n, at in zip(factors, batch, strict=True))
        for batch in combinations(*(range(extent) for _, extent in made.batches))
    ]


def total_range(values: Array, made: Product, data: Range) -> Range:
    """What a total can be: for each column by its own weights."""
    named = {name for name, _ in (*made.batches, made.column)}
    kept = tuple(at for at, (entry, _) in enumerate(made.weights.index) if named & names_in(entry))
    axes = tuple(at for at in range(values.ndim) if at not in kept)
    wide = values.astype(np.int64) - made.weights_zero
    data = Range(data.low - made.zero, data.high - made.zero)
    data = data.join(Range(0, 0))  # what a test or a border leaves out
    ends = np.stack([wide * data.low, wide * data.high])
    low, high = ends.min(0).sum(axis=axes), ends.max(0).sum(axis=axes)
    return Range(min(0, int(low.min())), max(0, int(high.max())))
