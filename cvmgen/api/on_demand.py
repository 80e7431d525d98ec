"""The C target operator by operator: each is compiled when one of its functions is asked for."""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Mapping
from typing import Any

from cvmgen.api.manifest import Manifest, OperatorInfo
from cvmgen.build import c_compiler, compile_library, compile_shared, has_library
from cvmgen.build.library import SHARED

KINDS = ("", "_infer", "_bind")
"""What the names of an operator's functions end with."""


def on_demand() -> bool:
    """Whether libraries of this system can share another one, wherever the cache lies."""
    return sys.platform == "linux"


class OperatorLibraries:
    """The functions of all operators as attributes; a library for each operator, compiled and
    loaded when it is needed, and one that they share: its threads and variants are those of all.

    NoCompilerError where nothing is compiled and nothing can be.
    """

    def __init__(self, sources: Mapping[str, str], manifest: Manifest) -> None:
        self._sources = sources
        self._shared = {name: text for name, text in sources.items() if "/" not in name}
        for opset in {info.opset for info in manifest.operators}:
            self._shared.pop(f"{opset}.h", None)
        self._owners = {
            f"{info.function}{kind}": info for info in manifest.operators for kind in KINDS
        }
        self._loaded: dict[str, ctypes.CDLL] = {}
        if not has_library(self._shared, name=SHARED, named=True):
            c_compiler()

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        return getattr(self._library(self._owners.get(name)), name)

    def _library(self, info: OperatorInfo | None) -> ctypes.CDLL:
        """That of an operator, or the shared one."""
        name = SHARED if info is None else info.full_name
        if name not in self._loaded:
            path = compile_shared(self._shared) if info is None else self._compiled(info)
            self._loaded[name] = ctypes.CDLL(str(path))
        return self._loaded[name]

    def _compiled(self, info: OperatorInfo) -> Any:
        own = {f"{info.opset}/{info.name}{suffix}" for suffix in (".c", ".h")}
        headers = {name: text for name, text in self._shared.items() if name.endswith(".h")}
        sources = {name: self._sources[name] for name in own & self._sources.keys()}
        return compile_library({**headers, **sources}, name=info.full_name, shared=self._shared)
