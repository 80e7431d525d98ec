"""Which blocks of a text ran: of the functions that a call of an operator may come to."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Set
from heapq import heapify, heappop, heapreplace
from typing import TYPE_CHECKING, TypeVar

from cvmgen.verification.values import llvm
from cvmgen.verification.values.blocks import REFUSING, refuses

if TYPE_CHECKING:
    from cvmgen.verification.values.machine import Machine

Feature = tuple[str, int, int]  # a function, a block of it, and how often it ran, about
Case = TypeVar("Case")
MOST_BITS = 7  # of how often a block ran
SEVERAL = 100  # in the place of how often: it ran in a call that has several of everything
OF_CALL = -1  # in the place of a block: what a call itself is like
FIXED = 1000  # blocks that any call costs


def features(machine: Machine) -> set[Feature]:
    """What ran since the machine began: how often, about, tells loops apart that ran so often."""
    return {
        (name, at, count if count < 4 else min(count.bit_length(), MOST_BITS) + 1)
        for name, ran in machine.counts()
        for at, count in enumerate(ran)
        if count
    }


def _blocks_of(ran: Set[Feature]) -> set[tuple[str, int]]:
    return {each[:2] for each in ran if each[1] != OF_CALL}


def about(ran: Set[Feature]) -> set[Feature]:
    """The blocks that ran once, twice or more often."""
    return {
        (name, at, min(count, 3)) for name, at, count in ran if at > OF_CALL and count < SEVERAL
    }


def once_each(ran: set[Feature]) -> set[Feature]:
    """The blocks that ran, however often."""
    return {(name, at, 1) for name, at in _blocks_of(ran)}


def not_run(machine: Machine, name: str, ran: set[Feature]) -> tuple[int, dict[str, int]]:
    """How many blocks there are from this function on, and those that did not run by function.
    What is called of the runtime counts where it was called; what refuses calls does not count."""
    blocks = _blocks_of(ran)
    called = {name for name, _ in blocks if not name.startswith(REFUSING)}
    total, missing = 0, dict[str, int]()
    for function in _from(machine, name, called):
        refusing = _refusing(function)
        wanted = [at for at in range(len(function.blocks)) if at not in refusing]
        total += len(wanted)
        if left := sum((function.name, at) not in blocks for at in wanted):
            missing[function.name] = left
    return total, missing


def _from(machine: Machine, name: str, called: set[str]) -> Iterator[llvm.LlvmFunction]:
    """The functions of the first module that this one speaks of, and those that were called."""
    own = machine.modules[0].functions
    left, seen = [name, *sorted(called)], set[str]()
    while left:
        name = left.pop()
        home = own.get(name) or next(
            (m.functions[name] for m in machine.modules if name in m.functions and name in called),
            None,
        )
        if name in seen or home is None or not home.body or name in machine.library:
            continue
        seen.add(name)
        yield home
        left += [each for each in _named(home) if each in own]


def _named(function: llvm.LlvmFunction) -> Iterator[str]:
    for block in function.blocks:
        for each in block.instructions:
            yield from (value.name for value in each.operands if isinstance(value, llvm.Global))


def _refusing(function: llvm.LlvmFunction) -> set[int]:
    """Blocks that refuse the call, that only lead there, or that only what refuses leads to."""
    labels = {block.label: at for at, block in enumerate(function.blocks)}
    after = [[labels[each] for each in llvm.targets(block)] for block in function.blocks]
    before = [[at for at, ends in enumerate(after) if to in ends] for to in range(len(after))]
    found = {at for at, block in enumerate(function.blocks) if refuses(block)}
    while True:
        more = {
            at
            for at in range(len(after))
            if at not in found
            and any(ways and found.issuperset(ways) for ways in (after[at], before[at]))
        }
        if not more:
            return found
        found |= more


def covering(
    trials: Iterable[tuple[Case, set[Feature], int]],
    most: int,
    before: Set[Feature] = frozenset(),
    fixed: int = FIXED,
) -> list[Case]:
    """At most so many cases: first those that come to blocks that no other has come to, then those
    in which blocks run another number of times; the cheapest first, by how many blocks ran and
    what is `fixed`. What ran `before` is not new."""
    chosen: list[Case] = []
    ran, blocks = set(before), _blocks_of(before)
    several = [(case, found, _blocks_of(found), cost + fixed) for case, found, cost in trials]

    def worth(at: int) -> tuple[float, float, int]:
        """What is new in a call, of the best the least; of equals the first."""
        _, found, its, cost = several[at]
        dear = max(1, cost)  # a call that is refused at once comes to no block
        return -len(its - blocks) / dear, -len(found - ran) / dear, at

    # What is new in a call only becomes less: one that is the best still is so at once.
    heap = [worth(at) for at in range(len(several))]
    heapify(heap)
    while heap and len(chosen) < most:
        at = heap[0][-1]
        if (now := worth(at)) != heap[0]:
            heapreplace(heap, now)
            continue
        heappop(heap)
        case, found, its, _ = several[at]
        if not found - ran:
            break
        chosen.append(case)
        ran |= found
        blocks |= its
    return chosen
