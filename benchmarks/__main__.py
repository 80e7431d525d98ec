"""Measure the C target beside other libraries and beside the machine's limits.

    python -m benchmarks [--only PATTERN] [--quick | --busy] [--threads 1,2]
                         [--also TARGET] [--json FILE] [--check [FILE]]
    python -m benchmarks --readme [FILE]

Calls are measured in turns and compared by medians, in several processes for each number of
threads: of a row the one in the middle counts. Libraries that are not installed are listed as
absent.
"""

from __future__ import annotations

import argparse
import sys
from functools import partial
from pathlib import Path

from benchmarks import report
from benchmarks.machine import usable_cores
from benchmarks.plot import draw
from benchmarks.results import Measurement, Row, compare, read, write
from benchmarks.session import measured
from benchmarks.worker import Task
from cvmgen.build.progress import Progress

ROOT = Path(__file__).resolve().parents[1]
BASELINE = Path(__file__).with_name("baseline.json")


def parser() -> argparse.ArgumentParser:
    made = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__.split("\n")[0])
    made.add_argument("--only", metavar="PATTERN", help="workloads whose names it is found in")
    effort = made.add_mutually_exclusive_group()
    effort.add_argument("--quick", action="store_true", help="fewer and shorter rounds")
    effort.add_argument(
        "--busy", action="store_true",
        help="for a machine that does other work too: compare the shortest of many short rounds",
    )  # fmt: skip
    made.add_argument("--threads", metavar="LIST", type=_counts, help="as 1,2, the default")
    made.add_argument(
        "--also", metavar="TARGET", action="append", default=[],
        help="measure this target too, as numpy; it is shown under the table",
    )  # fmt: skip
    made.add_argument("--json", metavar="FILE", type=Path, help="store what was measured")
    made.add_argument(
        "--check", metavar="FILE", type=Path, nargs="?", const=BASELINE,
        help="report what got slower than the baseline, or than this file",
    )  # fmt: skip
    made.add_argument(
        "--readme", metavar="FILE", type=Path, nargs="?", const=BASELINE,
        help="measure nothing: write the table and the picture of the baseline, or of this file",
    )  # fmt: skip
    return made


def main() -> int:
    given = parser().parse_args()
    try:
        stored = read(given.readme or given.check) if given.readme or given.check else None
    except FileNotFoundError as error:
        print(f"nothing is stored here: {error.filename}", file=sys.stderr)
        return 1
    if stored is not None and given.readme:
        return write_readme(stored)
    counts = given.threads or [count for count in (1, 2) if count <= usable_cores()]

    def show(row: Row, whole: Measurement) -> None:
        """What is stored so far is kept when the rest is interrupted."""
        progress.clear()
        print(report.line(row), flush=True)
        if given.json is not None:
            write(given.json, whole)

    print(report.header(), flush=True)
    effort = "quick" if given.quick else "busy" if given.busy else "whole"
    tasks = [Task(count, given.only, effort, given.also) for count in counts]
    with Progress() as progress:
        measurement = measured(tasks, show, partial(tell, progress))
    for text in (*report.summary(measurement), *report.rates(measurement)):
        print(text)
    if given.json is not None:
        write(given.json, measurement)
    if stored is not None:
        print("\n".join(report.changes(compare(measurement, stored))))
    return int(any(row.wrong for row in measurement.rows))


def tell(progress: Progress, text: str, done: int, of: int) -> None:
    """On a terminal a bar, elsewhere a line."""
    if progress.speaks:
        progress.step(text, done, of)
    else:
        print(text, file=sys.stderr, flush=True)


def write_readme(measurement: Measurement) -> int:
    report.insert(ROOT / report.PAGE, report.section(measurement))
    try:
        draw(measurement, ROOT / report.PICTURE)
    except ImportError as error:
        print(f"no picture: {error}", file=sys.stderr)
        return 1
    return 0


def _counts(text: str) -> list[int]:
    return [int(each) for each in text.split(",")]


if __name__ == "__main__":
    sys.exit(main())
