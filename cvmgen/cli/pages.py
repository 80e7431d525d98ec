"""Pages of `cvmgen explore`, remembered: what was not edited is not made again."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING

from cvmgen.api.manifest import SUFFIXES
from cvmgen.build.cache import content_key, get_or_build, is_stored
from cvmgen.build.compilers import c_compiler, cuda_compiler, disassembler
from cvmgen.build.files import digest_of, listed_files, write_changed
from cvmgen.build.helpers import helped
from cvmgen.build.progress import Progress
from cvmgen.cli.meaning import meaning_of, quoted_places
from cvmgen.cli.stamp import generator_digest
from cvmgen.cli.stories import FolderSchedules, read_of, remembered_story
from cvmgen.errors import BuildError, Faults
from cvmgen.escape import in_html, json_in_html
from cvmgen.inspection.pages import OperatorPage, Pane, index, page_name, static
from cvmgen.paths import generated_folder
from cvmgen.spec.formula import Operator
from cvmgen.verification.ledger import LedgerEntry, read_ledger

if TYPE_CHECKING:
    from cvmgen.compare.compared import Version
    from cvmgen.schedule.schedules import Schedules

PAGE = "-page.html"
WATCHED = "watch.js"


@dataclass(frozen=True, slots=True)
class PageRequest:
    """A page that is asked for, with all that it is made of."""

    operator: Operator
    schedules: Schedules | FolderSchedules
    entry: Mapping[str, LedgerEntry]  # of the operator in the ledger
    assembled: bool

    @property
    def key(self) -> str:
        folder, own = generated_folder(), f"{self.operator.opset}/{self.operator.name}"
        files = [folder / target / f"{own}.{end}" for target, end in SUFFIXES.items()]
        parts = {
            "meaning": meaning_of(self.operator),
            "places": quoted_places(self.operator),
            "schedules": self.schedules.quoted(),
            "ledger": repr(self.entry),
            "generated": digest_of(folder, files),
        }
        tools = compilers() if self.assembled else ("none",)
        return content_key(parts, compiler=f"cvmgen {generator_digest()}", flags=("page", *tools))

    def make(self, path: Path) -> None:
        entries = {self.operator.full_name: self.entry}
        story = remembered_story(self.operator, self.schedules)
        page = OperatorPage(self.operator, story, entries)
        path.write_text(page.text(self.listings(page)), encoding="utf-8")

    def listings(self, page: OperatorPage) -> Sequence[Pane]:
        if not self.assembled:
            return ()
        from cvmgen.inspection.listings import Listings  # needs the compiler, as pages do not

        return Listings(self.operator, read_of(self.schedules), page.formula).panes()

    def text(self) -> str:
        return get_or_build(self.key, PAGE, self.make).read_text(encoding="utf-8")


def pages(
    operators: Sequence[Operator],
    schedules: Schedules | FolderSchedules,
    progress: Progress,
    faults: Faults,
    *,
    assembled: bool = False,
) -> dict[str, str]:
    """The pages of operators by the names of their files; without those of operators on which we
    fail. Several processes make what is not remembered."""
    ledger = read_ledger(generated_folder())
    entries = {} if ledger is None else ledger.entries
    asked = {
        each.full_name: PageRequest(each, schedules, entries.get(each.full_name, {}), assembled)
        for each in operators
    }
    new = [each for each in asked.values() if not is_stored(each.key, PAGE)]
    for number, (each, _) in enumerate(zip(new, helped(PageRequest.text, new), strict=True), 1):
        progress.step(f"page of {each.operator.full_name}", number, len(new))
    found = {}
    for operator in progress.over(operators, lambda each: f"page of {each.full_name}"):
        with faults.apart(operator.full_name, operator.span.place):
            found[page_name(operator)] = asked[operator.full_name].text()
    return found


@dataclass(frozen=True, slots=True)
class WatchedPages:
    """A folder of pages that load themselves again when there is a newer version, and say what was
    told of the last save: those that lay there, and those of operators that were edited since."""

    folder: Path

    def update(
        self, version: Version, edited: Collection[str], told: str, progress: Progress
    ) -> list[str]:
        """Bring the pages up to date with what was saved; which of them changed."""
        known = listed_files(self.folder)
        meant = [
            each
            for each in version.operators.values()
            if each.full_name in edited or page_name(each) in known
        ]
        files = pages(meant, version.schedules, progress, Faults())
        there = {*files, *known}
        listed = (each for each in version.operators.values() if page_name(each) in there)
        files["index.html"] = index(listed)
        versions = {name: sha256(text.encode()).hexdigest() for name, text in files.items()}
        shown = {name: reloading(text, name, versions[name]) for name, text in files.items()}
        changes = write_changed(self.folder, shown, remove_stale=False)
        self.tell(told, versions)
        return [each.path.name for each in changes]

    def tell(self, told: str, versions: Mapping[str, str]) -> None:
        """What pages that are open find beside them; without `versions`, they stay."""
        last = json_in_html({"told": told, "versions": versions})
        write_changed(self.folder, {WATCHED: f"saved({last});\n"}, remove_stale=False)


def reloading(text: str, name: str, version: str) -> str:
    """A page that looks for newer versions of itself."""
    head, end, tail = text.rpartition("</body>")
    script = static("reload.js")
    mark = f'<script data-page="{in_html(name)}" data-version="{version}">'
    return f"{head}{mark}\n{script}</script>\n{end}{tail}"


def compilers() -> Iterator[str]:
    """What makes and reads machine code here, and its versions."""
    for find in (c_compiler, cuda_compiler, disassembler):
        with suppress(BuildError):
            found = find()
            yield "none" if found is None else found.identity
