"""Calls of a library's C interface with structures that are spoilt: for sanitizers.

python -m tests.fuzz.run_misused FOLDER LIBRARY SEED COUNT

What is spoilt never gives a tensor more elements than its memory has: that only the caller knows.
"""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Any

import cvmgen
from cvmgen.api import Operator
from cvmgen.api.c_backend import CBackend, ErrorStruct, ListStruct, TensorStruct
from cvmgen.api.manifest import read_manifest
from cvmgen.errors import OperatorError
from tests.conformance.random_calls import call
from tests.emit.raw import Raw

NUMBERS = (
    -(2**63), -(2**63) + 1, -(2**40), -(2**32), -(2**31), -17, -2, -1, 0, 1, 2, 3, 7, 16, 17, 64,
    255, 2**31 - 1, 2**31, 2**32, 2**32 + 1, 2**40, 2**62, 2**63 - 1,
)  # fmt: skip
SMALL = (-(2**31), -17, -1, 0, 1, 8, 15, 16, 17, 31, 32, 33, 64, 2**31 - 1)
MOST = 2**40  # elements of a tensor: the library must refuse more by itself
SPOILT = ("data", "extents", "rank", "dtype", "precision", "tensor", "attribute", "nothing")


def main() -> None:
    folder, library, seed, count = sys.argv[1:]
    operators = cvmgen.load("c", folder=folder, library=library)
    names = [info.full_name for info in read_manifest(Path(folder)).operators]
    accepted = refused = 0
    for number in range(int(seed), int(seed) + int(count)):
        for name in names:
            random = Random(f"{name} {number}")
            print(name, number, file=sys.stderr)  # what a report belongs to
            status = attempt(operators[name], name, random)
            accepted, refused = accepted + (status == 0), refused + (status == 1)
    print(accepted, refused)


def attempt(operator: Operator, name: str, random: Random) -> int | None:
    """The status of a call that is spoilt in one to three places; None where there is none."""
    try:
        raw = Raw(operator, call(name, random))
    except OperatorError:
        return None
    backend = operator._backend
    assert isinstance(backend, CBackend)
    items = {code: dtype.itemsize for dtype, code in backend.dtypes.items()}
    memory: dict[int, int] = {}
    for tensor in tensors(raw.args):
        memory[tensor.data or 0] = elements(tensor) * items[tensor.dtype]
    for _ in range(random.choice((1, 1, 2, 3))):
        spoil(raw, random)
    if any(beyond(tensor, memory, items) for tensor in tensors(raw.args)):
        return None
    error = ErrorStruct()
    status = int(raw.function(ctypes.byref(raw.args), ctypes.byref(error)))
    assert status in (0, 1, 2), status
    assert status == error.status
    assert status == 0 or error.rule, "a refusal without its rule"
    if random.randrange(3) == 0:
        bound_call(operator, raw, random)
    raw.infer(ctypes.byref(raw.args), ctypes.byref(error))  # last: it changes the outputs' shapes
    return status


def bound_call(operator: Operator, raw: Raw, random: Random) -> None:
    """The same call bound, run twice, released; constants promised at random."""
    backend = operator._backend
    assert isinstance(backend, CBackend)
    bound, error = ctypes.c_void_p(), ErrorStruct()
    bind = backend.function(f"{operator._info.function}_bind")
    constants = ctypes.c_uint64(random.choice((0, 1, 3, 2**64 - 1)))
    status = bind(ctypes.byref(raw.args), constants, ctypes.byref(bound), ctypes.byref(error))
    if status == 0:
        for _ in range(2):
            backend.function("cvmgen_run")(bound, None, ctypes.byref(error))
        backend.function("cvmgen_release")(bound)


def tensors(args: Any) -> Iterator[TensorStruct]:
    """All tensors that a structure of arguments points to."""
    counts = {name for name, _ in args._fields_}
    for name, _ in args._fields_:
        member = getattr(args, name)
        if isinstance(member, ctypes.POINTER(TensorStruct)) and member:
            yield member.contents
        elif f"{name}_count" in counts and member:
            for at in range(getattr(args, f"{name}_count")):
                if member[at]:
                    yield member[at].contents


def elements(tensor: TensorStruct) -> int:
    size = 1
    for extent in tensor.extents[: max(0, min(tensor.rank, len(tensor.extents)))]:
        size *= extent
    return size


def beyond(tensor: TensorStruct, memory: dict[int, int], items: dict[int, int]) -> bool:
    """Whether a tensor that the library may accept claims more bytes than its memory has."""
    legal = all(extent >= 0 for extent in tensor.extents[: max(tensor.rank, 0)])
    item = items.get(tensor.dtype, 0)
    if not tensor.data or not legal or not item or tensor.data % item:
        return False
    return memory.get(tensor.data, 0) < elements(tensor) * item < MOST * item


def spoil(raw: Raw, random: Random) -> None:
    found = list(tensors(raw.args))
    if not found:
        return
    tensor = random.choice(found)
    match random.choice(SPOILT):
        case "data":
            other = random.choice(found)
            tensor.data = random.choice((None, other.data, tensor.data and tensor.data + 1))
            if tensor.data and tensor.data == other.data:  # its memory is the other's
                tensor.extents[:] = other.extents[:]
                tensor.rank, tensor.dtype = other.rank, other.dtype
        case "extents":
            tensor.extents[random.randrange(16)] = random.choice(NUMBERS)
        case "rank":
            tensor.rank = random.choice(SMALL)
        case "dtype":  # a wider type needs more memory than there is
            tensor.dtype = random.choice((-1, 0, 99, 2**31 - 1, -(2**31)))
        case "precision":
            tensor.precision = random.choice(SMALL)
        case "tensor":
            points = [
                name
                for name, _ in raw.args._fields_
                if isinstance(getattr(raw.args, name), ctypes.POINTER(TensorStruct))
            ]
            setattr(raw.args, random.choice(points), None) if points else None
        case "attribute":
            spoil_attribute(raw.args, random)
        case _:
            pass


def spoil_attribute(args: Any, random: Random) -> None:
    """A number of an attribute, or the length of a list."""
    for name, kind in random.sample(args._fields_, len(args._fields_)):
        member = getattr(args, name)
        if name.endswith("_count"):
            continue
        if isinstance(member, ListStruct):
            if random.randrange(2):
                member.length = random.choice(NUMBERS)
            else:
                member.at[random.randrange(16)] = random.choice(NUMBERS)
        elif isinstance(member, ctypes.Array) and kind._type_ is ctypes.c_int64:
            member[random.randrange(len(member))] = random.choice(NUMBERS)
        elif kind in (ctypes.c_int64, ctypes.c_int32):
            setattr(args, name, random.choice(NUMBERS if kind is ctypes.c_int64 else SMALL))
        else:
            continue
        return


if __name__ == "__main__":
    main()
