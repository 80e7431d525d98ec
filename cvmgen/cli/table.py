"""`cvmgen list --markdown`: the operators as tables, printed or kept up to date in a file."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterator, Sequence
from itertools import groupby
from pathlib import Path, PurePosixPath

from cvmgen.build.progress import Progress
from cvmgen.cli.exits import Exit, give
from cvmgen.cli.specs import probed_operators
from cvmgen.driver import TARGETS, operator_file
from cvmgen.errors import CvmgenError
from cvmgen.paths import generated_folder
from cvmgen.spec.formula import Operator

BEGIN = "<!-- operators: `cvmgen list --into` writes what follows -->"
END = "<!-- end of operators -->"
SPECIAL = re.compile(r"(`[^`]*`)|[\\*<\[\]]")
"""Code, which stays as it is, or a sign that Markdown would take as its own."""


def print_tables(spec: Path, *, as_json: bool) -> Exit:
    """Print a table for each spec file."""
    text = tables_of(spec)
    return give({"markdown": text}, f"{text}\n", as_json=as_json)


def update(spec: Path, path: Path, *, check: bool, as_json: bool) -> Exit:
    """Write the tables between the two marks in a file; with `check`, only look."""
    before = path.read_text(encoding="utf-8")
    up = os.path.relpath(spec.resolve().parent, path.resolve().parent)
    after = with_tables(
        before, tables_of(spec, "" if up == "." else f"{Path(up).as_posix()}/"), path
    )
    stale = before != after
    if stale and not check:
        path.write_text(after, encoding="utf-8")
    state = "is up to date" if not stale else "is stale" if check else "is written"
    told = {"file": str(path), "stale": stale}
    give(told, f"{path}: the list of operators {state}\n", as_json=as_json)
    if not (stale and check):
        return Exit.OK
    print(f"`cvmgen list --into {path}` brings it up to date", file=sys.stderr)
    return Exit.WRONG


def tables_of(spec: Path, up: str = "") -> str:
    with Progress() as progress:
        operators = probed_operators(spec, progress)
    return markdown(operators, generated_folder(), up)


def with_tables(text: str, tables: str, path: Path) -> str:
    """`text` with `tables` between the marks; CvmgenError unless each mark is there once."""
    before, *found = text.split(f"{BEGIN}\n")
    if len(found) != 1 or found[0].count(END) != 1:
        rule = f"one line '{BEGIN}' and, after it, one line '{END}' are needed"
        raise CvmgenError(f"{path}: {rule}; the operators are listed between them")
    after = found[0].partition(END)[2]
    return f"{before}{BEGIN}\n\n{tables}\n\n{END}{after}"


def markdown(operators: Sequence[Operator], folder: Path, up: str = "") -> str:
    """A table for each spec file; what targets do with an operator is seen in `folder`. Links go
    `up` to where the folder of the specs lies.
    """
    files = groupby(operators, key=lambda operator: operator.span.source.name)
    return "\n\n".join(operators_table(name, list(members), folder, up) for name, members in files)


def operators_table(name: str, operators: Sequence[Operator], folder: Path, up: str) -> str:
    heads = ("operator", "formula", *TARGETS, "what it gives")
    lines = [
        heads,
        ("---",) * len(heads),
        *(tuple(operator_row(each, folder, up)) for each in operators),
    ]
    body = "\n".join(f"| {' | '.join(cells)} |" for cells in lines)
    return f"**[{name}]({up}{name})**\n\n{body}"


def operator_row(operator: Operator, folder: Path, up: str) -> Iterator[str]:
    name, line = operator.span.source.name, operator.span.line
    yield f"`{operator.name}`"
    yield f"[{PurePosixPath(name).name}:{line}]({up}{name}#L{line})"
    for target in TARGETS:
        path = folder / operator_file(operator, target)
        yield "runs" if path.is_file() else "not built"
    aliases = f" Also `{'`, `'.join(operator.aliases)}`." if operator.aliases else ""
    yield escaped(" ".join(operator.doc.split())) + aliases


def escaped(text: str) -> str:
    """`text` for a cell of a table."""
    marked = SPECIAL.sub(lambda found: found[1] or f"\\{found[0]}", text)
    return marked.replace("|", "\\|")
