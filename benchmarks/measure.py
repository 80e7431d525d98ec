"""Times of several calls, measured in turns: what disturbs one disturbs all."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from benchmarks.cases import Call


@dataclass(frozen=True, slots=True)
class Effort:
    """How long to measure.

    passes: how many processes measure all, one after the other: where memory lies, and what else
    the machine does for some seconds, is another thing in each; rounds: turns of each call in each
    of them; least: seconds that a turn takes at least; pause: seconds before a turn, in which
    threads that another library left spinning go to sleep; shortest: the shortest turn counts and
    not the median
    """

    passes: int = 3
    rounds: int = 7
    least: float = 0.01
    pause: float = 0.0
    shortest: bool = False


QUICK = Effort(passes=1, rounds=3, least=0.003)
# For a machine that does other work too: turns so short that some of them are left alone.
BUSY = Effort(passes=1, rounds=25, least=0.001, shortest=True)


def seconds(function: Callable[[], object], repeats: int) -> float:
    """Of one call among so many."""
    start = time.perf_counter()
    for _ in range(repeats):
        function()
    return (time.perf_counter() - start) / repeats


@dataclass(frozen=True, slots=True)
class Timing:
    """Seconds of a call: the median of its turns, or the shortest; and how far the half of them
    around the median lie apart, or the quarter next to the shortest, as a share of it."""

    seconds: float
    spread: float


def timings(calls: Sequence[Call], effort: Effort) -> list[Timing]:
    """Each call's seconds, over rounds in which every call has its turn."""
    repeats = [_repeats(call, effort.least) for call in calls]
    found: list[list[float]] = [[] for _ in calls]
    for _ in range(effort.rounds):
        for call, count, times in zip(calls, repeats, found, strict=True):
            time.sleep(effort.pause)
            times.append(_turn(call, count))
    return [_timing(times, effort.shortest) for times in found]


def _timing(times: Sequence[float], shortest: bool) -> Timing:
    low, median, high = statistics.quantiles(times, n=4, method="inclusive")
    first = min(times)
    found, apart = (first, low - first) if shortest else (median, high - low)
    return Timing(found, apart / found if found else 0.0)


def _repeats(call: Call, least: float) -> int:
    if call.clock is not None:
        return 1
    call.run()  # the first call loads and allocates
    once = seconds(call.run, 1)
    return max(1, int(least / max(once, 1e-7)))


def _turn(call: Call, repeats: int) -> float:
    if call.clock is not None:
        return call.clock()
    if repeats > 1:
        call.run()  # brings its data back into the caches
    return seconds(call.run, repeats)
