"""The passage of an operator, stage by stage: the only module that knows the order."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import chain, takewhile
from typing import Any, TypeVar

from cvmgen.emit import c, c_support, cuda, cuda_support, interface, numpy, python
from cvmgen.errors import CvmgenError, Faults, InternalError, Strict
from cvmgen.inside.checks import CallProof, open_places, stay_inside
from cvmgen.inside.shelter import shelter
from cvmgen.inside.sites import HINT
from cvmgen.ir import nodes as i
from cvmgen.ir.remember import remembered
from cvmgen.ir.verify import verify
from cvmgen.lower.array_nests import whole_arrays
from cvmgen.lower.compaction import compact
from cvmgen.lower.decisions import decide_early
from cvmgen.lower.filled_parts import fill_what_is_read
from cvmgen.lower.first_entries import sort_first_entries
from cvmgen.lower.flatten import flatten_packs
from cvmgen.lower.guards import place_guards
from cvmgen.lower.host_part import lower_for_python
from cvmgen.lower.host_values import host_values
from cvmgen.lower.invariant_reductions import hoist_reductions, hoist_reductions_in_threads
from cvmgen.lower.known_parts import name_parts
from cvmgen.lower.let_memory import repeated_lets, tallies
from cvmgen.lower.lift import lift_host
from cvmgen.lower.normal_form import normal_form
from cvmgen.lower.offsets import find_offsets
from cvmgen.lower.peel import peel_dimensions
from cvmgen.lower.places import find_places, tabulate_places
from cvmgen.lower.products import part_products
from cvmgen.lower.repeated_packs import repeated_packs
from cvmgen.lower.repeated_sums import repeated_sums
from cvmgen.lower.scan_parts import part_scans
from cvmgen.lower.scans import carry_scans
from cvmgen.lower.speculation import speculate_loads
from cvmgen.lower.split import split_indices
from cvmgen.lower.store_order import order_walks
from cvmgen.lower.translate import operator_program
from cvmgen.lower.unfold import unfold_all, unfold_nests
from cvmgen.lower.walks import walk_boxes
from cvmgen.lower.winners import choose_by_place
from cvmgen.paths import MANIFEST
from cvmgen.schedule.dispatch import with_call
from cvmgen.schedule.dispatch_c import dispatched as dispatched_in_c
from cvmgen.schedule.dispatch_fault import dispatch_fault
from cvmgen.schedule.effects import Effects, effects
from cvmgen.schedule.generic import families
from cvmgen.schedule.gpu.choice import unsound_on_gpu, with_mappings
from cvmgen.schedule.gpu.dispatch import dispatched as dispatched_in_cuda
from cvmgen.schedule.gpu.families import device_families, unsound_device_families
from cvmgen.schedule.inline import unsound_families, with_inline_functions
from cvmgen.schedule.kernels import (
    Kernels,
    host_lowered,
    outlined,
    scheduled,
    shortened,
    typed,
    unsound_parts,
)
from cvmgen.schedule.legality import unsound
from cvmgen.schedule.schedules import Schedules, packaged
from cvmgen.source import SpecError, SpecErrors, SpecWarning
from cvmgen.spec.formula import Operator
from cvmgen.spec.scope import is_ours
from cvmgen.spec.words import PYTHON_WORDS

Pass = Callable[[Any], i.Program]  # of the program so far, the first one of the operator
Passes = tuple[tuple[str, Pass], ...]
Before = TypeVar("Before")
After = TypeVar("After")

FORMULAS: Passes = (
    ("translate", operator_program),
    ("normal", normal_form),
    ("inside", stay_inside),
    ("parts", name_parts),
    ("lift", partial(lift_host, proof=CallProof)),
)
STATEMENTS: Passes = (
    *FORMULAS,
    ("unfold", unfold_nests),
    ("guards", place_guards),
    ("invariants", hoist_reductions),
)
WALKED: Passes = (*FORMULAS, ("winners", choose_by_place))  # where one thread may walk
# For numpy: reductions and multi-indices as they are, until all is known of the host's part.
WHOLE_ARRAYS: Passes = (
    *WALKED,
    ("shelter", partial(shelter, bodies=True)),
    ("arrays", whole_arrays),
)
OFFSETS: Passes = (
    ("offsets", find_offsets),
    ("flatten", flatten_packs),
    ("host_values", host_values),
    ("shelter", shelter),
)
# From the translated formula to nests that every target can print.
COMMON: Passes = (*WALKED, *STATEMENTS[len(FORMULAS) :], *OFFSETS)
# For C and CUDA: no divided indices, no multi-indices, no comprehensions.
C_LIKE: Passes = (
    *STATEMENTS,
    ("peel", peel_dimensions),
    ("split", split_indices),
    ("offsets", find_places),
    ("speculation", speculate_loads),
    *OFFSETS[1:],
    ("walks", walk_boxes),
    ("unfold_all", unfold_all),
)
REST = C_LIKE[len(FORMULAS) :]
ROWS_FOR_THREADS = 32  # as many are work enough: each stays whole
C: Passes = (
    *WALKED,
    ("products", part_products),
    ("filled", fill_what_is_read),
    ("scans", carry_scans),
    ("scan_parts", partial(part_scans, rows=ROWS_FOR_THREADS)),
    ("firsts", sort_first_entries),
    *((name, tabulate_places if name == "offsets" else each) for name, each in REST),
    ("compaction", compact),
    ("decisions", decide_early),
)
# The outermost loops are for threads.
CUDA: Passes = (
    *FORMULAS,
    ("scans", carry_scans),
    ("scan_parts", partial(part_scans, rows=None)),
    *((name, hoist_reductions_in_threads if name == "invariants" else each) for name, each in REST),
    ("order", order_walks),
)

KernelPass = Callable[..., Kernels]  # of kernels and, by its name, `schedules`
KernelPasses = tuple[tuple[str, KernelPass], ...]
TYPES = "types"  # from the lowered program to a kernel for each choice of element types
C_KERNELS: KernelPasses = (
    ("schedule", partial(scheduled, "c")),
    ("outline", lambda kernels, schedules: outlined(kernels)),
    ("short", lambda kernels, schedules: shortened(kernels)),
    ("host", partial(host_lowered, "precision")),
    ("families", lambda kernels, schedules: families(kernels)),
    ("inline", lambda kernels, schedules: with_inline_functions(kernels)),
    ("dispatch", partial(with_call, dispatched_in_c)),
)
CUDA_KERNELS: KernelPasses = (
    ("schedule", with_mappings),
    ("host", partial(host_lowered, "declared_precision")),
    ("families", device_families),
    ("dispatch", partial(with_call, dispatched_in_cuda)),
)
# Stages of kernels that are shown as a program.
PARTS = ("outline", "short", "host", "families", "inline", "dispatch")
STAGES = ("parse", "check", *(name for name, _ in C), TYPES, "schedule", *PARTS)


@dataclass(frozen=True, slots=True)
class Target:
    """How a language's files are made; `{opset}` and `{name}` stand in the names of files.

    Where there are `kernel_passes`, emission is given kernels with machine types, else the program.
    """

    passes: Passes
    emit_operator: Callable[..., str]  # of them and, by its name, `schedules`
    emit_header: Callable[[str, Iterable[Operator]], str]
    emit_support: Callable[[Schedules], Mapping[str, str]]
    operator_file: str
    header_file: str
    support_file: str
    kernel_passes: KernelPasses | None = None
    emit_interface: Callable[[Any], str] | None = None  # where operators have headers
    interface_file: str = "{opset}/{name}.h"
    emit_cpp_header: Callable[[str, Iterable[Operator]], str] | None = None  # where C++ calls them
    cpp_header_file: str = "{opset}.hpp"


TARGETS: Mapping[str, Target] = {
    "python": Target(
        (*COMMON, ("host", lower_for_python)),
        lambda program, schedules: python.emit_operator(program),
        python.emit_header,
        lambda _: python.emit_support(),
        operator_file="{opset}/{name}.py",
        header_file="{opset}/__init__.py",
        support_file="{opset}/{name}",
    ),
    "numpy": Target(
        (*WHOLE_ARRAYS, ("host", lower_for_python)),
        lambda program, schedules: numpy.emit_operator(program),
        numpy.emit_header,
        lambda _: numpy.emit_support(),
        operator_file="{opset}/{name}.py",
        header_file="{opset}/__init__.py",
        support_file="{opset}/{name}",
    ),
    "c": Target(
        C,
        lambda kernels, schedules: c.emit_operator(kernels),
        c_support.emit_header,
        c_support.emit_support,
        operator_file="{opset}/{name}.c",
        header_file="{opset}.h",
        support_file="{name}",
        kernel_passes=C_KERNELS,
        emit_interface=lambda kernels: c_support.emit_interface(kernels.operator),
        emit_cpp_header=c_support.emit_cpp_header,
    ),
    "cuda": Target(
        CUDA,
        lambda kernels, schedules: cuda.emit_operator(kernels),
        cuda_support.emit_header,
        cuda_support.emit_support,
        operator_file="{opset}/{name}.cu",
        header_file="{opset}.h",
        support_file="{name}",
        kernel_passes=CUDA_KERNELS,
        emit_interface=cuda.emit_interface,
    ),
}


# ---------------------------------------------------------------- stages


def shared_passes() -> int:
    """With how many passes all targets begin alike."""
    steps = zip(*(each.passes for each in TARGETS.values()), strict=False)
    return sum(1 for _ in takewhile(lambda step: len({*step}) == 1, steps))


def lower(operator: Operator, passes: Passes) -> i.Program:
    """The operator's program after all passes, verified after each. InternalError names the pass
    for a fault of ours; what a pass says of the formula (SpecError) comes through."""
    return [program for _, program in lowered(operator, passes)][-1]


@remembered
def made_of(operator: Operator) -> dict[tuple[int, tuple[str, Pass]], i.Program]:
    """What passes have made of an operator: by the program, which is kept here, and the pass."""
    return {}


def lowered(operator: Operator, passes: Passes) -> Iterator[tuple[str, i.Program]]:
    """The operator's program after each pass, with its name; what targets share runs once, and so
    does what a pass of one of them alone has not changed."""
    made = made_of(operator)
    program: Any = operator
    for count, (name, run) in enumerate(passes, 1):
        done = id(program), (name, run)
        if done not in made:
            made[done] = run_stage(name, operator, run, program)
            verify(made[done], [stage for stage, _ in passes[:count]])
        program = made[done]
        yield name, program


@remembered
def typed_kernels(program: i.Program) -> Kernels:
    """The kernels of a lowered program, with machine types, verified."""
    kernels = run_stage(TYPES, program.operator, typed, program)
    verify_kernels(kernels, TYPES)
    return kernels


def kernels_or_program(
    program: i.Program, target: str, schedules: Schedules, last: str = ""
) -> i.Program | Kernels:
    """What a target is emitted from: the lowered program, or its kernels after all their passes,
    or after the `last` one that is asked for."""
    if (passes := TARGETS[target].kernel_passes) is None:
        return program
    kernels = typed_kernels(program)
    for each in passes:
        kernels = after(each, kernels, schedules)
        if each[0] == last:
            break
    return kernels


@remembered
def after(stage: tuple[str, KernelPass], kernels: Kernels, schedules: Schedules) -> Kernels:
    """The kernels after one of their passes, verified."""
    name, run = stage
    kernels = run_stage(name, kernels.operator, partial(run, schedules=schedules), kernels)
    verify_kernels(kernels, name)
    return kernels


def verify_kernels(kernels: Kernels, stage: str) -> None:
    """Raise InternalError that names the stage if a kernel does not hold together, or the host."""
    verify(kernels.host, [stage])
    for each in kernels.kernels:
        faults = chain(
            unsound(each.subject) if each.mapped is None else unsound_on_gpu(each),
            unsound_parts(kernels.program, each),
        )
        if fault := next(faults, ""):
            name = kernels.operator.full_name
            message = f"the stage '{stage}' leaves {each.nest.tensor} of {name} unsound: {fault}"
            raise InternalError(message)
    faults = chain(unsound_families(kernels), unsound_device_families(kernels))
    if fault := next(faults, "") or dispatch_fault(kernels):
        message = f"the stage '{stage}' leaves {kernels.operator.full_name} unsound: {fault}"
        raise InternalError(message)


def run_stage(
    stage: str, operator: Operator, run: Callable[[Before], After], value: Before
) -> After:
    """`run(value)`; what is no error for users becomes an InternalError that names the stage."""
    try:
        return run(value)
    except (CvmgenError, InternalError):
        raise
    except Exception as error:
        what = f"{type(error).__name__}: {error}".removesuffix(": ")
        message = f"the stage '{stage}' fails on {operator.full_name}: {what}"
        raise InternalError(message) from error


def schedule_effects(operator: Operator, schedules: Schedules) -> Effects:
    """What becomes of the operator's nests by the schedules for C."""
    run = partial(effects, schedules=schedules)
    return run_stage("schedule", operator, run, typed_kernels(lower(operator, C)))


def warnings_of(operator: Operator) -> list[SpecWarning]:
    """The places of a formula that are not proved to stay inside of what they read."""
    found = run_stage("inside", operator, open_places, operator_program(operator))
    return [SpecWarning(each.span, str(each), HINT) for each in found]


def costly_lets(operator: Operator) -> list[SpecWarning]:
    """The lets and sums of a formula that are computed again where memory would cost less."""
    sums = [*repeated_sums(operator), *repeated_packs(operator)]
    if not any(each.is_cheaper for each in tallies(operator).values()):
        return sums
    program = run_stage("inside", operator, stay_inside, operator_program(operator))
    return [*repeated_lets(operator, program.lets), *sums]


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
    files: dict[str, str] = {}
    chosen = packaged() if schedules is None else schedules
    for name in targets:
        files |= texts_for(name, lower(operator, TARGETS[name].passes), chosen)
    return Texts(files, interface.manifest_entry(lower(operator, C)))


def texts_for(name: str, program: i.Program, schedules: Schedules) -> Mapping[str, str]:
    """The files of a lowered operator for a target, its own one first."""
    operator, target = program.operator, TARGETS[name]
    made = kernels_or_program(program, name, schedules)
    emit = partial(target.emit_operator, schedules=schedules)
    files = {operator_file(operator, name): run_stage(f"emit {name}", operator, emit, made)}
    if target.emit_interface:
        files[interface_file(operator, name)] = target.emit_interface(made)
    return files


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
    files[MANIFEST] = interface.manifest_text([each.entry for each in made])
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
        if target.emit_cpp_header:
            yield target.cpp_header_file.format(opset=opset), target.emit_cpp_header(opset, members)
        for support, text in target.emit_support(schedules).items():
            yield target.support_file.format(opset=opset, name=support), text


def operator_file(operator: Operator, name: str) -> str:
    """The name below generated/ of the operator's file for a target."""
    return f"{name}/" + TARGETS[name].operator_file.format(opset=operator.opset, name=operator.name)


def interface_file(operator: Operator, name: str) -> str:
    """The name below generated/ of the operator's header, on targets that have one."""
    return f"{name}/" + TARGETS[name].interface_file.format(
        opset=operator.opset, name=operator.name
    )


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
    program = lower(operator, TARGETS[name].passes) if program is None else program
    texts = texts_for(name, program, packaged() if schedules is None else schedules)
    return texts[operator_file(operator, name)]


def operator_kernel_classes(
    operator: Operator, schedules: Schedules | None = None
) -> dict[str, str]:
    """The class of each kernel in the operator's file for CUDA."""
    kernels = mapped_kernels(operator, schedules)
    return run_stage("emit cuda", operator, cuda.kernel_classes, kernels)


def mapped_kernels(operator: Operator, schedules: Schedules | None = None) -> Kernels:
    """The kernels for CUDA, mapped to threads."""
    found = kernels_or_program(lower(operator, CUDA), "cuda", schedules or packaged())
    assert isinstance(found, Kernels)
    return found


def by_opset(operators: Iterable[Operator]) -> dict[str, list[Operator]]:
    found: dict[str, list[Operator]] = {}
    for operator in operators:
        found.setdefault(operator.opset, []).append(operator)
    return found
