"""oneDNN by its C interface: results of 32 bits, which the other libraries hide or lack."""

from __future__ import annotations

import ctypes
import os
import sys
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.cases import Array, Call, Problem
from benchmarks.peers import Absent, Peer, Ways
from cvmgen.build import compile_library
from cvmgen.errors import BuildError

NAME = "oneDNN"
SOURCE = Path(__file__).with_name("onednn.c")
HEADER = Path("include/oneapi/dnnl/dnnl.h")


def peer(threads: int) -> Peer:
    del threads  # OpenMP's, set by the environment
    return Peer(NAME, bytes(library().onednn_version()).decode(), WAYS)


@cache
def library() -> Any:
    """Our calls linked with $DNNL_ROOT's oneDNN, else a wheel's, else what the compiler finds."""
    roots = [os.environ.get("DNNL_ROOT"), sys.prefix]
    root = next((Path(each) for each in roots if each and (Path(each) / HEADER).is_file()), None)
    flags = ["-ldnnl"]
    try:
        if root is not None:
            # clang, which compiles and links by the same flags, warns of -L while it compiles.
            unused = "-Wno-unused-command-line-argument"
            flags = [f"-I{root / 'include'}", f"-L{root / 'lib'}", unused, *flags]
            for own in root.glob("lib*/libdnnl.so"):
                ctypes.CDLL(str(own))  # the loader takes what is loaded
        path = compile_library({"onednn.c": SOURCE.read_text()}, name="onednn", flags=flags)
        found = ctypes.CDLL(str(path))
    except (BuildError, OSError) as error:
        raise Absent("no header or library of it was found; set DNNL_ROOT") from error
    found.onednn_version.restype = ctypes.c_char_p
    for name in ("convolution", "dense", "max_pool", "reorder"):
        getattr(found, f"onednn_{name}").restype = ctypes.c_void_p
    return found


class Plan:
    """A primitive made once for its arrays, which live as long as it does."""

    def __init__(self, name: str, *arguments: Any, arrays: list[Array]) -> None:
        self.arrays = arrays
        pointers = [ctypes.c_void_p(each.ctypes.data) for each in arrays]
        make = getattr(library(), f"onednn_{name}")
        self.handle = ctypes.c_void_p(make(*arguments, *pointers))
        self.works = not library().onednn_failed(self.handle)

    @property
    def moves(self) -> bool:
        """Whether it brings operands into layouts of its own."""
        return bool(library().onednn_moves(self.handle))

    def runner(self, around: bool) -> Callable[[], object]:
        """Runs it, with or without what it moves around it."""
        function, handle, flag = library().onednn_run, self.handle, ctypes.c_int(around)

        def run(kept: Plan = self) -> None:
            if function(handle, flag):
                raise RuntimeError("oneDNN failed")

        return run

    def calls(self, variant: str = "") -> Iterator[Call]:
        """With its moves, which make it do what the others do, and beside it without them."""
        if not self.works:
            return
        out = self.arrays[-1]
        if not self.moves:
            yield Call(NAME, self.runner(True), lambda: out, variant)
            return
        yield Call(NAME, self.runner(True), lambda: out, f"{variant} reorders".lstrip())
        alone = self.runner(False)

        def result() -> Array:
            out.fill(0)
            alone()
            library().onednn_bring_back(self.handle)
            return out

        yield Call(NAME, alone, result, f"{variant} own layout".lstrip(), beside=True)


def numbers(*entries: int) -> Any:
    return (ctypes.c_int64 * len(entries))(*entries)


def conv2d(problem: Problem) -> Iterator[Call]:
    (x, w), given, out = problem.arrays, problem.attributes, problem.empty()
    extents = numbers(
        *x.shape, w.shape[0], *w.shape[2:], *out.shape[2:], given.get("groups", 1),
        *given.get("stride", (1, 1)), *given.get("padding", (0, 0)),
    )  # fmt: skip
    yield from Plan("convolution", extents, arrays=[x, w, out]).calls()


def dense(problem: Problem) -> Iterator[Call]:
    x, w = problem.arrays
    extents = numbers(*x.shape, len(w))
    for at, variant in enumerate(("inner product", "matmul")):
        arrays = [x, w, problem.empty()]
        yield from Plan("dense", extents, ctypes.c_int(at), arrays=arrays).calls(variant)


def max_pool(problem: Problem) -> Iterator[Call]:
    (x,), given, out = problem.arrays, problem.attributes, problem.empty()
    extents = numbers(
        *x.shape, *out.shape[2:], *given["pool_size"], *given["strides"], *given["padding"]
    )
    yield from Plan("max_pool", extents, ctypes.c_int(0), arrays=[x, out]).calls("int32")
    arrays = [x.astype(np.float32), out.astype(np.float32)]
    yield from Plan("max_pool", extents, ctypes.c_int(1), arrays=arrays).calls("float32")


def transpose(problem: Problem) -> Iterator[Call]:
    (x,), out, axes = problem.arrays, problem.empty(), problem.attributes["axes"]
    strides = [x.strides[axis] // x.itemsize for axis in axes]
    to_strides = [each // x.itemsize for each in out.strides]
    plan = Plan(
        "reorder", ctypes.c_int64(x.ndim), numbers(*out.shape), numbers(*strides),
        numbers(*to_strides), arrays=[x, out],
    )  # fmt: skip
    yield from plan.calls()


WAYS: dict[str, Ways] = {
    "cvm.conv2d": conv2d,
    "cvm.dense": dense,
    "cvm.max_pool2d": max_pool,
    "cvm.transpose": transpose,
}
