"""CUDA kernels on other grids and in other orders than launched, against the reference."""

from __future__ import annotations

import ctypes
import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from cvmgen.api.c_backend import CBackend, ErrorStruct, TensorStruct
from cvmgen.api.calls import Described
from cvmgen.api.cuda_cpu_backend import CudaCpuBackend, ThreadOrder
from cvmgen.api.manifest import read_manifest
from cvmgen.api.operator import Operator
from cvmgen.dtypes import CVM
from cvmgen.emit import cuda_support
from cvmgen.errors import OperatorError
from cvmgen.reference import Reference, Tensor
from cvmgen.reference.probe import example_arguments, same_result
from cvmgen.spec.examples import python_value
from cvmgen.typing import choices
from tests.conformance import random_calls
from tests.conformance.calls import bits
from tests.emit.cuda_texts import NAMES, classes, operators, program
from tests.emit.on_cpu import OnCpu, library
from tests.operators import sampled

CALLS = 6  # of each operator, on three grids
MARGIN = 7  # elements in front of an output and behind it


# ---------------------------------------------------------------- results


@dataclass(frozen=True)
class Call:
    """An operator's full name, and what it takes: a tensor (or several) by input, attributes."""

    name: str
    given: dict[str, Any]
    attributes: dict[str, Any]

    def expected(self) -> list[Tensor]:
        """What the formula gives; raises OperatorError for a call that it refuses."""
        found = Reference(operators()[self.name]).evaluate(self.given, self.attributes).outputs
        return [found[each] for each in operators()[self.name].output_names]

    def run(self, on_cpu: OnCpu, out: Any = None) -> None:
        arrays = {item: each_of(bits, operand) for item, operand in self.given.items()}
        operator = on_cpu.operators[self.name]
        precisions = {
            item: each_of(precision, operand)
            for item, operand in self.given.items()
            if operator._info.has_precision(item)
        }
        operator(**arrays, precisions=precisions, out=out, **self.attributes)


def each_of(function: Callable[[Any], Any], operand: Any) -> Any:
    return [function(one) for one in operand] if isinstance(operand, list) else function(operand)


def precision(tensor: Tensor) -> int:
    return tensor.precision


def check(made: Call, expected: Sequence[Tensor], dtype: str, on_cpu: OnCpu) -> None:
    """Call the operator; compare every element, and what lies around the outputs."""
    precise = operators()[made.name].precise_outputs
    types = [
        dtype if name in precise else each.dtype
        for name, each in zip(operators()[made.name].output_names, expected, strict=True)
    ]
    around = [
        np.full(each.size + 2 * MARGIN, 99, kind)
        for each, kind in zip(expected, types, strict=True)
    ]
    outputs = tuple(
        whole[MARGIN:-MARGIN].reshape(each.shape)
        for whole, each in zip(around, expected, strict=True)
    )
    made.run(on_cpu, outputs if len(outputs) > 1 else outputs[0])
    for output, whole, each, kind in zip(outputs, around, expected, types, strict=True):
        assert output.tobytes() == bits(replace(each, dtype=kind)).tobytes(), made
        untouched = np.full(MARGIN, 99, kind).tobytes()
        assert whole[:MARGIN].tobytes() == untouched, made
        assert whole[-MARGIN:].tobytes() == untouched, made


def grids(name: str, source: random.Random) -> list[tuple[int, int, ThreadOrder]]:
    """Blocks and threads, 0 as launched, and an order."""
    # What threads of tiles do depends on how many there are.
    threads = 0 if "contraction" in classes(name).values() else 5
    return [(3, threads, "reverse"), (0, 0, "reverse"), (0, 0, source.randrange(1 << 64))]


def outcome(made: Call) -> tuple[list[Tensor], str]:
    """The outputs of the formula, or its refusal."""
    try:
        return made.expected(), ""
    except OperatorError as error:
        return [], str(error)


def of_one_type(name: str, inputs: Sequence[Any], *, narrow: bool) -> dict[str, Any]:
    """Inputs as tensors of the element types that kernels take: where these have a precision,
    int8 if asked for and possible."""
    wide = choices.int32_inputs(program(name))
    operands = {
        item.name: operand
        for item, operand in zip(operators()[name].inputs, inputs, strict=True)
        if operand is not None
    }
    typed = [item.name for item in operators()[name].inputs if item.dtype != CVM]
    free = [operand for item, operand in operands.items() if item not in (*wide, *typed)]
    arrays = [one for each in free for one in (each if isinstance(each, list) else [each])]
    fits = all(np.abs(one.astype(np.int64)).max(initial=0) < 128 for one in arrays)
    dtype = "int8" if narrow and fits else "int32"
    kinds = dict.fromkeys(operands, dtype) | dict.fromkeys(wide, "int32")
    return {
        item: each_of(partial(tensor_of, dtype=None if item in typed else kinds[item]), operand)
        for item, operand in operands.items()
    }


def tensor_of(array: Any, dtype: str | None) -> Tensor:
    """An array as a tensor of this type, or of its own."""
    return Tensor.of(array, dtype=dtype or array.dtype.name)


@pytest.mark.parametrize("name", sampled(NAMES))
def test_kernels_compute_the_formula(name: str, on_cpu: OnCpu) -> None:
    source = random.Random(f"cuda {name}")
    for _ in range(CALLS):
        drawn = random_calls.call(name, source)
        given = of_one_type(name, drawn.inputs, narrow=source.random() < 0.6)
        made = Call(name, given, dict(drawn.attributes))
        expected, refusal = outcome(made)
        if refusal:
            with pytest.raises(OperatorError) as caught:
                made.run(on_cpu)
            assert str(caught.value) == refusal
            continue
        narrow = all(each.precision <= 8 for each in expected)
        for dtype in ("int8", "int32") if narrow else ("int32",):
            for grid in grids(name, source):
                on_cpu.fix(*grid)
                check(made, expected, dtype, on_cpu)


@pytest.mark.parametrize("name", sampled(NAMES))
def test_kernels_compute_the_examples(name: str, on_cpu: OnCpu) -> None:
    operator = operators()[name]
    for example in operator.examples:
        inputs, attributes = example_arguments(operator, example)
        made = Call(name, inputs, dict(attributes))
        result = made.expected()[0]
        stated = Tensor.of(python_value(example.result), dtype=result.dtype)
        assert result.shape == stated.shape
        assert all(map(same_result, result.values, stated.values))
        for grid in grids(name, random.Random(f"grid {name}")):
            on_cpu.fix(*grid)
            check(made, made.expected(), "int32", on_cpu)


# ---------------------------------------------------------------- refusals


def relu(on_cpu: OnCpu, **changes: Any) -> tuple[int, ErrorStruct]:
    """Call cvm_relu_cuda with X and Y of five int32 elements but for the changes."""
    backend, info = on_cpu.backends["cvm"], on_cpu.operators.cvm.relu._info
    x, y = np.arange(5, dtype=np.int32), np.empty(5, np.int32)
    args, kept = backend.arguments(info, Described([x.shape], [8], {}), [x])
    args.X.contents.precision = changes.get("precision", 8)
    args.check_values = changes.get("check_values", 0)
    result: TensorStruct = backend.tensor(y.shape, None, y)
    args.Y = ctypes.pointer(result)
    kept.append(result)
    error = ErrorStruct()
    status = backend.function("cvm_relu")(ctypes.byref(args), ctypes.byref(error))
    if status == 0:
        assert y.tolist() == [0, 1, 2, 3, 4]
    return status, error


def test_an_undeclared_precision_is_refused(on_cpu: OnCpu) -> None:
    status, error = relu(on_cpu, precision=0)
    assert (status, error.status, error.argument) == (1, 1, b"X")
    assert error.rule == b"its precision must be declared: device memory is not measured"


def test_checking_values_is_refused(on_cpu: OnCpu) -> None:
    status, error = relu(on_cpu, check_values=1)
    assert (status, error.status, error.argument, error.value) == (1, 1, b"check_values", b"1")
    assert error.rule == b"must be 0: values in device memory are not checked"


def test_a_failed_launch_is_told_and_forgotten(on_cpu: OnCpu) -> None:
    state = on_cpu.backends["cvm"].state
    state.fail = 1
    status, error = relu(on_cpu)
    assert (status, error.status) == (3, 3)
    assert error.rule == b"CUDA: unspecified launch failure"
    assert state.pending_error == 0
    state.fail = 0
    assert relu(on_cpu)[0] == 0


def test_kernels_go_to_the_callers_stream(on_cpu: OnCpu) -> None:
    backend = on_cpu.backends["cvm"]
    backend.stream, before = 0x5000, backend.state.launches
    assert relu(on_cpu)[0] == 0
    assert backend.state.stream == 0x5000
    assert backend.state.launches == before + 1


def ran(on_cpu: OnCpu) -> tuple[int, int]:
    state = on_cpu.backends["cvm"].state
    return state.ran_blocks, state.ran_threads


def test_the_grid_has_a_thread_for_each_vector(on_cpu: OnCpu) -> None:
    x = np.arange(-1000, 1001, dtype=np.int32)
    assert (on_cpu.operators.cvm.relu(x) == np.maximum(x, 0)).all()
    assert ran(on_cpu) == (2, cuda_support.BLOCK)


@pytest.mark.slow
def test_large_grids_stride(on_cpu: OnCpu) -> None:
    x = np.resize(
        np.arange(-127, 128, dtype=np.int32), cuda_support.BLOCKS * cuda_support.BLOCK * 4 + 300
    )
    assert (on_cpu.operators.cvm.relu(x) == np.maximum(x, 0)).all()
    assert ran(on_cpu) == (cuda_support.BLOCKS, cuda_support.BLOCK)


ONES8, ONES32 = np.ones((2, 2), np.int8), np.ones((2, 2), np.int32)
MIXED = [
    (
        "cvm.elemwise_add",
        (ONES8, ONES32),
        {},
        ("B", "int32", "on a device its element type must be that of A"),
    ),
    (
        "cvm.dense",
        (ONES8, ONES8, ONES8[0]),
        {},
        ("B", "int8", "on a device this input must be int32"),
    ),
    (
        "cvm.concatenate",
        ([ONES32, ONES8],),
        {"axis": 0},
        ("I", "int8", "on a device all inputs must have one element type"),
    ),
]


class AsGiven(CudaCpuBackend):
    """Inputs reach the library as a caller of its own would bring them."""

    bind = CBackend.bind


@pytest.mark.parametrize(
    ("name", "inputs", "attributes", "expected"), MIXED, ids=[row[0] for row in MIXED]
)
def test_mixed_element_types_are_refused(
    name: str, inputs: Any, attributes: Any, expected: tuple[str, str, str], generated: Path
) -> None:
    manifest = read_manifest(generated)
    (info,) = (each for each in manifest.operators if each.full_name == name)
    backend = AsGiven(library(generated), manifest, generated)
    with pytest.raises(OperatorError) as caught:
        Operator(info, backend)(*inputs, **attributes)
    error = caught.value
    assert (error.argument, error.value, error.rule) == expected
