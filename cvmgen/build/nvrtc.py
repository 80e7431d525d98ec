"""NVIDIA's run-time compiler as a library, through ctypes; it needs no driver."""

from __future__ import annotations

import ctypes
import functools
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from cvmgen.errors import BuildError

_COMPILATION_FAILED = 6

_SIGNATURES: Mapping[str, tuple[object, ...]] = {
    "nvrtcVersion": (ctypes.POINTER(ctypes.c_int), ctypes.POINTER(ctypes.c_int)),
    "nvrtcCreateProgram": (
        ctypes.POINTER(ctypes.c_void_p),
        ctypes.c_char_p,
        ctypes.c_char_p,
        ctypes.c_int,
        ctypes.POINTER(ctypes.c_char_p),
        ctypes.POINTER(ctypes.c_char_p),
    ),
    "nvrtcDestroyProgram": (ctypes.POINTER(ctypes.c_void_p),),
    "nvrtcCompileProgram": (ctypes.c_void_p, ctypes.c_int, ctypes.POINTER(ctypes.c_char_p)),
    "nvrtcGetCUBINSize": (ctypes.c_void_p, ctypes.POINTER(ctypes.c_size_t)),
    "nvrtcGetCUBIN": (ctypes.c_void_p, ctypes.c_char_p),
    "nvrtcGetPTXSize": (ctypes.c_void_p, ctypes.POINTER(ctypes.c_size_t)),
    "nvrtcGetPTX": (ctypes.c_void_p, ctypes.c_char_p),
    "nvrtcGetNumSupportedArchs": (ctypes.POINTER(ctypes.c_int),),
    "nvrtcGetSupportedArchs": (ctypes.POINTER(ctypes.c_int),),
    "nvrtcGetProgramLogSize": (ctypes.c_void_p, ctypes.POINTER(ctypes.c_size_t)),
    "nvrtcGetProgramLog": (ctypes.c_void_p, ctypes.c_char_p),
}


class Nvrtc:
    """The loaded library at `path`; raises BuildError when it cannot be loaded."""

    def __init__(self, path: Path) -> None:
        try:
            self._library = ctypes.CDLL(str(path))
            for name, arguments in _SIGNATURES.items():
                getattr(self._library, name).argtypes = arguments
        except (OSError, AttributeError) as error:
            raise BuildError(f"cannot load NVRTC: {error}") from error
        self._library.nvrtcGetErrorString.restype = ctypes.c_char_p

    def compile(
        self,
        source: str,
        name: str,
        includes: Mapping[str, str],
        options: Sequence[str],
        *,
        ptx: bool = False,
    ) -> tuple[bytes | None, str]:
        """The cubin, or the PTX (None when the code or an option is refused), and the log."""
        program = ctypes.c_void_p()
        self._call(
            "nvrtcCreateProgram",
            ctypes.byref(program),
            source.encode(),
            name.encode(),
            len(includes),
            _strings(includes.values()),
            _strings(includes.keys()),
        )
        try:
            status = self._library.nvrtcCompileProgram(program, len(options), _strings(options))
            # What each stage said ends with a NUL.
            text = self._get("nvrtcGetProgramLog", program).replace(b"\0", b"")
            log = text.decode(errors="replace")
            if status == 0 and ptx:
                return self._get("nvrtcGetPTX", program).rstrip(b"\0"), log
            if status == 0:
                return self._get("nvrtcGetCUBIN", program), log
            return None, log if status == _COMPILATION_FAILED and log else self._say(status, log)
        finally:
            self._call("nvrtcDestroyProgram", ctypes.byref(program))

    def version(self) -> str:
        """Of CUDA, as 13.0."""
        major, minor = ctypes.c_int(), ctypes.c_int()
        self._call("nvrtcVersion", ctypes.byref(major), ctypes.byref(minor))
        return f"{major.value}.{minor.value}"

    def architectures(self) -> list[str]:
        """What it compiles for, as sm_80."""
        count = ctypes.c_int()
        self._call("nvrtcGetNumSupportedArchs", ctypes.byref(count))
        found = (ctypes.c_int * count.value)()
        self._call("nvrtcGetSupportedArchs", found)
        return [f"sm_{number}" for number in found]

    def _get(self, function: str, program: ctypes.c_void_p) -> bytes:
        size = ctypes.c_size_t()
        self._call(f"{function}Size", program, ctypes.byref(size))
        buffer = ctypes.create_string_buffer(size.value)
        self._call(function, program, buffer)
        return buffer.raw

    def _call(self, function: str, *arguments: object) -> None:
        status = getattr(self._library, function)(*arguments)
        if status != 0:
            raise BuildError(f"NVRTC: {function}: {self._say(status)}")

    def _say(self, status: int, log: str = "") -> str:
        meaning: bytes = self._library.nvrtcGetErrorString(status)
        return f"{meaning.decode()}\n{log}".strip()


@functools.cache
def load_nvrtc(path: Path) -> Nvrtc:
    """The library at `path`, loaded once."""
    return Nvrtc(path)


def _strings(texts: Iterable[str]) -> ctypes.Array[ctypes.c_char_p]:
    encoded = [text.encode() for text in texts]
    return (ctypes.c_char_p * len(encoded))(*encoded)
