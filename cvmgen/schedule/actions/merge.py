"""`merge`: loops right in each other as one, where every access walks both without a gap."""

from __future__ import annotations

from dataclasses import replace

from cvmgen.algebra import product
from cvmgen.ir import nodes as i
from cvmgen.lower.streams import flat
from cvmgen.schedule.forms import Use
from cvmgen.schedule.rewriting import Block, rewritten
from cvmgen.schedule.subject import Subject


def merge(subject: Subject, use: Use) -> Subject:
    """Two loops as one of as many iterations in the same order.

    Legal where every access walks both loops without a gap; others stay as they are.
    """
    names = set(use.loops(subject, 0))

    def change(statement: i.Stmt) -> Block | None:
        if not isinstance(statement, i.Loop) or statement.index not in names:
            return None
        outer = replace(statement, body=rewritten(statement.body, change))
        match outer.body:
            case (i.Loop(index=index, low=low) as inner,) if index in names and low is not None:
                body = flat(outer, inner, inner.body)
                if body is not None:
                    return (replace(inner, high=product([outer.high, inner.high]), body=body),)
            case _:
                pass
        return (outer,)

    return subject.with_body(rewritten(subject.body, change))
