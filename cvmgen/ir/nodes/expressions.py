"""Expressions: over the integers until the pass `types` has run.

It puts a `Convert` wherever a machine type other than the natural one of the operands is needed.
Before, a `Convert` to i64 stands around the position of an element alone, since nothing else says
that it is small.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from cvmgen.source import Span


def _place() -> Span | None:
    """Where the formula reads an entry or an element, for messages; None where it does not."""
    return field(default=None, compare=False, repr=False)


def span_field() -> Span:
    """The formula's place of a statement, which does not tell statements apart."""
    return field(compare=False, repr=False)  # type: ignore[no-any-return]


@dataclass(frozen=True, slots=True)
class Const:
    value: int | bool


@dataclass(frozen=True, slots=True)
class Real:
    """A real number of 64 bits, in text so that -0 is not 0 and NaN equals itself."""

    text: str


@dataclass(frozen=True, slots=True)
class Limit:
    """The least or greatest value of an element type, which a type parameter may stand for; with
    the end "type" that itself, in comparisons of two."""

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
class Structure:
    """A structure by its members; others are 0."""

    members: tuple[tuple[str, Expr], ...]


@dataclass(frozen=True, slots=True)
class Address:
    """Where an element lies, nowhere unless the guard holds; or a local that a helper changes, or
    a member of a structure."""

    place: Load | Var | Member
    guard: Expr | None = None


@dataclass(frozen=True, slots=True)
class Typed:
    """A parameter: of a machine type, or a `place` of so many indices."""

    name: str
    type: str
    size: int = 0


@dataclass(frozen=True, slots=True)
class Convert:
    """operand as machine type: i32 i64 i128 u32 u64 (modulo 2^bits for the unsigned), f64."""

    type: str
    operand: Expr


@dataclass(frozen=True, slots=True)
class Closure:
    """A function that a helper calls: a `Lambda`, whose body is of statements."""


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
    | Structure
    | Address
    | Closure
    | Convert
    | ArrayExpr
)

ZERO: Expr = Const(0)
ONE: Expr = Const(1)
