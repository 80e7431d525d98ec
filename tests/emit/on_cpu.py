"""Operators whose CUDA kernels run on the CPU, on grids and in orders that a test chooses."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from cvmgen.api import Operator, Operators, Opset
from cvmgen.api.cuda_cpu_backend import PRELUDE, CudaCpuBackend, ThreadOrder, order_code
from cvmgen.api.library import library_sources
from cvmgen.api.manifest import read_manifest
from cvmgen.build import compile_library
from tests.emit.units import joined


class OnCpu:
    """The operators of generated folders, each with its library; `backends` by opset."""

    def __init__(self, libraries: Mapping[Path, Path]) -> None:
        self.backends: dict[str, CudaCpuBackend] = {}
        opsets: dict[str, dict[str, Operator]] = {}
        for folder, path in libraries.items():
            manifest = read_manifest(folder)
            backend = CudaCpuBackend(path, manifest, folder)
            for info in manifest.operators:
                self.backends[info.opset] = backend
                opsets.setdefault(info.opset, {})[info.name] = Operator(info, backend)
        named = {name: Opset(name, found, {}) for name, found in opsets.items()}
        self.operators = Operators("cuda-cpu", named)

    def fix(self, blocks: int = 0, threads: int = 0, order: ThreadOrder = "reverse") -> None:
        """Run kernels on this grid, whatever is launched: they stride over what is beyond. What
        is 0 is as launched."""
        for backend in self.backends.values():
            backend.state.blocks, backend.state.threads = blocks, threads
            backend.order, backend.seed = order_code(order)

    def free(self) -> None:
        """Run what is launched, the first thread first; let nothing fail."""
        self.fix(order="forward")
        for backend in self.backends.values():
            backend.stream = None
            backend.state.fail = backend.state.memory = 0
            backend.state.late_copies = backend.state.tensor_cores = 0
            backend.state.always_tiles = backend.state.always_votes = 0

    @property
    def allocations(self) -> int:
        """Pieces of memory that were not released."""
        states = {backend.path: backend.state for backend in self.backends.values()}
        return sum(state.allocations for state in states.values())


def quickly(folder: Path, flags: Sequence[str] = ()) -> OnCpu:
    """The operators of a folder, not optimised, which would take longer than calls of them do."""
    return OnCpu({folder: library(folder, flags)})


def library(folder: Path, flags: Sequence[str] = (), sanitizers: Sequence[str] = ()) -> Path:
    """The library that the product loads, of few units."""
    return compile_library(
        joined(library_sources(folder, "cuda-cpu")),
        name="tried",
        flags=flags,
        threads=False,
        prelude=PRELUDE,
        sanitizers=sanitizers,
    )
