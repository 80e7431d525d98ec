"""Operators for the commands: read from a spec folder, checked, probed, found by name."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING

from cvmgen.build.cache import content_key, get_or_build, is_stored
from cvmgen.build.progress import Progress, shown_progress
from cvmgen.cli.checked import checked
from cvmgen.cli.exits import UsageError
from cvmgen.cli.meaning import keep_marks, marks_of, meaning_of
from cvmgen.cli.stamp import code_digest
from cvmgen.cli.synonyms import SYNONYMS, compared_word
from cvmgen.errors import Faults, Strict
from cvmgen.ir.remember import remembered_of_all
from cvmgen.paths import formulas_folder
from cvmgen.source import (
    Span,
    SpecError,
    SpecErrors,
    SpecWarning,
    did_you_mean,
    raise_or_keep,
    read_source,
)
from cvmgen.spec.files import SpecFile, read_folder
from cvmgen.spec.formula import Operator
from cvmgen.spec.imports import imports_of

if TYPE_CHECKING:
    from cvmgen.schedule.schedules import Schedules

IDLE = "leave it out; `cvmgen show OPERATOR --after schedule` tells what each action makes of nests"
OPSET = "cvm"
"""Of several operators of one name that of this opset is meant."""

PROBING = ("spec", "reference", "ir", "lower", "inside")
SCHEDULING = ("spec", "ir", "lower", "inside", "schedule", "emit")
PROVING = ("spec", "ir", "lower", "inside")
OUTSIDE = ("spec", "reference", "ir", "lower", "typing", "verification")
SOUND, PLACES, NONE_OUTSIDE = ".sound", "-places.txt", ".inside"
"""What the cache knows of operators."""


def probed_operators(
    folder: Path, progress: Progress, faults: Faults | None = None
) -> tuple[Operator, ...]:
    """The checked and probed operators of a spec folder; raises SpecErrors. With `faults`, without
    those on which we fail."""
    faults = Strict() if faults is None else faults
    return probe_all(checked_operators(folder, progress, faults), progress, faults)


def checked_operators(
    folder: Path, progress: Progress, faults: Faults, kept: list[SpecError] | None = None
) -> tuple[Operator, ...]:
    """The checked operators of a spec folder, not tried yet; raises SpecErrors. With `kept` the
    errors are added to it, and the operators are those that have none."""
    progress.step("checking the formulas")
    return checked(spec_files(folder), faults, kept)


def read_operator(
    folder: Path, name: str, progress: Progress
) -> tuple[Operator, tuple[Operator, ...]]:
    """The operator of that name, and all; raises what we fail on where it is that one, and leaves
    out the others on which we do."""
    faults = Faults()
    operators = probed_operators(folder, progress, faults)
    known = {each.name for each in operators}
    for failed, fault in faults.failed.items():
        meant = failed == f"{OPSET}.{name}" or (name not in known and failed.endswith(f".{name}"))
        if name == failed or meant:
            raise fault
    return operator_named(operators, name), operators


def spec_files(folder: Path) -> tuple[SpecFile, ...]:
    """The files of a spec folder, under names that do not depend on where it lies."""
    folder = formulas_folder(folder)
    files = read_folder(folder, shown=folder.resolve().name)
    if not files:
        raise FileNotFoundError(2, "no .cvm files here, and no schedules/*.sched", str(folder))
    return files


def probe_all(
    operators: Iterable[Operator],
    progress: Progress,
    faults: Faults,
    sound: Collection[str] = (),
    kept: list[SpecError] | None = None,
) -> tuple[Operator, ...]:
    """The operators, tried on small calls: those that are known to be sound are not tried again.
    Raises SpecErrors with what these show, or adds it to what is `kept` and leaves out those of
    which it is; those on which we fail are left out."""
    errors: list[SpecError] = []
    tried: list[Operator] = []
    for operator in progress.over(
        operators, lambda each: f"trying {each.full_name} on small calls"
    ):
        with faults.apart(operator.full_name, operator.span.place):
            before = len(errors)
            for trial in trials_of(operator):
                try:
                    trial.ask(known=operator.full_name in sound)
                except SpecErrors as found:
                    errors.extend(found.errors)
            if len(errors) == before:
                tried.append(operator)
    raise_or_keep(errors, kept)
    return tuple(tried)


@dataclass(frozen=True, slots=True)
class Trial:
    """What an operator is asked by small calls; the cache knows it by the operator's meaning."""

    operator: Operator
    run: Callable[[Operator], None]  # raises SpecErrors

    @property
    def key(self) -> str:
        parts = {"operator": meaning_of(self.operator)}
        return content_key(parts, compiler=code_digest(PROBING), flags=(self.run.__name__,))

    @property
    def is_known(self) -> bool:
        """Whether it most likely is known to succeed."""
        return is_stored(self.key, SOUND)

    def ask(self, *, known: bool) -> None:
        """Run it, unless it is `known` to succeed."""

        def build(path: Path) -> None:
            if not known:
                self.run(self.operator)
            path.write_text(self.operator.full_name, encoding="utf-8")

        get_or_build(self.key, SOUND, build)


@remembered_of_all
def trials_of(operator: Operator) -> tuple[Trial, ...]:
    """Small calls first, of which its examples are none, and then these."""
    if not operator.examples:
        return (Trial(operator, probe_alone),)
    rules = replace(operator, examples=())
    marks = marks_of(operator)
    keep_marks(rules, marks._replace(meaning=marks.rules))
    return Trial(rules, probe_alone), Trial(operator, check_examples)


def is_tried(operator: Operator) -> bool:
    """Whether it most likely is known to be sound."""
    return all(each.is_known for each in trials_of(operator))


def probe_alone(operator: Operator) -> None:
    """Raise SpecErrors with what small calls show, and where a value has no machine type."""
    from cvmgen.driver import C, lower, typed_kernels
    from cvmgen.reference.probe import check_operators

    check_operators([operator])
    try:
        typed_kernels(lower(operator, C))
    except SpecError as error:
        raise SpecErrors([error]) from None


def check_examples(operator: Operator) -> None:
    """Raise SpecErrors with the examples of an operator that do not hold."""
    from cvmgen.reference.probe import check_example

    if errors := [error for each in operator.examples for error in check_example(operator, each)]:
        raise SpecErrors(errors)


def apply_all(
    operators: Iterable[Operator], schedules: Schedules, progress: Progress, faults: Faults
) -> tuple[list[SpecWarning], list[SpecWarning]]:
    """The actions of the schedules for C that change no nest of their class, where there are some,
    and the sums of products that do not become tiles.

    Raises SpecErrors with what the schedules may not do to the operators: each action once, with
    the first operator that refuses it. Where they do no harm they are not tried again.
    """
    errors: dict[Span, SpecError] = {}
    changing: dict[str, set[int]] = {}
    untiled: list[SpecWarning] = []
    for operator in progress.over(operators, lambda each: f"scheduling {each.full_name}"):
        parts = {"operator": meaning_of(operator), "schedules": schedules.meaning_for("c")}
        key = content_key(parts, compiler=code_digest(SCHEDULING))
        with faults.apart(operator.full_name, operator.span.place):
            try:
                path = get_or_build(key, "-changes.json", partial(_apply, operator, schedules))
            except SpecErrors as found:
                for error in found.errors:
                    errors.setdefault(error.span, error)
                continue
            known = json.loads(path.read_text(encoding="utf-8"))
            for shape, places in known["changes"].items():
                changing.setdefault(shape, set()).update(places)
            untiled += _untiled(operator, known["untiled"])
    if errors:
        raise SpecErrors(errors.values())
    return list(_idle(schedules, changing)), untiled


def unproved_places(
    operators: Iterable[Operator],
    progress: Progress,
    faults: Faults,
    known: Mapping[str, int] = MappingProxyType({}),
) -> list[SpecWarning]:
    """The places of formulas that are not proved to stay inside of what they read; of some
    operators it is `known` how many these are."""
    from cvmgen import driver

    found: list[SpecWarning] = []
    for operator in progress.over(operators, lambda each: f"proving {each.full_name}"):
        with faults.apart(operator.full_name, operator.span.place):
            path = get_or_build(_proof(operator), PLACES, partial(_prove, operator, known))
            if path.read_text(encoding="utf-8") != "0":
                found += driver.warnings_of(operator)
    return sorted(set(found), key=lambda each: (each.span.source.name, each.span.start))


def repeated_lets(
    operators: Iterable[Operator], progress: Progress, faults: Faults
) -> list[SpecWarning]:
    """The lets that are computed again and again where memory would cost less."""
    from cvmgen import driver

    found: list[SpecWarning] = []
    for operator in progress.over(
        operators, lambda each: f"counting what {each.full_name} computes"
    ):
        with faults.apart(operator.full_name, operator.span.place):
            found += driver.costly_lets(operator)
    return found


def _prove(operator: Operator, known: Mapping[str, int], path: Path) -> None:
    """How many places there are: where they stand may change while the formula does not."""
    from cvmgen import driver

    count = known.get(operator.full_name)
    count = len(driver.warnings_of(operator)) if count is None else count
    path.write_text(str(count), encoding="utf-8")


def none_outside(
    operators: Iterable[Operator], open_places: Iterable[SpecWarning], progress: Progress
) -> None:
    """Raise SpecErrors with the calls that read outside at places that are not proved, as far as a
    solver finds them at once; where it finds none it is not asked again."""
    from cvmgen.verification.solvers import installed

    places = {(each.span.source.name, each.span.start) for each in open_places}
    errors: dict[Span, SpecError] = {}
    for operator in operators:
        span = operator.span
        own = (name == span.source.name and span.start <= at < span.end for name, at in places)
        if not any(own):
            continue
        progress.step(f"looking for calls of {operator.full_name} that read outside")
        engines = " ".join((code_digest(OUTSIDE), *installed()))
        try:
            key = content_key({"operator": meaning_of(operator)}, compiler=engines)
            get_or_build(key, NONE_OUTSIDE, partial(_look_outside, operator))
        except SpecErrors as found:
            errors.update({each.span: each for each in found.errors})
    if errors:
        raise SpecErrors(errors.values())


def _look_outside(operator: Operator, path: Path) -> None:
    from cvmgen.verification.quick import outside

    if found := list(outside(operator)):
        raise SpecErrors(found)
    path.write_text(operator.full_name, encoding="utf-8")


def is_proved(operator: Operator) -> bool:
    """Whether it most likely is known how many places there are."""
    return is_stored(_proof(operator), PLACES)


def _proof(operator: Operator) -> str:
    return content_key({"operator": meaning_of(operator)}, compiler=code_digest(PROVING))


def _apply(operator: Operator, schedules: Schedules, path: Path) -> None:
    from cvmgen.driver import schedule_effects

    effects = schedule_effects(operator, schedules)
    if effects.faults:
        raise SpecErrors(effects.faults)
    changes = {shape: sorted(places) for shape, places in effects.changes.items()}
    untiled = [(number, why.reason, why.hint) for number, why in effects.untiled.items()]
    path.write_text(json.dumps({"changes": changes, "untiled": untiled}), encoding="utf-8")


def _untiled(operator: Operator, found: Iterable[tuple[int, str, str]]) -> Iterator[SpecWarning]:
    """The sums of products that do not become tiles, where they stand in the formula now."""
    from cvmgen.driver import C, lower

    for number, reason, hint in found:
        span = lower(operator, C).nests[number].span
        yield SpecWarning(span, f"this sum of products does not become tiles: {reason}", hint)


def _idle(schedules: Schedules, changing: Mapping[str, Collection[int]]) -> Iterator[SpecWarning]:
    for shape, places in changing.items():
        for at, use in enumerate(schedules.plans["c", shape].uses):
            if at not in places:
                message = f"'{use.action.name}' changes no nest of the class {shape}"
                yield SpecWarning(use.action.span, message, IDLE)


def of_folder(warnings: Iterable[SpecWarning], spec: Path) -> list[SpecWarning]:
    """Those about schedules of the spec folder: others were written for other formulas."""
    own = (spec / "schedules").resolve()
    found = [each for each in warnings if Path(each.span.source.path).resolve().parent == own]
    return sorted(found, key=lambda each: (each.span.source.name, each.span.start))


def find_operators(operators: Sequence[Operator], names: Iterable[str]) -> list[Operator]:
    """The named operators in the order of the spec: full or short names, aliases, opsets.

    UsageError with the nearest names for one that is none of these.
    """
    wanted = {each.full_name for name in names for each in _named(operators, name)}
    return [operator for operator in operators if operator.full_name in wanted]


def operator_named(operators: Sequence[Operator], name: str) -> Operator:
    """The one operator of that name."""
    return _named([each for each in operators if each.opset != name], name)[0]


def _named(operators: Sequence[Operator], name: str) -> list[Operator]:
    """The operators of an opset, or the one that a name means: of several that of cvm."""
    known: dict[str, list[Operator]] = {}
    for operator in operators:
        known.setdefault(operator.opset, []).append(operator)
        for short in (operator.name, *operator.aliases):
            known.setdefault(short, []).append(operator)
            known.setdefault(f"{operator.opset}.{short}", []).append(operator)
    if name not in known:
        # Full names for somebody who writes full names, short ones else.
        alike = [each for each in known if ("." in each) == ("." in name)]
        hint = _known_elsewhere(operators, name) or did_you_mean(name, alike)
        raise UsageError(f"there is no operator '{name}'; {hint or '`cvmgen list` names them all'}")
    found = known[name]
    if len(found) == 1 or any(each.opset == name for each in found):
        return found
    return [_of_several(name, found)]


def _of_several(name: str, found: Sequence[Operator]) -> Operator:
    """The operator of the opset in use, said on stderr; UsageError where that has none."""
    in_use = [each for each in found if each.opset == OPSET]
    if len(in_use) != 1:
        listed = ", ".join(each.full_name for each in found)
        raise UsageError(f"'{name}' is the name of several operators: {listed}")
    others = ", ".join(each.full_name for each in found if each is not in_use[0])
    with shown_progress() as progress:
        progress.clear()
    print(f"note: '{name}' is taken for {in_use[0].full_name}; also: {others}", file=sys.stderr)
    return in_use[0]


def _known_elsewhere(operators: Iterable[Operator], name: str) -> str:
    """A hint for a name that other libraries have."""
    found = [
        each.full_name
        for each in operators
        if compared_word(name) in map(compared_word, SYNONYMS.get(each.full_name, ()))
    ]
    return f"elsewhere that is a name of {' and '.join(found)}" if found else ""


def files_to_check(names: Sequence[str], folder: Path) -> tuple[list[SpecFile], set[str]]:
    """The spec files to read for checking `names`, and the shown names of those asked about.

    A file of the spec folder is checked together with that folder; another one, as an opset of
    its own, together with the folder's shared files. A folder named is a spec folder by itself.
    Without names, all files of the spec folder are asked about.
    """
    own = spec_files(folder)
    if not names:
        return list(own), {each.source.name for each in own}
    placed = {formulas_folder(folder).resolve().parent / each.source.name: each for each in own}
    files: dict[str, SpecFile] = {}
    asked: set[str] = set()
    for name in names:
        found, others = _file_to_check(Path(name), placed)
        asked |= {each.source.name for each in found}
        files |= {each.source.name: each for each in (*others, *found)}
    return list(files.values()), asked


def _file_to_check(
    path: Path, placed: Mapping[Path, SpecFile]
) -> tuple[Sequence[SpecFile], Sequence[SpecFile]]:
    """The files that `path` asks about, and those that they need."""
    if path.is_dir():
        return read_folder(path, shown=path.as_posix()), ()
    if path.resolve() in placed:
        return [placed[path.resolve()]], list(placed.values())
    source = read_source(path.as_posix(), path)
    others = {"", *imports_of(source)}
    return [SpecFile(source, path.stem)], [each for each in placed.values() if each.opset in others]
