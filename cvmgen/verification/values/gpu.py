"""CUDA's text on the machine: the threads of each block one after the other, up to each barrier.

The text is compiled as the target `cuda-cpu` compiles it. What that target's runtime does with
grids and barriers is done here: a thread of a block is a fiber, which is left where it waits.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass
from enum import IntEnum
from typing import TYPE_CHECKING, Any

from cvmgen.verification.values import arithmetic as a
from cvmgen.verification.values import choices, modular
from cvmgen.verification.values import terms as t
from cvmgen.verification.values.intrinsics import extreme
from cvmgen.verification.values.library import LIBRARY, Routine, has_feature, text_at
from cvmgen.verification.values.memory import Fault, Unmodelled

if TYPE_CHECKING:
    from cvmgen.verification.values.machine import Machine

WARP = 32
UNIT = "cvmgen_machine.cc"
HOST = """\
#include "cpu/cvmgen_cpu.h"
#include <stdlib.h>
#include <string.h>

extern "C" int cvmgen_machine_has(const char *feature);
extern "C" void cvmgen_machine_threads(uint32_t count, void (*begin)(uint32_t),
                                       void (*enter)(uint32_t));
extern "C" int64_t cvmgen_machine_wait(uint32_t number, int operation, uint32_t lanes,
                                       const char *file, int line, int64_t value, uint32_t lane);

uint3 threadIdx, blockIdx, blockDim, gridDim;
cvmgen_cpu_block cvmgen_cpu_running;
static cvmgen_cpu_state state;
static cvmgen_cpu_copies copies;
static const cvmgen_cpu_kernel *running;
static uint3 next;

cvmgen_cpu_state *cvmgen_cpu_this_thread(void) {
    state.always_tiles = cvmgen_machine_has("tiles");
    state.always_votes = cvmgen_machine_has("votes");
    return &state;
}
cvmgen_cpu_copies &cvmgen_cpu_own_copies() { return copies; }

static uint3 index_of(uint32_t number) {
    const uint32_t rows = number / blockDim.x;
    return {number % blockDim.x, rows % blockDim.y, rows / blockDim.y};
}
static void enter(uint32_t number) { threadIdx = index_of(number); }
static void begin(uint32_t number) {
    next = index_of(number);
    cvmgen_cpu_running.begun = 0;
    cvmgen_cpu_running.threads = 1;
    cvmgen_cpu_running.index = &next;
    running->run(running->call);
}
int64_t cvmgen_cpu_wait(const cvmgen_cpu_barrier &barrier, int64_t value, uint32_t lane) {
    const uint32_t number = cvmgen_cpu_thread();
    return cvmgen_machine_wait(number, barrier.operation, barrier.lanes, barrier.file,
                               barrier.line, value, lane);
}
cudaError_t cvmgen_cpu_launch(const cvmgen_cpu_kernel &kernel, dim3 grid, dim3 block,
                              size_t dynamic, cudaStream_t) {
    gridDim = {grid.x, grid.y, grid.z};
    blockDim = {block.x, block.y, block.z};
    cvmgen_cpu_running.tensor_cores = cvmgen_machine_has("tensor cores");
    running = &kernel;
    for (unsigned z = 0; z < grid.z; ++z)
        for (unsigned y = 0; y < grid.y; ++y)
            for (unsigned x = 0; x < grid.x; ++x) {
                blockIdx = {x, y, z};
                cvmgen_cpu_running.dynamic = (unsigned char *)malloc(dynamic);
                cvmgen_machine_threads(block.x * block.y * block.z, begin, enter);
                free(cvmgen_cpu_running.dynamic);
            }
    return cudaSuccess;
}
cudaError_t cvmgen_cpu_set_dynamic(const void *, int) { return cudaSuccess; }
const char *cudaGetErrorString(cudaError_t) { return ""; }
cudaError_t cudaPeekAtLastError() { return cudaSuccess; }
cudaError_t cudaGetLastError() { return cudaSuccess; }
cudaError_t cudaMallocAsync(void **memory, size_t size, cudaStream_t) {
    *memory = malloc(size);
    return cudaSuccess;
}
cudaError_t cudaFreeAsync(void *memory, cudaStream_t) {
    free(memory);
    return cudaSuccess;
}
cudaError_t cudaMemsetAsync(void *memory, int value, size_t size, cudaStream_t) {
    memset(memory, value, size);
    return cudaSuccess;
}
cudaError_t cudaMemcpyAsync(void *to, const void *from, size_t size, cudaMemcpyKind,
                            cudaStream_t) {
    memcpy(to, from, size);
    return cudaSuccess;
}
cudaError_t cudaStreamSynchronize(cudaStream_t) { return cudaSuccess; }
"""


class Operation(IntEnum):
    """cvmgen_cpu_operation: what the threads of a barrier find together."""

    COUNT, BALLOT, SHUFFLE, MEMORY, ADD, AND, OR, XOR, MIN, MAX = range(10)


_FOLDS: dict[int, Callable[[Any, Any], Any]] = {
    **{
        each: a.binary(each.name.lower(), 64, frozenset())
        for each in (Operation.ADD, Operation.AND, Operation.OR, Operation.XOR)
    },
    Operation.MIN: extreme("smin", 64),
    Operation.MAX: extreme("smax", 64),
}


class _Left(BaseException):
    """A fiber is not gone on with."""


class Fiber:
    """Work that can be left within, and gone on with: a thread of which one runs at a time."""

    def __init__(self, work: Callable[[], None]) -> None:
        self._work = work
        self._go, self._back = threading.Semaphore(0), threading.Semaphore(0)
        self._error: BaseException | None = None
        self._left, self._ended = False, False
        threading.Thread(target=self._run, daemon=True).start()

    def _run(self) -> None:
        self._go.acquire()
        try:
            self._work()
        except _Left:
            pass
        except BaseException as error:
            self._error = error
        self._ended = True
        self._back.release()

    def resume(self) -> None:
        """Let it run until it pauses or ends."""
        self._go.release()
        self._back.acquire()
        if self._error is not None:
            raise self._error

    def pause(self) -> None:
        """Within it: let whoever resumed it go on."""
        self._back.release()
        self._go.acquire()
        if self._left:
            raise _Left

    def leave(self) -> None:
        if not self._ended:
            self._left = True
            self.resume()


@dataclass(slots=True)
class _Waiting:
    """A thread at a barrier: with what it brings, then with what it found."""

    fiber: Fiber
    barrier: tuple[int, int, str, int]  # operation, lanes (0: the block), file and line
    value: Any
    lane: int


class Threads:
    """The threads of the block that runs. A fiber runs those that have not begun one after the
    other; when each has ended or waits, barriers open to which all have come."""

    def __init__(self) -> None:
        self.count, self.begun = 0, 0
        self.current: Fiber | None = None
        self.waiting: dict[int, _Waiting] = {}
        self.ready: list[Fiber] = []
        self.fibers: list[Fiber] = []
        self.enter: Any = None

    def routines(self) -> dict[str, Routine]:
        """What the machine has of its own for CUDA's text."""
        return LIBRARY | {
            "cvmgen_machine_has": has_feature,
            "cvmgen_machine_threads": self.run,
            "cvmgen_machine_wait": self.wait,
        }

    def run(self, machine: Machine, arguments: list[Any]) -> None:
        """All threads of a block to their ends."""
        self.count, begin, self.enter = arguments
        self.begun = 0
        self.waiting, self.ready, self.fibers = {}, [], []
        try:
            while True:
                if self.ready:
                    self.resume(self.ready.pop(0))
                elif self.begun < self.count:
                    self.fibers.append(Fiber(lambda: self.work(machine, begin)))
                    self.resume(self.fibers[-1])
                elif self.waiting:
                    self.open()
                else:
                    break
        finally:
            for fiber in self.fibers:
                fiber.leave()

    def resume(self, fiber: Fiber) -> None:
        self.current = fiber
        fiber.resume()

    def work(self, machine: Machine, begin: Any) -> None:
        """On a fiber: begin threads while no other may go on."""
        while self.begun < self.count and not self.ready:
            self.begun += 1
            machine.call(begin, [self.begun - 1])

    # ------------------------------------------------------------ barriers

    def wait(self, machine: Machine, arguments: list[Any]) -> Any:
        number, operation, lanes, file, line, value, lane = arguments
        if machine.memory.journals:
            raise Unmodelled("a barrier on one way of a branch on elements")
        if isinstance(lanes, t.Term) or isinstance(lane, t.Term):
            raise Unmodelled("elements decide which lanes a barrier is for")
        assert self.current is not None
        barrier = operation, lanes % (1 << WARP), text_at(machine, file), line
        own = self.waiting[number] = _Waiting(self.current, barrier, value, lane)
        those = self.those(number)
        if number not in those:
            raise Fault(f"thread {number} waits for lanes of which it is none, at {file}:{line}")
        if operation == Operation.SHUFFLE and number // WARP * WARP + lane not in those:
            raise Fault(f"thread {number} asks for the value of lane {lane}, which does not come")
        own.fiber.pause()
        machine.call(self.enter, [number])
        return own.value

    def those(self, number: int) -> list[int]:
        """The threads that the barrier of one of them is for."""
        lanes, first = self.waiting[number].barrier[1], number // WARP * WARP
        if lanes == 0:
            return list(range(self.count))
        end = min(first + WARP, self.count)
        return [each for each in range(first, end) if lanes >> (each - first) & 1]

    def open(self) -> None:
        """Open all barriers to which everybody has come: there must be one."""
        opened = False
        for number in sorted(self.waiting):
            if number in self.waiting and self.complete(number):
                self.pass_(self.those(number))
                opened = True
        if not opened:
            number, first = min(self.waiting.items())
            _, _, file, line = first.barrier
            raise Fault(f"thread {number} waits at {file}:{line} for others, which do not come")

    def complete(self, number: int) -> bool:
        barrier, waiting = self.waiting[number].barrier, self.waiting
        return all(
            each in waiting and waiting[each].barrier == barrier for each in self.those(number)
        )

    def pass_(self, those: list[int]) -> None:
        """Give all of them what they find, and let them go on."""
        several = [self.waiting.pop(number) for number in those]
        values = {number % WARP: each.value for number, each in zip(those, several, strict=True)}
        operation = several[0].barrier[0]
        if operation == Operation.SHUFFLE:
            found = [values[each.lane] for each in several]
        else:
            found = [together(operation, those, [e.value for e in several])] * len(several)
        for each, value in zip(several, found, strict=True):
            each.value = value
            self.ready.append(each.fiber)


def together(operation: int, numbers: list[int], values: list[Any]) -> Any:
    """What all threads of a barrier find."""
    if operation == Operation.MEMORY:
        return 0
    if operation in (Operation.COUNT, Operation.BALLOT):
        weights = [1 << number % WARP if operation else 1 for number in numbers]
        bits = [choices.choose(_holds(value), 1, 0) for value in values]
        total: Any = 0
        for weight, bit in zip(weights, bits, strict=True):
            total = t.add(total, t.multiply(bit, weight))
        return total
    found, *others = values
    for value in others:
        found = _FOLDS[operation](found, value)
    return found


def _holds(value: Any) -> t.Truth:
    return t.opposite(t.equal(modular.signed(value, 64), 0))
