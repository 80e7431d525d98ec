"""What becomes of mutants: `python -m tests.verification.mutants [LAYER [KIND ...]]`."""

from __future__ import annotations

import sys
from collections import Counter
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from tempfile import TemporaryDirectory

from tests.verification.mutants.judged import judged
from tests.verification.mutants.made import COUNT, LAYERS, mutants


def main(layer: str = "", *kinds: str) -> None:
    chosen = [
        (each, kind)
        for each, of in LAYERS.items()
        for kind in of
        if layer in ("", each) and (not kinds or kind in kinds)
    ]
    totals: Counter[str] = Counter()
    with ProcessPoolExecutor() as pool:
        for about, (told, left) in zip(chosen, pool.map(drawn, chosen), strict=True):
            totals += told
            print(f"{', '.join(about)}: {counted(told)}", *left, sep="\n  ", flush=True)
    print(f"in all: {counted(totals)}")


def drawn(about: tuple[str, str]) -> tuple[Counter[str], list[str]]:
    """How many mutants of a kind came to what, and all that is known of those nothing refutes."""
    with TemporaryDirectory() as folder:
        found = judged(mutants(*about, COUNT), Path(folder))
    left = [each for each in found if each.verdict not in ("refused", "refuted")]
    shown = [f"{each}\n    {each.reason or 'NOT EXPLAINED'}" for each in left]
    return Counter(each.by for each in found), shown


def counted(several: Counter[str]) -> str:
    return ", ".join(f"{number} {word}" for word, number in sorted(several.items()))


if __name__ == "__main__":
    main(*sys.argv[1:])
