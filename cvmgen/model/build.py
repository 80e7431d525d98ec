"""From the files of a model to the files of a C library."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from functools import cache
from pathlib import Path

from cvmgen.errors import Faults, ModelError
from cvmgen.graph.files import FilePath
from cvmgen.graph.limits import Array
from cvmgen.graph.network import operators_for, read_model
from cvmgen.graph.operators import OperatorLibrary
from cvmgen.graph.plan import ModelSource, Plan
from cvmgen.graph.symbol import SymbolGraph
from cvmgen.model.emit import Files
from cvmgen.model.emit_cuda import CudaFiles
from cvmgen.model.kernels import Model
from cvmgen.model.program import KernelBuilder
from cvmgen.model.stages import DEVICE_PASSES, PASSES, Passes, staged
from cvmgen.paths import spec_folder, stands_alone
from cvmgen.schedule.schedules import Schedules, packaged
from cvmgen.spec.check import check_files
from cvmgen.spec.files import read_folder
from cvmgen.spec.formula import Operator

TARGETS: Mapping[str, tuple[type[Files], Passes]] = {
    "c": (Files, PASSES),
    "cuda": (CudaFiles, DEVICE_PASSES),
}
"""What models are built for: the files that are written, and the stages before."""


def make_files(
    given: FilePath | SymbolGraph | ModelSource,
    params: FilePath | Mapping[str, Array] | None,
    name: str,
    operators: OperatorLibrary | None = None,
    schedules: Schedules | None = None,
    target: str = "c",
) -> Files:
    """A model as files that are not printed yet; ModelError names the file, the place and the rule.

    A CVM graph comes with its parameters, a model of another format without.
    `name` begins the names of files and functions; `operators` infers shapes in place of the
    library that `cvmgen.load("python")` gives; `schedules` are cvmgen's own if no others are given;
    `target` is one of TARGETS.
    """
    checked_name(name)
    plan, model = planned(given, params, operators)
    chosen = packaged() if schedules is None else schedules
    files, passes = TARGETS[target]
    *_, (_, made) = staged(model, chosen, passes)
    return files(name, made, plan, chosen)


def planned(
    given: FilePath | SymbolGraph | ModelSource,
    params: FilePath | Mapping[str, Array] | None = None,
    operators: OperatorLibrary | None = None,
) -> tuple[Plan, Model]:
    """A model that was found right, and its kernels as no stage has changed them."""
    library = operators or operators_for("python")
    source = read_model(given, params)
    plan = source.plan(library)
    try:
        return plan, KernelBuilder(plan, library, formulas_of).model()
    except ModelError as error:
        raise ModelError(error.rule, file=error.file or source.file, where=error.where) from error


class Formulas(dict[str, Operator]):
    """Operators by name; what we fail on is raised where it is asked for, and not before."""

    def __init__(self, opset: str, operators: Iterable[Operator], faults: Faults) -> None:
        super().__init__({each.name: each for each in operators})
        self.opset = opset
        self.faults = faults

    def __missing__(self, name: str) -> Operator:
        raise self.faults.failed[f"{self.opset}.{name}"]


@cache
def formulas_of(opset: str) -> Mapping[str, Operator]:
    """The operators of an opset of the project's spec by name."""
    faults = Faults()
    files = read_folder(spec_folder(), shown=spec_folder().name)
    needed = [each for each in files if each.opset in ("", opset)]
    return Formulas(opset, check_files(needed, faults), faults)


def model_name(symbol: FilePath) -> str:
    """The name of a file that holds its parameters, else of the folder of the graph's file, as an
    identifier."""
    path = Path(symbol).resolve()
    given = path.stem if stands_alone(path) else path.parent.name
    name = re.sub(r"\W", "_", given, flags=re.ASCII)
    return name.lstrip("_0123456789").rstrip("_") or "model"


def checked_name(name: str) -> str:
    """The name, if C functions can be called so; ModelError otherwise."""
    if not re.fullmatch(r"[A-Za-z][A-Za-z0-9_]*", name) or name.startswith("cvmgen"):
        raise ModelError(
            f"'{name}' is no name for C functions: letters, digits and '_', and not 'cvmgen'"
        )
    return name
