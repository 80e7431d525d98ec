"""Generated text to files, and files to libraries: write, find compilers, compile, cache."""

from __future__ import annotations

from cvmgen.build.compilers import Compiler, CudaCompiler, c_compiler, cuda_compiler
from cvmgen.build.cuda import Resources, compile_cuda, cuda_resources
from cvmgen.build.files import Change, compare, write_changed
from cvmgen.build.library import compile_library, sanitizer_environment

__all__ = [
    "Change",
    "Compiler",
    "CudaCompiler",
    "Resources",
    "c_compiler",
    "compare",
    "compile_cuda",
    "compile_library",
    "cuda_compiler",
    "cuda_resources",
    "sanitizer_environment",
    "write_changed",
]
