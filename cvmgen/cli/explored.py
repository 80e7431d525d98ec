"""Whether pages are as they would be made again, seen without importing what makes them."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from cvmgen.build.files import digest_of
from cvmgen.cli.exits import Exit, give_in_part
from cvmgen.cli.stamp import (
    Stamp,
    files_digest,
    generator_digest,
    read_stamp,
    schedules_digest,
    spec_digest,
    stamp_path,
    write_stamp,
)
from cvmgen.paths import generated_folder
from cvmgen.source import SpecError
from cvmgen.spec.words import plural

INDEX = "index.html"


@dataclass(frozen=True, slots=True)
class Explored:
    """Pages of some operators of a spec folder, of all where none is named, in a folder."""

    spec: Path
    operators: tuple[str, ...]
    folder: Path

    def known(self) -> tuple[str, ...]:
        """The files of the pages, if nothing changed since they were made; else none."""
        found = read_stamp(self.place)
        return found.names if found and found == self.stamp(found.names) else ()

    def keep(self, files: Sequence[str]) -> None:
        """Remember that these files are made of what there is now."""
        write_stamp(self.place, self.stamp(tuple(files)))

    @property
    def place(self) -> Path:
        return stamp_path(self.folder, self.spec, ("pages",), self.operators)

    def stamp(self, files: tuple[str, ...]) -> Stamp:
        # Pages say what is proved, and whether generated/ has the texts that they show.
        generated = generated_folder()
        beside = digest_of(generated, sorted(generated.rglob("*.*")))
        made_by = hashlib.sha256(f"{generator_digest()} {beside}".encode()).hexdigest()
        return Stamp(
            spec_digest(self.spec),
            schedules_digest(self.spec),
            made_by,
            files_digest(self.folder, files),
            files,
        )

    def first(self, files: Sequence[str]) -> Path:
        """The page to begin with."""
        alone = [each for each in files if each != INDEX]
        return self.folder / (alone[0] if len(alone) == 1 else INDEX)

    def tell(self, files: Sequence[str], errors: Sequence[SpecError], *, as_json: bool) -> Exit:
        pages = plural(len(files) - 1, "page")
        told = f"{pages} in {self.folder}; begin with {self.first(files)}\n" if files else ""
        data = {"folder": str(self.folder), "pages": sorted(files)}
        return give_in_part(data, told, errors, as_json=as_json)


def open_page(page: Path, *, browse: bool) -> None:
    if browse:
        import webbrowser

        webbrowser.open(page.resolve().as_uri())
