"""Mutants of small formulas: of the formula, of its scheduled kernels, of their schedules' actions
and of the text that is printed; and of kernels of a GPU."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from random import Random
from typing import Any

from cvmgen import driver
from cvmgen.errors import CvmgenError, InternalError
from cvmgen.schedule.gpu.mapped import DeviceFunction
from cvmgen.schedule.kernels import Kernel, Kernels
from cvmgen.schedule.legality import unsound
from cvmgen.schedule.schedules import Schedules, checked_schedules
from cvmgen.source import Source, SpecError, SpecErrors
from cvmgen.spec.check import SpecFile, check_files
from cvmgen.spec.formula import Operator
from cvmgen.spec.schedules import parse_schedules
from tests.fuzz.scheduled_operators import OPERATORS
from tests.verification.mutants.kinds import GPU_KINDS, KINDS, sites
from tests.verification.mutants.texts import C_KINDS, FORMULA_KINDS, kernel_spans, replaced

SHIPPED = Path(__file__).parents[3] / "spec" / "schedules" / "c.sched"
FORMULA, KERNEL, TEXT, GPU = "formula", "kernel", "text", "threads"
LAYERS: Mapping[str, Iterable[str]] = {
    FORMULA: FORMULA_KINDS,
    KERNEL: KINDS,
    TEXT: C_KINDS,
    GPU: GPU_KINDS,
}
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
# Shapes of the inputs, and attributes: each loop of the kernels runs, whole and in part, and each
# extent is beyond 127 once.
CALLS: Mapping[str, Sequence[tuple[Any, ...]]] = {
    "rows": (((1, 1),), ((3, 6),), ((18, 3),), ((2, 37),), ((130, 2),), ((1, 140),)),
    "tallest": (((1, 1),), ((7, 3),), ((9, 37),), ((130, 2),), ((2, 140),)),
    "product": (((3, 5), (4, 5)), ((130, 1), (2, 1)), ((1, 2), (130, 2))),
    "biased": (
        ((3, 5), (4, 5), (4,)),
        ((3, 5), (4, 5), None),
        ((5, 7), (6, 7), (6,)),
        ((130, 1), (2, 1), (2,)),
        ((1, 2), (130, 2), (130,)),
    ),
    "pooled": (
        ((2, 5, 37), {"k": 3, "by": 1, "pad": 1}),
        ((2, 6, 7), {"k": 2, "by": 2, "pad": 0}),
        ((1, 4, 4), {"k": 1, "by": 3, "pad": 2}),
        ((1, 2, 130), {"k": 2, "by": 1, "pad": 1}),
        ((130, 2, 1), {"k": 1, "by": 1, "pad": 0}),
    ),
    "convolved": (
        ((1, 2, 6, 21), (3, 2, 3, 3), {"by": 1, "pad": 1}),
        ((2, 1, 7, 20), (2, 1, 3, 2), {"by": 2, "pad": 1}),
        ((1, 1, 5, 40), (1, 1, 1, 3), {"by": 1, "pad": 0}),
        ((2, 3, 3, 3), (2, 3, 3, 3), {"by": 1, "pad": 2}),
        ((2, 2, 3, 90), (2, 2, 2, 40), {"by": 1, "pad": 1}),
        ((1, 2, 2, 90), (1, 2, 2, 40), {"by": 2, "pad": 2}),
    ),
    "widened": (((3, 5), {"k": 3}), ((2, 20), {"k": 1}), ((130, 1), {"k": 2})),
    "real_rows": (((1, 1),), ((3, 6),), ((18, 35),), ((21, 5),), ((130, 1),), ((1, 130),)),
    "mean": (
        ((1, 2, 6, 37), {"k": 2, "by": 1}),
        ((2, 1, 5, 38), {"k": 3, "by": 2}),
        ((1, 3, 4, 4), {"k": 1, "by": 3}),
        ((1, 1, 3, 130), {"k": 3, "by": 1}),
    ),
    "shifts": (((1,), {"s": 1}), ((37,), {"s": 4}), ((130,), {"s": 8})),
    "padded": (((1,), {"pad": 0}), ((5,), {"pad": 8}), ((130,), {"pad": 1})),
    "strided": (((1,), {"s": 8}), ((37,), {"s": 1}), ((37,), {"s": 3}), ((260,), {"s": 2})),
    "turned": (((1, 1),), ((3, 5),), ((130, 2),), ((2, 130),)),
    "halved": (((1,),), ((37,),), ((130,),)),
    "added": (((1,), (1,)), ((37,), (37,)), ((130,), (130,))),
}
FORMULAS = {**{name: OPERATORS[name].items for name in NAMES}, **OWN}


HEAVY = ("convolved",)  # whose sizes are not asked: half a minute for each mutant


@dataclass(frozen=True)
class Mutant:
    """One fault: where it is put, of which kind, what stood there and what stands there now.

    Of what compiles there is the `text` in C; of a kernel the whole of it, and of one of a GPU its
    `function`. `refused` is what the compiler itself says against it.
    """

    formula: str
    layer: str
    kind: str
    before: str
    after: str
    text: str = ""
    kernel: Kernel | None = None
    function: DeviceFunction | None = None
    refused: str = ""

    @property
    def name(self) -> str:
        return f"{self.formula}, {self.layer}, {self.kind}: {self.before} -> {self.after}"


# ---------------------------------------------------------------- what is mutated


@cache
def schedules() -> Schedules:
    """The schedules that come with cvmgen, with blocks and limits that small calls come to."""
    text = re.sub(r">= \d+", ">= 4", SHIPPED.read_text(encoding="utf-8"))
    text = re.sub(r"(?m)^(  (?:split|stage|turn).*) by \d{2,}", r"\1 by 16", text)
    return checked_schedules(parse_schedules(Source("z.sched", text)))


def checked(name: str, items: str) -> Operator:
    text = f"{CLIP}operator {name} {{\n{items}\n}}\n"
    (found,) = check_files([SpecFile(Source("z.cvm", text), "z")])
    return found


@cache
def operator(name: str) -> Operator:
    return checked(name, {**FORMULAS, **GPU_NAMES}[name])


@cache
def kernels(name: str) -> Kernels:
    return scheduled(operator(name))


def scheduled(of: Operator) -> Kernels:
    made = driver.kernels_or_program(driver.lower(of, driver.C), "c", schedules(), "schedule")
    assert isinstance(made, Kernels)
    return made


@cache
def mapped(name: str) -> Kernels:
    return driver.mapped_kernels(operator(name))


def emitted(made: Kernels) -> str:
    """The text of scheduled kernels."""
    for _, run in driver.C_KERNELS[1:]:
        made = run(made, schedules=schedules())
    return driver.TARGETS["c"].emit_operator(made, schedules=schedules())


@cache
def text_of(name: str) -> str:
    return emitted(kernels(name))


# ---------------------------------------------------------------- mutants


def of_formula(name: str, kind: str) -> Iterator[Mutant]:
    """The kernels of another formula, which is taken for this one."""
    items = FORMULAS[name]
    if kind == "another reduction" and "float" in items:
        return  # comparisons of real numbers take a way each
    start = items.rindex("\nY[") + 1
    for before, after, other in replaced(items, FORMULA_KINDS[kind], [(start, len(items))]):
        found = Mutant(name, FORMULA, kind, before, after)
        try:
            yield replace(found, text=emitted(scheduled(checked(name, other))))
        except (SpecError, SpecErrors) as error:
            yield replace(found, refused=str(error).splitlines()[0])


def of_kernel(name: str, kind: str) -> Iterator[Mutant]:
    """One of the kernels for int32, or for the first choice of other types, with a fault."""
    made = kernels(name)
    for number in range(len(made.program.nests)):
        kernel = made.widest(number)
        for site, body in sites(kernel.subject.body, KINDS[kind]):
            other = replace(kernel, subject=kernel.subject.with_body(body))
            yield Mutant(name, KERNEL, kind, site.before, site.after, kernel=other)


def printed(mutant: Mutant) -> Mutant:
    """With the text of its kernel, unless the compiler says that it does not hold together."""
    if mutant.kernel is None or mutant.function is not None:
        return mutant
    if why := next(iter(unsound(mutant.kernel.subject)), ""):
        return replace(mutant, refused=why)
    made = kernels(mutant.formula)
    several = tuple(mutant.kernel if e.name == mutant.kernel.name else e for e in made.kernels)
    try:
        return replace(mutant, text=emitted(replace(made, kernels=several)))
    except (CvmgenError, InternalError) as error:
        return replace(mutant, refused=str(error))


def of_text(name: str, kind: str) -> Iterator[Mutant]:
    """The text of the kernels with a token of it changed."""
    text = text_of(name)
    for before, after, other in replaced(text, C_KINDS[kind], kernel_spans(text, name)):
        yield Mutant(name, TEXT, kind, before, after, other)


def of_threads(name: str, kind: str) -> Iterator[Mutant]:
    kernel = mapped(name).kernels[0]
    assert kernel.mapped is not None
    for function in kernel.mapped.functions:
        for site, body in sites(function.body, GPU_KINDS[kind]):
            other = replace(function, body=body)
            yield Mutant(name, GPU, kind, site.before, site.after, kernel=kernel, function=other)


MAKERS = {FORMULA: of_formula, KERNEL: of_kernel, TEXT: of_text, GPU: of_threads}
OF_LAYER: Mapping[str, Sequence[str]] = {GPU: tuple(GPU_NAMES)}


def mutants(layer: str, kind: str, count: int, seed: int = 0) -> list[Mutant]:
    """So many mutants of a kind, of all formulas by turns."""
    random = Random(f"{layer} {kind} {seed}")
    found: list[list[Any]] = []
    for name in OF_LAYER.get(layer, tuple(FORMULAS)):
        own = [*MAKERS[layer](name, kind)]
        random.shuffle(own)
        found.append(own)
    random.shuffle(found)
    chosen: list[Mutant] = []
    while len(chosen) < count and any(found):
        for own in found:
            if own and len(chosen) < count:
                chosen.append(own.pop())
    return [printed(each) for each in chosen]
