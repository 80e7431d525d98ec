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

from cvmgen.emit.render import support_file
from cvmgen.verification.values import arithmetic as a
from cvmgen.verification.values import choices, modular
from cvmgen.verification.values import terms as t
from cvmgen.verification.values.fixed_point import LIBRARY
from cvmgen.verification.values.intrinsics import extreme
from cvmgen.verification.values.library import Routine, has_feature, text_at
from cvmgen.verification.values.memory import UndefinedBehaviour, Unmodelled

if TYPE_CHECKING:
    from cvmgen.verification.values.machine import Machine

WARP = 32
UNIT = "cvmgen_cpu_machine.cc"
HOST = support_file(f"cuda/cpu/{UNIT}")


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


class BlockThreads:
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
            raise UndefinedBehaviour(
                f"thread {number} waits for lanes of which it is none, at {file}:{line}"
            )
        if operation == Operation.SHUFFLE and number // WARP * WARP + lane not in those:
            raise UndefinedBehaviour(
                f"thread {number} asks for the value of lane {lane}, which does not come"
            )
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
            raise UndefinedBehaviour(
                f"thread {number} waits at {file}:{line} for others, which do not come"
            )

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
