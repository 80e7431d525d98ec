"""The driver: stages in order, generated files by name, the manifest."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

from cvmgen import driver
from cvmgen.errors import InternalError
from cvmgen.inspection.stages import programs, stage_text
from cvmgen.ir import nodes as i
from cvmgen.ir.text import program_text
from cvmgen.schedule.gpu import choice
from cvmgen.schedule.gpu.mapped import Mapped, MappingTask, NextMapping
from cvmgen.schedule.gpu.threads import threads
from cvmgen.source import Source
from cvmgen.spec.check import check_files
from cvmgen.spec.files import SpecFile
from cvmgen.spec.formula import Operator
from tests.operators import extra, product, sampled

OPERATORS = """\
operator double {
  "Twice each element."
  input  X : cvm[n...]
  output Y : cvm[n...] precision p(X) + 1
  Y[d...] = 2 * X[d...]
}
family shifted(BY) {
  input  X : cvm[n...]
  output Y : cvm[n...] precision p(X) + 4
  Y[d...] = BY(X[d...])
}
def more(x) = x + 1
operator next = shifted(more) {
  "Each element and 1."
}
"""


@pytest.fixture(scope="module")
def operators() -> tuple[Operator, ...]:
    return check_files([SpecFile(Source("spec/toy/a.cvm", OPERATORS), "toy")])


FORMULAS = {each.full_name: each for each in (*product(), *extra())}


@pytest.mark.parametrize("name", sampled(FORMULAS))
def test_every_operator_has_a_text_after_every_stage(name: str) -> None:
    """Of the stages that begin with all schedules anew, in one."""
    operator, own = FORMULAS[name], driver.PARTS[[*FORMULAS].index(name) % len(driver.PARTS)]
    texts = {stage: stage_text(operator, stage) for stage in ("parse", "check", "schedule", own)}
    texts |= {stage: program_text(each) for stage, each in programs(operator, "c")}
    assert set(texts) == {*driver.STAGES} - {*driver.PARTS} | {own}
    for text in texts.values():
        assert text.endswith("\n")
        assert operator.name in text
        assert " at 0x" not in text, "an object without a text of its own"


STAGE_TEXTS = [
    ("double", "parse", "OperatorDecl\n  name = 'double'\n"),
    ("next", "parse", "family = 'shifted'"),
    ("double", "check", "tensor = 'Y'"),
    ("next", "check", "Access(tensor='X', "),
    ("double", "translate", "  for d... < n:\n    Y[d...] = 2 * X[d...]\n"),
    ("double", "flatten", "  for 0 <= d < size(n):\n    Y@[d] = 2 * X@[d]\n"),
    ("double", "host_values", "  for 0 <= d < n_size:\n"),
    ("double", "types", "let n_size: i64 = size(n)\n"),
]


@pytest.mark.parametrize(("name", "stage", "part"), STAGE_TEXTS)
def test_stage_text(operators: tuple[Operator, ...], name: str, stage: str, part: str) -> None:
    (operator,) = (each for each in operators if each.name == name)
    assert part in stage_text(operator, stage)


def test_a_pass_that_fails_is_named(operators: tuple[Operator, ...]) -> None:
    def fails(_: i.Program) -> i.Program:
        raise AssertionError

    with pytest.raises(InternalError, match=r"^the stage 'mine' fails on toy.double: AssertionErr"):
        driver.lower(operators[0], (("mine", fails),))


def test_a_pass_that_breaks_the_program_is_named(operators: tuple[Operator, ...]) -> None:
    def breaks(program: i.Program) -> i.Program:
        return i.Program(program.operator, (), program.nests)

    with pytest.raises(InternalError, match=r"^the pass 'mine' left toy.double with the name 'n'"):
        driver.lower(operators[0], (*driver.STATEMENTS, ("mine", breaks)))


def test_passes_that_targets_share_run_once(monkeypatch: pytest.MonkeyPatch) -> None:
    ran: list[str] = []
    attempt = driver.run_stage

    def told(stage: str, *rest: Any) -> Any:
        ran.append(stage)
        return attempt(stage, *rest)

    monkeypatch.setattr(driver, "run_stage", told)
    (operator, _) = check_files([SpecFile(Source("spec/toy/a.cvm", OPERATORS), "toy")])
    made = driver.operator_texts(operator, tuple(driver.TARGETS))
    stage_text(operator, "outline")
    assert driver.emitted("cuda", operator) == made.files["cuda/toy/double.cu"]
    once = ("translate", "inside", "parts", "lift", "outline")
    of_two = ("unfold", "guards", "types", "schedule")  # of C and of the others, or of CUDA
    assert {ran.count(name) for name in once} == {1}
    assert {ran.count(name) for name in of_two} == {2}


def test_a_mapping_that_breaks_a_kernel_is_named(
    operators: tuple[Operator, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    def divergent(task: MappingTask, otherwise: NextMapping) -> Mapped:
        found = threads(task)
        (function,) = found.functions
        (loop,) = function.body
        assert isinstance(loop, i.Loop)
        body = replace(loop, body=(*loop.body, i.Barrier(loop.span)))
        return replace(found, functions=(replace(function, body=(body,)),))

    monkeypatch.setitem(choice.MAPPINGS, "vectors", divergent)
    message = (
        r"^the stage 'schedule' leaves Y of toy.double unsound: in the grid kernel not all threads "
        "of a block reach a barrier, which waits for them$"
    )
    with pytest.raises(InternalError, match=message):
        driver.mapped_kernels(operators[0])


def test_names_of_generated_files(operators: tuple[Operator, ...]) -> None:
    files = driver.generate(operators, ("c", "python"))
    assert sorted(files) == [
        "c/cvmgen.c",
        "c/cvmgen.h",
        "c/cvmgen.hpp",
        "c/cvmgen_bound.c",
        "c/cvmgen_bound.h",
        "c/cvmgen_contract.c",
        "c/cvmgen_contract.h",
        "c/cvmgen_elementary.h",
        "c/cvmgen_functions.c",
        "c/cvmgen_functions.h",
        "c/cvmgen_geometry.c",
        "c/cvmgen_geometry.h",
        "c/cvmgen_image.c",
        "c/cvmgen_kernel.h",
        "c/cvmgen_moves.c",
        "c/cvmgen_moves.h",
        "c/cvmgen_panels.c",
        "c/cvmgen_power.h",
        "c/cvmgen_products.c",
        "c/cvmgen_products.h",
        "c/cvmgen_products_panel.h",
        "c/cvmgen_runs.c",
        "c/cvmgen_runs.h",
        "c/cvmgen_runtime.h",
        "c/cvmgen_slides.h",
        "c/cvmgen_squares.h",
        "c/cvmgen_threads.c",
        "c/cvmgen_threads.h",
        "c/cvmgen_tile.c",
        "c/cvmgen_tile.h",
        "c/cvmgen_tile_arm.c",
        "c/cvmgen_tile_bytes.c",
        "c/cvmgen_tile_generic.c",
        "c/cvmgen_tile_generic.h",
        "c/cvmgen_tile_variants.h",
        "c/cvmgen_tile_x86.c",
        "c/cvmgen_turns.c",
        "c/cvmgen_turns.h",
        "c/cvmgen_vectors.h",
        "c/cvmgen_x86.c",
        "c/cvmgen_x86.h",
        "c/toy.h",
        "c/toy.hpp",
        "c/toy/double.c",
        "c/toy/double.h",
        "c/toy/next.c",
        "c/toy/next.h",
        "manifest.json",
        "python/toy/__init__.py",
        "python/toy/_attributes.py",
        "python/toy/_elementary.py",
        "python/toy/_lists.py",
        "python/toy/_powers.py",
        "python/toy/_reals.py",
        "python/toy/_rules.py",
        "python/toy/_support.py",
        "python/toy/_typed.py",
        "python/toy/double.py",
        "python/toy/next.py",
    ]
    assert driver.operator_files(operators[0], ("c", "python")) == [
        "c/toy/double.c",
        "c/toy/double.h",
        "python/toy/double.py",
    ]
    assert all(text.endswith("\n") for text in files.values())


def test_generating_twice_gives_the_same(operators: tuple[Operator, ...]) -> None:
    assert driver.generate(operators) == driver.generate(operators)


def test_the_manifest(operators: tuple[Operator, ...]) -> None:
    text = driver.generate(operators, ())["manifest.json"]
    manifest = json.loads(text)
    assert list(manifest) == ["version", "limits", "operators"]
    assert [each["name"] for each in manifest["operators"]] == ["double", "next"]
    assert manifest["operators"][0]["inputs"] == [
        {"name": "X", "empty": False, "optional": False, "variadic": False, "int32": False}
    ]
    assert '\n      "name": "double",\n' in text, "a line for each member"
