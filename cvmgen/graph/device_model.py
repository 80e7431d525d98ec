"""Models that were built for CUDA, as callables: on a GPU, and their kernels on the CPU."""

from __future__ import annotations

import contextlib
import ctypes
import functools
import weakref
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from cvmgen.api.c_backend import ErrorStruct
from cvmgen.api.cuda_cpu_backend import State, ThreadOrder, order_code
from cvmgen.api.device import Device, open_device
from cvmgen.api.device_array import DeviceArray
from cvmgen.api.device_call import DeviceCall
from cvmgen.api.device_library import DeviceLibrary
from cvmgen.api.driver import RELAXED, DriverError
from cvmgen.build import compile_for_device
from cvmgen.errors import ModelError, OperatorError
from cvmgen.graph.compiled import CompiledModel, ModelEnds, compiled_models, model_sources
from cvmgen.memory import zeroed_bytes

NON_BLOCKING = 1  # a CUstream_flags


def structure(inputs: int, outputs: int, *, states: bool) -> type[ctypes.Structure]:
    """<name>_cuda_args of a model with so many inputs and outputs: pointers alone."""
    names = [f"tensor{at}" for at in range(inputs + outputs)]
    names += [*["state"] * states, "parameters", "workspace"]
    fields = [(name, ctypes.c_void_p) for name in names]
    return type("Arguments", (ctypes.Structure,), {"_fields_": fields})


def size_of(library: ctypes.CDLL, name: str) -> int:
    """What a function without parameters tells."""
    function = getattr(library, name)
    function.restype = ctypes.c_size_t
    return int(function())


def fault(error: ErrorStruct, file: str) -> ModelError:
    """What a library says of a call that failed."""
    argument, rule = (each.decode("utf-8", "replace") for each in (error.argument, error.rule))
    return ModelError(rule, file=file, where=f"argument {argument}" if argument else None)


class CudaCpuModel(CompiledModel):
    """A model for CUDA whose kernels run on the CPU, on arrays of the host."""

    def __init__(
        self,
        folder: Path,
        described: dict[str, Any],
        order: ThreadOrder = "forward",
        library: Path | None = None,
    ) -> None:
        self.order = order
        super().__init__(folder, described, library=library)

    def _functions(self, library: ctypes.CDLL, threads: int) -> None:
        prefix = f"{self.name}_cuda"
        self._this_thread = library.cvmgen_cpu_this_thread
        self._this_thread.restype = ctypes.POINTER(State)
        self.workspace_bytes = size_of(library, f"{prefix}_workspace_size")
        sizes = (size_of(library, f"{prefix}_parameters_size"), self.workspace_bytes)
        self._blocks = tuple(map(zeroed_bytes, sizes))
        made = structure(len(self._given), len(self._heads), states=bool(self.states))
        self._args = made(*(*self._pointers, *(each.ctypes.data for each in self._blocks)))
        self._call = functools.partial(self._called, library, prefix)
        self._call("load")

    @property
    def state(self) -> State:
        """What the calling thread sets for its kernels, and sees of them."""
        found: State = self._this_thread().contents
        return found

    def reset(self) -> None:
        """What states hold is again what it was before the first call."""
        if self.states:
            with self._lock:
                self._call("begin")

    def _once(self) -> None:
        state = self.state
        state.order, state.seed = order_code(self.order)
        self._call("run")

    def _called(self, library: ctypes.CDLL, prefix: str, name: str) -> None:
        error = ErrorStruct()
        function = getattr(library, f"{prefix}_{name}")
        if function(ctypes.byref(self._args), None, ctypes.byref(error)) != 0:
            raise fault(error, self._file)

    def _again(self) -> dict[str, Any]:
        return {"target": "cuda-cpu", "order": self.order}


class DeviceModel(ModelEnds):
    """A model on a GPU: arrays of any library in the memory of the device, where they lie.

    Calls return when the steps are started on a stream. The memory between steps is that of all
    calls, which therefore follow each other, whatever their streams.
    """

    def __init__(
        self, folder: Path, described: dict[str, Any], device: Device, library: Path
    ) -> None:
        super().__init__(folder, described)
        self.device, self.library = device, library
        self._host = DeviceLibrary(ctypes.CDLL(str(library)), device)
        sources = model_sources(folder, "cuda")
        made = compile_for_device(
            sources[f"{self.name}.cu"],
            architecture=device.architecture,
            driver=device.driver.version,
            includes={name: text for name, text in sources.items() if name.endswith(".h")},
            name=f"{self.name}.cu",
        )
        self._module = self._host.loaded(made)
        prefix = f"{self.name}_cuda"
        self.workspace_bytes = size_of(self._host.library, f"{prefix}_workspace_size")
        sizes = (
            *[self.state_bytes] * bool(self.states),
            size_of(self._host.library, f"{prefix}_parameters_size"),
            self.workspace_bytes,
        )
        self._memory = [DeviceArray.empty(device, (size,), np.uint8) for size in sizes]
        ends = len(self.input_names), len(self.output_names)
        self._structure = structure(*ends, states=bool(self.states))
        self._last = 0
        self._start("load", self._arguments([0] * sum(ends)), 0)
        self.reset()
        device.synchronize(0)

    def reset(self, stream: Any = None) -> None:
        """What states hold is again what it was before the first call, in the stream's turn."""
        if self.states:
            handle = DeviceCall(self.device, (), stream).handle()
            places = [0] * (len(self.input_names) + len(self.output_names))
            self._in_turn(handle, lambda: self._start("begin", self._arguments(places), handle))

    def __call__(self, *inputs: Any, out: Any = None, stream: Any = None) -> Any:
        """The results for these inputs, of their element types and shapes.

        out: device array, or tuple of them, to write to; otherwise new ones are made: of the
            library of the inputs (PyTorch or CuPy), else DeviceArrays
        stream: where the steps run: an address, or an object with __cuda_stream__; if None the one
            that the library of the inputs uses now, else the default stream. It must live until
            the next call, on whatever stream
        """
        call, places, results = self._checked(inputs, out, stream)
        arguments = self._arguments(places)

        def run() -> None:
            handle = call.handle()
            self._in_turn(handle, lambda: self._start("run", arguments, handle))

        call.around(run)()
        return results

    def bind(self, *inputs: Any, out: Any = None, stream: Any = None) -> BoundModel:
        """The call with its arrays fixed, captured as a graph: each call of the result starts all
        steps by one launch, for what the arrays hold then; arguments as of a call."""
        call, places, results = self._checked(inputs, out, stream)
        return BoundModel(self, call, self._arguments(places), results, (inputs, out))

    # -------------------------------------------------------- starting

    def _arguments(self, places: Sequence[int]) -> ctypes.Structure:
        return self._structure(*places, *(each.data for each in self._memory))

    def _start(self, name: str, args: ctypes.Structure, handle: int) -> None:
        """Start one of the functions of the host code on a stream."""
        error = ErrorStruct()
        function = getattr(self._host.library, f"{self.name}_cuda_{name}")
        pointers = self._host.pointers(self._module, function, args)
        if self._host.call(*pointers, handle, ctypes.byref(error)) != 0:
            raise fault(error, self._file)

    def _in_turn(self, handle: int, start: Callable[[], None]) -> None:
        """Start something behind what was started before, on whatever stream."""
        with self._lock:
            if handle != self._last:
                self.device.order(handle, self._last)
            for each in self._memory:  # which must not go back before the steps are done
                each.used_by(handle)
            start()
            if self.device.capture(handle) is None:
                self._last = handle

    # -------------------------------------------------------- arrays

    def _checked(
        self, inputs: Sequence[Any], out: Any, stream: Any
    ) -> tuple[DeviceCall, list[int], Any]:
        """The call, where its arrays lie, and what it returns."""
        self._counted(inputs)
        call = DeviceCall(self.device, inputs, stream)
        wanted = [*zip(self.output_names, self.output_shapes, self.output_dtypes, strict=True)]
        made = out
        if out is None:
            made = tuple(call.made(shape, dtype) for _, shape, dtype in wanted)
            made = made[0] if len(made) == 1 else made
        results = made if len(wanted) > 1 else (made,)
        if not isinstance(results, (list, tuple)) or len(results) != len(wanted):
            raise ModelError(f"out must be {len(wanted)} device arrays", file=self._file)
        given = zip(self.input_names, self.input_shapes, self.input_dtypes, strict=True)
        with self._refusing():
            there = [
                *map(functools.partial(self._there, call.read, "input"), inputs, given),
                *map(functools.partial(self._there, call.written, "output"), results, wanted),
            ]
        return call, there, made

    def _there(
        self,
        place: Callable[[str, str, Any], DeviceArray],
        kind: str,
        value: Any,
        wanted: tuple[str, tuple[int, ...], Any],
    ) -> int:
        """Where an array lies that must be as the model has it: nothing is converted."""
        name, shape, dtype = wanted
        found = place(self.name, name, value)
        if found.dtype != dtype or found.shape != shape:
            rule = f"must be {dtype} of shape {shape}, not {found.dtype} of shape {found.shape}"
            raise ModelError(rule, file=self._file, where=f"{kind} {name}")
        if kind == "output" and found.read_only:
            raise ModelError("is read-only", file=self._file, where=f"{kind} {name}")
        return found.data

    @contextlib.contextmanager
    def _refusing(self) -> Any:
        """What is refused of an array is told as the model's."""
        try:
            yield
        except OperatorError as error:
            where = f"{error.argument}: {error.value}" if error.value else error.argument
            rule = error.rule.partition(";")[0]  # what calls of operators could do is no help
            raise ModelError(rule, file=self._file, where=where) from None


class BoundModel:
    """A call of a model whose arrays are fixed, as a graph of its steps."""

    def __init__(
        self,
        model: DeviceModel,
        call: DeviceCall,
        arguments: ctypes.Structure,
        results: Any,
        kept: Any,
    ) -> None:
        self._model, self._call, self._arguments = model, call, arguments
        self._results, self._kept = results, kept
        self._graph = self._captured()
        driver = model.device.driver
        finalizer = weakref.finalize(self, destroyed, model.device, self._graph)
        finalizer.atexit = False  # the driver takes all back by itself
        self._launch = functools.partial(driver.call, "cuGraphLaunch", self._graph)
        self._once = call.around(self._run)

    def __call__(self) -> Any:
        """Start the steps; the results are those that were bound."""
        self._once()
        return self._results

    def _run(self) -> None:
        model, handle = self._model, self._call.handle()
        if model.device.capture(handle) is not None:  # a graph of the caller's has the steps
            model._in_turn(handle, lambda: model._start("run", self._arguments, handle))
            return
        with model.device.current():
            model._in_turn(handle, lambda: self._launch(handle))

    def _captured(self) -> int:
        """The steps as a graph that can be started."""
        device, model = self._model.device, self._model
        driver = device.driver
        with device.relaxed():
            stream = driver.handle("cuStreamCreate", NON_BLOCKING)
            try:
                graph = ctypes.c_void_p()
                driver.call("cuStreamBeginCapture_v2", stream, RELAXED)
                try:
                    model._start("run", self._arguments, stream)
                finally:
                    driver.call("cuStreamEndCapture", stream, ctypes.byref(graph))
                try:
                    return driver.handle("cuGraphInstantiateWithFlags", graph, 0)
                finally:
                    driver.call("cuGraphDestroy", graph)
            finally:
                driver.call("cuStreamDestroy_v2", stream)


def destroyed(device: Device, graph: int) -> None:
    """Give a graph back; a device that failed has none any more."""
    with contextlib.suppress(DriverError), device.relaxed():
        device.driver.call("cuGraphExecDestroy", graph)


def on_device(folder: Path, described: dict[str, Any], ordinal: int) -> DeviceModel:
    """A model on a device; first of all without a GPU nothing needs to be compiled."""
    device = open_device(ordinal)
    return DeviceModel(folder, described, device, compiled_models(folder, "cuda"))
