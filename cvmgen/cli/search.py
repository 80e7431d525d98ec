"""`cvmgen list --search`: operators by the words that users of other libraries know."""

from __future__ import annotations

import difflib
import re
import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from enum import IntEnum
from pathlib import Path

from cvmgen.build.progress import Progress
from cvmgen.cli.exits import Exit
from cvmgen.cli.specs import probed_operators
from cvmgen.cli.synonyms import SYNONYMS, compared_word
from cvmgen.errors import Faults
from cvmgen.escape import json_text
from cvmgen.spec.formula import Operator

CLOSE = 0.75  # how alike two spellings are at least, of 1
SHORTEST_PART = 3  # letters of a word that is looked for inside others


class MatchKind(IntEnum):
    """How a word leads to an operator, the surest first."""

    NAME = 0
    SYNONYM = 1
    PART = 2
    DOC = 3
    NEAR = 4


@dataclass(frozen=True, slots=True)
class Match:
    """An operator that words lead to, and the word known to us that they met."""

    way: MatchKind
    operator: Operator
    word: str


def search(spec: Path, words: Sequence[str], faults: Faults, *, as_json: bool) -> Exit:
    """Print the operators that the words mean, the likeliest first."""
    with Progress() as progress:
        operators = probed_operators(spec, progress, faults)
    found = matches(operators, words)
    if as_json:
        listed = [
            {
                "name": each.operator.full_name,
                "doc": each.operator.doc,
                "by": each.way.name.lower(),
                "word": each.word,
            }
            for each in found
        ]
        print(json_text({"operators": listed}))
    for each in () if as_json else found:
        print(match_line(each, max(len(one.operator.full_name) for one in found)))
    if found:
        return Exit.OK
    wanted = " ".join(words)
    print(f"no operator is known as '{wanted}'; `cvmgen list` names all", file=sys.stderr)
    return Exit.WRONG


def match_line(match: Match, width: int) -> str:
    """A line as that of the list, with the word by which the operator was found."""
    by = {
        MatchKind.SYNONYM: f" (elsewhere: {match.word})",
        MatchKind.NEAR: f" (near: {match.word})",
    }.get(match.way, "")
    return f"{match.operator.full_name:<{width}}  {match.operator.doc}{by}"


def matches(operators: Iterable[Operator], words: Sequence[str]) -> list[Match]:
    """The operators that the words mean; near spellings count where nothing else is found."""
    # Of `torch.permute` the last part counts: where it stands says little about what it does.
    last = (part.rpartition(".")[2] for word in words for part in word.split())
    wanted = [compared_word(part) for part in last if compared_word(part)]
    if not wanted:
        return []
    found = [each for operator in operators if (each := operator_match(operator, wanted))]
    found.sort(key=lambda each: each.way)
    sure = [each for each in found if each.way is not MatchKind.NEAR]
    return sure or found


def operator_match(operator: Operator, wanted: Sequence[str]) -> Match | None:
    """By all words as one, else by each of them, as sure as the least sure."""
    if (whole := best(operator, "".join(wanted))) and whole.way <= MatchKind.SYNONYM:
        return whole
    each = [best(operator, word) for word in wanted]
    known = [one for one in each if one is not None]
    if len(known) < len(each):
        return whole
    return max(known, key=lambda one: one.way)


def best(operator: Operator, wanted: str) -> Match | None:
    """The surest way from one word to an operator."""
    return min(operator_matches(operator, wanted), key=lambda each: each.way, default=None)


def operator_matches(operator: Operator, wanted: str) -> Iterator[Match]:
    names = {
        compared_word(name): name for name in (operator.name, operator.full_name, *operator.aliases)
    }
    others = {compared_word(name): name for name in SYNONYMS.get(operator.full_name, ())}
    if wanted in names:
        yield Match(MatchKind.NAME, operator, names[wanted])
    if wanted in others:
        yield Match(MatchKind.SYNONYM, operator, others[wanted])
    if len(wanted) >= SHORTEST_PART:
        for word, shown in (names | others).items():
            if wanted in word:
                yield Match(MatchKind.PART, operator, shown)
    if wanted in map(compared_word, re.findall(r"\w+", operator.doc)):
        yield Match(MatchKind.DOC, operator, wanted)
    near = difflib.get_close_matches(wanted, [*names, *others], n=1, cutoff=CLOSE)
    for word in near:
        yield Match(MatchKind.NEAR, operator, (names | others)[word])
