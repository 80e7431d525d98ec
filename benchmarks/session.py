"""A whole measurement: a worker for each number of threads, and what they tell."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from benchmarks.machine import describe
from benchmarks.results import Measurement, Row
from benchmarks.worker import Task, environment

Show = Callable[[Row, Measurement], None]

ROOT = Path(__file__).resolve().parents[1]


def measured(tasks: Sequence[Task], show: Show) -> Measurement:
    """Do the tasks, one by one; `show` gets each row as it is found, and all that there is."""
    whole = Measurement(describe(), {}, {}, {}, [], effort=tasks[0].effort)
    for task in tasks:
        threads = task.threads
        command = [sys.executable, "-m", "benchmarks.worker", json.dumps(asdict(task))]
        with subprocess.Popen(
            command, cwd=ROOT, env=environment(threads), stdout=subprocess.PIPE, text=True
        ) as worker:
            assert worker.stdout is not None
            for line in worker.stdout:
                take(whole, json.loads(line), threads, show)
        if worker.returncode:
            whole.missing[f"the rest, threads: {threads}"] = (
                f"the worker ended with {worker.returncode}"
            )
    return whole


def take(whole: Measurement, message: dict[str, Any], threads: int, show: Show) -> None:
    """Add what a worker tells."""
    for kind, content in message.items():
        if kind == "row":
            row = Row(**{**content, "wrong": tuple(content["wrong"])})
            whole.rows.append(row)
            show(row, whole)
        elif kind == "rates":
            whole.rates[str(threads)] = content
        else:
            getattr(whole, kind).update(content)
