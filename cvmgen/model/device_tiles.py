"""Kernels of models as tiles of tensor cores: what is laid out for them, and the contraction that
they are then, of factors in memory as it lies."""

from __future__ import annotations

from collections.abc import Mapping
from math import prod

import numpy as np

from cvmgen.analysis.contraction import Contraction, ElementRuns, Factor
from cvmgen.graph.limits import Array
from cvmgen.ir import nodes as i
from cvmgen.ir.loops import unravel
from cvmgen.ir.visit import fresh
from cvmgen.known.known_types import ElementStorage, known_types
from cvmgen.known.linear import Linear
from cvmgen.known.partial import arithmetic
from cvmgen.model.kernels import Loops, Model, ModelKernel
from cvmgen.model.layouts import TileForm, TileLayout
from cvmgen.model.nests import ShortNames, span_of
from cvmgen.model.products import Product, Runs, columns_of
from cvmgen.model.storage import Storage, located
from cvmgen.schedule.forms import Settings
from cvmgen.schedule.gpu.choice import all_settings
from cvmgen.schedule.gpu.tensor_tiles import TileCount
from cvmgen.schedule.schedules import Schedules
from cvmgen.typing.decided_tests import without_known_tests

CHUNK = 16  # bytes that are copied at once
FAR = 1 << 29  # elements, with borders and to whole chunks less than 2^31
TOTALS = "@totals"  # what stands for the sum of a tile before it has a name
Steps = tuple[tuple[int, int], ...]  # extents with how far apart neighbours are, outermost first


def wants_tile(made: Product, kernel: ModelKernel, model: Model, schedules: Schedules) -> bool:
    """Whether a kernel is to be made by tiles of tensor cores, where a schedule for cuda uses
    them; their places are computed in 32 bits."""
    sizes = (model.tensors[each].size for each in kernel.read | kernel.written)
    if max(kernel.iterations, *sizes) > FAR or not uses_tiles(schedules):
        return False
    depth = prod(extent for _, extent in made.summed)
    return tile_count(made, all_settings(schedules)).worthwhile(depth)


def tile_count(made: Product, settings: Mapping[str, Settings]) -> TileCount:
    """How a product is divided among blocks."""
    batches, rows = (prod(extent for _, extent in loops) for loops in (made.batches, made.rows))
    return TileCount(batches, rows, made.column[1], settings["tensor_tiles"])


def uses_tiles(schedules: Schedules) -> bool:
    return "tensor_tiles" in dict(schedules.mappings("cuda"))


def lines_of(made: Product, runs: Runs, values: Array) -> Mapping[str, Array] | None:
    """The parameter as a line of bytes for each column of each batch; with a zero point also what
    is too much in the total of each."""
    if progressions(runs.starts) is None:
        return None
    lines = columns_of(made, runs, values)
    found: dict[str, Array] = {"lines": lines.ravel()}
    if made.signed_zero:
        sums = lines.sum(axis=2, dtype=np.int64) * made.signed_zero
        found["excess"] = sums.astype(np.int32).ravel()  # modulo 2^32, as totals are made
    return found


TENSOR_TILE = TileForm("i8", 0, 2 * CHUNK, CHUNK, wants_tile, lines_of)


def progressions(starts: tuple[int, ...]) -> Steps | None:
    """How far the starts lie behind the first, as sums of multiples of steps; None where they are
    none."""
    if len(starts) == 1:
        return ()
    step = starts[1] - starts[0]
    count = next(
        (at for at, start in enumerate(starts) if start != starts[0] + at * step), len(starts)
    )
    heads = starts[::count]
    if tuple(head + at * step for head in heads for at in range(count)) != starts:
        return None
    outer = progressions(heads)
    return None if outer is None else (*outer, (count, step))


def run_start(number: i.Var, starts: tuple[int, ...]) -> i.Expr:
    """Where a run begins, by its number."""
    steps = progressions(tuple(start - starts[0] for start in starts)) or ()
    indices = unravel(number, [i.Const(extent) for extent, _ in steps]) if steps else []
    found: i.Expr = i.Const(starts[0])
    for index, (_, step) in zip(indices, steps, strict=True):
        found = arithmetic("+", arithmetic("*", index, i.Const(step)), found)
    return found


def tile_contraction(
    kernel: ModelKernel, tile: TileLayout, storage: Storage, names: ShortNames
) -> Contraction:
    """The contraction that a kernel is, for data and a parameter that were laid out for it."""
    made = tile.product
    batches, rows, columns = (
        plain_loops(names.loops(loops), kernel)
        for loops in (made.batches, made.rows, (made.column,))
    )
    depth = len(tile.runs.terms)
    number = fresh("run", names.taken)
    names.taken.add(number)
    runs = ElementRuns(4 * tile.runs.quads, number, run_start(i.Var(number), tile.runs.starts))
    line = batch_number(made).scaled(made.column[1]).plus(Linear(0, {i.Var(made.column[0]): 1}))
    excess = None
    if made.signed_zero:
        excess = i.Load(tile.packed[1], None, names.within(line.expr()))
    total, after = finished(kernel, tile, storage, names, excess)
    summed = fresh("k", names.taken)
    names.taken.add(summed)
    start = names.within(data_start(made, storage))
    data = Factor(rows, (), i.Load(made.data.tensor, None, start), start, runs)
    place = names.within(line.scaled(depth).expr())
    lines = Factor(columns, (), i.Load(tile.panels, None, place), place)
    loop = i.Loop(summed, i.ZERO, i.Const(depth), (), 0, span_of(kernel))
    return Contraction(batches, data, lines, (loop,), total, (), after, None, ())


def plain_loops(loops: Loops, kernel: ModelKernel) -> tuple[i.Loop, ...]:
    return tuple(
        i.Loop(index, i.ZERO, i.Const(extent), (), 0, span_of(kernel)) for index, extent in loops
    )


def batch_number(made: Product) -> Linear:
    found = Linear(0)
    for name, extent in made.batches:
        found = found.scaled(extent).plus(Linear(0, {i.Var(name): 1}))
    return found


def data_start(made: Product, storage: Storage) -> i.Expr:
    """Where the data of a row begin: all indices that are summed are 0."""
    whole = storage.placements[made.data.tensor].linear(tuple(e for e, _ in made.data.index))
    summed = {i.Var(name) for name, _ in made.summed}
    kept = {term: n for term, n in whole.factors.items() if term not in summed}
    return Linear(whole.constant, kept).expr()


def finished(
    kernel: ModelKernel,
    tile: TileLayout,
    storage: Storage,
    names: ShortNames,
    excess: i.Load | None,
) -> tuple[i.Let, i.Block]:
    """The total that a tile gives, and what is done with it: less what is too much of it."""
    made = tile.product
    total = i.Let(made.total.name, "int", i.Load(TOTALS, None, i.ZERO), made.total.span)
    rest = located(ModelKernel(kernel.loops, made.after, (), kernel.operator), storage).body
    elements = {**storage.elements, TOTALS: ElementStorage(tile.total, "i32")}
    typed = known_types(kernel.operator, dict(kernel.loops), (total, *rest), elements).body
    (head,), body = names.within(typed[:1]), names.within(without_known_tests(typed[1:]))
    if excess is None:
        return head, body
    sums = i.Let(names.of("sums.0"), "u32", head.value, head.span)
    less = i.Convert("i32", i.Binary("-", i.Var(sums.name), i.Convert("u32", excess)))
    return sums, (i.Let(head.name, head.type, less, head.span), *body)
