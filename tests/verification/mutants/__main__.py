"""What becomes of mutants: `python -m tests.verification.mutants [LAYER [KIND ...]]`; without
arguments of all, which writes the page about them."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from tempfile import TemporaryDirectory

from tests.verification.mutants import engines
from tests.verification.mutants.judged import EQUAL, Judged, judged
from tests.verification.mutants.made import COUNT, LAYERS, Mutant, mutants
from tests.verification.mutants.operators import ROOT
from tests.verification.mutants.page import PAGE, Row, Run, page

WORKERS = 2


def main(layer: str = "", *kinds: str) -> int:
    several = [
        mutant
        for each, of in LAYERS.items()
        for kind in of
        if layer in ("", each) and (not kinds or kind in kinds)
        for mutant in mutants(each, kind, COUNT)
    ]
    print(f"{len(several)} mutants", flush=True)
    began, found = time.perf_counter(), Run()
    with ProcessPoolExecutor(WORKERS) as pool, TemporaryDirectory() as folder:
        for part in pool.map(judged_in, by_operator(several), [Path(folder)] * len(several)):
            found += part
            for row in part.rows:
                if not row.settled:
                    print("NOT SETTLED", row.said, flush=True)
            print(f"{len(found.rows)} of {len(several)}", flush=True)
    seconds, spent = time.perf_counter() - began, sum(each.seconds for each in found.rows)
    print(f"{seconds:.0f} s, of which {spent:.0f} s of this processor in engines")
    if not layer:
        (ROOT / PAGE).write_text(page(found), encoding="utf-8")
    return int(not all(row.settled for row in found.rows))


def by_operator(several: Sequence[Mutant]) -> list[list[Mutant]]:
    """Those of one operator are judged by one process, which chooses its calls once."""
    groups: dict[tuple[str, str], list[Mutant]] = {}
    for each in several:
        groups.setdefault((each.formula, each.target), []).append(each)
    return sorted(groups.values(), key=len, reverse=True)


def judged_in(group: Sequence[Mutant], work: Path) -> Run:
    """What becomes of a group, in few words that go from one process to another."""
    engines.HYPOTHESES.clear()
    before = engines.PROVER.decided.keys() | set()
    began = time.process_time()
    rows = [*rows_of(judged(group, work))]
    seconds = time.process_time() - began
    rows = [row._replace(seconds=seconds / len(rows)) for row in rows]
    decided = len(engines.PROVER.decided.keys() - before)
    return Run(rows, engines.HYPOTHESES.copy(), decided)


def rows_of(found: Sequence[Judged]) -> Iterator[Row]:
    for each in found:
        mutant, verdict = each.mutant, each.verdict
        reason = each.reason if verdict == EQUAL else ""
        yield Row(mutant.layer, mutant.kind, mutant.name, each.by, verdict, reason, str(each), 0.0)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
