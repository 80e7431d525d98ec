"""Generated text to files, and files to libraries: write, find compilers, compile, cache.

Each name is imported when it is asked for: a library that is loaded from the cache needs few.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from cvmgen.build.compilers import (
        Compiler,
        CudaCompiler,
        Disassembler,
        c_compiler,
        cpp_compiler,
        cuda_compiler,
        disassembler,
    )
    from cvmgen.build.cuda import (
        CudaOptions,
        DeviceCode,
        Resources,
        compile_cuda,
        compile_for_device,
        cuda_assembly,
        cuda_instructions,
        cuda_resources,
    )
    from cvmgen.build.files import Change, folder_diff, write_changed
    from cvmgen.build.gates import broken_gates
    from cvmgen.build.library import (
        compile_library,
        compile_shared,
        has_library,
        sanitizer_environment,
    )
    from cvmgen.build.machine_code import Accesses, Instructions
    from cvmgen.build.reports import explain_report

__all__ = [
    "Accesses",
    "Change",
    "Compiler",
    "CudaCompiler",
    "CudaOptions",
    "DeviceCode",
    "Disassembler",
    "Instructions",
    "Resources",
    "broken_gates",
    "c_compiler",
    "compile_cuda",
    "compile_for_device",
    "compile_library",
    "compile_shared",
    "cpp_compiler",
    "cuda_assembly",
    "cuda_compiler",
    "cuda_instructions",
    "cuda_resources",
    "disassembler",
    "explain_report",
    "folder_diff",
    "has_library",
    "sanitizer_environment",
    "write_changed",
]

_MODULES = {
    "compilers": (
        "Compiler",
        "CudaCompiler",
        "Disassembler",
        "c_compiler",
        "cpp_compiler",
        "cuda_compiler",
        "disassembler",
    ),
    "cuda": (
        "CudaOptions",
        "DeviceCode",
        "Resources",
        "compile_cuda",
        "compile_for_device",
        "cuda_assembly",
        "cuda_instructions",
        "cuda_resources",
    ),
    "files": (
        "Change",
        "folder_diff",
        "write_changed",
    ),
    "gates": ("broken_gates",),
    "library": (
        "compile_library",
        "compile_shared",
        "has_library",
        "sanitizer_environment",
    ),
    "machine_code": (
        "Accesses",
        "Instructions",
    ),
    "reports": ("explain_report",),
}


def __getattr__(name: str) -> Any:
    for module, names in _MODULES.items():
        if name in names:
            return getattr(importlib.import_module(f"{__name__}.{module}"), name)
    raise AttributeError(f"module '{__name__}' has no attribute '{name}'")
