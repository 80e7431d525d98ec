"""An operator as users call it: arguments sorted and checked, results allocated."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from functools import partial
from typing import Any, NoReturn

import numpy as np

from cvmgen import support, typed
from cvmgen.api.arguments import Arguments
from cvmgen.api.calls import (
    Array,
    Backend,
    Bound,
    CheckedCall,
    Described,
    Given,
    Inferred,
    Uncopied,
    given_shape,
    named_inputs,
    reduced_to_recipe,
    result_type,
    several,
)
from cvmgen.api.description import KEYWORDS, doc_of, signature_of
from cvmgen.api.manifest import InputInfo, OperatorInfo
from cvmgen.api.open_call import UNDECLARED, OpenCall, is_shape
from cvmgen.memory import new_array

OUTPUT_TYPES = "all outputs must have one element type"


def shaped(given: Any) -> Any:
    """An array of zeros, all in one place, for what has a shape and a type of elements; several for
    a list."""
    if given is None:
        return None
    if isinstance(given, (list, tuple)):
        return [*map(shaped, given)]
    return np.broadcast_to(np.zeros((), given.dtype), given.shape)


class Operator(Arguments, Uncopied):
    """A generated operator. Calling it gives its result; see `signature` and `formula`."""

    KEYWORDS: Mapping[str, str] = KEYWORDS

    def __init__(self, info: OperatorInfo, backend: Backend) -> None:
        super().__init__(info)
        self._backend = backend
        self.__name__ = info.name
        self.__doc__ = doc_of(info, self.signature, self.KEYWORDS)
        self.recipe: Any = None  # gives it by its name in another process
        self._result: Callable[..., Any] | None = None
        if len(info.outputs) > 1:
            self._result = result_type(f"{info.name}_result", info.outputs)

    # -------------------------------------------------------- description

    @property
    def name(self) -> str:
        """The full name, as `cvm.conv2d`."""
        return self._info.full_name

    @property
    def info(self) -> OperatorInfo:
        """What the manifest says of it."""
        return self._info

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
        """For each choice of element types those of the operands, but for operands of type `cvm`,
        and those that attributes decide.

        `ops.tosa.reduce_sum.types[0]` is {"input1": "int32", "output1": "int32"}.
        """
        return tuple(dict(row) for row in self._info.types)

    @property
    def doc(self) -> str:
        """What it gives, in a line."""
        return self._info.doc

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

    def _repr_html_(self) -> str:
        from cvmgen.api.notebook import operator_html

        return operator_html(self._info, self.signature)

    def _repr_latex_(self) -> str | None:
        from cvmgen.api.notebook import operator_latex

        return operator_latex(self._info)

    def __reduce__(self) -> tuple[Any, ...]:
        return reduced_to_recipe(f"<operator {self.name}>", self.recipe, self.name)

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
        checked = self._each(self._shapes, given)
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
        arrays = self._each(self._constant, [None if is_shape(each) else each for each in operands])
        known_shapes = (
            each if array is None else given_shape(array)
            for each, array in zip(operands, arrays, strict=True)
        )
        shapes = self._each(self._shapes, known_shapes)
        measured = self._precisions(declared, arrays)
        self._backend.infer(self._info, Described(shapes, measured, values))
        others = {name: values[name] for name in others}  # which nobody changes
        keywords = {"precisions": precisions, "dtype": dtype, "check": check, **others}
        return self._opened(dict(zip(self._input_names, operands, strict=True)), keywords)

    def _constant(self, item: InputInfo, value: Any) -> Any:
        """What is given for an input while others wait for theirs: what a type of its own may be,
        all of them say together."""
        if self._info.has_precision(item.name):
            return self._arrays(item, value)
        return self._arrays(item, value, partial(support.any_array, self.name))

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
    ) -> CheckedCall:
        """All checks of a call but those of the values of its elements."""
        self._check_word(check)
        operands, values = self._sorted(inputs, attributes)
        types, typed_arrays = self._typed(operands, values)
        given = [
            typed_arrays[item.name] if item.name in typed_arrays else self._arrays(item, each)
            for item, each in zip(self._info.inputs, operands, strict=True)
        ]
        shapes = self._each(self._shapes, map(given_shape, given))
        declared = self._declared(precisions, given)
        known = self._precisions(declared, given)
        inferred = self._backend.infer(self._info, Described(shapes, known, values))
        targets = self._targets(inferred, dtype, out, given, types)
        return CheckedCall(given, declared, known, values, inferred, targets, check is not None)

    def without_data(
        self,
        inputs: Sequence[Any],
        precisions: Any,
        dtype: Any,
        attributes: dict[str, Any],
        is_measured: bool = True,
    ) -> CheckedCall:
        """A call on arrays of which nothing but shape and element type is known yet: all checks but
        those of elements. Its `targets` are what results will be; a precision that is not declared
        is taken to be 1, or refused where none `is_measured` later. Raises OperatorError as a call
        would.
        """
        operands, _ = self._sorted(tuple(map(shaped, inputs)), attributes)
        declared = self._declared(precisions, operands)
        for name, each, there in zip(self._input_names, declared, operands, strict=True):
            is_open = None in (each if isinstance(each, list) else [each])
            if there is not None and is_open and not is_measured and self._info.has_precision(name):
                self._refuse(name, "", UNDECLARED)
        known = {
            name: [one or 1 for one in each] if isinstance(each, list) else each or 1
            for name, each, there in zip(self._input_names, declared, operands, strict=True)
            if there is not None and self._info.has_precision(name)
        }
        call = self._checked(tuple(operands), known, dtype, None, None, attributes)
        return call._replace(declared=declared)

    def refuse_gradient(self, *_: Any) -> NoReturn:
        """What libraries call that ask for a gradient."""
        self._refuse("gradient", "", "it has none; a function around the call may define one")

    def _bound(self, call: CheckedCall, constants: Sequence[str] = ()) -> Bound:
        there, loads, stores = call.contiguous()
        run = self._started(there, constants)
        return Bound(self.name, run, self._whole(call.targets), loads, stores, call.inferred)

    def _started(self, call: CheckedCall, constants: Sequence[str]) -> Callable[[], None]:
        return self._backend.bind(self._info, call)

    def _whole(self, targets: Sequence[Array]) -> Any:
        """The result of a call: an array, or several by their names."""
        return self._result(*targets) if self._result else targets[0]

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
            for pair in named_inputs(name, given)
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
                moved += several(given)
        return support.moved_dtype(moved)
