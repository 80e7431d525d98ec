"""What an operator tests of elements before it reads by them, where the plan can tell."""

from __future__ import annotations

from collections.abc import Mapping

from cvmgen.dtypes import MAX_SIZE
from cvmgen.errors import ModelError
from cvmgen.ir import nodes as i
from cvmgen.ir.uses import nodes_in
from cvmgen.known.constant_loops import plain_loops
from cvmgen.known.known_types import ElementStorage, known_types
from cvmgen.model.kernels import ModelTensor
from cvmgen.model.storage import first_range
from cvmgen.ranges import Range
from cvmgen.spec.formula import Operator


def tested(node: str, operator: Operator, nest: i.Nest, tensors: Mapping[str, ModelTensor]) -> None:
    """ModelError unless a nest that only tests others leaves MAX_SIZE, which says that nothing is
    wrong: models have no place for what a test finds. Of elements it is known what they can be."""
    assert nest.guarded is not None
    body = plain_loops(nest.body)
    elements = {each.tensor: ElementStorage(Range(0, 0)) for each in nodes_in(body, i.Access)}
    for name in elements.keys() & tensors.keys():
        elements[name] = before_any(tensors[name])
    if set(known_types(operator, {}, body, elements).stored.values()) != {ALL_WELL}:
        told = nest.guarded.rule or "not all that it reads is proved to be there"
        raise ModelError(f"a model cannot have this operator: {told}", where=f"node {node}")


ALL_WELL = Range(MAX_SIZE, MAX_SIZE)


def before_any(tensor: ModelTensor) -> ElementStorage:
    """What is known of a tensor by its type or precision and its values."""
    found = first_range(tensor)
    if tensor.values is not None or tensor.kind != "int":
        return found
    if tensor.dtype is not None:
        return ElementStorage(Range(tensor.dtype.low, tensor.dtype.high))
    return found if tensor.promised is None else ElementStorage(tensor.promised)
