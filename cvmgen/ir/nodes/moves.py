"""Statements that move elements from memory to memory, and the register tile: each one call
of a helper that its target has."""

from __future__ import annotations

from dataclasses import dataclass

from cvmgen.ir.nodes.expressions import Expr, Load, span_field
from cvmgen.source import Span


@dataclass(frozen=True, slots=True)
class Copy:
    """target[k * step] = source[k * source_step] for k < count, from the two places on.

    `type` is that of the elements, i8 or i32, the same on both sides.
    """

    type: str
    target: Load
    step: Expr
    source: Load
    source_step: Expr
    count: Expr
    span: Span = span_field()


@dataclass(frozen=True, slots=True)
class Move:
    """target[at . steps] = source[at . source_steps] for each multi-index `at` of a box, from the
    two places on.

    `extents` and the steps are lists of one length; `type` is that of the target's elements,
    `source_type` that of the source's.
    """

    type: str
    source_type: str
    target: Load
    steps: Expr
    source: Load
    source_steps: Expr
    extents: Expr
    span: Span = span_field()


@dataclass(frozen=True, slots=True)
class Turn:
    """target[k * lanes + r] = source[min(r, runs - 1) * step + k] for k < count and r < lanes, from
    the two places on: runs of the source, of the same elements as the target, side by side."""

    target: Load
    lanes: int
    source: Load
    step: Expr
    runs: Expr
    count: Expr
    span: Span = span_field()


@dataclass(frozen=True, slots=True)
class Slide:
    """target[0] = first and target[k] = source[k - 1] for 0 < k < count, from the two places on:
    local arrays, of elements of a machine type."""

    type: str
    target: Load
    source: Load
    first: Expr
    count: int
    span: Span = span_field()


@dataclass(frozen=True, slots=True)
class Apply:
    """values[k] = function(values[k]) for k < count, from the place on: an array of real numbers of
    64 bits, and a function that has many of them at once."""

    function: str
    values: Load
    count: Expr
    span: Span = span_field()


@dataclass(frozen=True, slots=True)
class Lines:
    """Elements of a tensor, of a machine type: term k of line r is `line` * r + `term` * k behind
    the first one."""

    first: Load
    type: str
    line: Expr
    term: Expr


@dataclass(frozen=True, slots=True)
class Products:
    """totals[32 * r + c] += x[r][k] * w[c][k] for each r < rows and c < columns, and one k after
    the other, 0 <= k < depth + r * longer: rounded products of real numbers, in an array of
    64 * 32."""

    totals: Load
    x: Lines
    rows: Expr
    w: Lines
    columns: Expr
    depth: Expr
    longer: Expr
    span: Span = span_field()


@dataclass(frozen=True, slots=True)
class Fetch:
    """What lies so many bytes behind a place is read soon; there may be no memory there."""

    place: Load
    ahead: int
    span: Span = span_field()


@dataclass(frozen=True, slots=True)
class Fill:
    """target[k * step] = value for k < count, from the place on; `type`: of the elements."""

    type: str
    target: Load
    step: Expr
    value: Expr
    count: Expr
    span: Span = span_field()


@dataclass(frozen=True, slots=True)
class Tile:
    """A block of totals by the register tile: totals[r * step + c], or [c * step + r] if `turned`,
    becomes the sum over k of (data[k of row r] - 128 - zero) * panels[k of column c].

    Row r begins `rows[r]` behind `data`, and reads from each of `runs` on, a constant table, 4 *
    `quads` bytes; `panels` are packed as cvmgen_tile.h says. `name` and `table` are what the block
    and the table are called.
    """

    name: str
    table: str
    totals: Load
    step: int
    turned: bool
    data: Load
    rows: Load
    row_count: Expr
    runs: tuple[int, ...]
    quads: int
    panels: Load
    panel_count: Expr
    zero: int
    span: Span = span_field()
