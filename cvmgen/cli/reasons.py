"""Why a build changed a file."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any

from cvmgen.cli.stamp import Stamp
from cvmgen.paths import MANIFEST

SHOWN_NAMES = 3

Entry = Mapping[str, Any]

# What readers see of an operator; callers depend on the rest of its entry.
PLACES = ("place", "blocks")
DESCRIPTION = ("doc", "formula", *PLACES)


def read_entries(folder: Path) -> dict[str, Entry]:
    """The operators that a folder's manifest describes, by full name; none where it has none."""
    try:
        data = json.loads((folder / MANIFEST).read_text(encoding="utf-8"))
        return {full_name(entry): entry for entry in data["operators"]}
    except (OSError, ValueError, KeyError, TypeError):
        return {}


def full_name(entry: Entry) -> str:
    return f"{entry['opset']}.{entry['name']}"


def file_of(entry: Entry) -> str:
    return str(entry["place"]).rpartition(":")[0]


def interface(entry: Entry) -> Entry:
    """What callers of an operator depend on."""
    return {name: value for name, value in entry.items() if name not in DESCRIPTION}


@dataclass(frozen=True, slots=True)
class BuildReasons:
    """The operators before and after a build, the last build's stamp and today's digests."""

    before: Mapping[str, Entry]
    after: Mapping[str, Entry]
    last: Stamp | None
    spec: str
    schedules: str
    generator: str

    def why(self, path: str, kind: str) -> str:
        """The reason for one changed file, named as below the generated folder."""
        parts = PurePosixPath(path)
        owner = f"{parts.parent.name}.{parts.stem}"
        if owner in self.before or owner in self.after:
            return self.operator(owner, kind)
        changed = self.changed()
        if self.before and changed and self.lists_operators(parts):
            return f"{some_names(changed)} {'moved' if self.only_moved(changed) else 'changed'}"
        return self.other(kind)

    def operator(self, name: str, kind: str) -> str:
        old, new = self.before.get(name), self.after.get(name)
        if new is None:
            return f"{name} is no longer in the spec"
        if old is None:
            return f"{name} is new" if self.before else self.other(kind)
        if old["formula"] != new["formula"]:
            return f"the formula of {name} changed"
        if file_of(old) != file_of(new):
            return f"{name} moved to {new['place']}"
        return self.other(kind)

    def other(self, kind: str) -> str:
        if kind == "removed":
            return "nothing generates it any more"
        if not self.before:
            return "first build here"
        if self.last is None or self.last.generator != self.generator:
            return "cvmgen changed"
        if self.last.spec != self.spec:
            return "a definition that it uses changed"
        if self.last.schedules != self.schedules:
            return "a schedule changed"
        return "it was missing" if kind == "new" else "it had been changed by hand"

    def changed(self) -> list[str]:
        names = dict.fromkeys([*self.after, *self.before])
        return [name for name in names if self.before.get(name) != self.after.get(name)]

    def only_moved(self, names: Iterable[str]) -> bool:
        """Whether operators are the same but for where they stand."""
        return all(
            name in self.before
            and name in self.after
            and {**self.before[name], **dict.fromkeys(PLACES)}
            == {**self.after[name], **dict.fromkeys(PLACES)}
            for name in names
        )

    def lists_operators(self, path: PurePosixPath) -> bool:
        """Whether a file names all operators: the manifest, a header, a package file."""
        opsets = {entry["opset"] for entry in self.after.values()}
        return str(path) == MANIFEST or path.stem in opsets or path.stem == "__init__"


def some_names(names: Sequence[str]) -> str:
    """The first few names, and how many more there are."""
    if len(names) <= SHOWN_NAMES:
        return ", ".join(names)
    return f"{', '.join(names[:SHOWN_NAMES])} and {len(names) - SHOWN_NAMES} more"
