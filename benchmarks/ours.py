"""What is measured: the generated operators, called as users call them."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import cache, partial
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np

import cvmgen
import cvmgen.graph
from benchmarks import nets
from benchmarks.cases import Array, Call, Problem
from benchmarks.machine import own_copy
from cvmgen.api.library import compiled_operators
from cvmgen.errors import CvmgenError
from cvmgen.paths import generated_folder

NAME = "cvmgen"
ROOT = Path(__file__).resolve().parents[1]
MODEL = Path(
    os.environ.get("CVMGEN_BENCH_MODEL", ROOT.parent / "shared" / "models" / "cifar10_resnet20_v2")
)

# Seconds from the first import to operators that can be called, in a process of its own.
LOADING = """
import time
start = time.perf_counter()
import cvmgen
cvmgen.load("c").cvm.relu
print(time.perf_counter() - start)
"""


class Missing(Exception):
    """A workload cannot be measured here; the text says what is not there."""


# The opset of operators that are measured and that the product does not have.
OWN, OWN_FORMULAS = "own", Path(__file__).parent / "spec"


@cache
def own_library(target: str = "c") -> Any:
    """The operators of the benchmarks' own formulas, generated when one is first asked for."""
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-m", "cvmgen", "build", "--spec", str(OWN_FORMULAS)]
        command += ["--target", target, "--out", folder]
        done = subprocess.run(command, stdout=subprocess.DEVNULL, check=False)
        if done.returncode:
            raise Missing("this version does not build the formulas of benchmarks/spec")
        return cvmgen.load(target, folder=Path(folder))


@cache
def library(target: str = "c") -> Any:
    if target != "c":
        return cvmgen.load(target)
    with own_copy(compiled_operators(generated_folder())) as own:
        return cvmgen.load(target, library=own)


def calls(problem: Problem, also: Sequence[str] = ()) -> list[Call]:
    """Ours first, of the target C; behind it those of the targets `also`, which are only shown.

    Raises Missing where what it needs is not here.
    """
    special = SPECIAL.get(problem.workload.kind)
    if special is not None:
        return list(special(problem))
    others = (replace(bound(problem, target), variant=target, beside=True) for target in also)
    return [bound(problem), *others]


def bound(problem: Problem, target: str = "c") -> Call:
    """A bound call; precisions are declared as the workload has them.

    Where there are constants, they are bound with the shapes of the other inputs, so that what
    can be made of them is made once.
    """
    operator = operator_of(problem, target)
    operands: list[Any] = problem.arrays
    typed = not problem.workload.kind.startswith("cvm.")  # elements of types without a precision
    precisions: list[Any] = [
        None if typed or each.dtype.startswith("float") else each.bits for each in problem.inputs
    ]
    if operator.variadic is not None:
        operands, precisions = [operands], [precisions]
    bind = partial(operator.bind, precisions=precisions, **problem.attributes)
    if any(each.constant for each in problem.inputs):
        with suppress(CvmgenError, TypeError):  # a version that binds whole calls only
            return bound_to_constants(problem, bind)
    run = bind(*operands)
    return Call(NAME, run, lambda: outputs(run.result))


def bound_to_constants(problem: Problem, bind: Callable[..., Any]) -> Call:
    """A shape stands for an input that comes with each call."""
    pairs = list(zip(problem.inputs, problem.arrays, strict=True))
    made = bind(*(array if each.constant else array.shape for each, array in pairs))
    given = [array for each, array in pairs if not each.constant]
    out = made(*given)
    return Call(NAME, partial(made, *given, out=out), lambda: outputs(out))


def operator_of(problem: Problem, target: str) -> Any:
    opset, name = problem.workload.kind.split(".")
    found = own_library(target) if opset == OWN else library(target)
    return getattr(getattr(found, opset), name)


def outputs(result: Any) -> tuple[Array, ...]:
    return tuple(result) if isinstance(result, tuple) else (result,)


def bound_call(problem: Problem) -> Iterator[Call]:
    (small,) = problem.arrays
    run = library().cvm.relu.bind(small, out=np.empty_like(small), precisions=[8])
    yield Call(NAME, run, lambda: outputs(run.result))


def free_call(problem: Problem) -> Iterator[Call]:
    run = partial(library().cvm.relu, *problem.arrays, precisions=[8])
    yield Call(NAME, run, lambda: outputs(run()))


def loading(problem: Problem) -> Iterator[Call]:
    library()  # compiled before
    yield Call(NAME, lambda: None, tuple, clock=partial(seconds_of, LOADING))


def seconds_of(program: str) -> float:
    """What a Python program in a process of its own prints."""
    done = subprocess.run([sys.executable, "-c", program], stdout=subprocess.PIPE, check=True)
    return float(done.stdout)


def model_picture() -> Array:
    """What the published ResNet-20 is asked; it lies beside the repository or where one says."""
    path = MODEL / "input.npy"
    if not path.is_file():
        raise Missing("no model: set CVMGEN_BENCH_MODEL to a folder with a ResNet-20")
    picture: Array = np.load(path)
    return picture


def graph(problem: Problem) -> Iterator[Call]:
    """A picture through the graph runtime."""
    picture = model_picture()
    network = cvmgen.graph.load(MODEL / "symbol.json", MODEL / "params.bin")
    yield Call(NAME, partial(network, picture), lambda: outputs(network(picture)))


def model(problem: Problem) -> Iterator[Call]:
    """A picture through the library that is generated for the model."""
    picture = model_picture()
    yield library_of_model((MODEL / "symbol.json", MODEL / "params.bin"), picture)


def onnx_model(problem: Problem) -> Iterator[Call]:
    """A drawn picture through the library that is generated for a network of ONNX."""
    try:
        made = nets.net(problem.attributes["net"]).model
    except ImportError as error:
        raise Missing("no package onnx") from error
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "net.onnx")
        file.write_bytes(made.SerializeToString())
        yield library_of_model((file,), nets.picture())


def library_of_model(files: Sequence[Path], picture: Array) -> Call:
    """A picture through the library that is generated for the model in these files."""
    load_model: Callable[[Path], Any] | None = getattr(cvmgen, "load_model", None)
    if load_model is None:
        raise Missing("this version generates no libraries for models")
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-m", "cvmgen", "build", "--model", *map(str, files)]
        # A cache of its own, so that no other process has loaded the same file.
        own = {**os.environ, "CVMGEN_CACHE": str(Path(folder, "cache"))}
        subprocess.run([*command, "--out", folder], stdout=sys.stderr, check=True, env=own)
        with patch.dict(os.environ, own):
            network = load_model(Path(folder))
    return Call(NAME, partial(network, picture), lambda: outputs(network(picture)))


SPECIAL: dict[str, Callable[[Problem], Iterator[Call]]] = {
    "bound call": bound_call,
    "free call": free_call,
    "load": loading,
    "graph": graph,
    "model": model,
    "onnx model": onnx_model,
}
