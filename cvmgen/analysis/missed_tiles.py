"""Why a sum of products does not become tiles."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from itertools import permutations

from cvmgen.analysis.contraction import contraction
from cvmgen.analysis.facts import Facts
from cvmgen.analysis.grid import grid
from cvmgen.analysis.sums_of_products import INTEGERS, NoContraction
from cvmgen.analysis.tiling import factors_behind, tiling
from cvmgen.ir import nodes as i
from cvmgen.ir.rewrite import expanded
from cvmgen.ir.uses import names_in, nodes_in, reassigned
from cvmgen.ir.visit import substitute


def missed_tile(
    body: i.Block, facts: Facts, sizes: Mapping[str, i.Expr], unsigned: Collection[str] = ()
) -> NoContraction | None:
    """What is in the way of tiles, where there are as many products as for one of matrices; None
    where there are not, or where nothing is in the way.

    `sizes` are the numbers of elements of the inputs that may be factors, some of which are
    `unsigned`.
    """
    if not multiplies_matrices(body):
        return None
    outer = grid(body)
    try:
        found = contraction(outer.loops, outer.body, facts, sizes)
    except NoContraction as why:
        return why
    if tiling(found, facts, unsigned) is not None:
        return None
    if unsigned and tiling(found, facts) is not None:
        return NoContraction("both factors are bytes without a sign", "declare one of them int8")
    tensor = found.rows.load.tensor
    if tensor == found.columns.load.tensor:
        return NoContraction(f"both factors are elements of '{tensor}'", "give it as two inputs")
    for each in sorted(factors_behind(found)):
        return NoContraction(f"'{each}' is read behind the sum too", "give it as two inputs")
    return NoContraction("places, or conditions on them, are not linear in one index and one tap")


def multiplies_matrices(body: i.Block) -> bool:
    """Whether integers are added of which each is made of two elements that other indices of the
    result lead to."""
    totals = {each.name for each in nodes_in(body, i.Let) if each.type in INTEGERS}
    mutable = reassigned(body)
    values = expanded(each for each in nodes_in(body, i.Let) if each.name not in mutable)
    targets = (each.target for each in nodes_in(body, i.Store))
    places = (each.offset for each in targets if isinstance(each, i.Load))
    names = {name for each in places for name in names_in(substitute(each, values))}
    indices = names & {loop.index for loop in nodes_in(body, i.Loop)}
    products = (
        product
        for each in nodes_in(body, i.Accumulate)
        if each.op == "+" and each.name in totals
        for product in nodes_in(each.value, i.Binary)
        if product.op == "*"
    )
    return any(of_two_matrices(substitute(each, values), indices) for each in products)


def of_two_matrices(product: i.Expr, indices: Collection[str]) -> bool:
    """Whether a product has a factor with an index that the other has not, both ways."""
    places = [names_in(each.offset) & set(indices) for each in nodes_in(product, i.Load)]
    return any(one - other and other - one for one, other in permutations(places, 2))
