"""Statements: locals, stores, control flow, and the union of all kinds."""

from __future__ import annotations

from dataclasses import dataclass, field

from cvmgen.ir.nodes.execution import Barrier, CallInline, Fork, Invoke, Launch, Share
from cvmgen.ir.nodes.expressions import Access, Closure, Entries, Expr, Load, Typed, span_field
from cvmgen.ir.nodes.moves import Apply, Copy, Fetch, Fill, Move, Products, Slide, Tile, Turn
from cvmgen.ir.nodes.prepare import Merge, Require, SetOutput, TakeAttribute, TakeInput
from cvmgen.source import Span


@dataclass(frozen=True, slots=True)
class Let:
    """A new local; `type` is int, bool or list, after the pass `types` a machine type."""

    name: str
    type: str
    value: Expr
    span: Span = span_field()


@dataclass(frozen=True, slots=True)
class Array:
    """Local memory for `length` elements of a machine type, read and stored to like a tensor.

    `space`: a `vector` is read and set by lanes, as a list by entries; a block has `shared` memory,
    as much as its launch says.
    """

    name: str
    type: str
    length: int
    span: Span = span_field()
    space: str = ""


@dataclass(frozen=True, slots=True)
class Assign:
    name: str
    value: Expr
    span: Span = span_field()


@dataclass(frozen=True, slots=True)
class Accumulate:
    """`name` becomes `name op value`; op: + * max min and or, | of bits."""

    name: str
    op: str
    value: Expr
    span: Span = span_field()


@dataclass(frozen=True, slots=True)
class AddAt:
    """list[index] += value."""

    name: str
    index: Expr
    value: Expr
    span: Span = span_field()


@dataclass(frozen=True, slots=True)
class SetAt:
    """list[index] = value."""

    name: str
    index: Expr
    value: Expr
    span: Span = span_field()


@dataclass(frozen=True, slots=True)
class Append:
    """Add a value to a list, or (set) where it stands in ascending order, once."""

    name: str
    kind: str
    value: Expr
    span: Span = span_field()


@dataclass(frozen=True, slots=True)
class Store:
    """`target` is an Access, after the pass `offsets` a Load's place."""

    target: Access | Load
    value: Expr
    span: Span = span_field()


@dataclass(frozen=True, slots=True)
class Overflow:
    """Note that the value of an element does not fit the integer type of its tensor."""

    tensor: str
    offset: Expr
    span: Span = span_field()


@dataclass(frozen=True, slots=True)
class Sort:
    """Put the entries into the ascending order of their keys; equal ones keep their order.

    Row k of the keys, `width` of them, belongs to entry k; `spare` is memory for twice as many
    entries.
    """

    entries: Entries
    keys: Access | Load
    width: int
    spare: Access | Load
    span: Span = span_field()
    among: str = ""  # a `block`, where its threads sort together
    most: Expr | None = None  # how many of the first ones are read, where not all are


@dataclass(frozen=True, slots=True)
class Break:
    """Leave the innermost loop."""

    span: Span = span_field()


@dataclass(frozen=True, slots=True)
class Return:
    """This thread has done its part of the kernel; or the value of a lambda."""

    span: Span = span_field()
    value: Expr | None = None


@dataclass(frozen=True, slots=True)
class Loop:
    """Run `body` for each index in low <= index < high, or (low None) in the list high.

    With a `share` each thread makes its own iterations; `unroll` is how many at once in one
    instruction stream: `all`, or `some` so that loads overlap.
    """

    index: str
    low: Expr | None
    high: Expr
    body: tuple[Stmt, ...]
    parallel: int  # how many perfectly nested loops, this one first, run in parallel
    span: Span = span_field()
    step: int = 1
    vector: str = ""  # instruction sets that make several iterations at once: avx2, avx512
    worth: Expr | None = None  # a test: are there iterations enough for several threads?
    share: Share | None = None
    unroll: str = ""
    type: str = "i64"  # of the index


@dataclass(frozen=True, slots=True)
class Lambda(Closure):
    """A function as it is written at a call; it has what stands around it by value."""

    parameters: tuple[Typed, ...]
    body: tuple[Stmt, ...]
    result: str = ""  # its machine type, where it is not plain


@dataclass(frozen=True, slots=True)
class Borrow:
    """The host makes `body` with memory for so many entries on the device, which is `name` there;
    where there is none, nothing of it."""

    name: str
    entries: Expr
    body: tuple[Stmt, ...]
    span: Span = span_field()


@dataclass(frozen=True, slots=True)
class PackLoop:
    """Run `body` for each multi-index of a box, the last dimension fastest. With `slots` its
    entries are a part of a multi-index of the formula: `part_of`, where it has another name."""

    pack: str
    extents: Expr
    slots: Expr | None
    body: tuple[Stmt, ...]
    span: Span = span_field()
    part_of: str = ""

    @property
    def whole(self) -> str:
        """The multi-index of the formula."""
        return self.part_of or self.pack


@dataclass(frozen=True, slots=True)
class If:
    condition: Expr
    then: tuple[Stmt, ...]
    otherwise: tuple[Stmt, ...]
    span: Span = span_field()


@dataclass(frozen=True, slots=True)
class Cases:
    """Exactly one of the conditions holds; its statements run. Numbered in order."""

    branches: tuple[tuple[Expr, tuple[Stmt, ...]], ...]
    span: Span = span_field()


@dataclass(frozen=True, slots=True)
class ArrayStmt:
    """A statement on whole arrays, by the pass `arrays`; `ir/arrays.py` has its kinds."""

    span: Span = field(compare=False, repr=False, kw_only=True)


@dataclass(frozen=True, slots=True)
class HostStmt:
    """A statement of the host part once it is lowered; `ir/checks.py` has its kinds."""

    span: Span = field(compare=False, repr=False, kw_only=True)


Stmt = (
    Let
    | Array
    | Assign
    | Accumulate
    | AddAt
    | SetAt
    | Append
    | Store
    | Overflow
    | Sort
    | Break
    | Return
    | Copy
    | Move
    | Turn
    | Slide
    | Apply
    | Products
    | Fetch
    | Fill
    | Tile
    | Loop
    | PackLoop
    | Barrier
    | Invoke
    | Launch
    | Fork
    | CallInline
    | Borrow
    | If
    | Require
    | TakeInput
    | TakeAttribute
    | SetOutput
    | Merge
    | Cases
    | ArrayStmt
    | HostStmt
)
Block = tuple[Stmt, ...]
