"""What mutants do when they run: compiled under sanitizers, called beside the reference.

`python -m tests.verification.mutants.truth FILE` makes the calls of one in a process of its own,
which may break.
"""

from __future__ import annotations

import os
import pickle
import resource
import signal
import subprocess
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from math import prod
from pathlib import Path
from random import Random
from typing import Any

import numpy as np

import cvmgen
from cvmgen.api.cuda_cpu_backend import PRELUDE, order_code
from cvmgen.api.library import library_sources
from cvmgen.build import c_compiler, compile_library, cpp_compiler, sanitizer_environment
from cvmgen.dtypes import CVM, DTYPES
from cvmgen.errors import BuildError
from cvmgen.reference import Reference
from cvmgen.reference.failures import Budget, WorkLimit
from cvmgen.spec import nodes as n
from cvmgen.spec.formula import Operator
from cvmgen.verification.values import calls
from tests.conformance.calls import Call, Conformance, Expected
from tests.fuzz.scheduled_calls import SANITIZERS, called
from tests.verification.mutants.made import Mutant
from tests.verification.mutants.operators import file_of, generated, operator

Calls = tuple[tuple[Call, Expected], ...]
POINTS = 100_000  # that the formula goes through in a call
LARGEST = 1 << 20  # elements of a call that is made here
SECONDS = 60  # of the processor, after which a kernel is taken for one that never ends
TARGETS = {"c": "c", "cuda": "cuda-cpu"}


def wrong(mutant: Mutant, own: Calls, work: Path) -> str:
    """What becomes of a mutant's calls; nothing where all is as it should be."""
    folder, target = generated(mutant.formula, work), TARGETS[mutant.target]
    try:
        library = compile_library(
            sources(mutant, folder),
            name="mutant",
            flags=("-O0",),
            sanitizers=SANITIZERS,
            prelude=PRELUDE if target != "c" else None,
            threads=target == "c",
        )
    except BuildError as error:
        return f"COMPILE {error}"[:1500]
    task = work / "calls.pickle"
    name = operator(mutant.formula).full_name
    task.write_bytes(pickle.dumps((target, folder, library, name, own)))
    compiler = c_compiler if target == "c" else cpp_compiler
    done = subprocess.run(
        [sys.executable, "-m", "tests.verification.mutants.truth", str(task)],
        env={**os.environ, **sanitizer_environment(SANITIZERS, compiler)},
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode in (-signal.SIGXCPU, -signal.SIGKILL):
        return "it does not end"
    if done.returncode:
        return f"exit status {done.returncode}\n{done.stderr[-1500:]}"
    return done.stdout.strip()


def sources(mutant: Mutant, folder: Path) -> dict[str, str]:
    """The mutant's file, and all that it is compiled with."""
    own = file_of(mutant.formula, mutant.target)
    found = library_sources(folder, TARGETS[mutant.target])
    kept = {
        name: text
        for name, text in found.items()
        if name.endswith(".h") or "/" not in name or name.startswith("cpu/")
    }
    return {**kept, own: mutant.text}


def main(path: str) -> None:
    resource.setrlimit(resource.RLIMIT_CPU, (SECONDS, SECONDS + 1))
    target, folder, library, name, own = pickle.loads(Path(path).read_bytes())
    operators = cvmgen.load(target, folder=folder, library=library)
    if target == "c":
        operators.threads = 2
    wrong = called(operators[name], own)
    if not wrong and target != "c":
        backend = operators[name]._backend
        backend.state.blocks = 1  # which goes through all that several share
        backend.order, backend.seed = order_code("reverse")
        wrong = called(operators[name], own)
    print(wrong)


# ---------------------------------------------------------------- calls


def expected(name: str, inputs: Sequence[Any], attributes: Mapping[str, Any]) -> Calls:
    """A call as the library takes it, and what the formula says, if that does not take long."""
    call = Call(operator(name).full_name, tuple(inputs), attributes)
    reference = Reference(operator(name), Budget(POINTS))
    try:
        wanted = Conformance({call.operator: reference}, {}).expected(call)
    except WorkLimit:
        return ()
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


def of_numbers(name: str, call: calls.ChosenCall) -> Calls:
    """A call of numbers that an engine gave."""
    return expected(name, [array(each) for each in call.inputs.values()], call.attributes)


def drawn(call: calls.ChosenCall, seed: int) -> calls.ChosenCall:
    """The call with elements drawn from all that they may be."""
    random = Random(f"{call.text()} {seed}")

    def element(name: str, at: int, tensor: Any) -> Any:
        if tensor.dtype.startswith("float"):
            return random.choice((random.gauss(0, 1), 1e8, -1e8, 0.0))
        if tensor.dtype == "bool":
            return bool(random.getrandbits(1))
        most = (1 << ((tensor.precision or DTYPES[tensor.dtype].bits) - 1)) - 1
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


if __name__ == "__main__":
    main(sys.argv[1])
