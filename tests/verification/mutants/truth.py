"""What mutants do when they run: compiled under sanitizers, called beside the right text.

`python -m tests.verification.mutants.truth FILE` makes the calls of several in a process that has
loaded all that they need, each in a fork of it, which may break.
"""

from __future__ import annotations

import hashlib
import json
import os
import pickle
import resource
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from math import prod
from pathlib import Path
from random import Random
from typing import Any

import numpy as np

import cvmgen
from cvmgen.api.cuda_cpu_backend import PRELUDE, order_code
from cvmgen.api.library import library_sources
from cvmgen.build import c_compiler, compile_library, cpp_compiler, sanitizer_environment
from cvmgen.dtypes import CVM
from cvmgen.errors import BuildError, CvmgenError, OperatorError
from cvmgen.reference import Reference
from cvmgen.reference.failures import FormulaError
from cvmgen.reference.tensor import Tensor
from cvmgen.spec import nodes as n
from cvmgen.verification.values import calls
from tests.verification.mutants.made import Mutant
from tests.verification.mutants.operators import file_of, generated, operator, text_of

SANITIZERS = ("address", "undefined")
# What is odd but C is no reason not to run it.
FLAGS = ("-O0", "-g0", "-Wno-error")
DRAWN = 3  # times the elements of a call are drawn
RIGHT_SECONDS = 60  # of the processor, for the right text
SECONDS = 4  # of the processor, and four times what the right text needs: then it never ends
LARGEST = 1 << 20  # elements of a call that is made of sizes
TARGETS = {"c": "c", "cuda": "cuda-cpu"}


@dataclass(frozen=True)
class Numbered:
    """A call with numbers as a library takes it; `of` is the number of the call that a prover
    chose, whose elements they are."""

    of: int
    inputs: tuple[Any, ...]
    precisions: Mapping[str, Any]
    attributes: Mapping[str, Any]
    dtype: str | None
    features: frozenset[str] = frozenset()


@dataclass
class Ran:
    """What became of a mutant's calls: why it was not compiled, or which calls give something
    else than the right text, each with what is wrong there."""

    refused: str = ""
    wrong: dict[int, str] = field(default_factory=dict)

    @property
    def faults(self) -> list[str]:
        """What sanitizers, and ends of processes, tell."""
        return [each for each in self.wrong.values() if each != OTHERWISE]


OTHERWISE = "it gives something else"


def ran(mutants: Sequence[Mutant], made: Sequence[Numbered], work: Path) -> list[Ran]:
    """Mutants of one operator and target, each called beside the right text."""
    first = mutants[0]
    folder, target = generated(first.formula, work), TARGETS[first.target]
    found = [Ran() for _ in mutants]
    libraries: list[Path | None] = [right(first.formula, first.target, work)]
    for each, of in zip(mutants, found, strict=True):
        try:
            libraries.append(library(first, each.text, folder))
        except BuildError as error:
            of.refused = str(error)[:1500]
            libraries.append(None)
    said = called((target, folder, operator(first.formula).full_name, made, libraries), work)
    for at, (outcomes, faults) in said.items():
        if at == 0:
            assert not faults, faults
            continue
        for number, outcome in outcomes.items():
            if outcome != said[0][0][number]:
                found[at - 1].wrong[number] = OTHERWISE
        found[at - 1].wrong |= faults
    return found


@cache
def right(name: str, target: str, work: Path) -> Path:
    mutant = Mutant(name, "CUDA" if target == "cuda" else "C", "", "", "")
    return library(mutant, text_of(name, target), generated(name, work))


def library(mutant: Mutant, text: str, folder: Path) -> Path:
    target = TARGETS[mutant.target]
    return compile_library(
        sources(mutant, text, folder),
        name="mutant",
        flags=FLAGS,
        sanitizers=SANITIZERS,
        prelude=PRELUDE if target != "c" else None,
        threads=target == "c",
    )


def sources(mutant: Mutant, text: str, folder: Path) -> dict[str, str]:
    """The operator's file, and all that it is compiled with."""
    own = file_of(mutant.formula, mutant.target)
    found = library_sources(folder, TARGETS[mutant.target])
    kept = {
        name: each
        for name, each in found.items()
        if name.endswith(".h") or "/" not in name or name.startswith("cpu/")
    }
    return {**kept, own: text}


Outcomes = dict[int, str]


def called(task: tuple[Any, ...], work: Path) -> dict[int, tuple[Outcomes, dict[int, str]]]:
    """Of each library what came of each call, and in which calls it broke."""
    with tempfile.NamedTemporaryFile(dir=work, suffix=".pickle") as file:
        file.write(pickle.dumps(task))
        file.flush()
        compiler = c_compiler if task[0] == "c" else cpp_compiler
        environment = sanitizer_environment(SANITIZERS, compiler)
        environment["ASAN_OPTIONS"] = f"{environment.get('ASAN_OPTIONS', '')}:symbolize=0"
        done = subprocess.run(
            [sys.executable, "-m", "tests.verification.mutants.truth", file.name],
            env={**os.environ, **environment},
            capture_output=True,
            text=True,
            check=False,
        )
    assert done.returncode == 0, done.stderr[-3000:]
    found: dict[int, tuple[Outcomes, dict[int, str]]] = {}
    for line in done.stdout.splitlines():
        at, number, outcome, fault = json.loads(line)
        outcomes, faults = found.setdefault(at, ({}, {}))
        if fault:
            faults[number] = fault
        else:
            outcomes[number] = outcome
    return found


# ---------------------------------------------------------------- in the process that may break


def main(path: str) -> None:
    target, folder, name, made, libraries = pickle.loads(Path(path).read_bytes())
    limit = RIGHT_SECONDS
    for at, each in enumerate(libraries):
        if each is None:
            continue
        before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
        outcomes, fault = forked((target, folder, name, each), made, limit)
        for number, outcome in enumerate(outcomes):
            print(json.dumps([at, number, outcome, ""]))
        if fault:
            print(json.dumps([at, len(outcomes), "", fault]))
        if at == 0:
            spent = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime - before
            limit = SECONDS + int(4 * spent)


def forked(about: tuple[Any, ...], made: Sequence[Numbered], limit: int) -> tuple[list[str], str]:
    """What comes of calls in a process of their own; how it ended, if not well."""
    sys.stdout.flush()
    with tempfile.TemporaryFile() as errors, tempfile.TemporaryFile() as results:
        child = os.fork()
        if child == 0:
            os.dup2(errors.fileno(), 2)
            resource.setrlimit(resource.RLIMIT_CPU, (limit, limit + 1))
            status = 1
            try:
                for outcome in outcomes_of(*about, made):
                    os.write(results.fileno(), f"{outcome}\n".encode())
                status = 0
            finally:
                os._exit(status)
        _, status = os.waitpid(child, 0)
        results.seek(0)
        errors.seek(0)
        outcomes, said = results.read().decode().splitlines(), errors.read().decode()
    if status == 0:
        return outcomes, ""
    if os.WIFSIGNALED(status) and os.WTERMSIG(status) in (24, 9):
        return outcomes, "it does not end"
    told = [e for e in said.splitlines() if "ERROR" in e or "runtime error" in e or "Error:" in e]
    return outcomes, (told or [f"status {status}"])[0][-300:]


def outcomes_of(
    target: str, folder: Path, name: str, library: Path, made: Sequence[Numbered]
) -> Iterator[str]:
    """The bits of the results of each call in few, or why it is refused."""
    operators = cvmgen.load(target, folder=folder, library=library)
    one = operators[name]
    if target == "c":
        operators.threads = 2
    for call in made:
        settings = [("forward", 0), ("reverse", 0)] if target != "c" else [("", 0)]
        yield " ".join(outcome(one, call, order) for order, _ in settings)


def outcome(one: Any, call: Numbered, order: str) -> str:
    if order:
        backend, features = one._backend, call.features
        backend.order, backend.seed = order_code(order)  # type: ignore[arg-type]
        backend.state.blocks = "one block" in features
        backend.state.always_tiles = "tiles" in features
        backend.state.tensor_cores = "tensor cores" in features
        backend.state.always_votes = "votes" in features
    try:
        found = one(
            *call.inputs, precisions=call.precisions or None, dtype=call.dtype, **call.attributes
        )
    except OperatorError as error:
        return hashlib.sha1(str(error).encode()).hexdigest()[:16]
    except CvmgenError as error:
        raise AssertionError(str(error)) from None
    results = found if isinstance(found, tuple) else (found,)
    bits = b"".join(f"{e.dtype}{e.shape}".encode() + e.tobytes() for e in map(np.asarray, results))
    return hashlib.sha1(bits).hexdigest()[:16]


# ---------------------------------------------------------------- calls with numbers


def numbered(
    name: str, target: str, call: calls.ChosenCall, of: int, features: frozenset[str], work: Path
) -> list[Numbered]:
    """A call whose elements are numbers, for each type that results may have."""
    one, info = operator(name), info_of(name, target, work)
    if target == "cuda":
        call = calls.for_device(info, call)
    try:
        result = Reference(one).infer(call.inputs, call.attributes)
        inferred = {
            key: replace(each, dtype=kind.name) if (kind := types_of(one, result, key)) else each
            for key, each in result.outputs.items()
        }
        types = calls.result_types(one, info, call, inferred)
    except (OperatorError, FormulaError):
        types = [{}]
    precisions = {
        item.name: calls.each_of(call.inputs.get(item.name), lambda tensor: tensor.precision)
        for item in info.inputs
        if info.has_precision(item.name) and call.inputs.get(item.name) is not None
    }
    inputs = tuple(array(call.inputs.get(item.name)) for item in info.inputs)
    own = [name for name in types[0] if info.has_precision(name)]
    chosen = [each[own[0]] for each in types] if own else [None]
    given = {key: value for key, value in call.attributes.items() if value is not None}
    return [Numbered(of, inputs, precisions, given, dtype, features) for dtype in chosen]


def types_of(one: Any, result: Any, key: str) -> Any:
    return result.env["$types"].get(one.type_of[key])


@cache
def info_of(name: str, target: str, work: Path) -> Any:
    from cvmgen.api.manifest import read_manifest

    found = read_manifest(generated(name, work)).operators
    return next(each for each in found if each.full_name == operator(name).full_name)


def array(operand: Any) -> Any:
    if operand is None:
        return None
    if isinstance(operand, list):
        return [array(each) for each in operand]
    return np.array(operand.values, operand.dtype).reshape(operand.shape)


def drawn(call: calls.ChosenCall, seed: int) -> calls.ChosenCall:
    """The call with elements drawn from all that they may be, edges and small ones often."""
    random, draw = Random(f"{call.text()} {seed}"), calls.drawing(call)
    return calls.with_terms(call, lambda name, at, _: draw((name, at), random))


def of_sizes(name: str, sizes: Mapping[str, int]) -> calls.ChosenCall | None:
    """A call with the extents and attributes of a counterexample, if it can be made here."""
    one = operator(name)
    inputs: dict[str, Any] = {}
    for item in one.inputs:
        shape = tuple(
            value_of(each.value if each.new is None else each.new, sizes) for each in item.extents
        )
        if any(each.pack for each in item.extents) or prod(shape) > LARGEST or min(shape) < 1:
            return None
        given = Tensor(shape, [], 12, "int32") if item.dtype == CVM else None
        inputs[item.name] = given or Tensor(shape, [], 0, "float32")
    attributes = {each.name: sizes.get(each.name, value(each)) for each in one.attributes}
    return calls.ChosenCall(inputs, attributes)


def value(attribute: Any) -> int:
    match attribute.default:
        case n.Number(value=found):
            return int(found)
        case _:
            return 1


def value_of(extent: Any, sizes: Mapping[str, int]) -> int:
    name = extent if isinstance(extent, str) else getattr(extent, "name", "")
    return sizes.get(name, 1)


if __name__ == "__main__":
    main(sys.argv[1])
