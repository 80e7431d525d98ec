"""`base`: what the places that loops read and store have in common is computed before them."""

from __future__ import annotations

from dataclasses import replace

from cvmgen.algebra import signed, total
from cvmgen.ir import nodes as i
from cvmgen.ir.uses import assigned, names_in
from cvmgen.ir.visit import fresh, replaced, walk
from cvmgen.schedule.actions.hoist import simple
from cvmgen.schedule.forms import Use
from cvmgen.schedule.subject import Subject


def base(subject: Subject, use: Use) -> Subject:
    """The terms of places that do not vary in a loop become a local in front of it, where there
    is a product among them.

    Compilers find most of these too: it is for those who read the loop. Legal for every loop:
    places are sums.
    """
    used = subject.taken

    def change(loop: i.Loop) -> i.Block | None:
        varying, found = assigned((loop,)), {}

        def moved(node: object) -> object:
            if not isinstance(node, i.Load):
                return node
            terms = [*signed(node.offset)]
            fixed = [
                each
                for each in terms
                if simple(each) and names_in(each) and not names_in(each) & varying
            ]
            common = total(fixed)
            if len(fixed) == len(terms) or not any(is_product(each) for each in walk(common)):
                return node
            if common not in found:
                found[common] = fresh(f"{node.tensor}_base", used)
            rest = [each for each in terms if each not in fixed]
            return replace(node, offset=total((i.Var(found[common]), *rest)))

        done = replaced(loop, moved)
        lets = (i.Let(name, "i64", value, loop.span) for value, name in found.items())
        return (*lets, done)

    return subject.with_loops(use.loops(subject, 0), change)


def is_product(node: object) -> bool:
    match node:
        case i.Binary(op="*", left=i.Const(value=-1)):
            return False
        case i.Binary(op="*"):
            return True
        case _:
            return False
