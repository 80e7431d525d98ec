"""Models that `cvmgen build --model` wrote, as callables: compiled once, run by one C call."""

from __future__ import annotations

import ctypes
import json
import threading
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, overload

import numpy as np
import numpy.typing as npt

from cvmgen.build import compile_library
from cvmgen.build.files import digest_of
from cvmgen.errors import CvmgenError, ModelError
from cvmgen.escape import html_table, in_html, latex_table
from cvmgen.graph.files import FilePath
from cvmgen.graph.limits import (
    Array,
    checked_data,
    checked_typed,
    clamp,
    largest_magnitude,
)
from cvmgen.memory import zeroed_bytes

if TYPE_CHECKING:  # of the targets only the one that is asked for is imported
    from cvmgen.api.cuda_cpu_backend import ThreadOrder
    from cvmgen.graph.device_model import DeviceModel

VERSION = 3
"""Counts the changes of what <name>.json holds."""
HEADS = ("", "shape", "type", "bits")

SUFFIXES = (".c", ".cc", ".cu", ".h", ".json")
UNITS = {"c": (".c", ".h"), "cuda": (".cc", ".cu", ".h")}
PRELUDE = "cpu/cvmgen_cpu.h"
"""The file of models for CUDA that stands in front of each unit."""


@overload
def load_model(
    folder: FilePath, name: str | None = None, *, target: Literal["cuda"], device: int = 0
) -> DeviceModel: ...


@overload
def load_model(
    folder: FilePath,
    name: str | None = None,
    *,
    threads: int = 0,
    target: Literal["c", "cuda-cpu"] = "c",
    order: ThreadOrder = "forward",
) -> CompiledModel: ...


def load_model(
    folder: FilePath,
    name: str | None = None,
    *,
    threads: int = 0,
    target: str = "c",
    device: int = 0,
    order: ThreadOrder = "forward",
) -> CompiledModel | DeviceModel:
    """The model whose files `cvmgen build --model` wrote into `folder`, compiled or from the cache.

    `name` tells which, where there are several; `threads` is how many run a call in C, 0 for as
    many as OMP_NUM_THREADS says, or as there are processors. A model that was built for CUDA takes
    the `target` "cuda", with the number of the `device`, or "cuda-cpu": the same kernels on the
    CPU, blocks and threads in an `order` as `cvmgen.load` has it.

    ModelError for a folder without such a model, BuildError when compiling fails, CvmgenError where
    "cuda" finds no driver or GPU.
    """
    place = Path(folder)
    found = sorted(place.glob(f"{name or '*'}.json"))
    if len(found) != 1:
        raise ModelError(
            "holds no model, or several; `cvmgen build --model` writes one", file=str(place)
        )
    try:
        described = json.loads(found[0].read_text(encoding="utf-8-sig"))
        if not isinstance(described, dict):
            raise ValueError("it is no object")
        if described["version"] != VERSION:
            raise ModelError("is of another version of cvmgen; build it again", file=str(found[0]))
        check_target(str(described["target"]), target, str(found[0]))
        if target == "c":
            return CompiledModel(place, described, threads)
        # Only here: models in C need nothing of devices.
        from cvmgen.graph import device_model

        if target == "cuda-cpu":
            return device_model.CudaCpuModel(place, described, order)
        return device_model.on_device(place, described, device)
    except (KeyError, TypeError, ValueError) as error:
        if isinstance(error, CvmgenError):
            raise
        reason = f"it has no {error}" if isinstance(error, KeyError) else str(error)
        raise ModelError(f"is no description of a model: {reason}", file=str(found[0])) from error


def check_target(built: str, asked: str, file: str) -> None:
    """ModelError where a model was built for other targets than the one that is asked for."""
    known = {"c": ("c",), "cuda": ("cuda", "cuda-cpu")}[built]
    if asked not in known:
        targets = " or ".join(f'"{each}"' for each in known)
        raise ModelError(f"was built for target={targets}, not {asked!r}", file=file)


class ModelEnds:
    """What goes into a built model and what comes out.

    `input_names`, `input_shapes`, `input_dtypes` and `input_precisions` tell what goes in, those of
    `output_` what comes out, as of a `Network`; the first input's are also `input_shape` and
    `input_precision`. `states` names what a call leaves for the next one, in `state_bytes`.
    """

    workspace_bytes = 0
    """The memory between steps."""

    def __init__(self, folder: Path, described: dict[str, Any]) -> None:
        self.name = str(described["name"])
        inputs, outputs = described["inputs"], described["outputs"]
        self.input_names = tuple(str(each["name"]) for each in inputs)
        self.input_shapes = tuple(tuple(each["shape"]) for each in inputs)
        self.input_precisions = tuple(map(stated_precision, inputs))
        self.input_dtypes = tuple(np.dtype(each["dtype"]) for each in inputs)
        self.input_shape, self.input_precision = self.input_shapes[0], self.input_precisions[0]
        self.output_names = tuple(str(each["name"]) for each in outputs)
        self.output_shapes = tuple(tuple(each["shape"]) for each in outputs)
        self.output_precisions = tuple(map(stated_precision, outputs))
        self.output_dtypes = tuple(np.dtype(each["dtype"]) for each in outputs)
        self.output_dtype = self.output_dtypes[0]
        self.states = tuple(map(str, described["states"]))
        self.state_bytes = int(described["state_bytes"])
        self._file = str(folder)
        self._lock = threading.Lock()

    def _counted(self, inputs: Sequence[Any]) -> None:
        if len(inputs) != len(self.input_names):
            rule = f"takes {len(self.input_names)} inputs, not {len(inputs)}"
            raise ModelError(rule, file=self._file)

    def __repr__(self) -> str:
        shapes = ", ".join(map(str, self.output_shapes))
        given = ", ".join(map(str, self.input_shapes))
        return f"<{type(self).__name__} {self.name} {given} -> {shapes}>"

    def _repr_html_(self) -> str:
        """For notebooks: what goes in and what comes out, with the memory between steps."""
        told = f"{self.name}: {self.workspace_bytes:,} bytes between steps"
        return f"<p>{in_html(told)}</p>{html_table(HEADS, self._rows())}"

    def _repr_latex_(self) -> str:
        """The same as a block of LaTeX."""
        return latex_table(HEADS, self._rows())

    def _rows(self) -> Iterator[tuple[object, ...]]:
        ends = (
            ("input", self.input_shapes, self.input_dtypes, self.input_precisions),
            ("output", self.output_shapes, self.output_dtypes, self.output_precisions),
        )
        for name, *told in ends:
            for shape, dtype, precision in zip(*told, strict=True):
                yield name, shape, dtype, dtype.itemsize * 8 if precision is None else precision


class CompiledModel(ModelEnds):
    """A model in C; calls from several threads take turns."""

    def __init__(
        self,
        folder: Path,
        described: dict[str, Any],
        threads: int = 0,
        library: Path | None = None,
    ) -> None:
        super().__init__(folder, described)
        self._digest = _digest(folder)
        self.library = library or compiled_models(folder, str(described["target"]))
        self._given = tuple(map(np.zeros, self.input_shapes, self.input_dtypes))
        self._heads = tuple(map(np.zeros, self.output_shapes, self.output_dtypes))
        self._state = zeroed_bytes(self.state_bytes)
        state = [self._state] if self.states else []
        arrays: tuple[Array, ...] = (*self._given, *self._heads, *state)
        self._pointers = tuple(ctypes.c_void_p(each.ctypes.data) for each in arrays)
        self._functions(ctypes.CDLL(str(self.library)), threads)
        self.reset()

    def _functions(self, library: ctypes.CDLL, threads: int) -> None:
        size = getattr(library, f"{self.name}_workspace_size")
        size.restype = ctypes.c_size_t
        self.workspace_bytes = int(size())
        self._set_threads = getattr(library, f"{self.name}_set_threads")
        self._threads = ctypes.c_int(threads)
        self._run = getattr(library, f"{self.name}_run")
        self._memory = zeroed_bytes(self.workspace_bytes)
        self._workspace = ctypes.c_void_p(self._memory.ctypes.data)
        self._begin = getattr(library, f"{self.name}_begin", None)

    def reset(self) -> None:
        """What states hold is again what it was before the first call."""
        if self._begin is not None:
            with self._lock:
                self._begin(ctypes.c_void_p(self._state.ctypes.data))

    def __call__(self, *inputs: npt.ArrayLike) -> Array | tuple[Array, ...]:
        """Run the model, as `Network` does: the same checks and the same bits."""
        self._counted(inputs)
        given = [self._checked(at, np.asarray(x)) for at, x in enumerate(inputs)]
        with self._lock:
            for kept, values, precision in zip(
                self._given, given, self.input_precisions, strict=True
            ):
                if precision is None:
                    np.copyto(kept, values)
                else:
                    clamp(values, largest_magnitude(precision), kept)
            self._once()
            results = tuple(head.copy() for head in self._heads)
        return results[0] if len(results) == 1 else results

    def _once(self) -> None:
        """Run the model on what is in its memory."""
        self._set_threads(self._threads)  # another model may be of the same library
        if self._run(*self._pointers, self._workspace) != 0:
            raise ModelError("the model refuses its arguments", file=self._file)

    def _checked(self, at: int, values: Array) -> Array:
        shape = self.input_shapes[at]
        if self.input_precisions[at] is not None:
            return checked_data(values, shape, self._file)
        dtype, name = self.input_dtypes[at], self.input_names[at]
        return checked_typed(values, shape, dtype, name, self._file)

    def __reduce__(self) -> tuple[Any, ...]:
        """The same model with memory of its own, where the same files are in the folder."""
        folder = str(Path(self._file).resolve())
        return model_again, (folder, self.name, self._again(), self._digest)

    def _again(self) -> dict[str, Any]:
        """How `load_model` is asked for the same."""
        return {"threads": self._threads.value}


def stated_precision(described: dict[str, Any]) -> int | None:
    found = described["precision"]
    return None if found is None else int(found)


def model_again(folder: str, name: str, given: dict[str, Any], files: str) -> CompiledModel:
    """A model that another process had; ModelError where other files lie in its folder now."""
    found = load_model(folder, name, **given)
    if not isinstance(found, CompiledModel) or found._digest != files:
        raise ModelError("not what it was when the model was sent; load it again", file=folder)
    return found


def _digest(folder: Path) -> str:
    return digest_of(folder, sorted(each for each in folder.iterdir() if each.suffix in SUFFIXES))


def model_sources(folder: Path, target: str) -> dict[str, str]:
    """What is compiled of the models in a folder, by the names below it."""
    found = [path for path in sorted(folder.iterdir()) if path.suffix in UNITS[target]]
    if target == "cuda":
        found += sorted(folder.glob("cpu/cvmgen*"))
    return {path.relative_to(folder).as_posix(): path.read_text("utf-8") for path in found}


def compiled_models(folder: Path, target: str = "c") -> Path:
    """The shared library of all models in a folder: of those for CUDA, which also runs on the CPU,
    what the host does."""
    sources = model_sources(folder, target)
    if target == "c":
        return compile_library(sources, name="model")
    return compile_library(sources, name="model-cuda", threads=False, prelude=PRELUDE)
