"""The whole IR on one page: expressions, statements, nests, programs.

Expressions are over the integers until the pass `types` has run; it puts a `Convert`
wherever a machine type other than the natural one of the operands is needed. Before, a `Convert`
to i64 stands around the position of an element alone, since nothing else says that it is small.
Passes take and give values; nothing here is changed in place. Every statement knows its formula's
span.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from cvmgen.source import Span
from cvmgen.spec.formula import Attribute, Input, Operator

# ---------------------------------------------------------------- expressions


def _place() -> Span | None:
    """Where the formula reads an entry or an element, for messages; None where it does not."""
    return field(default=None, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Const:
    value: int | bool


@dataclass(frozen=True, slots=True)
class Real:
    """A real number of 64 bits, in text so that -0 is not 0 and NaN equals itself."""

    text: str


@dataclass(frozen=True, slots=True)
class Limit:
    """The least or greatest value of an element type, which a type parameter may stand for."""

    end: str
    type_name: str


@dataclass(frozen=True, slots=True)
class Word:
    """A word of an attribute, given by its full name; in C the integer `code`, from 1 on."""

    attribute: str
    text: str
    code: int


@dataclass(frozen=True, slots=True)
class Var:
    """A scalar, a list or a set by name: an extent, an attribute, a let, an index, a local."""

    name: str


@dataclass(frozen=True, slots=True)
class Binary:
    """op: + - * floordiv truncdiv mod shl shr, over on reals, on sets union, difference."""

    op: str
    left: Expr
    right: Expr


@dataclass(frozen=True, slots=True)
class Compare:
    """op: == != < <= > >=."""

    op: str
    left: Expr
    right: Expr


@dataclass(frozen=True, slots=True)
class Logic:
    """op: and, or; short-circuit from the left. both, either: all operands are evaluated."""

    op: str
    operands: tuple[Expr, ...]


@dataclass(frozen=True, slots=True)
class Not:
    operand: Expr


@dataclass(frozen=True, slots=True)
class Select:
    """`then if condition else otherwise`; only the branch taken is evaluated."""

    condition: Expr
    then: Expr
    otherwise: Expr


@dataclass(frozen=True, slots=True)
class Call:
    """A function of `cvmgen.functions`, or one of the run-time helpers of `emit.helpers`.

    `constants` are what it is made for while compiling: numbers, types, operations.
    """

    function: str
    arguments: tuple[Expr, ...]
    span: Span | None = _place()
    constants: tuple[int | str, ...] = ()


@dataclass(frozen=True, slots=True)
class Item:
    """Entry `index` of a list."""

    sequence: Expr
    index: Expr
    span: Span | None = _place()


@dataclass(frozen=True, slots=True)
class Part:
    sequence: Expr
    low: Expr | None
    high: Expr | None
    span: Span | None = _place()


@dataclass(frozen=True, slots=True)
class ListOf:
    """A list written out; an entry marked True is a list that is spread."""

    entries: tuple[tuple[Expr, bool], ...]


@dataclass(frozen=True, slots=True)
class Contains:
    element: Expr
    collection: Expr


@dataclass(frozen=True, slots=True)
class Over:
    """index runs over low <= index < high, or (low None) over the entries of the list high."""

    index: str
    low: Expr | None
    high: Expr


@dataclass(frozen=True, slots=True)
class OverPack:
    """The multi-index `pack` runs over the box `extents`; see spec.nodes.PackRange."""

    pack: str
    extents: Expr
    slots: Expr | None


@dataclass(frozen=True, slots=True)
class Gather:
    """All values of `element` as a list, or as an ascending set."""

    kind: str  # list or set
    element: Expr
    over: tuple[Over | OverPack, ...]
    condition: Expr | None


@dataclass(frozen=True, slots=True)
class Fold:
    """All values of `element` combined by op: sum prod max min any all count."""

    op: str
    element: Expr
    over: tuple[Over | OverPack, ...]
    condition: Expr | None


@dataclass(frozen=True, slots=True)
class Bind:
    """`body` with the local `name` standing for `value`."""

    name: str
    value: Expr
    body: Expr


@dataclass(frozen=True, slots=True)
class Access:
    """An element by its multi-index; an index marked True is a list that is spread."""

    tensor: str
    which: Expr | None
    index: tuple[tuple[Expr, bool], ...]
    span: Span | None = _place()


@dataclass(frozen=True, slots=True)
class Load:
    """An element by its offset."""

    tensor: str
    which: Expr | None
    offset: Expr


@dataclass(frozen=True, slots=True)
class Dot:
    """The sum of steps[k] * pack[k] over a multi-index: what a strided walk accumulates.

    `steps` None means the row-major strides of the pack's own extents: the position.
    """

    pack: str
    steps: Expr | None


@dataclass(frozen=True, slots=True)
class Entries:
    """The entries of a selected list, `length` of them from `first` on."""

    first: Access | Load
    length: Expr
    ascending: bool


@dataclass(frozen=True, slots=True)
class Given:
    """Whether an optional input or attribute was given."""

    name: str


@dataclass(frozen=True, slots=True)
class PrecisionOf:
    tensor: str
    which: Expr | None


@dataclass(frozen=True, slots=True)
class Member:
    """A member of a structure that a helper makes or the host gives."""

    structure: Expr
    name: str


@dataclass(frozen=True, slots=True)
class Address:
    """Where an element lies, nowhere unless the guard holds; or a local that a helper changes."""

    place: Load | Var
    guard: Expr | None = None


@dataclass(frozen=True, slots=True)
class Typed:
    """A parameter: of a machine type, or a `place` of so many indices."""

    name: str
    type: str
    size: int = 0


@dataclass(frozen=True, slots=True)
class Lambda:
    """A function that a helper calls; it has what stands around it by value."""

    parameters: tuple[Typed, ...]
    body: tuple[Stmt, ...]
    result: str = ""  # its machine type, where it is not plain


@dataclass(frozen=True, slots=True)
class Convert:
    """operand as machine type: i32 i64 i128 u32 u64 (modulo 2^bits for the unsigned), f64."""

    type: str
    operand: Expr


@dataclass(frozen=True, slots=True)
class ArrayExpr:
    """A value of whole arrays, by the pass `arrays`; `ir/arrays.py` has its kinds."""


Expr = (
    Const
    | Real
    | Limit
    | Word
    | Var
    | Binary
    | Compare
    | Logic
    | Not
    | Select
    | Call
    | Item
    | Part
    | ListOf
    | Contains
    | Gather
    | Fold
    | Bind
    | Access
    | Load
    | Dot
    | Entries
    | Given
    | PrecisionOf
    | Member
    | Address
    | Lambda
    | Convert
    | ArrayExpr
)

ZERO: Expr = Const(0)
ONE: Expr = Const(1)

# ---------------------------------------------------------------- statements


def _span() -> Span:
    return field(compare=False, repr=False)  # type: ignore[no-any-return]


@dataclass(frozen=True, slots=True)
class Let:
    """A new local; `type` is int, bool or list, after the pass `types` a machine type."""

    name: str
    type: str
    value: Expr
    span: Span = _span()


@dataclass(frozen=True, slots=True)
class Array:
    """Local memory for `length` elements of a machine type, read and stored to like a tensor.

    `space`: a `vector` is read and set by lanes, as a list by entries; a block has `shared` memory,
    as much as its launch says.
    """

    name: str
    type: str
    length: int
    span: Span = _span()
    space: str = ""


@dataclass(frozen=True, slots=True)
class Assign:
    name: str
    value: Expr
    span: Span = _span()


@dataclass(frozen=True, slots=True)
class Accumulate:
    """`name` becomes `name op value`; op: + * max min and or, | of bits."""

    name: str
    op: str
    value: Expr
    span: Span = _span()


@dataclass(frozen=True, slots=True)
class AddAt:
    """list[index] += value."""

    name: str
    index: Expr
    value: Expr
    span: Span = _span()


@dataclass(frozen=True, slots=True)
class SetAt:
    """list[index] = value."""

    name: str
    index: Expr
    value: Expr
    span: Span = _span()


@dataclass(frozen=True, slots=True)
class Append:
    """Add a value to a list, or (set) where it stands in ascending order, once."""

    name: str
    kind: str
    value: Expr
    span: Span = _span()


@dataclass(frozen=True, slots=True)
class Store:
    """`target` is an Access, after the pass `offsets` a Load's place."""

    target: Access | Load
    value: Expr
    span: Span = _span()


@dataclass(frozen=True, slots=True)
class Overflow:
    """Note that the value of an element does not fit the integer type of its tensor."""

    tensor: str
    offset: Expr
    span: Span = _span()


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
    span: Span = _span()
    among: str = ""  # a `block`, where its threads sort together


@dataclass(frozen=True, slots=True)
class Break:
    """Leave the innermost loop."""

    span: Span = _span()


@dataclass(frozen=True, slots=True)
class Return:
    """This thread has done its part of the kernel; or the value of a lambda."""

    span: Span = _span()
    value: Expr | None = None


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
    span: Span = _span()


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
    span: Span = _span()


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
    span: Span = _span()


@dataclass(frozen=True, slots=True)
class Slide:
    """target[0] = first and target[k] = source[k - 1] for 0 < k < count, from the two places on:
    local arrays, of elements of a machine type."""

    type: str
    target: Load
    source: Load
    first: Expr
    count: int
    span: Span = _span()


@dataclass(frozen=True, slots=True)
class Fetch:
    """What lies so many bytes behind a place is read soon; there may be no memory there."""

    place: Load
    ahead: int
    span: Span = _span()


@dataclass(frozen=True, slots=True)
class Fill:
    """target[k * step] = value for k < count, from the place on; `type`: of the elements."""

    type: str
    target: Load
    step: Expr
    value: Expr
    count: Expr
    span: Span = _span()


@dataclass(frozen=True, slots=True)
class Tile:
    """A block of totals by the register tile: totals[r * step + c], or [c * step + r] if `turned`,
    becomes the sum over k of (data[k of row r] - 128) * panels[k of column c].

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
    span: Span = _span()


@dataclass(frozen=True, slots=True)
class Share:
    """Of the iterations of a loop, counted from 0, one thread makes `first`, `first + step`, ...

    `among` whom: the threads of the `grid`, the `blocks` of it, the threads of a `block`, or those
    of a `team` for one result; among none, all of them make the same.
    """

    among: str
    first: Expr
    step: Expr


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
    span: Span = _span()
    step: int = 1
    vector: str = ""  # instruction sets that make several iterations at once: avx2, avx512
    worth: Expr | None = None  # a test: are there iterations enough for several threads?
    share: Share | None = None
    unroll: str = ""
    type: str = "i64"  # of the index


@dataclass(frozen=True, slots=True)
class Barrier:
    """No thread of a block goes on before all of them have come here; `why`, where it is not
    plain."""

    span: Span = _span()
    why: str = ""


@dataclass(frozen=True, slots=True)
class Invoke:
    """Call a helper for what it does."""

    call: Call
    span: Span = _span()


@dataclass(frozen=True, slots=True)
class Launch:
    """The host starts a kernel by a function of the run time, so often as `count` says; `kernel` is
    what it is called behind its nest. It is given what all kernels of the nest are, and
    `arguments`."""

    function: Call
    count: Expr
    kernel: str
    arguments: tuple[Expr, ...]
    span: Span = _span()


@dataclass(frozen=True, slots=True)
class Capture:
    """What an outlined function has from the one that calls it.

    `kind`: the `plan` of the call, a `tensor`, a `list`, an `array`, a `value`, or the place of an
    accumulator, the `total` of all parts; `type` is that of values and of elements of arrays. The
    place may be that of a `copy`.
    """

    name: str
    kind: str
    type: str = ""
    constant: bool = False
    copy: str = ""


@dataclass(frozen=True, slots=True)
class Fork:
    """Threads share `count` iterations, if that is `worth` it: each makes stretches of them by the
    function `part`, which has the `captures` in a structure called `call`."""

    part: str
    call: str
    count: Expr
    worth: Expr | None
    captures: tuple[Capture, ...]
    span: Span = _span()


@dataclass(frozen=True, slots=True)
class Borrow:
    """The host makes `body` with memory for so many entries on the device, which is `name` there;
    where there is none, nothing of it."""

    name: str
    entries: Expr
    body: tuple[Stmt, ...]
    span: Span = _span()


@dataclass(frozen=True, slots=True)
class PackLoop:
    """Run `body` for each multi-index of a box, the last dimension fastest."""

    pack: str
    extents: Expr
    slots: Expr | None
    body: tuple[Stmt, ...]
    span: Span = _span()


@dataclass(frozen=True, slots=True)
class If:
    condition: Expr
    then: tuple[Stmt, ...]
    otherwise: tuple[Stmt, ...]
    span: Span = _span()


@dataclass(frozen=True, slots=True)
class Require:
    """Refuse the call unless the condition holds; `terms` are the values to show."""

    condition: Expr
    rule: str
    terms: tuple[tuple[str, Expr, str], ...]  # name, value, kind
    span: Span = _span()


@dataclass(frozen=True, slots=True)
class TakeInput:
    """Check the shape of an input and bind its extents; `known` are those it must equal."""

    input: Input
    known: tuple[Expr | None, ...]
    span: Span = _span()


@dataclass(frozen=True, slots=True)
class TakeAttribute:
    """Check the range of an attribute and bind it (and its components)."""

    attribute: Attribute
    default: Expr | None
    low: Expr | None
    high: Expr | None
    terms: tuple[tuple[str, Expr, str], ...]
    span: Span = _span()


@dataclass(frozen=True, slots=True)
class SetOutput:
    """The shape and precision of an output; refuses those that no tensor can have.

    Only elements of type `cvm` have a precision. Extents of 0 are refused unless it may be `empty`.
    From `far` on it is not told how large a precision would be.
    """

    tensor: str
    extents: Expr
    empty: bool
    precision: Expr | None
    rule: str
    terms: tuple[tuple[str, Expr, str], ...]
    far: int
    span: Span = _span()


@dataclass(frozen=True, slots=True)
class Merge:
    """Join neighbouring dimensions of a box that every one of `steps` walks alike.

    If they are to be `sorted`, those that the first list of steps walks fastest come last.
    """

    extents: str
    steps: tuple[str, ...]
    sorted: bool
    span: Span = _span()


@dataclass(frozen=True, slots=True)
class Cases:
    """Exactly one of the conditions holds; its statements run. Numbered in order."""

    branches: tuple[tuple[Expr, tuple[Stmt, ...]], ...]
    span: Span = _span()


@dataclass(frozen=True, slots=True)
class ArrayStmt:
    """A statement on whole arrays, by the pass `arrays`; `ir/arrays.py` has its kinds."""

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
    | Fetch
    | Fill
    | Tile
    | Loop
    | PackLoop
    | Barrier
    | Invoke
    | Launch
    | Fork
    | Borrow
    | If
    | Require
    | TakeInput
    | TakeAttribute
    | SetOutput
    | Merge
    | Cases
    | ArrayStmt
)
Block = tuple[Stmt, ...]

# ---------------------------------------------------------------- programs


@dataclass(frozen=True, slots=True)
class Guarded:
    """A nest that the host must not start before another one found that nothing is read outside.

    That one leaves the least position of an element of `tensor` that would read outside, for each
    tensor of a variadic input, or MAX_SIZE; where it is not `placed`, 0 for any element.
    """

    tensor: str
    placed: bool


@dataclass(frozen=True, slots=True)
class Nest:
    """The loops that fill an output or a selected list, run when the case holds (None: always).

    With `each` (index, tensor, count) the nest runs once for each tensor of a variadic
    input, after the host has run `prologue` for it.
    """

    tensor: str
    case: int | None
    each: tuple[str, str, Expr] | None
    prologue: tuple[Stmt, ...]
    body: tuple[Stmt, ...]
    formula: str
    span: Span = _span()
    more: tuple[str, ...] = ()  # other lines of the formula that it computes, with their places
    guarded: Guarded | None = None  # what it tests, if it computes nothing else


@dataclass(frozen=True, slots=True)
class Scratch:
    """Memory of int64 that the nests of a call share, for a selected list and what goes with it.

    The host keeps its size as `<name>_size`. `owner` is the list: its nest alone writes here.
    """

    name: str
    owner: str
    shape: tuple[Expr, ...]
    case: int | None

    @property
    def size(self) -> str:
        return f"{self.name}_size"


@dataclass(frozen=True, slots=True)
class Program:
    """A lowered operator: `prepare` checks, infers and computes what the nests need."""

    operator: Operator
    prepare: tuple[Stmt, ...]
    nests: tuple[Nest, ...]
    scratch: tuple[Scratch, ...] = ()
    moved: tuple[str, ...] | None = None  # inputs that are only moved; None: nests show it

    def scratch_of(self, tensor: str) -> tuple[Scratch, ...]:
        """The memory that belongs to a selected list; empty for an output."""
        return tuple(each for each in self.scratch if each.owner == tensor)

    def quoted(self, nest: Nest) -> str:
        """The formula of a nest and where it stands, as generated code says it."""
        return f"{self.operator.place(nest.span)}: {nest.formula}"
