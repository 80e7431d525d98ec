"""An operator as users call it: arguments sorted and checked, results allocated."""

from __future__ import annotations

from collections import namedtuple
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple, Protocol

import numpy as np

from cvmgen import support
from cvmgen.api.manifest import AttributeInfo, OperatorInfo
from cvmgen.source import did_you_mean

Array = np.ndarray[Any, Any]
Given = Array | list[Array] | None  # one input: an array, several for a variadic one, or none
Precisions = list[int | list[int] | None]


class Inferred(NamedTuple):
    """Shapes and precisions of the outputs, in their order."""

    shapes: tuple[tuple[int, ...], ...]
    precisions: tuple[int, ...]


class Backend(Protocol):
    """What a target provides for an operator. Attributes are complete and of the right kind."""

    def infer(
        self,
        info: OperatorInfo,
        shapes: Sequence[Any],
        precisions: Sequence[Any],
        attributes: Mapping[str, Any],
    ) -> Inferred: ...

    def bind(
        self,
        info: OperatorInfo,
        inputs: Sequence[Given],
        precisions: Precisions,
        attributes: Mapping[str, Any],
        outputs: Sequence[Array],
        check_values: bool,
    ) -> Callable[[], None]: ...

    def source(self, info: OperatorInfo, target: str) -> str: ...


class Operator:
    """A generated operator. Calling it gives its result; see `signature` and `formula`."""

    def __init__(self, info: OperatorInfo, backend: Backend) -> None:
        self._info = info
        self._backend = backend
        self.__name__ = info.name
        self.__doc__ = f"{info.doc}\n\n{self.signature}\n\n{info.formula}"
        self._attributes = {each.name: each for each in info.attributes}
        self._input_names = tuple(each.name for each in info.inputs)
        self._result: Callable[..., Any] | None = None
        if len(info.outputs) > 1:
            self._result = namedtuple(f"{info.name}_result", info.outputs)  # type: ignore[misc]

    # -------------------------------------------------------- description

    @property
    def name(self) -> str:
        """The full name, as `cvm.conv2d`."""
        return self._info.full_name

    @property
    def inputs(self) -> tuple[str, ...]:
        return self._input_names

    @property
    def attributes(self) -> tuple[str, ...]:
        return tuple(self._attributes)

    @property
    def outputs(self) -> tuple[str, ...]:
        return self._info.outputs

    @property
    def formula(self) -> str:
        """The operator's block in the spec."""
        return self._info.formula

    @property
    def place(self) -> str:
        """File and line of the formula."""
        return self._info.place

    @property
    def signature(self) -> str:
        """How the operator is called, with defaults."""
        parts = []
        for item in self._info.inputs:
            parts.append(f"*{item.name}" if item.variadic else item.name)
            if item.optional:
                parts[-1] += "=None"
        if self._info.attributes and not any(item.variadic for item in self._info.inputs):
            parts.append("*")
        for attribute in self._info.attributes:
            default = "" if attribute.required else f"={attribute.default!r}"
            parts.append(f"{attribute.name}{default}")
        return f"{self._info.name}({', '.join(parts)})"

    def source(self, target: str) -> str:
        """The generated text of a target: python, c or cuda."""
        return self._backend.source(self._info, target)

    def __repr__(self) -> str:
        return f"<operator {self._info.opset}.{self.signature}>"

    # -------------------------------------------------------- calls

    def __call__(
        self,
        *inputs: Any,
        precisions: Any = None,
        dtype: Any = None,
        out: Any = None,
        check: str | None = None,
        **attributes: Any,
    ) -> Any:
        """The result: an array, or a named tuple of arrays where there are several outputs.

        inputs: int8 or int32 arrays, in the order of `inputs`; optional ones may be None
        precisions: declared precision by input name; the others are measured
        dtype: int8 or int32, of the result; out: array (or tuple of them) to write to
        check: "values" refuses data beyond their declared precision
        Raises OperatorError for a call that the formula does not admit.
        """
        bound = self.bind(
            *inputs, precisions=precisions, dtype=dtype, out=out, check=check, **attributes
        )
        return bound()

    def infer(
        self, shapes: Sequence[Any], precisions: Sequence[Any] | None = None, **attributes: Any
    ) -> Inferred:
        """Shapes and precisions of the outputs from those of the inputs, without data.

        One entry for each input, None for one that is not given; a variadic input takes a
        list of shapes and a list of precisions. Raises OperatorError as a call would.
        """
        count = len(self._info.inputs)
        given_shapes = [*shapes, *[None] * (count - len(shapes))]
        given = [*(precisions or ()), *[None] * (count - len(precisions or ()))]
        if len(given_shapes) > count or len(given) > count:
            self._refuse("shapes", str(len(shapes)), f"at most {count} inputs")
        values = self._complete(attributes)
        return self._backend.infer(self._info, given_shapes, given, values)

    def bind(
        self,
        *inputs: Any,
        precisions: Any = None,
        dtype: Any = None,
        out: Any = None,
        check: str | None = None,
        **attributes: Any,
    ) -> Bound:
        """The call with its arrays fixed: each call of the result computes into the same output.

        Shapes, attributes and precisions are checked here, once.
        """
        if check not in (None, "values"):
            self._refuse("check", repr(check), "None or 'values' is needed")
        operands, values = self._sorted(inputs, attributes)
        arrays = [
            self._arrays(item, each) for item, each in zip(self._info.inputs, operands, strict=True)
        ]
        known = self._precisions(precisions, arrays)
        shapes = [_shape(each) for each in arrays]
        inferred = self._backend.infer(self._info, shapes, known, values)
        outputs, copies = self._outputs(inferred, dtype, out, arrays)
        run = self._backend.bind(self._info, arrays, known, values, outputs, check is not None)
        results = tuple(out) if self._result and out is not None else (out,)
        given = results if out is not None else tuple(outputs)
        result = self._result(*given) if self._result else given[0]
        return Bound(run, result, copies, inferred)

    # -------------------------------------------------------- arguments

    def _refuse(self, argument: str, value: str, rule: str) -> None:
        support.refuse(self._info.full_name, argument, value, rule)

    def _sorted(
        self, inputs: tuple[Any, ...], keywords: dict[str, Any]
    ) -> tuple[list[Any], dict[str, Any]]:
        """Operands in the order of the inputs, and the attributes."""
        items = self._info.inputs
        positional = list(inputs)
        if len(items) == 1 and items[0].variadic and not _is_sequence(inputs):
            positional = [list(inputs)] if inputs else []
        if len(positional) > len(items):
            names = ", ".join(self._input_names)
            rule = f"{len(items)} input{'s' * (len(items) != 1)} at most: {names}"
            self._refuse("", f"{len(positional)} given", rule)
        operands: list[Any] = [*positional, *[None] * (len(items) - len(positional))]
        attributes = {}
        for name, value in keywords.items():
            if name in self._input_names:
                at = self._input_names.index(name)
                if at < len(positional):
                    self._refuse(name, "", "this input is given twice")
                operands[at] = value
            else:
                attributes[name] = value
        for item, value in zip(items, operands, strict=True):
            if value is None and not item.optional:
                self._refuse(item.name, "", support.INPUT_MISSING)
        return operands, self._complete(attributes)

    def _complete(self, given: Mapping[str, Any]) -> dict[str, Any]:
        """Every attribute, given or by default, as int, bool, tuple or None."""
        for name in given:
            if name not in self._attributes:
                known = ", ".join(self._attributes) or "none"
                hint = did_you_mean(name, self._attributes) or f"its attributes: {known}"
                value = repr(given[name])
                self._refuse(name, value, f"there is no such attribute; {hint}")
        return {
            name: self._value(attribute, given.get(name))
            for name, attribute in self._attributes.items()
        }

    def _value(self, attribute: AttributeInfo, value: Any) -> Any:
        operator, name = self._info.full_name, attribute.name
        if value is None:
            if attribute.required:
                self._refuse(name, "", support.ATTRIBUTE_MISSING)
            return attribute.default
        if attribute.is_list or attribute.length is not None:
            return support.integers(operator, name, value, attribute.length)
        if attribute.kind == "bool":
            return support.boolean(operator, name, value)
        return support.integer(operator, name, value)

    def _arrays(self, item: Any, value: Any) -> Given:
        if value is None:
            return None
        operator = self._info.full_name
        if not item.variadic:
            return _contiguous(support.as_array(operator, item.name, value))
        if not isinstance(value, (list, tuple)):
            self._refuse(item.name, type(value).__name__, "a list of arrays is needed")
        named = enumerate(value)
        return [
            _contiguous(support.as_array(operator, f"{item.name}[{at}]", one)) for at, one in named
        ]

    def _precisions(self, given: Any, arrays: Sequence[Given]) -> Precisions:
        """The declared precisions, in the order of the inputs; missing ones are measured."""
        if given is not None and not isinstance(given, Mapping):
            given = dict(zip(self._input_names, given, strict=False))
        declared = support.declared(self._info.full_name, self._input_names, given)
        found: Precisions = []
        for item, array in zip(self._info.inputs, arrays, strict=True):
            value: Any = declared.get(item.name)
            if array is None:
                found.append(None)
            elif isinstance(array, list):
                entries = value if isinstance(value, (list, tuple)) else [value] * len(array)
                found.append(
                    [
                        self._measured(item.name, one, entry)
                        for one, entry in zip(array, entries, strict=True)
                    ]
                )
            else:
                found.append(self._measured(item.name, array, value))
        return found

    def _measured(self, name: str, array: Array, declared: int | None) -> int:
        if declared is not None:
            if not 1 <= declared <= support.MAX_PRECISION:
                self._refuse(name, f"precision {declared}", support.PRECISION_RANGE)
            return declared
        return support.measured(self._info.full_name, name, array)

    # -------------------------------------------------------- results

    def _outputs(
        self, inferred: Inferred, dtype: Any, out: Any, arrays: Sequence[Given]
    ) -> tuple[list[Array], list[tuple[Array, Array]]]:
        """Arrays to compute into, and (target, computed) pairs to copy afterwards."""
        operator = self._info.full_name
        if out is None:
            default = self._default_dtype(arrays)
            made = []
            for name, shape, precision in zip(self.outputs, *inferred, strict=True):
                wanted = support.result_dtype(operator, name, dtype, precision, default)
                made.append(np.empty(shape, wanted))
            return made, []
        targets = [out] if self._result is None else list(out)
        if len(targets) != len(self.outputs):
            self._refuse("out", str(len(targets)), f"{len(self.outputs)} arrays needed")
        named = [
            (name, one)
            for name, array in zip(self._input_names, arrays, strict=True)
            for one in (array if isinstance(array, list) else [array])
        ]
        outputs, copies = [], []
        for name, target, shape, precision in zip(self.outputs, targets, *inferred, strict=True):
            support.check_out(operator, name, target, shape, precision, named)
            if dtype is not None and np.dtype(dtype) != target.dtype:
                self._refuse("dtype", str(np.dtype(dtype)), f"out is of type {target.dtype}")
            named.append((name, target))
            if target.flags.c_contiguous and target.flags.aligned:
                outputs.append(target)
                continue
            outputs.append(np.empty(shape, target.dtype))
            copies.append((target, outputs[-1]))
        return outputs, copies

    def _default_dtype(self, arrays: Sequence[Given]) -> Any:
        if not self._info.moves_data:
            return np.int32
        first = arrays[0]
        if isinstance(first, list):
            narrow = all(one.dtype == np.int8 for one in first)
            return np.int8 if narrow else np.int32
        return np.int32 if first is None else first.dtype


class Bound:
    """A call whose arrays are fixed. `result` is what each call computes and returns."""

    __slots__ = ("_copies", "_run", "inferred", "result")

    def __init__(
        self,
        run: Callable[[], None],
        result: Any,
        copies: list[tuple[Array, Array]],
        inferred: Inferred,
    ) -> None:
        self._run = run
        self._copies = copies
        self.result = result
        self.inferred = inferred

    def __call__(self) -> Any:
        self._run()
        for target, computed in self._copies:
            target[...] = computed
        return self.result


def _contiguous(array: Array) -> Array:
    """Row-major without gaps and aligned: the array itself, or a copy."""
    return np.require(array, requirements=["C", "A"])


def _shape(given: Given) -> Any:
    if given is None:
        return None
    return [one.shape for one in given] if isinstance(given, list) else given.shape


def _is_sequence(inputs: tuple[Any, ...]) -> bool:
    return len(inputs) == 1 and isinstance(inputs[0], (list, tuple))
