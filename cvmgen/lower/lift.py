"""Out of the nests: the loop over a variadic input's tensors, and folds over host values.

The host computes what it is given in every call, also where the nest asks for it behind a condition
or has no element. So a fold is lifted only if it has a value whatever the call is: nothing in it
may fail, its entries of lists are proved to be there, and int64 holds all that it computes.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from cvmgen.analysis.definedness import may_fail
from cvmgen.functions import REAL_FUNCTIONS
from cvmgen.ir import nodes as i
from cvmgen.ir.host import with_host_part
from cvmgen.ir.uses import assigned, bound_in, names_in, nodes_in
from cvmgen.ir.visit import fresh, rebuild, walk
from cvmgen.lower.unfold import ACCUMULATORS
from cvmgen.lower.widths import Widths, host_ranges
from cvmgen.source import SpecError

Proof = Callable[[i.Nest, i.Expr], bool]


def lift_host(program: i.Program, *, proof: Callable[[i.Program], Proof]) -> i.Program:
    """What the host knows leaves the nests, and so does the loop over several tensors.

    The proof is that a value which the host computes for a nest reads entries of lists that are
    there.
    """
    reads_inside = proof(program)
    taken = set(names_in((program.prepare, tuple(nest.body for nest in program.nests))))

    def change(nest: i.Nest) -> tuple[i.Nest, i.Block]:
        return folds(program, with_host_loop(program, nest), taken, reads_inside)

    return with_host_part(program, change)


def with_host_loop(program: i.Program, nest: i.Nest) -> i.Nest:
    """A nest over a variadic input: its outermost loop over the tensors becomes the host's."""
    counts = {item.name: item.count for item in program.operator.inputs if item.variadic}
    read = {
        (each.tensor, each.which)
        for each in nodes_in(nest.body, i.Access)
        if each.which is not None
    }
    used = read or shapes_walked(program, nest)
    if not used:
        return nest
    match nest.body:
        case (i.Loop(index=index, low=i.Const(value=0), high=i.Var(name=high), body=body),) if len(
            used
        ) == 1 and all(which == i.Var(index) and counts[tensor] == high for tensor, which in used):
            ((tensor, _),) = used
            return replace(nest, each=(index, tensor, i.Var(high)), body=body)
        case _:
            tensor = min(tensor for tensor, _ in used)
            raise SpecError(
                nest.span,
                f"the tensors of '{tensor}' are not walked one after the other",
                f"write: forall i < {counts[tensor]}, ... with {tensor}[i] on the right side",
            )


def shapes_walked(program: i.Program, nest: i.Nest) -> set[tuple[str, i.Expr]]:
    """The tensors of which a nest reads the shapes alone, one after the other."""
    inputs = program.operator.inputs
    names = {extent.new: item.name for item in inputs if item.variadic for extent in item.extents}
    indices = {each.index for each in nest.body if isinstance(each, i.Loop)}
    found: set[tuple[str, i.Expr]] = set()
    for each in walk(nest.body):
        match each:
            case i.Item(sequence=i.Var(name=name), index=i.Var(name=index) as which) if (
                name in names and index in indices
            ):
                found.add((names[name], which))
            case _:
                pass
    return found


def folds(
    program: i.Program, nest: i.Nest, taken: set[str], reads_inside: Proof
) -> tuple[i.Nest, i.Block]:
    """The outermost folds that read no element, no index of a loop and no real number."""
    inner = assigned(nest.body)
    found: dict[i.Expr, str] = {}

    def change(node: i.Expr) -> i.Expr:
        if not isinstance(node, i.Fold) or names_in(node) & inner:
            return node
        if any(of_nests(each) or fails(each) for each in walk(node)):
            return node
        if names_in(node) & (bound_in(nest.body) - bound_in(node)):
            return node
        if not (fits_in_64_bits(program, nest, node) and reads_inside(nest, node)):
            return node
        if node not in found:
            found[node] = fresh(ACCUMULATORS[node.op][0], taken)
        return i.Var(found[node])

    body = rebuild(nest.body, change)
    lets = tuple(i.Let(name, "int", fold, nest.span) for fold, name in found.items())
    return replace(nest, body=body), lets


def fails(node: object) -> bool:
    """The same but for entries of lists, of which there is a proof."""
    return may_fail(node) and not isinstance(node, i.Item)


def fits_in_64_bits(program: i.Program, nest: i.Nest, fold: i.Expr) -> bool:
    """Whether all values on the way are of 64 bits: the host would saturate."""
    widths = Widths(program, nest, host_ranges(program))
    widths.exact(fold)
    return widths.most.fits(64)


def of_nests(node: object) -> bool:
    """Whether an expression has no value on the host, which knows integers and conditions."""
    match node:
        case i.Access() | i.Entries() | i.Load() | i.Real() | i.Limit() | i.Binary(op="over"):
            return True
        case i.Call(function=function):
            return function in REAL_FUNCTIONS
        case _:
            return False
