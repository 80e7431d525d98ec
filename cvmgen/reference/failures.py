"""Why a formula has no value: the error, what it is about, and limits on the work."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from cvmgen.source import Span
from cvmgen.spec import nodes as n

# Names of the formula; "$tensor X" holds tensor X, "$out Y" an output's shape, "$given B" whether B
# was given, "$word m" the word that attribute m was given (None: numbers, or nothing), "$call"
# the definition being applied: (Apply node, Definition, the one around it), "$lists" the
# selected lists that the call has made so far, "$point" the parts of an equation that are known at
# the point which is computed.
Env = dict[str, Any]
POINT = "$point"


class FormulaError(Exception):
    """The formula has no value here: an index leaves its tensor, a division by 0, ..."""

    def __init__(
        self,
        span: Span,
        message: str,
        env: Env,
        about: tuple[n.Expr, ...] = (),
        hint: str = "",
        advice: str = "",
    ) -> None:
        self.span = span
        self.message = message
        self.values = dict(env)
        self.about = about  # the expressions whose values make it so
        self.hint = hint
        self.advice = advice  # what could be written instead, behind the hint
        super().__init__(message)


class OutsideAccess(FormulaError):
    """Something is read, or written, that is not there: an element, an entry, an operand."""


class WorkLimit(Exception):
    """An evaluation took more steps than it was allowed."""


@dataclass(slots=True)
class Budget:
    """How many points of ranges an evaluation may still visit."""

    left: int

    def spend(self, points: int) -> None:
        self.left -= max(points, 0)
        if self.left < 0:
            raise WorkLimit


def absent(name: str, span: Span, env: Env) -> OutsideAccess:
    """The error for reading an optional input or attribute that was not given."""
    message = f"'{name}' is read though it may be left away"
    return OutsideAccess(span, message, env, (), f"write: ... if present({name}) else ...")


def slot_values(slots: tuple[n.Slot, ...]) -> tuple[n.Expr, ...]:
    return tuple(slot.value for slot in slots)


def about_binders(binders: n.Binders) -> tuple[n.Expr, ...]:
    """The expressions that decide what a reduction or an equation runs over."""
    found = []
    for binder in binders.items:
        match binder:
            case n.IndexRange(low=low, high=high):
                found += [low, high]
            case n.IndexMember(collection=collection):
                found.append(collection)
            case n.PackRange(extents=extents):
                found.append(extents)
            case _:
                pass
    if binders.condition is not None:
        found.append(binders.condition)
    return tuple(found)


def entries_text(count: int) -> str:
    return f"{count} entr{'y' if count == 1 else 'ies'}"
