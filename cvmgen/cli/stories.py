"""Stories of operators, kept by the build that makes their texts: pages are made of them without
the compiler."""

from __future__ import annotations

import json
import pickle
import zlib
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path
from typing import TYPE_CHECKING

from cvmgen.build.cache import content_key, get_or_build, is_stored
from cvmgen.cli.meaning import meaning_of, quoted_places
from cvmgen.cli.stamp import generator_digest, schedules_digest
from cvmgen.errors import CacheError
from cvmgen.inspection.story import Story
from cvmgen.spec.formula import Operator

if TYPE_CHECKING:
    from cvmgen.driver import Texts
    from cvmgen.schedule.schedules import Schedules

STORY, QUOTED = "-story.pickle.z", "-schedules.json"


@dataclass(frozen=True, slots=True)
class FolderSchedules:
    """The schedules that go with a spec folder, read where more is asked than what they say."""

    spec: Path

    def quoted(self) -> str:
        return _quoted(self.spec)

    def read(self) -> Schedules:
        from cvmgen.schedule.schedules import read_schedules  # a slow import

        return read_schedules(self.spec)


def read_of(schedules: Schedules | FolderSchedules) -> Schedules:
    return schedules.read() if isinstance(schedules, FolderSchedules) else schedules


@cache
def _quoted(spec: Path) -> str:
    """What the schedules of a folder say and where, from the cache where no file is another."""

    def write(path: Path) -> None:
        path.write_text(json.dumps(FolderSchedules(spec).read().quoted()), encoding="utf-8")

    key = content_key({"files": schedules_digest(spec)}, compiler=generator_digest(), flags=())
    found: str = json.loads(get_or_build(key, QUOTED, write).read_text(encoding="utf-8"))
    return found


def remembered_story(operator: Operator, schedules: Schedules | FolderSchedules) -> Story:
    """How an operator became code, from the cache where it was the same."""

    def write(path: Path) -> None:
        from cvmgen.driver import TARGETS, operator_texts

        chosen = read_of(schedules)
        texts = operator_texts(operator, tuple(TARGETS), chosen)
        _write(operator, chosen, texts, path)

    path = get_or_build(_key(operator, schedules.quoted()), STORY, write)
    found: Story = pickle.loads(zlib.decompress(path.read_bytes()))
    return found


def texts_and_story(operator: Operator, targets: Sequence[str], schedules: Schedules) -> Texts:
    """The texts of an operator; where they are those for all targets, its story is kept: with what
    made the texts at hand, that costs little."""
    from cvmgen.driver import TARGETS, operator_texts

    texts = operator_texts(operator, targets, schedules)
    if {*targets} == {*TARGETS}:
        key = _key(operator, schedules.quoted())
        with suppress(CacheError):
            if not is_stored(key, STORY):
                get_or_build(key, STORY, partial(_write, operator, schedules, texts))
    return texts


def _write(operator: Operator, schedules: Schedules, texts: Texts, path: Path) -> None:
    from cvmgen.inspection.making import story_of

    story = story_of(operator, schedules, texts.files)
    path.write_bytes(zlib.compress(pickle.dumps(story), 1))


def _key(operator: Operator, schedules: str) -> str:
    parts = {
        "meaning": meaning_of(operator),
        "places": quoted_places(operator),
        "schedules": schedules,
    }
    return content_key(parts, compiler=f"cvmgen {generator_digest()}", flags=("story",))
