"""Layouts: what register tiles read is channels-last, in bytes, with a border of its zero point.

The other tensors take the order in which a tile gives its results, or that of what they are made
of; what no tile has to do with stays row-major.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain, count

import numpy as np

from cvmgen.graph.limits import Array
from cvmgen.ir import nodes as i
from cvmgen.ir.uses import names_in, nodes_in
from cvmgen.known.known_types import ElementStorage
from cvmgen.model.kernels import Model, ModelKernel
from cvmgen.model.products import (
    Product,
    Runs,
    find_product,
    find_runs,
    packed,
    total_range,
)
from cvmgen.model.storage import LIMITS, Placement, Storage, along_memory, ranges
from cvmgen.ranges import Range
from cvmgen.schedule.intrinsics import DOT4
from cvmgen.schedule.schedules import Schedules

AxisOrder = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class TileForm:
    """What the tiles of a target ask for: data of a machine type, `bias` above bytes with a sign,
    in runs of a multiple of `step` bytes, of which `slack` may lie beyond the tensor. It `wants`
    products, by their schedules, and has the parameter `packed`: the first array, and what else
    tiles read, by what stands behind its name; None where it cannot."""

    type: str
    bias: int
    slack: int
    step: int
    wants: Callable[[Product, ModelKernel, Model, Schedules], bool]
    packed: Callable[[Product, Runs, Array], Mapping[str, Array] | None]


@dataclass(frozen=True, slots=True)
class TileLayout:
    """How a kernel runs as tiles; `panels` is the name of its packed parameter, `packed` are those
    of all that is made of it."""

    product: Product
    runs: Runs
    packed: tuple[str, ...]
    total: Range

    @property
    def panels(self) -> str:
        return self.packed[0]


@dataclass(frozen=True, slots=True)
class Layouts:
    """Where everything lies, and the kernels, by their places, that run as tiles."""

    storage: Storage
    tiles: Mapping[int, TileLayout]


def wants_tile(made: Product, kernel: ModelKernel, model: Model, schedules: Schedules) -> bool:
    """Whether a kernel's schedule wants a register tile, for which memory is to be laid out."""
    use = schedules.says("model", "contraction", "tile")
    if use is None or len(use.given) < 3:
        return use is not None
    measure, least = use.test(2)
    return made.measures(kernel).get(measure, least) >= least


def panels_of(made: Product, runs: Runs, values: Array) -> Mapping[str, Array]:
    return {"panels": packed(made, runs, values)}


REGISTER_TILE = TileForm("u8", DOT4.bias, DOT4.depth, 4, wants_tile, panels_of)


def lay_out(model: Model, schedules: Schedules, form: TileForm = REGISTER_TILE) -> Layouts:
    """Choose the layout of every tensor; the schedules say which kernels run as tiles."""
    elements = ranges(model)
    products, orders = tile_candidates(model, elements, schedules, form)
    for made in products.values():
        follow(model, made, orders)
    for kernel in model.kernels:
        inherit(model, kernel, orders)
    pads = borders(model, products.values())
    rows = {name: Placement.rows(each.shape) for name, each in model.tensors.items()}
    for at, kernel in enumerate(model.kernels):
        if at not in products:
            turn_parameters(model, along_memory(kernel, rows | ordered(model, orders)), orders)
    placements = rows | ordered(model, orders)
    zeros = {each.data.tensor: each.zero for each in products.values() if reaches_out(model, each)}
    shifts = {each.data.tensor: each.shift for each in products.values()}
    for name, pad in pads.items():
        beyond = zeros.get(name, 0)
        placements[name] = replace(placements[name], pads=pad, slack=form.slack, beyond=beyond)
        elements[name] = replace(elements[name], type=form.type, bias=form.bias - shifts[name])
    return with_tiles(model, products, Storage(elements, placements), form)


def tile_candidates(
    model: Model, elements: Mapping[str, ElementStorage], schedules: Schedules, form: TileForm
) -> tuple[dict[int, Product], dict[str, AxisOrder]]:
    """The kernels that can be tiles, and the orders in which they read their data."""
    products: dict[int, Product] = {}
    orders: dict[str, AxisOrder] = {}
    zeros: dict[str, int] = {}
    for at, kernel in enumerate(model.kernels):
        made = find_product(kernel, model)
        if made is None or not free(model, made.data.tensor):
            continue
        if not form.wants(made, kernel, model, schedules):
            continue
        known, values = elements[made.data.tensor].range, model.tensors[made.weights.tensor].values
        assert values is not None
        bordered, order = reaches_out(model, made), made.order()
        found = made.of_bytes(known, bordered=bordered)
        if found is None:
            continue
        made = found
        fits = total_range(values, made, known).fits(32)
        if bordered:  # one border serves all who read it
            fits = fits and zeros.setdefault(made.data.tensor, made.zero) == made.zero
        if fits and orders.setdefault(made.data.tensor, order) == order:
            products[at] = made
    return products, orders


def free(model: Model, name: str) -> bool:
    """Whether a tensor can lie as we like."""
    tensor = model.tensors[name]
    return not tensor.given and tensor.values is None and tensor.stored is None


def follow(model: Model, made: Product, orders: dict[str, AxisOrder]) -> None:
    """What a tile stores, and reads beside its product, has its columns side by side."""
    for access in _accesses(made.after):
        if not free(model, access.tensor) or access.tensor in orders:
            continue
        last = [
            at for at, (entry, _) in enumerate(access.index) if made.column[0] in names_in(entry)
        ]
        rest = [at for at in range(len(access.index)) if at not in last]
        if last:
            orders[access.tensor] = (*rest, *last)


def _accesses(statements: Sequence[i.Stmt]) -> list[i.Access]:
    return [*nodes_in(tuple(statements), i.Access)]


def inherit(model: Model, kernel: ModelKernel, orders: dict[str, AxisOrder]) -> None:
    """A kernel that is no tile keeps the order of what it reads."""
    known = [orders[name] for name in sorted(kernel.read) if name in orders]
    for name in kernel.written:
        rank = len(model.tensors[name].shape)
        same = [order for order in known if len(order) == rank]
        if same and free(model, name):
            orders.setdefault(name, same[0])


def turn_parameters(model: Model, kernel: ModelKernel, orders: dict[str, AxisOrder]) -> None:
    """What a kernel's last loop walks of a parameter lies side by side."""
    if not kernel.loops:
        return
    index = i.Var(kernel.loops[-1][0])
    for access in _accesses(kernel.body):
        values = model.tensors[access.tensor].values
        if values is None:
            continue
        last = [at for at, (entry, _) in enumerate(access.index) if entry == index]
        rest = [at for at in range(values.ndim) if at not in last]
        if len(last) == 1:
            orders.setdefault(access.tensor, (*rest, *last))


def ordered(model: Model, orders: Mapping[str, AxisOrder]) -> dict[str, Placement]:
    return {
        name: replace(Placement.rows(model.tensors[name].shape), order=order)
        for name, order in orders.items()
    }


def borders(model: Model, products: Iterable[Product]) -> dict[str, tuple[tuple[int, int], ...]]:
    """How far the tiles read beyond each tensor, in each dimension."""
    found: dict[str, tuple[tuple[int, int], ...]] = {}
    for made in products:
        name, own = made.data.tensor, border_of(model, made)
        before = found.get(name, own)
        found[name] = tuple(
            (max(a, c), max(b, d)) for (a, b), (c, d) in zip(own, before, strict=True)
        )
    return found


def border_of(model: Model, made: Product) -> tuple[tuple[int, int], ...]:
    """How far a tile reads beyond its data, in each dimension."""
    return tuple(
        (max(-reach.low, 0), max(reach.high - extent + 1, 0))
        for reach, extent in zip(made.reach(), model.tensors[made.data.tensor].shape, strict=True)
    )


def reaches_out(model: Model, made: Product) -> bool:
    """Whether a tile reads beyond its data."""
    return any(map(any, border_of(model, made)))


def with_tiles(
    model: Model, products: Mapping[int, Product], storage: Storage, form: TileForm
) -> Layouts:
    """The tiles, for data that lies as it now does; what has no plain runs stays a nest."""
    tiles: dict[int, TileLayout] = {}
    elements, placements = dict(storage.elements), dict(storage.placements)
    arrays: dict[str, Array] = {}
    for at, made in products.items():
        values = model.tensors[made.weights.tensor].values
        assert values is not None
        runs = find_runs(made, placements[made.data.tensor].strides, form.step)
        found = None if runs is None else form.packed(made, runs, values)
        if runs is None or found is None:
            continue
        own = {
            named_array(f"{made.weights.tensor}_{word}", array, arrays): array
            for word, array in found.items()
        }
        for name, array in own.items():
            kind = f"i{8 * array.itemsize}"
            elements[name] = ElementStorage(LIMITS[kind], kind)
            placements[name] = Placement.rows(array.shape)
        arrays |= own
        total = total_range(values, made, elements[made.data.tensor].range)
        tiles[at] = TileLayout(made, runs, tuple(own), total)
    return Layouts(Storage(elements, placements, arrays), tiles)


def named_array(name: str, array: Array, taken: Mapping[str, Array]) -> str:
    """The name, or one beside it where that is another array: of one parameter tiles may read
    several forms."""
    numbered = chain([name], (f"{name}_{number}" for number in count(2)))
    return next(each for each in numbered if np.array_equal(taken.get(each, array), array))
