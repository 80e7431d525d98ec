"""Memory of a device: from a pool of our own, given back when all streams are done with it."""

from __future__ import annotations

import ctypes
from collections import deque
from dataclasses import dataclass, field
from typing import Any

from cvmgen.api.driver import PrimaryContext
from cvmgen.api.streams import stream_handle
from cvmgen.errors import CvmgenError

# From cuda.h: CUmemAllocationType, CUmemLocationType, CUmemPool_attribute, CUstream_flags,
# CUuserObject_flags, CUuserObjectRetain_flags.
_PINNED, _ON_DEVICE, _RELEASE_THRESHOLD, _NON_BLOCKING, _NO_SYNC, _MOVE = 1, 1, 4, 1, 1, 1


class _Properties(ctypes.Structure):
    """CUmemPoolProps."""

    _fields_ = (
        ("kind", ctypes.c_int),
        ("handles", ctypes.c_int),
        ("location", ctypes.c_int),
        ("ordinal", ctypes.c_int),
        ("security", ctypes.c_void_p),
        ("most", ctypes.c_size_t),
        ("usage", ctypes.c_ushort),
        ("reserved", ctypes.c_ubyte * 54),
    )


class GraphEnd:
    """Whether a graph is there no more.

    The driver tells it in a thread of its own, where neither Python nor the driver may be called:
    it posts a semaphore of the C library.
    """

    _library = ctypes.CDLL(None)

    def __init__(self) -> None:
        self._place = ctypes.create_string_buffer(64)  # a sem_t has 32 bytes
        self._library.sem_init(self._place, 0, 0)
        self._come = False

    def __bool__(self) -> bool:
        self._come = self._come or self._library.sem_trywait(self._place) == 0
        return self._come

    def of(self, device: PrimaryContext, graph: int) -> None:
        """Be told of this graph, and of all that are made of it."""
        call = self._library.sem_post
        post = ctypes.cast(call, ctypes.c_void_p)
        name = "cuUserObjectCreate"
        told = device.driver.handle(name, ctypes.addressof(self._place), post, 1, _NO_SYNC)
        device.driver.call("cuGraphRetainUserObject", graph, told, 1, _MOVE)


@dataclass(slots=True)
class DeviceBlock:
    """A block, the stream in whose turn it was made, and what else may use it."""

    address: int
    stream: Any
    users: list[Any] = field(default_factory=list)
    """Streams that were told of it: it goes back when they too have come this far."""
    graph: GraphEnd | None = None
    """Of the capture that it was made for: each start of the graph uses it."""


class Pool:
    """A pool beside the one that all programs of a process share: its settings are ours."""

    def __init__(self, device: PrimaryContext) -> None:
        self._device = device
        self._own: int | None = None
        self._waiting: deque[DeviceBlock] = deque()  # threads share it, and finalizers at any time
        wanted = _Properties(kind=_PINNED, location=_ON_DEVICE, ordinal=device.ordinal)
        with device.current():
            self.handle = device.driver.handle("cuMemPoolCreate", ctypes.byref(wanted))
            # Without a threshold all free memory goes back whenever the host waits.
            most = ctypes.c_uint64((1 << 64) - 1)
            pointer = ctypes.byref(most)
            name = "cuMemPoolSetAttribute"
            device.driver.call(name, self.handle, _RELEASE_THRESHOLD, pointer)

    def allocate(self, size: int, stream: Any = None) -> DeviceBlock:
        """Memory from the stream's turn on."""
        self._collect()
        handle = stream_handle(stream)
        capture = self._device.capture(handle)
        if capture is None:
            return DeviceBlock(self._allocated(size, handle), stream)
        return self._for_graph(size, stream, capture[1])

    def release(self, memory: DeviceBlock) -> None:
        """Give memory back once all streams have come this far.

        Finalizers call this, at any time: what fails here fails in every later call, which says so.
        """
        try:
            if not self._device.driver.forked and not self._given_back(memory):
                self._waiting.append(memory)
        except CvmgenError:
            return

    def trim(self) -> None:
        """Give the free memory of the pool back to the device."""
        self._collect()
        with self._device.current():
            self._device.driver.call("cuMemPoolTrimTo", self.handle, 0)

    def _allocated(self, size: int, handle: int) -> int:
        found = ctypes.c_uint64()
        with self._device.current():
            name = "cuMemAllocFromPoolAsync"
            self._device.driver.call(name, ctypes.byref(found), max(size, 1), self.handle, handle)
        return found.value

    def _for_graph(self, size: int, stream: Any, graph: int) -> DeviceBlock:
        """Memory for all times that a graph is started, not made anew by each of them: what the
        capture computes is seen after it."""
        device = self._device
        with device.relaxed():
            if self._own is None:
                self._own = device.driver.handle("cuStreamCreate", _NON_BLOCKING)
            made = DeviceBlock(self._allocated(size, self._own), stream, graph=GraphEnd())
            device.driver.call("cuStreamSynchronize", self._own)
            assert made.graph is not None
            made.graph.of(device, graph)
        return made

    def _given_back(self, memory: DeviceBlock) -> bool:
        """False where it is too early: a graph uses the memory, or a stream is captured, in which
        nothing can be awaited now, or for which the default stream has to wait."""
        device = self._device
        stream, *others = map(stream_handle, (memory.stream, *memory.users))
        if memory.graph is not None and not memory.graph:
            return False
        if not all(map(device.admits, (stream, *others))):
            return False
        for each in others:
            device.order(stream, each)
        with device.current():
            device.driver.call("cuMemFreeAsync", memory.address, stream)
        return True

    def _collect(self) -> None:
        """Give back what could not go before."""
        for _ in range(len(self._waiting)):
            try:
                memory = self._waiting.popleft()
            except IndexError:  # another thread does it too
                return
            self.release(memory)
