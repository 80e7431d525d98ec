"""What a call consists of: arrays, what is known of its results, and the way to its target."""

from __future__ import annotations

from collections import namedtuple
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import Any, NamedTuple, NoReturn, Protocol, Self

import numpy as np

from cvmgen import rules
from cvmgen.api.manifest import OperatorInfo

Array = np.ndarray[Any, Any]
Given = Array | list[Array] | None  # one input: an array, several for a variadic one, or none
Precisions = list[int | list[int] | None]
Pairs = list[tuple[Array, Array]]

ALL_BOUND = (
    "this call takes nothing, since all was bound; bind a shape in place of what comes with each"
)


def unsendable(what: str, instead: str) -> NoReturn:
    """Refuse to copy what holds addresses of this process."""
    raise TypeError(f"{what} holds memory of its process and cannot be copied or sent; {instead}")


def reduced_to_recipe(what: str, recipe: Any, *name: str) -> tuple[Any, ...]:
    """How another process finds by its name what was loaded: a recipe loads the same there."""
    if recipe is None:
        unsendable(what, "it comes from no `cvmgen.load`")
    return recipe, name


class Uncopied:
    """What holds memory of its process: copies are the same object."""

    def __copy__(self) -> Self:
        return self

    def __deepcopy__(self, _: dict[int, Any]) -> Self:
        return self


class Inferred(NamedTuple):
    """Shapes and precisions of the outputs, in their order."""

    shapes: tuple[tuple[int, ...], ...]
    precisions: tuple[int | None, ...]  # None: the elements have no precision


class Backend(Protocol):
    """What a target provides for an operator. Attributes are complete and of the right kind."""

    def infer(self, info: OperatorInfo, described: Described) -> Inferred: ...

    def bind(self, info: OperatorInfo, call: CheckedCall) -> Callable[[], None]: ...

    def source(self, info: OperatorInfo, target: str) -> str: ...


class Described(NamedTuple):
    """The inputs of a call by their shapes and precisions, and all attributes."""

    shapes: Sequence[Any]
    precisions: Sequence[Any]
    attributes: Mapping[str, Any]


class CheckedCall(NamedTuple):
    """A call that was found right: what is given for each input, the precisions that are declared
    and those that are known after measuring, all attributes, and the arrays for the results."""

    given: Sequence[Given]
    declared: Precisions
    precisions: Precisions
    attributes: Mapping[str, Any]
    inferred: Inferred
    targets: Sequence[Array]
    check_values: bool  # elements beyond their precision are refused

    @property
    def described(self) -> Described:
        return Described([*map(given_shape, self.given)], self.precisions, self.attributes)

    def contiguous(self) -> tuple[CheckedCall, Pairs, Pairs]:
        """The call with row-major arrays, what is copied into them before it, and from them behind
        it: (target, source) each."""
        given, loads = contiguous(self.given)
        targets, stores = contiguous(self.targets)
        copies = [(target, computed) for computed, target in stores]
        return self._replace(given=given, targets=targets), loads, copies


class Bound:
    """A call whose arrays are fixed. `result` is what each call computes and returns."""

    __slots__ = ("_loads", "_operator", "_run", "_stores", "inferred", "result")

    def __init__(
        self,
        operator: str,
        run: Callable[[], None],
        result: Any,
        loads: Pairs,
        stores: Pairs,
        inferred: Inferred,
    ) -> None:
        self._operator = operator
        self._run = run
        self._loads = loads
        self._stores = stores
        self.result = result
        self.inferred = inferred

    def __call__(self, *arrays: Any, **keywords: Any) -> Any:
        """The result, computed anew; OperatorError where anything is given."""
        if arrays or keywords:
            refused = ("", f"{len(arrays)} given") if arrays else (next(iter(keywords)), "")
            rules.refuse(self._operator, *refused, ALL_BOUND)
        if self._loads:
            for copy, given in self._loads:
                copy[...] = given
        self._run()
        if self._stores:
            for target, computed in self._stores:
                target[...] = computed
        return self.result

    def __reduce__(self) -> NoReturn:
        unsendable(repr(self), "bind the operator again where the call is needed")

    def __repr__(self) -> str:
        return f"<{self._operator} bound, with all its arrays>"


@cache
def result_type(name: str, outputs: tuple[str, ...]) -> type[Any]:
    """What a call with several outputs returns: a named tuple, which other processes know too."""
    base: type[Any] = namedtuple(name, outputs)  # type: ignore[misc]

    def reduced(result: tuple[Any, ...]) -> tuple[Any, ...]:
        return named_result, (name, outputs, tuple(result))

    return type(name, (base,), {"__slots__": (), "__reduce__": reduced})


def named_result(name: str, outputs: tuple[str, ...], values: tuple[Any, ...]) -> Any:
    return result_type(name, outputs)(*values)


def contiguous(given: Sequence[Given]) -> tuple[list[Any], Pairs]:
    """Arrays that are row-major without gaps and aligned, and (copy, given) where not the same."""
    pairs: Pairs = []

    def one(array: Array) -> Array:
        found = np.require(array, requirements=["C", "A"])
        if found is not array:
            pairs.append((found, array))
        return found

    found: list[Any] = []
    for each in given:
        if isinstance(each, list):
            found.append([one(array) for array in each])
        else:
            found.append(None if each is None else one(each))
    return found, pairs


def named_inputs(name: str, given: Any) -> list[tuple[str, Any]]:
    """What is given for an input under its name; of several, each under its own."""
    if not isinstance(given, list):
        return [(name, given)]
    return [(f"{name}[{at}]", one) for at, one in enumerate(given)]


def several(given: Given) -> list[Array]:
    """The arrays that are given for an input."""
    if given is None:
        return []
    return given if isinstance(given, list) else [given]


def given_shape(given: Given) -> Any:
    if given is None:
        return None
    return [one.shape for one in given] if isinstance(given, list) else given.shape
