"""What the engines say of mutants, with the calls that refute them."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

from cvmgen.errors import BuildError
from cvmgen.schedule.kernels import Kernel
from cvmgen.verification.obligations import VACUITY, Obligation
from cvmgen.verification.proofs import Prover
from cvmgen.verification.threads import races_of
from cvmgen.verification.values import program
from cvmgen.verification.values.calls import ChosenCall
from cvmgen.verification.values.found import ValidatedCalls
from cvmgen.verification.values.linked import Text
from cvmgen.verification.values.validate import Case, validate
from cvmgen.verification.verify import KernelProofs
from tests.verification.mutants.made import Mutant
from tests.verification.mutants.operators import (
    file_of,
    generated,
    kernels,
    mapped,
    operator,
    text_of,
)


@dataclass
class Said:
    """What an engine says: proved, refuted or open (which is no proof), and what shows it."""

    status: str
    why: str = ""
    call: ChosenCall | None = None
    model: Mapping[str, int] = field(default_factory=dict)
    calls: int = 0  # of which it is said


SHARE = "cvmgen_share"
PROVER = Prover()
HYPOTHESES: Counter[str] = Counter()
"""How many sets of them can hold at once, as was shown; and how many were not shown to."""


# ---------------------------------------------------------------- sizes

Known = Counter[tuple[str, str]]


def obligations(name: str, kernel: Kernel) -> list[Obligation]:
    found = [*KernelProofs(kernels(name), kernel, PROVER).obligations()]
    HYPOTHESES.update(each.status for each in found if each.about == VACUITY)
    return found


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


def text(mutant: Mutant, work: Path) -> Text:
    folder, own = generated(mutant.formula, work), file_of(mutant.formula, mutant.target)
    return Text(folder, {own: mutant.text}, mutant.target)


def values(mutant: Mutant, cases: Sequence[Case], work: Path) -> Said:
    """All values of the mutant's text beside the formula, call by call."""
    open_: list[str] = []
    known = 0
    try:
        own = text(mutant, work)
        for call, features in cases:
            result = validate(operator(mutant.formula), own, [call], features)
            if result.refuted:
                return Said("refuted", reason(result), result.shown_by)
            open_ += result.open
            known += result.validated
    except BuildError as error:
        return Said("refused", str(error).splitlines()[-1])
    return Said("open" if open_ else "proved", "".join(open_[:1])[:300], calls=known)


def reason(result: ValidatedCalls) -> str:
    if (found := result.difference) is None:
        return result.faults[0]
    number, wanted = found.numbers or ("", "")
    return f"{found.call}: {number} for {wanted}"


def alike(mutant: Mutant, work: Path) -> bool:
    """Whether the compiler makes the same instructions of the mutant and of the right text."""
    name, target = mutant.formula, mutant.target
    right = Text(generated(name, work), {file_of(name, target): text_of(name, target)}, target)
    try:
        return instructions(right, name, target) == instructions(text(mutant, work), name, target)
    except BuildError:
        return False


def worth_alone(mutant: Mutant) -> bool:
    """Whether nothing differs but when work is given to threads: its parts are the same, each is
    run once, and no result depends on by whom."""
    right = text_of(mutant.formula, mutant.target)
    return right != mutant.text and without_worth(right) == without_worth(mutant.text)


def without_worth(text: str) -> str:
    """A text without the second arguments of `cvmgen_share`."""
    head, *calls = text.split(f"{SHARE}(")
    return head + "".join(map(_without_second, calls))


def _without_second(call: str) -> str:
    """The text behind the parenthesis of a call, from which its second argument is taken."""
    depth, commas = 0, list[int]()
    for at, letter in enumerate(call):
        depth += (letter == "(") - (letter == ")")
        if letter == "," and depth == 0:
            commas.append(at)
        if depth < 0 or len(commas) == 2:
            break
    return call[: commas[0]] + call[commas[1] :] if len(commas) == 2 else call


def instructions(text: Text, name: str, target: str) -> str:
    own = file_of(name, target)
    written = program.compiled(own, text.read_by(own), ()).read_text(encoding="utf-8")
    return re.sub(r"(?m)^(; ModuleID|source_filename).*$", "", written)


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
