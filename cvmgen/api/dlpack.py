"""DLPack capsules (https://dmlc.github.io/dlpack): reading them, and making them of addresses."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

CPU, CUDA, CUDA_HOST, CUDA_MANAGED = 1, 2, 3, 13
READ_ONLY = 1
VERSION = (1, 0)
PACKED = "two elements of four bits share a byte there; one in each byte is needed"

BFLOAT = 4
_KINDS = {0: "int", 1: "uint", 2: "float", BFLOAT: "bfloat", 5: "complex", 6: "bool"}


class _Tensor(ctypes.Structure):
    """DLTensor."""

    _fields_ = (
        ("data", ctypes.c_void_p),
        ("device_type", ctypes.c_int32),
        ("device_id", ctypes.c_int32),
        ("ndim", ctypes.c_int32),
        ("code", ctypes.c_uint8),
        ("bits", ctypes.c_uint8),
        ("lanes", ctypes.c_uint16),
        ("shape", ctypes.POINTER(ctypes.c_int64)),
        ("strides", ctypes.POINTER(ctypes.c_int64)),
        ("byte_offset", ctypes.c_uint64),
    )


class _Versioned(ctypes.Structure):
    """DLManagedTensorVersioned; the older DLManagedTensor begins with its tensor."""

    _fields_ = (
        ("major", ctypes.c_uint32),
        ("minor", ctypes.c_uint32),
        ("manager_ctx", ctypes.c_void_p),
        ("deleter", ctypes.c_void_p),
        ("flags", ctypes.c_uint64),
        ("tensor", _Tensor),
    )


_is_valid = ctypes.pythonapi.PyCapsule_IsValid
_is_valid.argtypes = (ctypes.py_object, ctypes.c_char_p)
_get_pointer = ctypes.pythonapi.PyCapsule_GetPointer
_get_pointer.argtypes = (ctypes.py_object, ctypes.c_char_p)
_get_pointer.restype = ctypes.c_void_p


@dataclass(frozen=True, slots=True)
class View:
    """What a capsule tells of a tensor. Strides are in elements; None: row-major without gaps."""

    data: int
    device: tuple[int, int]
    shape: tuple[int, ...]
    strides: tuple[int, ...] | None
    dtype: str
    read_only: bool


def view_of(capsule: Any) -> View:
    """The tensor of a capsule; its memory is the caller's to use as long as the capsule lives.

    The capsule is not taken over: it gives its tensor back itself when it goes.
    """
    tensor, flags = _tensor_of(capsule)
    name = "bool"
    if tensor.code != 6:
        name = f"{_KINDS.get(tensor.code, f'code {tensor.code} of ')}{tensor.bits}"
    if tensor.lanes != 1:
        name = f"{name}x{tensor.lanes}"
    return View(
        (tensor.data or 0) + tensor.byte_offset,
        (tensor.device_type, tensor.device_id),
        tuple(tensor.shape[: tensor.ndim]),
        tuple(tensor.strides[: tensor.ndim]) if tensor.strides else None,
        name,
        bool(flags & READ_ONLY),
    )


def request(value: Any, stream: int) -> Any:
    """The capsule of an object, whose data are ready in the stream's turn."""
    try:
        return value.__dlpack__(stream=stream, max_version=VERSION)
    except TypeError:  # an object of before versions
        return value.__dlpack__(stream=stream)


class _Memory:
    """An address as numpy takes it; numpy must never read an element."""

    def __init__(self, data: int, shape: Sequence[int], dtype: np.dtype[Any], owner: Any) -> None:
        self.owner = owner
        self.__array_interface__ = {
            "version": 3,
            "data": (data, False),
            "shape": tuple(shape),
            "typestr": dtype.str,
        }


def capsule_of(
    data: int,
    shape: Sequence[int],
    dtype: np.dtype[Any],
    ordinal: int,
    owner: Any,
    max_version: tuple[int, int] | None = None,
) -> Any:
    """A capsule over row-major memory of a device, which keeps `owner` alive.

    numpy makes it and releases it; only the device that it names is changed, and the kind of
    elements that numpy does not have.
    """
    foreign = dtype.name == "bfloat16"
    known = np.dtype(np.uint16) if foreign else dtype
    array = np.asarray(_Memory(data, shape, known, owner))
    if max_version is None or max_version < VERSION:
        capsule = array.__dlpack__()
    else:
        try:
            capsule = array.__dlpack__(max_version=max_version)
        except TypeError:  # a numpy of before versions
            capsule = array.__dlpack__()
    tensor, _ = _tensor_of(capsule)
    tensor.device_type, tensor.device_id = CUDA, ordinal
    if foreign:
        tensor.code = BFLOAT
    return capsule


def _tensor_of(capsule: Any) -> tuple[_Tensor, int]:
    """The tensor that a capsule points to, and its flags."""
    if _is_valid(capsule, b"dltensor_versioned"):
        pointer = _get_pointer(capsule, b"dltensor_versioned")
        managed = _Versioned.from_address(pointer)
        return managed.tensor, int(managed.flags)
    return _Tensor.from_address(_get_pointer(capsule, b"dltensor")), 0
