"""What faults are put into: small formulas with loops of every kind, and operators that ship."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from functools import cache
from pathlib import Path

from cvmgen import driver
from cvmgen.build import write_changed
from cvmgen.schedule.kernels import Kernels
from cvmgen.schedule.schedules import Schedules, checked_schedules, read_schedules
from cvmgen.source import Source
from cvmgen.spec.check import SpecFile, check_files
from cvmgen.spec.files import read_folder
from cvmgen.spec.formula import Operator
from cvmgen.spec.schedules import parse_schedules
from tests.fuzz.scheduled_operators import OPERATORS
from tests.operators import product
from tests.verification.mutants.texts import Span

ROOT = Path(__file__).parents[3]
SPEC = ROOT / "spec"
CLIP = "def clip(x, low, high) = max(low, min(x, high))\n"
OWN = {
    "shifts": "input X : cvm[N]\nattr s = 2 in [1, 9)\noutput Y : cvm[N] precision 8\n"
    "Y[i] = clip((X[i] div 2^(s - 1) + 1) div 2, -127, 127)",
    "biased": "input X : cvm[M, K]\ninput W : cvm[N, K]\ninput B : cvm[N] optional\n"
    "output Y : cvm[M, N] precision 32\n"
    "Y[i, j] = sum[k < K](X[i, k] * W[j, k]) + (B[j] if present(B) else 0)",
    "padded": "input X : cvm[N]\nattr pad = 1 in [0, 9)\noutput Y : cvm[N + 2*pad] precision 32\n"
    "Y[i] = X[i - pad] + 1 if 0 <= i - pad < N else 7",
    "strided": "input X : cvm[N]\nattr s = 2 in [1, 9)\noutput Y : cvm[(N - 1) div s + 1] "
    "precision 32\nY[i] = X[i * s] + 1",
    "turned": "input X : cvm[M, N]\noutput Y : cvm[N, M] precision 32\nY[j, i] = X[i, j] + 1",
    "halved": "input X : cvm[N]\noutput Y : cvm[N] precision 32\nY[i] = X[i] div 2 + X[i] mod 3",
    "added": "input A : cvm[N]\ninput B : cvm[N]\noutput Y : cvm[N] precision 32\n"
    "Y[i] = A[i] - B[i]",
}
# All of these are equal to their formulas for all values before a fault is put into them.
NAMES = ("rows", "tallest", "product", "pooled", "convolved", "widened", "real_rows", "mean")
GPU_NAMES = {
    "relu": "input X : cvm[n...]\noutput Y : cvm[n...]\nY[d...] = max(0, X[d...])",
    "pool": "input X : cvm[C, H, W]\noutput Y : cvm[C, H - 2, W - 2]\n"
    "Y[c, y, x] = max[i < 3, j < 3](X[c, y + i, x + j])",
    "sums": "input X : cvm[M, K]\noutput Y : cvm[M]\nY[i] = sum[k < K](X[i, k])",
    "swapped": "input X : cvm[M, N]\noutput Y : cvm[N, M]\nY[j, i] = X[i, j]",
}
FORMULAS = {**{name: OPERATORS[name].items for name in NAMES}, **OWN}
SCHEDULED = (
    "above_first", "any_of", "by_channel", "in_order", "kept_apart", "named", "packed", "permuted",
    "quotients", "real_product", "reduced", "two_ways",
)  # fmt: skip
"""Formulas of nests that have other schedules than those above."""


HEAVY = ("convolved",)  # whose sizes are not asked: half a minute for each mutant
SHIPPED = {
    "c": (
        "cvm.broadcast_add", "cvm.clip", "cvm.cvm_right_shift", "cvm.dense", "cvm.slice",
        "cvm.sum", "cvm.take", "cvm.upsampling", "cvm.where", "tosa.reduce_max",
    ),
    "cuda": (
        "cvm.broadcast_add", "cvm.cvm_right_shift", "cvm.max_pool2d", "cvm.slice", "cvm.sum",
        "cvm.take", "cvm.transpose", "cvm.upsampling", "systemml.conv2d", "tosa.reduce_max",
    ),
}  # fmt: skip
"""Operators that ship into which faults are put: of every kind of kernel."""
OF_MODELS = {
    "c": (
        "onnx.div", "onnx.matmul_integer", "onnx.reduce_sum", "tflite.max_pool_2d", "tflite.mean",
        "tflite.requantize", "tosa.matmul", "tosa.pad", "tosa.scatter",
    ),
    "cuda": (
        "onnx.cast", "onnx.matmul_integer", "onnx.reduce_sum", "tflite.fully_connected",
        "tflite.maximum", "tflite.mean", "tosa.max_pool2d", "tosa.reverse", "tosa.scatter",
    ),
}  # fmt: skip
"""The same of the opsets that models are read with."""


# ---------------------------------------------------------------- formulas


@cache
def shipped() -> Mapping[str, Operator]:
    return {each.full_name: each for each in product()}


def names(target: str) -> tuple[str, ...]:
    """All into which faults are put; small formulas are not made for devices."""
    own = tuple(FORMULAS) if target == "c" else ()
    return (*own, *SHIPPED[target])


def ships(name: str) -> bool:
    return "." in name


@cache
def operator(name: str) -> Operator:
    return shipped()[name] if ships(name) else checked(name, source(name)[0])


def checked(name: str, text: str) -> Operator:
    """The operator as another text of its declaration says it; of one that ships, of its file."""
    if not ships(name):
        (found,) = check_files([SpecFile(Source("z.cvm", text), "z")])
        return found
    own = file_with(name)
    several = check_files(
        replace(each, source=replace(own.source, text=text)) if each is own else each
        for each in spec_files()
        if each.opset in ("", own.opset, *imported(own))
    )
    return next(each for each in several if each.full_name == name)


@cache
def spec_files() -> tuple[SpecFile, ...]:
    return read_folder(SPEC)


@cache
def file_with(name: str) -> SpecFile:
    """The file in which an operator that ships is declared."""
    opset, own = name.split(".")
    found = [each for each in spec_files() if each.opset == opset]
    return next(each for each in found if re.search(rf"(?m)^operator {own}\b", each.source.text))


def imported(file: SpecFile) -> list[str]:
    """The opsets from which a file has definitions and families."""
    return re.findall(r"(?m)^import .* from (\w+)", file.source.text)


def items_of(name: str) -> str:
    """What stands in the declaration of a formula that does not ship."""
    own = {**FORMULAS, **GPU_NAMES}
    return own[name] if name in own else OPERATORS[name].items


@cache
def source(name: str) -> tuple[str, tuple[Span, ...]]:
    """The text that `checked` takes, and where in it the equations stand: in the operator, or in
    the family that it is one of."""
    if not ships(name):
        text = f"{CLIP}operator {name} {{\n{items_of(name)}\n}}\n"
        return text, ((text.rindex("\nY[") + 1, len(text)),)
    text = file_with(name).source.text
    operator = re.search(rf"(?m)^operator {name.split('.')[1]}\b(?: = (\w+))?", text)
    assert operator is not None
    family = re.search(rf"(?m)^family {operator[1]}\(", text)
    begins = (each.start() for each in (operator, family) if each)
    return text, next((found for at in begins if (found := equations(text, at))), ())


def equations(text: str, begin: int) -> tuple[Span, ...]:
    """Of a declaration: from its first equation to its first example."""
    end = re.compile(r"(?m)^  example\b|^}").search(text, begin)
    first = re.compile(r"(?m)^  \w+\[").search(text, begin, end.start() if end else len(text))
    return ((first.start(), end.start() if end else len(text)),) if first else ()


# ---------------------------------------------------------------- kernels and their text


@cache
def small_blocks() -> Schedules:
    """The schedules that come with cvmgen, with blocks and limits that small calls come to."""
    text = re.sub(r">= \d+", ">= 4", (SPEC / "schedules/c.sched").read_text(encoding="utf-8"))
    text = re.sub(r"(?m)^(  (?:split|stage|turn).*) by \d{2,}", r"\1 by 16", text)
    return checked_schedules(parse_schedules(Source("z.sched", text)))


@cache
def shipped_schedules() -> Schedules:
    return read_schedules(SPEC)


def schedules(name: str) -> Schedules:
    return shipped_schedules() if ships(name) or name in GPU_NAMES else small_blocks()


@cache
def kernels(name: str) -> Kernels:
    return scheduled(name, operator(name))


def scheduled(name: str, of: Operator) -> Kernels:
    made = driver.kernels_or_program(driver.lower(of, driver.C), "c", schedules(name), "schedule")
    assert isinstance(made, Kernels)
    return made


@cache
def mapped(name: str) -> Kernels:
    return driver.mapped_kernels(operator(name))


def emitted(name: str, made: Kernels) -> str:
    """The text of scheduled kernels."""
    for _, run in driver.C_KERNELS[1:]:
        made = run(made, schedules=schedules(name))
    return driver.TARGETS["c"].emit_operator(made, schedules=schedules(name))


def emitted_for_gpu(made: Kernels) -> str:
    """The CUDA text of mapped kernels."""
    for _, run in driver.CUDA_KERNELS[1:]:
        made = run(made, schedules=shipped_schedules())
    return driver.TARGETS["cuda"].emit_operator(made, schedules=shipped_schedules())


@cache
def text_of(name: str, target: str) -> str:
    """What is generated for an operator."""
    if not ships(name):
        return emitted(name, kernels(name)) if target == "c" else emitted_for_gpu(mapped(name))
    file = driver.operator_file(operator(name), target)
    return (ROOT / "generated" / file).read_text(encoding="utf-8")


def file_of(name: str, target: str) -> str:
    """The operator's file in the folder of a target."""
    return driver.operator_file(operator(name), target).removeprefix(f"{target}/")


@cache
def generated(name: str, work: Path) -> Path:
    """The folder with the right text of an operator, and what it is called by."""
    if ships(name):
        return ROOT / "generated"
    place, own = work / name, schedules(name)
    write_changed(place, driver.generate([operator(name)], targets_of(name), schedules=own))
    return place


def targets_of(name: str) -> tuple[str, ...]:
    return ("cuda",) if name in GPU_NAMES else ("c",)
