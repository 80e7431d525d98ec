"""Which accesses of a kernel two threads of a block may make at one time.

Barriers cut what a block does into epochs. Two accesses fall into one epoch if a way leads from one
to the other without a barrier: within an iteration, or over the end of one into the next. Of a
loop without barriers all iterations are one epoch, in which each thread is where it will.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from cvmgen.verification.terms import Formula, Term
from cvmgen.verification.threads_symbols import Home


@dataclass(frozen=True, eq=False)
class ThreadAccess:
    """A thread reads or writes an element. `split` says of what its offset is put together:
    row * extent + index, and the row and the index again in the same way; `walked`, by a walk."""

    array: str
    shared: bool
    written: bool
    offset: Term
    path: tuple[Formula, ...]
    home: Home
    shown: str
    splits: tuple[OffsetPart, ...] = ()


@dataclass(frozen=True)
class OffsetPart:
    """A part of an offset is row * extent + index; both say so if 0 <= index < extent. Of a walk
    over a box, `walk` is what it goes by."""

    row: Term
    index: Term
    extent: Term
    walk: str = ""


@dataclass(frozen=True)
class DescribedValue:
    """A value with the rows and indices that it is put together of; a sum by its summands, a
    product by its two factors."""

    term: Term
    splits: tuple[OffsetPart, ...] = ()
    summands: tuple[DescribedValue, ...] = ()
    factors: tuple[Term, Term] | None = None


@dataclass(frozen=True)
class Divided:
    """Of a loop's iterations, from `low` on, a thread makes `first`, `first + step`, ...; `path`
    leads there."""

    index: Term
    low: Term
    first: Term
    step: Term
    path: tuple[Formula, ...]


@dataclass(frozen=True, eq=False)
class Meeting:
    """All threads of a block come here, or none: at a barrier, where they wait for each other, and
    where they leave a loop that has one."""

    path: tuple[Formula, ...]
    home: Home
    what: str
    waits: bool = True


@dataclass(eq=False)
class Sequence:
    """What a thread does in turn."""

    parts: list[Part] = field(default_factory=list)


@dataclass(frozen=True, eq=False)
class Either:
    then: Sequence
    otherwise: Sequence


@dataclass(frozen=True, eq=False)
class Repeated:
    number: int
    body: Sequence


Part = ThreadAccess | Meeting | Either | Repeated


@dataclass(frozen=True, eq=False)
class Pair:
    """Two accesses of one epoch; `around`: the second one in a later iteration of that loop."""

    one: ThreadAccess
    other: ThreadAccess
    around: int | None = None


@dataclass
class OpenAccesses:
    """Accesses that a way without barriers leads to from the beginning of a part, and from which
    one leads to its end; whether one leads through."""

    first: list[ThreadAccess]
    last: list[ThreadAccess]
    through: bool


class Epochs:
    """Finds the pairs; `waiting` are the loops with barriers."""

    def __init__(self) -> None:
        self.pairs: list[Pair] = []
        self.waiting: set[int] = set()

    def of(self, part: Part | Sequence) -> OpenAccesses:
        match part:
            case ThreadAccess():
                self.pairs.append(Pair(part, part))
                return OpenAccesses([part], [part], True)
            case Meeting(waits=wait):
                return OpenAccesses([], [], not wait)
            case Sequence(parts=parts):
                return self.in_turn(parts)
            case Either(then=then, otherwise=otherwise):
                one, other = self.of(then), self.of(otherwise)
                self.meet(one.first, other.first)
                self.meet(one.last, other.last)
                through = one.through or other.through
                return OpenAccesses(one.first + other.first, one.last + other.last, through)
            case Repeated(number=number, body=body):
                inner = self.of(body)
                around = None
                if has_barrier(body):
                    self.waiting.add(number)
                    around = number
                self.meet(inner.last, inner.first, around)
                return OpenAccesses(inner.first, inner.last, True)

    def in_turn(self, parts: list[Part]) -> OpenAccesses:
        whole = OpenAccesses([], [], True)
        for each in parts:
            found = self.of(each)
            self.meet(whole.last, found.first)
            if whole.through:
                whole.first += found.first
            whole.last = [*(whole.last if found.through else ()), *found.last]
            whole.through &= found.through
        return whole

    def meet(
        self, ones: list[ThreadAccess], others: list[ThreadAccess], around: int | None = None
    ) -> None:
        for one in ones:
            for other in others:
                if one.array == other.array and (one.written or other.written):
                    self.pairs.append(Pair(one, other, around))


def has_barrier(part: Part | Sequence) -> bool:
    match part:
        case Meeting(waits=wait):
            return wait
        case Sequence(parts=parts):
            return any(map(has_barrier, parts))
        case Either(then=then, otherwise=otherwise):
            return has_barrier(then) or has_barrier(otherwise)
        case Repeated(body=body):
            return has_barrier(body)
        case ThreadAccess():
            return False


def all_of(part: Part | Sequence) -> Iterator[ThreadAccess | Meeting]:
    match part:
        case Sequence(parts=parts):
            for each in parts:
                yield from all_of(each)
        case Either(then=then, otherwise=otherwise):
            yield from all_of(then)
            yield from all_of(otherwise)
        case Repeated(body=body):
            yield from all_of(body)
        case ThreadAccess() | Meeting():
            yield part
