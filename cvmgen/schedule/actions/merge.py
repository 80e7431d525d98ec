"""`merge`: loops right in each other as one, where every access walks both without a gap."""

from __future__ import annotations

from dataclasses import replace

from cvmgen.algebra import product, simplify
from cvmgen.analysis.dependences import steady_range
from cvmgen.analysis.streams import merged_pair
from cvmgen.ir import nodes as i
from cvmgen.ir.loops import leaves_loop
from cvmgen.ir.uses import names_in
from cvmgen.schedule.forms import Use
from cvmgen.schedule.subject import Subject


def merge(subject: Subject, use: Use) -> Subject:
    """Two loops as one of as many iterations in the same order.

    Legal where every access walks both loops without a gap, one by one and to their end, and the
    inner one runs as often each time; others stay as they are.
    """
    names = set(use.loops(subject, 0))

    def change(loop: i.Loop) -> i.Block | None:
        match loop.body:
            case (i.Loop(index=index, low=low) as inner,) if index in names and low is not None:
                body = merged_pair(loop, inner, inner.body) if mergeable(loop, inner) else None
                if body is not None:
                    return (
                        replace(inner, high=simplify(product([loop.high, inner.high])), body=body),
                    )
            case _:
                pass
        return (loop,)

    return subject.with_loops(names, change, inner_first=True)


def mergeable(outer: i.Loop, inner: i.Loop) -> bool:
    """Whether two loops run as often each time as their ends say."""
    whole = all(each.step == 1 and steady_range(each) for each in (outer, inner))
    return whole and not leaves_loop(inner.body) and outer.index not in names_in(inner.high)
