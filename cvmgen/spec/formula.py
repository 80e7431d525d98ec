"""The checked operator: every name resolved, every kind known. All later stages start here."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from cvmgen.source import Span
from cvmgen.spec.nodes import Binders, ExampleValue, Expr, Slot


@dataclass(frozen=True, slots=True)
class Kind:
    """What an expression stands for: int, bool, set, selected, or a list of something.

    A selected list is as long as the data say; the others are short: shapes, indices, axes.
    """

    name: str
    element: Kind | None = None

    def __str__(self) -> str:
        match self.name:
            case "int":
                return "an integer"
            case "bool":
                return "a condition"
            case "set":
                return "a set"
            case "selected":
                return "a selected list"
            case _:
                return "a list" if self.element == INT else "a list of lists"


INT = Kind("int")
BOOL = Kind("bool")
SET = Kind("set")
SELECTED = Kind("selected")
LIST = Kind("list", INT)
LISTS = Kind("list", LIST)


@dataclass(frozen=True, slots=True)
class Extent:
    """A slot of an input's shape: a name it binds (`new`), or a value it must equal."""

    value: Expr
    pack: bool
    new: str | None
    span: Span = field(compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Input:
    """An input tensor; a variadic one has `index` and `count`, the names in `each i < M`.

    One that may be `empty` has extents of 0 or more, and any rank down to 0.
    """

    name: str
    dtype: str
    extents: tuple[Extent, ...]
    empty: bool
    optional: bool
    index: str | None
    count: str | None
    span: Span = field(compare=False, repr=False)

    @property
    def variadic(self) -> bool:
        return self.index is not None


@dataclass(frozen=True, slots=True)
class Attribute:
    """An attribute; `components` are the names of the entries of a fixed-length one."""

    name: str
    components: tuple[str, ...]
    kind: str  # int or bool
    is_list: bool
    optional: bool
    default: Expr | None
    low: Expr | None  # inclusive
    high: Expr | None  # exclusive
    interval_text: str  # as the spec writes it; empty where it declares no range
    range_text: str  # as a refusal shows it: numbers for inf and for constants
    span: Span = field(compare=False, repr=False)

    @property
    def required(self) -> bool:
        return self.default is None and not self.optional


@dataclass(frozen=True, slots=True)
class Let:
    """A named value of the operator, computed once for a call."""

    name: str
    value: Expr
    kind: Kind
    span: Span = field(compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Definition:
    """A formula with parameters: a `let` with indices, a `where` or a `def`.

    Of a selected list, `ranges` are the extents of its parameters and `capacity` is the most
    entries that it can have, both by shapes and attributes alone.
    """

    name: str
    parameters: tuple[tuple[str, Kind], ...]
    body: Expr
    kind: Kind
    span: Span = field(compare=False, repr=False)
    ranges: tuple[Expr, ...] = ()
    capacity: Expr | None = None


@dataclass(frozen=True, slots=True)
class Require:
    condition: Expr
    message: str
    span: Span = field(compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Output:
    """An output; one that may be `empty` has extents of 0 or more."""

    name: str
    dtype: str
    slots: tuple[Slot, ...]
    empty: bool
    precision: Expr | None
    span: Span = field(compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Equation:
    """`tensor[slots] = value` for every point of `domain`.

    In gather form each slot is an index of the domain and the ranges are the output's
    extents, so every element is written once by construction; in scatter form
    (`gather` false) the slots are expressions.
    """

    tensor: str
    slots: tuple[Slot, ...]
    domain: Binders
    gather: bool
    value: Expr
    where: tuple[Definition, ...]
    span: Span = field(compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Case:
    """Items that hold when the condition does; of the cases of one operator exactly one."""

    condition: Expr
    items: tuple[Item, ...]
    span: Span = field(compare=False, repr=False)


Item = Input | Attribute | Let | Definition | Require | Output | Equation | Case


@dataclass(frozen=True, slots=True)
class Example:
    """Given values by name of input or attribute, and the value of the first output."""

    given: tuple[tuple[str, ExampleValue], ...]
    result: ExampleValue
    span: Span = field(compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Operator:
    """A checked operator: its items in the order of the text.

    `although` is the reason for which a precision rule below the exact bound stands.
    """

    opset: str
    name: str
    doc: str
    aliases: tuple[str, ...]
    items: tuple[Item, ...]
    examples: tuple[Example, ...]
    although: str
    holes: tuple[tuple[str, str], ...]
    text: str
    span: Span = field(compare=False, repr=False)

    def quote(self, span: Span) -> str:
        """A piece of the formula on one line, without comments, a family's holes filled."""
        lines = (line.split("#", 1)[0] for line in span.text.splitlines())
        text = " ".join(" ".join(lines).split())
        for hole, actual in self.holes:
            if actual.isidentifier():
                text = re.sub(rf"\b{hole}\b", actual, text)
        return text

    def rule(self, output: Output) -> str:
        """The precision rule of an output as a refusal names it."""
        if output.precision is None or output.precision.span == output.span:
            return "derived from the formula"
        return self.quote(output.precision.span)

    @property
    def full_name(self) -> str:
        return f"{self.opset}.{self.name}"

    @property
    def inputs(self) -> tuple[Input, ...]:
        return tuple(item for item in self.items if isinstance(item, Input))

    @property
    def attributes(self) -> tuple[Attribute, ...]:
        return tuple(item for item in self.items if isinstance(item, Attribute))

    @property
    def output_names(self) -> tuple[str, ...]:
        """The names of the outputs, each once though several cases may declare it."""
        outputs = [item for item in all_items(self.items) if isinstance(item, Output)]
        return tuple(dict.fromkeys(output.name for output in outputs))

    @property
    def empty_tensors(self) -> frozenset[str]:
        """The inputs and outputs that may have no elements."""
        inputs = {item.name for item in self.inputs if item.empty}
        outputs = (item for item in all_items(self.items) if isinstance(item, Output))
        return frozenset(inputs | {item.name for item in outputs if item.empty})

    @property
    def extents_down_to_0(self) -> frozenset[str]:
        """The names of extents, and of lists of them, that may be 0."""
        extents = (each for item in self.inputs if item.empty for each in item.extents)
        return frozenset(each.new for each in extents if each.new)

    @property
    def cases(self) -> tuple[Case, ...]:
        return tuple(item for item in self.items if isinstance(item, Case))

    def definition(self, name: str) -> Definition:
        found = (
            item
            for item in all_items(self.items)
            if isinstance(item, Definition) and item.name == name
        )
        return next(found)


def all_items(items: tuple[Item, ...]) -> Iterator[Item]:
    """The items and those inside cases, in the order of the text."""
    for item in items:
        yield item
        if isinstance(item, Case):
            yield from all_items(item.items)
