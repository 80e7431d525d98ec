"""Runs every operator of a library of CUDA text in this process: for libraries built with
sanitizers.

python -m tests.emit.run_on_cpu FOLDER LIBRARY
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from random import Random

import cvmgen
from cvmgen.api import Operator
from cvmgen.api.cuda_cpu_backend import CudaCpuBackend
from cvmgen.api.manifest import read_manifest
from cvmgen.errors import OperatorError
from tests.conformance.calls import declared, mapped
from tests.conformance.random_calls import DRAW, call
from tests.conformance.wild import UNBOUNDED, wild

CALLS = 8


def main() -> None:
    folder, library = map(Path, sys.argv[1:])
    operators = cvmgen.load("cuda-cpu", folder=folder, library=library)
    for info in read_manifest(folder).operators:
        if info.full_name in DRAW:
            print(info.full_name, flush=True)  # what a report belongs to
            with suppress(OperatorError):
                run(operators[info.full_name])


def run(operator: Operator, calls: int = CALLS) -> None:
    """Calls in random orders, as launched and on a small grid, with data that keep their precision
    and, in turn, with data that do not. Refusals are left out, but for those of the device."""
    name = operator._info.full_name
    source = Random(name)
    for number in range(calls):
        drawn = call(name, source)
        precisions = declared(operator, drawn.inputs)
        inputs = list(drawn.inputs)
        if number % 2 and name not in UNBOUNDED:
            inputs = mapped(lambda one: wild(source, one), inputs)
        with shaped(operator, *((3, 5) if number % 4 == 2 else (0, 0)), number):
            try:
                operator(*inputs, precisions=precisions, **drawn.attributes)
            except OperatorError as error:
                if error.rule.startswith("CUDA"):
                    raise


@contextmanager
def shaped(operator: Operator, blocks: int, threads: int, seed: int) -> Iterator[None]:
    """Kernels run on this grid, 0 as launched, in a random order."""
    backend = operator._backend
    assert isinstance(backend, CudaCpuBackend)
    state, before = backend.state, (backend.order, backend.seed)
    state.blocks, state.threads = blocks, threads
    backend.order, backend.seed = 2, seed
    try:
        yield
    finally:
        state.blocks = state.threads = 0
        backend.order, backend.seed = before


if __name__ == "__main__":
    main()
