"""What a call is given: sorted into inputs and attributes, and checked."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from operator import index
from typing import Any, NoReturn

from cvmgen import attributes, rules, support, typed
from cvmgen.api.calls import Given, Precisions, named_inputs
from cvmgen.api.manifest import AttributeInfo, InputInfo, OperatorInfo
from cvmgen.source import did_you_mean


class Arguments:
    """Sorts and checks what an operator is called with; each refusal names it and the rule."""

    def __init__(self, info: OperatorInfo) -> None:
        self._info = info
        self._attributes = {each.name: each for each in info.attributes}
        self._input_names = tuple(each.name for each in info.inputs)

    def _refuse(self, argument: str, value: str, rule: str) -> NoReturn:
        rules.refuse(self._info.full_name, argument, value, rule)

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
                self._refuse(item.name, "", rules.INPUT_MISSING)

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
        alike = [each for each in self._input_names if shares_start(word, each.lower())]
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
                self._refuse(name, "", rules.ATTRIBUTE_MISSING)
            return attribute.default
        words = attribute.words
        if attribute.kind == "word" or (isinstance(value, str) and value in words):
            return attributes.word(operator, name, value, words)
        if attribute.kind == "real" and attribute.is_listed:
            return attributes.reals(operator, name, value, attribute.length)
        if attribute.is_listed:
            return attributes.integers(operator, name, value, attribute.length, words)
        if attribute.kind == "real":
            return attributes.real(operator, name, value)
        if attribute.kind == "bool":
            return attributes.boolean(operator, name, value)
        return attributes.integer(operator, name, value, words)

    def _each(self, ask: Callable[[InputInfo, Any], Any], given: Iterable[Any]) -> list[Any]:
        """What a question about an input and what is given for it finds for each input."""
        return [ask(*pair) for pair in zip(self._info.inputs, given, strict=True)]

    def _arrays(
        self, item: InputInfo, value: Any, one: Callable[[str, Any], Any] | None = None
    ) -> Any:
        """What is given for an input, as arrays, each by its name and value."""
        if value is None:
            return None
        one = self._array if one is None else one
        if not item.variadic:
            return one(item.name, value)
        entries = self._several(item, value, "arrays")
        return [one(*pair) for pair in named_inputs(item.name, list(entries))]

    def _array(self, name: str, value: Any) -> Any:
        """An array that is given, which may have any strides."""
        return support.as_array(self._info.full_name, name, value)

    def _typed(
        self, operands: Sequence[Any], values: Mapping[str, Any]
    ) -> tuple[typed.Row, dict[str, Any]]:
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
            self._deciding(values),
        )

    def _deciding(self, values: Mapping[str, Any]) -> dict[str, Any]:
        """The attributes that decide types, which the rows of these name beside operands."""
        return {name: values.get(name) for name in self._attributes if name in self._info.types[0]}

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
        return [self._shape(item, *pair) for pair in named_inputs(item.name, list(shapes))]

    def _shape(self, item: InputInfo, name: str, given: Any) -> tuple[int, ...]:
        try:
            shape = tuple(map(index, given))
        except TypeError:
            self._refuse(name, f"shape {given!r}", "a shape is a tuple of integers")
        limits = rules.INPUT_OR_EMPTY if item.empty else rules.INPUT
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
        for name, value in named_inputs(item.name, entries if item.variadic else declared):
            if value is not None and not 1 <= value <= rules.MAX_PRECISION:
                self._refuse(name, f"precision {value}", rules.PRECISION_RANGE)
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


def _is_sequence(inputs: tuple[Any, ...]) -> bool:
    return len(inputs) == 1 and isinstance(inputs[0], (list, tuple))


def shares_start(one: str, other: str) -> bool:
    """Whether one of two words begins with the other."""
    return one.startswith(other) or other.startswith(one)
