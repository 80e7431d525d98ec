"""Nests as operations on whole arrays: what the pass `arrays` makes of them for numpy.

An index is an axis: what reads it is an array with that axis, and operations by elements broadcast
their operands. Those nodes of `ir/nodes` that have operands stand for operations by elements
here. An `Access` without an index is a tensor itself, and a `Store` there one to all of it, of
integers of any size. A `Call` may name a function of the modules that generated operators import,
as `vectors.where`.
"""

from __future__ import annotations

from dataclasses import dataclass

from cvmgen.ir import nodes as i

IndexList = tuple[tuple[i.Expr, bool], ...]  # an entry marked True is a list that is spread

# ---------------------------------------------------------------- expressions


@dataclass(frozen=True, slots=True)
class Integer(i.ArrayExpr):
    """The type of a nest's integers: int32, int64, object; "" where the call decides."""

    name: str


@dataclass(frozen=True, slots=True)
class Nothing(i.ArrayExpr):
    """No array yet: what a reduction begins with that goes term by term."""


@dataclass(frozen=True, slots=True)
class Read(i.ArrayExpr):
    """The elements at a multi-index, with the axes of its slots: a view where these are affine.

    Beyond the array they are `fill`; without one nothing uses what is read there.
    """

    array: i.Expr
    index: IndexList
    fill: i.Expr | None = None


@dataclass(frozen=True, slots=True)
class At(i.ArrayExpr):
    """Entries by subscript, numbers and slices; all of them without one."""

    array: i.Expr
    index: IndexList


@dataclass(frozen=True, slots=True)
class Slice(i.ArrayExpr):
    """A subscript: the entries from `low` on before `high`."""

    low: i.Expr
    high: i.Expr


@dataclass(frozen=True, slots=True)
class Padded(i.ArrayExpr):
    """An array with a border of `fill` as wide as the slots reach beyond it."""

    array: i.Expr
    fill: i.Expr
    index: IndexList


@dataclass(frozen=True, slots=True)
class Reduce(i.ArrayExpr):
    """Operands combined along axes, where `only` holds: op as in Fold; dot is the sum of products
    of two operands."""

    op: str
    operands: tuple[i.Expr, ...]
    axes: IndexList
    only: i.Expr | None


ArrayExpr = Integer | Nothing | Read | At | Slice | Padded | Reduce

# ---------------------------------------------------------------- statements


@dataclass(frozen=True, slots=True)
class Axes(i.ArrayStmt):
    """Indices as axes, in front of so many others (None: of none); a list of extents is as many
    axes."""

    names: tuple[str, ...]
    extents: tuple[i.Expr, ...]
    inside: i.Expr | None


@dataclass(frozen=True, slots=True)
class Blocks(i.ArrayStmt):
    """Run `body` for each block of the elements of tensors, under their `names`.

    Those `computed` with come in the type `integer`, then those `kept` as they are, then `spare`
    arrays for results on the way.
    """

    names: tuple[str, ...]
    computed: tuple[i.Expr, ...]
    kept: tuple[i.Expr, ...]
    integer: Integer | None
    spare: int
    body: i.Block


@dataclass(frozen=True, slots=True)
class Choose(i.ArrayStmt):
    """A local by one of two blocks, which a condition on the call chooses."""

    name: str
    condition: i.Expr
    then: i.Block
    otherwise: i.Block


@dataclass(frozen=True, slots=True)
class Continue(i.ArrayStmt):
    """Go on with the next iteration."""


@dataclass(frozen=True, slots=True)
class FillArray(i.ArrayStmt):
    """The entries of an array become those of a value, cut to its type; or `entry op value`."""

    target: i.Expr
    value: i.Expr
    op: str = ""


@dataclass(frozen=True, slots=True)
class CopyAll(i.ArrayStmt):
    """An array becomes elements that are moved; the axes of their slots are its own."""

    target: i.Access
    source: Read


@dataclass(frozen=True, slots=True)
class Into(i.ArrayStmt):
    """A call whose result goes into an array, cut to its type if it may be `narrower`."""

    call: i.Call
    target: i.Expr
    narrower: bool


@dataclass(frozen=True, slots=True)
class Shape(i.ArrayStmt):
    """The memory of a list with its extents."""

    tensor: i.Access
    extents: tuple[i.Expr, ...]


@dataclass(frozen=True, slots=True)
class Integers(i.ArrayStmt):
    """The integers that a nest computes with: int32, int64 or object, Python's own; or (checked)
    int64 if `values` are below 2^bits, else object."""

    name: str
    bits: int
    values: tuple[i.Expr, ...]


@dataclass(frozen=True, slots=True)
class Elements(i.ArrayStmt):
    """A tensor in the type to compute with (None: as Python's numbers), or each of several."""

    tensor: i.Access
    integer: Integer | None
    several: bool


Head = Shape | Integers | Elements  # what a nest begins with
ArrayStmt = Axes | Blocks | Choose | Continue | FillArray | CopyAll | Into | Head
