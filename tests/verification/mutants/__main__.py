"""Mutants as a table: `python -m tests.verification.mutants [COUNT [LAYER ...]]`."""

from __future__ import annotations

import sys
from collections import Counter
from pathlib import Path
from tempfile import TemporaryDirectory

from tests.verification.mutants.judged import Judged, judged
from tests.verification.mutants.made import LAYERS, mutants


def main(count: int, *layers: str) -> None:
    totals: Counter[tuple[str, str]] = Counter()
    with TemporaryDirectory() as folder:
        for layer in layers or LAYERS:
            for kind in LAYERS[layer]:
                found = judged(mutants(layer, kind, count), Path(folder))
                told = Counter(outcome(each) for each in found)
                totals.update((layer, word) for word in told.elements())
                print(f"{layer}, {kind}: {counted(told)}", flush=True)
                for each in found:
                    if each.verdict not in ("refused", "refuted"):
                        print(f"  {each}\n    {each.reason or 'NOT EXPLAINED'}", flush=True)
    for layer in layers or LAYERS:
        own = Counter({word: number for (name, word), number in totals.items() if name == layer})
        print(f"{layer}: {counted(own)}")


def outcome(each: Judged) -> str:
    by = f" by {' and '.join(each.refuted)}" if each.verdict == "refuted" else ""
    return f"{each.verdict}{by}"


def counted(several: Counter[str]) -> str:
    return ", ".join(f"{number} {word}" for word, number in sorted(several.items()))


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 5, *sys.argv[2:])
