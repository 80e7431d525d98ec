"""A call made of the generated kernels of both formulas."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from cvmgen import driver
from cvmgen.api.library import load
from cvmgen.build import c_compiler
from cvmgen.build.files import write_changed
from cvmgen.compare.calls import Outcome
from cvmgen.errors import BuildError, OperatorError
from cvmgen.reference.tensor import Tensor
from cvmgen.schedule.schedules import Schedules
from cvmgen.spec.formula import Operator
from cvmgen.verification.values.calls import ChosenCall
from cvmgen.verification.values.evaluate import same


@dataclass(frozen=True, slots=True)
class KernelRuns:
    """What the kernels of a target gave, and whether each is what its formula says."""

    target: str
    old: Outcome
    new: Outcome
    agree: bool


@cache
def usual_target() -> str:
    """C where there is a compiler, else numpy."""
    try:
        c_compiler()
    except BuildError:
        return "numpy"
    return "c"


def run_both(
    target: str,
    old: tuple[Operator, ChosenCall, Schedules, Outcome],
    new: tuple[Operator, ChosenCall, Schedules, Outcome],
) -> KernelRuns:
    """A call made of the kernels of both; where a compiler fails, of those for numpy."""
    try:
        mine, yours = run_kernel(target, *old[:3]), run_kernel(target, *new[:3])
    except BuildError:
        if target == "numpy":
            raise
        return run_both("numpy", old, new)
    return KernelRuns(target, mine, yours, agrees(mine, old[3]) and agrees(yours, new[3]))


def run_kernel(target: str, operator: Operator, call: ChosenCall, schedules: Schedules) -> Outcome:
    """What the generated kernel of an operator makes of a call."""
    language = "cuda" if target == "cuda-cpu" else target
    with tempfile.TemporaryDirectory(prefix="cvmgen-diff-") as place:
        folder = Path(place)
        write_changed(folder, driver.generate([operator], [language], schedules=schedules))
        kernels = load(target, folder=folder)
        (kernel,) = tuple(kernels)
        try:
            made = kernel(
                *(_array_of(call.inputs.get(item.name)) for item in operator.inputs),
                precisions=precisions_of(operator, call),
                **call.attributes,
            )
        except OperatorError as error:
            return Outcome(refusal=str(error))
    results = made if isinstance(made, tuple) else (made,)
    names = operator.output_names
    return Outcome(
        {
            name: Tensor(tuple(each.shape), each.reshape(-1).tolist(), 0, str(each.dtype))
            for name, each in zip(names, results, strict=True)
        }
    )


def _array_of(operand: Any) -> Any:
    if operand is None:
        return None
    if isinstance(operand, list):
        return [_array_of(each) for each in operand]
    return np.array(operand.values, dtype=operand.dtype).reshape(operand.shape)


def precisions_of(operator: Operator, call: ChosenCall) -> Mapping[str, Any] | None:
    """The precisions that a call declares, by its inputs."""
    found: dict[str, Any] = {}
    for item in operator.inputs:
        operand = call.inputs.get(item.name)
        if operator.type_of[item.name] != "cvm" or operand is None:
            continue
        if isinstance(operand, list):
            found[item.name] = [each.precision for each in operand]
        elif operand.precision:
            found[item.name] = operand.precision
    return found or None


def agrees(kernel: Outcome, formula: Outcome) -> bool:
    """Whether a kernel gives what the formula says: the same elements, or a refusal of it."""
    if kernel.refusal or formula.refusal:
        return bool(kernel.refusal) == bool(formula.refusal)
    if [*kernel.outputs] != [*formula.outputs]:
        return False
    pairs = ((each, formula.outputs[name]) for name, each in kernel.outputs.items())
    return all(each.shape == other.shape and same_elements(each, other) for each, other in pairs)


def same_elements(kernel: Tensor, formula: Tensor) -> bool:
    return all(
        same(float(one) if isinstance(other, float) else int(one), other)
        for one, other in zip(kernel.values, formula.values, strict=True)
    )
