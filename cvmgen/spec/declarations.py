"""The declarations of a spec as parsed: what `parse` makes and the checkers take apart."""

from __future__ import annotations

from dataclasses import dataclass, field

from cvmgen.source import Span
from cvmgen.spec.nodes import (
    Binder,
    Binders,
    ExampleValue,
    Expr,
    Name,
    PartSlot,
    Slot,
    Word,
    span_field,
)


@dataclass(frozen=True, slots=True)
class Parameter:
    name: str
    pack: bool
    span: Span = span_field()


@dataclass(frozen=True, slots=True)
class Import:
    """`import clip, bits from common`: names that are declared in another folder."""

    names: tuple[Name, ...]
    place: Name
    span: Span = span_field()


@dataclass(frozen=True, slots=True)
class Const:
    name: str
    value: Expr
    name_span: Span = span_field()
    span: Span = span_field()


@dataclass(frozen=True, slots=True)
class Definition:
    """`def name(parameters) = body`, or a `where` definition."""

    name: str
    parameters: tuple[Parameter, ...]
    body: Expr
    name_span: Span = span_field()
    span: Span = span_field()


@dataclass(frozen=True, slots=True)
class TypeChoice:
    """`type T in int8, int32`, or with several names `type A, B in (int8, int32), ...`."""

    names: tuple[Name, ...]
    rows: tuple[tuple[Name, ...], ...]
    span: Span = span_field()


@dataclass(frozen=True, slots=True)
class OperandDecl:
    """`input X : cvm[n...]` or `output Y : cvm[n...] precision p(X)`.

    With `empty`, by the words `or empty`, extents may be 0.
    """

    output: bool
    place: Expr
    type_name: str
    slots: tuple[Slot | PartSlot, ...]
    empty: bool
    optional: bool
    each: Binder | None
    precision: Expr | None
    type_span: Span = span_field()
    span: Span = span_field()


@dataclass(frozen=True, slots=True)
class AttributeDecl:
    name: str
    components: tuple[Name, ...]
    type_name: str
    is_list: bool
    optional: bool
    default: Expr | None
    interval: IntervalDecl | None
    words: tuple[Word, ...]
    column: Name | None  # the type parameter that it decides
    name_span: Span = span_field()
    type_span: Span = span_field()
    span: Span = span_field()


@dataclass(frozen=True, slots=True)
class IntervalDecl:
    """A declared range; `low` belongs to it unless low_open, `high` unless high_open."""

    low: Expr
    low_open: bool
    high: Expr
    high_open: bool
    span: Span = span_field()


@dataclass(frozen=True, slots=True)
class LetDecl:
    name: str
    parameters: tuple[Parameter, ...] | None
    value: Expr
    name_span: Span = span_field()
    span: Span = span_field()


@dataclass(frozen=True, slots=True)
class RequireDecl:
    condition: Expr
    binders: Binders | None
    message: str
    span: Span = span_field()


@dataclass(frozen=True, slots=True)
class AliasDecl:
    names: tuple[Name, ...]
    span: Span = span_field()


@dataclass(frozen=True, slots=True)
class AlthoughDecl:
    """`although "reason"`: why a precision rule below the exact bound stands."""

    reason: str
    span: Span = span_field()


@dataclass(frozen=True, slots=True)
class ExampleDecl:
    """`example op(inputs and attributes) == value`."""

    operator: str
    given: tuple[tuple[Name | None, ExampleValue], ...]
    result: ExampleValue
    name_span: Span = span_field()
    span: Span = span_field()


@dataclass(frozen=True, slots=True)
class EquationDecl:
    target: Expr
    value: Expr
    binders: Binders | None
    where: tuple[Definition, ...]
    span: Span = span_field()


@dataclass(frozen=True, slots=True)
class CaseDecl:
    condition: Expr
    block: BlockDecl
    span: Span = span_field()


@dataclass(frozen=True, slots=True)
class WithinDecl:
    binders: Binders
    block: BlockDecl
    span: Span = span_field()


ItemDecl = (
    TypeChoice
    | OperandDecl
    | AttributeDecl
    | LetDecl
    | RequireDecl
    | AliasDecl
    | AlthoughDecl
    | ExampleDecl
    | EquationDecl
    | CaseDecl
    | WithinDecl
)


@dataclass(frozen=True, slots=True)
class BlockDecl:
    doc: str
    items: tuple[ItemDecl, ...]
    span: Span = span_field()


@dataclass(frozen=True, slots=True)
class FamilyBase:
    """`pairs(OP, sum, 1)`: the family that another one is made of, and what fills its holes."""

    family: str
    actuals: tuple[Expr | Sign, ...]
    family_span: Span = span_field()
    span: Span = span_field()


@dataclass(frozen=True, slots=True)
class FamilyDecl:
    """A family; one that is made of a `base` adds the items of its block to those of that."""

    name: str
    parameters: tuple[Name, ...]
    block: BlockDecl
    base: FamilyBase | None
    name_span: Span = span_field()
    span: Span = span_field()


@dataclass(frozen=True, slots=True)
class OperatorDecl:
    """An operator; of a family's instance also what fills the holes, and the family's text.

    `blocks` are the pieces of the text by what generated code calls them.
    """

    name: str
    block: BlockDecl
    holes: tuple[tuple[str, str], ...]
    text: str
    blocks: tuple[tuple[str, Span], ...] = field(compare=False, repr=False)
    name_span: Span = span_field()
    span: Span = span_field()


@dataclass(frozen=True, slots=True)
class InstanceDecl:
    """`operator name = family(actuals) { doc, examples, aliases }`."""

    name: str
    family: str
    actuals: tuple[Expr | Sign, ...]
    block: BlockDecl | None
    name_span: Span = span_field()
    family_span: Span = span_field()
    span: Span = span_field()


@dataclass(frozen=True, slots=True)
class Sign:
    """An arithmetic sign given to a family, as in `broadcast(+)`."""

    text: str
    span: Span = span_field()


Declaration = Const | Definition | FamilyDecl | OperatorDecl | InstanceDecl
TopLevel = Declaration | Import
