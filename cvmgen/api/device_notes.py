"""What kernels find when their call has returned: words that host and device share.

That an integer does not fit its type shows in a kernel. It notes the place in a word, for which
nothing is allocated, copied or awaited in a call. The refusal is told where the host waits next, or
sees the results: each word is read there, which is all that it costs.
"""

from __future__ import annotations

import ctypes
import threading
import weakref
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from cvmgen.api.c_backend import NO_OVERFLOW
from cvmgen.api.device_memory import GraphEnd
from cvmgen.api.driver import PrimaryContext
from cvmgen.api.streams import LEGACY_STREAM
from cvmgen.errors import CvmgenError, OperatorError
from cvmgen.lists import unflatten
from cvmgen.typed import overflow_rule

Words = np.ndarray[Any, np.dtype[np.int64]]

PAGE = 128  # words that are made at once
CLEAR = NO_OVERFLOW.to_bytes(8, "little")
MOST_WAITING = 4  # that are looked at before a call, of those that kernels may still write to
_PORTABLE, _DEVICE_MAP = 1, 2  # from cuda.h: CU_MEMHOSTALLOC


class NotingStruct(ctypes.Structure):
    """cvmgen_noting."""

    _fields_ = (
        ("overflow", ctypes.c_void_p),
        ("capture", ctypes.c_uint64),
        ("graph", ctypes.c_void_p),
    )


@dataclass(frozen=True, slots=True)
class NotedResult:
    """A result as a refusal names it."""

    name: str
    shape: tuple[int, ...]
    dtype: str


@dataclass(eq=False, slots=True)
class Noted:
    """The words of a call, one for each output, and what is known of kernels that write them."""

    operator: str
    outputs: Sequence[NotedResult]
    words: Words
    address: int
    """Of the words, on the device."""
    noting: NotingStruct
    """What tells kernels of the words."""
    streams: list[int] = field(default_factory=list)
    """In which kernels were started."""
    seen_in: set[int] = field(default_factory=set)
    """Other streams, which work on the results."""
    graphs: dict[int, GraphEnd] = field(default_factory=dict)
    """Which captured kernels, by the numbers of the captures: each start of a graph writes anew."""
    thread: threading.Thread = field(default_factory=threading.current_thread)
    """That started kernels last."""
    lock: threading.Lock = field(default_factory=threading.Lock)
    """While kernels are started, and while words are read and cleared."""
    dropped: bool = False
    """Nobody has the call or its results any more."""
    untold: bool = False
    """Its results are arrays that tell nothing of it: the next call in their stream does."""
    events: list[int] | None = None
    """Of a dropped call: what comes to pass when its kernels are done."""

    @property
    def is_clear(self) -> bool:
        return self.words.tobytes() == CLEAR * self.words.size

    def concerns(self, stream: int) -> bool:
        """Whether who waits for a stream, or reads what it computes, is to be told: the thread that
        started the kernels, or any where that one has ended. Graphs are started in any stream."""
        if self.thread is not threading.current_thread() and self.thread.is_alive():
            return False
        return bool(self.graphs) or _name(stream) in map(_name, (*self.streams, *self.seen_in))

    def is_left(self, stream: int) -> bool:
        """Whether the next call in a stream is to tell of it, since nobody else will."""
        return (self.dropped or self.untold) and self.concerns(stream)

    def taken(self) -> OperatorError | None:
        """The refusal by the first output that has an element to name; the words are clear then."""
        places = self.words.tolist()
        self.words[:] = NO_OVERFLOW
        for output, place in zip(self.outputs, places, strict=True):
            if place != NO_OVERFLOW:
                rule = overflow_rule(unflatten(place, output.shape), output.dtype)
                return OperatorError(self.operator, output.name, "", rule)
        return None


class Notes:
    """What a call and its results have of the words. Those are used again when all are gone."""

    __slots__ = ("__weakref__", "noted")

    def __init__(self, noted: Noted, refusals: DeviceRefusals) -> None:
        self.noted = noted
        finalizer = weakref.finalize(self, refusals.drop, noted)
        finalizer.atexit = False


class DeviceRefusals:
    """What is refused on a device, until it is told."""

    def __init__(self, device: PrimaryContext) -> None:
        self._device = device
        # Threads share these, and finalizers at any time: each step is one of Python's own.
        self._pages: list[tuple[Words, bytes]] = []  # and each as it is where all is clear
        self._free: dict[int, deque[tuple[Words, int]]] = {}
        self._noted: dict[int, Noted] = {}
        self._waiting: deque[Noted] = deque()

    # -------------------------------------------------------- words

    def notes(self, operator: str, outputs: Sequence[NotedResult]) -> Notes:
        """Words for a call, which are clear."""
        self._collect()
        words, address = self._row(len(outputs))
        noted = Noted(operator, outputs, words, address, NotingStruct(address))
        self._noted[address] = noted
        return Notes(noted, self)

    def start(self, notes: Notes, stream: int, launch: Callable[[int, Any], None]) -> None:
        """Launch kernels that write to these words; `launch` takes the stream, where to note, and
        what is told there of a capture."""
        noted, noting = notes.noted, notes.noted.noting
        if self._any():
            self.tell(lambda each: each.is_left(stream), stream, noted)
        with noted.lock:
            noted.thread = threading.current_thread()
            noting.capture = 0
            try:
                launch(stream, ctypes.byref(noting))
            finally:  # some kernels may have been started
                if noting.capture:
                    self._captured(noted, noting.capture, noting.graph)
                elif stream not in noted.streams:
                    noted.streams.append(stream)

    def _captured(self, noted: Noted, number: int, graph: int) -> None:
        noted.graphs = live_graphs(noted.graphs)
        if number not in noted.graphs:
            end = GraphEnd()
            with self._device.relaxed():
                end.of(self._device, graph)
            noted.graphs[number] = end

    def _row(self, count: int) -> tuple[Words, int]:
        """Words that no kernel writes to, and where they lie on the device."""
        free = self._free.setdefault(count, deque())
        try:
            return free.popleft()
        except IndexError:
            made = self._page(max(count, PAGE))
        page, address = made
        for at in range(count, page.size - count + 1, count):
            free.append((page[at : at + count], address + at * page.itemsize))
        return page[:count], address

    def _page(self, count: int) -> tuple[Words, int]:
        """Memory of the host that the device reaches; it stays for the process."""
        device, flags, size = self._device, _PORTABLE | _DEVICE_MAP, count * 8
        found = ctypes.c_uint64()
        with device.relaxed():
            data = device.driver.handle("cuMemHostAlloc", size, flags)
            device.driver.call("cuMemHostGetDevicePointer_v2", ctypes.byref(found), data, 0)
        memory: Any = (ctypes.c_int64 * count).from_address(data)
        page = np.frombuffer(memory, np.int64)
        page[:] = NO_OVERFLOW
        self._pages.append((page, CLEAR * count))
        return page, found.value

    # -------------------------------------------------------- refusals

    def tell(
        self,
        wanted: Callable[[Noted], bool],
        stream: int | None = None,
        own: Noted | None = None,
    ) -> None:
        """Raise what was refused of one's own call, or of another one that is wanted; nothing where
        the stream is captured."""
        if not self._any():
            return
        if stream is not None and self._device.capture(stream) is not None:
            return
        if own is not None and not own.is_clear:
            self._tell(own)
        for noted in list(self._noted.values()):
            if wanted(noted) and not noted.is_clear:
                self._tell(noted)

    def seen(self, stream: int, notes: Notes | None = None) -> None:
        """Raise what was refused of what a stream computes, and of the call with these words."""
        own = None if notes is None else notes.noted
        self.tell(lambda each: each.concerns(stream), stream, own)

    def _any(self) -> bool:
        if self._device.driver.forked:  # it may not have the pages
            return False
        # As bytes a page is compared in a tenth of the time that numpy takes.
        return any(page.tobytes() != clear for page, clear in self._pages)

    def _tell(self, noted: Noted) -> None:
        """The kernels may not all have ended: the first place is known when they have."""
        device = self._device
        with noted.lock:
            if not all(map(device.admits, noted.streams)):
                return
            with device.relaxed():
                for stream in noted.streams:
                    device.driver.call("cuStreamSynchronize", stream)
            error = noted.taken()
        if error is not None:
            raise error

    # -------------------------------------------------------- the end

    def drop(self, noted: Noted) -> None:
        """Nobody has the call or its results any more. Finalizers call this, at any time."""
        noted.dropped = True
        if not self._settled(noted):
            self._waiting.append(noted)

    def _collect(self) -> None:
        """Take words back that could not be taken before."""
        unsettled = 0
        for _ in range(len(self._waiting)):
            try:
                noted = self._waiting.popleft()
            except IndexError:  # another thread does it too
                return
            if not self._settled(noted):
                self._waiting.append(noted)
                unsettled += 1
            if unsettled == MOST_WAITING:
                return

    def _settled(self, noted: Noted) -> bool:
        """Whether the words of a dropped call are free: none can be written to any more, and what
        was refused is told."""
        try:
            if self._device.driver.forked or not self._is_over(noted) or not noted.is_clear:
                return False
        except CvmgenError:  # which fails in every later call, too
            return False
        del self._noted[noted.address]
        self._free[noted.words.size].append((noted.words, noted.address))
        return True

    def _is_over(self, noted: Noted) -> bool:
        """Whether all kernels of a dropped call are done."""
        device = self._device
        noted.graphs = live_graphs(noted.graphs)
        if noted.graphs:
            return False
        if noted.events is None:
            if not all(map(device.admits, noted.streams)):
                return False
            noted.events = [device.recorded(stream) for stream in noted.streams]
        while noted.events and device.is_over(noted.events[-1]):
            noted.events.pop()
        return not noted.events


def live_graphs(graphs: dict[int, GraphEnd]) -> dict[int, GraphEnd]:
    """Those that have not ended."""
    return {number: end for number, end in graphs.items() if not end}


def _name(stream: int) -> int:
    return stream or LEGACY_STREAM
