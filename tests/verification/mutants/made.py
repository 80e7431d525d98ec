"""Mutants: of the formula, of its scheduled kernels, of what an action of a schedule leaves, of the
text that is printed as C and as CUDA; and of kernels of a GPU."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, partial
from random import Random

from cvmgen import driver
from cvmgen.errors import CvmgenError, InternalError
from cvmgen.schedule.forms import Use
from cvmgen.schedule.gpu.mapped import DeviceFunction
from cvmgen.schedule.kernels import Kernel
from cvmgen.schedule.legality import applied, unsound
from cvmgen.schedule.subject import Subject
from cvmgen.source import SpecError, SpecErrors
from tests.verification.mutants.kinds import GPU_KINDS, KINDS, Place, places
from tests.verification.mutants.operators import (
    FORMULAS,
    GPU_NAMES,
    OF_MODELS,
    checked,
    emitted,
    emitted_for_gpu,
    kernels,
    mapped,
    names,
    operator,
    scheduled,
    schedules,
    source,
    text_of,
)
from tests.verification.mutants.texts import (
    C_KINDS,
    CUDA_KINDS,
    FORMULA_KINDS,
    kernel_spans,
    replaced,
)

FORMULA, KERNEL, ACTION, TEXT, DEVICE, GPU = (
    "formula",
    "kernel",
    "schedule",
    "C",
    "CUDA",
    "threads",
)
LAYERS: Mapping[str, Iterable[str]] = {
    FORMULA: FORMULA_KINDS,
    KERNEL: KINDS,
    ACTION: KINDS,
    TEXT: C_KINDS,
    DEVICE: CUDA_KINDS,
    GPU: GPU_KINDS,
}
SMALL = (KERNEL, ACTION, TEXT)
"""Put into small formulas alone, whose small calls come to every block of their schedules."""
COUNT = 2  # of each kind where all are asked
TRIED = 8  # mutants for each that is wanted: our own checks refuse some


@dataclass(frozen=True)
class Mutant:
    """One fault: where it is put, of which kind, what stood there and what stands there now.

    Of what compiles there is the `text` of the operator's file for a target; of a kernel the whole
    of it, and of one of a GPU its `function`. `refused` is what our own checks say against it.
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

    @property
    def target(self) -> str:
        return "cuda" if self.layer in (DEVICE, GPU) else "c"


Making = Callable[[], Mutant]


def of_formula(name: str, kind: str) -> Iterator[Making]:
    """The kernels of another formula, which is taken for this one."""
    text, spans = source(name)
    if kind == "another reduction" and "float" in text:
        return  # comparisons of real numbers take a way each
    for before, after, other in replaced(text, FORMULA_KINDS[kind], spans):
        yield partial(with_formula, Mutant(name, FORMULA, kind, before, after), other)


def with_formula(mutant: Mutant, text: str) -> Mutant:
    name = mutant.formula
    try:
        return replace(mutant, text=emitted(name, scheduled(name, checked(name, text))))
    except (SpecError, SpecErrors) as error:
        return replace(mutant, refused=str(error).splitlines()[0])


def of_kernel(name: str, kind: str) -> Iterator[Making]:
    """One of the kernels for int32, or for the first choice of other types, with a fault."""
    made = kernels(name)
    for number in range(len(made.program.nests)):
        kernel = made.widest(number)
        for place in places(kernel.subject.body, KINDS[kind]):
            yield partial(with_place, name, KERNEL, kind, place, kernel, ())


def of_action(name: str, kind: str) -> Iterator[Making]:
    """The same where an action has left it so, and those behind it go on."""
    made = kernels(name)
    for number in range(len(made.program.nests)):
        kernel = made.widest(number)
        for before, after, later in actions(name, number):
            known = {(each.before, each.after) for each in places(before, KINDS[kind])}
            for place in places(after.body, KINDS[kind]):
                if (place.before, place.after) not in known:
                    found = replace(kernel, subject=after)
                    yield partial(with_place, name, ACTION, kind, place, found, later)


@cache
def actions(name: str, number: int) -> list[tuple[object, Subject, tuple[Use, ...]]]:
    """What stands before an action that changes a nest and behind it, and the actions that come
    after it."""
    typed = driver.typed_kernels(driver.lower(operator(name), driver.C)).widest(number)
    plan, subject = schedules(name).chosen("c", typed.subject)
    found = []
    uses = () if plan is None else plan.uses
    for at, use in enumerate(uses):
        made = applied(use, subject)
        if not made.is_like(subject):
            found.append((subject.body, made, uses[at + 1 :]))
        subject = made
    return found


def with_place(
    name: str, layer: str, kind: str, place: Place, kernel: Kernel, later: tuple[Use, ...]
) -> Mutant:
    """The text of all kernels with this one, unless the compiler says that it does not hold
    together."""
    site = place.site()
    mutant = Mutant(name, layer, kind, site.before, site.after)
    subject = kernel.subject.with_body(place.changed())
    if why := next(iter(unsound(subject)), ""):
        return replace(mutant, refused=why)
    made = kernels(name)
    try:
        for use in later:
            subject = applied(use, subject)
        own = replace(kernel, subject=subject)
        several = tuple(own if each.name == own.name else each for each in made.kernels)
        text = emitted(name, replace(made, kernels=several))
    except (SpecError, SpecErrors, CvmgenError, InternalError) as error:
        return replace(mutant, refused=str(error))
    return replace(mutant, kernel=own, text=text)


def of_text(layer: str, name: str, kind: str) -> Iterator[Making]:
    """The text of the kernels with a token of it changed."""
    kinds = C_KINDS if layer == TEXT else CUDA_KINDS
    text = text_of(name, "c" if layer == TEXT else "cuda")
    own = operator(name)
    for found in replaced(text, kinds[kind], kernel_spans(text, own.opset, own.name)):
        yield partial(Mutant, name, layer, kind, *found)


def of_threads(name: str, kind: str) -> Iterator[Making]:
    kernel = mapped(name).kernels[0]
    assert kernel.mapped is not None
    for function in kernel.mapped.functions:
        for place in places(function.body, GPU_KINDS[kind]):
            yield partial(with_function, name, kind, place, kernel, function)


def with_function(
    name: str, kind: str, place: Place, kernel: Kernel, function: DeviceFunction
) -> Mutant:
    site, other = place.site(), replace(function, body=place.changed())
    mutant = Mutant(name, GPU, kind, site.before, site.after, kernel=kernel, function=other)
    assert kernel.mapped is not None
    several = tuple(other if each.name == other.name else each for each in kernel.mapped.functions)
    own = replace(kernel, mapped=replace(kernel.mapped, functions=several))
    made = mapped(name)
    try:
        text = emitted_for_gpu(replace(made, kernels=(own, *made.kernels[1:])))
    except (CvmgenError, InternalError) as error:
        return replace(mutant, refused=str(error))
    return replace(mutant, text=text)


MAKERS: Mapping[str, Callable[[str, str], Iterator[Making]]] = {
    FORMULA: of_formula,
    KERNEL: of_kernel,
    ACTION: of_action,
    TEXT: partial(of_text, TEXT),
    DEVICE: partial(of_text, DEVICE),
    GPU: of_threads,
}


def put_into(layer: str) -> Sequence[str]:
    """What faults are put into."""
    if layer == GPU:
        return tuple(GPU_NAMES)
    return tuple(FORMULAS) if layer in SMALL else names("cuda" if layer == DEVICE else "c")


def of_models(layer: str) -> Sequence[str]:
    """The same of opsets that models are read with: their formulas and text."""
    if layer in (KERNEL, ACTION, GPU):
        return ()
    return OF_MODELS["cuda" if layer == DEVICE else "c"]


def mutants(layer: str, kind: str, count: int, among: Sequence[str] = ()) -> list[Mutant]:
    """So many mutants of a kind that our own checks let pass, of operators by turns."""
    random = Random(f"{layer} {kind} 0")
    left = [*(among or put_into(layer))]
    random.shuffle(left)
    own: dict[str, list[Making]] = {}
    found: list[Mutant] = []
    tries = TRIED * count
    while left and tries > 0 and len(found) < count:
        name = left.pop(0)
        if name not in own:
            own[name] = [*MAKERS[layer](name, kind)]
            random.shuffle(own[name])
        if own[name]:
            left.append(name)
            tries -= 1
            made = own[name].pop()()
            found += [] if made.refused else [made]
    return found
