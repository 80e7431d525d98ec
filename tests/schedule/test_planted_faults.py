"""A fault that a stage would put into a kernel is found behind that stage, by its name."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from cvmgen import driver
from cvmgen.errors import InternalError
from cvmgen.ir import nodes as i
from cvmgen.model.build import formulas_of
from cvmgen.schedule.kernels import Kernel, Kernels
from cvmgen.schedule.schedules import packaged

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


Plant = Callable[[Kernel, i.Block], Kernel]
BARRIER_IN_C = (*BARRIER, "threads meet, and none of a block run it")
BARRIER_APART = (*BARRIER, "not all threads of a block reach a")
ROWS: list[tuple[str, str, Plant, list[tuple[str, i.Block, str]]]] = [
    *(("c", each, in_subject, [*ANYWHERE, *MARKS, BARRIER_IN_C]) for each in ("types", "schedule")),
    *(
        ("c", stage, plant, [*ANYWHERE, BARRIER_IN_C])
        for stage in ("outline", "host", "families", "dispatch")
        for plant in (in_outlined, in_part)
    ),
    ("cuda", "types", in_subject, [*ANYWHERE, *MARKS, BARRIER_IN_C]),
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
