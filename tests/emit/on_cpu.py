"""The operators of a library whose CUDA kernels run on the CPU, thread by thread."""

from __future__ import annotations

import ctypes
import functools
from pathlib import Path
from typing import Any

from cvmgen.api.c_backend import CBackend
from cvmgen.api.manifest import Manifest, OperatorInfo, operator_info
from cvmgen.emit import interface
from tests.emit.cuda_texts import State, program


class OnCpu(CBackend):
    """The operators of a library whose CUDA kernels run on the CPU."""

    stream: int | None = None

    def __init__(self, path: Path, manifest: Manifest, place: Path) -> None:
        super().__init__(path, manifest, place)
        self.state = State.in_dll(self.library, "cuda_on_cpu")

    def fix(self, blocks: int, threads: int, *, backwards: bool) -> None:
        """Run kernels on this grid, whatever is launched: they stride over what is beyond."""
        self.state.fix(blocks, threads, backwards=backwards)

    def free(self) -> None:
        """Run what is launched, the first thread first."""
        self.state.free()
        self.stream = None

    def function(self, name: str) -> Any:
        if name.endswith("_infer"):
            return super().function(f"{name.removesuffix('_infer')}_cuda_infer")
        run = super().function(f"{name}_cuda")
        stream = ctypes.c_void_p(self.stream)
        return lambda args, error: run(args, stream, error)


@functools.cache
def info(name: str) -> OperatorInfo:
    return operator_info(interface.manifest_entry(program(name)))
