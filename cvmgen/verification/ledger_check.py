"""What does not hold of a ledger any longer: told by digests, without a solver."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from cvmgen.verification.ledger import (
    COMMAND,
    LEDGER,
    PAGE,
    PARTS,
    Texts,
    Which,
    Worse,
    failed,
    read_ledger,
    stale,
    standing_text,
    worse,
)
from cvmgen.verification.ledger_page import page

SHOWN = 4
"""More operators than these are counted."""


def complaints(folder: Path, texts: Texts) -> list[str]:
    """What is wrong with the ledger of a folder with these files, one line each; nothing where
    there is no ledger."""
    ledger = read_ledger(folder)
    if ledger is None:
        return []
    names = stale(ledger.entries, texts)
    found = [
        *([stale_text(names)] if names else []),
        *(failed_text(*each) for each in failed(ledger.entries)),
        *map(worse_text, worse(ledger.entries)),
    ]
    if not found and not has_text(folder / PAGE, page(ledger)):
        found.append(f"{PAGE} is not what {LEDGER} says; `{COMMAND}` writes it")
    return found


def stale_note(folder: Path, texts: Texts) -> str:
    """A line for who changed texts; empty where that does not matter."""
    ledger = read_ledger(folder)
    names = () if ledger is None else stale(ledger.entries, texts)
    return stale_text(names) if names else ""


def stale_text(which: Sequence[Which]) -> str:
    """One line about entries that speak of another text, and the command that renews them."""
    by_operator: dict[str, list[str]] = {}
    for operator, target in which:
        by_operator.setdefault(operator, []).append(target)
    names = [f"{operator} ({', '.join(targets)})" for operator, targets in by_operator.items()]
    more = f" and {len(names) - SHOWN} more" if len(names) > SHOWN else ""
    shown = f"{', '.join(names[:SHOWN])}{more}"
    return f"{LEDGER} does not know the text of {shown}; `{COMMAND}` verifies it"


def failed_text(operator: str, target: str, how: str) -> str:
    """One line about what cvmgen itself failed on."""
    return f"{LEDGER}: cvmgen failed on {operator}, {target} ({how}); `{COMMAND}` tries it again"


def worse_text(lost: Worse) -> str:
    """One line about what was better before."""
    operator, target, name, finding = lost
    option = PARTS.get((target, name))
    looked = f"`{COMMAND} {option} {operator}` looks again" if option else "mend it"
    return (
        f"{LEDGER}: {name} of {operator}, {target}, was {standing_text(finding.best)} and is "
        f"{standing_text(finding.standing)}: {looked}, or `{COMMAND} --accept {operator}`"
    )


def has_text(path: Path, text: str) -> bool:
    try:
        return path.read_bytes() == text.encode()
    except OSError:
        return False
