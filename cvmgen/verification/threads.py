"""Threads of a GPU: no two of them race for an element, and all of a block come to each barrier.

A kernel is walked once (`threads_walk.py`); what it does to memory that others have falls into
epochs between barriers (`threads_epochs.py`). For each pair of accesses of one epoch, of which one
writes, two threads with symbols of their own are asked whether they can be at the same address
(`threads_pairs.py`): for all sizes, grids and blocks at once. Threads of different blocks never
wait for each other; there all accesses are of one epoch.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import partial

from cvmgen.ir import nodes as i
from cvmgen.ir.uses import stored_tensors
from cvmgen.ir.visit import walk as nodes
from cvmgen.schedule.gpu.mapped import DeviceFunction
from cvmgen.schedule.kernels import Kernel
from cvmgen.verification.calls import Call
from cvmgen.verification.proofs import Prover
from cvmgen.verification.reading import Reader
from cvmgen.verification.threads_epochs import Access, Epochs, Meeting, Pair, all_of
from cvmgen.verification.threads_helpers import WHOLE, launched
from cvmgen.verification.threads_pairs import Threads, Verdict
from cvmgen.verification.threads_reading import ThreadReader
from cvmgen.verification.threads_symbols import THREAD, PlacedSymbols
from cvmgen.verification.threads_walk import ThreadWalk


@dataclass(frozen=True)
class Result:
    """What is known of threads at a place of a kernel's function: that they do not `race` for an
    element, or that they come to a `barrier` together."""

    function: str
    kind: str
    shown: str
    verdict: Verdict


def races(program: i.Program, kernel: Kernel, prover: Prover) -> Iterator[Result]:
    """All results for the functions of a kernel."""
    assert kernel.mapped is not None, "it is mapped to threads"
    for each in kernel.mapped.functions:
        yield from races_of(program, kernel, each, prover)


def races_of(
    program: i.Program, kernel: Kernel, function: DeviceFunction, prover: Prover
) -> Iterator[Result]:
    """The results for a function; what stays open is asked again with indices as symbols, which
    keep the ranges that sums of them lose."""
    name = kernel.name + function.name
    plain = Asking(walked(program, kernel, function), prover)
    by_digits: Asking | None = None
    for number, (kind, shown, ask) in enumerate(plain.questions):
        verdict = ask()
        if verdict.status == "open":
            by_digits = by_digits or Asking(walked(program, kernel, function, digits=True), prover)
            verdict = by_digits.questions[number][2]()
        if verdict.status == "open":
            plain.threads.thorough = True
            verdict = ask()
            plain.threads.thorough = False
        yield Result(name, kind, shown, verdict)


Question = tuple[str, str, Callable[[], Verdict]]


class Asking:
    """What is asked of a function."""

    def __init__(self, walk: ThreadWalk, prover: Prover) -> None:
        epochs = Epochs()
        epochs.of(walk.whole)
        self.threads = threads = Threads(walk, epochs.waiting, prover)
        self.questions: list[Question] = []
        for each in all_of(walk.whole):
            if isinstance(each, Meeting):
                self.add("barrier", each.what, partial(threads.together, each))
        for pair in unique(epochs.pairs):
            if pair.one.written or pair.other.written:
                self.add("race", shown(pair), partial(threads.meet, pair, same_block=True))
        for pair in between_blocks(walk):
            self.add("race", shown(pair), partial(threads.meet, pair, same_block=False))

    def add(self, kind: str, place: str, ask: Callable[[], Verdict]) -> None:
        self.questions.append((kind, place, ask))


def walked(
    program: i.Program, kernel: Kernel, function: DeviceFunction, *, digits: bool = False
) -> ThreadWalk:
    """The walk of a function by one thread, with what the host ensures."""
    assert kernel.mapped is not None, "it is mapped to threads"
    symbols = PlacedSymbols()
    given = (*function.leading, *function.parameters)
    elements = {each.name: each.type for each in given if each.elements}
    call = Call.of(program, kernel.nest, Reader(symbols, kernel.subject.elements))
    reader = ThreadReader(symbols, {**kernel.subject.elements, **elements})
    reader.digits = digits
    found = ThreadWalk(reader, arrays_written(function.body), WHOLE)
    launched(found, kernel.mapped, call.scope)
    symbols.level = THREAD
    found.block(function.body, call.scope)
    return found


def unique(pairs: list[Pair]) -> Iterable[Pair]:
    return {(id(e.one), id(e.other), e.around): e for e in pairs}.values()


def between_blocks(walk: ThreadWalk) -> Iterator[Pair]:
    """Accesses of memory that all blocks have."""
    found = [e for e in all_of(walk.whole) if isinstance(e, Access) and not e.shared]
    for at, one in enumerate(found):
        for two in found[at:]:
            if one.array == two.array and (one.written or two.written):
                yield Pair(one, two)


def shown(pair: Pair) -> str:
    one, two = pair.one.shown, pair.other.shown
    return one if pair.one is pair.other else f"{one} and {two}"


def arrays_written(body: i.Block) -> frozenset[str]:
    """Memory of others that a kernel stores to."""
    found = set(stored_tensors(body))
    for each in nodes(body):
        if isinstance(each, i.Call) and each.function == ".store":
            found |= {part.tensor for part in nodes(each.arguments[1]) if isinstance(part, i.Load)}
    local = {each.name for each in nodes(body) if isinstance(each, i.Array)}
    return frozenset(found - local)
