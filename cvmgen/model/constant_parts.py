"""Real numbers that parameters alone decide: computed once, beforehand, and parameters themselves.

What a formula makes of scales for each channel is the same in every run. Such a part of a kernel
reads parameters at places of loops, and becomes a parameter with an element for each of them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from math import isfinite, prod
from typing import Any

import numpy as np

from cvmgen.dtypes import FLOAT32, FLOAT64, DType
from cvmgen.errors import InternalError
from cvmgen.functions import ARITHMETIC, FUNCTIONS, REAL_FUNCTIONS
from cvmgen.graph.limits import Array
from cvmgen.ir import nodes as i
from cvmgen.ir.uses import nodes_in
from cvmgen.ir.visit import replaced, walk
from cvmgen.known.partial import OF_REALS
from cvmgen.model.kernels import ModelKernel, ModelTensor
from cvmgen.reals import is_float32

MOST = 1 << 16  # elements that are computed one by one
NewParameter = Callable[[str, Array, DType], str]  # its name, of the one it is called after


class ConstantParts:
    """Rewrites kernels; `new` makes a parameter and gives its name."""

    def __init__(self, tensors: Mapping[str, ModelTensor], new: NewParameter) -> None:
        self.tensors, self.new = tensors, new
        self.made: dict[i.Expr, i.Expr] = {}

    def of(self, kernel: ModelKernel) -> ModelKernel:
        """The kernel with parameters for such parts."""
        self.made.clear()
        extents = dict(kernel.loops) | fixed_extents(kernel.body)

        def change(node: Any) -> Any:
            if not isinstance(node, (i.Binary, i.Call)) or not self.is_constant(node, extents):
                return node
            if node not in self.made:
                self.made[node] = self.parameter(node, extents)
            return self.made[node]

        return replace(kernel, body=replaced(kernel.body, change))

    def is_constant(self, node: i.Expr, extents: Mapping[str, int]) -> bool:
        """Whether an expression is made of elements of parameters, numbers and indices alone, by
        functions of real numbers."""
        reads = False
        for each in walk(node):
            match each:
                case i.Access(tensor=tensor):
                    reads = True
                    if self.tensors[tensor].values is None:
                        return False
                case i.Var(name=name) if name in extents:
                    pass
                case i.Binary(op=op) if op in OF_REALS:
                    pass
                case i.Call(function=function) if function in REAL_FUNCTIONS:
                    pass
                case i.Const() | i.Real():
                    pass
                case _:
                    return False
        return reads

    def parameter(self, node: i.Expr, extents: Mapping[str, int]) -> i.Expr:
        """An element of a parameter with what an expression comes to; itself where that is not a
        finite real number everywhere, or is too much."""
        names = tuple(dict.fromkeys(each.name for each in nodes_in(node, i.Var)))
        shape = tuple(extents[name] for name in names)
        if not shape or prod(shape) > MOST:
            return node
        places = np.indices(shape).astype(object)
        values = self.value(node, dict(zip(names, places, strict=True)))
        found = [] if values is None else list(np.broadcast_to(values, shape).flat)
        if not found or not all(isinstance(each, float) and isfinite(each) for each in found):
            return node
        dtype = FLOAT32 if all(map(is_float32, found)) else FLOAT64
        made = np.array(found, dtype.name).reshape(shape)
        source = next(nodes_in(node, i.Access)).tensor
        return i.Access(
            self.new(source, made, dtype), None, tuple((i.Var(each), False) for each in names)
        )

    def value(self, node: i.Expr, places: Mapping[str, Array]) -> Any:
        """What an expression is, for each of the places of indices; None where it reads beyond a
        tensor."""
        match node:
            case i.Const(value=value):
                return value
            case i.Real(text=text):
                return float(text)
            case i.Var(name=name):
                return places[name]
            case i.Access(tensor=tensor, index=index):
                exact, operands = self.element(tensor), [entry for entry, _ in index]
            case i.Binary(op=op, left=left, right=right):
                exact, operands = ARITHMETIC[op], [left, right]
            case i.Call(function=function, arguments=arguments):
                exact, operands = FUNCTIONS[function].exact, [*arguments]
            case _:
                raise InternalError(f"constant parts: {type(node).__name__} is not for this place")
        values = [self.value(each, places) for each in operands]
        if any(each is None for each in values):
            return None
        try:
            return np.frompyfunc(exact, len(values), 1)(*values)
        except IndexError:
            return None

    def element(self, tensor: str) -> Callable[..., Any]:
        """The element of a parameter with an index."""
        values = self.tensors[tensor].values
        assert values is not None
        whole = float if self.tensors[tensor].kind == "real" else int

        def at(*index: int) -> Any:
            if min(index) < 0:
                raise IndexError
            return whole(values[index])

        return at


def fixed_extents(body: i.Block) -> dict[str, int]:
    """How often the loops of a body run that begin at 0 and have a known end."""
    found: dict[str, int] = {}
    for each in nodes_in(body, i.Loop):
        match each:
            case i.Loop(index=index, low=i.Const(value=0), high=i.Const(value=high)):
                found[index] = int(high)
            case _:
                pass
    return found
