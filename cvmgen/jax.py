"""Operators for JAX: eager, and in programs that `jax.jit` compiles.

cvm = cvmgen.jax.ops("cvm")
Y = jax.jit(lambda X, W: cvm.dense(X, W, precisions={"X": 8, "W": 8}))(X, W)

XLA calls a handler in C by its foreign function interface. It is compiled when the first operator
is called, which needs a C compiler, with XLA's header from where JAX has it. On a GPU it starts
what the target "cuda" prepared when the call was traced.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import jax
import numpy as np

from cvmgen import rules
from cvmgen.api.c_bound import KeptCall
from cvmgen.api.c_operator import COperator
from cvmgen.api.calls import CheckedCall, several
from cvmgen.api.dlpack import PACKED
from cvmgen.api.library import load
from cvmgen.build import compile_library
from cvmgen.errors import CvmgenError
from cvmgen.paths import generated_folder, runtime_folder
from cvmgen.typed import OF_FOUR_BITS

if TYPE_CHECKING:  # without a GPU it is not needed
    from cvmgen.api.device_operator import DeviceOperator

TARGET = "cvmgen_call"
XLA_HEADER = "xla/ffi/api/c_api.h"
WIDE = "JAX has this type where jax_enable_x64 is set"

Results = Sequence[jax.ShapeDtypeStruct]


@cache
def ops(opset: str) -> SimpleNamespace:
    """The operators of an opset on arrays of JAX, inputs by place and attributes by name.

    Shapes and types of results are known when a program is traced, and so must precisions be:
    `precisions` declares them for inputs that have one. Several results are a tuple. Under
    `jax.vmap` the calls of a batch run one after the other. Nothing has a gradient. Raises
    OperatorError for what a formula does not admit; what elements alone decide is an error of XLA,
    in the same words. AttributeError for an unknown opset.
    """
    return SimpleNamespace(**{each.__name__: Call(each) for each in getattr(library(), opset)})


@cache
def library() -> Any:
    return load("c")


class Call:
    """An operator as a function of JAX."""

    def __init__(self, operator: COperator) -> None:
        self._operator = operator
        self._programs: dict[Any, Callable[..., Any]] = {}
        self.__name__ = operator.__name__
        self.__doc__ = operator.__doc__

    def __call__(
        self, *inputs: Any, precisions: Any = None, dtype: Any = None, **attributes: Any
    ) -> Any:
        """The result; see `ops`."""
        variadic = self._operator.variadic is not None and len(self._operator.inputs) == 1
        if variadic and not (len(inputs) == 1 and isinstance(inputs[0], (list, tuple))):
            inputs = (list(inputs),)
        arrays = [each for one in inputs for each in (one if type(one) in (list, tuple) else [one])]
        arrays = [
            each if each is None or isinstance(each, jax.Array) else jax.numpy.asarray(each)
            for each in arrays
        ]
        shapes = tuple([None if each is None else (each.shape, each.dtype) for each in arrays])
        counts = [len(one) if type(one) in (list, tuple) else None for one in inputs]
        named = sorted((name, _entries(each)) for name, each in attributes.items())
        key = shapes, repr((counts, precisions, dtype, named))
        program = self._programs.get(key)
        if program is None:
            each = iter(arrays)
            given = [next(each) if n is None else [next(each) for _ in range(n)] for n in counts]
            program = self._program(*self._kept(given, precisions, dtype, attributes))
            self._programs[key] = program
        made = program(*[each for each in arrays if each is not None])
        return made[0] if len(made) == 1 else tuple(made)

    def _program(self, number: int, results: Results) -> Callable[..., Any]:
        """A bound call, compiled by XLA for arrays that are there."""
        run = jax.ffi.ffi_call(TARGET, results, vmap_method="sequential")
        program = jax.custom_jvp(lambda *arrays: run(*arrays, number=np.int64(number)))
        program.defjvp(self._operator.refuse_gradient)
        compiled: Callable[..., Any] = jax.jit(program)
        return compiled

    def _kept(
        self, given: Sequence[Any], precisions: Any, dtype: Any, attributes: dict[str, Any]
    ) -> tuple[int, Results]:
        """The number of a bound call of the library, and what it gives."""
        operator = self._operator
        call = operator.without_data(given, precisions, dtype, attributes, is_measured=False)
        for name, each in zip(operator.inputs, call.given, strict=True):
            for array in several(each):
                if array.dtype.name in OF_FOUR_BITS:
                    rules.refuse(operator.name, name, f"dtype {array.dtype}", PACKED)
        results = []
        for name, target in zip(operator.outputs, call.targets, strict=True):
            if target.dtype.name in OF_FOUR_BITS:
                rules.refuse(operator.name, name, f"dtype {target.dtype}", PACKED)
            if jax.dtypes.canonicalize_dtype(target.dtype) != target.dtype:
                rules.refuse(operator.name, name, target.dtype.name, WIDE)
            results.append(jax.ShapeDtypeStruct(target.shape, target.dtype))
        count = sum(len(several(each)) for each in call.given) + len(results)
        number = handler().keep(operator.keep(call), count)
        for each in gpus():
            handler().keep_on_gpu(number, each[operator.name], call)
        return number, results

    def __repr__(self) -> str:
        return f"<{self._operator.name} on arrays of JAX>"


def _entries(value: Any) -> Any:
    """An attribute with all its entries: an array's repr leaves out those of a long one."""
    return value.tolist() if isinstance(value, (np.ndarray, np.generic)) else value


class Handler:
    """The handlers in C, which are compiled now and told to XLA; they keep calls as long as the
    process lives, as programs may be run so long."""

    def __init__(self) -> None:
        source = runtime_folder() / "jax" / "cvmgen_jax.c"
        header = Path(jax.ffi.include_dir()) / XLA_HEADER
        common = generated_folder() / "c" / "cvmgen.h"
        files = {source.name: source, XLA_HEADER: header, common.name: common}
        texts = {name: path.read_text(encoding="utf-8") for name, path in files.items()}
        self.library = ctypes.CDLL(str(compile_library(texts, name="jax")))
        self.library.cvmgen_jax_keep.restype = ctypes.c_int64
        for platform, name in (("cpu", "cvmgen_jax_call"), ("CUDA", "cvmgen_jax_call_gpu")):
            capsule = jax.ffi.pycapsule(getattr(self.library, name))
            jax.ffi.register_ffi_target(TARGET, capsule, platform=platform)
        self._kept: list[Any] = []

    def keep(self, call: KeptCall, tensors: int) -> int:
        """The number of a bound call of so many tensors."""
        count = ctypes.c_int64(tensors)
        number = int(self.library.cvmgen_jax_keep(*call.addresses, count))
        if number < 0:
            raise CvmgenError("there is no memory to keep a call")
        self._kept.append(call)
        return number

    def keep_on_gpu(self, number: int, operator: DeviceOperator, call: CheckedCall) -> None:
        """Let a call run on the GPU of an operator, too."""
        ordinal, prepared = operator.device.ordinal, operator.native(call)
        arguments = (
            ctypes.c_int64(number),
            ctypes.c_int64(ordinal),
            ctypes.byref(prepared.structure),
        )
        if self.library.cvmgen_jax_keep_gpu(*arguments):
            raise CvmgenError(f"there are programs for 64 GPUs, and this is number {ordinal}")
        self._kept.append(prepared)


@cache
def handler() -> Handler:
    return Handler()


@cache
def gpus() -> tuple[Any, ...]:
    """The operators for each GPU that JAX uses."""
    try:
        devices = jax.local_devices(backend="cuda")
    except RuntimeError:  # JAX has none
        return ()
    return tuple(load("cuda", device=each.local_hardware_id) for each in devices)
