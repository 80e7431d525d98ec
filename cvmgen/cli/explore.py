"""`cvmgen explore`: a page for each operator, on which its formula and its code belong together."""

from __future__ import annotations

import shlex
from pathlib import Path

from cvmgen.build.files import listed_files, write_changed
from cvmgen.build.progress import Progress
from cvmgen.cli.exits import Exit, give
from cvmgen.cli.explored import INDEX, Explored, open_page
from cvmgen.cli.given import GivenModel
from cvmgen.cli.pages import pages
from cvmgen.cli.specs import checked_operators, find_operators, probe_all
from cvmgen.errors import CvmgenError, Faults
from cvmgen.inspection.pages import index
from cvmgen.schedule.schedules import read_schedules
from cvmgen.spec.words import plural


def explore(asked: Explored, faults: Faults, *, assembled: bool, as_json: bool) -> tuple[str, ...]:
    """Write the pages of the operators that are named, or of all, and an index of them; returns
    their files."""
    _check_free(asked.folder / INDEX)
    with Progress(aloud=not as_json) as progress:
        operators = checked_operators(asked.spec, progress, faults)
        if asked.operators:
            operators = tuple(find_operators(operators, asked.operators))
        operators = probe_all(operators, progress, faults)
        made = pages(operators, read_schedules(asked.spec), progress, faults, assembled=assembled)
        files = {INDEX: index(operators), **made}
        write_changed(asked.folder, files, remove_stale=not asked.operators)
        if not faults.failed and not assembled:
            asked.keep(tuple(files))
    return tuple(files)


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

    name = model_name(model.file)
    first = folder / f"{name}.html"
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


def _check_free(page: Path) -> None:
    """Refuse to write over a page that is somebody else's."""
    if page.exists() and page.name not in listed_files(page.parent):
        raise CvmgenError(f"{page} is no page of cvmgen: remove it, or choose a folder with --out")
