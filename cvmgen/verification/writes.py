"""What a kernel's statements write to memory that it does not own, in turn: runs of elements and
boxes, behind tests and in loops. `regions.py` finds out which elements these are together.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from cvmgen.verification.lists import List
from cvmgen.verification.terms import Formula, Term

Path = tuple[Formula, ...]


@dataclass(frozen=True, eq=False)
class WrittenRun:
    """So many elements from an offset on; `value` is what one element of integers becomes."""

    tensor: str
    offset: Term
    count: Term
    path: Path
    value: Term | None = None


@dataclass(frozen=True, eq=False)
class WrittenBox:
    """Every place of a box of any rank that is walked by steps from an offset on."""

    tensor: str
    offset: Term
    box: List
    steps: List
    path: Path


@dataclass(eq=False)
class WrittenInTurn:
    parts: list[Written] = field(default_factory=list)


@dataclass(frozen=True, eq=False)
class WrittenEither:
    """What is written where the test holds, and where it does not."""

    test: Formula
    path: Path
    then: WrittenInTurn
    otherwise: WrittenInTurn


@dataclass(frozen=True, eq=False)
class CarriedLocal:
    """A local that iterations change: what it is before the loop, where an iteration begins and
    where it ends, and behind the loop."""

    before: Term
    begin: Term
    end: Term
    behind: Term


@dataclass(frozen=True, eq=False)
class WrittenLoop:
    """What the iterations low, low + step, ... below high write; `inside` is what is known in each
    of them, `age` how many symbols there were before. `left` if it may end early."""

    index: Term
    low: Term
    high: Term
    step: int
    path: Path
    inside: Path
    age: int
    body: WrittenInTurn
    carried: tuple[CarriedLocal, ...] = ()
    left: bool = False


Written = WrittenRun | WrittenBox | WrittenInTurn | WrittenEither | WrittenLoop


def tensors_of(written: Written) -> frozenset[str]:
    """What is written to."""
    match written:
        case WrittenRun(tensor=tensor) | WrittenBox(tensor=tensor):
            return frozenset((tensor,))
        case WrittenInTurn(parts=parts):
            return frozenset().union(*map(tensors_of, parts))
        case WrittenEither(then=then, otherwise=otherwise):
            return tensors_of(then) | tensors_of(otherwise)
        case WrittenLoop(body=body):
            return tensors_of(body)
