"""The host part of a call once it is lowered: checks of operands, refusals, what is kept of a call.

Beside these nodes it consists of those of `ir/nodes.py` that compute, choose and count.
"""

from __future__ import annotations

from dataclasses import dataclass

from cvmgen.ir import nodes as i

ARGUMENTS: i.Expr = i.Call("arguments", ())  # what the call is given; its members are operands
PLAN: i.Expr = i.Call("plan", ())  # what is kept of the call
NULL: i.Expr = i.Call("null", ())  # no place in memory
OURS = "@"  # names that no formula can write begin with it
NOTED = f"{OURS}overflow"  # where the least place is noted of a value that does not fit
CASE = f"{OURS}which_case"  # the number of the case that holds


@dataclass(frozen=True, slots=True)
class ShownValue:
    """A value in the text of a refusal; `kind`: int, bool, list, lists (of several tensors),
    precision, or far_precision, of which it is not told how large it would be."""

    value: i.Expr
    kind: str


@dataclass(frozen=True, slots=True)
class ShownWord:
    """A word of an attribute, `code` of `words`; where it has none, the `numbers`."""

    value: i.Expr
    code: str
    words: tuple[str, ...]
    numbers: ShownValue | None


@dataclass(frozen=True, slots=True)
class NamedTerm:
    """`name = value`, if there is a value, which `given` says; a comma stands between terms."""

    name: str
    shown: ShownValue | ShownWord
    given: i.Expr | None


Piece = str | ShownValue | ShownWord | NamedTerm
Text = tuple[Piece, ...]


@dataclass(frozen=True, slots=True)
class Helper:
    """A function or a constant of the run time by name."""

    name: str


@dataclass(frozen=True, slots=True)
class AllowedWords:
    """The words that an attribute can be given."""

    words: tuple[str, ...]


CheckArgument = i.Expr | Helper | AllowedWords | Text | str | None


@dataclass(frozen=True, slots=True)
class Check(i.HostStmt):
    """A function of the run time refuses the call unless an operand is right; `gives` are names for
    what it makes of it."""

    function: str
    operand: str
    arguments: tuple[CheckArgument, ...]
    gives: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Refuse(i.HostStmt):
    """The call ends: what is `shown` of the operand is against the `rule`."""

    operand: str
    shown: Text
    rule: Text


@dataclass(frozen=True, slots=True)
class Unpack(i.HostStmt):
    """A name for each entry of a list."""

    names: tuple[str, ...]
    value: i.Expr


@dataclass(frozen=True, slots=True)
class FillPlan(i.HostStmt):
    """The values that the rest of the call reads become members of its plan."""

    members: tuple[tuple[str, i.Expr], ...]
