"""Calls that are bound before some of their arrays are there: shapes now, arrays at each call."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from operator import index
from typing import Any, NoReturn, Protocol

from cvmgen import rules
from cvmgen.api.calls import unsendable

UNDECLARED = "its precision must be declared, since its elements come with each call"


def is_shape(value: Any) -> bool:
    """Whether an operand of a bound call is a shape instead of an array."""
    return type(value) is tuple and bool(value) and all(type(each) is int for each in value)


class Callee(Protocol):
    """The operator that an open call is of."""

    @property
    def name(self) -> str: ...

    def __call__(self, *inputs: Any, **keywords: Any) -> Any: ...


class OpenCall:
    """A call of an operator that waits for arrays. The others are constants: their elements must
    stay as they are.

    `inputs` are the names of those that each call takes, in their order; `shapes` theirs.
    """

    def __init__(
        self, operator: Callee, operands: Mapping[str, Any], keywords: Mapping[str, Any]
    ) -> None:
        self._operator = operator
        self._operands = {name: value for name, value in operands.items() if value is not None}
        self._keywords = dict(keywords)
        self.inputs = tuple(name for name, value in operands.items() if is_shape(value))
        self.shapes = tuple(tuple(map(index, operands[name])) for name in self.inputs)

    def __call__(self, *arrays: Any, out: Any = None, **others: Any) -> Any:
        """The result for arrays of these shapes, in `out` (or a tuple of them) or in new arrays.

        Raises OperatorError for other arrays, and for whatever else is given.
        """
        if others:
            self._refuse_keyword(*others)
        return self._operator(**self._filled(arrays), out=out, **self._keywords)

    def always(self, **keywords: Any) -> None:
        """Give these to each call too."""
        self._keywords |= keywords

    def __reduce__(self) -> NoReturn:
        unsendable(repr(self), "bind the operator again where the call is needed")

    def __repr__(self) -> str:
        shapes = ", ".join(map(str, self.shapes))
        return f"<{self._operator.name} bound, for {', '.join(self.inputs)} of {shapes}>"

    def _refuse_keyword(self, name: str, *_: str) -> NoReturn:
        rule = f"this call takes {', '.join(self.inputs)}, in this order, and out"
        rules.refuse(self._operator.name, name, "", rule)

    def _filled(self, arrays: Sequence[Any]) -> dict[str, Any]:
        """All operands of a call with these arrays."""
        if len(arrays) != len(self.inputs):
            rule = f"{len(self.inputs)} needed: {', '.join(self.inputs)}"
            rules.refuse(self._operator.name, "", f"{len(arrays)} arrays", rule)
        for name, shape, array in zip(self.inputs, self.shapes, arrays, strict=True):
            given = getattr(array, "shape", None)
            if given != shape:
                rule = f"the call is bound to shape {shape}"
                rules.refuse(self._operator.name, name, f"shape {given}", rule)
        return self._operands | dict(zip(self.inputs, arrays, strict=True))
