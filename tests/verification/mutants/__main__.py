"""What becomes of mutants: `python -m tests.verification.mutants [LAYER [KIND ...]]`; without
arguments of all, which writes the page about them.

What became of those of an operator is kept as long as nothing that goes into it changes, so that a
run that was broken off goes on.
"""

from __future__ import annotations

import pickle
import sys
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import cache, partial
from pathlib import Path
from tempfile import TemporaryDirectory

from cvmgen.build.cache import content_key, get_or_build
from cvmgen.cli.stamp import code_digest
from tests.verification.mutants import engines, truth
from tests.verification.mutants.judged import EQUAL, Judged, judged
from tests.verification.mutants.made import COUNT, LAYERS, Mutant, mutants, of_models
from tests.verification.mutants.operators import ROOT, generated, text_of
from tests.verification.mutants.page import PAGE, Row, Run, page

WORKERS = 2
CODE = ("analysis", "emit", "ir", "lower", "reference", "schedule", "typing", "verification")
JUDGES = ("engines.py", "judged.py", "reach.py", "truth.py")


def main(layer: str = "", *kinds: str) -> int:
    several = [
        mutant
        for each, of in LAYERS.items()
        for kind in of
        if layer in ("", each) and (not kinds or kind in kinds)
        for mutant in drawn(each, kind)
    ]
    print(f"{len(several)} mutants", flush=True)
    began, found = time.perf_counter(), Run()
    with ProcessPoolExecutor(WORKERS) as pool, TemporaryDirectory() as folder:
        for part in pool.map(remembered, by_operator(several), [Path(folder)] * len(several)):
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


def drawn(layer: str, kind: str) -> list[Mutant]:
    """Those of a kind: some of small formulas and operators of all kinds, and one of the opsets
    that models are read with."""
    among = of_models(layer)
    return [*mutants(layer, kind, COUNT), *(mutants(layer, kind, 1, among) if among else ())]


def by_operator(several: Sequence[Mutant]) -> list[list[Mutant]]:
    """Those of one operator are judged by one process, which chooses its calls once."""
    groups: dict[tuple[str, str], list[Mutant]] = {}
    for each in several:
        groups.setdefault((each.formula, each.target), []).append(each)
    return sorted(groups.values(), key=len, reverse=True)


def remembered(group: Sequence[Mutant], work: Path) -> Run:
    """What becomes of a group, which is asked once."""
    first = group[0]
    right = text_of(first.formula, first.target)
    parts = truth.sources(first, right, generated(first.formula, work))
    parts |= {f"{at} {each.name}": each.text for at, each in enumerate(group)}
    key = content_key(parts, compiler=judges())
    found: Run = pickle.loads(
        get_or_build(key, "-mutants.pickle", partial(judged_into, group, work)).read_bytes()
    )
    return found


@cache
def judges() -> str:
    """What all that decides about mutants is made of."""
    here = Path(__file__).parent
    return "".join((code_digest(CODE), *((here / each).read_text("utf-8") for each in JUDGES)))


def judged_into(group: Sequence[Mutant], work: Path, path: Path) -> None:
    path.write_bytes(pickle.dumps(judged_in(group, work)))


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
