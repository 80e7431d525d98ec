"""What the nests of an operator make: outputs by equations, selected lists, and refusals."""

from __future__ import annotations

from cvmgen.driver import STATEMENTS, lower
from cvmgen.spec import formula as f


def made_by_nests(operator: f.Operator) -> list[f.Definition | f.Demand | f.Equation]:
    """The lets, demands and equations that become nests, in the order of the text."""
    kept = lower(operator, STATEMENTS[:3]).lets  # as far as it tells which lets are memory
    return [
        item
        for item in f.all_items(operator.items)
        if isinstance(item, f.Demand | f.Equation)
        or (isinstance(item, f.Definition) and (item.kind == f.SELECTED or item.name in kept))
    ]
