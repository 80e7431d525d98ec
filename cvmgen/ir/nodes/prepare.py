"""Statements of the host alone: it checks the arguments of a call and infers its results."""

from __future__ import annotations

from dataclasses import dataclass

from cvmgen.ir.nodes.expressions import Expr, span_field
from cvmgen.source import Span
from cvmgen.spec.formula import Attribute, Input


@dataclass(frozen=True, slots=True)
class Require:
    """Refuse the call unless the condition holds; `terms` are the values to show."""

    condition: Expr
    rule: str
    terms: tuple[tuple[str, Expr, str], ...]  # name, value, kind
    span: Span = span_field()


@dataclass(frozen=True, slots=True)
class TakeInput:
    """Check the shape of an input and bind its extents; `known` are those it must equal."""

    input: Input
    known: tuple[Expr | None, ...]
    span: Span = span_field()


@dataclass(frozen=True, slots=True)
class TakeAttribute:
    """Check the range of an attribute and bind it (and its components); a real one is `inside`."""

    attribute: Attribute
    default: Expr | None
    low: Expr | None
    high: Expr | None
    terms: tuple[tuple[str, Expr, str], ...]
    inside: Expr | None
    span: Span = span_field()


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
    span: Span = span_field()


@dataclass(frozen=True, slots=True)
class Merge:
    """Join neighbouring dimensions of a box that every one of `steps` walks alike.

    If they are to be `sorted`, those that the first list of steps walks fastest come last.
    """

    extents: str
    steps: tuple[str, ...]
    sorted: bool
    span: Span = span_field()
