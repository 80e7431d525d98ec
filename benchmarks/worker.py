"""One process of a measurement: all workloads on one number of threads.

The number is in the environment before anything is loaded, so that each library obeys. What is
found goes to the parent as lines of JSON; libraries that print do so to the error stream.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np

from benchmarks import ours
from benchmarks.cases import Call, Problem, Workload
from benchmarks.measure import BUSY, QUICK, Effort, timings
from benchmarks.peers import Peer, find_peers
from benchmarks.probes import Probes
from benchmarks.results import Row
from benchmarks.workloads import chosen
from cvmgen.errors import CvmgenError

# Threads spin after their work, waiting for more: those of GNU's OpenMP for 7 ms, those of ONNX
# Runtime for 25 ms.
PAUSE = 0.03

EFFORTS = {"whole": Effort(), "quick": QUICK, "busy": BUSY}

VARIABLES = (
    "OMP_NUM_THREADS",
    "MKL_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "NUMBA_NUM_THREADS",
)


@dataclass(frozen=True, slots=True)
class Task:
    """What a worker measures; `also` are targets that are shown beside C."""

    threads: int
    pattern: str | None = None
    effort: str = "whole"
    also: Sequence[str] = ()

    @property
    def turns(self) -> Effort:
        return replace(EFFORTS[self.effort], pause=PAUSE if self.threads > 1 else 0.0)


def environment(threads: int) -> dict[str, str]:
    """What makes every library use so many threads."""
    # Intel's OpenMP lets its threads spin for 200 ms, on cores that the next call needs.
    settings = {**dict.fromkeys(VARIABLES, str(threads)), "KMP_BLOCKTIME": "1"}
    return {**os.environ, **settings}


def prepare(problem: Problem, also: Sequence[str] = ()) -> list[Call]:
    """Ours, run once, and with it what the others should compute."""
    mine = ours.calls(problem, also)
    mine[0].run()
    assert mine[0].result is not None
    problem.expected = tuple(np.array(each) for each in as_arrays(mine[0].result()))
    return mine


def as_arrays(result: Any) -> tuple[Any, ...]:
    return tuple(result) if isinstance(result, tuple) else (result,)


def agrees(call: Call, problem: Problem) -> bool:
    """Whether a call gives our results; where it cannot, that is not asked."""
    call.run()
    if call.result is None:
        return True
    found = as_arrays(call.result())
    pairs = zip(found, problem.expected, strict=True)
    return all(np.array_equal(np.reshape(mine, theirs.shape), theirs) for mine, theirs in pairs)


def peer_calls(problem: Problem, peers: Sequence[Peer]) -> tuple[list[Call], dict[str, str]]:
    """The calls of all peers, each run once; and why those of some cannot be made or run.

    Releases differ in what they take, and one that refuses must not end the measurement.
    """
    found, failed = [], {}
    for peer in peers:
        try:
            calls = peer.calls(problem)
            for call in calls:
                call.run()
        except Exception as error:
            failed[peer.name] = str(error).splitlines()[0]
        else:
            found += calls
    return found, failed


def measure(workload: Workload, peers: Sequence[Peer], probes: Probes, task: Task) -> Row:
    """A row of the results. Raises Missing where the workload cannot be run here."""
    problem = workload.problem()
    calls = prepare(problem, task.also)
    others, failed = peer_calls(problem, peers)
    wrong = tuple(call.name for call in (*calls[1:], *others) if not agrees(call, problem))
    calls += others
    limit = probes.limit(problem)
    found = timings([*calls, *([limit.call] if limit else [])], task.turns)
    named = [(call.name, each.seconds * 1e6) for call, each in zip(calls, found, strict=False)]
    beside = {call.name for call in calls if call.beside}
    spreads = {call.name: each.spread for call, each in zip(calls, found, strict=False)}
    (own, mine), *rest = named
    row = Row(
        workload=workload.name,
        threads=task.threads,
        ours=mine,
        peers={name: time for name, time in rest if name not in beside},
        beside={name: time for name, time in rest if name in beside},
        probe=found[-1].seconds * limit.scale * 1e6 if limit else None,
        wrong=wrong,
        failed=failed,
    )
    best = row.best_peer()
    compared = [spreads[own], *([spreads[best[0]]] if best else [])]
    return replace(row, spread=max(*compared, found[-1].spread if limit else 0.0))


def work(task: Task, tell: Callable[[Any], None]) -> None:
    """Measure what a task names; `tell` gets objects with one key each."""
    peers, absent = find_peers(task.threads)
    probes = Probes(task.threads)
    tell({"absent": absent})
    tell({"versions": {peer.name: peer.version for peer in peers}})
    tell({"rates": probes.rates(task.turns)})
    for workload in chosen(task.pattern):
        try:
            row = measure(workload, peers, probes, task)
        except (ours.Missing, CvmgenError) as error:
            tell({"missing": {workload.name: str(error)}})
        else:
            tell({"row": asdict(row)})


def main(arguments: Sequence[str]) -> int:
    channel = os.fdopen(os.dup(sys.stdout.fileno()), "w", encoding="utf-8")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())

    def tell(message: Any) -> None:
        print(json.dumps(message), file=channel, flush=True)

    work(Task(**json.loads(arguments[0])), tell)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
