"""A whole measurement: workers for each number of threads, and what they tell."""

from __future__ import annotations

import json
import statistics
import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from benchmarks.machine import describe
from benchmarks.results import Measurement, Row, middle
from benchmarks.worker import Task, environment
from benchmarks.workloads import by_name

Show = Callable[[Row, Measurement], None]
Note = Callable[[str, int, int], None]  # what is being done, number so many of so many

ROOT = Path(__file__).resolve().parents[1]


def measured(
    tasks: Sequence[Task], show: Show, note: Note = lambda text, done, of: None
) -> Measurement:
    """Do the tasks, one by one, as often as their effort says; `show` gets each row in the last
    pass, and all that there is, `note` what is done before that."""
    session = Session(Measurement(describe(), {}, {}, {}, [], effort=tasks[0].effort))
    passes = tasks[0].turns.passes
    for number in range(1, passes + 1):
        for place, task in enumerate(tasks, 1):
            if number < passes:
                text = f"pass {number} of {passes}, threads: {task.threads}"
                note(text, (number - 1) * len(tasks) + place, passes * len(tasks))
            session.run(task, show if number == passes else lambda row, whole: None)
    return session.whole


class Session:
    """What workers have told so far."""

    def __init__(self, whole: Measurement) -> None:
        self.whole = whole
        self.rows: dict[tuple[str, int], list[Row]] = {}
        self.rates: dict[int, list[dict[str, float]]] = {}

    def run(self, task: Task, show: Show) -> None:
        threads = task.threads
        command = [sys.executable, "-m", "benchmarks.worker", json.dumps(asdict(task))]
        with subprocess.Popen(
            command, cwd=ROOT, env=environment(threads), stdout=subprocess.PIPE, text=True
        ) as worker:
            assert worker.stdout is not None
            for line in worker.stdout:
                self.take(json.loads(line), threads, show)
        if worker.returncode:
            self.whole.missing[f"the rest, threads: {threads}"] = (
                f"the worker ended with {worker.returncode}"
            )

    def take(self, message: dict[str, Any], threads: int, show: Show) -> None:
        """Add what a worker tells."""
        for kind, content in message.items():
            if kind == "row":
                row = self.row(Row(**{**content, "wrong": tuple(content["wrong"])}))
                show(row, self.whole)
            elif kind == "rates":
                self.whole.rates[str(threads)] = self.rate(content, threads)
            else:
                getattr(self.whole, kind).update(content)

    def row(self, found: Row) -> Row:
        """The row in the middle of the passes so far, in the place of the one that was."""
        key, rows = (found.workload, found.threads), self.whole.rows
        several = self.rows.setdefault(key, [])
        several.append(found)
        known = by_name(found.workload)
        row, old = middle(known.goals if known else (), several), self.whole.row(*key)
        if old is None:
            rows.append(row)
        else:
            rows[rows.index(old)] = row
        return row

    def rate(self, found: dict[str, float], threads: int) -> dict[str, float]:
        """The medians of the passes so far."""
        several = self.rates.setdefault(threads, [])
        several.append(found)
        return {name: statistics.median(each[name] for each in several) for name in found}
