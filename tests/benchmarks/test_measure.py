"""Turns of calls, by a clock of our own."""

from __future__ import annotations

import pytest

from benchmarks import measure
from benchmarks.cases import Call
from benchmarks.measure import Effort, Timing, timings


class Clock:
    """Time passes when a call runs, and the calls are noted."""

    def __init__(self) -> None:
        self.now = 0.0
        self.ran: list[str] = []

    def call(self, name: str, *durations: float) -> Call:
        """Each run takes the next duration; the last one stays."""
        rest = list(durations)

        def run() -> None:
            self.ran.append(name)
            self.now += rest.pop(0) if len(rest) > 1 else rest[0]

        return Call(name, run)

    def sleep(self, seconds: float) -> None:
        self.now += seconds


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    made = Clock()
    monkeypatch.setattr(measure.time, "perf_counter", lambda: made.now)
    monkeypatch.setattr(measure.time, "sleep", made.sleep)
    return made


def test_calls_take_turns(clock: Clock) -> None:
    calls = [clock.call("a", 1.0), clock.call("b", 2.0)]
    assert timings(calls, Effort(rounds=3, least=0.5, pause=9.0)) == [
        Timing(1.0, 0.0),
        Timing(2.0, 0.0),
    ]
    assert "".join(clock.ran) == "aabb" + "ab" * 3, "first to load, once to see how long it takes"


def test_short_calls_are_repeated_in_a_turn(clock: Clock) -> None:
    timings([clock.call("a", 0.25)], Effort(rounds=2, least=1.0))
    assert len(clock.ran) == 2 + 2 * (1 + 4), "each turn has one more, to bring back the caches"


def test_the_median_forgets_what_disturbs(clock: Clock) -> None:
    call = clock.call("a", 1.0, 1.0, 1.0, 50.0, 2.0)
    (timing,) = timings([call], Effort(rounds=5, least=0.5))
    assert timing == Timing(2.0, 0.0)


def test_the_spread_tells_of_what_disturbs(clock: Clock) -> None:
    call = clock.call("a", 1.0, 1.0, 1.0, 2.0, 3.0, 4.0, 5.0)
    (timing,) = timings([call], Effort(rounds=5, least=0.5))
    assert timing == Timing(3.0, 2.0 / 3.0)


def test_on_a_busy_machine_the_shortest_turn_counts(clock: Clock) -> None:
    call = clock.call("a", 1.0, 1.0, 50.0, 2.0, 3.0)
    (timing,) = timings([call], Effort(rounds=3, least=0.5, shortest=True))
    assert timing == Timing(2.0, 0.25), "the quarter next to it ends between 2 and 3"


def test_a_call_may_bring_its_own_clock(clock: Clock) -> None:
    call = Call("loading", lambda: None, clock=lambda: 0.125)
    assert timings([call], Effort(rounds=3)) == [Timing(0.125, 0.0)]
    assert clock.now == 0.0
