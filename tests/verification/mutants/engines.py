"""What the engines say of mutants, with the calls that refute them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

from cvmgen.dtypes import CVM
from cvmgen.errors import BuildError
from cvmgen.reference.tensor import Tensor
from cvmgen.schedule.kernels import Kernel
from cvmgen.spec.formula import Input
from cvmgen.verification.obligations import Obligation
from cvmgen.verification.proofs import Prover
from cvmgen.verification.threads import races_of
from cvmgen.verification.values.calls import ChosenCall
from cvmgen.verification.values.found import ValidatedCalls
from cvmgen.verification.values.shapes import edge_calls
from cvmgen.verification.values.validate import Text, validate, validate_edges
from cvmgen.verification.verify import KernelProofs
from tests.verification.mutants.made import Mutant
from tests.verification.mutants.operators import (
    CALLS,
    file_of,
    generated,
    kernels,
    mapped,
    operator,
    ships,
    text_of,
)

EDGES = {"c": 6, "cuda": 3}
"""Calls of each operator that ships on terms."""
REAL = "float32"
DRAWN = 12  # calls of an operator that ships


@dataclass
class Said:
    """What an engine says: proved, refuted or open (which is no proof), and what shows it."""

    status: str
    why: str = ""
    call: ChosenCall | None = None
    model: Mapping[str, int] = field(default_factory=dict)


# ---------------------------------------------------------------- sizes


PROVER = Prover()
Known = Counter[tuple[str, str]]


def obligations(name: str, kernel: Kernel) -> list[Obligation]:
    return [*KernelProofs(kernels(name), kernel, PROVER).obligations()]


@cache
def unproved(name: str, number: int) -> Known:
    """What is not proved of a right kernel."""
    found = obligations(name, kernels(name).widest(number))
    return Counter((e.about, e.shown) for e in found if e.status != "proved")


def sizes(mutant: Mutant) -> Said:
    """Obligations for all sizes: whether one is lost that the right kernel keeps."""
    assert mutant.kernel is not None
    found = obligations(mutant.formula, mutant.kernel)
    for each in found:
        if each.status == "refuted":
            (_, proof), *_ = each.unproved
            return Said("refuted", f"{each.about}: {each.shown}", model=proof.model)
    left = Counter((e.about, e.shown) for e in found if e.status != "proved")
    left -= unproved(mutant.formula, mutant.kernel.number)
    if left:
        about, shown = next(iter(left))
        return Said("open", f"{about}: {shown}")
    return Said("proved")


# ---------------------------------------------------------------- values


@cache
def calls_of(name: str) -> tuple[ChosenCall, ...]:
    """Calls with elements of each type, of 12 bits and of few; the small ones first."""
    if ships(name):
        return tuple(edge_calls(operator(name), text_of(name, "c"), DRAWN))
    found = []
    for row in CALLS[name]:
        shapes = [each for each in row if not isinstance(each, dict)]
        attributes = dict(*(each for each in row if isinstance(each, dict)))
        for dtype, precision in (("int32", 12), ("int8", 2)):
            pairs = zip(operator(name).inputs, shapes, strict=True)
            inputs = {item.name: tensor(item, shape, dtype, precision) for item, shape in pairs}
            found.append(ChosenCall(inputs, attributes))
    return tuple({each.text(): each for each in found}.values())


def tensor(item: Input, shape: tuple[int, ...] | None, dtype: str, precision: int) -> Tensor | None:
    if shape is None:
        return None
    return Tensor(shape, [], precision, dtype) if item.dtype == CVM else Tensor(shape, [], 0, REAL)


def values(mutant: Mutant, work: Path) -> Said:
    """All values of the mutant's text beside the formula."""
    name, target = mutant.formula, mutant.target
    folder = generated(name, work)
    text = Text(folder, {file_of(name, target): mutant.text}, target)
    open_: list[str] = []
    try:
        for result in results(name, text):
            if result.refuted:
                return Said("refuted", reason(result), result.shown_by)
            open_ += result.open
    except BuildError as error:
        return Said("refused", str(error).splitlines()[-1])
    return Said("open", open_[0][:200]) if open_ else Said("proved")


def results(name: str, text: Text) -> Iterator[ValidatedCalls]:
    if ships(name):
        yield validate_edges(operator(name), text, EDGES[text.target])
    yield from (validate(operator(name), text, [call]) for call in calls_of(name))


def reason(result: ValidatedCalls) -> str:
    if (found := result.difference) is None:
        return result.faults[0]
    number, wanted = found.numbers or ("", "")
    return f"{found.call}: {number} for {wanted}"


# ---------------------------------------------------------------- threads


@cache
def unproved_threads(name: str) -> Counter[tuple[str, str]]:
    made = mapped(name)
    kernel = made.kernels[0]
    assert kernel.mapped is not None
    return Counter(
        (each.function, each.shown)
        for function in kernel.mapped.functions
        for each in races_of(made.program, kernel, function, PROVER)
        if each.status != "proved"
    )


def threads(mutant: Mutant) -> Said:
    """Two threads of a GPU: races, and barriers that not all come to."""
    assert mutant.kernel is not None
    assert mutant.function is not None
    found = [*races_of(mapped(mutant.formula).program, mutant.kernel, mutant.function, PROVER)]
    for each in found:
        if each.verdict.status == "refuted":
            return Said("refuted", f"{each.kind} of {each.shown}: {each.verdict}")
    left = Counter((each.function, each.shown) for each in found if each.status != "proved")
    left -= unproved_threads(mutant.formula)
    return Said("open", str(next(iter(left)))) if left else Said("proved")
