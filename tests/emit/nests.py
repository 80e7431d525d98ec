"""What the nests of an operator make: outputs by equations, and selected lists."""

from __future__ import annotations

from cvmgen.inside.checks import stay_inside
from cvmgen.lower.translate import operator_program
from cvmgen.spec import formula as f


def made_by_nests(operator: f.Operator) -> list[f.Definition | f.Equation]:
    """The lets and equations of an operator that become nests, in the order of the text."""
    kept = stay_inside(operator_program(operator)).lets
    return [
        item
        for item in f.all_items(operator.items)
        if isinstance(item, f.Equation)
        or (isinstance(item, f.Definition) and (item.kind == f.SELECTED or item.name in kept))
    ]
