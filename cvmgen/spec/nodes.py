"""The syntax tree of a spec: what `parse` makes and `check` resolves.

Expressions come in two layers of one closed union. The parser makes the nodes of `Raw`
(names whose meaning is still open); the checker replaces each by a node of the resolved
layer, so a checked formula holds none of `Raw`. All other nodes belong to both.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from cvmgen.source import Span
from cvmgen.tree import children as children
from cvmgen.tree import rebuild as rebuild
from cvmgen.tree import walk as walk
from cvmgen.tree import with_children as with_children

# ---------------------------------------------------------------- expressions, both layers


def span_field() -> Span:
    """A span takes no part in comparing or printing nodes."""
    return field(compare=False, repr=False)  # type: ignore[no-any-return]


@dataclass(frozen=True, slots=True)
class Number:
    value: int
    span: Span = span_field()


@dataclass(frozen=True, slots=True)
class Real:
    """A real number of 64 bits: written with a point, or `inf`, or `nan`, which is written like
    another `nan`."""

    value: float
    span: Span = span_field()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Real) and repr(self.value) == repr(other.value)

    def __hash__(self) -> int:
        return hash(repr(self.value))


@dataclass(frozen=True, slots=True)
class Truth:
    value: bool
    span: Span = span_field()


@dataclass(frozen=True, slots=True)
class Word:
    """A text in quotes: a word that an attribute is given, by default or in an example.

    In comparisons the checker makes an `IsWord` of it.
    """

    text: str
    span: Span = span_field()


@dataclass(frozen=True, slots=True)
class Arithmetic:
    """`left sign right`, sign one of + - * div tdiv mod ^ (the parser also lets / and over by)."""

    sign: str
    left: Expr
    right: Expr
    span: Span = span_field()


@dataclass(frozen=True, slots=True)
class Negate:
    operand: Expr
    span: Span = span_field()


@dataclass(frozen=True, slots=True)
class Compare:
    """A chain such as `0 <= h < H`: one relation fewer than operands."""

    relations: tuple[str, ...]
    operands: tuple[Expr, ...]
    span: Span = span_field()


@dataclass(frozen=True, slots=True)
class Logic:
    """`and` or `or` over two operands or more; a later one counts only if the earlier allow."""

    word: str
    operands: tuple[Expr, ...]
    span: Span = span_field()


@dataclass(frozen=True, slots=True)
class Not:
    operand: Expr
    span: Span = span_field()


@dataclass(frozen=True, slots=True)
class Conditional:
    """`then if condition else otherwise`; the branch not taken is not evaluated."""

    then: Expr
    condition: Expr
    otherwise: Expr
    span: Span = span_field()


@dataclass(frozen=True, slots=True)
class Refuse:
    """`refuse "message"`: the call is refused where this branch of a choice is asked for. `kind` is
    that of the other branch."""

    message: str
    span: Span = span_field()
    kind: str = ""


@dataclass(frozen=True, slots=True)
class Contains:
    """`element in collection` as a condition."""

    element: Expr
    collection: Expr
    span: Span = span_field()


@dataclass(frozen=True, slots=True)
class TupleOf:
    elements: tuple[Expr, ...]
    span: Span = span_field()


@dataclass(frozen=True, slots=True)
class Listing:
    """`(element for binders)`: a list, in the order of the binders."""

    element: Expr
    binders: Binders
    span: Span = span_field()


@dataclass(frozen=True, slots=True)
class SetOf:
    """`{element for binders}`: a finite set of integers, ascending when iterated."""

    element: Expr
    binders: Binders
    span: Span = span_field()


@dataclass(frozen=True, slots=True)
class Reduction:
    """`function[binders](body)`; function one of REDUCTIONS (a family parameter before that)."""

    function: str
    binders: Binders
    body: Expr
    span: Span = span_field()


@dataclass(frozen=True, slots=True)
class Sorted:
    """`sort[i < N] by (key, ...)`: the indices in ascending order of the keys, stable."""

    binders: Binders
    keys: tuple[Expr, ...]
    span: Span = span_field()


# ---------------------------------------------------------------- expressions, as parsed


@dataclass(frozen=True, slots=True)
class Name:
    text: str
    span: Span = span_field()


@dataclass(frozen=True, slots=True)
class Bracket:
    """`target[slots]`: an access, a list element, a part of a list or a `let` with indices."""

    target: Expr
    slots: tuple[Slot | PartSlot, ...]
    span: Span = span_field()


@dataclass(frozen=True, slots=True)
class Call:
    function: str
    arguments: tuple[Argument, ...]
    span: Span = span_field()
    name_span: Span = span_field()  # of the function's name, or of what a family puts for it


@dataclass(frozen=True, slots=True)
class Argument:
    value: Expr
    pack: bool
    span: Span = span_field()


# ---------------------------------------------------------------- expressions, as checked


@dataclass(frozen=True, slots=True)
class Ref:
    """A name with its meaning: `role` says what kind of thing it stands for."""

    name: str
    role: Role
    span: Span = span_field()


@dataclass(frozen=True, slots=True)
class Item:
    """Element `index` of a list."""

    sequence: Expr
    index: Expr
    span: Span = span_field()


@dataclass(frozen=True, slots=True)
class Part:
    """`sequence[low:high]`; a missing end is None."""

    sequence: Expr
    low: Expr | None
    high: Expr | None
    span: Span = span_field()


@dataclass(frozen=True, slots=True)
class Access:
    """An element of an input tensor; `which` picks the tensor of a variadic input."""

    tensor: str
    which: Expr | None
    slots: tuple[Slot, ...]
    span: Span = span_field()


@dataclass(frozen=True, slots=True)
class Apply:
    """A definition of the operator (`let` with indices, `where`, `def`), applied."""

    name: str
    arguments: tuple[Expr, ...]
    span: Span = span_field()


@dataclass(frozen=True, slots=True)
class Earlier:
    """An element of the `let` that is being defined, which comes before the one at hand."""

    name: str
    arguments: tuple[Expr, ...]
    span: Span = span_field()


@dataclass(frozen=True, slots=True)
class Function:
    """A scalar function of `cvmgen.functions`, applied."""

    name: str
    arguments: tuple[Expr, ...]
    span: Span = span_field()


@dataclass(frozen=True, slots=True)
class Precision:
    """`p(X)`: the precision of an input tensor."""

    tensor: str
    which: Expr | None
    span: Span = span_field()


@dataclass(frozen=True, slots=True)
class Present:
    """`present(B)`: whether the caller gave an optional input or attribute."""

    name: str
    span: Span = span_field()


@dataclass(frozen=True, slots=True)
class Limit:
    """`least(T)` or `greatest(T)`: the end of an element type; with the end "type" that itself, as
    comparisons of two types have it."""

    end: str
    type_name: str
    span: Span = span_field()


@dataclass(frozen=True, slots=True)
class IsWord:
    """`mode == "ALL"`: whether the attribute `name` was given this word."""

    name: str
    word: str
    span: Span = span_field()


@dataclass(frozen=True, slots=True)
class ShapeOf:
    """The extents of a tensor as a list (made by the checker, not written)."""

    tensor: str
    which: Expr | None
    span: Span = span_field()


Role = str  # const | extent | count | attribute | real | reals | let | index | pack | parameter
Raw = Name | Bracket | Call
Expr = (
    Number
    | Real
    | Truth
    | Word
    | Arithmetic
    | Negate
    | Compare
    | Logic
    | Not
    | Conditional
    | Refuse
    | Contains
    | TupleOf
    | Listing
    | SetOf
    | Reduction
    | Sorted
    | Name
    | Bracket
    | Call
    | Ref
    | Item
    | Part
    | Access
    | Apply
    | Earlier
    | Function
    | Precision
    | Present
    | Limit
    | IsWord
    | ShapeOf
)

REDUCTIONS = ("sum", "max", "min", "prod", "any", "all", "count")
SELECTIONS = ("select", "sort")


# ---------------------------------------------------------------- slots and binders


@dataclass(frozen=True, slots=True)
class Slot:
    """One place of an index list: a scalar, or with `pack` a list of them."""

    value: Expr
    pack: bool
    span: Span = span_field()


@dataclass(frozen=True, slots=True)
class PartSlot:
    """`[:a]` or `[a:]`, as parsed."""

    low: Expr | None
    high: Expr | None
    span: Span = span_field()


@dataclass(frozen=True, slots=True)
class Below:
    """`target < high` or `low <= target < high`, as parsed."""

    target: Expr
    low: Expr | None
    high: Expr
    span: Span = span_field()


@dataclass(frozen=True, slots=True)
class PackBelow:
    """`d... < n...`, as parsed."""

    target: Expr
    high: Expr
    span: Span = span_field()


@dataclass(frozen=True, slots=True)
class Member:
    """`q in U`."""

    target: Expr
    collection: Expr
    span: Span = span_field()


@dataclass(frozen=True, slots=True)
class IndexRange:
    """index runs over low <= index < high."""

    index: str
    low: Expr
    high: Expr
    span: Span = span_field()


@dataclass(frozen=True, slots=True)
class IndexMember:
    """index runs over the elements of a list or set, in order."""

    index: str
    collection: Expr
    span: Span = span_field()


@dataclass(frozen=True, slots=True)
class PackRange:
    """The multi-index `pack` runs over the box `extents`, the last dimension fastest.

    `slots` says which entries of the pack are bound (a list or set, in the order of
    `extents`); None means all of them.
    """

    pack: str
    extents: Expr
    slots: Expr | None
    span: Span = span_field()


Binder = Below | PackBelow | Member | IndexRange | IndexMember | PackRange


@dataclass(frozen=True, slots=True)
class Binders:
    """What a reduction, a listing or an equation runs over, outermost first, and its filter.

    `over` is the `for j in R` of `d[j] < n[j] for j in R`; the checker resolves it away.
    """

    items: tuple[Binder, ...]
    over: Binder | None
    condition: Expr | None
    span: Span = span_field()


# ---------------------------------------------------------------- values of examples


@dataclass(frozen=True, slots=True)
class ArrayValue:
    elements: tuple[ExampleValue, ...]
    span: Span = span_field()


ExampleValue = ArrayValue | Expr


def bound_by(binder: Binder) -> str:
    """The index or the multi-index of a checked binder."""
    match binder:
        case IndexRange(index=name) | IndexMember(index=name) | PackRange(pack=name):
            return name
        case _:
            raise AssertionError(f"{type(binder).__name__} is not checked")


def is_box(domain: Binders) -> bool:
    """Whether what is run over is one box, each index from 0 on."""
    return bool(domain.items) and all(
        (isinstance(each, IndexRange) and each.low == Number(0, each.span))
        or (isinstance(each, PackRange) and each.slots is None)
        for each in domain.items
    )


def bound_inside(node: object) -> Iterator[str]:
    """The names that a part of a checked formula binds itself."""
    checked = (IndexRange, IndexMember, PackRange)
    return (bound_by(each) for each in walk(node) if isinstance(each, checked))
