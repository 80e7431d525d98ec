"""What a network asks of an operator library; `cvmgen.load` gives one for each target."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol, TypeVar

from cvmgen.graph.limits import Array
from cvmgen.graph.values import Value

Given = TypeVar("Given")
Shape = tuple[int, ...]
Precision = int | list[int | None] | None


class InferredStep(Protocol):
    """The shapes and precisions of an operator's outputs."""

    @property
    def shapes(self) -> Sequence[Shape]: ...

    @property
    def precisions(self) -> Sequence[int]: ...


class BoundOperator(Protocol):
    """An operator on fixed arrays: a call computes the outputs anew."""

    def __call__(self) -> object: ...


class LibraryOperator(Protocol):
    """One operator: what it gives for shapes and precisions, and how to bind it to arrays."""

    @property
    def inputs(self) -> tuple[str, ...]: ...

    @property
    def outputs(self) -> tuple[str, ...]: ...

    @property
    def variadic(self) -> str | None: ...

    @property
    def types(self) -> Sequence[Mapping[str, str]]: ...

    def infer(
        self,
        *,
        shapes: Sequence[Shape | list[Shape | None] | None],
        precisions: Sequence[Precision] | None,
        **attributes: Value,
    ) -> InferredStep: ...

    def bind(
        self,
        *arrays: Array | list[Array | None] | None,
        out: Array | tuple[Array, ...],
        precisions: Sequence[Precision] | None,
        constants: Sequence[str],
        **attributes: Value,
    ) -> BoundOperator: ...


class OperatorLibrary(Protocol):
    """A library; its member `cvm` has the operators of that opset as members."""

    @property
    def cvm(self) -> Any: ...


def sorted_inputs(
    operator: LibraryOperator, given: Sequence[Given | None]
) -> list[Given | list[Given | None] | None]:
    """What a node gives, sorted to the inputs of its operator; None for those it leaves out.

    A variadic input takes, as a list, whatever the inputs beside it leave.
    """
    result: list[Given | list[Given | None] | None] = [*given]
    if operator.variadic is not None:
        start = operator.inputs.index(operator.variadic)
        after = len(operator.inputs) - start - 1
        stop = max(start, len(given) - after)
        result[start:stop] = [[*given[start:stop]]]
    return result + [None] * (len(operator.inputs) - len(result))
