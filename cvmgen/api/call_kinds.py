"""Which calls are alike: what is checked of one holds of the next one of its kind."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Generic, TypeVar

from cvmgen.api.manifest import OperatorInfo

MOST_KINDS = 256
"""Kinds of calls that an operator remembers; beyond them it begins anew."""

Kind = TypeVar("Kind")
MarkArray = Callable[[list[Any], list[Any], Any], bool]


class CallKinds(Generic[Kind]):
    """What is remembered of the kinds of calls of an operator. Calls of a kind have the same
    shapes, element types, attributes and declared precisions.

    `mark_array` and `mark_output` note an array for an input and for a result, and give False for
    one whose call cannot be repeated.
    """

    def __init__(self, info: OperatorInfo, mark_array: MarkArray, mark_output: MarkArray) -> None:
        self._kinds: dict[Any, Kind] = {}
        self._variadic = [item.variadic for item in info.inputs]
        self._places = {item.name: at for at, item in enumerate(info.inputs)}
        self._mark_array, self._mark_output = mark_array, mark_output

    def __len__(self) -> int:
        return len(self._kinds)

    def find(
        self,
        arrays: list[Any],
        outs: list[Any],
        inputs: tuple[Any, ...],
        precisions: Any,
        out: Any,
        others: tuple[Any, ...],
        keywords: Mapping[str, Any],
    ) -> tuple[Any, Kind | None]:
        """The key of a call, None where it cannot be repeated, and what is remembered of its kind.

        `arrays` and `outs` get its arrays; `others` are what else decides its checks.
        """
        marks: list[Any] = [others]
        repeatable = (
            self._mark(marks, arrays, inputs, keywords)
            and (precisions is None or mark_precisions(marks, precisions))
            and (out is None or self._mark_outputs(marks, outs, out))
        )
        if not repeatable:
            return None, None
        key = tuple(marks)
        try:
            return key, self._kinds.get(key)
        except TypeError:  # a value that is no key: whatever it is, checks will tell
            return None, None

    def remember(self, key: Any, make: Callable[[], Kind]) -> Kind:
        """What is remembered of a kind, made now if it is new."""
        kind = self._kinds.get(key)
        if kind is None:
            if len(self._kinds) >= MOST_KINDS:
                self._kinds.clear()
            kind = self._kinds.setdefault(key, make())
        return kind

    def _mark(
        self,
        marks: list[Any],
        arrays: list[Any],
        inputs: tuple[Any, ...],
        keywords: Mapping[str, Any],
    ) -> bool:
        """Note what decides the checks of a call; False for one that cannot be repeated."""
        operands = list(inputs)
        if self._variadic == [True] and not (len(inputs) == 1 and type(inputs[0]) in (list, tuple)):
            operands = [operands]
        for name, value in keywords.items():
            at = self._places.get(name)
            if at is not None and at >= len(operands):
                operands += [None] * (at - len(operands)) + [value]
            elif at is not None or not mark_value(marks, name, value):
                return False
        marks.append(len(operands))
        mark_array = self._mark_array
        for several, value in zip(self._variadic, operands, strict=False):
            if value is None:
                marks.append(None)
            elif not several:
                if not mark_array(marks, arrays, value):
                    return False
            elif type(value) not in (list, tuple):
                return False
            else:
                marks.append(len(value))
                if not all(mark_array(marks, arrays, each) for each in value):
                    return False
        return True

    def _mark_outputs(self, marks: list[Any], outs: list[Any], out: Any) -> bool:
        """Note the arrays for the results; only those that are written where they lie."""
        for each in out if type(out) in (list, tuple) else (out,):
            if not self._mark_output(marks, outs, each):
                return False
        marks.append(type(out))
        return len(outs) > 0


def mark_value(marks: list[Any], name: str, value: Any) -> bool:
    """Note an attribute. Its type counts: 1, True and 1.0 are equal, but not alike as values; nor
    are 0.0 and -0.0."""
    kind = type(value)
    marks.append(name)
    marks.append(kind)
    if kind in (tuple, list):
        marks.append(tuple(value))
        return all(type(each) is int for each in value)
    marks.append(value.hex() if kind is float else value)
    return value is None or kind in (int, float, bool, str)


def mark_precisions(marks: list[Any], precisions: Any) -> bool:
    """Note declared precisions."""
    kind = type(precisions)
    if kind is dict:
        marks.append(tuple(precisions))
        precisions = precisions.values()
    elif kind not in (list, tuple):
        return False
    marks.append(len(precisions))
    for value in precisions:
        if type(value) is int or value is None:
            marks.append(value)
        elif not mark_value(marks, "", value):
            return False
    return True
