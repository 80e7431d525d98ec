"""The targets python and numpy: the generated modules, imported from their folder."""

from __future__ import annotations

import hashlib
import importlib
import importlib.util
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from cvmgen.api.calls import CheckedCall, Described, Inferred
from cvmgen.api.manifest import Manifest, OperatorInfo, source_text
from cvmgen.errors import CvmgenError, OperatorError
from cvmgen.ir.python_names import python_identifier


class PythonBackend:
    """Calls the functions of generated/python or generated/numpy, without putting them on the
    path."""

    def __init__(self, manifest: Manifest, folder: Path, target: str = "python") -> None:
        self.folder, self.target = folder, target
        opsets = sorted({info.opset for info in manifest.operators})
        self.packages = {opset: load_package(folder / target / opset) for opset in opsets}

    def module(self, info: OperatorInfo) -> Any:
        try:
            return importlib.import_module(f"{self.packages[info.opset]}.{info.name}")
        except (ImportError, SyntaxError) as error:
            path = self.folder / self.target / info.opset / f"{info.name}.py"
            if not path.is_file():
                what = f"{info.opset}.{info.name} was not built for the target {self.target}"
                raise CvmgenError(f"{what}: there is no {path}; run 'cvmgen build'") from error
            message = f"{path} cannot be imported: {error}; run 'cvmgen build'"
            raise CvmgenError(message) from error

    def source(self, info: OperatorInfo, target: str) -> str:
        return source_text(self.folder, info, target)

    def infer(self, info: OperatorInfo, described: Described) -> Inferred:
        shapes, precisions, attributes = described
        found = self.module(info).infer(shapes, precisions, **by_parameter(attributes))
        return Inferred(*found)

    def bind(self, info: OperatorInfo, call: CheckedCall) -> Callable[[], None]:
        function = getattr(self.module(info), info.name)
        names = [item.name for item in info.inputs]
        pairs = zip(names, call.precisions, strict=True)
        declared = {name: precision for name, precision in pairs if info.has_precision(name)}
        precise = [
            output.dtype
            for name, output in zip(info.outputs, call.targets, strict=True)
            if info.has_precision(name)
        ]
        out = call.targets[0] if len(call.targets) == 1 else tuple(call.targets)
        check = "values" if call.check_values else None
        inputs, given = call.given, by_parameter(call.attributes)

        def run() -> None:
            dtype = precise[0] if precise else None
            function(*inputs, precisions=declared, dtype=dtype, out=out, check=check, **given)

        return run


def by_parameter(attributes: Mapping[str, Any]) -> dict[str, Any]:
    """Attributes by the names of the function's parameters."""
    return {python_identifier(name): value for name, value in attributes.items()}


def load_package(folder: Path) -> str:
    """Make a generated package known under a name of its own; returns that name. Its operators
    are imported one by one, when they are called first."""
    digest = hashlib.sha256(str(folder.resolve()).encode()).hexdigest()[:12]
    name = f"_cvmgen_{folder.name}_{digest}"
    stale = [each for each in sys.modules if each == name or each.startswith(f"{name}.")]
    for each in stale:
        del sys.modules[each]
    init = folder / "__init__.py"
    spec = importlib.util.spec_from_file_location(
        name, init, submodule_search_locations=[str(folder)]
    )
    if spec is None or spec.loader is None or not init.exists():
        raise CvmgenError(f"{init}: no such file; run 'cvmgen build'")
    package = importlib.util.module_from_spec(spec)
    sys.modules[name] = package
    importlib.invalidate_caches()
    importlib.import_module(f"{name}._support").raise_as(OperatorError)
    return name
