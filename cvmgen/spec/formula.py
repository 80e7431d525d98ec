"""The checked operator: every name resolved, every kind known. All later stages start here."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from cvmgen.dtypes import CVM, DTYPES, DType
from cvmgen.functions import REAL_FUNCTIONS
from cvmgen.source import Span
from cvmgen.spec import nodes as n
from cvmgen.spec.nodes import Binders, ExampleValue, Expr, Slot


@dataclass(frozen=True, slots=True)
class Kind:
    """What an expression stands for: int, real, bool, word, set, selected, or a list of something.

    A selected list is as long as the data say; the others are short: shapes, indices, axes.
    """

    name: str
    element: Kind | None = None

    def __str__(self) -> str:
        match self.name:
            case "int":
                return "an integer"
            case "real":
                return "a real number"
            case "bool":
                return "a condition"
            case "word":
                return "a word"
            case "set":
                return "a set"
            case "selected":
                return "a selected list"
            case _ if self.element == REAL:
                return "a list of real numbers"
            case _:
                return "a list" if self.element == INT else "a list of lists"


INT = Kind("int")
REAL = Kind("real")
BOOL = Kind("bool")
WORD = Kind("word")
SET = Kind("set")
SELECTED = Kind("selected")
LIST = Kind("list", INT)
LISTS = Kind("list", LIST)
REAL_LIST = Kind("list", REAL)
LOCAL = ("index", "pack", "parameter")  # roles of names that are bound inside a formula
ELEMENT_KINDS = {kind.name: kind for kind in (INT, REAL, BOOL)}


def element_kind(dtype: DType | None) -> Kind:
    """What the elements of a storage type are; of `cvm` (None) integers."""
    return INT if dtype is None else ELEMENT_KINDS[dtype.kind]


@dataclass(frozen=True, slots=True)
class TypeTable:
    """The element types that an operator is made for: a row for each choice of its parameters."""

    names: tuple[str, ...] = ()
    rows: tuple[tuple[DType, ...], ...] = ((),)

    def dtype(self, name: str, row: int = 0) -> DType | None:
        """The storage type that a type of the formula stands for; None for `cvm`."""
        if name == CVM:
            return None
        if name in self.names:
            return self.rows[row][self.names.index(name)]
        return DTYPES[name]


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

    One that may be `empty` has extents of 0 or more, and any rank down to 0; so one of no
    dimensions is among them.
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
    """An attribute; `components` are the names of the entries of a fixed-length one.

    Of an attribute with words, a call gives one of them, or (of kind int) numbers in their place:
    with a word an integer is 0, entries are 0, and a list is empty.
    """

    name: str
    components: tuple[str, ...]
    kind: str  # int, real, bool or word
    is_list: bool
    optional: bool
    default: Expr | None
    low: Expr | None  # inclusive
    high: Expr | None  # exclusive
    interval_text: str  # as the spec writes it; empty where it declares no range
    range_text: str  # as a refusal shows it: numbers for inf and for constants
    words: tuple[str, ...]
    span: Span = field(compare=False, repr=False)
    inside: n.Compare | None = None  # the range of a real one
    decides: str = ""  # the type parameter that its word stands for

    @property
    def required(self) -> bool:
        return self.default is None and not self.optional

    @property
    def word_name(self) -> str:
        """The name of the value that tells which word was given."""
        return self.name if self.kind == "word" else f"{self.name}_word"

    @property
    def numbers_or_word(self) -> bool:
        """Whether a call may give numbers or a word."""
        return bool(self.words) and self.kind != "word"

    @property
    def is_listed(self) -> bool:
        """Whether its value is a list, of which its own name stands for the whole."""
        return self.is_list or bool(self.components)

    @property
    def number_name(self) -> str:
        """The name that stands for each number of it in its range `inside`."""
        return self.components[0] if self.components else self.name

    @property
    def bound_names(self) -> tuple[str, ...]:
        """The names that the attribute gives a value: its own, its entries, its word."""
        word = (self.word_name,) if self.numbers_or_word else ()
        return (self.name, *self.components, *word)


def typed_by(item: Input | Attribute) -> str:
    """The type that an input has, or that an attribute decides; empty where it decides none."""
    return item.decides if isinstance(item, Attribute) else item.dtype


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

    `ranges` are the extents of the parameters of a `let`, by shapes and attributes alone; None
    where they are not known, and of what is no `let`. Of a selected list `capacity` is the most
    entries that it can have. Of a recurrence `axis` is the parameter along which it reads its own
    elements, for all values of the others `apart` or not.
    """

    name: str
    parameters: tuple[tuple[str, Kind], ...]
    body: Expr
    kind: Kind
    span: Span = field(compare=False, repr=False)
    ranges: tuple[Expr, ...] | None = None
    capacity: Expr | None = None
    axis: int | None = None
    apart: bool = True


@dataclass(frozen=True, slots=True)
class Require:
    condition: Expr
    message: str
    span: Span = field(compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Demand:
    """A requirement on elements: the condition holds for every point of `domain`, or the call is
    refused by the first one where it does not.

    The refusal names `tensor` and, where `placed`, the first point. Where `first`, the condition
    speaks of no `let`, and is tested before anything is computed.
    """

    condition: Expr
    domain: Binders
    tensor: str
    message: str
    placed: bool
    first: bool
    span: Span = field(compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Output:
    """An output; one that may be `empty` has extents of 0 or more, and any rank down to 0."""

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


Item = Input | Attribute | Let | Definition | Require | Demand | Output | Equation | Case


def host_expressions(item: Item) -> tuple[Expr, ...]:
    """What an item computes before any element: the values that it speaks of explain a refusal."""
    match item:
        case Let(value=value):
            return (value,)
        case Require(condition=condition) | Case(condition=condition):
            return (condition,)
        case Attribute(low=low, high=high):
            return tuple(each for each in (low, high) if each is not None)
        case Output(slots=slots, precision=precision):
            extents = tuple(slot.value for slot in slots)
            return extents if precision is None else (*extents, precision)
        case _:
            return ()


@dataclass(frozen=True, slots=True)
class Example:
    """Given values by name of input or attribute, and the value of the first output."""

    given: tuple[tuple[str, ExampleValue], ...]
    result: ExampleValue
    span: Span = field(compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Operator:
    """A checked operator: its items in the order of the text.

    `although` is the reason for which a precision rule below the exact bound stands. `blocks` are
    what it is made of, by what generated code calls them: its family's block, its own, each `def`.
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
    types: TypeTable = field(default_factory=TypeTable)
    has_reals: bool = False  # whether real numbers can stand anywhere in the formula
    span: Span = field(compare=False, repr=False, kw_only=True)
    blocks: tuple[tuple[str, Span], ...] = field(compare=False, repr=False, kw_only=True)

    def place(self, span: Span) -> str:
        """Where a piece of the formula stands, as generated code quotes it: `dense line 8`, or
        `family broadcast line 10`. A block is the same wherever it stands in its file."""
        for title, block in self.blocks:
            if block.holds(span):
                return f"{title} line {span.line - block.line + 1}"
        return span.source.name

    @property
    def files(self) -> str:
        """The file that it stands in, and that of its family."""
        names = (span.source.name for title, span in self.blocks if not title.startswith("def "))
        return ", ".join(dict.fromkeys((self.span.source.name, *names)))

    def quote(self, span: Span) -> str:
        """A piece of the formula on one line, without comments, a family's holes filled."""
        text = span.code
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
    def deciding(self) -> tuple[Attribute, ...]:
        """The attributes that decide a type parameter."""
        return tuple(item for item in self.attributes if item.decides)

    @property
    def real_attributes(self) -> frozenset[str]:
        """The names of attributes that are real numbers, of lists of them, and of their entries."""
        reals = (item for item in self.attributes if item.kind == "real")
        return frozenset(name for item in reals for name in item.bound_names)

    @property
    def output_names(self) -> tuple[str, ...]:
        """The names of the outputs, each once though several cases may declare it."""
        outputs = [item for item in all_items(self.items) if isinstance(item, Output)]
        return tuple(dict.fromkeys(output.name for output in outputs))

    @property
    def type_of(self) -> dict[str, str]:
        """The type of each operand as the formula names it: `cvm`, a storage type, a parameter; and
        the parameter that an attribute decides."""
        found = {item.name: item.dtype for item in self.inputs}
        found |= {item.name: item.decides for item in self.deciding}
        outputs = (item for item in all_items(self.items) if isinstance(item, Output))
        return found | {item.name: item.dtype for item in outputs}

    def operand_of(self, type_name: str) -> str:
        """The first operand, or attribute, that tells what a type parameter stands for."""
        return next(name for name, kind in self.type_of.items() if kind == type_name)

    @property
    def precise_outputs(self) -> tuple[str, ...]:
        """The outputs of type `cvm`, which have a precision."""
        return tuple(name for name in self.output_names if self.type_of[name] == CVM)

    @property
    def choices(self) -> tuple[dict[str, DType], ...]:
        """For each row of the table the storage type of each operand but those of type `cvm`."""
        rows = []
        for number in range(len(self.types.rows)):
            found = {name: self.types.dtype(kind, number) for name, kind in self.type_of.items()}
            rows.append({name: dtype for name, dtype in found.items() if dtype is not None})
        return tuple(rows)

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


# ---------------------------------------------------------------- what an expression speaks of


def is_condition(expr: n.Expr) -> bool:
    """Whether an expression is visibly true or false."""
    match expr:
        case n.Compare() | n.Logic() | n.Not() | n.Contains() | n.Present() | n.IsWord():
            return True
        case n.Truth() | n.Reduction(function="any" | "all"):
            return True
        case _:
            return False


def makes_real(node: object) -> bool:
    """Whether a node is a real number, or a function that takes or gives one."""
    match node:
        case n.Function(name=name):
            return name in REAL_FUNCTIONS
        case n.Ref(role=role):
            return role == "real"
        case n.Item(sequence=n.Ref(role=role)):
            return role == "reals"
        case _:
            return isinstance(node, (n.Real, n.Limit))


def compares_attributes(condition: n.Expr) -> bool:
    """Whether all real numbers of a condition are attributes, or written out, that it compares."""
    nodes = tuple(n.walk(condition))
    operands = [each for node in nodes if isinstance(node, n.Compare) for each in node.operands]
    compared = {id(e.operand) if isinstance(e, n.Negate) else id(e) for e in operands}
    reals = [each for each in nodes if makes_real(each)]
    plain = all(
        isinstance(each, n.Ref | n.Real | n.Item) and id(each) in compared for each in reals
    )
    return bool(reals) and plain and not any(isinstance(each, n.Apply | n.Access) for each in nodes)


def speaks_of_reals(expr: object) -> bool:
    """Whether an expression computes with real numbers that are no integers."""
    return any(map(makes_real, n.walk(expr)))


def is_host_value(expr: n.Expr) -> bool:
    """Whether the host may compute an expression: it reads no element and no index around it."""
    parts = tuple(n.walk(expr))
    own = {each.index for each in parts if isinstance(each, (n.IndexRange, n.IndexMember))}
    for each in parts:
        match each:
            case n.Access() | n.Apply() | n.Earlier():
                return False
            case n.Ref(name=name, role="index" | "pack" | "parameter") if name not in own:
                return False
            case _:
                pass
    return True
