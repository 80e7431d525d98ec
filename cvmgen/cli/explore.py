"""`cvmgen explore`: a page for each operator, on which its formula and its code belong together."""

from __future__ import annotations

import re
import shlex
from collections.abc import Sequence
from pathlib import Path

from cvmgen.build.files import listed_files, write_changed
from cvmgen.build.progress import Progress
from cvmgen.cli.exits import Exit, UsageError, give
from cvmgen.cli.explored import INDEX, Explored, open_page
from cvmgen.cli.given import GivenModel
from cvmgen.cli.pages import pages
from cvmgen.cli.specs import checked_operators, find_operators, probe_all
from cvmgen.cli.stories import FolderSchedules
from cvmgen.errors import CvmgenError, Faults
from cvmgen.inspection.pages import index, page_name
from cvmgen.paths import stands_alone
from cvmgen.source import SpecError, SpecErrors
from cvmgen.spec.formula import Operator
from cvmgen.spec.words import plural


def explore(
    asked: Explored, faults: Faults, errors: list[SpecError], *, assembled: bool, as_json: bool
) -> tuple[str, ...]:
    """Write the pages of the operators that are named, or of all, and an index of what lies there
    then; returns the files. What is wrong in formulas is added to `errors`: the others get their
    pages. Raises SpecErrors where there are no others."""
    _check_free(asked.folder / INDEX)
    with Progress(aloud=not as_json) as progress:
        known = checked_operators(asked.spec, progress, faults, errors)
        operators = _named(known, asked.operators, errors)
        operators = probe_all(operators, progress, faults, kept=errors)
        made = pages(operators, FolderSchedules(asked.spec), progress, faults, assembled=assembled)
        if not made:
            return ()
        whole = not (asked.operators or errors or faults.failed)
        there = {*made} if whole else {*made, *listed_files(asked.folder)}
        listed = [each for each in known if page_name(each) in there]
        files = {INDEX: index(listed, str(SpecErrors(errors))), **made}
        write_changed(asked.folder, files, remove_stale=whole)
        if not (errors or faults.failed or assembled):
            asked.keep(tuple(files))
    return tuple(files)


def _named(
    operators: Sequence[Operator], names: Sequence[str], errors: Sequence[SpecError]
) -> Sequence[Operator]:
    """The operators that are named, or all; SpecErrors where one may not be known for errors."""
    try:
        found = find_operators(operators, names) if names else operators
    except UsageError:
        found = ()
        if not errors:
            raise
    if errors and not found:
        raise SpecErrors(errors)
    return found


def explore_model(
    model: GivenModel,
    folder: Path,
    *,
    spec: Path,
    profile: bool,
    browse: bool,
    as_json: bool,
) -> Exit:
    """Write the page of a model; with `profile`, with the time of each step on this machine."""
    # Imported here: models need much that operators do not.
    from cvmgen.inspection.model_page import ModelPage
    from cvmgen.inspection.step_times import step_times
    from cvmgen.model.build import make_files, model_name
    from cvmgen.schedule.schedules import read_schedules

    name = model_name(model.file)
    first = folder / model_page_name(model.file, name)
    _check_free(first)
    with Progress(aloud=not as_json) as progress:
        progress.step(f"generating {name}")
        files = make_files(model.source(), None, name, schedules=read_schedules(spec))
        times: dict[str, float] = {}
        if profile:
            progress.step(f"compiling and timing {name}")
            times = step_times(files)
        command = shlex.join(["cvmgen", "build", *model.arguments()])
        written = {first.name: ModelPage(files, command, times).text()}
        write_changed(folder, written, remove_stale=False)
    open_page(first, browse=browse)
    told = f"{plural(len(files.steps), 'step')} in {first}\n"
    data = {"folder": str(folder), "pages": sorted(written), "microseconds": times}
    return give(data, told, as_json=as_json)


def model_page_name(symbol: Path, name: str) -> str:
    """The file of a model's page. A graph has its name from its folder, where there may be others:
    behind that goes the one of its file."""
    own = re.sub(r"\W", "_", symbol.stem, flags=re.ASCII)
    return f"{name}.html" if stands_alone(symbol) or own == name else f"{name}-{own}.html"


def _check_free(page: Path) -> None:
    """Refuse to write over a page that is somebody else's."""
    if page.exists() and page.name not in listed_files(page.parent):
        raise CvmgenError(f"{page} is no page of cvmgen: remove it, or choose a folder with --out")
