"""`cvmgen build --model`: one model to the files of a library, of C or of CUDA."""

from __future__ import annotations

import sys
from pathlib import Path

from cvmgen.build import folder_diff, write_changed
from cvmgen.build.progress import Progress
from cvmgen.cli.exits import Exit
from cvmgen.cli.given import GivenModel
from cvmgen.escape import json_text
from cvmgen.graph.compiled import compiled_models


def build_model(
    model: GivenModel,
    *,
    spec: Path,
    folder: Path | None,
    name: str | None,
    check: bool,
    report: bool,
    rust: bool,
    target: str,
    as_json: bool,
) -> Exit:
    """Write the model's files for a target where they changed, compile them, for CUDA what the host
    does, and say where they are; with `report`, also what the schedules, those of the spec folder,
    made of each step; with `rust` also a crate around them."""
    # Imported here: this needs lark, sympy and jinja2.
    from cvmgen.model.build import make_files, model_name
    from cvmgen.model.clients import cmake_files, rust_files
    from cvmgen.schedule.schedules import read_schedules

    chosen = name or model_name(model.file)
    place = folder or Path(chosen)
    with Progress() as progress:
        progress.step(f"generating {chosen}")
        made = make_files(
            model.source(), None, chosen, schedules=read_schedules(spec), target=target
        )
        library = made.all()
        files = library | (cmake_files(made, library) if target == "c" else {})
        files |= rust_files(made, library) if rust else {}
        steps = list(made.story()) if report else []
        if check:
            difference = folder_diff(place, files)
            print(*steps, difference or f"{place} is up to date\n", sep="\n", end="")
            return Exit.WRONG if difference else Exit.OK
        changes = write_changed(place, files)
        progress.step(f"compiling {chosen}")
        compiled = compiled_models(place, target)
    if as_json:
        written = [{"path": str(each.path), "kind": each.kind} for each in changes]
        told = {"folder": str(place), "changes": written, "library": str(compiled)}
        told |= {"report": steps} if report else {}
        print(json_text(told))
        return Exit.OK
    for line in steps:
        print(line)
    for each in changes:
        print(f"{each.kind:<8} {each.path}")
    sys.stdout.flush()
    print(f"library  {compiled}")
    return Exit.OK
