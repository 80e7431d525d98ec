"""`streams`: a loop that accumulates reads at several places of memory at a time."""

from __future__ import annotations

from dataclasses import replace

from cvmgen.analysis.dependences import Locals, conflict
from cvmgen.ir import nodes as i
from cvmgen.ir.visit import fresh, substitute
from cvmgen.schedule.forms import Use
from cvmgen.schedule.subject import Subject


def streams(subject: Subject, use: Use) -> Subject:
    """The range of a loop in equal shares, one iteration of each at a time; a few are left over.

    Processors fetch ahead in several places at once, more than in one. Legal where iterations
    share nothing but accumulators that come out the same in every order.
    """
    names, count, role = set(use.loops(subject, 0)), use.copies(1), use.roles(2)[0]
    old = f"_{use.roles(0)[0]}"
    locals_, used = Locals.of(subject.body), subject.taken
    made: dict[str, None] = {}

    def change(loop: i.Loop) -> i.Block | None:
        if why := conflict(loop, locals_):
            use.refuse(
                f"the loop {loop.index} {why}: its iterations cannot change their order "
                f"({subject.place})"
            )
        match loop:
            case i.Loop(
                low=i.Const(value=0),
                step=1,
                parallel=0,
                body=(i.Accumulate(name=name, op="+" | "*" | "max" | "min", value=value),),
            ):
                base = loop.index.removesuffix(old)
                index = fresh(f"{base}_{role}", used)
                share = i.Var(fresh(f"{base}_share", used))
                made[index] = None
                together = fresh("together", used)
                first = i.Let(together, locals_.types[name], value, loop.span)
                return shares(loop, count, index, share, first)
            case _:
                made[loop.index] = None
                return None

    return subject.with_loops(names, change).with_roles({role: tuple(made)})


def shares(loop: i.Loop, count: int, index: str, share: i.Var, together: i.Let) -> i.Block:
    """The loop over all shares at once, and what is left over."""
    (step,) = loop.body
    assert isinstance(step, i.Accumulate)

    def taken(at: int) -> i.Accumulate:
        place = i.Binary("+", i.Var(index), multiple(at, share)) if at else i.Var(index)
        value = substitute(step.value, {loop.index: place})
        return replace(step, name=together.name, value=value)

    body: i.Block = (
        replace(together, value=taken(0).value),
        *map(taken, range(1, count)),
        replace(step, value=i.Var(together.name)),
    )
    end = i.Binary("truncdiv", loop.high, i.Const(count))
    return (
        i.Let(share.name, "i64", end, loop.span),
        i.Loop(index, i.Const(0), share, body, 0, loop.span),
        replace(loop, low=multiple(count, share)),
    )


def multiple(number: int, value: i.Expr) -> i.Expr:
    return value if number == 1 else i.Binary("*", i.Const(number), value)
