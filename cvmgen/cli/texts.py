"""Generated texts of operators, remembered: an edit costs what was edited."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import asdict
from pathlib import Path

from cvmgen.build.cache import content_key, get_or_build, is_stored
from cvmgen.cli.meaning import meaning_of, quoted_places
from cvmgen.cli.stamp import generator_digest
from cvmgen.driver import Texts, operator_texts
from cvmgen.emit.interface import source_places
from cvmgen.schedule.schedules import Schedules, packaged
from cvmgen.spec.formula import Operator

Make = Callable[[Operator, Sequence[str], Schedules | None], Texts]
TEXTS = "-texts.json"


def remembered_texts(
    operator: Operator,
    targets: Sequence[str],
    schedules: Schedules | None = None,
    make: Make = operator_texts,
) -> Texts:
    """`driver.operator_texts`, from the cache where the operator and the schedules were the same,
    wherever in its file it stood."""
    schedules = packaged() if schedules is None else schedules

    def write(path: Path) -> None:
        path.write_text(json.dumps(asdict(make(operator, targets, schedules))), encoding="utf-8")

    path = get_or_build(_key(operator, targets, schedules), TEXTS, write)
    found = json.loads(path.read_text(encoding="utf-8"))
    return Texts(found["files"], found["entry"] | source_places(operator))


def are_remembered(operator: Operator, targets: Sequence[str], schedules: Schedules) -> bool:
    """Whether they most likely are in the cache."""
    return is_stored(_key(operator, targets, schedules), TEXTS)


def _key(operator: Operator, targets: Sequence[str], schedules: Schedules) -> str:
    ordered = sorted(targets)
    parts = {
        "meaning": meaning_of(operator),
        "places": quoted_places(operator),
        "schedules": "\n".join(map(schedules.meaning_for, ordered)),
    }
    return content_key(parts, compiler=f"cvmgen {generator_digest()}", flags=("texts", *ordered))
