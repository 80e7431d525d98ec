"""`cvmgen verify`: what is proved of generated kernels for all sizes, and what is left open."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from cvmgen.build.helpers import helped
from cvmgen.build.progress import Progress
from cvmgen.cli.exits import Exit, UsageError, give
from cvmgen.cli.given import GivenModel
from cvmgen.cli.specs import checked_operators, find_operators
from cvmgen.errors import Strict
from cvmgen.schedule.schedules import Schedules, read_schedules
from cvmgen.source import did_you_mean
from cvmgen.spec.formula import Operator
from cvmgen.verification import terms as t
from cvmgen.verification.ledger_entries import STANDS
from cvmgen.verification.obligations import PROPERTIES, Obligation
from cvmgen.verification.proofs import Prover
from cvmgen.verification.solvers import installed
from cvmgen.verification.verify import obligations

NO_SOLVERS = (
    "no solver is installed, so only intervals are tried: pip install 'cvmgen[verify]' brings two"
)


def verify(spec: Path, names: Sequence[str], *, explain: bool, as_json: bool) -> Exit:
    """Prove what the C kernels of operators must keep; of none that is named, of all."""
    if explain and not names:
        raise UsageError("--explain shows every obligation: name an operator")
    with Progress() as progress:
        operators = checked_operators(spec, progress, Strict())
        chosen = find_operators(operators, names) if names else list(operators)
        schedules, found = read_schedules(spec), list[Obligation]()
        tasks = [(each, schedules) for each in chosen]
        shown = progress.over(tasks, lambda task: f"proving {task[0].full_name}")
        for task, made in zip(shown, helped(prove, tasks), strict=True):
            found += prove(task) if made is None else made
    lines = [*([] if installed() else [NO_SOLVERS]), *table(found, PROPERTIES)]
    lines += explained(found, PROPERTIES) if explain else left(found)
    told = [json_entry(each) for each in found]
    give(told, "\n".join(lines) + "\n", as_json=as_json)
    return Exit.WRONG if any(each.status == "refuted" for each in found) else Exit.OK


def verify_model(
    spec: Path,
    model: GivenModel,
    names: Sequence[str],
    *,
    explain: bool,
    as_json: bool,
) -> Exit:
    """Prove what the steps of a built model must keep, or of it those that are named."""
    # Imported here: models need much that operators do not.
    from cvmgen.model.build import planned
    from cvmgen.model.stages import staged
    from cvmgen.verification.steps import OF_STEPS, step_obligations

    with Progress() as progress:
        progress.step(f"building {model.file}")
        *_, (_, made) = staged(planned(model.source())[1], read_schedules(spec))
        steps = [each.name for each in made.steps]
        for name in names:
            if name not in steps:
                hint = did_you_mean(name, steps) or "`cvmgen build --model --report` names them"
                raise UsageError(f"{model.file} has no step '{name}'; {hint}")
        progress.step(f"proving {model.file}")
        found = list(step_obligations(made, Prover(), names or steps))
    lines = [*([] if installed() else [NO_SOLVERS]), *table(found, OF_STEPS, by_kernel=True)]
    lines += explained(found, OF_STEPS) if explain else left(found)
    told = [{"step": each.kernel, **json_entry(each)} for each in found]
    give(told, "\n".join(lines) + "\n", as_json=as_json)
    return Exit.WRONG if any(each.status == "refuted" for each in found) else Exit.OK


def prove(task: tuple[Operator, Schedules]) -> list[Obligation]:
    return list(obligations(*task, Prover()))


def table(
    found: Sequence[Obligation], properties: Mapping[str, str], *, by_kernel: bool = False
) -> Iterator[str]:
    """For each operator, or kernel, and property how many obligations are closed, and by what."""
    counts: dict[tuple[str, str], Counter[str]] = {}
    for each in found:
        name = each.kernel if by_kernel else each.operator
        counts.setdefault((name, each.about), Counter())[obligation_outcome(each)] += 1
    for (operator, name), several in counts.items():
        yield f"{operator:<34} {name:<9} {_counted(several)}"
    for name, meaning in properties.items():
        if several := Counter(obligation_outcome(each) for each in found if each.about == name):
            yield f"{name}, {meaning}: {_counted(several)}"


def obligation_outcome(obligation: Obligation) -> str:
    engines = " and ".join(obligation.engines)
    return f"by {engines}" if obligation.status == "proved" else obligation.status


def _counted(several: Counter[str]) -> str:
    return ", ".join(f"{number} {word}" for word, number in sorted(several.items()))


def left(found: Iterable[Obligation]) -> Iterator[str]:
    """What is not proved, once for all kernels that differ in types alone."""
    seen: dict[tuple[str, str, str, str], int] = {}
    for each in found:
        if each.status != "proved":
            key = (_place(each), each.status, each.shown, each.why)
            seen[key] = seen.get(key, 0) + 1
    for (where, status, shown, why), _ in seen.items():
        yield f"{where}: {status}: {shown}{f' ({why})' if why else ''}"


def _place(obligation: Obligation) -> str:
    return obligation.span.location if obligation.span is not None else obligation.operator


def explained(found: Iterable[Obligation], properties: Mapping[str, str]) -> Iterator[str]:
    """Each obligation in mathematics: what it is about, the facts that were used, the claims; of
    one that is not closed what stands there when a call runs."""
    seen = set[str]()
    for each in found:
        if each.digest in seen:
            continue
        seen.add(each.digest)
        why = f" ({each.why})" if each.why else ""
        yield f"\n{_place(each)}: {each.shown}: {obligation_outcome(each)}{why}"
        yield f"  {each.about}: {properties[each.about]}"
        if each.status != "proved" and each.about in STANDS:
            yield f"  instead: {STANDS[each.about]}"
        facts = dict.fromkeys(fact for proof in each.proofs for fact in proof.facts)
        names = frozenset().union(*map(t.names_of, (*facts, *each.claims)))
        yield from (
            f"  where {name} is {meaning}"
            for name, meaning in sorted(each.meanings.items())
            if name in names
        )
        yield from (f"  given {t.text(fact)}" for fact in facts)
        for claim, proof in zip(each.claims, each.proofs, strict=True):
            yield f"  {proof.status} {t.text(claim)}"
            if proof.model:
                values = (f"{name} = {value}" for name, value in sorted(proof.model.items()))
                yield f"    not so for {', '.join(values)}"


def json_entry(obligation: Obligation) -> dict[str, Any]:
    return {
        "operator": obligation.operator,
        "kernel": obligation.kernel,
        "property": obligation.about,
        "place": _place(obligation),
        "shown": obligation.shown,
        "status": obligation.status,
        "engines": list(obligation.engines) if obligation.status == "proved" else [],
        "why": obligation.why,
        "hash": obligation.digest,
        "cost": sum(each.cost for each in obligation.proofs),
    }
