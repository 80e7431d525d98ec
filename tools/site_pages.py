"""Pages of the site that nobody writes: of each operator, of commands, headers and schedules.

MkDocs calls what begins with `on_`. Pages of docs/ say where something is put in: at a line
`<!-- made: NAME -->`.
"""

from __future__ import annotations

import argparse
import json
import re
from collections.abc import Iterator
from contextlib import suppress
from functools import cache
from itertools import groupby
from pathlib import Path
from typing import Any

from library_names import library_names  # beside this file, where MkDocs looks too
from mkdocs.structure.files import File, Files

from cvmgen.api.description import attribute_words
from cvmgen.api.manifest import read_manifest
from cvmgen.cli.command import COMMANDS, parser
from cvmgen.cli.exits import MEANINGS
from cvmgen.cli.language import language_description
from cvmgen.driver import TARGETS, operator_file
from cvmgen.errors import CvmgenError
from cvmgen.escape import in_html, in_markdown, in_markdown_code
from cvmgen.inspection.facts import state
from cvmgen.inspection.pages import picture_box, static
from cvmgen.inspection.pictures import pictures
from cvmgen.inspection.reached import reached
from cvmgen.paths import generated_folder, spec_folder
from cvmgen.schedule.schedules import read_schedules
from cvmgen.source import SpecError
from cvmgen.spec.as_parsed import declared, definitions
from cvmgen.spec.check import check_files
from cvmgen.spec.files import read_folder
from cvmgen.spec.formula import Operator, Output, all_items
from cvmgen.spec.mathematics import expression, mathematics, statements
from cvmgen.spec.notation import CellRow, Identifier, Script, SignCell, mathml
from cvmgen.spec.precisions import needed_precision
from cvmgen.spec.words import plural
from cvmgen.verification.ledger import read_ledger

ROOT = Path(__file__).resolve().parents[1]
MADE = re.compile(r"^<!-- made: ([a-z ]+) -->$", re.MULTILINE)
LINK = re.compile(r"(!?)\[([^\]]*)\]\(([^)\s]+)\)")
REFUSED = ROOT / "tests" / "spec" / "errors"
LANGUAGES = {"python": "python", "numpy": "python", "c": "c", "cuda": "cpp"}
PICTURES = "pictures.js"  # beside the pages of operators
COMMENT = re.compile(r"/\*(.*?)\*/", re.DOTALL)


# ---------------------------------------------------------------- what MkDocs asks


def on_files(files: Files, config: Any) -> Files:
    """Adds the README as the first page, the ledger, and a page for each operator."""
    made = {"index.md": (ROOT / "README.md").read_text(encoding="utf-8")}
    made["ledger.md"] = (generated_folder() / "ledger.md").read_text(encoding="utf-8")
    made["refused.md"] = refused_formulas()
    made |= {page_name(each): "\n\n".join(operator_page(each)) + "\n" for each in operators()}
    made[f"operators/{PICTURES}"] = static(PICTURES)
    for name, text in made.items():
        files.append(File.generated(config, name, content=text))
    return files


def on_config(config: Any) -> Any:
    """The pages of operators stand below their opsets."""
    nav = next(each["Operators"] for each in config.nav if "Operators" in each)
    for opset, found in groupby(operators(), key=lambda each: each.opset):
        nav.append({opset: [{each.name: page_name(each)} for each in found]})
    return config


def on_page_markdown(markdown: str, page: Any, config: Any, files: Files) -> str:
    """Puts in what is made, and leads links to where things are on the site."""
    text = MADE.sub(lambda found: PARTS[found[1]](), markdown)
    own = page.file.src_uri
    if own == "operators.md":
        text = re.sub(
            r"^\| `(\w+)` \| \[[^\]]*\]\((?:\.\./)*spec/([^)#]+)#L(\d+)\)", linked, text, flags=re.M
        )
    return LINK.sub(lambda found: followed(found, own, files), text)


def on_post_build(config: Any) -> None:
    """Puts the index of the search into a script too, which pages that are files may read."""
    folder = Path(config.site_dir) / "search"
    index = (folder / "search_index.json").read_text(encoding="utf-8")
    (folder / "search_index.js").write_text(f"var __index = {index}", encoding="utf-8")


def linked(row: re.Match[str]) -> str:
    """A row of the tables of operators, its name with a link to the operator's page."""
    place = (f"spec/{row[2]}", int(row[3]))
    each = next(one for one in operators() if (one.span.source.name, one.span.line) == place)
    return f"| [`{row[1]}`]({page_name(each)}) | {row[2]}:{row[3]}"


def followed(link: re.Match[str], own: str, files: Files) -> str:
    """A link of a page as it is on the site; to files that are not on it, their names alone."""
    sign, text, target = link.groups()
    path, _, anchor = target.partition("#")
    if "://" in target or not path:
        return link[0]
    place = path.removeprefix("../").removeprefix("docs/")
    place = {"README.md": "index.md"}.get(place, place)
    inside = own.count("/") and not path.startswith("../")
    known = place if not inside else f"{own.rpartition('/')[0]}/{place}"
    if files.get_file_from_path(known) is None:
        return text
    up = "../" * own.count("/") if path.startswith("../") or not inside else ""
    return f"{sign}[{text}]({up}{place}{'#' * bool(anchor)}{anchor})"


# ---------------------------------------------------------------- operators


@cache
def operators() -> tuple[Operator, ...]:
    return check_files(read_folder(spec_folder()))


@cache
def manifest() -> dict[str, Any]:
    found = read_manifest(generated_folder())
    return {f"{each.opset}.{each.name}": each for each in found.operators}


@cache
def ledger() -> Any:
    with suppress(CvmgenError, OSError):
        if found := read_ledger(generated_folder()):
            return found.entries
    return {}


def page_name(operator: Operator) -> str:
    return f"operators/{operator.full_name}.md"


def operator_page(operator: Operator) -> Iterator[str]:
    own = declared(operator)
    items = list(statements(own))
    yield f"# {operator.full_name}"
    yield in_markdown(operator.doc)
    if operator.aliases:
        yield f"Also called {', '.join(f'`{each}`' for each in operator.aliases)}."
    if names := library_names(operator.full_name):
        yield f"Much the same in other libraries: {names}."
    yield mathml(mathematics(own, definitions(operator)))
    yield "## Inputs and outputs"
    kinds = ("type", "input", "output")
    yield from (mathml(each.shown) for each in items if each.kind in kinds)
    info = manifest().get(operator.full_name)
    if info is not None and info.attributes:
        yield "## Attributes"
        yield "\n".join(
            f"- `{each.name}`: {in_markdown(attribute_words(each))}{default_of(each)}"
            for each in info.attributes
        )
    refusals = [each for each in items if each.kind == "require"]
    if refusals:
        yield "## What a call must keep"
        for each in refusals:
            yield f"{mathml(each.shown)}\n\nor it is refused: {in_markdown(each.text)}."
    yield from precisions(operator)
    yield from examples(operator)
    yield from formula_and_code(operator)
    yield from trust(operator)


def precisions(operator: Operator) -> Iterator[str]:
    """The rule of each output, beside what its values need."""
    outputs = [each for each in all_items(operator.items) if isinstance(each, Output)]
    ruled = [each for each in outputs if each.precision is not None]
    if not ruled:
        return
    yield "## Precision"
    own = declared(operator)
    for output in ruled:
        written = operator.rule(output) != "derived from the formula"
        yield mathml(CellRow((bits_of(output), SignCell("=="), expression(output.precision, own))))
        try:
            needed = needed_precision(operator, output, operator.items)
        except (SpecError, AssertionError):
            yield "as the formula says" if written else "as follows from the formula"
            continue
        if not written or needed == output.precision:
            yield "which is what follows from the formula."
            continue
        yield "by its rule; its values need"
        yield mathml(CellRow((bits_of(output), SignCell(">="), expression(needed, own))))
    if operator.although:
        yield f"The rule stands: {in_markdown(operator.although)}."


def bits_of(output: Output) -> Script:
    return Script(Identifier("p"), below=Identifier(output.name))


def default_of(attribute: Any) -> str:
    if attribute.required or attribute.optional:
        return ""
    return f"; {in_markdown(json.dumps(attribute.default))} if it is not given"


def examples(operator: Operator) -> Iterator[str]:
    """Examples and small calls, each element of whose results tells what it reads."""
    calls = pictures(operator)
    if calls:
        yield "## Examples"
        script = f'<script src="{PICTURES}"></script>'
        yield f'<div class="pictures">\n{picture_box(calls)}\n{script}</div>'


def formula_and_code(operator: Operator) -> Iterator[str]:
    yield "## Formula"
    yield in_markdown_code("\n\n".join(span.text for _, span in operator.blocks))
    yield f"From `{operator.files}`."
    yield "## Code { data-search-exclude }"  # of which there is more than of all else
    yield f"`cvmgen explore {operator.full_name}` shows it beside the formula, line by line."
    for target in TARGETS:
        path = generated_folder() / operator_file(operator, target)
        if path.is_file():
            code = in_markdown_code(path.read_text(encoding="utf-8"), LANGUAGES[target])
            inside = "\n".join(f"    {line}" for line in code.split("\n"))
            yield f'??? note "{target}: generated/{operator_file(operator, target)}"\n\n{inside}'


def trust(operator: Operator) -> Iterator[str]:
    yield "## What is known"
    found = reached(operator)
    said = f"{plural(len(operator.examples), 'example')}, which every target is asked: "
    if found.branches:
        both = found.by_examples + found.by_calls
        yield (
            f"{said}{found.by_examples} of the {found.branches} branches of the formula; with the "
            f"small calls that `cvmgen check` tries, {both}."
        )
    else:
        yield f"{said}the whole formula, which has no branches."
    entries = ledger().get(operator.full_name, {})
    if entries:
        rows = [
            f"| {target} | {in_html(name)} | {in_html(state(finding))} |"
            for target, entry in entries.items()
            for name, finding in entry.findings.items()
        ]
        yield "\n".join(["| target | property | state |", "| --- | --- | --- |", *rows])
        yield "The [ledger](../ledger.md) says what each property is, and by what it is known."


# ---------------------------------------------------------------- parts of written pages


def commands() -> str:
    actions = (each for each in parser()._actions if isinstance(each, argparse._SubParsersAction))
    choices = next(actions).choices
    found = []
    for name, each in COMMANDS.items():
        usage = re.sub(r"\x1b\[[0-9;]*m", "", choices[name].format_help())
        found.append(
            f"### cvmgen {name}\n\n{in_markdown(each.details)}\n\n{in_markdown_code(usage, 'text')}"
        )
    return "\n\n".join(found)


def exit_codes() -> str:
    rows = [f"| {int(code)} | {meaning} |" for code, meaning in MEANINGS.items()]
    return "\n".join(["| exit code | meaning |", "| --- | --- |", *rows])


def schedules() -> str:
    found = language_description(read_schedules(spec_folder()))
    lines = ["## Classes of nests", "The first class that a nest belongs to has its schedule."]
    for each in found["classes"]:
        roles = "".join(f"\n- `{name}`: {in_markdown(doc)}" for name, doc in each["roles"].items())
        lines.append(f"### {each['name']}\n\n{in_markdown(each['doc'])}\n{roles}")
    lines.append("## Actions")
    for each in found["actions"]:
        forms = in_markdown_code("\n".join(each["forms"]), "text")
        about = f"{in_markdown(each['doc'])} For {' and '.join(each['targets'])}."
        details = "\n\n".join(in_markdown(part) for part in each["details"].split("\n\n"))
        lines.append(f"### {each['name']}\n\n{forms}\n\n{about}\n\n{details}")
    lines.append("## Measures")
    lines.append(
        "\n".join(f"- `{name}`: {in_markdown(doc)}" for name, doc in found["measures"].items())
    )
    lines.append("## Mappings for CUDA")
    for each in found["mappings"]:
        settings = "".join(
            f"\n- `{key}`: {in_markdown(doc)}" for key, doc in each["settings"].items()
        )
        lines.append(f"### {each['name']}\n\n{in_markdown(each['doc'])}\n{settings}")
    lines.append("## Intrinsics")
    lines += [in_markdown_code("\n".join(each), "text") for each in found["intrinsics"].values()]
    return "\n\n".join(lines)


def headers() -> str:
    """What the headers say, each declaration below what is said of it."""
    text = (generated_folder() / "c" / "cvmgen.h").read_text(encoding="utf-8")
    example = (generated_folder() / "c" / "cvm" / "conv2d.h").read_text(encoding="utf-8")
    return "\n\n".join(
        (
            "## cvmgen.h",
            "The interface that all operators share.",
            in_markdown_code(text, "c"),
            "## Headers of operators",
            "Each has a structure of arguments and four functions, as those of conv2d here.",
            in_markdown_code(example, "c"),
        )
    )


def refused_formulas() -> str:
    """Every formula of the tests that is refused, with what is said of it."""
    lines = ["# Refused formulas", "What `cvmgen check` says of formulas that mean nothing."]
    for path in sorted(REFUSED.glob("*.txt")):
        lines.append(f"## {path.stem.capitalize()}")
        for case in path.read_text(encoding="utf-8").split("=== ")[1:]:
            title, _, rest = case.partition("\n")
            formula, _, report = rest.partition("\n---\n")
            shown = (
                in_markdown_code(formula.strip("\n")),
                in_markdown_code(report.strip("\n"), "text"),
            )
            lines += [f"### {in_markdown(title)}", *shown]
    return "\n\n".join(lines) + "\n"


PARTS = {
    "commands": commands,
    "exit codes": exit_codes,
    "schedules": schedules,
    "headers": headers,
}
