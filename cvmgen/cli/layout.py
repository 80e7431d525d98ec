"""`cvmgen format`: the text of formulas and schedules, laid out."""

from __future__ import annotations

import difflib
import sys
from codecs import BOM_UTF8
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TextIO

from cvmgen.build.files import write_beside
from cvmgen.cli.exits import Exit, UsageError, give, give_in_part
from cvmgen.errors import CvmgenError
from cvmgen.escape import lines_for_terminal
from cvmgen.source import Source, SpecError, SpecErrors, check_visible, read_source
from cvmgen.spec.formatting import SCHEDULES, STANDARD_INPUT, ended_alike, formatted
from cvmgen.spec.words import plural

FORMULAS = ".cvm"


@dataclass(frozen=True, slots=True)
class LaidOut:
    """A file, and its text as it should be."""

    path: Path
    source: Source
    text: str

    @property
    def changed(self) -> bool:
        return self.source.text != self.text


def format_files(
    spec: Path, names: Sequence[str], *, check: bool, diff: bool, as_json: bool
) -> Exit:
    """Lay out the files that are named, or those of the spec folder. Where one cannot be parsed the
    others are written all the same, and the faults of all are told."""
    if "-" in names:
        return _format_input(names, check=check, diff=diff, as_json=as_json)
    faults: list[SpecError] = []
    changed = []
    for each in _laid_out(files_below(names or [str(spec)]), faults):
        changed.append(str(each.path))
        if diff:
            print(_difference(each.source, each.text), end="", file=_aside(as_json))
        elif not check:
            _write(each)
    did = "would be laid out anew" if check or diff else "laid out anew"
    told = f"{plural(len(changed), 'file')} {did}\n" if changed else ""
    told = told or ("" if faults else "nothing to lay out\n")
    if not diff:
        told = "".join(f"{lines_for_terminal(name)}\n" for name in changed) + told
    code = give_in_part({"changed": changed}, "" if diff else told, faults, as_json=as_json)
    return Exit.WRONG if check and changed else code


def files_below(names: Sequence[str]) -> list[Path]:
    """The files that are named, and those of formulas and schedules in folders that are; UsageError
    for one of another kind."""
    found: dict[Path, Path] = {}
    for path in map(Path, names):
        if path.is_dir():
            below = (each for kind in (FORMULAS, SCHEDULES) for each in path.rglob(f"*{kind}"))
            found |= {each.resolve(): each for each in sorted(below)}
        elif path.suffix not in (FORMULAS, SCHEDULES):
            raise UsageError(
                f"{path} is neither a file of formulas (.cvm) nor of schedules (.sched)"
            )
        else:
            found[path.resolve()] = path
    return list(found.values())


def _difference(source: Source, text: str) -> str:
    """What changes, as a unified diff."""
    before, after = source.text.splitlines(), text.splitlines()
    names = (f"a/{source.shown}", f"b/{source.shown}")
    lines = difflib.unified_diff(before, after, *names, lineterm="")
    return "".join(f"{lines_for_terminal(line)}\n" for line in lines)


def _laid_out(paths: Sequence[Path], faults: list[SpecError]) -> Iterator[LaidOut]:
    for path in paths:
        try:
            source = read_source(path.as_posix(), path)
            each = LaidOut(path, source, formatted(source))
        except SpecErrors as found:
            faults.extend(found.errors)
        except SpecError as found:
            faults.append(found)
        else:
            if each.changed:
                yield each


def _write(each: LaidOut) -> None:
    """In one step, with the rights that the file has."""
    place = each.path.resolve()
    rights = place.stat().st_mode
    write_beside(place.parent, {place.name: written_alike(each.text, place.read_bytes())})
    place.chmod(rights)


def written_alike(text: str, before: bytes) -> bytes:
    """A text as the file was written that was `before`: with the mark that it began with, if it had
    one, and with the same line ends."""
    mark = BOM_UTF8 if before.startswith(BOM_UTF8) else b""
    return mark + ended_alike(text, before.decode()).encode()


def _format_input(names: Sequence[str], *, check: bool, diff: bool, as_json: bool) -> Exit:
    if list(names) != ["-"]:
        raise UsageError("standard input (-) goes with no other file")
    before = sys.stdin.buffer.read()
    try:
        given = before.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise CvmgenError(f"{STANDARD_INPUT}: byte {error.start} is not UTF-8 text") from None
    source = Source(STANDARD_INPUT, given.replace("\r\n", "\n"))
    check_visible(source)
    text = formatted(source)
    changed = source.text != text
    if not (check or diff or as_json):
        sys.stdout.buffer.write(written_alike(text, before))
        return Exit.OK
    shown = _difference(source, text) if diff else ""
    give({"changed": [STANDARD_INPUT] * changed, "text": text}, shown, as_json=as_json)
    return Exit.WRONG if check and changed else Exit.OK


def _aside(as_json: bool) -> TextIO:
    return sys.stderr if as_json else sys.stdout
