"""`cvmgen verify --target cuda`: what threads touch lies in its tensor, none race, and all meet at
barriers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cvmgen.build.progress import Progress
from cvmgen.cli.exits import Exit, UsageError, give
from cvmgen.cli.specs import checked_operators, find_operators
from cvmgen.cli.verify import explained as explained_places
from cvmgen.cli.verify import json_entry as place_entry
from cvmgen.cli.verify import left, table
from cvmgen.driver import mapped_kernels
from cvmgen.errors import Strict
from cvmgen.schedule.schedules import read_schedules
from cvmgen.verification import terms as t
from cvmgen.verification.obligations import PROPERTIES, Obligation
from cvmgen.verification.proofs import Prover
from cvmgen.verification.solvers import installed
from cvmgen.verification.terms import Formula
from cvmgen.verification.threads import ThreadFindings, races
from cvmgen.verification.threads_places import thread_places
from cvmgen.verification.threads_symbols import OTHER

KINDS = {"barrier": "barriers", "race": "races"}


@dataclass(frozen=True)
class OfKernel:
    """What is known of the threads of a kernel."""

    operator: str
    kernel: str
    results: tuple[ThreadFindings, ...]


OTHER_THREAD = "a name that ends with ~ is that of the other thread; no call is all of:"


def verify_threads(spec: Path, names: Sequence[str], *, explain: bool, as_json: bool) -> Exit:
    """Ask of the places of CUDA kernels and of each pair of their threads, for all sizes and
    grids."""
    if explain and not names:
        raise UsageError("--explain shows every obligation: name an operator")
    if "z3" not in installed():
        raise UsageError("--target cuda asks z3: pip install 'cvmgen[verify]' brings it")
    found, places = list[OfKernel](), list[Obligation]()
    with Progress() as progress:
        operators = checked_operators(spec, progress, Strict())
        schedules, prover = read_schedules(spec), Prover()
        chosen = find_operators(operators, names) if names else operators
        for each in progress.over(chosen, lambda one: f"proving {one.full_name}"):
            made = mapped_kernels(each, schedules)
            for kernel in made.kernels:
                if kernel.mapped is not None:
                    results = tuple(races(made.program, kernel, prover))
                    found.append(OfKernel(each.full_name, kernel.name, results))
            places += thread_places(made, prover)
    told = [_json_entry(each, result) for each in found for result in each.results]
    told += map(place_entry, places)
    shown = [line for each in found for line in _lines(each)]
    shown += table(places, PROPERTIES)
    shown += explained_places(places, PROPERTIES) if explain else left(places)
    shown += _explained(found) if explain else _totals(found)
    give(told, "\n".join(shown) + "\n", as_json=as_json)
    statuses = [e.status for each in found for e in each.results] + [e.status for e in places]
    refuted = "refuted" in statuses
    return Exit.WRONG if refuted else Exit.OK


def _lines(kernel: OfKernel) -> Iterator[str]:
    """The counts of a kernel, and each result that is no proof."""
    yield f"{kernel.operator:<34} {kernel.kernel}: {counts_text(kernel.results)}"
    for each in kernel.results:
        if each.status != "proved":
            came = f"{thread_outcome(each)}{reason(each)}"
            yield f"  {each.function}: {each.kind}: {each.shown}: {came}"


def reason(result: ThreadFindings) -> str:
    return f" ({result.why})" if result.why else ""


def thread_outcome(result: ThreadFindings) -> str:
    return str(result.verdict) if result.status == "refuted" else result.status


def counts_text(results: Sequence[ThreadFindings]) -> str:
    """How many questions of each kind have come to what."""
    parts = []
    for kind, word in KINDS.items():
        several = Counter(each.status for each in results if each.kind == kind)
        if several:
            told = ", ".join(f"{number} {status}" for status, number in sorted(several.items()))
            parts.append(f"{word} {told}")
    return "; ".join(parts) or "threads share nothing"


def _explained(found: Iterable[OfKernel]) -> Iterator[str]:
    """Each proof once, in mathematics: what two threads would be that meet, which cannot be."""
    seen = set[tuple[str, Sequence[Formula]]]()
    for each in (result for kernel in found for result in kernel.results):
        facts = each.verdict.facts
        if (each.shown, facts) in seen:
            continue
        seen.add((each.shown, facts))
        word = (
            f"by {sorted_text(each.verdict.engines)}"
            if each.status == "proved"
            else thread_outcome(each)
        )
        yield f"\n{each.function}: {each.kind}: {each.shown}: {word}{reason(each)}"
        yield from (f"  given that {what}" for what in sorted(each.relied))
        names = {name.rstrip(OTHER) for fact in facts for name in t.names_of(fact)}
        for name, meaning in sorted(each.meanings.items()):
            if name in names:
                yield f"  where {name} is {meaning}"
        if facts:
            yield f"  {OTHER_THREAD}"
            yield from (f"    {t.text(fact)}" for fact in facts)


def _totals(found: Sequence[OfKernel]) -> Iterator[str]:
    """All kernels, who comes to the places of the proofs, and what these rely on."""
    results = [result for each in found for result in each.results]
    yield f"{len(found)} kernels: {counts_text(results)}"
    by = Counter(sorted_text(each.verdict.engines) for each in results if each.status == "proved")
    yield from (f"proved by {engines}: {number}" for engines, number in sorted(by.items()))
    for reached, number in sorted(Counter(each.reached for each in results).items()):
        yield f"places of proofs, who comes there: {reached}: {number}"
    relied = Counter(each for result in results for each in result.relied)
    yield from (f"{number} proved given that {what}" for what, number in sorted(relied.items()))


def sorted_text(engines: Iterable[str]) -> str:
    return " and ".join(sorted(engines))


def _json_entry(kernel: OfKernel, result: ThreadFindings) -> dict[str, Any]:
    return {
        "operator": kernel.operator,
        "kernel": kernel.kernel,
        "function": result.function,
        "property": KINDS[result.kind],
        "shown": result.shown,
        "status": result.status,
        "engines": sorted(result.verdict.engines) if result.status == "proved" else [],
        "reached": result.reached,
        "why": result.why or str(result.verdict),
    }
