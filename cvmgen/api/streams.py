"""Streams as callers name them, and as the driver takes them."""

from __future__ import annotations

from typing import Any

from cvmgen.errors import CvmgenError

LEGACY_STREAM = 1
"""The default stream under a name that is not 0, which DLPack takes for no stream."""


def stream_handle(stream: Any) -> int:
    """A stream as the driver takes it: None, its address, or an object of another library."""
    if stream is None:
        return 0
    if isinstance(stream, int) and not isinstance(stream, bool) and stream >= 0:
        return stream
    if hasattr(stream, "__cuda_stream__"):
        found = stream.__cuda_stream__
        return int((found() if callable(found) else found)[1])
    for name in ("cuda_stream", "ptr"):  # PyTorch's and CuPy's older releases
        found = getattr(stream, name, None)
        if isinstance(found, int):
            return found
    raise CvmgenError(
        f"stream={stream!r}: the address of a CUDA stream, or an object with __cuda_stream__, "
        "is needed"
    )
