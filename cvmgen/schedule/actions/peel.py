"""`peel`: a loop in three parts, of which the one in the middle needs no guards."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from cvmgen.analysis.guards import (
    PlaceBound,
    condition_bounds,
    first_from,
    maximum_of,
    slope,
    smallest,
)
from cvmgen.ir import nodes as i
from cvmgen.ir.rewrite import is_name_arithmetic
from cvmgen.ir.uses import assigned, names_in, read_tensors, reassigned
from cvmgen.ir.visit import fresh, substitute
from cvmgen.schedule.forms import Use
from cvmgen.schedule.rewriting import with_index_name
from cvmgen.schedule.subject import Subject


def peel(subject: Subject, use: Use) -> Subject:
    """What comes first, what passes all guards in the loop, and what comes last.

    The order of iterations stays, so that this is legal for every loop over a range, one by one to
    its end.
    """
    names, roles = set(use.loops(subject, 0)), [use.roles(at)[0] for at in (1, 2, 3)]
    used, varying = subject.taken, assigned(subject.body)
    made: dict[str, dict[str, None]] = {role: {} for role in roles}
    ahead: list[i.Stmt] = []

    def change(loop: i.Loop) -> i.Block | None:
        use.one_by_one(loop, subject)
        found = Middle(loop, subject)
        body = found.cleared(loop.body, {}, {})
        if loop.low is None or body is None or not (found.lows or found.highs):
            return None
        indices = [fresh(f"{loop.index}_{role}", used) for role in roles]
        ends, low, high = middle_ends(loop, found, indices[1], used)
        ranges = ((loop.low, low), (low, high), (high, loop.high))
        wanted = (bool(found.lows), True, bool(found.highs))
        parts: list[i.Stmt] = []
        for at, (first, last) in enumerate(ranges):
            if wanted[at]:
                whole = body if at == 1 else loop.body
                inner = with_index_name(whole, loop.index, indices[at])
                part = replace(loop, index=indices[at], low=first, high=last, body=inner)
                parts.append(part)
                made[roles[at]][indices[at]] = None
        if any(names_in(each.value) & varying for each in ends):
            return (*ends, *parts)
        ahead.extend(ends)
        return tuple(parts)

    done = subject.with_loops(names, change)
    found = {role: tuple(indices) for role, indices in made.items()}
    return done.with_body((*ahead, *done.body)).with_roles(found)


def middle_ends(
    loop: i.Loop, found: Middle, index: str, used: set[str]
) -> tuple[list[i.Let], i.Expr, i.Expr]:
    """Where the middle begins and ends, in the range of the loop, and locals for that."""
    assert loop.low is not None
    ends: list[i.Let] = []

    def named(end: str, value: i.Expr) -> i.Expr:
        ends.append(i.Let(fresh(f"{index}_{end}", used), "i64", value, loop.span))
        return i.Var(ends[-1].name)

    low, high = loop.low, loop.high
    if found.lows:
        low = named("low", smallest((maximum_of((low, *found.lows)), high)))
    if found.highs:
        high = named("high", maximum_of((smallest((high, *found.highs)), low)))
    return ends, low, high


@dataclass(slots=True)
class Middle:
    """The iterations of a loop in which guards hold whatever the loops in it do."""

    loop: i.Loop
    subject: Subject
    lows: list[i.Expr] = field(default_factory=list)
    highs: list[i.Expr] = field(default_factory=list)

    def cleared(
        self, body: i.Block, values: Mapping[str, i.Expr], inner: Mapping[str, i.Loop]
    ) -> i.Block | None:
        """The body without those guards, and without the locals that were made for them; None
        where one is not linear in the indices. `values` are locals, `inner` the loops around."""
        values = dict(values)
        kept: list[i.Stmt] = []
        for statement in body:
            made: i.Block | None = (statement,)
            match statement:
                case i.Let(name=name, value=value) if is_name_arithmetic(
                    value
                ) and name not in reassigned(self.loop.body):
                    values[name] = substitute(value, values)
                    moves = self.loop.index in names_in(values[name])
                    made = () if moves else (statement,)
                case i.Loop(index=index, body=within):
                    part = self.cleared(within, values, {**inner, index: statement})
                    made = None if part is None else (replace(statement, body=part),)
                case i.If(condition=condition, then=then, otherwise=()):
                    made = self.cleared(then, values, inner)
                    if made is not None and not self.holds(condition, values, inner):
                        made = (
                            None
                            if self.moves(condition, values)
                            else (replace(statement, then=made),)
                        )
                case i.If():
                    made = None
                case _:
                    pass
            if made is None:
                return None
            kept += made
        moving = {name: value for name, value in values.items() if self.moves(value, {})}
        return substitute(tuple(kept), moving)

    def moves(self, node: i.Expr, values: Mapping[str, i.Expr]) -> bool:
        return self.loop.index in names_in(substitute(node, dict(values)))

    def holds(
        self, condition: i.Expr, values: Mapping[str, i.Expr], inner: Mapping[str, i.Loop]
    ) -> bool:
        """Whether the condition holds in the middle, which gets ends for it."""
        guard = condition_bounds(substitute(condition, dict(values)))
        if guard is None or not self.moves(condition, values):
            return False
        lows: list[i.Expr] = []
        highs: list[i.Expr] = []
        for each in guard:
            end = self.end(each, inner)
            if end is None:
                return False
            (lows if each.high is None else highs).append(end)
        self.lows += lows
        self.highs += highs
        return True

    def end(self, bound: PlaceBound, inner: Mapping[str, i.Loop]) -> i.Expr | None:
        """The iteration from which on a bound holds, or no longer holds, for all inner ones."""
        place, facts = bound.place, self.subject.facts
        for index in sorted(names_in(place) & inner.keys()):
            loop = inner[index]
            if slope(place, index, facts) is None or loop.low != i.ZERO:
                return None
            worst = i.ZERO if bound.high is None else i.Binary("-", loop.high, i.ONE)
            place = substitute(place, {index: worst})
        line = slope(place, self.loop.index, facts)
        limit = bound.low if bound.high is None else bound.high
        assert limit is not None
        if line is None or names_in((limit, line.rest)) & inner.keys():
            return None
        if read_tensors((limit, line.rest)):
            return None  # in front of the loop an element need not be there
        return first_from(limit, line)
