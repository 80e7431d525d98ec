"""The passage of an operator, stage by stage: the only module that knows the order."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

from cvmgen import tree
from cvmgen.dtypes import INT32, DType
from cvmgen.emit import c, c_support, cuda, interface, numpy, python
from cvmgen.emit.c_nests import NestEmitter
from cvmgen.errors import CvmgenError, Faults, InternalError, Strict
from cvmgen.inside.checks import CallProof, open_places, stay_inside
from cvmgen.inside.shelter import shelter
from cvmgen.inside.sites import HINT
from cvmgen.ir import nodes as i
from cvmgen.ir.text import program_text
from cvmgen.ir.verify import verify
from cvmgen.lower.ahead import reductions_ahead, reductions_ahead_in_threads
from cvmgen.lower.all_entries import with_all_entries
from cvmgen.lower.compaction import compact
from cvmgen.lower.decisions import decide_early
from cvmgen.lower.eager import eager_loads
from cvmgen.lower.flatten import flatten_packs
from cvmgen.lower.guards import place_guards
from cvmgen.lower.host_values import host_values
from cvmgen.lower.known_parts import name_parts
from cvmgen.lower.lift import lift_host
from cvmgen.lower.offsets import find_offsets
from cvmgen.lower.peel import peel_dimensions
from cvmgen.lower.split import split_indices
from cvmgen.lower.translate import translate
from cvmgen.lower.unfold import unfold_all, unfold_nests
from cvmgen.lower.walks import walk_boxes
from cvmgen.paths import MANIFEST
from cvmgen.schedule.book import Schedules, packaged
from cvmgen.schedule.subject import Subject
from cvmgen.source import Span, SpecError, SpecErrors, SpecWarning
from cvmgen.spec.check import check_files, read_folder
from cvmgen.spec.formula import Operator
from cvmgen.spec.parse import parse_at
from cvmgen.spec.scope import is_ours
from cvmgen.spec.words import PYTHON_WORDS
from cvmgen.typing import choices
from cvmgen.typing.settled import without_known
from cvmgen.typing.types import type_nest, type_prepare

Pass = Callable[[i.Program], i.Program]
Passes = tuple[tuple[str, Pass], ...]
Before = TypeVar("Before")
After = TypeVar("After")

STATEMENTS: Passes = (
    ("inside", stay_inside),
    ("parts", name_parts),
    ("lift", partial(lift_host, proof=CallProof)),
    ("unfold", unfold_nests),
    ("guards", place_guards),
    ("ahead", reductions_ahead),
)
SHELTER: Passes = (("shelter", shelter),)
# For numpy: reductions and multi-indices as they are.
WHOLE_ARRAYS: Passes = (
    *STATEMENTS[:3],
    ("entries", partial(with_all_entries, proof=CallProof)),
    *SHELTER,
)
OFFSETS: Passes = (
    ("offsets", find_offsets),
    ("flatten", flatten_packs),
    ("host_values", host_values),
    *SHELTER,
)
# From the translated formula to nests that every target can print.
COMMON: Passes = (*STATEMENTS, *OFFSETS)
# For C and CUDA: no divided indices, no multi-indices, no comprehensions.
C_LIKE: Passes = (
    *STATEMENTS,
    ("peel", peel_dimensions),
    ("split", split_indices),
    OFFSETS[0],
    ("eager", eager_loads),
    *OFFSETS[1:],
    ("walks", walk_boxes),
    ("unfold_all", unfold_all),
)
# The outermost loops are for threads.
CUDA: Passes = tuple(
    (name, reductions_ahead_in_threads if name == "ahead" else each) for name, each in C_LIKE
)


def typed(program: i.Program) -> i.Program:
    """The program with machine types, for int32 tensors, or the first choice of types; emission
    does so for each."""
    dtypes = all_int32(program)
    host = type_prepare(program)
    nests = tuple(
        replace(type_nest(program, nest, dtypes), prologue=typed_nest.prologue)
        for nest, typed_nest in zip(program.nests, host.nests, strict=True)
    )
    return replace(host, nests=nests)


def all_int32(program: i.Program) -> dict[str, DType]:
    tensors = (*(item.name for item in program.operator.inputs), *program.operator.output_names)
    return dict.fromkeys(tensors, INT32) | program.operator.choices[0]


SHOWN: Passes = (*C_LIKE, ("compaction", compact), ("decisions", decide_early), ("types", typed))
STAGES = ("parse", "check", "translate", *(name for name, _ in SHOWN), "schedule")


@dataclass(frozen=True, slots=True)
class Target:
    """How a language's files are made; `{opset}` and `{name}` stand in the names of files."""

    passes: Passes
    emit_operator: Callable[[i.Program, Schedules], str]
    emit_header: Callable[[str, Iterable[Operator]], str]
    emit_support: Callable[[Schedules], Mapping[str, str]]
    operator_file: str
    header_file: str
    support_file: str
    emit_interface: Callable[[i.Program], str] | None = None  # where operators have headers
    interface_file: str = "{opset}/{name}.h"


TARGETS: Mapping[str, Target] = {
    "python": Target(
        COMMON,
        lambda program, _: python.emit_operator(program),
        python.emit_header,
        lambda _: python.emit_support(),
        operator_file="{opset}/{name}.py",
        header_file="{opset}/__init__.py",
        support_file="{opset}/{name}",
    ),
    "numpy": Target(
        WHOLE_ARRAYS,
        lambda program, _: numpy.emit_operator(program),
        numpy.emit_header,
        lambda _: numpy.emit_support(),
        operator_file="{opset}/{name}.py",
        header_file="{opset}/__init__.py",
        support_file="{opset}/{name}",
    ),
    "c": Target(
        C_LIKE,
        c.emit_operator,
        c_support.emit_header,
        c_support.emit_support,
        operator_file="{opset}/{name}.c",
        header_file="{opset}.h",
        support_file="{name}",
        emit_interface=lambda program: c_support.emit_interface(program.operator),
    ),
    "cuda": Target(
        CUDA,
        cuda.emit_operator,
        cuda.emit_header,
        cuda.emit_support,
        operator_file="{opset}/{name}.cu",
        header_file="{opset}.h",
        support_file="{name}",
        emit_interface=cuda.emit_interface,
    ),
}

MANIFEST_VERSION = 4  # counts the changes of the manifest's layout
MANIFEST_PASSES = TARGETS["c"].passes


# ---------------------------------------------------------------- stages


def read_operators(folder: Path) -> tuple[Operator, ...]:
    """The checked operators of the spec folder; raises SpecErrors with every fault found."""
    return check_files(read_folder(folder))


def lower(operator: Operator, passes: Passes) -> i.Program:
    """The operator's program after all passes, verified after each.

    Raises InternalError that names the pass for a fault of ours; what a pass says of the
    formula (SpecError) comes through.
    """
    *_, (_, program) = lowered(operator, passes)
    return program


def lowered(operator: Operator, passes: Passes) -> Iterator[tuple[str, i.Program]]:
    """The operator's program after `translate` and after each pass, with the stage's name."""
    program = attempt("translate", operator, translated, operator)
    done = ["translate"]
    verify(program, done)
    yield done[-1], program
    for name, run in passes:
        program = attempt(name, operator, run, program)
        done.append(name)
        verify(program, done)
        yield name, program


def translated(operator: Operator) -> i.Program:
    return without_known(translate(operator))


def attempt(stage: str, operator: Operator, run: Callable[[Before], After], value: Before) -> After:
    """`run(value)`; what is no error for users becomes an InternalError that names the stage."""
    try:
        return run(value)
    except (CvmgenError, InternalError):
        raise
    except Exception as error:
        what = f"{type(error).__name__}: {error}".removesuffix(": ")
        message = f"the stage '{stage}' fails on {operator.full_name}: {what}"
        raise InternalError(message) from error


def stage_text(operator: Operator, stage: str, schedules: Schedules | None = None) -> str:
    """What a stage of STAGES made of the operator, as text for people."""
    if stage == "parse":
        return syntax_text(operator)
    if stage == "check":
        return tree.lines_of(operator)
    if stage == "schedule":
        chosen = packaged() if schedules is None else schedules
        return schedule_text(lower(operator, SHOWN), chosen) + mapping_text(operator, chosen)
    program = next(found for name, found in lowered(operator, SHOWN) if name == stage)
    return program_text(program)


def schedule_text(program: i.Program, schedules: Schedules) -> str:
    """What the schedules for C make of a typed program, for int32 tensors: each nest's class and
    roles, and the nest after each action; emission does so for each choice of types."""
    dtypes = all_int32(program)
    lines = [f"program {program.operator.full_name}"]
    for nest in program.nests:
        subject = Subject.of(program, nest, nest.body, dtypes)
        case = "" if nest.case is None else f" (case {nest.case})"
        lines += [f"nest {nest.tensor}{case}: {nest.formula}"]
        lines += [f"  {line}" for line in schedules.story("c", subject)]
    return "\n".join(lines) + "\n"


@dataclass(frozen=True, slots=True)
class Effects:
    """What the schedules for C do to the nests of an operator, for all choices of types.

    `changes` has the classes of its nests, and the places in the schedule of those actions that
    make something else of a nest; `faults` are the first refusals of each action.
    """

    changes: Mapping[str, set[int]]
    faults: Sequence[SpecError]


def schedule_effects(operator: Operator, schedules: Schedules) -> Effects:
    """What becomes of the operator's nests by the schedules for C."""
    emitter = NestEmitter(decide_early(compact(lower(operator, C_LIKE))), schedules)
    changes: dict[str, set[int]] = {}
    faults: dict[Span, SpecError] = {}

    def apply(nest: i.Nest, variant: choices.Variant) -> None:
        plan, subject = schedules.chosen("c", emitter.typed_subject(nest, variant))
        if plan is not None:
            known = changes.setdefault(plan.schedule.shape.text, set())
            known |= schedules.changing(plan, subject)

    for nest in emitter.program.nests:
        for variant in choices.variants(emitter.program, nest):
            try:
                attempt("schedule", operator, partial(apply, nest), variant)
            except SpecError as error:
                faults.setdefault(error.span, error)
    return Effects(changes, tuple(faults.values()))


def warnings_of(operator: Operator) -> list[SpecWarning]:
    """The places of a formula that are not proved to stay inside of what they read."""
    found = attempt("inside", operator, open_places, translate(operator))
    return [SpecWarning(each.span, str(each), HINT) for each in found]


def mapping_text(operator: Operator, schedules: Schedules) -> str:
    """How the kernels for CUDA divide their work."""
    kernels = kernel_classes(operator, schedules).items()
    return "\n".join(["kernels for cuda:", *(f"  {name}: {kind}" for name, kind in kernels)]) + "\n"


def syntax_text(operator: Operator) -> str:
    """The syntax tree of the operator's declaration."""
    declaration = parse_at(operator.span.source, operator.span.start)
    if declaration is None:
        raise InternalError(f"the stage 'parse' does not find {operator.full_name} again")
    return tree.lines_of(declaration)


# ---------------------------------------------------------------- generated files


@dataclass(frozen=True, slots=True)
class Texts:
    """What one operator adds to generated/: files by name, its entry in the manifest."""

    files: Mapping[str, str]
    entry: Mapping[str, Any]


def operator_texts(
    operator: Operator, targets: Sequence[str], schedules: Schedules | None = None
) -> Texts:
    """The operator's own files for the targets; by cvmgen's own schedules if none are given."""
    programs: dict[Passes, i.Program] = {}
    for passes in (MANIFEST_PASSES, *(TARGETS[name].passes for name in targets)):
        if passes not in programs:
            programs[passes] = lower(operator, passes)
    files = {}
    for name in targets:
        program = programs[TARGETS[name].passes]
        files[operator_file(operator, name)] = emitted(name, operator, program, schedules)
        if emit_interface := TARGETS[name].emit_interface:
            files[interface_file(operator, name)] = emit_interface(program)
    return Texts(files, interface.manifest_entry(programs[MANIFEST_PASSES]))


Make = Callable[[Operator, Sequence[str], Schedules | None], Texts]


def generate(
    operators: Sequence[Operator],
    targets: Iterable[str] = TARGETS,
    make: Make = operator_texts,
    schedules: Schedules | None = None,
    faults: Faults | None = None,
) -> dict[str, str]:
    """The text of every generated file by its name below generated/, the manifest included.

    `make` gives the texts of one operator; a caller that remembers them may bring its own.
    `schedules` are cvmgen's own if no others are given. With `faults`, an operator on which we
    fail is told there and left out; otherwise the first such fault is raised.
    """
    schedules = packaged() if schedules is None else schedules
    targets = tuple(targets)
    callable_opsets(operators)
    faults = Strict() if faults is None else faults
    whole: list[Operator] = []
    made: list[Texts] = []
    for operator in operators:
        with faults.apart(operator.full_name, operator.span.place):
            made.append(make(operator, targets, schedules))
            whole.append(operator)
    files = {path: text for each in made for path, text in each.files.items()}
    for name in targets:
        files |= {f"{name}/{path}": text for path, text in shared_files(name, whole, schedules)}
    files[MANIFEST] = manifest_text([each.entry for each in made])
    return files


def callable_opsets(operators: Iterable[Operator]) -> None:
    """Refuse operators in no opset, and opsets whose name no program can write."""
    errors = []
    for opset, (first, *_) in by_opset(operators).items():
        message = f"the opset '{opset}' has a name that programs cannot write"
        hint = "name the folder with letters, digits and '_'"
        if opset and opset.isascii() and opset.isidentifier() and opset not in PYTHON_WORDS:
            if not is_ours(opset):
                continue
            message = f"the opset '{opset}' has the name of what all opsets share"
            hint = "name the folder otherwise"
        if not opset:
            message = f"the operator '{first.name}' is in no opset"
            hint = "move the file into a folder of the spec, which names the opset"
        errors.append(SpecError(first.span, message, hint))
    if errors:
        raise SpecErrors(errors)


def shared_files(
    name: str, operators: Iterable[Operator], schedules: Schedules
) -> Iterator[tuple[str, str]]:
    """The files of a target that belong to no single operator, by name below its folder."""
    target = TARGETS[name]
    for opset, members in by_opset(operators).items():
        yield target.header_file.format(opset=opset), target.emit_header(opset, members)
        for support, text in target.emit_support(schedules).items():
            yield target.support_file.format(opset=opset, name=support), text


def operator_file(operator: Operator, name: str) -> str:
    """The name below generated/ of the operator's file for a target."""
    file = TARGETS[name].operator_file.format(opset=operator.opset, name=operator.name)
    return f"{name}/{file}"


def interface_file(operator: Operator, name: str) -> str:
    """The name below generated/ of the operator's header, on targets that have one."""
    file = TARGETS[name].interface_file.format(opset=operator.opset, name=operator.name)
    return f"{name}/{file}"


def operator_files(operator: Operator, targets: Iterable[str]) -> list[str]:
    """The names below generated/ of the files that belong to one operator alone."""
    found = []
    for name in targets:
        found.append(operator_file(operator, name))
        if TARGETS[name].emit_interface:
            found.append(interface_file(operator, name))
    return found


def emitted(
    name: str,
    operator: Operator,
    program: i.Program | None = None,
    schedules: Schedules | None = None,
) -> str:
    """The text of the operator's file for a target; `program` is the lowered operator."""
    target = TARGETS[name]
    if program is None:
        program = lower(operator, target.passes)
    chosen = packaged() if schedules is None else schedules
    emit = target.emit_operator
    return attempt(f"emit {name}", operator, lambda each: emit(each, chosen), program)


def kernel_classes(operator: Operator, schedules: Schedules | None = None) -> dict[str, str]:
    """The class of each kernel in the operator's file for CUDA."""
    program = lower(operator, TARGETS["cuda"].passes)
    return attempt(
        "emit cuda", operator, lambda each: cuda.kernel_classes(each, schedules), program
    )


def by_opset(operators: Iterable[Operator]) -> dict[str, list[Operator]]:
    found: dict[str, list[Operator]] = {}
    for operator in operators:
        found.setdefault(operator.opset, []).append(operator)
    return found


def manifest_text(entries: Sequence[Mapping[str, Any]]) -> str:
    """The manifest: a line for each member of an operator, so that differences stay small."""
    operators = ",\n".join(f"    {{\n{members(entry, 6)}\n    }}" for entry in entries)
    head = members({"version": MANIFEST_VERSION, "limits": interface.limits()}, 2)
    return f'{{\n{head},\n  "operators": [\n{operators}\n  ]\n}}\n'


def members(entry: Mapping[str, Any], margin: int) -> str:
    """The members of an object, each on a line; objects in a list on lines of their own."""
    pad = " " * margin
    lines = []
    for name, value in entry.items():
        text = json.dumps(value, ensure_ascii=False)
        if isinstance(value, list) and any(isinstance(item, Mapping) for item in value):
            items = (f"{pad}  {json.dumps(item, ensure_ascii=False)}" for item in value)
            text = "[\n" + ",\n".join(items) + f"\n{pad}]"
        lines.append(f"{pad}{json.dumps(name)}: {text}")
    return ",\n".join(lines)
