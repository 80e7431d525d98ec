"""What mutants do when they run: compiled under sanitizers, called beside the reference."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import cache
from math import prod
from pathlib import Path
from random import Random
from typing import Any

import numpy as np

from cvmgen import driver
from cvmgen.dtypes import CVM
from cvmgen.reference import Reference
from cvmgen.spec import nodes as n
from cvmgen.spec.formula import Operator
from cvmgen.verification.values import calls
from tests.conformance.calls import Call, Conformance, Expected
from tests.fuzz.scheduled_calls import SANITIZERS, Batch, Scheduled
from tests.verification.mutants.made import Mutant, kernels, operator

Calls = tuple[tuple[Call, Expected], ...]
LARGEST = 1 << 20  # elements of a call that is made here


class Called(Batch):
    """Mutants in one library, each with calls of its own."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self.own: dict[str, Calls] = {}

    def put(self, name: str, mutant: Mutant, own: Calls) -> None:
        text = mutant.text.replace(f"z_{mutant.formula}", f"z_{name}")
        text = text.replace(f"z/{mutant.formula}.", f"z/{name}.")
        text = text.replace(f'"{mutant.formula}.c"', f'"{name}.c"')
        text = text.replace(f'"z.{mutant.formula}"', f'"z.{name}"')
        made = replace(operator(mutant.formula), name=name, aliases=())
        program = replace(kernels(mutant.formula).program, operator=made)
        head = driver.TARGETS["c"].emit_interface
        assert head is not None
        self.members[name], self.operators[name] = Scheduled(name, ""), made
        self.texts[name] = driver.Texts(
            {
                driver.operator_file(made, "c"): text,
                driver.interface_file(made, "c"): head(
                    replace(kernels(mutant.formula), program=program)
                ),
            },
            driver.interface.manifest_entry(program),
        )
        self.own[name] = own

    def calls_of(self, each: Scheduled) -> Calls:
        return self.own[each.operator]


def wrong(folder: Path, several: Sequence[tuple[Mutant, Calls]]) -> dict[int, str]:
    """What becomes of each mutant's calls, by its place; none where all is as it should be."""
    batch = Called(folder)
    for number, (mutant, own) in enumerate(several):
        batch.put(f"m{number}", mutant, own)
    batch.run(SANITIZERS, threads=(2,))
    return {int(each.of.operator[1:]): f"{each.kind} {each.what}" for each in batch.failures}


# ---------------------------------------------------------------- calls


@cache
def conformance(name: str) -> Conformance:
    return Conformance({f"z.{name}": Reference(operator(name))}, {})


def expected(name: str, inputs: Sequence[Any], attributes: Mapping[str, Any]) -> Calls:
    """A call as the library takes it, and what the formula says."""
    call = Call(f"z.{name}", tuple(inputs), attributes)
    wanted = conformance(name).expected(call)
    if not all(0 < each.precision <= 8 for each in wanted.outputs) or wanted.refusal:
        return ((call, wanted),)
    narrow = replace(call, attributes={**attributes, "dtype": "int8"})
    return ((call, wanted), (narrow, wanted))


def array(operand: Any) -> Any:
    if operand is None:
        return None
    if isinstance(operand, list):
        return [array(each) for each in operand]
    return np.array(operand.values, operand.dtype).reshape(operand.shape)


def of_numbers(name: str, call: calls.Call) -> Calls:
    """A call of numbers that an engine gave."""
    return expected(name, [array(each) for each in call.inputs.values()], call.attributes)


def drawn(call: calls.Call, seed: int) -> calls.Call:
    """The call with elements drawn from all that they may be."""
    random = Random(f"{call.text()} {seed}")

    def element(name: str, at: int, tensor: Any) -> Any:
        if tensor.dtype.startswith("float"):
            return random.choice((random.gauss(0, 1), 1e8, -1e8, 0.0))
        most = (1 << (tensor.precision - 1)) - 1
        return random.choice((random.randint(-most, most), most, -most))

    return calls.with_terms(call, element)


def of_sizes(name: str, sizes: Mapping[str, int]) -> Calls:
    """A call with the extents and attributes of a counterexample, if it can be made here."""
    of: Operator = operator(name)
    inputs, random = [], Random(name)
    for item in of.inputs:
        shape = [
            value_of(each.value if each.new is None else each.new, sizes) for each in item.extents
        ]
        if any(each.pack for each in item.extents) or prod(shape) > LARGEST or min(shape) < 1:
            return ()
        if item.dtype == CVM:
            made = np.array([random.randint(-127, 127) for _ in range(prod(shape))], np.int32)
        else:
            made = np.array([random.gauss(0, 1) for _ in range(prod(shape))], np.float32)
        inputs.append(made.reshape(shape))
    attributes = {each.name: sizes.get(each.name, value(each)) for each in of.attributes}
    try:
        return expected(name, inputs, attributes)
    except Exception:
        return ()


def value(attribute: Any) -> int:
    match attribute.default:
        case n.Number(value=found):
            return int(found)
        case _:
            return 1


def value_of(extent: Any, sizes: Mapping[str, int]) -> int:
    name = extent if isinstance(extent, str) else getattr(extent, "name", "")
    return sizes.get(name, 1)


def together(parts: Iterable[Calls]) -> Calls:
    return tuple(each for part in parts for each in part)
