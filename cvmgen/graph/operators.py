"""What a network asks of an operator library; `cvmgen.load` gives one for each target."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from cvmgen.graph.parameters import Array
from cvmgen.graph.values import Value


class Inferred(Protocol):
    """The shapes and precisions of an operator's outputs."""

    @property
    def shapes(self) -> Sequence[tuple[int, ...]]: ...

    @property
    def precisions(self) -> Sequence[int]: ...


class Bound(Protocol):
    """An operator on fixed arrays: a call computes the outputs anew."""

    def __call__(self) -> object: ...


class Operator(Protocol):
    """One operator: what it gives for shapes and precisions, and how to bind it to arrays."""

    @property
    def inputs(self) -> tuple[str, ...]: ...

    def infer(
        self,
        *,
        shapes: Sequence[tuple[int, ...] | None],
        precisions: Sequence[int | None],
        **attributes: Value,
    ) -> Inferred: ...

    def bind(
        self,
        *arrays: Array,
        out: Array | tuple[Array, ...],
        precisions: Mapping[str, int],
        **attributes: Value,
    ) -> Bound: ...


class Operators(Protocol):
    """A library; its member `cvm` has the operators of that opset as members."""

    @property
    def cvm(self) -> Any: ...
