"""Programs: a lowered operator as the host part and its nests."""

from __future__ import annotations

from dataclasses import dataclass

from cvmgen.ir.nodes.expressions import Expr, span_field
from cvmgen.ir.nodes.statements import Stmt
from cvmgen.source import Span
from cvmgen.spec.formula import Operator


@dataclass(frozen=True, slots=True)
class Guarded:
    """What the host must not start before a nest found that nothing is wrong with a call: that
    nothing is read outside, or, with a `rule`, that the rule holds of elements of `tensor`.

    The nest leaves the least position of an element of `tensor` that would read outside, for each
    tensor of a variadic input, or MAX_SIZE. The host has the extents of what it goes through under
    the name `shape`; without one it leaves 0 for any element.
    """

    tensor: str
    shape: str | None
    rule: str = ""


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
    span: Span = span_field()
    more: tuple[str, ...] = ()  # other lines of the formula that it computes, with their places
    guarded: Guarded | None = None  # what it tests, if it computes nothing else


@dataclass(frozen=True, slots=True)
class FilledPart:
    """Of memory the elements of which the last index is below an end, which is over the names of
    the other `indices`: the others hold nothing, and are not read."""

    indices: tuple[str, ...]
    end: Expr


@dataclass(frozen=True, slots=True)
class Scratch:
    """Memory that the nests of a call share: of int64 for a selected list and what goes with it,
    or for the elements of a `let`.

    The host keeps its size as `<name>_size`. `owner` is the list or the `let`: its nest alone
    writes here. Of a `let`, `kind` says what the elements are: `int` or `real`, and `why` for what
    it is memory. Their machine type follows from what is stored; to whole arrays an integer that
    may need more than 64 bits is an `object`.
    """

    name: str
    owner: str
    shape: tuple[Expr, ...]
    case: int | None
    kind: str = ""
    why: str = ""
    axis: int | None = None  # of a recurrence: along which index it reads its own elements
    apart: bool = True  # whether it does so for all values of the other indices apart
    adds_up: bool = False  # whether each step adds no more than the first one does
    filled: FilledPart | None = None  # what of it is filled, where that is not all
    in_turn: bool = False  # whether what is stored last to an element, of several, is kept
    partial: bool = False  # whether elements add up to one sum of what a nest sums in parts

    @property
    def size(self) -> str:
        return f"{self.name}_size"

    @property
    def is_spare(self) -> bool:
        """Whether it is what sorting the list merges runs in."""
        return self.name == spare_name(self.owner)


def spare_name(name: str) -> str:
    """The memory in which a list `name` is sorted."""
    return f"{name}_spare"


@dataclass(frozen=True, slots=True)
class Program:
    """A lowered operator: `prepare` checks, infers and computes what the nests need."""

    operator: Operator
    prepare: tuple[Stmt, ...]
    nests: tuple[Nest, ...]
    scratch: tuple[Scratch, ...] = ()
    moved: tuple[str, ...] | None = None  # inputs that are only moved; None: nests show it

    @property
    def lets(self) -> dict[str, Scratch]:
        """The memory of lets by name."""
        return {each.name: each for each in self.scratch if each.kind}

    def lists_of(self, tensor: str) -> tuple[Scratch, ...]:
        """The memory that belongs to a selected list; empty for an output and for a `let`."""
        return tuple(each for each in self.scratch_of(tensor) if not each.kind)

    def scratch_of(self, tensor: str) -> tuple[Scratch, ...]:
        """The memory that belongs to a selected list or a `let`; empty for an output."""
        return tuple(each for each in self.scratch if each.owner == tensor)

    def quoted(self, nest: Nest) -> str:
        """The formula of a nest and where it stands, as generated code says it."""
        return f"{self.operator.place(nest.span)}: {nest.formula}"
