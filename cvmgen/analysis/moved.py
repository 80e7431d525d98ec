"""Elements that are stored as they are."""

from __future__ import annotations

from cvmgen.dtypes import CVM
from cvmgen.ir import nodes as i
from cvmgen.ir.uses import nodes_in
from cvmgen.ir.visit import walk


def moved_inputs(program: i.Program) -> tuple[str, ...]:
    """The inputs whose elements are stored as they are, if nothing else is: their type is kept.

    Small constants beside them do not count. Empty for an operator that computes. What a pass has
    noted is taken, as it may have left nests in another form.
    """
    if program.moved is not None:
        return program.moved
    found: set[str] = set()
    outputs = program.operator.precise_outputs
    inputs = {item.name for item in program.operator.inputs if item.dtype == CVM}
    computes = False
    loaded: dict[str, i.Expr] = {}

    def visit(value: i.Expr) -> None:
        nonlocal computes
        match value:
            case i.Var(name=name) if name in loaded:
                visit(loaded[name])
            case i.Load(tensor=tensor) | i.Access(tensor=tensor) if tensor in inputs:
                found.add(tensor)
            case i.Bind(name=name, value=(i.Load() | i.Access()) as bound, body=body):
                loaded[name] = bound
                visit(body)
            case i.Select(then=then, otherwise=otherwise):
                visit(then)
                visit(otherwise)
            case i.Const(value=number):
                computes = computes or not -128 < number < 128
            case _:
                computes = True

    for nest in program.nests:
        lets = nodes_in(nest.body, i.Let)
        loaded = {each.name: each.value for each in lets if isinstance(each.value, i.Load)}
        for each in walk(nest.body):
            if isinstance(each, i.Store) and each.target.tensor == nest.tensor in outputs:
                visit(each.value)
    names = (item.name for item in program.operator.inputs)
    return () if computes else tuple(name for name in names if name in found)
