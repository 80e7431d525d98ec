"""A fault that a stage would put into a kernel is found behind that stage, by its name."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from cvmgen import driver
from cvmgen.errors import InternalError
from cvmgen.ir import arrays as a
from cvmgen.ir import nodes as i
from cvmgen.ir.verify import verify
from cvmgen.model.build import formulas_of, planned
from cvmgen.model.stages import Staged, staged, verify_steps
from cvmgen.model.steps import KernelStep
from cvmgen.schedule.kernels import Kernel, Kernels
from cvmgen.schedule.schedules import packaged
from tests.conformance.calls import Conformance
from tests.model.invented import MODELS, Sketch, for_small_models

OPERATOR = formulas_of("cvm")["dense"]
SPAN = OPERATOR.span
ZERO, ONE = i.Const(0), i.Const(1)
AT = i.Var("planted")

COUNT = i.Let("planted", "i64", ZERO, SPAN)
COUNTED = (i.Accumulate("planted", "+", ONE, SPAN), i.Store(i.Load("Y", None, AT), ONE, SPAN))
THREAD_0 = i.Compare("==", i.Call("thread", ()), ZERO)

ANYWHERE: list[tuple[str, i.Block, str]] = [
    ("a name", (i.Assign("planted", ZERO, SPAN),), "planted changes, which is no local there"),
    (
        "a type",
        (i.Let("planted", "f64", i.Real("1.0"), SPAN), i.Let("wrong", "i32", AT, SPAN)),
        "the local wrong of i32 is given f64",
    ),
    (
        "a number",
        (i.Let("planted", "i8", i.Const(128), SPAN),),
        "the local planted of i8 is given 128",
    ),
    (
        "memory",
        (
            i.Array("planted", "i32", 4, SPAN),
            i.Let("early", "i32", i.Load("planted", None, ZERO), SPAN),
        ),
        "elements of planted are read before any is written",
    ),
]
IN_THREADS = i.Loop("place", ZERO, i.Const(8), COUNTED, 1, SPAN)
MARKS: list[tuple[str, i.Block, str]] = [
    ("threads", (COUNT, IN_THREADS), "its iterations run at once"),
    (
        "vectors",
        (COUNT, replace(IN_THREADS, parallel=0, vector="avx2")),
        "its iterations run at once",
    ),
]
BARRIER: tuple[str, i.Block] = ("a barrier", (i.If(THREAD_0, (i.Barrier(SPAN),), (), SPAN),))


def in_subject(kernel: Kernel, more: i.Block) -> Kernel:
    return replace(kernel, subject=replace(kernel.subject, body=(*more, *kernel.subject.body)))


def in_outlined(kernel: Kernel, more: i.Block) -> Kernel:
    return replace(kernel, outlined=(*more, *kernel.outlined))


def in_part(kernel: Kernel, more: i.Block) -> Kernel:
    first, *others = kernel.parts
    loop = replace(first.loop, body=(*more, *first.loop.body))
    return replace(kernel, parts=(replace(first, loop=loop), *others))


def in_function(kernel: Kernel, more: i.Block) -> Kernel:
    mapped = kernel.mapped
    assert mapped is not None
    first, *others = mapped.functions
    planted = replace(first, body=(*more, *first.body))
    return replace(kernel, mapped=replace(mapped, functions=(planted, *others)))


def subject_lost(kernel: Kernel, more: i.Block) -> Kernel:
    return replace(kernel, subject=replace(kernel.subject, body=more))


def outlined_lost(kernel: Kernel, more: i.Block) -> Kernel:
    return replace(kernel, outlined=more, parts=())


def functions_lost(kernel: Kernel, more: i.Block) -> Kernel:
    mapped = kernel.mapped
    assert mapped is not None
    planted = tuple(replace(each, body=more) for each in mapped.functions)
    return replace(kernel, mapped=replace(mapped, functions=planted))


Plant = Callable[[Kernel, i.Block], Kernel]
LOST: list[tuple[str, i.Block, str]] = [("statements lost", (COUNT,), "nothing writes to Y")]
BARRIER_IN_C = (*BARRIER, "threads meet, and none of a block run it")
BARRIER_APART = (*BARRIER, "not all threads of a block reach a")
ROWS: list[tuple[str, str, Plant, list[tuple[str, i.Block, str]]]] = [
    *(("c", each, in_subject, [*ANYWHERE, *MARKS, BARRIER_IN_C]) for each in ("types", "schedule")),
    *(
        ("c", stage, plant, [*ANYWHERE, BARRIER_IN_C])
        for stage in ("outline", "host", "families", "dispatch")
        for plant in (in_outlined, in_part)
    ),
    *(("c", each, subject_lost, LOST) for each in ("types", "schedule")),
    *(("c", each, outlined_lost, LOST) for each in ("outline", "host", "families", "dispatch")),
    ("cuda", "types", in_subject, [*ANYWHERE, *MARKS, BARRIER_IN_C]),
    *(
        ("cuda", each, functions_lost, LOST)
        for each in ("schedule", "host", "families", "dispatch")
    ),
    *(
        ("cuda", stage, in_function, [*ANYWHERE, BARRIER_APART])
        for stage in ("schedule", "host", "families", "dispatch")
    ),
]
CASES = [
    pytest.param(target, stage, plant, more, fault, id=f"{target}-{stage}-{plant.__name__}-{what}")
    for target, stage, plant, faults in ROWS
    for what, more, fault in faults
]


def kernels_after(target: str, stage: str) -> Kernels:
    program = driver.lower(OPERATOR, driver.TARGETS[target].passes)
    if stage == driver.TYPES:
        return driver.typed_kernels(program)
    kernels = driver.kernels_or_program(program, target, packaged(), stage)
    assert isinstance(kernels, Kernels)
    return kernels


@pytest.mark.parametrize(("target", "stage", "plant", "more", "fault"), CASES)
def test_planted(target: str, stage: str, plant: Plant, more: i.Block, fault: str) -> None:
    kernels = kernels_after(target, stage)
    driver.verify_kernels(kernels, stage)
    first, *others = kernels.kernels
    wrong = replace(kernels, kernels=(plant(first, more), *others))
    with pytest.raises(InternalError, match=f"the stage '{stage}' leaves .* unsound: .*{fault}"):
        driver.verify_kernels(wrong, stage)


# ---------------------------------------------------------------- models


@pytest.fixture(scope="module")
def stages(conformance: Conformance) -> dict[str, Staged]:
    """A model after each of its stages."""
    operators = conformance.libraries["python"]
    sketch = Sketch(operators, 0)
    _, model = planned(MODELS["chain"](sketch), sketch.arrays, operators)
    return dict(staged(model, for_small_models()))


def in_step(step: KernelStep, more: i.Block) -> KernelStep:
    return replace(step, made=replace(step.made, body=(*more, *step.made.body)))


def in_front(step: KernelStep, more: i.Block) -> KernelStep:
    return replace(step, front=(*more, *step.front))


def in_outlined_step(step: KernelStep, more: i.Block) -> KernelStep:
    return replace(step, outlined=(*more, *step.outlined))


def in_part_of_step(step: KernelStep, more: i.Block) -> KernelStep:
    first, *others = step.parts
    planted = replace(first, loop=replace(first.loop, body=(*more, *first.loop.body)))
    return replace(step, parts=(planted, *others))


def step_lost(step: KernelStep, more: i.Block) -> KernelStep:
    return replace(
        step, made=replace(step.made, body=more), outlined=step.outlined and more, parts=()
    )


LOST_STEP: list[tuple[str, i.Block, str]] = [("statements lost", (COUNT,), "nothing writes to ")]
STEPS: list[tuple[str, Callable[[KernelStep, i.Block], KernelStep]]] = [
    ("types", in_front),
    ("types", in_step),
    ("schedule", in_front),
    ("schedule", in_step),
    ("outline", in_front),
    ("outline", in_outlined_step),
    ("outline", in_part_of_step),
]


@pytest.mark.parametrize(
    ("stage", "plant", "more", "fault"),
    [
        pytest.param(stage, plant, more, fault, id=f"{stage}-{plant.__name__}-{what}")
        for stage, plant, faults in (
            *((stage, plant, [*ANYWHERE, BARRIER_IN_C]) for stage, plant in STEPS),
            *((stage, step_lost, LOST_STEP) for stage in ("types", "schedule", "outline")),
        )
        for what, more, fault in faults
    ],
)
def test_planted_into_a_model(
    stages: dict[str, Staged],
    stage: str,
    plant: Callable[[KernelStep, i.Block], KernelStep],
    more: i.Block,
    fault: str,
) -> None:
    steps = stages[stage].steps
    verify_steps(steps, stage)
    at = next(at for at, each in enumerate(steps) if each.parts or stage != "outline")
    wrong = (*steps[:at], plant(steps[at], more), *steps[at + 1 :])
    named = f"the stage '{stage}' of models leaves {steps[at].name} unsound: .*{fault}"
    with pytest.raises(InternalError, match=named):
        verify_steps(wrong, stage)


# ---------------------------------------------------------------- numpy

X, UNBOUND = i.Access("X", None, ()), i.Var("unbound")
IN_ARRAYS: list[tuple[str, i.Block, str]] = [
    (
        "a name",
        (a.FillArray(UNBOUND, ZERO, "", span=SPAN),),
        "the name 'unbound', which nothing binds",
    ),
    (
        "an extent",
        (a.Axes(("planted",), (UNBOUND,), None, span=SPAN),),
        "the name 'unbound', which nothing",
    ),
    ("a change", (i.Accumulate("planted", "+", ONE, SPAN),), "a change of 'planted', which is no"),
    ("a store", (i.Store(X, ZERO, SPAN),), "'X', which is not an output"),
    (
        "a choice",
        (
            a.Choose(
                "planted", i.Const(True), (i.Let("planted", "int", ZERO, SPAN),), (), span=SPAN
            ),
        ),
        "a choice that does not make 'planted'",
    ),
    (
        "what ends with a block",
        (
            a.Blocks(("planted",), (X,), (), None, 0, (), span=SPAN),
            i.Let("late", "int", AT, SPAN),
        ),
        "the name 'planted', which nothing binds",
    ),
    ("a barrier", (i.Barrier(SPAN),), "Barrier, which mappings to threads make"),
]


def test_statements_lost_from_arrays() -> None:
    passes = driver.TARGETS["numpy"].passes
    program = driver.lower(OPERATOR, passes)
    kept = tuple(each for each in program.nests[0].body if not isinstance(each, a.Into))
    wrong = replace(program, nests=(replace(program.nests[0], body=kept),))
    with pytest.raises(InternalError, match="a nest that writes nothing to Y"):
        verify(wrong, [name for name, _ in passes])


@pytest.mark.parametrize(
    ("more", "fault"), [pytest.param(more, fault, id=what) for what, more, fault in IN_ARRAYS]
)
def test_planted_into_arrays(more: i.Block, fault: str) -> None:
    passes = driver.TARGETS["numpy"].passes
    names = [name for name, _ in passes]
    program = driver.lower(OPERATOR, passes)
    verify(program, names)
    first, *others = program.nests
    wrong = replace(program, nests=(replace(first, body=(*more, *first.body)), *others))
    with pytest.raises(InternalError, match=f"the pass '{names[-1]}' left .* with .*{fault}"):
        verify(wrong, names)
