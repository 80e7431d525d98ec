"""Cases of a proof: conditions of which one holds, at least."""

from __future__ import annotations

from dataclasses import dataclass, field

from cvmgen.ir import nodes as i
from cvmgen.ir.visit import walk
from cvmgen.polynomials import Poly


@dataclass(frozen=True, slots=True)
class Case:
    """Conditions of a case, and the value that an atom has in it."""

    conditions: tuple[i.Expr, ...]
    number: int | None = None
    value: Poly = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Cases:
    """One of these holds, at least; `alternatives` are what says so, if that was assumed."""

    cases: tuple[Case, ...]
    alternatives: tuple[i.Expr, ...] = ()


def wins(name: str, each: i.Expr, arguments: tuple[i.Expr, ...]) -> tuple[i.Expr, ...]:
    """The conditions under which an argument is the maximum, or the minimum."""
    relation = ">=" if name == "max" else "<="
    return tuple(i.Compare(relation, each, other) for other in arguments if other is not each)


def reads_elements(conditions: tuple[i.Expr, ...]) -> bool:
    return any(isinstance(each, i.Access) for each in walk(conditions))


def alternative_cases(alternatives: tuple[i.Expr, ...]) -> Cases:
    return Cases(tuple(Case((each,)) for each in alternatives), alternatives)
