"""Entries of the ledger from what the engines find: obligations, threads, values, tests."""

from __future__ import annotations

import re
import time
import traceback
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from hashlib import sha256
from pathlib import Path

from cvmgen.driver import mapped_kernels
from cvmgen.schedule.schedules import Schedules
from cvmgen.spec.formula import Operator
from cvmgen.verification.ledger import (
    ACTIONS,
    OPEN,
    PROVED,
    REFUTED,
    TESTED,
    VALIDATED,
    VALUES,
    Finding,
    LedgerEntry,
    Left,
)
from cvmgen.verification.obligations import PROPERTIES as OF_NESTS
from cvmgen.verification.obligations import Obligation
from cvmgen.verification.proofs import Prover
from cvmgen.verification.solvers import installed, solver_version
from cvmgen.verification.threads import ThreadFindings as OfThreads
from cvmgen.verification.threads import races
from cvmgen.verification.threads_pairs import DEAD
from cvmgen.verification.values import program
from cvmgen.verification.values.actions import action_text, validated
from cvmgen.verification.values.found import ValidatedCalls as OfValues
from cvmgen.verification.values.linked import Text
from cvmgen.verification.values.validate import edge_cases, validate_edges
from cvmgen.verification.verify import obligations

BARRIERS, RACES = "barriers", "races"
KINDS = {"barrier": BARRIERS, "race": RACES}
PROPERTIES: Mapping[str, str] = {
    **OF_NESTS,
    VALUES: "each element of the result is what the formula says",
    ACTIONS: "what each action of a schedule leaves computes what the formula says",
    BARRIERS: "all threads of a block come to a barrier if one does",
    RACES: "no two threads touch an element, one of them writing, with no barrier between",
}
STANDS: Mapping[str, str] = {
    "bounds": "that the formula itself stays inside of its tensors is proved before it is lowered, "
    "or each call tests it (`cvmgen check` warns of such places)",
    "walks": "the host makes the box of extents that it has checked",
    "divisors": "nothing checks it at run time",
    "widths": "the host refuses tensors of 2^40 elements and names beyond 2^62, and a result that "
    "its integer type does not hold is refused; the types of what is between come from intervals",
    "written": "nothing checks it at run time",
    "once": "nothing checks it at run time; what is written last counts",
    "order": "nothing checks it at run time",
    VALUES: "nothing checks it at run time",
    ACTIONS: "nothing checks it at run time; what all actions together leave is what values are of",
    BARRIERS: "`cuda-cpu` stops where only some threads of a block come to a barrier",
    RACES: "nothing checks it at run time",
}
"""What a call does where a property is open."""
TESTS: Mapping[str, str] = {
    **dict.fromkeys(("bounds", "walks", "divisors", "widths", BARRIERS), "calls are tested"),
    **dict.fromkeys(
        (VALUES, "written", "once", "order"),
        "random calls are compared with the exact evaluation of the formula",
    ),
    ACTIONS: "invented schedules are compared with the exact evaluation of the formula",
    RACES: "`make sanitize` runs every operator on the CPU under a detector of races",
}
"""What the project's tests do there, for its own operators."""
TRUSTED: Mapping[str, str] = {
    "formulas": "that they say what is meant, and that the exact evaluator (`cvmgen/reference`), "
    "which shares no code with lowering, evaluates them so",
    "readers": "that `cvmgen/verification` reads statements of the IR as the formulas that they "
    "mean, and the host's part of a call as what it ensures",
    "printers": "that C and CUDA text do what the IR that they are printed from says: bounds, "
    "divisors, widths and threads are proved of the IR. Values of C are those of the text itself",
    "machine on terms": "that `cvmgen/verification/values` runs LLVM modules and models intrinsics "
    "as processors do, and a few helpers (fixed point, quotients, powers, roots) as what they are "
    "called, whose text is tested; with small thresholds tests of whether there is enough to do "
    "compare with 8, so that small calls go the ways of large ones",
    "calls": "that a block of the text does in other calls what it does in those that come to it: "
    "once, twice or often, as far as 24 calls can. A call covers what it says: its shapes, and all "
    "elements of so many bits. Those are preferred whose elements fill their type, whose extents "
    "are beyond the blocks of the text. Where a call takes more work than one may, others that "
    "come to its blocks are looked at; it is open if they do not come to all of them",
    "clang": "that the modules which it makes of the unmodified C mean what the C says; and of the "
    "compiler that makes the library, that its machine code does",
    "matrices": "that the register tile for AMX, which the machine on terms does not know, "
    "gives what the others do: every variant is compared with the definition in tests",
    "solvers": "z3 and cvc5 where both proved it; the one that is named where it is alone",
    "descriptions": "what the helpers of CUDA, the threads of C and its questions to the processor "
    "do is described by hand, with digests of the helpers' texts",
    "hardware": "CUDA text runs on the CPU (`cuda-cpu`) in tests; it has not been run on a GPU",
    "callers": "that memory is as large as a call says",
}
ALSO_TESTED: Mapping[str, Mapping[str, str]] = {
    "c": {"c": ACTIONS, "numpy": VALUES, "python": VALUES},
    "cuda": {"cuda": VALUES},
}
"""With an entry what tests alone say something of, by target, unless more is known."""
CALLS = 24  # at the edges of schedules, of each operator
MOST_SHOWN = 3
LONGEST = 160  # characters of what is shown

UNDECIDED = "calls of which it is not decided"
GIVES_UP = "the solvers give up"


def stands(*, tests: bool) -> dict[str, str]:
    """What stands where a property is open."""
    return {
        name: f"{each}; {TESTS[name]}" if tests and name in TESTS else each
        for name, each in STANDS.items()
    }


def tested(entry: LedgerEntry, name: str) -> LedgerEntry:
    """With what the tests say of a property of every operator of the project, if nothing else."""
    found = entry.findings.get(name, Finding(TESTED))
    return replace(entry, findings={**entry.findings, name: found})


def entry_of_c(operator: Operator, schedules: Schedules, folder: Path, text: str) -> LedgerEntry:
    """By proofs over the nests, and by running the text on terms."""
    began = time.perf_counter()
    findings = of_obligations(list(obligations(operator, schedules, Prover())))
    generated = Text(folder)
    found = validate_edges(operator, generated, CALLS)
    findings[VALUES] = of_values(found)
    versions = {**solver_versions(), "clang": clang_version()}
    return LedgerEntry(findings, text, versions, round(time.perf_counter() - began, 1))


def entry_of_cuda(operator: Operator, schedules: Schedules, folder: Path, text: str) -> LedgerEntry:
    """By proofs over the threads of its kernels; tests alone speak of values. What its places keep
    takes minutes more: `cvmgen verify --target cuda` tells it."""
    began = time.perf_counter()
    kernels, prover = mapped_kernels(operator, schedules), Prover()
    results = [
        result
        for kernel in kernels.kernels
        if kernel.mapped is not None
        for result in races(kernels.program, kernel, prover)
    ]
    findings = of_threads(results)
    seconds = round(time.perf_counter() - began, 1)
    return LedgerEntry(findings, text, solver_versions(), seconds)


def of_actions(operator: Operator, schedules: Schedules, folder: Path, calls: int) -> Finding:
    """The C behind each action, beside the formula."""
    cases = [case for case, _ in edge_cases(operator, Text(folder), calls)]
    count, status, left = 0, VALIDATED, Reasons()
    for step, found in validated(operator, schedules, folder, cases):
        count += found.validated
        if found.refuted:
            status = REFUTED
            left.add(f"{REFUTED}: not what the formula says", action_text(step))
        elif not found.validated:
            status = OPEN if status == VALIDATED else status
            left.add(UNDECIDED, f"{action_text(step)}: {' '.join(found.open[:1])}")
    return Finding(status, {"terms": count} if count else {}, left.all)


def of_device(operator: Operator, schedules: Schedules, folder: Path, calls: int) -> Finding:
    """CUDA text through its execution on the CPU."""
    return of_values(validate_edges(operator, Text(folder, target="cuda"), calls))


PART_VERIFIERS: Mapping[str, Callable[[Operator, Schedules, Path, int], Finding]] = {
    ACTIONS: of_actions,
    VALUES: of_device,
}
VERIFIERS: Mapping[str, Callable[[Operator, Schedules, Path, str], LedgerEntry]] = {
    "c": entry_of_c,
    "cuda": entry_of_cuda,
}


def failed_entry(error: Exception) -> LedgerEntry:
    """What is known where an engine failed: how, and in which function."""
    last = traceback.extract_tb(error.__traceback__)[-1:]
    where = "".join(f" in {each.name}, {Path(each.filename).name}" for each in last)
    told = f"{type(error).__name__}{where}: {error}".partition("\n")[0]
    return LedgerEntry({}, failed=_cut(told))


# ---------------------------------------------------------------- findings


def of_obligations(found: Sequence[Obligation]) -> dict[str, Finding]:
    """By property, in the order in which these are listed."""
    findings = {}
    for name in OF_NESTS:
        if several := [each for each in found if each.about == name]:
            by = Counter(engines_text(each.engines) for each in several if each.status == PROVED)
            left = Reasons()
            for each in several:
                if each.status != PROVED:
                    left.add(refuted_text(each) or each.why or GIVES_UP, each.shown)
            hashed = hash_of(each.digest for each in several)
            status = status_of(each.status for each in several)
            findings[name] = Finding(status, _in_order(by), left.all, hashed)
    return findings


def refuted_text(obligation: Obligation) -> str:
    """Why it does not hold, if it is refuted."""
    for _, proof in obligation.unproved:
        if proof.status == REFUTED:
            values = ", ".join(f"{name} = {value}" for name, value in sorted(proof.model.items()))
            return f"{REFUTED}: {values}"
    return ""


def of_threads(found: Sequence[OfThreads]) -> dict[str, Finding]:
    """What is asked of threads; a kernel whose threads share nothing is asked nothing."""
    findings = {}
    for kind, name in KINDS.items():
        if several := [each for each in found if each.kind == kind]:
            by: Counter[str] = Counter()
            relies: Counter[str] = Counter()
            left = Reasons()
            for each in several:
                relies.update(each.relied)
                if each.status == PROVED:
                    by[engines_text(sorted(each.verdict.engines))] += 1
                elif each.status == DEAD:
                    by["no thread coming there"] += 1
                else:
                    why = str(each.verdict) if each.status == REFUTED else each.why
                    left.add(why, f"{each.function}: {each.shown}")
            status = status_of(PROVED if e.status == DEAD else e.status for e in several)
            hashed = hash_of(f"{e.function} {e.kind} {e.shown}" for e in several)
            findings[name] = Finding(
                status, _in_order(by), left.all, hashed, relies=_in_order(relies)
            )
    return findings


def of_values(found: OfValues) -> Finding:
    left = Reasons()
    for each in found.faults:
        left.add("the text is not defined", each)
    if (difference := found.difference) is not None:
        place = f"{difference.output}[{difference.position}] of {difference.call}"
        left.add(f"{REFUTED}: not what the formula says", place)
    for each in found.open:
        left.add(UNDECIDED, each)
    status = REFUTED if found.refuted else VALIDATED if found.validated else OPEN
    by = {"terms": len(found.calls)} if found.calls else {}
    return Finding(status, by, left.all, calls=tuple(found.calls))


class Reasons:
    """Counts what is left by why it is."""

    def __init__(self) -> None:
        self.shown: dict[str, list[str]] = {}

    def add(self, why: str, shown: str) -> None:
        self.shown.setdefault(why, []).append(_cut(shown))

    @property
    def all(self) -> tuple[Left, ...]:
        return tuple(
            Left(why, len(shown), tuple(dict.fromkeys(shown))[:MOST_SHOWN])
            for why, shown in sorted(self.shown.items())
        )


def _cut(text: str) -> str:
    """No more of a text than people read."""
    return text if len(text) <= LONGEST else f"{text[:LONGEST]}..."


def status_of(statuses: Iterable[str]) -> str:
    found = set(statuses)
    return REFUTED if REFUTED in found else PROVED if found == {PROVED} else OPEN


def hash_of(digests: Iterable[str]) -> str:
    return sha256("\n".join(sorted(digests)).encode()).hexdigest()[:16]


def engines_text(engines: Iterable[str]) -> str:
    return " and ".join(engines)


def _in_order(counted: Counter[str]) -> dict[str, int]:
    return dict(sorted(counted.items()))


# ---------------------------------------------------------------- engines


def solver_versions() -> dict[str, str]:
    return {name: solver_version(name) for name in sorted(installed())}


def clang_version() -> str:
    found = re.search(r"clang version (\d[\w.]*)", program.identity())
    return found[1] if found else "unknown"
