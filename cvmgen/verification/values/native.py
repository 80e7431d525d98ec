"""Calls of the compiled text, and in Python, by which what was found is seen again."""

from __future__ import annotations

import ctypes
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from cvmgen.api.c_backend import CBackend, ErrorStruct
from cvmgen.api.manifest import Manifest, OperatorInfo
from cvmgen.build.library import compile_shared
from cvmgen.errors import BuildError
from cvmgen.reference.tensor import Tensor
from cvmgen.typed import OF_ML_DTYPES, element_type
from cvmgen.verification.values.calls import ChosenCall, described, each_of


def run(
    sources: Mapping[str, str],
    manifest: Manifest,
    info: OperatorInfo,
    call: ChosenCall,
    outputs: Mapping[str, Tensor],
) -> dict[str, list[Any]] | None:
    """The elements of the outputs; None without a compiler, or where the call is refused. What is
    called here was shown before to touch no memory but its own."""
    try:
        backend = CBackend(compile_shared(sources), manifest, Path())
    except BuildError:
        return None
    given = [each_of(call.inputs.get(item.name), _array_of) for item in info.inputs]
    args, kept = backend.arguments(info, described(info, call), given)  # type: ignore[arg-type]
    written = {
        name: np.zeros(tensor.shape, element_type(tensor.dtype)) for name, tensor in outputs.items()
    }
    for name, array in written.items():
        kept.append(made := backend.tensor(array.shape, None, array))
        setattr(args, name, ctypes.pointer(made))
    if backend.function(info.function)(ctypes.byref(args), ctypes.byref(ErrorStruct())):
        return None
    return {name: array.ravel().tolist() for name, array in written.items()}


def _array_of(tensor: Tensor) -> Any:
    return np.array(tensor.values, element_type(tensor.dtype)).reshape(tensor.shape)


def text_of(info: OperatorInfo, call: ChosenCall, outputs: Mapping[str, Tensor]) -> str:
    """The call in Python, as `cvmgen.load` brings operators."""
    values = [each_of(call.inputs.get(item.name), _written) for item in info.inputs]
    parts = [f"[{', '.join(each)}]" if isinstance(each, list) else str(each) for each in values]
    parts += [f"{name}={value!r}" for name, value in call.attributes.items() if value is not None]
    precisions = {
        item.name: each_of(call.inputs.get(item.name), lambda tensor: tensor.precision)
        for item in info.inputs
        if info.has_precision(item.name) and call.inputs.get(item.name) is not None
    }
    parts += [f"precisions={precisions}"] if precisions else []
    chosen = [name for name in outputs if info.has_precision(name)]
    parts += [f"dtype=np.{outputs[name].dtype}" for name in chosen[:1]]
    return f"ops.{info.full_name}({', '.join(parts)})"


def _written(tensor: Tensor) -> str:
    package = "ml_dtypes" if tensor.dtype in OF_ML_DTYPES else "np"
    return f"np.array({_array_of(tensor).tolist()}, {package}.{element_type(tensor.dtype).name})"
