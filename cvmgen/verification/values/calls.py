"""A call of an operator on terms: its arguments as the C structure, its results as terms."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from random import Random
from typing import Any

import numpy as np

from cvmgen.api.c_backend import NO_OVERFLOW, CBackend, ErrorStruct, TensorPointer
from cvmgen.api.manifest import Manifest, OperatorInfo
from cvmgen.dtypes import DTYPES, precision_bound
from cvmgen.reals import STORED
from cvmgen.reference.operator import Reference
from cvmgen.reference.tensor import Tensor
from cvmgen.spec.formula import Operator
from cvmgen.typed import element_type
from cvmgen.verification.values import choices, llvm, modular
from cvmgen.verification.values import real_terms as rt
from cvmgen.verification.values import terms as t
from cvmgen.verification.values.evaluate import BFLOAT16, integer_of
from cvmgen.verification.values.machine import Machine
from cvmgen.verification.values.memory import UndefinedBehaviour, as_bits, of_bits

Operand = Tensor | list[Tensor] | None
Element = Callable[[str, int, Tensor], Any]


class Refused(UndefinedBehaviour):
    """The text refuses a call."""


@dataclass(frozen=True, slots=True)
class ChosenCall:
    """Inputs by name, whose values do not matter, and attributes that are given."""

    inputs: Mapping[str, Operand]
    attributes: Mapping[str, Any] = field(default_factory=dict)

    def text(self) -> str:
        """As a person would write it."""
        parts = [f"{name}={_operand_text(value)}" for name, value in self.inputs.items()]
        parts += [
            f"{name}={value!r}" for name, value in self.attributes.items() if value is not None
        ]
        return ", ".join(parts)


def _operand_text(value: Operand) -> str:
    if value is None:
        return "None"
    if isinstance(value, list):
        return f"[{', '.join(map(_operand_text, value))}]"
    return f"{value.dtype}{list(value.shape)}" + (
        f" of {value.precision} bits" if value.precision else ""
    )


@dataclass(frozen=True, slots=True)
class PlacedArray:
    """An array in the machine's memory."""

    place: int
    size: int
    dtype: np.dtype[Any]


class MachineBackend(CBackend):
    """Argument structures whose tensors lie in a machine's memory."""

    def __init__(self, manifest: Manifest) -> None:
        super().__init__(Path(), manifest, Path(), functions=object())

    @staticmethod
    def address(array: Any) -> int:
        return int(array.place)


@dataclass(frozen=True, slots=True)
class DescribedCall:
    shapes: Sequence[Any]
    precisions: Sequence[Any]
    attributes: Mapping[str, Any]


def with_numbers(call: ChosenCall, numbers: Mapping[tuple[str, int], Any]) -> ChosenCall:
    """The call with these elements, and 0 where there is none."""

    def element(name: str, at: int, tensor: Tensor) -> Any:
        kind = {"real": float, "bool": bool, "int": int}[DTYPES[tensor.dtype].kind]
        return kind(numbers.get((name, at), 0))

    return with_terms(call, element)


def _filled(name: str, tensor: Tensor, element: Element) -> Tensor:
    values = [element(name, at, tensor) for at in range(tensor.size)]
    return Tensor(tensor.shape, values, tensor.precision, tensor.dtype)


def _symbol(name: str, at: int, tensor: Tensor) -> Any:
    """An element as a term, within what its precision or its type says."""
    dtype = DTYPES[tensor.dtype]
    if dtype.kind == "real":
        return rt.element(name, at, dtype.name)
    if dtype.kind == "bool":
        return t.equal(t.element(name, at, 0, 1), 1)
    low, high = dtype.low, dtype.high
    if tensor.precision:
        bound = precision_bound(tensor.precision)
        low, high = max(low, -bound), min(high, bound)
    return t.element(name, at, low, high)


def with_terms(call: ChosenCall, element: Element = _symbol) -> ChosenCall:
    """The call with an element of its own at each place of an input."""
    inputs: dict[str, Operand] = {}
    for name, value in call.inputs.items():
        if isinstance(value, list):
            inputs[name] = [
                _filled(f"{name}[{at}]", tensor, element) for at, tensor in enumerate(value)
            ]
        else:
            inputs[name] = _filled(name, value, element) if value is not None else None
    return ChosenCall(inputs, call.attributes)


class Caller:
    """Puts a call into a machine and reads its results."""

    def __init__(
        self, machine: Machine, manifest: Manifest, info: OperatorInfo, suffix: str = ""
    ) -> None:
        self.machine, self.info, self.suffix = machine, info, suffix
        self.backend = MachineBackend(manifest)

    def run(self, call: ChosenCall, outputs: Mapping[str, Tensor]) -> dict[str, list[Any]]:
        """The values of outputs of the given shapes and types."""
        places = {name: self.unwritten(name, tensor) for name, tensor in outputs.items()}
        self.fill(call, outputs, places)
        return {name: self.values(places[name], outputs[name]) for name in outputs}

    def tried(self, call: ChosenCall, outputs: Mapping[str, Tensor]) -> None:
        """Run a call whose results nobody reads."""
        places = {name: self.memory_of(name, tensor) for name, tensor in outputs.items()}
        self.fill(call, outputs, places)

    def fill(
        self,
        call: ChosenCall,
        outputs: Mapping[str, Tensor],
        places: Mapping[str, PlacedArray],
    ) -> None:
        info = self.info
        arrays = [each_of(call.inputs.get(item.name), self.placed) for item in info.inputs]
        args, kept = self.backend.arguments(info, described(info, call), arrays)  # type: ignore[arg-type]
        for name, tensor in outputs.items():
            made = self.backend.tensor(tensor.shape, None, places[name])  # type: ignore[arg-type]
            setattr(args, name, ctypes.pointer(made))
            kept.append(made)
        error = self.machine.memory.new(ctypes.sizeof(ErrorStruct), "the error")
        if self.start(self.structure(args), error):
            raise Refused(f"the call is refused: {self.refusal(error)}")

    def start(self, args: int, error: int) -> Any:
        """Call the function of the target; its status."""
        name, machine = f"{self.info.function}{self.suffix}", self.machine
        function = machine.exported(name)
        if not self.suffix:
            return machine.call(function, [args, error])
        if not machine.has(f"{name}_refused"):
            return machine.call(function, [args, 0, error])
        words = machine.memory.new(8 * len(self.info.outputs), "the notes")
        for at in range(len(self.info.outputs)):
            machine.memory.put_integer(words + 8 * at, 8, NO_OVERFLOW)
        status = machine.call(function, [args, 0, words, error])
        return status or machine.call(machine.exported(f"{name}_refused"), [args, words, error])

    def refusal(self, error: int) -> str:
        block, _ = self.machine.memory.find(error, ctypes.sizeof(ErrorStruct))
        found = ErrorStruct.from_buffer_copy(bytes(block.data))
        return f"{found.argument.decode()} {found.rule.decode()}"

    # ------------------------------------------------------------ into memory

    def placed(self, tensor: Tensor) -> PlacedArray:
        dtype = DTYPES[tensor.dtype]
        size = dtype.bits // 8 if dtype.kind != "bool" else 1
        place = self.machine.memory.new(tensor.size * size, "an input")
        for at, value in enumerate(tensor.values):
            if tensor.dtype == BFLOAT16:
                term = isinstance(value, rt.RealTerm)
                bits = (as_bits if term else integer_of)(value, BFLOAT16)
                self.machine.memory.put_integer(place + at * size, size, bits)
            elif dtype.kind == "real":
                self.machine.memory.put_real(place + at * size, size, value)
            else:
                whole = (
                    choices.choose(value, 1, 0)
                    if isinstance(value, t.Condition)
                    else int(value)
                    if isinstance(value, bool)
                    else value
                )
                self.machine.memory.put_integer(place + at * size, size, whole)
        return PlacedArray(place, tensor.size, element_type(tensor.dtype))

    def unwritten(self, name: str, tensor: Tensor) -> PlacedArray:
        """Memory whose elements are unlike any other until they are written."""
        size, found = _width(tensor), self.memory_of(name, tensor)
        for at in range(tensor.size):
            half = 1 << (8 * size - 1)
            mark = t.atom(("not written", name, at), -half, half - 1)
            self.machine.memory.put_integer(found.place + at * size, size, mark)
        return found

    def memory_of(self, name: str, tensor: Tensor) -> PlacedArray:
        place = self.machine.memory.new(tensor.size * _width(tensor), f"the output {name}")
        return PlacedArray(place, tensor.size, element_type(tensor.dtype))

    def structure(self, args: Any) -> int:
        """A structure of arguments, with what it points to."""
        memory = self.machine.memory
        place = memory.new(ctypes.sizeof(args), "the arguments")
        block, _ = memory.find(place, 0)
        block.data[:] = bytes(args)
        for name, kind in args._fields_:
            at = place + getattr(type(args), name).offset
            value = getattr(args, name)
            if kind is TensorPointer:
                memory.put_integer(at, 8, self.bytes_of(value.contents) if value else 0)
            elif kind is ctypes.POINTER(TensorPointer):
                count = getattr(args, f"{name}_count")
                table = memory.new(8 * max(count, 1), "the tensors")
                for i in range(count if value else 0):
                    memory.put_integer(table + 8 * i, 8, self.bytes_of(value[i].contents))
                memory.put_integer(at, 8, table if value else 0)
            elif kind in (ctypes.POINTER(ctypes.c_int64), ctypes.POINTER(ctypes.c_double)):
                memory.put_integer(at, 8, self.bytes_of(value.contents) if value else 0)
        return place

    def bytes_of(self, contents: Any) -> int:
        data = bytes(contents)
        place = self.machine.memory.new(len(data), type(contents).__name__)
        self.machine.memory.find(place, 0)[0].data[:] = data
        return place

    # ------------------------------------------------------------ out of memory

    def values(self, array: PlacedArray, tensor: Tensor) -> list[Any]:
        dtype, size = DTYPES[tensor.dtype], _width(tensor)
        numbers = dtype.kind == "real" and tensor.dtype != BFLOAT16
        kind: llvm.Type = llvm.RealType(8 * size) if numbers else llvm.Int(8 * size)
        found = [
            self.machine.memory.get(kind, array.place + at * size) for at in range(tensor.size)
        ]
        if tensor.dtype == BFLOAT16:
            return [of_bits(modular.signed(value, 16), BFLOAT16) for value in found]
        if dtype.kind == "real":
            return found
        read = modular.signed if dtype.low < 0 else modular.unsigned
        return [read(value, 8 * size) for value in found]


def _width(tensor: Tensor) -> int:
    dtype = DTYPES[tensor.dtype]
    return dtype.bits // 8 if dtype.kind != "bool" else 1


def described(info: OperatorInfo, call: ChosenCall) -> DescribedCall:
    given = [call.inputs.get(item.name) for item in info.inputs]
    return DescribedCall(
        [each_of(operand, lambda tensor: tensor.shape) for operand in given],
        [each_of(operand, lambda tensor: tensor.precision or None) for operand in given],
        {a.name: _completed(a, call.attributes.get(a.name)) for a in info.attributes},
    )


def each_of(operand: Operand, read: Any) -> Any:
    if operand is None:
        return None
    return [read(tensor) for tensor in operand] if isinstance(operand, list) else read(operand)


def _completed(attribute: Any, value: Any) -> Any:
    """The value of an attribute, with its default where it is not given."""
    found = attribute.default if value is None else value
    if found is None and attribute.length is not None:
        return (0,) * attribute.length
    return tuple(found) if isinstance(found, list) else found


def tensors_of(call: ChosenCall) -> Iterator[tuple[str, Tensor]]:
    """The inputs that are given, by their names in terms."""
    for name, value in call.inputs.items():
        if isinstance(value, list):
            yield from ((f"{name}[{at}]", tensor) for at, tensor in enumerate(value))
        elif value is not None:
            yield name, value


def with_types(case: ChosenCall, dtype: str) -> ChosenCall:
    """The call with inputs of type `cvm` stored so, where their precision fits."""

    def stored(tensor: Tensor) -> Tensor:
        if not tensor.precision or (dtype == "int8" and tensor.precision > 8):
            return tensor
        return replace(tensor, dtype=dtype)

    inputs = {
        name: [stored(each) for each in value]
        if isinstance(value, list)
        else value and stored(value)
        for name, value in case.inputs.items()
    }
    return ChosenCall(inputs, case.attributes)


def for_device(info: OperatorInfo, case: ChosenCall) -> ChosenCall:
    """The call with inputs of the types that kernels of a device read: int8 where all of type `cvm`
    are, but for those that are int32 always."""
    items = {item.name: item for item in info.inputs if info.has_precision(item.name)}
    free = [
        tensor.dtype
        for name, tensor in tensors_of(case)
        if name.split("[")[0] in items and not items[name.split("[")[0]].int32
    ]
    narrow = "int8" if all(each == "int8" for each in free) else "int32"

    def stored(name: str, operand: Operand) -> Operand:
        if operand is None or name not in items:
            return operand
        dtype = "int32" if items[name].int32 else narrow
        if isinstance(operand, list):
            return [replace(each, dtype=dtype) for each in operand]
        return replace(operand, dtype=dtype)

    return ChosenCall(
        {name: stored(name, each) for name, each in case.inputs.items()}, case.attributes
    )


def drawing(case: ChosenCall) -> Callable[[tuple[str, int], Random], Any]:
    """Elements of the inputs: edges and small numbers more often than others; one by itself is 0 as
    often as not, as zero points of most types have to be."""
    tensors = dict(tensors_of(case))
    special = 1 / max(1, sum(tensor.size for tensor in tensors.values()))

    def draw(about: tuple[str, int], random: Random) -> Any:
        tensor = tensors[about[0]]
        dtype = DTYPES[tensor.dtype]
        if dtype.kind == "real":  # one that is none hides all others
            distant = (1e30, float("inf"), float("nan"))
            nearby = (0.0, -0.0, 1.0, -1.5, random.uniform(-9, 9))
            return STORED[dtype.name](
                random.choice(distant if random.random() < special else nearby)
            )
        if dtype.kind == "bool":
            return random.getrandbits(1)
        if tensor.size == 1 and random.getrandbits(1):
            return 0
        low, high = dtype.low, dtype.high
        if tensor.precision:
            bound = precision_bound(tensor.precision)
            low, high = max(low, -bound), min(high, bound)
        near = [max(low, min(high, random.randint(-3, 3))), low, high]
        return random.choice((*near, random.randint(low, high)))

    return draw


def given(shown: Mapping[tuple[str, int], Any]) -> str:
    """Inputs as they stand behind what they show."""
    inputs = ", ".join(f"{name}[{at}] = {value}" for (name, at), value in sorted(shown.items()))
    return f" for {inputs}" if inputs else ""


def result_types(
    operator: Operator, info: OperatorInfo, case: ChosenCall, wanted: Mapping[str, Tensor]
) -> list[dict[str, str]]:
    """The element types that results may have: without a word about it, and the other one if every
    value fits it."""
    inferred = Reference(operator).infer(case.inputs, case.attributes).outputs
    usual, other = {}, {}
    for name, tensor in wanted.items():
        if not info.has_precision(name):
            usual[name] = other[name] = tensor.dtype
            continue
        moved = {
            tensor.dtype for each, tensor in tensors_of(case) if each.split("[")[0] in info.moves
        }
        usual[name] = "int8" if info.moves and moved == {"int8"} else "int32"
        narrow = usual[name] == "int32" and inferred[name].precision <= 8
        other[name] = "int8" if narrow else "int32"
    return [usual] if usual == other else [usual, other]
