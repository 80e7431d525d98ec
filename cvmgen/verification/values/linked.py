"""The generated text of a folder for a target, of which a machine runs an operator's."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from cvmgen.api.manifest import Manifest, OperatorInfo, read_manifest
from cvmgen.build.includes import with_included
from cvmgen.verification.values import calls, gpu, program, shapes
from cvmgen.verification.values.fixed_point import LIBRARY
from cvmgen.verification.values.llvm import Module
from cvmgen.verification.values.machine import Machine

_SUFFIXES = {"c": (".c", ".h"), "cuda": (".cu", ".h")}  # the first is that of operators
# What cuts work into threads is run as its description says; what knows processors is told.
_MODELLED = ("cvmgen_threads.c", "cvmgen_x86.c")


class Text:
    """The generated text of a folder for a target, linked for one operator at a time; `replaced`
    are files with another text."""

    def __init__(
        self, folder: Path, replaced: Mapping[str, str] | None = None, target: str = "c"
    ) -> None:
        self.manifest: Manifest = read_manifest(folder)
        self.target, root = target, folder / target
        self.sources = {
            str(path.relative_to(root)): path.read_text(encoding="utf-8")
            for path in sorted(root.rglob("*"))
            if path.suffix in _SUFFIXES[target]
        } | dict(replaced or {})
        if self.target == "cuda":
            self.sources[gpu.UNIT] = gpu.HOST
        self.infos = {info.full_name: info for info in self.manifest.operators}

    def own(self, info: OperatorInfo) -> str:
        return f"{info.opset}/{info.name}{_SUFFIXES[self.target][0]}"

    def machine(self, info: OperatorInfo) -> Machine:
        """What runs the text of an operator."""
        library = gpu.BlockThreads().routines() if self.target == "cuda" else LIBRARY
        thresholds = shapes.thresholds_of(self.sources[self.own(info)])
        return Machine(self.modules(info), library, thresholds)

    def caller(self, machine: Machine, info: OperatorInfo) -> calls.Caller:
        return calls.Caller(machine, self.manifest, info, "_cuda" if self.target == "cuda" else "")

    def suited(self, info: OperatorInfo, case: calls.ChosenCall) -> calls.ChosenCall:
        """The call with inputs of types that kernels take."""
        return calls.for_device(info, case) if self.target == "cuda" else case

    def modules(self, info: OperatorInfo) -> list[Module]:
        """The units of an operator and of the runtime."""
        if self.target == "cuda":
            own = (self.own(info), gpu.UNIT)
            return [program.module_of(name, self.read_by(name)) for name in own]
        shared = [name for name in self.sources if "/" not in name and name.endswith(".c")]
        units = [self.own(info), *(name for name in shared if name not in _MODELLED)]
        return [program.module_of(name, self.read_by(name)) for name in units]

    def linked(self, info: OperatorInfo) -> dict[str, str]:
        """All that a library of the operator is compiled from."""
        own = f"{info.opset}/{info.name}"
        return {
            name: text for name, text in self.sources.items() if "/" not in name or name[:-2] == own
        }

    def read_by(self, unit: str) -> dict[str, str]:
        """The files that a unit reads: no other one changes its module."""
        front = (program.PRELUDE,) if unit.endswith(".cu") else ()
        return with_included((unit, *front), self.sources)
