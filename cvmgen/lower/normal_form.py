"""One form for formulas that say the same: what follows sees less to tell apart.

Of integers only, where each rule holds for all values: adding 0 to a real number changes -0, a
comparison with NaN is not what its opposite leaves over, and the order of real sums counts.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from cvmgen import algebra
from cvmgen.ir import nodes as i
from cvmgen.ir.host import with_bodies
from cvmgen.ir.logic import negated
from cvmgen.ir.loops import bound_name, range_ends
from cvmgen.ir.uses import names_in
from cvmgen.ir.visit import rebuild
from cvmgen.typing.decided_tests import without_known


def normal_form(program: i.Program) -> i.Program:
    """One form for what can be said in several ways.

    Nests have no neutral elements, negated conjunctions or sums of sums, nor what conditions that
    are written out leave aside.
    """
    if not program.operator.has_reals:
        program = with_bodies(program, lambda body: rebuild(body, normal_node))
    return without_known(program)


def normal_node(node: Any) -> Any:
    """A node whose operands are in normal form."""
    match node:
        case i.Not(operand=operand):
            return negated(operand)
        case i.Fold(op="sum", element=i.Fold(op="sum") as inner):
            return joined_sums(node, inner)
        case i.Binary(op="*", left=i.Const(value=0)) | i.Binary(op="*", right=i.Const(value=0)):
            return node  # a call may be refused for what is multiplied
        case i.Binary():
            return algebra.simplify_node(node)
        case _:
            return node


def joined_sums(outer: i.Fold, inner: i.Fold) -> i.Fold:
    """A sum of sums as one over all their indices, in the same order.

    Not where the inner one is the same for some index of the outer, as it is computed once for all,
    nor behind a condition, without which its ranges may have no ends, nor where these depend on an
    index: a box of terms is an array, other terms are gone through one after the other.
    """
    indices = {*map(bound_name, outer.over)}
    if outer.condition is not None or not indices <= names_in(inner):
        return outer
    if any(indices & names_in(end) for each in inner.over for end in range_ends(each)):
        return outer
    return replace(inner, over=(*outer.over, *inner.over))
