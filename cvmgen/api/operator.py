"""An operator as users call it: arguments sorted and checked, results allocated."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from operator import index
from typing import Any, NoReturn

import numpy as np

from cvmgen import support, typed
from cvmgen.api.calls import (
    Array,
    Backend,
    Bound,
    Call,
    Described,
    Given,
    Inferred,
    Precisions,
    named,
    result_type,
    shape_of,
    unsendable,
)
from cvmgen.api.description import KEYWORDS, doc_of, signature_of
from cvmgen.api.manifest import AttributeInfo, InputInfo, OperatorInfo
from cvmgen.api.open_call import UNDECLARED, OpenCall, is_shape
from cvmgen.memory import new_array
from cvmgen.source import did_you_mean

OUTPUT_TYPES = "all outputs must have one element type"


class Operator:
    """A generated operator. Calling it gives its result; see `signature` and `formula`."""

    KEYWORDS: Mapping[str, str] = KEYWORDS

    def __init__(self, info: OperatorInfo, backend: Backend) -> None:
        self._info = info
        self._backend = backend
        self.__name__ = info.name
        self.__doc__ = doc_of(info, self.signature, self.KEYWORDS)
        self._attributes = {each.name: each for each in info.attributes}
        self._input_names = tuple(each.name for each in info.inputs)
        self._result: Callable[..., Any] | None = None
        if len(info.outputs) > 1:
            self._result = result_type(f"{info.name}_result", info.outputs)
        self.recipe: Any = None  # gives it by its name in another process

    # -------------------------------------------------------- description

    @property
    def name(self) -> str:
        """The full name, as `cvm.conv2d`."""
        return self._info.full_name

    @property
    def inputs(self) -> tuple[str, ...]:
        return self._input_names

    @property
    def variadic(self) -> str | None:
        """The input that takes a list of tensors, where there is one."""
        return next((item.name for item in self._info.inputs if item.variadic), None)

    @property
    def attributes(self) -> tuple[str, ...]:
        return tuple(self._attributes)

    @property
    def outputs(self) -> tuple[str, ...]:
        return self._info.outputs

    @property
    def types(self) -> tuple[dict[str, str], ...]:
        """For each choice of element types those of the operands, but for operands of type `cvm`.

        `ops.tosa.reduce_sum.types[0]` is {"input1": "int32", "output1": "int32"}.
        """
        return tuple(dict(row) for row in self._info.types)

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
        return f"{self._info.name}{signature_of(self._info)}"

    def __getattr__(self, name: str) -> Any:
        # What `inspect.signature` asks for; the class has another one.
        if name == "__signature__":
            return signature_of(self._info, self.KEYWORDS)
        raise AttributeError(f"'{type(self).__name__}' object has no attribute '{name}'")

    def source(self, target: str) -> str:
        """The generated text of a target: python, c or cuda."""
        return self._backend.source(self._info, target)

    def __repr__(self) -> str:
        return f"<operator {self._info.opset}.{self.signature}>"

    def __reduce__(self) -> tuple[Any, ...]:
        """How another process finds it again, and what it must find."""
        if self.recipe is None:
            unsendable(f"<operator {self.name}>", "it comes from no `cvmgen.load`")
        return self.recipe, (self.name,)

    def __copy__(self) -> Operator:
        return self

    def __deepcopy__(self, _: dict[int, Any]) -> Operator:
        return self

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

        inputs: arrays of the element types that `types` lists, in the order of `inputs`; optional
            ones may be None. Those that `types` does not name are int8 or int32.
        precisions: declared precision by input name; the others are measured
        dtype: of the result, int8 or int32 where it has a precision; out: array (or tuple of
            them) to write to
        check: "values" refuses data beyond their declared precision
        Raises OperatorError for a call that the formula does not admit.
        """
        return self._bound(self._checked(inputs, precisions, dtype, out, check, attributes))()

    def infer(
        self, shapes: Sequence[Any], precisions: Sequence[Any] | None = None, **attributes: Any
    ) -> Inferred:
        """Shapes and precisions of the outputs from those of the inputs, without data.

        One entry for each input, None for one that is not given; a variadic input takes a
        list of shapes and a list of precisions. Raises OperatorError as a call would.
        precisions: as a call takes them; nothing is measured here
        """
        if isinstance(shapes, str) or not isinstance(shapes, Collection):
            self._refuse("shapes", repr(shapes), "a list with a shape for each input is needed")
        self._at_most("shapes", shapes)
        given = [*shapes, *[None] * (len(self._info.inputs) - len(shapes))]
        self._all_given(given)
        values = self._complete(attributes)
        checked = [
            self._shapes(item, each) for item, each in zip(self._info.inputs, given, strict=True)
        ]
        known = self._declared(precisions, checked)
        return self._backend.infer(self._info, Described(checked, known, values))

    def bind(
        self,
        *inputs: Any,
        precisions: Any = None,
        dtype: Any = None,
        out: Any = None,
        check: str | None = None,
        constants: Sequence[str] = (),
        **attributes: Any,
    ) -> Any:
        """The call with its arrays fixed, a Bound: each call of it computes into the same output.

        Shapes, attributes and precisions are checked here, once; each call reads the arrays anew,
        but for inputs that `constants` names: their elements must stay as they are.
        Where a shape, a tuple of integers, stands in place of an array, this gives an OpenCall: the
        array comes with each call, as do those for the results. All arrays that are given here are
        constants then: `op = bind((64, 1024), W=weights, precisions={"X": 8})`, `y = op(x)`.
        """
        self._constants(constants)
        given = self._by_name(inputs, attributes)
        if any(map(is_shape, given.values())):
            return self._open(given, precisions, dtype, out, check, attributes)
        call = self._checked(inputs, precisions, dtype, out, check, attributes)
        return self._bound(call, constants)

    def _constants(self, names: Sequence[str]) -> None:
        if isinstance(names, str) or not isinstance(names, Iterable):
            self._refuse("constants", repr(names), "a list of names of inputs is needed")
        for name in names:
            if name not in self._input_names:
                known = ", ".join(self._input_names)
                self._refuse("constants", repr(name), f"there is no such input; inputs: {known}")

    def _by_name(self, inputs: tuple[Any, ...], keywords: Mapping[str, Any]) -> dict[str, Any]:
        """What is given for the inputs, as far as it is known by its place or name."""
        if self.variadic is not None:
            return {}
        given = dict(zip(self._input_names, inputs, strict=False))
        return given | {name: each for name, each in keywords.items() if name in self._input_names}

    def _open(
        self,
        given: dict[str, Any],
        precisions: Any,
        dtype: Any,
        out: Any,
        check: str | None,
        attributes: dict[str, Any],
    ) -> OpenCall:
        """A call that waits for arrays; all is checked but these."""
        self._check_word(check)
        if out is not None:
            self._refuse("out", "", "where arrays come with each call, so does the one for results")
        others = {name: each for name, each in attributes.items() if name not in given}
        operands = [given.get(name) for name in self._input_names]
        self._all_given(operands)
        values = self._complete(others)
        declared = self._declared(precisions, operands)
        for name, each, known in zip(self._input_names, operands, declared, strict=True):
            if is_shape(each) and known is None and self._info.has_precision(name):
                self._refuse(name, "", UNDECLARED)
        pairs = list(zip(self._info.inputs, operands, strict=True))
        arrays = [None if is_shape(each) else self._arrays(item, each) for item, each in pairs]
        shapes = [
            self._shapes(item, each if array is None else shape_of(array))
            for (item, each), array in zip(pairs, arrays, strict=True)
        ]
        measured = self._precisions(declared, arrays)
        self._backend.infer(self._info, Described(shapes, measured, values))
        keywords = {"precisions": precisions, "dtype": dtype, "check": check, **others}
        return self._opened(dict(zip(self._input_names, operands, strict=True)), keywords)

    def _opened(self, given: dict[str, Any], keywords: dict[str, Any]) -> OpenCall:
        return OpenCall(self, given, keywords)

    def _checked(
        self,
        inputs: tuple[Any, ...],
        precisions: Any,
        dtype: Any,
        out: Any,
        check: str | None,
        attributes: dict[str, Any],
    ) -> Call:
        """All checks of a call but those of the values of its elements."""
        self._check_word(check)
        operands, values = self._sorted(inputs, attributes)
        types, typed_arrays = self._typed(operands)
        given = [
            typed_arrays[item.name] if item.name in typed_arrays else self._arrays(item, each)
            for item, each in zip(self._info.inputs, operands, strict=True)
        ]
        shapes = [
            self._shapes(item, shape_of(each))
            for item, each in zip(self._info.inputs, given, strict=True)
        ]
        declared = self._declared(precisions, given)
        known = self._precisions(declared, given)
        inferred = self._backend.infer(self._info, Described(shapes, known, values))
        targets = self._targets(inferred, dtype, out, given, types)
        return Call(given, declared, known, values, inferred, targets, check is not None)

    def _bound(self, call: Call, constants: Sequence[str] = ()) -> Bound:
        there, loads, stores = call.contiguous()
        run = self._started(there, constants)
        return Bound(self.name, run, self._whole(call.targets), loads, stores, call.inferred)

    def _started(self, call: Call, constants: Sequence[str]) -> Callable[[], None]:
        return self._backend.bind(self._info, call)

    def _whole(self, targets: Sequence[Array]) -> Any:
        """The result of a call: an array, or several by their names."""
        return self._result(*targets) if self._result else targets[0]

    # -------------------------------------------------------- arguments

    def _refuse(self, argument: str, value: str, rule: str) -> NoReturn:
        support.refuse(self._info.full_name, argument, value, rule)

    def _check_word(self, check: str | None) -> None:
        if check not in (None, "values"):
            self._refuse("check", repr(check), "None or 'values' is needed")

    def _at_most(self, argument: str, given: Sequence[Any]) -> None:
        count, names = len(self._info.inputs), ", ".join(self._input_names)
        if len(given) > count:
            rule = f"{count} input{'s' * (count != 1)} at most: {names}"
            self._refuse(argument, f"{len(given)} given", rule)

    def _sorted(
        self, inputs: tuple[Any, ...], keywords: dict[str, Any]
    ) -> tuple[list[Any], dict[str, Any]]:
        """Operands in the order of the inputs, and the attributes."""
        items = self._info.inputs
        positional = list(inputs)
        if len(items) == 1 and items[0].variadic and not _is_sequence(inputs):
            positional = [list(inputs)] if inputs else []
        self._at_most("", positional)
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
        self._all_given(operands)
        return operands, self._complete(attributes)

    def _all_given(self, operands: Sequence[Any]) -> None:
        for item, value in zip(self._info.inputs, operands, strict=True):
            if value is None and not item.optional:
                self._refuse(item.name, "", support.INPUT_MISSING)

    def _complete(self, given: Mapping[str, Any]) -> dict[str, Any]:
        """Every attribute, given or by default, as int, bool, tuple, word or None."""
        for name in given:
            if name not in self._attributes:
                rule = f"there is no such attribute; {self._meant(name)}"
                shape = getattr(given[name], "shape", None)
                self._refuse(name, repr(given[name]) if shape is None else f"shape {shape}", rule)
        return {
            name: self._value(attribute, given.get(name))
            for name, attribute in self._attributes.items()
        }

    def _meant(self, name: str) -> str:
        """What a call may have meant by a name that is none."""
        word = name.lower()
        alike = [each for each in self._input_names if begins(word, each.lower())]
        if hint := did_you_mean(name, self._attributes) or did_you_mean(name, self._input_names):
            return hint
        if len(alike) == 1:
            return f"did you mean the input '{alike[0]}'?"
        known = ", ".join(self._attributes) or "none"
        return f"its attributes: {known}; its inputs: {', '.join(self._input_names)}"

    def _value(self, attribute: AttributeInfo, value: Any) -> Any:
        operator, name = self._info.full_name, attribute.name
        if value is None:
            if attribute.required:
                self._refuse(name, "", support.ATTRIBUTE_MISSING)
            return attribute.default
        words = attribute.words
        if attribute.kind == "word" or (isinstance(value, str) and value in words):
            return support.word(operator, name, value, words)
        if attribute.is_list or attribute.length is not None:
            return support.integers(operator, name, value, attribute.length, words)
        if attribute.kind == "bool":
            return support.boolean(operator, name, value)
        return support.integer(operator, name, value, words)

    def _arrays(self, item: InputInfo, value: Any) -> Given:
        """What is given for an input, as arrays; they may have any strides."""
        if value is None:
            return None
        operator = self._info.full_name
        if not item.variadic:
            return support.as_array(operator, item.name, value)
        entries = self._several(item, value, "arrays")
        return [support.as_array(operator, *pair) for pair in named(item.name, list(entries))]

    def _typed(self, operands: Sequence[Any]) -> tuple[typed.Row, dict[str, Any]]:
        """The element types of this call, and the inputs that have one of their own, as arrays."""
        if not self._info.types[0]:
            return {}, {}
        pairs = zip(self._info.inputs, operands, strict=True)
        given = {item.name: each for item, each in pairs if not self._info.has_precision(item.name)}
        several = [item.name for item in self._info.inputs if item.variadic]
        return typed.typed_operands(
            self._info.full_name,
            self._info.types,
            given,
            [name for name in several if name in given],
        )

    def _several(self, item: InputInfo, value: Any, what: str) -> Sequence[Any]:
        """The entries for a variadic input."""
        if isinstance(value, (list, tuple)):
            return value
        self._refuse(item.name, type(value).__name__, f"a list of {what} is needed")

    def _shapes(self, item: InputInfo, given: Any) -> Any:
        """The shape of an input, or the shapes of a variadic one, within the limits of all."""
        if given is None:
            return None
        if not item.variadic:
            return self._shape(item, item.name, given)
        shapes = self._several(item, given, "shapes")
        return [self._shape(item, *pair) for pair in named(item.name, list(shapes))]

    def _shape(self, item: InputInfo, name: str, given: Any) -> tuple[int, ...]:
        try:
            shape = tuple(map(index, given))
        except TypeError:
            self._refuse(name, f"shape {given!r}", "a shape is a tuple of integers")
        limits = support.INPUT_OR_EMPTY if item.empty else support.INPUT
        support.check_shape(self._info.full_name, name, shape, limits)
        return shape

    def _declared(self, given: Any, operands: Sequence[Any]) -> Precisions:
        """The declared precisions, in the order of the inputs; None where there is none."""
        if given is not None and not isinstance(given, (Mapping, list, tuple)):
            rule = "precisions by input name, or a list of them, are needed"
            self._refuse("precisions", repr(given), rule)
        if isinstance(given, (list, tuple)):
            self._at_most("precisions", given)
            given = dict(zip(self._input_names, given, strict=False))
        precise = [name for name in self._input_names if self._info.has_precision(name)]
        if given is not None:
            given = {name: value for name, value in dict(given).items() if value is not None}
        declared = support.declared(self._info.full_name, precise, given)
        return [
            None if operand is None else self._in_range(item, declared.get(item.name), operand)
            for item, operand in zip(self._info.inputs, operands, strict=True)
        ]

    def _in_range(self, item: InputInfo, declared: Any, operand: Any) -> Any:
        """A declared precision, or one for each tensor of a variadic input."""
        listed = isinstance(declared, list)
        if listed and not (item.variadic and len(declared) == len(operand)):
            many = f"{len(operand)} precisions" if item.variadic else "one precision"
            self._refuse("precisions", f"{item.name}: {declared!r}", f"{many} needed")
        entries = declared if listed else [declared] * (len(operand) if item.variadic else 1)
        for name, value in named(item.name, entries if item.variadic else declared):
            if value is not None and not 1 <= value <= support.MAX_PRECISION:
                self._refuse(name, f"precision {value}", support.PRECISION_RANGE)
        return entries if item.variadic else declared

    def _precisions(self, declared: Precisions, arrays: Sequence[Given]) -> Precisions:
        """The precisions of the inputs; those that are not declared are measured."""
        found: Precisions = []
        for name, array, known in zip(self._input_names, arrays, declared, strict=True):
            if array is None or not self._info.has_precision(name):
                found.append(known)
            elif isinstance(known, list):
                found.append(
                    [
                        self._measured(f"{name}[{at}]", *pair)
                        for at, pair in enumerate(zip(array, known, strict=True))
                    ]
                )
            else:
                found.append(self._measured(name, array, known))
        return found

    def _measured(self, name: str, array: Any, declared: int | None) -> int:
        if declared is not None:
            return declared
        return support.measured(self._info.full_name, name, array)

    # -------------------------------------------------------- results

    def _targets(
        self,
        inferred: Inferred,
        dtype: Any,
        out: Any,
        inputs: Sequence[Given],
        types: typed.Row,
    ) -> list[Array]:
        """The arrays that receive the results: the caller's, or new ones."""
        operator = self._info.full_name
        # Where there are outputs of type `cvm`, it is theirs that the caller may choose.
        asked = None if any(map(self._info.has_precision, self.outputs)) else dtype
        if out is None:
            default = self._default_dtype(inputs)
            made = []
            for name, shape, precision in zip(self.outputs, *inferred, strict=True):
                if name in types:
                    wanted = typed.typed_result(operator, name, asked, types[name])
                else:
                    assert precision is not None
                    wanted = support.result_dtype(operator, name, dtype, precision, default)
                made.append(new_array(shape, wanted))
            return made
        targets = [out] if self._result is None else self._several_out(out)
        apart = [
            pair
            for name, given in zip(self._input_names, inputs, strict=True)
            for pair in named(name, given)
        ]
        for name, target, shape, precision in zip(self.outputs, targets, *inferred, strict=True):
            if name in types:
                typed.check_typed_out(operator, name, target, shape, types[name], apart)
                typed.typed_result(operator, name, asked, types[name])
                apart.append((name, target))
                continue
            assert precision is not None
            support.check_out(operator, name, target, shape, precision, apart)
            if dtype is not None and np.dtype(dtype) != target.dtype:
                self._refuse("dtype", str(np.dtype(dtype)), f"out is of type {target.dtype}")
            first = next(
                other for key, other in zip(self.outputs, targets, strict=True) if key not in types
            )
            if target.dtype != first.dtype:
                self._refuse(name, f"dtype {target.dtype}", OUTPUT_TYPES)
            apart.append((name, target))
        return targets

    def _several_out(self, out: Any) -> list[Array]:
        count = len(self.outputs)
        if not isinstance(out, (list, tuple)) or len(out) != count:
            given = len(out) if isinstance(out, (list, tuple)) else type(out).__name__
            self._refuse("out", str(given), f"a tuple of {count} arrays is needed")
        return list(out)

    def _default_dtype(self, arrays: Sequence[Given]) -> Any:
        moved: list[Any] = []
        for name, given in zip(self._input_names, arrays, strict=True):
            if name in self._info.moves:
                moved += given if isinstance(given, list) else [given]
        return support.moved_dtype(moved)


def _is_sequence(inputs: tuple[Any, ...]) -> bool:
    return len(inputs) == 1 and isinstance(inputs[0], (list, tuple))


def begins(one: str, other: str) -> bool:
    """Whether one of two words begins with the other."""
    return one.startswith(other) or other.startswith(one)
